// bindings/library.cpp: operators registered from Python (torch.library): an Operator whose kernel calls back.
// Compiled for size.
#include "bindings/function.h"
#include "bindings/script.h"
#include "bindings/types.h"
#include "core/dispatch.h"
#include "core/registration.h"
#include "core/schema.h"
#include "runtime/random.h"

namespace kindling::python {

void take_python_results(const Operator& op, PyObject* result, Value* arguments, Value* results);
bool is_default(const Argument& argument, const Value& value);

/// A kernel that calls Python: arguments in order, keyword-only ones by name; those at their default are left out at the end.
static void python_kernel(const Operator& op, Value* arguments, Value* results) {
    Lock lock;
    MadeOn cpu(DeviceType::CPU);
    const Schema& schema = *op.schema;
    PyObject* slots[65];
    PyObject** stack = slots + 1; // vectorcall may use the place in front
    size_t positional = schema.positional, count = 0;
    while (positional > 0 && is_default(schema.arguments[positional - 1], arguments[positional - 1])) positional--;
    struct Drop {
        PyObject** stack;
        size_t& count;
        ~Drop() {
            while (count > 0) Py_DECREF(stack[--count]);
        }
    } drop{stack, count};
    for (; count < positional; count++) stack[count] = checked(to_python(arguments[count], false));
    Object names;
    for (size_t i = schema.positional; i < schema.arguments.size(); i++) {
        if (is_default(schema.arguments[i], arguments[i])) continue;
        stack[count] = checked(to_python(arguments[i], false));
        count++;
        Object name(checked(PyUnicode_InternFromString(schema.arguments[i].name))),
            more(checked(PyTuple_New(static_cast<Py_ssize_t>(count - positional))));
        for (size_t k = 0; k + 1 < count - positional; k++)
            PyTuple_SET_ITEM(more.get(), static_cast<Py_ssize_t>(k), Py_NewRef(PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(k))));
        PyTuple_SET_ITEM(more.get(), static_cast<Py_ssize_t>(count - positional - 1), name.take());
        names = std::move(more);
    }
    Object result(
        checked(PyObject_Vectorcall(static_cast<PyObject*>(op.context), stack, positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names.get())));
    take_python_results(op, result.get(), arguments, results);
}

/// _C._define_operator("ns::name.overload(Tensor x) -> Tensor"): an operator without kernels.
static PyObject* define_operator(PyObject*, PyObject* schema_text) {
    const char* text = PyUnicode_AsUTF8(schema_text);
    if (!text) return nullptr;
    return guarded([&]() -> PyObject* {
        const Schema* schema = parse_schema(strdup(text));
        if (find_operator(schema->name, schema->overload))
            fail(ErrorKind::Runtime, "Tried to register an operator (%s) with the same name and overload name multiple times.", text);
        auto* op = new Operator;
        op->schema = schema;
        op->kernel = op->functional_kernel = call_added;
        op->body = Body::Kernel;
        bool writes = false, outs = false;
        for (const Argument& a : schema->arguments) {
            writes |= a.mutated;
            outs |= a.out;
        }
        if (writes && !schema->results.empty()) op->form = outs ? Form::Out : Form::Inplace;
        op->index = 0xffff;
        op->added = new AddedKernels;
        register_operator(op, space::Hidden);
        Py_RETURN_NONE;
    });
}

/// _C._add_kernel(name, overload, layer, callable or None): for operators of either kind.
static PyObject* add_python_kernel(PyObject*, PyObject* args) {
    const char *name, *overload;
    int layer;
    PyObject* callable;
    if (!PyArg_ParseTuple(args, "ssiO", &name, &overload, &layer, &callable)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Operator* op = find_operator(name, overload);
        if (!op || layer < 0 || layer >= layer_count) fail(ErrorKind::Runtime, "operator %s.%s does not exist", name, overload);
        bool none = callable == Py_None;
        // The callable is kept for good: another thread may be about to call it.
        add_kernel(const_cast<Operator&>(*op), static_cast<Layer>(layer), none ? nullptr : python_kernel,
                   none ? nullptr : Py_NewRef(callable));
        Py_RETURN_NONE;
    });
}

static const Operator* operator_of(PyObject* args) {
    const char *name, *overload;
    if (!PyArg_ParseTuple(args, "ss", &name, &overload)) throw_python();
    return find_operator(name, overload);
}
/// _C._value_facts(name, overload): (arguments whose values decide whether it raises, or None where no check is declared; words of 32 bits
/// that each real number of the first result draws, and each of 8 bytes; 0 where that is not known beforehand).
static PyObject* value_facts(PyObject*, PyObject* args) {
    return guarded([&]() -> PyObject* {
        const Operator* found = operator_of(args);
        if (!found) return Py_BuildValue("(Oii)", Py_None, 0, 0);
        const Operator& op = *found;
        Object names(op.functional->value_check ? checked(PyList_New(0)) : Py_NewRef(Py_None));
        for (size_t i = 0; op.functional->value_check && i < op.argument_count(); i++)
            if (op.schema->arguments[i].type == Type::Tensor && checks_value(op, static_cast<int>(i))) {
                Object name(checked(PyUnicode_FromString(op.schema->arguments[i].name)));
                if (PyList_Append(names.get(), name.get()) < 0) throw_python();
            }
        return Py_BuildValue("(Nii)", names.take(), static_cast<int>(op.functional->draws), static_cast<int>(op.functional->wide_draws));
    });
}
/// _C._check_values(name, overload, *args, **kwargs): raises what the call raises because of values, where a check is declared.
static PyObject* check_call(PyObject*, PyObject* args, PyObject* kwargs) {
    return guarded([&]() -> PyObject* {
        Object which(checked(PyTuple_GetSlice(args, 0, 2))), rest(checked(PyTuple_GetSlice(args, 2, PyTuple_GET_SIZE(args))));
        const Operator* found = operator_of(which.get());
        if (!found) Py_RETURN_NONE;
        const Operator& op = *found;
        const Schema& schema = *op.schema;
        Arena arena;
        Value values[64];
        for (size_t i = 0; i < schema.arguments.size(); i++) {
            const Argument& argument = schema.arguments[i];
            PyObject* given = static_cast<Py_ssize_t>(i) < PyTuple_GET_SIZE(rest.get())
                                  ? PyTuple_GET_ITEM(rest.get(), static_cast<Py_ssize_t>(i))
                              : kwargs ? PyDict_GetItemString(kwargs, argument.name)
                                       : nullptr;
            values[i] = argument.default_value;
            if (!given) continue;
            const Fit fit = convert(argument, given, values[i], arena, true);
            if (fit == Fit::Raised) throw_python();
            KINDLING_CHECK(Type, fit == Fit::Yes, "%s(): argument '%s' is not of the operator's type", op.name(), argument.name);
        }
        check_values(op, values);
        Py_RETURN_NONE;
    });
}
/// _C._skip_draws(words): draws from the default generator, for nobody.
static PyObject* skip_draws(PyObject*, PyObject* count) {
    const long long words = PyLong_AsLongLong(count);
    if (words == -1 && PyErr_Occurred()) return nullptr;
    return guarded([&]() -> PyObject* {
        Generator& generator = default_generator();
        GeneratorLock lock(generator);
        uint32_t dropped[256];
        for (long long left = words; left > 0; left -= 256) generator.random(dropped, static_cast<size_t>(left < 256 ? left : 256));
        Py_RETURN_NONE;
    });
}

/// _C._operator_facts(name, overload): (body, composite, has a derivative, registered from Python, [layers with kernels], {traits}); None
/// if there is none.
static PyObject* operator_facts(PyObject*, PyObject* args) {
    const char *name, *overload;
    if (!PyArg_ParseTuple(args, "ss", &name, &overload)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Operator* op = find_operator(name, overload);
        if (!op) Py_RETURN_NONE;
        PyObject* layers = checked(PyList_New(0));
        if (const AddedKernels* added = op->added.load())
            for (int i = 0; i < layer_count; i++)
                if (added->layers[i].kernel) {
                    PyObject* item = Py_BuildValue("(iO)", i, static_cast<PyObject*>(added->layers[i].context));
                    if (item) PyList_Append(layers, item);
                    Py_XDECREF(item);
                }
        static constexpr const char* bodies[] = {"pointwise", "composition", "kernel", "view"};
        const Operator* functional = op->functional ? op->functional : op;
#define TRAIT(name) #name "\0"
        const char* each = KINDLING_TRAITS(TRAIT);
#undef TRAIT
        Object traits(checked(PySet_New(nullptr)));
        for (uint32_t bit = 1; *each; bit <<= 1, each += strlen(each) + 1)
            if (op->has(bit) && PySet_Add(traits.get(), Object(checked(PyUnicode_FromString(each))).get())) return nullptr;
        return Py_BuildValue(
            "(sOOONN)", bodies[static_cast<int>(op->body)], op->composite ? Py_True : Py_False,
            functional->derivative_count || (functional->body == Body::Pointwise && !functional->has(trait::NotDifferentiable)) ? Py_True
                                                                                                                                : Py_False,
            op->index == 0xffff ? Py_True : Py_False, layers, traits.take());
    });
}

/// _C._remove_operator(name, overload): takes back one that was defined from Python.
static PyObject* remove_python(PyObject*, PyObject* args) {
    const char *name, *overload;
    if (!PyArg_ParseTuple(args, "ss", &name, &overload)) return nullptr;
    return guarded([&] { return PyBool_FromLong(remove_operator(name, overload)); });
}

/// `_C.<name>` that is not there: a class of errors, one of torch's questions about dispatch, or another private name that Python answers.
static PyObject* missing_attribute(PyObject*, PyObject* name) {
    const char* text = PyUnicode_AsUTF8(name);
    PyObject* error = text ? error_class_by_name(nullptr, name) : nullptr;
    if (error != Py_None) return error;
    Py_DECREF(error);
    if (!strncmp(text, "_dispatch_", 10) || strstr(text, "DispatchKey") || !strncmp(text, "_accelerator_", 13) ||
        !strncmp(text, "_AutoDispatch", 13) || !strcmp(text, "_get_privateuse1_backend_name") || !strncmp(text, "_jit_get_", 9))
        return import("kindling._native_names.dispatch_queries", text);
    if (!strncmp(text, "_jit_pass_", 10))
        if (PyObject* pass = graph_pass(text + 10)) return pass;
    if (PyErr_Occurred()) return nullptr;
    if ((text[0] == '_' && text[1] != '_') || (text[0] >= 'A' && text[0] <= 'Z') || !strncmp(text, "has_", 4) ||
        !strcmp(text, "parse_schema")) {
        PyObject* found = import("kindling._native_names.private", text);
        if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
        PyErr_Clear();
    }
    return PyErr_Format(PyExc_AttributeError, "module '%s._C' has no attribute '%U'", package, name);
}

/// _C._exclude_keys(bits[, value]): leaves key bits out in this thread, or puts a value back; returns what it was.
static PyObject* exclude_keys(PyObject*, PyObject* args) {
    unsigned bits, value = 0;
    if (!PyArg_ParseTuple(args, "I|I", &bits, &value)) return nullptr;
    uint32_t before = thread_state.exclude;
    thread_state.exclude = PyTuple_GET_SIZE(args) == 2 ? value : before | bits;
    return PyLong_FromUnsignedLong(before);
}

/// _C._set_composite(name, overload, composite): whether layers see through a registered operator.
static PyObject* set_composite(PyObject*, PyObject* args) {
    const char *name, *overload;
    int composite;
    if (!PyArg_ParseTuple(args, "ssp", &name, &overload, &composite)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Operator* op = find_operator(name, overload);
        if (!op || op->index != 0xffff) fail(ErrorKind::Runtime, "%s is not an operator registered from Python", name);
        const_cast<Operator*>(op)->composite = composite;
        Py_RETURN_NONE;
    });
}

/// _C._call_below_autograd(function, args, kwargs): with autograd's layer left out.
static PyObject* call_below_autograd(PyObject*, PyObject* all) {
    PyObject *function, *args, *kwargs;
    if (!PyArg_ParseTuple(all, "OO!O!", &function, &PyTuple_Type, &args, &PyDict_Type, &kwargs)) return nullptr;
    Exclude guard(key::Autograd);
    return PyObject_Call(function, args, kwargs);
}

/// _C._clearly_fresh(result, args): whether a result is a tensor whose memory no argument has. False too where containers hide what they
/// have.
static PyObject* clearly_fresh(PyObject*, PyObject* const* given, Py_ssize_t count) {
    if (count != 2 || !PyTuple_Check(given[1]))
        return PyErr_Format(PyExc_TypeError, "_clearly_fresh takes a result and the arguments' tuple");
    PyObject *result = given[0], *args = given[1];
    bool fresh = is_tensor(result);
    for (Py_ssize_t i = 0; fresh && i < PyTuple_GET_SIZE(args); i++) {
        PyObject* each = PyTuple_GET_ITEM(args, i);
        fresh = is_tensor(each) ? impl_of(each)->storage != impl_of(result)->storage
                                : !PyList_Check(each) && !PyTuple_Check(each) && !PyDict_Check(each);
    }
    return PyBool_FromLong(fresh);
}

bool init_library(PyObject* module) {
    static PyMethodDef functions[] = {
        {"_define_operator", define_operator, METH_O, nullptr},
        {"_add_kernel", add_python_kernel, METH_VARARGS, nullptr},
        {"_value_facts", value_facts, METH_VARARGS, nullptr},
        {"_check_values", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(check_call)), METH_VARARGS | METH_KEYWORDS, nullptr},
        {"_skip_draws", skip_draws, METH_O, nullptr},
        {"_operator_facts", operator_facts, METH_VARARGS, nullptr},
        {"_remove_operator", remove_python, METH_VARARGS, nullptr},
        {"__getattr__", missing_attribute, METH_O, nullptr},
        {"_exclude_keys", exclude_keys, METH_VARARGS, nullptr},
        {"_set_composite", set_composite, METH_VARARGS, nullptr},
        {"_clearly_fresh", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(clearly_fresh)), METH_FASTCALL, nullptr},
        {"_call_below_autograd", call_below_autograd, METH_VARARGS, nullptr},
        {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0 && PyModule_AddIntConstant(module, "_KEY_AUTOGRAD", key::Autograd) == 0 &&
           PyModule_AddIntConstant(module, "_KEY_AUTOCAST", key::Autocast) == 0 &&
           PyModule_AddIntConstant(module, "_KEY_PYTHON", key::Dispatch | key::Mode) == 0;
}

} // namespace kindling::python
