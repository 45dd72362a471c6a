// bindings/batch.cpp: what torch.vmap (kindling/func/_vmap.py) needs: levels, and tensors in and out of them.
// Compiled for size.
#include "core/batch.h"
#include "autograd/forward.h"
#include "autograd/meta.h"
#include "bindings/function.h"
#include "bindings/types.h"
#include "operators/batching.h"

namespace kindling::python {

/// _C._vmap_open(size, randomness): the number of the level, from 1 on.
static PyObject* vmap_open(PyObject*, PyObject* args) {
    long long size;
    int randomness;
    if (!PyArg_ParseTuple(args, "Li", &size, &randomness)) return nullptr;
    auto level = Ref<BatchLevel>::adopt(new BatchLevel(size));
    level->randomness = static_cast<Randomness>(randomness);
    open_level(level);
    return PyLong_FromLong(level->depth);
}

static PyObject* vmap_close(PyObject*, PyObject*) {
    return guarded([&]() -> PyObject* {
        close_level();
        Py_RETURN_NONE;
    });
}

/// An open level by its number, or that of a batched tensor, which may have ended.
static BatchLevel* level_at(PyObject* which) {
    if (is_tensor(which)) {
        const Batch* batch = batch_behind(impl_of(which));
        KINDLING_CHECK(Runtime, batch, "vmap: a batched tensor was expected");
        return batch->level.get();
    }
    const auto depth = static_cast<int>(PyLong_AsLong(which));
    BatchLevel* level = thread_state.levels;
    while (level && level->depth > depth) level = level->outer;
    KINDLING_CHECK(Runtime, level && level->depth == depth, "vmap: there is no level %d here", depth);
    return level;
}

/// _C._vmap_wrap(tensor, depth, batched=True): the slices of a tensor whose first dimension counts them, or that is the same for all.
static PyObject* vmap_wrap(PyObject*, PyObject* args) {
    PyObject* tensor;
    PyObject* depth;
    int batched = 1;
    if (!PyArg_ParseTuple(args, "O!O|p", tensor_type, &tensor, &depth, &batched)) return nullptr;
    return guarded([&] { return wrap(make_batched(tensor_of(tensor), Ref<BatchLevel>::share(level_at(depth)), batched)); });
}

/// _C._vmap_unwrap(tensor, depth): (what is below, whether it has a dimension for the slices).
static PyObject* vmap_unwrap(PyObject*, PyObject* args) {
    PyObject *tensor, *depth;
    if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &depth)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Batch* batch = batch_at(impl_of(tensor), level_at(depth));
        if (!batch) return Py_BuildValue("(OO)", tensor, Py_False);
        return Py_BuildValue("(NO)", wrap(Tensor(batch->inner)), batch->batched ? Py_True : Py_False);
    });
}

/// _C._vmap_level(depth): (how many slices, "error", "different" or "same").
static PyObject* vmap_level(PyObject*, PyObject* depth) {
    return guarded([&] {
        const BatchLevel* level = level_at(depth);
        return Py_BuildValue("(Ls)", static_cast<long long>(level->size),
                             level->randomness == Randomness::Same        ? "same"
                             : level->randomness == Randomness::Different ? "different"
                                                                          : "error");
    });
}

/// _C._vmap_below(depth, function, args): a call that belongs to the levels below one that is open.
static PyObject* vmap_below(PyObject*, PyObject* all) {
    PyObject *depth, *function, *args;
    if (!PyArg_ParseTuple(all, "OOO!", &depth, &function, &PyTuple_Type, &args)) return nullptr;
    return guarded([&] {
        BelowVmap below(level_at(depth));
        return checked(PyObject_CallObject(function, args));
    });
}

/// _C._batch_of(tensor): (what is below, depth, whether it has a dimension for the slices), or None.
static PyObject* batch_of_tensor(PyObject*, PyObject* tensor) {
    const Batch* batch = is_tensor(tensor) ? batch_behind(impl_of(tensor)) : nullptr;
    if (!batch) Py_RETURN_NONE;
    return guarded(
        [&] { return Py_BuildValue("(NiO)", wrap(Tensor(batch->inner)), batch->level->depth, batch->batched ? Py_True : Py_False); });
}

/// _C._vmap_depth(): how many levels are open in this thread.
static PyObject* vmap_depth(PyObject*, PyObject*) { return PyLong_FromLong(thread_state.levels ? thread_state.levels->depth : 0); }

/// _C._vmap_newest(args): the tensor of a list that is of the newest level, or None.
static PyObject* vmap_newest(PyObject*, PyObject* list) {
    if (!PyList_Check(list)) return PyErr_Format(PyExc_TypeError, "_vmap_newest takes a list");
    PyObject* newest = Py_None;
    uint64_t id = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject* item = PyList_GET_ITEM(list, i);
        const Batch* batch = is_tensor(item) ? batch_behind(impl_of(item)) : nullptr;
        if (batch && batch->level->id > id) newest = item, id = batch->level->id;
    }
    return Py_NewRef(newest);
}

/// _C._vmap_header(tensor): the same without the history of its own level.
static PyObject* vmap_header(PyObject*, PyObject* tensor) {
    if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "_vmap_header takes a tensor");
    return guarded([&] { return wrap(batch_behind(impl_of(tensor)) ? ::kindling::detached(tensor_of(tensor)) : tensor_of(tensor)); });
}

/// _C._apart(tensor): the same values and tangents without the history that they have at the newest level. Histories of levels
/// below stay. What lies below the innermost vmap is the same for all slices of it.
static PyObject* apart(PyObject*, PyObject* tensor) {
    if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "_apart takes a tensor");
    return guarded([&] {
        Tensor t = tensor_of(tensor);
        if (BatchLevel* level = thread_state.levels; level && !batch_at(t.impl(), level))
            return wrap(make_batched(t, Ref<BatchLevel>::share(level), false));
        Tensor copy = ::kindling::detached(t);
        share_tangents(copy.impl(), t.impl());
        return wrap(copy);
    });
}

/// _C._is_below(tensor): whether a vmap is open that this tensor is not of.
static PyObject* is_below(PyObject*, PyObject* tensor) {
    return PyBool_FromLong(is_tensor(tensor) && thread_state.levels && !batch_at(impl_of(tensor), thread_state.levels));
}

static PyObject* show_slices(PyObject*, PyObject* on) {
    const int truth = PyObject_IsTrue(on);
    if (truth < 0) return nullptr;
    warn_of_slices = truth;
    Py_RETURN_NONE;
}
/// _C._vmap_may_slice([on]): whether calls may go slice by slice; what it was.
static PyObject* slices_allowed(PyObject*, PyObject* args) {
    int on = -1;
    if (!PyArg_ParseTuple(args, "|p", &on)) return nullptr;
    const bool before = may_slice;
    if (on >= 0) may_slice = on;
    return PyBool_FromLong(before);
}
static PyObject* slices_shown(PyObject*, PyObject*) { return PyBool_FromLong(warn_of_slices); }

/// _C._leaf(tensor): _apart that requires grad.
static PyObject* leaf(PyObject* module, PyObject* tensor) {
    PyObject* made = apart(module, tensor);
    if (!made) return nullptr;
    return guarded([&] {
        tensor_of(made).requires_grad_(true);
        return made;
    });
}

// ---- transforms of all kinds

static constexpr const char* kinds[] = {"grad", "jvp", "functionalize"};

/// _C._transform_open(kind): the number of the level, from 1 on.
static PyObject* transform_open(PyObject*, PyObject* kind) {
    for (int i = 0; i < 3; i++)
        if (PyUnicode_Check(kind) && PyUnicode_CompareWithASCIIString(kind, kinds[i]) == 0) {
            open_level(static_cast<GradLevel::Kind>(i));
            return PyLong_FromLong(thread_state.transforms);
        }
    return PyErr_Format(PyExc_ValueError, "there is no transform %R", kind);
}

static PyObject* transform_close(PyObject*, PyObject*) {
    return guarded([&]() -> PyObject* {
        close_grad_level();
        Py_RETURN_NONE;
    });
}

/// _C._transforms(): (kind, number, how many slices, randomness, whether graphs were recorded around it) of all that are open, the
/// outermost first.
static PyObject* transforms(PyObject*, PyObject*) {
    return guarded([&]() -> PyObject* {
        Object list(checked(PyList_New(0)));
        const BatchLevel* level = thread_state.levels;
        const GradLevel* other = thread_state.grads;
        while (level || other) {
            const bool maps = level && (!other || level->depth > other->depth);
            Object one(checked(maps ? Py_BuildValue("(siLiO)", "vmap", level->depth, static_cast<long long>(level->size),
                                                    static_cast<int>(level->randomness), Py_True)
                                    : Py_BuildValue("(siLiO)", kinds[static_cast<int>(other->kind)], other->depth, 0LL, 0,
                                                    other->grad_mode ? Py_True : Py_False)));
            if (PyList_Append(list.get(), one.get()) < 0) throw_python();
            if (maps) level = level->outer;
            else other = other->outer;
        }
        if (PyList_Reverse(list.get()) < 0) throw_python();
        return list.take();
    });
}

/// _C._transform_depth(): how many transforms are open in this thread.
static PyObject* transform_depth(PyObject*, PyObject*) { return PyLong_FromLong(thread_state.transforms); }

/// _C._born_in(tensor): the number of the open transform by derivatives that a tensor was made in, 0 if it was made outside of all, -1
/// if it has ended.
static PyObject* born_in(PyObject*, PyObject* tensor) {
    if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "_born_in takes a tensor");
    const uint32_t born = impl_of(tensor)->born;
    if (!born) return PyLong_FromLong(0);
    for (const GradLevel* level = thread_state.grads; level; level = level->outer)
        if (level->id == born && level->kind != GradLevel::Kind::Functionalize) return PyLong_FromLong(level->depth);
    return PyLong_FromLong(-1);
}

/// _C._leaves_transform(tensor): it is handed out of those that have ended.
static PyObject* leaves_transform(PyObject*, PyObject* tensor) {
    if (is_tensor(tensor)) impl_of(tensor)->born = open_grad;
    return Py_NewRef(tensor);
}

/// _C._below_transform(tensor): the same values without the history of the transform that it was made in, as a tensor of the one around.
static PyObject* below_transform(PyObject*, PyObject* tensor) {
    if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "_below_transform takes a tensor");
    return guarded([&] {
        const TensorImpl* impl = impl_of(tensor);
        Tensor below = ::kindling::detached(tensor_of(tensor));
        const GradLevel* level = thread_state.grads;
        while (level && level->id >= impl->born) level = level->outer;
        below.impl()->born = level ? level->id : 0;
        return wrap(below);
    });
}

/// _C._may_require_grad([on]): whether requires_grad_ is allowed inside of transforms; what it was.
static PyObject* may_require_grad(PyObject*, PyObject* args) {
    int on = -1;
    if (!PyArg_ParseTuple(args, "|p", &on)) return nullptr;
    const bool before = thread_state.may_require_grad;
    if (on >= 0) thread_state.may_require_grad = on;
    return PyBool_FromLong(before);
}

bool init_batch(PyObject* module) {
    static PyMethodDef functions[] = {{"_leaf", leaf, METH_O, nullptr},
                                      {"_vmap_may_slice", slices_allowed, METH_VARARGS, nullptr},
                                      {"_transform_open", transform_open, METH_O, nullptr},
                                      {"_transform_close", transform_close, METH_NOARGS, nullptr},
                                      {"_transforms", transforms, METH_NOARGS, nullptr},
                                      {"_transform_depth", transform_depth, METH_NOARGS, nullptr},
                                      {"_born_in", born_in, METH_O, nullptr},
                                      {"_leaves_transform", leaves_transform, METH_O, nullptr},
                                      {"_below_transform", below_transform, METH_O, nullptr},
                                      {"_may_require_grad", may_require_grad, METH_VARARGS, nullptr},
                                      {"_vmap_open", vmap_open, METH_VARARGS, nullptr},
                                      {"_vmap_close", vmap_close, METH_NOARGS, nullptr},
                                      {"_vmap_wrap", vmap_wrap, METH_VARARGS, nullptr},
                                      {"_vmap_unwrap", vmap_unwrap, METH_VARARGS, nullptr},
                                      {"_debug_only_display_vmap_fallback_warnings", show_slices, METH_O, nullptr},
                                      {"_debug_only_are_vmap_fallback_warnings_enabled", slices_shown, METH_NOARGS, nullptr},
                                      {"_vmap_header", vmap_header, METH_O, nullptr},
                                      {"_vmap_newest", vmap_newest, METH_O, nullptr},
                                      {"_vmap_level", vmap_level, METH_O, nullptr},
                                      {"_vmap_below", vmap_below, METH_VARARGS, nullptr},
                                      {"_vmap_depth", vmap_depth, METH_NOARGS, nullptr},
                                      {"_batch_of", batch_of_tensor, METH_O, nullptr},
                                      {"_apart", apart, METH_O, nullptr},
                                      {"_is_below", is_below, METH_O, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
