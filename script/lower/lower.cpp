// script/lower/lower.cpp: a function as a whole, what names mean, and values.
#include <climits>

#include "script/lower/lowering.h"
#include "script/run/run.h"

namespace kindling::script {

using namespace kind_of;

void Lowering::read_formals(const Tree& definition) {
    const Tree& head = definition[1];
    Signature& signature = function_.signature;
    for (const Tree* each : head[0].parts) {
        const Tree& parameter = *each;
        Formal formal;
        formal.name = parameter.name();
        formal.keyword_only = !parameter.text.empty();
        if (self_ && signature.formals.empty()) formal.type = class_type(*self_);
        else if (!parameter[1].present()) formal.type = inferred_tensor();
        else if (!(formal.repeat = broadcast_length(parameter[1][0], formal.type))) formal.type = read_type(parameter[1][0], &resolver_);
        if (parameter[2].present()) {
            const TypeRef list = formal.type->is(TypeKind::Optional) ? formal.type->element() : formal.type;
            const auto of_type = [&](TypeRef type) {
                Item made;
                bool known;
                try {
                    known = resolver_.default_of(formal.name, type, made);
                } catch (const Error& refused) { fail_at(definition.range, "%s", refused.what()); }
                return known ? made : evaluate(parameter[2][0], type);
            };
            try {
                formal.default_value = of_type(formal.type);
            } catch (const Error&) {
                if (!formal.repeat) throw; // int[2]: a number stands for a list
                formal.default_value = Item::list(list, std::vector<Item>(static_cast<size_t>(formal.repeat), of_type(list->element())));
            }
            formal.has_default = true;
        }
        signature.formals.push_back(formal);
    }
}
/// A default: what a function would give that returns the expression.
Item Lowering::evaluate(const Tree& tree, TypeRef type) {
    const Tree* none = trees_.make(List, tree.range, {});
    const Tree* head = trees_.make(Decl, tree.range, {none, trees_.make(Option, tree.range, {})});
    const Tree* body = trees_.make(List, tree.range, {trees_.make(Return, tree.range, {&tree})});
    Function function;
    function.name = "defaults";
    function.graph = std::make_shared<Graph>();
    Lowering inner(resolver_, function, nullptr);
    inner.declared_ = type;
    inner.run(*trees_.make(Def, tree.range, {trees_.make(Ident, tree.range, {}, "defaults"), head, body}));
    to_ssa(*function.graph);
    clean_up(*function.graph);
    return script::run(function, {});
}

void Lowering::run(const Tree& definition) {
    push(graph_.block);
    Signature& signature = function_.signature;
    signature.name = function_.name.substr(function_.name.rfind('.') + 1);
    const Tree& head = definition[1];
    read_formals(definition);
    if (head[1].present()) declared_ = read_type(head[1][0], &resolver_);
    for (size_t i = 0; i < signature.formals.size(); i++) {
        Value* input = graph_.block->add_input(signature.formals[i].type);
        if (meaningful(signature.formals[i].name)) input->set_name(signature.formals[i].name);
        set(head[0][i][0].range, signature.formals[i].name, self_ && i == 0 ? holder(input) : simple(input));
    }
    if (self_ && self_->kind == Class::Interface) { // a promise: the head alone
        merged_ = declared_ ? declared_ : type_of(TypeKind::None);
        graph_.block->add_output(uninitialized(merged_));
        signature.results.push_back({"", merged_, 0, false, false, {}});
        return;
    }
    statements(definition[2]);
    if (!exits_.count(graph_.block)) {
        if (declared_ && !declared_->is(TypeKind::None))
            fail_at(definition.range, "Function was not annotated as having type None, but does not return along all paths");
        give_back(definition.range, graph_.constant(Item(), definition.range));
    } else if (!merged_) merged_ = declared_ ? declared_ : type_of(TypeKind::None);
    graph_.block->add_output(uninitialized(merged_));
    signature.results.push_back({"", merged_, 0, false, false, {}});
}

FrameRef Lowering::pop() {
    FrameRef old = frame_;
    frame_ = frame_->next;
    return old;
}

MeaningRef Lowering::in_frame(Frame& frame, const std::string& name) {
    if (const auto found = frame.meanings.find(name); found != frame.meanings.end()) return found->second;
    const auto type = frame.types.find(name);
    if (type == frame.types.end()) return nullptr;
    Value* value = graph_.insert(graph_.create_load(name, type->second))->output();
    if (meaningful(name)) value->set_name(name);
    return simple(value);
}

MeaningRef Lowering::find(const FrameRef& from, const std::string& name) {
    for (Frame* frame = from.get(); frame; frame = frame->next.get())
        if (MeaningRef found = in_frame(*frame, name)) return found;
    return nullptr;
}

Frame& Lowering::lowest() {
    Frame* frame = frame_.get();
    while (frame->next) frame = frame->next.get();
    return *frame;
}

void Lowering::set(const script::Range& range, const std::string& name, MeaningRef meaning, TypeRef annotated) {
    Value* value = meaning->kind == Meaning::Simple ? meaning->value : nullptr;
    if (value && value->given.empty() && meaningful(name) && value->node->block == frame_->block) value->set_name(name);
    if (MeaningRef above = frame_->next ? find(frame_->next, name) : nullptr) {
        if (annotated)
            fail_at(range, "Attempting to declare and annotate the type of variable '%s' but it is already defined in an outer block",
                    name.c_str());
        if (!value || above->kind != Meaning::Simple)
            fail_at(range,
                    "Cannot re-assign '%s' because %s is not a first-class value.  Only reassignments to first-class values are allowed",
                    name.c_str(), name.c_str());
        const TypeRef before = above->value->type->inferred ? type_of(TypeKind::Tensor) : above->value->type;
        value = convert(graph_, range, before, value, true);
        if (!is_subtype(value->type, before))
            fail_at(range, "Variable '%s' previously had type %s but is now being assigned to a value of type %s%s\n", name.c_str(),
                    repr(above->value->type).c_str(), repr(value->type).c_str(),
                    before->is(TypeKind::List) && value->type->is(TypeKind::List)
                        ? "\nEmpty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty list of "
                          "another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python 2)"
                        : "");
    }
    if (!value) {
        frame_->meanings[name] = std::move(meaning);
        return;
    }
    if (annotated && !is_subtype(value->type, annotated))
        fail_at(range, "Variable '%s' is annotated with type %s but is being assigned to a value of type %s", name.c_str(),
                repr(annotated).c_str(), repr(value->type).c_str());
    graph_.insert(graph_.create_store(name, value))->at(range);
    frame_->meanings.erase(name); // it may have stood for a module
    frame_->types[name] = annotated ? annotated : value->type;
}

MeaningRef Lowering::look_up(const std::string& name, const script::Range& range) {
    if (MeaningRef found = find(frame_, name)) return found;
    static constexpr struct {
        char name[14];
        Meaning::Kind kind;
        char means[16];
    } words[] = {{"print", Meaning::Print, ""},
                 {"float", Meaning::Cast, "aten::Float"},
                 {"int", Meaning::Cast, "aten::Int"},
                 {"bool", Meaning::Cast, "aten::Bool"},
                 {"str", Meaning::Cast, "aten::str"},
                 {"len", Meaning::Builtin, "aten::len"},
                 {"min", Meaning::Builtin, "prim::min"},
                 {"max", Meaning::Builtin, "prim::max"},
                 {"abs", Meaning::Builtin, "prim::abs"},
                 {"round", Meaning::Builtin, "aten::round"},
                 {"sorted", Meaning::Builtin, "aten::sorted"},
                 {"sum", Meaning::Builtin, "aten::sum"},
                 {"all", Meaning::Builtin, "aten::all"},
                 {"any", Meaning::Builtin, "aten::any"},
                 {"ord", Meaning::Builtin, "aten::ord"},
                 {"chr", Meaning::Builtin, "aten::chr"},
                 {"pow", Meaning::Builtin, "aten::pow"},
                 {"complex", Meaning::Cast, "aten::Complex"},
                 {"divmod", Meaning::Builtin, "aten::divmod"},
                 {"hex", Meaning::Builtin, "aten::hex"},
                 {"oct", Meaning::Builtin, "aten::oct"},
                 {"bin", Meaning::Builtin, "aten::bin"},
                 {"hash", Meaning::Builtin, "aten::hash"},
                 {"id", Meaning::Builtin, "prim::id"},
                 {"isinstance", Meaning::Special, ""},
                 {"range", Meaning::Special, ""},
                 {"zip", Meaning::Special, ""},
                 {"enumerate", Meaning::Special, ""},
                 {"tuple", Meaning::Special, ""},
                 {"list", Meaning::Special, ""},
                 {"dict", Meaning::Special, ""},
                 {"getattr", Meaning::Special, ""},
                 {"hasattr", Meaning::Special, ""}};
    for (const auto& word : words)
        if (name == word.name) return named(word.kind, *word.means ? word.means : name);
    if (Function* function = resolver_.function(name)) return script(name, function);
    if (MeaningRef found = outside(name, range)) return found;
    if (name.size() > 5 && (name.substr(name.size() - 5) == "Error" || name == "Exception"))
        return named(Meaning::Exception, "builtins." + name);
    if (name == "torch" || name == "math") return named(Meaning::Module, name);
    if (const auto error = lowest().errors.find(name); error != lowest().errors.end())
        fail_at(range, "%sand was used here", error->second.c_str());
    fail_at(range, "undefined value %s", name.c_str());
}

MeaningRef Lowering::script(const std::string& name, Function* function) {
    MeaningRef made = named(Meaning::Script, name);
    made->function = function;
    return made;
}

MeaningRef Lowering::outside(const std::string& name, const script::Range& range) {
    return meaning_of(resolver_.outside(name, range), name, range);
}
MeaningRef Lowering::meaning_of(const Outside& found, const std::string& name, const script::Range& range) {
    switch (found.kind) {
    case Outside::Nothing: return nullptr;
    case Outside::Module: return named(Meaning::Module, name);
    case Outside::Constant: return constant_meaning(found.constant, range);
    case Outside::Builtin: return named(Meaning::Builtin, found.name);
    case Outside::Exception: return named(Meaning::Exception, found.name);
    case Outside::Special: return named(Meaning::Special, found.name);
    case Outside::Unusable: {
        MeaningRef made = named(Meaning::Unusable, name);
        made->outside = std::make_shared<const Outside>(found);
        return made;
    }
    case Outside::Script: {
        MeaningRef made = script(found.function->name, found.function);
        for (const Outside& each : found.parts) made->parts.push_back(meaning_of(each, name, range));
        return made;
    }
    case Outside::Choice:
    case Outside::Foreign: {
        MeaningRef made = named(found.kind == Outside::Choice ? Meaning::Choice : Meaning::Foreign, name);
        made->outside = std::make_shared<const Outside>(found);
        return made;
    }
    case Outside::Type: {
        MeaningRef made = named(Meaning::Type, name);
        made->type = found.type;
        return made;
    }
    }
    return nullptr;
}
/// Tuples are known part by part.
MeaningRef Lowering::constant_meaning(const Item& item, const script::Range& range) {
    if (!item.is(Item::Tag::Tuple)) return simple(graph_.constant(item, range));
    MeaningRef made = named(Meaning::Several, "");
    for (const Item& each : item.items()) made->parts.push_back(constant_meaning(each, range));
    return made;
}
Value* Lowering::number(const Item& item, const script::Range& range) {
    Value*& value = numbers_[str(item)];
    if (!value) {
        Inserting at(graph_, graph_.block->first());
        value = graph_.constant(item, range);
    }
    return value;
}

Value* Lowering::as_value(const MeaningRef& meaning, const script::Range& range) {
    switch (meaning->kind) {
    case Meaning::Simple:
    case Meaning::Message:
    case Meaning::Submodule: return meaning->value;
    case Meaning::Unusable:
        fail_at(range,
                "python value of type '%s' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider "
                "passing it in as an argument or use a local variable instead.",
                meaning->outside->name.c_str());
    case Meaning::Several: return tuple_of_values(values_of(meaning, range));
    default:
        fail_at(range, "%s cannot be used as a value",
                meaning->kind == Meaning::Range    ? "range"
                : meaning->kind == Meaning::Module ? "module"
                                                   : "builtin");
    }
}

std::vector<Value*> Lowering::values_of(const MeaningRef& meaning, const script::Range& range) {
    std::vector<Value*> all;
    for (const MeaningRef& part : meaning->parts) all.push_back(as_value(part, range));
    return all;
}

Value* Lowering::tuple_of_values(const std::vector<Value*>& values) {
    std::vector<TypeRef> types;
    for (const Value* value : values) types.push_back(value->type);
    return graph_.insert(graph_.create_with("prim::TupleConstruct", tuple_of(std::move(types)), values))->output();
}

Value* Lowering::list_of_values(TypeRef element, const std::vector<Value*>& values) {
    return graph_.insert(graph_.create_with("prim::ListConstruct", list_of(element), values))->output();
}

Value* Lowering::value(const Tree& tree, TypeRef hint) {
    Value* made = as_value(meaning(tree, hint), tree.range);
    if (hint && hint->is(TypeKind::Any) && !made->type->is(TypeKind::Any)) made = unchecked_cast(made, hint);
    return made;
}

MeaningRef Lowering::meaning(const Tree& tree, TypeRef hint) {
    switch (tree.kind) {
    case Var: return look_up(tree.name(), tree.range);
    case Select: return attribute(meaning(tree[0]), tree[1].text, tree.range);
    case Apply: return apply(tree, hint);
    case Subscript: return subscript(tree, hint);
    default: return simple(plain(tree, hint));
    }
}
bool meaningful(const std::string& name) {
    if (name.empty() || name[0] == '$') return false;
    return name[0] != '_' || name.find_first_not_of("0123456789", 1) != std::string::npos;
}

void lower(const Tree& definition, Resolver& resolver, Function& function, script::Class* self) {
    std::string name = function.name;
    if (self) { // "Net.forward"
        const size_t dot = name.rfind('.', name.rfind('.') - 1);
        if (dot != std::string::npos) name = name.substr(dot + 1);
    } else name = name.substr(name.rfind('.') + 1);
    const Compiling compiling(name, definition.range);
    function.graph = std::make_shared<Graph>();
    Lowering(resolver, function, self).run(definition);
    to_ssa(*function.graph);
    lift_forks(*function.graph);
    clean_up(*function.graph);
}

} // namespace kindling::script
