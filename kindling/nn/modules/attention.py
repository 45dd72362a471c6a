"""MultiheadAttention."""
import kindling as torch
from kindling.nn import functional as F
from kindling.nn.init import constant_, xavier_normal_, xavier_uniform_
from kindling.nn.modules.linear import NonDynamicallyQuantizableLinear
from kindling.nn.modules.module import Module
from kindling.nn.parameter import Parameter


class MultiheadAttention(Module):
    """Attention in several subspaces (Vaswani et al., 2017) of (L, N, E) inputs, (N, L, E) with batch_first, or (L, E).

    Answers the output and the attention weights. ValueError unless embed_dim and num_heads are positive;
    AssertionError unless the heads divide embed_dim.
    """

    __constants__ = ["batch_first"]

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False, device=None, dtype=None):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError("embed_dim and num_heads must be greater than 0, got "
                             f"embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*shape):
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = parameter(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            self.bias_k = parameter(1, 1, embed_dim)
            self.bias_v = parameter(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        if self._qkv_same_embed_dim:
            xavier_uniform_(self.in_proj_weight)
        else:
            xavier_uniform_(self.q_proj_weight)
            xavier_uniform_(self.k_proj_weight)
            xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            xavier_normal_(self.bias_v)

    def __setstate__(self, state):
        # Saved before kdim and vdim existed.
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, key_padding_mask: torch.Tensor | None = None, need_weights: bool = True, attn_mask: torch.Tensor | None = None,
                average_attn_weights: bool = True, is_causal: bool = False) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attends; a bool mask hides where it is True, a floating one is added."""
        hides = any(mask is not None and mask.is_floating_point() for mask in (attn_mask, key_padding_mask))
        key_padding_mask = F._canonical_mask(key_padding_mask, "key_padding_mask", F._none_or_dtype(attn_mask),
                                             "attn_mask", query.dtype)
        attn_mask = F._canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_batched = query.dim() == 3
        if query.is_nested or key.is_nested or value.is_nested:
            why_not = self._why_not_nested(query, key, value, key_padding_mask, attn_mask, hides)
            if why_not or self.in_proj_bias is None:
                raise AssertionError("MultiheadAttention does not support NestedTensor outside of its fast path. "
                                     f"The fast path was not hit because {why_not}")
            return self._attend_nested(query, need_weights, average_attn_weights)
        if self.batch_first and is_batched:
            # Arguments that are one object stay one, for the packed projection.
            if key is value:
                if query is key:
                    query = key = value = query.transpose(1, 0)
                else:
                    query, key = query.transpose(1, 0), key.transpose(1, 0)
                    value = key
            else:
                query, key, value = query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)
        separate = {} if self._qkv_same_embed_dim else {
            "use_separate_proj_weight": True, "q_proj_weight": self.q_proj_weight,
            "k_proj_weight": self.k_proj_weight, "v_proj_weight": self.v_proj_weight}
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            average_attn_weights=average_attn_weights, is_causal=is_causal, **separate)
        if self.batch_first and is_batched:
            output = output.transpose(1, 0)
        return output, weights

    def _why_not_nested(self, query, key, value, key_padding_mask, attn_mask, hides):
        """What forbids attention over a nested tensor; empty if nothing does."""
        bias, weight = self.in_proj_bias, self.in_proj_weight
        if not torch.backends.mha.get_fastpath_enabled():
            return "torch.backends.mha.get_fastpath_enabled() was not True"
        if query.dim() != 3:
            return f"input not batched; expected query.dim() of 3 but got {query.dim()}"
        if query is not key or key is not value:
            return "non-self attention was used (query, key, and value are not the same Tensor)"
        if bias is not None and query.dtype != bias.dtype:
            return f"dtypes of query ({query.dtype}) and self.in_proj_bias ({bias.dtype}) don't match"
        if weight is None:
            return "in_proj_weight was None"
        if query.dtype != weight.dtype:
            return f"dtypes of query ({query.dtype}) and self.in_proj_weight ({weight.dtype}) don't match"
        if self.training:
            return "training is enabled"
        if self.num_heads % 2:
            return "self.num_heads is not even"
        if not self.batch_first:
            return "batch_first was not True"
        for name in ("bias_k", "bias_v"):
            if getattr(self, name) is not None:
                return f"self.{name} was not None"
        if self.add_zero_attn:
            return "add_zero_attn was enabled"
        if key_padding_mask is not None or attn_mask is not None:
            return "supplying both src_key_padding_mask and src_mask at the same time is not supported with NestedTensor input"
        if torch.is_autocast_enabled():
            return "autocast is enabled"
        if hides:
            return "floating-point masks are not supported for fast path."
        tensors = (query, weight, bias, self.out_proj.weight, self.out_proj.bias)
        if torch.overrides.has_torch_function(tensors[1:]):
            return "some Tensor argument has_torch_function"
        if torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in tensors):
            return "grad is enabled and at least one of query or the input/output projection weights or biases requires_grad"
        return ""

    def _attend_nested(self, nested, need_weights, average):
        """Self-attention within each component; the weights are padded with zeros."""
        found = []
        for part in nested.unbind():
            part = part.unsqueeze(1)
            found.append(F.multi_head_attention_forward(
                part, part, part, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, None, None, False, 0.0,
                self.out_proj.weight, self.out_proj.bias, training=False, need_weights=need_weights, average_attn_weights=average))
        outputs = torch.nested.as_nested_tensor([output.squeeze(1) for output, _ in found])
        if not need_weights:
            return outputs, None
        longest = max(len(output) for output, _ in found)
        padded = [F.pad(weights, (0, longest - weights.size(-1), 0, longest - weights.size(-2))) for _, weights in found]
        return outputs, torch.cat(padded)

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """One mask of both (N, heads, L, S), and its type: 0 attention, 1 padding, 2 both; None if there is neither."""
        mask_type = merged = None
        if key_padding_mask is not None:
            mask_type, merged = 1, key_padding_mask
        if attn_mask is not None:
            batch_size, seq_len, _ = query.shape
            mask_type = 2
            if attn_mask.dim() == 3:
                attn_mask = attn_mask.view(batch_size, -1, seq_len, seq_len)
            else:
                attn_mask = attn_mask.view(1, 1, seq_len, seq_len).expand(batch_size, self.num_heads, -1, -1)
            merged = attn_mask
            if key_padding_mask is not None:
                padding = key_padding_mask.view(batch_size, 1, 1, seq_len).expand(-1, self.num_heads, -1, -1)
                merged = attn_mask + padding
        return merged, mask_type


MultiheadAttention.__module__ = __name__.partition(".")[0] + ".nn.modules.activation"
