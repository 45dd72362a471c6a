"""The names that ``from torch import *`` takes: torch's own list of what is public."""
from kindling import _C

# Reached as torch.<name>, but not public there either.
_APART = (
    "BFloat16Storage BFloat16Tensor ComplexDoubleStorage ComplexFloatStorage HalfStorage HalfTensor QInt32Storage QInt8Storage "
    "QUInt8Storage Storage StorageBase TensorBase align_tensors broadcast_shapes channels_last channels_last_3d classes "
    "compiled_with_cxx11_abi contiguous_format eig from_dlpack get_default_device_scope get_file_path jagged "
    "legacy_contiguous_format lstsq lu matrix_rank ops pca_lowrank per_channel_affine per_channel_affine_float_qparams "
    "per_channel_symmetric per_tensor_affine per_tensor_symmetric preserve_format segment_reduce set_default_dtype set_grad_enabled "
    "solve sparse_bsc sparse_bsr sparse_coo sparse_csc sparse_csr sparse_sampled_addmm strided svd_lowrank symeig to_dlpack unique "
    "unique_dim while_loop")
# Files whose names are Kindling's own: torch's top module has none of them.
_OWN = ("_start.alias", "_compiling.mode", "_compiling.deferred", "_face.memory", "_saving.safetensors")
_LATE = ("pi e inf nan newaxis bit bits8 bits16 bits1x8 bits2x4 bits4x2 chalf complex32 float4_e2m1fn_x2 "
         "qint8 qint32 quint8 quint2x4 quint4x2 uint1 uint2 uint3 uint4 uint5 uint6 uint7 "
         "int1 int2 int3 int4 int5 int6 int7 OutOfMemoryError export")


def public(found):
    """The sorted list; ``found`` are the names that Python files define, each with its file."""
    names = {*_C._operator_names(1), *vars(_C), *_LATE.split(), *(name for name, file in found.items() if file not in _OWN)}
    return sorted(name for name in names.difference(_APART.split()) if name[0] != "_")
