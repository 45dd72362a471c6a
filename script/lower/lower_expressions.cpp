// script/lower/lower_expressions.cpp: expressions: calls, forms that look like calls, operators, literals.
#include <cerrno>
#include <climits>
#include <cstring>

#include "script/graph/codes.h"
#include "script/lower/lowering.h"

namespace kindling::script {

using namespace kind_of;

MeaningRef Lowering::attribute(const MeaningRef& base, const std::string& name, const script::Range& range) {
    if (base->kind == Meaning::Module) {
        if (MeaningRef found = outside(base->name + "." + name, range)) return found;
        static constexpr struct {
            char name[7];
            DType dtype;
        } others[] = {{"long", DType::Int64},     {"half", DType::Float16}, {"float", DType::Float32},
                      {"double", DType::Float64}, {"int", DType::Int32},    {"short", DType::Int16}};
        for (const auto& each : others)
            if (name == each.name) return simple(graph_.constant(Item(code_of(each.dtype)), range));
        for (int i = 0; i < dtype_count; i++)
            if (name == kindling::name(static_cast<DType>(i))) return simple(graph_.constant(Item(code_of(static_cast<DType>(i))), range));
        if (name == "strided") return simple(graph_.constant(Item(code_of(Layout::Strided)), range));
        return named(Meaning::Builtin, "aten::" + name);
    }
    if (base->kind == Meaning::Submodule ||
        (base->kind == Meaning::Simple && base->value->type->is(TypeKind::Class) && base->value->type->definition))
        return member(base, name, range);
    if (base->kind == Meaning::Type && base->type->definition) { // Color.RED, Net.helper
        Class& of = *base->type->definition;
        for (const auto& [member, value] : of.members)
            if (member == name) return simple(graph_.constant(value, range));
        if (MeaningRef found = meaning_of(of.outside(name, range), name, range)) return found;
        if (of.kind == Class::Enum) fail_at(range, "Enum '%s' has no attribute '%s'", of.name.c_str(), name.c_str());
        fail_at(range, "Tried to lookup unknown attribute on class %s", of.name.c_str());
    }
    if (base->kind == Meaning::Unusable || base->kind == Meaning::Foreign || base->kind == Meaning::Script || base->kind == Meaning::Type)
        if (MeaningRef found = outside(base->name + "." + name, range))
            if (base->kind != Meaning::Unusable || found->kind == Meaning::Script) return found; // of a module's class: static methods
    if (base->kind != Meaning::Simple)
        fail_at(range, "attribute lookup is not defined on %s",
                base->kind == Meaning::Unusable || base->kind == Meaning::Foreign
                    ? ("python value of type '" + (base->kind == Meaning::Unusable ? base->outside->name : base->name) + "'").c_str()
                : base->kind == Meaning::Type ? "class"
                                              : "builtin");
    Value* self = base->value;
    if (self->type->is(TypeKind::Tensor)) {
        static constexpr char properties[][18] = {"dtype",
                                                  "device",
                                                  "grad",
                                                  "data",
                                                  "shape",
                                                  "is_cuda",
                                                  "is_cpu",
                                                  "is_xla",
                                                  "is_xpu",
                                                  "is_sparse",
                                                  "is_sparse_csr",
                                                  "is_mkldnn",
                                                  "is_mps",
                                                  "is_mtia",
                                                  "is_quantized",
                                                  "is_vulkan",
                                                  "is_ipu",
                                                  "is_meta",
                                                  "is_leaf",
                                                  "is_nested",
                                                  "requires_grad",
                                                  "layout",
                                                  "T",
                                                  "H",
                                                  "mT",
                                                  "mH",
                                                  "itemsize",
                                                  "nbytes",
                                                  "ndim",
                                                  "name",
                                                  "real",
                                                  "imag",
                                                  "retains_grad",
                                                  "is_maia"};
        for (const char* property : properties)
            if (name == property)
                return simple(call_builtin(
                    graph_, {},
                    (std::strstr(" real imag mT mH is_leaf retains_grad ", (" " + name + " ").c_str()) ? "aten::" : "prim::") + name,
                    {self}));
        if (name == "tolist") return named(Meaning::Special, "tolist", self);
        if (name == "type") return named(Meaning::Builtin, "aten::to", self);
        static constexpr struct {
            char name[8];
            DType dtype;
        } casts[] = {{"byte", DType::UInt8},       {"char", DType::Int8},         {"short", DType::Int16},   {"int", DType::Int32},
                     {"long", DType::Int64},       {"half", DType::Float16},      {"float", DType::Float32}, {"double", DType::Float64},
                     {"cfloat", DType::Complex64}, {"cdouble", DType::Complex128}};
        for (const auto& each : casts)
            if (name == each.name) { // to(dtype, ...)
                MeaningRef made = named(Meaning::Builtin, "aten::to", self);
                made->start = graph_.constant(Item(code_of(each.dtype)), range);
                return made;
            }
    }
    if (self->type->is(TypeKind::Device) && (name == "type" || name == "index"))
        return simple(call_builtin(graph_, {}, "prim::" + name, {self}));
    if (self->type->is(TypeKind::Enum) && (name == "name" || name == "value"))
        return simple(graph_
                          .insert(graph_.create_with(name == "name" ? "prim::EnumName" : "prim::EnumValue",
                                                     name == "name" ? type_of(TypeKind::Str) : self->type->definition->value_type, {self}))
                          ->output());
    if (self->type->is(TypeKind::Tuple))
        for (size_t i = 0; i < self->type->fields.size(); i++)
            if (self->type->fields[i] == name) {
                Value* place = graph_.constant(Item(static_cast<int64_t>(i)));
                return simple(graph_.insert(graph_.create_with("prim::TupleIndex", self->type->parts[i], {self, place}))->output());
            }
    for (const Signature* each : signatures_of("aten::" + name))
        for (const Formal& formal : each->formals)
            if (formal.name == "self") {
                TypeVariables variables;
                if (!match(formal.type, self->type, variables).empty()) continue;
                const TypeRef wanted = substitute(formal.type, variables);
                if (wanted && is_subtype(self->type, wanted)) return named(Meaning::Builtin, "aten::" + name, self);
            }
    fail_at(range, "'%s' object has no attribute or method '%s'.", repr(self->type).c_str(), name.c_str());
}

std::vector<Given> Lowering::arguments(const Tree& list) {
    std::vector<Given> all;
    for (const Tree* each : list.parts) {
        if (each->is(Starred))
            for (const MeaningRef& part : as_tuple(meaning((*each)[0]), each->range, 0)) all.push_back(as_value(part, each->range));
        else all.push_back(value(*each));
    }
    return all;
}

MeaningRef Lowering::apply(const Tree& tree, TypeRef hint) {
    const MeaningRef callee = meaning(tree[0]);
    if (callee->kind == Meaning::Special)
        return callee->value ? to_list(callee->value, tree.range, hint) : special(callee->name, tree, hint);
    const std::vector<Given> positional = arguments(tree[1]);
    std::vector<Given> keywords;
    for (const Tree* each : tree[2].parts) keywords.emplace_back(value((*each)[1]), each->name());
    return call(callee, tree[0].range, positional, keywords);
}
MeaningRef Lowering::call(const MeaningRef& callee, const script::Range& range, std::vector<Given> positional,
                          const std::vector<Given>& keywords) {
    switch (callee->kind) {
    case Meaning::Builtin: {
        static constexpr struct {
            char builtin[12];
            char method[10];
        } magics[] = {{"aten::len", "__len__"}, {"aten::round", "__round__"}, {"prim::abs", "__abs__"}, {"aten::hash", "__hash__"}};
        for (const auto& each : magics)
            if (callee->name == each.builtin && !callee->value)
                if (MeaningRef found = magic(each.method, range, positional)) return found;
        const Given self(callee->value, "self");
        if (callee->start) positional.insert(positional.begin(), Given(callee->start));
        return simple(call_builtin(graph_, range, callee->name, positional, keywords, callee->value ? &self : nullptr));
    }
    case Meaning::Cast: {
        static constexpr struct {
            char builtin[12];
            char method[10];
        } magics[] = {{"aten::Float", "__float__"}, {"aten::Int", "__int__"}, {"aten::Bool", "__bool__"}, {"aten::str", "__str__"}};
        for (const auto& each : magics)
            if (callee->name == each.builtin)
                if (MeaningRef found = magic(each.method, range, positional)) return found;
        return simple(cast(range, callee->name, positional, keywords));
    }
    case Meaning::Print: {
        if (!keywords.empty()) fail_at(range, "print doesn't accept any keyword arguments");
        std::vector<Value*> values;
        for (const Given& each : positional) values.push_back(each.value);
        graph_.insert(graph_.create("prim::Print", values, 0)->at(range));
        return named(Meaning::Nothing, "");
    }
    case Meaning::Exception: {
        MeaningRef made = named(Meaning::Message, "");
        if (positional.empty()) made->value = graph_.constant(Item(""), range);
        else if (positional.size() == 1) made->value = positional[0].value;
        else {
            std::vector<Value*> values;
            for (const Given& each : positional) values.push_back(each.value);
            made->value = tuple_of_values(values);
        }
        made->qualified = graph_.constant(Item(callee->name), range);
        return made;
    }
    case Meaning::Ready:
        if (!positional.empty() || !keywords.empty()) fail_at(range, "%s method does not accept any arguments", callee->name.c_str());
        return callee->parts[0];
    case Meaning::Script: return call_functions(callee, range, positional, keywords);
    case Meaning::Method: {
        std::vector<std::string> names;
        if (callee->parts.empty()) names.push_back(callee->name);
        for (const MeaningRef& each : callee->parts) names.push_back(each->name);
        return call_method(callee->value, names, range, positional, keywords);
    }
    case Meaning::Submodule: return call_module(callee, range, std::move(positional), keywords);
    case Meaning::Type: return make_object(callee->type, range, positional, keywords);
    case Meaning::Foreign: return call_foreign(callee, range, positional, keywords);
    case Meaning::Choice: {
        const MeaningRef chosen = choose_function(callee, range, positional, keywords); // before the arguments are moved
        return call(chosen, range, std::move(positional), keywords);
    }
    case Meaning::Unusable:
        if (!callee->outside->constant.is_none()) return call_foreign(callee, range, positional, keywords);
        fail_at(range, "Python builtin %s is currently not supported in Torchscript", callee->name.c_str());
    case Meaning::Simple:
        if (callee->value->type->is(TypeKind::Class) && callee->value->type->definition)
            return call(member(callee, callee->value->type->definition->kind == Class::Interface ? "forward" : "__call__", range), range,
                        std::move(positional), keywords);
        fail_at(range, "cannot call a value of type '%s'", repr(callee->value->type).c_str());
    default: fail_at(range, "cannot call a module");
    }
}
/// What the first argument's class has for an operation of the language; null if it is of no class.
MeaningRef Lowering::magic(const char* method, const script::Range& range, const std::vector<Given>& arguments) {
    if (arguments.empty() || !arguments[0].value) return nullptr;
    const MeaningRef self = holder(arguments[0].value);
    const TypeRef type = self->value->type;
    if (!type->is(TypeKind::Class) || !type->definition) return nullptr;
    return call(member(self, method, range), range, std::vector<Given>(arguments.begin() + 1, arguments.end()), {});
}
/// tensor.tolist(): the type says how deep the list is, and of what.
MeaningRef Lowering::to_list(Value* self, const script::Range& range, TypeRef hint) {
    if (!hint) fail_at(range, "Expected type hint for result of tolist()");
    int64_t depth = 0;
    TypeRef element = hint;
    for (; element->is(TypeKind::List); element = element->element()) depth++;
    const int64_t kind = element->is(TypeKind::Float)     ? 1
                         : element->is(TypeKind::Int)     ? 0
                         : element->is(TypeKind::Complex) ? 2
                         : element->is(TypeKind::Bool)    ? 3
                                                          : -1;
    if (kind < 0) fail_at(range, "Unsupported element type for tolist: %s", repr(element).c_str());
    Value* deep = graph_.constant(Item(depth));
    Value* of = graph_.constant(Item(kind));
    return simple(graph_.insert(graph_.create_with("prim::tolist", hint, {self, deep, of}))->output());
}

MeaningRef Lowering::special(const std::string& form, const Tree& tree, TypeRef hint) {
    const Tree& inputs = tree[1];
    if (form == "isinstance") return simple(is_instance(tree).value);
    if (form == "range") {
        std::vector<Value*> values;
        for (const Given& each : arguments(inputs)) values.push_back(each.value);
        return range_of(tree.range, values);
    }
    if (form == "zip") {
        if (!inputs.size()) fail_at(tree.range, "zip expected at least 1 arguments, got 0");
        MeaningRef made = named(Meaning::Zip, "");
        for (const Tree* each : inputs.parts) made->parts.push_back(iterate(meaning(*each), tree.range));
        return made;
    }
    if (form == "enumerate") {
        if (!inputs.size()) fail_at(tree.range, "enumerate expected at least 1 arguments, got 0");
        if (inputs.size() > 2) fail_at(tree.range, "enumerate expected at most 2 arguments, got %zu", inputs.size());
        std::vector<Value*> bounds;
        if (inputs.size() == 2) bounds.push_back(value(inputs[1]));
        for (const Tree* each : tree[2].parts) {
            if (each->name() != "start") fail_at(tree.range, "enumerate expected kwarg name 'start', got '%s'", each->name().c_str());
            bounds = {value((*each)[1])};
        }
        bounds.push_back(number(Item(static_cast<int64_t>(INT64_MAX)), tree.range));
        MeaningRef over = iterate(meaning(inputs[0]), tree.range);
        MeaningRef made = named(Meaning::Zip, "");
        made->parts = {range_of(tree.range, bounds), over};
        made->parts[0]->counts = true;
        return made;
    }
    if (form == "annotate") {
        if (inputs.size() != 2) fail_at(tree.range, "annotate expected exactly 2 arguments but found %zu", inputs.size());
        const TypeRef type = read_type(inputs[0], &resolver_);
        Value* given = convert(graph_, tree.range, type, value(inputs[1], type), true);
        if (!is_subtype(given->type, type))
            fail_at(inputs.range, "expected an expression of type %s but found %s", repr(type).c_str(), repr(given->type).c_str());
        if (type->is(TypeKind::Optional) && given->type->is(TypeKind::None))
            given = graph_.insert(graph_.create_constant(Item(), type))->output();
        return simple(given);
    }
    if (form == "fork") {
        if (!inputs.size()) fail_at(tree.range, "Expected at least one argument to fork()");
        const MeaningRef callee = meaning(inputs[0]);
        std::vector<const Tree*> others(inputs.parts.begin() + 1, inputs.parts.end());
        std::vector<Given> given = arguments(*trees_.make(List, inputs.range, std::move(others))), keywords;
        for (const Tree* each : tree[2].parts) keywords.emplace_back(value((*each)[1]), each->name());
        return simple(fork(callee, tree.range, given, keywords));
    }
    if (form == "wait") {
        if (inputs.size() != 1) fail_at(tree.range, "wait expected exactly 1 arguments but found %zu", inputs.size());
        return simple(builtin(tree[0].range, "aten::wait", {value(inputs[0])}));
    }
    if (!form.compare(0, 6, "torch.")) { // torch.FloatTensor(...), by its dtype
        std::vector<Given> given = arguments(inputs), dtype;
        std::vector<Value*> sizes;
        for (const Given& each : given)
            if (each.value->type->is(TypeKind::Int)) sizes.push_back(each.value);
        const std::string name = "dtype";
        dtype.emplace_back(attribute(named(Meaning::Module, "torch"), form.substr(6), tree.range)->value, name);
        const bool all = sizes.size() == given.size(), any = !given.empty();
        if (all) {
            given.clear();
            given.push_back(list_of_values(type_of(TypeKind::Int), sizes));
        }
        return simple(call_builtin(graph_, {}, all && any ? "aten::empty" : "aten::tensor", given, dtype));
    }
    if (form == "is_scripting") return simple(graph_.constant(Item(true), tree.range));
    if (form == "is_tracing") return simple(graph_.constant(Item(false), tree.range));
    if (form == "same") return meaning(inputs[0], hint); // what says something to Python alone
    if (form == "hasattr" || form == "getattr") {
        if (inputs.size() < 2 || !inputs[1].is(String)) fail_at(tree.range, "%s's second argument must be a string literal", form.c_str());
        const MeaningRef object = meaning(inputs[0]);
        const bool of_class = (object->kind == Meaning::Submodule || object->kind == Meaning::Simple) &&
                              object->value->type->is(TypeKind::Class) && object->value->type->definition;
        if (form == "hasattr") {
            if (!of_class) fail_at(tree.range, "hasattr's first argument must be an object or module, got a normal class name instead");
            Class& of = *object->value->type->definition;
            return simple(graph_.constant(
                Item(of.place_of(inputs[1].text) >= 0 || of.constants.count(inputs[1].text) || of.signature(inputs[1].text)), tree.range));
        }
        if (inputs.size() == 2) return attribute(object, inputs[1].text, tree.range);
        if (of_class)
            if (MeaningRef found = try_member(object, inputs[1].text, tree.range)) return found;
        return meaning(inputs[2], hint);
    }
    if (form == "dict") {
        if (!inputs.size() && !tree[2].size()) {
            const TypeRef type = hint && hint->is(TypeKind::Dict) ? hint : dict_of(type_of(TypeKind::Str), type_of(TypeKind::Tensor));
            return simple(graph_.insert(graph_.create_with("prim::DictConstruct", type))->output());
        }
        if (inputs.size() == 1 && inputs[0].is(DictComp)) return simple(comprehension(inputs[0], hint));
        const Tree* over = inputs.size() ? inputs.parts[0] : nullptr;
        const bool as_pairs = !over || over->is(ListLiteral); // keywords are more pairs of the list
        if (as_pairs) {
            std::vector<const Tree*> pairs;
            if (over) pairs = (*over)[0].parts;
            for (const Tree* each : tree[2].parts)
                pairs.push_back(
                    trees_.make(TupleLiteral, each->range,
                                {trees_.make(List, each->range, {trees_.make(String, each->range, {}, each->name()), each->parts[1]})}));
            over = trees_.make(ListLiteral, tree.range, {trees_.make(List, tree.range, pairs)});
        }
        MeaningRef meant = meaning(*over);
        if (meant->kind != Meaning::Zip) meant = simple(as_value(meant, over->range)); // zip and enumerate have no value
        Value *given = meant->value, *made;
        if (!given || given->type->is(TypeKind::List)) { // {key: value for key, value in it}
            const auto make_name = [&](const std::string& name) {
                return trees_.make(Var, tree.range, {trees_.make(Ident, tree.range, {}, name)});
            };
            const std::string n = std::to_string(temporaries_++);
            const Tree *key = make_name("$_key" + n), *item = make_name("$_value" + n);
            set(tree.range, "$_iter" + n, meant);
            const Tree* pair = trees_.make(TupleLiteral, tree.range, {trees_.make(List, tree.range, {key, item})});
            made = comprehension(*trees_.make(DictComp, tree.range, {key, item, pair, make_name("$_iter" + n)}), hint);
        } else made = builtin(tree.range, "aten::dict", {given});
        if (!as_pairs)
            for (const Tree* each : tree[2].parts) {
                Value* key = graph_.constant(Item(each->name()), each->range);
                builtin(each->range, "aten::_set_item", {made, key, value((*each)[1])});
            }
        return simple(made);
    }
    if (inputs.size() != 1) {
        if (form == "list" && !inputs.size())
            return simple(list_of_values(hint && hint->is(TypeKind::List) ? hint->element() : type_of(TypeKind::Tensor), {}));
        fail_at(tree.range, "%s expected exactly 1 arguments but found %zu", form.c_str(), inputs.size());
    }
    const MeaningRef of = meaning(inputs[0]);
    if (form == "tuple") {
        std::vector<Value*> values;
        for (const MeaningRef& part : as_tuple(of, tree.range, 0)) values.push_back(as_value(part, tree.range));
        return simple(tuple_of_values(values));
    }
    if (of->kind == Meaning::Simple && (of->value->type->is(TypeKind::List) || of->value->type->is(TypeKind::Str)))
        return simple(builtin(tree.range, "aten::list", {of->value}));
    const std::string over = "$_iter" + std::to_string(temporaries_++);
    set(tree.range, over, of);
    const auto make_name = [&](const std::string& name) {
        return trees_.make(Var, tree.range, {trees_.make(Ident, tree.range, {}, name)});
    };
    const Tree* element = make_name("$_elem" + std::to_string(temporaries_++));
    return simple(comprehension(*trees_.make(ListComp, tree.range, {element, element, make_name(over)}), hint));
}

/// The call stands in a block of the node; `lift_forks` makes a graph of it.
Value* Lowering::fork(const MeaningRef& callee, const script::Range& range, const std::vector<Given>& positional,
                      const std::vector<Given>& keywords) {
    Node* node = graph_.insert(graph_.create("prim::fork")->at(range));
    Block* body = node->add_block();
    push(body);
    {
        Inserting at(body);
        body->add_output(as_value(call(callee, range, positional, keywords), range));
    }
    pop();
    return node->output()->set_type(future_of(body->outputs()[0]->type));
}

MeaningRef Lowering::range_of(const script::Range& range, const std::vector<Value*>& values) {
    for (size_t i = 0; i < values.size(); i++)
        if (!values[i]->type->is(TypeKind::Int))
            fail_at(range, "all inputs of range must be ints, found %s in argument %zu", repr(values[i]->type).c_str(), i);
    MeaningRef made = named(Meaning::Range, "");
    if (values.empty()) fail_at(range, "range expected at least 1 arguments, got 0");
    if (values.size() > 3) fail_at(range, "range expected at most 3 arguments, got %zu", values.size());
    made->only_stop = values.size() == 1;
    made->stop = values[values.size() > 1];
    made->start = made->only_stop ? graph_.constant(Item(int64_t{0}), range) : values[0];
    made->step = values.size() == 3 ? values[2] : graph_.constant(Item(int64_t{1}), range);
    return made;
}

Value* Lowering::comprehension(const Tree& tree, TypeRef hint) {
    const bool dict = tree.is(DictComp);
    const size_t after = dict ? 2 : 1;
    Value* made = graph_
                      .insert(graph_.create_with(dict ? "prim::DictConstruct" : "prim::ListConstruct",
                                                 dict ? dict_of(type_of(TypeKind::Str), type_of(TypeKind::Tensor))
                                                      : list_of(type_of(TypeKind::Tensor))))
                      ->output();
    if (hint) {
        if (!hint->is(dict ? TypeKind::Dict : TypeKind::List))
            fail_at(tree.range, "Expected %s type annotation for %s comprehension, found %s", dict ? "Dict" : "list",
                    dict ? "dict" : "list", repr(hint).c_str());
        made->type = hint;
    }
    Block* scope = graph_.insert(graph_.create("prim::ComprehensionScope", {}, 0)->at(tree.range))->add_block();
    push(scope);
    Inserting at(scope);
    const Tree* targets = trees_.make(List, tree.range, {tree.parts[after]});
    const Tree* over = trees_.make(List, tree.range, {tree.parts[after + 1]});
    for_loop(*targets, *over, tree.range, [&] {
        Value* first = value(tree[0]);
        Value* second = dict ? value(tree[1]) : nullptr;
        if (!hint) hint = made->type = dict ? dict_of(first->type, second->type) : list_of(first->type);
        const Given self(made, "self");
        if (dict) call_builtin(graph_, tree.range, "aten::_set_item", {made, first, second});
        else call_builtin(graph_, tree.range, "aten::append", {first}, {}, &self);
    });
    pop();
    return made;
}

Value* Lowering::plain(const Tree& tree, TypeRef hint) {
    switch (tree.kind) {
    case Const: return number(number_of(tree), tree.range);
    case True:
    case False: return graph_.constant(Item(tree.is(True)), tree.range);
    case None: return graph_.constant(Item(), tree.range);
    case String: return graph_.constant(Item(tree.text), tree.range);
    case And:
    case Or:
    case Not:
    case Is:
    case IsNot: return condition(tree).value;
    case IfExpr: {
        const Condition test = condition(tree[0]);
        if (test.known) return value(tree[*test.known ? 1 : 2], hint);
        return choose(tree.range, test, [&] { return value(tree[1], hint); }, [&] { return value(tree[2], hint); });
    }
    case ListComp:
    case DictComp: return comprehension(tree, hint);
    case ListLiteral: return list_literal(tree, hint);
    case TupleLiteral: {
        std::vector<Value*> values;
        for (const Given& each : arguments(tree[0])) values.push_back(each.value);
        return tuple_of_values(values);
    }
    case DictLiteral: return dict_literal(tree, hint);
    case Minus:
    case '~': {
        Value* operand = value(tree[0]);
        if (MeaningRef found = magic(tree.is(Minus) ? "__neg__" : "__invert__", tree.range, {operand})) return as_value(found, tree.range);
        Value* made = builtin(tree.range, tree.is(Minus) ? "aten::neg" : "aten::bitwise_not", {operand});
        const Item* known = constant_of(made->node->inputs[0]);
        if (!known || !made->node->signature->builtin) return made;
        Item folded = *known;
        made->node->signature->builtin(&folded, 1);
        return graph_.constant(folded, tree.range);
    }
    default: break;
    }
    static constexpr struct {
        Kind kind;
        char name[20];
        char method[13];
    } operators[] = {{'+', "aten::add", "__add__"},
                     {'-', "aten::sub", "__sub__"},
                     {'*', "aten::mul", "__mul__"},
                     {'/', "aten::div", "__truediv__"},
                     {'%', "aten::remainder", "__mod__"},
                     {'@', "aten::matmul", "__matmul__"},
                     {Pow, "aten::pow", "__pow__"},
                     {FloorDiv, "aten::floordiv", "__floordiv__"},
                     {'<', "aten::lt", "__lt__"},
                     {'>', "aten::gt", "__gt__"},
                     {Le, "aten::le", "__le__"},
                     {Ge, "aten::ge", "__ge__"},
                     {Eq, "aten::eq", "__eq__"},
                     {Ne, "aten::ne", "__ne__"},
                     {'&', "aten::__and__", "__and__"},
                     {'|', "aten::__or__", "__or__"},
                     {'^', "aten::__xor__", "__xor__"},
                     {LShift, "aten::__lshift__", "__lshift__"},
                     {RShift, "aten::__rshift__", "__rshift__"},
                     {In, "aten::__contains__", "__contains__"}};
    const auto* found = std::find_if(std::begin(operators), std::end(operators), [&](const auto& each) { return tree.is(each.kind); });
    if (found == std::end(operators)) fail_at(tree.range, "Cannot emit expr for: %s", kind_name(tree.kind).c_str());
    if (tree.is('%')) { // TorchScript looks whether it is text first
        Value* text = value(tree[0]);
        if (text->type->is(TypeKind::Str)) return fill_in(tree);
    }
    Value* left = value(tree[0]);
    Value* right = value(tree[1]);
    if (tree.is(In)) std::swap(left, right);
    if (MeaningRef result = magic(found->method, tree.range, {left, right})) return as_value(result, tree.range);
    if (tree.is('+') && left->type->is(TypeKind::Tuple) && right->type->is(TypeKind::Tuple)) {
        std::vector<Value*> parts = unpack_tuple(graph_, left);
        for (Value* part : unpack_tuple(graph_, right)) parts.push_back(part);
        return tuple_of_values(parts);
    }
    return builtin(tree.range, found->name, {left, right});
}
/// "text %d" % values: a tuple's parts are the values, which the function finds out.
Value* Lowering::fill_in(const Tree& tree) {
    Value* text = value(tree[0]);
    Value* given = value(tree[1]);
    return call_builtin(graph_, tree.range, "aten::percentFormat", {text, given});
}

Item Lowering::number_of(const Tree& tree) {
    const std::string& text = tree.text;
    if (text.back() == 'j') return Item(std::complex<double>(0, std::strtod(text.c_str(), nullptr)));
    if (text.find_first_of("xX") == std::string::npos && text.find_first_of(".eE") != std::string::npos)
        return Item(std::strtod(text.c_str(), nullptr));
    errno = 0;
    const auto number = static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 0));
    if (errno) fail_at(tree.range, "Integral constant out of range (must fit in a signed 64 bit integer)");
    return Item(number);
}

Value* Lowering::list_literal(const Tree& tree, TypeRef hint) {
    std::vector<Value*> values;
    std::vector<TypeRef> types;
    for (const Given& each : arguments(tree[0])) {
        values.push_back(each.value);
        types.push_back(each.value->type);
    }
    TypeRef element = type_of(TypeKind::Tensor);
    if (hint) {
        if (!hint->is(TypeKind::List)) fail_at(tree.range, "Expected a List type hint but instead got %s", repr(hint).c_str());
        element = hint->element();
    } else if (!values.empty()) {
        element = unify(types, true);
        if (!element) fail_at(tree.range, "Lists must contain only a single type\n");
    }
    for (TypeRef type : types)
        if (!is_subtype(type, element))
            fail_at(tree.range, "Lists must contain only a single type, expected: %s but found %s instead.\n", repr(element).c_str(),
                    repr(type).c_str());
    return list_of_values(element, values);
}

static TypeRef joined(const std::vector<Value*>& values) {
    std::vector<TypeRef> types;
    for (const Value* each : values) types.push_back(each->type);
    return unify(types, true);
}
Value* Lowering::dict_literal(const Tree& tree, TypeRef hint) {
    std::vector<Value*> both, keys, values;
    for (size_t i = 0; i < tree[0].size(); i++) {
        keys.push_back(value(tree[0][i]));
        values.push_back(value(tree[1][i]));
        both.push_back(keys[i]);
        both.push_back(values[i]);
    }
    TypeRef type = hint && hint->is(TypeKind::Dict) ? hint
                   : keys.empty()                   ? dict_of(type_of(TypeKind::Str), type_of(TypeKind::Tensor))
                                                    : dict_of(keys[0]->type, joined(values));
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < keys.size(); i++)
            if (const TypeRef actual = (side ? values : keys)[i]->type; !is_subtype(actual, type->parts[static_cast<size_t>(side)]))
                fail_at(tree[static_cast<size_t>(side)][i].range,
                        "Dict %s must contain only a single type, expected: %s but found %s instead.\n", side ? "values" : "keys",
                        repr(type->parts[static_cast<size_t>(side)]).c_str(), repr(actual).c_str());
    return graph_.insert(graph_.create_with("prim::DictConstruct", type, both))->output();
}

} // namespace kindling::script
