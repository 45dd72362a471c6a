"""Names of torch.masked, written by tools/surface.py."""
TABLE = r"""
masked._ops amax() amin() argmax() argmin() cumprod() cumsum() log_softmax() logaddexp() logsumexp() mean() median() norm() normalize() prod() softmax() softmin() std() sum() var()
masked.maskedtensor/ MaskedTensor@masked.maskedtensor.core is_masked_tensor@masked.maskedtensor.core
masked.maskedtensor.binary
masked.maskedtensor.core MaskedTensor(.:Tensor):get_data,get_mask,*is_sparse,is_sparse_coo,is_sparse_csr,to_tensor,unary is_masked_tensor()
masked.maskedtensor.creation as_masked_tensor() masked_tensor()
masked.maskedtensor.passthrough
masked.maskedtensor.reductions
masked.maskedtensor.unary
"""  # noqa: E501
