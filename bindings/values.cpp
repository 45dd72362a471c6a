// bindings/values.cpp: values and errors between C++ and Python.
#include "bindings/python.h"

#include <new>
#include <stdexcept>

#include "bindings/types.h"

namespace kindling::python {

// ---- errors

static PyObject *error_module, *lin_alg_error, *out_of_memory_error, *internal_error;

/// Made when it is first needed. `submodule`: of the package, whatever that is called; null if the name says it all.
static PyObject* error_class(PyObject*& kept, const char* name, const char* submodule) {
    if (!kept) {
        PyObject* made = PyErr_NewException(name, PyExc_RuntimeError, nullptr);
        if (kept) Py_XDECREF(made); // by another thread, meanwhile
        else if ((kept = made) && submodule) set_module(reinterpret_cast<PyTypeObject*>(made), submodule);
    }
    return kept ? kept : PyExc_RuntimeError;
}
static PyObject* class_of(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::Type: return PyExc_TypeError;
    case ErrorKind::Value: return PyExc_ValueError;
    case ErrorKind::Index: return PyExc_IndexError;
    case ErrorKind::NotImplemented: return PyExc_NotImplementedError;
    case ErrorKind::Attribute: return PyExc_AttributeError;
    case ErrorKind::Overflow: return PyExc_OverflowError;
    case ErrorKind::Key: return PyExc_KeyError;
    case ErrorKind::OutOfMemory: return error_class(out_of_memory_error, "torch.OutOfMemoryError", "");
    case ErrorKind::LinAlg: return error_class(lin_alg_error, "torch._C._LinAlgError", "._C");
    case ErrorKind::Internal: return error_class(internal_error, "kindling.InternalError", nullptr);
    default: return PyExc_RuntimeError;
    }
}

PyObject* set_error() {
    try {
        throw;
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::Python && PyErr_Occurred()) return nullptr;
        PyErr_SetString(class_of(error.kind()), error.what());
    } catch (const std::bad_alloc&) {
        PyErr_SetString(class_of(ErrorKind::OutOfMemory), "not enough memory: the system gave none for a list or header");
    } catch (const std::length_error&) {
        PyErr_SetString(class_of(ErrorKind::OutOfMemory), "not enough memory: a list longer than any memory");
    } catch (const std::exception& error) {
        PyErr_Format(class_of(ErrorKind::Internal), "internal error: %s. Please report it.", error.what());
    } catch (...) { PyErr_SetString(class_of(ErrorKind::Internal), "internal error of an unknown kind. Please report it."); }
    return nullptr;
}

void throw_python() { throw Error(ErrorKind::Python, std::string()); }

static PyObject* set_package(PyObject*, PyObject* name);

PyObject* error_class_by_name(PyObject*, PyObject* name) {
    struct {
        const char* name;
        ErrorKind kind;
    } const classes[] = {
        {"_LinAlgError", ErrorKind::LinAlg}, {"OutOfMemoryError", ErrorKind::OutOfMemory}, {"InternalError", ErrorKind::Internal}};
    for (auto& each : classes)
        if (PyUnicode_CompareWithASCIIString(name, each.name) == 0) return Py_NewRef(class_of(each.kind));
    Py_RETURN_NONE;
}

bool init_errors(PyObject* module) {
    error_module = module;
    static PyMethodDef functions[] = {{"_error_class", error_class_by_name, METH_O, nullptr},
                                      {"_set_package", set_package, METH_O, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0;
}

PyObject* import(const char* module, const char* attribute) {
    PyObject* loaded = PyImport_ImportModule(module);
    if (!loaded) return nullptr;
    PyObject* result = PyObject_GetAttrString(loaded, attribute);
    Py_DECREF(loaded);
    return result;
}

const char* package = "kindling";
struct Placed {
    PyTypeObject* type;
    const char* submodule;
};
static Placed placed[64];
static int placed_count = 0;

static void put_module(const Placed& entry) {
    PyObject* name = PyUnicode_FromFormat("%s%s", package, entry.submodule);
    if (name) PyDict_SetItemString(entry.type->tp_dict, "__module__", name);
    Py_XDECREF(name);
    PyType_Modified(entry.type);
}
void set_module(PyTypeObject* type, const char* submodule) {
    Placed entry = {type, submodule};
    if (placed_count < 64) placed[placed_count++] = entry;
    put_module(entry);
}
/// _C._set_package("torch"): what the alias calls.
static PyObject* set_package(PyObject*, PyObject* name) {
    package = PyUnicode_CompareWithASCIIString(name, "torch") == 0 ? "torch" : "kindling";
    for (int i = 0; i < placed_count; i++) put_module(placed[i]);
    Py_RETURN_NONE;
}

// ---- numbers

PyObject* scalar_object(const Scalar& scalar) {
    switch (scalar.kind()) {
    case Scalar::Kind::Bool: return PyBool_FromLong(scalar.to_bool());
    case Scalar::Kind::Int: return PyLong_FromLongLong(scalar.to_int());
    case Scalar::Kind::UInt: return PyLong_FromUnsignedLongLong(static_cast<uint64_t>(scalar.to_int()));
    case Scalar::Kind::Float: return PyFloat_FromDouble(scalar.to_double());
    default: {
        auto value = scalar.to_complex();
        return PyComplex_FromDoubles(value.real(), value.imag());
    }
    }
}

/// numpy.generic, if numpy has been imported by somebody.
static PyObject* numpy_generic() {
    static PyObject* generic = nullptr;
    if (generic) return generic;
    PyObject* modules = PyImport_GetModuleDict();
    PyObject* numpy = PyDict_GetItemString(modules, "numpy");
    if (!numpy) return nullptr;
    generic = PyObject_GetAttrString(numpy, "generic");
    PyErr_Clear();
    return generic;
}

bool scalar_of_object(PyObject* object, Scalar& scalar) {
    if (PyFloat_Check(object)) {
        scalar = Scalar(PyFloat_AS_DOUBLE(object));
        return true;
    }
    if (PyBool_Check(object)) {
        scalar = Scalar(object == Py_True);
        return true;
    }
    if (PyLong_Check(object)) {
        int overflow;
        long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (!overflow) {
            scalar = Scalar(static_cast<int64_t>(value));
            return true;
        }
        unsigned long long wide = PyLong_AsUnsignedLongLong(object);
        if (PyErr_Occurred()) throw_python();
        scalar = Scalar(static_cast<uint64_t>(wide));
        return true;
    }
    if (PyComplex_Check(object)) {
        Py_complex value = PyComplex_AsCComplex(object);
        scalar = Scalar(std::complex<double>(value.real, value.imag));
        return true;
    }
    PyTypeObject* type = Py_TYPE(object);
    if (type == &PyUnicode_Type || type == &PyTuple_Type || type == &PyList_Type || object == Py_None || type == tensor_type) return false;
    PyObject* generic = numpy_generic();
    if (!generic || PyObject_IsInstance(object, generic) != 1) return false;
    PyObject* item = PyObject_CallMethod(object, "item", nullptr);
    if (!item) {
        PyErr_Clear();
        return false;
    }
    bool number = PyFloat_Check(item) || PyLong_Check(item) || PyComplex_Check(item);
    bool result = number && scalar_of_object(item, scalar);
    Py_DECREF(item);
    return result;
}

bool flag_of(const char* function, const char* name, PyObject* object) {
    Scalar scalar; // NumPy's bool is one too
    if (!PyBool_Check(object) && (PyLong_Check(object) || !scalar_of_object(object, scalar) || !scalar.is_bool()))
        fail(ErrorKind::Type, "%s(): argument '%s' must be bool, not %s", function, name, Py_TYPE(object)->tp_name);
    return object == Py_True || scalar.to_bool();
}

// ---- any value

PyObject* to_python(Value& value, bool consume) {
    auto list = [&](auto make) {
        PyObject* items = PyList_New(static_cast<Py_ssize_t>(value.size));
        for (uint32_t i = 0; items && i < value.size; i++) PyList_SET_ITEM(items, static_cast<Py_ssize_t>(i), make(i));
        if (items && PyErr_Occurred()) Py_CLEAR(items);
        return items;
    };
    switch (value.tag) {
    case Value::Tag::None: Py_RETURN_NONE;
    case Value::Tag::Tensor: return consume ? wrap(value.take_tensor()) : wrap(value.tensor);
    case Value::Tag::Bool: return PyBool_FromLong(value.integer != 0);
    case Value::Tag::Int: return value.symbolic ? symint_object(value.as_size()) : PyLong_FromLongLong(value.integer);
    case Value::Tag::UInt: return PyLong_FromUnsignedLongLong(static_cast<uint64_t>(value.integer));
    case Value::Tag::Float: return PyFloat_FromDouble(value.real);
    case Value::Tag::Complex: return PyComplex_FromDoubles(value.real, value.imag);
    case Value::Tag::Text: return PyUnicode_FromStringAndSize(value.text, static_cast<Py_ssize_t>(value.size));
    case Value::Tag::DType: return dtype_object(value.dtype);
    case Value::Tag::Layout: return layout_object(value.layout);
    case Value::Tag::Device: return device_object(value.device);
    case Value::Tag::MemoryFormat: return memory_format_object(value.format);
    case Value::Tag::Generator: return generator_object(value.generator);
    case Value::Tag::Storage: return storage_object(value.storage);
    case Value::Tag::Python: return Py_NewRef(static_cast<PyObject*>(value.python));
    case Value::Tag::IntList:
        return list(
            [&](uint32_t i) { return value.symbolic ? symint_object(value.as_sizes()[i]) : PyLong_FromLongLong(value.integers[i]); });
    case Value::Tag::FloatList: return list([&](uint32_t i) { return PyFloat_FromDouble(value.floats[i]); });
    case Value::Tag::BoolList: return list([&](uint32_t i) { return PyBool_FromLong(value.bools[i]); });
    case Value::Tag::ScalarList: return list([&](uint32_t i) { return scalar_object(value.scalars[i]); });
    case Value::Tag::TextList:
        return list(
            [&](uint32_t i) { return PyUnicode_FromStringAndSize(value.texts[i].data(), static_cast<Py_ssize_t>(value.texts[i].size())); });
    case Value::Tag::TensorList:
        if (consume) {
            std::vector<Tensor> tensors = value.take_list();
            PyObject* items = PyTuple_New(static_cast<Py_ssize_t>(tensors.size()));
            for (size_t i = 0; items && i < tensors.size(); i++) {
                PyObject* item = wrap(static_cast<Tensor&&>(tensors[i]));
                if (!item) {
                    Py_DECREF(items);
                    return nullptr;
                }
                PyTuple_SET_ITEM(items, static_cast<Py_ssize_t>(i), item);
            }
            return items;
        }
        return list([&](uint32_t i) { return wrap(value.tensors[i]); });
    }
    Py_RETURN_NONE;
}

} // namespace kindling::python
