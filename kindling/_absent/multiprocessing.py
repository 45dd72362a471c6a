"""Names of torch.multiprocessing, written by tools/surface.py."""
TABLE = r"""
multiprocessing/ _set_thread_name()
multiprocessing.pool Pool SimpleQueue@multiprocessing.queue clean_worker()
multiprocessing.queue ConnectionWrapper:recv,send Queue SimpleQueue
multiprocessing.reductions SharedCache(dict):free_dead_references,get StorageWeakRef:expired,from_weakref fd_id() rebuild_cuda_tensor() rebuild_event() rebuild_meta_tensor() rebuild_nested_tensor() rebuild_sparse_compressed_tensor() rebuild_sparse_coo_tensor() rebuild_storage_empty() rebuild_storage_filename() rebuild_typed_storage_child() reduce_event() reduce_nested_tensor() reduce_sparse_tensor() reduce_typed_storage_child() shared_cache={} storage_from_cache()
multiprocessing.spawn ProcessContext:join,pids ProcessException!(Exception) ProcessExitedException!(multiprocessing.spawn:ProcessException) ProcessRaisedException!(multiprocessing.spawn:ProcessException) SpawnContext(multiprocessing.spawn:ProcessContext) spawn() start_processes()
"""  # noqa: E501
