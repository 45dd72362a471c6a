// kernels/derivative.cpp: derivatives of expressions, with torch's conventions at ties, edges and in the complex plane
// (the gradient is with respect to the conjugate: a holomorphic f gives grad * conj(f')).
// Compiled for size.
#include <vector>

#include "core/error.h"
#include "kernels/symbol.h"

namespace kindling {

namespace {

constexpr double ln2 = 0.6931471805599453, ln10 = 2.302585092994046, two_over_root_pi = 1.1283791670955126;

/// Whether x is below the rounding of its dtype.
Sym next_to_nothing(Sym x) { return abs(x) <= like(x, x.dtype() == DType::Float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07); }

class Differentiation {
public:
    Differentiation(const Expression& expression, const int* wanted, int wanted_count, bool reverse)
        : expression_(expression), values_(expression.nodes.size()), needed_(expression.nodes.size(), false) {
        KINDLING_ASSERT(expression.outputs.size() == 1);
        output_ = expression.outputs[0];
        input_shift_ = reverse ? 1 : 0;
        result_input_ = reverse ? expression.input_count + 1 : expression.input_count + wanted_count;
        for (size_t i = 0; i < expression.nodes.size(); i++) {
            const Node& node = expression.nodes[i];
            if (!is_differentiable(node.type)) continue;
            if (node.primitive == Primitive::Input)
                for (int k = 0; k < wanted_count; k++) needed_[i] = needed_[i] || wanted[k] == node.index();
            for (int k = 0; k < operand_count(node.primitive); k++)
                if (needed_[static_cast<size_t>(node.operands[k])]) needed_[i] = true;
        }
        for (int k = 0; k < wanted_count; k++) {
            int32_t at = input_node(wanted[k]);
            KINDLING_ASSERT(at < 0 || is_differentiable(expression.nodes[static_cast<size_t>(at)].type));
        }
        find_result();
    }

    Expression reverse(const int* wanted, int wanted_count) {
        reserve_inputs(result_input_ + 1);
        std::vector<Sym> gradients(expression_.nodes.size());
        gradients[static_cast<size_t>(output_)] = builder_.input(0, type(output_));
        for (int32_t i = output_; i >= 0; i--) {
            const Sym g = gradients[static_cast<size_t>(i)];
            if (g.is_none() || !needed_[static_cast<size_t>(i)]) continue;
            const Node& node = expression_.nodes[static_cast<size_t>(i)];
            for (int k = 0; k < operand_count(node.primitive); k++) {
                size_t operand = static_cast<size_t>(node.operands[k]);
                if (!needed_[operand]) continue;
                Sym part = pull(i, k, g);
                if (part.is_none()) continue;
                gradients[operand] = gradients[operand].is_none() ? part : gradients[operand] + part;
            }
        }
        for (int k = 0; k < wanted_count; k++) {
            int32_t at = input_node(wanted[k]);
            Sym gradient = at < 0 ? Sym() : gradients[static_cast<size_t>(at)];
            DType dtype = at < 0 ? type(output_) : type(at);
            builder_.output(gradient.is_none() ? builder_.constant(dtype, 0.0) : cast(gradient, dtype));
        }
        return builder_.finish();
    }

    Expression forward(const int* wanted, int wanted_count) {
        reserve_inputs(result_input_ + 1);
        std::vector<Sym> tangents(expression_.nodes.size());
        for (size_t i = 0; i <= static_cast<size_t>(output_); i++) {
            if (!needed_[i]) continue;
            const Node& node = expression_.nodes[i];
            if (node.primitive == Primitive::Input) {
                for (int k = 0; k < wanted_count; k++)
                    if (wanted[k] == node.index()) tangents[i] = builder_.input(expression_.input_count + k, node.type);
                continue;
            }
            for (int k = 0; k < operand_count(node.primitive); k++) {
                const Sym& tangent = tangents[static_cast<size_t>(node.operands[k])];
                if (tangent.is_none()) continue;
                Sym part = push(static_cast<int32_t>(i), k, tangent);
                if (part.is_none()) continue;
                tangents[i] = tangents[i].is_none() ? part : tangents[i] + part;
            }
        }
        const Sym& tangent = tangents[static_cast<size_t>(output_)];
        builder_.output(tangent.is_none() ? builder_.constant(type(output_), 0.0) : tangent);
        return builder_.finish();
    }

private:
    const Expression& expression_;
    ExpressionBuilder builder_;
    std::vector<Sym> values_;
    std::vector<bool> needed_;
    int32_t output_;
    int32_t result_node_ = -1; // the node whose value the result is, if it may be used
    int32_t relu_input_ = -1;  // x in where(x <= k, k, x): its test may look at the result as well
    int input_shift_, result_input_;

    DType type(int32_t node) const { return expression_.nodes[static_cast<size_t>(node)].type; }
    int32_t input_node(int input) const {
        for (size_t i = 0; i < expression_.nodes.size(); i++)
            if (expression_.nodes[i].primitive == Primitive::Input && expression_.nodes[i].index() == input) return static_cast<int32_t>(i);
        return -1;
    }
    void reserve_inputs(int count) {
        builder_.input(count - 1, type(output_)); // dropped at the end if it is unused; the count stays
        if (expression_.scalar_count) builder_.scalar(expression_.scalar_count - 1, DType::Float32);
    }
    void find_result() {
        int32_t at = output_;
        const Node* node = &expression_.nodes[static_cast<size_t>(at)];
        if (node->primitive == Primitive::Cast && is_half(node->type) && type(node->operands[0]) == DType::Float32) {
            at = node->operands[0];
            node = &expression_.nodes[static_cast<size_t>(at)];
        }
        if (derives_by_result(node->primitive)) result_node_ = at; // elsewhere a program may overwrite it
        if (node->primitive == Primitive::Select) {
            const Node& test = expression_.nodes[static_cast<size_t>(node->operands[0])];
            if ((test.primitive == Primitive::Le || test.primitive == Primitive::Lt) && test.operands[0] == node->operands[2] &&
                test.operands[1] == node->operands[1] && !needed_[static_cast<size_t>(node->operands[1])])
                relu_input_ = node->operands[2];
        }
    }

    /// The forward value: the saved result if that is the value, else computed again from the inputs.
    const Sym& value(int32_t at) {
        Sym& known = values_[static_cast<size_t>(at)];
        if (!known.is_none()) return known;
        const Node& from = expression_.nodes[static_cast<size_t>(at)];
        if (at == result_node_) return known = cast(builder_.input(result_input_, type(output_)), from.type);
        if (from.primitive == Primitive::Input) return known = builder_.input(from.index() + input_shift_, from.type);
        Node node = from;
        for (int k = 0; k < operand_count(node.primitive); k++) node.operands[k] = value(node.operands[k]).node();
        return known = Sym(&builder_, builder_.add(node));
    }
    bool is_parameter(int32_t at) const {
        Primitive primitive = expression_.nodes[static_cast<size_t>(at)].primitive;
        if (primitive == Primitive::Cast) return is_parameter(expression_.nodes[static_cast<size_t>(at)].operands[0]);
        return primitive == Primitive::Constant || primitive == Primitive::Scalar;
    }

    /// The gradient of operand k, given the gradient g of value i. None if there is none.
    Sym pull(int32_t i, int k, const Sym& g) {
        const Node& node = expression_.nodes[static_cast<size_t>(i)];
        auto operand = [&](int which) { return value(node.operands[which]); };
        auto self = [&]() { return value(i); };
        auto zero = [&]() { return like(g, 0); };
        auto masked = [&](const Sym& mask) { return where(mask, g, zero()); };
        DType operand_type = type(node.operands[k]);
        const bool complex_operand = is_complex(operand_type);
        switch (node.primitive) {
        case Primitive::Cast:
            if (is_complex(node.type) && !complex_operand) return cast(real(g), operand_type);
            return cast(g, operand_type);
        case Primitive::Add: return g;
        case Primitive::Sub: return k == 0 ? g : -g;
        case Primitive::Neg: return -g;
        case Primitive::Mul: return g * conj(operand(1 - k));
        case Primitive::Div:
            if (k == 0) return g / conj(operand(1));
            return -g * conj(operand(0) / operand(1) / operand(1));
        case Primitive::Fma: return k == 2 ? g : g * operand(1 - k);
        case Primitive::Fmod: return k == 0 ? g : -g * trunc_div(operand(0), operand(1));
        case Primitive::Remainder: return k == 0 ? g : -g * floor_div(operand(0), operand(1));
        case Primitive::Abs:
            if (complex_operand) return make_complex(g, zero()) * sign(operand(0));
            return g * sign(operand(0));
        case Primitive::Sign: {
            if (!complex_operand) return Sym();
            Sym size = abs(operand(0)), direction = sign(operand(0));
            Sym along = real(g * conj(direction));
            Sym across = (g - make_complex(along, like(along, 0)) * direction) / cast(size, operand_type);
            return where(size == 0, zero(), across);
        }
        case Primitive::Min:
        case Primitive::Max: {
            bool least = node.primitive == Primitive::Min;
            Sym a = operand(k), b = operand(1 - k);
            // Against a constant it is a clamp: the edge belongs to the inside. Between values, ties share the
            // gradient.
            if (is_parameter(node.operands[1 - k])) return masked(least ? a <= b : a >= b);
            return where(a == b, g * 0.5, where(least ? a > b : a < b, zero(), g)); // both get all of it beside a NaN, as in PyTorch
        }
        case Primitive::Fmin:
        case Primitive::Fmax: {
            Sym a = operand(0), b = operand(1);
            Sym first = (node.primitive == Primitive::Fmin ? a <= b : a >= b) || isnan(b);
            return k == 0 ? masked(first) : where(first, zero(), g);
        }
        case Primitive::Copysign:
            if (k == 1) return Sym();
            return where(operand(0) == 0, zero(), g * (copysign(operand(0), operand(1)) / operand(0)));
        case Primitive::Nextafter: return k == 0 ? where(operand(0) == operand(1), like(g, 0), g) : Sym();
        case Primitive::Select: {
            if (k == 0) return Sym();
            Sym mask = operand(0);
            if (node.operands[2] == relu_input_) {
                const Node& test = expression_.nodes[static_cast<size_t>(node.operands[0])];
                Sym result = cast(builder_.input(result_input_, type(output_)), node.type);
                mask = result <= value(test.operands[1]);
            }
            return k == 1 ? masked(mask) : where(mask, zero(), g);
        }
        case Primitive::Sqrt: return g / (2 * conj(self()));
        case Primitive::Rsqrt: return -0.5 * g * conj(self() * self() * self());
        case Primitive::Reciprocal: return -g * conj(self() * self());
        case Primitive::Exp: return g * conj(self());
        case Primitive::Exp2: return g * conj(self()) * ln2;
        case Primitive::Expm1: return g * (conj(self()) + 1);
        case Primitive::Log: return g / conj(operand(0));
        case Primitive::Log2: return g / (conj(operand(0)) * ln2);
        case Primitive::Log10: return g / (conj(operand(0)) * ln10);
        case Primitive::Log1p: return g / conj(operand(0) + 1);
        case Primitive::Sin: return g * conj(cos(operand(0)));
        case Primitive::Cos: return g * -conj(sin(operand(0)));
        case Primitive::Tan: return g * conj(1 + self() * self());
        case Primitive::Asin: return g * conj(rsqrt(1 - operand(0) * operand(0)));
        case Primitive::Acos: return g * -conj(rsqrt(1 - operand(0) * operand(0)));
        case Primitive::Atan: return g / conj(operand(0) * operand(0) + 1);
        case Primitive::Atan2: {
            Sym square = operand(0) * operand(0) + operand(1) * operand(1);        // 0 at the origin, as in torch
            Sym inverse = where(square == 0, like(square, 0), reciprocal(square)); // and its own slope there NaN
            return k == 0 ? g * (operand(1) * inverse) : g * (-operand(0) * inverse);
        }
        case Primitive::Sinh: return g * conj(cosh(operand(0)));
        case Primitive::Cosh: return g * conj(sinh(operand(0)));
        case Primitive::Tanh: return g * conj(1 - self() * self());
        case Primitive::Asinh: return g * conj(rsqrt(operand(0) * operand(0) + 1));
        case Primitive::Acosh:
            if (complex_operand) return g * conj(rsqrt(operand(0) + 1) * rsqrt(operand(0) - 1));
            return g * rsqrt(operand(0) * operand(0) - 1);
        case Primitive::Atanh: return g / conj(1 - operand(0) * operand(0));
        case Primitive::Sigmoid: return g * conj((1 - self()) * self());
        case Primitive::Erf: return g * two_over_root_pi * exp(-(operand(0) * operand(0)));
        case Primitive::Erfc: return g * -two_over_root_pi * exp(-(operand(0) * operand(0)));
        case Primitive::Erfinv: return g * (1 / two_over_root_pi) * exp(self() * self());
        case Primitive::Erfcx: return (2 * operand(0) * self() - two_over_root_pi) * g;
        case Primitive::Ndtri: return g * 2.5066282746310002 * exp(self() * self() * 0.5);
        case Primitive::Lgamma: return g * digamma(operand(0));
        case Primitive::Digamma: return g * trigamma(operand(0));
        case Primitive::Zeta:
            if (k == 0) fail(ErrorKind::NotImplemented, "the derivative of zeta with respect to its first argument is not there");
            return g * -operand(0) * zeta(operand(0) + 1, operand(1));
        case Primitive::I0: return g * i1(operand(0));
        case Primitive::I0e: return g * (i1e(operand(0)) - sign(operand(0)) * self());
        case Primitive::I1: {
            // 0 / 0 would spoil the second derivative, and i1(x) / x of what is next to nothing has no digits in it.
            Sym x = operand(0), tiny = next_to_nothing(x), safe = where(tiny, like(x, 1), x);
            return g * where(tiny, like(x, 0.5), i0(x) - self() / safe);
        }
        case Primitive::I1e: {
            Sym x = operand(0), tiny = next_to_nothing(x), safe = where(tiny, like(x, 1), x);
            return g * where(tiny, like(x, 0.5), i0e(x) - self() * (sign(x) + reciprocal(safe)));
        }
        case Primitive::Pow: {
            Sym base = operand(0), exponent = operand(1);
            if (k == 0) {
                const Node& power = expression_.nodes[static_cast<size_t>(node.operands[1])];
                Sym slope = g * conj(exponent * pow(base, exponent - 1));
                if (power.primitive == Primitive::Constant && power.value.to_complex(power.type) != 0.0) return slope;
                return where(exponent == 0, zero(), slope);
            }
            Sym edge = base == 0;
            edge = is_complex(node.type) ? edge && (real(exponent) >= 0) : edge && (exponent >= 0);
            return where(edge, zero(), g * conj(self() * log(base)));
        }
        case Primitive::Hypot: return g * (operand(k) / self());
        case Primitive::Logaddexp: return g / conj(1 + exp(operand(1 - k) - operand(k)));
        case Primitive::Logaddexp2: return g / (1 + exp2(operand(1 - k) - operand(k)));
        case Primitive::Frac: return g;
        case Primitive::FrexpMantissa: return g / exp2(frexp_exponent(operand(0)));
        case Primitive::Real: return make_complex(g, zero());
        case Primitive::Imag: return make_complex(zero(), g);
        case Primitive::Conj: return conj(g);
        case Primitive::MakeComplex: return k == 0 ? real(g) : imag(g);
        case Primitive::Angle: {
            if (!complex_operand) return Sym();
            Sym z = operand(0), square = real(z) * real(z) + imag(z) * imag(z);
            Sym none = like(square, 0);
            return where(z == 0, make_complex(none, none), make_complex(-imag(z) / square * g, real(z) / square * g));
        }
        default: return Sym(); // rounding, comparisons, integer quotients
        }
    }

    /// The tangent of value i from the tangent of operand k. The partials above are factors and serve both directions.
    Sym push(int32_t i, int k, const Sym& tangent) {
        const Node& node = expression_.nodes[static_cast<size_t>(i)];
        DType operand_type = type(node.operands[k]);
        switch (node.primitive) {
        case Primitive::Cast: return cast(tangent, node.type);
        case Primitive::Real: return real(tangent);
        case Primitive::Imag: return imag(tangent);
        case Primitive::Conj: return conj(tangent);
        case Primitive::MakeComplex: return k == 0 ? make_complex(tangent, like(tangent, 0)) : make_complex(like(tangent, 0), tangent);
        case Primitive::Abs:
        case Primitive::Angle:
            if (is_complex(operand_type)) {
                Sym slope = pull(i, k, builder_.constant(node.type, 1.0));
                return real(conj(slope) * tangent);
            }
            break;
        case Primitive::Sign:
            if (is_complex(operand_type)) return pull(i, k, tangent); // symmetric, not complex linear
            break;
        default: break;
        }
        Sym part = pull(i, k, conj(tangent));
        return part.is_none() ? part : conj(part);
    }
};

} // namespace

Expression differentiate(const Expression& expression, const int* wanted, int wanted_count) {
    return Differentiation(expression, wanted, wanted_count, true).reverse(wanted, wanted_count);
}

Expression differentiate_forward(const Expression& expression, const int* wanted, int wanted_count) {
    return Differentiation(expression, wanted, wanted_count, false).forward(wanted, wanted_count);
}

} // namespace kindling
