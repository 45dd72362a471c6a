// script/graph/graph.cpp: the graph's bookkeeping, and its text.
#include "script/graph/graph.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace kindling::script {

// ---- values

std::string base_name(const std::string& name, size_t* suffix) {
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos || dot + 1 == name.size() || name.find_first_not_of("0123456789", dot + 1) != std::string::npos)
        return name;
    if (suffix) *suffix = std::stoul(name.substr(dot + 1));
    return name.substr(0, dot);
}

Value* Value::set_name(const std::string& name) {
    auto& names = node->graph->names_;
    if (!given.empty()) {
        names.erase(given);
        given.clear();
    }
    if (name.empty()) return this;
    if (const auto owner = names.find(name); owner != names.end()) {
        Value* other = owner->second;
        size_t suffix = 1;
        const std::string base = base_name(name, &suffix);
        auto& suffixes = node->graph->suffixes_;
        if (const auto used = suffixes.find(base); used != suffixes.end()) suffix = std::max(suffix, used->second + 1);
        std::string free;
        do free = base + "." + std::to_string(suffix++);
        while (names.count(free));
        suffixes[base] = suffix;
        other->set_name(free);
    }
    names[name] = this;
    given = name;
    return this;
}

Value* Value::copy_metadata(const Value* from) {
    type = from->type;
    if (!from->given.empty()) set_name(std::string(from->given));
    return this;
}

void Value::replace_uses(Value* by) {
    const std::vector<Use> all = std::move(uses);
    uses.clear();
    for (const Use& use : all) {
        use.user->inputs[use.offset] = by;
        by->uses.push_back(use);
    }
}

const Graph& Value::graph() const { return *node->graph; }

// ---- nodes

namespace {
void drop_use(Value* value, const Node* user, size_t offset) {
    std::erase_if(value->uses, [&](const Use& use) { return use.user == user && use.offset == offset; });
}
void move_use(Value* value, const Node* user, size_t from, size_t to) {
    for (Use& use : value->uses)
        if (use.user == user && use.offset == from) {
            use.offset = to;
            return;
        }
}
} // namespace

void Node::insert_input(size_t place, Value* value) {
    for (size_t i = inputs.size(); i > place; i--) move_use(inputs[i - 1], this, i - 1, i);
    inputs.insert(inputs.begin() + static_cast<long>(place), value);
    value->uses.push_back({this, place});
}
void Node::replace_input(size_t place, Value* value) {
    drop_use(inputs[place], this, place);
    inputs[place] = value;
    value->uses.push_back({this, place});
}
void Node::remove_input(size_t place) {
    drop_use(inputs[place], this, place);
    for (size_t i = place + 1; i < inputs.size(); i++) move_use(inputs[i], this, i, i - 1);
    inputs.erase(inputs.begin() + static_cast<long>(place));
}
void Node::clear_inputs() {
    for (size_t i = 0; i < inputs.size(); i++) drop_use(inputs[i], this, i);
    inputs.clear();
}

Value* Node::add_output(TypeRef type) {
    graph->values_.push_back(std::make_unique<Value>(Value{this, type, graph->next_number_++, outputs.size(), "", {}}));
    outputs.push_back(graph->values_.back().get());
    return outputs.back();
}
void Node::erase_output(size_t place) {
    KINDLING_ASSERT(outputs[place]->uses.empty());
    outputs[place]->set_name("");
    outputs.erase(outputs.begin() + static_cast<long>(place));
    for (size_t i = place; i < outputs.size(); i++) outputs[i]->offset = i;
}

Block* Node::add_block() {
    graph->blocks_.push_back(std::make_unique<Block>());
    Block* made = graph->blocks_.back().get();
    made->graph = graph;
    made->owner = this;
    made->end = graph->create("prim::Return", {}, 0);
    made->parameters = graph->create("prim::Param", {}, 0);
    made->end->block = made->parameters->block = made;
    made->parameters->next = made->parameters->previous = made->end;
    made->end->next = made->end->previous = made->parameters;
    blocks.push_back(made);
    return made;
}
void Node::erase_block(size_t place) {
    blocks[place]->destroy();
    blocks.erase(blocks.begin() + static_cast<long>(place));
}

Node* Node::insert_before(Node* other) {
    block = other->block;
    previous = other->previous;
    next = other;
    previous->next = other->previous = this;
    return this;
}
void Node::unlink() {
    previous->next = next;
    next->previous = previous;
    previous = next = nullptr;
}

bool Node::used() const {
    return std::any_of(outputs.begin(), outputs.end(), [](const Value* value) { return !value->uses.empty(); });
}

void Node::destroy() {
    while (!outputs.empty()) erase_output(outputs.size() - 1);
    while (!blocks.empty()) erase_block(blocks.size() - 1);
    clear_inputs();
    if (previous) unlink();
}

const Item* Node::attribute(const char* name) const {
    for (const Attribute& each : attributes)
        if (each.name == name) return &each.item;
    return nullptr;
}

const std::shared_ptr<Graph>* Node::subgraph() const {
    for (const Attribute& each : attributes)
        if (each.graph) return &each.graph;
    return nullptr;
}

void Block::destroy() {
    end->clear_inputs();
    while (end->previous != parameters) end->previous->destroy();
    while (!parameters->outputs.empty()) parameters->erase_output(parameters->outputs.size() - 1);
}

// ---- graphs

Graph::Graph() {
    Node top{};
    top.graph = this;
    block = top.add_block();
    block->owner = nullptr;
    insert_point = block->end;
}

Node* Graph::create(const std::string& kind, const std::vector<Value*>& inputs, size_t outputs) {
    nodes_.push_back(std::make_unique<Node>());
    Node* node = nodes_.back().get();
    node->graph = this;
    node->kind = kind;
    node->scope = scope;
    for (Value* input : inputs) node->add_input(input);
    for (size_t i = 0; i < outputs; i++) node->add_output(type_of(TypeKind::Tensor));
    return node;
}

Node* Graph::create(const char* kind, std::initializer_list<Value*> inputs, size_t outputs) {
    return create(std::string(kind), std::vector<Value*>(inputs), outputs);
}

Node* Graph::create_constant(const Item& item, TypeRef type) {
    Node* node = create("prim::Constant");
    node->output()->type = type ? type : item.type();
    if (!item.is_none()) node->attributes.push_back({"value", item, {}});
    return node;
}
Node* Graph::create_with(const char* kind, TypeRef type, const std::vector<Value*>& inputs) {
    Node* node = create(kind, inputs);
    node->output()->type = type;
    return node;
}
Node* Graph::create_load(const std::string& name, TypeRef type) {
    Node* node = create_with("prim::Load", type);
    node->attributes.push_back({"name", Item(name), {}});
    return node;
}
Node* Graph::create_store(const std::string& name, Value* value) {
    Node* node = create("prim::Store", {value}, 0);
    node->attributes.push_back({"name", Item(name), {}});
    return node;
}

const Item* constant_of(const Value* value) {
    static const Item none;
    if (!value->node->is("prim::Constant")) return nullptr;
    const Item* item = value->node->attribute("value");
    return item ? item : &none;
}

bool must_be_none(const Value* value) {
    const Node* node = value->node;
    return value->type->is(TypeKind::None) ||
           (node->is("prim::Constant") && node->attributes.empty() && value->type->is(TypeKind::Optional));
}

// ---- text

namespace {

std::string names_of(const std::vector<Value*>& values) {
    std::string out;
    for (const Value* value : values) out += (out.empty() ? "%" : ", %") + value->name();
    return out;
}
std::string typed(const std::vector<Value*>& values, const char* between = ", ") {
    std::string out;
    for (const Value* value : values) out += (out.empty() ? "%" : between + std::string("%")) + value->name() + " : " + str(value->type);
    return out;
}

using Groups = std::vector<const Node*>; // whose bodies are written below

void print(std::string& out, const Attribute& attribute) {
    out += attribute.name + "=";
    if (attribute.graph) out += "<Graph>";
    else if (attribute.kind && !std::strcmp(attribute.kind, "ty")) out += str(attribute.types[0]);
    else if (attribute.kind && !std::strcmp(attribute.kind, "ts")) out += "[<Tensors>]";
    else if (attribute.types.empty())
        out += attribute.item.is(Item::Tag::Bool) ? std::to_string(attribute.item.truth()) : str(attribute.item);
    else {
        out += "[";
        for (size_t i = 0; i < attribute.types.size(); i++) out += (i ? ", " : "") + str(attribute.types[i]);
        out += "]";
    }
}

void print(std::string& out, const Node* node, size_t level, bool ranges, Groups* groups) {
    out.append(2 * level, ' ') += typed(node->outputs) + " = ";
    const Item *python = node->is("prim::PythonOp") ? node->attribute("name") : nullptr,
               *module = node->attribute("module"); // `module`: of a trace
    if (python)
        out += "^" + python->text() + "[" +
               (module ? "inplace=0, module=" + str(*module) + ", Subgraph=<Graph>](" + node->attribute("how")->text() + ")" : "]()");
    else out += node->kind;
    const bool group = groups && node->subgraph();
    if (group) {
        out += "_" + std::to_string(groups->size());
        groups->push_back(node);
    }
    std::string all;
    if (!python)
        for (const Attribute& each : node->attributes) {
            if (group && (each.graph || node->is("prim::DifferentiableGraph"))) continue;
            if (!all.empty()) all += ", ";
            print(all, each);
        }
    if (!all.empty()) out += "[" + all + "]";
    out += "(" + names_of(node->inputs) + ")";
    if (!node->scope.empty()) out += ", scope: " + node->scope;
    if (ranges && node->range.source) {
        size_t line, column;
        node->range.place(line, column);
        out += format(" # %s:%zu:%zu", node->range.source->file.c_str(), line, column);
    }
    out += "\n";
    for (size_t i = 0; i < node->blocks.size(); i++) {
        const Block* block = node->blocks[i];
        out.append(2 * (level + 1), ' ') += "block" + std::to_string(i) + "(" + typed(block->inputs()) + "):\n";
        for (const Node* each = block->first(); each != block->end; each = each->next) print(out, each, level + 2, ranges, groups);
        out.append(2 * (level + 2), ' ') += "-> (" + names_of(block->outputs()) + ")\n";
    }
}

} // namespace

std::string Node::str(bool ranges) const {
    std::string out;
    print(out, this, 0, ranges, nullptr);
    return out;
}

std::string Graph::str(bool ranges) const {
    std::string out = "graph(" + typed(block->inputs(), ",\n      ") + "):\n";
    Groups groups;
    for (const Node* node = block->first(); node != block->end; node = node->next) print(out, node, 1, ranges, &groups);
    out += "  return (" + names_of(block->outputs()) + ")\n";
    for (size_t i = 0; i < groups.size(); i++)
        out += "with " + groups[i]->kind + "_" + std::to_string(i) + " = " + (*groups[i]->subgraph())->str(ranges);
    return out;
}

// ---- whole graphs

namespace {
size_t depth(const Block* block) { return block->owner ? 1 + depth(block->owner->block) : 0; }

void lint_block(const Block* block, std::unordered_set<const Value*>& known) {
    for (const Value* input : block->inputs()) known.insert(input);
    const auto check = [&](const Node* node) {
        for (size_t i = 0; i < node->inputs.size(); i++) {
            const Value* value = node->inputs[i];
            KINDLING_CHECK(Runtime, known.count(value), "%s reads %%%s, which is not made before it", node->kind.c_str(),
                           value->name().c_str());
            const bool noted =
                std::any_of(value->uses.begin(), value->uses.end(), [&](const Use& use) { return use.user == node && use.offset == i; });
            KINDLING_CHECK(Runtime, noted, "%%%s does not know that %s uses it", value->name().c_str(), node->kind.c_str());
        }
    };
    for (const Node* node = block->first(); node != block->end; node = node->next) {
        check(node);
        for (const Block* inner : node->blocks) lint_block(inner, known);
        for (const Value* output : node->outputs) known.insert(output);
        if (const std::shared_ptr<Graph>* body = node->subgraph()) (*body)->lint();
    }
    check(block->end);
}
} // namespace

void Graph::lint() const {
    std::unordered_set<const Value*> known;
    lint_block(block, known);
}

bool before(const Node* a, const Node* b) {
    size_t da = depth(a->block), db = depth(b->block);
    for (; da > db; da--)
        if ((a = a->block->owner) == b) return false;
    for (; db > da; db--)
        if ((b = b->block->owner) == a) return true;
    while (a->block != b->block) {
        const Node *up_a = a->block->owner, *up_b = b->block->owner;
        if (up_a == up_b) return a->block == up_a->blocks[0];
        a = up_a, b = up_b;
    }
    for (const Node* node = a;; node = node->next) {
        if (node == b) return a != b;
        if (node == node->block->end) return false;
    }
}

std::shared_ptr<Graph> copy_of(const Graph& graph) {
    auto made = std::make_shared<Graph>();
    made->block->clone_from(graph.block, [](Value* value) { return value; });
    return made;
}

std::vector<Value*> insert_graph(Graph& into, const Graph& body, const std::vector<Value*>& inputs) {
    std::unordered_map<const Value*, Value*> known;
    for (size_t i = 0; i < inputs.size(); i++) known[body.block->inputs()[i]] = inputs[i];
    const std::function<Value*(Value*)> find = [&](Value* value) { return known.at(value); };
    for (const Node* each = body.block->first(); each != body.block->end; each = each->next) {
        Node* copy = into.insert(into.clone(each, find));
        for (size_t i = 0; i < each->outputs.size(); i++) known[each->outputs[i]] = copy->outputs[i];
    }
    std::vector<Value*> outputs;
    for (Value* output : body.block->outputs()) outputs.push_back(find(output));
    return outputs;
}

// ---- copies

Node* Graph::clone(const Node* node, const Map& map) {
    Node* copy = create(node->kind, {}, 0);
    copy->range = node->range;
    copy->inlined = node->inlined;
    copy->scope = node->scope;
    copy->attributes = node->attributes;
    copy->signature = node->signature;
    copy->function = node->function;
    for (const Value* output : node->outputs) copy->add_output(output->type)->copy_metadata(output);
    for (const Block* inner : node->blocks) copy->add_block()->clone_from(inner, map);
    for (Value* input : node->inputs) copy->add_input(map(input));
    return copy;
}

void Block::clone_from(const Block* source, const Map& map) {
    std::unordered_map<const Value*, Value*> inside;
    const Map find = [&](Value* value) -> Value* {
        const auto found = inside.find(value);
        return found == inside.end() ? map(value) : found->second;
    };
    for (const Value* input : source->inputs()) inside[input] = add_input(input->type)->copy_metadata(input);
    for (const Node* node = source->first(); node != source->end; node = node->next) {
        Node* copy = append(graph->clone(node, find));
        for (size_t i = 0; i < node->outputs.size(); i++) {
            inside[node->outputs[i]] = copy->outputs[i];
            copy->outputs[i]->copy_metadata(node->outputs[i]);
        }
    }
    for (Value* output : source->outputs()) add_output(find(output));
}

} // namespace kindling::script
