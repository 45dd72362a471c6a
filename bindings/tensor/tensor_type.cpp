// bindings/tensor/tensor_type.cpp: the Tensor type: objects and headers with one common life, attribute look-up, properties.
#include "autograd/meta.h"
#include "bindings/tensor/tensor.h"
#include "bindings/types.h"
#include "core/shape.h"

#include <structmember.h>

namespace kindling::python {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* tensor_meta = nullptr;

static TensorObject* as_object(PyObject* self) { return reinterpret_cast<TensorObject*>(self); }

// ---- life

static constexpr int spare_limit = 128;
static PyObject* spares[spare_limit]; // dead objects of the exact type, kept for the next
static int spare_count = 0;

static PyObject* allocate_exact() {
    if (spare_count) {
        PyObject* self = spares[--spare_count];
        _Py_NewReference(self);
        return self;
    }
    auto* self = PyObject_GC_New(TensorObject, tensor_type);
    return reinterpret_cast<PyObject*>(self);
}

static PyObject* adopt_into(PyObject* self, TensorImpl* impl) {
    as_object(self)->impl = impl;
    as_object(self)->dict = nullptr;
    as_object(self)->weak_references = nullptr;
    impl->python = self;
    return self;
}

/// A new reference to the object of a header that has one.
static PyObject* known_object(TensorImpl* impl) {
    auto* self = static_cast<PyObject*>(impl->python);
    if (!impl->owns_python) return Py_NewRef(self);
    impl->owns_python = false; // the caller's reference is the one the header held
    impl->retain();
    return self;
}

PyObject* wrap(Tensor tensor) {
    if (!tensor.defined()) Py_RETURN_NONE;
    if (tensor.impl()->python) return known_object(tensor.impl());
    PyObject* self = allocate_exact();
    if (!self) return nullptr;
    adopt_into(self, tensor.take());
    PyObject_GC_Track(self);
    return self;
}
PyObject* wrap(TensorImpl* impl) { return wrap(Tensor::share(impl)); }

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
    if (type == tensor_type) return wrap(static_cast<Tensor&&>(tensor));
    PyObject* self = type->tp_alloc(type, 0);
    if (!self) return nullptr;
    TensorImpl* impl = tensor.take();
    impl->key = (impl->key & ~static_cast<uint32_t>(key::Function | key::Dispatch)) | class_key(type);
    return adopt_into(self, impl);
}

PyObject* wrap_list(const Tensor* tensors, size_t size) {
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(size));
    for (size_t i = 0; list && i < size; i++) {
        PyObject* item = wrap(tensors[i]);
        if (!item) {
            Py_DECREF(list);
            return nullptr;
        }
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
    }
    return list;
}

static void release_python_object(TensorImpl* impl) {
    if (!Py_IsInitialized()) return; // the interpreter is gone: so is the object
    Lock lock;
    auto* self = static_cast<PyObject*>(impl->python);
    impl->owns_python = false;
    if (impl->use_count() == 0) impl->retain();
    Py_DECREF(self);
}

/// A tensor nobody can tell from a fresh object for the same header needs no resurrection.
static bool has_state(PyObject* self) { return Py_TYPE(self) != tensor_type || as_object(self)->dict || as_object(self)->weak_references; }

/// Calls `visit` with each of an object's `__slots__`, until one call is not 0.
template <class F> static int each_slot(PyObject* self, F visit) {
    for (PyTypeObject* type = Py_TYPE(self); type != tensor_type && type; type = type->tp_base) {
        auto* members = reinterpret_cast<PyMemberDef*>(reinterpret_cast<char*>(type) + Py_TYPE(type)->tp_basicsize);
        for (Py_ssize_t i = 0; i < Py_SIZE(type); i++) {
            if (members[i].type != T_OBJECT_EX || (members[i].flags & READONLY)) continue;
            if (int result = visit(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + members[i].offset))) return result;
        }
    }
    return 0;
}
static int clear_slots(PyObject* self) {
    return each_slot(self, [](PyObject*& slot) {
        Py_CLEAR(slot);
        return 0;
    });
}

static void tensor_dealloc(PyObject* self) {
    TensorObject* object = as_object(self);
    TensorImpl* impl = object->impl;
    if (impl && has_state(self) && impl->use_count() > 1) {
        // C++ still holds the tensor: from now on the header keeps the object, with its attributes and references.
        Py_SET_REFCNT(self, 1);
        impl->owns_python = true;
        if (!impl->drop()) return;
        impl->owns_python = false; // the other holder let go in between
        if (impl->use_count() == 0) impl->retain();
        Py_SET_REFCNT(self, 0);
    }
    PyTypeObject* type = Py_TYPE(self);
    if (type->tp_finalize && PyObject_CallFinalizerFromDealloc(self) < 0) return;
    PyObject_GC_UnTrack(self);
    if (object->weak_references) PyObject_ClearWeakRefs(self);
    clear_slots(self);
    Py_CLEAR(object->dict);
    if (impl) {
        object->impl = nullptr;
        impl->python = nullptr;
        release(impl);
    }
    if (type == tensor_type && spare_count < spare_limit) {
        spares[spare_count++] = self;
        return;
    }
    type->tp_free(self);
    Py_DECREF(type);
}

/// While C++ holds the header, too, the object lives on with all that it refers to, whoever else is garbage: nothing is shown.
static bool is_held(PyObject* self) {
    TensorImpl* impl = as_object(self)->impl;
    return impl && impl->use_count() > 1;
}
static int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (is_held(self)) return 0;
    Py_VISIT(as_object(self)->dict);
    if (int result = each_slot(self, [&](PyObject* slot) {
            Py_VISIT(slot);
            return 0;
        }))
        return result;
    TensorImpl* impl = as_object(self)->impl;
    return impl ? traverse_autograd(impl, visit, arg) : 0;
}
static int tensor_clear(PyObject* self) {
    // What was cleared before may have held this object last: the header keeps it since, and all that it has.
    if (is_held(self) || (as_object(self)->impl && as_object(self)->impl->owns_python)) return 0;
    Py_CLEAR(as_object(self)->dict);
    clear_slots(self);
    if (TensorImpl* impl = as_object(self)->impl) clear_autograd(impl);
    return 0;
}

Tensor shallow_copy(const Tensor& tensor) {
    TensorImpl* from = tensor.impl();
    if (from->key & (key::Layout | key::Wrapped)) return ::kindling::detached(tensor); // autograd's
    Tensor copy = make_tensor(Ref<Storage>::share(from->storage), from->offset, tensor.sizes(), tensor.strides(), from->dtype);
    TensorImpl* impl = copy.impl();
    impl->key |= from->key & (key::Conj | key::Neg | key::Meta | key::Layout | key::Private);
    impl->device = from->device;
    impl->layout = from->layout;
    impl->inference = from->inference;
    impl->uncounted = from->uncounted;
    impl->share_version(from);
    return copy;
}

// ---- classes

static PyObject* torch_function_name = nullptr;
static PyObject* torch_dispatch_name = nullptr;
PyObject* disabled_torch_function = nullptr; // torch._C._disabled_torch_function_impl
PyObject* disabled_torch_dispatch = nullptr;

uint32_t class_key(PyTypeObject* type) {
    if (type == tensor_type) return 0;
    uint32_t bits = 0;
    PyObject* function = _PyType_Lookup(type, torch_function_name);
    if (function && function != disabled_torch_function) {
        bits |= key::Function;
        if (Py_TYPE(function) == &PyStaticMethod_Type || Py_TYPE(function) == &PyClassMethod_Type) {
            PyObject* inner = PyObject_GetAttrString(function, "__func__");
            if (inner == disabled_torch_function) bits = 0;
            Py_XDECREF(inner);
            PyErr_Clear();
        }
    }
    PyObject* dispatch = _PyType_Lookup(type, torch_dispatch_name);
    if (dispatch && dispatch != _PyType_Lookup(tensor_type, torch_dispatch_name) && dispatch != disabled_torch_dispatch)
        bits |= key::Dispatch;
    return bits;
}

static bool filled = false;

static PyObject* tensor_getattro(PyObject* self, PyObject* name);

static void use_generic_lookup(PyTypeObject* type) {
    if (type->tp_getattro == tensor_getattro) type->tp_getattro = PyObject_GenericGetAttr;
    PyObject* subclasses = PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyType_Type), "__subclasses__", "O", type);
    if (!subclasses) return PyErr_Clear();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(subclasses); i++) {
        auto* sub = reinterpret_cast<PyTypeObject*>(PyList_GET_ITEM(subclasses, i));
        if (sub != type) use_generic_lookup(sub);
    }
    Py_DECREF(subclasses);
    PyType_Modified(type);
}

/// Stands for a method written in Python until the first look at it: loading kindling._tensor puts the real ones in place.
struct LazyMethodObject {
    PyObject_HEAD const char* name;
};
static PyTypeObject* lazy_method_type;
static PyObject* lazy_method_get(PyObject* self, PyObject* instance, PyObject*) {
    const char* name = reinterpret_cast<LazyMethodObject*>(self)->name;
    PyObject* install = import("kindling._tensor", "_install");
    if (!install) return nullptr;
    PyObject* done = PyObject_CallFunctionObjArgs(install, tensor_type, nullptr);
    Py_DECREF(install);
    if (!done) return nullptr;
    Py_DECREF(done);
    PyObject* now = PyDict_GetItemString(tensor_type->tp_dict, name);
    if (now == self || !now) {
        PyErr_Format(PyExc_AttributeError, "'Tensor' object has no attribute '%s'", name);
        return nullptr;
    }
    descrgetfunc get = Py_TYPE(now)->tp_descr_get;
    if (!get) return Py_NewRef(now);
    return get(now, instance, reinterpret_cast<PyObject*>(tensor_type));
}
/// The interpreter looks for these on the class, where object may have another: they are there from the beginning.
static bool special(const char* name) { return name[0] == '_' && name[1] == '_'; }

static PyObject* lazy_method_call(PyObject* self, PyObject* args, PyObject* kwargs) {
    PyObject* real = lazy_method_get(self, nullptr, nullptr);
    if (!real) return nullptr;
    PyObject* result = PyObject_Call(real, args, kwargs);
    Py_DECREF(real);
    return result;
}

static void add(PyObject* dict, const char* name, PyObject* object) {
    if (object) PyDict_SetItemString(dict, name, object);
    Py_XDECREF(object);
}
static PyObject* lazy_method(const char* name) {
    auto* lazy = PyObject_New(LazyMethodObject, lazy_method_type);
    if (lazy) lazy->name = name;
    return reinterpret_cast<PyObject*>(lazy);
}

/// Puts every method into the type: at the first look-up that misses, so that an import that uses none pays nothing.
static void fill() {
    if (filled) return;
    // In one step, so that other threads see all of it or nothing; making the methods may let them run.
    PyObject* methods = PyDict_New();
    if (!methods) return PyErr_Clear();
    for_each_operator_name(
        [](void* dict, const char* name, uint32_t spaces) {
            if (!(spaces & space::Method)) return;
            PyObject* text = PyUnicode_InternFromString(name);
            if (text && !PyDict_Contains(tensor_type->tp_dict, text)) {
                PyObject* function = make_operator_function(text, space::Method);
                if (function) PyDict_SetItem(static_cast<PyObject*>(dict), text, function);
                Py_XDECREF(function);
            }
            Py_XDECREF(text);
        },
        methods);
    for (const NativeMethodDef* def = tensor_methods; def->name; def++) add(methods, def->name, make_native_method(*def));
    for (const NativeMethodDef* def = autograd_tensor_methods; def->name; def++) add(methods, def->name, make_native_method(*def));
    for (const char* const* name = lazy_methods; *name; name++)
        if (!special(*name)) add(methods, *name, lazy_method(*name));
    if (!filled) {
        PyDict_Update(tensor_type->tp_dict, methods);
        // With everything in place, look-up is object's own, which the interpreter has fast paths for.
        PyDict_DelItemString(tensor_type->tp_dict, "__getattribute__");
        filled = true;
        PyErr_Clear();
        use_generic_lookup(tensor_type);
    }
    Py_DECREF(methods);
    PyErr_Clear();
}

static PyObject* tensor_getattro(PyObject* self, PyObject* name) {
    PyObject* result = PyObject_GenericGetAttr(self, name);
    if (result || filled || !PyErr_ExceptionMatches(PyExc_AttributeError)) return result;
    PyErr_Clear();
    fill();
    return PyObject_GenericGetAttr(self, name);
}

static PyObject* meta_getattro(PyObject* type, PyObject* name) {
    if (!filled && PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) fill();
    PyObject* result = PyType_Type.tp_getattro(type, name);
    if (result || filled || !PyErr_ExceptionMatches(PyExc_AttributeError)) return result;
    PyErr_Clear();
    fill();
    return PyType_Type.tp_getattro(type, name);
}

/// A method that a program puts into Tensor replaces ours, which therefore come first.
static int meta_setattro(PyObject* type, PyObject* name, PyObject* value) {
    if (!filled && type == reinterpret_cast<PyObject*>(tensor_type)) fill();
    return PyType_Type.tp_setattro(type, name, value);
}

/// A class of the program's may ask `super()`, which looks into the type itself. Ours do not.
static bool is_ours(PyObject* args) {
    PyObject* space = PyTuple_GET_SIZE(args) == 3 ? PyTuple_GET_ITEM(args, 2) : nullptr;
    PyObject* module = space && PyDict_Check(space) ? PyDict_GetItemString(space, "__module__") : nullptr;
    const char* name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
    return name && (!strncmp(name, "kindling.", 9) || !strncmp(name, "torch.", 6));
}

static PyObject* meta_new(PyTypeObject* meta, PyObject* args, PyObject* kwargs) {
    if (!filled && !is_ours(args)) fill();
    PyObject* type = PyType_Type.tp_new(meta, args, kwargs);
    if (auto* own = reinterpret_cast<PyTypeObject*>(type)) {
        // subtype_dealloc would clear weak references and the dictionary before we can decide to resurrect, subtype_clear likewise.
        own->tp_dealloc = tensor_dealloc;
        own->tp_traverse = tensor_traverse;
        own->tp_clear = tensor_clear;
    }
    return type;
}

static PyObject* meta_dir(PyObject* type, PyObject*) {
    fill();
    return PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyType_Type), "__dir__", "O", type);
}
static PyObject* tensor_dir(PyObject* self, PyObject*) {
    fill();
    return PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__", "O", self);
}

static PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    return guarded([&] { return wrap_as(type, legacy_construct("Tensor", default_dtype(), args, kwargs)); });
}
static int tensor_init(PyObject*, PyObject*, PyObject*) { return 0; }

static PyObject* repr_with(PyObject* self, PyObject* kwargs) {
    Object str(import("kindling._tensor_str", "_str")), args(PyTuple_Pack(1, self));
    return str && args ? PyObject_Call(str.get(), args.get(), kwargs) : nullptr;
}
static PyObject* tensor_repr(PyObject* self) {
    if (wants_torch_function(self)) {
        PyObject* function = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__repr__");
        PyObject* result = function ? call_torch_function(function, &self, 1, nullptr) : nullptr;
        Py_XDECREF(function);
        if (result || PyErr_Occurred()) return result;
    }
    if (!refuse_break("refuse_text", self)) return nullptr;
    return repr_with(self, nullptr);
}
/// Tensor.__repr__(self, *, tensor_contents=None), for classes that show what they wrap.
static PyObject* repr_method(PyObject* self, PyObject* args, PyObject* kwargs) {
    if (PyTuple_GET_SIZE(args))
        return PyErr_Format(PyExc_TypeError, "Tensor.__repr__() takes 1 positional argument but %zd were given",
                            1 + PyTuple_GET_SIZE(args));
    return kwargs && PyDict_GET_SIZE(kwargs) && !wants_torch_function(self) ? repr_with(self, kwargs) : tensor_repr(self);
}

static PyObject* tensor_iter(PyObject* self) {
    if (wants_torch_function(self)) {
        PyObject* function = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__iter__");
        PyObject* result = function ? call_torch_function(function, &self, 1, nullptr) : nullptr;
        Py_XDECREF(function);
        if (result || PyErr_Occurred()) return result;
    }
    if (impl_of(self)->ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
        return nullptr;
    }
    return guarded([&]() -> PyObject* {
        if (is_traced()) [[unlikely]]
            warn_traced_as("Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't "
                           "change the number of iterations executed (and "
                           "might lead to errors or silently give incorrect results).");
        static constinit Known unbind{"unbind", "int", nullptr};
        Value values[2] = {Value(impl_of(self)), Value(0)};
        PyObject* parts = checked(call_boxed(unbind.get(), values));
        PyObject* iterator = PyObject_GetIter(parts);
        Py_DECREF(parts);
        return iterator;
    });
}

static Py_hash_t tensor_hash(PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self)); } // id(self)

// ---- properties

#define GETTER(NAME)                                                                                                                       \
    static PyObject* get_body_##NAME(PyObject* self, TensorImpl* impl);                                                                    \
    static PyObject* get_##NAME(PyObject* self, void*) {                                                                                   \
        if (wants_torch_function(self)) [[unlikely]]                                                                                       \
            if (PyObject* result = get_by_torch_function(self, #NAME); result || PyErr_Occurred()) return result;                          \
        try {                                                                                                                              \
            return get_body_##NAME(self, impl_of(self));                                                                                   \
        } catch (...) { return set_error(); }                                                                                              \
    }                                                                                                                                      \
    static PyObject* get_body_##NAME([[maybe_unused]] PyObject* self, [[maybe_unused]] TensorImpl* impl)

GETTER(shape) { return sizes_are_traced() ? traced_shape(impl) : size_object(const_cast<const TensorImpl*>(impl)->sizes()); }
GETTER(dtype) { return dtype_object(impl->dtype); }
GETTER(device) { return device_object(impl->device); }
GETTER(layout) { return layout_object(impl->layout); }
GETTER(ndim) { return PyLong_FromLong(impl->ndim); }
GETTER(itemsize) { return PyLong_FromSize_t(item_size(impl->dtype)); }
GETTER(nbytes) { return PyLong_FromLongLong(impl->numel * static_cast<int64_t>(item_size(impl->dtype))); }
GETTER(is_cpu) { return PyBool_FromLong(impl->device.type == DeviceType::CPU); }
GETTER(is_cuda) { return PyBool_FromLong(impl->device.type == DeviceType::CUDA); }
GETTER(is_meta) { return PyBool_FromLong(impl->is_meta()); }
GETTER(is_sparse) { return PyBool_FromLong(impl->layout == Layout::Sparse); }
GETTER(is_sparse_csr) { return PyBool_FromLong(impl->layout == Layout::SparseCsr); }
GETTER(is_quantized) { return PyBool_FromLong(0); }
GETTER(name) { Py_RETURN_NONE; }
GETTER(_cdata) { return PyLong_FromVoidPtr(impl); }

static PyObject* call_on(Known& known, TensorImpl* impl) { return wrap(known(Tensor::share(impl))); }
static Tensor reversed_dims(const Tensor& t) {
    static constinit Known permute{"permute", "", nullptr};
    Sizes dims;
    for (int64_t i = t.dim(); i-- > 0;) dims.push_back(i);
    return permute(t, IntList(dims));
}
static int warn_once(bool& done, const char* text) {
    if (done) return 0;
    done = true;
    return PyErr_WarnEx(PyExc_UserWarning, text, 1);
}
GETTER(T) {
    static bool warned = false;
    static constinit Known numpy_T{"numpy_T", "", nullptr};
    if (impl->ndim != 2 && impl->ndim != 0 &&
        warn_once(warned,
                  "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error "
                  "in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` "
                  "to reverse the dimensions of a tensor.") < 0)
        return nullptr;
    if (is_traced()) [[unlikely]]
        return call_on(numpy_T, impl);
    if (impl->ndim == 2) {
        static constinit Known t{"t", "", nullptr};
        return call_on(t, impl);
    }
    return wrap(reversed_dims(Tensor::share(impl)));
}
static Tensor matrix_transpose(const Tensor& t, const char* what) {
    static constinit Known transpose{"transpose", "int", nullptr};
    KINDLING_CHECK(Runtime, t.dim() >= 2 || (t.dim() == 0 && what[1] == 'H'),
                   "tensor.%s is only supported on matrices or batches of matrices. Got %d-D tensor.", what, static_cast<int>(t.dim()));
    return transpose(t, int64_t{-2}, int64_t{-1});
}
GETTER(mT) { return wrap(matrix_transpose(Tensor::share(impl), "mT")); }
static Tensor conjugated(const Tensor& t) {
    static constinit Known conj{"conj", "", nullptr};
    return t.is_complex() ? conj(t) : t;
}
GETTER(mH) { return wrap(conjugated(matrix_transpose(Tensor::share(impl), "mH"))); }
GETTER(H) {
    KINDLING_CHECK(Runtime, impl->ndim == 2 || impl->ndim == 0, "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.%s",
                   impl->ndim, impl->ndim > 2 ? " For batches of matrices, consider using tensor.mH" : "");
    if (impl->ndim == 0) return Py_NewRef(self);
    return wrap(conjugated(matrix_transpose(Tensor::share(impl), "H")));
}
GETTER(real) {
    static constinit Known real{"real", "", nullptr};
    return is_complex(impl->dtype) ? call_on(real, impl) : Py_NewRef(self);
}
GETTER(imag) {
    static constinit Known imag{"imag", "", nullptr};
    KINDLING_CHECK(Runtime, is_complex(impl->dtype), "imag is not implemented for tensors with non-complex dtypes.");
    return call_on(imag, impl);
}

static int set_part(PyObject* self, PyObject* value, getter part) {
    static constinit Known copy_{"copy_", "", nullptr}, fill_{"fill_", "Scalar", nullptr};
    PyObject* view = part(self, nullptr);
    if (!view) return -1;
    int rc = guarded_int([&] {
        Scalar scalar;
        if (value && is_tensor(value)) copy_(tensor_of(view), tensor_of(value));
        else if (value && scalar_of_object(value, scalar)) fill_(tensor_of(view), scalar);
        else fail(ErrorKind::Type, "cannot assign a '%s' to a part of a tensor", value ? Py_TYPE(value)->tp_name : "nothing");
        return 0;
    });
    Py_DECREF(view);
    return rc;
}
static int set_real(PyObject* self, PyObject* value, void*) { return set_part(self, value, get_real); }
static int set_imag(PyObject* self, PyObject* value, void*) { return set_part(self, value, get_imag); }
#define PROPERTY(NAME) {#NAME, get_##NAME, nullptr, nullptr, nullptr}
static PyGetSetDef tensor_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    PROPERTY(shape),
    PROPERTY(dtype),
    PROPERTY(device),
    PROPERTY(layout),
    PROPERTY(ndim),
    PROPERTY(itemsize),
    PROPERTY(nbytes),
    PROPERTY(is_cpu),
    PROPERTY(is_cuda),
    PROPERTY(is_meta),
    PROPERTY(is_sparse),
    PROPERTY(is_sparse_csr),
    PROPERTY(is_quantized),
    {"is_mkldnn", get_is_quantized, nullptr, nullptr, nullptr},
    {"is_nested", get_is_quantized, nullptr, nullptr, nullptr},
    {"is_mps", get_is_quantized, nullptr, nullptr, nullptr},
    {"is_xpu", get_is_quantized, nullptr, nullptr, nullptr},
    {"is_xla", get_is_quantized, nullptr, nullptr, nullptr},
    {"is_vulkan", get_is_quantized, nullptr, nullptr, nullptr},
    {"is_maia", get_is_quantized, nullptr, nullptr, nullptr},
    {"is_ipu", get_is_quantized, nullptr, nullptr, nullptr},
    {"is_mtia", get_is_quantized, nullptr, nullptr, nullptr},
    PROPERTY(name),
    PROPERTY(_cdata),
    PROPERTY(T),
    PROPERTY(mT),
    PROPERTY(mH),
    PROPERTY(H),
    {"real", get_real, set_real, nullptr, nullptr},
    {"imag", get_imag, set_imag, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// ---- class methods

static PyObject* make_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"cls",  "data", "require_grad", "dispatch_sizes_strides_policy", "dispatch_device", "dispatch_layout",
                                     nullptr};
    PyObject *type, *data, *policy = nullptr;
    int require_grad = 0, device = 0, layout = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|pOpp:_make_subclass", const_cast<char**>(keywords), &type, &data, &require_grad,
                                     &policy, &device, &layout))
        return nullptr;
    if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_type) || !is_tensor(data)) {
        PyErr_SetString(PyExc_TypeError, "_make_subclass(): expected a Tensor subclass and a Tensor");
        return nullptr;
    }
    return guarded([&]() -> PyObject* {
        Tensor copy = shallow_copy(tensor_of(data));
        KINDLING_CHECK(Runtime, !require_grad || is_differentiable(copy.dtype()),
                       "Only Tensors of floating point and complex dtype can require gradients");
        PyObject* self = checked(wrap_as(reinterpret_cast<PyTypeObject*>(type), copy));
        if (require_grad) {
            try {
                copy.requires_grad_(true);
            } catch (...) {
                Py_DECREF(self);
                throw;
            }
        }
        return self;
    });
}

static PyObject* make_wrapper_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"cls",
                                     "size",
                                     "strides",
                                     "storage_offset",
                                     "memory_format",
                                     "dtype",
                                     "layout",
                                     "device",
                                     "pin_memory",
                                     "requires_grad",
                                     "dispatch_sizes_strides_policy",
                                     "dispatch_device",
                                     "dispatch_layout",
                                     "storage_size",
                                     nullptr};
    PyObject *type, *size, *strides = nullptr, *offset = nullptr, *format = nullptr, *dtype_arg = nullptr, *layout = nullptr,
                           *device_arg = nullptr, *policy = nullptr, *storage_size = nullptr;
    int pin = 0, requires_grad = 0, dispatch_device = 0, dispatch_layout = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OOOOOOppOppO:_make_wrapper_subclass", const_cast<char**>(keywords), &type, &size,
                                     &strides, &offset, &format, &dtype_arg, &layout, &device_arg, &pin, &requires_grad, &policy,
                                     &dispatch_device, &dispatch_layout, &storage_size))
        return nullptr;
    auto* cls = reinterpret_cast<PyTypeObject*>(type);
    if (!PyType_Check(type) || !PyType_IsSubtype(cls, tensor_type)) {
        PyErr_SetString(PyExc_TypeError, "_make_wrapper_subclass(): expected a Tensor subclass");
        return nullptr;
    }
    return guarded([&]() -> PyObject* {
        if (!(class_key(cls) & key::Dispatch)) fail(ErrorKind::Type, "%s must define __torch_dispatch__", cls->tp_name);
        Sizes sizes, strided;
        if (!sizes_of_arguments("_make_wrapper_subclass", "size", &size, 1, sizes)) throw_python();
        DType dtype = default_dtype();
        if (dtype_arg && dtype_arg != Py_None && !dtype_of_object(dtype_arg, dtype)) fail(ErrorKind::Type, "dtype must be a torch.dtype");
        Device device;
        if (device_arg && device_arg != Py_None && !device_of_object(device_arg, device)) throw_python();
        if (strides && strides != Py_None) {
            if (!sizes_of_arguments("_make_wrapper_subclass", "strides", &strides, 1, strided)) throw_python();
        } else {
            strided = contiguous_strides(sizes);
        }
        int64_t start = 0;
        if (offset && offset != Py_None && int_of_object(offset, start) != Fit::Yes) fail(ErrorKind::Type, "storage_offset must be an int");
        // Memory nobody can touch: a meta storage, shown under the device that was asked for.
        auto storage =
            Ref<Storage>::adopt(Storage::make(checked_bytes(sizes, strided, start, item_size(dtype)), {DeviceType::Meta, -1}).take());
        Tensor tensor = make_tensor(storage, start, sizes, strided, dtype);
        tensor.impl()->device = device;
        PyObject* self = checked(wrap_as(cls, tensor));
        if (requires_grad) tensor.requires_grad_(true);
        return self;
    });
}

static PyObject* as_subclass(PyObject* self, PyObject* type) {
    if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_type)) {
        PyErr_Format(PyExc_TypeError, "as_subclass(): expected a subclass of Tensor, got %R", type);
        return nullptr;
    }
    return guarded([&] {
        static constinit Known alias{"alias", "", nullptr};
        return wrap_as(reinterpret_cast<PyTypeObject*>(type), alias(tensor_of(self)));
    });
}

static PyMethodDef tensor_class_methods[] = {
    {"_make_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(make_subclass)), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     nullptr},
    {"_make_wrapper_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(make_wrapper_subclass)),
     METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {"as_subclass", as_subclass, METH_O, nullptr},
    {"__dir__", tensor_dir, METH_NOARGS, nullptr},
    {"__repr__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(repr_method)), METH_VARARGS | METH_KEYWORDS | METH_COEXIST, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

extern PyMethodDef default_torch_function; // torch_function.cpp

// ---- set-up

bool init_tensor(PyObject* module) {
    release_python = release_python_object;
    torch_function_name = PyUnicode_InternFromString("__torch_function__");
    torch_dispatch_name = PyUnicode_InternFromString("__torch_dispatch__");

    static PyMethodDef meta_methods[] = {{"__dir__", meta_dir, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
    static PyType_Slot meta_slots[] = {{Py_tp_getattro, reinterpret_cast<void*>(meta_getattro)},
                                       {Py_tp_setattro, reinterpret_cast<void*>(meta_setattro)},
                                       {Py_tp_new, reinterpret_cast<void*>(meta_new)},
                                       {Py_tp_methods, meta_methods},
                                       {0, nullptr}};
    static PyType_Spec meta_spec = {"torch._C._TensorMeta", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_TYPE_SUBCLASS,
                                    meta_slots};
    PyObject* type_base = PyTuple_Pack(1, &PyType_Type);
    tensor_meta = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&meta_spec, type_base));
    Py_XDECREF(type_base);
    if (!tensor_meta) return false;

    static PyMemberDef members[] = {
        {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr},
    };
    PyNumberMethods& n = tensor_numbers;
#define SLOT(NAME, FUNCTION) {Py_##NAME, reinterpret_cast<void*>(FUNCTION)}
    PyType_Slot slots[] = {
        SLOT(tp_new, tensor_new),
        SLOT(tp_init, tensor_init),
        SLOT(tp_dealloc, tensor_dealloc),
        SLOT(tp_traverse, tensor_traverse),
        SLOT(tp_clear, tensor_clear),
        SLOT(tp_getattro, tensor_getattro),
        SLOT(tp_repr, tensor_repr),
        SLOT(tp_hash, tensor_hash),
        SLOT(tp_richcompare, tensor_compare),
        SLOT(tp_iter, tensor_iter),
        SLOT(tp_getset, tensor_getset),
        SLOT(tp_members, members),
        SLOT(tp_methods, tensor_class_methods),
        SLOT(mp_length, tensor_length),
        SLOT(mp_subscript, tensor_subscript),
        SLOT(mp_ass_subscript, tensor_assign_subscript),
        SLOT(bf_getbuffer, tensor_get_buffer),
        SLOT(bf_releasebuffer, tensor_release_buffer),
        SLOT(nb_add, n.nb_add),
        SLOT(nb_subtract, n.nb_subtract),
        SLOT(nb_multiply, n.nb_multiply),
        SLOT(nb_remainder, n.nb_remainder),
        SLOT(nb_power, n.nb_power),
        SLOT(nb_negative, n.nb_negative),
        SLOT(nb_positive, n.nb_positive),
        SLOT(nb_absolute, n.nb_absolute),
        SLOT(nb_bool, n.nb_bool),
        SLOT(nb_invert, n.nb_invert),
        SLOT(nb_lshift, n.nb_lshift),
        SLOT(nb_rshift, n.nb_rshift),
        SLOT(nb_and, n.nb_and),
        SLOT(nb_xor, n.nb_xor),
        SLOT(nb_or, n.nb_or),
        SLOT(nb_int, n.nb_int),
        SLOT(nb_float, n.nb_float),
        SLOT(nb_index, n.nb_index),
        SLOT(nb_inplace_add, n.nb_inplace_add),
        SLOT(nb_inplace_subtract, n.nb_inplace_subtract),
        SLOT(nb_inplace_multiply, n.nb_inplace_multiply),
        SLOT(nb_inplace_remainder, n.nb_inplace_remainder),
        SLOT(nb_inplace_power, n.nb_inplace_power),
        SLOT(nb_inplace_lshift, n.nb_inplace_lshift),
        SLOT(nb_inplace_rshift, n.nb_inplace_rshift),
        SLOT(nb_inplace_and, n.nb_inplace_and),
        SLOT(nb_inplace_xor, n.nb_inplace_xor),
        SLOT(nb_inplace_or, n.nb_inplace_or),
        SLOT(nb_floor_divide, n.nb_floor_divide),
        SLOT(nb_true_divide, n.nb_true_divide),
        SLOT(nb_inplace_floor_divide, n.nb_inplace_floor_divide),
        SLOT(nb_inplace_true_divide, n.nb_inplace_true_divide),
        SLOT(nb_matrix_multiply, n.nb_matrix_multiply),
        {0, nullptr},
    };
    static PyType_Spec spec = {"torch.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                               slots};
    spec.slots = slots;
    tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (!tensor_type) return false;
    Py_SET_TYPE(tensor_type, tensor_meta); // made as `type`: PyType_FromMetaclass is 3.12's, and needs a metaclass without tp_new
    Py_INCREF(tensor_meta);
    Py_DECREF(&PyType_Type);
    PyObject* dict = tensor_type->tp_dict;
    for (PyGetSetDef* def = autograd_tensor_getset; def->name; def++) {
        PyObject* property = PyDescr_NewGetSet(tensor_type, def);
        if (!property || PyDict_SetItemString(dict, def->name, property) < 0) return false;
        Py_DECREF(property);
    }
    static PyMethodDef no_dispatch = {"_disabled_torch_dispatch_impl", [](PyObject*, PyObject*) -> PyObject* { Py_RETURN_NOTIMPLEMENTED; },
                                      METH_VARARGS, nullptr};
    disabled_torch_dispatch = PyCFunction_New(&no_dispatch, nullptr);
    PyObject* function = PyDescr_NewClassMethod(tensor_type, &default_torch_function);
    PyObject* one_thousand = PyLong_FromLong(1000);
    if (!disabled_torch_dispatch || !function || !one_thousand) return false;
    PyDict_SetItemString(dict, "__torch_dispatch__", disabled_torch_dispatch);
    PyDict_SetItemString(dict, "__torch_function__", function);
    PyDict_SetItemString(dict, "__array_priority__", one_thousand);
    Py_DECREF(function);
    Py_DECREF(one_thousand);
    static PyType_Slot lazy_slots[] = {SLOT(tp_descr_get, lazy_method_get), SLOT(tp_call, lazy_method_call), {0, nullptr}};
    static PyType_Spec lazy_spec = {"torch._C._LazyMethod", sizeof(LazyMethodObject), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, lazy_slots};
    if (!(lazy_method_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&lazy_spec)))) return false;
    for (const char* const* name = lazy_methods; *name; name++) {
        if (!special(*name)) continue;
        // As `type` sets an attribute, which fills slots (`in`) too.
        PyObject *text = PyUnicode_InternFromString(*name), *lazy = lazy_method(*name);
        if (!text || !lazy || PyType_Type.tp_setattro(reinterpret_cast<PyObject*>(tensor_type), text, lazy) < 0) return false;
        Py_DECREF(text);
        Py_DECREF(lazy);
    }
    tensor_type->tp_name = "Tensor"; // as a class statement would name it: "unsupported operand type(s) for +: 'Tensor' and 'str'"
    set_module(tensor_type);
    PyModule_AddObjectRef(module, "_disabled_torch_dispatch_impl", disabled_torch_dispatch);
    PyModule_AddObjectRef(module, "_LazyMethod", reinterpret_cast<PyObject*>(lazy_method_type));
    PyModule_AddObjectRef(module, "_TensorMeta", reinterpret_cast<PyObject*>(tensor_meta));
    PyModule_AddObjectRef(module, "TensorBase", reinterpret_cast<PyObject*>(tensor_type));
    PyModule_AddObjectRef(module, "_TensorBase", reinterpret_cast<PyObject*>(tensor_type));
    return PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) == 0;
}

} // namespace kindling::python
