// bindings/autograd/autograd_engine.cpp: the engine and the modes as Python calls them.
// Compiled for size.
#include "autograd/forward.h"
#include "autograd/meta.h"
#include "autograd/ops.h"
#include "bindings/autograd/autograd_python.h"
#include "bindings/function.h"
#include "core/batch.h"
#include "runtime/threads.h"

#include <cstring>

namespace kindling::python {

// ---- backward calls

/// Tensors out of a sequence; None where allowed.
static std::vector<Tensor> tensors_of(PyObject* sequence, const char* what, bool none_allowed) {
    Object fast(checked(PySequence_Fast(sequence, "expected a sequence of tensors")));
    std::vector<Tensor> list;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
        PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
        if (none_allowed && item == Py_None) {
            list.emplace_back();
            continue;
        }
        if (!is_tensor(item)) fail(ErrorKind::Type, "element %zd of %s tuple is not a Tensor%s", i, what, none_allowed ? " or None" : "");
        list.push_back(tensor_of(item));
    }
    return list;
}

/// A root or target: a tensor, or a GradientEdge (a pair of node and output number).
struct Ends {
    std::vector<Tensor> tensors; // undefined where an edge was given
    std::vector<Edge> edges;
};
static Ends ends_of(PyObject* sequence, const char* what) {
    Object fast(checked(PySequence_Fast(sequence, "expected a sequence of tensors")));
    Ends ends;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
        PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
        if (is_tensor(item)) {
            ends.tensors.push_back(tensor_of(item));
            ends.edges.emplace_back();
        } else if (PyTuple_Check(item) && PyTuple_GET_SIZE(item) >= 2 && is_node(PyTuple_GET_ITEM(item, 0))) {
            ends.tensors.emplace_back();
            auto output = static_cast<uint32_t>(PyLong_AsLong(PyTuple_GET_ITEM(item, 1)));
            if (PyErr_Occurred()) throw_python();
            ends.edges.push_back({Ref<GradNode>::share(node_of(PyTuple_GET_ITEM(item, 0))), output});
        } else {
            if (std::strcmp(what, "inputs") == 0)
                fail(ErrorKind::Runtime, "all inputs have to be Tensors or GradientEdges, but got %s", Py_TYPE(item)->tp_name);
            fail(ErrorKind::Type, "element %zd of %s tuple is neither a Tensor nor a GradientEdge", i, what);
        }
    }
    return ends;
}

/// run_backward(tensors, grad_tensors, keep_graph, create_graph, inputs, allow_unreachable, accumulate_grad)
static PyObject* run_backward_method(PyObject*, PyObject* args, PyObject* kwargs) {
    PyObject *tensors, *gradients, *inputs = nullptr;
    int keep = 0, create = 0, allow_unused = 0, accumulate = 0;
    static const char* names[] = {"tensors", "grad_tensors",      "keep_graph",      "create_graph",
                                  "inputs",  "allow_unreachable", "accumulate_grad", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOpp|Opp", const_cast<char**>(names), &tensors, &gradients, &keep, &create, &inputs,
                                     &allow_unused, &accumulate))
        return nullptr;
    return guarded([&]() -> PyObject* {
        Ends roots = ends_of(tensors, "tensors"), targets;
        std::vector<Tensor> seeds = tensors_of(gradients, "gradients", true);
        if (inputs && inputs != Py_None) targets = ends_of(inputs, "inputs");
        std::vector<Tensor> found;
        {
            Unlocked unlocked(thread_state.dispatch_modes == 0);
            found =
                differentiate_ends(roots.tensors.data(), roots.edges.data(), roots.tensors.size(), seeds.data(), seeds.size(), keep, create,
                                   targets.tensors.data(), targets.edges.data(), targets.tensors.size(), accumulate, allow_unused);
        }
        if (accumulate || !inputs || inputs == Py_None) Py_RETURN_NONE;
        return tensor_tuple(found.data(), found.size());
    });
}

static PyObject* queue_callback_method(PyObject*, PyObject* function) {
    return guarded([&]() -> PyObject* {
        queue_callback(
            [](void* context) {
                Lock lock;
                Py_DECREF(checked(PyObject_CallNoArgs(static_cast<PyObject*>(context))));
            },
            [](void* context) {
                Lock lock;
                Py_DECREF(static_cast<PyObject*>(context));
            },
            Py_NewRef(function));
        Py_RETURN_NONE;
    });
}

static PyObject* is_checkpoint_valid(PyObject*, PyObject*) { return PyBool_FromLong(!current_task_is_selective()); }

// ---- modes

static PyObject* set_flag(PyObject* value, bool& flag) {
    int on = PyObject_IsTrue(value);
    if (on < 0) return nullptr;
    flag = on;
    Py_RETURN_NONE;
}
static PyObject* set_grad_enabled(PyObject*, PyObject* value) {
    if (!PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not %s", Py_TYPE(value)->tp_name);
        return nullptr;
    }
    return set_flag(value, thread_state.grad_mode);
}
static PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.grad_mode); }
static PyObject* set_forward_grad(PyObject*, PyObject* value) { return set_flag(value, thread_state.forward_grad_mode); }
static PyObject* is_forward_grad(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.forward_grad_mode); }
static PyObject* is_inference(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.inference_mode); }

/// Enters or leaves inference mode; gives what `_restore_inference_mode` needs.
static PyObject* set_inference(PyObject*, PyObject* value) {
    int on = PyObject_IsTrue(value);
    if (on < 0) return nullptr;
    long before = (thread_state.inference_mode ? 1 : 0) | (thread_state.grad_mode ? 2 : 0) |
                  (thread_state.exclude & key::Autograd ? 4 : 0) | (thread_state.forward_grad_mode ? 8 : 0);
    thread_state.inference_mode = on;
    thread_state.grad_mode = !on;
    thread_state.forward_grad_mode = !on;
    if (on) thread_state.exclude |= key::Autograd;
    else thread_state.exclude &= ~static_cast<uint32_t>(key::Autograd);
    return PyLong_FromLong(before);
}
static PyObject* restore_inference(PyObject*, PyObject* value) {
    long before = PyLong_AsLong(value);
    if (PyErr_Occurred()) return nullptr;
    thread_state.inference_mode = before & 1;
    thread_state.grad_mode = before & 2;
    thread_state.forward_grad_mode = before & 8;
    if (before & 4) thread_state.exclude |= key::Autograd;
    else thread_state.exclude &= ~static_cast<uint32_t>(key::Autograd);
    Py_RETURN_NONE;
}
static PyObject* set_multithreading(PyObject*, PyObject* value) { return set_flag(value, thread_state.multithreaded_backward); }
static PyObject* is_multithreading(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.multithreaded_backward); }

static PyObject* set_anomaly(PyObject*, PyObject* args) {
    int on, check_nan = 1;
    if (!PyArg_ParseTuple(args, "p|p", &on, &check_nan)) return nullptr;
    thread_state.anomaly = on;
    thread_state.anomaly_check_nan = check_nan;
    Py_RETURN_NONE;
}
static PyObject* is_anomaly(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.anomaly); }
static PyObject* is_anomaly_nan(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.anomaly_check_nan); }
static PyObject* task_id(PyObject*, PyObject*) { return PyLong_FromLongLong(current_task()); }
static PyObject* will_execute(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        KINDLING_CHECK(Runtime, is_node(object), "_will_engine_execute_node expects an grad_fn, but got %s", Py_TYPE(object)->tp_name);
        KINDLING_CHECK(Runtime, current_task() >= 0, "_get_should_execute_nodes should only be called during the backward pass");
        KINDLING_CHECK(Runtime, node_of(object)->kind != GradNode::Kind::Accumulate || current_task_accumulates(),
                       "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
                       "currently not supported.");
        return PyBool_FromLong(task_runs(*node_of(object)));
    });
}
static PyObject* execution_order(PyObject*, PyObject*) {
    return guarded([]() -> PyObject* {
        KINDLING_CHECK(Runtime, current_task() >= 0, "_current_graph_task_execution_order should only be called during the backward pass");
        KINDLING_CHECK(Runtime, !thread_state.multithreaded_backward,
                       "get_current_graph_task_execution_order expects the current backward to be executed with "
                       "multithreading disabled, e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n...     "
                       "torch.autograd.grad(...)\n");
        Object list(checked(PyList_New(0)));
        for (GradNode* node : task_order()) {
            Object item(checked(wrap_node(Ref<GradNode>::share(node))));
            if (PyList_Append(list.get(), item.get()) < 0) throw_python();
        }
        return list.take();
    });
}
static PyObject* current_node(PyObject*, PyObject*) {
    return guarded([] { return wrap_node(autograd_thread.running ? Ref<GradNode>::share(autograd_thread.running) : Ref<GradNode>()); });
}
static PyObject* gradient_edge_of(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        if (!is_tensor(object)) fail(ErrorKind::Type, "expected a Tensor, not %s", Py_TYPE(object)->tp_name);
        return edge_tuple(gradient_edge(impl_of(object)));
    });
}
/// A view as a custom Function or no_grad made it: what may not be written in place.
static PyObject* creation_of(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        if (!is_tensor(object)) fail(ErrorKind::Type, "expected a Tensor, not %s", Py_TYPE(object)->tp_name);
        return PyLong_FromLong(static_cast<long>(impl_of(object)->creation));
    });
}
static PyObject* bump_version(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        if (is_tensor(object)) tensor_of(object).bump_version();
        else
            for (auto& tensor : tensors_of(object, "tensors", false)) tensor.bump_version();
        Py_RETURN_NONE;
    });
}
static PyObject* set_version(PyObject*, PyObject* args) {
    PyObject* object;
    unsigned version;
    if (!PyArg_ParseTuple(args, "OI", &object, &version)) return nullptr;
    return guarded([&]() -> PyObject* {
        if (PyTuple_Check(object) || PyList_Check(object)) {
            for (auto& tensor : tensors_of(object, "tensors", false))
                if (tensor.impl()->version) tensor.impl()->version->store(version);
        } else if (is_tensor(object)) {
            if (impl_of(object)->version) impl_of(object)->version->store(version);
        } else fail(ErrorKind::Type, "expected a Tensor, not %s", Py_TYPE(object)->tp_name);
        Py_RETURN_NONE;
    });
}

// ---- forward mode

static uint64_t level_from(PyObject* object) {
    uint64_t level = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred()) throw_python();
    return level;
}
static PyObject* enter_level(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(enter_forward_level()); }
static PyObject* exit_level(PyObject*, PyObject* level) {
    return guarded([&]() -> PyObject* {
        exit_forward_level(level_from(level));
        Py_RETURN_NONE;
    });
}
static PyObject* make_dual_method(PyObject*, PyObject* args) {
    PyObject *primal, *tangent, *level;
    if (!PyArg_ParseTuple(args, "O!O!O", tensor_type, &primal, tensor_type, &tangent, &level)) return nullptr;
    return guarded([&] {
        Tensor from = tensor_of(primal); // of the innermost vmap, as what is computed from it
        if (BatchLevel* open = thread_state.levels; open && !batch_at(from.impl(), open))
            from = make_batched(from, Ref<BatchLevel>::share(open), false);
        return wrap(make_dual(from, tensor_of(tangent), level_from(level)));
    });
}
static PyObject* tangent_method(PyObject*, PyObject* args) {
    PyObject *tensor, *level;
    if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &level)) return nullptr;
    return guarded([&]() -> PyObject* {
        Tensor tangent = thread_state.forward_grad_mode ? tangent_of(impl_of(tensor), level_from(level)) : Tensor();
        return tangent.defined() ? wrap(tangent) : Py_NewRef(Py_None);
    });
}
static PyObject* primal_method(PyObject*, PyObject* args) {
    PyObject *tensor, *level;
    if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &level)) return nullptr;
    return guarded([&] { return wrap(primal_of(tensor_of(tensor), level_from(level))); });
}
/// [(level, tangent)], and the same tensor with others in their place.
static PyObject* tangents_method(PyObject*, PyObject* tensor) {
    if (!is_tensor(tensor)) return PyErr_Format(PyExc_TypeError, "expected a Tensor, not %s", Py_TYPE(tensor)->tp_name);
    return guarded([&] {
        Object list(checked(PyList_New(0)));
        for (auto& [level, tangent] : tangents_of(impl_of(tensor))) {
            Object pair(checked(Py_BuildValue("(KN)", static_cast<unsigned long long>(level), checked(wrap(tangent)))));
            if (PyList_Append(list.get(), pair.get()) < 0) throw_python();
        }
        return list.take();
    });
}
static PyObject* with_tangents(PyObject*, PyObject* args) {
    PyObject *tensor, *pairs;
    if (!PyArg_ParseTuple(args, "O!O!", tensor_type, &tensor, &PyList_Type, &pairs)) return nullptr;
    return guarded([&] {
        Tensor fresh = primal_of(tensor_of(tensor), 1);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); i++) {
            PyObject* pair = PyList_GET_ITEM(pairs, i);
            set_tangent(fresh, level_from(PyTuple_GetItem(pair, 0)), tensor_of(PyTuple_GetItem(pair, 1)));
        }
        return wrap(fresh);
    });
}
static PyMethodDef functions[] = {
    {"_enter_dual_level", enter_level, METH_NOARGS, nullptr},
    {"_exit_dual_level", exit_level, METH_O, nullptr},
    {"_make_dual", make_dual_method, METH_VARARGS, nullptr},
    {"_tangent", tangent_method, METH_VARARGS, nullptr},
    {"_primal", primal_method, METH_VARARGS, nullptr},
    {"_tangents", tangents_method, METH_O, nullptr},
    {"_with_tangents", with_tangents, METH_VARARGS, nullptr},
    {"_run_backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(run_backward_method)), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"_queue_callback", queue_callback_method, METH_O, nullptr},
    {"_is_checkpoint_valid", is_checkpoint_valid, METH_NOARGS, nullptr},
    {"_set_grad_enabled", set_grad_enabled, METH_O, nullptr},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS,
     "is_grad_enabled() -> bool\n\nWhether operations on tensors that require grad are recorded in this thread."},
    {"_set_fwd_grad_enabled", set_forward_grad, METH_O, nullptr},
    {"_is_fwd_grad_enabled", is_forward_grad, METH_NOARGS, nullptr},
    {"is_inference_mode_enabled", is_inference, METH_NOARGS,
     "is_inference_mode_enabled() -> bool\n\nWhether inference mode is on in this thread."},
    {"_enter_inference_mode", set_inference, METH_O, nullptr},
    {"_restore_inference_mode", restore_inference, METH_O, nullptr},
    {"_set_multithreading_enabled", set_multithreading, METH_O, nullptr},
    {"_is_multithreading_enabled", is_multithreading, METH_NOARGS, nullptr},
    {"_set_anomaly_enabled", set_anomaly, METH_VARARGS, nullptr},
    {"set_anomaly_enabled", set_anomaly, METH_VARARGS, nullptr},
    {"is_anomaly_enabled", is_anomaly, METH_NOARGS, "is_anomaly_enabled() -> bool"},
    {"is_anomaly_check_nan_enabled", is_anomaly_nan, METH_NOARGS, "is_anomaly_check_nan_enabled() -> bool"},
    {"_current_graph_task_id", task_id, METH_NOARGS, nullptr},
    {"_will_engine_execute_node", will_execute, METH_O, nullptr},
    {"_current_graph_task_execution_order", execution_order, METH_NOARGS, nullptr},
    {"_current_autograd_node", current_node, METH_NOARGS, nullptr},
    {"_gradient_edge", gradient_edge_of, METH_O, nullptr},
    {"_get_creation_meta", creation_of, METH_O, nullptr},
    {"_increment_version", bump_version, METH_O, nullptr},
    {"_unsafe_set_version_counter", set_version, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// ---- anomaly mode

static void keep_traceback(GradNode* node) {
    Lock lock;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (!node->metadata) node->metadata = PyDict_New();
    PyObject* format = import("traceback", "format_stack");
    PyObject* stack = format ? PyObject_CallNoArgs(format) : nullptr;
    if (stack && node->metadata) PyDict_SetItemString(static_cast<PyObject*>(node->metadata), "traceback_", stack);
    Py_XDECREF(stack);
    Py_XDECREF(format);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

static std::string joined_traceback(GradNode* node) {
    auto* metadata = static_cast<PyObject*>(node->metadata);
    PyObject* stack = metadata ? PyDict_GetItemString(metadata, "traceback_") : nullptr;
    PyObject* empty = stack ? PyUnicode_FromString("") : nullptr;
    PyObject* text = empty ? PyUnicode_Join(empty, stack) : nullptr;
    const char* utf8 = text ? PyUnicode_AsUTF8(text) : nullptr;
    std::string result = utf8 ? utf8 : "";
    PyErr_Clear();
    Py_XDECREF(empty);
    Py_XDECREF(text);
    return result;
}

/// Says where the node that failed was made, and the node whose backward made that, and so on.
static void show_traceback(GradNode* node) {
    Lock lock;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    std::string text = joined_traceback(node);
    if (text.empty())
        text = std::string("Error detected in ") + node->name() +
               ". No forward pass information available. Enable detect anomaly during "
               "forward pass for more information.";
    else text = std::string("Error detected in ") + node->name() + ". Traceback of forward call that caused the error:\n" + text;
    bool go_on = PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) == 0;
    for (GradNode* parent = node->anomaly_parent.get(); parent && go_on; parent = parent->anomaly_parent.get()) {
        std::string before = joined_traceback(parent);
        std::string message = std::string("\n\nPrevious calculation was induced by ") + parent->name() +
                              (before.empty() ? ". No forward pass information available."
                                              : ". Traceback of forward call that induced the previous calculation:\n" + before);
        go_on = PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) == 0;
    }
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

// ---- threads

/// A new thread for what would be too deep on this stack. The Python error it ends with becomes this thread's.
static bool on_thread(void (*body)(void*), void* context) {
    struct Call {
        void (*body)(void*);
        void* context;
        PyObject *type, *value, *trace;
    } call{body, context, nullptr, nullptr, nullptr};
    auto run = [](void* argument) {
        auto* c = static_cast<Call*>(argument);
        PyGILState_STATE state = PyGILState_Ensure();
        PyThreadState* mine = PyEval_SaveThread();
        c->body(c->context);
        PyEval_RestoreThread(mine);
        PyErr_Fetch(&c->type, &c->value, &c->trace);
        PyGILState_Release(state);
    };
    if (!run_on_thread(run, &call)) return false;
    if (!call.type) return true;
    Lock lock;
    PyErr_Restore(call.type, call.value, call.trace);
    return true;
}

bool init_autograd_engine(PyObject* module) {
    kindling::release_python_object = [](void* object) {
        if (!Py_IsInitialized()) return;
        Lock lock;
        Py_DECREF(static_cast<PyObject*>(object));
    };
    on_anomaly_node = keep_traceback;
    on_anomaly_error = show_traceback;
    new_stack = on_thread;
    return PyModule_AddFunctions(module, functions) == 0;
}

bool init_autograd(PyObject* module) {
    return init_autograd_nodes(module) && init_autograd_function(module) && init_saved_hooks(module) && init_autograd_engine(module);
}

} // namespace kindling::python
