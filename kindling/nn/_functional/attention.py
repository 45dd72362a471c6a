"""Multi-head attention from its projections on, and grouped matrix products."""
import math

import kindling as torch
from kindling import _C
from kindling.nn._functional import handle, has_any, warn

_nn = _C._nn


def _none_or_dtype(input: torch.Tensor | None) -> int | None:
    """The dtype of a tensor, or None for None. RuntimeError for anything else."""
    if input is None:
        return None
    if isinstance(input, torch.Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask: torch.Tensor | None, mask_name: str, other_type: int | None, other_name: str, target_type: int,
                    check_other: bool = True) -> torch.Tensor | None:
    """A mask as numbers to add: -inf where a bool mask is True. AssertionError unless it is bool or floating."""
    if mask is None:
        return None
    is_float = mask.is_floating_point()
    if mask.dtype != torch.bool and not is_float:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if is_float:
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _in_projection_packed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, w: torch.Tensor,
                          b: torch.Tensor | None = None) -> list[torch.Tensor]:
    """The three projections from one weight (3E, E), in as few products as the arguments' identity allows."""
    width = q.size(-1)
    if k is not v:
        w_q, w_k, w_v = w.chunk(3)
        b_q, b_k, b_v = (None, None, None) if b is None else b.chunk(3)
        return _nn.linear(q, w_q, b_q), _nn.linear(k, w_k, b_k), _nn.linear(v, w_v, b_v)
    if q is k:
        both = _nn.linear(q, w, b).unflatten(-1, (3, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return both[0], both[1], both[2]
    w_q, w_kv = w.split([width, width * 2])
    b_q, b_kv = (None, None) if b is None else b.split([width, width * 2])
    both = _nn.linear(k, w_kv, b_kv).unflatten(-1, (2, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return _nn.linear(q, w_q, b_q), both[0], both[1]


def _in_projection(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, w_q: torch.Tensor, w_k: torch.Tensor, w_v: torch.Tensor,
                   b_q: torch.Tensor | None = None, b_k: torch.Tensor | None = None,
                   b_v: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The three projections from three weights, all to the query's width."""
    width = q.size(-1)
    for name, value, weight in (("query", q, w_q), ("key", k, w_k), ("value", v, w_v)):
        expected = (width, value.size(-1))
        if tuple(weight.shape) != expected:
            raise AssertionError(f"expecting {name} weights shape of {expected}, but got {weight.shape}")
    for name, bias in (("query", b_q), ("key", b_k), ("value", b_v)):
        if bias is not None and tuple(bias.shape) != (width,):
            raise AssertionError(f"expecting {name} bias shape of {(width,)}, but got {bias.shape}")
    return _nn.linear(q, w_q, b_q), _nn.linear(k, w_k, b_k), _nn.linear(v, w_v, b_v)


def _mha_shape_check(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, key_padding_mask: torch.Tensor | None,
                     attn_mask: torch.Tensor | None, num_heads: int):
    """Whether the query is batched; AssertionError where the others' dimensions do not go with it."""
    dimensions = query.dim()
    if dimensions not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dimensions}-D query "
                             "tensor")
    what = "batched (3-D)" if dimensions == 3 else "unbatched (2-D)"
    if key.dim() != dimensions or value.dim() != dimensions:
        raise AssertionError(f"For {what} `query`, expected `key` and `value` to be {dimensions}-D but found "
                             f"{key.dim()}-D and {value.dim()}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != dimensions - 1:
        raise AssertionError(f"For {what} `query`, expected `key_padding_mask` to be `None` or {dimensions - 1}-D but "
                             f"found {key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(f"For {what} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                                 f"{attn_mask.dim()}-D tensor instead")
        if dimensions == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            if tuple(attn_mask.shape) != expected:
                raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return dimensions == 3


def _check_key_padding_mask(key_padding_mask: torch.Tensor, src_len: int, bsz: int) -> None:
    for place, length in enumerate((bsz, src_len)):
        if key_padding_mask.shape[place] != length:
            raise AssertionError(f"Expected key_padded_mask.shape[{place}] to be {length}, but got "
                                 f"{key_padding_mask.shape[place]}")


def _check(condition, text):
    if not condition:
        raise AssertionError(text)


def multi_head_attention_forward(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, embed_dim_to_check: int, num_heads: int,
                                 in_proj_weight: torch.Tensor | None, in_proj_bias: torch.Tensor | None, bias_k: torch.Tensor | None,
                                 bias_v: torch.Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: torch.Tensor,
                                 out_proj_bias: torch.Tensor | None, training: bool = True, key_padding_mask: torch.Tensor | None = None,
                                 need_weights: bool = True, attn_mask: torch.Tensor | None = None, use_separate_proj_weight: bool = False,
                                 q_proj_weight: torch.Tensor | None = None, k_proj_weight: torch.Tensor | None = None,
                                 v_proj_weight: torch.Tensor | None = None, static_k: torch.Tensor | None = None,
                                 static_v: torch.Tensor | None = None, average_attn_weights: bool = True,
                                 is_causal: bool = False) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Multi-head attention of (L, N, E) query with (S, N, E) key and value, or without N.

    Answers the output and, if wanted, the weights (N, L, S), or (N, heads, L, S) unless averaged. AssertionError or
    RuntimeError for shapes that do not go together.
    """
    tensors = (query, key, value, in_proj_weight, in_proj_bias, bias_k, bias_v, out_proj_weight, out_proj_bias)
    if has_any(*tensors):
        return handle(multi_head_attention_forward, tensors, query, key, value, embed_dim_to_check, num_heads,
                      in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight,
                      out_proj_bias, training=training, key_padding_mask=key_padding_mask, need_weights=need_weights,
                      attn_mask=attn_mask, is_causal=is_causal, use_separate_proj_weight=use_separate_proj_weight,
                      q_proj_weight=q_proj_weight, k_proj_weight=k_proj_weight, v_proj_weight=v_proj_weight,
                      static_k=static_k, static_v=static_v, average_attn_weights=average_attn_weights)
    functional = torch.nn.functional
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        # Arguments that are one object stay one, for the packed projection.
        same_kv, same_qk = key is value, query is key
        query = query.unsqueeze(1)
        key = query if same_qk else key.unsqueeze(1)
        value = key if same_kv else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    src_len = key.shape[0]
    if key_padding_mask is not None:
        _check_key_padding_mask(key_padding_mask, src_len, bsz)
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask",
                                       query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    if is_causal and key_padding_mask is None and not need_weights:
        # The kernel makes the causal mask itself.
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if key_padding_mask is not None:
            # It is merged into attn_mask below, which is then not causal alone.
            is_causal = False
    _check(embed_dim == embed_dim_to_check,
           f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    head_dim = embed_dim // num_heads
    _check(head_dim * num_heads == embed_dim, f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        _check(key.shape[:2] == value.shape[:2],
               f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        _check(q_proj_weight is not None, "use_separate_proj_weight is True but q_proj_weight is None")
        _check(k_proj_weight is not None, "use_separate_proj_weight is True but k_proj_weight is None")
        _check(v_proj_weight is not None, "use_separate_proj_weight is True but v_proj_weight is None")
        biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = _in_projection(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, *biases)
    else:
        _check(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        _check(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        dimensions = attn_mask.dim()
        if dimensions not in (2, 3):
            raise RuntimeError(f"attn_mask's dimension {dimensions} is not supported")
        expected = (tgt_len, src_len) if dimensions == 2 else (bsz * num_heads, tgt_len, src_len)
        if tuple(attn_mask.shape) != expected:
            raise RuntimeError(f"The shape of the {dimensions}D attn_mask is {attn_mask.shape}, but should be "
                               f"{expected}.")
        if dimensions == 2:
            attn_mask = attn_mask.unsqueeze(0)
    if bias_k is not None and bias_v is not None:
        _check(static_k is None, "bias cannot be added to static key.")
        _check(static_v is None, "bias cannot be added to static value.")
        k = torch.cat([k, bias_k.repeat(1, bsz, 1)])
        v = torch.cat([v, bias_v.repeat(1, bsz, 1)])
        attn_mask = None if attn_mask is None else functional.pad(attn_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else functional.pad(key_padding_mask, (0, 1))
    else:
        _check(bias_k is None, "bias_k must be None")
        _check(bias_v is None, "bias_v must be None")
    heads = bsz * num_heads
    q = q.view(tgt_len, heads, head_dim).transpose(0, 1)
    if static_k is None:
        k = k.view(k.shape[0], heads, head_dim).transpose(0, 1)
    else:
        _check(static_k.size(0) == heads, f"expecting static_k.size(0) of {heads}, but got {static_k.size(0)}")
        _check(static_k.size(2) == head_dim, f"expecting static_k.size(2) of {head_dim}, but got {static_k.size(2)}")
        k = static_k
    if static_v is None:
        v = v.view(v.shape[0], heads, head_dim).transpose(0, 1)
    else:
        _check(static_v.size(0) == heads, f"expecting static_v.size(0) of {heads}, but got {static_v.size(0)}")
        _check(static_v.size(2) == head_dim, f"expecting static_v.size(2) of {head_dim}, but got {static_v.size(2)}")
        v = static_v
    if add_zero_attn:
        k = torch.cat([k, torch.zeros((heads, 1, head_dim), dtype=k.dtype, device=k.device)], dim=1)
        v = torch.cat([v, torch.zeros((heads, 1, head_dim), dtype=v.dtype, device=v.device)], dim=1)
        attn_mask = None if attn_mask is None else functional.pad(attn_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else functional.pad(key_padding_mask, (0, 1))
    src_len = k.size(1)
    if key_padding_mask is not None:
        _check(tuple(key_padding_mask.shape) == (bsz, src_len),
               f"expecting key_padding_mask shape of {(bsz, src_len)}, but got {key_padding_mask.shape}")
        key_padding_mask = key_padding_mask.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1).reshape(
            heads, 1, src_len)
        attn_mask = key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
    if not training:
        dropout_p = 0.0
    if need_weights:
        _check(not (is_causal and attn_mask is None), "FIXME: is_causal not implemented for need_weights")
        q = q * math.sqrt(1.0 / float(q.shape[-1]))
        if attn_mask is None:
            weights = torch.bmm(q, k.transpose(-2, -1))
        else:
            weights = torch.baddbmm(attn_mask, q, k.transpose(-2, -1))
        weights = functional.softmax(weights, dim=-1)
        if dropout_p > 0.0:
            weights = functional.dropout(weights, p=dropout_p)
        output = torch.bmm(weights, v).transpose(0, 1).contiguous().view(tgt_len * bsz, embed_dim)
        output = functional.linear(output, out_proj_weight, out_proj_bias)
        output = output.view(tgt_len, bsz, output.size(1))
        weights = weights.view(bsz, num_heads, tgt_len, src_len)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        return (output, weights) if is_batched else (output.squeeze(1), weights.squeeze(0))
    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(bsz, num_heads, -1, src_len)
    q = q.view(bsz, num_heads, tgt_len, head_dim)
    k = k.view(bsz, num_heads, src_len, head_dim)
    v = v.view(bsz, num_heads, src_len, head_dim)
    output = functional.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    output = output.permute(2, 0, 1, 3).contiguous().view(bsz * tgt_len, embed_dim)
    output = functional.linear(output, out_proj_weight, out_proj_bias)
    output = output.view(tgt_len, bsz, output.size(1))
    return (output if is_batched else output.squeeze(1)), None


def grouped_mm(mat_a: torch.Tensor, mat_b: torch.Tensor, *, offs: torch.Tensor | None = None, bias: torch.Tensor | None = None,
               out_dtype: torch.dtype | None = None) -> torch.Tensor:
    """Matrix products of groups, whose bounds `offs` gives."""
    if has_any(mat_a, mat_b, offs, bias):
        return handle(grouped_mm, (mat_a, mat_b, offs, bias), mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype)
    return torch._grouped_mm(mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype)
