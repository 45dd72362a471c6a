// script/run/assemble.cpp: from a graph to instructions: control flow becomes jumps, values become places, and a place is cleared behind
// its last use, so that a script holds memory no longer than the same lines of Python do.
#include <algorithm>
#include <unordered_map>

#include "generated/functions.h"
#include "script/graph/class.h"
#include "script/passes/passes.h"
#include "script/run/instructions.h"
#include "script/run/native_loop.h"
#include "script/run/small_group.h"

namespace kindling::script {
namespace {

using Do = Instruction::Do;

class Assembler {
public:
    explicit Assembler(const Function& function) : function_(function), code_(std::make_shared<Code>()) {
        code_->graph = as_run(*function.graph);
    }

    std::shared_ptr<Code> run() {
        Block* block = code_->graph->block;
        for (const Value* input : block->inputs()) code_->parameters.push_back(place_of(input));
        std::vector<uint32_t> unused;
        for (const Value* input : block->inputs())
            if (input->uses.empty()) unused.push_back(place_of(input));
        emit(Do::Drop, nullptr, {}, {}, unused);
        body(block);
        for (const Value* output : block->outputs()) code_->results.push_back(operand_of(output));
        return code_;
    }

private:
    // ---- places

    uint32_t place_of(const Value* value) {
        const auto [at, fresh] = places_.try_emplace(value, code_->places);
        if (fresh) code_->places++;
        return static_cast<uint32_t>(at->second);
    }
    uint32_t constant(const Item& item) {
        code_->constants.push_back(item);
        return static_cast<uint32_t>(code_->constants.size() - 1) | operand::Constant;
    }
    uint32_t operand_of(const Value* value) {
        if (value->node->is("prim::Constant")) {
            const auto [at, fresh] = constants_.try_emplace(value, 0);
            if (fresh) {
                const Item* item = constant_of(value);
                at->second = constant(item ? *item : Item());
            }
            return static_cast<uint32_t>(at->second);
        }
        return place_of(value);
    }
    static bool is_constant(const Value* value) { return value->node->is("prim::Constant"); }

    /// The node of `block` in which `user` stands, itself or in a block below.
    static const Node* within(const Block* block, const Node* user) {
        while (user->block != block) user = user->block->owner;
        return user;
    }
    /// Places of values that `node` is the last of its block to use: its inputs, and what is used in its blocks.
    void last_uses(const Node* node, std::vector<uint32_t>& drops) {
        const auto look = [&](const Value* value) {
            if (is_constant(value) || value->node->block != node->block) return; // of a block around this one: it ends there
            if (value->node->is("prim::Param") && value->offset == 0 && node->block->owner && node->block->owner->is("prim::Loop"))
                return; // it counts on
            for (const Use& use : value->uses) {
                const Node* other = within(node->block, use.user);
                if (other == node->block->end) return;
                if (other != node && is_after(other, node)) return;
            }
            const uint32_t place = place_of(value);
            if (std::find(drops.begin(), drops.end(), place) == drops.end()) drops.push_back(place);
        };
        for (const Value* input : node->inputs) look(input);
        for (const Block* block : node->blocks) below(block, look);
        for (const Value* output : node->outputs)
            if (output->uses.empty()) drops.push_back(place_of(output));
    }
    template <class F> static void below(const Block* block, F look) {
        for (const Node* node = block->first();; node = node->next) {
            for (const Value* input : node->inputs) look(input);
            for (const Block* inner : node->blocks) below(inner, look);
            if (node == block->end) return;
        }
    }
    bool is_after(const Node* a, const Node* b) { return order(a) > order(b); }
    size_t order(const Node* node) {
        const auto at = orders_.find(node);
        if (at != orders_.end()) return at->second;
        size_t n = 0;
        for (const Node* each = node->block->first(); each != node->block->end; each = each->next) orders_[each] = n++;
        return orders_[node];
    }

    // ---- instructions

    size_t emit(Do what, const Node* node, const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs,
                const std::vector<uint32_t>& drops = {}) {
        if (what == Do::Drop && drops.empty()) return 0;
        Instruction made{};
        made.what = what;
        made.node = node;
        made.first = static_cast<uint32_t>(code_->operands.size());
        KINDLING_CHECK(Runtime, inputs.size() < 65536 && outputs.size() < 65536 && drops.size() < 65536,
                       "a script's line has too many operands");
        made.inputs = static_cast<uint16_t>(inputs.size());
        made.outputs = static_cast<uint16_t>(outputs.size());
        made.drops = static_cast<uint16_t>(drops.size());
        code_->operands.insert(code_->operands.end(), inputs.begin(), inputs.end());
        code_->operands.insert(code_->operands.end(), outputs.begin(), outputs.end());
        code_->operands.insert(code_->operands.end(), drops.begin(), drops.end());
        code_->widest = std::max<uint32_t>(code_->widest, std::max(made.inputs, made.outputs));
        code_->instructions.push_back(made);
        return code_->instructions.size() - 1;
    }
    Instruction& at(size_t i) { return code_->instructions[i]; }
    int64_t here() const { return static_cast<int64_t>(code_->instructions.size()); }

    /// Values of a block that ends here are moved out where nothing in it needs them any more.
    void move(const Block* from, const std::vector<Value*>& values, size_t skip, const std::vector<uint32_t>& to) {
        std::vector<uint32_t> sources;
        for (size_t i = skip; i < values.size(); i++) {
            uint32_t source = operand_of(values[i]);
            bool again = false;
            for (size_t j = i + 1; j < values.size(); j++) again |= values[j] == values[i];
            if (from && !is_constant(values[i]) && values[i]->node->block == from && !again) source |= operand::Take;
            sources.push_back(source);
        }
        if (!to.empty()) emit(Do::Move, nullptr, sources, to);
    }
    std::vector<uint32_t> places(const std::vector<Value*>& values, size_t skip = 0) {
        std::vector<uint32_t> all;
        for (size_t i = skip; i < values.size(); i++) all.push_back(place_of(values[i]));
        return all;
    }

    void body(const Block* block) {
        for (const Node* node = block->first(); node != block->end;) {
            const Node* after = node;
            std::vector<const Node*> group;
            for (; after != block->end && (SmallGroup::takes(after) || (!group.empty() && after->is("prim::Constant")));
                 after = after->next)
                if (!after->is("prim::Constant")) group.push_back(after);
            const size_t begin = group.size() >= SmallGroup::fewest_nodes ? small_group(group) : SIZE_MAX;
            do {
                this->node(node);
                node = node->next;
            } while (node != after && !group.empty());
            if (begin != SIZE_MAX) at(begin).number = here();
        }
    }
    /// The instruction in front of operators that may run as one loop; SIZE_MAX if there is too much to hand over.
    size_t small_group(const std::vector<const Node*>& group) {
        const auto inside = [&](const Node* node) { return std::find(group.begin(), group.end(), node) != group.end(); };
        std::vector<uint32_t> inputs, outputs, drops, used;
        for (const Node* node : group) {
            for (const Value* input : node->inputs)
                if (!is_constant(input) && !inside(input->node) && std::find(inputs.begin(), inputs.end(), place_of(input)) == inputs.end())
                    inputs.push_back(place_of(input));
            const std::vector<Use>& uses = node->output()->uses;
            if (std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return !inside(use.user); }))
                outputs.push_back(place_of(node->output()));
            last_uses(node, used);
        }
        for (uint32_t place : used) // what is computed on the way is in no place
            if (std::find(inputs.begin(), inputs.end(), place) != inputs.end()) drops.push_back(place);
        if (inputs.size() > SmallGroup::most_inputs || outputs.size() > SmallGroup::most_outputs || outputs.empty()) return SIZE_MAX;
        const size_t made = emit(Do::Group, group[0], inputs, outputs, drops);
        at(made).loop = static_cast<uint32_t>(code_->groups.size());
        code_->groups.push_back(std::make_shared<SmallGroup>());
        return made;
    }

    void branch(const Node* node) {
        std::vector<uint32_t> drops;
        last_uses(node, drops);
        const size_t test = emit(Do::JumpUnless, node, {operand_of(node->input())}, {});
        body(node->blocks[0]);
        move(node->blocks[0], node->blocks[0]->outputs(), 0, places(node->outputs));
        const size_t out = emit(Do::Jump, node, {}, {});
        at(test).number = here();
        body(node->blocks[1]);
        move(node->blocks[1], node->blocks[1]->outputs(), 0, places(node->outputs));
        at(out).number = here();
        emit(Do::Drop, node, {}, {}, drops);
    }
    void loop(const Node* node) {
        std::vector<uint32_t> drops;
        last_uses(node, drops);
        const Block* block = node->blocks[0];
        const uint32_t trip = place_of(block->inputs()[0]);
        const std::vector<uint32_t> carried = places(block->inputs(), 1);
        size_t native = SIZE_MAX;
        std::shared_ptr<NativeLoop> loop = NativeLoop::make(node);
        if (!loop->never()) {
            std::vector<uint32_t> inputs;
            for (const Value* input : loop->inputs()) inputs.push_back(operand_of(input));
            native = emit(Do::Native, node, inputs, places(node->outputs));
            at(native).loop = static_cast<uint32_t>(code_->loops.size());
        }
        code_->loops.push_back(std::move(loop));
        // The condition has a place of its own; a constant truth needs none.
        const bool asks = !always(node->input(1)) || !always(block->outputs()[0]);
        const uint32_t condition = asks ? code_->places++ : 0;
        std::vector<uint32_t> sources = {constant(Item(int64_t{0}))}, targets = {trip};
        if (asks) sources.push_back(operand_of(node->input(1))), targets.push_back(condition);
        for (size_t i = 2; i < node->inputs.size(); i++) sources.push_back(operand_of(node->inputs[i]));
        targets.insert(targets.end(), carried.begin(), carried.end());
        emit(Do::Move, node, sources, targets);
        std::vector<uint32_t> test = {trip, operand_of(node->input(0))};
        if (asks) test.push_back(condition);
        const size_t top = emit(Do::Count, node, test, {});
        body(block);
        std::vector<uint32_t> next;
        if (asks) next.push_back(condition);
        next.insert(next.end(), carried.begin(), carried.end());
        move(block, block->outputs(), asks ? 0 : 1, next);
        emit(Do::Next, node, {trip}, {});
        const size_t back = emit(Do::Jump, node, {}, {});
        at(back).number = static_cast<int64_t>(top);
        at(top).number = here();
        std::vector<uint32_t> last;
        for (uint32_t place : carried) last.push_back(place | operand::Take);
        if (!last.empty()) emit(Do::Move, node, last, places(node->outputs));
        if (native != SIZE_MAX) at(native).number = here();
        emit(Do::Drop, node, {}, {}, drops);
    }
    static bool always(const Value* value) {
        const Item* known = constant_of(value);
        return known && known->truth();
    }

    void node(const Node* node) {
        if (node->is("prim::Constant")) return;
        if (node->is("prim::If")) return branch(node);
        if (node->is("prim::Loop")) return loop(node);
        std::vector<uint32_t> inputs, drops;
        for (const Value* input : node->inputs) inputs.push_back(operand_of(input));
        last_uses(node, drops);
        const std::vector<uint32_t> outputs = places(node->outputs);
        Instruction made{};
        made.what = what(node, made);
        if (made.what == Do::Call) inputs.erase(inputs.begin());
        const size_t place = emit(made.what, node, inputs, outputs, drops);
        at(place).signature = made.signature;
        if (made.what == Do::Fork) {
            auto forked = std::make_shared<Function>();
            forked->name = "<forked function>";
            forked->graph = *node->subgraph();
            forked->owner = function_.owner;
            at(place).loop = static_cast<uint32_t>(code_->forked.size());
            code_->forked.push_back(std::move(forked));
        }
    }

    /// What a node becomes; the union of `made` is filled in.
    static Do what(const Node* node, Instruction& made) {
        static constexpr struct {
            char kind[22];
            Do what;
        } plain[] = {{"prim::TupleConstruct", Do::Tuple},
                     {"prim::TupleUnpack", Do::UnpackTuple},
                     {"prim::TupleIndex", Do::TupleItem},
                     {"prim::TupleSlice", Do::TupleSlice},
                     {"prim::ListConstruct", Do::List},
                     {"prim::ListUnpack", Do::UnpackList},
                     {"prim::DictConstruct", Do::Dict},
                     {"prim::unchecked_cast", Do::Move},
                     {"prim::Uninitialized", Do::Move},
                     {"prim::isinstance", Do::IsInstance},
                     {"prim::Print", Do::Print},
                     {"prim::RaiseException", Do::Raise},
                     {"prim::CallMethod", Do::CallMethod},
                     {"prim::Enter", Do::Enter},
                     {"prim::Exit", Do::Leave},
                     {"prim::CreateObject", Do::CreateObject},
                     {"prim::PythonOp", Do::CallForeign},
                     {"prim::fork", Do::Fork},
                     {"aten::wait", Do::Wait}};
        for (const auto& each : plain)
            if (node->kind == each.kind) return each.what;
        if (node->is("prim::CallFunction")) {
            made.function = node->input()->node->function;
            KINDLING_ASSERT(made.function);
            return Do::Call;
        }
        if (node->is("prim::GetAttr") || node->is("prim::SetAttr")) {
            const Class* of = node->input()->type->definition;
            made.number = of ? of->place_of(node->attribute("name")->text()) : -1;
            KINDLING_CHECK(Runtime, made.number >= 0, "%s has no attribute '%s'", str(node->input()->type).c_str(),
                           node->attribute("name")->text().c_str());
            return node->is("prim::GetAttr") ? Do::GetAttribute : Do::SetAttribute;
        }
        if ((made.builtin = object_builtin(node->kind)) || (made.builtin = batched_products(node))) return Do::Builtin;
        const Signature* signature = node->schema();
        if (signature && signature->op) {
            made.signature = signature;
            return Do::Operator;
        }
        if (signature && signature->builtin) {
            made.builtin = signature->builtin;
            return Do::Builtin;
        }
        return Do::Missing;
    }
    /// What a script asks of an enum's member, and tensor.tolist(): these have no signature.
    static Builtin object_builtin(const std::string& kind) {
        if (kind == "prim::EnumName") return [](Item* a, size_t) { a[0] = Item(a[0].instance().slots[0]); };
        if (kind == "prim::EnumValue") return [](Item* a, size_t) { a[0] = Item(a[0].instance().slots[1]); };
        if (kind == "prim::tolist") return [](Item* a, size_t) { a[0] = nested_list(a[0].tensor(), a[1].integer(), a[2].integer()); };
        if (kind == "prim::ModuleContainerIndex") return [](Item* a, size_t) { a[0] = module_at(a[0].instance(), a[1]); };
        return nullptr;
    }
    /// Of a container's modules the one of a number or a name.
    static Item module_at(const Item::Instance& container, const Item& which) {
        std::vector<size_t> places;
        const auto& all = container.type->definition->attributes;
        for (size_t i = 0; i < all.size(); i++) {
            if (!is_module(all[i].type) && !(all[i].type->is(TypeKind::Class) && container.slots[i].is(Item::Tag::Instance))) continue;
            if (which.is(Item::Tag::Str) && all[i].name == which.text()) return container.slots[i];
            places.push_back(i);
        }
        KINDLING_CHECK(Index, !which.is(Item::Tag::Str), "KeyError: %s", which.text().c_str());
        const int64_t length = static_cast<int64_t>(places.size()), at = which.integer() < 0 ? which.integer() + length : which.integer();
        KINDLING_CHECK(Index, at >= 0 && at < length, "list index out of range");
        return container.slots[places[static_cast<size_t>(at)]];
    }
    static Item nested_list(const Tensor& tensor, int64_t depth, int64_t kind) {
        KINDLING_CHECK(Runtime, tensor.dim() == depth,
                       "Output annotation list dimension and runtime tensor dimension must match for tolist()");
        if (!depth) {
            const Scalar number = tensor.item_scalar();
            const char* const kinds[] = {"int", "float", "complex", "bool"};
            const bool fits = kind == 0   ? !number.is_float() && !number.is_complex() && !number.is_bool()
                              : kind == 1 ? number.is_float()
                              : kind == 2 ? number.is_complex()
                                          : number.is_bool();
            KINDLING_CHECK(Runtime, fits, "Output annotation element type and runtime tensor element type must match for tolist(): %s",
                           kinds[kind]);
            return kind == 0   ? Item(number.to_int())
                   : kind == 1 ? Item(number.to_double())
                   : kind == 2 ? Item(number.to_complex())
                               : Item(number.to_bool());
        }
        const TypeKind kinds[] = {TypeKind::Int, TypeKind::Float, TypeKind::Complex, TypeKind::Bool};
        TypeRef type = type_of(kinds[kind]);
        for (int64_t i = 0; i < depth; i++) type = list_of(type);
        std::vector<Item> items;
        for (int64_t i = 0; i < tensor.size(0); i++) items.push_back(nested_list(kindling::select(tensor, 0, i), depth - 1, kind));
        return Item::list(type, std::move(items));
    }

    const Function& function_;
    std::shared_ptr<Code> code_;
    std::unordered_map<const Value*, size_t> places_, constants_;
    std::unordered_map<const Node*, size_t> orders_;
};

} // namespace

std::shared_ptr<Code> assemble(const Function& function) { return Assembler(function).run(); }

} // namespace kindling::script
