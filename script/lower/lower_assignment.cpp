// script/lower/lower_assignment.cpp: assignment: names, tuples, elements, attributes, with an operation.
#include <climits>

#include "script/lower/lowering.h"

namespace kindling::script {

using namespace kind_of;

size_t Lowering::check_targets(const Tree& targets, const script::Range& range) {
    size_t plain = 0, starred = 0;
    for (const Tree* target : targets.parts) {
        if (target->is(Var) || target->is(Subscript) || target->is(TupleLiteral) || target->is(Select)) plain++;
        else if (target->is(Starred)) starred++;
        else fail_at(target->range, "lhs of assignment must be a variable, subscript, or starred expression");
    }
    if (starred > 1) fail_at(range, "Only one starred expression is allowed on the lhs");
    if (starred && !plain)
        fail_at(range, "A Starred expression may only appear on the lhs within the presence of another non-starred expression");
    return starred;
}

void Lowering::assign(const Tree& tree) {
    if (!tree[1].present()) fail_at(tree.range, "For an assignment, expected an expression on the right-hand side");
    const Tree& right = tree[1][0];
    const TypeRef type = tree[2].present() ? read_type(tree[2][0], &resolver_) : nullptr;
    if (tree[0].size() == 1) return assign_one(tree[0][0], right, tree.range, type, nullptr);
    const std::string temporary = "$tmp_assign_" + std::to_string(temporaries_++);
    set(right.range, temporary, meaning(right));
    for (const Tree* target : tree[0].parts) assign_one(*target, right, tree.range, nullptr, &temporary);
}

void Lowering::assign_one(const Tree& target, const Tree& right, const script::Range& range, TypeRef type, const std::string* temporary) {
    const auto given = [&]() -> MeaningRef { return temporary ? look_up(*temporary, right.range) : meaning(right, type); };
    switch (target.kind) {
    case Var: set(target.range, target.name(), given(), type); break;
    case TupleLiteral: {
        const size_t starred = check_targets(target[0], target.range);
        assign_tuple(target, given(), right.range, starred);
        break;
    }
    case Subscript: store_item(range, target, as_value(given(), right.range)); break;
    case Select: {
        const MeaningRef object = meaning(target[0]);
        set_member(object, target[1].text, as_value(given(), right.range), range);
        break;
    }
    default: fail_at(target.range, "unexpected expression on left-hand side of assignment");
    }
}

void Lowering::assign_tuple(const Tree& target, const MeaningRef& right, const script::Range& range, size_t starred) {
    const size_t wanted = target[0].size() - starred;
    const std::vector<MeaningRef> parts = as_tuple(right, range, starred ? 0 : wanted);
    if (parts.size() < wanted)
        fail_at(target.range, "need %s%zu values to unpack but found only %zu", starred ? "at least " : "", wanted, parts.size());
    if (parts.size() > wanted && !starred) fail_at(target.range, "too many values to unpack: need %zu but found %zu", wanted, parts.size());
    size_t i = 0;
    for (const Tree* each : target[0].parts) {
        if (each->is(Starred)) {
            std::vector<Value*> taken;
            for (size_t n = parts.size() - wanted; n > 0; n--) taken.push_back(as_value(parts[i++], each->range));
            set((*each)[0].range, (*each)[0].name(), simple(tuple_of_values(taken)));
        } else assign_to(*each, parts[i++], range);
    }
}

void Lowering::assign_to(const Tree& target, const MeaningRef& right, const script::Range& range) {
    if (target.is(Var)) set(target.range, target.name(), right);
    else if (target.is(Subscript)) store_item(range, target, as_value(right, range));
    else if (target.is(Select)) set_member(meaning(target[0]), target[1].text, as_value(right, range), range);
    else if (target.is(TupleLiteral)) assign_tuple(target, right, range, check_targets(target[0], target.range));
    else fail_at(target.range, "unexpected expression on the left-hand side");
}

std::vector<MeaningRef> Lowering::as_tuple(const MeaningRef& meaning, const script::Range& range, size_t hint) {
    if (meaning->kind == Meaning::Several) return meaning->parts;
    Value* value = as_value(meaning, range);
    std::vector<MeaningRef> parts;
    if (value->type->is(TypeKind::Tuple))
        for (Value* part : unpack_tuple(graph_, value)) parts.push_back(simple(part));
    else if (value->type->is(TypeKind::List)) {
        if (!hint) fail_at(range, "cannot statically infer the expected size of a list in this context");
        Node* node = graph_.insert(graph_.create("prim::ListUnpack", {value}, 0));
        for (size_t i = 0; i < hint; i++) parts.push_back(simple(node->add_output(value->type->element())));
    } else fail_at(range, "%s cannot be used as a tuple", repr(value->type).c_str());
    return parts;
}

void Lowering::store_item(const script::Range& range, const Tree& target, Value* right) {
    Value* container = value(target[0]);
    if (container->type->is(TypeKind::Tensor)) {
        std::vector<Value*> indices;
        Value* sliced = index(target.range, container, target[1], indices);
        switch (right->type->kind) {
        case TypeKind::Number:
        case TypeKind::Int:
        case TypeKind::Bool:
        case TypeKind::Float: {
            Value* dtype = call_builtin(graph_, {}, "prim::dtype", {sliced});
            Value* device = call_builtin(graph_, {}, "prim::device", {sliced});
            right = call_builtin(graph_, {}, "aten::tensor", {right}, {Given(dtype, "dtype"), Given(device, "device")});
            break;
        }
        default: break;
        }
        if (indices.empty()) builtin(range, "aten::copy_", {sliced, right});
        else builtin(range, "aten::index_put_", {sliced, list_of_values(optional_of(type_of(TypeKind::Tensor)), indices), right});
        return;
    }
    if (container->type->is(TypeKind::Class) && container->type->definition) {
        call(member(holder(container), "__setitem__", target.range), range, {value(target[1][0]), right}, {});
        return;
    }
    if (target[1].size() != 1 || target[1][0].is(Slice))
        fail_at(target[1].range, "Sliced expression not yet supported for subscripted assignment. File a bug if you want this");
    if (container->type->is(TypeKind::Tuple))
        fail_at(target.range, "%s does not support subscripted assignment", repr(container->type).c_str());
    builtin(range, "aten::_set_item", {Given(container, "self"), Given(value(target[1][0]), "idx"), right});
}

const char* Lowering::augmented(Kind kind, TypeRef type) {
    const bool in_place = type->is(TypeKind::Tensor) || type->is(TypeKind::List);
    switch (kind) {
    case '+': return in_place ? "aten::add_" : "aten::add";
    case '-': return in_place ? "aten::sub_" : "aten::sub";
    case '/': return in_place ? "aten::div_" : "aten::div";
    case '*': return in_place ? "aten::mul_" : "aten::mul";
    case '%': return in_place ? "aten::fmod_" : "aten::fmod";
    case '|': return in_place ? "aten::bitwise_or" : "aten::__or__";
    case '&': return in_place ? "aten::bitwise_and" : "aten::__and__";
    case '^': return in_place ? "aten::bitwise_xor" : "aten::__xor__";
    case LShift: return "aten::__lshift__";
    case RShift: return in_place ? "aten::__irshift__" : "aten::__rshift__";
    default: return "aten::pow";
    }
}

/// left += right: what the name is given.
MeaningRef Lowering::combined(const Tree& tree, Value* left, Value* right) {
    static constexpr struct {
        Kind kind;
        char in_place[13];
        char method[13];
    } methods[] = {{'+', "__iadd__", "__add__"},          {'-', "__isub__", "__sub__"}, {'/', "__itruediv__", "__truediv__"},
                   {'*', "__imul__", "__mul__"},          {'%', "__imod__", "__mod__"}, {'|', "__ior__", "__or__"},
                   {'&', "__iand__", "__and__"},          {'^', "__ixor__", "__xor__"}, {LShift, "__ilshift__", "__lshift__"},
                   {RShift, "__irshift__", "__rshift__"}, {Pow, "__ipow__", "__pow__"}};
    if (left->type->is(TypeKind::Class) && left->type->definition)
        for (const auto& each : methods)
            if (tree[1].is(each.kind))
                return magic(left->type->definition->signature(each.in_place) ? each.in_place : each.method, tree.range, {left, right});
    if (tree[1].is('+') && left->type->is(TypeKind::Tuple) && right->type->is(TypeKind::Tuple)) {
        std::vector<Value*> parts = unpack_tuple(graph_, left);
        for (Value* part : unpack_tuple(graph_, right)) parts.push_back(part);
        return simple(tuple_of_values(parts));
    }
    return simple(builtin(tree.range, augmented(tree[1].kind, left->type), {left, right}));
}

void Lowering::augment(const Tree& tree) {
    const Tree& target = tree[0];
    if (target.is(Var)) {
        Value* left = value(target);
        Value* right = value(tree[2]);
        set(target.range, target.name(), combined(tree, left, right));
    } else if (target.is(Subscript)) {
        Value* container = value(target[0]);
        if (container->type->is(TypeKind::Tensor)) {
            std::vector<Value*> indices;
            const Given sliced(index(target.range, container, target[1], indices), "self");
            const Given right(value(tree[2]));
            const char* op = augmented(tree[1].kind, container->type);
            if (indices.empty()) {
                call_builtin(graph_, tree.range, op, {right}, {}, &sliced);
                return;
            }
            Value* list = list_of_values(optional_of(type_of(TypeKind::Tensor)), indices);
            const Given taken(builtin(tree.range, "aten::index", {sliced, list}), "self");
            Value* result = call_builtin(graph_, tree.range, op, {right}, {}, &taken);
            builtin(tree.range, "aten::index_put_", {sliced, list, result});
            return;
        }
        const TypeRef type = container->type;
        if (target[1].size() != 1)
            fail_at(target[1].range, "Sliced expression not yet supported for %s augmented assignment. File a bug if you want this",
                    repr(type).c_str());
        if (!type->is(TypeKind::List) && !type->is(TypeKind::Dict))
            fail_at(target.range, "%s does not support augmented assignment.", repr(type).c_str());
        Value* place = value(target[1][0]);
        Value* right = value(tree[2]);
        Value* old = builtin(tree.range, "aten::__getitem__", {container, place});
        Value* result = builtin(tree.range, augmented(tree[1].kind, type->parts[0]), {old, right});
        builtin(tree.range, "aten::_set_item", {container, place, result});
    } else if (target.is(Select)) {
        const MeaningRef object = meaning(target[0]);
        Value* left = as_value(attribute(object, target[1].text, target.range), target.range);
        Value* right = value(tree[2]);
        set_member(object, target[1].text, as_value(combined(tree, left, right), tree.range), tree.range);
    } else fail_at(target.range, "unexpected expression on left-hand side of augmented assignment");
}

} // namespace kindling::script
