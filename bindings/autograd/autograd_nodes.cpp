// bindings/autograd/autograd_nodes.cpp: the Python objects of nodes: names, edges, hooks, saved values.
// Compiled for size.
#include "autograd/plan.h"
#include "bindings/autograd/autograd_python.h"
#include "core/schema.h"

#include <structmember.h>

#include <cstring>

namespace kindling::python {

PyTypeObject* node_type = nullptr;
static PyTypeObject* saved_tensor_type = nullptr;
static PyObject* types_by_name = nullptr; // dict: "AddBackward0" -> its type

static NodeObject* as_node(PyObject* self) { return reinterpret_cast<NodeObject*>(self); }

/// A type for every name, as torch has: they show what an operation was. torch::autograd::X is X for Python.
static PyTypeObject* type_named(const char* name) {
    if (const char* colon = std::strrchr(name, ':')) name = colon + 1;
    if (!types_by_name && !(types_by_name = PyDict_New())) return nullptr;
    if (PyObject* known = PyDict_GetItemString(types_by_name, name)) return reinterpret_cast<PyTypeObject*>(known);
    PyObject* made = PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O){s:s,s:()}", name, node_type, "__module__",
                                           "builtins", "__slots__");
    if (!made) return nullptr;
    PyDict_SetItemString(types_by_name, name, made);
    Py_DECREF(made);
    return reinterpret_cast<PyTypeObject*>(made);
}

PyObject* wrap_node(const Ref<GradNode>& node) {
    if (!node) Py_RETURN_NONE;
    if (node->kind == GradNode::Kind::Python) return Py_NewRef(static_cast<PythonNode*>(node.get())->context);
    if (node->python) return Py_NewRef(static_cast<PyObject*>(node->python));
    PyTypeObject* type = type_named(node->name());
    if (!type) return nullptr;
    PyObject* self = type->tp_alloc(type, 0);
    if (!self) return nullptr;
    as_node(self)->node = Ref<GradNode>(node).take();
    node->python = self;
    return self;
}

GradNode* node_of(PyObject* object) {
    GradNode* node = as_node(object)->node;
    KINDLING_CHECK(Attribute, node, "Attribute is invalid for this instance of %s: it is not (or no longer) part of a graph",
                   Py_TYPE(object)->tp_name);
    return node;
}

static void node_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    NodeObject* object = as_node(self);
    if (object->weak_references) PyObject_ClearWeakRefs(self);
    if (GradNode* node = object->node) {
        node->python = nullptr;
        object->node = nullptr;
        release(node);
    }
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static int node_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    GradNode* node = as_node(self)->node;
    if (!node || node->use_count() != 1) return 0;
    if (node->metadata) Py_VISIT(static_cast<PyObject*>(node->metadata));
    if (node->hooks) {
        for (auto& each : node->hooks->tensor_hooks)
            if (each.hook->use_count() == 1 && each.hook->python()) Py_VISIT(static_cast<PyObject*>(each.hook->python()));
        for (auto* list : {&node->hooks->before, &node->hooks->after})
            for (auto& hook : *list)
                if (hook->use_count() == 1 && hook->python()) Py_VISIT(static_cast<PyObject*>(hook->python()));
    }
    return 0;
}
static int node_clear(PyObject* self) {
    GradNode* node = as_node(self)->node;
    if (node && node->use_count() == 1) {
        auto drop = std::move(node->hooks);
        Object metadata(static_cast<PyObject*>(node->metadata));
        node->metadata = nullptr;
    }
    return 0;
}

PyObject* edge_tuple(const Edge& edge) {
    Object node(checked(wrap_node(edge.node)));
    return Py_BuildValue("(OI)", node.get(), edge.input);
}

static PyObject* get_next_functions(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        GradNode* node = node_of(self);
        Object tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(node->edges.size()))));
        for (size_t i = 0; i < node->edges.size(); i++)
            PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(edge_tuple(node->edges[i])));
        return tuple.take();
    });
}
static PyObject* get_metadata(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        GradNode* node = node_of(self);
        if (!node->metadata) node->metadata = checked(PyDict_New());
        return Py_NewRef(static_cast<PyObject*>(node->metadata));
    });
}
static PyObject* get_variable(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        GradNode* node = node_of(self);
        if (node->kind != GradNode::Kind::Accumulate)
            fail(ErrorKind::Attribute, "'%s' object has no attribute 'variable'", Py_TYPE(self)->tp_name);
        return wrap(static_cast<AccumulateGrad*>(node)->variable);
    });
}
static PyObject* get_input_metadata(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        GradNode* node = node_of(self);
        Object kind(checked(import("kindling.autograd.graph", "_InputMetadata")));
        Object list(checked(PyList_New(0)));
        for (auto& meta : node->inputs) {
            Object dtype(checked(dtype_object(meta.dtype))), size(checked(size_object(meta.sizes))),
                device(checked(device_object(meta.device)));
            Object item(checked(PyObject_CallFunctionObjArgs(kind.get(), dtype.get(), size.get(), device.get(), nullptr)));
            if (PyList_Append(list.get(), item.get()) < 0) throw_python();
        }
        return list.take();
    });
}
static PyObject* get_requires_grad(PyObject*, void*) { Py_RETURN_TRUE; }

static PyObject* node_name_method(PyObject* self, PyObject*) {
    return guarded([&] { return PyUnicode_FromString(node_of(self)->name()); });
}
static PyObject* node_sequence(PyObject* self, PyObject*) {
    return guarded([&] { return PyLong_FromUnsignedLongLong(node_of(self)->sequence); });
}
static PyObject* node_set_sequence(PyObject* self, PyObject* value) {
    return guarded([&]() -> PyObject* {
        node_of(self)->sequence = PyLong_AsUnsignedLongLong(value);
        if (PyErr_Occurred()) return nullptr;
        Py_RETURN_NONE;
    });
}

/// One dict, one hook object, per node and kind.
static PyObject* hook_dict(std::vector<Ref<GradHook>>& hooks, SpinLock& lock) {
    for (auto& hook : hooks)
        if (hook->python()) return static_cast<PyObject*>(hook->python());
    Object dict(checked(new_hook_dict()));
    auto hook = Ref<GradHook>::adopt(new PythonHooks(dict.get()));
    SpinGuard guard(lock);
    hooks.push_back(hook);
    return dict.get(); // the hook holds it
}
static PyObject* node_register_hook(PyObject* self, PyObject* hook) {
    return guarded([&] { return add_hook(hook_dict(node_of(self)->need_hooks().after, node_of(self)->lock), hook); });
}
static PyObject* node_register_prehook(PyObject* self, PyObject* hook) {
    return guarded([&] { return add_hook(hook_dict(node_of(self)->need_hooks().before, node_of(self)->lock), hook); });
}

/// Runs the node by itself: grad_fn(gradient).
static PyObject* node_call(PyObject* self, PyObject* args, PyObject* kwargs) {
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "a node takes no keyword arguments");
        return nullptr;
    }
    return guarded([&]() -> PyObject* {
        auto node = Ref<GradNode>::share(node_of(self));
        size_t count = static_cast<size_t>(PyTuple_GET_SIZE(args));
        if (count != node->inputs.size()) fail(ErrorKind::Type, "expected %zu arguments, got %zu instead", node->inputs.size(), count);
        std::vector<Tensor> gradients(count), results(node->edges.size());
        for (size_t i = 0; i < count; i++) {
            PyObject* item = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
            if (item == Py_None) continue;
            if (!is_tensor(item)) fail(ErrorKind::Type, "expected Variable or None (got %s)", Py_TYPE(item)->tp_name);
            gradients[i] = tensor_of(item);
        }
        bool differentiable = thread_state.grad_mode;
        if (node->computes(gradients.data(), count)) {
            Unlocked unlocked(thread_state.dispatch_modes == 0);
            Backward backward{gradients.data(), gradients.size(), results.data(), nullptr, true, differentiable};
            node->apply(backward);
        }
        if (results.size() == 1) return wrap(results[0]);
        return tensor_tuple(results.data(), results.size());
    });
}

// ---- saved values

struct SavedTensorObject {
    PyObject_HEAD PyObject* owner; // the node's object; null for one made by itself, which owns `saved`
    const SavedTensor* saved;
};

PyObject* raw_saved(PyObject* owner, GradNode*, const SavedTensor* saved) {
    auto* self = PyObject_New(SavedTensorObject, saved_tensor_type);
    if (!self) return nullptr;
    self->owner = Py_NewRef(owner);
    self->saved = saved;
    return reinterpret_cast<PyObject*>(self);
}
/// _make_saved_tensor(tensor, is_output): a tensor kept as a node keeps it, by the hooks in force.
static PyObject* make_saved(PyObject*, PyObject* args, PyObject* kwargs) {
    PyObject* tensor;
    int is_output = 0;
    static const char* names[] = {"tensor", "is_output", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p", const_cast<char**>(names), &tensor, &is_output)) return nullptr;
    return guarded([&]() -> PyObject* {
        if (!is_tensor(tensor))
            fail(ErrorKind::Type, "_make_saved_tensor(): argument 'tensor' must be Tensor, not %s", Py_TYPE(tensor)->tp_name);
        auto saved = std::make_unique<SavedTensor>(tensor_of(tensor), is_output != 0);
        auto* self = PyObject_New(SavedTensorObject, saved_tensor_type);
        if (!self) return nullptr;
        self->owner = nullptr;
        self->saved = saved.release();
        return reinterpret_cast<PyObject*>(self);
    });
}
static void saved_dealloc(PyObject* self) {
    auto* object = reinterpret_cast<SavedTensorObject*>(self);
    if (object->owner) Py_DECREF(object->owner);
    else delete object->saved;
    PyTypeObject* type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/// The saved value behind a raw object, if its node still keeps it.
static const SavedTensor* still_saved(SavedTensorObject* self, Ref<GradNode>& node) {
    if (!self->owner) return self->saved;
    node = Ref<GradNode>::share(node_of(self->owner));
    if (node->kind == GradNode::Kind::Python) {
        for (auto& each : static_cast<PythonNode*>(node.get())->saved)
            if (&each == self->saved && !static_cast<PythonNode*>(node.get())->released) return self->saved;
        fail_released();
    }
    bool released;
    for (auto& each : saved_values(*node, released)) {
        if (released) break;
        if (each.tensor == self->saved) return self->saved;
        if (each.list)
            for (auto& member : *each.list)
                if (&member == self->saved) return self->saved;
    }
    fail_released();
}

struct PythonPacked final : PackedTensor {
    PyObject* packed;          // owned
    PyObject* unpack_function; // owned
    PythonPacked(PyObject* packed, PyObject* unpack) : packed(packed), unpack_function(Py_NewRef(unpack)) {}
    ~PythonPacked() override {
        if (!Py_IsInitialized()) return;
        Lock lock;
        Py_DECREF(packed);
        Py_DECREF(unpack_function);
    }
    Tensor unpack() override {
        Lock lock;
        Object result(checked(PyObject_CallOneArg(unpack_function, packed)));
        if (!is_tensor(result.get()))
            fail(ErrorKind::Type, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type %s",
                 Py_TYPE(result.get())->tp_name);
        return tensor_of(result.get());
    }
    void* python() override { return packed; }
};

struct PackWith {
    PyObject* pack;
    PyObject* unpack;
};
static PythonPacked* pack_by(const PackWith& hooks, const Tensor& tensor) {
    NoGradGuard no_grad;
    Object argument(checked(wrap(tensor)));
    uint32_t version = tensor.version();
    PyObject* packed = checked(PyObject_CallOneArg(hooks.pack, argument.get()));
    if (tensor.version() != version) {
        Py_DECREF(packed);
        fail(ErrorKind::Runtime,
             "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
             "can not be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
             "need to perform in-place operations on the input to a pack hook.");
    }
    return new PythonPacked(packed, hooks.unpack);
}
static std::shared_ptr<PackedTensor> pack_with(void* context, const Tensor& tensor) {
    return std::shared_ptr<PackedTensor>(pack_by(*static_cast<PackWith*>(context), tensor));
}

static PyObject* saved_register_hooks(PyObject* self, PyObject* args) {
    PyObject *pack, *unpack;
    if (PyTuple_GET_SIZE(args) != 2 || !PyCallable_Check(pack = PyTuple_GET_ITEM(args, 0)) ||
        !PyCallable_Check(unpack = PyTuple_GET_ITEM(args, 1))) {
        PyErr_Format(PyExc_TypeError, "register_hooks(): incompatible function arguments. Expected two functions, got %R", args);
        return nullptr;
    }
    return guarded([&]() -> PyObject* {
        Ref<GradNode> node;
        const SavedTensor* kept = nullptr;
        try {
            kept = still_saved(reinterpret_cast<SavedTensorObject*>(self), node);
        } catch (const Error&) {
            fail(ErrorKind::Runtime, "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                                     "graph are freed when you "
                                     "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
                                     "graph a second time or if you need to access "
                                     "saved variables after calling backward.");
        }
        auto* saved = const_cast<SavedTensor*>(kept);
        PackWith hooks{pack, unpack};
        saved->repack(pack_with, &hooks);
        Py_RETURN_NONE;
    });
}
static PyObject* saved_get_data(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        Ref<GradNode> node;
        const SavedTensor* saved = still_saved(reinterpret_cast<SavedTensorObject*>(self), node);
        if (saved->python()) return Py_NewRef(static_cast<PyObject*>(saved->python()));
        return wrap(saved->unpack(node, true));
    });
}
static PyObject* saved_unpack(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        Ref<GradNode> node;
        return wrap(still_saved(reinterpret_cast<SavedTensorObject*>(self), node)->unpack(node, true));
    });
}
static PyObject* saved_get_hooked(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        Ref<GradNode> node;
        return PyBool_FromLong(still_saved(reinterpret_cast<SavedTensorObject*>(self), node)->is_packed());
    });
}

/// What the derivative knows as self_sizes or self_shape is self_sym_sizes to programs.
static std::string public_name(const SavedView& saved) {
    std::string name = saved.name;
    if (name.ends_with("_sizes") || name.ends_with("_shape")) name.replace(name.size() - 6, 6, "_sym_sizes");
    return name;
}

PyObject* saved_attribute(PyObject* self, GradNode* node, const char* name, bool& found) {
    found = false;
    bool raw = std::strncmp(name, "_raw_saved_", 11) == 0;
    if (!raw && std::strncmp(name, "_saved_", 7) != 0) return nullptr;
    name += raw ? 11 : 7;
    auto ref = Ref<GradNode>::share(node);
    bool released;
    auto values = saved_values(*node, released);
    for (auto& each : values) {
        if (public_name(each) != name) continue;
        found = true;
        if (released && !(raw && (each.tensor || each.list))) fail_released(); // a raw one says so when it is asked
        auto show = [&](const SavedTensor& tensor) -> PyObject* {
            if (raw) return raw_saved(self, node, &tensor);
            if (!tensor.defined()) Py_RETURN_NONE;
            return wrap(tensor.unpack(ref, true));
        };
        if (each.tensor) return show(*each.tensor);
        if (each.list) {
            Object tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(each.list->size()))));
            for (size_t i = 0; i < each.list->size(); i++)
                PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(show((*each.list)[i])));
            return tuple.take();
        }
        if (each.shape) return int_tuple(each.shape->sizes());
        Value value = *each.plain;
        if (value.tag == Value::Tag::IntList) return int_tuple({value.integers, value.size});
        return to_python(value, false);
    }
    if (released) fail_released();
    return nullptr;
}

/// Programs that draw graphs look for what nodes have saved.
static PyObject* node_dir(PyObject* self, PyObject*) {
    Object names(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__", "O", self));
    if (!names) return nullptr;
    return guarded([&]() -> PyObject* {
        auto add = [&](const std::string& name) {
            Object text(checked(PyUnicode_FromString(name.c_str())));
            if (PyList_Append(names.get(), text.get()) < 0) throw_python();
        };
        bool released;
        for (auto& each : saved_values(*node_of(self), released)) {
            std::string name = public_name(each);
            add("_saved_" + name);
            if (each.tensor || each.list) add("_raw_saved_" + name);
        }
        return names.take();
    });
}

static PyObject* node_getattro(PyObject* self, PyObject* name) {
    PyObject* result = PyObject_GenericGetAttr(self, name);
    if (result || !PyErr_ExceptionMatches(PyExc_AttributeError) || !PyUnicode_Check(name)) return result;
    const char* text = PyUnicode_AsUTF8(name);
    GradNode* node = as_node(self)->node;
    if (!text || !node || (std::strncmp(text, "_saved_", 7) != 0 && std::strncmp(text, "_raw_saved_", 11) != 0)) return nullptr;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool found = false;
    result = guarded([&] { return saved_attribute(self, node, text, found); });
    if (result || PyErr_Occurred()) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return result;
    }
    PyErr_Restore(type, value, traceback);
    return nullptr;
}

static PyObject* node_repr(PyObject* self) { return PyUnicode_FromFormat("<%s object at %p>", Py_TYPE(self)->tp_name, self); }

// ---- saved_tensors_hooks

static thread_local constinit PyObject* my_hooks = nullptr; // this thread's stack: a list of (pack, unpack)

static PackedTensor* pack_default(const Tensor& tensor) {
    if (!my_hooks) return nullptr;
    Lock lock;
    Py_ssize_t count = PyList_GET_SIZE(my_hooks);
    if (!count) return nullptr;
    PyObject* pair = PyList_GET_ITEM(my_hooks, count - 1);
    PackWith hooks{PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1)};
    Object keep = Object::share(pair);
    // What the hook itself computes is saved as it is.
    int before = autograd_thread.saved_hooks;
    autograd_thread.saved_hooks = 0;
    struct Restore {
        int value;
        ~Restore() { autograd_thread.saved_hooks = value; }
    } restore{before};
    return pack_by(hooks, tensor);
}

static PyObject* disabled_message = nullptr;

static PyObject* push_hooks(PyObject*, PyObject* args) {
    PyObject *pack, *unpack;
    if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) return nullptr;
    if (autograd_thread.saved_hooks_disabled) {
        PyErr_SetString(PyExc_RuntimeError, autograd_thread.saved_hooks_disabled);
        return nullptr;
    }
    if (!my_hooks && !(my_hooks = PyList_New(0))) return nullptr;
    PyObject* pair = PyTuple_Pack(2, pack, unpack);
    if (!pair || PyList_Append(my_hooks, pair) < 0) {
        Py_XDECREF(pair);
        return nullptr;
    }
    Py_DECREF(pair);
    autograd_thread.saved_hooks++;
    Py_RETURN_NONE;
}
static PyObject* pop_hooks(PyObject*, PyObject*) {
    if (!my_hooks || !PyList_GET_SIZE(my_hooks)) {
        PyErr_SetString(PyExc_RuntimeError, "no saved_tensors_hooks are in force");
        return nullptr;
    }
    Py_ssize_t count = PyList_GET_SIZE(my_hooks);
    if (PyList_SetSlice(my_hooks, count - 1, count, nullptr) < 0) return nullptr;
    if (autograd_thread.saved_hooks) autograd_thread.saved_hooks--;
    Py_RETURN_NONE;
}
static PyObject* top_hooks(PyObject*, PyObject*) {
    if (!my_hooks || !PyList_GET_SIZE(my_hooks)) Py_RETURN_NONE;
    return Py_NewRef(PyList_GET_ITEM(my_hooks, PyList_GET_SIZE(my_hooks) - 1));
}
static PyObject* disable_hooks(PyObject*, PyObject* args) {
    PyObject* message;
    int fail_if_active = 1;
    if (!PyArg_ParseTuple(args, "U|p", &message, &fail_if_active)) return nullptr;
    if (fail_if_active && my_hooks && PyList_GET_SIZE(my_hooks)) {
        PyErr_SetObject(PyExc_RuntimeError, message);
        return nullptr;
    }
    // Python keeps the text: whoever disables gives the old one back.
    PyObject* old = disabled_message;
    disabled_message = Py_NewRef(message);
    autograd_thread.saved_hooks_disabled = PyUnicode_AsUTF8(disabled_message);
    Py_XDECREF(old);
    Py_RETURN_NONE;
}
static PyObject* enable_hooks(PyObject*, PyObject*) {
    autograd_thread.saved_hooks_disabled = nullptr;
    Py_RETURN_NONE;
}
static PyObject* hooks_enabled(PyObject*, PyObject*) { return PyBool_FromLong(!autograd_thread.saved_hooks_disabled); }
static PyObject* hooks_disabled_message(PyObject*, PyObject*) {
    if (!autograd_thread.saved_hooks_disabled) Py_RETURN_NONE;
    return PyUnicode_FromString(autograd_thread.saved_hooks_disabled);
}

static PyMethodDef hook_functions[] = {
    {"_push_saved_tensors_default_hooks", push_hooks, METH_VARARGS, nullptr},
    {"_pop_saved_tensors_default_hooks", pop_hooks, METH_NOARGS, nullptr},
    {"_top_saved_tensors_default_hooks", top_hooks, METH_VARARGS, nullptr},
    {"_saved_tensors_hooks_disable", disable_hooks, METH_VARARGS, nullptr},
    {"_saved_tensors_hooks_enable", enable_hooks, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_is_enabled", hooks_enabled, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_get_disabled_error_message", hooks_disabled_message, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

bool init_saved_hooks(PyObject* module) {
    pack_saved = pack_default;
    return PyModule_AddFunctions(module, hook_functions) == 0;
}

// ---- the type

static PyGetSetDef node_getset[] = {
    {"next_functions", get_next_functions, nullptr, "Where this node's results go: ((node, input), ...).", nullptr},
    {"metadata", get_metadata, nullptr, "A dict for anything.", nullptr},
    {"variable", get_variable, nullptr, "Of AccumulateGrad: the leaf.", nullptr},
    {"_input_metadata", get_input_metadata, nullptr, nullptr, nullptr},
    {"requires_grad", get_requires_grad, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
static PyMethodDef node_methods[] = {
    {"name", node_name_method, METH_NOARGS, "name() -> str\n\nThe kind of operation."},
    {"register_hook", node_register_hook, METH_O,
     "register_hook(hook) -> RemovableHandle\n\nCalls hook(grad_inputs, grad_outputs) after this node ran; it may return other "
     "grad_inputs."},
    {"register_prehook", node_register_prehook, METH_O,
     "register_prehook(hook) -> RemovableHandle\n\nCalls hook(grad_outputs) before this node runs; it may return other grad_outputs."},
    {"__dir__", node_dir, METH_NOARGS, nullptr},
    {"_sequence_nr", node_sequence, METH_NOARGS, nullptr},
    {"_set_sequence_nr", node_set_sequence, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
static PyMemberDef node_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(NodeObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
static PyType_Slot node_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
    {Py_tp_getattro, reinterpret_cast<void*>(node_getattro)},
    {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
    {Py_tp_call, reinterpret_cast<void*>(node_call)},
    {Py_tp_getset, node_getset},
    {Py_tp_methods, node_methods},
    {Py_tp_members, node_members},
    {Py_tp_doc, const_cast<char*>("A recorded operation in the graph that backward runs through.")},
    {0, nullptr},
};
static PyType_Spec node_spec = {
    "kindling.autograd.graph.Node",
    sizeof(NodeObject),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    node_slots,
};
static PyGetSetDef saved_getset[] = {
    {"data", saved_get_data, nullptr, nullptr, nullptr},
    {"unpacked", saved_get_data, nullptr, nullptr, nullptr},
    {"_has_hooks", saved_get_hooked, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
static PyMethodDef saved_methods[] = {
    {"unpack", saved_unpack, METH_NOARGS, "unpack() -> Tensor\n\nThe tensor that is kept; refused if it was written to since."},
    {"register_hooks", saved_register_hooks, METH_VARARGS,
     "register_hooks(pack_hook, unpack_hook)\n\nKeeps pack_hook(tensor) instead of the tensor; unpack_hook gives it back."},
    {nullptr, nullptr, 0, nullptr},
};
static PyObject* saved_new(PyTypeObject*, PyObject*, PyObject*) {
    PyErr_SetString(PyExc_RuntimeError, "Trying to create a SavedTensor object from Python is forbidden.");
    return nullptr;
}
static PyType_Slot saved_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(saved_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(saved_dealloc)},
    {Py_tp_getset, saved_getset},
    {Py_tp_methods, saved_methods},
    {0, nullptr},
};
static PyType_Spec saved_spec = {
    "kindling._C._autograd.SavedTensor", sizeof(SavedTensorObject), 0, Py_TPFLAGS_DEFAULT, saved_slots,
};

bool init_autograd_nodes(PyObject* module) {
    node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&node_spec));
    saved_tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&saved_spec));
    if (!node_type || !saved_tensor_type) return false;
    static PyMethodDef functions[] = {
        {"_make_saved_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_saved)), METH_VARARGS | METH_KEYWORDS,
         nullptr},
        {nullptr, nullptr, 0, nullptr},
    };
    return PyModule_AddFunctions(module, functions) == 0 &&
           PyModule_AddObjectRef(module, "_Node", reinterpret_cast<PyObject*>(node_type)) == 0 &&
           PyModule_AddObjectRef(module, "_SavedTensor", reinterpret_cast<PyObject*>(saved_tensor_type)) == 0;
}

} // namespace kindling::python
