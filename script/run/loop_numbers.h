// script/run/loop_numbers.h: numbers in loops.
#pragma once
#include <cmath>
#include <numbers>

#include "script/run/loop_elements.h"

namespace kindling::script {
namespace {

struct LibraryFunction {
    const char* name;
    double (*function)(double);
};
/// The function of the C library that scripts call by that name. Null if there is none.
LibraryFunction function_of(const std::string& name) {
#define X(NAME)                                                                                                                            \
    if (name == #NAME) return {#NAME, ::NAME};
    // clang-format off
    X(exp) X(log) X(log10) X(log1p) X(expm1) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)
    X(erf) X(erfc) X(lgamma)
// clang-format on
#undef X
        if (name == "gamma") return {"tgamma", ::tgamma};
    return {};
}

class LoopNumbers : protected LoopElements {
protected:
    using LoopElements::LoopElements;

    // ---- numbers

    Abstract of_numbers(const Node* node, const std::string& name, const std::vector<Abstract>& a) {
        using scalar::Op;
        const bool floats = a[0].kind == Abstract::Float || (a.size() > 1 && a[1].kind == Abstract::Float);
        const auto maths = [&](double (*function)(double, double), const char* called, Word x, Word y) {
            return b_.call(scalar::callee(called, function, scalar::Effect::Pure), {x, y});
        };
        const auto real = [&](Op op) { return number(Abstract::Float, b_.unary(op, to_f64(a[0]))); };
        if (a.size() == 2) {
            static constexpr struct {
                char name[4];
                Op op;
            } steps[] = {{"add", Op::Add}, {"sub", Op::Sub}, {"mul", Op::Mul}, {"lt", Op::Lt}, {"le", Op::Le},
                         {"gt", Op::Gt},   {"ge", Op::Ge},   {"eq", Op::Eq},   {"ne", Op::Ne}};
            for (const auto& each : steps)
                if (name == each.name) {
                    const Word word =
                        floats ? b_.binary(each.op, to_f64(a[0]), to_f64(a[1])) : b_.binary(each.op, to_i64(a[0]), to_i64(a[1]));
                    return number(each.op >= Op::Eq ? Abstract::Bool : floats ? Abstract::Float : Abstract::Int, word);
                }
            if (name == "div") return number(Abstract::Float, b_.divide(to_f64(a[0]), to_f64(a[1])));
            if (name == "min" || name == "max") { // a < b ? a : b
                const Op op = name == "min" ? Op::Min : Op::Max;
                if (floats) return number(Abstract::Float, b_.binary(op, to_f64(a[0]), to_f64(a[1])));
                return number(Abstract::Int, b_.binary(op, to_i64(a[0]), to_i64(a[1])));
            }
            if (name == "floordiv" || name == "remainder") {
                if (floats) {
                    if (!node->signature || !node->signature->builtin) refuse(node, name.c_str(), " of floats");
                    const Word x = to_f64(a[0]), y = to_f64(a[1]);
                    if (name == "floordiv") return number(Abstract::Float, b_.unary(Op::Floor, b_.divide(x, y)));
                    return number(Abstract::Float, maths(::fmod, "fmod", b_.add(y, maths(::fmod, "fmod", x, y)), y));
                }
                raises_unless(node, a, b_.binary(Op::Ne, to_i64(a[1]), b_.integer(0)));
                return number(Abstract::Int, b_.binary(name == "floordiv" ? Op::FloorDiv : Op::FloorMod, to_i64(a[0]), to_i64(a[1])));
            }
            if (name == "pow" && node->outputs[0]->type->is(TypeKind::Float)) {
                const Word x = to_f64(a[0]), y = to_f64(a[1]);
                raises_unless(node, a, b_.unary(Op::Not, b_.binary(Op::And, b_.equal(x, b_.real(0)), b_.less(y, b_.real(0)))));
                return number(Abstract::Float, maths(::pow, "pow", x, y));
            }
            if (name == "atan2") return number(Abstract::Float, maths(::atan2, "atan2", to_f64(a[0]), to_f64(a[1])));
            if (name == "copysign") return number(Abstract::Float, maths(::copysign, "copysign", to_f64(a[0]), to_f64(a[1])));
            if (name == "fmod") return number(Abstract::Float, maths(::fmod, "fmod", to_f64(a[0]), to_f64(a[1])));
            const bool bools = a[0].kind == Abstract::Bool && a[1].kind == Abstract::Bool;
            if (!floats && (name == "__and__" || name == "__or__" || name == "__xor__")) {
                const Op op = name == "__and__" ? Op::And : name == "__or__" ? Op::Or : Op::Xor;
                if (bools) return number(Abstract::Bool, b_.binary(op, a[0].word, a[1].word));
                return number(Abstract::Int, b_.binary(op, to_i64(a[0]), to_i64(a[1])));
            }
            if (!floats && name == "__lshift__") return number(Abstract::Int, b_.binary(Op::Shl, to_i64(a[0]), to_i64(a[1])));
            if (!floats && name == "__rshift__") return number(Abstract::Int, b_.binary(Op::Shr, to_i64(a[0]), to_i64(a[1])));
        }
        if (a.size() == 1) {
            if (name == "neg")
                return floats ? number(Abstract::Float, b_.unary(Op::Neg, a[0].word))
                              : number(Abstract::Int, b_.unary(Op::Neg, to_i64(a[0])));
            if (name == "abs")
                return floats ? number(Abstract::Float, b_.unary(Op::Abs, a[0].word))
                              : number(Abstract::Int, b_.unary(Op::Abs, to_i64(a[0])));
            if (name == "__not__") return number(Abstract::Bool, b_.unary(Op::Not, a[0].word));
            if (name == "bitwise_not" && a[0].kind == Abstract::Int) return number(Abstract::Int, b_.unary(Op::Not, a[0].word));
            if (name == "Float" || name == "FloatImplicit") return number(Abstract::Float, to_f64(a[0]));
            if (name == "Int" || name == "IntImplicit") return number(Abstract::Int, to_i64(a[0]));
            if (name == "Bool") return number(Abstract::Bool, cast(a[0].word, DType::Bool));
            if (name == "sqrt") {
                const Word x = to_f64(a[0]);
                return number(Abstract::Float, b_.unary(Op::Sqrt, x));
            }
            const bool to_float = node->outputs[0]->type->is(TypeKind::Float);
            if (const LibraryFunction found = function_of(name); found.function && to_float)
                return number(Abstract::Float, b_.call(scalar::callee(found.name, found.function, scalar::Effect::Pure), {to_f64(a[0])}));
            if (node->outputs[0]->type->is(TypeKind::Int) && (name == "floor" || name == "ceil")) {
                if (!floats) return number(Abstract::Int, to_i64(a[0]));
                const Word whole = b_.unary(name == "floor" ? Op::Floor : Op::Ceil, a[0].word);
                raises_unless(node, a,
                              b_.binary(Op::And, b_.binary(Op::Ge, whole, b_.real(-0x1p63)), b_.binary(Op::Le, whole, b_.real(0x1p63))));
                return number(Abstract::Int, b_.convert(ScalarType::I64, whole));
            }
            if (name == "fabs") return real(Op::Abs);
            if (name == "round" && to_float) return real(Op::Round);
            if (name == "degrees") return number(Abstract::Float, b_.multiply(to_f64(a[0]), b_.real(180.0 / std::numbers::pi)));
            if (name == "radians") return number(Abstract::Float, b_.multiply(to_f64(a[0]), b_.real(std::numbers::pi / 180.0)));
            if (name == "isnan") return number(Abstract::Bool, b_.binary(Op::Ne, a[0].word, a[0].word));
            const Word size = floats ? b_.unary(Op::Abs, a[0].word) : Word{}, infinite = b_.real(HUGE_VAL);
            if (floats && name == "isinf") return number(Abstract::Bool, b_.equal(size, infinite));
            if (floats && name == "isfinite") return number(Abstract::Bool, b_.less(size, infinite));
        }
        if (name == "__range_length" && a.size() == 3) {
            const Word up = b_.subtract(a[1].word, a[0].word), none = b_.integer(0), one = b_.integer(1), step = a[2].word;
            if (constant(step) == 1) return number(Abstract::Int, b_.binary(Op::Max, up, none));
            raises_unless(node, a, b_.binary(Op::Ne, step, none));
            const Word width = b_.select(b_.binary(Op::Gt, step, none), up, b_.subtract(a[0].word, a[1].word));
            const Word rounds = b_.add(one, b_.binary(Op::FloorDiv, b_.subtract(width, one), b_.unary(Op::Abs, step)));
            return number(Abstract::Int, b_.select(b_.binary(Op::Gt, width, none), rounds, none));
        }
        if (name == "__derive_index" && a.size() == 3) return number(Abstract::Int, b_.add(a[1].word, b_.multiply(a[0].word, a[2].word)));
        if (name == "tensor") return new_element(node, a);
        refuse(node, node->kind.c_str(), " is nothing that loops over elements know");
    }
    /// What does not fit is what the builtin says it is.
    void raises_unless(const Node* node, const std::vector<Abstract>& a, Word fits) {
        std::string kinds;
        std::vector<Word> words;
        for (const Abstract& each : a) {
            kinds += each.kind == Abstract::Float ? 'f' : each.kind == Abstract::Bool ? 'b' : 'i';
            words.push_back(each.word);
        }
        const int32_t code = exit(node, LoweredLoop::Exit::Builtin);
        exits_.back().values = std::move(kinds);
        exits_.back().builtin = node->signature ? node->signature->builtin : nullptr;
        check(fits, code, words);
    }
};

} // namespace
} // namespace kindling::script
