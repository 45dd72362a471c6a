// bindings/types.cpp: the small types: dtype, layout, memory_format, device, Size, finfo and iinfo.
// Compiled for size.

#include "bindings/types.h"
#include "bindings/function.h"
#include "core/sparse.h"

namespace kindling::python {

// ---- dtype, layout, memory_format: one object per value

struct NamedObject {
    PyObject_HEAD const char* name;
    int value;
};

static PyTypeObject *dtype_type, *layout_type, *memory_format_type, *device_type, *size_type, *finfo_type, *iinfo_type;
static NamedObject* dtypes[dtype_count];
static NamedObject* layouts[8];
static NamedObject* memory_formats[4];

/// dtypes that tensors cannot have yet: objects with torch's facts, made when they are first named.
struct NamedOnly {
    const char* name;
    uint8_t bytes;
    bool floating;
    char sign;
}; // sign: + - q(uantised) b(its)
static constexpr NamedOnly named_only[] = {{"float4_e2m1fn_x2", 1, true, '-'},
                                           {"complex32", 4, false, '-'},
                                           {"bits8", 1, false, 'b'},
                                           {"bits16", 2, false, 'b'},
                                           {"bits1x8", 1, false, 'b'},
                                           {"bits2x4", 1, false, 'b'},
                                           {"bits4x2", 1, false, 'b'},
                                           {"qint8", 1, false, 'q'},
                                           {"quint8", 1, false, 'q'},
                                           {"qint32", 4, false, 'q'},
                                           {"quint4x2", 1, false, 'q'},
                                           {"quint2x4", 1, false, 'q'},
                                           {"uint1", 1, false, '+'},
                                           {"uint2", 1, false, '+'},
                                           {"uint3", 1, false, '+'},
                                           {"uint4", 1, false, '+'},
                                           {"uint5", 1, false, '+'},
                                           {"uint6", 1, false, '+'},
                                           {"uint7", 1, false, '+'},
                                           {"int1", 1, false, '-'},
                                           {"int2", 1, false, '-'},
                                           {"int3", 1, false, '-'},
                                           {"int4", 1, false, '-'},
                                           {"int5", 1, false, '-'},
                                           {"int6", 1, false, '-'},
                                           {"int7", 1, false, '-'}};
static constexpr int first_named_only = static_cast<int>(DType::None) + 1, named_complex = first_named_only + 1;
static PyObject* named_only_objects[std::size(named_only)];

static const NamedOnly* only_named(PyObject* dtype) {
    int value = reinterpret_cast<NamedObject*>(dtype)->value;
    return value < first_named_only ? nullptr : &named_only[value - first_named_only];
}

static PyObject* named_repr(PyObject* self) { return PyUnicode_FromFormat("torch.%s", reinterpret_cast<NamedObject*>(self)->name); }
static PyObject* named_reduce(PyObject* self, PyObject*) {
    if (!strcmp(package, "torch"))
        return PyUnicode_FromString(reinterpret_cast<NamedObject*>(self)->name); // a global of torch, as PyTorch's dtypes
    PyObject* find = import("kindling._C", "_constant");
    return find ? Py_BuildValue("N(s)", find, reinterpret_cast<NamedObject*>(self)->name) : nullptr;
}
static PyObject* self_copy(PyObject* self, PyObject*) { return Py_NewRef(self); }
static DType dtype_of_named(PyObject* self) { return static_cast<DType>(reinterpret_cast<NamedObject*>(self)->value); }
static PyObject* dtype_is_floating_point(PyObject* self, void*) {
    const NamedOnly* only = only_named(self);
    return PyBool_FromLong(only ? only->floating : is_floating(dtype_of_named(self)));
}
static PyObject* dtype_is_complex(PyObject* self, void*) {
    return PyBool_FromLong(only_named(self) ? reinterpret_cast<NamedObject*>(self)->value == named_complex
                                            : is_complex(dtype_of_named(self)));
}
static PyObject* dtype_is_signed(PyObject* self, void*) {
    if (const NamedOnly* only = only_named(self)) {
        if (only->sign == '+' || only->sign == '-') return PyBool_FromLong(only->sign == '-');
        PyErr_SetString(PyExc_RuntimeError,
                        only->sign == 'b' ? "Bits types are undefined" : "isSignedType not supported for quantized types");
        return nullptr;
    }
    DType d = dtype_of_named(self);
    return PyBool_FromLong(d != DType::Bool && d != DType::Float8E8M0FNU && !is_unsigned(d));
}
static PyObject* dtype_itemsize(PyObject* self, void*) {
    const NamedOnly* only = only_named(self);
    return PyLong_FromSize_t(only ? only->bytes : item_size(dtype_of_named(self)));
}
static PyObject* dtype_to_real(PyObject* self, PyObject*) {
    if (!only_named(self)) return dtype_object(to_real(dtype_of_named(self)));
    return reinterpret_cast<NamedObject*>(self)->value == named_complex ? dtype_object(DType::Float16) : Py_NewRef(self);
}
static PyObject* dtype_to_complex(PyObject* self, PyObject*) {
    if (const NamedOnly* only = only_named(self)) {
        if (reinterpret_cast<NamedObject*>(self)->value == named_complex) return Py_NewRef(self);
        return PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %s", only->name);
    }
    DType d = dtype_of_named(self);
    if (is_float8(d)) return PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %s", scalar_type_name(d));
    return dtype_object(is_complex(d) ? d : to_complex(d));
}

static PyMethodDef named_methods[] = {
    {"__reduce__", named_reduce, METH_NOARGS, nullptr},
    {"__copy__", self_copy, METH_NOARGS, nullptr},
    {"__deepcopy__", self_copy, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
static PyMethodDef dtype_methods[] = {
    {"__reduce__", named_reduce, METH_NOARGS, nullptr},     {"__copy__", self_copy, METH_NOARGS, nullptr},
    {"__deepcopy__", self_copy, METH_O, nullptr},           {"to_real", dtype_to_real, METH_NOARGS, nullptr},
    {"to_complex", dtype_to_complex, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr},
};
static PyGetSetDef dtype_getset[] = {
    {"is_floating_point", dtype_is_floating_point, nullptr, nullptr, nullptr},
    {"is_complex", dtype_is_complex, nullptr, nullptr, nullptr},
    {"is_signed", dtype_is_signed, nullptr, nullptr, nullptr},
    {"itemsize", dtype_itemsize, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyObject* dtype_object(DType dtype) {
    if (dtype == DType::None) Py_RETURN_NONE;
    return Py_NewRef(reinterpret_cast<PyObject*>(dtypes[static_cast<int>(dtype)]));
}
PyObject* layout_object(Layout layout) { return Py_NewRef(reinterpret_cast<PyObject*>(layouts[static_cast<int>(layout)])); }
PyObject* memory_format_object(MemoryFormat format) {
    return Py_NewRef(reinterpret_cast<PyObject*>(memory_formats[static_cast<int>(format)]));
}
bool is_dtype(PyObject* object) { return Py_TYPE(object) == dtype_type; }
bool dtype_of_object(PyObject* object, DType& dtype) {
    if (Py_TYPE(object) == dtype_type) {
        if (const NamedOnly* only = only_named(object))
            fail(ErrorKind::NotImplemented, "tensors of dtype torch.%s are not supported yet", only->name);
        dtype = dtype_of_named(object);
        return true;
    }
    if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) dtype = DType::Float64;
    else if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) dtype = DType::Int64;
    else if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) dtype = DType::Bool;
    else if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) dtype = DType::Complex128;
    else return false;
    return true;
}
bool layout_of_object(PyObject* object, Layout& layout) {
    if (Py_TYPE(object) != layout_type) return false;
    layout = static_cast<Layout>(reinterpret_cast<NamedObject*>(object)->value);
    return true;
}
bool memory_format_of_object(PyObject* object, MemoryFormat& format) {
    if (Py_TYPE(object) != memory_format_type) return false;
    format = static_cast<MemoryFormat>(reinterpret_cast<NamedObject*>(object)->value);
    return true;
}

// ---- device

struct DeviceObject {
    PyObject_HEAD Device device;
};
static DeviceObject *cpu_device, *meta_device;
/// What `with device:` put away in this thread; the memory goes with the outermost block.
static constinit thread_local DefaultDevice* device_stack = nullptr;
static constinit thread_local int device_depth = 0;

static PyObject* new_device(Device device) {
    auto* self = PyObject_New(DeviceObject, device_type);
    if (self) self->device = device;
    return reinterpret_cast<PyObject*>(self);
}
PyObject* device_object(Device device) {
    if (device.index < 0 && device.type == DeviceType::CPU) return Py_NewRef(reinterpret_cast<PyObject*>(cpu_device));
    if (device.index < 0 && device.type == DeviceType::Meta) return Py_NewRef(reinterpret_cast<PyObject*>(meta_device));
    return new_device(device);
}
bool is_device(PyObject* object) { return Py_TYPE(object) == device_type; }

/// The device type of this name, a named plug-in's included; false if nobody knows it now.
static bool find_device_type(const char* text, size_t length, DeviceType& found) {
    for (int i = 0; i < device_type_count; i++) {
        auto type = static_cast<DeviceType>(i);
        if (is_private(type) && type != DeviceType::Private && !private_device(type).name[0]) continue;
        if (strlen(name(type)) != length || memcmp(name(type), text, length) != 0) continue;
        found = type;
        return true;
    }
    return false;
}

static bool parse_device(const char* text, Device& device) {
    const char* colon = strchr(text, ':');
    size_t length = colon ? static_cast<size_t>(colon - text) : strlen(text);
    if (!find_device_type(text, length, device.type)) { // perhaps a plug-in brings it
        PyObject* load = import("kindling._face.devices", "_load_plugins");
        PyObject* trouble = load ? PyObject_CallFunction(load, "s#", text, static_cast<Py_ssize_t>(length)) : nullptr;
        Py_XDECREF(load);
        if (!trouble) return false;
        bool found = find_device_type(text, length, device.type);
        if (!found)
            PyErr_Format(PyExc_RuntimeError,
                         "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, "
                         "mps, meta, hpu, mtia, %s device type at start of device string: %s%U",
                         name(DeviceType::Private), std::string(text, length).c_str(), trouble);
        Py_DECREF(trouble);
        if (!found) return false;
    }
    device.index = -1;
    if (!colon) return true;
    char* end;
    long index = strtol(colon + 1, &end, 10);
    if (!colon[1] || *end || index < 0 || index > 127 || (colon[1] == '0' && colon[2])) {
        PyErr_Format(PyExc_RuntimeError, "Invalid device string: '%s'", text);
        return false;
    }
    device.index = static_cast<int8_t>(index);
    return true;
}

/// _C._is_device_type(name): whether a device has this name now, without a look for plug-ins.
static PyObject* is_device_type(PyObject*, PyObject* text) {
    Py_ssize_t length;
    const char* name = PyUnicode_AsUTF8AndSize(text, &length);
    DeviceType type;
    return name ? PyBool_FromLong(find_device_type(name, static_cast<size_t>(length), type)) : nullptr;
}

bool device_of_object(PyObject* object, Device& device, bool raise) {
    if (Py_TYPE(object) == device_type) {
        device = reinterpret_cast<DeviceObject*>(object)->device;
        return true;
    }
    if (PyUnicode_Check(object)) {
        const char* text = PyUnicode_AsUTF8(object);
        if (text && parse_device(text, device)) return true;
        if (!raise) PyErr_Clear();
        return false;
    }
    if (PyLong_Check(object) && !PyBool_Check(object)) {
        int64_t index = -1;
        if (int_of_object(object, index) == Fit::Raised) {
            if (!raise) PyErr_Clear();
            return false;
        }
        DeviceType type = accelerator().type;
        if (index >= 0 && index <= 127 && type != DeviceType::CPU) {
            device = {type, static_cast<int8_t>(index)};
            return true;
        }
        if (raise)
            PyErr_SetString(PyExc_RuntimeError,
                            index < 0 ? "Device index must not be negative" : "Cannot access accelerator device when none is available.");
        return false;
    }
    if (raise) PyErr_Format(PyExc_TypeError, "device must be a torch.device, str or int, not %s", Py_TYPE(object)->tp_name);
    return false;
}

static PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"type", "index", nullptr};
    PyObject *type = nullptr, *index = nullptr;
    if (kwargs && PyDict_GetItemString(kwargs, "device") && PyTuple_GET_SIZE(args) == 0) {
        type = PyDict_GetItemString(kwargs, "device");
    } else if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(keywords), &type, &index)) {
        return nullptr;
    }
    Device device;
    if (!device_of_object(type, device)) return nullptr;
    if (index && index != Py_None) {
        if (device.index >= 0) {
            PyErr_Format(PyExc_RuntimeError, "type (string) must not include an index because index was passed explicitly: %S", type);
            return nullptr;
        }
        long value = PyLong_AsLong(index);
        if (value == -1 && PyErr_Occurred()) return nullptr;
        if (value < 0 || value > 127) {
            PyErr_SetString(PyExc_RuntimeError, "Device index must not be negative");
            return nullptr;
        }
        device.index = static_cast<int8_t>(value);
    }
    return device_object(device);
}
static Device device_of(PyObject* self) { return reinterpret_cast<DeviceObject*>(self)->device; }
static PyObject* device_str(PyObject* self) {
    Device d = device_of(self);
    return d.index < 0 ? PyUnicode_FromString(name(d.type)) : PyUnicode_FromFormat("%s:%d", name(d.type), d.index);
}
static PyObject* device_repr(PyObject* self) {
    Device d = device_of(self);
    return d.index < 0 ? PyUnicode_FromFormat("device(type='%s')", name(d.type))
                       : PyUnicode_FromFormat("device(type='%s', index=%d)", name(d.type), d.index);
}
static Py_hash_t device_hash(PyObject* self) {
    Device d = device_of(self);
    return (static_cast<Py_hash_t>(d.type) << 16) | static_cast<uint8_t>(d.index);
}
static PyObject* device_compare(PyObject* a, PyObject* b, int op) {
    if (Py_TYPE(a) != device_type || Py_TYPE(b) != device_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((device_of(a) == device_of(b)) == (op == Py_EQ));
}
static PyObject* device_get_type(PyObject* self, void*) { return PyUnicode_InternFromString(name(device_of(self).type)); }
static PyObject* device_get_index(PyObject* self, void*) {
    int8_t index = device_of(self).index;
    if (index < 0) Py_RETURN_NONE;
    return PyLong_FromLong(index);
}
static PyObject* device_reduce(PyObject* self, PyObject*) {
    Device d = device_of(self);
    return d.index < 0 ? Py_BuildValue("O(s)", device_type, name(d.type)) : Py_BuildValue("O(si)", device_type, name(d.type), d.index);
}

static int set_default_device_object(PyObject* device) {
    if (device == Py_None) {
        default_device = DefaultDevice();
        return 0;
    }
    Device value;
    if (!device_of_object(device, value)) return -1;
    if (value.type == DeviceType::CUDA) {
        PyErr_SetString(PyExc_AssertionError, "Torch not compiled with CUDA enabled");
        return -1;
    }
    default_device = {value, true};
    return 0;
}
static PyObject* device_enter(PyObject* self, PyObject*) {
    auto* grown =
        static_cast<DefaultDevice*>(PyMem_RawRealloc(device_stack, sizeof(DefaultDevice) * static_cast<size_t>(device_depth + 1)));
    if (!grown) return PyErr_NoMemory();
    device_stack = grown;
    device_stack[device_depth] = default_device;
    if (set_default_device_object(self) < 0) return nullptr;
    device_depth++;
    return Py_NewRef(self);
}
static PyObject* device_exit(PyObject*, PyObject*) {
    if (device_depth == 0) Py_RETURN_NONE;
    default_device = device_stack[--device_depth];
    if (device_depth == 0) {
        PyMem_RawFree(device_stack);
        device_stack = nullptr;
    }
    Py_RETURN_NONE;
}
/// _C._default_device_scope(): (device or None, how many `with device:` are open, what they put away).
static PyObject* default_device_scope(PyObject*, PyObject*) {
    auto show = [](const DefaultDevice& d) { return d.set ? device_object(d.device) : Py_NewRef(Py_None); };
    PyObject* outer = PyTuple_New(device_depth);
    for (int i = 0; outer && i < device_depth; i++) PyTuple_SET_ITEM(outer, i, show(device_stack[i]));
    return outer ? Py_BuildValue("(NiN)", show(default_device), device_depth, outer) : nullptr;
}
static PyObject* device_call(PyObject* self, PyObject* args, PyObject*) { // @torch.device("meta") over a function
    PyObject* function;
    if (!PyArg_ParseTuple(args, "O", &function)) return nullptr;
    PyObject* wrapper = import("kindling._tensor", "_with_device");
    if (!wrapper) return nullptr;
    PyObject* result = PyObject_CallFunctionObjArgs(wrapper, self, function, nullptr);
    Py_DECREF(wrapper);
    return result;
}

// ---- Size

static PyObject* make_size(IntList sizes) {
    auto n = static_cast<Py_ssize_t>(sizes.size());
    PyObject* self = size_type->tp_alloc(size_type, n);
    if (!self) return nullptr;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject* item = PyLong_FromLongLong(sizes[static_cast<size_t>(i)]);
        if (!item) {
            Py_DECREF(self);
            return nullptr;
        }
        PyTuple_SET_ITEM(self, i, item);
    }
    return self;
}

/// Shapes are asked for all the time and are few: the last ones are kept. A Size cannot change, so sharing shows nowhere.
PyObject* size_object(IntList sizes) {
    struct Entry {
        PyObject* object;
        size_t count;
        int64_t sizes[4];
    };
    static Entry kept[64];
    if (sizes.size() > 4) return make_size(sizes);
    uint64_t hash = sizes.size();
    for (int64_t size : sizes) hash = (hash ^ static_cast<uint64_t>(size)) * 0x9e3779b97f4a7c15u;
    Entry& entry = kept[hash >> 58];
    if (entry.object && entry.count == sizes.size()) {
        bool same = true;
        for (size_t i = 0; i < sizes.size(); i++) same &= entry.sizes[i] == sizes[i];
        if (same) return Py_NewRef(entry.object);
    }
    PyObject* fresh = make_size(sizes);
    if (!fresh) return nullptr;
    PyObject* before = entry.object;
    entry.object = Py_NewRef(fresh);
    entry.count = sizes.size();
    for (size_t i = 0; i < sizes.size(); i++) entry.sizes[i] = sizes[i];
    Py_XDECREF(before);
    return fresh;
}
PyObject* int_tuple(IntList list) {
    PyObject* self = PyTuple_New(static_cast<Py_ssize_t>(list.size()));
    for (size_t i = 0; self && i < list.size(); i++) PyTuple_SET_ITEM(self, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(list[i]));
    return self;
}

PyObject* size_of_tuple(PyObject* tuple) {
    if (!tuple || !PyTuple_CheckExact(tuple)) return tuple;
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    PyObject* self = size_type->tp_alloc(size_type, n);
    for (Py_ssize_t i = 0; self && i < n; i++) PyTuple_SET_ITEM(self, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
    Py_DECREF(tuple);
    return self;
}
static PyObject* size_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
    PyObject* tuple = PyTuple_Type.tp_new(&PyTuple_Type, args, kwargs);
    if (!tuple) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject* item = PyTuple_GET_ITEM(tuple, i);
        if (PyLong_Check(item) || (is_traced() && is_tensor(item) && impl_of(item)->ndim == 0)) continue; // a size of a trace
        int64_t value;
        if (int_of_object(item, value) != Fit::Yes) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i, Py_TYPE(item)->tp_name);
            Py_DECREF(tuple);
            return nullptr;
        }
        PyObject* integer = PyLong_FromLongLong(value);
        PyTuple_SET_ITEM(tuple, i, integer);
        Py_DECREF(item);
    }
    return size_of_tuple(tuple);
}
static PyObject* size_repr(PyObject* self) {
    std::string text = "torch.Size([";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); i++) {
        PyObject* item = PyObject_Str(PyTuple_GET_ITEM(self, i));
        if (!item) return nullptr;
        text += (i ? ", " : "") + std::string(PyUnicode_AsUTF8(item));
        Py_DECREF(item);
    }
    return PyUnicode_FromString((text + "])").c_str());
}
static PyObject* size_concat(PyObject* self, PyObject* other) {
    if (!PyTuple_Check(self) || !PyTuple_Check(other)) {
        PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not %s) to torch.Size", Py_TYPE(other)->tp_name);
        return nullptr;
    }
    return size_of_tuple(PyTuple_Type.tp_as_sequence->sq_concat(self, other));
}
static PyObject* size_add(PyObject* self, PyObject* other) {
    if (!PyTuple_Check(self) || !PyTuple_Check(other)) Py_RETURN_NOTIMPLEMENTED;
    return size_of_tuple(PyTuple_Type.tp_as_sequence->sq_concat(self, other));
}
static PyObject* size_repeat(PyObject* self, Py_ssize_t times) {
    PyObject* result = PyTuple_Type.tp_as_sequence->sq_repeat(self, times);
    if (result == self) return result;
    return size_of_tuple(result);
}
static PyObject* size_subscript(PyObject* self, PyObject* key) {
    PyObject* result = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
    return result && PySlice_Check(key) && Py_TYPE(result) != size_type ? size_of_tuple(result) : result;
}
static PyObject* size_numel(PyObject* self, PyObject*) {
    PyObject* product = PyLong_FromLong(1);
    for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); i++) {
        PyObject* next = PyNumber_Multiply(product, PyTuple_GET_ITEM(self, i));
        Py_DECREF(product);
        product = next;
    }
    return product;
}
static PyObject* size_reduce(PyObject* self, PyObject*) {
    PyObject* tuple = PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self));
    if (tuple && Py_TYPE(tuple) == size_type) {
        PyObject* list = PySequence_List(self);
        Py_DECREF(tuple);
        tuple = list ? PyList_AsTuple(list) : nullptr;
        Py_XDECREF(list);
    }
    return tuple ? Py_BuildValue("O(N)", size_type, tuple) : nullptr;
}

// ---- finfo, iinfo

struct InfoObject {
    PyObject_HEAD DType dtype;
};
struct FloatFacts {
    int bits, digits;
    double eps, max, tiny, smallest;
};
static const FloatFacts& facts(DType dtype) {
    static constexpr FloatFacts eight[] = {{8, 0, 0.125, 448, 0x1p-6, 0x1p-9},
                                           {8, 0, 0.25, 57344, 0x1p-14, 0x1p-16},
                                           {8, 0, 0.125, 240, 0x1p-7, 0x1p-10},
                                           {8, 0, 0.125, 57344, 0x1p-15, 0x1p-17},
                                           {8, 0, 1, 0x1p127, 0x1p-127, 0x1p-127}};
    if (is_float8(dtype)) return eight[static_cast<int>(dtype) - static_cast<int>(DType::Float8E4M3FN)];
    static constexpr FloatFacts half = {16, 3, 0x1p-10, 65504, 0x1p-14, 0x1p-24}, bfloat = {16, 2, 0x1p-7, 0x1.fep127, 0x1p-126, 0x1p-133},
                                single = {32, 6, 0x1p-23, 0x1.fffffep127, 0x1p-126, 0x1p-149},
                                wide = {64, 15, 0x1p-52, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074};
    static_assert(half.max == greatest(DType::Float16) && bfloat.max == greatest(DType::BFloat16) &&
                  single.max == greatest(DType::Float32) && wide.max == greatest(DType::Float64));
    switch (to_real(dtype)) {
    case DType::Float16: return half;
    case DType::BFloat16: return bfloat;
    case DType::Float64: return wide;
    default: return single;
    }
}
static DType info_dtype(PyObject* self) { return reinterpret_cast<InfoObject*>(self)->dtype; }
static PyObject* info_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"type", nullptr};
    PyObject* object = nullptr;
    bool floating = type == finfo_type;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(keywords), &object)) return nullptr;
    DType dtype = default_dtype();
    if (!object && !floating) {
        PyErr_SetString(PyExc_TypeError, "iinfo() missing 1 required positional arguments: \"type\"");
        return nullptr;
    }
    if (const NamedOnly* only = object && is_dtype(object) ? only_named(object) : nullptr) {
        int value = reinterpret_cast<NamedObject*>(object)->value;
        if (floating && value == named_complex) dtype = DType::Float16;
        else if (only->floating || only->sign == 'q')
            return PyErr_Format(PyExc_NotImplementedError, "\"min\" not implemented for '%s'", only->name);
        else return PyErr_Format(PyExc_TypeError, "torch.%s() has no answer for 'torch.%s'", floating ? "finfo" : "iinfo", only->name);
        auto* self = PyObject_New(InfoObject, type);
        if (self) self->dtype = dtype;
        return reinterpret_cast<PyObject*>(self);
    }
    if (object && !dtype_of_object(object, dtype)) {
        PyErr_Format(PyExc_TypeError, "%s(): argument 'type' (position 1) must be torch.dtype, not %s", floating ? "finfo" : "iinfo",
                     Py_TYPE(object)->tp_name);
        return nullptr;
    }
    if (floating && category(dtype) < 2) {
        PyErr_Format(PyExc_TypeError, "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.%s'",
                     name(dtype));
        return nullptr;
    }
    if (!floating && category(dtype) >= 2) {
        PyErr_Format(PyExc_TypeError, "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.%s'", name(dtype));
        return nullptr;
    }
    if (dtype == DType::Bool) {
        PyErr_SetString(PyExc_TypeError, "torch.bool is not supported by torch.iinfo");
        return nullptr;
    }
    auto* self = PyObject_New(InfoObject, type);
    if (self) self->dtype = dtype;
    return reinterpret_cast<PyObject*>(self);
}
static const char* info_dtype_name(DType d) { return name(to_real(d)); }
static PyObject* info_bits(PyObject* self, void*) {
    DType d = info_dtype(self);
    return PyLong_FromSize_t(item_size(is_complex(d) ? to_real(d) : d) * 8);
}
static PyObject* info_name(PyObject* self, void*) { return PyUnicode_FromString(info_dtype_name(info_dtype(self))); }
static PyObject* finfo_eps(PyObject* self, void*) { return PyFloat_FromDouble(facts(info_dtype(self)).eps); }
static PyObject* finfo_max(PyObject* self, void*) { return PyFloat_FromDouble(facts(info_dtype(self)).max); }
static PyObject* finfo_min(PyObject* self, void*) {
    const FloatFacts& f = facts(info_dtype(self));
    return PyFloat_FromDouble(f.eps == 1 ? f.tiny : -f.max); // float8_e8m0fnu has no sign
}
static PyObject* finfo_tiny(PyObject* self, void*) { return PyFloat_FromDouble(facts(info_dtype(self)).tiny); }
static PyObject* finfo_smallest(PyObject* self, void*) { return PyFloat_FromDouble(facts(info_dtype(self)).smallest); }
static PyObject* finfo_resolution(PyObject* self, void*) {
    static constexpr double tens[] = {1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
    int digits = facts(info_dtype(self)).digits;
    return PyFloat_FromDouble(digits == 15 ? 1e-15 : tens[digits]);
}
static PyObject* iinfo_max(PyObject* self, void*) {
    DType d = info_dtype(self);
    int bits = static_cast<int>(item_size(d)) * 8 - !is_unsigned(d);
    return PyLong_FromUnsignedLongLong(bits == 64 ? ~0ull : (1ull << bits) - 1);
}
static PyObject* iinfo_min(PyObject* self, void*) {
    DType d = info_dtype(self);
    return PyLong_FromLongLong(is_unsigned(d) ? 0 : -(static_cast<long long>(~0ull >> 1) >> (64 - static_cast<int>(item_size(d)) * 8)) - 1);
}
static PyObject* info_repr(PyObject* self) {
    bool floating = Py_TYPE(self) == finfo_type;
    PyObject *lo = floating ? finfo_min(self, nullptr) : iinfo_min(self, nullptr),
             *hi = floating ? finfo_max(self, nullptr) : iinfo_max(self, nullptr);
    PyObject* result = nullptr;
    DType d = info_dtype(self);
    if (lo && hi && floating) {
        const FloatFacts& f = facts(d);
        PyObject* resolution = finfo_resolution(self, nullptr);
        PyObject* text[] = {PyFloat_FromDouble(f.eps), PyFloat_FromDouble(f.smallest), PyFloat_FromDouble(f.tiny)};
        std::string parts[6];
        PyObject* numbers[6] = {resolution, lo, hi, text[0], text[1], text[2]};
        for (int i = 0; i < 6; i++) { // as %g prints a C++ double
            parts[i] = format("%g", PyFloat_AsDouble(numbers[i]));
        }
        result = PyUnicode_FromFormat("finfo(resolution=%s, min=%s, max=%s, eps=%s, smallest_normal=%s, tiny=%s, dtype=%s)",
                                      parts[0].c_str(), parts[1].c_str(), parts[2].c_str(), parts[3].c_str(), parts[5].c_str(),
                                      parts[5].c_str(), info_dtype_name(d));
        Py_XDECREF(resolution);
        for (PyObject* t : text) Py_XDECREF(t);
    } else if (lo && hi) {
        result = PyUnicode_FromFormat("iinfo(min=%S, max=%S, dtype=%s)", lo, hi, name(d));
    }
    Py_XDECREF(lo);
    Py_XDECREF(hi);
    return result;
}
static PyObject* info_compare(PyObject* a, PyObject* b, int op) {
    if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((info_dtype(a) == info_dtype(b)) == (op == Py_EQ));
}

// ---- set-up

/// _C._named_dtype(name): a dtype that tensors cannot have yet; None if there is none of that name.
static PyObject* named_dtype(PyObject*, PyObject* name) {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) return nullptr;
    struct Alias {
        const char *from, *to;
    };
    for (const Alias& alias : {Alias{"bit", "uint1"}, Alias{"chalf", "complex32"}})
        if (!strcmp(text, alias.from)) text = alias.to;
    for (size_t i = 0; i < std::size(named_only); i++) {
        if (strcmp(named_only[i].name, text)) continue;
        if (!named_only_objects[i]) {
            auto* self = PyObject_New(NamedObject, dtype_type);
            if (!self) return nullptr;
            self->name = named_only[i].name;
            self->value = first_named_only + static_cast<int>(i);
            named_only_objects[i] = reinterpret_cast<PyObject*>(self);
        }
        return Py_NewRef(named_only_objects[i]);
    }
    Py_RETURN_NONE;
}
static PyObject* constant(PyObject* module, PyObject* name) {
    PyObject* found = named_dtype(module, name);
    if (found != Py_None) return found;
    Py_DECREF(found);
    return PyObject_GetAttr(module, name);
}
static PyObject* set_default_device(PyObject*, PyObject* device) {
    if (set_default_device_object(device) < 0) return nullptr;
    Py_RETURN_NONE;
}
static PyObject* get_default_device(PyObject*, PyObject*) { return device_object(default_device.device); }

static NamedObject* add_named(PyObject* module, PyTypeObject* type, const char* name, int value) {
    auto* self = PyObject_New(NamedObject, type);
    if (!self) return nullptr;
    self->name = name;
    self->value = value;
    PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(self));
    return self;
}

static void simple_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

#define SLOT(NAME, FUNCTION) {Py_##NAME, reinterpret_cast<void*>(FUNCTION)}

static PyTypeObject* add_type(PyObject* module, const char* name, PyType_Spec* spec, PyObject* base = nullptr) {
    PyObject* bases = base ? PyTuple_Pack(1, base) : nullptr;
    PyObject* type = PyType_FromSpecWithBases(spec, bases);
    Py_XDECREF(bases);
    if (type) {
        PyModule_AddObjectRef(module, name, type);
        set_module(reinterpret_cast<PyTypeObject*>(type));
    }
    return reinterpret_cast<PyTypeObject*>(type);
}

bool init_types(PyObject* module) {
    constexpr unsigned plain = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    static PyType_Slot dtype_slots[] = {SLOT(tp_repr, named_repr),
                                        SLOT(tp_methods, dtype_methods),
                                        SLOT(tp_getset, dtype_getset),
                                        SLOT(tp_dealloc, simple_dealloc),
                                        {0, nullptr}};
    static PyType_Spec dtype_spec = {"torch.dtype", sizeof(NamedObject), 0, plain, dtype_slots};
    static PyType_Slot named_slots[] = {
        SLOT(tp_repr, named_repr), SLOT(tp_methods, named_methods), SLOT(tp_dealloc, simple_dealloc), {0, nullptr}};
    static PyType_Spec layout_spec = {"torch.layout", sizeof(NamedObject), 0, plain, named_slots};
    static PyType_Spec format_spec = {"torch.memory_format", sizeof(NamedObject), 0, plain, named_slots};
    if (!(dtype_type = add_type(module, "dtype", &dtype_spec)) || !(layout_type = add_type(module, "layout", &layout_spec)) ||
        !(memory_format_type = add_type(module, "memory_format", &format_spec)))
        return false;
    for (int i = 0; i < dtype_count; i++)
        if (!(dtypes[i] = add_named(module, dtype_type, name(static_cast<DType>(i)), i))) return false;
    static constexpr struct {
        const char* alias;
        DType dtype;
    } aliases[] = {{"float", DType::Float32}, {"double", DType::Float64}, {"half", DType::Float16},     {"short", DType::Int16},
                   {"int", DType::Int32},     {"long", DType::Int64},     {"cfloat", DType::Complex64}, {"cdouble", DType::Complex128}};
    for (auto& alias : aliases)
        PyModule_AddObjectRef(module, alias.alias, reinterpret_cast<PyObject*>(dtypes[static_cast<int>(alias.dtype)]));
    static constexpr const char* format_names[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
    for (int i = 0; i < 4; i++)
        if (!(memory_formats[i] = add_named(module, memory_format_type, format_names[i], i))) return false;
    for (int i = 0; i < 8; i++)
        if (!(layouts[i] = add_named(module, layout_type, name(static_cast<Layout>(i)), i))) return false;
    PyModule_AddObjectRef(module, "legacy_contiguous_format", reinterpret_cast<PyObject*>(memory_formats[0]));

    static PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                           {"__enter__", device_enter, METH_NOARGS, nullptr},
                                           {"__exit__", device_exit, METH_VARARGS, nullptr},
                                           {nullptr, nullptr, 0, nullptr}};
    static PyGetSetDef device_getset[] = {{"type", device_get_type, nullptr, nullptr, nullptr},
                                          {"index", device_get_index, nullptr, nullptr, nullptr},
                                          {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot device_slots[] = {SLOT(tp_new, device_new),
                                         SLOT(tp_repr, device_repr),
                                         SLOT(tp_str, device_str),
                                         SLOT(tp_hash, device_hash),
                                         SLOT(tp_richcompare, device_compare),
                                         SLOT(tp_call, device_call),
                                         SLOT(tp_methods, device_methods),
                                         SLOT(tp_getset, device_getset),
                                         SLOT(tp_dealloc, simple_dealloc),
                                         {0, nullptr}};
    static PyType_Spec device_spec = {"torch.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, device_slots};
    if (!(device_type = add_type(module, "device", &device_spec))) return false;
    cpu_device = reinterpret_cast<DeviceObject*>(new_device({DeviceType::CPU, -1}));
    meta_device = reinterpret_cast<DeviceObject*>(new_device({DeviceType::Meta, -1}));

    static PyMethodDef size_methods[] = {
        {"numel", size_numel, METH_NOARGS, nullptr}, {"__reduce__", size_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
    static PyType_Slot size_slots[] = {
        SLOT(tp_new, size_new), SLOT(tp_repr, size_repr),           SLOT(sq_concat, size_concat),   SLOT(sq_repeat, size_repeat),
        SLOT(nb_add, size_add), SLOT(mp_subscript, size_subscript), SLOT(tp_methods, size_methods), {0, nullptr}};
    static PyType_Spec size_spec = {"torch.Size", 0, 0, Py_TPFLAGS_DEFAULT, size_slots};
    if (!(size_type = add_type(module, "Size", &size_spec, reinterpret_cast<PyObject*>(&PyTuple_Type)))) return false;

    static PyGetSetDef finfo_getset[] = {{"bits", info_bits, nullptr, nullptr, nullptr},
                                         {"eps", finfo_eps, nullptr, nullptr, nullptr},
                                         {"max", finfo_max, nullptr, nullptr, nullptr},
                                         {"min", finfo_min, nullptr, nullptr, nullptr},
                                         {"tiny", finfo_tiny, nullptr, nullptr, nullptr},
                                         {"smallest_normal", finfo_tiny, nullptr, nullptr, nullptr},
                                         {"resolution", finfo_resolution, nullptr, nullptr, nullptr},
                                         {"dtype", info_name, nullptr, nullptr, nullptr},
                                         {nullptr, nullptr, nullptr, nullptr, nullptr}};
    (void)finfo_smallest;
    static PyType_Slot finfo_slots[] = {SLOT(tp_new, info_new),        SLOT(tp_repr, info_repr),         SLOT(tp_richcompare, info_compare),
                                        SLOT(tp_getset, finfo_getset), SLOT(tp_dealloc, simple_dealloc), {0, nullptr}};
    static PyType_Spec finfo_spec = {"torch.finfo", sizeof(InfoObject), 0, Py_TPFLAGS_DEFAULT, finfo_slots};
    static PyGetSetDef iinfo_getset[] = {{"bits", info_bits, nullptr, nullptr, nullptr},
                                         {"max", iinfo_max, nullptr, nullptr, nullptr},
                                         {"min", iinfo_min, nullptr, nullptr, nullptr},
                                         {"dtype", info_name, nullptr, nullptr, nullptr},
                                         {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot iinfo_slots[] = {SLOT(tp_new, info_new),        SLOT(tp_repr, info_repr),         SLOT(tp_richcompare, info_compare),
                                        SLOT(tp_getset, iinfo_getset), SLOT(tp_dealloc, simple_dealloc), {0, nullptr}};
    static PyType_Spec iinfo_spec = {"torch.iinfo", sizeof(InfoObject), 0, Py_TPFLAGS_DEFAULT, iinfo_slots};
    if (!(finfo_type = add_type(module, "finfo", &finfo_spec)) || !(iinfo_type = add_type(module, "iinfo", &iinfo_spec))) return false;

    static PyMethodDef functions[] = {{"_constant", constant, METH_O, nullptr},
                                      {"_named_dtype", named_dtype, METH_O, nullptr},
                                      {"_set_default_device", set_default_device, METH_O, nullptr},
                                      {"_default_device_scope", default_device_scope, METH_NOARGS, nullptr},
                                      {"_get_default_device", get_default_device, METH_NOARGS, nullptr},
                                      {"_is_device_type", is_device_type, METH_O, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
