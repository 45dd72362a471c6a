// Operators registered from Python (torch.library): an Operator whose kernel calls back.
#include "bindings/function.h"
#include "bindings/types.h"

namespace kindling::python {

void take_python_results(const Operator& op, PyObject* result, Value* arguments, Value* results);

static void python_kernel(const Operator& op, Value* arguments, Value* results) {
    Lock lock;
    const Schema& schema = *op.schema;
    Object args(checked(PyTuple_New(schema.positional))), kwargs(checked(PyDict_New()));
    for (size_t i = 0; i < schema.arguments.size(); i++) {
        PyObject* value = checked(to_python(arguments[i], false));
        if (i < schema.positional) {
            PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), value);
        } else {
            PyDict_SetItemString(kwargs.get(), schema.arguments[i].name, value);
            Py_DECREF(value);
        }
    }
    Object result(checked(PyObject_Call(static_cast<PyObject*>(op.context), args.get(), kwargs.get())));
    take_python_results(op, result.get(), arguments, results);
}

/// _C._register_operator(schema, callable, composite): "ns::name.overload(Tensor x) -> Tensor".
static PyObject* register_python(PyObject*, PyObject* args) {
    const char* text;
    PyObject* callable;
    int composite;
    if (!PyArg_ParseTuple(args, "sOp", &text, &callable, &composite)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Schema* schema = parse_schema(strdup(text));
        if (find_operator(schema->name, schema->overload))
            fail(ErrorKind::Runtime, "Tried to register an operator (%s) with the same name and overload name multiple times.", text);
        auto* op = new Operator;
        op->schema = schema;
        op->kernel = op->functional_kernel = python_kernel;
        op->body = composite ? Body::Composition : Body::Kernel;
        op->composite = composite;
        bool writes = false, outs = false;
        for (const Argument& a : schema->arguments) {
            writes |= a.mutated;
            outs |= a.out;
        }
        if (writes && !schema->results.empty()) op->form = outs ? Form::Out : Form::Inplace;
        op->context = Py_NewRef(callable);
        register_operator(op, space::Hidden);
        Py_RETURN_NONE;
    });
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

bool init_library(PyObject* module) {
    static PyMethodDef functions[] = {{"_register_operator", register_python, METH_VARARGS, nullptr},
                                      {"_set_composite", set_composite, METH_VARARGS, nullptr},
                                      {"_call_below_autograd", call_below_autograd, METH_VARARGS, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace kindling::python
