// kernels/symbol.cpp: expressions from symbols: hash-consing, literals, promotion, folding.
// Compiled for size.
#include "kernels/symbol.h"

#include <cmath>

#include "core/error.h"
#include "kernels/tile/tile.h"

namespace kindling {

namespace {

bool is_literal(const Sym& x) { return x.kind() == Sym::Kind::Literal || x.kind() == Sym::Kind::Flag; }

ExpressionBuilder* builder_of(std::initializer_list<const Sym*> values) {
    for (const Sym* x : values) {
        if (x->is_node()) return x->builder();
        KINDLING_ASSERT(is_literal(*x)); // texts and none take no part in arithmetic
    }
    return nullptr;
}

/// Two literals: only what bodies write among numbers of their own.
Sym fold_literals(Primitive primitive, const Sym& x, const Sym& y) {
    double a = x.number(), b = y.number();
    KINDLING_ASSERT(x.complex().imag() == 0 && y.complex().imag() == 0);
    bool whole = x.whole() && y.whole();
    switch (primitive) {
    case Primitive::Add: return whole ? Sym(x.integer() + y.integer()) : Sym(a + b);
    case Primitive::Sub: return whole ? Sym(x.integer() - y.integer()) : Sym(a - b);
    case Primitive::Mul: return whole ? Sym(x.integer() * y.integer()) : Sym(a * b);
    case Primitive::Div: return Sym(a / b);
    case Primitive::Min: return a < b ? x : y;
    case Primitive::Max: return a > b ? x : y;
    case Primitive::Eq: return Sym(a == b);
    case Primitive::Ne: return Sym(a != b);
    case Primitive::Lt: return Sym(a < b);
    case Primitive::Le: return Sym(a <= b);
    case Primitive::Gt: return Sym(a > b);
    case Primitive::Ge: return Sym(a >= b);
    case Primitive::And: return Sym(x.flag() && y.flag());
    case Primitive::Or: return Sym(x.flag() || y.flag());
    default: fail(ErrorKind::Internal, "internal error: %s of two literals in a scalar body", name(primitive));
    }
}

bool is_constant(const Sym& x, double value) {
    const Node& node = x.builder()->node(x.node());
    return node.primitive == Primitive::Constant && node.value.to_complex(node.type) == value;
}

/// The common dtype of the values that have one; a literal that does not fit an integer dtype makes it float32.
DType common_type(std::initializer_list<const Sym*> values) {
    DType type = DType::None;
    for (const Sym* x : values)
        if (x->is_node()) {
            DType promoted = type == DType::None ? x->dtype() : promote(type, x->dtype());
            KINDLING_CHECK(Runtime, promoted != DType::None,
                           "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote %s and %s",
                           scalar_type_name(type), scalar_type_name(x->dtype()));
            type = promoted;
        }
    for (const Sym* x : values)
        if (x->kind() == Sym::Kind::Literal) {
            if (x->complex().imag() != 0) type = to_complex(type);
            else if (!x->whole() && category(type) < 2) type = DType::Float32;
            else if (type == DType::Bool) type = DType::Int64;
        }
    return type;
}

} // namespace

DType Sym::dtype() const { return kind_ == Kind::Node ? builder_->type(node_) : DType::None; }

Sym Sym::convert(const Sym& x, DType type, ExpressionBuilder* builder) {
    if (!x.is_node()) {
        KINDLING_ASSERT(is_literal(x));
        if (!builder) return x; // a literal stays one until it meets a value
        if (x.whole_) return builder->constant(type, Immediate::of(type, x.int_));
        return builder->constant(type, x.complex());
    }
    if (x.dtype() == type) return x;
    const Node& from = x.builder_->node(x.node_);
    if (from.primitive == Primitive::Constant) {
        // A constant is cast as C++ would; a NaN has no integer to be.
        if (kindling::is_floating(from.type) || kindling::is_complex(from.type)) {
            std::complex<double> value = from.value.to_complex(from.type);
            if (category(type) >= 2 || std::isfinite(value.real())) return x.builder_->constant(type, Immediate::of(type, value));
        } else if (from.type != DType::UInt64) {
            return x.builder_->constant(type, Immediate::of(type, from.value.to_int(from.type)));
        }
    }
    // narrow -> float -> narrow changes nothing
    if (from.primitive == Primitive::Cast && is_narrow(type) && from.type == DType::Float32 && x.builder_->type(from.operands[0]) == type)
        return Sym(x.builder_, from.operands[0]);
    Node node;
    node.primitive = Primitive::Cast;
    node.type = type;
    node.operands[0] = x.node_;
    return Sym(x.builder_, x.builder_->add(node));
}

Sym Sym::unary(Primitive primitive, const Sym& x) {
    if (is_literal(x)) {
        switch (primitive) {
        case Primitive::Neg: return x.whole_ ? Sym(-x.int_) : Sym(-x.complex());
        case Primitive::Not: return Sym(!x.flag());
        case Primitive::Abs: return Sym(std::abs(x.real_));
        case Primitive::Exp: return Sym(std::exp(x.real_));
        case Primitive::Log: return Sym(std::log(x.real_));
        case Primitive::Sqrt: return Sym(std::sqrt(x.real_));
        default: fail(ErrorKind::Internal, "internal error: %s of a literal in a scalar body", name(primitive));
        }
    }
    KINDLING_ASSERT(x.is_node());
    DType type = x.dtype();
    bool real = !kindling::is_complex(type);
    switch (primitive) { // what changes nothing
    case Primitive::Conj:
    case Primitive::Real:
        if (real) return x;
        break;
    case Primitive::Imag:
        if (real) return x.builder_->constant(type, Immediate::of(type, 0));
        break;
    case Primitive::Floor:
    case Primitive::Ceil:
    case Primitive::Round:
    case Primitive::Trunc:
        if (category(type) < 2) return x;
        break;
    case Primitive::Abs:
        if (is_unsigned(type)) return x;
        break;
    case Primitive::IsNan:
    case Primitive::IsInf:
        if (category(type) < 2) return x.builder_->constant(DType::Bool, Immediate::of(DType::Bool, 0));
        break;
    case Primitive::Neg: {
        const Node& from = x.builder_->node(x.node_);
        if (from.primitive == Primitive::Neg) return Sym(x.builder_, from.operands[0]);
        if (from.primitive == Primitive::Constant && category(type) >= 2)
            return x.builder_->constant(type, Immediate::of(type, -from.value.to_complex(from.type)));
        break;
    }
    default: break;
    }
    const Sym* value = &x;
    Sym promoted;
    if (!primitive_allows(primitive, type) && category(type) < 2) { // sqrt of an integer and the like
        promoted = convert(x, type == DType::Bool && primitive_allows(primitive, DType::Int64) ? DType::Int64 : DType::Float32);
        value = &promoted;
    }
    Node node;
    node.primitive = primitive;
    node.type = primitive_result_type(primitive, value->dtype());
    node.operands[0] = value->node_;
    return Sym(x.builder_, x.builder_->add(node));
}

Sym Sym::binary(Primitive primitive, const Sym& x, const Sym& y) {
    ExpressionBuilder* builder = builder_of({&x, &y});
    if (!builder) return fold_literals(primitive, x, y);
    DType type = common_type({&x, &y});
    if (!primitive_allows(primitive, type)) {
        if (type == DType::Bool && primitive_allows(primitive, DType::Int64)) type = DType::Int64;
        else if (category(type) < 2 && primitive_allows(primitive, DType::Float32)) type = DType::Float32;
    }
    Sym a = convert(x, type, builder), b = convert(y, type, builder);
    bool floating = category(type) >= 2;
    switch (primitive) { // only what is exact, signed zeros and NaN included
    case Primitive::Mul:
        if (is_constant(a, 1)) return b;
        if (is_constant(b, 1)) return a;
        break;
    case Primitive::Div:
        if (is_constant(b, 1)) return a;
        break;
    case Primitive::Add:
        if (!floating && is_constant(a, 0)) return b;
        if (!floating && is_constant(b, 0)) return a;
        break;
    case Primitive::Sub:
        if (is_constant(b, 0) && !std::signbit(builder->node(b.node_).value.to_double(type))) return a;
        break;
    case Primitive::Pow: // torch's special cases
        if (is_constant(b, 1)) return a;
        if (is_constant(b, 2)) return a * a;
        if (floating && is_constant(b, 0.5)) return unary(Primitive::Sqrt, a);
        if (is_constant(b, 3)) return a * a * a;
        if (floating && is_constant(b, -1)) return unary(Primitive::Reciprocal, a);
        if (floating && is_constant(b, -0.5)) return unary(Primitive::Rsqrt, a);
        if (floating && is_constant(b, -2)) return unary(Primitive::Reciprocal, a * a);
        break;
    case Primitive::And:
    case Primitive::Or:
        if (type == DType::Bool) {
            bool one = primitive == Primitive::And;
            if (a.node_ == b.node_ || is_constant(a, one)) return b;
            if (is_constant(b, one)) return a;
        }
        break;
    default: break;
    }
    const Node& na = builder->node(a.node_);
    const Node& nb = builder->node(b.node_);
    if (na.primitive == Primitive::Constant && nb.primitive == Primitive::Constant && (type == DType::Float64 || type == DType::Float32)) {
        double p = na.value.to_double(type), q = nb.value.to_double(type);
        switch (primitive) { // a double holds the sum or product of two floats well enough to round once more
        case Primitive::Add: return builder->constant(type, Immediate::of(type, p + q));
        case Primitive::Sub: return builder->constant(type, Immediate::of(type, p - q));
        case Primitive::Mul: return builder->constant(type, Immediate::of(type, p * q));
        case Primitive::Div: return builder->constant(type, Immediate::of(type, p / q));
        default: break;
        }
    }
    Node node;
    node.primitive = primitive;
    node.type = primitive == Primitive::MakeComplex ? to_complex(type) : primitive_result_type(primitive, type);
    node.operands[0] = a.node_;
    node.operands[1] = b.node_;
    return Sym(builder, builder->add(node));
}

Sym Sym::ternary(Primitive primitive, const Sym& x, const Sym& y, const Sym& z) {
    if (primitive == Primitive::Select) {
        if (is_literal(x)) return x.flag() ? y : z;
        ExpressionBuilder* builder = builder_of({&x, &y, &z});
        DType type = common_type({&y, &z});
        if (type == DType::None) {
            bool flags = y.kind() == Kind::Flag && z.kind() == Kind::Flag, whole = y.whole() && z.whole();
            type = flags ? DType::Bool : whole ? DType::Int64 : DType::Float32;
        }
        Sym c = convert(x, DType::Bool), a = convert(y, type, builder), b = convert(z, type, builder);
        if (a.node_ == b.node_) return a;
        const Node& condition = builder->node(c.node_);
        if (condition.primitive == Primitive::Constant) return condition.value.bits[0] ? a : b;
        Node node;
        node.primitive = Primitive::Select;
        node.type = type;
        node.operands[0] = c.node_;
        node.operands[1] = a.node_;
        node.operands[2] = b.node_;
        return Sym(builder, builder->add(node));
    }
    ExpressionBuilder* builder = builder_of({&x, &y, &z});
    KINDLING_ASSERT(builder);
    DType type = common_type({&x, &y, &z});
    Node node;
    node.primitive = primitive;
    node.type = type;
    node.operands[0] = convert(x, type, builder).node_;
    node.operands[1] = convert(y, type, builder).node_;
    node.operands[2] = convert(z, type, builder).node_;
    return Sym(builder, builder->add(node));
}

int32_t ExpressionBuilder::add(const Node& node) {
    std::vector<int32_t>& same = known_[hash_node(node)];
    for (int32_t known : same)
        if (expression_.nodes[static_cast<size_t>(known)] == node) return known;
    int32_t at = static_cast<int32_t>(expression_.nodes.size());
    expression_.nodes.push_back(node);
    same.push_back(at);
    return at;
}

namespace {
Node leaf(Primitive primitive, DType type, int which) {
    Node node;
    node.primitive = primitive;
    node.type = type;
    node.value.bits[0] = static_cast<uint64_t>(which);
    return node;
}
} // namespace

Sym ExpressionBuilder::input(int which, DType type) {
    if (which >= expression_.input_count) expression_.input_count = which + 1;
    return Sym(this, add(leaf(Primitive::Input, type, which)));
}
Sym ExpressionBuilder::scalar(int which, DType type) {
    if (which >= expression_.scalar_count) expression_.scalar_count = which + 1;
    return Sym(this, add(leaf(Primitive::Scalar, type, which)));
}
Sym ExpressionBuilder::index(int dim) { return Sym(this, add(leaf(Primitive::Index, DType::Int64, dim))); }
Sym ExpressionBuilder::constant(DType type, const Immediate& value) {
    Node node;
    node.primitive = Primitive::Constant;
    node.type = type;
    node.value = value;
    return Sym(this, add(node));
}
void ExpressionBuilder::output(const Sym& value) {
    KINDLING_ASSERT(value.is_node() && value.builder() == this);
    expression_.outputs.push_back(value.node());
}

std::vector<Sym> ExpressionBuilder::append(const Expression& other, const Sym* inputs, const Sym* scalars) {
    std::vector<int32_t> map;
    for (const Node& from : other.nodes) {
        if (from.primitive == Primitive::Input || from.primitive == Primitive::Scalar) {
            const Sym& given = (from.primitive == Primitive::Input ? inputs : scalars)[from.index()];
            map.push_back(Sym::convert(given, from.type, this).node());
            continue;
        }
        Node node = from;
        for (int32_t& operand : node.operands)
            if (operand >= 0) operand = map[static_cast<size_t>(operand)];
        map.push_back(add(node));
    }
    std::vector<Sym> results;
    for (int32_t output : other.outputs) results.push_back(Sym(this, map[static_cast<size_t>(output)]));
    return results;
}

Expression ExpressionBuilder::finish() {
    std::vector<Node>& nodes = expression_.nodes;
    std::vector<int32_t> map(nodes.size(), -1);
    for (int32_t output : expression_.outputs) map[static_cast<size_t>(output)] = 0;
    for (size_t i = nodes.size(); i-- > 0;)
        if (map[i] == 0)
            for (int32_t operand : nodes[i].operands)
                if (operand >= 0) map[static_cast<size_t>(operand)] = 0;
    size_t kept = 0;
    for (size_t i = 0; i < nodes.size(); i++) {
        if (map[i] < 0) continue;
        Node node = nodes[i];
        for (int32_t& operand : node.operands)
            if (operand >= 0) operand = map[static_cast<size_t>(operand)];
        map[i] = static_cast<int32_t>(kept);
        nodes[kept++] = node;
    }
    nodes.resize(kept);
    for (int32_t& output : expression_.outputs) output = map[static_cast<size_t>(output)];
    Expression result = static_cast<Expression&&>(expression_);
    expression_ = Expression();
    known_.clear();
    return result;
}

Expression build_expression(const ScalarBody& body, const Sym* arguments, const DType* types, DType compute, DType result, bool mask,
                            uint32_t narrow) {
    ExpressionBuilder builder;
    builder.computed = compute;
    DType inner = value_type(compute);
    std::vector<Sym> values;
    for (int i = 0; i < body.arity; i++) {
        if (types[i] == DType::None) {
            values.push_back(arguments[i]);
            continue;
        }
        Sym value = arguments[i].kind() == Sym::Kind::Literal ? builder.scalar(types[i]) : builder.input(types[i]);
        DType to = mask && i > 0 ? result : compute == DType::None ? DType::None : inner;
        if (narrow >> i & 1) value = Sym::convert(value, compute);
        values.push_back(to == DType::None ? value : Sym::convert(value, to));
    }
    body.build(builder, values.data());
    Expression raw = builder.finish();
    if (result == DType::None) return raw;
    ExpressionBuilder outer;
    std::vector<Sym> inputs, scalars;
    for (int i = 0; i < body.arity; i++)
        if (types[i] != DType::None) {
            bool scalar = arguments[i].kind() == Sym::Kind::Literal;
            (scalar ? scalars : inputs).push_back(scalar ? outer.scalar(types[i]) : outer.input(types[i]));
        }
    for (const Sym& output : outer.append(raw, inputs.data(), scalars.data()))
        outer.output(is_narrow(result) && !output.is_floating() ? output : Sym::convert(output, result));
    return outer.finish();
}

} // namespace kindling
