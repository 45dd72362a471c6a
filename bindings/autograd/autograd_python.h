// bindings/autograd/autograd_python.h: what the files of autograd's Python face share.
#pragma once
#include "autograd/engine.h"
#include "autograd/meta.h"
#include "autograd/saved.h"
#include "bindings/autograd/autograd.h"
#include "core/dispatch.h"

namespace kindling::python {

/// The Python object of a node. Most hold their node; the context of a custom Function is held by it.
struct NodeObject {
    PyObject_HEAD GradNode* node; // owned, but by the contexts of custom Functions
    PyObject* weak_references;
};
extern PyTypeObject* node_type; // kindling.autograd.graph.Node
extern PyTypeObject* function_base_type;

/// The node's one object (a new reference), None for no node.
PyObject* wrap_node(const Ref<GradNode>& node);
inline bool is_node(PyObject* object) { return PyObject_TypeCheck(object, node_type); }
/// ((node, input), ...) as `next_functions` shows edges.
PyObject* edge_tuple(const Edge& edge);
/// The node of a Node or context object; raises when it has none.
GradNode* node_of(PyObject* object);

/// The node of a custom Function: its context object does the work.
struct PythonNode final : GradNode {
    PyObject* context;              // owned
    std::string text;               // the context class's name
    std::vector<InputMeta> outputs; // of every output; DType::None where it is no tensor
    std::vector<char> is_tensor;    // of every argument of apply
    std::vector<SavedTensor> saved;
    bool released = false;
    explicit PythonNode(PyObject* context);
    ~PythonNode() override;
    const char* name() const override { return text.c_str(); }
    void apply(Backward& backward) override;
    void release_saved() override;
};

/// A dict of hooks, called in order. `Kind` says with what.
struct PythonHooks final : GradHook {
    PyObject* dict; // owned
    explicit PythonHooks(PyObject* dict) : dict(Py_NewRef(dict)) {}
    ~PythonHooks() override;
    Tensor on_tensor(const Tensor& gradient) override;
    void before(Tensor* gradients, size_t count) override;
    void after(Tensor* results, size_t result_count, const Tensor* gradients, size_t count) override;
    void* python() override { return dict; }
    bool accumulated = false; // post_accumulate_grad: gets the leaf, returns nothing
};

/// Tuples of tensors: undefined ones are None.
PyObject* tensor_tuple(const Tensor* tensors, size_t count);
/// A saved tensor's value, or the raw object (`_raw_saved_...`).
PyObject* saved_attribute(PyObject* self, GradNode* node, const char* name, bool& found);
PyObject* raw_saved(PyObject* owner, GradNode* node, const SavedTensor* saved);

/// collections.OrderedDict and utils.hooks.RemovableHandle.
PyObject* new_hook_dict();
PyObject* add_hook(PyObject* dict, PyObject* hook);

bool init_autograd_nodes(PyObject* module);
bool init_autograd_function(PyObject* module);
bool init_autograd_engine(PyObject* module);
bool init_saved_hooks(PyObject* module);

} // namespace kindling::python
