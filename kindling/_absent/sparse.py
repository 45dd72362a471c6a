"""Names of torch.sparse, written by tools/surface.py."""
TABLE = r"""
sparse/ SparseSemiStructuredTensor@sparse.semi_structured SparseSemiStructuredTensorCUSPARSELT@sparse.semi_structured SparseSemiStructuredTensorCUTLASS@sparse.semi_structured addmm() as_sparse_gradcheck() check_sparse_tensor_invariants:disable,enable,is_enabled log_softmax() mm() softmax() sum() to_sparse_semi_structured@sparse.semi_structured
sparse.semi_structured SparseSemiStructuredTensor(.:Tensor):from_dense,to_dense SparseSemiStructuredTensorCUSPARSELT(sparse.semi_structured:SparseSemiStructuredTensor):from_dense,prune_dense_static_sort SparseSemiStructuredTensorCUTLASS(sparse.semi_structured:SparseSemiStructuredTensor):from_dense,prune_dense_static_sort,to_dense to_sparse_semi_structured()
"""  # noqa: E501
