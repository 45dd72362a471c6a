// script/lower/lower_statements.cpp: statements: branches, loops, return, raise, del.
#include <climits>

#include "script/lower/lowering.h"

namespace kindling::script {

using namespace kind_of;

void Lowering::statements(const Tree& list) {
    for (const Tree* each : list.parts) {
        Compiling::at(each->range);
        statement(*each);
        if (exits_.count(frame_->block)) return;
    }
}

void Lowering::statement(const Tree& tree) {
    switch (tree.kind) {
    case If: {
        const Condition condition = this->condition(tree[0]);
        branch(tree.range, condition, [&] { statements(tree[1]); }, [&] { statements(tree[2]); });
        break;
    }
    case While: loop(tree.range, [&] { statements(tree[1]); }, nullptr, nullptr, &tree[0]); break;
    case For: for_loop(tree[0], tree[1], tree.range, [&] { statements(tree[2]); }); break;
    case Assign: assign(tree); break;
    case AugAssign: augment(tree); break;
    case ExprStmt: meaning(tree[0]); break;
    case Raise: raise(tree.range, meaning(tree[0])); break;
    case Assert: {
        const Condition condition = this->condition(tree[0]);
        branch(
            tree.range, condition, [] {},
            [&] {
                Value* text = graph_.constant(Item("AssertionError: "), tree.range);
                Value* message = tree[1].present() ? value(tree[1][0]) : graph_.constant(Item(""), tree.range);
                if (!message->type->is(TypeKind::Str)) message = builtin(tree.range, "aten::str", {message});
                MeaningRef raised = named(Meaning::Message, "");
                raised->value = builtin(tree.range, "aten::add", {text, message});
                raise(tree.range, raised);
            });
        break;
    }
    case Return: {
        Value* result = value(tree[0], declared_);
        give_back(tree.range, result);
        break;
    }
    case Break:
    case Continue:
        if (unrolled_)
            fail_at(tree.range, "Because we emit iteration over Modulelists or Tuples as unrolled loops, we do not support break or "
                                "continue inside the body of these loops");
        if (!loops_) fail_at(tree.range, "SyntaxError: '%s' outside loop", tree.is(Break) ? "break" : "continue");
        graph_.insert(graph_.create(tree.is(Break) ? "prim::BreakStmt" : "prim::ContinueStmt", {}, 0))->at(tree.range);
        break;
    case Pass: break;
    case Delete: remove(tree); break;
    case With: with(tree); break;
    default: fail_at(tree.range, "Unrecognized statement kind %s", kind_name(tree.kind).c_str());
    }
}

void Lowering::give_back(const script::Range& range, Value* result) {
    TypeRef type = declared_;
    if (type) {
        if (!(is_subtype(type, type_of(TypeKind::Tensor)) && result->type->is(TypeKind::None)))
            result = convert(graph_, range, type, result, true);
        if (!is_subtype(result->type, type))
            fail_at(range, "Return value was annotated as having type %s but is actually of type %s", repr(type).c_str(),
                    repr(result->type).c_str());
    } else {
        type = merged_ ? merged_ : result->type;
        const TypeRef both = unify(type, result->type);
        if (!both)
            fail_at(range, "Previous return statement returned a value of type %s but this return statement returns a value of type %s",
                    repr(type).c_str(), repr(result->type).c_str());
        type = both;
    }
    merged_ = type;
    if (type->is(TypeKind::Any) && !result->type->is(TypeKind::Any)) result = unchecked_cast(result, type);
    graph_.insert(graph_.create("prim::ReturnStmt", {result}, 0));
    exits_.insert(frame_->block);
}

void Lowering::raise(const script::Range& range, const MeaningRef& meaning) {
    Value* text;
    Value* qualified = nullptr;
    if (meaning->kind == Meaning::Message) {
        text = meaning->value;
        qualified = meaning->qualified;
    } else if (meaning->kind == Meaning::Exception) {
        text = graph_.constant(Item(""), range);
    } else fail_at(range, "exceptions must derive from BaseException");
    if (!text->type->is(TypeKind::Str)) text = call_builtin(graph_, {}, "aten::str", {text});
    std::vector<Given> given = {text};
    given.push_back(qualified ? Given(qualified) : Given(Item()));
    call_builtin(graph_, range, "prim::RaiseException", given);
    exits_.insert(frame_->block);
}

void Lowering::remove(const Tree& tree) {
    for (const Tree* target : tree[0].parts) {
        if (target->is(Var)) {
            bool removed = false;
            for (Frame* frame = frame_.get(); frame; frame = frame->next.get())
                removed = frame->meanings.erase(target->name()) | frame->types.erase(target->name());
            if (!removed) fail_at(target->range, "undefined value %s", target->name().c_str());
        } else if (target->is(Subscript)) {
            Value* container = value((*target)[0]);
            Value* index = value((*target)[1][0]);
            graph_.insert(graph_.create("aten::Delete", {container, index}, 0))->at(target->range);
        } else fail_at(target->range, "del statements are only supported for deleting list and dict items and variables");
    }
}

void Lowering::branch(const script::Range& range, const Condition& condition, const Emit& then, const Emit& otherwise) {
    if (condition.known) {
        refine(range, *condition.known ? condition.refined.yes : condition.refined.no);
        if (*condition.known) then();
        else otherwise();
        return;
    }
    Node* node = graph_.insert(graph_.create("prim::If", {}, 0)->at(range));
    node->add_input(condition.value);
    Block* blocks[2] = {node->add_block(), node->add_block()};
    FrameRef frames[2];
    bool exits[2];
    for (int side = 0; side < 2; side++) {
        push(blocks[side]);
        Inserting at(blocks[side]);
        refine(range, side ? condition.refined.no : condition.refined.yes);
        if (side) otherwise();
        else then();
        frames[side] = pop();
    }
    for (int side = 0; side < 2; side++) exits[side] = exits_.count(blocks[side]);
    if (exits[0] && exits[1]) exits_.insert(node->block);
    std::set<std::string> changed;
    for (int side = 0; side < 2; side++) {
        std::vector<std::string> defined;
        for (const auto& [name, type] : frames[side]->types) defined.push_back(name);
        for (const std::string& name : defined) {
            Inserting at(blocks[1 - side]);
            if (find(frames[1 - side], name) || exits[1 - side]) changed.insert(name);
            else
                lowest().errors[name] =
                    "\n" + name + " is not defined in the " + (side ? "true" : "false") + " branch:\n" + range.highlight();
        }
    }
    for (const std::string& name : changed) {
        Value* values[2] = {};
        for (int side = 0; side < 2; side++) {
            Inserting at(blocks[side]);
            if (!exits[side]) values[side] = as_value(find(frames[side], name), range);
        }
        if (exits[0] && exits[1]) continue;
        for (int side = 0; side < 2; side++)
            if (exits[side]) {
                Inserting at(blocks[side]);
                values[side] = uninitialized(values[1 - side]->type);
                graph_.insert(graph_.create_store(name, values[side]));
            }
        TypeRef both = unify(values[0]->type, values[1]->type);
        if (!both) // a variable that may be of several types stays one
            if (const MeaningRef outer = find(frame_, name); outer && outer->value && outer->value->type->is(TypeKind::Union))
                both = union_of({values[0]->type, values[1]->type});
        if (!both) {
            const std::string text = "Type mismatch: " + name + " is set to type " + repr(values[0]->type) +
                                     " in the true branch and type " + repr(values[1]->type) + " in the false branch";
            if (find(frame_, name)) fail_at(range, "%s", text.c_str());
            lowest().errors[name] = "\n" + text + ":\n" + range.highlight();
            continue;
        }
        frame_->types[name] = both;
    }
}

void Lowering::refine(const script::Range& range, const std::vector<Refinement>& all) {
    for (const Refinement& each : all) {
        Value* value = variable(each.name, range);
        set(range, each.name, simple(unchecked_cast(value, each.type)));
    }
}

void Lowering::loop(const script::Range& range, const Emit& body, const MeaningRef& iterable, const Tree* targets, const Tree* condition) {
    Value* most = iterable ? length(iterable, range) : number(Item(static_cast<int64_t>(INT64_MAX)), range);
    Node* node = graph_.insert(graph_.create("prim::Loop", {}, 0)->at(range));
    Block* inside = node->add_block();
    Block* header = node->add_block();
    push(header);
    Value* goes_on;
    if (condition) {
        Inserting at(header);
        goes_on = to_bool(condition->range, value(*condition));
    } else {
        Inserting at(graph_, node);
        goes_on = graph_.constant(Item(true), range);
    }
    header->add_output(goes_on);
    pop();
    node->add_input(most);
    loops_++;
    Value* trip = inside->add_input(type_of(TypeKind::Int));
    push(inside);
    {
        Inserting at(inside);
        if (iterable) {
            Value* element = as_value(item(iterable, trip, range), range);
            const Tree* only = targets->size() == 1 ? targets->parts[0] : trees_.make(TupleLiteral, range, {targets});
            check_targets(*targets, range);
            assign_to(*only, simple(element), range);
        }
        body();
    }
    pop();
    loops_--;
}

void Lowering::for_loop(const Tree& targets, const Tree& iterables, const script::Range& range, const Emit& body) {
    if (iterables.size() != 1) fail_at(range, "List of iterables is not supported currently");
    const MeaningRef over = iterate(meaning(iterables[0]), range);
    const std::optional<size_t> known = known_length(over, range);
    if (!known) return loop(range, body, over, &targets, nullptr);
    const Tree* only = targets.size() == 1 ? targets.parts[0] : trees_.make(TupleLiteral, range, {&targets});
    unrolled_++;
    for (size_t i = 0; i < *known; i++) {
        Value* index = number(Item(static_cast<int64_t>(i)), range);
        assign_to(*only, over->kind == Meaning::Several ? over->parts[i] : item(over, index, range), targets.range);
        body();
    }
    unrolled_--;
}
/// How many elements an iterable has whose elements are known one by one.
std::optional<size_t> Lowering::known_length(const MeaningRef& over, const script::Range& range) {
    if (over->kind == Meaning::Several) return over->parts.size();
    if (over->kind != Meaning::Zip) return {};
    std::optional<size_t> least;
    bool open = false;
    for (const MeaningRef& part : over->parts) {
        if (part->kind == Meaning::Range && part->counts) continue; // enumerate's: as long as the other
        const std::optional<size_t> length = known_length(part, range);
        if (!length) open = true;
        else least = least ? std::min(*least, *length) : length;
    }
    if (least && open) fail_at(range, "Can not iterate over a module list or tuple with a value that does not have a static length\n");
    return least;
}

MeaningRef Lowering::iterate(const MeaningRef& meaning, const script::Range& range) {
    if (meaning->kind == Meaning::Submodule) {
        const Class& of = *meaning->value->type->definition;
        switch (of.holds) {
        case Class::List: return held_in(meaning->value, range).modules;
        case Class::Dict: return held_in(meaning->value, range).names;
        case Class::Parameters:
        case Class::NamedParameters: {
            auto made = named(Meaning::Several, "");
            for (const Class::Attribute& each : std::vector<Class::Attribute>(of.attributes))
                if (each.parameter)
                    made->parts.push_back(of.holds == Class::Parameters ? simple(get_attribute(meaning->value, each))
                                                                        : simple(graph_.constant(Item(each.name), range)));
            return made;
        }
        case Class::Nothing:
            fail_at(range, "Only constant Sequential, ModuleList, ModuleDict, or ParameterList can be used as an iterable");
        }
    }
    if (meaning->kind == Meaning::Type && meaning->type->is(TypeKind::Enum)) {
        std::vector<Item> all;
        for (const auto& [name, value] : meaning->type->definition->members) all.push_back(value);
        return simple(graph_.constant(Item::list(list_of(meaning->type), std::move(all)), range));
    }
    if (meaning->kind != Meaning::Simple) return meaning;
    Value* value = meaning->value;
    switch (value->type->kind) {
    case TypeKind::List:
    case TypeKind::Str:
    case TypeKind::Tensor: return meaning;
    case TypeKind::Dict: return simple(builtin(range, "aten::keys", {value}));
    case TypeKind::Tuple: {
        auto made = named(Meaning::Several, "");
        for (Value* part : unpack_tuple(graph_, value)) made->parts.push_back(simple(part));
        return made;
    }
    default: fail_at(range, "'%s' object is not iterable", repr(value->type).c_str());
    }
}

Value* Lowering::length(const MeaningRef& meaning, const script::Range& range) {
    if (meaning->kind == Meaning::Range)
        return meaning->only_stop ? meaning->stop : builtin(range, "aten::__range_length", {meaning->start, meaning->stop, meaning->step});
    if (meaning->kind == Meaning::Simple) return builtin(range, "aten::len", {meaning->value});
    std::vector<Value*> all;
    const std::function<void(const MeaningRef&)> visit = [&](const MeaningRef& each) {
        if (each->kind == Meaning::Zip)
            for (const MeaningRef& part : each->parts) visit(part);
        else all.push_back(length(each, range));
    };
    visit(meaning);
    return builtin(range, "prim::min", {list_of_values(type_of(TypeKind::Int), all)});
}

MeaningRef Lowering::item(const MeaningRef& meaning, Value* index, const script::Range& range) {
    if (meaning->kind == Meaning::Range)
        return simple(meaning->only_stop ? index : builtin(range, "aten::__derive_index", {index, meaning->start, meaning->step}));
    if (meaning->kind == Meaning::Several) {
        const Item* known = constant_of(index);
        if (!known)
            fail_at(range, "Expected integer literal for index but got a variable or non-integer. ModuleList/Sequential indexing is only "
                           "supported with integer literals. For example, 'i = 4; self.layers[i](x)' will fail because i is not a literal. "
                           "Enumeration is supported, e.g. 'for index, v in enumerate(self): out = v(inp)'");
        const int64_t length = static_cast<int64_t>(meaning->parts.size()),
                      at = known->integer() < 0 ? known->integer() + length : known->integer();
        if (at < 0 || at >= length)
            fail_at(range, "Index %ld out of range of length %ld", static_cast<long>(known->integer()), static_cast<long>(length));
        return meaning->parts[static_cast<size_t>(at)];
    }
    if (meaning->kind == Meaning::Zip) {
        auto made = named(Meaning::Several, "");
        for (const MeaningRef& part : meaning->parts) made->parts.push_back(item(part, index, range));
        return made;
    }
    Value* value = meaning->value;
    if (value->type->is(TypeKind::Tensor))
        return simple(call_builtin(graph_, range, "aten::select", {value, Given(Item(int64_t{0})), index}));
    if (value->type->is(TypeKind::List) || value->type->is(TypeKind::Str) || value->type->is(TypeKind::Dict))
        return simple(builtin(range, "aten::__getitem__", {value, index}));
    fail_at(range, "'%s' object is not subscriptable", repr(value->type).c_str());
}

} // namespace kindling::script
