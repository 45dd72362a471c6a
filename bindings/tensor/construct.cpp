// bindings/tensor/construct.cpp: from Python data to tensors and back: torch.tensor, legacy constructors, NumPy, buffers, DLPack, tolist.
// Compiled for size.
#include <memory>

#include "bindings/tensor/tensor.h"
#include "bindings/types.h"
#include "core/shape.h"
#include "core/sparse.h"

namespace kindling::python {

// ---- elements

static void store(void* at, DType dtype, const Scalar& value) {
    switch (dtype) {
#define STORE(T, D)                                                                                                                        \
    case DType::D: *static_cast<T*>(at) = static_cast<T>(value.to_int()); return;
        // clang-format off
    STORE(int8_t, Int8) STORE(int16_t, Int16) STORE(int32_t, Int32) STORE(int64_t, Int64)
    STORE(uint8_t, UInt8) STORE(uint16_t, UInt16) STORE(uint32_t, UInt32) STORE(uint64_t, UInt64)
        // clang-format on
#undef STORE
            case DType::Bool:
        *static_cast<bool*>(at) = value.to_bool();
        return;
    case DType::Float16: *static_cast<Half*>(at) = to_half(static_cast<float>(value.to_double())); return;
    case DType::BFloat16: *static_cast<BFloat16*>(at) = to_bfloat16(static_cast<float>(value.to_double())); return;
    case DType::Float32: *static_cast<float*>(at) = static_cast<float>(value.to_double()); return;
    case DType::Float64: *static_cast<double*>(at) = value.to_double(); return;
    case DType::Complex64: *static_cast<std::complex<float>*>(at) = std::complex<float>(value.to_complex()); return;
    case DType::Complex128: *static_cast<std::complex<double>*>(at) = value.to_complex(); return;
    default:
        if (!is_float8(dtype)) fail(ErrorKind::Type, "invalid dtype");
        *static_cast<uint8_t*>(at) = to_float8(dtype, static_cast<float>(value.to_double()));
    }
}

static PyObject* load(const void* at, DType dtype) {
    switch (dtype) {
#define LOAD(T, D)                                                                                                                         \
    case DType::D: return PyLong_FromLongLong(static_cast<long long>(*static_cast<const T*>(at)));
        // clang-format off
    LOAD(int8_t, Int8) LOAD(int16_t, Int16) LOAD(int32_t, Int32) LOAD(int64_t, Int64) LOAD(uint8_t, UInt8) LOAD(uint16_t, UInt16)
    LOAD(uint32_t, UInt32)
        // clang-format on
#undef LOAD
        case DType::UInt64:
        return PyLong_FromUnsignedLongLong(*static_cast<const uint64_t*>(at));
    case DType::Bool: return PyBool_FromLong(*static_cast<const uint8_t*>(at) != 0);
    case DType::Float16: return PyFloat_FromDouble(static_cast<double>(to_float(*static_cast<const Half*>(at))));
    case DType::BFloat16: return PyFloat_FromDouble(static_cast<double>(to_float(*static_cast<const BFloat16*>(at))));
    case DType::Float32: return PyFloat_FromDouble(static_cast<double>(*static_cast<const float*>(at)));
    case DType::Float64: return PyFloat_FromDouble(*static_cast<const double*>(at));
    case DType::Complex64: {
        auto value = *static_cast<const std::complex<float>*>(at);
        return PyComplex_FromDoubles(static_cast<double>(value.real()), static_cast<double>(value.imag()));
    }
    case DType::Complex128: {
        auto value = *static_cast<const std::complex<double>*>(at);
        return PyComplex_FromDoubles(value.real(), value.imag());
    }
    default:
        if (is_float8(dtype)) return PyFloat_FromDouble(static_cast<double>(to_float(dtype, *static_cast<const uint8_t*>(at))));
        Py_RETURN_NONE;
    }
}

static Tensor resolved(const Tensor& tensor) {
    static constinit Known conj{"resolve_conj", "", nullptr}, neg{"resolve_neg", "", nullptr};
    Tensor result = tensor;
    if (result.is_conj()) result = conj(result);
    if (result.is_neg()) result = neg(result);
    return result;
}

static PyObject* list_of(const char* data, const int64_t* sizes, const int64_t* strides, int ndim, DType dtype) {
    if (ndim == 0) return load(data, dtype);
    PyObject* list = PyList_New(sizes[0]);
    auto step = static_cast<int64_t>(item_size(dtype));
    for (int64_t i = 0; list && i < sizes[0]; i++) {
        PyObject* item = list_of(data + i * strides[0] * step, sizes + 1, strides + 1, ndim - 1, dtype);
        if (!item) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, item);
    }
    return list;
}

PyObject* tensor_to_list(PyObject* self) {
    return guarded([&]() -> PyObject* {
        Tensor tensor = tensor_of(self);
        KINDLING_CHECK(Runtime, !(tensor.impl()->key & key::Dispatch), ".tolist() is not supported for tensor subclasses, got %s",
                       Py_TYPE(self)->tp_name);
        if (tensor.impl()->key & key::Private) tensor = host_copy(tensor);
        tensor = resolved(tensor);
        KINDLING_CHECK(NotImplemented, !tensor.is_meta(), "Cannot copy out of meta tensor; no data!");
        if (category(tensor.impl()->dtype) != 1 && !refuse_break("refuse_list", self)) throw_python();
        need_memory(tensor.impl());
        TensorImpl* impl = tensor.impl();
        return list_of(tensor.numel() ? static_cast<char*>(impl->data()) : nullptr, impl->sizes(), impl->strides(), impl->ndim,
                       impl->dtype);
    });
}

// ---- buffers (NumPy arrays, bytes, array.array, memoryview)

static DType dtype_of_format(const char* format, Py_ssize_t item_size, bool& swapped) {
    swapped = false;
    if (!format) return item_size == 1 ? DType::UInt8 : DType::None;
    if (*format == '>' || *format == '!') swapped = item_size > 1, format++;
    else if (*format == '<' || *format == '=' || *format == '@' || *format == '|') format++;
    if (*format == 'Z') return format[1] == 'f' ? DType::Complex64 : format[1] == 'd' ? DType::Complex128 : DType::None;
    if (format[0] && format[1]) return DType::None;
    switch (*format) {
    case '?': return DType::Bool;
    case 'e': return DType::Float16;
    case 'f': return DType::Float32;
    case 'd': return item_size == 8 ? DType::Float64 : DType::None;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return item_size == 1 ? DType::Int8 : item_size == 2 ? DType::Int16 : item_size == 4 ? DType::Int32 : DType::Int64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
    case 'c': return item_size == 1 ? DType::UInt8 : item_size == 2 ? DType::UInt16 : item_size == 4 ? DType::UInt32 : DType::UInt64;
    default: return DType::None;
    }
}

struct Buffer {
    Py_buffer view;
    bool held = false;
    ~Buffer() {
        if (held) PyBuffer_Release(&view);
    }
};

static bool is_numpy_array(PyObject* object) {
    const char* name = Py_TYPE(object)->tp_name;
    return strncmp(name, "numpy.", 6) == 0 && PyObject_CheckBuffer(object) && PyObject_HasAttrString(object, "__array_interface__");
}

[[noreturn]] static void refuse_array(PyObject* object) {
    PyErr_Clear();
    Object dtype(PyObject_GetAttrString(object, "dtype")), type(dtype ? PyObject_GetAttrString(dtype.get(), "type") : nullptr),
        name(type ? PyObject_GetAttrString(type.get(), "__name__") : nullptr);
    PyErr_Clear();
    fail(ErrorKind::Type,
         "can't convert np.ndarray of type numpy.%s. The only supported types are: float64, float32, float16, complex64, complex128, "
         "int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool.",
         name ? PyUnicode_AsUTF8(name.get()) : Py_TYPE(object)->tp_name);
}

static DType open_array(PyObject* object, Buffer& buffer) {
    if (PyObject_GetBuffer(object, &buffer.view, PyBUF_FULL_RO) < 0) refuse_array(object);
    buffer.held = true;
    bool swapped;
    DType dtype = dtype_of_format(buffer.view.format, buffer.view.itemsize, swapped);
    if (dtype == DType::None) refuse_array(object);
    KINDLING_CHECK(Value, !swapped,
                   "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
                   "currently not supported.");
    return dtype;
}

/// An array's strides in bytes. A buffer gives those of a contiguous array anew, so that sizes of 0 and 1 lose theirs: the
/// array is asked.
static Sizes strides_of(PyObject* array, const Py_buffer& view) {
    bool anew = false;
    for (int i = 0; i < view.ndim; i++) anew |= view.shape[i] <= 1;
    Object own(anew ? checked(PyObject_GetAttrString(array, "strides")) : nullptr);
    Sizes strides;
    for (int i = 0; i < view.ndim; i++) strides.push_back(anew ? PyLong_AsSsize_t(PyTuple_GET_ITEM(own.get(), i)) : view.strides[i]);
    return strides;
}

static void copy_strided(char* to, IntList strides, const char* from, const Py_buffer& view, int dim) {
    Py_ssize_t item = view.itemsize;
    if (dim == view.ndim) {
        memcpy(to, from, static_cast<size_t>(item));
        return;
    }
    for (Py_ssize_t i = 0; i < view.shape[dim]; i++)
        copy_strided(to + i * strides[dim] * item, strides, from + i * view.strides[dim], view, dim + 1);
}

/// A copy, with strides as a clone's: those of a dense array, its order of any other.
static Tensor copy_of_array(PyObject* object) {
    Buffer buffer;
    DType dtype = open_array(object, buffer);
    const Py_buffer& view = buffer.view;
    Sizes sizes, strides;
    for (int i = 0; i < view.ndim; i++) sizes.push_back(view.shape[i]);
    bool forward = true;
    for (int64_t stride : strides_of(object, view)) {
        forward &= stride >= 0;
        strides.push_back(stride / view.itemsize);
    }
    if (forward)
        strides =
            preserved_strides(sizes, strides, make_tensor(sizes, strides, dtype, Device{DeviceType::Meta}).impl()->non_overlapping_dense);
    Tensor result = forward ? make_tensor(sizes, strides, dtype) : make_tensor(sizes, dtype);
    if (!result.numel()) return result;
    if (result.is_contiguous() && PyBuffer_IsContiguous(&view, 'C')) memcpy(result.data(), view.buf, static_cast<size_t>(view.len));
    else copy_strided(static_cast<char*>(result.data()), result.strides(), static_cast<const char*>(view.buf), view, 0);
    return result;
}

/// A view that a storage lies over, and the array whose memory it is, where that is known.
struct HeldView {
    Py_buffer view;
    PyObject* root = nullptr;
};
static void release_view(void* context, void*, size_t) {
    if (!Py_IsInitialized()) return;
    Lock lock;
    auto* held = static_cast<HeldView*>(context);
    PyBuffer_Release(&held->view);
    delete held;
}

/// The array that owns the memory of a NumPy array, which may be a view of it: null if it is another's, or a view of a view.
static PyObject* root_of(PyObject* array) {
    PyObject* root = array;
    for (int i = 0; i < 2; i++) {
        Object base(PyObject_GetAttrString(root, "base"));
        if (!base) PyErr_Clear();
        if (!base || (base.get() != Py_None && Py_TYPE(base.get()) != Py_TYPE(array))) return nullptr;
        if (base.get() == Py_None) return root;
        root = base.get(); // the array holds it
    }
    return nullptr;
}

/// NumPy memory is reached by nobody else when our view is all that holds the array, and the array all that holds what it is a view of.
bool array_held_outside(const Storage& storage) {
    if (storage.deleter != release_view) return true;
    const auto* held = static_cast<const HeldView*>(storage.context);
    PyObject* array = held->view.obj;
    if (!held->root) return true;
    return Py_REFCNT(array) > 1 || (held->root != array && Py_REFCNT(held->root) > 1);
}

/// A tensor over an array's own memory.
static Tensor share_array(PyObject* object) {
    Buffer buffer;
    DType dtype = open_array(object, buffer);
    Py_buffer& view = buffer.view;
    if (view.readonly) {
        static bool warned = false;
        if (!warned) {
            warned = true;
            if (PyErr_WarnEx(PyExc_UserWarning,
                             "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
                             "writing to this tensor will result in undefined behavior. You may want to copy the array to protect "
                             "its data or make it writable before converting it to a tensor. This type of warning will be suppressed "
                             "for the rest of this program.",
                             1) < 0)
                throw_python();
        }
    }
    Sizes sizes, strides;
    int64_t last = 0;
    bool empty = false;
    for (int64_t stride : strides_of(object, view)) {
        KINDLING_CHECK(Value, stride >= 0,
                       "At least one stride in the given numpy array is negative, and tensors with negative strides are "
                       "not currently supported. (You can probably work around this by making a copy of your array  with "
                       "array.copy().) ");
        KINDLING_CHECK(Value, stride % view.itemsize == 0,
                       "given numpy array strides not a multiple of the element byte size. Copy the numpy "
                       "array to reallocate the memory.");
        strides.push_back(stride / view.itemsize);
    }
    for (int i = 0; i < view.ndim; i++) {
        sizes.push_back(view.shape[i]);
        if (view.shape[i] == 0) empty = true;
        else last += (view.shape[i] - 1) * strides[static_cast<size_t>(i)];
    }
    size_t bytes = empty ? 0 : static_cast<size_t>(last + 1) * static_cast<size_t>(view.itemsize);
    auto* kept = new HeldView{view, root_of(object)};
    buffer.held = false;
    return make_tensor(Storage::adopt(view.buf, bytes, release_view, kept), 0, sizes, strides, dtype);
}

// ---- NumPy from tensors

/// Null for what NumPy has no dtype for.
static const char* type_string(DType dtype) {
    static constexpr const char* names[] = {"|u1", "|i1",   "<i2", "<i4", "<i8", "<f2",   "<f4",   "<f8",   "<c8",   "<c16",
                                            "|b1", nullptr, "<u2", "<u4", "<u8", nullptr, nullptr, nullptr, nullptr, nullptr};
    static_assert(std::size(names) == dtype_count);
    return names[static_cast<int>(dtype)];
}

struct ArrayHolder { // what a NumPy array has as its base
    PyObject_HEAD TensorImpl* impl;
};
static PyTypeObject* holder_type;
static void holder_dealloc(PyObject* self) {
    TensorImpl* impl = reinterpret_cast<ArrayHolder*>(self)->impl;
    PyTypeObject* type = Py_TYPE(self);
    if (impl) {
        impl->storage->exported.fetch_sub(1);
        release(impl);
    }
    PyObject_Free(self);
    Py_DECREF(type);
}
static PyObject* holder_interface(PyObject* self, void*) {
    const TensorImpl* impl = reinterpret_cast<ArrayHolder*>(self)->impl;
    if (impl->numel && !settled(impl->storage)) return nullptr;
    auto item = static_cast<int64_t>(item_size(impl->dtype));
    Sizes strides;
    for (int64_t stride : impl->strides()) strides.push_back(stride * item);
    static char nothing[16];
    void* data = impl->numel && impl->storage->data() ? impl->data() : static_cast<void*>(nothing);
    return Py_BuildValue("{sNsNss s(NO)si}", "shape", int_tuple(impl->sizes()), "strides", int_tuple(strides), "typestr",
                         type_string(impl->dtype), "data", PyLong_FromVoidPtr(data), Py_False, "version", 3);
}

PyObject* numpy_of_tensor(const Tensor& tensor) {
    TensorImpl* impl = tensor.impl();
    KINDLING_CHECK(Runtime, !(impl->key & key::Wrapped),
                   "Cannot access data pointer of Tensor that doesn't have storage: vmap maps over it");
    KINDLING_CHECK(Runtime, !(impl->key & key::Dispatch), ".numpy() is not supported for tensor subclasses.");
    KINDLING_CHECK(Type, impl->layout == Layout::Strided, "can't convert %s layout tensor to numpy. Use Tensor.to_dense() first.",
                   layout_word(impl->layout));
    KINDLING_CHECK(Type, !impl->is_meta() && impl->device.type == DeviceType::CPU,
                   "can't convert %s device type tensor to numpy. Use Tensor.cpu() to copy "
                   "the tensor to host memory first.",
                   name(impl->device.type));
    KINDLING_CHECK(Type, type_string(impl->dtype), "Got unsupported ScalarType %s", scalar_type_name(impl->dtype));
    KINDLING_CHECK(Runtime, !tensor.is_conj(),
                   "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead.");
    KINDLING_CHECK(Runtime, !tensor.is_neg(),
                   "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead.");
    Object module(PyImport_ImportModule("numpy"));
    if (!module) {
        PyErr_Clear();
        fail(ErrorKind::Runtime, "Numpy is not available");
    }
    auto* holder = PyObject_New(ArrayHolder, holder_type);
    if (!holder) throw_python();
    holder->impl = shallow_copy(tensor).take();
    impl->storage->exported.fetch_add(1);
    Object kept(reinterpret_cast<PyObject*>(holder));
    return PyObject_CallMethod(module.get(), "asarray", "O", kept.get());
}

// ---- torch.tensor

static bool is_seq(PyObject* object) {
    if (PyList_Check(object) || PyTuple_Check(object)) return true;
    if (PyUnicode_Check(object) || PyBytes_Check(object) || is_tensor(object)) return false;
    return PySequence_Check(object) && !PyDict_Check(object);
}

static void sizes_of(PyObject* object, Sizes& sizes) {
    Object held;
    while (is_seq(object)) {
        Py_ssize_t length = PySequence_Size(object);
        if (length < 0) throw_python();
        sizes.push_back(length);
        KINDLING_CHECK(Value, sizes.size() <= static_cast<size_t>(max_dims), "too many dimensions '%s'", Py_TYPE(object)->tp_name);
        if (length == 0) return;
        held = Object(checked(PySequence_GetItem(object, 0)));
        object = held.get();
    }
    if (is_tensor(object))
        for (int64_t size : const_cast<const TensorImpl*>(impl_of(object))->sizes()) sizes.push_back(size);
    if (PyUnicode_Check(object) && !sizes.empty()) fail(ErrorKind::Value, "too many dimensions 'str'");
}

static DType dtype_of_item(PyObject* object) {
    if (PyFloat_CheckExact(object)) return default_dtype();
    if (PyBool_Check(object)) return DType::Bool;
    if (PyLong_Check(object)) return DType::Int64;
    if (PyComplex_CheckExact(object)) return to_complex(default_dtype());
    if (is_tensor(object)) return impl_of(object)->dtype;
    if (PyUnicode_Check(object)) fail(ErrorKind::Type, "new(): invalid data type 'str'");
    if (strncmp(Py_TYPE(object)->tp_name, "numpy.", 6) == 0 && PyObject_CheckBuffer(object)) {
        Buffer buffer;
        return open_array(object, buffer);
    }
    if (PyFloat_Check(object)) return default_dtype();
    if (PyComplex_Check(object)) return to_complex(default_dtype());
    if (PyIndex_Check(object)) return DType::Int64;
    fail(ErrorKind::Runtime, "Could not infer dtype of %s", Py_TYPE(object)->tp_name);
}

static DType infer(PyObject* object, bool& any) {
    if (!is_seq(object) || is_numpy_array(object)) {
        any = true;
        return dtype_of_item(object);
    }
    Object fast(checked(PySequence_Fast(object, "not a sequence")));
    PyObject** items = PySequence_Fast_ITEMS(fast.get());
    DType result = DType::None;
    PyTypeObject* last = nullptr; // runs of one plain type cost a comparison
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
        PyTypeObject* type = Py_TYPE(items[i]);
        if (type == last && (type == &PyFloat_Type || type == &PyLong_Type)) continue;
        last = type;
        DType each = infer(items[i], any);
        if (each == DType::None) continue;
        result = result == DType::None ? each : promote_or_fail(result, each);
    }
    return result;
}

/// A number where it fits; refused where an integer's dtype has no room for it.
static void store_number(void* at, DType dtype, const Scalar& number) {
    if (number.is_complex() && !is_complex(dtype)) fail(ErrorKind::Type, "must be real number, not complex");
    if (is_integral(dtype)) check_fits(number, dtype, name(dtype));
    store(at, dtype, number);
}

static void store_object(void* at, DType dtype, PyObject* object) {
    if (PyFloat_CheckExact(object)) return store_number(at, dtype, Scalar(PyFloat_AS_DOUBLE(object)));
    Scalar scalar;
    if (PyLong_CheckExact(object)) {
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (!overflow && (dtype != DType::UInt64 || value >= 0)) return store_number(at, dtype, Scalar(static_cast<int64_t>(value)));
        if (dtype == DType::Bool) return store(at, dtype, Scalar(true));
        if (category(dtype) >= 2) {
            double wide = PyLong_AsDouble(object);
            if (PyErr_Occurred()) throw_python();
            return store(at, dtype, Scalar(wide));
        }
        unsigned long long wide = 0;
        if (dtype == DType::UInt64) wide = PyLong_AsUnsignedLongLong(object);
        else PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        if (PyErr_Occurred()) throw_python();
        return store(at, dtype, Scalar(static_cast<uint64_t>(wide)));
    }
    if (scalar_of_object(object, scalar)) return store_number(at, dtype, scalar);
    if (is_tensor(object)) {
        KINDLING_CHECK(Value, impl_of(object)->numel == 1, "only one element tensors can be converted to Python scalars");
        return store_number(at, dtype, tensor_of(object).item_scalar());
    }
    if (dtype == DType::Bool) {
        int truth = PyObject_IsTrue(object);
        if (truth < 0) throw_python();
        return store(at, dtype, Scalar(truth == 1));
    }
    if (category(dtype) >= 2) {
        double value = PyFloat_AsDouble(object);
        if (value == -1 && PyErr_Occurred()) throw_python();
        return store(at, dtype, Scalar(value));
    }
    Object index(PyNumber_Index(object));
    if (!index) throw_python();
    store_object(at, dtype, index.get());
}

static char* fill(char* at, DType dtype, PyObject* object, const Sizes& sizes, size_t dim) {
    size_t item = item_size(dtype);
    if (dim == sizes.size()) {
        store_object(at, dtype, object);
        return at + item;
    }
    if (is_tensor(object)) {
        Tensor source = tensor_of(object);
        KINDLING_CHECK(Value, source.dim() == static_cast<int64_t>(sizes.size() - dim) || source.dim() == 0,
                       "expected a sequence of %zu dimensions, got a tensor of %lld", sizes.size() - dim,
                       static_cast<long long>(source.dim()));
        Object list(checked(tensor_to_list(object)));
        return fill(at, dtype, list.get(), sizes, dim);
    }
    if (!is_seq(object)) fail(ErrorKind::Type, "not a sequence");
    Object fast(checked(PySequence_Fast(object, "not a sequence")));
    Py_ssize_t length = PySequence_Fast_GET_SIZE(fast.get());
    KINDLING_CHECK(Value, length == sizes[dim], "expected sequence of length %lld at dim %zu (got %zd)", static_cast<long long>(sizes[dim]),
                   dim, length);
    for (Py_ssize_t i = 0; i < length; i++) at = fill(at, dtype, PySequence_Fast_GET_ITEM(fast.get(), i), sizes, dim + 1);
    return at;
}

Tensor detached(const Tensor& tensor) {
    static constinit Known detach{"detach", "", nullptr};
    return tensor.impl()->key & key::Dispatch & ~thread_state.exclude ? detach(tensor) : shallow_copy(tensor);
}

/// As PyTorch's Python functions call it, which a trace shows.
[[gnu::cold]] static Tensor traced_to(const Tensor& self, DType dtype, bool has_device, Device device, bool copy, MemoryFormat format,
                                      bool non_blocking) {
    static constinit Known to_dtype{"to", "dtype", nullptr}, to_device{"to", "device", nullptr}, to_options{"to", "dtype_layout", nullptr};
    const Value kept = format == MemoryFormat::Preserve ? Value() : Value(format);
    if (dtype != DType::None && has_device) return to_device(self, device, dtype, non_blocking, copy, kept);
    if (dtype != DType::None) return to_dtype(self, dtype, non_blocking, copy, kept);
    return to_options(self, self.dtype(), self.impl()->layout, has_device ? device : self.device(), Value(), non_blocking, copy, kept);
}

Tensor to_options(const Tensor& self, DType dtype, bool has_device, Device device, bool copy, MemoryFormat format, bool non_blocking) {
    static constinit Known to_copy{"_to_copy", "", nullptr};
    if (is_traced()) [[unlikely]]
        return traced_to(self, dtype, has_device, device, copy, format, non_blocking);
    bool same_device = !has_device || (device.type == self.device().type &&
                                       (device.index < 0 || device.index == self.device().index || self.device().index < 0));
    if (!copy && (dtype == DType::None || dtype == self.dtype()) && same_device &&
        (format == MemoryFormat::Preserve || self.suggest_memory_format() == format))
        return self;
    if (has_device && device.type == DeviceType::CUDA) {
        PyErr_SetString(PyExc_AssertionError, "Torch not compiled with CUDA enabled");
        throw_python();
    }
    return to_copy(self, Value(dtype), Value(), has_device && !same_device ? Value(device) : Value(), Value(), non_blocking,
                   format == MemoryFormat::Preserve ? Value() : Value(format));
}

Tensor tensor_of_data(PyObject* data, DType dtype, bool infer_dtype, bool copy) {
    if (is_tensor(data)) {
        Tensor source = detached(tensor_of(data));
        return to_options(source, infer_dtype ? DType::None : dtype, false, {}, copy, MemoryFormat::Preserve);
    }
    if (is_numpy_array(data)) {
        Tensor made = copy ? copy_of_array(data) : share_array(data);
        return infer_dtype ? made : to_options(made, dtype, false, {}, false, MemoryFormat::Preserve);
    }
    if (PyUnicode_Check(data)) fail(ErrorKind::Type, "new(): invalid data type 'str'");
    if (!is_seq(data) && !PyFloat_Check(data) && !PyLong_Check(data) && PyObject_HasAttrString(data, "__array_interface__")) {
        Object module(checked(PyImport_ImportModule("numpy")));
        Object array(checked(PyObject_CallMethod(module.get(), "asarray", "O", data)));
        if (is_numpy_array(array.get())) return tensor_of_data(array.get(), dtype, infer_dtype, copy);
    }
    Sizes sizes;
    sizes_of(data, sizes);
    if (infer_dtype) {
        bool any = false;
        dtype = infer(data, any);
        if (dtype == DType::None) dtype = default_dtype();
    }
    Tensor result = make_tensor(sizes, dtype);
    if (result.numel()) fill(static_cast<char*>(result.data()), dtype, data, sizes, 0);
    else if (sizes.size() > 1 && sizes[0] > 0) { // [[], [1]] is not a tensor
        fill(nullptr, dtype, data, sizes, 0);
    }
    return result;
}

[[gnu::cold]] static Tensor traced_array(PyObject* array) {
    static constinit Known lift_fresh{"lift_fresh", "", nullptr};
    return lift_fresh(share_array(array));
}
/// What is made of data while a program is traced: a constant, and what PyTorch's functions do to it.
Tensor traced_data(PyObject* data, DType dtype, Device device, bool copy) {
    static constinit Known to{"to", "device", nullptr}, detach{"detach", "", nullptr};
    Tensor made;
    const bool from_tensor = is_tensor(data);
    if (from_tensor) made = copy ? detach(tensor_of(data)) : tensor_of(data);
    else if (!copy && is_numpy_array(data)) made = traced_array(data);
    else {
        Exclude quiet(::kindling::key::Trace);
        made = tensor_of_data(data, dtype, dtype == DType::None, copy);
    }
    made = to(made, device, dtype == DType::None ? made.dtype() : dtype, false, copy && from_tensor, Value());
    return copy ? detach(made) : made;
}

struct MakeOptions {
    DType dtype = DType::None;
    bool has_device = false, requires_grad = false;
    Device device;
};
static void read_options(const char* function, PyObject* dtype, PyObject* device, PyObject* requires_grad, MakeOptions& options) {
    if (dtype && dtype != Py_None && !dtype_of_object(dtype, options.dtype))
        fail(ErrorKind::Type, "%s(): argument 'dtype' must be torch.dtype, not %s", function, Py_TYPE(dtype)->tp_name);
    if (device && device != Py_None) {
        if (!device_of_object(device, options.device)) throw_python();
        options.has_device = true;
    } else if (default_device.set) {
        options.device = default_device.device;
        options.has_device = true;
    }
    if (requires_grad) options.requires_grad = flag_of(function, "requires_grad", requires_grad);
}
static PyObject* finish(const Tensor& made, const MakeOptions& options) {
    Tensor result =
        options.has_device && !is_traced() ? to_options(made, DType::None, true, options.device, false, MemoryFormat::Preserve) : made;
    if (options.requires_grad) result.requires_grad_(true);
    return wrap(result);
}

static PyObject* ask(const char* name, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    if (!thread_state.function_modes) return nullptr;
    PyObject* function = import("kindling", name);
    PyObject* result = function ? call_torch_function(function, args, nargs, kwnames) : nullptr;
    Py_XDECREF(function);
    return result;
}

static PyObject* tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    if (PyObject* result = ask("tensor", args, nargs, kwnames); result || PyErr_Occurred()) return result;
    PyObject* slots[6];
    if (!read_arguments("tensor", args, nargs, kwnames, {"data", "dtype", "device", "requires_grad", "pin_memory", "names"}, slots, 1, 1))
        return nullptr;
    if (is_tensor(slots[0]) && PyErr_WarnEx(PyExc_UserWarning,
                                            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                                            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
                                            1) < 0)
        return nullptr;
    return guarded([&] {
        MakeOptions options;
        read_options("tensor", slots[1], slots[2], slots[3], options);
        if (is_traced()) [[unlikely]] {
            warn_constructor("torch.tensor");
            return finish(traced_data(slots[0], options.dtype, options.has_device ? options.device : Device(), true), options);
        }
        return finish(tensor_of_data(slots[0], options.dtype, options.dtype == DType::None), options);
    });
}

static PyObject* as_tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    if (PyObject* result = ask("as_tensor", args, nargs, kwnames); result || PyErr_Occurred()) return result;
    PyObject* slots[3];
    if (!read_arguments("as_tensor", args, nargs, kwnames, {"data", "dtype", "device"}, slots, 1)) return nullptr;
    return guarded([&]() -> PyObject* {
        MakeOptions options;
        read_options("as_tensor", slots[1], slots[2], nullptr, options);
        if (is_traced()) [[unlikely]] {
            warn_constructor("torch.as_tensor");
            return finish(traced_data(slots[0], options.dtype,
                                      options.has_device    ? options.device
                                      : is_tensor(slots[0]) ? tensor_of(slots[0]).device()
                                                            : Device(),
                                      false),
                          options);
        }
        if (is_tensor(slots[0])) {
            bool device_given = slots[2] && slots[2] != Py_None;
            Tensor self = tensor_of(slots[0]);
            Tensor result = to_options(self, options.dtype, device_given, options.device, false, MemoryFormat::Preserve);
            return result.is_same(self) ? Py_NewRef(slots[0]) : wrap(result);
        }
        return finish(tensor_of_data(slots[0], options.dtype, options.dtype == DType::None, false), options);
    });
}

PyObject* from_numpy(PyObject*, PyObject* array) {
    if (!is_numpy_array(array) || PyObject_HasAttrString(array, "ndim") == 0 || strcmp(Py_TYPE(array)->tp_name, "numpy.ndarray") != 0) {
        bool subclass = false;
        for (PyTypeObject* type = Py_TYPE(array); type; type = type->tp_base) subclass |= strcmp(type->tp_name, "numpy.ndarray") == 0;
        if (!subclass) {
            PyErr_Format(PyExc_TypeError, "expected np.ndarray (got %s)", Py_TYPE(array)->tp_name);
            return nullptr;
        }
    }
    return guarded([&] {
        if (is_traced()) [[unlikely]] {
            warn_constructor("torch.from_numpy");
            return wrap(traced_array(array));
        }
        return wrap(share_array(array));
    });
}

static PyObject* frombuffer(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* slots[5];
    if (!read_arguments("frombuffer", args, nargs, kwnames, {"buffer", "dtype", "count", "offset", "requires_grad"}, slots, 2, 1))
        return nullptr;
    return guarded([&]() -> PyObject* {
        DType dtype;
        if (!dtype_of_object(slots[1], dtype))
            fail(ErrorKind::Type, "frombuffer(): argument 'dtype' must be torch.dtype, not %s", Py_TYPE(slots[1])->tp_name);
        int64_t count = -1, offset = 0;
        if (slots[2] && int_of_object(slots[2], count) != Fit::Yes) fail(ErrorKind::Type, "frombuffer(): argument 'count' must be int");
        if (slots[3] && int_of_object(slots[3], offset) != Fit::Yes) fail(ErrorKind::Type, "frombuffer(): argument 'offset' must be int");
        auto kept = std::make_unique<HeldView>();
        Py_buffer* view = &kept->view;
        if (PyObject_GetBuffer(slots[0], view, PyBUF_WRITABLE) < 0) {
            PyErr_Clear();
            if (PyObject_GetBuffer(slots[0], view, PyBUF_SIMPLE) < 0) {
                PyErr_Clear();
                fail(ErrorKind::Value, "object does not implement Python buffer protocol.");
            }
            if (PyErr_WarnEx(PyExc_UserWarning,
                             "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can "
                             "write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer "
                             "to protect its data or make it writable before converting it to a tensor.",
                             1) < 0) {
                PyBuffer_Release(view);
                throw_python();
            }
        }
        struct Guard {
            Py_buffer* view;
            ~Guard() {
                if (view) PyBuffer_Release(view);
            }
        } guard{view};
        auto item = static_cast<int64_t>(item_size(dtype));
        int64_t length = view->len;
        KINDLING_CHECK(Value, length > 0 && count != 0, "both buffer length (%lld) and count (%lld) must not be 0",
                       static_cast<long long>(length), static_cast<long long>(count));
        KINDLING_CHECK(Value, offset >= 0 && offset < length,
                       "offset (%lld bytes) must be non-negative and no greater than buffer length (%lld bytes) minus 1",
                       static_cast<long long>(offset), static_cast<long long>(length));
        KINDLING_CHECK(Value, count > 0 || (length - offset) % item == 0,
                       "buffer length (%lld bytes) after offset (%lld bytes) must be a multiple of element size (%lld)",
                       static_cast<long long>(length), static_cast<long long>(offset), static_cast<long long>(item));
        if (count < 0) count = (length - offset) / item;
        KINDLING_CHECK(Value, count <= (length - offset) / item,
                       "requested buffer length (%lld * %lld bytes) after offset (%lld bytes) must not be greater than actual "
                       "buffer length (%lld bytes)",
                       static_cast<long long>(count), static_cast<long long>(item), static_cast<long long>(offset),
                       static_cast<long long>(length));
        int64_t one = 1;
        Ref<Storage> storage =
            Storage::adopt(static_cast<char*>(view->buf) + offset, static_cast<size_t>(count * item), release_view, kept.get());
        guard.view = nullptr;
        kept.release();
        Tensor result = make_tensor(storage, 0, IntList(&count, 1), IntList(&one, 1), dtype);
        if (slots[4] && flag_of("frombuffer", "requires_grad", slots[4])) result.requires_grad_(true);
        return wrap(result);
    });
}

// ---- torch.Tensor(...), torch.FloatTensor(...), x.new(...)

Tensor legacy_construct(const char* name, DType dtype, PyObject* args, PyObject* kwargs) {
    if (kwargs) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(kwargs, &at, &key, &value)) {
            Device device;
            if (PyUnicode_CompareWithASCIIString(key, "device") != 0)
                fail(ErrorKind::Type, "new() got an unexpected keyword argument '%s'", PyUnicode_AsUTF8(key));
            if (value != Py_None && !device_of_object(value, device)) throw_python();
            if (device.type != DeviceType::CPU)
                fail(ErrorKind::Runtime, "legacy constructor expects device type: cpu but device type: %s was passed",
                     kindling::name(device.type));
        }
    }
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    int64_t zero = 0;
    if (count == 0) return make_tensor(IntList(&zero, 1), dtype);
    PyObject* first = PyTuple_GET_ITEM(args, 0);
    if (count == 1 && is_tensor(first)) {
        Tensor other = tensor_of(first);
        // torch.Tensor itself, unlike torch.FloatTensor and x.new, takes a tensor of any dtype.
        KINDLING_CHECK(Type, other.dtype() == dtype || strcmp(name, "Tensor") == 0, "expected %s (got %s)", scalar_type_name(dtype),
                       scalar_type_name(other.dtype()));
        return detached(other);
    }
    if (count == 1)
        if (Storage* storage = storage_of(first)) {
            auto size = static_cast<int64_t>(storage->bytes / item_size(dtype)), one = int64_t{1};
            return make_tensor(Ref<Storage>::share(storage), 0, IntList(&size, 1), IntList(&one, 1), dtype);
        }
    bool is_size = count == 1 && strcmp(Py_TYPE(first)->tp_name, "torch.Size") == 0;
    int64_t probe;
    // An array of one dimension or more is data, even where its one element could be a size.
    bool array = count == 1 && is_numpy_array(first) && is_seq(first) && PySequence_Size(first) >= 0;
    PyErr_Clear();
    Fit fit = is_size ? Fit::Yes : array ? Fit::No : int_of_object(first, probe);
    if (fit == Fit::Raised) throw_python();
    if (fit == Fit::Yes) {
        Sizes sizes;
        if (!sizes_of_arguments("new", "size", &PyTuple_GET_ITEM(args, 0), count, sizes)) throw_python();
        for (int64_t size : sizes)
            KINDLING_CHECK(Runtime, size >= 0, "Trying to create tensor with negative dimension %lld: %s", static_cast<long long>(size),
                           str(IntList(sizes)).c_str());
        return make_tensor(sizes, dtype);
    }
    KINDLING_CHECK(Type, count == 1, "%s(): the arguments must be sizes, one sequence, a storage or a tensor", name);
    if (PyUnicode_Check(first)) fail(ErrorKind::Type, "new(): invalid data type 'str'");
    if (!is_seq(first)) fail(ErrorKind::Type, "new(): data must be a sequence (got %s)", Py_TYPE(first)->tp_name);
    return tensor_of_data(first, dtype, false);
}

/// _C._legacy_tensor(dtype, args, kwargs)
static PyObject* legacy_tensor(PyObject*, PyObject* all) {
    PyObject *dtype_arg, *args, *kwargs;
    DType dtype;
    if (!PyArg_ParseTuple(all, "OO!O", &dtype_arg, &PyTuple_Type, &args, &kwargs)) return nullptr;
    if (!dtype_of_object(dtype_arg, dtype)) {
        PyErr_SetString(PyExc_TypeError, "expected a dtype");
        return nullptr;
    }
    return guarded([&] { return wrap(legacy_construct(kindling::name(dtype), dtype, args, PyDict_Check(kwargs) ? kwargs : nullptr)); });
}

// ---- the buffer protocol

int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags) {
    static constexpr const char* formats[] = {"B", "b", "h", "i", "q", "e", "f", "d", "Zf", "Zd", "?", nullptr, "H", "I", "Q"};
    TensorImpl* impl = impl_of(self);
    view->obj = nullptr;
    if (impl->numel && impl->storage && !settled(impl->storage)) return -1;
    const char* format = formats[static_cast<int>(impl->dtype)];
    const char* problem = !format                                 ? "bfloat16 has no buffer format"
                          : impl->numel && !impl->storage->data() ? "a tensor without memory has no buffer"
                          : impl->device.type != DeviceType::CPU || impl->layout != Layout::Strided ? "only dense CPU tensors have a buffer"
                          : (impl->key & (key::Conj | key::Neg)) ? "a lazily conjugated or negated tensor has no buffer"
                          : (key_of(impl) & key::Autograd)       ? "a tensor that requires grad has no buffer; use detach()"
                          : !impl->contiguous && (flags & PyBUF_STRIDES) != PyBUF_STRIDES ? "the tensor is not contiguous"
                                                                                          : nullptr;
    if (problem) {
        PyErr_SetString(PyExc_BufferError, problem);
        return -1;
    }
    auto* numbers = static_cast<Py_ssize_t*>(PyMem_Malloc(sizeof(Py_ssize_t) * (2 * impl->ndim + 1u)));
    static char nothing[16];
    view->buf = impl->numel && impl->storage->data() ? impl->data() : static_cast<void*>(nothing);
    view->itemsize = static_cast<Py_ssize_t>(item_size(impl->dtype));
    view->len = impl->numel * view->itemsize;
    view->readonly = 0;
    view->ndim = impl->ndim;
    view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    for (int i = 0; i < impl->ndim; i++) {
        numbers[i] = impl->shape[i];
        numbers[impl->ndim + i] = impl->strides()[i] * view->itemsize;
    }
    view->shape = (flags & PyBUF_ND) == PyBUF_ND ? numbers : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? numbers + impl->ndim : nullptr;
    view->suboffsets = nullptr;
    view->internal = numbers;
    view->obj = Py_NewRef(self);
    impl->storage->exported.fetch_add(1);
    return 0;
}
void tensor_release_buffer(PyObject* self, Py_buffer* view) {
    impl_of(self)->storage->exported.fetch_sub(1);
    PyMem_Free(view->internal);
}

// ---- DLPack

struct DLDevice {
    int32_t type, id;
};
struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes;
};
struct DLTensor {
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct DLManagedTensor {
    DLTensor tensor;
    void* context;
    void (*deleter)(DLManagedTensor*);
};

static bool dl_type(DType dtype, DLDataType& type) {
    static constexpr uint8_t codes[] = {1, 0, 0, 0, 0, 2, 2, 2, 5, 5, 6, 4, 1, 1, 1, 10, 12, 11, 13, 14};
    static_assert(std::size(codes) == dtype_count);
    type = {codes[static_cast<int>(dtype)], static_cast<uint8_t>(item_size(dtype) * 8), 1};
    return true;
}
static DType dtype_of_dl(DLDataType type) {
    if (type.lanes != 1) return DType::None;
    for (int i = 0; i < dtype_count; i++) {
        DLDataType each;
        dl_type(static_cast<DType>(i), each);
        if (each.code == type.code && each.bits == type.bits) return static_cast<DType>(i);
    }
    return DType::None;
}

static void free_export(DLManagedTensor* managed) {
    auto* impl = static_cast<TensorImpl*>(managed->context);
    impl->storage->exported.fetch_sub(1);
    release(impl);
    delete managed;
}
static void free_capsule(PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return; // somebody took it
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
}
static PyObject* to_dlpack(PyObject*, PyObject* self) {
    if (!is_tensor(self)) {
        PyErr_Format(PyExc_TypeError, "to_dlpack expects a Tensor, not %s", Py_TYPE(self)->tp_name);
        return nullptr;
    }
    return guarded([&]() -> PyObject* {
        Tensor tensor = tensor_of(self);
        KINDLING_CHECK(Runtime, !(key_of(tensor.impl()) & key::Autograd),
                       "Can't export tensors that require gradient, use tensor.detach()");
        KINDLING_CHECK(Runtime, !tensor.is_conj() && !tensor.is_neg(), "Can't export tensors with the conjugate bit set");
        KINDLING_CHECK(Runtime, tensor.device().type == DeviceType::CPU && tensor.impl()->layout == Layout::Strided,
                       "Can't export tensors that are not dense CPU tensors");
        Tensor copy = shallow_copy(tensor);
        TensorImpl* impl = copy.impl();
        auto* managed = new DLManagedTensor{};
        managed->tensor.data = impl->numel ? impl->data() : nullptr;
        managed->tensor.device = {1, 0};
        managed->tensor.ndim = impl->ndim;
        dl_type(impl->dtype, managed->tensor.dtype);
        managed->tensor.shape = impl->sizes();
        managed->tensor.strides = impl->strides();
        managed->deleter = free_export;
        impl->storage->exported.fetch_add(1);
        managed->context = copy.take();
        PyObject* capsule = PyCapsule_New(managed, "dltensor", free_capsule);
        if (!capsule) free_export(managed);
        return capsule;
    });
}
static void free_import(void* context, void*, size_t) {
    if (!Py_IsInitialized()) return;
    Lock lock;
    auto* managed = static_cast<DLManagedTensor*>(context);
    if (managed->deleter) managed->deleter(managed);
}
static PyObject* from_dlpack(PyObject*, PyObject* capsule) {
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    if (!managed) {
        PyErr_Clear();
        PyErr_SetString(PyExc_RuntimeError,
                        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
                        "have already constructed a tensor from it once.");
        return nullptr;
    }
    return guarded([&]() -> PyObject* {
        DLTensor& t = managed->tensor;
        DType dtype = dtype_of_dl(t.dtype);
        KINDLING_CHECK(Runtime, t.device.type == 1, "from_dlpack: device type %d is not the CPU", t.device.type);
        KINDLING_CHECK(Runtime, dtype != DType::None, "from_dlpack: type code %d with %d bits and %d lanes is not supported", t.dtype.code,
                       t.dtype.bits, t.dtype.lanes);
        KINDLING_CHECK(Runtime, t.ndim >= 0 && t.ndim <= max_dims, "from_dlpack: %d dimensions are not supported", t.ndim);
        Sizes sizes(IntList(t.shape, static_cast<size_t>(t.ndim)));
        int64_t count = checked_numel(sizes);
        KINDLING_CHECK(Runtime, t.data || !count, "from_dlpack: the tensor has a non-zero number of elements, but no memory");
        Sizes strides = t.strides ? Sizes(IntList(t.strides, static_cast<size_t>(t.ndim))) : contiguous_strides(sizes);
        for (int64_t stride : strides) KINDLING_CHECK(Value, stride >= 0, "from_dlpack: negative strides are not supported");
        Ref<Storage> storage = Storage::adopt(static_cast<char*>(t.data) + t.byte_offset,
                                              checked_bytes(sizes, strides, 0, item_size(dtype)), free_import, managed);
        PyCapsule_SetName(capsule, "used_dltensor");
        return wrap(make_tensor(storage, 0, sizes, strides, dtype));
    });
}

static PyObject* numpy_of(PyObject*, PyObject* self) {
    return guarded([&] { return numpy_of_tensor(tensor_of(self)); });
}

static PyObject* set_default_dtype_object(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        DType dtype;
        if (!is_dtype(object) || !dtype_of_object(object, dtype))
            fail(ErrorKind::Type, "invalid dtype object: only floating-point types are supported as the default type");
        if (!is_floating(dtype)) fail(ErrorKind::Type, "only floating-point types are supported as the default type");
        set_default_dtype(dtype);
        Py_RETURN_NONE;
    });
}
static PyObject* get_default_dtype_object(PyObject*, PyObject*) { return dtype_object(default_dtype()); }

static bool dtype_pair(const char* function, PyObject* args, DType& a, DType& b) {
    PyObject *x, *y;
    if (!PyArg_ParseTuple(args, "OO", &x, &y)) return false;
    try {
        if (dtype_of_object(x, a) && dtype_of_object(y, b)) return true;
    } catch (...) {
        set_error();
        return false;
    }
    PyErr_Format(PyExc_TypeError, "%s(): arguments must be torch.dtype", function);
    return false;
}
static PyObject* promote_types(PyObject*, PyObject* args) {
    DType a, b;
    if (!dtype_pair("promote_types", args, a, b)) return nullptr;
    return guarded([&] { return dtype_object(promote_or_fail(a, b)); });
}
static PyObject* can_cast(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* slots[2];
    if (!read_arguments("can_cast", args, nargs, kwnames, {"from_", "to"}, slots, 2)) return nullptr;
    Object pair(PyTuple_Pack(2, slots[0], slots[1]));
    DType from, to;
    if (!pair || !dtype_pair("can_cast", pair.get(), from, to)) return nullptr;
    bool result =
        !(is_complex(from) && !is_complex(to)) && !(is_floating(from) && category(to) <= 1) && !(from != DType::Bool && to == DType::Bool);
    return PyBool_FromLong(result);
}

bool init_construct(PyObject* module) {
    static PyGetSetDef holder_getset[] = {{"__array_interface__", holder_interface, nullptr, nullptr, nullptr},
                                          {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(holder_dealloc)}, {Py_tp_getset, holder_getset}, {0, nullptr}};
    static PyType_Spec spec = {"torch._C._Memory", sizeof(ArrayHolder), 0, Py_TPFLAGS_DEFAULT, slots};
    if (!(holder_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)))) return false;
#define FAST(NAME, FUNCTION)                                                                                                               \
    { NAME, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(FUNCTION)), METH_FASTCALL | METH_KEYWORDS, nullptr }
    static PyMethodDef functions[] = {
        FAST("tensor", tensor),
        FAST("as_tensor", as_tensor),
        FAST("frombuffer", frombuffer),
        FAST("can_cast", can_cast),
        {"from_numpy", from_numpy, METH_O, nullptr},
        {"_legacy_tensor", legacy_tensor, METH_VARARGS, nullptr},
        {"_to_dlpack", to_dlpack, METH_O, nullptr},
        {"_from_dlpack", from_dlpack, METH_O, nullptr},
        {"_numpy", numpy_of, METH_O, nullptr},
        {"_set_default_dtype", set_default_dtype_object, METH_O, nullptr},
        {"get_default_dtype", get_default_dtype_object, METH_NOARGS, nullptr},
        {"promote_types", promote_types, METH_VARARGS, nullptr},
        {nullptr, nullptr, 0, nullptr},
    };
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
