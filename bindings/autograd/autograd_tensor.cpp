// bindings/autograd/autograd_tensor.cpp: autograd's methods and properties of Tensor.
// Compiled for size.
#include "autograd/ops.h"
#include "bindings/autograd/autograd_python.h"
#include "bindings/function.h"
#include "bindings/parse.h"
#include "core/shape.h"

namespace kindling::python {

// ---- hooks

PyObject* new_hook_dict() {
    PyObject* type = import("_collections", "OrderedDict");
    PyObject* dict = type ? PyObject_CallNoArgs(type) : nullptr;
    Py_XDECREF(type);
    return dict;
}

PyObject* add_hook(PyObject* dict, PyObject* hook) {
    PyObject* type = import("kindling.utils.hooks", "RemovableHandle");
    if (!type) return nullptr;
    PyObject* handle = PyObject_CallOneArg(type, dict);
    Py_DECREF(type);
    if (!handle) return nullptr;
    PyObject* id = PyObject_GetAttrString(handle, "id");
    if (!id || PyObject_SetItem(dict, id, hook) < 0) Py_CLEAR(handle);
    Py_XDECREF(id);
    return handle;
}

PythonHooks::~PythonHooks() {
    if (!Py_IsInitialized()) return;
    Lock lock;
    Py_DECREF(dict);
}

static Object hook_list(PyObject* dict) {
    PyObject* values = checked(PyObject_CallMethod(dict, "values", nullptr));
    PyObject* list = PySequence_List(values);
    Py_DECREF(values);
    return Object(checked(list));
}

static std::string callable_name(PyObject* hook) {
    PyObject* name = PyObject_GetAttrString(hook, "__name__");
    if (!name) {
        PyErr_Clear();
        name = PyObject_Str(hook);
    }
    const char* text = name ? PyUnicode_AsUTF8(name) : nullptr;
    std::string result = text ? text : "<unknown>";
    PyErr_Clear();
    Py_XDECREF(name);
    return result;
}

/// A hook may change values, not what kind of thing the gradient is.
static Tensor checked_replacement(const Tensor& before, PyObject* result, PyObject* hook) {
    if (!is_tensor(result)) fail(ErrorKind::Type, "expected Variable, but hook returned '%s'", Py_TYPE(result)->tp_name);
    Tensor after = tensor_of(result);
    if (!before.defined()) fail(ErrorKind::Runtime, "can't replace a None gradient with a non-None value");
    std::string name = after.dtype() != before.dtype() || after.sizes() != before.sizes() ? callable_name(hook) : std::string();
    KINDLING_CHECK(Runtime, after.dtype() == before.dtype(),
                   "hook '%s' has changed the type of value (was torch.%sTensor got torch.%sTensor)", name.c_str(),
                   scalar_type_name(before.dtype()), scalar_type_name(after.dtype()));
    KINDLING_CHECK(Runtime, after.sizes() == before.sizes(), "hook '%s' has changed the size of value", name.c_str());
    return after;
}

Tensor PythonHooks::on_tensor(const Tensor& gradient) {
    Lock lock;
    Object hooks = hook_list(dict);
    Tensor current = gradient;
    bool changed = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); i++) {
        PyObject* hook = PyList_GET_ITEM(hooks.get(), i);
        Object argument(checked(wrap(current)));
        Object result(checked(PyObject_CallOneArg(hook, argument.get())));
        if (accumulated) {
            if (result.get() != Py_None) fail(ErrorKind::Runtime, "Tensor post accumulate grad hooks should return None.");
            continue;
        }
        if (result.get() == Py_None) continue;
        current = checked_replacement(current, result.get(), hook);
        changed = true;
    }
    return changed ? current : Tensor();
}

static void replace_all(Tensor* values, size_t count, PyObject* result, PyObject* hook) {
    Object tuple;
    if (is_tensor(result)) tuple = Object(checked(PyTuple_Pack(1, result)));
    else if (PyTuple_Check(result)) tuple = Object::share(result);
    else if (PyList_Check(result)) tuple = Object(checked(PyList_AsTuple(result)));
    else fail(ErrorKind::Type, "hooks must return None, a Tensor or a tuple of Tensors, not '%s'", Py_TYPE(result)->tp_name);
    KINDLING_CHECK(Runtime, PyTuple_GET_SIZE(tuple.get()) == static_cast<Py_ssize_t>(count),
                   "hook '%s' has returned an incorrect number of values (got %zd, but expected %zu)", callable_name(hook).c_str(),
                   PyTuple_GET_SIZE(tuple.get()), count);
    for (size_t i = 0; i < count; i++) {
        PyObject* item = PyTuple_GET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i));
        if (item == Py_None) {
            if (values[i].defined()) values[i].reset();
            continue;
        }
        values[i] = checked_replacement(values[i], item, hook);
    }
}

void PythonHooks::before(Tensor* gradients, size_t count) {
    Lock lock;
    Object hooks = hook_list(dict);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); i++) {
        PyObject* hook = PyList_GET_ITEM(hooks.get(), i);
        Object arguments(checked(tensor_tuple(gradients, count)));
        Object result(checked(PyObject_CallOneArg(hook, arguments.get())));
        if (result.get() != Py_None) replace_all(gradients, count, result.get(), hook);
    }
}

void PythonHooks::after(Tensor* results, size_t result_count, const Tensor* gradients, size_t count) {
    Lock lock;
    Object hooks = hook_list(dict);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); i++) {
        PyObject* hook = PyList_GET_ITEM(hooks.get(), i);
        Object given(checked(tensor_tuple(results, result_count))), taken(checked(tensor_tuple(gradients, count)));
        Object result(checked(PyObject_CallFunctionObjArgs(hook, given.get(), taken.get(), nullptr)));
        if (result.get() != Py_None) replace_all(results, result_count, result.get(), hook);
    }
}

PyObject* tensor_tuple(const Tensor* tensors, size_t count) {
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(count));
    for (size_t i = 0; tuple && i < count; i++) {
        PyObject* item = wrap(tensors[i]);
        if (!item) {
            Py_DECREF(tuple);
            return nullptr;
        }
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), item);
    }
    return tuple;
}

/// The dict of a tensor's hooks. Hooks belong to what the tensor was when they were registered: after an in-place write a
/// new dict begins.
static PyObject* hook_dict_of(const Tensor& tensor) {
    TensorImpl* impl = tensor.impl();
    Ref<GradNode> node = grad_fn(impl);
    AutogradMeta& meta = need_meta(impl);
    if (meta.python_hooks && meta.python_hooks_node == node.get()) return static_cast<PyObject*>(meta.python_hooks);
    Object dict(checked(new_hook_dict()));
    add_tensor_hook(tensor, Ref<GradHook>::adopt(new PythonHooks(dict.get())));
    auto* old = static_cast<PyObject*>(meta.python_hooks);
    meta.python_hooks = dict.take();
    meta.python_hooks_node = node.get();
    Py_XDECREF(old);
    return static_cast<PyObject*>(meta.python_hooks);
}

// ---- methods

static PyObject* register_hook(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* slots[1] = {};
    if (!read_arguments("register_hook", args, nargs, kwnames, {"hook"}, slots, 1)) return nullptr;
    return guarded([&] {
        Tensor tensor = tensor_of(self);
        KINDLING_CHECK(Runtime, tensor.requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
        return add_hook(hook_dict_of(tensor), slots[0]);
    });
}

static PyObject* register_post_accumulate_grad_hook(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* slots[1] = {};
    if (!read_arguments("register_post_accumulate_grad_hook", args, nargs, kwnames, {"hook"}, slots, 1)) return nullptr;
    return guarded([&] {
        Tensor tensor = tensor_of(self);
        KINDLING_CHECK(Runtime, tensor.requires_grad(), "cannot register a hook on a tensor that doesn't require gradient");
        KINDLING_CHECK(Runtime, tensor.is_leaf(), "post accumulate grad hooks cannot be registered on non-leaf tensors");
        AutogradMeta& meta = need_meta(tensor.impl());
        if (!meta.python_accumulated) {
            Object dict(checked(new_hook_dict()));
            auto* hooks = new PythonHooks(dict.get());
            hooks->accumulated = true;
            meta.accumulated.push_back(Ref<GradHook>::adopt(hooks));
            meta.python_accumulated = dict.take();
        }
        return add_hook(static_cast<PyObject*>(meta.python_accumulated), slots[0]);
    });
}

static bool truth(PyObject* object, bool fallback) {
    if (!object) return fallback;
    int value = PyObject_IsTrue(object);
    if (value < 0) throw_python();
    return value;
}

static PyObject* requires_grad_(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* slots[1] = {};
    if (!read_arguments("requires_grad_", args, nargs, kwnames, {"requires_grad"}, slots)) return nullptr;
    return guarded([&] {
        // Gradients of a transformed function are the transform's.
        KINDLING_CHECK(Runtime, !thread_state.transforms || thread_state.may_require_grad,
                       "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a "
                       "function being transformed by a functorch "
                       "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, "
                       "hessian) or call requires_grad_() outside "
                       "of a function being transformed instead.");
        const bool wanted = truth(slots[0], true);
        KINDLING_CHECK(Runtime, !wanted || is_differentiable(tensor_of(self).dtype()),
                       "only Tensors of floating point dtype can require gradients");
        set_requires_grad(tensor_of(self), wanted);
        return Py_NewRef(self);
    });
}

static PyObject* retain_grad_method(PyObject* self, PyObject* const*, Py_ssize_t, PyObject*) {
    return guarded([&] {
        KINDLING_CHECK(Runtime, !thread_state.transforms,
                       "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch transform. "
                       "This is unsupported, please attempt to "
                       "use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call retain_grad() outside of a function "
                       "being transformed instead.");
        retain_grad(tensor_of(self));
        return Py_NewRef(Py_None);
    });
}

static PyObject* detach_method(PyObject* self, PyObject* const*, Py_ssize_t, PyObject*) {
    return guarded([&] {
        detach_in_place(tensor_of(self));
        return Py_NewRef(self);
    });
}

/// The usual calls go straight to the engine; others through torch.autograd.backward.
static PyObject* backward_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    PyObject* slots[4] = {};
    if (!read_arguments("backward", args, nargs, kwnames, {"gradient", "retain_graph", "create_graph", "inputs"}, slots)) return nullptr;
    return guarded([&]() -> PyObject* {
        bool plain = (!slots[0] || slots[0] == Py_None || Py_TYPE(slots[0]) == tensor_type) && (!slots[3] || slots[3] == Py_None);
        if (!plain) {
            Object function(checked(import("kindling.autograd", "backward")));
            PyObject* none = Py_None;
            Object keywords(checked(PyDict_New()));
            if (slots[3] && slots[3] != Py_None) PyDict_SetItemString(keywords.get(), "inputs", slots[3]);
            Object arguments(
                checked(PyTuple_Pack(4, self, slots[0] ? slots[0] : none, slots[1] ? slots[1] : none, slots[2] ? slots[2] : Py_False)));
            return PyObject_Call(function.get(), arguments.get(), keywords.get());
        }
        bool create = truth(slots[2], false);
        bool keep = slots[1] && slots[1] != Py_None ? truth(slots[1], false) : create;
        Tensor root = tensor_of(self), gradient = slots[0] && slots[0] != Py_None ? tensor_of(slots[0]) : Tensor();
        {
            Unlocked unlocked(thread_state.dispatch_modes == 0);
            differentiate_tensors(&root, 1, &gradient, 1, keep, create, nullptr, 0, true, true);
        }
        return Py_NewRef(Py_None);
    });
}

static PyObject* is_view_method(PyObject* self, PyObject* const*, Py_ssize_t, PyObject*) {
    return PyBool_FromLong(impl_of(self)->base != nullptr);
}

static PyObject* is_inference_method(PyObject* self, PyObject* const*, Py_ssize_t, PyObject*) {
    return PyBool_FromLong(impl_of(self)->inference);
}

const NativeMethodDef autograd_tensor_methods[] = {
    {"backward", backward_method,
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)\n\nAdds the gradient of this tensor with respect to "
     "the leaves (or `inputs`) to their .grad. `gradient` may be left out for one real element."},
    {"requires_grad_", requires_grad_, "requires_grad_(requires_grad=True) -> Tensor\n\nSays whether a leaf is to get a gradient."},
    {"register_hook", register_hook,
     "register_hook(hook) -> RemovableHandle\n\nCalls hook(grad) each time this tensor's gradient is computed; a tensor it returns "
     "takes the gradient's place."},
    {"register_post_accumulate_grad_hook", register_post_accumulate_grad_hook,
     "register_post_accumulate_grad_hook(hook) -> RemovableHandle\n\nCalls hook(leaf) after its gradient was added up. Leaves only."},
    {"retain_grad", retain_grad_method, "retain_grad()\n\nMakes a tensor that is no leaf keep its gradient in .grad."},
    {"detach_", detach_method, "detach_() -> Tensor\n\nCuts this tensor off the graph that made it. Not for views."},
    {"_is_view", is_view_method, "Whether this is a differentiable view of another tensor."},
    {"is_inference", is_inference_method, "is_inference() -> bool\n\nWhether the tensor was made in inference mode."},
    {nullptr, nullptr, nullptr},
};

// ---- properties

#define GETTER(NAME)                                                                                                                       \
    static PyObject* body_##NAME(PyObject* self, TensorImpl* impl);                                                                        \
    static PyObject* get_##NAME(PyObject* self, void*) {                                                                                   \
        if (wants_torch_function(self)) [[unlikely]]                                                                                       \
            if (PyObject* result = get_by_torch_function(self, #NAME); result || PyErr_Occurred()) return result;                          \
        try {                                                                                                                              \
            return body_##NAME(self, impl_of(self));                                                                                       \
        } catch (...) { return set_error(); }                                                                                              \
    }                                                                                                                                      \
    static PyObject* body_##NAME([[maybe_unused]] PyObject* self, [[maybe_unused]] TensorImpl* impl)
#define SETTER(NAME)                                                                                                                       \
    static void set_body_##NAME(PyObject* self, PyObject* value);                                                                          \
    static int set_##NAME(PyObject* self, PyObject* value, void*) {                                                                        \
        if (wants_torch_function(self)) [[unlikely]]                                                                                       \
            return set_by_torch_function(self, #NAME, value);                                                                              \
        return guarded_int([&] {                                                                                                           \
            set_body_##NAME(self, value);                                                                                                  \
            return 0;                                                                                                                      \
        });                                                                                                                                \
    }                                                                                                                                      \
    static void set_body_##NAME(PyObject* self, PyObject* value)

GETTER(grad) {
    if (!impl->autograd || !impl->autograd->grad.defined()) {
        if (requires_grad(impl) && !(impl->autograd && impl->autograd->retains_grad) && impl->autograd && impl->autograd->grad_fn &&
            PyErr_WarnEx(PyExc_UserWarning,
                         "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                         "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                         "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
                         "you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations.",
                         1) < 0)
            return nullptr;
        Py_RETURN_NONE;
    }
    return wrap(Tensor::share(impl).grad());
}
SETTER(grad) {
    if (!value || value == Py_None) return tensor_of(self).set_grad({});
    if (!is_tensor(value))
        fail(ErrorKind::Type, "assigned grad expected to be a Tensor or None but got grad of type %s", Py_TYPE(value)->tp_name);
    if (value == self) fail(ErrorKind::Runtime, "can't assign Tensor as its own grad");
    tensor_of(self).set_grad(tensor_of(value));
}
GETTER(_grad) { return wrap(Tensor::share(impl).grad()); }
SETTER(_grad) { set_body_grad(self, value); }
GETTER(grad_fn) { return wrap_node(grad_fn(impl)); }
GETTER(_grad_fn) { return wrap_node(grad_fn(impl)); }
SETTER(_grad_fn) {
    if (!value) fail(ErrorKind::Runtime, "Deletion of _grad_fn not allowed. Detach tensor instead!");
    if (value != Py_None) fail(ErrorKind::Runtime, "_grad_fn can be only set to None");
    detach_in_place(tensor_of(self));
}
GETTER(is_leaf) { return PyBool_FromLong(is_leaf(impl)); }
GETTER(requires_grad) { return PyBool_FromLong(requires_grad(impl)); }
SETTER(requires_grad) {
    if (!value || !PyBool_Check(value)) fail(ErrorKind::Runtime, "requires_grad must be a bool");
    set_requires_grad(tensor_of(self), value == Py_True);
}
GETTER(retains_grad) { return PyBool_FromLong(impl->autograd && impl->autograd->retains_grad); }
GETTER(output_nr) { return PyLong_FromUnsignedLong(impl->autograd ? impl->autograd->output : 0); }
GETTER(_backward_hooks) {
    PyObject* dict = impl->autograd ? static_cast<PyObject*>(impl->autograd->python_hooks) : nullptr;
    if (dict && impl->autograd->python_hooks_node != grad_fn(impl).get()) dict = nullptr;
    return Py_NewRef(dict ? dict : Py_None);
}
SETTER(_backward_hooks) {
    if (!value) fail(ErrorKind::Runtime, "Deletion of _backwards_hooks not allowed!");
    Tensor tensor = tensor_of(self);
    AutogradMeta& meta = need_meta(tensor.impl());
    Ref<GradNode> node = grad_fn(tensor.impl());
    auto* old = static_cast<PyObject*>(meta.python_hooks);
    bool fresh = value && value != Py_None && value != old;
    if (old && !node) meta.hooks.clear();
    meta.python_hooks = value && value != Py_None ? Py_NewRef(value) : nullptr;
    meta.python_hooks_node = node.get();
    Object drop(old);
    if (!fresh) return;
    auto hook = Ref<GradHook>::adopt(new PythonHooks(value));
    if (requires_grad(tensor.impl())) add_tensor_hook(tensor, hook);
    else meta.hooks.push_back(hook); // in case that it will require grad
}
GETTER(_post_accumulate_grad_hooks) {
    PyObject* dict = impl->autograd ? static_cast<PyObject*>(impl->autograd->python_accumulated) : nullptr;
    return Py_NewRef(dict ? dict : Py_None);
}
SETTER(_post_accumulate_grad_hooks) {
    AutogradMeta& meta = need_meta(impl_of(self));
    Object old(static_cast<PyObject*>(meta.python_accumulated));
    meta.accumulated.clear();
    meta.python_accumulated = nullptr;
    if (!value || value == Py_None) return;
    auto* hooks = new PythonHooks(value);
    hooks->accumulated = true;
    meta.accumulated.push_back(Ref<GradHook>::adopt(hooks));
    meta.python_accumulated = Py_NewRef(value);
}
GETTER(data) {
    KINDLING_CHECK(Runtime, !(impl->key & key::Wrapped), "accessing `data` under vmap transform is not allowed");
    static constinit Known detach{"detach", "", nullptr};
    if (impl->key & key::Dispatch & ~thread_state.exclude) return wrap(detach(Tensor::share(impl))); // what it wraps has the data
    return wrap(detached(Tensor::share(impl), true));
}
SETTER(data) {
    if (!value) fail(ErrorKind::Runtime, "Deleting tensor data is not allowed. Delete tensor instead!");
    KINDLING_CHECK(Runtime, !(impl_of(self)->key & key::Wrapped), "mutating directly with `.data` under vmap transform is not allowed.");
    if (!is_tensor(value)) fail(ErrorKind::Type, "Variable data has to be a tensor, but got %s", Py_TYPE(value)->tp_name);
    set_data(tensor_of(self), tensor_of(value));
}
GETTER(_base) { return wrap(base_of(Tensor::share(impl))); }
GETTER(_version) {
    if (impl->uncounted) fail_uncounted();
    return PyLong_FromUnsignedLong(impl->version ? impl->version->load() : 0);
}
GETTER(grad_dtype) {
    AutogradMeta* meta = impl->autograd;
    return dtype_object(meta && meta->grad_dtype_set ? meta->grad_dtype : impl->dtype);
}
SETTER(grad_dtype) {
    DType dtype = DType::None;
    if (value && value != Py_None && !dtype_of_object(value, dtype))
        fail(ErrorKind::Type, "grad_dtype must be a torch.dtype or None, but got %s", Py_TYPE(value)->tp_name);
    TensorImpl* impl = impl_of(self);
    KINDLING_CHECK(Runtime, is_leaf(impl), "grad_dtype can only be set on leaf tensors.");
    AutogradMeta& meta = need_meta(impl);
    KINDLING_CHECK(Runtime, !meta.grad.defined() || dtype == DType::None || meta.grad.dtype() == dtype,
                   "Cannot set grad_dtype to '%s' because there is already a gradient assigned to this tensor with dtype '%s'.",
                   scalar_type_name(dtype), scalar_type_name(meta.grad.dtype()));
    meta.grad_dtype_set = true;
    meta.grad_dtype = dtype;
}

PyGetSetDef autograd_tensor_getset[] = {
    {"grad", get_grad, set_grad, "The gradient that backward added up, or None.", nullptr},
    {"_grad", get__grad, set__grad, nullptr, nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The node of the operation that made this tensor, None for leaves.", nullptr},
    {"_grad_fn", get__grad_fn, set__grad_fn, nullptr, nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether no recorded operation made this tensor.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether gradients are computed for this tensor.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "Whether this tensor is no leaf and keeps its gradient all the same.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which result of grad_fn this tensor is.", nullptr},
    {"_backward_hooks", get__backward_hooks, set__backward_hooks, nullptr, nullptr},
    {"_post_accumulate_grad_hooks", get__post_accumulate_grad_hooks, set__post_accumulate_grad_hooks, nullptr, nullptr},
    {"data", get_data, set_data, "The same memory without history and with a version counter of its own.", nullptr},
    {"_base", get__base, nullptr, "The tensor this is a view of, or None.", nullptr},
    {"_version", get__version, nullptr, "How often the memory was written in place.", nullptr},
    {"grad_dtype", get_grad_dtype, set_grad_dtype, "The dtype .grad must have; None allows any.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// ---- garbage collection

static bool alone(const Ref<GradNode>& node) { return node && node->use_count() == 1; }

int traverse_autograd(TensorImpl* impl, visitproc visit, void* arg) {
    AutogradMeta* meta = impl->autograd;
    if (!meta) return 0;
    // Each dict is held by this tensor and by the hook object that calls it.
    auto visit_hooks = [&](std::vector<Ref<GradHook>>& hooks) -> int {
        for (auto& hook : hooks)
            if (hook->use_count() == 1 && hook->python()) Py_VISIT(static_cast<PyObject*>(hook->python()));
        return 0;
    };
    if (int result = visit_hooks(meta->hooks)) return result;
    if (int result = visit_hooks(meta->accumulated)) return result;
    Py_VISIT(static_cast<PyObject*>(meta->python_hooks));
    Py_VISIT(static_cast<PyObject*>(meta->python_accumulated));
    if (meta->grad.defined() && meta->grad.impl()->use_count() == 1 && meta->grad.impl()->owns_python)
        Py_VISIT(static_cast<PyObject*>(meta->grad.impl()->python));
    if (alone(meta->grad_fn)) {
        GradNode* node = meta->grad_fn.get();
        if (node->kind == GradNode::Kind::Python) Py_VISIT(static_cast<PythonNode*>(node)->context);
        if (node->metadata) Py_VISIT(static_cast<PyObject*>(node->metadata));
        if (node->hooks) {
            for (auto& each : node->hooks->tensor_hooks)
                if (each.hook->use_count() == 1 && each.hook->python()) Py_VISIT(static_cast<PyObject*>(each.hook->python()));
            if (int result = visit_hooks(node->hooks->before)) return result;
            if (int result = visit_hooks(node->hooks->after)) return result;
        }
    }
    return 0;
}

void clear_autograd(TensorImpl* impl) {
    AutogradMeta* meta = impl->autograd;
    if (!meta) return;
    Object hooks(static_cast<PyObject*>(meta->python_hooks)), accumulated(static_cast<PyObject*>(meta->python_accumulated));
    meta->python_hooks = meta->python_accumulated = nullptr;
    auto drop_hooks = std::move(meta->hooks);
    auto drop_accumulated = std::move(meta->accumulated);
    meta->hooks.clear();
    meta->accumulated.clear();
    Tensor grad = std::move(meta->grad);
    if (!impl->base && alone(meta->grad_fn) && !meta->retains_grad) Ref<GradNode> node = std::move(meta->grad_fn);
}

} // namespace kindling::python
