"""Tensors that other processes receive share memory with the sender's: storages travel as file descriptors.

`ForkingPickler`, which writes what queues, pipes and new processes are given, learns it when this module is loaded.
"""
from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler

import kindling as torch
from kindling import _utils
from kindling.storage import TypedStorage

__all__ = ["init_reductions", "reduce_storage", "reduce_tensor", "rebuild_storage_fd", "rebuild_tensor"]


def rebuild_tensor(storage, dtype, offset, size, stride, requires_grad):
    """A tensor over a received storage."""
    tensor = torch.empty(0, dtype=dtype).set_(storage, offset, size, stride)
    return tensor.requires_grad_(True) if requires_grad else tensor


def reduce_tensor(tensor):
    """How a tensor is pickled for another process: its storage, and what it sees of it.

    RuntimeError for a tensor that an operator made under autograd: history cannot cross to another process.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue).")
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_conj() or tensor.is_neg():
        return _utils._reduce_tensor(tensor)
    return rebuild_tensor, (tensor.untyped_storage(), tensor.dtype, tensor.storage_offset(), tuple(tensor.shape),
                            tensor.stride(), tensor.requires_grad)


def rebuild_typed_storage(storage, dtype):
    """A typed storage over a received one."""
    return TypedStorage(wrap_storage=storage, dtype=dtype)


def reduce_typed_storage(storage):
    """How a typed storage is pickled for another process."""
    return rebuild_typed_storage, (storage._untyped_storage, storage.dtype)


def rebuild_storage_fd(handle, size):
    """A storage over the shared memory whose descriptor `handle` brings."""
    import os
    descriptor = handle.detach()
    try:
        return torch.UntypedStorage._new_shared_fd_cpu(descriptor, size)
    finally:
        os.close(descriptor)


def reduce_storage(storage):
    """How a storage is pickled for another process: moved into shared memory, whose descriptor is handed over.

    Where its memory is seen from outside (a NumPy array) it must stay where it is, and its bytes are copied.
    """
    if storage.nbytes() == 0:
        return torch.UntypedStorage, (0,)
    try:
        descriptor, size = storage._share_fd_cpu_()
    except RuntimeError:
        return torch.UntypedStorage, (bytearray(storage),)
    return rebuild_storage_fd, (reduction.DupFd(descriptor), size)


def init_reductions():
    """Teaches `multiprocessing` to share tensors; done when this module is loaded."""
    ForkingPickler.register(torch.Tensor, reduce_tensor)
    ForkingPickler.register(TypedStorage, reduce_typed_storage)
    ForkingPickler.register(torch.UntypedStorage, reduce_storage)


init_reductions()
