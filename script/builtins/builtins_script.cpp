// script/builtins/builtins_script.cpp: builtins that are written in TorchScript. Their graph takes the place of a call, so `1 - x` is a
// negation and a sum. Lines count: graphs show them.
#include <cstring>

#include "script/builtins/builtins.h"
#include "script/lower/lower.h"
#include "script/syntax/parser.h"

namespace kindling::script {
namespace {

/// `$` stands for each of `types`, in a text of its own.
struct Texts {
    const char *space, *types, *text;
};
constexpr Texts texts[] = {
    {"aten::", "float int complex", R"(
def mul(a : $, b : Tensor) -> Tensor:
  return b * a
def add(a : $, b : Tensor) -> Tensor:
  return b + a
def ne(a : $, b : Tensor) -> Tensor:
  return b != a
def eq(a : $, b : Tensor) -> Tensor:
  return b == a
def sub(a : $, b : Tensor) -> Tensor:
  return torch.neg(b) + a
def div(a : $, b : Tensor) -> Tensor:
  return torch.reciprocal(b) * a
)"},
    {"aten::", "float int", R"(
def lt(a : $, b : Tensor) -> Tensor:
  return b > a
def le(a : $, b : Tensor) -> Tensor:
  return b >= a
def gt(a : $, b : Tensor) -> Tensor:
  return b < a
def ge(a : $, b : Tensor) -> Tensor:
  return b <= a
)"},
    {"aten::", "number Tensor", R"(
def floordiv(self : Tensor, other : $) -> Tensor:
  return torch.floor_divide(self, other)
)"},
    {"aten::", "str", R"(


def __contains__(self: str, key: str):
    return self.find(key, 0, len(self)) != -1
)"},
    {"aten::", "Tensor bool int float number", R"(
def _assert(condition : $, message : str):
  assert condition, message
)"},
    {"prim::", "Tensor", R"(
def ndim(a : Tensor) -> int:
  return a.dim()
def T(a : Tensor) -> Tensor:
  return a.numpy_T()
def H(a : Tensor) -> Tensor:
  return a.matrix_H()
def mT(a : Tensor) -> Tensor:
  return a.mT()
def mH(a : Tensor) -> Tensor:
  return a.mH()
def shape(a : Tensor) -> List[int]:
  return a.size()
)"},
};

struct Plain : Resolver {
    Function* function(const std::string&) override { return nullptr; }
    TypeRef resolve(const std::string& name, const Range&) override { return name == "number" ? type_of(TypeKind::Number) : nullptr; }
};

} // namespace

void script_builtins(Builtins& define) {
    for (const Texts& each : texts) {
        const std::string space = each.space;
        if (define.name().compare(0, space.size(), space) != 0) continue;
        const std::string name = define.name().substr(space.size());
        if (!std::strstr(each.text, ("def " + name + "(").c_str())) continue;
        std::string types = each.types;
        for (size_t at = 0; at < types.size();) {
            const std::string type = types.substr(at, types.find(' ', at) - at);
            at += type.size() + 1;
            Source* source = new Source; // graphs point into it
            for (const char* c = each.text; *c; c++) *c == '$' ? source->text += type : source->text += *c;
            Trees trees;
            Parser parser(*source, trees, false);
            while (!parser.at_end()) {
                const Tree* tree = parser.function();
                if (tree->name() != name) continue;
                Function* made = new Function;
                made->name = name;
                Plain plain;
                lower(*tree, plain, *made);
                Signature* signature = new Signature(made->signature);
                signature->script = made;
                define.take(signature);
            }
        }
    }
}

} // namespace kindling::script
