"""torch.distributed.tensor: tensors over a mesh of devices, which here is one. Its parts are loaded at first use."""
import kindling as torch

__all__ = ["DTensor", "distribute_tensor", "distribute_module", "Shard", "Replicate", "Partial", "Placement", "ones", "empty", "full", "rand", "randn", "zeros"]

__getattr__, __dir__ = torch._lazy_parts(globals(), {**dict.fromkeys((*__all__, "DeviceMesh", "init_device_mesh"), "_api"),
                                                     **dict.fromkeys(("DTensorSpec", "TensorMeta"), "_dtensor_spec"),
                                                     **dict.fromkeys(("Partial", "Placement", "Replicate", "Shard"), "placement_types")},
                                         ("_api", "_dtensor_spec", "placement_types"))
