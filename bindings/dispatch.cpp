// bindings/dispatch.cpp: __torch_dispatch__: Python modes and subclasses see boxed calls, below autograd.
// Compiled for size.
#include "bindings/tensor/tensor.h"
#include "bindings/types.h"
#include "core/autocast.h"
#include "graph/pending.h"

namespace kindling::python {

static constinit thread_local PyObject* mode_stack = nullptr; // a list of TorchDispatchModes, innermost last

static void set_modes(int count) {
    thread_state.dispatch_modes = count;
    if (count) thread_state.include |= key::Mode;
    else thread_state.include &= ~static_cast<uint32_t>(key::Mode);
}

/// torch.ops.aten.<name>.<overload>, one object per operator.
static PyObject* overload_object(const Operator& op) {
    if (!op.python) {
        Object make(checked(import("kindling._ops", "_overload")));
        op.python = checked(PyObject_CallFunction(make.get(), "ss", op.name(), op.overload()));
    }
    return static_cast<PyObject*>(op.python);
}

bool is_default(const Argument& argument, const Value& value) {
    if (!argument.has_default || value.symbolic) return false;
    const Value& d = argument.default_value;
    if (d.tag != value.tag) return false;
    switch (d.tag) {
    case Value::Tag::None: return true;
    case Value::Tag::Bool:
    case Value::Tag::Int:
    case Value::Tag::UInt: return d.integer == value.integer;
    case Value::Tag::Float: return d.real == value.real;
    case Value::Tag::Text: return Text(d.text, d.size) == Text(value.text, value.size);
    case Value::Tag::IntList: return IntList(d.integers, d.size) == IntList(value.integers, value.size);
    case Value::Tag::DType: return d.dtype == value.dtype;
    case Value::Tag::MemoryFormat: return d.format == value.format;
    case Value::Tag::Layout: return d.layout == value.layout;
    default: return false;
    }
}

static void add_class(PyObject** list, int& count, TensorImpl* impl) {
    if (!impl || !(impl->key & key::Dispatch) || !impl->python || count == 31) return;
    auto* object = static_cast<PyObject*>(impl->python);
    for (int i = 0; i < count; i++)
        if (Py_TYPE(list[i]) == Py_TYPE(object)) return;
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

static void take_result(const Argument& argument, PyObject* object, Value& result) {
    if (argument.type == Type::Tensor && argument.list) {
        Object items(checked(PySequence_Fast(object, "a sequence of Tensors was expected from __torch_dispatch__")));
        std::vector<Tensor> tensors;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); i++) {
            PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
            if (!is_tensor(item) && item != Py_None)
                fail(ErrorKind::Type, "__torch_dispatch__ must return Tensors, not %s", Py_TYPE(item)->tp_name);
            tensors.push_back(item == Py_None ? Tensor() : tensor_of(item));
        }
        result = Value::own(std::move(tensors));
        return;
    }
    if (argument.type == Type::Tensor) {
        if (object == Py_None) result = Value();
        else if (is_tensor(object)) result = Value::own(tensor_of(object));
        else
            fail(ErrorKind::Type, "Unable to cast %s to Tensor: an implementation in Python must return what the operator's schema says",
                 Py_TYPE(object)->tp_name);
        return;
    }
    Arena arena;
    Argument loose = argument;
    loose.optional = true;
    Fit fit = convert(loose, object, result, arena, false);
    if (fit == Fit::Raised) throw_python();
    if (fit == Fit::No)
        fail(ErrorKind::Type, "__torch_dispatch__ returned a %s where the operator's schema says otherwise", Py_TYPE(object)->tp_name);
}

/// What a Python implementation of an operator gave back, as results.
void take_python_results(const Operator& op, PyObject* result, Value* arguments, Value* results) {
    const Schema& schema = *op.schema;
    size_t outputs = schema.results.size(), count = schema.arguments.size();
    if (op.form != Form::Functional) { // in-place and out= calls return what they wrote to
        size_t r = 0;
        for (size_t i = 0; i < count && r < outputs; i++)
            if (schema.arguments[i].mutated && arguments[i].is_tensor()) results[r++] = Value::own(Tensor::share(arguments[i].tensor));
        return;
    }
    if (outputs == 0) return;
    if (outputs == 1) return take_result(schema.results[0], result, results[0]);
    Object items(checked(PySequence_Fast(result, "a tuple was expected from the implementation of this operator")));
    if (PySequence_Fast_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(outputs))
        fail(ErrorKind::Runtime, "the implementation returned %zd values for an operator that has %zu",
             PySequence_Fast_GET_SIZE(items.get()), outputs);
    for (size_t i = 0; i < outputs; i++)
        take_result(schema.results[i], PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)), results[i]);
}

static void python_dispatch(const Operator& op, Value* arguments, Value* results) {
    Lock lock;
    MadeOn cpu(DeviceType::CPU);
    const Schema& schema = *op.schema;
    size_t count = schema.arguments.size(), positional = schema.positional;
    PyObject* overloaded[32];
    int classes = 0;
    each_tensor(op, arguments, [&](TensorImpl* tensor) { add_class(overloaded, classes, tensor); });
    // Arguments that have their default value are left out, as torch does.
    while (positional > 0 && is_default(schema.arguments[positional - 1], arguments[positional - 1])) positional--;
    Object args(checked(PyTuple_New(static_cast<Py_ssize_t>(positional)))), kwargs(checked(PyDict_New()));
    for (size_t i = 0; i < positional; i++)
        PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), checked(to_python(arguments[i], false)));
    for (size_t i = schema.positional; i < count; i++) {
        if (is_default(schema.arguments[i], arguments[i])) continue;
        Object value(checked(to_python(arguments[i], false)));
        PyDict_SetItemString(kwargs.get(), schema.arguments[i].name, value.get());
    }
    Object types(checked(PyTuple_New(classes)));
    for (int i = 0; i < classes; i++) PyTuple_SET_ITEM(types.get(), i, Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(overloaded[i]))));
    PyObject* function = overload_object(op);
    Exclude guard(key::Autograd | key::Autocast);
    SizesUnrecorded below;
    Object result;
    bool asked = false;
    if (thread_state.dispatch_modes && mode_stack) {
        Py_ssize_t depth = PyList_GET_SIZE(mode_stack);
        Object mode = Object::share(PyList_GET_ITEM(mode_stack, depth - 1));
        PyList_SetSlice(mode_stack, depth - 1, depth, nullptr);
        set_modes(thread_state.dispatch_modes - 1);
        result = Object(PyObject_CallMethod(mode.get(), "__torch_dispatch__", "OOOO", function, types.get(), args.get(), kwargs.get()));
        {
            PyObject *type, *value, *trace;
            PyErr_Fetch(&type, &value, &trace);
            PyList_Append(mode_stack, mode.get());
            PyErr_Restore(type, value, trace);
        }
        set_modes(thread_state.dispatch_modes + 1);
        if (!result) throw_python();
        asked = true;
    }
    for (int i = 0; i < classes && (!asked || result.get() == Py_NotImplemented); i++) {
        result = Object(PyObject_CallMethod(reinterpret_cast<PyObject*>(Py_TYPE(overloaded[i])), "__torch_dispatch__", "OOOO", function,
                                            types.get(), args.get(), kwargs.get()));
        if (!result) throw_python();
        asked = true;
    }
    if (!asked || result.get() == Py_NotImplemented)
        fail(ErrorKind::Type,
             "Multiple dispatch failed for 'torch.ops.aten.%s.%s'; all __torch_dispatch__ handlers returned NotImplemented", op.name(),
             *op.overload() ? op.overload() : "default");
    take_python_results(op, result.get(), arguments, results);
}

static PyObject* push(PyObject*, PyObject* mode) {
    if (!mode_stack && !(mode_stack = PyList_New(0))) return nullptr;
    if (PyList_Append(mode_stack, mode) < 0) return nullptr;
    set_modes(thread_state.dispatch_modes + 1);
    Py_RETURN_NONE;
}
static PyObject* pop(PyObject*, PyObject*) {
    Py_ssize_t size = mode_stack ? PyList_GET_SIZE(mode_stack) : 0;
    if (size == 0) {
        PyErr_SetString(PyExc_RuntimeError, "the stack of TorchDispatchModes is empty");
        return nullptr;
    }
    PyObject* mode = Py_NewRef(PyList_GET_ITEM(mode_stack, size - 1));
    PyList_SetSlice(mode_stack, size - 1, size, nullptr);
    set_modes(thread_state.dispatch_modes - 1);
    return mode;
}
static PyObject* length(PyObject*, PyObject*) { return PyLong_FromSsize_t(mode_stack ? PyList_GET_SIZE(mode_stack) : 0); }
static PyObject* at(PyObject*, PyObject* index) {
    Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) return nullptr;
    if (!mode_stack) {
        PyErr_SetString(PyExc_IndexError, "the stack of TorchDispatchModes is empty");
        return nullptr;
    }
    return Py_XNewRef(PyList_GetItem(mode_stack, i));
}

/// _C._overload(name, overload): a callable for exactly this overload; None if there is none.
static PyObject* overload(PyObject*, PyObject* args) {
    const char *name, *which;
    if (!PyArg_ParseTuple(args, "ss", &name, &which)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Operator* op = find_operator(name, which);
        if (!op) Py_RETURN_NONE;
        return make_overload_function(op);
    });
}
/// _C._overload_names(name): the overloads of an operator; an empty list if there is none.
static PyObject* overload_names(PyObject*, PyObject* name) {
    Py_ssize_t length;
    const char* text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text) return nullptr;
    return guarded([&]() -> PyObject* {
        PyObject* list = checked(PyList_New(0));
        OverloadSet set;
        if (!find_operators(text, static_cast<size_t>(length), set)) return list;
        for (int i = 0; i < set.count; i++) {
            PyObject* each = PyUnicode_FromString(set.operators[i]->overload());
            if (each) PyList_Append(list, each);
            Py_XDECREF(each);
        }
        return list;
    });
}
/// _C._schema_text(name, overload), and what the arguments are: (text, [(name, type, has_default, keyword_only, mutated)], results)
static PyObject* schema_text(PyObject*, PyObject* args) {
    const char *name, *which;
    if (!PyArg_ParseTuple(args, "ss", &name, &which)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Operator* op = find_operator(name, which);
        if (!op) Py_RETURN_NONE;
        const Schema& schema = *op->schema;
        static constexpr const char* types[] = {"Tensor", "Scalar", "int",          "float",     "bool",    "str", "ScalarType",
                                                "Layout", "Device", "MemoryFormat", "Generator", "Storage", "Any"};
        auto describe = [&](const std::vector<Argument>& list) {
            PyObject* result = checked(PyList_New(0));
            for (const Argument& a : list) {
                Value value = a.default_value;
                PyObject* item =
                    Py_BuildValue("(ssOOOOON)", a.name ? a.name : "", types[static_cast<int>(a.type)], a.list ? Py_True : Py_False,
                                  a.optional ? Py_True : Py_False, a.has_default ? Py_True : Py_False, a.keyword_only ? Py_True : Py_False,
                                  a.mutated ? Py_True : Py_False, to_python(value, false));
                if (item) PyList_Append(result, item);
                Py_XDECREF(item);
            }
            return result;
        };
        return Py_BuildValue("(sNN)", schema.text, describe(schema.arguments), describe(schema.results));
    });
}

// ---- autocast; kindling/amp/_state.py keeps the rest

static PyObject* autocast_set(PyObject*, PyObject* args) {
    int on, cache;
    PyObject* dtype_arg;
    DType dtype;
    if (!PyArg_ParseTuple(args, "pOp:_set_autocast", &on, &dtype_arg, &cache)) return nullptr;
    if (!is_dtype(dtype_arg) || !dtype_of_object(dtype_arg, dtype)) {
        PyErr_Format(PyExc_TypeError, "set_autocast_dtype(): expected a torch.dtype, not %s", Py_TYPE(dtype_arg)->tp_name);
        return nullptr;
    }
    set_autocast(on, dtype, cache);
    Py_RETURN_NONE;
}
static PyObject* autocast_get(PyObject*, PyObject*) { return PyBool_FromLong(autocast_on()); }
static PyObject* autocast_clear(PyObject*, PyObject*) {
    clear_autocast_cache();
    Py_RETURN_NONE;
}

// Compiled functions (kindling/_compile.py): loops are put off between the two.
static PyObject* begin(PyObject*, PyObject*) {
    return guarded([&]() -> PyObject* {
        begin_recording();
        Py_RETURN_NONE;
    });
}
static PyObject* end(PyObject*, PyObject*) {
    return guarded([&]() -> PyObject* {
        end_recording();
        Py_RETURN_NONE;
    });
}
static PyObject* counts(PyObject*, PyObject*) {
    const GraphCounts counts = graph_counts();
    return Py_BuildValue("{s:L,s:L,s:L,s:L}", "recorded", static_cast<long long>(counts.recorded), "ran",
                         static_cast<long long>(counts.ran), "plans", static_cast<long long>(counts.plans), "flushes",
                         static_cast<long long>(counts.flushes));
}

static PyObject* defer_from(PyObject*, PyObject* argument) {
    const long long elements = PyLong_AsLongLong(argument);
    if (elements == -1 && PyErr_Occurred()) return nullptr;
    return PyLong_FromLongLong(smallest_loop.exchange(elements));
}

static std::string place() {
    Lock lock;
    PyFrameObject* frame = PyEval_GetFrame();
    if (!frame) return "?";
    PyCodeObject* code = PyFrame_GetCode(frame);
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    std::string text = std::string(file ? file : "?") + ":" + std::to_string(PyFrame_GetLineNumber(frame));
    Py_DECREF(code);
    return text;
}
static PyObject* explain_begin(PyObject*, PyObject*) {
    return guarded([&]() -> PyObject* {
        place_in_program = place;
        begin_explaining();
        Py_RETURN_NONE;
    });
}
static PyObject* explain_end(PyObject*, PyObject*) {
    return guarded([&]() -> PyObject* {
        Object list(PyList_New(0));
        for (const ExplainedRun& run : end_explaining()) {
            Object each(Py_BuildValue("(nnLLdzss)", static_cast<Py_ssize_t>(run.recorded), static_cast<Py_ssize_t>(run.ran),
                                      static_cast<long long>(run.bytes_apart), static_cast<long long>(run.bytes_fused), run.seconds,
                                      run.where.empty() ? nullptr : run.where.c_str(), run.before.c_str(), run.after.c_str()));
            if (!list || !each || PyList_Append(list.get(), each.get()) < 0) return nullptr;
        }
        return list.take();
    });
}

bool init_dispatch(PyObject* module) {
    call_python_dispatch = python_dispatch;
    static PyMethodDef functions[] = {
        {"_set_autocast", autocast_set, METH_VARARGS, nullptr},
        {"_autocast_on", autocast_get, METH_NOARGS, nullptr},
        {"clear_autocast_cache", autocast_clear, METH_NOARGS, "clear_autocast_cache()\n\nForgets the casts of parameters made so far."},
        {"_begin_recording", begin, METH_NOARGS, nullptr},
        {"_end_recording", end, METH_NOARGS, nullptr},
        {"_graph_counts", counts, METH_NOARGS, nullptr},
        {"_defer_from", defer_from, METH_O, nullptr},
        {"_begin_explaining", explain_begin, METH_NOARGS, nullptr},
        {"_end_explaining", explain_end, METH_NOARGS, nullptr},
        {"_push_on_torch_dispatch_stack", push, METH_O, nullptr},
        {"_pop_torch_dispatch_stack", pop, METH_NOARGS, nullptr},
        {"_len_torch_dispatch_stack", length, METH_NOARGS, nullptr},
        {"_get_dispatch_stack_at", at, METH_O, nullptr},
        {"_overload", overload, METH_VARARGS, nullptr},
        {"_overload_names", overload_names, METH_O, nullptr},
        {"_schema_text", schema_text, METH_VARARGS, nullptr},
        {nullptr, nullptr, 0, nullptr},
    };
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
