// script/passes/batch_mm.cpp: matrix products that can be one. A sum of products is the product of wide and tall matrices
// (prim::MMTreeReduce), and products with one operand in common are a product of the others joined (prim::MMBatchSide). In PyTorch's steps,
// but that a sum with alpha stays. The last bits of results may change, so nothing runs this unasked.
#include <algorithm>

#include "generated/functions.h"
#include "script/passes/passes.h"

namespace kindling::script {
namespace {

constexpr size_t least_sum = 4, least_shared = 8;
// Rows up to which joining left operands costs less than the calls that it saves: 1.1 to 2.3 times with float32 on one core. Right
// operands and sums are as large as what they are multiplied with, and joining them costs more than it saves, up to three times.
constexpr int64_t most_rows = 16;

bool is_product(const Node* node) { return node->is("aten::mm") && node->inputs.size() == 2; }
bool is_sum(const Node* node) {
    if (!node->is("aten::add") || node->inputs.size() != 3 || !node->input(1)->type->is(TypeKind::Tensor)) return false;
    const Item* alpha = constant_of(node->input(2));
    return alpha && alpha->is(Item::Tag::Int) && alpha->integer() == 1;
}
bool writes(const Block* block) {
    for (const Node* node = block->first(); node != block->end; node = node->next) {
        if (const Signature* schema = node->schema())
            for (const Formal& formal : schema->formals)
                if (formal.written.find('!') != std::string::npos) return true;
        for (const Block* inner : node->blocks)
            if (writes(inner)) return true;
    }
    return false;
}
bool contains(const std::vector<Node*>& all, const Node* node) { return std::find(all.begin(), all.end(), node) != all.end(); }
bool reads(const Node* node, const std::vector<Node*>& from) {
    for (const Value* input : node->inputs)
        if (contains(from, input->node)) return true;
    for (const Block* inner : node->blocks)
        for (const Node* each = inner->first();; each = each->next) {
            if (reads(each, from)) return true;
            if (each == inner->end) break;
        }
    return false;
}
Node* make(Node* before, const char* kind, size_t outputs = 1) {
    Node* made = before->graph->create_with(kind, type_of(TypeKind::Tensor))->insert_before(before);
    while (made->outputs.size() < outputs) made->add_output(type_of(TypeKind::Tensor));
    return made;
}

/// The products of a sum, the last first. False if it is no sum of products that nobody else reads.
bool gather(Node* node, const Block* block, std::vector<Node*>& products) {
    for (;; node = node->input(0)->node) {
        if (node->block != block) return false;
        if (is_product(node) || (node->is("aten::t") && node->input()->node->block == block && is_product(node->input()->node))) {
            products.push_back(node);
            return true;
        }
        if (!is_sum(node) || node->input(0)->uses.size() != 1 || node->input(1)->uses.size() != 1) return false;
        if (!gather(node->input(1)->node, block, products)) return false;
    }
}
void batch_sums(Block* block) {
    for (Node* root = block->end->previous; root != block->parameters; root = root->previous) {
        for (Block* inner : root->blocks) batch_sums(inner);
        std::vector<Node*> products;
        if (!is_sum(root) || !root->used() || !gather(root, block, products) || products.size() < least_sum) continue;
        for (Node*& each : products) {
            if (is_product(each)) continue;
            Node* turned = each->input()->node; // (a b)' = b' a'
            Node *a = make(turned, "aten::t"), *b = make(turned, "aten::t");
            a->add_input(turned->input(0));
            b->add_input(turned->input(1));
            each = make(turned, "aten::mm");
            each->add_input(b->output());
            each->add_input(a->output());
        }
        Node* made = make(root, "prim::MMTreeReduce");
        for (size_t side = 0; side < 2; side++)
            for (const Node* each : products) made->add_input(each->input(side));
        root->output()->replace_uses(made->output());
    }
}

/// The products in the block of a value that have it on one side, without those that depend on others of them, stand where the last is.
void share(Value* value, size_t side) {
    std::vector<Node*> products, late; // `late`: these, and what depends on them
    const Block* block = value->node->block;
    for (Node* node = block->first(); node != block->end; node = node->next) {
        if (!reads(node, late)) {
            if (!is_product(node) || node->input(side) != value || node->input(1 - side) == value) continue;
            products.push_back(node);
        }
        late.push_back(node);
    }
    if (products.size() < least_shared) return;
    // Each moves to the next one, what depends on it behind that: PyTorch's order.
    for (size_t i = products.size() - 1; i-- > 0;) {
        Node* next = products[i + 1];
        late = {products[i]};
        for (Node* node = products[i]->next; node != next; node = node->next)
            if (reads(node, late)) late.push_back(node);
        products[i]->move_before(next);
        while (late.size() > 1) {
            late.back()->move_before(next->next);
            late.pop_back();
        }
    }
    Node* made = make(products[0], "prim::MMBatchSide", products.size())->add_input(value);
    made->attributes.push_back({"side", Item(static_cast<int64_t>(side)), {}});
    for (size_t i = 0; i < products.size(); i++) {
        made->add_input(products[i]->input(1 - side));
        products[i]->output()->replace_uses(made->output(i));
    }
}
void batch_sides(Block* block) {
    std::vector<Value*> seen;
    for (Node* node = block->first(); node != block->end; node = node->next) {
        for (Block* inner : node->blocks) batch_sides(inner);
        for (size_t i = 0; is_product(node) && i < 2; i++) {
            Value* input = node->input(i);
            if (std::find(seen.begin(), seen.end(), input) != seen.end()) continue;
            seen.push_back(input);
            share(input, 0);
            share(input, 1);
        }
    }
}

// ---- what runs

Item product(const Item& a, const Item& b) { return Item(kindling::mm(a.tensor(), b.tensor())); }
void sum_of_products(Item* a, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        a[i] = product(a[i], a[i + count / 2]);
        if (i) a[0] = Item(kindling::add(a[0].tensor(), a[i].tensor()));
    }
}
/// The first is what the others have in common.
void products(Item* a, size_t count, bool right) {
    std::vector<Tensor> others;
    bool few = right;
    for (size_t i = 1; i < count && few; i++) {
        const Tensor& each = others.emplace_back(a[i].tensor());
        few = each.dim() == 2 && each.size(0) <= most_rows && each.sizes() == others[0].sizes() && each.dtype() == others[0].dtype();
    }
    if (few) others = kindling::chunk(kindling::mm(kindling::cat(others), a[0].tensor()), static_cast<int64_t>(count) - 1);
    for (size_t i = 1; i < count; i++) a[i] = few ? Item(others[i - 1]) : right ? product(a[i], a[0]) : product(a[0], a[i]);
    a[0] = Item::tuple(nullptr, std::vector<Item>(a + 1, a + count));
}

} // namespace

bool batch_mm(Graph& graph) {
    if (writes(graph.block)) return false;
    batch_sums(graph.block);
    batch_sides(graph.block);
    remove_dead(graph);
    peephole(graph, false);
    return true;
}

Builtin batched_products(const Node* node) {
    if (node->is("prim::MMTreeReduce")) return sum_of_products;
    if (!node->is("prim::MMBatchSide")) return nullptr;
    return node->attribute("side")->integer() ? [](Item* a, size_t count) { products(a, count, true); }
                                              : [](Item* a, size_t count) { products(a, count, false); };
}

} // namespace kindling::script
