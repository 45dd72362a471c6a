"""Names of torch.testing, written by tools/surface.py."""
TABLE = r"""
testing/ FileCheck@.
testing._internal.common_distributed MultiProcessTestCase(testing._internal.common_utils:TestCase)
testing._internal.common_quantization NodeSpec QuantizationTestCase(testing._internal.common_utils:TestCase)
testing._internal.composite_compliance is_inplace() is_inplace_view_fn() is_view_fn()
testing._internal.distributed/
testing._internal.distributed._tensor/
testing._internal.distributed._tensor.common_dtensor DTensorTestBase(testing._internal.distributed._tensor.common_dtensor:DTensorTestMixin;testing._internal.common_distributed:MultiProcessTestCase) DTensorTestMixin with_comms()
testing._internal.inductor_utils clone_preserve_strides_offset()
"""  # noqa: E501
