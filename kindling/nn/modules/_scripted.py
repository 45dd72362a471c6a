"""TorchScript for methods of kindling.nn's modules whose own source is none: classes and methods of the same names.

Scripts compile these in their place (kindling/jit/_recursive.py); a method that is not here is compiled as it stands.
"""
from typing import List, Optional, Tuple

import kindling as torch
from kindling.nn import functional as F
from kindling.nn._functional import warn
from kindling.nn.utils.rnn import PackedSequence

Tensor = torch.Tensor


class Sequential:
    def forward(self, input):
        for module in self:
            input = module(input)
        return input


class _InstanceNorm:
    def forward(self, input):
        self._check_input_dim(input)
        unbatched = self._get_no_batch_dim()
        channels = input.size(input.dim() - unbatched)
        if channels != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={input.dim() - unbatched} to match num_features ({self.num_features}), but got: {channels}.")
            warn(f"input's size at dim={input.dim() - unbatched} does not match num_features. You can silence "
                 "this warning by not passing in num_features, which is not used because affine=False")
        if input.dim() == unbatched:
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)


class _ConvTransposeNd:
    def _output_padding(self, input: Tensor, output_size: Optional[List[int]], stride: List[int], padding: List[int], kernel_size: List[int], num_spatial_dims: int,
                        dilation: Optional[List[int]] = None) -> List[int]:
        if output_size is None:
            return torch.jit.annotate(List[int], self.output_padding)
        leading = 2 if input.dim() == num_spatial_dims + 2 else 1
        if len(output_size) == leading + num_spatial_dims:
            output_size = output_size[leading:]
        if len(output_size) != num_spatial_dims:
            raise ValueError(f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have "
                             f"{num_spatial_dims} or {leading + num_spatial_dims} elements (got {len(output_size)})")
        made = torch.jit.annotate(List[int], [])
        for place in range(num_spatial_dims):
            spread = dilation[place] if dilation is not None else 1
            least = (input.size(place + leading) - 1) * stride[place] - 2 * padding[place] + spread * (kernel_size[place] - 1) + 1
            if output_size[place] < least or output_size[place] > least + stride[place] - 1:
                raise ValueError(f"requested an output size of {output_size}, which is impossible for an input of {input.size()[2:]}")
            made.append(output_size[place] - least)
        return made


class MultiheadAttention:
    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor] = None, need_weights: bool = True, attn_mask: Optional[Tensor] = None,
                average_attn_weights: bool = True, is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
        key_padding_mask = F._canonical_mask(key_padding_mask, "key_padding_mask", F._none_or_dtype(attn_mask), "attn_mask", query.dtype)
        attn_mask = F._canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_batched = query.dim() == 3
        if self.batch_first and is_batched:
            if key is value:
                if query is key:
                    query = query.transpose(1, 0)
                    key = query
                    value = query
                else:
                    query = query.transpose(1, 0)
                    key = key.transpose(1, 0)
                    value = key
            else:
                query = query.transpose(1, 0)
                key = key.transpose(1, 0)
                value = value.transpose(1, 0)
        if not self._qkv_same_embed_dim:
            output, weights = F.multi_head_attention_forward(
                query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
                self.out_proj.weight, self.out_proj.bias, training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
                use_separate_proj_weight=True, q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
                average_attn_weights=average_attn_weights, is_causal=is_causal)
        else:
            output, weights = F.multi_head_attention_forward(
                query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
                self.out_proj.weight, self.out_proj.bias, training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
                average_attn_weights=average_attn_weights, is_causal=is_causal)
        if self.batch_first and is_batched:
            return output.transpose(1, 0), weights
        return output, weights


def _mask(mask: Optional[Tensor], name: str, other: Optional[Tensor], other_name: str, dtype: int) -> Optional[Tensor]:
    return F._canonical_mask(mask, name, F._none_or_dtype(other), other_name, dtype)


class TransformerEncoderLayer:
    def forward(self, src: Tensor, src_mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, is_causal: bool = False) -> Tensor:
        padding = _mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src.dtype)
        mask = F._canonical_mask(src_mask, "src_mask", None, "", src.dtype, check_other=False)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor], is_causal: bool = False) -> Tensor:
        x = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal)[0]
        return self.dropout1(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer:
    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Optional[Tensor] = None, memory_mask: Optional[Tensor] = None, tgt_key_padding_mask: Optional[Tensor] = None,
                memory_key_padding_mask: Optional[Tensor] = None, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            x = x + self._mha_block(self.norm2(x), memory, memory_mask, memory_key_padding_mask, memory_is_causal)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self.norm2(x + self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor], is_causal: bool = False) -> Tensor:
        x = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False)[0]
        return self.dropout1(x)

    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor], is_causal: bool = False) -> Tensor:
        x = self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False)[0]
        return self.dropout2(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _is_causal(mask: Optional[Tensor], is_causal: Optional[bool], size: int) -> bool:
    if is_causal is not None:
        return is_causal
    if mask is not None:
        causal = torch.triu(torch.full([size, size], float("-inf"), dtype=mask.dtype, device=mask.device), diagonal=1)
        if mask.size() == causal.size():
            return bool((mask == causal).all())
    return False


def _length(src: Tensor, batch_first: bool) -> int:
    if src.dim() == 2:
        return src.size(0)
    return src.size(1) if batch_first else src.size(0)


class TransformerEncoder:
    def forward(self, src: Tensor, mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, is_causal: Optional[bool] = None) -> Tensor:
        padding = _mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask", src.dtype)
        mask = F._canonical_mask(mask, "mask", None, "", src.dtype, check_other=False)
        causal = _is_causal(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if padding is not None and self.use_nested_tensor and not self.training and src.dim() == 3 and not torch.is_grad_enabled():
            output = output.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        if self.norm is not None:
            output = self.norm(output)
        return output


class TransformerDecoder:
    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Optional[Tensor] = None, memory_mask: Optional[Tensor] = None, tgt_key_padding_mask: Optional[Tensor] = None,
                memory_key_padding_mask: Optional[Tensor] = None, tgt_is_causal: Optional[bool] = None, memory_is_causal: bool = False) -> Tensor:
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first))
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                           memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal, memory_is_causal=memory_is_causal)
        if self.norm is not None:
            output = self.norm(output)
        return output


class RNNBase:
    def check_input(self, input: Tensor, dims: int):
        if input.dtype != self._flat_weights[0].dtype:
            raise ValueError("RNN input dtype does not match weight dtype")
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def check_state(self, hx: Tensor, input: Tensor, width: int, message: str):
        batch = input.size(0) if self.batch_first else input.size(1)
        expected = [self.num_layers * (2 if self.bidirectional else 1), batch, width]
        if hx.size() != expected:
            raise RuntimeError(message.format((expected[0], expected[1], expected[2]), list(hx.size())))

    def new_state(self, input: Tensor, width: int) -> Tensor:
        batch = input.size(0) if self.batch_first else input.size(1)
        return torch.zeros([self.num_layers * (2 if self.bidirectional else 1), batch, width], dtype=input.dtype, device=input.device)

    def enter(self, input: Tensor) -> Tensor:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"Expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.dim() == 2:
            input = input.unsqueeze(0 if self.batch_first else 1)
        self.check_input(input, 3)
        return input

    def one_state(self, input: Tensor, hx: Optional[Tensor], is_batched: bool) -> Tensor:
        if hx is None:
            return self.new_state(input, self.hidden_size)
        if is_batched and hx.dim() != 3:
            raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")
        if not is_batched:
            if hx.dim() != 2:
                raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")
            hx = hx.unsqueeze(1)
        self.check_state(hx, input, self.hidden_size, "Expected hidden size {}, got {}")
        return hx

    # The order of packed sequences is by length; a state's is the caller's.
    def packed_state(self, data: Tensor, batch_sizes: Tensor, hx: Optional[Tensor], order: Optional[Tensor], width: int, message: str) -> Tensor:
        expected = [self.num_layers * (2 if self.bidirectional else 1), int(batch_sizes[0]), width]
        if hx is None:
            return torch.zeros(expected, dtype=data.dtype, device=data.device)
        state = hx if order is None else hx.index_select(1, order)
        if state.size() != expected:
            raise RuntimeError(message.format((expected[0], expected[1], expected[2]), list(state.size())))
        return state


class RNN:
    _overloads = {"forward": ["forward", "forward_packed"]}

    def forward_packed(self, input: PackedSequence, hx: Optional[Tensor] = None) -> Tuple[PackedSequence, Tensor]:
        data, batch_sizes, order, back = input
        self.check_input(data, 2)
        state = self.packed_state(data, batch_sizes, hx, order, self.hidden_size, "Expected hidden size {}, got {}")
        if self.mode == "RNN_TANH":
            output, hidden = torch.rnn_tanh(data, batch_sizes, state, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        else:
            output, hidden = torch.rnn_relu(data, batch_sizes, state, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        return PackedSequence(output, batch_sizes, order, back), hidden if back is None else hidden.index_select(1, back)

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        is_batched = input.dim() == 3
        input = self.enter(input)
        state = self.one_state(input, hx, is_batched)
        if self.mode == "RNN_TANH":
            output, hidden = torch.rnn_tanh(input, state, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)
        else:
            output, hidden = torch.rnn_relu(input, state, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)
        if is_batched:
            return output, hidden
        return output.squeeze(0 if self.batch_first else 1), hidden.squeeze(1)


class GRU:
    _overloads = {"forward": ["forward", "forward_packed"]}

    def forward_packed(self, input: PackedSequence, hx: Optional[Tensor] = None) -> Tuple[PackedSequence, Tensor]:
        data, batch_sizes, order, back = input
        self.check_input(data, 2)
        state = self.packed_state(data, batch_sizes, hx, order, self.hidden_size, "Expected hidden size {}, got {}")
        output, hidden = torch.gru(data, batch_sizes, state, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        return PackedSequence(output, batch_sizes, order, back), hidden if back is None else hidden.index_select(1, back)

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        is_batched = input.dim() == 3
        input = self.enter(input)
        state = self.one_state(input, hx, is_batched)
        output, hidden = torch.gru(input, state, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)
        if is_batched:
            return output, hidden
        return output.squeeze(0 if self.batch_first else 1), hidden.squeeze(1)


class LSTM:
    _overloads = {"forward": ["forward", "forward_packed"]}

    def forward_packed(self, input: PackedSequence, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[PackedSequence, Tuple[Tensor, Tensor]]:
        data, batch_sizes, order, back = input
        self.check_input(data, 2)
        first: Optional[Tensor] = None
        second: Optional[Tensor] = None
        if hx is not None:
            first, second = hx
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        state = [self.packed_state(data, batch_sizes, first, order, width, "Expected hidden[0] size {}, got {}"),
                 self.packed_state(data, batch_sizes, second, order, self.hidden_size, "Expected hidden[1] size {}, got {}")]
        output, hidden, cell = torch.lstm(data, batch_sizes, state, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if back is not None:
            hidden, cell = hidden.index_select(1, back), cell.index_select(1, back)
        return PackedSequence(output, batch_sizes, order, back), (hidden, cell)

    def forward(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        is_batched = input.dim() == 3
        input = self.enter(input)
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        if hx is None:
            state = torch.jit.annotate(List[Tensor], [self.new_state(input, width), self.new_state(input, self.hidden_size)])
        else:
            dimensions = 3 if is_batched else 2
            if hx[0].dim() != dimensions or hx[1].dim() != dimensions:
                raise RuntimeError(f"For {'batched' if is_batched else 'unbatched'} {dimensions}-D input, hx and cx "
                                   f"should also be {dimensions}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors")
            if is_batched:
                state = [hx[0], hx[1]]
            else:
                state = [hx[0].unsqueeze(1), hx[1].unsqueeze(1)]
            self.check_state(state[0], input, width, "Expected hidden[0] size {}, got {}")
            self.check_state(state[1], input, self.hidden_size, "Expected hidden[1] size {}, got {}")
        output, hidden, cell = torch.lstm(input, state, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)
        if is_batched:
            return output, (hidden, cell)
        return output.squeeze(0 if self.batch_first else 1), (hidden.squeeze(1), cell.squeeze(1))


class RNNCellBase:
    def enter(self, input: Tensor, name: str) -> Tensor:
        if input.dim() != 1 and input.dim() != 2:
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        return input if input.dim() == 2 else input.unsqueeze(0)

    def state(self, input: Tensor, hx: Optional[Tensor], is_batched: bool, name: str) -> Tensor:
        if hx is None:
            return torch.zeros([input.size(0), self.hidden_size], dtype=input.dtype, device=input.device)
        if hx.dim() != 1 and hx.dim() != 2:
            raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {hx.dim()}D instead")
        return hx if is_batched else hx.unsqueeze(0)


class RNNCell:
    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        is_batched = input.dim() == 2
        input = self.enter(input, "RNNCell")
        state = self.state(input, hx, is_batched, "RNNCell")
        if self.nonlinearity == "tanh":
            result = torch.rnn_tanh_cell(input, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        elif self.nonlinearity == "relu":
            result = torch.rnn_relu_cell(input, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        else:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return result if is_batched else result.squeeze(0)


class GRUCell:
    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        is_batched = input.dim() == 2
        input = self.enter(input, "GRUCell")
        state = self.state(input, hx, is_batched, "GRUCell")
        result = torch.gru_cell(input, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return result if is_batched else result.squeeze(0)


class LSTMCell:
    def forward(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
        is_batched = input.dim() == 2
        input = self.enter(input, "LSTMCell")
        if hx is None:
            h = self.state(input, None, is_batched, "LSTMCell")
            c = h
        else:
            h = self.state(input, hx[0], is_batched, "LSTMCell")
            c = self.state(input, hx[1], is_batched, "LSTMCell")
        hidden, cell = torch.lstm_cell(input, [h, c], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if is_batched:
            return hidden, cell
        return hidden.squeeze(0), cell.squeeze(0)
