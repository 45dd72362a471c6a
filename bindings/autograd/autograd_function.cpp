// bindings/autograd/autograd_function.cpp: torch.autograd.Function: the context object, apply, and the node whose backward is written in
// Python.
// Compiled for size.
#include "autograd/forward.h"
#include "autograd/ops.h"
#include "bindings/autograd/autograd_python.h"
#include "operators/batching.h"

#include <algorithm>

#include <structmember.h>

namespace kindling::python {

PyObject* apply_traced(PyObject* cls, PyObject* args, PyObject* kwargs); // trace.cpp

PyTypeObject* function_base_type = nullptr;

/// `ctx`. Its node holds it while outputs of apply live; it knows the node as long as that lives.
struct ContextObject {
    NodeObject base;
    PyObject* dict;
    PyObject* needs_input_grad;
    PyObject* to_save; // what save_for_backward was given
    PyObject* non_differentiable;
    PyObject* dirty_tensors;
    PyObject* saved_for_forward;
    char materialize_grads;
    char applied; // forward is over
};
static ContextObject* as_context(PyObject* self) { return reinterpret_cast<ContextObject*>(self); }

PythonNode::PythonNode(PyObject* object) : GradNode(Kind::Python), context(Py_NewRef(object)), text(Py_TYPE(object)->tp_name) {
    as_context(object)->base.node = this;
}

PythonNode::~PythonNode() {
    if (!Py_IsInitialized()) return;
    Lock lock;
    as_context(context)->base.node = nullptr;
    Py_DECREF(context);
}

void PythonNode::release_saved() {
    std::vector<SavedTensor> drop;
    SpinGuard guard(lock);
    released = true;
    drop.swap(saved);
}

void PythonNode::apply(Backward& b) {
    Lock gil;
    Object keep = Object::share(context);
    Object arguments(checked(PyTuple_New(static_cast<Py_ssize_t>(outputs.size()))));
    for (size_t i = 0; i < outputs.size(); i++) {
        PyObject* item = nullptr;
        if (i < b.gradient_count && b.gradients[i].defined()) item = checked(wrap(b.gradients[i]));
        else if (as_context(context)->materialize_grads && outputs[i].dtype != DType::None)
            item = checked(wrap(tape::zeros(outputs[i].sizes, outputs[i].dtype, outputs[i].device)));
        else item = Py_NewRef(Py_None);
        PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), item);
    }
    Object run(checked(PyObject_GetAttrString(context, "apply")));
    Object result(checked(PyObject_CallObject(run.get(), arguments.get())));
    Object tuple = PyTuple_Check(result.get()) ? result : Object(checked(PyTuple_Pack(1, result.get())));
    auto given = static_cast<size_t>(PyTuple_GET_SIZE(tuple.get()));
    size_t wanted = is_tensor.size();
    bool surplus_none = given > wanted;
    for (size_t i = wanted; i < given; i++) surplus_none &= PyTuple_GET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i)) == Py_None;
    KINDLING_CHECK(Runtime, given == wanted || surplus_none,
                   "function %s returned an incorrect number of gradients (expected %zu, got %zu)", text.c_str(), wanted, given);
    for (size_t i = 0, edge = 0; i < wanted; i++) {
        PyObject* item = PyTuple_GET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i));
        if (!is_tensor[i]) {
            KINDLING_CHECK(Runtime, item == Py_None,
                           "function %s returned a gradient different than None at position %zu, but the "
                           "corresponding forward input was not a Variable",
                           text.c_str(), i + 1);
            continue;
        }
        if (item != Py_None) {
            if (!python::is_tensor(item)) fail(ErrorKind::Runtime, "expected Variable or None (got %s)", Py_TYPE(item)->tp_name);
            b.results[edge] = tensor_of(item);
        }
        edge++;
    }
}

// ---- apply

/// An alias that shares nothing of the input's history: what a forward that hands an input back gives out.
static Tensor alias_of(const Tensor& input) {
    NoGradGuard no_grad;
    Exclude below(key::Autograd);
    Tensor view = make_view(input, input.sizes(), input.strides(), input.storage_offset());
    return view;
}

static bool contains(PyObject* tuple, PyObject* item) {
    if (!tuple) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
        if (PyTuple_GET_ITEM(tuple, i) == item) return true;
    return false;
}

static void check_tuple(PyObject*& slot, const char* what) {
    if (!slot || slot == Py_None) {
        Py_CLEAR(slot);
        return;
    }
    if (PyList_Check(slot)) {
        PyObject* tuple = PyList_AsTuple(slot);
        if (!tuple) throw_python();
        Py_SETREF(slot, tuple);
    }
    if (!PyTuple_Check(slot))
        fail(ErrorKind::Type, "autograd internal error: saved data '%s' expected to be a tuple but is %s", what, Py_TYPE(slot)->tp_name);
}

/// One output of forward as the caller gets it. `node` is null when nothing is recorded.
static PyObject* finish_output(PyObject* item, ContextObject* context, const Ref<GradNode>& node, PyObject* inputs, size_t output_count) {
    Tensor tensor = tensor_of(item);
    TensorImpl* impl = tensor.impl();
    bool is_input = contains(inputs, item), dirty = contains(context->dirty_tensors, item);
    bool differentiable = node && !contains(context->non_differentiable, item) && is_differentiable(impl->dtype);
    const Creation own = output_count > 1 ? Creation::MultiOutput : Creation::CustomFunction;
    if (!differentiable) {
        if (node) node->inputs.emplace_back();
        // What requires grad keeps doing so: the caller gets an alias that does not.
        if (is_input && requires_grad(impl)) return wrap_as(Py_TYPE(item), detached(tensor));
        if (is_input && !dirty) return wrap_as(Py_TYPE(item), alias_of(tensor));
        if (impl->base && !is_input && is_differentiable(impl->dtype)) impl->creation = own; // also where nothing is recorded
        if (node && requires_grad(impl) && !is_input) detach_in_place(tensor);
        return Py_NewRef(item);
    }
    if (is_input && dirty) {
        if (requires_grad(impl) && is_leaf(impl))
            fail(ErrorKind::Runtime, "a leaf Variable that requires grad has been used in an in-place operation.");
        if (impl->base) {
            check_inplace(impl, true);
            KINDLING_CHECK(Runtime, output_count == 1,
                           "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
                           "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input "
                           "is not a view (using .clone() for example) or make your Function only return one Tensor (potentially "
                           "splitting it into two Functions: one doing the inplace that returns a single Tensor and a second one that "
                           "does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do "
                           "this change.");
        }
        rebase_history(impl, node);
        tensor.set_grad({}); // it was of the old value
        return Py_NewRef(item);
    }
    if (is_input) {
        Tensor alias = alias_of(tensor);
        set_history(alias.impl(), node.get());
        alias.impl()->creation = own;
        return wrap_as(Py_TYPE(item), alias);
    }
    if (impl->base) impl->creation = own;
    set_history(impl, node.get());
    if (impl->base) impl->view_version = impl->version->load();
    return Py_NewRef(item);
}

/// The tangent at a level that jvp gave for an output of forward. A view's must be a view of the tangent of what the output looks into.
static void set_output_tangent(const Tensor& out, const Tensor& tangent, uint64_t level, PyObject* args) {
    const auto root = [](const TensorImpl* impl) { return impl->base ? impl->base : impl; };
    for (Py_ssize_t i = 0; out.impl()->base && i < PyTuple_GET_SIZE(args); i++) {
        PyObject* item = PyTuple_GET_ITEM(args, i);
        if (!python::is_tensor(item) || root(impl_of(item)) != out.impl()->base) continue;
        Tensor given = tangent_of(impl_of(item), level);
        if (!given.defined()) return write_tangent(out, level, tangent);
        KINDLING_CHECK(Runtime, tangent.impl()->base,
                       "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view.");
        KINDLING_CHECK(
            Runtime, tangent.impl()->base == root(given.impl()),
            given.impl()->base
                ? "A custom Function is returning a view but the jvp is not returning a view of the same base as the given grad input."
                : "A custom Function is returning a view but the jvp is not returning a view of the given grad input.");
        break;
    }
    set_tangent(out, level, tangent);
}

/// Calls jvp for each level at which an input has a tangent, lower levels first: it sees their tangents on what it saved.
static void apply_jvp(ContextObject* context, PyObject* args, PyObject* raw, PyObject* finished) {
    std::vector<uint64_t> levels;
    const Py_ssize_t count = PyTuple_GET_SIZE(args), output_count = PyTuple_GET_SIZE(finished);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject* item = PyTuple_GET_ITEM(args, i);
        if (!python::is_tensor(item)) continue;
        for (uint64_t level = level_of(impl_of(item), thread_state.forward_cap); level; level = level_of(impl_of(item), level - 1))
            levels.push_back(level);
    }
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    for (uint64_t level : levels) {
        Object tangents(checked(PyTuple_New(count)));
        std::vector<uint32_t> versions(static_cast<size_t>(count));
        for (Py_ssize_t i = 0; i < count; i++) {
            PyObject* item = PyTuple_GET_ITEM(args, i);
            Tensor tangent = python::is_tensor(item) ? tangent_of(impl_of(item), level) : Tensor();
            if (!tangent.defined() && python::is_tensor(item) && context->materialize_grads && is_differentiable(impl_of(item)->dtype)) {
                BelowLevel below(level);
                const TensorImpl* impl = impl_of(item);
                tangent = tape::zeros(impl->sizes(), impl->dtype, impl->device);
            }
            if (tangent.defined()) versions[static_cast<size_t>(i)] = tangent.version();
            PyTuple_SET_ITEM(tangents.get(), i, tangent.defined() ? checked(wrap(tangent)) : Py_NewRef(Py_None));
        }
        Object result;
        {
            BelowLevel below(level);
            Object run(checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(context), "apply_jvp")));
            result = Object(checked(PyObject_CallObject(run.get(), tangents.get())));
        }
        if (!PyTuple_Check(result.get())) result = Object(checked(PyTuple_Pack(1, result.get())));
        KINDLING_CHECK(Runtime, PyTuple_GET_SIZE(result.get()) == output_count,
                       "Function's jvp returned an invalid number of forward gradients (expected %zd but got %zd)", output_count,
                       PyTuple_GET_SIZE(result.get()));
        for (Py_ssize_t o = 0; o < output_count; o++) {
            PyObject *item = PyTuple_GET_ITEM(raw, o), *out = PyTuple_GET_ITEM(finished, o), *given = PyTuple_GET_ITEM(result.get(), o);
            if (given == Py_None) continue;
            if (!python::is_tensor(given)) fail(ErrorKind::Runtime, "expected Variable or None (got %s)", Py_TYPE(given)->tp_name);
            if (!python::is_tensor(out) || contains(context->non_differentiable, item) || !is_differentiable(impl_of(out)->dtype))
                fail(ErrorKind::Runtime,
                     "Function's jvp returned a gradient at position %zd, but  the corresponding forward output is not a differentiable "
                     "Tensor.You should return None at that position instead.",
                     o);
            if (contains(args, item) && contains(context->dirty_tensors, item)) {
                Py_ssize_t place = 0;
                while (PyTuple_GET_ITEM(args, place) != item) place++;
                KINDLING_CHECK(
                    Runtime,
                    tangent_of(impl_of(item), level).is_same(tensor_of(given)) &&
                        tensor_of(given).version() != versions[static_cast<size_t>(place)],
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an input "
                    "inplace, then the jvp function must modify the corresponding gradient inplace.");
                continue;
            }
            set_output_tangent(tensor_of(out), tensor_of(given), level, args);
        }
    }
}

struct NoForward {
    bool before = thread_state.forward_grad_mode;
    NoForward() { thread_state.forward_grad_mode = false; }
    ~NoForward() { thread_state.forward_grad_mode = before; }
};

static PyObject* apply(PyObject* cls, PyObject* args, PyObject* kwargs);

/// A call with batched tensors, where a graph below their levels records it, or the class has a rule of its own for vmap. Null: it
/// goes on as any other.
static PyObject* apply_batched(PyObject* cls, PyObject* args, PyObject* kwargs) {
    Object part(checked(PyImport_ImportModule("kindling.func._vmap")));
    auto instead = [&](const char* what) -> PyObject* {
        Object other(checked(PyObject_CallMethod(part.get(), what, "OO", cls, args)));
        if (other.get() == Py_None) return nullptr;
        Object run(checked(PyObject_GetAttrString(other.get(), "apply")));
        return checked(PyObject_Call(run.get(), args, kwargs));
    };
    std::vector<TensorImpl*> tensors;
    uint64_t newest = 0;
    bool above = false; // the graph of the newest level records it, too
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        if (PyObject* item = PyTuple_GET_ITEM(args, i); python::is_tensor(item)) tensors.push_back(impl_of(item));
    for (TensorImpl* tensor : tensors)
        if (Batch* batch = batch_behind(tensor)) newest = std::max(newest, batch->level->id);
    for (TensorImpl* tensor : tensors)
        if (Batch* batch = batch_behind(tensor)) above |= batch->level->id == newest && requires_grad(tensor);
    BatchLevel* found[most_levels];
    const Span<BatchLevel*> levels(found, static_cast<size_t>(levels_above_graph(std::move(tensors), found)));
    if (levels.empty()) return instead("mapped_class");
    if (above) return instead("class_above_graph");
    Object given(checked(PyTuple_New(PyTuple_GET_SIZE(args))));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        PyObject* item = PyTuple_GET_ITEM(args, i);
        PyTuple_SET_ITEM(given.get(), i, python::is_tensor(item) ? wrap(enter_graph(tensor_of(item), levels)) : Py_NewRef(item));
    }
    Object result(checked(apply(cls, given.get(), kwargs)));
    auto leave = [&](PyObject* item) { return python::is_tensor(item) ? wrap(leave_graph(tensor_of(item), levels)) : Py_NewRef(item); };
    if (!PyTuple_CheckExact(result.get())) return leave(result.get());
    Object all(checked(PyTuple_New(PyTuple_GET_SIZE(result.get()))));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.get()); i++)
        PyTuple_SET_ITEM(all.get(), i, leave(PyTuple_GET_ITEM(result.get(), i)));
    return all.take();
}

static PyObject* apply(PyObject* cls, PyObject* args, PyObject* kwargs) {
    return guarded([&]() -> PyObject* {
        if (is_traced()) [[unlikely]]
            return apply_traced(cls, args, kwargs);
        // Where vmaps of the first form alone are open, it is called as it is.
        const bool opened = thread_state.transforms, inside = opened && inside_transform();
        if (inside) [[unlikely]] {
            Object setup(checked(PyObject_GetAttrString(cls, "setup_context")));
            KINDLING_CHECK(Runtime, !PyObject_HasAttrString(setup.get(), "_is_default"),
                           "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
                           "override the setup_context staticmethod. For more "
                           "details, please see https://pytorch.org/docs/main/notes/extending.func.html");
        }
        bool batched = false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
            batched |= python::is_tensor(PyTuple_GET_ITEM(args, i)) && impl_of(PyTuple_GET_ITEM(args, i))->key & key::Wrapped;
        if (batched && (inside || !opened)) [[unlikely]]
            if (PyObject* result = apply_batched(cls, args, kwargs)) return result;
        Object backward_class(checked(PyObject_GetAttrString(cls, "_backward_cls")));
        Object object(checked(PyObject_CallNoArgs(backward_class.get())));
        if (!PyObject_TypeCheck(object.get(), function_base_type)) fail(ErrorKind::Type, "_backward_cls must derive from _FunctionBase");
        ContextObject* context = as_context(object.get());
        auto count = static_cast<size_t>(PyTuple_GET_SIZE(args));
        bool any = false, dual = false;
        Object needs(checked(PyTuple_New(static_cast<Py_ssize_t>(count))));
        for (size_t i = 0; i < count; i++) {
            PyObject* item = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
            bool needed = python::is_tensor(item) && requires_grad(impl_of(item));
            any |= needed;
            dual |= python::is_tensor(item) && key_of(impl_of(item)) & key::Dual;
            PyTuple_SET_ITEM(needs.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(needed));
        }
        bool recorded = any && thread_state.grad_mode && !thread_state.inference_mode && !(thread_state.exclude & key::Autograd);
        Py_XSETREF(context->needs_input_grad, needs.take());
        Ref<GradNode> node;
        PythonNode* mine = nullptr;
        if (recorded) {
            mine = new PythonNode(object.get());
            node = Ref<GradNode>::adopt(mine);
            for (size_t i = 0; i < count; i++) {
                PyObject* item = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
                mine->is_tensor.push_back(python::is_tensor(item));
                if (!mine->is_tensor.back()) continue;
                TensorImpl* impl = impl_of(item);
                node->edges.emplace_back(requires_grad(impl) ? gradient_edge(impl) : Edge());
            }
        }
        // Does the class keep forward and context apart?
        Object setup(checked(PyObject_GetAttrString(cls, "setup_context")));
        bool apart = !PyObject_HasAttrString(setup.get(), "_is_default");
        Object forward(checked(PyObject_GetAttrString(cls, "forward")));
        Object output;
        {
            NoGradGuard no_grad;
            NoForward no_forward;
            if (apart) {
                output = Object(checked(PyObject_Call(forward.get(), args, kwargs)));
                Object setup_arguments(checked(PyTuple_Pack(3, object.get(), args, output.get())));
                Object done(checked(PyObject_CallObject(setup.get(), setup_arguments.get())));
            } else {
                Object with_context(checked(PyTuple_New(static_cast<Py_ssize_t>(count + 1))));
                PyTuple_SET_ITEM(with_context.get(), 0, Py_NewRef(object.get()));
                for (size_t i = 0; i < count; i++)
                    PyTuple_SET_ITEM(with_context.get(), static_cast<Py_ssize_t>(i + 1),
                                     Py_NewRef(PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i))));
                output = Object(checked(PyObject_Call(forward.get(), with_context.get(), kwargs)));
            }
        }
        check_tuple(context->dirty_tensors, "mark_dirty");
        check_tuple(context->non_differentiable, "mark_non_differentiable");
        bool single = !PyTuple_Check(output.get());
        Object outputs = single ? Object(checked(PyTuple_Pack(1, output.get()))) : output;
        auto output_count = static_cast<size_t>(PyTuple_GET_SIZE(outputs.get()));
        if (context->dirty_tensors)
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(context->dirty_tensors); i++) {
                PyObject* dirty = PyTuple_GET_ITEM(context->dirty_tensors, i);
                if (!python::is_tensor(dirty))
                    fail(ErrorKind::Type, "mark_dirty can only mark tensors, but argument %zd is %s", i, Py_TYPE(dirty)->tp_name);
                KINDLING_CHECK(Runtime, contains(outputs.get(), dirty),
                               "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                               "modified inplace must all be outputs of the Function.");
                tensor_of(dirty).bump_version();
            }
        size_t tensor_outputs = 0;
        for (size_t i = 0; i < output_count; i++)
            tensor_outputs += python::is_tensor(PyTuple_GET_ITEM(outputs.get(), static_cast<Py_ssize_t>(i)));
        Object finished(checked(PyTuple_New(static_cast<Py_ssize_t>(output_count))));
        for (size_t i = 0; i < output_count; i++) {
            PyObject* item = PyTuple_GET_ITEM(outputs.get(), static_cast<Py_ssize_t>(i));
            if (!python::is_tensor(item)) {
                if (mine) {
                    mine->outputs.emplace_back();
                    node->inputs.emplace_back();
                }
                PyTuple_SET_ITEM(finished.get(), static_cast<Py_ssize_t>(i), Py_NewRef(item));
                continue;
            }
            if (mine) mine->outputs.emplace_back(*impl_of(item));
            size_t before = node ? node->inputs.size() : 0;
            PyTuple_SET_ITEM(finished.get(), static_cast<Py_ssize_t>(i), checked(finish_output(item, context, node, args, tensor_outputs)));
            if (node && node->inputs.size() == before) node->inputs.emplace_back();
        }
        if (dual && thread_state.forward_grad_mode && !thread_state.inference_mode) {
            check_tuple(context->saved_for_forward, "save_for_forward");
            if (!context->saved_for_forward)
                context->saved_for_forward = checked(PyTuple_New(0)); // what was saved for backward is not for jvp
            apply_jvp(context, args, outputs.get(), finished.get());
        }
        Py_CLEAR(context->saved_for_forward);
        if (context->to_save) {
            check_tuple(context->to_save, "save_for_backward");
            if (mine && context->to_save) {
                for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(context->to_save); i++) {
                    PyObject* item = PyTuple_GET_ITEM(context->to_save, i);
                    if (item == Py_None) {
                        mine->saved.emplace_back();
                        continue;
                    }
                    if (!python::is_tensor(item))
                        fail(ErrorKind::Type, "save_for_backward can only save variables, but argument %zd is of type %s", i,
                             Py_TYPE(item)->tp_name);
                    // An output may have been handed on under another name.
                    Tensor tensor = tensor_of(item);
                    for (size_t o = 0; o < output_count; o++)
                        if (PyTuple_GET_ITEM(outputs.get(), static_cast<Py_ssize_t>(o)) == item && !contains(args, item))
                            tensor = tensor_of(PyTuple_GET_ITEM(finished.get(), static_cast<Py_ssize_t>(o)));
                    bool own = tensor.impl()->autograd && tensor.impl()->autograd->grad_fn == node;
                    mine->saved.emplace_back(tensor, own);
                }
            }
            if (mine) Py_CLEAR(context->to_save);
        }
        Py_CLEAR(context->dirty_tensors);
        Py_CLEAR(context->non_differentiable);
        context->applied = 1;
        if (!single) return finished.take();
        return Py_NewRef(PyTuple_GET_ITEM(finished.get(), 0));
    });
}

// ---- the type

static PyObject* context_new(PyTypeObject* type, PyObject*, PyObject*) {
    PyObject* self = type->tp_alloc(type, 0);
    if (self) as_context(self)->materialize_grads = 1;
    return self;
}
static int context_traverse(PyObject* self, visitproc visit, void* arg) {
    ContextObject* context = as_context(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(context->dict);
    Py_VISIT(context->needs_input_grad);
    Py_VISIT(context->to_save);
    Py_VISIT(context->non_differentiable);
    Py_VISIT(context->dirty_tensors);
    Py_VISIT(context->saved_for_forward);
    return 0;
}
static int context_clear(PyObject* self) {
    ContextObject* context = as_context(self);
    Py_CLEAR(context->dict);
    Py_CLEAR(context->needs_input_grad);
    Py_CLEAR(context->to_save);
    Py_CLEAR(context->non_differentiable);
    Py_CLEAR(context->dirty_tensors);
    Py_CLEAR(context->saved_for_forward);
    return 0;
}
static void context_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    if (as_context(self)->base.weak_references) PyObject_ClearWeakRefs(self);
    context_clear(self);
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject* get_saved_tensors(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        ContextObject* context = as_context(self);
        if (context->saved_for_forward) return Py_NewRef(context->saved_for_forward);
        auto* node = static_cast<PythonNode*>(context->base.node);
        if (!node || !context->applied) return context->to_save ? Py_NewRef(context->to_save) : PyTuple_New(0);
        if (node->released) fail_released();
        auto ref = Ref<GradNode>::share(node);
        Object tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(node->saved.size()))));
        for (size_t i = 0; i < node->saved.size(); i++)
            PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(wrap(node->saved[i].unpack(ref, true))));
        return tuple.take();
    });
}
static PyObject* get_raw_saved_tensors(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        auto* node = static_cast<PythonNode*>(node_of(self));
        if (node->released) fail_released();
        Object tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(node->saved.size()))));
        for (size_t i = 0; i < node->saved.size(); i++)
            PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(raw_saved(self, node, &node->saved[i])));
        return tuple.take();
    });
}
static PyObject* get_needs_input_grad(PyObject* self, void*) {
    PyObject* needs = as_context(self)->needs_input_grad;
    return Py_NewRef(needs ? needs : Py_None);
}
static int set_needs_input_grad(PyObject* self, PyObject* value, void*) {
    Py_XSETREF(as_context(self)->needs_input_grad, Py_XNewRef(value));
    return 0;
}
static PyObject* get_materialize(PyObject* self, void*) { return PyBool_FromLong(as_context(self)->materialize_grads); }
static int set_materialize(PyObject* self, PyObject* value, void*) {
    if (!value || !PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "expected bool, but got %s", value ? Py_TYPE(value)->tp_name : "nothing");
        return -1;
    }
    as_context(self)->materialize_grads = value == Py_True;
    return 0;
}

static PyGetSetDef context_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"saved_tensors", get_saved_tensors, nullptr, "What save_for_backward kept.", nullptr},
    {"saved_variables", get_saved_tensors, nullptr, "Old name of saved_tensors.", nullptr},
    {"_raw_saved_tensors", get_raw_saved_tensors, nullptr, nullptr, nullptr},
    {"needs_input_grad", get_needs_input_grad, set_needs_input_grad, "For each argument of apply: is its gradient wanted?", nullptr},
    {"materialize_grads", get_materialize, set_materialize, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
static PyMemberDef context_members[] = {
    {"to_save", T_OBJECT, offsetof(ContextObject, to_save), 0, nullptr},
    {"non_differentiable", T_OBJECT, offsetof(ContextObject, non_differentiable), 0, nullptr},
    {"dirty_tensors", T_OBJECT, offsetof(ContextObject, dirty_tensors), 0, nullptr},
    {"saved_for_forward", T_OBJECT, offsetof(ContextObject, saved_for_forward), 0, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(ContextObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ContextObject, base.weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
static PyMethodDef context_methods[] = {
    {"apply", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(apply)), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "apply(*args)\n\nRuns forward and records backward."},
    {nullptr, nullptr, 0, nullptr},
};
static PyType_Slot context_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(context_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(context_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(context_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(context_clear)},
    {Py_tp_getset, context_getset},
    {Py_tp_members, context_members},
    {Py_tp_methods, context_methods},
    {0, nullptr},
};
static PyType_Spec context_spec = {
    "kindling._C._FunctionBase", sizeof(ContextObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, context_slots,
};

bool init_autograd_function(PyObject* module) {
    PyObject* bases = PyTuple_Pack(1, node_type);
    function_base_type = bases ? reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&context_spec, bases)) : nullptr;
    Py_XDECREF(bases);
    return function_base_type && PyModule_AddObjectRef(module, "_FunctionBase", reinterpret_cast<PyObject*>(function_base_type)) == 0;
}

} // namespace kindling::python
