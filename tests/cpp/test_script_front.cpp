// Scripts: tokens, trees, types. Trees and messages are those of torch.jit.CompilationUnit (2.13).
#include "script/graph/type.h"
#include "script/syntax/parser.h"
#include "tests/cpp/check.h"

#include <memory>

using namespace kindling;
using namespace kindling::script;

namespace {

std::vector<std::unique_ptr<Source>> sources;
Trees trees;

Parser parser(const std::string& text) {
    sources.push_back(std::make_unique<Source>(Source{text}));
    return Parser(*sources.back(), trees);
}

std::string error_of(const std::string& text) {
    try {
        Parser reader = parser(text);
        while (!reader.at_end()) reader.function();
        return "";
    } catch (const Error& error) { return error.what(); }
}

void expect(const std::string& got, const std::string& wanted) {
    if (got != wanted) std::fprintf(stderr, "got:\n%s\nwanted:\n%s\n", got.c_str(), wanted.c_str());
    CHECK(got == wanted);
}

void expressions() {
    const auto read = [](const char* text) { return str(*parser(text).expression()); };
    expect(read("x + y * 2"), "(+ (variable (ident x)) (* (variable (ident y)) (const 2)))");
    expect(read("-x ** 2"), "(unary minus (pow operator (variable (ident x)) (const 2)))");
    expect(read("2 ** 3 ** x"), "(pow operator (const 2) (pow operator (const 3) (variable (ident x))))");
    expect(read("-1.5e3j"), "(const -1.5e3j)");
    expect(read("x not in y"), "(not (in (variable (ident x)) (variable (ident y))))");
    expect(read("not x is None"), "(not (is (variable (ident x)) (None)))");
    expect(read("a if b else c if d else e"),
           "(if (variable (ident b)) (variable (ident a)) (if (variable (ident d)) (variable (ident c)) (variable (ident e))))");
    expect(read("f(*a, k=1)[1:, ::2, ...]"),
           "(subscript (apply (variable (ident f)) (list (starred (variable (ident a)))) (list (attribute (ident k) (const 1)))) "
           "(list (slice expr (option (const 1)) (option) (option)) (slice expr (option) (option) (option (const 2))) (dots)))");
    expect(read("[i for (i, j) in x.y]"), "(list comprehension (variable (ident i)) (tuple-literal (list (variable (ident i)) (variable "
                                          "(ident j)))) (. (variable (ident x)) (ident y)))");
    expect(read("{k: v for k in x}"),
           "(dict comprehension (variable (ident k)) (variable (ident v)) (variable (ident k)) (variable (ident x)))");
    expect(read("'a\\n' \"b\\101\" '''c'''"), "(string_literal a\nbAc)");
    expect(read("(a,)"), "(tuple-literal (list (variable (ident a))))");
    expect(read("()"), "(tuple-literal (list))");
    expect(read("{}"), "(dict-literal (list) (list))");
    expect(read("[]"), "(list-literal (list))");
    expect(read("0x1F + .5 + 1. + 1e-3"), "(+ (+ (+ (const 0x1F) (const .5)) (const 1.)) (const 1e-3))");
}

void statements() {
    const auto body = [](const std::string& text) {
        Parser reader = parser("def f(x):\n" + text + "\n");
        return str((*reader.function())[2]);
    };
    expect(body("    a = b = x\n    a, b = b, a"),
           "(list (assign (list (variable (ident a)) (variable (ident b))) (option (variable (ident x))) (option)) "
           "(assign (list (tuple-literal (list (variable (ident a)) (variable (ident b))))) (option (tuple-literal (list (variable (ident "
           "b)) (variable (ident a))))) (option)))");
    expect(body("  x <<= 1 # a comment\n\n  # another\n  y: int = 3"),
           "(list (aug_assign (variable (ident x)) (<<) (const 1)) (assign (list (variable (ident y))) (option (const 3)) (option "
           "(variable (ident int)))))");
    expect(body("  if x:\n    pass\n  elif y:\n    break\n  else:\n    return"),
           "(list (if (variable (ident x)) (list (pass)) (list (if (variable (ident y)) (list (break)) (list (return (None)))))))");
    expect(body("  for i, (j, k) in zip(a,\n       b):\n    while i:\n      continue"),
           "(list (for (list (variable (ident i)) (tuple-literal (list (variable (ident j)) (variable (ident k))))) "
           "(list (apply (variable (ident zip)) (list (variable (ident a)) (variable (ident b))) (list))) "
           "(list (while (variable (ident i)) (list (continue))))))");
    expect(body("  with a() as b, c:\n    del d[0]\n  assert x, 'no'\n  raise ValueError(1)"),
           "(list (with (list (withitem (apply (variable (ident a)) (list) (list)) (option (variable (ident b)))) (withitem (variable "
           "(ident c)) (option))) "
           "(list (del (list (subscript (variable (ident d)) (list (const 0)))))))"
           " (assert (variable (ident x)) (option (string_literal no))) (raise (apply (variable (ident ValueError)) (list (const 1)) "
           "(list))))");
    expect(str((*parser("def f(x, y: int = 2, *, z: List[int]) -> Tensor: return x\n").function())[1]),
           "(decl (list (param (ident x) (option) (option)) (param (ident y) (option (variable (ident int))) (option (const 2))) "
           "(param * (ident z) (option (subscript (variable (ident List)) (list (variable (ident int))))) (option))) (option (variable "
           "(ident Tensor))))");
    expect(str((*parser("def f(x, y):\n  # type: (int, str) -> bool\n  return x\n").function())[1]),
           "(decl (list (param (ident x) (option (variable (ident int))) (option)) (param (ident y) (option (variable (ident str))) "
           "(option))) (option (variable (ident bool))))");
    expect(str(*parser("class A(NamedTuple):\n  x: int\n  def g(self):\n    pass\n").class_definition()),
           "(class (ident A) (option (variable (ident NamedTuple))) (list (assign (list (variable (ident x))) (option) (option (variable "
           "(ident int)))) "
           "(def (ident g) (decl (list (param (ident self) (option) (option))) (option)) (list (pass)))))");
}

void errors() {
    expect(error_of("def f(x):\n    return lambda y: y\n"), "expected newline but found 'ident' here:\n  File \"<string>\", line 2\ndef "
                                                            "f(x):\n    return lambda y: y\n                  ~ <--- HERE\n");
    expect(error_of("def f(x):\n    for i in x: pass\n\n"), "expected indent but found 'pass' here:\n  File \"<string>\", line 2\ndef "
                                                            "f(x):\n    for i in x: pass\n                ~~~~ <--- HERE\n\n");
    expect(error_of("def f(x):\n    a, b += x\n\n"), "\n augmented assignment can only have one LHS expression:\n  File \"<string>\", line "
                                                     "2\ndef f(x):\n    a, b += x\n    ~~~~ <--- HERE\n\n");
    expect(error_of("def f(x):\n    y = [1 for i in x, 2]\n\n"),
           "\n expected a single list comprehension within '[' , ']':\n  File \"<string>\", line 2\ndef f(x):\n    y = [1 for i in x, 2]\n "
           "       ~~~~~~~~~~~~~~~~ <--- HERE\n\n");
    expect(error_of("def f(x):\n    return $x\n"),
           "expected a valid token but found ' ' here:\n  File \"<string>\", line 2\ndef f(x):\n    return $x\n           ~ <--- HERE\n");
    expect(error_of("def f(x):\n    y = '\\x41'\n"),
           "\nunsupported hex specifier:\n  File \"<string>\", line 2\ndef f(x):\n    y = '\\x41'\n        ~~~~~~ <--- HERE\n");
    expect(error_of("def f(x):\n    # type: (int, int) -> int\n    return x\n"),
           "\nNumber of type annotations (2) did not match the number of function parameters (1):\n  File \"<string>\", line 1\ndef "
           "f(x):\n     ~~~~ <--- HERE\n    # type: (int, int) -> int\n    return x\n");
    expect(error_of("def f(x):\n  if x:\n    y = 1\n   else:\n    y = 2\n  return y"),
           "invalid indent level 3:\n  File \"<string>\", line 4\n  if x:\n    y = 1\n   else:\n    y = 2\n  return y\n");
    expect(error_of("def f(x):\n    return x +\n\n"),
           "expected ident but found 'newline' here:\n  File \"<string>\", line 4\n    return x +\n\n");
}

void types() {
    const auto both = [](const char* text) {
        const TypeRef type = read_type(*parser(text).expression());
        return str(type) + " | " + repr(type);
    };
    expect(both("Tensor"), "Tensor | Tensor");
    expect(both("torch.LongTensor"), "Tensor | Tensor");
    expect(both("List[int]"), "int[] | List[int]");
    expect(both("list[int]"), "int[] | List[int]");
    expect(both("Optional[Union[int, None]]"), "int? | Optional[int]");
    expect(both("int | None"), "int? | Optional[int]");
    expect(both("Union[int, float, complex]"), "Union(Scalar) | Union[number]");
    expect(both("Union[int, Optional[str]]"), "Union(int, NoneType, str) | Union[int, NoneType, str]");
    expect(both("Union[str, bool, int, float, List[int], Tensor]"),
           "Union(Tensor, int[], float, int, str, bool) | Union[Tensor, List[int], float, int, str, bool]");
    expect(both("Union[Tensor, List[Tensor]]"), "Union(Tensor, Tensor[]) | Union[Tensor, List[Tensor]]");
    expect(both("Dict[str, Tuple[int, Tuple[str, bool]]]"), "Dict(str, (int, (str, bool))) | Dict[str, Tuple[int, Tuple[str, bool]]]");
    expect(both("Tuple[()]"), "() | Tuple[()]");
    expect(both("number"), "Scalar | number");
    expect(both("torch.dtype"), "int | int");
    expect(both("torch.jit.Future[int]"), "Future[int] | Future[int]");
    expect(both("Optional[Any]"), "Any? | Optional[Any]");
    CHECK_THROWS(both("List[int, int]"), "\n expected exactly one element type but found 2:\n");
    CHECK_THROWS(both("Foo[int]"), "\nUnknown type constructor Foo:\n");
    CHECK_THROWS(both("3"), "\nExpression of type const cannot be used in a type expression:\n");
    CHECK_THROWS(both("List"), "\nUnknown type name 'List':\n");
    CHECK_THROWS(both("Union[int, int]"), "After type unification was performed, the Union");

    const auto t = [](const char* text) { return read_type(*parser(text).expression()); };
    CHECK(t("List[int]") == t("List[int]"));
    // Asked of torch: rows of what is a subtype of what.
    const char* all[] = {"Tensor",
                         "int",
                         "float",
                         "bool",
                         "complex",
                         "number",
                         "None",
                         "Any",
                         "str",
                         "Optional[int]",
                         "Optional[Tensor]",
                         "List[int]",
                         "Tuple[int, float]",
                         "Tuple[number, number]",
                         "Union[int, str]",
                         "Dict[str, int]",
                         "Union[int, str, None]",
                         "Union[int, float, complex]"};
    const char* rows[] = {"100000010010000000", "010001010100001011", "001001010000000001", "000100010000000000", "000011010000000001",
                          "000001010000000001", "000000110110000010", "000000010000000000", "000000011000001010", "000000010100000010",
                          "000000010010000000", "000000010001000000", "000000010000110000", "000000010000010000", "000000010000001010",
                          "000000010000000100", "000000010000000010", "000001010000000001"};
    for (int i = 0; i < 18; i++)
        for (int j = 0; j < 18; j++)
            if (is_subtype(t(all[i]), t(all[j])) != (rows[i][j] == '1')) {
                std::fprintf(stderr, "%s <= %s\n", all[i], all[j]);
                failures++;
            }
    CHECK(unify(t("int"), t("float")) == nullptr);
    CHECK(unify(t("int"), t("None")) == t("Optional[int]"));
    CHECK(unify(t("Tuple[int, None]"), t("Tuple[None, int]")) == t("Tuple[Optional[int], Optional[int]]"));
    CHECK(unify(t("Optional[int]"), t("int")) == t("Optional[int]"));
    CHECK(unify(t("int"), t("str"), true) == t("Union[int, str]"));
    TypeVariables variables;
    CHECK(match(list_of(variable("t")), t("List[Dict[str, int]]"), variables).empty());
    CHECK(substitute(optional_of(variable("t")), variables) == t("Optional[Dict[str, int]]"));
    CHECK(match(list_of(variable("t")), t("int"), variables) == "Cannot match List[t] to int");
    static const Schema* schema = parse_schema("f(Tensor?[] a, int[2] b, Scalar? c, ScalarType? d=None) -> Tensor");
    const char* wanted[] = {"Tensor?[]", "int[]", "Scalar?", "int?"};
    for (int i = 0; i < 4; i++) expect(str(of_argument(schema->arguments[static_cast<size_t>(i)])), wanted[i]);
}

} // namespace

int main() {
    expressions();
    statements();
    errors();
    types();
    return finish("script_front");
}
