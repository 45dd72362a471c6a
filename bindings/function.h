// bindings/function.h: the callables operators become in Python.
#pragma once
#include "bindings/autograd/autograd.h"
#include "bindings/parse.h"

namespace kindling::python {

/// torch.add, torch._C._nn.gelu, and (as a descriptor) Tensor.add, Tensor.size.
struct FunctionObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject* name;         // "add"
    const char* text;       // the same
    const char* doc;        // of native methods
    uint32_t space;         // space::Torch, space::Method, ...
    Overloads* overloads;   // of operators, made at the first call
    const OverloadSet* set; // only for objects that hold one overload (torch.ops)
    NativeMethod native;    // of methods that are no operators
    PyObject* weak_references;
};
extern PyTypeObject* function_type; // does not bind
extern PyTypeObject* method_type;   // binds, as a method

PyObject* make_operator_function(PyObject* name, uint32_t space);
PyObject* make_overload_function(const Operator* op);
PyObject* make_native_method(const NativeMethodDef& def);
bool init_functions(PyObject* module);

/// Calls an operator by its boxed form and gives the results to Python.
PyObject* call_boxed(const Operator& op, Value* values);

/// Keywords of a native method, read into slots: read_keywords("size", args, nargs, kwnames, {"dim"}, slots).
bool read_arguments(const char* function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                    std::initializer_list<const char*> names, PyObject** slots, int required = 0, int positional = 64);

} // namespace kindling::python
