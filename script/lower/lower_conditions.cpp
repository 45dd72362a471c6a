// script/lower/lower_conditions.cpp: conditions, and what they say about the types of variables.
#include <climits>

#include "script/lower/lowering.h"

namespace kindling::script {

using namespace kind_of;

/// What is left of a type where a value of it is not None.
static TypeRef without_none(TypeRef type) {
    if (type->is(TypeKind::Optional)) return type->element();
    std::vector<TypeRef> left = type->parts;
    return type->is(TypeKind::Union) && std::erase_if(left, [](TypeRef part) { return part->is(TypeKind::None); }) ? union_of(left) : type;
}

Value* Lowering::cast(const script::Range& range, const std::string& name, const std::vector<Given>& positional,
                      const std::vector<Given>& keywords) {
    static constexpr struct {
        char name[14];
        TypeKind kind;
    } casts[] = {{"aten::Float", TypeKind::Float},
                 {"aten::Complex", TypeKind::Complex},
                 {"aten::Int", TypeKind::Int},
                 {"aten::Bool", TypeKind::Bool},
                 {"aten::str", TypeKind::Str}};
    if (positional.size() == 1 && keywords.empty()) {
        Value *zero = graph_.constant(Item(int64_t{0})), *value = positional[0].value;
        for (const auto& each : casts)
            if (name == each.name && value->type->is(each.kind)) return value;
        if (name == "aten::Bool" && (value->type->is(TypeKind::List) || value->type->is(TypeKind::Dict) || value->type->is(TypeKind::Str)))
            return builtin(range, "aten::gt", {builtin(range, "aten::len", {value}), zero});
    }
    return call_builtin(graph_, range, name, positional, keywords);
}

Value* Lowering::to_bool(const script::Range& range, Value* value) {
    try {
        return cast(range, "aten::Bool", {value}, {});
    } catch (const Error&) { fail_at(range, "Could not cast value of type %s to bool", repr(value->type).c_str()); }
}

Condition Lowering::condition(const Tree& tree) {
    switch (tree.kind) {
    case And:
    case Or: {
        const bool is_or = tree.is(Or);
        const Condition left = condition(tree[0]);
        Condition right{};
        const auto constant = [&] { return graph_.constant(Item(is_or), tree.range); };
        const auto rest = [&] { return (right = condition(tree[1])).value; };
        Condition made{};
        if (is_or) {
            made.value = choose(tree.range, left, constant, rest);
            made.refined = {Refinements::common(left.refined.yes, right.refined.yes),
                            Refinements::joined(left.refined.no, right.refined.no)};
        } else {
            made.value = choose(tree.range, left, rest, constant);
            made.refined = {Refinements::joined(left.refined.yes, right.refined.yes),
                            Refinements::common(left.refined.no, right.refined.no)};
        }
        if ((left.known && *left.known == is_or) || (right.known && *right.known == is_or)) made.known = is_or;
        else if (left.known && right.known) made.known = !is_or;
        return made;
    }
    case Not: {
        const Condition inner = condition(tree[0]);
        Condition made{builtin(tree.range, "aten::__not__", {inner.value}), inner.refined.flipped(), {}};
        if (inner.known) made.known = !*inner.known;
        return made;
    }
    case Is:
    case IsNot: {
        Value* sides[2] = {value(tree[0]), nullptr};
        sides[1] = value(tree[1]);
        bool always[2], maybe[2];
        for (int i = 0; i < 2; i++) {
            always[i] = must_be_none(sides[i]);
            maybe[i] = !always[i] && without_none(sides[i]->type) != sides[i]->type;
        }
        std::optional<bool> is;
        if (always[0] && always[1]) is = true;
        else if ((always[0] && !maybe[1]) || (always[1] && !maybe[0])) is = false;
        if (is) {
            const bool known = *is == tree.is(Is);
            return {graph_.constant(Item(known), tree.range), {}, known};
        }
        Condition made{builtin(tree.range, tree.is(Is) ? "aten::__is__" : "aten::__isnot__", {sides[0], sides[1]}), {}, {}};
        const int variable = tree[0].is(None) ? 1 : 0;
        if (tree[static_cast<size_t>(1 - variable)].is(None) && tree[static_cast<size_t>(variable)].is(Var) && maybe[variable]) {
            const Refinement present{tree[static_cast<size_t>(variable)].name(), without_none(sides[variable]->type)};
            (tree.is(Is) ? made.refined.no : made.refined.yes).push_back(present);
        }
        return made;
    }
    default: break;
    }
    if (tree.is(Apply) && tree[0].is(Var) && tree[0].name() == "isinstance") return is_instance(tree);
    if (tree.is(Apply) && tree[0].is(Select) && tree[0][1].name() == "isinstance" && tree[0][0].is(Select)) // torch.jit.isinstance
        if (const MeaningRef callee = meaning(tree[0]); callee->kind == Meaning::Special && callee->name == "isinstance")
            return is_instance(tree);
    Value* made = to_bool(tree.range, value(tree));
    Condition result{made, {}, {}};
    if (const Item* known = constant_of(made)) result.known = known->truth();
    return result;
}

Condition Lowering::is_instance(const Tree& tree) {
    if (tree[1].size() != 2) fail_at(tree.range, "isinstance expected exactly 2 arguments but found %zu", tree[1].size());
    std::vector<TypeRef> types;
    const std::function<void(const Tree&)> gather = [&](const Tree& each) {
        if (each.is(TupleLiteral))
            for (const Tree* part : each[0].parts) gather(*part);
        else types.push_back(read_type(each, &resolver_));
    };
    gather(tree[1][1]);
    const Tree& object = tree[1][0];
    Value* tested = value(object);
    Condition made{};
    // What it may be where it is one of them, and where it is none.
    std::vector<TypeRef> members = {tested->type}, yes, no;
    if (tested->type->is(TypeKind::Union) || tested->type->is(TypeKind::Optional)) members = tested->type->parts;
    if (tested->type->is(TypeKind::Optional)) members.push_back(type_of(TypeKind::None));
    bool always = true;
    for (TypeRef member : members) {
        TypeRef found = nullptr;
        for (TypeRef type : types)
            if (const TypeRef smaller = is_subtype(member, type) ? member : is_subtype(type, member) ? type : nullptr)
                found = found ? unify(found, smaller, true) : smaller;
        if (found) yes.push_back(found);
        if (found != member) no.push_back(member);
        always &= found == member;
    }
    const bool never = yes.empty();
    if (object.is(Var) && !never) {
        made.refined.yes.push_back({object.name(), yes.size() == 1 ? yes[0] : union_of(yes)});
        if (!no.empty()) made.refined.no.push_back({object.name(), no.size() == 1 ? no[0] : union_of(no)});
    }
    if (always || never) {
        made.value = graph_.constant(Item(always), object.range);
        made.known = always;
        return made;
    }
    Node* node = graph_.create_with("prim::isinstance", type_of(TypeKind::Bool), {tested});
    node->attributes.push_back({"types", {}, types});
    made.value = graph_.insert(node)->output();
    return made;
}

Value* Lowering::choose(const script::Range& range, const Condition& condition, const std::function<Value*()>& then,
                        const std::function<Value*()>& otherwise) {
    Node* node = graph_.insert(graph_.create("prim::If", {}, 0)->at(range));
    node->add_input(condition.value);
    Block* blocks[2] = {node->add_block(), node->add_block()};
    for (int side = 0; side < 2; side++) {
        push(blocks[side]);
        Inserting at(blocks[side]);
        refine(range, side ? condition.refined.no : condition.refined.yes);
        blocks[side]->add_output(side ? otherwise() : then());
        pop();
    }
    const TypeRef types[2] = {blocks[0]->outputs()[0]->type, blocks[1]->outputs()[0]->type};
    const TypeRef both = unify(types[0], types[1]);
    if (!both)
        fail_at(range, "if-expression's true branch has type %s but false branch has type %s", repr(types[0]).c_str(),
                repr(types[1]).c_str());
    return node->add_output(both);
}

} // namespace kindling::script
