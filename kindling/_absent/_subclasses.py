"""Names of torch._subclasses, written by tools/surface.py."""
TABLE = r"""
_subclasses/ FakeTensor@_subclasses.fake_tensor FakeTensorMode@_subclasses.fake_tensor
_subclasses.fake_tensor FakeTensor(.:Tensor) FakeTensorConverter FakeTensorMode(utils._python_dispatch:TorchDispatchMode) _is_tensor_constructor() is_fake() maybe_get_fake_mode() unset_fake_temporarily()
_subclasses.functional_tensor FunctionalTensor(.:Tensor) FunctionalTensorMode(utils._python_dispatch:TorchDispatchMode) disable_functional_mode() mb_unwrap_functional_tensor()
_subclasses.meta_utils MetaConverter
"""  # noqa: E501
