// script/lower.cpp: walks the tree of a function and writes its graph. Variables are stores and loads at first; to_ssa makes them
// values. A new statement is a case in `statement`, a new form of expression one in `value`.
#include "script/lower.h"

#include <climits>
#include <functional>
#include <optional>
#include <set>
#include <unordered_set>

#include "script/match.h"

namespace kindling::script {
namespace {

using namespace kind_of;

struct Meaning;
using MeaningRef = std::shared_ptr<Meaning>;

/// What an expression is that need not be a value: a function, a range, a module.
struct Meaning {
    enum Kind { Simple, Builtin, Cast, Print, Special, Range, Zip, Several, Module, Exception, Message, Script, Type, Nothing } kind;
    Value* value = nullptr;              // Simple, Message; self of a Builtin
    std::string name = {};               // of the builtin, the form, the module (dotted)
    std::vector<MeaningRef> parts = {};  // of a Zip, of Several
    Value *start = nullptr, *stop = nullptr, *step = nullptr, *qualified = nullptr;
    bool only_stop = false;
    Function* function = nullptr;
    TypeRef type = nullptr;
};
MeaningRef simple(Value* value) { auto made = std::make_shared<Meaning>(Meaning{Meaning::Simple}); made->value = value; return made; }
MeaningRef named(Meaning::Kind kind, const std::string& name, Value* self = nullptr) {
    auto made = std::make_shared<Meaning>(Meaning{kind});
    made->name = name;
    made->value = self;
    return made;
}

struct Refinement { std::string name; TypeRef type; };
struct Refinements {
    std::vector<Refinement> yes, no;
    Refinements flipped() const { return {no, yes}; }
    static std::vector<Refinement> joined(std::vector<Refinement> a, const std::vector<Refinement>& b) {
        for (const Refinement& each : b) {
            auto at = std::find_if(a.begin(), a.end(), [&](const Refinement& other) { return other.name == each.name; });
            if (at == a.end()) a.push_back(each);
            else if (at->type != each.type) a.erase(at);
        }
        return a;
    }
    static std::vector<Refinement> common(const std::vector<Refinement>& a, const std::vector<Refinement>& b) {
        std::vector<Refinement> both;
        for (const Refinement& each : a)
            for (const Refinement& other : b)
                if (other.name == each.name && other.type == each.type) both.push_back(each);
        return both;
    }
};
struct Condition { Value* value; Refinements refined; std::optional<bool> known; };

struct Frame {
    Block* block;
    std::shared_ptr<Frame> next;
    std::unordered_map<std::string, TypeRef> types;
    std::unordered_map<std::string, MeaningRef> meanings;
    std::unordered_map<std::string, std::string> errors;
};
using FrameRef = std::shared_ptr<Frame>;

class Lowering {
public:
    Lowering(Resolver& resolver, Function& function) : resolver_(resolver), function_(function), graph_(*function.graph) {}

    void run(const Tree& definition) {
        push(graph_.block);
        Signature& signature = function_.signature;
        signature.name = function_.name;
        const Tree& head = definition[1];
        for (const Tree* each : head[0].parts) {
            const Tree& parameter = *each;
            Formal formal;
            formal.name = parameter.name();
            formal.keyword_only = !parameter.text.empty();
            if (!parameter[1].present()) formal.type = inferred_tensor();
            else if (!(formal.repeat = broadcast_length(parameter[1][0], formal.type))) formal.type = read_type(parameter[1][0], &resolver_);
            signature.formals.push_back(formal);
        }
        if (head[1].present()) declared_ = read_type(head[1][0], &resolver_);
        for (size_t i = 0; i < signature.formals.size(); i++) {
            Value* input = graph_.block->add_input(signature.formals[i].type);
            if (meaningful(signature.formals[i].name)) input->set_name(signature.formals[i].name);
            set(head[0][i][0].range, signature.formals[i].name, simple(input));
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

private:
    // ---- names

    void push(Block* block) { frame_ = std::make_shared<Frame>(Frame{block, frame_, {}, {}, {}}); }
    FrameRef pop() {
        FrameRef old = frame_;
        frame_ = frame_->next;
        return old;
    }
    MeaningRef in_frame(Frame& frame, const std::string& name) {
        if (const auto found = frame.meanings.find(name); found != frame.meanings.end()) return found->second;
        const auto type = frame.types.find(name);
        if (type == frame.types.end()) return nullptr;
        Value* value = graph_.insert(graph_.create_load(name, type->second))->output();
        if (meaningful(name)) value->set_name(name);
        return simple(value);
    }
    MeaningRef find(const FrameRef& from, const std::string& name) {
        for (Frame* frame = from.get(); frame; frame = frame->next.get())
            if (MeaningRef found = in_frame(*frame, name)) return found;
        return nullptr;
    }
    Frame& lowest() {
        Frame* frame = frame_.get();
        while (frame->next) frame = frame->next.get();
        return *frame;
    }
    void set(const script::Range& range, const std::string& name, MeaningRef meaning, TypeRef annotated = nullptr) {
        Value* value = meaning->kind == Meaning::Simple ? meaning->value : nullptr;
        if (value && value->given.empty() && meaningful(name) && value->node->block == frame_->block) value->set_name(name);
        if (MeaningRef above = frame_->next ? find(frame_->next, name) : nullptr) {
            if (annotated) fail_at(range, "Attempting to declare and annotate the type of variable '%s' but it is already defined in an outer block", name.c_str());
            if (!value || above->kind != Meaning::Simple)
                fail_at(range, "Cannot re-assign '%s' because %s is not a first-class value.  Only reassignments to first-class values are allowed", name.c_str(), name.c_str());
            const TypeRef before = above->value->type->inferred ? type_of(TypeKind::Tensor) : above->value->type;
            value = convert(graph_, range, before, value, true);
            if (!is_subtype(value->type, before))
                fail_at(range, "Variable '%s' previously had type %s but is now being assigned to a value of type %s%s\n", name.c_str(), repr(above->value->type).c_str(), repr(value->type).c_str(),
                        before->is(TypeKind::List) && value->type->is(TypeKind::List) ? "\nEmpty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty list of another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python 2)" : "");
        }
        if (!value) {
            frame_->meanings[name] = std::move(meaning);
            return;
        }
        if (annotated && !is_subtype(value->type, annotated))
            fail_at(range, "Variable '%s' is annotated with type %s but is being assigned to a value of type %s", name.c_str(), repr(annotated).c_str(), repr(value->type).c_str());
        graph_.insert(graph_.create_store(name, value))->at(range);
        frame_->types[name] = annotated ? annotated : value->type;
    }
    MeaningRef look_up(const std::string& name, const script::Range& range) {
        if (MeaningRef found = find(frame_, name)) return found;
        static constexpr struct { char name[14]; Meaning::Kind kind; char means[16]; } words[] = {
            {"print", Meaning::Print, ""}, {"float", Meaning::Cast, "aten::Float"}, {"int", Meaning::Cast, "aten::Int"}, {"bool", Meaning::Cast, "aten::Bool"},
            {"str", Meaning::Cast, "aten::str"}, {"len", Meaning::Builtin, "aten::len"}, {"min", Meaning::Builtin, "prim::min"}, {"max", Meaning::Builtin, "prim::max"},
            {"abs", Meaning::Builtin, "prim::abs"}, {"round", Meaning::Builtin, "aten::round"}, {"sorted", Meaning::Builtin, "aten::sorted"}, {"sum", Meaning::Builtin, "aten::sum"},
            {"all", Meaning::Builtin, "aten::all"}, {"any", Meaning::Builtin, "aten::any"}, {"ord", Meaning::Builtin, "aten::ord"}, {"chr", Meaning::Builtin, "aten::chr"},
            {"pow", Meaning::Builtin, "aten::pow"}, {"complex", Meaning::Builtin, "aten::complex"}, {"divmod", Meaning::Builtin, "aten::divmod"},
            {"isinstance", Meaning::Special, ""}, {"range", Meaning::Special, ""}, {"zip", Meaning::Special, ""}, {"enumerate", Meaning::Special, ""},
            {"tuple", Meaning::Special, ""}, {"list", Meaning::Special, ""}};
        for (const auto& word : words)
            if (name == word.name) return named(word.kind, *word.means ? word.means : name);
        if (name.size() > 5 && (name.substr(name.size() - 5) == "Error" || name == "Exception")) return named(Meaning::Exception, "builtins." + name);
        if (Function* function = resolver_.function(name)) return script(name, function);
        if (MeaningRef found = outside(name, range)) return found;
        if (name == "torch" || name == "math") return named(Meaning::Module, name);
        if (const auto error = lowest().errors.find(name); error != lowest().errors.end()) fail_at(range, "%sand was used here", error->second.c_str());
        fail_at(range, "undefined value %s", name.c_str());
    }
    static MeaningRef script(const std::string& name, Function* function) {
        MeaningRef made = named(Meaning::Script, name);
        made->function = function;
        return made;
    }
    /// What the surroundings mean by a name; null if they do not know it.
    MeaningRef outside(const std::string& name, const script::Range& range) {
        const Outside found = resolver_.outside(name, range);
        switch (found.kind) {
            case Outside::Nothing: return nullptr;
            case Outside::Module: return named(Meaning::Module, name);
            case Outside::Constant: return simple(graph_.constant(found.constant, range));
            case Outside::Builtin: return named(Meaning::Builtin, found.name);
            case Outside::Exception: return named(Meaning::Exception, found.name);
            case Outside::Script: return script(found.function->name, found.function);
            case Outside::Type: {
                MeaningRef made = named(Meaning::Type, name);
                made->type = found.type;
                return made;
            }
        }
        return nullptr;
    }
    Value* variable(const std::string& name, const script::Range& range) { return as_value(look_up(name, range), range); }

    // ---- helpers

    Value* uninitialized(TypeRef type) { return graph_.insert(graph_.create_with("prim::Uninitialized", type))->output(); }
    Value* unchecked_cast(Value* value, TypeRef type) { return graph_.insert(graph_.create_with("prim::unchecked_cast", type, {value}))->output(); }
    Value* builtin(const script::Range& range, const char* name, const std::vector<Given>& arguments) { return call_builtin(graph_, range, name, arguments); }
    /// A number that the function needs once: at its beginning.
    Value* number(const Item& item, const script::Range& range) {
        Value*& value = numbers_[str(item)];
        if (!value) {
            Inserting at(graph_, graph_.block->first());
            value = graph_.constant(item, range);
        }
        return value;
    }
    Value* as_value(const MeaningRef& meaning, const script::Range& range) {
        switch (meaning->kind) {
            case Meaning::Simple: case Meaning::Message: return meaning->value;
            case Meaning::Several: return tuple_of_values(values_of(meaning, range));
            default: fail_at(range, "%s cannot be used as a value", meaning->kind == Meaning::Range ? "range" : meaning->kind == Meaning::Module ? "module" : "builtin");
        }
    }
    std::vector<Value*> values_of(const MeaningRef& meaning, const script::Range& range) {
        std::vector<Value*> all;
        for (const MeaningRef& part : meaning->parts) all.push_back(as_value(part, range));
        return all;
    }
    Value* tuple_of_values(const std::vector<Value*>& values) {
        std::vector<TypeRef> types;
        for (const Value* value : values) types.push_back(value->type);
        return graph_.insert(graph_.create_with("prim::TupleConstruct", tuple_of(std::move(types)), values))->output();
    }
    Value* list_of_values(TypeRef element, const std::vector<Value*>& values) {
        return graph_.insert(graph_.create_with("prim::ListConstruct", list_of(element), values))->output();
    }

    // ---- statements

    void statements(const Tree& list) {
        for (const Tree* each : list.parts) {
            statement(*each);
            if (exits_.count(frame_->block)) return;
        }
    }

    void statement(const Tree& tree) {
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
                branch(tree.range, condition, [] {}, [&] {
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
            case Break: case Continue:
                if (!loops_) fail_at(tree.range, "SyntaxError: '%s' outside loop", tree.is(Break) ? "break" : "continue");
                graph_.insert(graph_.create(tree.is(Break) ? "prim::BreakStmt" : "prim::ContinueStmt", {}, 0))->at(tree.range);
                break;
            case Pass: break;
            case Delete: remove(tree); break;
            default: fail_at(tree.range, "Unrecognized statement kind %s", kind_name(tree.kind).c_str());
        }
    }

    void give_back(const script::Range& range, Value* result) {
        TypeRef type = declared_;
        if (type) {
            if (!(is_subtype(type, type_of(TypeKind::Tensor)) && result->type->is(TypeKind::None))) result = convert(graph_, range, type, result, true);
            if (!is_subtype(result->type, type))
                fail_at(range, "Return value was annotated as having type %s but is actually of type %s", repr(type).c_str(), repr(result->type).c_str());
        } else {
            type = merged_ ? merged_ : result->type;
            const TypeRef both = unify(type, result->type);
            if (!both) fail_at(range, "Previous return statement returned a value of type %s but this return statement returns a value of type %s", repr(type).c_str(), repr(result->type).c_str());
            type = both;
        }
        merged_ = type;
        if (type->is(TypeKind::Any) && !result->type->is(TypeKind::Any)) result = unchecked_cast(result, type);
        graph_.insert(graph_.create("prim::ReturnStmt", {result}, 0));
        exits_.insert(frame_->block);
    }

    void raise(const script::Range& range, const MeaningRef& meaning) {
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

    void remove(const Tree& tree) {
        for (const Tree* target : tree[0].parts) {
            if (target->is(Var)) {
                bool removed = false;
                for (Frame* frame = frame_.get(); frame; frame = frame->next.get()) removed = frame->meanings.erase(target->name()) | frame->types.erase(target->name());
                if (!removed) fail_at(target->range, "undefined value %s", target->name().c_str());
            } else if (target->is(Subscript)) {
                Value* container = value((*target)[0]);
                Value* index = value((*target)[1][0]);
                graph_.insert(graph_.create("aten::Delete", {container, index}, 0))->at(target->range);
            } else fail_at(target->range, "del statements are only supported for deleting list and dict items and variables");
        }
    }

    template <class Then, class Else> void branch(const script::Range& range, const Condition& condition, Then then, Else otherwise) {
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
                else lowest().errors[name] = "\n" + name + " is not defined in the " + (side ? "true" : "false") + " branch:\n" + range.highlight();
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
            const TypeRef both = unify(values[0]->type, values[1]->type);
            if (!both) {
                const std::string text = "Type mismatch: " + name + " is set to type " + repr(values[0]->type) + " in the true branch and type " + repr(values[1]->type) + " in the false branch";
                if (find(frame_, name)) fail_at(range, "%s", text.c_str());
                lowest().errors[name] = "\n" + text + ":\n" + range.highlight();
                continue;
            }
            frame_->types[name] = both;
        }
    }

    void refine(const script::Range& range, const std::vector<Refinement>& all) {
        for (const Refinement& each : all) {
            Value* value = variable(each.name, range);
            set(range, each.name, simple(unchecked_cast(value, each.type)));
        }
    }

    using Emit = std::function<void()>;
    void loop(const script::Range& range, const Emit& body, const MeaningRef& iterable, const Tree* targets, const Tree* condition) {
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
    void for_loop(const Tree& targets, const Tree& iterables, const script::Range& range, const Emit& body) {
        if (iterables.size() != 1) fail_at(range, "List of iterables is not supported currently");
        const MeaningRef over = iterate(meaning(iterables[0]), range);
        if (over->kind != Meaning::Several) return loop(range, body, over, &targets, nullptr);
        for (size_t i = 0; i < over->parts.size(); i++) {
            number(Item(static_cast<int64_t>(i)), range);
            assign_to(targets[0], over->parts[i], targets.range);
            body();
        }
    }
    MeaningRef iterate(const MeaningRef& meaning, const script::Range& range) {
        if (meaning->kind != Meaning::Simple) return meaning;
        Value* value = meaning->value;
        switch (value->type->kind) {
            case TypeKind::List: case TypeKind::Str: case TypeKind::Tensor: return meaning;
            case TypeKind::Dict: return simple(builtin(range, "aten::keys", {value}));
            case TypeKind::Tuple: {
                auto made = named(Meaning::Several, "");
                for (Value* part : unpack_tuple(graph_, value)) made->parts.push_back(simple(part));
                return made;
            }
            default: fail_at(range, "'%s' object is not iterable", repr(value->type).c_str());
        }
    }
    Value* length(const MeaningRef& meaning, const script::Range& range) {
        if (meaning->kind == Meaning::Range) return meaning->only_stop ? meaning->stop : builtin(range, "aten::__range_length", {meaning->start, meaning->stop, meaning->step});
        if (meaning->kind == Meaning::Simple) return builtin(range, "aten::len", {meaning->value});
        std::vector<Value*> all;
        const std::function<void(const MeaningRef&)> visit = [&](const MeaningRef& each) {
            if (each->kind == Meaning::Zip) for (const MeaningRef& part : each->parts) visit(part);
            else all.push_back(length(each, range));
        };
        visit(meaning);
        return builtin(range, "prim::min", {list_of_values(type_of(TypeKind::Int), all)});
    }
    MeaningRef item(const MeaningRef& meaning, Value* index, const script::Range& range) {
        if (meaning->kind == Meaning::Range) return simple(meaning->only_stop ? index : builtin(range, "aten::__derive_index", {index, meaning->start, meaning->step}));
        if (meaning->kind == Meaning::Zip) {
            auto made = named(Meaning::Several, "");
            for (const MeaningRef& part : meaning->parts) made->parts.push_back(item(part, index, range));
            return made;
        }
        Value* value = meaning->value;
        if (value->type->is(TypeKind::Tensor)) return simple(call_builtin(graph_, range, "aten::select", {value, Given(Item(int64_t{0})), index}));
        if (value->type->is(TypeKind::List) || value->type->is(TypeKind::Str) || value->type->is(TypeKind::Dict)) return simple(builtin(range, "aten::__getitem__", {value, index}));
        fail_at(range, "'%s' object is not subscriptable", repr(value->type).c_str());
    }

    // ---- assignment

    size_t check_targets(const Tree& targets, const script::Range& range) {
        size_t plain = 0, starred = 0;
        for (const Tree* target : targets.parts) {
            if (target->is(Var) || target->is(Subscript) || target->is(TupleLiteral)) plain++;
            else if (target->is(Starred)) starred++;
            else fail_at(target->range, "lhs of assignment must be a variable, subscript, or starred expression");
        }
        if (starred > 1) fail_at(range, "Only one starred expression is allowed on the lhs");
        if (starred && !plain) fail_at(range, "A Starred expression may only appear on the lhs within the presence of another non-starred expression");
        return starred;
    }
    void assign(const Tree& tree) {
        if (!tree[1].present()) fail_at(tree.range, "For an assignment, expected an expression on the right-hand side");
        const Tree& right = tree[1][0];
        const TypeRef type = tree[2].present() ? read_type(tree[2][0], &resolver_) : nullptr;
        if (tree[0].size() == 1) return assign_one(tree[0][0], right, tree.range, type, nullptr);
        const std::string temporary = "$tmp_assign_" + std::to_string(temporaries_++);
        set(right.range, temporary, meaning(right));
        for (const Tree* target : tree[0].parts) assign_one(*target, right, tree.range, nullptr, &temporary);
    }
    void assign_one(const Tree& target, const Tree& right, const script::Range& range, TypeRef type, const std::string* temporary) {
        const auto given = [&]() -> MeaningRef { return temporary ? look_up(*temporary, right.range) : meaning(right, type); };
        switch (target.kind) {
            case Var: set(target.range, target.name(), given(), type); break;
            case TupleLiteral: {
                const size_t starred = check_targets(target[0], target.range);
                assign_tuple(target, given(), right.range, starred);
                break;
            }
            case Subscript: store_item(range, target, as_value(given(), right.range)); break;
            case Select: fail_at(range, "Tried to set an attribute: %s on a non-class: %s", target[1].text.c_str(), repr(value(target[0])->type).c_str());
            default: fail_at(target.range, "unexpected expression on left-hand side of assignment");
        }
    }
    void assign_tuple(const Tree& target, const MeaningRef& right, const script::Range& range, size_t starred) {
        const size_t wanted = target[0].size() - starred;
        const std::vector<MeaningRef> parts = as_tuple(right, range, starred ? 0 : wanted);
        if (parts.size() < wanted) fail_at(target.range, "need %s%zu values to unpack but found only %zu", starred ? "at least " : "", wanted, parts.size());
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
    void assign_to(const Tree& target, const MeaningRef& right, const script::Range& range) {
        if (target.is(Var)) set(target.range, target.name(), right);
        else if (target.is(Subscript)) store_item(range, target, as_value(right, range));
        else if (target.is(TupleLiteral)) assign_tuple(target, right, range, check_targets(target[0], target.range));
        else fail_at(target.range, "unexpected expression on the left-hand side");
    }
    std::vector<MeaningRef> as_tuple(const MeaningRef& meaning, const script::Range& range, size_t hint) {
        if (meaning->kind == Meaning::Several) return meaning->parts;
        Value* value = as_value(meaning, range);
        std::vector<MeaningRef> parts;
        if (value->type->is(TypeKind::Tuple)) for (Value* part : unpack_tuple(graph_, value)) parts.push_back(simple(part));
        else if (value->type->is(TypeKind::List)) {
            if (!hint) fail_at(range, "cannot statically infer the expected size of a list in this context");
            Node* node = graph_.insert(graph_.create("prim::ListUnpack", {value}, 0));
            for (size_t i = 0; i < hint; i++) parts.push_back(simple(node->add_output(value->type->element())));
        } else fail_at(range, "%s cannot be used as a tuple", repr(value->type).c_str());
        return parts;
    }
    void store_item(const script::Range& range, const Tree& target, Value* right) {
        Value* container = value(target[0]);
        if (container->type->is(TypeKind::Tensor)) {
            std::vector<Value*> indices;
            Value* sliced = index(target.range, container, target[1], indices);
            switch (right->type->kind) {
                case TypeKind::Number: case TypeKind::Int: case TypeKind::Bool: case TypeKind::Float: {
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
        if (target[1].size() != 1 || target[1][0].is(Slice)) fail_at(target[1].range, "Sliced expression not yet supported for subscripted assignment. File a bug if you want this");
        if (container->type->is(TypeKind::Tuple)) fail_at(target.range, "%s does not support subscripted assignment", repr(container->type).c_str());
        builtin(range, "aten::_set_item", {Given(container, "self"), Given(value(target[1][0]), "idx"), right});
    }
    const char* augmented(Kind kind, TypeRef type) {
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
    void augment(const Tree& tree) {
        const Tree& target = tree[0];
        if (target.is(Var)) {
            Value* left = value(target);
            Value* right = value(tree[2]);
            set(target.range, target.name(), simple(builtin(tree.range, augmented(tree[1].kind, left->type), {left, right})));
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
            if (target[1].size() != 1) fail_at(target[1].range, "Sliced expression not yet supported for %s augmented assignment. File a bug if you want this", repr(type).c_str());
            if (!type->is(TypeKind::List) && !type->is(TypeKind::Dict)) fail_at(target.range, "%s does not support augmented assignment.", repr(type).c_str());
            Value* place = value(target[1][0]);
            Value* right = value(tree[2]);
            Value* old = builtin(tree.range, "aten::__getitem__", {container, place});
            Value* result = builtin(tree.range, augmented(tree[1].kind, type->parts[0]), {old, right});
            builtin(tree.range, "aten::_set_item", {container, place, result});
        } else fail_at(target.range, "unexpected expression on left-hand side of augmented assignment");
    }

    /// int(x), bool(x): what is of that type already stays; lists, dicts and text are true where they have elements.
    Value* cast(const script::Range& range, const std::string& name, const std::vector<Given>& positional, const std::vector<Given>& keywords) {
        static constexpr struct { char name[12]; TypeKind kind; } casts[] = {{"aten::Float", TypeKind::Float}, {"aten::Int", TypeKind::Int}, {"aten::Bool", TypeKind::Bool}, {"aten::str", TypeKind::Str}};
        if (positional.size() == 1 && keywords.empty()) {
            Value *zero = graph_.constant(Item(int64_t{0})), *value = positional[0].value;
            for (const auto& each : casts)
                if (name == each.name && value->type->is(each.kind)) return value;
            if (name == "aten::Bool" && (value->type->is(TypeKind::List) || value->type->is(TypeKind::Dict) || value->type->is(TypeKind::Str)))
                return builtin(range, "aten::gt", {builtin(range, "aten::len", {value}), zero});
        }
        return call_builtin(graph_, range, name, positional, keywords);
    }

    // ---- conditions

    Value* to_bool(const script::Range& range, Value* value) {
        try {
            return cast(range, "aten::Bool", {value}, {});
        } catch (const Error&) { fail_at(range, "Could not cast value of type %s to bool", repr(value->type).c_str()); }
    }

    Condition condition(const Tree& tree) {
        switch (tree.kind) {
            case And: case Or: {
                const bool is_or = tree.is(Or);
                const Condition left = condition(tree[0]);
                Condition right{};
                const auto constant = [&] { return graph_.constant(Item(is_or), tree.range); };
                const auto rest = [&] { return (right = condition(tree[1])).value; };
                Condition made{};
                if (is_or) {
                    made.value = choose(tree.range, left, constant, rest);
                    made.refined = {Refinements::common(left.refined.yes, right.refined.yes), Refinements::joined(left.refined.no, right.refined.no)};
                } else {
                    made.value = choose(tree.range, left, rest, constant);
                    made.refined = {Refinements::joined(left.refined.yes, right.refined.yes), Refinements::common(left.refined.no, right.refined.no)};
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
            case Is: case IsNot: {
                Value* sides[2] = {value(tree[0]), nullptr};
                sides[1] = value(tree[1]);
                bool always[2], maybe[2];
                for (int i = 0; i < 2; i++) {
                    always[i] = must_be_none(sides[i]);
                    maybe[i] = !always[i] && sides[i]->type->is(TypeKind::Optional);
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
                if (tree[static_cast<size_t>(1 - variable)].is(None) && tree[static_cast<size_t>(variable)].is(Var) && sides[variable]->type->is(TypeKind::Optional)) {
                    const Refinement present{tree[static_cast<size_t>(variable)].name(), sides[variable]->type->element()};
                    (tree.is(Is) ? made.refined.no : made.refined.yes).push_back(present);
                }
                return made;
            }
            default: break;
        }
        if (tree.is(Apply) && tree[0].is(Var) && tree[0].name() == "isinstance") return is_instance(tree);
        Value* made = to_bool(tree.range, value(tree));
        Condition result{made, {}, {}};
        if (const Item* known = constant_of(made)) result.known = known->truth();
        return result;
    }

    Condition is_instance(const Tree& tree) {
        if (tree[1].size() != 2) fail_at(tree.range, "isinstance expected exactly 2 arguments but found %zu", tree[1].size());
        std::vector<TypeRef> types;
        const std::function<void(const Tree&)> gather = [&](const Tree& each) {
            if (each.is(TupleLiteral)) for (const Tree* part : each[0].parts) gather(*part);
            else types.push_back(read_type(each, &resolver_));
        };
        gather(tree[1][1]);
        const Tree& object = tree[1][0];
        Value* tested = value(object);
        Condition made{};
        if (types.size() == 1 && is_subtype(types[0], tested->type) && object.is(Var)) made.refined.yes.push_back({object.name(), types[0]});
        const auto maybe = [&](TypeRef type, TypeKind any, TypeKind kind) {
            return type->is(any) && (tested->type->is(TypeKind::Any) || (tested->type->is(TypeKind::Optional) && tested->type->element()->is(kind)));
        };
        bool always = false, never = true;
        for (TypeRef type : types) {
            always |= is_subtype(tested->type, type);
            never &= !is_subtype(type, tested->type) && !maybe(type, TypeKind::AnyList, TypeKind::List) && !maybe(type, TypeKind::AnyTuple, TypeKind::Tuple);
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

    template <class Then, class Else> Value* choose(const script::Range& range, const Condition& condition, Then then, Else otherwise) {
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
        if (!both) fail_at(range, "if-expression's true branch has type %s but false branch has type %s", repr(types[0]).c_str(), repr(types[1]).c_str());
        return node->add_output(both);
    }

    // ---- expressions

    Value* value(const Tree& tree, TypeRef hint = nullptr) {
        Value* made = as_value(meaning(tree, hint), tree.range);
        if (hint && hint->is(TypeKind::Any) && !made->type->is(TypeKind::Any)) made = unchecked_cast(made, hint);
        return made;
    }
    MeaningRef meaning(const Tree& tree, TypeRef hint = nullptr) {
        switch (tree.kind) {
            case Var: return look_up(tree.name(), tree.range);
            case Select: return attribute(meaning(tree[0]), tree[1].text, tree.range);
            case Apply: return apply(tree, hint);
            case Subscript: return subscript(tree);
            default: return simple(plain(tree, hint));
        }
    }
    MeaningRef attribute(const MeaningRef& base, const std::string& name, const script::Range& range) {
        if (base->kind == Meaning::Module) {
            if (MeaningRef found = outside(base->name + "." + name, range)) return found;
            static constexpr struct { char name[11]; int64_t code; } dtypes[] = {
                {"uint8", 0}, {"int8", 1}, {"int16", 2}, {"int32", 3}, {"int64", 4}, {"long", 4}, {"float16", 5}, {"half", 5}, {"float32", 6}, {"float", 6},
                {"float64", 7}, {"double", 7}, {"complex64", 9}, {"complex128", 10}, {"bool", 11}, {"bfloat16", 15}, {"int", 3}, {"short", 2}, {"strided", 0}};
            for (const auto& each : dtypes)
                if (name == each.name) return simple(graph_.constant(Item(each.code), range));
            return named(Meaning::Builtin, "aten::" + name);
        }
        if (base->kind != Meaning::Simple) fail_at(range, "attribute lookup is not defined on builtin");
        Value* self = base->value;
        if (self->type->is(TypeKind::Tensor))
            for (const char* property : {"dtype", "device", "shape", "is_cuda", "requires_grad", "layout", "T", "ndim"})
                if (name == property) return simple(call_builtin(graph_, {}, "prim::" + name, {self}));
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
    std::vector<Given> arguments(const Tree& list) {
        std::vector<Given> all;
        for (const Tree* each : list.parts) {
            if (each->is(Starred)) for (const MeaningRef& part : as_tuple(meaning((*each)[0]), each->range, 0)) all.push_back(as_value(part, each->range));
            else all.push_back(value(*each));
        }
        return all;
    }
    MeaningRef apply(const Tree& tree, TypeRef hint) {
        const MeaningRef callee = meaning(tree[0]);
        if (callee->kind == Meaning::Special) return special(callee->name, tree, hint);
        const std::vector<Given> positional = arguments(tree[1]);
        std::vector<Given> keywords;
        for (const Tree* each : tree[2].parts) keywords.emplace_back(value((*each)[1]), each->name());
        const script::Range& range = tree[0].range;
        switch (callee->kind) {
            case Meaning::Builtin: {
                const Given self(callee->value, "self");
                return simple(call_builtin(graph_, range, callee->name, positional, keywords, callee->value ? &self : nullptr));
            }
            case Meaning::Cast: return simple(cast(range, callee->name, positional, keywords));
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
            case Meaning::Script: {
                std::vector<TypeRef> types;
                Value* which = graph_.insert(graph_.create_with("prim::Constant", class_named("Function")))->output();
                which->node->attributes.push_back({"name", Item(callee->name), {}});
                which->node->function = callee->function;
                std::vector<Value*> inputs = {which};
                for (Value* input : match_call(graph_, range, callee->function->signature, positional, keywords, types)) inputs.push_back(input);
                return simple(graph_.insert(graph_.create_with("prim::CallFunction", types[0], inputs)->at(range))->output());
            }
            default: fail_at(range, "cannot call a %s", callee->kind == Meaning::Simple ? "value" : "module");
        }
    }

    MeaningRef special(const std::string& form, const Tree& tree, TypeRef hint) {
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
            bounds.push_back(number(Item(static_cast<int64_t>(INT64_MAX)), tree.range));
            MeaningRef over = iterate(meaning(inputs[0]), tree.range);
            MeaningRef made = named(Meaning::Zip, "");
            made->parts = {range_of(tree.range, bounds), over};
            return made;
        }
        if (inputs.size() != 1) {
            if (form == "list" && !inputs.size()) return simple(list_of_values(hint && hint->is(TypeKind::List) ? hint->element() : type_of(TypeKind::Tensor), {}));
            fail_at(tree.range, "%s expected exactly 1 arguments but found %zu", form.c_str(), inputs.size());
        }
        const MeaningRef of = meaning(inputs[0]);
        if (form == "tuple") {
            std::vector<Value*> values;
            for (const MeaningRef& part : as_tuple(of, tree.range, 0)) values.push_back(as_value(part, tree.range));
            return simple(tuple_of_values(values));
        }
        if (of->kind == Meaning::Simple && (of->value->type->is(TypeKind::List) || of->value->type->is(TypeKind::Str))) return simple(builtin(tree.range, "aten::list", {of->value}));
        const std::string over = "$_iter" + std::to_string(temporaries_++);
        set(tree.range, over, of);
        const auto make_name = [&](const std::string& name) { return trees_.make(Var, tree.range, {trees_.make(Ident, tree.range, {}, name)}); };
        const Tree* element = make_name("$_elem" + std::to_string(temporaries_++));
        return simple(comprehension(*trees_.make(ListComp, tree.range, {element, element, make_name(over)}), hint));
    }
    MeaningRef range_of(const script::Range& range, const std::vector<Value*>& values) {
        for (size_t i = 0; i < values.size(); i++)
            if (!values[i]->type->is(TypeKind::Int)) fail_at(range, "all inputs of range must be ints, found %s in argument %zu", repr(values[i]->type).c_str(), i);
        MeaningRef made = named(Meaning::Range, "");
        if (values.empty()) fail_at(range, "range expected at least 1 arguments, got 0");
        if (values.size() > 3) fail_at(range, "range expected at most 3 arguments, got %zu", values.size());
        made->only_stop = values.size() == 1;
        made->stop = values[values.size() > 1];
        made->start = made->only_stop ? graph_.constant(Item(int64_t{0}), range) : values[0];
        made->step = values.size() == 3 ? values[2] : graph_.constant(Item(int64_t{1}), range);
        return made;
    }

    Value* comprehension(const Tree& tree, TypeRef hint) {
        const bool dict = tree.is(DictComp);
        const size_t after = dict ? 2 : 1;
        Value* made = graph_.insert(graph_.create_with(dict ? "prim::DictConstruct" : "prim::ListConstruct",
                                                       dict ? dict_of(type_of(TypeKind::Str), type_of(TypeKind::Tensor)) : list_of(type_of(TypeKind::Tensor))))->output();
        if (hint) {
            if (!hint->is(dict ? TypeKind::Dict : TypeKind::List))
                fail_at(tree.range, "Expected %s type annotation for %s comprehension, found %s", dict ? "Dict" : "list", dict ? "dict" : "list", repr(hint).c_str());
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

    Value* plain(const Tree& tree, TypeRef hint) {
        switch (tree.kind) {
            case Const: return number(number_of(tree), tree.range);
            case True: case False: return graph_.constant(Item(tree.is(True)), tree.range);
            case None: return graph_.constant(Item(), tree.range);
            case String: return graph_.constant(Item(tree.text), tree.range);
            case And: case Or: case Not: case Is: case IsNot: return condition(tree).value;
            case IfExpr: {
                const Condition test = condition(tree[0]);
                if (test.known) return value(tree[*test.known ? 1 : 2], hint);
                return choose(tree.range, test, [&] { return value(tree[1], hint); }, [&] { return value(tree[2], hint); });
            }
            case ListComp: case DictComp: return comprehension(tree, hint);
            case ListLiteral: return list_literal(tree, hint);
            case TupleLiteral: {
                std::vector<Value*> values;
                for (const Given& each : arguments(tree[0])) values.push_back(each.value);
                return tuple_of_values(values);
            }
            case DictLiteral: return dict_literal(tree, hint);
            case Minus: case '~': {
                Value* made = builtin(tree.range, tree.is(Minus) ? "aten::neg" : "aten::bitwise_not", {value(tree[0])});
                const Item* known = constant_of(made->node->inputs[0]);
                if (!known || !made->node->signature->builtin) return made;
                Item folded = *known;
                made->node->signature->builtin(&folded, 1);
                return graph_.constant(folded, tree.range);
            }
            default: break;
        }
        const char* name = nullptr;
        switch (tree.kind) {
            case '+': name = "aten::add"; break;
            case '-': name = "aten::sub"; break;
            case '*': name = "aten::mul"; break;
            case '/': name = "aten::div"; break;
            case '%': name = "aten::remainder"; break;
            case '@': name = "aten::matmul"; break;
            case Pow: name = "aten::pow"; break;
            case FloorDiv: name = "aten::floordiv"; break;
            case '<': name = "aten::lt"; break;
            case '>': name = "aten::gt"; break;
            case Le: name = "aten::le"; break;
            case Ge: name = "aten::ge"; break;
            case Eq: name = "aten::eq"; break;
            case Ne: name = "aten::ne"; break;
            case '&': name = "aten::__and__"; break;
            case '|': name = "aten::__or__"; break;
            case '^': name = "aten::__xor__"; break;
            case LShift: name = "aten::__lshift__"; break;
            case RShift: name = "aten::__rshift__"; break;
            case In: name = "aten::__contains__"; break;
            default: fail_at(tree.range, "Cannot emit expr for: %s", kind_name(tree.kind).c_str());
        }
        if (tree.is('%')) value(tree[0]);   // TorchScript looks whether it is text first
        Value* left = value(tree[0]);
        Value* right = value(tree[1]);
        if (tree.is(In)) std::swap(left, right);
        return builtin(tree.range, name, {left, right});
    }

    static Item number_of(const Tree& tree) {
        const std::string& text = tree.text;
        if (text.back() == 'j') return Item(std::complex<double>(0, std::strtod(text.c_str(), nullptr)));
        if (text.find_first_of("xX") == std::string::npos && text.find_first_of(".eE") != std::string::npos) return Item(std::strtod(text.c_str(), nullptr));
        return Item(static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 0)));
    }

    Value* list_literal(const Tree& tree, TypeRef hint) {
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
            element = unify(types);
            if (!element) fail_at(tree.range, "Lists must contain only a single type\n");
        }
        for (TypeRef type : types)
            if (!is_subtype(type, element)) fail_at(tree.range, "Lists must contain only a single type, expected: %s but found %s instead.\n", repr(element).c_str(), repr(type).c_str());
        return list_of_values(element, values);
    }
    Value* dict_literal(const Tree& tree, TypeRef hint) {
        std::vector<Value*> both, keys, values;
        for (size_t i = 0; i < tree[0].size(); i++) {
            keys.push_back(value(tree[0][i]));
            values.push_back(value(tree[1][i]));
            both.push_back(keys[i]);
            both.push_back(values[i]);
        }
        TypeRef type = hint && hint->is(TypeKind::Dict) ? hint : keys.empty() ? dict_of(type_of(TypeKind::Str), type_of(TypeKind::Tensor)) : dict_of(keys[0]->type, values[0]->type);
        for (int side = 0; side < 2; side++)
            for (size_t i = 0; i < keys.size(); i++)
                if (const TypeRef actual = (side ? values : keys)[i]->type; !is_subtype(actual, type->parts[static_cast<size_t>(side)]))
                    fail_at(tree[static_cast<size_t>(side)][i].range, "Dict %s must contain only a single type, expected: %s but found %s instead.\n", side ? "values" : "keys", repr(type->parts[static_cast<size_t>(side)]).c_str(), repr(actual).c_str());
        return graph_.insert(graph_.create_with("prim::DictConstruct", type, both))->output();
    }

    // ---- subscripts

    MeaningRef subscript(const Tree& tree) {
        const MeaningRef base = meaning(tree[0]);
        const Tree& parts = tree[1];
        Value* container = as_value(base, tree[0].range);
        if (parts.size() != 1) {
            if (!container->type->is(TypeKind::Tensor)) fail_at(tree.range, "Unsupported operation: attempted to use multidimensional indexing on a non-tensor type");
            return simple(index_all(tree.range, container, parts));
        }
        if (parts[0].is(Slice)) {
            Value* dim = container->type->is(TypeKind::Tensor) ? graph_.constant(Item(int64_t{0}), tree.range) : nullptr;
            return simple(slice(tree.range, container, dim, parts[0]));
        }
        Value* place = parts[0].is(Dots) ? nullptr : value(parts[0]);
        if (container->type->is(TypeKind::Tuple)) return simple(tuple_item(tree.range, container, place));
        if (container->type->is(TypeKind::Tensor)) return simple(index_all(tree.range, container, parts));
        return item(base, place, tree.range);
    }
    Value* tuple_item(const script::Range& range, Value* tuple, Value* place) {
        if (!place->type->is(TypeKind::Int)) fail_at(range, "tuple index must be an integer");
        const auto& parts = tuple->type->parts;
        const Item* known = constant_of(place);
        TypeRef type = parts.empty() ? nullptr : parts[0];
        if (known) {
            const int64_t length = static_cast<int64_t>(parts.size()), at = known->integer() < 0 ? known->integer() + length : known->integer();
            if (at < 0 || at >= length) fail_at(range, "Tuple index out of range. Tuple is length %ld and index is %ld", static_cast<long>(length), static_cast<long>(known->integer()));
            type = parts[static_cast<size_t>(at)];
        } else if (!type || !converts_to_list(tuple->type, list_of(type)))
            fail_at(range, "Cannot index into a %s with a non-integer literal because we cannot resolve the output type", repr(tuple->type).c_str());
        return graph_.insert(graph_.create_with("prim::TupleIndex", type, {tuple, place}))->output();
    }
    Value* slice(const script::Range& range, Value* container, Value* dim, const Tree& tree) {
        Value* bounds[3] = {};
        for (size_t i = 0; i < 3; i++)
            if (tree[i].present()) bounds[i] = value(tree[i][0]);
        std::vector<Given> given = {Given(container, "self")};
        if (dim) given.emplace_back(dim);
        if (!bounds[0] && !dim) bounds[0] = graph_.constant(Item(int64_t{0}), range);
        else if (!bounds[0]) bounds[0] = graph_.constant(Item());
        given.emplace_back(bounds[0], "start");
        if (bounds[1]) given.emplace_back(bounds[1], "end");
        else if (dim) given.emplace_back(graph_.constant(Item()), "end");
        if (!bounds[2]) bounds[2] = graph_.constant(Item(int64_t{1}), range);
        return call_builtin(graph_, range, "aten::slice", given, {Given(bounds[2], "step")});
    }
    Value* index_all(const script::Range& range, Value* container, const Tree& parts) {
        std::vector<Value*> indices;
        container = index(range, container, parts, indices);
        if (indices.empty()) return container;
        return builtin(range, "aten::index", {container, list_of_values(optional_of(type_of(TypeKind::Tensor)), indices)});
    }
    /// Applies numbers, slices and None of a tensor's subscript; gives back the tensors in it, by dimension.
    Value* index(const script::Range& range, Value* tensor, const Tree& parts, std::vector<Value*>& indices) {
        std::vector<int64_t> dims(parts.size());
        std::vector<Value*> values(parts.size(), nullptr);
        const auto visit = [&](size_t i, int64_t dim, bool reverse) -> int64_t {
            dims[i] = dim;
            if (parts[i].is(Slice)) return reverse ? dim - 1 : dim + 1;
            if (!parts[i].is(Const)) meaning(parts[i]);   // TorchScript looks twice: first whether it is a slice
            Value* place = value(parts[i], parts[i].is(None) ? type_of(TypeKind::None) : nullptr);
            if (place->type->is(TypeKind::List)) place = call_builtin(graph_, {}, "aten::tensor", {place}, {Given(Item(int64_t{4}), "dtype")});
            values[i] = place;
            if (place->type->is(TypeKind::None)) return reverse ? dim : dim + 1;
            if (place->type->is(TypeKind::Int)) return reverse ? dim - 1 : dim;
            if (!is_subtype(place->type, optional_of(type_of(TypeKind::Tensor))))
                fail_at(range, "Unsupported operation: indexing tensor with unsupported index type '%s'. Only ints, slices, lists and tensors are supported", repr(place->type).c_str());
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

    Resolver& resolver_;
    Function& function_;
    Graph& graph_;
    Trees trees_;                        // of what is written for something else
    FrameRef frame_;
    TypeRef declared_ = nullptr, merged_ = nullptr;
    std::unordered_set<Block*> exits_;
    std::unordered_map<std::string, Value*> numbers_;
    size_t temporaries_ = 0;
    int loops_ = 0;
};

}  // namespace

bool meaningful(const std::string& name) {
    if (name.empty() || name[0] == '$') return false;
    return name[0] != '_' || name.find_first_not_of("0123456789", 1) != std::string::npos;
}

void lower(const Tree& definition, Resolver& resolver, Function& function) {
    function.graph = std::make_shared<Graph>();
    Lowering(resolver, function).run(definition);
    to_ssa(*function.graph);
    clean_up(*function.graph);
}

}  // namespace kindling::script
