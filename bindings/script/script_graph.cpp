// bindings/script/script_graph.cpp: graphs of scripts as Python sees them: Graph, Block, Node, Value. An object keeps its graph, which
// keeps all that was ever made in it.
// Compiled for size.
#include "bindings/script_class.h"
#include "bindings/types.h"
#include "core/dtype.h"
#include "script/lower/match.h"
#include "script/passes/passes.h"
#include "script/trace/trace.h"

#include <cstring>

namespace kindling::python {
namespace {

using ks::Item;

struct Part {
    PyObject_HEAD std::shared_ptr<ks::Graph> graph;
    void* at;     // a Block, Node or Value; of a Graph, the graph; of a Use, the node
    size_t place; // of a Use: which input
};
enum Kind { GraphKind, BlockKind, NodeKind, ValueKind, UseKind };
PyTypeObject* types[5];

template <class T> T& as(PyObject* self) { return *static_cast<T*>(reinterpret_cast<Part*>(self)->at); }
ks::Graph& graph_of(PyObject* self) { return *reinterpret_cast<Part*>(self)->graph; }
ks::Node& node(PyObject* self) { return as<ks::Node>(self); }
ks::Value& value(PyObject* self) { return as<ks::Value>(self); }
PyObject* text_object(const std::string& text) {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

bool make_types();
PyObject* part(std::shared_ptr<ks::Graph> graph, Kind kind, void* at) {
    if (!at) Py_RETURN_NONE;
    if (!make_types()) throw_python();
    auto* made = reinterpret_cast<Part*>(checked(types[kind]->tp_alloc(types[kind], 0)));
    new (&made->graph) std::shared_ptr<ks::Graph>(std::move(graph));
    made->at = at;
    made->place = 0;
    return reinterpret_cast<PyObject*>(made);
}
[[gnu::noinline]] PyObject* sibling(PyObject* self, Kind kind, const void* at) {
    return part(reinterpret_cast<Part*>(self)->graph, kind, const_cast<void*>(at));
}
[[gnu::noinline]] PyObject* list_of(PyObject* self, Kind kind, void* const* all, size_t count) {
    Object made(checked(PyList_New(static_cast<Py_ssize_t>(count))));
    for (size_t i = 0; i < count; i++) PyList_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), sibling(self, kind, all[i]));
    return made.take();
}
template <class T> PyObject* list_of(PyObject* self, Kind kind, const std::vector<T*>& all) {
    return list_of(self, kind, reinterpret_cast<void* const*>(all.data()), all.size());
}
/// PyTorch gives iterators where it lists parts.
PyObject* iterator(PyObject* list) {
    Object owned(checked(list));
    return PyObject_GetIter(owned.get());
}
bool is_part(PyObject* object, Kind kind) { return types[kind] && PyObject_TypeCheck(object, types[kind]); }
[[gnu::noinline]] void* wanted(PyObject* object, Kind kind) {
    if (is_part(object, kind)) return reinterpret_cast<Part*>(object)->at;
    static constexpr char names[][6] = {"Graph", "Block", "Node", "Value", "Use"};
    PyErr_Format(PyExc_TypeError, "expected a %s of a graph, not %s", names[kind], Py_TYPE(object)->tp_name);
    throw_python();
}
ks::Value* wanted_value(PyObject* object) { return static_cast<ks::Value*>(wanted(object, ValueKind)); }
ks::Node* wanted_node(PyObject* object) { return static_cast<ks::Node*>(wanted(object, NodeKind)); }

/// The type that an object of kindling._native_names.types stands for: it says so itself where scripts made it, else its text does.
ks::TypeRef wanted_type(PyObject* object) {
    if (Object own(PyObject_GetAttrString(object, "_script_type")); own) {
        if (const ks::TypeRef type = type_of_handle(own.get())) return type;
    }
    PyErr_Clear();
    Object text(checked(PyObject_CallMethod(object, "str", nullptr)));
    const char* written = PyUnicode_AsUTF8(text.get());
    if (!written) throw_python();
    return ks::parse_type(written);
}
std::vector<ks::Value*> wanted_values(PyObject* sequence) {
    Object fast(checked(PySequence_Fast(sequence, "a list is wanted")));
    std::vector<ks::Value*> all;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++)
        all.push_back(wanted_value(PySequence_Fast_GET_ITEM(fast.get(), i)));
    return all;
}
/// What was asked for by the types of inputs is asked for again.
ks::Node& changed(PyObject* self) {
    node(self).signature = nullptr;
    return node(self);
}
ks::Node* fresh(ks::Node* node) {
    KINDLING_CHECK(Runtime, !node->block, "%s stands in a graph already", node->kind.c_str());
    return node;
}

/// What a node holds in its blocks is neither before nor after it.
bool runs_before(const ks::Node* a, const ks::Node* b) {
    for (const ks::Block* block = b->block; block && block->owner; block = block->owner->block)
        if (block->owner == a) return false;
    return ks::before(a, b);
}

std::vector<ks::Node*> nodes_of(const ks::Block* block) {
    std::vector<ks::Node*> all;
    for (ks::Node* each = block->first(); each != block->end; each = each->next) all.push_back(each);
    return all;
}
void find(const ks::Block* block, const std::string& kind, bool below, bool first, std::vector<ks::Node*>& found) {
    for (ks::Node* each = block->first(); each != block->end; each = each->next) {
        if (each->kind == kind) found.push_back(each);
        if (first && !found.empty()) return;
        if (below)
            for (const ks::Block* inner : each->blocks) find(inner, kind, below, first, found);
        if (first && !found.empty()) return;
    }
}
PyObject* find_in(PyObject* self, const std::vector<const ks::Block*>& blocks, PyObject* args, PyObject* kwargs, bool first) {
    static const char* names[] = {"kind", "recurse", nullptr};
    const char* kind;
    int below = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, first ? "s|p:findNode" : "s|p:findAllNodes", const_cast<char**>(names), &kind, &below))
        return nullptr;
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
#define METHOD(...)                                                                                                                        \
    [](PyObject* self, PyObject*) -> PyObject* {                                                                                           \
        return guarded_script([&]() -> PyObject* {                                                                                         \
            (void)self;                                                                                                                    \
            __VA_ARGS__;                                                                                                                   \
        });                                                                                                                                \
    }
#define METHOD1(...)                                                                                                                       \
    [](PyObject* self, PyObject* given) -> PyObject* {                                                                                     \
        return guarded_script([&]() -> PyObject* {                                                                                         \
            (void)self, (void)given;                                                                                                       \
            __VA_ARGS__;                                                                                                                   \
        });                                                                                                                                \
    }
#define NONE(NAME, ...) {#NAME, METHOD(__VA_ARGS__), METH_NOARGS, nullptr}
#define ONE(NAME, ...) {#NAME, METHOD1(__VA_ARGS__), METH_O, nullptr}
#define KEYS(NAME, FUNCTION)                                                                                                               \
    {#NAME, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(FUNCTION)), METH_VARARGS | METH_KEYWORDS, nullptr}

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
    {"str", [](PyObject* self, PyObject* args) -> PyObject* {
        int ranges = 1;
        if (!PyArg_ParseTuple(args, "|p:str", &ranges)) return nullptr;
        return guarded_script([&] { return text_object(graph_of(self).str(ranges)); });
    }, METH_VARARGS, nullptr},
    NONE(copy, return graph_object(ks::copy_of(graph_of(self)))),
    NONE(lint, { graph_of(self).lint(); Py_RETURN_NONE; }),
    {"addInput", [](PyObject* self, PyObject* args) -> PyObject* {
        const char* name = "";
        if (!PyArg_ParseTuple(args, "|s:addInput", &name)) return nullptr;
        return guarded_script([&] { return sibling(self, ValueKind,
            graph_of(self).block->add_input(ks::type_of(ks::TypeKind::Tensor))->set_name(name)); });
    }, METH_VARARGS, nullptr},
    ONE(permuteInputs, {
        Object fast(checked(PySequence_Fast(given, "an order is a list of places")));
        std::vector<ks::Value*>& all = graph_of(self).block->parameters->outputs;
        const std::vector<ks::Value*> old = all;
        KINDLING_CHECK(Runtime, static_cast<size_t>(PySequence_Fast_GET_SIZE(fast.get())) == old.size(), "there are %zu inputs",
            old.size());
        std::vector<bool> taken(old.size());
        for (size_t i = 0; i < old.size(); i++) {
            const size_t from = index_in(PySequence_Fast_GET_ITEM(fast.get(), static_cast<Py_ssize_t>(i)), old.size(), "input");
            KINDLING_CHECK(Runtime, !taken[from], "input %zu is named twice", from);
            taken[from] = true;
        }
        for (size_t i = 0; i < old.size(); i++) {
            all[i] = old[static_cast<size_t>(PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(fast.get(), static_cast<Py_ssize_t>(i))))];
            all[i]->offset = i;
        }
        Py_RETURN_NONE;
    }),
    {"insertGraph", [](PyObject* self, PyObject* args) -> PyObject* {
        PyObject *body, *inputs;
        if (!PyArg_ParseTuple(args, "OO:insertGraph", &body, &inputs)) return nullptr;
        return guarded_script([&] {
            const std::vector<ks::Value*> values = wanted_values(inputs);
            const ks::Graph& given = graph_in(body);
            KINDLING_CHECK(Runtime, values.size() == given.block->inputs().size(), "the graph takes %zu inputs, not %zu",
                given.block->inputs().size(), values.size());
            return list_of(self, ValueKind, ks::insert_graph(graph_of(self), given, values));
        });
    }, METH_VARARGS, nullptr},
    NONE(createFusionGroup, {
        ks::Node* made = graph_of(self).create("prim::FusionGroup", {}, 0);
        made->attributes.push_back({"Subgraph", {}, {}, "g", std::make_shared<ks::Graph>()});
        return sibling(self, NodeKind, made);
    }),
    NONE(makeMultiOutputIntoTuple, {
        ks::Graph& graph = graph_of(self);
        std::vector<ks::TypeRef> parts;
        for (const ks::Value* value : graph.block->outputs()) parts.push_back(value->type);
        ks::Inserting at(graph.block);
        ks::Value* tuple = graph.insert(graph.create_with("prim::TupleConstruct", ks::tuple_of(parts), graph.block->outputs()))->output();
        graph.block->end->clear_inputs();
        graph.block->add_output(tuple);
        Py_RETURN_NONE;
    }),
    {"insert", [](PyObject* self, PyObject* args) -> PyObject* {
        const char* kind;
        PyObject* inputs;
        if (!PyArg_ParseTuple(args, "sO:insert", &kind, &inputs)) return nullptr;
        return guarded_script([&] {
            std::vector<ks::Given> all;
            for (ks::Value* value : wanted_values(inputs)) all.push_back(ks::Given(value));
            return sibling(self, ValueKind, ks::call_builtin(graph_of(self), {}, kind, all));
        });
    }, METH_VARARGS, nullptr},
    KEYS(findNode, find_in_block<true>), KEYS(findAllNodes, find_in_block<false>),
    ONE(eraseInput, {
        graph_of(self).block->parameters->erase_output(index_in(given, graph_of(self).block->inputs().size(), "input"));
        Py_RETURN_NONE;
    }),
    ONE(eraseOutput, {
        graph_of(self).block->end->remove_input(index_in(given, graph_of(self).block->outputs().size(), "output"));
        Py_RETURN_NONE;
    }),
    ONE(registerOutput, {
        graph_of(self).block->add_output(wanted_value(given));
        return PyLong_FromSize_t(graph_of(self).block->outputs().size() - 1);
    }),
    ONE(appendNode, { return sibling(self, NodeKind, graph_of(self).block->append(fresh(wanted_node(given)))); }),
    ONE(prependNode, { return sibling(self, NodeKind, fresh(wanted_node(given))->insert_before(graph_of(self).block->first())); }),
    ONE(insertNode, { return sibling(self, NodeKind, graph_of(self).insert(fresh(wanted_node(given)))); }),
    ONE(setInsertPoint, {
        graph_of(self).insert_point = is_part(given, BlockKind) ? as<ks::Block>(given).end : wanted_node(given);
        Py_RETURN_NONE;
    }),
    NONE(insertPoint, return sibling(self, NodeKind, graph_of(self).insert_point)),
    {"create", [](PyObject* self, PyObject* args) -> PyObject* {
        const char* kind;
        PyObject* inputs = nullptr;
        Py_ssize_t outputs = 1;
        if (!PyArg_ParseTuple(args, "s|On:create", &kind, &inputs, &outputs)) return nullptr;
        return guarded_script([&]() -> PyObject* {
            std::vector<ks::Value*> values;
            if (inputs && PyLong_Check(inputs)) outputs = PyLong_AsSsize_t(inputs);
            else if (inputs) values = wanted_values(inputs);
            return sibling(self, NodeKind, graph_of(self).create(kind, values, static_cast<size_t>(outputs)));
        });
    }, METH_VARARGS, nullptr},
    ONE(insertConstant, {
        const ks::TypeRef type = inferred_type(given);
        Item item;
        KINDLING_CHECK(Runtime, type && to_item(given, type, item), "Unsupported value kind: %s", Py_TYPE(given)->tp_name);
        ks::Graph& graph = graph_of(self);
        return sibling(self, ValueKind, graph.insert(graph.create_constant(item, item.is(Item::Tag::Tensor) ?
            ks::seen(item.tensor()) : nullptr))->output());
    }),
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef block_methods[] = {
    NONE(inputs, return iterator(list_of(self, ValueKind, block_in(self)->inputs()))),
    NONE(outputs, return iterator(list_of(self, ValueKind, block_in(self)->outputs()))),
    NONE(nodes, return iterator(list_of(self, NodeKind, nodes_of(block_in(self))))),
    NONE(paramNode, return sibling(self, NodeKind, block_in(self)->parameters)),
    NONE(returnNode, return sibling(self, NodeKind, block_in(self)->end)),
    NONE(owningNode, return sibling(self, NodeKind, block_in(self)->owner)),
    NONE(addInputToBlock, return sibling(self, ValueKind, as<ks::Block>(self).add_input(ks::type_of(ks::TypeKind::Tensor)))),
    {"addNode",
     [](PyObject* self, PyObject* args) -> PyObject* {
         const char* kind;
         PyObject* inputs;
         if (!PyArg_ParseTuple(args, "sO:addNode", &kind, &inputs)) return nullptr;
         return guarded_script(
             [&] { return sibling(self, NodeKind, as<ks::Block>(self).append(graph_of(self).create(kind, wanted_values(inputs)))); });
     },
     METH_VARARGS, nullptr},
    ONE(registerOutput,
        {
            as<ks::Block>(self).add_output(wanted_value(given));
            return PyLong_FromSize_t(block_in(self)->outputs().size() - 1);
        }),
    KEYS(findNode, find_in_block<true>),
    KEYS(findAllNodes, find_in_block<false>),
    {nullptr, nullptr, 0, nullptr}};

/// As programs ask for them: i, f, c, s, t, lists of these, types, graphs, and what else there is, ival.
const char* kind_of(const ks::Attribute& attribute) {
    if (attribute.kind) return attribute.kind;
    if (attribute.graph) return "g";
    if (!attribute.types.empty()) return "tys";
    switch (attribute.item.tag()) {
    case Item::Tag::Int:
    case Item::Tag::Bool: return "i";
    case Item::Tag::Float: return "f";
    case Item::Tag::Complex: return "c";
    case Item::Tag::Str:
    case Item::Tag::Device: return "s";
    case Item::Tag::Tensor: return "t";
    default: return "ival";
    }
}
ks::Attribute* find_attribute(PyObject* self, PyObject* name) {
    const char* text = name_in(name);
    for (ks::Attribute& each : node(self).attributes)
        if (each.name == text) return &each;
    return nullptr;
}
ks::Attribute& attribute(PyObject* self, PyObject* name) {
    ks::Attribute* found = find_attribute(self, name);
    if (!found) fail(ErrorKind::Runtime, "required keyword attribute '%s' is undefined", name_in(name));
    return *found;
}
PyObject* types_list(const std::vector<ks::TypeRef>& types) {
    Object made(checked(PyList_New(static_cast<Py_ssize_t>(types.size()))));
    for (size_t i = 0; i < types.size(); i++) PyList_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), checked(type_object(types[i])));
    return made.take();
}
PyObject* get_as(PyObject* self, PyObject* name, const char* kind) {
    return guarded_script([&]() -> PyObject* {
        ks::Attribute& found = attribute(self, name);
        KINDLING_CHECK(Runtime, !std::strcmp(kind_of(found), kind), "required keyword attribute '%s' has the wrong type", name_in(name));
        if (found.graph) return graph_object(found.graph);
        if (found.item.is(Item::Tag::Bool)) return PyLong_FromLong(found.item.truth());
        if (found.item.is(Item::Tag::Device)) return text_object(str(found.item));
        return from_item(found.item);
    });
}
template <char first, char second> constexpr char kind_text[] = {first, second, '\0'};
template <char first, char second> PyObject* get_attribute(PyObject* self, PyObject* name) {
    return get_as(self, name, kind_text<first, second>);
}
PyObject* get_types(PyObject* self, PyObject* name) {
    return guarded_script([&]() -> PyObject* {
        ks::Attribute& found = attribute(self, name);
        if (!std::strcmp(kind_of(found), "ty")) return type_object(found.types[0]);
        return types_list(found.types);
    });
}
PyObject* attribute_value(PyObject* self, PyObject* name) {
    return guarded_script([&] { return from_item(attribute(self, name).item); });
}
PyObject* put(PyObject* self, PyObject* name, ks::Attribute made) {
    made.name = name_in(name);
    if (ks::Attribute* old = find_attribute(self, name)) *old = std::move(made);
    else node(self).attributes.push_back(std::move(made));
    return Py_NewRef(self);
}
/// x_(name, value): sets an attribute of one kind.
PyObject* set_as(PyObject* self, PyObject* args, const char* kind) {
    PyObject *name, *given;
    if (!PyArg_ParseTuple(args, "OO", &name, &given)) return nullptr;
    return guarded_script([&] {
        ks::Attribute made{"", {}, {}, kind};
        if (*kind == 'g') {
            ks::Graph& graph = graph_in(given);
            made.graph = {reinterpret_cast<Part*>(given)->graph, &graph};
        } else {
            const ks::TypeKind element = *kind == 'i'   ? ks::TypeKind::Int
                                         : *kind == 'f' ? ks::TypeKind::Float
                                         : *kind == 'c' ? ks::TypeKind::Complex
                                         : *kind == 's' ? ks::TypeKind::Str
                                                        : ks::TypeKind::Tensor;
            const ks::TypeRef type = kind[1] ? ks::list_of(ks::type_of(element)) : ks::type_of(element);
            if (!to_item(given, type, made.item))
                fail(ErrorKind::Type, "%s_(): incompatible function arguments: a %s is wanted, not %s", kind, str(type).c_str(),
                     Py_TYPE(given)->tp_name);
        }
        return put(self, name, std::move(made));
    });
}
template <char first, char second> PyObject* set_attribute(PyObject* self, PyObject* args) {
    return set_as(self, args, kind_text<first, second>);
}
template <bool many> PyObject* set_types(PyObject* self, PyObject* args) {
    PyObject *name, *given;
    if (!PyArg_ParseTuple(args, "OO", &name, &given)) return nullptr;
    return guarded_script([&] {
        ks::Attribute made{"", {}, {}, many ? "tys" : "ty"};
        if (!many) made.types.push_back(wanted_type(given));
        else {
            Object fast(checked(PySequence_Fast(given, "a list of types is wanted")));
            for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++)
                made.types.push_back(wanted_type(PySequence_Fast_GET_ITEM(fast.get(), i)));
        }
        return put(self, name, std::move(made));
    });
}
PyObject* set_ival(PyObject* self, PyObject* args) {
    PyObject *name, *given;
    if (!PyArg_ParseTuple(args, "OO", &name, &given)) return nullptr;
    return guarded_script([&] {
        ks::Attribute made{"", {}, {}, "ival"};
        const ks::TypeRef type = inferred_type(given);
        KINDLING_CHECK(Runtime, type && to_item(given, type, made.item), "Unsupported value kind: %s", Py_TYPE(given)->tp_name);
        return put(self, name, std::move(made));
    });
}

PyMethodDef node_methods[] = {
    NONE(kind, return text_object(node(self).kind)),
    NONE(inputs, return iterator(list_of(self, ValueKind, node(self).inputs))),
    NONE(outputs, return iterator(list_of(self, ValueKind, node(self).outputs))),
    NONE(blocks, return iterator(list_of(self, BlockKind, node(self).blocks))),
    NONE(inputsSize, return PyLong_FromSize_t(node(self).inputs.size())),
    NONE(outputsSize, return PyLong_FromSize_t(node(self).outputs.size())),
    ONE(inputsAt, return sibling(self, ValueKind, node(self).inputs[index_in(given, node(self).inputs.size(), "input")])),
    ONE(outputsAt, return sibling(self, ValueKind, node(self).outputs[index_in(given, node(self).outputs.size(), "output")])),
    NONE(input, {
        KINDLING_CHECK(Runtime, node(self).inputs.size() == 1, "%s has %zu inputs, not one", node(self).kind.c_str(),
            node(self).inputs.size());
        return sibling(self, ValueKind, node(self).inputs[0]);
    }),
    NONE(output, {
        KINDLING_CHECK(Runtime, node(self).outputs.size() == 1, "%s has %zu outputs, not one", node(self).kind.c_str(),
            node(self).outputs.size());
        return sibling(self, ValueKind, node(self).outputs[0]);
    }),
    NONE(hasMultipleOutputs, return PyBool_FromLong(node(self).outputs.size() > 1)),
    NONE(hasUses, return PyBool_FromLong(node(self).used())),
    NONE(next, return sibling(self, NodeKind, node(self).next)),
    NONE(prev, return sibling(self, NodeKind, node(self).previous)),
    NONE(owningBlock, return sibling(self, BlockKind, node(self).block)),
    NONE(mustBeNone, return PyBool_FromLong(!node(self).outputs.empty() && ks::must_be_none(node(self).outputs[0]))),
    NONE(scopeName, return text_object("")),
    NONE(isNondeterministic, {
        const ks::Signature* signature = node(self).signature;
        return PyBool_FromLong(signature && signature->op && signature->op->functional->has(trait::Random));
    }),
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
    ONE(hasAttribute, return PyBool_FromLong(find_attribute(self, given) != nullptr)),
    ONE(kindOf, return text_object(kind_of(attribute(self, given)))),
    ONE(removeAttribute, {
        const ks::Attribute* found = &attribute(self, given);
        node(self).attributes.erase(node(self).attributes.begin() + (found - node(self).attributes.data()));
        return Py_NewRef(self);
    }),
    ONE(copyAttributes, { node(self).attributes = wanted_node(given)->attributes; return Py_NewRef(self); }),
    ONE(copyMetadata, {
        node(self).range = wanted_node(given)->range;
        node(self).scope = wanted_node(given)->scope;
        return Py_NewRef(self);
    }),
#define ATTRIBUTE(NAME, FIRST, SECOND)                                                                                                     \
    {NAME, get_attribute<FIRST, SECOND>, METH_O, nullptr}, {NAME "_", set_attribute<FIRST, SECOND>, METH_VARARGS, nullptr},
    // clang-format off
    ATTRIBUTE("i", 'i', 0) ATTRIBUTE("is", 'i', 's') ATTRIBUTE("f", 'f', 0) ATTRIBUTE("fs", 'f', 's') ATTRIBUTE("c", 'c', 0)
    ATTRIBUTE("s", 's', 0) ATTRIBUTE("ss", 's', 's')
    ATTRIBUTE("t", 't', 0) ATTRIBUTE("ts", 't', 's') ATTRIBUTE("g", 'g', 0)
// clang-format on
#undef ATTRIBUTE
    {"ival", attribute_value, METH_O, nullptr}, {"ival_", set_ival, METH_VARARGS, nullptr},
    {"ty", get_types, METH_O, nullptr}, {"tys", get_types, METH_O, nullptr}, {"ty_", set_types<false>, METH_VARARGS, nullptr}, {"tys_",
        set_types<true>, METH_VARARGS, nullptr},
    ONE(isBefore, return PyBool_FromLong(runs_before(&node(self), wanted_node(given)))),
    ONE(isAfter, return PyBool_FromLong(runs_before(wanted_node(given), &node(self)))),
    NONE(getModuleHierarchy, return text_object("")),
    ONE(namedInput, {
        const ks::Signature* schema = node(self).schema();
        const char* name = name_in(given);
        for (size_t i = 0; schema && i < schema->formals.size() && i < node(self).inputs.size(); i++)
            if (schema->formals[i].name == name) return sibling(self, ValueKind, node(self).inputs[i]);
        fail(ErrorKind::Runtime, "Couldn't find an argument called %s", name);
    }),
    {"matches", [](PyObject* self, PyObject* args) -> PyObject* {
        const char* text;
        if (!PyArg_ParseTuple(args, "s:matches", &text)) return nullptr;
        return guarded_script([&] {
            const ks::Signature wanted = ks::parse_signature(text), *schema = node(self).schema();
            return PyBool_FromLong(schema && schema->name == wanted.name && schema->overload == wanted.overload);
        });
    }, METH_VARARGS, nullptr},
    NONE(schema, { const ks::Signature* schema = node(self).schema(); return text_object(schema ? schema->text() : "(no schema)"); }),
    NONE(destroy, {
        KINDLING_CHECK(Runtime, !node(self).used(), "cannot destroy %s: its outputs are still used", node(self).kind.c_str());
        node(self).destroy();
        Py_RETURN_NONE;
    }),
    NONE(addBlock, return sibling(self, BlockKind, node(self).add_block())),
    NONE(addOutput, return sibling(self, ValueKind, node(self).add_output(ks::type_of(ks::TypeKind::Tensor)))),
    ONE(addInput, { changed(self).add_input(wanted_value(given)); return Py_NewRef(given); }),
    ONE(removeInput, { changed(self).remove_input(index_in(given, node(self).inputs.size(), "input")); Py_RETURN_NONE; }),
    NONE(removeAllInputs, { changed(self).clear_inputs(); Py_RETURN_NONE; }),
    ONE(eraseOutput, { node(self).erase_output(index_in(given, node(self).outputs.size(), "output")); Py_RETURN_NONE; }),
    ONE(insertBefore, { fresh(&node(self))->insert_before(wanted_node(given)); return Py_NewRef(self); }),
    ONE(insertAfter, { fresh(&node(self))->insert_after(wanted_node(given)); return Py_NewRef(self); }),
    ONE(moveBefore, { node(self).move_before(wanted_node(given)); Py_RETURN_NONE; }),
    ONE(moveAfter, { node(self).move_before(wanted_node(given)->next); Py_RETURN_NONE; }),
    ONE(replaceAllUsesWith, {
        ks::Node* other = wanted_node(given);
        KINDLING_CHECK(Runtime, other->outputs.size() == node(self).outputs.size(), "the nodes have %zu and %zu outputs",
            node(self).outputs.size(), other->outputs.size());
        for (size_t i = 0; i < other->outputs.size(); i++) node(self).outputs[i]->replace_uses(other->outputs[i]);
        Py_RETURN_NONE;
    }),
    {"replaceInput", [](PyObject* self, PyObject* args) -> PyObject* {
        PyObject *place, *by;
        if (!PyArg_ParseTuple(args, "OO:replaceInput", &place, &by)) return nullptr;
        return guarded_script([&] {
            const size_t i = index_in(place, node(self).inputs.size(), "input");
            ks::Value* old = node(self).inputs[i];
            changed(self).replace_input(i, wanted_value(by));
            return sibling(self, ValueKind, old);
        });
    }, METH_VARARGS, nullptr},
    {"replaceInputWith", [](PyObject* self, PyObject* args) -> PyObject* {
        PyObject *from, *to;
        if (!PyArg_ParseTuple(args, "OO:replaceInputWith", &from, &to)) return nullptr;
        return guarded_script([&]() -> PyObject* {
            for (size_t i = 0; i < node(self).inputs.size(); i++)
                if (node(self).inputs[i] == wanted_value(from)) changed(self).replace_input(i, wanted_value(to));
            Py_RETURN_NONE;
        });
    }, METH_VARARGS, nullptr},
    KEYS(findNode, find_in_node<true>), KEYS(findAllNodes, find_in_node<false>),
    {nullptr, nullptr, 0, nullptr}};

/// As far as the type says: a tensor that was seen.
PyObject* requires_grad(PyObject* self, PyObject*) {
    return PyBool_FromLong(value(self).type->is(ks::TypeKind::Tensor) &&
                           value(self).type->name.find("requires_grad=1") != std::string::npos);
}
PyObject* use_of(PyObject* self, const ks::Use& use) {
    PyObject* made = sibling(self, UseKind, use.user);
    reinterpret_cast<Part*>(made)->place = use.offset;
    return made;
}
PyMethodDef use_methods[] = {ONE(isAfter,
                                 {
                                     const ks::Node* other = static_cast<ks::Node*>(wanted(given, UseKind));
                                     return PyBool_FromLong(other == &node(self) ? reinterpret_cast<Part*>(self)->place >
                                                                                       reinterpret_cast<Part*>(given)->place
                                                                                 : runs_before(other, &node(self)));
                                 }),
                             {nullptr, nullptr, 0, nullptr}};
PyGetSetDef use_parts[] = {
    {"user", [](PyObject* self, void*) -> PyObject* { return guarded_script([&] { return sibling(self, NodeKind, &node(self)); }); },
     nullptr, nullptr, nullptr},
    {"offset", [](PyObject* self, void*) -> PyObject* { return PyLong_FromSize_t(reinterpret_cast<Part*>(self)->place); }, nullptr, nullptr,
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef value_methods[] = {NONE(debugName, return text_object(value(self).name())),
                               ONE(setDebugName,
                                   {
                                       value(self).set_name(name_in(given));
                                       return Py_NewRef(self);
                                   }),
                               NONE(unique, return PyLong_FromSize_t(value(self).number)),
                               NONE(offset, return PyLong_FromSize_t(value(self).offset)),
                               NONE(node, return sibling(self, NodeKind, value(self).node)),
                               NONE(type,
                                    {
                                        const ks::Function* function = value(self).node->function; // each is a type of its own
                                        if (!function) return type_object(value(self).type);
                                        Object make(checked(import("kindling.jit._types", "FunctionType")));
                                        return PyObject_CallFunction(make.get(), "s", ("__torch__." + function->name).c_str());
                                    }),
                               ONE(setType,
                                   {
                                       value(self).type = wanted_type(given);
                                       return Py_NewRef(self);
                                   }),
                               ONE(inferTypeFrom,
                                   {
                                       value(self).type = is_tensor(given) ? ks::seen(tensor_of(given)) : wanted_type(given);
                                       return Py_NewRef(self);
                                   }),
                               ONE(setTypeAs,
                                   {
                                       value(self).type = wanted_value(given)->type;
                                       return Py_NewRef(self);
                                   }),
                               ONE(copyMetadata,
                                   {
                                       value(self).copy_metadata(wanted_value(given));
                                       return Py_NewRef(self);
                                   }),
                               ONE(replaceAllUsesWith,
                                   {
                                       value(self).replace_uses(wanted_value(given));
                                       Py_RETURN_NONE;
                                   }),
                               {"replaceAllUsesAfterNodeWith",
                                [](PyObject* self, PyObject* args) -> PyObject* {
                                    PyObject *after, *by;
                                    if (!PyArg_ParseTuple(args, "OO:replaceAllUsesAfterNodeWith", &after, &by)) return nullptr;
                                    return guarded_script([&]() -> PyObject* {
                                        const std::vector<ks::Use> uses = value(self).uses;
                                        for (const ks::Use& use : uses)
                                            if (runs_before(wanted_node(after), use.user))
                                                use.user->replace_input(use.offset, wanted_value(by));
                                        Py_RETURN_NONE;
                                    });
                                },
                                METH_VARARGS, nullptr},
                               {"requires_grad", requires_grad, METH_NOARGS, nullptr},
                               {"requiresGrad", requires_grad, METH_NOARGS, nullptr},
                               NONE(isCompleteTensor, return PyBool_FromLong(value(self).type->name.find("strides=") != std::string::npos)),
                               NONE(toIValue,
                                    {
                                        const Item* item = ks::constant_of(&value(self));
                                        if (!item) Py_RETURN_NONE;
                                        return from_item(*item);
                                    }),
                               NONE(uses,
                                    {
                                        Object list(checked(PyList_New(0)));
                                        for (const ks::Use& use : value(self).uses) {
                                            Object one(checked(use_of(self, use)));
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
    const bool same = reinterpret_cast<Part*>(a)->at == reinterpret_cast<Part*>(b)->at &&
                      reinterpret_cast<Part*>(a)->place == reinterpret_cast<Part*>(b)->place;
    return PyBool_FromLong(same == (op == Py_EQ));
}
Py_hash_t hash(PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(reinterpret_cast<Part*>(self)->at) >> 4); }
PyObject* shown(PyObject* self) {
    return guarded_script([&]() -> PyObject* {
        if (is_part(self, GraphKind)) return text_object(graph_of(self).str());
        if (is_part(self, NodeKind)) return text_object(node(self).str());
        if (is_part(self, ValueKind)) return text_object(value(self).name() + " defined in (" + value(self).node->str() + ")");
        return PyUnicode_FromFormat("<torch.Block object at %p>", self);
    });
}

PyObject* new_graph(PyTypeObject* type, PyObject* args, PyObject*) {
    if (PyTuple_GET_SIZE(args))
        return PyErr_Format(
            PyExc_TypeError,
            "__init__(): incompatible constructor arguments. The following argument types are supported:\n    1. torch._C.Graph()");
    return guarded_script([&] {
        auto graph = std::make_shared<ks::Graph>();
        auto* made = reinterpret_cast<Part*>(checked(type->tp_alloc(type, 0)));
        made->at = graph.get();
        new (&made->graph) std::shared_ptr<ks::Graph>(std::move(graph));
        return reinterpret_cast<PyObject*>(made);
    });
}

bool make_types() {
    if (types[UseKind]) return true;
    static const struct {
        const char* name;
        PyMethodDef* methods;
        PyGetSetDef* parts;
    } made[] = {{"torch._C.Graph", graph_methods, nullptr},
                {"torch._C.Block", block_methods, nullptr},
                {"torch._C.Node", node_methods, nullptr},
                {"torch._C.Value", value_methods, nullptr},
                {"torch._C.Use", use_methods, use_parts}};
    static PyGetSetDef none[] = {{nullptr, nullptr, nullptr, nullptr, nullptr}};
    for (int kind = 0; kind <= UseKind; kind++) {
        PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                               {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                               {Py_tp_hash, reinterpret_cast<void*>(hash)},
                               {Py_tp_repr, reinterpret_cast<void*>(shown)},
                               {Py_tp_methods, made[kind].methods},
                               {Py_tp_getset, made[kind].parts ? made[kind].parts : none},
                               {kind == GraphKind ? Py_tp_new : 0, reinterpret_cast<void*>(new_graph)},
                               {0, nullptr}};
        const unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | (kind == GraphKind ? 0 : Py_TPFLAGS_DISALLOW_INSTANTIATION);
        PyType_Spec spec = {made[kind].name, sizeof(Part), 0, flags, slots};
        types[kind] = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
        if (!types[kind]) return false;
    }
    return true;
}

/// parse_ir(text, parse_tensor_constants=False)
PyObject* parse_ir(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"input", "parse_tensor_constants", nullptr};
    const char* text;
    int constants = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|p:parse_ir", const_cast<char**>(names), &text, &constants)) return nullptr;
    return guarded_script([&] { return graph_object(ks::parse_graph(text, constants)); });
}

/// _graph_type("Node"): the type of that name.
PyObject* graph_type(PyObject*, PyObject* name) {
    if (!make_types()) return nullptr;
    const char* text = PyUnicode_AsUTF8(name);
    for (PyTypeObject* type : types)
        if (text && !std::strcmp(std::strrchr(type->tp_name, '.') + 1, text)) return Py_NewRef(reinterpret_cast<PyObject*>(type));
    return PyErr_Format(PyExc_AttributeError, "%S is no part of a graph", name);
}

} // namespace

PyObject* graph_object(std::shared_ptr<ks::Graph> graph) {
    void* at = graph.get();
    return part(std::move(graph), GraphKind, at);
}
ks::Graph& graph_in(PyObject* object) {
    if (!is_part(object, GraphKind)) fail(ErrorKind::Type, "a Graph was expected, not %s", Py_TYPE(object)->tp_name);
    return graph_of(object);
}

/// What torch._C._jit_pass_NAME is: a function of a graph; null if there is no such pass, without an error.
PyObject* graph_pass(const char* name) {
    const ks::NamedPass* pass = ks::pass_named(name);
    if (!pass) return nullptr;
    static PyMethodDef method = {"_jit_pass",
                                 [](PyObject* self, PyObject* args) -> PyObject* {
                                     PyObject *graph, *option = nullptr;
                                     if (!PyArg_ParseTuple(args, "O|O", &graph, &option)) return nullptr;
                                     return guarded_script([&] {
                                         const auto* pass = static_cast<const ks::NamedPass*>(PyCapsule_GetPointer(self, nullptr));
                                         const bool changed = pass->run(graph_in(graph), option ? option == Py_True : pass->option);
                                         return pass->answers ? PyBool_FromLong(changed) : Py_NewRef(Py_None);
                                     });
                                 },
                                 METH_VARARGS, nullptr};
    Object capsule(PyCapsule_New(const_cast<ks::NamedPass*>(pass), nullptr, nullptr));
    return capsule ? PyCFunction_New(&method, capsule.get()) : nullptr;
}

/// _jit_pass_canonicalize(graph, keep_unique_names=True): a copy with numbers in order.
static PyObject* canonicalize(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"graph", "keep_unique_names", nullptr};
    PyObject* graph;
    int keep = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p", const_cast<char**>(names), &graph, &keep)) return nullptr;
    return guarded_script([&] { return graph_object(ks::canonicalized(graph_in(graph), keep)); });
}

/// _create_function_from_graph(name, graph): a ScriptFunction that runs it.
static PyObject* function_from_graph(PyObject*, PyObject* args) {
    const char* name;
    PyObject* graph;
    if (!PyArg_ParseTuple(args, "sO:_create_function_from_graph", &name, &graph)) return nullptr;
    return guarded_script([&] {
        ks::Graph& given = graph_in(graph);
        auto unit = std::make_shared<Unit>();
        auto& made = unit->functions[name] = std::make_unique<ks::Function>();
        made->name = name;
        made->owner = unit;
        made->graph = {reinterpret_cast<Part*>(graph)->graph, &given};
        made->signature = signature_of_graph(given, name);
        return script_function(unit, made.get());
    });
}

/// _scalar_types(): dtypes by the names that types in graphs have: "Float".
static PyObject* scalar_types(PyObject*, PyObject*) {
    return guarded_script([&] {
        Object all(checked(PyDict_New()));
        for (int i = 0; i < dtype_count; i++) {
            Object dtype(checked(dtype_object(static_cast<DType>(i))));
            if (PyDict_SetItemString(all.get(), scalar_type_name(static_cast<DType>(i)), dtype.get())) throw_python();
        }
        return all.take();
    });
}

bool init_script_graph(PyObject* module) {
    static PyMethodDef functions[] = {{"parse_ir", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(parse_ir)),
                                       METH_VARARGS | METH_KEYWORDS, "The Graph of its text."},
                                      {"_jit_pass_canonicalize", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(canonicalize)),
                                       METH_VARARGS | METH_KEYWORDS, nullptr},
                                      {"_graph_type", graph_type, METH_O, nullptr},
                                      {"_create_function_from_graph", function_from_graph, METH_VARARGS, nullptr},
                                      {"_scalar_types", scalar_types, METH_NOARGS, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
