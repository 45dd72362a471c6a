"""Names of torch.backends, written by tools/surface.py."""
TABLE = r"""
backends.cuda/ SDPAParams:*attn_mask,*dropout,*enable_gqa,*is_causal,*key,*query,*value blas_workspace_size() cuBLASModule cuFFTPlanCache:clear cuFFTPlanCacheAttrContextProp cuFFTPlanCacheManager cublas_workspace_size() cublaslt_workspace_size() is_ck_sdpa_available()no
backends.cudnn.rnn fp32_precision='tf32'
backends.mps/ get_core_count() get_name()
backends.nnpack/ flags()
backends.python_native
backends.xeon/
backends.xeon.run_cpu REMAINDER='...' Std@distributed.elastic.multiprocessing.api create_args() format_str? main() start_processes@distributed.elastic.multiprocessing
"""  # noqa: E501
