// bindings/autograd/autograd.h: what autograd adds to the Python face. The definitions live in bindings/autograd*.cpp; the Tensor
// type takes the tables in when it is made.
#pragma once
#include "bindings/python.h"

namespace kindling::python {

/// A method of Tensor: like METH_FASTCALL | METH_KEYWORDS, `self` apart. __torch_function__ has been asked already.
using NativeMethod = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
struct NativeMethodDef {
    const char* name;
    NativeMethod function;
    const char* doc;
};

/// requires_grad_, backward, register_hook, register_post_accumulate_grad_hook, retain_grad, detach_ and the like. Ends
/// with a null name.
extern const NativeMethodDef autograd_tensor_methods[];
/// grad, _grad, grad_fn, _grad_fn, is_leaf, requires_grad, retains_grad, output_nr, _backward_hooks,
/// _post_accumulate_grad_hooks, data, _base, _version. Ends with a null name. A getter asks `wants_torch_function` first.
extern PyGetSetDef autograd_tensor_getset[];
/// Garbage collection: the Python objects this tensor alone keeps alive (hooks, grad, grad_fn's contexts).
int traverse_autograd(TensorImpl* impl, visitproc visit, void* arg);
void clear_autograd(TensorImpl* impl);
/// Adds the engine, grad modes, Node types, saved-tensor hooks to `kindling._C`. False with an error set.
bool init_autograd(PyObject* module);

} // namespace kindling::python
