// bindings/script_graph.cpp: graphs of scripts as Python sees them: Graph, Block, Node, Value. An object keeps its graph, which keeps
// all that was ever made in it.
#include "bindings/script.h"

#include <cstring>

namespace kindling::python {
namespace {

using ks::Item;

struct Part {
    PyObject_HEAD
    std::shared_ptr<ks::Graph> graph;
    void* at;                            // a Block, Node or Value; of a Graph, the graph
};
enum Kind { GraphKind, BlockKind, NodeKind, ValueKind };
PyTypeObject* types[4];

template <class T> T& as(PyObject* self) { return *static_cast<T*>(reinterpret_cast<Part*>(self)->at); }
ks::Graph& graph_of(PyObject* self) { return *reinterpret_cast<Part*>(self)->graph; }
ks::Node& node(PyObject* self) { return as<ks::Node>(self); }
ks::Value& value(PyObject* self) { return as<ks::Value>(self); }
PyObject* text_object(const std::string& text) { return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"); }

bool make_types();
PyObject* part(std::shared_ptr<ks::Graph> graph, Kind kind, void* at) {
    if (!at) Py_RETURN_NONE;
    if (!make_types()) throw_python();
    auto* made = reinterpret_cast<Part*>(checked(types[kind]->tp_alloc(types[kind], 0)));
    new (&made->graph) std::shared_ptr<ks::Graph>(std::move(graph));
    made->at = at;
    return reinterpret_cast<PyObject*>(made);
}
PyObject* sibling(PyObject* self, Kind kind, const void* at) { return part(reinterpret_cast<Part*>(self)->graph, kind, const_cast<void*>(at)); }
template <class T> PyObject* list_of(PyObject* self, Kind kind, const std::vector<T*>& all) {
    Object made(checked(PyList_New(static_cast<Py_ssize_t>(all.size()))));
    for (size_t i = 0; i < all.size(); i++) PyList_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), sibling(self, kind, all[i]));
    return made.take();
}
/// PyTorch gives iterators where it lists parts.
PyObject* iterator(PyObject* list) {
    Object owned(checked(list));
    return PyObject_GetIter(owned.get());
}
bool is_part(PyObject* object, Kind kind) { return types[kind] && PyObject_TypeCheck(object, types[kind]); }
template <class T> T* wanted(PyObject* object, Kind kind, const char* what) {
    if (!is_part(object, kind)) {
        PyErr_Format(PyExc_TypeError, "expected a %s of a graph, not %s", what, Py_TYPE(object)->tp_name);
        throw_python();
    }
    return &as<T>(object);
}
ks::Value* wanted_value(PyObject* object) { return wanted<ks::Value>(object, ValueKind, "Value"); }
ks::Node* wanted_node(PyObject* object) { return wanted<ks::Node>(object, NodeKind, "Node"); }

std::vector<ks::Node*> nodes_of(const ks::Block* block) {
    std::vector<ks::Node*> all;
    for (ks::Node* each = block->first(); each != block->end; each = each->next) all.push_back(each);
    return all;
}
void find(const ks::Block* block, const std::string& kind, bool below, bool first, std::vector<ks::Node*>& found) {
    for (ks::Node* each = block->first(); each != block->end; each = each->next) {
        if (each->kind == kind) found.push_back(each);
        if (first && !found.empty()) return;
        if (below) for (const ks::Block* inner : each->blocks) find(inner, kind, below, first, found);
        if (first && !found.empty()) return;
    }
}
PyObject* find_in(PyObject* self, const std::vector<const ks::Block*>& blocks, PyObject* args, PyObject* kwargs, bool first) {
    static const char* names[] = {"kind", "recurse", nullptr};
    const char* kind;
    int below = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, first ? "s|p:findNode" : "s|p:findAllNodes", const_cast<char**>(names), &kind, &below)) return nullptr;
    return guarded_script([&]() -> PyObject* {
        std::vector<ks::Node*> found;
        for (const ks::Block* block : blocks)
            if (!first || found.empty()) find(block, kind, below, first, found);
        if (!first) return list_of(self, NodeKind, found);
        return sibling(self, NodeKind, found.empty() ? nullptr : found[0]);
    });
}
template <bool first> PyObject* find_in_block(PyObject* self, PyObject* args, PyObject* kwargs) {
    const ks::Block* block = is_part(self, GraphKind) ? graph_of(self).block : &as<ks::Block>(self);
    return find_in(self, {block}, args, kwargs, first);
}
template <bool first> PyObject* find_in_node(PyObject* self, PyObject* args, PyObject* kwargs) {
    return find_in(self, {node(self).blocks.begin(), node(self).blocks.end()}, args, kwargs, first);
}

/// A method without arguments, or with one.
#define METHOD(...) [](PyObject* self, PyObject*) -> PyObject* { return guarded_script([&]() -> PyObject* { (void)self; __VA_ARGS__; }); }
#define METHOD1(...) [](PyObject* self, PyObject* given) -> PyObject* { return guarded_script([&]() -> PyObject* { (void)self, (void)given; __VA_ARGS__; }); }
#define NONE(NAME, ...) {#NAME, METHOD(__VA_ARGS__), METH_NOARGS, nullptr}
#define ONE(NAME, ...) {#NAME, METHOD1(__VA_ARGS__), METH_O, nullptr}
#define KEYS(NAME, FUNCTION) {#NAME, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(FUNCTION)), METH_VARARGS | METH_KEYWORDS, nullptr}

const ks::Block* block_in(PyObject* self) { return is_part(self, GraphKind) ? graph_of(self).block : &as<ks::Block>(self); }
size_t index_in(PyObject* number, size_t size, const char* what) {
    const Py_ssize_t i = PyNumber_AsSsize_t(number, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) throw_python();
    KINDLING_CHECK(Runtime, i >= 0 && static_cast<size_t>(i) < size, "%s %zd is out of range: there are %zu", what, i, size);
    return static_cast<size_t>(i);
}
const char* name_in(PyObject* object) {
    const char* text = PyUnicode_AsUTF8(object);
    if (!text) throw_python();
    return text;
}

PyMethodDef graph_methods[] = {
    NONE(inputs, return iterator(list_of(self, ValueKind, graph_of(self).block->inputs()))),
    NONE(outputs, return iterator(list_of(self, ValueKind, graph_of(self).block->outputs()))),
    NONE(nodes, return iterator(list_of(self, NodeKind, nodes_of(graph_of(self).block)))),
    NONE(block, return sibling(self, BlockKind, graph_of(self).block)),
    NONE(param_node, return sibling(self, NodeKind, graph_of(self).block->parameters)),
    NONE(return_node, return sibling(self, NodeKind, graph_of(self).block->end)),
    {"str", [](PyObject* self, PyObject*) { return guarded_script([&] { return text_object(graph_of(self).str()); }); }, METH_VARARGS, nullptr},
    KEYS(findNode, find_in_block<true>), KEYS(findAllNodes, find_in_block<false>),
    ONE(addInput, { ks::Value* made = graph_of(self).block->add_input(ks::type_of(ks::TypeKind::Tensor)); made->set_name(name_in(given)); return sibling(self, ValueKind, made); }),
    ONE(eraseInput, { graph_of(self).block->parameters->erase_output(index_in(given, graph_of(self).block->inputs().size(), "input")); Py_RETURN_NONE; }),
    ONE(eraseOutput, { graph_of(self).block->end->remove_input(index_in(given, graph_of(self).block->outputs().size(), "output")); Py_RETURN_NONE; }),
    ONE(registerOutput, { graph_of(self).block->add_output(wanted_value(given)); return PyLong_FromSize_t(graph_of(self).block->outputs().size() - 1); }),
    ONE(appendNode, { return sibling(self, NodeKind, graph_of(self).block->append(wanted_node(given))); }),
    ONE(prependNode, { return sibling(self, NodeKind, wanted_node(given)->insert_before(graph_of(self).block->first())); }),
    ONE(insertNode, { return sibling(self, NodeKind, graph_of(self).insert(wanted_node(given))); }),
    ONE(setInsertPoint, { graph_of(self).insert_point = is_part(given, BlockKind) ? as<ks::Block>(given).end : wanted_node(given); Py_RETURN_NONE; }),
    NONE(insertPoint, return sibling(self, NodeKind, graph_of(self).insert_point)),
    {"create", [](PyObject* self, PyObject* args) -> PyObject* {
        const char* kind;
        PyObject* inputs = nullptr;
        Py_ssize_t outputs = 1;
        if (!PyArg_ParseTuple(args, "s|On:create", &kind, &inputs, &outputs)) return nullptr;
        return guarded_script([&]() -> PyObject* {
            std::vector<ks::Value*> values;
            if (inputs && PyLong_Check(inputs)) outputs = PyLong_AsSsize_t(inputs);
            else if (inputs) {
                Object fast(checked(PySequence_Fast(inputs, "inputs are a list of Values")));
                for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) values.push_back(wanted_value(PySequence_Fast_GET_ITEM(fast.get(), i)));
            }
            return sibling(self, NodeKind, graph_of(self).create(kind, values, static_cast<size_t>(outputs)));
        });
    }, METH_VARARGS, nullptr},
    ONE(insertConstant, {
        const ks::TypeRef type = inferred_type(given);
        Item item;
        KINDLING_CHECK(Runtime, type && to_item(given, type, item), "Unsupported value kind: %s", Py_TYPE(given)->tp_name);
        return sibling(self, ValueKind, graph_of(self).constant(item));
    }),
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef block_methods[] = {
    NONE(inputs, return iterator(list_of(self, ValueKind, block_in(self)->inputs()))),
    NONE(outputs, return iterator(list_of(self, ValueKind, block_in(self)->outputs()))),
    NONE(nodes, return iterator(list_of(self, NodeKind, nodes_of(block_in(self))))),
    NONE(paramNode, return sibling(self, NodeKind, block_in(self)->parameters)),
    NONE(returnNode, return sibling(self, NodeKind, block_in(self)->end)),
    NONE(owningNode, return sibling(self, NodeKind, block_in(self)->owner)),
    ONE(registerOutput, { as<ks::Block>(self).add_output(wanted_value(given)); return PyLong_FromSize_t(block_in(self)->outputs().size() - 1); }),
    KEYS(findNode, find_in_block<true>), KEYS(findAllNodes, find_in_block<false>),
    {nullptr, nullptr, 0, nullptr}};

const Item* attribute_of(PyObject* self, PyObject* name, bool must) {
    const Item* item = node(self).attribute(name_in(name));
    if (!item && must) fail(ErrorKind::Index, "required keyword attribute '%s' is undefined", name_in(name));
    return item;
}
const char* kind_of_item(const Item& item) {
    switch (item.tag()) {
        case Item::Tag::Int: case Item::Tag::Bool: return "i";
        case Item::Tag::Float: return "f";
        case Item::Tag::Complex: return "c";
        case Item::Tag::Str: case Item::Tag::Device: return "s";
        case Item::Tag::Tensor: return "t";
        default: return "ival";
    }
}
PyObject* get_attribute(PyObject* self, PyObject* name) {
    return guarded_script([&]() -> PyObject* {
        const Item* item = attribute_of(self, name, true);
        if (item->is(Item::Tag::Bool)) return PyLong_FromLong(item->truth());
        return from_item(*item);
    });
}
PyObject* attribute_value(PyObject* self, PyObject* name) { return guarded_script([&] { return from_item(*attribute_of(self, name, true)); }); }

std::string node_text(const ks::Node& node) { return node.str(); }

PyMethodDef node_methods[] = {
    NONE(kind, return text_object(node(self).kind)),
    NONE(inputs, return iterator(list_of(self, ValueKind, node(self).inputs))),
    NONE(outputs, return iterator(list_of(self, ValueKind, node(self).outputs))),
    NONE(blocks, return iterator(list_of(self, BlockKind, node(self).blocks))),
    NONE(inputsSize, return PyLong_FromSize_t(node(self).inputs.size())),
    NONE(outputsSize, return PyLong_FromSize_t(node(self).outputs.size())),
    ONE(inputsAt, return sibling(self, ValueKind, node(self).inputs[index_in(given, node(self).inputs.size(), "input")])),
    ONE(outputsAt, return sibling(self, ValueKind, node(self).outputs[index_in(given, node(self).outputs.size(), "output")])),
    NONE(input, { KINDLING_CHECK(Runtime, node(self).inputs.size() == 1, "%s has %zu inputs, not one", node(self).kind.c_str(), node(self).inputs.size()); return sibling(self, ValueKind, node(self).inputs[0]); }),
    NONE(output, { KINDLING_CHECK(Runtime, node(self).outputs.size() == 1, "%s has %zu outputs, not one", node(self).kind.c_str(), node(self).outputs.size()); return sibling(self, ValueKind, node(self).outputs[0]); }),
    NONE(hasMultipleOutputs, return PyBool_FromLong(node(self).outputs.size() > 1)),
    NONE(hasUses, return PyBool_FromLong(node(self).used())),
    NONE(next, return sibling(self, NodeKind, node(self).next)),
    NONE(prev, return sibling(self, NodeKind, node(self).previous)),
    NONE(owningBlock, return sibling(self, BlockKind, node(self).block)),
    NONE(mustBeNone, return PyBool_FromLong(!node(self).outputs.empty() && ks::must_be_none(node(self).outputs[0]))),
    NONE(scopeName, return text_object("")),
    NONE(isNondeterministic, { const ks::Signature* signature = node(self).signature; return PyBool_FromLong(signature && signature->op && signature->op->functional->has(trait::Random)); }),
    NONE(sourceRange, return text_object(node(self).range.highlight())),
    NONE(attributeNames, {
        Object list(checked(PyList_New(0)));
        for (const ks::Attribute& each : node(self).attributes) {
            Object name(checked(text_object(each.name)));
            if (PyList_Append(list.get(), name.get())) throw_python();
        }
        return list.take();
    }),
    NONE(hasAttributes, return PyBool_FromLong(!node(self).attributes.empty())),
    ONE(hasAttribute, return PyBool_FromLong(attribute_of(self, given, false) != nullptr)),
    ONE(kindOf, return text_object(kind_of_item(*attribute_of(self, given, true)))),
    {"i", get_attribute, METH_O, nullptr}, {"f", get_attribute, METH_O, nullptr}, {"s", get_attribute, METH_O, nullptr}, {"t", get_attribute, METH_O, nullptr},
    {"c", get_attribute, METH_O, nullptr}, {"is", get_attribute, METH_O, nullptr}, {"fs", get_attribute, METH_O, nullptr}, {"ss", get_attribute, METH_O, nullptr},
    {"ts", get_attribute, METH_O, nullptr}, {"ival", attribute_value, METH_O, nullptr},
    NONE(schema, { if (!node(self).signature) return text_object("(no schema)"); return text_object(node(self).signature->text()); }),
    NONE(destroy, { node(self).destroy(); Py_RETURN_NONE; }),
    NONE(addBlock, return sibling(self, BlockKind, node(self).add_block())),
    NONE(addOutput, return sibling(self, ValueKind, node(self).add_output(ks::type_of(ks::TypeKind::Tensor)))),
    ONE(addInput, { node(self).add_input(wanted_value(given)); return Py_NewRef(given); }),
    ONE(removeInput, { node(self).remove_input(index_in(given, node(self).inputs.size(), "input")); Py_RETURN_NONE; }),
    NONE(removeAllInputs, { node(self).clear_inputs(); Py_RETURN_NONE; }),
    ONE(eraseOutput, { node(self).erase_output(index_in(given, node(self).outputs.size(), "output")); Py_RETURN_NONE; }),
    ONE(insertBefore, return sibling(self, NodeKind, node(self).insert_before(wanted_node(given)))),
    ONE(insertAfter, return sibling(self, NodeKind, node(self).insert_after(wanted_node(given)))),
    ONE(moveBefore, { node(self).move_before(wanted_node(given)); Py_RETURN_NONE; }),
    ONE(moveAfter, { node(self).move_before(wanted_node(given)->next); Py_RETURN_NONE; }),
    ONE(replaceAllUsesWith, {
        ks::Node* other = wanted_node(given);
        KINDLING_CHECK(Runtime, other->outputs.size() == node(self).outputs.size(), "the nodes have %zu and %zu outputs", node(self).outputs.size(), other->outputs.size());
        for (size_t i = 0; i < other->outputs.size(); i++) node(self).outputs[i]->replace_uses(other->outputs[i]);
        Py_RETURN_NONE;
    }),
    {"replaceInput", [](PyObject* self, PyObject* args) -> PyObject* {
        PyObject *place, *by;
        if (!PyArg_ParseTuple(args, "OO:replaceInput", &place, &by)) return nullptr;
        return guarded_script([&] {
            const size_t i = index_in(place, node(self).inputs.size(), "input");
            ks::Value* old = node(self).inputs[i];
            node(self).replace_input(i, wanted_value(by));
            return sibling(self, ValueKind, old);
        });
    }, METH_VARARGS, nullptr},
    {"replaceInputWith", [](PyObject* self, PyObject* args) -> PyObject* {
        PyObject *from, *to;
        if (!PyArg_ParseTuple(args, "OO:replaceInputWith", &from, &to)) return nullptr;
        return guarded_script([&]() -> PyObject* {
            for (size_t i = 0; i < node(self).inputs.size(); i++)
                if (node(self).inputs[i] == wanted_value(from)) node(self).replace_input(i, wanted_value(to));
            Py_RETURN_NONE;
        });
    }, METH_VARARGS, nullptr},
    KEYS(findNode, find_in_node<true>), KEYS(findAllNodes, find_in_node<false>),
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef value_methods[] = {
    NONE(debugName, return text_object(value(self).name())),
    ONE(setDebugName, { value(self).set_name(name_in(given)); return Py_NewRef(self); }),
    NONE(unique, return PyLong_FromSize_t(value(self).number)),
    NONE(offset, return PyLong_FromSize_t(value(self).offset)),
    NONE(node, return sibling(self, NodeKind, value(self).node)),
    NONE(type, return type_object(value(self).type)),
    ONE(setTypeAs, { value(self).type = wanted_value(given)->type; return Py_NewRef(self); }),
    ONE(copyMetadata, { value(self).copy_metadata(wanted_value(given)); return Py_NewRef(self); }),
    ONE(replaceAllUsesWith, { value(self).replace_uses(wanted_value(given)); Py_RETURN_NONE; }),
    NONE(requires_grad, Py_RETURN_FALSE), NONE(requiresGrad, Py_RETURN_FALSE), NONE(isCompleteTensor, Py_RETURN_FALSE),
    NONE(toIValue, {
        const Item* item = ks::constant_of(&value(self));
        if (!item) Py_RETURN_NONE;
        return from_item(*item);
    }),
    NONE(uses, {
        Object list(checked(PyList_New(0))), make(checked(import("kindling._graph", "Use")));
        for (const ks::Use& use : value(self).uses) {
            Object user(checked(sibling(self, NodeKind, use.user))), place(checked(PyLong_FromSize_t(use.offset)));
            Object one(checked(PyObject_CallFunctionObjArgs(make.get(), user.get(), place.get(), nullptr)));
            if (PyList_Append(list.get(), one.get())) throw_python();
        }
        return list.take();
    }),
    {nullptr, nullptr, 0, nullptr}};

void dealloc(PyObject* object) {
    reinterpret_cast<Part*>(object)->graph.~shared_ptr();
    PyTypeObject* type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}
PyObject* compare(PyObject* a, PyObject* b, int op) {
    if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    const bool same = reinterpret_cast<Part*>(a)->at == reinterpret_cast<Part*>(b)->at;
    return PyBool_FromLong(same == (op == Py_EQ));
}
Py_hash_t hash(PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(reinterpret_cast<Part*>(self)->at) >> 4); }
PyObject* shown(PyObject* self) {
    return guarded_script([&]() -> PyObject* {
        if (is_part(self, GraphKind)) return text_object(graph_of(self).str());
        if (is_part(self, NodeKind)) return text_object(node_text(node(self)));
        if (is_part(self, ValueKind)) return text_object(value(self).name() + " defined in (" + node_text(*value(self).node) + ")");
        return PyUnicode_FromFormat("<torch.Block object at %p>", self);
    });
}

bool make_types() {
    if (types[ValueKind]) return true;
    static const struct { const char* name; PyMethodDef* methods; Kind kind; } made[] = {
        {"torch._C.Graph", graph_methods, GraphKind}, {"torch._C.Block", block_methods, BlockKind},
        {"torch._C.Node", node_methods, NodeKind}, {"torch._C.Value", value_methods, ValueKind}};
    for (const auto& each : made) {
        PyType_Slot slots[] = {
            {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)}, {Py_tp_richcompare, reinterpret_cast<void*>(compare)}, {Py_tp_hash, reinterpret_cast<void*>(hash)},
            {Py_tp_repr, reinterpret_cast<void*>(shown)}, {Py_tp_methods, each.methods}, {0, nullptr}};
        PyType_Spec spec = {each.name, sizeof(Part), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
        types[each.kind] = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
        if (!types[each.kind]) return false;
    }
    return true;
}

}  // namespace

PyObject* graph_object(std::shared_ptr<ks::Graph> graph) {
    void* at = graph.get();
    return part(std::move(graph), GraphKind, at);
}
const ks::Graph& graph_in(PyObject* object) {
    if (!is_part(object, GraphKind)) fail(ErrorKind::Type, "a Graph was expected, not %s", Py_TYPE(object)->tp_name);
    return graph_of(object);
}

}  // namespace kindling::python
