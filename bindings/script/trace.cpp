// bindings/script/trace.cpp: torch.jit.trace: what the tracer asks of Python, and what Python programs see of a trace.
// Compiled for size.
#include "script/trace/trace.h"
#include "script/passes/passes.h"

#include "bindings/script_class.h"
#include "bindings/tensor/tensor.h"
#include "bindings/types.h"

#include <frameobject.h>

#include <mutex>
#include <set>

namespace kindling::python {

using ks::Item;
using ks::TypeKind;
using ks::TypeRef;

// ---- what the tracer asks

/// A variable of the function that runs, but for `self`.
static std::string name_of(const Tensor& tensor) {
    Lock lock; // the tape's engine may run without it
    PyFrameObject* frame = PyEval_GetFrame();
    auto* object = static_cast<PyObject*>(tensor.impl()->python);
    if (!frame || !object) return "";
    Py_INCREF(frame);
    Object variables(PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_locals"));
    Py_DECREF(frame);
    if (!variables || !PyDict_Check(variables.get())) return PyErr_Clear(), "";
    PyObject *name, *value;
    for (Py_ssize_t at = 0; PyDict_Next(variables.get(), &at, &name, &value);) {
        if (value != object || !PyUnicode_Check(name)) continue;
        const char* text = PyUnicode_AsUTF8(name);
        return text && strcmp(text, "self") != 0 ? text : "";
    }
    return "";
}

/// The line that runs, and the stack as its text. Kept for good: graphs and what is made of them refer to it.
static ks::Range place() {
    Lock python;
    std::string text, file;
    int line = 0;
    PyFrameObject* frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame) {
        PyCodeObject* code = PyFrame_GetCode(frame);
        const char *name = PyUnicode_AsUTF8(code->co_filename), *function = PyUnicode_AsUTF8(code->co_name);
        const int number = PyFrame_GetLineNumber(frame);
        if (text.empty()) file = name ? name : "?", line = number;
        text += std::string(name ? name : "?") + "(" + std::to_string(number) + "): " + (function ? function : "?") + "\n";
        Py_DECREF(code);
        PyFrameObject* back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    PyErr_Clear();
    if (text.empty()) return {};
    const auto before = [](const ks::Source& a, const ks::Source& b) { return a.text < b.text; };
    static auto* known = new std::set<ks::Source, decltype(before)>(before);
    static std::mutex* lock = new std::mutex;
    std::lock_guard guard(*lock);
    ks::Source source;
    source.text = std::move(text);
    source.file = std::move(file);
    source.first_line = static_cast<size_t>(line);
    const ks::Source& kept = *known->insert(std::move(source)).first;
    return {&kept, 0, static_cast<uint32_t>(kept.text.size())};
}

static void warn_tracer(const std::string& text) {
    Lock lock;
    Object category(checked(import("kindling.jit", "TracerWarning")));
    if (PyErr_WarnEx(category.get(), text.c_str(), 1) < 0) throw_python();
}

void warn_leaves(const char* what) { ks::warn_traced(what, ks::leaves::data_flow); }
void warn_constructor(const char* what) { ks::warn_traced(what, ks::leaves::constructor); }
void warn_traced_as(const char* text) { ks::warn_traced(text, ""); }

void note_traced_number(PyObject* object, const void* slot) {
    ks::Tracer* trace = ks::tracer();
    if (!trace) return;
    if (!object) trace->forget_numbers();
    else if (is_tensor(object)) trace->number_from(tensor_of(object), slot, 0);
}
void note_traced_place(PyObject* object, int place) {
    ks::Tracer* trace = ks::tracer();
    if (trace && is_tensor(object)) trace->number_from(tensor_of(object), nullptr, place);
}

PyObject* traced_size(TensorImpl* impl, int64_t dim) {
    return guarded([&] {
        ks::Tracer* trace = ks::tracer();
        const Tensor tensor = Tensor::share(impl);
        return trace ? wrap(trace->size(tensor, dim)) : symint_object(size_of(tensor, dim));
    });
}
PyObject* traced_numel(TensorImpl* impl) {
    return guarded([&] {
        ks::Tracer* trace = ks::tracer();
        return trace ? wrap(trace->numel(Tensor::share(impl))) : symint_object(numel_of(Tensor::share(impl)));
    });
}
PyObject* traced_shape(TensorImpl* impl) {
    if (!ks::tracer() && !thread_state.sizes) return size_object(const_cast<const TensorImpl*>(impl)->sizes());
    Object tuple(PyTuple_New(impl->ndim));
    for (int i = 0; tuple && i < impl->ndim; i++) {
        PyObject* size = traced_size(impl, i);
        if (!size) return nullptr;
        PyTuple_SET_ITEM(tuple.get(), i, size);
    }
    return tuple ? size_of_tuple(tuple.take()) : nullptr;
}

PyObject* apply_traced(PyObject* cls, PyObject* args, PyObject* kwargs) {
    ks::Tracer* trace = ks::tracer();
    Object make(checked(import("kindling.jit._trace", "PythonOp"))),
        made(checked(PyObject_CallFunctionObjArgs(make.get(), cls, args, kwargs ? kwargs : Py_None, nullptr)));
    Object name(checked(PyObject_GetAttrString(cls, "__name__"))), module(checked(PyObject_GetAttrString(cls, "__module__"))),
        how(checked(PyObject_GetAttrString(made.get(), "how")));
    auto* function = new Item::Foreign;
    function->object = Py_NewRef(made.get());
    function->free = [](void* held) {
        Lock lock;
        Py_DECREF(static_cast<PyObject*>(held));
    };
    std::vector<Tensor> inputs;
    Object given(checked(PyList_New(0)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        if (PyObject* each = PyTuple_GET_ITEM(args, i); is_tensor(each)) {
            inputs.push_back(tensor_of(each));
            if (PyList_Append(given.get(), each) < 0) throw_python();
        }
    ks::Node* node = trace->foreign(PyUnicode_AsUTF8(name.get()), PyUnicode_AsUTF8(module.get()), PyUnicode_AsUTF8(how.get()),
                                    Item::adopt(Item::Tag::Foreign, function), inputs);
    Object tensors(checked(PyList_AsTuple(given.get()))), result;
    {
        Exclude quiet(key::Trace);
        result = Object(checked(PyObject_CallObject(made.get(), tensors.get())));
    }
    const TypeRef type = inferred_type(result.get());
    Item item;
    if (!type || !to_item(result.get(), type, item))
        fail(ErrorKind::Runtime, "%s gives what a trace cannot hold", PyUnicode_AsUTF8(name.get()));
    trace->foreign_gave(node, item);
    return result.take();
}

namespace {

// ---- inputs and outputs

/// The type of an input or an output; null with the reason, in PyTorch's words.
TypeRef traced_type(PyObject* object, std::string& why) {
    if (PyTuple_Check(object)) {
        std::vector<TypeRef> parts;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
            parts.push_back(traced_type(PyTuple_GET_ITEM(object, i), why));
            if (!parts.back()) return nullptr;
        }
        return ks::tuple_of(std::move(parts));
    }
    if (PyDict_Check(object)) {
        if (!PyDict_GET_SIZE(object)) return why = "Dictionary inputs must have entries", nullptr;
        TypeRef both[2] = {};
        PyObject* entry[2];
        for (Py_ssize_t at = 0; PyDict_Next(object, &at, &entry[0], &entry[1]);) {
            TypeRef each[2];
            for (int i = 0; i < 2; i++)
                if (!(each[i] = traced_type(entry[i], why))) return nullptr;
            for (int i = 0; i < 2; i++) {
                const TypeRef joined = both[i] ? unify(both[i], each[i]) : each[i];
                if (!joined)
                    return why = "Dictionary inputs to traced functions must have consistent type. Found " + repr(both[i]) + " and " +
                                 repr(each[i]),
                           nullptr;
                both[i] = joined;
            }
        }
        return ks::dict_of(both[0], both[1]);
    }
    if (PyList_Check(object)) {
        if (!PyList_GET_SIZE(object)) return why = "List trace inputs must have elements", nullptr;
        TypeRef all = nullptr;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); i++) {
            const TypeRef each = traced_type(PyList_GET_ITEM(object, i), why);
            if (!each) return why = "Could not infer type of list element: " + why, nullptr;
            const TypeRef joined = all ? unify(all, each) : each;
            if (!joined)
                return why = "List inputs to traced functions must have consistent element type. Found " + repr(all) + " and " + repr(each),
                       nullptr;
            all = joined;
        }
        return ks::list_of(all);
    }
    const TypeRef type = inferred_type(object);
    return type ? type : ks::type_of(TypeKind::Any);
}

Item traced_item(PyObject* object) {
    std::string why;
    const TypeRef type = traced_type(object, why);
    if (!type) {
        Object text(checked(PyObject_Str(object)));
        fail(ErrorKind::Runtime, "Tracer cannot infer type of %s\n:%s", PyUnicode_AsUTF8(text.get()), why.c_str());
    }
    Item item;
    if (!to_item(object, type, item)) fail(ErrorKind::Runtime, "Tracer cannot take a value of type %s", repr(type).c_str());
    return item;
}

bool is_traceable(TypeRef type) {
    switch (type->kind) {
    case TypeKind::Tensor: return true;
    case TypeKind::List: return is_traceable(type->element());
    case TypeKind::Dict: return is_traceable(type->parts[1]);
    case TypeKind::Tuple: return std::all_of(type->parts.begin(), type->parts.end(), is_traceable);
    default: return false;
    }
}

/// Runs `function` with inputs that the trace knows, and notes what it gives.
void run_traced(ks::Tracer& trace, PyObject* function, PyObject* inputs, PyObject* names, const Item* self) {
    const bool by_name = PyDict_Check(inputs);
    Object values = by_name ? Object(checked(PyDict_Values(inputs))) : Object::share(inputs);
    Object tuple(checked(PySequence_Tuple(values.get())));
    const Item items = traced_item(tuple.get());
    if (!is_traceable(items.type()))
        fail(ErrorKind::Runtime,
             "Type '%s' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced",
             repr(items.type()).c_str());
    const Py_ssize_t count = PyTuple_GET_SIZE(tuple.get()), named = PySequence_Size(names);
    if (named < 0) throw_python();
    ks::Tracing now(trace);
    if (self) trace.add_self(*self);
    Object arguments(checked(by_name ? PyDict_New() : PyTuple_New(count)));
    Object keys(by_name ? checked(PyDict_Keys(inputs)) : nullptr);
    for (Py_ssize_t i = 0; i < count; i++) {
        std::string name;
        if (by_name || named >= count) {
            Object text(by_name ? Py_NewRef(PyList_GET_ITEM(keys.get(), i)) : PySequence_GetItem(names, i));
            const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
            if (!utf8) throw_python();
            name = utf8;
        }
        Object given(checked(from_item(trace.add_input(items.items()[static_cast<size_t>(i)], name))));
        if (by_name) {
            if (PyDict_SetItem(arguments.get(), PyList_GET_ITEM(keys.get(), i), given.get()) < 0) throw_python();
        } else PyTuple_SET_ITEM(arguments.get(), i, given.take());
    }
    Object none(by_name ? checked(PyTuple_New(0)) : nullptr);
    Object result(checked(PyObject_Call(function, by_name ? none.get() : arguments.get(), by_name ? arguments.get() : nullptr)));
    if (result.get() == Py_None)
        fail(ErrorKind::Runtime,
             "The traced function didn't return any values! Side-effects are not captured in traces, so it would be a no-op.");
    trace.add_output(traced_item(result.get()), 1);
}

/// _C._trace_function(name, function, inputs, strict, outplace, names): a ScriptFunction. `inputs` are a tuple, or a dict by name.
PyObject* trace_function(PyObject*, PyObject* args) {
    const char* name;
    PyObject *function, *inputs, *names;
    int strict, outplace;
    if (!PyArg_ParseTuple(args, "sOOppO", &name, &function, &inputs, &strict, &outplace, &names)) return nullptr;
    return guarded([&] {
        ks::Tracer trace(strict, outplace, {name_of, place, warn_tracer});
        run_traced(trace, function, inputs, names, nullptr);
        finish_trace(trace, false);
        auto unit = std::make_shared<Unit>();
        auto made = std::make_unique<ks::Function>();
        const char* last = strrchr(name, '.');
        made->name = last ? last + 1 : name;
        made->graph = trace.graph;
        made->owner = unit;
        made->signature = signature_of_graph(*trace.graph, made->name);
        ks::Function* kept = made.get();
        unit->functions[made->name] = std::move(made);
        return script_function(std::move(unit), kept);
    });
}

/// _C._trace_graph(function, inputs, strict, outplace): (graph, what the function gave), of a function of tensors.
PyObject* trace_graph(PyObject*, PyObject* args) {
    PyObject *function, *inputs;
    int strict, outplace;
    if (!PyArg_ParseTuple(args, "OOpp", &function, &inputs, &strict, &outplace)) return nullptr;
    return guarded([&] {
        ks::Tracer trace(strict, outplace, {name_of, place, warn_tracer});
        Object none(checked(PyTuple_New(0)));
        run_traced(trace, function, inputs, none.get(), nullptr);
        finish_trace(trace, false);
        return graph_object(trace.graph);
    });
}

/// _C._trace_method(object, name, function, inputs, strict, outplace, names)
PyObject* trace_method(PyObject*, PyObject* args) {
    const char* name;
    PyObject *object, *function, *inputs, *names;
    int strict, outplace;
    if (!PyArg_ParseTuple(args, "OsOOppO", &object, &name, &function, &inputs, &strict, &outplace, &names)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Item* known = item_of_object(object);
        if (!known) fail(ErrorKind::Type, "an object of scripts was expected, not %s", Py_TYPE(object)->tp_name);
        const Item self = *known;
        ks::Tracer trace(strict, outplace, {name_of, place, warn_tracer});
        run_traced(trace, function, inputs, names, &self);
        finish_trace(trace, true);
        add_method(*self.type()->definition, name, trace.graph);
        Py_RETURN_NONE;
    });
}
PyObject* canonical_graph(PyObject*, PyObject* graph) {
    return guarded([&] { return graph_object(canonical(graph_in(graph))); });
}

/// _C._inlined_graph(graph): a copy without calls of other graphs.
PyObject* inlined_graph(PyObject*, PyObject* graph) {
    return guarded([&] { return graph_object(inlined(graph_in(graph))); });
}

PyObject* is_tracing(PyObject*, PyObject*) { return PyBool_FromLong(ks::tracer() != nullptr); }
PyObject* push_scope(PyObject*, PyObject* name) {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) return nullptr;
    if (ks::Tracer* trace = ks::tracer()) trace->push_scope(text);
    Py_RETURN_NONE;
}
PyObject* pop_scope(PyObject*, PyObject*) {
    if (ks::Tracer* trace = ks::tracer()) trace->pop_scope();
    Py_RETURN_NONE;
}

} // namespace

bool init_trace(PyObject* module) {
    static PyMethodDef functions[] = {{"_trace_function", trace_function, METH_VARARGS, nullptr},
                                      {"_trace_graph", trace_graph, METH_VARARGS, nullptr},
                                      {"_trace_method", trace_method, METH_VARARGS, nullptr},
                                      {"_canonical_graph", canonical_graph, METH_O, nullptr},
                                      {"_inlined_graph", inlined_graph, METH_O, nullptr},
                                      {"_is_tracing", is_tracing, METH_NOARGS, nullptr},
                                      {"_trace_push_scope", push_scope, METH_O, nullptr},
                                      {"_trace_pop_scope", pop_scope, METH_NOARGS, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
