// core/schema.h: an operator's signature, parsed from PyTorch's text form when it is first needed.
#pragma once
#include <string>
#include <vector>

#include "core/export.h"
#include "core/value.h"

namespace KINDLING_VISIBLE kindling {

enum class Type : uint8_t {
    Tensor,
    Scalar,
    Int,
    Float,
    Bool,
    Text,
    DType,
    Layout,
    Device,
    MemoryFormat,
    Generator,
    Storage,
    Any,
};

struct Argument {
    const char* name;
    Type type;
    bool optional = false;       // "Tensor?"
    bool list = false;           // "int[]", "Tensor[]", "Tensor?[]"
    bool optional_items = false; // "Tensor?[]"
    bool keyword_only = false;
    bool mutated = false; // "Tensor(a!)"
    bool out = false;     // mutated and keyword only: an out= argument
    bool has_default = false;
    bool symbolic = false; // "SymInt": a tensor of one integer will do, of any number of dimensions
    char alias = 0;        // 'a' in "Tensor(a)", '*' for "Tensor(a -> *)"
    int8_t list_size = 0;  // 2 in "int[2]": a single int is accepted and repeated
    Value default_value;   // points into the schema
};

struct Schema {
    const char* text;
    const char* name;     // "add"
    const char* overload; // "Tensor"; "" is shown as "default"
    std::vector<Argument> arguments;
    std::vector<Argument> results;
    uint8_t positional = 0; // how many arguments are not keyword only
    bool factory = false;   // has dtype, layout, device and pin_memory: Python adds requires_grad
    bool returns_list() const { return results.size() == 1 && results[0].list; }
    bool returns_nothing() const { return results.empty(); }
    int find(const char* argument, size_t length) const; // -1 if there is none
};

/// Parses "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor". Lives for ever (schemas are few and shared).
/// RuntimeError naming the position on malformed text.
const Schema* parse_schema(const char* text);

/// The names in a parameter list that a lambda keeps as text (GIVEN): "Tensor grad, std::optional<int64_t> dim".
std::vector<std::string> parameter_names(const char* given);
/// The argument that is called `name` without `ending`, -1 if none is.
int argument_before(const Schema& schema, const std::string& name, const char* ending);

} // namespace kindling
