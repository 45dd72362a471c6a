// script/graph/signature.h: what a call takes and gives, as text says it: "aten::add.int(int a, int b) -> int". Operators' schemas are
// such texts, builtins of the language are a list of them, and functions of a script have one.
#pragma once
#include "script/graph/value.h"

namespace kindling { struct Operator; }
namespace kindling::script { struct Function; }

namespace kindling::script {

struct Formal {
    std::string name;
    TypeRef type = nullptr;
    int repeat = 0; // 2 in "int[2]": a single number stands for a list
    bool has_default = false, keyword_only = false;
    Item default_value;
    std::string written = {}; // the type with its alias marks, of operators and builtins: "Tensor(a!)"
};

/// Computes from `arguments` and leaves the result in arguments[0]; false if it does not know how.
using Builtin = void (*)(Item* arguments, size_t count);

struct KINDLING_VISIBLE Signature {
    std::string name, overload; // "aten::add", "Tensor"
    std::vector<Formal> formals;
    std::vector<Formal> results;
    bool variadic = false, varying = false; // "..." among arguments, as the result
    const Operator* op = nullptr;           // of a tensor operator
    std::vector<uint8_t> places;            //   the arguments of `op` that the formals are, where that is not all in their order
    bool on_copy = false;                   //   `op` writes to its first argument, of which the call makes a copy
    const Function* script = nullptr;       // of a builtin that is written in TorchScript: its graph takes the place of the call
    Builtin builtin = nullptr;              // of a builtin
    char effect = 0;                        // 'p': may be computed ahead; 'w': writes what it is given; 'e': has other effects

    std::string text() const;
};

/// All overloads of "aten::add" in TorchScript's order: tensor operators, then the language's builtins. They live for ever.
KINDLING_VISIBLE const std::vector<const Signature*>& signatures_of(const std::string& name);
/// A type of one word, as schemas and graphs write it; null if there is none of that name.
TypeRef type_word(const std::string& word);
/// From text; types are as graphs print them, and t is a variable.
KINDLING_VISIBLE Signature parse_signature(const std::string& text);

} // namespace kindling::script
