"""Names of torch.sparse, written by tools/surface.py."""
TABLE = r"""
sparse.semi_structured SparseSemiStructuredTensor(.:Tensor):from_dense,to_dense SparseSemiStructuredTensorCUSPARSELT(sparse.semi_structured:SparseSemiStructuredTensor):from_dense,prune_dense_static_sort SparseSemiStructuredTensorCUTLASS(sparse.semi_structured:SparseSemiStructuredTensor):from_dense,prune_dense_static_sort,to_dense to_sparse_semi_structured()
"""  # noqa: E501
