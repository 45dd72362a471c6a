// script/run.h: running a graph: a flat list of instructions over a frame of items, one for each value of the graph.
#pragma once
#include "script/lower.h"

namespace kindling::script {

struct Code;                             // what a graph was assembled to (assemble.cpp)

/// Runs a function with its arguments, one for each of its signature's formals; defaults were filled in by the caller.
/// Errors of operators and of `raise` come as Error; the text shows the stack of scripted lines.
Item run(Function& function, std::vector<Item> arguments);

/// What a script raised: "builtins.ValueError", and the message without the stack.
struct Raised : Error {
    Raised(ErrorKind kind, std::string text, std::string class_name, std::string message)
        : Error(kind, std::move(text)), qualified(std::move(class_name)), bare(std::move(message)) {}
    std::string qualified, bare;
};

/// Where prim::Print goes: bindings write to sys.stdout; without them, to the process's standard output.
extern void (*print_text)(const std::string& text);
/// Calls a Python object: what is @ignore'd, and functions that scripts only know by their annotation.
extern Item (*call_foreign)(void* object, const Item* arguments, size_t count, TypeRef result);

}  // namespace kindling::script
