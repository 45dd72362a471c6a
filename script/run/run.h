// script/run/run.h: running a graph: a flat list of instructions over a frame of items, one for each value of the graph.
#pragma once
#include "script/lower/lower.h"

namespace kindling { class Generator; }
namespace kindling::script {

struct Code; // what a graph was assembled to (assemble.cpp)

/// Runs a function with its arguments, one for each of its signature's formals; defaults were filled in by the caller.
/// Errors of operators and of `raise` come as Error; the text shows the stack of scripted lines.
KINDLING_VISIBLE Item run(Function& function, std::vector<Item> arguments);

/// The result of a forked call, for who is outside of scripts: errors come as `run` gives them.
KINDLING_VISIBLE Item wait_outside(struct Future& future);

/// Makes a function's instructions now. NotImplementedError that names what nothing runs yet.
KINDLING_VISIBLE void prepare(Function& function);

/// What became of a loop when it last ran: why it was interpreted, why no rounds ran in vector lanes, why not in several threads; ""
/// where they did. `line`: where it begins.
struct LoopReport {
    std::string interpreted, narrow, together;
    size_t line = 0;
};
/// Of each loop that might be machine code.
KINDLING_VISIBLE std::vector<LoopReport> loops_of(const Function& function);

/// What a script raised: "builtins.ValueError", and the message without the stack.
struct KINDLING_VISIBLE Raised : Error {
    Raised(ErrorKind kind, std::string text, std::string class_name, std::string message)
        : Error(kind, std::move(text)), qualified(std::move(class_name)), bare(std::move(message)) {}
    std::string qualified, bare;
};

/// Where prim::Print goes: bindings write to sys.stdout; without them, to the process's standard output.
KINDLING_VISIBLE extern void (*print_text)(const std::string& text);
/// Generators of random numbers are Python's objects: the one in an item, and a new one.
KINDLING_VISIBLE extern Generator* (*generator_in)(void* object);
KINDLING_VISIBLE extern Item (*make_generator)();
Generator& generator_of(const Item& item);
/// Calls a Python object: what is @ignore'd, and functions that scripts only know by their annotation.
KINDLING_VISIBLE extern Item (*call_foreign)(void* object, const Item* arguments, size_t count, TypeRef result);

} // namespace kindling::script
