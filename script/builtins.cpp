// script/builtins.cpp: what the language has besides tensor operators. One line each: an effect ('p' may be computed ahead, 'w'
// writes what it is given, 'e' has effects), the signature, the function that computes it.
#include <cmath>

#include "script/signature.h"

namespace kindling::script {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
    KINDLING_CHECK(Runtime, b != 0, "ZeroDivisionError: integer division or modulo by zero");
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t remainder(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
double remainder(double a, double b) { return a - b * std::floor(a / b); }

#define I(n) a[n].integer()
#define F(n) a[n].number()
#define C(n) a[n].complex()
#define B(n) a[n].truth()
#define S(n) a[n].text()
#define RUN(expression) [](Item* a, size_t) { a[0] = Item(expression); }
#define BOOL(expression) [](Item* a, size_t) { a[0] = Item(static_cast<bool>(expression)); }
#define INT(expression) [](Item* a, size_t) { a[0] = Item(static_cast<int64_t>(expression)); }

/// The five pairs of number types that an operator of Python's has.
#define ARITHMETIC(BUILTIN, name, op) \
    BUILTIN('p', "aten::" name ".int(int a, int b) -> int", RUN(I(0) op I(1))) BUILTIN('p', "aten::" name ".complex(complex a, complex b) -> complex", RUN(C(0) op C(1))) \
    BUILTIN('p', "aten::" name ".float(float a, float b) -> float", RUN(F(0) op F(1))) BUILTIN('p', "aten::" name ".int_float(int a, float b) -> float", RUN(F(0) op F(1))) \
    BUILTIN('p', "aten::" name ".float_int(float a, int b) -> float", RUN(F(0) op F(1))) BUILTIN('p', "aten::" name "(Scalar a, Scalar b) -> Scalar", nullptr)
#define COMPARE(BUILTIN, name, op) \
    BUILTIN('p', "aten::" name ".int(int a, int b) -> bool", BOOL(I(0) op I(1))) BUILTIN('p', "aten::" name ".float(float a, float b) -> bool", BOOL(F(0) op F(1))) \
    BUILTIN('p', "aten::" name ".int_float(int a, float b) -> bool", BOOL(F(0) op F(1))) BUILTIN('p', "aten::" name ".float_int(float a, int b) -> bool", BOOL(F(0) op F(1))) \
    BUILTIN('p', "aten::" name "(Scalar a, Scalar b) -> bool", BOOL(F(0) op F(1))) BUILTIN('p', "aten::" name ".str(str a, str b) -> bool", BOOL(S(0) op S(1)))
#define SAME(BUILTIN, name, op) \
    BUILTIN('p', "aten::" name ".bool(bool a, bool b) -> bool", BOOL(B(0) op B(1))) \
    BUILTIN(0, "aten::" name ".int_list(int[] a, int[] b) -> bool", nullptr) BUILTIN(0, "aten::" name ".float_list(float[] a, float[] b) -> bool", nullptr) \
    BUILTIN(0, "aten::" name ".bool_list(bool[] a, bool[] b) -> bool", nullptr) BUILTIN(0, "aten::" name ".str_list(str[] a, str[] b) -> bool", nullptr) \
    BUILTIN('p', "aten::" name ".device(Device a, Device b) -> bool", nullptr)
#define MATHS(BUILTIN, name, function) \
    BUILTIN('p', "aten::" name ".int(int a) -> float", RUN(function(F(0)))) BUILTIN('p', "aten::" name ".float(float a) -> float", RUN(function(F(0)))) \
    BUILTIN('p', "aten::" name ".Scalar(Scalar a) -> Scalar", nullptr)

/// A tensor and a number: the core takes the number where its schema has a Tensor, TorchScript has an overload for it.
#define SCALAR(BUILTIN, name, more) \
    BUILTIN(0, "aten::" name ".Scalar(Tensor self, Scalar other" more ") -> Tensor", nullptr) BUILTIN('w', "aten::" name "_.Scalar(Tensor(a!) self, Scalar other" more ") -> Tensor(a!)", nullptr)

#define KINDLING_BUILTINS(BUILTIN) \
    SCALAR(BUILTIN, "add", ", Scalar alpha=1") SCALAR(BUILTIN, "sub", ", Scalar alpha=1") SCALAR(BUILTIN, "mul", "") SCALAR(BUILTIN, "div", "") SCALAR(BUILTIN, "remainder", "") \
    SCALAR(BUILTIN, "eq", "") SCALAR(BUILTIN, "ne", "") SCALAR(BUILTIN, "lt", "") SCALAR(BUILTIN, "gt", "") SCALAR(BUILTIN, "le", "") SCALAR(BUILTIN, "ge", "") SCALAR(BUILTIN, "fmod", "") \
    BUILTIN(0, "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", nullptr) BUILTIN(0, "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", nullptr) \
    BUILTIN(0, "aten::size.int(Tensor self, int dim) -> int", nullptr) BUILTIN(0, "aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor", nullptr) \
    BUILTIN(0, "aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor", nullptr) \
    BUILTIN(0, "aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor", nullptr) \
    BUILTIN(0, "aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor", nullptr) \
    ARITHMETIC(BUILTIN, "add", +) ARITHMETIC(BUILTIN, "sub", -) ARITHMETIC(BUILTIN, "mul", *) \
    BUILTIN('p', "aten::add.str(str a, str b) -> str", RUN(S(0) + S(1))) BUILTIN(0, "aten::add.t(t[] a, t[] b) -> t[]", nullptr) \
    BUILTIN('w', "aten::add_.t(t[](a!) self, t[] b) -> t[](a!)", nullptr) BUILTIN(0, "aten::mul.left_t(t[] l, int n) -> t[]", nullptr) \
    BUILTIN(0, "aten::mul.right_(int n, t[] l) -> t[]", nullptr) BUILTIN('w', "aten::mul_.t(t[](a!) l, int n) -> t[](a!)", nullptr) \
    BUILTIN('p', "aten::div.int(int a, int b) -> float", RUN(F(0) / F(1))) BUILTIN('p', "aten::div.complex(complex a, complex b) -> complex", RUN(C(0) / C(1))) \
    BUILTIN('p', "aten::div.float(float a, float b) -> float", RUN(F(0) / F(1))) BUILTIN('p', "aten::div(Scalar a, Scalar b) -> Scalar", nullptr) \
    BUILTIN('p', "aten::floordiv.int(int a, int b) -> int", RUN(floor_div(I(0), I(1)))) BUILTIN('p', "aten::floordiv.float(float a, float b) -> float", RUN(std::floor(F(0) / F(1)))) \
    BUILTIN('p', "aten::floordiv.int_float(int a, float b) -> float", RUN(std::floor(F(0) / F(1)))) BUILTIN('p', "aten::floordiv.float_int(float a, int b) -> float", RUN(std::floor(F(0) / F(1)))) \
    BUILTIN('p', "aten::floordiv(Scalar a, Scalar b) -> Scalar", nullptr) \
    BUILTIN('p', "aten::remainder.int(int a, int b) -> int", RUN(remainder(I(0), I(1)))) BUILTIN('p', "aten::remainder.float(float a, float b) -> float", RUN(remainder(F(0), F(1)))) \
    BUILTIN('p', "aten::remainder.int_float(int a, float b) -> float", RUN(remainder(F(0), F(1)))) BUILTIN('p', "aten::remainder.float_int(float a, int b) -> float", RUN(remainder(F(0), F(1)))) \
    BUILTIN('p', "aten::remainder(Scalar a, Scalar b) -> Scalar", nullptr) \
    BUILTIN('p', "aten::pow.int(int a, int b) -> float", RUN(std::pow(F(0), F(1)))) BUILTIN('p', "aten::pow.float(float a, float b) -> float", RUN(std::pow(F(0), F(1)))) \
    BUILTIN('p', "aten::pow.int_float(int a, float b) -> float", RUN(std::pow(F(0), F(1)))) BUILTIN('p', "aten::pow.float_int(float a, int b) -> float", RUN(std::pow(F(0), F(1)))) \
    BUILTIN('p', "aten::neg.int(int a) -> int", RUN(-I(0))) BUILTIN('p', "aten::neg.float(float a) -> float", RUN(-F(0))) BUILTIN('p', "aten::neg.complex(complex a) -> complex", RUN(-C(0))) \
    BUILTIN('p', "aten::neg.Scalar(Scalar a) -> Scalar", nullptr) \
    COMPARE(BUILTIN, "lt", <) COMPARE(BUILTIN, "gt", >) COMPARE(BUILTIN, "le", <=) COMPARE(BUILTIN, "ge", >=) COMPARE(BUILTIN, "eq", ==) COMPARE(BUILTIN, "ne", !=) \
    SAME(BUILTIN, "eq", ==) SAME(BUILTIN, "ne", !=) \
    BUILTIN('p', "aten::__and__.bool(bool a, bool b) -> bool", BOOL(B(0) && B(1))) BUILTIN('p', "aten::__and__.int(int a, int b) -> int", RUN(I(0) & I(1))) \
    BUILTIN('p', "aten::__or__.bool(bool a, bool b) -> bool", BOOL(B(0) || B(1))) BUILTIN('p', "aten::__or__.int(int a, int b) -> int", RUN(I(0) | I(1))) \
    BUILTIN('p', "aten::__xor__.bool(bool a, bool b) -> bool", BOOL(B(0) != B(1))) BUILTIN('p', "aten::__xor__.int(int a, int b) -> int", RUN(I(0) ^ I(1))) \
    BUILTIN('p', "aten::__lshift__.int(int a, int b) -> int", INT(static_cast<uint64_t>(I(0)) << I(1))) BUILTIN('p', "aten::__rshift__.int(int a, int b) -> int", RUN(I(0) >> I(1))) \
    BUILTIN('p', "aten::__not__(bool self) -> bool", BOOL(!B(0))) BUILTIN('p', "aten::__is__(t1 self, t2 obj) -> bool", BOOL(a[0].same_object(a[1]))) \
    BUILTIN('p', "aten::__isnot__(t1 self, t2 obj) -> bool", BOOL(!a[0].same_object(a[1]))) \
    BUILTIN(0, "aten::Bool.Tensor(Tensor a) -> bool", nullptr) BUILTIN('p', "aten::Bool.int(int a) -> bool", BOOL(I(0) != 0)) BUILTIN('p', "aten::Bool.float(float a) -> bool", BOOL(F(0) != 0)) \
    BUILTIN(0, "aten::Int.Tensor(Tensor a) -> int", nullptr) BUILTIN('p', "aten::Int.bool(bool a) -> int", RUN(I(0))) BUILTIN('p', "aten::Int.float(float a) -> int", INT(F(0))) \
    BUILTIN('p', "aten::Int.Scalar(Scalar a) -> int", nullptr) BUILTIN('p', "aten::Int.str(str a) -> int", INT(std::stoll(S(0)))) \
    BUILTIN(0, "aten::Float.Tensor(Tensor a) -> float", nullptr) BUILTIN('p', "aten::Float.Scalar(Scalar a) -> float", nullptr) BUILTIN('p', "aten::Float.int(int a) -> float", RUN(F(0))) \
    BUILTIN('p', "aten::Float.bool(bool a) -> float", RUN(F(0))) BUILTIN('p', "aten::Float.str(str a) -> float", RUN(std::stod(S(0)))) \
    BUILTIN(0, "aten::str(t elem) -> str", nullptr) BUILTIN('p', "aten::len.str(str s) -> int", INT(S(0).size())) BUILTIN(0, "aten::len.Tensor(Tensor t) -> int", nullptr) \
    BUILTIN(0, "aten::len.t(t[] a) -> int", nullptr) BUILTIN(0, "aten::len.Dict_str(Dict(str, t) self) -> int", nullptr) BUILTIN(0, "aten::len.Dict_int(Dict(int, t) self) -> int", nullptr) \
    BUILTIN('p', "aten::__range_length(int lo, int hi, int step) -> int", INT(I(2) > 0 ? (I(0) < I(1) ? 1 + (I(1) - 1 - I(0)) / I(2) : 0) : (I(1) < I(0) ? 1 + (I(0) - 1 - I(1)) / -I(2) : 0))) \
    BUILTIN('p', "aten::__derive_index(int index, int start, int step) -> int", RUN(I(1) + I(0) * I(2))) \
    BUILTIN(0, "aten::__getitem__.t(t[](a) list, int idx) -> t(*)", nullptr) BUILTIN('p', "aten::__getitem__.str(str s, int index) -> str", nullptr) \
    BUILTIN(0, "aten::__getitem__.Dict_str(Dict(str, t) self, str key) -> t(*)", nullptr) BUILTIN(0, "aten::__getitem__.Dict_int(Dict(int, t) self, int key) -> t(*)", nullptr) \
    BUILTIN('w', "aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)", nullptr) BUILTIN('w', "aten::_set_item.str(Dict(str, t)(a!) l, str(b -> *) idx, t(c -> *) v) -> ()", nullptr) \
    BUILTIN('w', "aten::_set_item.int(Dict(int, t)(a!) l, int(b -> *) idx, t(c -> *) v) -> ()", nullptr) BUILTIN('w', "aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", nullptr) \
    BUILTIN(0, "aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]", nullptr) BUILTIN('p', "aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str", nullptr) \
    BUILTIN(0, "aten::keys.str(Dict(str, t) self) -> str[](*)", nullptr) BUILTIN(0, "aten::keys.int(Dict(int, t) self) -> int[](*)", nullptr) \
    BUILTIN(0, "prim::min.int_list(int[] l, int[] r) -> int[]", nullptr) BUILTIN(0, "prim::min.self_int(int[] self) -> int", nullptr) BUILTIN('p', "prim::min.int(int a, int b) -> int", RUN(std::min(I(0), I(1)))) \
    BUILTIN('p', "prim::min.float(float a, float b) -> float", RUN(std::min(F(0), F(1)))) BUILTIN('p', "prim::max.int(int a, int b) -> int", RUN(std::max(I(0), I(1)))) \
    BUILTIN('p', "prim::max.float(float a, float b) -> float", RUN(std::max(F(0), F(1)))) BUILTIN(0, "prim::max.self_int(int[] self) -> int", nullptr) \
    BUILTIN('p', "prim::abs.int(int a) -> int", RUN(std::abs(I(0)))) BUILTIN('p', "prim::abs.float(float a) -> float", RUN(std::abs(F(0)))) BUILTIN(0, "prim::abs(Tensor x) -> Tensor", nullptr) \
    BUILTIN(0, "prim::shape(Tensor self) -> int[]", nullptr) BUILTIN(0, "prim::dtype(Tensor a) -> int", nullptr) BUILTIN(0, "prim::device(Tensor a) -> Device", nullptr) \
    BUILTIN(0, "prim::requires_grad(Tensor a) -> bool", nullptr) BUILTIN(0, "prim::ndim(Tensor a) -> int", nullptr) BUILTIN(0, "prim::layout(Tensor a) -> int", nullptr) \
    BUILTIN(0, "prim::T(Tensor(a) a) -> Tensor(a)", nullptr) BUILTIN(0, "prim::is_cuda(Tensor a) -> bool", nullptr) \
    BUILTIN(0, "aten::FloatImplicit(Tensor a) -> float", nullptr) BUILTIN(0, "aten::IntImplicit(Tensor a) -> int", nullptr) BUILTIN(0, "aten::ScalarImplicit(Tensor a) -> Scalar", nullptr) \
    BUILTIN(0, "aten::size(Tensor self) -> int[]", nullptr) BUILTIN(0, "aten::dim(Tensor self) -> int", nullptr) \
    BUILTIN('e', "prim::RaiseException(str msg, str? cls=None) -> ()", nullptr) \
    MATHS(BUILTIN, "sqrt", std::sqrt) MATHS(BUILTIN, "exp", std::exp) MATHS(BUILTIN, "sin", std::sin) MATHS(BUILTIN, "cos", std::cos) MATHS(BUILTIN, "tan", std::tan) \
    MATHS(BUILTIN, "tanh", std::tanh) MATHS(BUILTIN, "log", std::log)

}  // namespace

void add_builtins(const std::string& name, std::vector<const Signature*>& all) {
    const auto add = [&](char effect, const char* text, Builtin builtin) {
        const std::string_view full = text;
        if (full.substr(0, name.size()) != name || (full[name.size()] != '.' && full[name.size()] != '(')) return;
        Signature* made = new Signature(parse_signature(text));
        made->effect = effect;
        made->builtin = builtin;
        all.push_back(made);
    };
#define BUILTIN(effect, text, function) add(effect, text, function);
    KINDLING_BUILTINS(BUILTIN)
#undef BUILTIN
}

}  // namespace kindling::script
