// script/lower/lowering.h: the walk over a function's tree, as one class; its parts are in lower*.cpp by subject. Variables are stores
// and loads at first; to_ssa makes them values. A new statement is a case in `statement`, a new form of expression one in `value`.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <unordered_set>

#include "script/graph/class.h"
#include "script/lower/match.h"

namespace kindling::script {

struct Meaning;
using MeaningRef = std::shared_ptr<Meaning>;

/// What an expression is that need not be a value: a function, a range, a module.
struct Meaning {
    enum Kind {
        Simple,
        Builtin,
        Cast,
        Print,
        Special,
        Range,
        Zip,
        Several,
        Module,
        Exception,
        Message,
        Script,
        Type,
        Submodule,
        Method,
        Choice,
        Foreign,
        Unusable,
        Ready,
        Nothing
    } kind;
    Value* value = nullptr;             // Simple, Message, Submodule; self of a Builtin and of a Method
    std::string name = {};              // of the builtin, the form, the module (dotted)
    std::vector<MeaningRef> parts = {}; // of a Zip, of Several; what calling a Ready gives; further overloads of a Script
    Value *start = nullptr, *stop = nullptr, *step = nullptr, *qualified = nullptr;
    bool only_stop = false, counts = false; // of a Range: `counts` those of enumerate
    Function* function = nullptr;
    TypeRef type = nullptr;
    std::shared_ptr<const Outside> outside = {}; // of a Choice, a Foreign
};
inline MeaningRef simple(Value* value) {
    auto made = std::make_shared<Meaning>(Meaning{Meaning::Simple});
    made->value = value;
    return made;
}
inline MeaningRef named(Meaning::Kind kind, const std::string& name, Value* self = nullptr) {
    auto made = std::make_shared<Meaning>(Meaning{kind});
    made->name = name;
    made->value = self;
    return made;
}

struct Refinement {
    std::string name;
    TypeRef type;
};
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
struct Condition {
    Value* value;
    Refinements refined;
    std::optional<bool> known;
};

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
    using Emit = std::function<void()>;
    using Class = script::Class; // not the kind of tree

    Lowering(Resolver& resolver, Function& function, Class* self)
        : resolver_(resolver), function_(function), graph_(*function.graph), self_(self) {}

    void run(const Tree& definition);

private:
    // ---- names

    void push(Block* block) { frame_ = std::make_shared<Frame>(Frame{block, frame_, {}, {}, {}}); }
    FrameRef pop();
    MeaningRef in_frame(Frame& frame, const std::string& name);
    MeaningRef find(const FrameRef& from, const std::string& name);
    Frame& lowest();
    void set(const script::Range& range, const std::string& name, MeaningRef meaning, TypeRef annotated = nullptr);
    MeaningRef look_up(const std::string& name, const script::Range& range);
    static MeaningRef script(const std::string& name, Function* function);
    MeaningRef meaning_of(const Outside& found, const std::string& name, const script::Range& range);
    MeaningRef constant_meaning(const Item& item, const script::Range& range);
    void read_formals(const Tree& definition);
    Item evaluate(const Tree& tree, TypeRef type);
    /// What the surroundings mean by a name; null if they do not know it.
    MeaningRef outside(const std::string& name, const script::Range& range);
    Value* variable(const std::string& name, const script::Range& range) { return as_value(look_up(name, range), range); }

    // ---- helpers

    Value* uninitialized(TypeRef type) { return graph_.insert(graph_.create_with("prim::Uninitialized", type))->output(); }
    Value* unchecked_cast(Value* value, TypeRef type) {
        return graph_.insert(graph_.create_with("prim::unchecked_cast", type, {value}))->output();
    }
    Value* builtin(const script::Range& range, const char* name, const std::vector<Given>& arguments) {
        return call_builtin(graph_, range, name, arguments);
    }
    /// A number that the function needs once: at its beginning.
    Value* number(const Item& item, const script::Range& range);
    Value* as_value(const MeaningRef& meaning, const script::Range& range);
    std::vector<Value*> values_of(const MeaningRef& meaning, const script::Range& range);
    Value* tuple_of_values(const std::vector<Value*>& values);
    Value* list_of_values(TypeRef element, const std::vector<Value*>& values);
    // ---- statements
    void statements(const Tree& list);
    void statement(const Tree& tree);
    void give_back(const script::Range& range, Value* result);
    void raise(const script::Range& range, const MeaningRef& meaning);
    void remove(const Tree& tree);
    void branch(const script::Range& range, const Condition& condition, const Emit& then, const Emit& otherwise);
    void refine(const script::Range& range, const std::vector<Refinement>& all);

    void loop(const script::Range& range, const Emit& body, const MeaningRef& iterable, const Tree* targets, const Tree* condition);
    void for_loop(const Tree& targets, const Tree& iterables, const script::Range& range, const Emit& body);
    std::optional<size_t> known_length(const MeaningRef& over, const script::Range& range);
    MeaningRef iterate(const MeaningRef& meaning, const script::Range& range);
    Value* length(const MeaningRef& meaning, const script::Range& range);
    MeaningRef item(const MeaningRef& meaning, Value* index, const script::Range& range);
    // ---- assignment
    size_t check_targets(const Tree& targets, const script::Range& range);
    void assign(const Tree& tree);
    void assign_one(const Tree& target, const Tree& right, const script::Range& range, TypeRef type, const std::string* temporary);
    void assign_tuple(const Tree& target, const MeaningRef& right, const script::Range& range, size_t starred);
    void assign_to(const Tree& target, const MeaningRef& right, const script::Range& range);
    std::vector<MeaningRef> as_tuple(const MeaningRef& meaning, const script::Range& range, size_t hint);
    void store_item(const script::Range& range, const Tree& target, Value* right);
    const char* augmented(Kind kind, TypeRef type);
    MeaningRef combined(const Tree& tree, Value* left, Value* right);
    void augment(const Tree& tree);
    /// int(x), bool(x): what is of that type already stays; lists, dicts and text are true where they have elements.
    Value* cast(const script::Range& range, const std::string& name, const std::vector<Given>& positional,
                const std::vector<Given>& keywords);
    // ---- conditions
    Value* to_bool(const script::Range& range, Value* value);
    Condition condition(const Tree& tree);
    Condition is_instance(const Tree& tree);
    Value* choose(const script::Range& range, const Condition& condition, const std::function<Value*()>& then,
                  const std::function<Value*()>& otherwise);
    // ---- expressions
    Value* value(const Tree& tree, TypeRef hint = nullptr);
    MeaningRef meaning(const Tree& tree, TypeRef hint = nullptr);
    MeaningRef attribute(const MeaningRef& base, const std::string& name, const script::Range& range);
    std::vector<Given> arguments(const Tree& list);
    MeaningRef apply(const Tree& tree, TypeRef hint);
    MeaningRef special(const std::string& form, const Tree& tree, TypeRef hint);
    Value* fork(const MeaningRef& callee, const script::Range& range, const std::vector<Given>& positional,
                const std::vector<Given>& keywords);
    MeaningRef range_of(const script::Range& range, const std::vector<Value*>& values);
    Value* comprehension(const Tree& tree, TypeRef hint);
    Value* plain(const Tree& tree, TypeRef hint);
    MeaningRef to_list(Value* self, const script::Range& range, TypeRef hint);
    Value* fill_in(const Tree& tree);
    static Item number_of(const Tree& tree);
    Value* list_literal(const Tree& tree, TypeRef hint);
    Value* dict_literal(const Tree& tree, TypeRef hint);
    MeaningRef call(const MeaningRef& callee, const script::Range& range, std::vector<Given> positional,
                    const std::vector<Given>& keywords);
    MeaningRef magic(const char* method, const script::Range& range, const std::vector<Given>& arguments);
    // ---- classes and modules
    MeaningRef holder(Value* value) { return is_module(value->type) ? named(Meaning::Submodule, "", value) : simple(value); }
    Value* get_attribute(Value* self, const Class::Attribute& attribute);
    MeaningRef member(const MeaningRef& base, const std::string& name, const script::Range& range);
    MeaningRef try_member(const MeaningRef& base, const std::string& name, const script::Range& range);
    void set_member(const MeaningRef& base, const std::string& name, Value* value, const script::Range& range);
    MeaningRef call_method(Value* self, const std::vector<std::string>& names, const script::Range& range,
                           const std::vector<Given>& positional, const std::vector<Given>& keywords);
    MeaningRef call_module(const MeaningRef& module, const script::Range& range, std::vector<Given> positional,
                           const std::vector<Given>& keywords);
    MeaningRef call_functions(const MeaningRef& callee, const script::Range& range, const std::vector<Given>& positional,
                              const std::vector<Given>& keywords);
    MeaningRef make_object(TypeRef type, const script::Range& range, const std::vector<Given>& positional,
                           const std::vector<Given>& keywords);
    MeaningRef call_foreign(const MeaningRef& callee, const script::Range& range, const std::vector<Given>& positional,
                            const std::vector<Given>& keywords);
    MeaningRef choose_function(const MeaningRef& callee, const script::Range& range, const std::vector<Given>& positional,
                               const std::vector<Given>& keywords);
    struct Held {
        MeaningRef names, modules;
    };
    Held held_in(Value* module, const script::Range& range);
    void with(const Tree& tree);
    // ---- subscripts
    MeaningRef subscript(const Tree& tree, TypeRef hint);
    MeaningRef held_item(const MeaningRef& base, const Tree& part, const script::Range& range, TypeRef hint);
    MeaningRef module_at(Value* container, Value* place, TypeRef hint, const script::Range& range);
    Value* tuple_slice(const script::Range& range, Value* tuple, const Tree& part);
    Value* tuple_item(const script::Range& range, Value* tuple, Value* place);
    Value* slice(const script::Range& range, Value* container, Value* dim, const Tree& tree);
    Value* index_all(const script::Range& range, Value* container, const Tree& parts);
    /// Applies numbers, slices and None of a tensor's subscript; gives back the tensors in it, by dimension.
    Value* index(const script::Range& range, Value* tensor, const Tree& parts, std::vector<Value*>& indices);

    Resolver& resolver_;
    Function& function_;
    Graph& graph_;
    Class* self_; // that the function is a method of
    Trees trees_; // of what is written for something else
    FrameRef frame_;
    TypeRef declared_ = nullptr, merged_ = nullptr;
    std::unordered_set<const Block*> exits_;
    std::unordered_map<std::string, Value*> numbers_;
    size_t temporaries_ = 0;
    int loops_ = 0, unrolled_ = 0;
};

} // namespace kindling::script
