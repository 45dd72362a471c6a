// bindings/python.h: what every file of the binding shares: objects <-> values, errors, ownership.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/error.h"
#include "core/operator.h"
#include "core/tensor.h"
#include "core/value.h"

namespace kindling::python {

/// An owned reference.
class Object {
public:
    Object() = default;
    explicit Object(PyObject* owned) : object_(owned) {}
    static Object share(PyObject* borrowed) {
        Py_XINCREF(borrowed);
        return Object(borrowed);
    }
    Object(Object&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
    Object(const Object& other) : object_(other.object_) { Py_XINCREF(object_); }
    Object& operator=(Object other) noexcept {
        PyObject* mine = object_;
        object_ = other.object_;
        other.object_ = mine;
        return *this;
    }
    ~Object() { Py_XDECREF(object_); }
    PyObject* get() const { return object_; }
    PyObject* take() {
        PyObject* mine = object_;
        object_ = nullptr;
        return mine;
    }
    explicit operator bool() const { return object_ != nullptr; }

private:
    PyObject* object_ = nullptr;
};

// ---- tensors

/// The Python object of a tensor. It owns the header, or (when only C++ still holds the tensor) the header owns it.
struct TensorObject {
    PyObject_HEAD TensorImpl* impl;
    PyObject* dict;
    PyObject* weak_references;
};
extern PyTypeObject* tensor_type; // kindling.Tensor
inline bool is_tensor(PyObject* object) { return Py_TYPE(object) == tensor_type || PyType_IsSubtype(Py_TYPE(object), tensor_type); }
inline TensorImpl* impl_of(PyObject* tensor) { return reinterpret_cast<TensorObject*>(tensor)->impl; }
inline Tensor tensor_of(PyObject* tensor) { return Tensor::share(impl_of(tensor)); }
/// The tensor's one Python object (a new reference); None for an undefined tensor. Takes the handle's reference over.
PyObject* wrap(Tensor tensor);
/// The same for a borrowed header.
PyObject* wrap(TensorImpl* impl);
/// A fresh object of a subclass for a header that has none yet.
PyObject* wrap_as(PyTypeObject* type, Tensor tensor);
PyObject* wrap_list(const Tensor* tensors, size_t size);

// ---- other values

PyObject* dtype_object(DType dtype); // new reference; None for DType::None
PyObject* layout_object(Layout layout);
PyObject* memory_format_object(MemoryFormat format);
PyObject* device_object(Device device);
PyObject* size_object(IntList sizes);       // torch.Size
PyObject* storage_object(Storage* storage); // UntypedStorage, one per storage
PyObject* generator_object(Generator* generator);
PyObject* scalar_object(const Scalar& scalar);
PyObject* int_tuple(IntList list);
PyObject* symint_object(Size size); // torch.SymInt while sizes are recorded; an int where there is no symbol
/// Any value as Python sees it. `consume` says that the value is an owned result.
PyObject* to_python(Value& value, bool consume);

bool dtype_of_object(PyObject* object, DType& dtype); // torch.dtype and float, int, bool, complex; no error set
bool is_dtype(PyObject* object);
bool device_of_object(PyObject* object, Device& device, bool raise = true); // device, str, int
bool is_device(PyObject* object);
/// The device of the first plug-in; the CPU where there is none.
Device accelerator();
bool scalar_of_object(PyObject* object, Scalar& scalar); // Python and NumPy numbers; no error set
Generator* generator_of(PyObject* object);               // null if it is none
Storage* storage_of(PyObject* object);                   // null if it is none

// ---- errors

/// Inside `catch (...)`: makes the current C++ exception the Python error. Returns null.
PyObject* set_error();
/// Runs `body`; whatever it throws becomes a Python error. `body` returns a PyObject*.
template <class F> PyObject* guarded(F&& body) {
    try {
        return body();
    } catch (...) { return set_error(); }
}
/// The same for functions that say success by int (0, -1).
template <class F> int guarded_int(F&& body) {
    try {
        return body();
    } catch (...) {
        set_error();
        return -1;
    }
}
/// Runs what was put off and touches the memory, so that Storage::data() cannot raise after it. False with an error set.
inline bool settled(Storage* storage) {
    return guarded_int([&] {
               storage->data();
               return 0;
           }) == 0;
}
/// Throws Error(Python): the Python error that is set passes through C++ code.
[[noreturn]] void throw_python();
/// A bool argument; TypeError for anything else.
bool flag_of(const char* function, const char* name, PyObject* object);
/// `call` for a PyObject* result that must not be null in C++ code.
inline PyObject* checked(PyObject* object) {
    if (!object) throw_python();
    return object;
}

// ---- calls into Python

/// _C._error_class(name): the class of errors that is called so, or None.
PyObject* error_class_by_name(PyObject*, PyObject* name);
/// The name the package goes by: "kindling", or "torch" once the alias is in place. Classes and functions say they are
/// from there, so that they pickle.
extern const char* package;
/// Makes a type say that it comes from `package` (and a submodule).
void set_module(PyTypeObject* type, const char* submodule = "");

/// Takes the interpreter lock for a scope, from any thread.
class Lock {
public:
    Lock() : state_(PyGILState_Ensure()) {}
    ~Lock() { PyGILState_Release(state_); }
    Lock(const Lock&) = delete;

private:
    PyGILState_STATE state_;
};
/// An attribute of a module of ours, imported when asked: import("kindling._tensor_str", "_str").
PyObject* import(const char* module, const char* attribute);

// ---- __torch_function__

/// True when a call with this tensor must go to __torch_function__ first.
bool wants_torch_function(PyObject* self);
/// Calls __torch_function__ of the modes and subclasses among the arguments. `function` is what they see.
PyObject* call_torch_function(PyObject* function, PyObject* const* arguments, Py_ssize_t count, PyObject* keyword_names);
/// With an error set: the result of the __torch_function__ of an argument that is no tensor (a size, a dtype, a number of
/// a graph that is traced), if one has it; otherwise null, with the error as it was.
[[gnu::cold]] PyObject* ask_other_arguments(PyObject* function, PyObject* const* arguments, Py_ssize_t count, PyObject* keyword_names);
/// For a property: function is Tensor.<name>.__get__ (or __set__, __delete__).
PyObject* get_by_torch_function(PyObject* self, const char* name);
int set_by_torch_function(PyObject* self, const char* name, PyObject* value);

} // namespace kindling::python
