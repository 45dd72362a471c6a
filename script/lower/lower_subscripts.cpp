// script/lower/lower_subscripts.cpp: subscripts: elements, slices, what tensors take.
#include <climits>

#include "script/lower/lowering.h"

namespace kindling::script {

using namespace kind_of;

/// The places that [start:stop:step] means of so many.
static std::vector<int64_t> places_of_slice(const int64_t* bounds, const bool* given, int64_t length, const Range& range) {
    const int64_t step = bounds[2];
    if (!step) fail_at(range, "slice step cannot be zero");
    const auto place = [&](int64_t at) {
        return std::min(std::max(at < 0 ? at + length : at, step < 0 ? int64_t{-1} : int64_t{0}), step < 0 ? length - 1 : length);
    };
    const int64_t begin = given[0] ? place(bounds[0]) : step < 0 ? length - 1 : 0;
    const int64_t end = given[1] ? place(bounds[1]) : step < 0 ? -1 : length;
    std::vector<int64_t> all;
    for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) all.push_back(i);
    return all;
}

MeaningRef Lowering::subscript(const Tree& tree, TypeRef hint) {
    const MeaningRef base = meaning(tree[0]);
    const Tree& parts = tree[1];
    if ((base->kind == Meaning::Submodule || base->kind == Meaning::Several ||
         (base->kind == Meaning::Type && base->type->is(TypeKind::Enum))) &&
        parts.size() == 1 && !parts[0].is(Dots))
        if (MeaningRef found = held_item(base, parts[0], tree.range, hint)) return found;
    Value* container = as_value(base, tree[0].range);
    if (container->type->is(TypeKind::Class) && container->type->definition) {
        std::vector<Value*> places;
        for (const Tree* part : parts.parts) places.push_back(value(*part));
        return call(member(holder(container), "__getitem__", tree.range), tree.range,
                    {places.size() == 1 ? places[0] : tuple_of_values(places)}, {});
    }
    if (parts.size() != 1) {
        if (!container->type->is(TypeKind::Tensor))
            fail_at(tree.range, "Unsupported operation: attempted to use multidimensional indexing on a non-tensor type");
        return simple(index_all(tree.range, container, parts));
    }
    if (parts[0].is(Slice)) {
        if (container->type->is(TypeKind::Tuple)) return simple(tuple_slice(tree.range, container, parts[0]));
        Value* dim = container->type->is(TypeKind::Tensor) ? graph_.constant(Item(int64_t{0}), tree.range) : nullptr;
        return simple(slice(tree.range, container, dim, parts[0]));
    }
    Value* place = parts[0].is(Dots) ? nullptr : value(parts[0]);
    if (container->type->is(TypeKind::Tuple)) return simple(tuple_item(tree.range, container, place));
    if (container->type->is(TypeKind::Tensor)) return simple(index_all(tree.range, container, parts));
    return item(base, place, tree.range);
}

static bool any_of_interface(TypeRef hint) {
    return hint && hint->is(TypeKind::Class) && hint->definition && hint->definition->kind == Class::Interface;
}

/// A container's module by a place that is found when the script runs: one of an interface that all its modules have.
MeaningRef Lowering::module_at(Value* container, Value* place, TypeRef hint, const script::Range& range) {
    for (const Class::Attribute& each : container->type->definition->attributes)
        if (is_module(each.type) && !is_subtype(each.type, hint))
            fail_at(range, "Attribute %s is not of annotated type %s: ", each.name.c_str(), repr(hint).c_str());
    return simple(graph_.insert(graph_.create_with("prim::ModuleContainerIndex", hint, {container, place}))->output());
}

/// Of what is known part by part: containers of modules, tuples of constants, an enum. Null: by its value.
MeaningRef Lowering::held_item(const MeaningRef& base, const Tree& part, const script::Range& range, TypeRef hint) {
    if (base->kind == Meaning::Type) {
        Value* name = value(part);
        const Item* known = constant_of(name);
        if (known && known->is(Item::Tag::Str)) return attribute(base, known->text(), range);
        fail_at(range, "an enum's member is named by a constant text");
    }
    MeaningRef all = base;
    if (base->kind == Meaning::Submodule) {
        const Class& of = *base->value->type->definition;
        if (of.holds == Class::Nothing) return nullptr;
        if (of.holds == Class::Dict || of.holds == Class::NamedParameters) {
            Value* name = value(part);
            const Item* known = constant_of(name);
            if (!known && any_of_interface(hint)) return module_at(base->value, name, hint, range);
            if (!known || !known->is(Item::Tag::Str))
                fail_at(range, "Unable to extract string literal index. ModuleDict indexing is only supported with string literals. For "
                               "example, 'i = \"a\"; self.layers[i](x)' will fail because i is not a literal. Enumeration of ModuleDict is "
                               "supported, e.g. 'for k, v in self.items(): out = v(inp)'");
            const Held held = held_in(base->value, range);
            for (size_t i = 0; i < held.names->parts.size(); i++)
                if (constant_of(held.names->parts[i]->value)->text() == known->text()) return held.modules->parts[i];
            const int place = of.holds == Class::NamedParameters ? of.place_of(known->text()) : -1;
            if (place < 0) fail_at(range, "Key Error, %s", known->text().c_str());
            return simple(get_attribute(base->value, of.attributes[static_cast<size_t>(place)]));
        }
        all = iterate(base, range);
    }
    if (part.is(Slice)) {
        int64_t bounds[3] = {0, static_cast<int64_t>(all->parts.size()), 1};
        bool given[3] = {};
        for (size_t i = 0; i < 3; i++) {
            if (!part[i].present()) continue;
            const Item* known = constant_of(value(part[i][0]));
            if (!known || !known->is(Item::Tag::Int)) {
                if (base->kind == Meaning::Several) return nullptr;
                fail_at(range, "Expected integer literal for index");
            }
            bounds[i] = known->integer();
            given[i] = true;
        }
        MeaningRef made = named(Meaning::Several, "");
        for (int64_t at : places_of_slice(bounds, given, static_cast<int64_t>(all->parts.size()), range))
            made->parts.push_back(all->parts[static_cast<size_t>(at)]);
        return made;
    }
    Value* index = value(part);
    if (base->kind == Meaning::Submodule && !constant_of(index) && any_of_interface(hint))
        return module_at(base->value, index, hint, range);
    if (base->kind == Meaning::Several && !constant_of(index)) return simple(tuple_item(range, as_value(base, range), index));
    return item(all, index, range);
}

Value* Lowering::tuple_item(const script::Range& range, Value* tuple, Value* place) {
    if (!place->type->is(TypeKind::Int)) fail_at(range, "tuple index must be an integer");
    const auto& parts = tuple->type->parts;
    const Item* known = constant_of(place);
    TypeRef type = parts.empty() ? nullptr : parts[0];
    if (known) {
        const int64_t length = static_cast<int64_t>(parts.size()), at = known->integer() < 0 ? known->integer() + length : known->integer();
        if (at < 0 || at >= length)
            fail_at(range, "Tuple index out of range. Tuple is length %ld and index is %ld", static_cast<long>(length),
                    static_cast<long>(known->integer()));
        type = parts[static_cast<size_t>(at)];
    } else if (!type || !converts_to_list(tuple->type, list_of(type)))
        fail_at(range, "Cannot index into a %s with a non-integer literal because we cannot resolve the output type",
                repr(tuple->type).c_str());
    return graph_.insert(graph_.create_with("prim::TupleIndex", type, {tuple, place}))->output();
}

Value* Lowering::tuple_slice(const script::Range& range, Value* tuple, const Tree& part) {
    int64_t bounds[3] = {0, 0, 1};
    bool given[3] = {};
    for (size_t i = 0; i < 3; i++) {
        if (!part[i].present()) continue;
        const Item* known = constant_of(value(part[i][0]));
        if (!known || !known->is(Item::Tag::Int)) fail_at(range, "tuple slice indices must be integer constants");
        bounds[i] = known->integer();
        given[i] = true;
    }
    std::vector<Value*> parts;
    for (int64_t at : places_of_slice(bounds, given, static_cast<int64_t>(tuple->type->parts.size()), range)) {
        Value* place = graph_.constant(Item(at));
        parts.push_back(tuple_item(range, tuple, place));
    }
    return tuple_of_values(parts);
}

Value* Lowering::slice(const script::Range& range, Value* container, Value* dim, const Tree& tree) {
    Value* bounds[3] = {};
    for (size_t i = 0; i < 3; i++)
        if (tree[i].present()) bounds[i] = value(tree[i][0]);
    std::vector<Given> given = {Given(container, "self")};
    if (dim) given.emplace_back(dim);
    if (!bounds[0]) bounds[0] = graph_.constant(Item());
    given.emplace_back(bounds[0], "start");
    given.emplace_back(bounds[1] ? bounds[1] : graph_.constant(Item()), "end");
    if (!bounds[2]) bounds[2] = graph_.constant(Item(int64_t{1}), range);
    return call_builtin(graph_, range, "aten::slice", given, {Given(bounds[2], "step")});
}

Value* Lowering::index_all(const script::Range& range, Value* container, const Tree& parts) {
    std::vector<Value*> indices;
    container = index(range, container, parts, indices);
    if (indices.empty()) return container;
    return builtin(range, "aten::index", {container, list_of_values(optional_of(type_of(TypeKind::Tensor)), indices)});
}

Value* Lowering::index(const script::Range& range, Value* tensor, const Tree& parts, std::vector<Value*>& indices) {
    std::vector<int64_t> dims(parts.size());
    std::vector<Value*> values(parts.size(), nullptr);
    const auto visit = [&](size_t i, int64_t dim, bool reverse) -> int64_t {
        dims[i] = dim;
        if (parts[i].is(Slice)) return reverse ? dim - 1 : dim + 1;
        if (!parts[i].is(Const)) meaning(parts[i]); // TorchScript looks twice: first whether it is a slice
        Value* place = value(parts[i], parts[i].is(None) ? type_of(TypeKind::None) : nullptr);
        if (place->type->is(TypeKind::List)) place = call_builtin(graph_, {}, "aten::tensor", {place}, {Given(Item(int64_t{4}), "dtype")});
        values[i] = place;
        if (place->type->is(TypeKind::None)) return reverse ? dim : dim + 1;
        if (place->type->is(TypeKind::Int)) return reverse ? dim - 1 : dim;
        if (!is_subtype(place->type, optional_of(type_of(TypeKind::Tensor))))
            fail_at(range,
                    "Unsupported operation: indexing tensor with unsupported index type '%s'. Only ints, slices, lists and tensors are "
                    "supported",
                    repr(place->type).c_str());
        if (reverse) fail_at(range, "Ellipses followed by tensor indexing is currently not supported");
        return dim + 1;
    };
    size_t at = 0;
    int64_t dim = 0;
    for (; at < parts.size() && !parts[at].is(Dots); at++) dim = visit(at, dim, false);
    dim = -1;
    for (size_t i = parts.size() - 1; at < parts.size() && i > at; i--) {
        if (parts[i].is(Dots)) fail_at(range, "An index can only have a single ellipsis ('...')");
        dim = visit(i, dim, true);
    }
    for (size_t i = 0; i < parts.size(); i++) {
        const auto place = [&] { return graph_.constant(Item(dims[i]), range); };
        if (parts[i].is(Slice)) tensor = slice(range, tensor, place(), parts[i]);
        else if (parts[i].is(Dots)) continue;
        else if (values[i]->type->is(TypeKind::None)) tensor = builtin(range, "aten::unsqueeze", {tensor, place()});
        else if (values[i]->type->is(TypeKind::Int)) tensor = builtin(range, "aten::select", {tensor, place(), values[i]});
        else {
            indices.resize(static_cast<size_t>(dims[i] + 1), nullptr);
            indices[static_cast<size_t>(dims[i])] = values[i];
        }
    }
    for (Value*& each : indices)
        if (!each) each = graph_.insert(graph_.create_constant(Item()))->output();
    return tensor;
}

} // namespace kindling::script
