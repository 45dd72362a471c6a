"""Names of torch.sparse, written by tools/surface.py."""
TABLE = r"""
sparse._triton_ops broadcast_batch_dims() launch_kernel() prepare_inputs() ptr_stride_extractor() tile_to_blocksize()
sparse._triton_ops_meta get_meta() minimize() update()
sparse.semi_structured SparseSemiStructuredTensor(.:Tensor):from_dense,to_dense SparseSemiStructuredTensorCUSPARSELT(sparse.semi_structured:SparseSemiStructuredTensor):from_dense,prune_dense_static_sort SparseSemiStructuredTensorCUTLASS(sparse.semi_structured:SparseSemiStructuredTensor):from_dense,prune_dense_static_sort,to_dense to_sparse_semi_structured()
"""  # noqa: E501
