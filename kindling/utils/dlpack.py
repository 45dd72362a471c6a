"""Tensors from and to other libraries, without copying."""
import kindling as torch

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType:
    """The numbers that DLPack gives to kinds of devices."""
    kDLCPU, kDLCUDA, kDLCUDAHost, kDLOpenCL = 1, 2, 3, 4
    kDLVulkan, kDLMetal, kDLVPI, kDLROCM, kDLROCMHost = 7, 8, 9, 10, 11
    kDLExtDev, kDLCUDAManaged, kDLOneAPI, kDLWebGPU, kDLHexagon, kDLMAIA = 12, 13, 14, 15, 16, 17


def to_dlpack(tensor):
    """A DLPack capsule that shares the tensor's memory; it can be taken in once."""
    return tensor.__dlpack__()


def from_dlpack(ext_tensor, *, device: "torch.device | str | int | None" = None, copy: bool | None = None) -> torch.Tensor:
    """A tensor that shares the memory of another library's, or of a DLPack capsule.

    Any object with `__dlpack__` will do.  See `torch.from_dlpack`.
    """
    if device is None and copy is None:
        return torch.from_dlpack(ext_tensor)
    return torch.from_dlpack(ext_tensor, device=device, copy=copy)
