// bindings/tensor/tensor_methods.cpp: methods of Tensor that are no operators: sizes, conversions, storage.
// Compiled for size.
#include "bindings/tensor/tensor.h"
#include "bindings/types.h"
#include "core/batch.h"
#include "core/shape.h"
#include "core/sparse.h"

namespace kindling::python {

#define METHOD(NAME)                                                                                                                       \
    static PyObject* method_##NAME([[maybe_unused]] PyObject* self, [[maybe_unused]] PyObject* const* args,                                \
                                   [[maybe_unused]] Py_ssize_t nargs, [[maybe_unused]] PyObject* kwnames)
#define NO_ARGUMENTS(NAME)                                                                                                                 \
    if (nargs || kwnames) {                                                                                                                \
        PyErr_Format(PyExc_TypeError, "TensorBase." NAME "() takes no arguments (%zd given)",                                              \
                     nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));                                                                   \
        return nullptr;                                                                                                                    \
    }

// ---- sizes

static PyObject* one_or_all(const char* function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, IntList list, bool as_size,
                            TensorImpl* of = nullptr) {
    PyObject* slots[1];
    if (!read_arguments(function, args, nargs, kwnames, {"dim"}, slots)) return nullptr;
    const bool traced = of && sizes_are_traced();
    if (!slots[0] || slots[0] == Py_None) return traced ? traced_shape(of) : as_size ? size_object(list) : int_tuple(list);
    int64_t dim;
    Fit fit = int_of_object(slots[0], dim);
    if (fit == Fit::No) {
        PyErr_Format(PyExc_TypeError, "%s(): argument 'dim' must be int, not %s", function, Py_TYPE(slots[0])->tp_name);
        return nullptr;
    }
    if (fit == Fit::Raised) return nullptr;
    int64_t at = wrap_dim(dim, static_cast<int64_t>(list.size()));
    if (list.empty()) fail(ErrorKind::Index, "Dimension specified as %lld but tensor has no dimensions", static_cast<long long>(dim));
    return traced ? traced_size(of, dim) : PyLong_FromLongLong(list[static_cast<size_t>(at)]);
}
/// What only strided tensors have; "Sparse CSR" tensors say so in torch's words.
static void need_strides(const TensorImpl* impl, const char* what) {
    static constexpr const char* kinds[] = {"CSR", "CSC", "BSR", "BSC"};
    if (is_compressed(impl->layout)) [[unlikely]]
        fail(ErrorKind::Runtime, "Sparse %s tensors do not have %s",
             kinds[static_cast<int>(impl->layout) - static_cast<int>(Layout::SparseCsr)], what);
}
static void need_storage(const TensorImpl* impl) {
    KINDLING_CHECK(NotImplemented, !(impl->key & key::Wrapped), "Cannot access storage of BatchedTensorImpl");
    if (impl->key & key::Layout) [[unlikely]]
        fail(ErrorKind::NotImplemented, "Cannot access storage of %s",
             is_compressed(impl->layout) ? "SparseCsrTensorImpl" : "SparseTensorImpl");
}
METHOD(size) {
    return one_or_all("size", args, nargs, kwnames, const_cast<const TensorImpl*>(impl_of(self))->sizes(), true, impl_of(self));
}
METHOD(stride) {
    need_strides(impl_of(self), "strides");
    return one_or_all("stride", args, nargs, kwnames, const_cast<const TensorImpl*>(impl_of(self))->strides(), false);
}
METHOD(pin_memory) { fail(ErrorKind::Runtime, "Cannot access accelerator device when none is available."); }
METHOD(dim) { NO_ARGUMENTS("dim") return PyLong_FromLong(impl_of(self)->ndim); }
METHOD(numel) {
    NO_ARGUMENTS("numel")
    if (sizes_are_traced()) [[unlikely]]
        return traced_numel(impl_of(self));
    return PyLong_FromLongLong(impl_of(self)->numel);
}
METHOD(storage_offset) { NO_ARGUMENTS("storage_offset") return PyLong_FromLongLong(impl_of(self)->offset); }
METHOD(element_size) { NO_ARGUMENTS("element_size") return PyLong_FromSize_t(item_size(impl_of(self)->dtype)); }
METHOD(data_ptr) {
    NO_ARGUMENTS("data_ptr")
    TensorImpl* impl = impl_of(self);
    if (impl->key & (key::Layout | key::Wrapped))
        fail(ErrorKind::Runtime, "Cannot access data pointer of Tensor that doesn't have storage");
    bool memory = impl->storage && impl->storage->data() && impl->numel;
    return PyLong_FromVoidPtr(memory ? impl->data() : nullptr);
}
METHOD(is_contiguous) {
    need_strides(impl_of(self), "is_contiguous");
    PyObject* slots[1];
    if (!read_arguments("is_contiguous", args, nargs, kwnames, {"memory_format"}, slots)) return nullptr;
    MemoryFormat format = MemoryFormat::Contiguous;
    if (slots[0] && !memory_format_of_object(slots[0], format))
        fail(ErrorKind::Type, "is_contiguous(): argument 'memory_format' must be torch.memory_format");
    if (format != MemoryFormat::Contiguous && impl_of(self)->key & key::Wrapped)
        fail(ErrorKind::Runtime, "NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format");
    return PyBool_FromLong(tensor_of(self).is_contiguous(format));
}
METHOD(get_device) { NO_ARGUMENTS("get_device") return PyLong_FromLong(impl_of(self)->device.index); }
METHOD(no) { Py_RETURN_FALSE; }
METHOD(no_device) {
    PyErr_SetString(PyExc_RuntimeError, "there is no device of that kind");
    return nullptr;
}

// ---- kinds

METHOD(is_floating_point) { NO_ARGUMENTS("is_floating_point") return PyBool_FromLong(is_floating(impl_of(self)->dtype)); }
METHOD(is_complex) { NO_ARGUMENTS("is_complex") return PyBool_FromLong(is_complex(impl_of(self)->dtype)); }
METHOD(is_signed) {
    NO_ARGUMENTS("is_signed")
    DType dtype = impl_of(self)->dtype;
    return PyBool_FromLong(dtype != DType::Bool && !is_unsigned(dtype));
}
METHOD(is_conj) { NO_ARGUMENTS("is_conj") return PyBool_FromLong(all_slices(tensor_of(self)).is_conj()); }
METHOD(is_neg) { NO_ARGUMENTS("is_neg") return PyBool_FromLong(all_slices(tensor_of(self)).is_neg()); }
METHOD(is_inference) { NO_ARGUMENTS("is_inference") return PyBool_FromLong(impl_of(self)->inference); }
METHOD(is_pinned) { Py_RETURN_FALSE; }
METHOD(is_shared) {
    NO_ARGUMENTS("is_shared") need_storage(impl_of(self));
    return PyBool_FromLong(impl_of(self)->storage && impl_of(self)->storage->shared);
}

// ---- values

METHOD(item) {
    NO_ARGUMENTS("item")
    TensorImpl* impl = impl_of(self);
    if (is_traced()) [[unlikely]]
        warn_leaves("Converting a tensor to a Python number");
    KINDLING_CHECK(Runtime, impl->numel == 1, "a Tensor with %lld elements cannot be converted to Scalar",
                   static_cast<long long>(impl->numel));
    return scalar_object(tensor_of(self).item_scalar());
}
METHOD(tolist) {
    NO_ARGUMENTS("tolist")
    if (is_traced()) [[unlikely]]
        warn_leaves("Converting a tensor to a Python list");
    return tensor_to_list(self);
}
METHOD(numpy) {
    PyObject* slots[1];
    if (!read_arguments("numpy", args, nargs, kwnames, {"force"}, slots)) return nullptr;
    bool force = slots[0] && flag_of("numpy", "force", slots[0]);
    if (is_traced()) [[unlikely]]
        warn_leaves("Converting a tensor to a NumPy array");
    Tensor tensor = tensor_of(self);
    if (force) {
        static constinit Known conj{"resolve_conj", "", nullptr}, neg{"resolve_neg", "", nullptr};
        KINDLING_CHECK(Runtime, !(tensor.impl()->key & key::Dispatch), ".numpy() is not supported for tensor subclasses.");
        tensor = shallow_copy(tensor);
        if (tensor.is_conj()) tensor = conj(tensor);
        if (tensor.is_neg()) tensor = neg(tensor);
    } else if (thread_state.grad_mode && key_of(tensor.impl()) & key::Autograd) {
        fail(ErrorKind::Runtime, "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    }
    return numpy_of_tensor(tensor);
}

// ---- conversions

static PyObject* converted(PyObject* self, const Tensor& result) { return result.impl() == impl_of(self) ? Py_NewRef(self) : wrap(result); }

static MemoryFormat format_argument(const char* function, PyObject* object) {
    MemoryFormat format = MemoryFormat::Preserve;
    if (object && object != Py_None && !memory_format_of_object(object, format))
        fail(ErrorKind::Type, "%s(): argument 'memory_format' must be torch.memory_format, not %s", function, Py_TYPE(object)->tp_name);
    return format;
}

template <DType dtype> static PyObject* cast(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* slots[1];
    if (!read_arguments("to", args, nargs, kwnames, {"memory_format"}, slots)) return nullptr;
    return converted(self, to_options(tensor_of(self), dtype, false, {}, false, format_argument("to", slots[0])));
}

/// What stands for a number in promotion: as which dtype x.to(1.5) converts.
static bool is_other(PyObject* object, PyObject* second, DType& dtype) {
    Scalar number;
    if (is_tensor(object) || is_dtype(object) || is_device(object) || object == Py_None || PyUnicode_Check(object) || PyType_Check(object))
        return false;
    // An int is a device, unless what follows says that it can't be.
    if (PyLong_Check(object) && !PyBool_Check(object) && (!second || second == Py_None || is_dtype(second) || PyType_Check(second)))
        return false;
    if (!scalar_of_object(object, number)) return false;
    dtype = number.dtype();
    return true;
}

METHOD(to) {
    // to(dtype, ...), to(device, dtype, ...), to(other, ...): told apart by the first argument.
    PyObject *first = nargs > 0 ? args[0] : nullptr, *slots[6];
    DType dtype = DType::None;
    Device device;
    bool has_device = false;
    int at = 0;
    if (kwnames && !first)
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "other") == 0) at = 1;
    if (at || (first && (is_tensor(first) || is_other(first, nargs > 1 ? args[1] : nullptr, dtype)))) {
        if (!read_arguments("to", args, nargs, kwnames, {"other", "non_blocking", "copy", "memory_format"}, slots, 1, 3)) return nullptr;
        if (dtype == DType::None) {
            KINDLING_CHECK(Type, is_tensor(slots[0]), "to(): argument 'other' must be Tensor, not %s", Py_TYPE(slots[0])->tp_name);
            dtype = impl_of(slots[0])->dtype;
            device = impl_of(slots[0])->device;
            has_device = true;
        }
        at = 1;
    } else if (first && (is_dtype(first) || PyType_Check(first))) {
        if (!read_arguments("to", args, nargs, kwnames, {"dtype", "non_blocking", "copy", "memory_format"}, slots, 1, 3)) return nullptr;
        if (!dtype_of_object(first, dtype))
            fail(ErrorKind::Type, "to(): argument 'dtype' must be torch.dtype, not %s", Py_TYPE(first)->tp_name);
        at = 1;
    } else {
        if (!read_arguments("to", args, nargs, kwnames, {"device", "dtype", "non_blocking", "copy", "memory_format"}, slots, 0, 4))
            return nullptr;
        if (slots[0] && slots[0] != Py_None) {
            if (!is_device(slots[0]) && !PyUnicode_Check(slots[0]) && !PyLong_Check(slots[0]))
                fail(ErrorKind::Type,
                     "to() received an invalid combination of arguments - got (%s), but expected one of:\n * (torch.device device, "
                     "torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n * "
                     "(torch.dtype "
                     "dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n * (Tensor "
                     "tensor, bool "
                     "non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n",
                     Py_TYPE(slots[0])->tp_name);
            if (!device_of_object(slots[0], device)) return nullptr;
            has_device = true;
        }
        if (slots[1] && slots[1] != Py_None && !dtype_of_object(slots[1], dtype))
            fail(ErrorKind::Type, "to(): argument 'dtype' must be torch.dtype, not %s", Py_TYPE(slots[1])->tp_name);
        at = 2;
    }
    bool non_blocking = slots[at] && flag_of("to", "non_blocking", slots[at]), copy = slots[at + 1] && flag_of("to", "copy", slots[at + 1]);
    return converted(self,
                     to_options(tensor_of(self), dtype, has_device, device, copy, format_argument("to", slots[at + 2]), non_blocking));
}

METHOD(cpu) {
    PyObject* slots[1];
    if (!read_arguments("cpu", args, nargs, kwnames, {"memory_format"}, slots)) return nullptr;
    return converted(self, to_options(tensor_of(self), DType::None, true, Device(), false, format_argument("cpu", slots[0])));
}
METHOD(cuda) {
    PyErr_SetString(PyExc_AssertionError, "Torch not compiled with CUDA enabled");
    return nullptr;
}
METHOD(type_as) {
    PyObject* slots[1];
    if (!read_arguments("type_as", args, nargs, kwnames, {"other"}, slots, 1)) return nullptr;
    KINDLING_CHECK(Type, is_tensor(slots[0]), "type_as(): argument 'other' (position 1) must be Tensor, not %s",
                   Py_TYPE(slots[0])->tp_name);
    static constinit Known type_as{"type_as", "", nullptr};
    if (is_traced()) [[unlikely]]
        return converted(self, type_as(tensor_of(self), tensor_of(slots[0])));
    return converted(self,
                     to_options(tensor_of(self), impl_of(slots[0])->dtype, true, impl_of(slots[0])->device, false, MemoryFormat::Preserve));
}

// ---- memory

METHOD(untyped_storage) {
    NO_ARGUMENTS("untyped_storage")
    need_storage(impl_of(self));
    return storage_object(impl_of(self)->storage);
}
METHOD(share_memory_) {
    NO_ARGUMENTS("share_memory_")
    need_storage(impl_of(self));
    Object storage(checked(storage_object(impl_of(self)->storage)));
    Object shared(PyObject_CallMethod(storage.get(), "share_memory_", nullptr));
    return shared ? Py_NewRef(self) : nullptr;
}

// ---- made like this one

METHOD(new_tensor) {
    PyObject* slots[5];
    if (!read_arguments("new_tensor", args, nargs, kwnames, {"data", "dtype", "device", "requires_grad", "pin_memory"}, slots, 1, 1))
        return nullptr;
    DType dtype = impl_of(self)->dtype;
    Device device = impl_of(self)->device;
    if (slots[1] && slots[1] != Py_None && !dtype_of_object(slots[1], dtype))
        fail(ErrorKind::Type, "new_tensor(): argument 'dtype' must be torch.dtype");
    if (slots[2] && slots[2] != Py_None && !device_of_object(slots[2], device)) return nullptr;
    if (is_traced()) [[unlikely]]
        return wrap(traced_data(slots[0], dtype, device, true));
    Tensor result = to_options(tensor_of_data(slots[0], dtype, false), DType::None, true, device, false, MemoryFormat::Preserve);
    if (slots[3] && flag_of("new_tensor", "requires_grad", slots[3])) result.requires_grad_(true);
    return wrap(result);
}
METHOD(new) {
    Object tuple(PyTuple_New(nargs)), kwargs(kwnames ? PyDict_New() : nullptr);
    for (Py_ssize_t i = 0; i < nargs; i++) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, i), args[nargs + i]);
    return wrap(legacy_construct("new", impl_of(self)->dtype, tuple.get(), kwargs.get()));
}

const NativeMethodDef tensor_methods[] = {
    {"size", method_size, "size(dim=None): the sizes, or one of them."},
    {"stride", method_stride, "stride(dim=None): the strides in elements, or one of them."},
    {"dim", method_dim, "The number of dimensions."},
    {"ndimension", method_dim, "The number of dimensions."},
    {"numel", method_numel, "The number of elements."},
    {"nelement", method_numel, "The number of elements."},
    {"storage_offset", method_storage_offset, "Where in its storage the tensor starts, in elements."},
    {"element_size", method_element_size, "Bytes of one element."},
    {"data_ptr", method_data_ptr, "The address of the first element."},
    {"is_contiguous", method_is_contiguous, "is_contiguous(memory_format=torch.contiguous_format): do the elements lie in order?"},
    {"get_device", method_get_device, "The device's index; -1 on the CPU."},
    {"_is_zerotensor", method_no, "False: there are no tensors of nothing but zeros."},
    {"_has_symbolic_sizes_strides", method_no, "False: sizes are numbers."},
    {"xpu", method_no_device, "RuntimeError: there is no such device."},
    {"ipu", method_no_device, "RuntimeError: there is no such device."},
    {"mtia", method_no_device, "RuntimeError: there is no such device."},
    {"const_data_ptr", method_data_ptr, "The address of the first element."},
    {"is_floating_point", method_is_floating_point, "Is the dtype a floating one?"},
    {"is_complex", method_is_complex, "Is the dtype a complex one?"},
    {"is_signed", method_is_signed, "Is the dtype signed?"},
    {"is_conj", method_is_conj, "Is the conjugate bit set?"},
    {"is_neg", method_is_neg, "Is the negative bit set?"},
    {"is_inference", method_is_inference, "Was the tensor made under inference_mode?"},
    {"is_pinned", method_is_pinned, "False: there is no pinned memory."},
    {"pin_memory", method_pin_memory, "RuntimeError: there is no device that memory could be pinned for."},
    {"is_shared", method_is_shared, "Does the storage lie in shared memory?"},
    {"item", method_item, "The one element as a Python number. RuntimeError unless there is exactly one."},
    {"tolist", method_tolist, "The elements as nested lists of Python numbers."},
    {"numpy", method_numpy, "numpy(*, force=False): the elements as a NumPy array over the same memory."},
    {"to", method_to, "to(dtype | device | other, ...): the same values with another dtype or on another device."},
    {"cpu", method_cpu, "The tensor on the CPU."},
    {"cuda", method_cuda, "AssertionError: there is no CUDA device."},
    {"type_as", method_type_as, "type_as(other): this tensor with the dtype of other."},
    {"byte", cast<DType::UInt8>, "to(torch.uint8)"},
    {"char", cast<DType::Int8>, "to(torch.int8)"},
    {"short", cast<DType::Int16>, "to(torch.int16)"},
    {"int", cast<DType::Int32>, "to(torch.int32)"},
    {"long", cast<DType::Int64>, "to(torch.int64)"},
    {"half", cast<DType::Float16>, "to(torch.float16)"},
    {"float", cast<DType::Float32>, "to(torch.float32)"},
    {"double", cast<DType::Float64>, "to(torch.float64)"},
    {"bool", cast<DType::Bool>, "to(torch.bool)"},
    {"bfloat16", cast<DType::BFloat16>, "to(torch.bfloat16)"},
    {"cfloat", cast<DType::Complex64>, "to(torch.complex64)"},
    {"cdouble", cast<DType::Complex128>, "to(torch.complex128)"},
    {"untyped_storage", method_untyped_storage, "The storage, as bytes."},
    {"share_memory_", method_share_memory_, "Moves the storage into shared memory."},
    {"new_tensor", method_new_tensor,
     "new_tensor(data, *, dtype=None, device=None, requires_grad=False): like torch.tensor, with this tensor's dtype."},
    {"new", method_new, "new(...): the legacy constructor with this tensor's dtype."},
    {nullptr, nullptr, nullptr},
};

// Written in Python (kindling/_tensor.py); what is here wins over an operator of the same name.
constinit const char* const lazy_methods[] = {"__array__",
                                              "__array_wrap__",
                                              "__complex__",
                                              "__contains__",
                                              "__copy__",
                                              "__deepcopy__",
                                              "__div__",
                                              "__dlpack__",
                                              "__dlpack_device__",
                                              "__format__",
                                              "__idiv__",
                                              "__rdiv__",
                                              "__reduce_ex__",
                                              "__reversed__",
                                              "__setstate__",
                                              "_reduce_ex_internal",
                                              "_typed_storage",
                                              "apply_",
                                              "chalf",
                                              "dequantize",
                                              "dim_order",
                                              "eig",
                                              "int_repr",
                                              "_view_func",
                                              "is_distributed",
                                              "is_nonzero",
                                              "is_set_to",
                                              "istft",
                                              "lstsq",
                                              "lu",
                                              "map2_",
                                              "map_",
                                              "module_load",
                                              "nonzero",
                                              "norm",
                                              "polygamma_",
                                              "q_per_channel_axis",
                                              "q_per_channel_scales",
                                              "q_per_channel_zero_points",
                                              "q_scale",
                                              "q_zero_point",
                                              "qscheme",
                                              "record_stream",
                                              "reinforce",
                                              "resize",
                                              "resize_as",
                                              "solve",
                                              "split",
                                              "stft",
                                              "storage",
                                              "storage_type",
                                              "symeig",
                                              "to_mkldnn",
                                              "to_padded_tensor",
                                              "to_sparse_coo",
                                              "type",
                                              "unflatten",
                                              "unique",
                                              "unique_consecutive",
                                              "volatile",
                                              nullptr};

} // namespace kindling::python
