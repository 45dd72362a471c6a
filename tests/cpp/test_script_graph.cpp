// Scripts: from text to graph. Programs and what torch.jit.CompilationUnit (2.13) prints for `f`: the graph, numbers and names included,
// or the message.
#include <map>

#include "script/lower/lower.h"
#include "script/syntax/parser.h"
#include "tests/cpp/check.h"

using namespace kindling;
using namespace kindling::script;

namespace {

struct Unit : Resolver {
    std::map<std::string, const Tree*> trees;
    std::map<std::string, Function> functions;
    TypeRef resolve(const std::string&, const Range&) override { return nullptr; }
    Function* function(const std::string& name) override {
        const auto tree = trees.find(name);
        if (tree == trees.end()) return nullptr;
        const auto [at, fresh] = functions.try_emplace(name);
        if (fresh) {
            at->second.name = name;
            lower(*tree->second, *this, at->second);
        }
        return &at->second;
    }
};

std::string graph_of(const std::string& text) {
    const Source source{text};
    Trees trees;
    Unit unit;
    try {
        Parser parser(source, trees);
        while (!parser.at_end()) {
            const Tree* tree = parser.function();
            unit.trees[tree->name()] = tree;
        }
        return unit.function("f")->graph->str();
    } catch (const Error& error) { return std::string("ERROR ") + error.what() + "\n"; }
}

struct Sample {
    const char *text, *graph;
};

} // namespace

int main() {
    static const Sample programs[] = {
        {R"(def f(x, y):
    return x + y * 2
)",
         R"(graph(%x.1 : Tensor,
      %y.1 : Tensor):
  %6 : int = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=2]() # <string>:2:19
  %5 : Tensor = aten::mul(%y.1, %4) # <string>:2:15
  %7 : Tensor = aten::add(%x.1, %5, %6) # <string>:2:11
  return (%7)
)"},
        {R"(def f(x: List[int], n: Optional[int]):
    s = 0
    for i in x:
        s += i
    return s
)",
         R"(graph(%x.1 : int[],
      %n : int?):
  %5 : bool = prim::Constant[value=1]() # <string>:3:4
  %s.1 : int = prim::Constant[value=0]() # <string>:2:8
  %4 : int = aten::len(%x.1) # <string>:3:4
  %s : int = prim::Loop(%4, %5, %s.1) # <string>:3:4
    block0(%6 : int, %s.11 : int):
      %i.1 : int = aten::__getitem__(%x.1, %6) # <string>:3:4
      %s.5 : int = aten::add(%s.11, %i.1) # <string>:4:8
      -> (%5, %s.5)
  return (%s)
)"},
        {R"(def f(x: int) -> int:
    if x > 3:
        return 1
    return 2
)",
         R"(graph(%x.1 : int):
  %2 : int = prim::Constant[value=3]() # <string>:2:11
  %5 : int = prim::Constant[value=1]() # <string>:3:15
  %6 : int = prim::Constant[value=2]() # <string>:4:11
  %3 : bool = aten::gt(%x.1, %2) # <string>:2:7
  %21 : int = prim::If(%3) # <string>:2:4
    block0():
      -> (%5)
    block1():
      -> (%6)
  return (%21)
)"},
        {R"(def f(x: int):
    y = 0
    while y < x:
        y += 1
        if y == 5:
            break
    return y
)",
         R"(graph(%x.1 : int):
  %y.1 : int = prim::Constant[value=0]() # <string>:2:8
  %2 : int = prim::Constant[value=9223372036854775807]() # <string>:3:4
  %9 : int = prim::Constant[value=1]() # <string>:4:13
  %13 : int = prim::Constant[value=5]() # <string>:5:16
  %22 : bool = prim::Constant[value=0]()
  %26 : bool = aten::lt(%y.1, %x.1) # <string>:3:10
  %y : int = prim::Loop(%2, %26, %y.1) # <string>:3:4
    block0(%7 : int, %y.15 : int):
      %y.7 : int = aten::add(%y.15, %9) # <string>:4:8
      %14 : bool = aten::eq(%y.7, %13) # <string>:5:11
      %53 : bool = prim::If(%14) # <string>:5:8
        block0():
          -> (%22)
        block1():
          %46 : bool = aten::lt(%y.7, %x.1) # <string>:3:10
          -> (%46)
      -> (%53, %y.7)
  return (%y)
)"},
        {R"(def f(x: int):
    s = 0
    for i in range(x):
        if i % 2 == 0:
            continue
        s += i
    return s
)",
         R"(graph(%x.1 : int):
  %54 : int = prim::Constant[value=9223372036854775807]()
  %52 : int = prim::Constant[value=1]()
  %5 : bool = prim::Constant[value=1]() # <string>:3:4
  %s.1 : int = prim::Constant[value=0]() # <string>:2:8
  %9 : int = prim::Constant[value=2]() # <string>:4:15
  %53 : bool = aten::gt(%x.1, %s.1)
  %s : int, %55 : int = prim::Loop(%54, %53, %s.1, %s.1) # <string>:3:4
    block0(%6 : int, %s.11 : int, %56 : int):
      %10 : int = aten::remainder(%56, %9) # <string>:4:11
      %11 : bool = aten::eq(%10, %s.1) # <string>:4:11
      %50 : int = prim::If(%11) # <string>:4:8
        block0():
          -> (%s.11)
        block1():
          %s.13 : int = aten::add(%s.11, %56) # <string>:6:8
          -> (%s.13)
      %57 : int = aten::add(%56, %52)
      %58 : bool = aten::lt(%57, %x.1)
      %59 : bool = aten::__and__(%58, %5)
      -> (%59, %50, %57)
  return (%s)
)"},
        {R"(def f(x: Optional[int]):
    if x is None:
        y = 1
    else:
        y = x + 1
    return y
)",
         R"(graph(%x.1 : int?):
  %2 : NoneType = prim::Constant() # <string>:2:12
  %4 : int = prim::Constant[value=1]() # <string>:3:12
  %3 : bool = aten::__is__(%x.1, %2) # <string>:2:7
  %y : int = prim::If(%3) # <string>:2:4
    block0():
      -> (%4)
    block1():
      %x.7 : int = prim::unchecked_cast(%x.1)
      %y.1 : int = aten::add(%x.7, %4) # <string>:5:12
      -> (%y.1)
  return (%y)
)"},
        {R"(def f(x):
    return x[1:2, ..., ::3, None]
)",
         R"(graph(%x.1 : Tensor):
  %11 : NoneType = prim::Constant()
  %9 : int = prim::Constant[value=-1]() # <string>:2:11
  %4 : int = prim::Constant[value=0]() # <string>:2:11
  %5 : int = prim::Constant[value=1]() # <string>:2:13
  %6 : int = prim::Constant[value=2]() # <string>:2:15
  %10 : int = prim::Constant[value=3]() # <string>:2:25
  %8 : Tensor = aten::slice(%x.1, %4, %5, %6, %5) # <string>:2:11
  %13 : Tensor = aten::slice(%8, %9, %11, %11, %10) # <string>:2:11
  %15 : Tensor = aten::unsqueeze(%13, %9) # <string>:2:11
  return (%15)
)"},
        {R"(def f(x):
    return x[0]
)",
         R"(graph(%x.1 : Tensor):
  %2 : int = prim::Constant[value=0]() # <string>:2:13
  %4 : Tensor = aten::select(%x.1, %2, %2) # <string>:2:11
  return (%4)
)"},
        {R"(def f(x, i):
    return x[i, 1]
)",
         R"(graph(%x.1 : Tensor,
      %i.1 : Tensor):
  %5 : int = prim::Constant[value=1]() # <string>:2:16
  %7 : Tensor = aten::select(%x.1, %5, %5) # <string>:2:11
  %8 : Tensor?[] = prim::ListConstruct(%i.1)
  %9 : Tensor = aten::index(%7, %8) # <string>:2:11
  return (%9)
)"},
        {R"(def f(x):
    assert x.dim() == 2, 'a'
    return x
)",
         R"(graph(%x.1 : Tensor):
  %9 : NoneType = prim::Constant()
  %21 : str = prim::Constant[value="AssertionError: a"]()
  %3 : int = prim::Constant[value=2]() # <string>:2:22
  %2 : int = aten::dim(%x.1) # <string>:2:11
  %4 : bool = aten::eq(%2, %3) # <string>:2:11
   = prim::If(%4) # <string>:2:4
    block0():
      -> ()
    block1():
       = prim::RaiseException(%21, %9) # <string>:2:4
      -> ()
  return (%x.1)
)"},
        {R"(def f(x):
    if x.sum() > 0:
        raise ValueError('b')
    return x
)",
         R"(graph(%x.1 : Tensor):
  %9 : str = prim::Constant[value="builtins.ValueError"]() # <string>:3:14
  %8 : str = prim::Constant[value="b"]() # <string>:3:25
  %2 : NoneType = prim::Constant()
  %4 : int = prim::Constant[value=0]() # <string>:2:17
  %3 : Tensor = aten::sum(%x.1, %2) # <string>:2:7
  %5 : Tensor = aten::gt(%3, %4) # <string>:2:7
  %7 : bool = aten::Bool(%5) # <string>:2:7
   = prim::If(%7) # <string>:2:4
    block0():
       = prim::RaiseException(%8, %9) # <string>:3:8
      -> ()
    block1():
      -> ()
  return (%x.1)
)"},
        {R"(def f(a: int, b: int):
    a, b = b, a
    return a - b
)",
         R"(graph(%a.1 : int,
      %b.1 : int):
  %7 : int = aten::sub(%b.1, %a.1) # <string>:3:11
  return (%7)
)"},
        {R"(def f(x):
    y = torch.zeros(2, 3)
    return torch.relu(x + y)
)",
         R"(graph(%x.1 : Tensor):
  %11 : int = prim::Constant[value=1]()
  %4 : NoneType = prim::Constant()
  %1 : int = prim::Constant[value=2]() # <string>:2:20
  %2 : int = prim::Constant[value=3]() # <string>:2:23
  %3 : int[] = prim::ListConstruct(%1, %2)
  %y.1 : Tensor = aten::zeros(%3, %4, %4, %4, %4) # <string>:2:8
  %12 : Tensor = aten::add(%x.1, %y.1, %11) # <string>:3:22
  %13 : Tensor = aten::relu(%12) # <string>:3:11
  return (%13)
)"},
        {R"(def f(x: List[int]):
    return [i * 2 for i in x]
)",
         R"(graph(%x.1 : int[]):
  %4 : bool = prim::Constant[value=1]() # <string>:2:12
  %8 : int = prim::Constant[value=2]() # <string>:2:16
  %1 : int[] = prim::ListConstruct()
  %3 : int = aten::len(%x.1) # <string>:2:12
   = prim::Loop(%3, %4) # <string>:2:12
    block0(%5 : int):
      %i.1 : int = aten::__getitem__(%x.1, %5) # <string>:2:12
      %9 : int = aten::mul(%i.1, %8) # <string>:2:12
      %10 : int[] = aten::append(%1, %9) # <string>:2:12
      -> (%4)
  return (%1)
)"},
        {R"(def f(x: int):
    for i in range(x):
        for j in range(i):
            if i * j > 10:
                return j
    return -1
)",
         R"(graph(%x.1 : int):
  %55 : int = prim::Constant[value=9223372036854775807]()
  %53 : int = prim::Constant[value=1]()
  %52 : int = prim::Constant[value=0]()
  %14 : int = prim::Constant[value=10]() # <string>:4:23
  %18 : int = prim::Constant[value=-1]() # <string>:6:12
  %25 : bool = prim::Constant[value=0]()
  %24 : bool = prim::Constant[value=1]()
  %27 : int = prim::Uninitialized()
  %54 : bool = aten::gt(%x.1, %52)
  %37 : bool, %38 : int, %56 : int = prim::Loop(%55, %54, %25, %27, %52) # <string>:2:4
    block0(%5 : int, %36 : bool, %39 : int, %57 : int):
      %45 : bool = aten::gt(%57, %52)
      %32 : bool, %33 : int, %47 : int = prim::Loop(%55, %45, %25, %27, %52) # <string>:3:8
        block0(%10 : int, %31 : bool, %34 : int, %48 : int):
          %13 : int = aten::mul(%57, %48) # <string>:4:15
          %15 : bool = aten::gt(%13, %14) # <string>:4:15
          %42 : bool, %28 : bool, %29 : int = prim::If(%15) # <string>:4:12
            block0():
              -> (%25, %24, %48)
            block1():
              -> (%24, %25, %27)
          %49 : int = aten::add(%48, %53)
          %50 : bool = aten::lt(%49, %57)
          %51 : bool = aten::__and__(%50, %42)
          -> (%51, %28, %29, %49)
      %35 : bool = prim::If(%32)
        block0():
          -> (%25)
        block1():
          -> (%24)
      %58 : int = aten::add(%57, %53)
      %59 : bool = aten::lt(%58, %x.1)
      %60 : bool = aten::__and__(%59, %35)
      -> (%60, %32, %33, %58)
  %41 : int = prim::If(%37)
    block0():
      -> (%38)
    block1():
      -> (%18)
  return (%41)
)"},
        {R"(def f(x):
    z = y
    return z
)",
         R"(ERROR 
undefined value y:
  File "<string>", line 2
def f(x):
    z = y
        ~ <--- HERE
    return z

)"},
        {R"(def f(x: int, y: float):
    return x * y + 2 ** x
)",
         R"(graph(%x.1 : int,
      %y.1 : float):
  %5 : int = prim::Constant[value=2]() # <string>:2:19
  %4 : float = aten::mul(%x.1, %y.1) # <string>:2:11
  %7 : float = aten::pow(%5, %x.1) # <string>:2:19
  %8 : float = aten::add(%4, %7) # <string>:2:11
  return (%8)
)"},
        {R"(def f(x: List[str], y: List[int]):
    r = 0
    for i, (a, b) in enumerate(zip(x, y)):
        r += b + i
        print(a)
    return r
)",
         R"(graph(%x.1 : str[],
      %y.1 : int[]):
  %12 : bool = prim::Constant[value=1]() # <string>:3:4
  %r.1 : int = prim::Constant[value=0]() # <string>:2:8
  %3 : int = prim::Constant[value=9223372036854775807]() # <string>:3:21
  %8 : int = aten::len(%x.1) # <string>:3:4
  %9 : int = aten::len(%y.1) # <string>:3:4
  %10 : int[] = prim::ListConstruct(%3, %8, %9)
  %11 : int = prim::min(%10) # <string>:3:4
  %r : int = prim::Loop(%11, %12, %r.1) # <string>:3:4
    block0(%i.1 : int, %r.11 : int):
      %a.1 : str = aten::__getitem__(%x.1, %i.1) # <string>:3:4
      %b.1 : int = aten::__getitem__(%y.1, %i.1) # <string>:3:4
      %21 : int = aten::add(%b.1, %i.1) # <string>:4:13
      %r.5 : int = aten::add(%r.11, %21) # <string>:4:8
       = prim::Print(%a.1) # <string>:5:8
      -> (%12, %r.5)
  return (%r)
)"},
        {R"(def f(x, flag: bool):
    if flag and x.dim() == 1:
        x = x * 2
    return x
)",
         R"(graph(%x.1 : Tensor,
      %flag.1 : bool):
  %9 : bool = prim::Constant[value=0]() # <string>:2:7
  %6 : int = prim::Constant[value=1]() # <string>:2:27
  %12 : int = prim::Constant[value=2]() # <string>:3:16
  %10 : bool = prim::If(%flag.1) # <string>:2:7
    block0():
      %5 : int = aten::dim(%x.1) # <string>:2:16
      %7 : bool = aten::eq(%5, %6) # <string>:2:16
      -> (%7)
    block1():
      -> (%9)
  %x : Tensor = prim::If(%10) # <string>:2:4
    block0():
      %x.7 : Tensor = aten::mul(%x.1, %12) # <string>:3:12
      -> (%x.7)
    block1():
      -> (%x.1)
  return (%x)
)"},
        {R"(def g(x: int):
    return x + 1
def f(x: int):
    return g(g(x))
)",
         R"(graph(%x.1 : int):
  %2 : Function = prim::Constant[name="g"]()
  %3 : int = prim::CallFunction(%2, %x.1) # <string>:4:13
  %5 : int = prim::CallFunction(%2, %3) # <string>:4:11
  return (%5)
)"},
        {R"(def f(x: bool):
    y = 1 if x else 2
    return y
)",
         R"(graph(%x.1 : bool):
  %3 : int = prim::Constant[value=1]() # <string>:2:8
  %4 : int = prim::Constant[value=2]() # <string>:2:20
  %y.1 : int = prim::If(%x.1) # <string>:2:8
    block0():
      -> (%3)
    block1():
      -> (%4)
  return (%y.1)
)"},
        {R"(def f(x, y):
    x[0] = y
    x[1] += 2
    return x
)",
         R"(graph(%x.1 : Tensor,
      %y.1 : Tensor):
  %7 : bool = prim::Constant[value=0]()
  %4 : int = prim::Constant[value=0]() # <string>:2:6
  %10 : int = prim::Constant[value=1]() # <string>:3:6
  %13 : int = prim::Constant[value=2]() # <string>:3:12
  %6 : Tensor = aten::select(%x.1, %4, %4) # <string>:2:4
  %8 : Tensor = aten::copy_(%6, %y.1, %7) # <string>:2:4
  %12 : Tensor = aten::select(%x.1, %4, %10) # <string>:3:4
  %15 : Tensor = aten::add_(%12, %13, %10) # <string>:3:4
  return (%x.1)
)"},
        {R"(def f(x: Dict[str, int]):
    x['a'] = 3
    s = 0
    for k in x:
        s += x[k]
    return s
)",
         R"(graph(%x.1 : Dict(str, int)):
  %9 : bool = prim::Constant[value=1]() # <string>:4:4
  %3 : str = prim::Constant[value="a"]() # <string>:2:6
  %1 : int = prim::Constant[value=3]() # <string>:2:13
  %s.1 : int = prim::Constant[value=0]() # <string>:3:8
   = aten::_set_item(%x.1, %3, %1) # <string>:2:4
  %7 : str[] = aten::keys(%x.1) # <string>:4:4
  %8 : int = aten::len(%7) # <string>:4:4
  %s : int = prim::Loop(%8, %9, %s.1) # <string>:4:4
    block0(%10 : int, %s.11 : int):
      %k.1 : str = aten::__getitem__(%7, %10) # <string>:4:4
      %15 : int = aten::__getitem__(%x.1, %k.1) # <string>:5:13
      %s.5 : int = aten::add(%s.11, %15) # <string>:5:8
      -> (%9, %s.5)
  return (%s)
)"},
        {R"(def f(x: int):
    if x > 0:
        z = 1
    return z
)",
         R"(ERROR 

z is not defined in the false branch:
  File "<string>", line 2
def f(x: int):
    if x > 0:
    ~~~~~~~~~
        z = 1
        ~~~~~
    return z
    ~~~~~~ <--- HERE
and was used here:
  File "<string>", line 4
    if x > 0:
        z = 1
    return z
           ~ <--- HERE

)"},
        {R"(def f(x: int):
    if x > 0:
        y = 1
    else:
        y = 'a'
    return y
)",
         R"(ERROR 

Type mismatch: y is set to type int in the true branch and type str in the false branch:
  File "<string>", line 2
def f(x: int):
    if x > 0:
    ~~~~~~~~~
        y = 1
        ~~~~~
    else:
    ~~~~~
        y = 'a'
        ~~~~~~~ <--- HERE
    return y
and was used here:
  File "<string>", line 6
    else:
        y = 'a'
    return y
           ~ <--- HERE

)"},
        {R"(def f(x):
    return x.foo()
)",
         R"(ERROR 
'Tensor (inferred)' object has no attribute or method 'foo'.:
  File "<string>", line 2
def f(x):
    return x.foo()
           ~~~~~ <--- HERE

)"},
        {R"(def f(x: int) -> str:
    return x
)",
         R"(ERROR 
Return value was annotated as having type str but is actually of type int:
  File "<string>", line 2
def f(x: int) -> str:
    return x
    ~~~~~~~~ <--- HERE

)"},
        {R"(def f():
    return 1 + 2 * 3.5
)",
         R"(graph():
  %15 : float = prim::Constant[value=8.]()
  return (%15)
)"},
        {R"(def f(x: Tuple[int, str]):
    a, b = x
    return b, a
)",
         R"(graph(%x.1 : (int, str)):
  %a.1 : int, %b.1 : str = prim::TupleUnpack(%x.1)
  %6 : (str, int) = prim::TupleConstruct(%b.1, %a.1)
  return (%6)
)"},
        {R"(def f(x: int):
    while True:
        x += 1
        if x > 10:
            return x
)",
         R"(graph(%x.1 : int):
  %14 : NoneType = prim::Constant() # <string>:1:4
  %1 : int = prim::Constant[value=9223372036854775807]() # <string>:2:4
  %6 : int = prim::Constant[value=1]() # <string>:3:13
  %10 : int = prim::Constant[value=10]() # <string>:4:15
  %27 : bool = prim::Constant[value=0]()
  %26 : bool = prim::Constant[value=1]()
  %29 : int = prim::Uninitialized()
  %38 : bool, %39 : int, %x : int = prim::Loop(%1, %26, %27, %29, %x.1) # <string>:2:4
    block0(%4 : int, %37 : bool, %40 : int, %x.13 : int):
      %x.5 : int = aten::add(%x.13, %6) # <string>:3:8
      %11 : bool = aten::gt(%x.5, %10) # <string>:4:11
      %50 : bool, %48 : bool, %49 : int, %47 : int = prim::If(%11) # <string>:4:8
        block0():
          -> (%27, %26, %x.5, %29)
        block1():
          -> (%26, %27, %29, %x.5)
      -> (%50, %48, %49, %47)
  %43 : int? = prim::If(%38)
    block0():
      -> (%39)
    block1():
      -> (%14)
  return (%43)
)"},
        {R"(def f(x: float):
    return torch.sqrt(torch.tensor(x)) @ torch.ones(3)
)",
         R"(graph(%x.1 : float):
  %4 : bool = prim::Constant[value=0]()
  %2 : NoneType = prim::Constant()
  %7 : int = prim::Constant[value=3]() # <string>:2:52
  %5 : Tensor = aten::tensor(%x.1, %2, %2, %4) # <string>:2:22
  %6 : Tensor = aten::sqrt(%5) # <string>:2:11
  %8 : int[] = prim::ListConstruct(%7)
  %13 : Tensor = aten::ones(%8, %2, %2, %2, %2) # <string>:2:41
  %14 : Tensor = aten::matmul(%6, %13) # <string>:2:11
  return (%14)
)"},
        {R"(def f(x):
    for row in x:
        print(row)
)",
         R"(graph(%x.1 : Tensor):
  %8 : NoneType = prim::Constant() # <string>:1:4
  %5 : int = prim::Constant[value=0]()
  %3 : bool = prim::Constant[value=1]() # <string>:2:4
  %2 : int = aten::len(%x.1) # <string>:2:4
   = prim::Loop(%2, %3) # <string>:2:4
    block0(%4 : int):
      %row.1 : Tensor = aten::select(%x.1, %5, %4) # <string>:2:4
       = prim::Print(%row.1) # <string>:3:8
      -> (%3)
  return (%8)
)"},
        {R"(def f(x: int):
    return not x > 3 or x < 1
)",
         R"(graph(%x.1 : int):
  %6 : bool = prim::Constant[value=1]() # <string>:2:11
  %2 : int = prim::Constant[value=3]() # <string>:2:19
  %8 : int = prim::Constant[value=1]() # <string>:2:28
  %3 : bool = aten::gt(%x.1, %2) # <string>:2:15
  %5 : bool = aten::__not__(%3) # <string>:2:11
  %11 : bool = prim::If(%5) # <string>:2:11
    block0():
      -> (%6)
    block1():
      %9 : bool = aten::lt(%x.1, %8) # <string>:2:24
      -> (%9)
  return (%11)
)"},
    };
    for (const Sample& program : programs) {
        const std::string got = graph_of(program.text);
        if (got != program.graph) std::fprintf(stderr, "%sgot:\n%swanted:\n%s\n", program.text, got.c_str(), program.graph);
        CHECK(got == program.graph);
    }
    return finish("script_graph");
}
