// script/run/loop_numbers.h: numbers in loops.
#pragma once
#include <cmath>

#include "script/run/loop_elements.h"

namespace kindling::script {
namespace {

double call_pow(double a, double b) noexcept { return std::pow(a, b); }
double call_exp(double a) noexcept { return std::exp(a); }
double call_sin(double a) noexcept { return std::sin(a); }
double call_cos(double a) noexcept { return std::cos(a); }
double call_tan(double a) noexcept { return std::tan(a); }
double call_tanh(double a) noexcept { return std::tanh(a); }
double call_atan(double a) noexcept { return std::atan(a); }
double call_atan2(double a, double b) noexcept { return std::atan2(a, b); }
double call_mod(double a, double b) noexcept { return std::fmod(a, b); }

class LoopNumbers : protected LoopElements {
protected:
    using LoopElements::LoopElements;

    // ---- numbers

    Abstract of_numbers(const Node* node, const std::string& name, const std::vector<Abstract>& a) {
        using scalar::Op;
        const bool floats = a[0].kind == Abstract::Float || (a.size() > 1 && a[1].kind == Abstract::Float);
        const auto maths = [&](double (*function)(double) noexcept, const char* called) {
            return number(Abstract::Float, b_.call(scalar::callee(called, function, scalar::Effect::Pure), {to_f64(a[0])}));
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
            if (name == "min" || name == "max") { // std::min(a, b): b < a ? b : a
                const Op op = name == "min" ? Op::Min : Op::Max;
                if (floats) return number(Abstract::Float, b_.binary(op, to_f64(a[1]), to_f64(a[0])));
                return number(Abstract::Int, b_.binary(op, to_i64(a[1]), to_i64(a[0])));
            }
            if (name == "floordiv" || name == "remainder") {
                if (floats) {
                    if (!node->signature || !node->signature->builtin) refuse(node, name.c_str(), " of floats");
                    const Word x = to_f64(a[0]), y = to_f64(a[1]);
                    divisor(node, a, b_.binary(Op::Ne, y, b_.real(0)));
                    if (name == "floordiv") return number(Abstract::Float, b_.unary(Op::Floor, b_.divide(x, y)));
                    const auto mod = scalar::callee("fmod", call_mod, scalar::Effect::Pure);
                    return number(Abstract::Float, b_.call(mod, {b_.add(y, b_.call(mod, {x, y})), y}));
                }
                divisor(node, a, b_.binary(Op::Ne, to_i64(a[1]), b_.integer(0)));
                return number(Abstract::Int, b_.binary(name == "floordiv" ? Op::FloorDiv : Op::FloorMod, to_i64(a[0]), to_i64(a[1])));
            }
            if (name == "pow" && node->outputs[0]->type->is(TypeKind::Float))
                return number(Abstract::Float,
                              b_.call(scalar::callee("pow", call_pow, scalar::Effect::Pure), {to_f64(a[0]), to_f64(a[1])}));
            if (name == "atan2")
                return number(Abstract::Float,
                              b_.call(scalar::callee("atan2", call_atan2, scalar::Effect::Pure), {to_f64(a[0]), to_f64(a[1])}));
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
            if (name == "exp") return maths(call_exp, "exp");
            if (name == "sin") return maths(call_sin, "sin");
            if (name == "cos") return maths(call_cos, "cos");
            if (name == "tan") return maths(call_tan, "tan");
            if (name == "tanh") return maths(call_tanh, "tanh");
            if (name == "atan") return maths(call_atan, "atan");
            if (node->outputs[0]->type->is(TypeKind::Int) && (name == "floor" || name == "ceil")) {
                if (!floats) return number(Abstract::Int, to_i64(a[0]));
                return number(Abstract::Int, b_.convert(ScalarType::I64, b_.unary(name == "floor" ? Op::Floor : Op::Ceil, a[0].word)));
            }
            if (name == "fabs") return real(Op::Abs);
        }
        if (name == "__range_length" && a.size() == 3) {
            const std::optional<int64_t> step = constant(a[2].word);
            if (step == 1) {
                const Word length = b_.subtract(a[1].word, a[0].word);
                return number(Abstract::Int, b_.binary(Op::Max, length, b_.integer(0)));
            }
            if (step && *step) {
                const bool up = *step > 0;
                const Word width = up ? b_.subtract(a[1].word, a[0].word) : b_.subtract(a[0].word, a[1].word),
                           by = b_.integer(up ? *step : -*step);
                const Word rounds = b_.add(b_.integer(1), b_.binary(Op::FloorDiv, b_.subtract(width, b_.integer(1)), by));
                return number(Abstract::Int, b_.select(b_.binary(Op::Gt, width, b_.integer(0)), rounds, b_.integer(0)));
            }
        }
        if (name == "__derive_index" && a.size() == 3) return number(Abstract::Int, b_.add(a[1].word, b_.multiply(a[0].word, a[2].word)));
        if (name == "tensor") return new_element(node, a);
        refuse(node, node->kind.c_str(), " is nothing that loops over elements know");
    }
    /// A division by 0 is what the builtin says it is.
    void divisor(const Node* node, const std::vector<Abstract>& a, Word fits) {
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
