// bindings/torch_function.cpp: __torch_function__: overridden calls of subclasses, tensor-like objects and modes.
// Compiled for size.
#include "bindings/tensor/tensor.h"
#include "bindings/types.h"

namespace kindling::python {

static constinit thread_local PyObject* function_stack = nullptr; // a list of TorchFunctionModes, innermost last
static PyObject* name_torch_function;
extern PyObject* disabled_torch_function;

static bool has_own(PyObject* object) {
    if (is_tensor(object)) return impl_of(object)->key & key::Function;
    PyTypeObject* type = Py_TYPE(object);
    if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyUnicode_Type || type == &PyList_Type ||
        type == &PyTuple_Type || type == &PyDict_Type || type == &PyComplex_Type || object == Py_None)
        return false;
    PyObject* found = _PyType_Lookup(type, name_torch_function);
    return found && found != disabled_torch_function && !PyType_Check(object);
}

bool wants_torch_function(PyObject* self) {
    if (thread_state.function_modes && thread_state.skip_torch_function < 2) [[unlikely]]
        return true;
    return (impl_of(self)->key & key::Function) && thread_state.skip_torch_function < 1;
}

/// The arguments with __torch_function__, one per class, subclasses before their bases.
static void add_overloaded(PyObject** list, int& count, int limit, PyObject* object) {
    for (int i = 0; i < count; i++)
        if (Py_TYPE(list[i]) == Py_TYPE(object)) return;
    if (count == limit) return;
    int at = count;
    for (int i = 0; i < count; i++)
        if (PyType_IsSubtype(Py_TYPE(object), Py_TYPE(list[i]))) {
            at = i;
            break;
        }
    for (int i = count; i > at; i--) list[i] = list[i - 1];
    list[at] = object;
    count++;
}

static int gather(PyObject* const* arguments, Py_ssize_t total, PyObject** list, int limit) {
    int count = 0;
    for (Py_ssize_t i = 0; i < total; i++) {
        PyObject* object = arguments[i];
        if (PyTuple_Check(object) || PyList_Check(object)) {
            bool tuple = PyTuple_Check(object);
            Py_ssize_t size = tuple ? PyTuple_GET_SIZE(object) : PyList_GET_SIZE(object);
            for (Py_ssize_t j = 0; j < size; j++) {
                PyObject* item = tuple ? PyTuple_GET_ITEM(object, j) : PyList_GET_ITEM(object, j);
                if (has_own(item)) add_overloaded(list, count, limit, item);
            }
        } else if (has_own(object)) {
            add_overloaded(list, count, limit, object);
        }
    }
    return count;
}

/// Takes the innermost mode off the stack for a scope.
class PoppedMode {
public:
    PoppedMode() {
        Py_ssize_t size = PyList_GET_SIZE(function_stack);
        mode = Py_NewRef(PyList_GET_ITEM(function_stack, size - 1));
        PyList_SetSlice(function_stack, size - 1, size, nullptr);
        thread_state.function_modes--;
    }
    ~PoppedMode() {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyList_Append(function_stack, mode);
        thread_state.function_modes++;
        Py_DECREF(mode);
        PyErr_Restore(type, value, trace);
    }
    PyObject* mode;
};

static PyObject* dispatch(PyObject* function, PyObject** overloaded, int count, PyObject* args, PyObject* kwargs) {
    PyObject* types = PyTuple_New(count);
    if (!types) return nullptr;
    for (int i = 0; i < count; i++) PyTuple_SET_ITEM(types, i, Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(overloaded[i]))));
    PyObject* result = nullptr;
    bool asked = false;
    if (thread_state.function_modes && thread_state.skip_torch_function < 2) {
        PoppedMode popped;
        asked = true;
        result = PyObject_CallMethod(popped.mode, "__torch_function__", "OOOO", function, types, args, kwargs ? kwargs : Py_None);
    }
    for (int i = 0; i < count && (!asked || result == Py_NotImplemented); i++) {
        Py_CLEAR(result);
        asked = true;
        PyObject* method = PyObject_GetAttr(overloaded[i], name_torch_function);
        if (!method) break;
        result = PyObject_CallFunctionObjArgs(method, function, types, args, kwargs, nullptr);
        Py_DECREF(method);
    }
    Py_DECREF(types);
    if (result == Py_NotImplemented) {
        Py_DECREF(result);
        std::string classes;
        for (int i = 0; i < count; i++) {
            PyObject* repr = PyObject_Repr(reinterpret_cast<PyObject*>(Py_TYPE(overloaded[i])));
            classes += std::string("\n  - tensor subclass ") + (repr ? PyUnicode_AsUTF8(repr) : "?");
            Py_XDECREF(repr);
        }
        PyObject* name = PyObject_GetAttrString(function, "__name__");
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError,
                     "Multiple dispatch failed for 'torch.%S'; all __torch_function__ handlers returned NotImplemented:\n%s",
                     name ? name : function, classes.c_str());
        Py_XDECREF(name);
        return nullptr;
    }
    return result;
}

PyObject* call_torch_function(PyObject* function, PyObject* const* arguments, Py_ssize_t count, PyObject* kwnames) {
    if (thread_state.skip_torch_function >= 2) return nullptr;
    Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject* overloaded[32];
    int found = thread_state.skip_torch_function ? 0 : gather(arguments, count + keywords, overloaded, 31);
    if (found == 0 && !thread_state.function_modes) return nullptr;
    Object args(PyTuple_New(count)), kwargs;
    if (!args.get()) return nullptr;
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(args.get(), i, Py_NewRef(arguments[i]));
    if (keywords) {
        kwargs = Object(PyDict_New());
        for (Py_ssize_t i = 0; i < keywords; i++) PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, i), arguments[count + i]);
    }
    return dispatch(function, overloaded, found, args.get(), kwargs.get());
}

static bool is_other(PyObject* object) { return !is_tensor(object) && has_own(object); }

static bool any_other(PyObject* const* arguments, Py_ssize_t total) {
    for (Py_ssize_t i = 0; i < total; i++) {
        PyObject* object = arguments[i];
        if (is_other(object)) return true;
        if (!PyTuple_Check(object) && !PyList_Check(object)) continue;
        PyObject** items = PySequence_Fast_ITEMS(object);
        for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(object); j++)
            if (is_other(items[j])) return true;
    }
    return false;
}

PyObject* ask_other_arguments(PyObject* function, PyObject* const* arguments, Py_ssize_t count, PyObject* kwnames) {
    if (thread_state.skip_torch_function) return nullptr;
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace); // looking an attribute up in a type clears what is set
    if (!any_other(arguments, count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0))) {
        PyErr_Restore(kind, error, trace);
        return nullptr;
    }
    Py_XDECREF(kind);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    return call_torch_function(function, arguments, count, kwnames);
}

static PyObject* accessor(const char* name, const char* which) {
    PyObject* property = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name);
    if (!property) return nullptr;
    PyObject* result = PyObject_GetAttrString(property, which);
    Py_DECREF(property);
    return result;
}
PyObject* get_by_torch_function(PyObject* self, const char* name) {
    PyObject* function = accessor(name, "__get__");
    if (!function) return nullptr;
    PyObject* result = call_torch_function(function, &self, 1, nullptr);
    Py_DECREF(function);
    return result;
}
int set_by_torch_function(PyObject* self, const char* name, PyObject* value) {
    PyObject* function = accessor(name, value ? "__set__" : "__delete__");
    if (!function) return -1;
    PyObject* arguments[] = {self, value};
    PyObject* result = call_torch_function(function, arguments, value ? 2 : 1, nullptr);
    Py_DECREF(function);
    if (!result) return -1;
    Py_DECREF(result);
    return 0;
}

// ---- Tensor.__torch_function__

/// Results become the subclass: torch's Tensor._convert. Takes `result` over.
static PyObject* convert_result(PyObject* result, PyObject* type) {
    if (!result || type == reinterpret_cast<PyObject*>(tensor_type)) return result;
    if (is_tensor(result)) {
        int instance = PyObject_IsInstance(result, type);
        if (instance) return instance < 0 ? nullptr : result;
        PyObject* converted = PyObject_CallMethod(result, "as_subclass", "O", type);
        Py_DECREF(result);
        return converted;
    }
    bool tuple = PyTuple_Check(result);
    if (!tuple && !PyList_Check(result)) return result;
    Py_ssize_t size = tuple ? PyTuple_GET_SIZE(result) : PyList_GET_SIZE(result);
    PyObject* items = PyList_New(size);
    for (Py_ssize_t i = 0; items && i < size; i++) {
        PyObject* item = convert_result(Py_NewRef(tuple ? PyTuple_GET_ITEM(result, i) : PyList_GET_ITEM(result, i)), type);
        if (!item) Py_CLEAR(items);
        else PyList_SET_ITEM(items, i, item);
    }
    PyObject* converted = items ? PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(Py_TYPE(result)), items, nullptr) : nullptr;
    Py_XDECREF(items);
    Py_DECREF(result);
    return converted;
}

static bool nowrap(PyObject* function) { // Tensor.grad.__get__ and the like give what is there
    PyObject* self = PyObject_GetAttrString(function, "__self__");
    PyObject* name = self && Py_TYPE(self) == &PyGetSetDescr_Type ? PyObject_GetAttrString(self, "__name__") : nullptr;
    PyErr_Clear();
    bool result = name && (PyUnicode_CompareWithASCIIString(name, "grad") == 0 || PyUnicode_CompareWithASCIIString(name, "_grad") == 0 ||
                           PyUnicode_CompareWithASCIIString(name, "_base") == 0);
    Py_XDECREF(self);
    Py_XDECREF(name);
    return result;
}

static PyObject* torch_function(PyObject* type, PyObject* all, PyObject* keywords) {
    static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
    PyObject *function, *types, *args = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTupleAndKeywords(all, keywords, "OO|OO:__torch_function__", const_cast<char**>(names), &function, &types, &args,
                                     &kwargs))
        return nullptr;
    Object items(PySequence_Tuple(types));
    if (!items.get()) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); i++) {
        int sub = PyObject_IsSubclass(type, PyTuple_GET_ITEM(items.get(), i));
        if (sub < 0) return nullptr;
        if (!sub) Py_RETURN_NOTIMPLEMENTED;
    }
    Object positional(args && args != Py_None ? PySequence_Tuple(args) : PyTuple_New(0));
    if (!positional.get()) return nullptr;
    SkipTorchFunction skip(1);
    PyObject* result = PyObject_Call(function, positional.get(), kwargs && kwargs != Py_None ? kwargs : nullptr);
    return result && !nowrap(function) ? convert_result(result, type) : result;
}
PyMethodDef default_torch_function = {"__torch_function__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(torch_function)),
                                      METH_VARARGS | METH_KEYWORDS,
                                      "Calls func with overriding off; Tensors in the result become this class."};

static PyObject* disabled_impl(PyObject*, PyObject* all) {
    PyObject *function, *types, *args = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTuple(all, "OO|OO", &function, &types, &args, &kwargs)) return nullptr;
    Object positional(args && args != Py_None ? PySequence_Tuple(args) : PyTuple_New(0));
    if (!positional.get()) return nullptr;
    SkipTorchFunction skip(1);
    return PyObject_Call(function, positional.get(), kwargs && kwargs != Py_None ? kwargs : nullptr);
}

// ---- the questions torch.overrides asks

static bool any_own(PyObject* const* items, Py_ssize_t count) {
    if (thread_state.skip_torch_function >= 2) return false;
    if (thread_state.function_modes) return true;
    if (thread_state.skip_torch_function) return false;
    for (Py_ssize_t i = 0; i < count; i++)
        if (has_own(items[i])) return true;
    return false;
}
static PyObject* has_function(PyObject*, PyObject* iterable) {
    PyObject* items = PySequence_Fast(iterable, "expected a sequence");
    if (!items) return nullptr;
    bool result = any_own(PySequence_Fast_ITEMS(items), PySequence_Fast_GET_SIZE(items));
    Py_DECREF(items);
    return PyBool_FromLong(result);
}
static PyObject* has_function_unary(PyObject*, PyObject* object) { return PyBool_FromLong(any_own(&object, 1)); }
static PyObject* has_function_variadic(PyObject*, PyObject* const* args, Py_ssize_t nargs) { return PyBool_FromLong(any_own(args, nargs)); }

/// _C._handle_torch_function(func, relevant, args, kwargs)
static PyObject* handle(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
    if (nargs != 4 || !PyTuple_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "_handle_torch_function(func, relevant_args, args, kwargs)");
        return nullptr;
    }
    Object relevant(PySequence_Tuple(args[1]));
    if (!relevant.get()) return nullptr;
    PyObject* overloaded[32];
    int count = thread_state.skip_torch_function
                    ? 0
                    : gather(&PyTuple_GET_ITEM(relevant.get(), 0), PyTuple_GET_SIZE(relevant.get()), overloaded, 31);
    PyObject* result = dispatch(args[0], overloaded, count, args[2], args[3] == Py_None ? nullptr : args[3]);
    if (result || PyErr_Occurred()) return result;
    SkipTorchFunction skip(2);
    return PyObject_Call(args[0], args[2], args[3] == Py_None ? nullptr : args[3]);
}

static PyObject* push(PyObject*, PyObject* mode) {
    if (!function_stack && !(function_stack = PyList_New(0))) return nullptr;
    if (PyList_Append(function_stack, mode) < 0) return nullptr;
    thread_state.function_modes++;
    Py_RETURN_NONE;
}
static PyObject* pop(PyObject*, PyObject*) {
    Py_ssize_t size = function_stack ? PyList_GET_SIZE(function_stack) : 0;
    if (size == 0) {
        PyErr_SetString(PyExc_RuntimeError, "the stack of TorchFunctionModes is empty");
        return nullptr;
    }
    PyObject* mode = Py_NewRef(PyList_GET_ITEM(function_stack, size - 1));
    PyList_SetSlice(function_stack, size - 1, size, nullptr);
    thread_state.function_modes--;
    return mode;
}
static PyObject* length(PyObject*, PyObject*) { return PyLong_FromSsize_t(function_stack ? PyList_GET_SIZE(function_stack) : 0); }
static PyObject* at(PyObject*, PyObject* index) {
    Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    PyObject* item = function_stack ? PyList_GetItem(function_stack, i) : nullptr;
    if (!function_stack) PyErr_SetString(PyExc_IndexError, "the stack of TorchFunctionModes is empty");
    return Py_XNewRef(item);
}
static PyObject* enabled(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.skip_torch_function == 0); }
static PyObject* all_disabled(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.skip_torch_function >= 2); }

// ---- DisableTorchFunctionSubclass, DisableTorchFunction

struct DisableObject {
    PyObject_HEAD int level, before;
};
static PyObject* disable_enter(PyObject* self, PyObject*) {
    auto* d = reinterpret_cast<DisableObject*>(self);
    d->before = thread_state.skip_torch_function;
    if (d->level > d->before) thread_state.skip_torch_function = d->level;
    Py_RETURN_NONE;
}
static PyObject* disable_exit(PyObject* self, PyObject*) {
    thread_state.skip_torch_function = reinterpret_cast<DisableObject*>(self)->before;
    Py_RETURN_FALSE;
}
static PyTypeObject *disable_subclass_type, *disable_all_type;
static PyObject* disable_new(PyTypeObject* type, PyObject*, PyObject*) {
    PyObject* self = type->tp_alloc(type, 0);
    if (self) reinterpret_cast<DisableObject*>(self)->level = PyType_IsSubtype(type, disable_all_type) ? 2 : 1;
    return self;
}

bool init_torch_function(PyObject* module) {
    name_torch_function = PyUnicode_InternFromString("__torch_function__");
    static PyMethodDef disabled = {"_disabled_torch_function_impl", disabled_impl, METH_VARARGS, nullptr};
    disabled_torch_function = PyCFunction_New(&disabled, nullptr);
    if (!disabled_torch_function || PyModule_AddObjectRef(module, "_disabled_torch_function_impl", disabled_torch_function) < 0)
        return false;
    static PyMethodDef disable_methods[] = {{"__enter__", disable_enter, METH_NOARGS, nullptr},
                                            {"__exit__", disable_exit, METH_VARARGS, nullptr},
                                            {nullptr, nullptr, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(disable_new)}, {Py_tp_methods, disable_methods}, {0, nullptr}};
    static PyType_Spec spec = {"torch._C.DisableTorchFunctionSubclass", sizeof(DisableObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                               slots};
    static PyType_Spec all_spec = {"torch._C.DisableTorchFunction", sizeof(DisableObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                   slots};
    disable_subclass_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    disable_all_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&all_spec));
    if (!disable_subclass_type || !disable_all_type) return false;
    PyModule_AddObjectRef(module, "DisableTorchFunctionSubclass", reinterpret_cast<PyObject*>(disable_subclass_type));
    PyModule_AddObjectRef(module, "DisableTorchFunction", reinterpret_cast<PyObject*>(disable_all_type));
    static PyMethodDef functions[] = {
        {"_has_torch_function", has_function, METH_O, nullptr},
        {"_has_torch_function_unary", has_function_unary, METH_O, nullptr},
        {"_has_torch_function_variadic", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(has_function_variadic)), METH_FASTCALL,
         nullptr},
        {"_handle_torch_function", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(handle)), METH_FASTCALL, nullptr},
        {"_push_on_torch_function_stack", push, METH_O, nullptr},
        {"_pop_torch_function_stack", pop, METH_NOARGS, nullptr},
        {"_len_torch_function_stack", length, METH_NOARGS, nullptr},
        {"_get_function_stack_at", at, METH_O, nullptr},
        {"_is_torch_function_enabled", enabled, METH_NOARGS, nullptr},
        {"_is_torch_function_all_disabled", all_disabled, METH_NOARGS, nullptr},
        {nullptr, nullptr, 0, nullptr},
    };
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
