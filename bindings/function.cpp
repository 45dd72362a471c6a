// bindings/function.cpp: calls of operators from Python: overloads, results, and the callable types.
#include "bindings/function.h"
#include "kernels/capability.h"
#include "runtime/allocator.h"
#include "runtime/threads.h"

#include <climits>

#include <structmember.h>

namespace kindling::python {

PyTypeObject* function_type = nullptr;
PyTypeObject* method_type = nullptr;

// ---- results

static PyObject* named_tuple_types = nullptr; // {(name, fields...): type}

/// Each field on a line of its own.
static PyObject* named_tuple_repr(PyObject* self) {
    PyObject* members = PyDict_GetItemString(Py_TYPE(self)->tp_dict, "__match_args__");
    Object text(PyUnicode_FromFormat("%s(", Py_TYPE(self)->tp_name));
    for (Py_ssize_t i = 0; text && i < PyTuple_GET_SIZE(self); i++) {
        PyObject* name = members && i < PyTuple_GET_SIZE(members) ? PyTuple_GET_ITEM(members, i) : Py_None;
        text = Object(PyUnicode_FromFormat("%U%s\n%U=%R", text.get(), i ? "," : "", name, PyTuple_GET_ITEM(self, i)));
    }
    return text ? PyUnicode_FromFormat("%U)", text.get()) : nullptr;
}

/// torch.return_types.max and its like, from the names of the schema's results.
PyObject* named_tuple_type(const Operator& op) {
    const Schema& schema = *op.schema;
    bool named = schema.results.size() > 1;
    for (auto& result : schema.results) named &= result.name && *result.name;
    if (!named) return nullptr;
    const Operator& functional = op.functional ? *op.functional : op;
    const Schema& names = functional.schema->results.size() == schema.results.size() ? *functional.schema : schema;
    for (auto& result : names.results)
        if (!result.name || !*result.name) return nullptr;
    if (!named_tuple_types) named_tuple_types = checked(PyDict_New());
    std::string key = std::string(functional.name()) + (op.form == Form::Out ? "_out" : "");
    if (PyObject* known = PyDict_GetItemString(named_tuple_types, key.c_str())) return known;
    size_t count = names.results.size();
    auto* fields = static_cast<PyStructSequence_Field*>(PyMem_Calloc(count + 1, sizeof(PyStructSequence_Field)));
    for (size_t i = 0; i < count; i++) fields[i].name = names.results[i].name;
    auto* text = static_cast<char*>(PyMem_Malloc(key.size() + 32));
    snprintf(text, key.size() + 32, "torch.return_types.%s", key.c_str());
    PyStructSequence_Desc description = {text, nullptr, fields, static_cast<int>(count)};
    PyTypeObject* type = PyStructSequence_NewType(&description);
    if (!type) throw_python();
    set_module(type, ".return_types");
    type->tp_repr = named_tuple_repr;
    PyDict_SetItemString(named_tuple_types, key.c_str(), reinterpret_cast<PyObject*>(type));
    return reinterpret_cast<PyObject*>(type);
}

PyObject* results_to_python(const Operator& op, Value* results) {
    size_t count = op.schema->results.size();
    if (count == 1) return to_python(results[0], true);
    if (count == 0) Py_RETURN_NONE;
    PyObject* type = named_tuple_type(op);
    Object tuple(checked(type ? PyStructSequence_New(reinterpret_cast<PyTypeObject*>(type)) : PyTuple_New(static_cast<Py_ssize_t>(count))));
    for (size_t i = 0; i < count; i++) {
        PyObject* item = checked(to_python(results[i], true));
        if (type) PyStructSequence_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), item);
        else PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
    }
    return tuple.take();
}

PyObject* call_boxed(const Operator& op, Value* values) {
    Value results[16];
    call(op, values, results);
    return results_to_python(op, results);
}

PyObject* run_call(Call& call, Caller caller) {
    const Operator& op = *call.signature->op;
    // A number in the place of self needs a tensor: somebody has to say what the result is.
    if (call.signature->numbers && call.values[0].wrapped) {
        bool tensors = false;
        for (int i = 0; i < op.tensor_count; i++) tensors |= call.values[op.tensor_positions[i]].is_tensor();
        if (!tensors) call.values[0] = Value(call.arena.keep(wrap_number(call.values[0].scalar())));
    }
    Value results[16];
    call_over(op, call.values, results, caller);
    PyObject* result = results_to_python(op, results);
    if (call.requires_grad && result && is_tensor(result)) tensor_of(result).requires_grad_(true);
    return result;
}

// ---- the callables

static Overloads* overloads_of(FunctionObject* f) {
    if (f->overloads) return f->overloads;
    OverloadSet set;
    if (f->set) set = *f->set;
    else if (!find_operators(f->text, strlen(f->text), set)) fail(ErrorKind::NotImplemented, "aten::%s is not implemented", f->text);
    const char* shown = f->text;
    return f->overloads = make_overloads(shown, set.operators, set.count, f->space);
}

/// Through torch.ops, arguments that do not fit are a RuntimeError that shows the declaration, and a device without kernels
/// is known when one is looked for.
[[gnu::cold]] static void as_ops_raise(const Overloads& overloads) {
    const bool type = PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError);
    if (!type && !PyErr_ExceptionMatches(PyExc_AssertionError)) return;
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    const Operator& op = *overloads.signatures[0].op;
    if (type) PyErr_Format(PyExc_RuntimeError, "%S. Declaration: %s%s", value, strchr(op.name(), ':') ? "" : "aten::", op.schema->text);
    else PyErr_Format(PyExc_NotImplementedError, "Could not run 'aten::%s' with arguments from the 'CUDA' backend: %S", op.name(), value);
    Py_XDECREF(kind);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

static PyObject* call_function(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    auto* f = reinterpret_cast<FunctionObject*>(callable);
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    try {
        Overloads* overloads = overloads_of(f);
        Call call;
        if (!parse_call(*overloads, args, nargs, kwnames, call)) [[unlikely]] {
            if (is_traced()) note_traced_number(nullptr, nullptr);
            if (PyObject* result = ask_other_arguments(callable, args, nargs, kwnames)) return result;
            if (f->space == space::Ops) as_ops_raise(*overloads);
            return nullptr;
        }
        if (call.overloaded || thread_state.function_modes) [[unlikely]]
            if (PyObject* result = call_torch_function(callable, args, nargs, kwnames); result || PyErr_Occurred()) return result;
        // Who passes the items of a tuple does so without this flag (PEP 590: nothing there may be touched).
        PyObject* result = run_call(call, nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET ? Caller::Stack : Caller::Unknown);
        if (f->space == space::Ops) { // a list of tensors is a list here
            if (!result || !PyTuple_CheckExact(result) || call.signature->op->schema->results.size() != 1) return result;
            PyObject* list = PySequence_List(result);
            Py_DECREF(result);
            return list;
        }
        // As torch's: the list operators that write in place give the list back.
        if (result == Py_None && nargs > 0 && call.signature->op->has(trait::GivesSelf)) {
            Py_DECREF(result);
            return Py_NewRef(args[0]);
        }
        return result;
    } catch (...) { return set_error(); }
}

static bool check_self(FunctionObject* f, PyObject* const* args, Py_ssize_t nargs) {
    if (nargs == 0) {
        PyErr_Format(PyExc_TypeError, "unbound method TensorBase.%s() needs an argument", f->text);
        return false;
    }
    if (is_tensor(args[0])) [[likely]]
        return true;
    PyErr_Format(PyExc_TypeError, "descriptor '%s' for 'torch._C.TensorBase' objects doesn't apply to a '%s' object", f->text,
                 Py_TYPE(args[0])->tp_name);
    return false;
}

static PyObject* call_method(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    if (!check_self(reinterpret_cast<FunctionObject*>(callable), args, PyVectorcall_NARGS(nargsf))) return nullptr;
    return call_function(callable, args, nargsf, kwnames);
}

static PyObject* call_native(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    auto* f = reinterpret_cast<FunctionObject*>(callable);
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (!check_self(f, args, nargs)) return nullptr;
    if (wants_torch_function(args[0])) [[unlikely]]
        if (PyObject* result = call_torch_function(callable, args, nargs, kwnames); result || PyErr_Occurred()) return result;
    try {
        if (PyObject* result = f->native(args[0], args + 1, nargs - 1, kwnames)) [[likely]]
            return result;
    } catch (...) { set_error(); }
    return ask_other_arguments(callable, args, nargs, kwnames);
}

static PyObject* get_method(PyObject* self, PyObject* instance, PyObject*) {
    if (!instance || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

static void function_dealloc(PyObject* self) {
    auto* f = reinterpret_cast<FunctionObject*>(self);
    if (f->weak_references) PyObject_ClearWeakRefs(self);
    Py_XDECREF(f->name);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject* function_repr(PyObject* self) {
    auto* f = reinterpret_cast<FunctionObject*>(self);
    if (f->space == space::Method) return PyUnicode_FromFormat("<method '%U' of 'torch._C.TensorBase' objects>", f->name);
    if (f->space == space::Torch) return PyUnicode_FromFormat("<built-in method %U of type object at %p>", f->name, self);
    return PyUnicode_FromFormat("<built-in function %U>", f->name);
}

static const char* space_name(uint32_t s) { // below the package
    switch (s) {
    case space::Nn: return "._C._nn";
    case space::Linalg: return "._C._linalg";
    case space::Fft: return "._C._fft";
    case space::Special: return "._C._special";
    case space::Sparse: return "._C._sparse";
    default: return "";
    }
}

static PyObject* get_doc(PyObject* self, void*) {
    auto* f = reinterpret_cast<FunctionObject*>(self);
    if (f->native) return f->doc ? PyUnicode_FromString(f->doc) : Py_NewRef(Py_None);
    return guarded([&] {
        Overloads* overloads = overloads_of(f);
        std::string text;
        const char* doc = "";
        for (int i = 0; i < overloads->count; i++) {
            const Signature& s = overloads->signatures[i];
            if (!*doc) doc = s.op->doc;
            if (s.out_count && s.functional) continue;
            bool out = s.out_count > 0;
            for (int j = 0; j < overloads->count; j++) out |= overloads->signatures[j].functional == &s;
            text += std::string(f->text) + signature_text(s, out) + "\n";
        }
        text += std::string("\n") + doc + "\n";
        return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
    });
}

static PyObject* get_module(PyObject* self) {
    auto* f = reinterpret_cast<FunctionObject*>(self);
    if (f->space == space::Method) Py_RETURN_NONE;
    return PyUnicode_FromFormat("%s%s", package, space_name(f->space));
}
static PyObject* get_qualname(PyObject* self, void*) {
    auto* f = reinterpret_cast<FunctionObject*>(self);
    return f->space == space::Method ? PyUnicode_FromFormat("TensorBase.%U", f->name) : Py_NewRef(f->name);
}
static PyObject* get_objclass(PyObject* self, void*) {
    if (reinterpret_cast<FunctionObject*>(self)->space != space::Method) {
        PyErr_SetString(PyExc_AttributeError, "__objclass__");
        return nullptr;
    }
    return Py_NewRef(reinterpret_cast<PyObject*>(tensor_type));
}
/// `__module__` is no property: the classes of functions would have that for their own.
static PyObject* get_attribute(PyObject* self, PyObject* name) {
    return PyUnicode_CompareWithASCIIString(name, "__module__") == 0 ? get_module(self) : PyObject_GenericGetAttr(self, name);
}
static PyObject* get_text_signature(PyObject*, void*) { Py_RETURN_NONE; }

static PyObject* reduce(PyObject* self, PyObject*) {
    auto* f = reinterpret_cast<FunctionObject*>(self);
    // A global of the module that it says it is in. Without the alias that would be found as PyTorch's.
    if (f->space == space::Torch || (f->space == space::Nn && !strcmp(package, "torch"))) return Py_NewRef(f->name);
    if (f->space == space::Method) {
        PyObject* builtins = PyImport_ImportModule("builtins");
        PyObject* getattr = builtins ? PyObject_GetAttrString(builtins, "getattr") : nullptr;
        Py_XDECREF(builtins);
        return getattr ? Py_BuildValue("N(OO)", getattr, tensor_type, f->name) : nullptr;
    }
    PyObject* find = import("kindling._C", "_operator");
    return find ? Py_BuildValue("N(sO)", find, space_name(f->space), f->name) : nullptr;
}

static PyMethodDef function_methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
static PyGetSetDef function_getset[] = {
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {"__qualname__", get_qualname, nullptr, nullptr, nullptr},
    {"__objclass__", get_objclass, nullptr, nullptr, nullptr},
    {"__text_signature__", get_text_signature, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weak_references), READONLY, nullptr},
    {"__name__", T_OBJECT, offsetof(FunctionObject, name), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

static FunctionObject* make(PyTypeObject* type, PyObject* name, uint32_t space) {
    auto* f = PyObject_New(FunctionObject, type);
    if (!f) return nullptr;
    f->vectorcall = space == space::Method ? call_method : call_function;
    f->name = Py_NewRef(name);
    f->text = PyUnicode_AsUTF8(name);
    f->doc = nullptr;
    f->space = space;
    f->overloads = nullptr;
    f->set = nullptr;
    f->native = nullptr;
    f->weak_references = nullptr;
    return f;
}

PyObject* make_operator_function(PyObject* name, uint32_t space) {
    return reinterpret_cast<PyObject*>(make(space == space::Method ? method_type : function_type, name, space));
}

PyObject* make_overload_function(const Operator* op) {
    struct Kept {
        const Operator* op;
        OverloadSet set;
    };
    auto* kept = static_cast<Kept*>(PyMem_Malloc(sizeof(Kept)));
    kept->op = op;
    kept->set = OverloadSet{&kept->op, 1, space::Ops};
    PyObject* name = PyUnicode_InternFromString(op->name());
    auto* f = name ? make(function_type, name, space::Ops) : nullptr;
    Py_XDECREF(name);
    if (f) f->set = &kept->set;
    return reinterpret_cast<PyObject*>(f);
}

PyObject* make_native_method(const NativeMethodDef& def) {
    PyObject* name = PyUnicode_InternFromString(def.name);
    auto* f = name ? make(method_type, name, space::Method) : nullptr;
    Py_XDECREF(name);
    if (!f) return nullptr;
    f->vectorcall = call_native;
    f->native = def.function;
    f->doc = def.doc;
    return reinterpret_cast<PyObject*>(f);
}

bool read_arguments(const char* function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                    std::initializer_list<const char*> names, PyObject** slots, int required, int positional) {
    int count = static_cast<int>(names.size());
    for (int i = 0; i < count; i++) slots[i] = nullptr;
    if (nargs > (positional < count ? positional : count)) {
        PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd %s given", function,
                     positional < count ? positional : count, count == 1 ? "" : "s", nargs, nargs == 1 ? "was" : "were");
        return false;
    }
    for (Py_ssize_t i = 0; i < nargs; i++) slots[i] = args[i];
    Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject* name = PyTuple_GET_ITEM(kwnames, k);
        int found = -1;
        for (int i = 0; i < count; i++)
            if (PyUnicode_CompareWithASCIIString(name, names.begin()[i]) == 0) found = i;
        if (found < 0) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, name);
            return false;
        }
        if (slots[found]) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", function, name);
            return false;
        }
        slots[found] = args[nargs + k];
    }
    for (int i = 0; i < required; i++)
        if (!slots[i]) {
            PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional arguments: \"%s\"", function, names.begin()[i]);
            return false;
        }
    return true;
}

static PyObject* own_module; // _C

/// _C._operator(space, name): the function of an operator; None if there is none. Those of torch's own space are made at each
/// call (the caller keeps them), those of others kept where torch has them (`_C._fft.fft_fft`).
static PyObject* find_operator_function(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
    if (nargs != 2 || !PyUnicode_Check(args[0]) || !PyUnicode_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "_operator(space, name)");
        return nullptr;
    }
    const char* where = PyUnicode_AsUTF8(args[0]);
    Py_ssize_t length;
    const char* name = PyUnicode_AsUTF8AndSize(args[1], &length);
    if (!where || !name) return nullptr;
    uint32_t wanted = space::Torch;
    for (uint32_t s : {space::Nn, space::Linalg, space::Fft, space::Special, space::Sparse})
        if (strstr(where, space_name(s))) wanted = s;
    return guarded([&]() -> PyObject* {
        OverloadSet set;
        bool found = find_operators(name, static_cast<size_t>(length), set) && (set.namespaces & wanted);
        if (!found) Py_RETURN_NONE;
        if (wanted != space::Torch) {
            Object home(checked(PyObject_GetAttrString(own_module, strrchr(space_name(wanted), '.') + 1)));
            return PyObject_GetAttr(home.get(), args[1]);
        }
        PyObject* interned = Py_NewRef(args[1]);
        PyUnicode_InternInPlace(&interned);
        PyObject* function = make_operator_function(interned, wanted);
        Py_DECREF(interned);
        return function;
    });
}

/// _C._operator_any(name): the function of an operator wherever Python finds it; None if there is none. _C._packet_function
/// is the same for torch.ops.
template <uint32_t where> static PyObject* find_any(PyObject*, PyObject* name) {
    Py_ssize_t length;
    const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &length) : nullptr;
    if (!text) return nullptr;
    return guarded([&]() -> PyObject* {
        OverloadSet set;
        if (!find_operators(text, static_cast<size_t>(length), set)) Py_RETURN_NONE;
        return make_operator_function(name, where);
    });
}

static PyObject* get_capability(PyObject*, PyObject*) { return PyUnicode_FromString(cpu_capability()); }
static PyObject* get_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }
static PyObject* set_threads(PyObject*, PyObject* count) {
    int64_t value;
    Fit fit = int_of_object(count, value);
    if (fit == Fit::No) PyErr_Format(PyExc_TypeError, "set_num_threads expects an int, but got %s", Py_TYPE(count)->tp_name);
    if (fit != Fit::Yes) return nullptr;
    return guarded([&]() -> PyObject* {
        KINDLING_CHECK(Runtime, value > 0 && value <= INT_MAX, "Expected positive number of threads");
        set_num_threads(static_cast<int>(value));
        Py_RETURN_NONE;
    });
}

/// _C._memory_stats(): the allocator's numbers by name, in the order of AllocatorStats.
static PyObject* memory_stats(PyObject*, PyObject*) {
    AllocatorStats s = allocator_stats();
    return Py_BuildValue("{sKsKsKsKsKsKsK}", "allocated_bytes.all.current", s.allocated_bytes, "allocated_bytes.all.peak", s.peak_bytes,
                         "reserved_bytes.all.current", s.reserved_bytes, "cached_bytes.all.current", s.cached_bytes, "cache_limit",
                         s.cache_limit, "memory_limit", s.memory_limit, "num_system_allocations", s.system_allocations);
}
static PyObject* free_memory(PyObject*, PyObject*) {
    empty_cache();
    Py_RETURN_NONE;
}
static PyObject* reset_memory_peak(PyObject*, PyObject*) {
    reset_peak_stats();
    Py_RETURN_NONE;
}
template <void (*set)(size_t) noexcept> static PyObject* limit_memory(PyObject*, PyObject* bytes) {
    size_t value = PyLong_AsSize_t(bytes);
    if (value == static_cast<size_t>(-1) && PyErr_Occurred()) return nullptr;
    set(value);
    Py_RETURN_NONE;
}

/// _C._nn.gelu and so on: `__getattr__` of a namespace module, which keeps what it made.
static PyObject* namespace_getattr(PyObject* self, PyObject* name) {
    PyObject* module = PyTuple_GET_ITEM(self, 0);
    auto wanted = static_cast<uint32_t>(PyLong_AsLong(PyTuple_GET_ITEM(self, 1)));
    Py_ssize_t length;
    const char* text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text) return nullptr;
    if (text[0] == '_' && wanted == space::Nn && !strcmp(text, "_parse_to")) return import("kindling._native_names.private", "_parse_to");
    return guarded([&]() -> PyObject* {
        OverloadSet set;
        if (!find_operators(text, static_cast<size_t>(length), set) || !(set.namespaces & wanted)) {
            PyErr_Format(PyExc_AttributeError, "module '%s%s' has no attribute '%U'", package, space_name(wanted), name);
            return nullptr;
        }
        PyObject* interned = Py_NewRef(name);
        PyUnicode_InternInPlace(&interned);
        PyObject* function = make_operator_function(interned, wanted);
        Py_DECREF(interned);
        if (function) PyObject_SetAttr(module, name, function);
        return function;
    });
}

static bool add_namespace(PyObject* parent, uint32_t wanted, const char* name, const char* full) {
    static PyMethodDef getattr = {"__getattr__", namespace_getattr, METH_O, nullptr};
    PyObject* module = PyModule_New(full);
    PyObject* self = module ? Py_BuildValue("(Oi)", module, static_cast<int>(wanted)) : nullptr;
    PyObject* function = self ? PyCFunction_New(&getattr, self) : nullptr;
    Py_XDECREF(self);
    bool done = function && PyModule_AddObjectRef(module, "__getattr__", function) == 0 && PyModule_AddObjectRef(parent, name, module) == 0;
    Py_XDECREF(function);
    Py_XDECREF(module);
    return done;
}

static PyObject* operator_names(PyObject*, PyObject* where) {
    unsigned long wanted = PyLong_AsUnsignedLong(where);
    if (wanted == static_cast<unsigned long>(-1) && PyErr_Occurred()) return nullptr;
    struct Context {
        PyObject* list;
        uint32_t wanted;
    } context = {PyList_New(0), static_cast<uint32_t>(wanted)};
    return guarded([&] {
        for_each_operator_name(
            [](void* data, const char* name, uint32_t spaces) {
                auto* c = static_cast<Context*>(data);
                if (!(spaces & c->wanted)) return;
                PyObject* text = PyUnicode_InternFromString(name);
                if (text) PyList_Append(c->list, text);
                Py_XDECREF(text);
            },
            &context);
        return context.list;
    });
}

/// _C._return_type("max"): torch.return_types.max.
static PyObject* return_type(PyObject*, PyObject* name) {
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "_return_type(name)");
        return nullptr;
    }
    std::string text = PyUnicode_AsUTF8(name);
    return guarded([&]() -> PyObject* {
        bool out = text.size() > 4 && text.substr(text.size() - 4) == "_out";
        std::string base = out ? text.substr(0, text.size() - 4) : text;
        OverloadSet set;
        if (find_operators(base.c_str(), base.size(), set))
            for (int i = 0; i < set.count; i++)
                if ((set.operators[i]->form == Form::Out) == out)
                    if (PyObject* type = named_tuple_type(*set.operators[i])) return Py_NewRef(type);
        Py_RETURN_NONE;
    });
}

/// Numbers of float32 or float64 in ordinary memory of the CPU.
static bool is_plain(PyObject* object) {
    if (!is_tensor(object)) return false;
    const TensorImpl* impl = impl_of(object);
    uint32_t watched = key::slow | key::Function;
    if (!thread_state.grad_mode) watched &= ~static_cast<uint32_t>(key::Autograd);
    return !(key_of(impl) & watched) && (impl->dtype == DType::Float32 || impl->dtype == DType::Float64);
}

/// _C._are_plain(first, *others): whether one operator may take the place of several that would run on the tensors of these
/// lists one after the other: they are plain, partners of like dtype and size, and no mode or profiler looks at the calls.
/// Lists may be empty.
static PyObject* are_plain(PyObject*, PyObject* const* lists, Py_ssize_t count) {
    if (thread_state.include & ~thread_state.exclude & key::watching || thread_state.function_modes || kernels_were_added())
        Py_RETURN_FALSE;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyList_CheckExact(lists[i])) Py_RETURN_FALSE;
        const Py_ssize_t size = PyList_GET_SIZE(lists[i]);
        if (i > 0 && size && size != PyList_GET_SIZE(lists[0])) Py_RETURN_FALSE;
        for (Py_ssize_t j = 0; j < size; j++) {
            PyObject* object = PyList_GET_ITEM(lists[i], j);
            if (!is_plain(object)) Py_RETURN_FALSE;
            const TensorImpl *mine = impl_of(object), *first = impl_of(PyList_GET_ITEM(lists[0], j));
            if (mine->dtype != first->dtype || mine->sizes() != first->sizes()) Py_RETURN_FALSE;
        }
    }
    Py_RETURN_TRUE;
}

bool init_functions(PyObject* module) {
    own_module = module;
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
        {Py_tp_repr, reinterpret_cast<void*>(function_repr)},
        {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
        {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
        {Py_tp_methods, function_methods},
        {Py_tp_members, function_members},
        {Py_tp_getset, function_getset},
        {0, nullptr},
    };
    static PyType_Spec spec = {"torch.builtin_function", sizeof(FunctionObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};
    static PyType_Slot method_slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
        {Py_tp_repr, reinterpret_cast<void*>(function_repr)},
        {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
        {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
        {Py_tp_descr_get, reinterpret_cast<void*>(get_method)},
        {Py_tp_methods, function_methods},
        {Py_tp_members, function_members},
        {Py_tp_getset, function_getset},
        {0, nullptr},
    };
    static PyType_Spec method_spec = {"torch.method_descriptor", sizeof(FunctionObject), 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, method_slots};
    function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    method_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&method_spec));
    if (!function_type || !method_type) return false;
    static PyMethodDef functions[] = {
        {"_operator", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(find_operator_function)), METH_FASTCALL, nullptr},
        {"_operator_names", operator_names, METH_O, nullptr},
        {"_operator_any", find_any<space::Hidden>, METH_O, nullptr},
        {"_packet_function", find_any<space::Ops>, METH_O, nullptr},
        {"_get_cpu_capability", get_capability, METH_NOARGS, nullptr},
        {"_get_num_threads", get_threads, METH_NOARGS, nullptr},
        {"_set_num_threads", set_threads, METH_O, nullptr},
        {"_memory_stats", memory_stats, METH_NOARGS, nullptr},
        {"_empty_cache", free_memory, METH_NOARGS, nullptr},
        {"_reset_peak_memory_stats", reset_memory_peak, METH_NOARGS, nullptr},
        {"_set_cache_limit", limit_memory<set_cache_limit>, METH_O, nullptr},
        {"_set_memory_limit", limit_memory<set_memory_limit>, METH_O, nullptr},
        {"_return_type", return_type, METH_O, nullptr},
        {"_are_plain", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(are_plain)), METH_FASTCALL, nullptr},
        {nullptr, nullptr, 0, nullptr},
    };
    return PyModule_AddFunctions(module, functions) == 0 && add_namespace(module, space::Nn, "_nn", "kindling._C._nn") &&
           add_namespace(module, space::Linalg, "_linalg", "kindling._C._linalg") &&
           add_namespace(module, space::Fft, "_fft", "kindling._C._fft") &&
           add_namespace(module, space::Special, "_special", "kindling._C._special") &&
           add_namespace(module, space::Sparse, "_sparse", "kindling._C._sparse");
}

} // namespace kindling::python
