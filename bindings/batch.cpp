// bindings/batch.cpp: what torch.vmap (kindling/func/_vmap.py) needs: levels, and tensors in and out of them.
#include "autograd/forward.h"
#include "autograd/meta.h"
#include "bindings/function.h"
#include "bindings/types.h"
#include "core/batch.h"
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
                             level->randomness == Randomness::Error ? "error" : level->randomness == Randomness::Same ? "same" : "different");
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
    return guarded([&] { return Py_BuildValue("(NiO)", wrap(Tensor(batch->inner)), batch->level->depth, batch->batched ? Py_True : Py_False); });
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
        if (BatchLevel* level = thread_state.levels; level && !batch_at(t.impl(), level)) return wrap(make_batched(t, Ref<BatchLevel>::share(level), false));
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
static PyObject* slices_shown(PyObject*, PyObject*) { return PyBool_FromLong(warn_of_slices); }

bool init_batch(PyObject* module) {
    static PyMethodDef functions[] = {{"_vmap_open", vmap_open, METH_VARARGS, nullptr},
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

}  // namespace kindling::python
