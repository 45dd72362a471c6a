// script/lower/lower_class.cpp: attributes and methods of modules and classes, making objects, calling what is one function of several,
// and `with`.
#include "script/lower/lowering.h"

namespace kindling::script {

using namespace kind_of;

namespace {
/// "Net" of "__torch__.Net".
std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }
/// Methods of nn.Module whose results are known one by one.
bool lists_modules(const std::string& name) {
    for (const char* each : {"items", "keys", "values", "children", "named_children", "modules", "named_modules", "buffers",
                             "named_buffers", "parameters", "named_parameters"})
        if (name == each) return true;
    return false;
}
} // namespace

Value* Lowering::get_attribute(Value* self, const Class::Attribute& attribute) {
    Node* node = graph_.create_with("prim::GetAttr", attribute.type, {self});
    node->attributes.push_back({"name", Item(attribute.name), {}});
    const bool digits = attribute.name.find_first_not_of("0123456789") == std::string::npos;
    node->output()->set_name(digits ? "_" + attribute.name : attribute.name);
    return graph_.insert(node)->output();
}

/// The names of a container's modules, and they themselves.
Lowering::Held Lowering::held_in(Value* module, const script::Range& range) {
    Held made{named(Meaning::Several, ""), named(Meaning::Several, "")};
    for (const Class::Attribute& each : module->type->definition->attributes) {
        if (!is_module(each.type)) continue;
        made.names->parts.push_back(simple(graph_.constant(Item(each.name), range)));
        made.modules->parts.push_back(holder(get_attribute(module, each)));
    }
    return made;
}

MeaningRef Lowering::try_member(const MeaningRef& base, const std::string& name, const script::Range& range) {
    Value* self = base->value;
    Class& of = *self->type->definition;
    const bool module = base->kind == Meaning::Submodule;
    if (const int place = of.place_of(name); place >= 0) {
        const Class::Attribute attribute = of.attributes[static_cast<size_t>(place)];
        Value* value = get_attribute(self, attribute);
        return module ? holder(value) : simple(value);
    }
    if (const auto overloads = of.overloads.find(name); overloads != of.overloads.end()) {
        MeaningRef made = named(Meaning::Method, name, self);
        for (const std::string& each : overloads->second) made->parts.push_back(named(Meaning::Method, each));
        return made;
    }
    // A container's own items() is that of Python's class: what stands for it here comes first.
    const bool listed = of.kind == Class::Module && !of.methods.count(name) &&
                        (of.holds == Class::Dict || (name != "items" && name != "keys" && name != "values"));
    if (!listed || !lists_modules(name))
        if (of.signature(name)) return named(Meaning::Method, name, self);
    if (const auto constant = of.constants.find(name); constant != of.constants.end()) return constant_meaning(constant->second, range);
    if (const auto property = of.properties.find(name); property != of.properties.end())
        return call_method(self, {property->second.getter}, range, {}, {});
    if (listed && lists_modules(name)) {
        const auto pairs = [&](const Held& held) {
            MeaningRef all = named(Meaning::Several, "");
            for (size_t i = 0; i < held.names->parts.size(); i++) {
                MeaningRef pair = named(Meaning::Several, "");
                pair->parts = {held.names->parts[i], held.modules->parts[i]};
                all->parts.push_back(pair);
            }
            return all;
        };
        const auto ready = [&](const MeaningRef& result) {
            MeaningRef made = named(Meaning::Ready, name);
            made->parts = {result};
            return made;
        };
        if (name == "named_children" || (name == "items" && of.holds == Class::Dict)) return ready(pairs(held_in(self, range)));
        if (name == "children" || (name == "values" && of.holds == Class::Dict)) return ready(held_in(self, range).modules);
        if (name == "keys" && of.holds == Class::Dict) return ready(held_in(self, range).names);
        if (name == "modules" || name == "named_modules") {
            Held all{named(Meaning::Several, ""), named(Meaning::Several, "")};
            const std::function<void(const MeaningRef&, const std::string&)> visit = [&](const MeaningRef& each, const std::string& path) {
                all.names->parts.push_back(simple(graph_.constant(Item(path), range)));
                all.modules->parts.push_back(each);
                for (const Class::Attribute& below : std::vector<Class::Attribute>(each->value->type->definition->attributes))
                    if (is_module(below.type))
                        visit(holder(get_attribute(each->value, below)), path.empty() ? below.name : path + "." + below.name);
            };
            visit(base, "");
            return ready(name == "modules" ? all.modules : pairs(all));
        }
        const bool buffers = name == "buffers" || name == "named_buffers";
        if (buffers || name == "parameters" || name == "named_parameters") {
            Held all{named(Meaning::Several, ""), named(Meaning::Several, "")};
            for (const Class::Attribute& each : std::vector<Class::Attribute>(of.attributes))
                if (buffers ? each.buffer : each.parameter) {
                    all.names->parts.push_back(simple(graph_.constant(Item(each.name), range)));
                    all.modules->parts.push_back(simple(get_attribute(self, each)));
                }
            return ready(name[0] == 'n' ? pairs(all) : all.modules);
        }
    }
    MeaningRef found = meaning_of(of.outside(name, range), name, range);
    if (found && found->kind == Meaning::Foreign && found->outside->place) found->value = self;
    return found;
}

MeaningRef Lowering::member(const MeaningRef& base, const std::string& name, const script::Range& range) {
    if (MeaningRef found = try_member(base, name, range)) return found;
    Class& of = *base->value->type->definition;
    if (of.kind == Class::Module)
        fail_at(range, "Module '%s' has no attribute '%s' %s", last_part(of.name).c_str(), name.c_str(), of.why_not(name).c_str());
    fail_at(range, "'%s' object has no attribute or method '%s'. Did you forget to initialize an attribute in __init__()?",
            repr(base->value->type).c_str(), name.c_str());
}

void Lowering::set_member(const MeaningRef& base, const std::string& name, Value* value, const script::Range& range) {
    Value* self = as_value(base, range);
    if (!self->type->is(TypeKind::Class) || !self->type->definition)
        fail_at(range, "Tried to set an attribute: %s on a non-class: %s", name.c_str(), repr(self->type).c_str());
    Class& of = *self->type->definition;
    int place = of.place_of(name);
    if (place < 0) {
        if (const auto property = of.properties.find(name); property != of.properties.end()) {
            if (property->second.setter.empty()) fail_at(range, "Tried to set read-only attribute: %s", name.c_str());
            call_method(self, {property->second.setter}, range, {value}, {});
            return;
        }
        if (!of.open || &of != self_)
            fail_at(range, "Tried to set nonexistent attribute: %s. Did you forget to initialize it in __init__()?", name.c_str());
        if (graph_.insert_point->block != graph_.block)
            fail_at(range, "First assignment cannot be in a control-flow block. Initialize the field at the top level first");
        of.attributes.push_back({name, value->type->inferred ? type_of(TypeKind::Tensor) : value->type, false,
                                 false}); // an annotation said what a literal is, no more
        place = static_cast<int>(of.attributes.size() - 1);
    }
    const TypeRef wanted = of.attributes[static_cast<size_t>(place)].type, given = value->type;
    value = convert(graph_, range, wanted, value, true);
    if (!is_subtype(value->type, wanted))
        fail_at(range, "Wrong type for attribute assignment. Expected %s but got %s", repr(wanted).c_str(), repr(given).c_str());
    Node* node = graph_.insert(graph_.create("prim::SetAttr", {self, value}, 0));
    node->attributes.push_back({"name", Item(name), {}});
}

// ---- calls

MeaningRef Lowering::call_method(Value* self, const std::vector<std::string>& names, const script::Range& range,
                                 const std::vector<Given>& positional, const std::vector<Given>& keywords) {
    std::vector<Given> all = {self};
    all.insert(all.end(), positional.begin(), positional.end());
    std::vector<const Signature*> signatures;
    for (const std::string& name : names) {
        signatures.push_back(self->type->definition->signature(name));
        if (!signatures.back()) fail_at(range, "'%s' object has no attribute or method '%s'.", repr(self->type).c_str(), name.c_str());
    }
    std::vector<TypeRef> types;
    std::vector<Value*> inputs;
    const size_t which = match_calls(graph_, range, signatures, all, keywords, inputs, types);
    Node* node = graph_.insert(graph_.create_with("prim::CallMethod", types[0], inputs)->at(range));
    node->attributes.push_back({"name", Item(names[which]), {}});
    return simple(node->output());
}

/// Its forward, between its hooks.
MeaningRef Lowering::call_module(const MeaningRef& module, const script::Range& range, std::vector<Given> positional,
                                 const std::vector<Given>& keywords) {
    Value* self = module->value;
    Class& of = *self->type->definition;
    const auto run_forward = [&] { return call(member(module, "forward", range), range, positional, keywords); };
    if (of.hooks.empty() && of.pre_hooks.empty()) return run_forward();
    std::vector<Value*> values;
    for (const Given& each : positional) values.push_back(each.in(graph_));
    Value* input = tuple_of_values(values);
    const auto run_hook = [&](Function* hook, const std::vector<Given>& given) {
        return as_value(call_functions(script(hook->name, hook), range, given, {}), range);
    };
    for (Function* hook : of.pre_hooks) {
        Value* made = run_hook(hook, {self, input});
        if (!made->type->is(TypeKind::None)) input = made->type->is(TypeKind::Tuple) ? made : tuple_of_values({made});
    }
    if (!of.pre_hooks.empty() && !positional.empty()) {
        positional.clear();
        for (Value* part : unpack_tuple(graph_, input)) positional.emplace_back(part);
    }
    Value* output = as_value(run_forward(), range);
    for (Function* hook : of.hooks) {
        Value* made = run_hook(hook, {self, input, output});
        if (!made->type->is(TypeKind::None)) output = made;
    }
    return simple(output);
}

MeaningRef Lowering::call_functions(const MeaningRef& callee, const script::Range& range, const std::vector<Given>& positional,
                                    const std::vector<Given>& keywords) {
    std::vector<Function*> functions = {callee->function};
    for (const MeaningRef& each : callee->parts) functions.push_back(each->function);
    std::vector<const Signature*> signatures;
    for (const Function* each : functions) signatures.push_back(&each->signature);
    const auto constant = [&](Function* function) {
        Value* made = graph_.insert(graph_.create_with("prim::Constant", class_named("Function")))->output();
        made->node->attributes.push_back({"name", Item(last_part(function->name)), {}});
        made->node->function = function;
        return made;
    };
    Value* which = functions.size() == 1 ? constant(functions[0]) : nullptr;
    std::vector<TypeRef> types;
    std::vector<Value*> inputs;
    const size_t taken = match_calls(graph_, range, signatures, positional, keywords, inputs, types);
    if (!which) which = constant(functions[taken]);
    inputs.insert(inputs.begin(), which);
    return simple(graph_.insert(graph_.create_with("prim::CallFunction", types[0], inputs)->at(range))->output());
}

MeaningRef Lowering::make_object(TypeRef type, const script::Range& range, const std::vector<Given>& positional,
                                 const std::vector<Given>& keywords) {
    if (!type->definition) fail_at(range, "a %s cannot be made in a script", repr(type).c_str());
    Class& of = *type->definition;
    switch (of.kind) {
    case Class::NamedTuple: {
        Signature signature;
        signature.name = last_part(of.name);
        for (size_t i = 0; i < of.attributes.size(); i++) {
            Formal formal;
            formal.name = of.attributes[i].name;
            formal.type = of.attributes[i].type;
            if (const size_t plain = of.attributes.size() - of.defaults.size(); i >= plain) {
                formal.has_default = true;
                formal.default_value = of.defaults[i - plain];
            }
            signature.formals.push_back(formal);
        }
        std::vector<TypeRef> types;
        const std::vector<Value*> inputs = match_call(graph_, range, signature, positional, keywords, types);
        return simple(graph_.insert(graph_.create_with("prim::TupleConstruct", type, inputs)->at(range))->output());
    }
    case Class::Plain: {
        Value* self = graph_.insert(graph_.create_with("prim::CreateObject", type)->at(range))->output();
        if (!of.method("__init__")) fail_at(range, "Class %s does not have an __init__ function defined", last_part(of.name).c_str());
        call_method(self, {"__init__"}, range, positional, keywords);
        return simple(self);
    }
    case Class::Enum: fail_at(range, "Cannot call an enum class: '%s'", of.name.c_str());
    default: fail_at(range, "Cannot instantiate class %s in a script function", last_part(of.name).c_str());
    }
}

MeaningRef Lowering::call_foreign(const MeaningRef& callee, const script::Range& range, const std::vector<Given>& positional,
                                  const std::vector<Given>& keywords) {
    Outside function = *callee->outside;
    if (function.kind == Outside::Unusable) { // nothing is known of it: tensors, a tensor
        Formal each;
        each.type = type_of(TypeKind::Tensor);
        function.signature.results.push_back(each);
        for (size_t i = 0; i < positional.size(); i++) {
            each.name = std::to_string(i);
            function.signature.formals.push_back(each);
        }
    }
    std::vector<TypeRef> types;
    std::vector<Value*> inputs = match_call(graph_, range, function.signature, positional, keywords, types);
    if (function.constant.is_none()) { // @unused
        call_builtin(graph_, range, "prim::RaiseException",
                     {Given(Item("This Python function is annotated to be ignored and cannot be run")), Given(Item())});
        return simple(uninitialized(types[0]));
    }
    if (callee->value) inputs.insert(inputs.begin(), callee->value);
    Node* node = graph_.insert(graph_.create_with("prim::PythonOp", types[0], inputs)->at(range));
    node->attributes = {{"name", Item(callee->name.substr(callee->name.rfind('.') + 1)), {}}, {"function", function.constant, {}}};
    return simple(node->output());
}

/// One of two functions by a flag that must be known here.
MeaningRef Lowering::choose_function(const MeaningRef& callee, const script::Range& range, const std::vector<Given>& positional,
                                     const std::vector<Given>& keywords) {
    const Outside& choice = *callee->outside;
    bool flag = choice.constant.truth();
    const Given* given = choice.place < positional.size() ? &positional[choice.place] : nullptr;
    for (const Given& each : keywords)
        if (each.name == choice.name) given = &each;
    if (given) {
        const Item* known = given->value ? constant_of(given->value) : &given->constant;
        if (!known || !known->is(Item::Tag::Bool))
            fail_at(range, "argument for boolean dispatch must be a constant: '%s'", choice.name.c_str());
        flag = known->truth();
    }
    return meaning_of(choice.parts[flag ? 0 : 1], callee->name, range);
}

// ---- with

void Lowering::with(const Tree& tree) {
    std::vector<Value*> entered;
    for (const Tree* item : tree[0].parts) {
        const Tree& expression = (*item)[0];
        Value* object = value(expression);
        Node* enter = graph_.insert(graph_.create("prim::Enter", {object}));
        entered.push_back(object);
        if (!object->type->is(TypeKind::Class) || !object->type->definition)
            fail_at(expression.range, "With item expression must return an object");
        Class& of = *object->type->definition;
        const Signature *in = of.signature("__enter__"), *out = of.signature("__exit__");
        if (!in || !out)
            fail_at(expression.range, "Object returned by with item expression does not define __enter__ and __exit__ methods");
        if (in->formals.size() != 1) fail_at(expression.range, "__enter__ must have only one argument and one return value");
        if (out->formals.size() != 4) fail_at(expression.range, "__exit__ must have four arguments");
        for (size_t i = 1; i < 4; i++)
            if (!out->formals[i].type->is(TypeKind::Any))
                fail_at(expression.range,
                        "argument %zu of __exit__ must have Any type; TorchScript does not currently support passing exception type, "
                        "value, or traceback to the __exit__ function.",
                        i);
        enter->output()->type = in->results[0].type;
        if ((*item)[1].present()) set((*item)[1][0].range, (*item)[1][0].name(), simple(enter->output()));
    }
    statements(tree[1]);
    for (size_t i = entered.size(); i-- > 0;) graph_.insert(graph_.create("prim::Exit", {entered[i]}));
}

} // namespace kindling::script
