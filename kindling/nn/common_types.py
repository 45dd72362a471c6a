"""Type names that annotations of other people's layers import; sizes are numbers or tuples of numbers."""
import kindling as torch

Tensor = torch.Tensor
_scalar_or_tuple_any_t = _scalar_or_tuple_1_t = _scalar_or_tuple_2_t = _scalar_or_tuple_3_t = tuple
_scalar_or_tuple_4_t = _scalar_or_tuple_5_t = _scalar_or_tuple_6_t = tuple
_size_any_t = _size_1_t = _size_2_t = _size_3_t = _size_4_t = _size_5_t = _size_6_t = tuple
_size_any_opt_t = _size_2_opt_t = _size_3_opt_t = tuple
_ratio_any_t = _ratio_2_t = _ratio_3_t = tuple
_tensor_list_t = tuple
_maybe_indices_t = tuple
