"""The names that ``from torch import *`` takes: torch's own list of what is public."""
from kindling import _C

# Reached as torch.<name>, but not public there either.
_APART = (
    "BFloat16Storage BFloat16Tensor ComplexDoubleStorage ComplexFloatStorage HalfStorage HalfTensor QInt32Storage QInt8Storage QUInt8Storage Storage StorageBase TensorBase "
    "align_tensors broadcast_shapes channels_last channels_last_3d compiled_with_cxx11_abi contiguous_format "
    "convolution_backward embedding_dense_backward from_dlpack get_file_path grid_sampler_2d_backward "
    "grid_sampler_3d_backward jagged legacy_contiguous_format lu max_pool2d_with_indices_backward native_dropout_backward "
    "nonzero_numpy pca_lowrank per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric"
    "  preserve_format segment_reduce set_default_dtype set_grad_enabled sparse_coo sparse_csr embedding_sparse_backward sparse_sampled_addmm sparse_csc sparse_bsr sparse_bsc copy_sparse_to_sparse_ "
    "strided svd_lowrank to_dlpack unique unique_dim while_loop "
    "symeig solve lstsq eig matrix_rank get_default_device_scope ops classes")
# Files whose names are Kindling's own: torch's top module has none of them.
_OWN = ("_alias", "_compile_mode", "_deferred", "_memory", "_safetensors")
# In-place forms that torch has as methods only.
_METHODS = (
    "absolute add addbmm addcdiv addcmul addmm addr arctan2 atan2 baddbmm bitwise_and bitwise_left_shift bitwise_not "
    "bitwise_or bitwise_right_shift bitwise_xor copysign cumprod cumsum digamma div divide eq erfinv float_power floor_divide fmod ge "
    "greater greater_equal gt heaviside hypot igamma igammac index_add index_copy index_fill index_reduce le lerp less "
    "less_equal lgamma logical_and logical_not logical_or logical_xor lt masked_fill masked_scatter mul multiply mvlgamma ne "
    "nextafter not_equal pow put remainder renorm scatter scatter_add scatter_reduce sgn sign squeeze sub subtract swapaxes "
    "swapdims t transpose tril triu true_divide unsqueeze ")
_LATE = ("pi e inf nan newaxis bit bits8 bits16 bits1x8 bits2x4 bits4x2 chalf complex32 float4_e2m1fn_x2 "
         "qint8 qint32 quint8 quint2x4 quint4x2 uint1 uint2 uint3 uint4 uint5 uint6 uint7 "
         "int1 int2 int3 int4 int5 int6 int7 OutOfMemoryError export")


def public(found):
    """The sorted list; ``found`` are the names that Python files define, each with its file."""
    names = {*_C._operator_names(1), *vars(_C), *_LATE.split(), *(name for name, file in found.items() if file not in _OWN)}
    names -= {*_APART.split(), *(name + "_" for name in _METHODS.split())}
    return sorted(name for name in names if name[0] != "_")
