// kernels/expression.cpp: verifies, prints and hashes expressions; scalars in the form that tiles hold.
// Compiled for size.
#include "kernels/expression.h"

#include <cstring>

#include "core/error.h"
#include "kernels/tile/tile.h"

namespace kindling {

namespace {

enum class Rule : uint8_t {
    Leaf,
    Any,
    Number,
    Real,
    Float,
    RealFloat,
    Bits,
    Integral,
    Compare,
    Order,
    Test,
    Part,
    Norm,
    Ordered,
    RealTest,
    FloatNorm,
    Special
};

enum class Fact : uint8_t { Plain, ByResult, Cheap };

struct PrimitiveFacts {
    char name[14];
    char operator_name[27];
    uint8_t operands;
    Rule rule;
    Fact fact;
};
constexpr PrimitiveFacts facts[] = {
#define X(NAME, OPERANDS, RULE, OPERATOR, FACT) {#NAME, OPERATOR, OPERANDS, Rule::RULE, Fact::FACT},
    KINDLING_FOR_EACH_PRIMITIVE(X)
#undef X
};
constexpr const PrimitiveFacts& facts_of(Primitive primitive) { return facts[static_cast<int>(primitive)]; }

bool allowed(Rule rule, DType type) {
    bool boolean = type == DType::Bool, integral = is_integral(type), complex = is_complex(type), real = is_floating(type);
    switch (rule) {
    case Rule::Leaf:
    case Rule::Any:
    case Rule::Compare:
    case Rule::Special: return type != DType::None;
    case Rule::Number:
    case Rule::Norm: return integral || real || complex;
    case Rule::Real:
    case Rule::RealTest: return integral || real;
    case Rule::Float:
    case Rule::Test:
    case Rule::FloatNorm: return real || complex;
    case Rule::RealFloat: return real;
    case Rule::Bits: return boolean || integral;
    case Rule::Integral: return integral;
    case Rule::Order:
    case Rule::Ordered: return boolean || integral || real;
    case Rule::Part: return complex;
    }
    return false;
}

DType result_type(const PrimitiveFacts& fact, DType type) {
    switch (fact.rule) {
    case Rule::Compare:
    case Rule::Order:
    case Rule::Test:
    case Rule::RealTest: return DType::Bool;
    case Rule::Part:
    case Rule::Norm:
    case Rule::FloatNorm: return to_real(type);
    default: return type;
    }
}

template <class T> void put(Immediate& to, const T& value) {
    static_assert(sizeof(T) <= sizeof(to.bits));
    std::memcpy(to.bits, &value, sizeof value);
}
template <class T> T get(const Immediate& from) {
    T value;
    std::memcpy(&value, from.bits, sizeof value);
    return value;
}

void put_integer(Immediate& to, DType type, uint64_t value) {
    switch (item_size(type)) {
    case 1: put(to, static_cast<uint8_t>(value)); break;
    case 2: put(to, static_cast<uint16_t>(value)); break;
    case 4: put(to, static_cast<uint32_t>(value)); break;
    default: put(to, value); break;
    }
}

uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

} // namespace

const char* name(Primitive primitive) { return facts_of(primitive).name; }
int operand_count(Primitive primitive) { return facts_of(primitive).operands; }
const char* operator_of(Primitive primitive) { return facts_of(primitive).operator_name; }
bool derives_by_result(Primitive primitive) { return facts_of(primitive).fact == Fact::ByResult; }
bool is_cheap(Primitive primitive) { return facts_of(primitive).fact == Fact::Cheap; }

DType primitive_result_type(Primitive primitive, DType type) { return result_type(facts_of(primitive), type); }
bool primitive_allows(Primitive primitive, DType type) { return allowed(facts_of(primitive).rule, type); }

Immediate Immediate::of(DType type, std::complex<double> value) {
    Immediate result;
    switch (type) {
    case DType::Float32: put(result, static_cast<float>(value.real())); break;
    case DType::Float16: put(result, to_float(to_half(static_cast<float>(value.real())))); break;
    case DType::BFloat16: put(result, to_float(to_bfloat16(static_cast<float>(value.real())))); break;
    case DType::Float64: put(result, value.real()); break;
    case DType::Complex64: put(result, std::complex<float>(value)); break;
    case DType::Complex128: put(result, value); break;
    case DType::Bool: put(result, static_cast<uint8_t>(value != 0.0)); break;
    default: {
        if (is_float8(type)) {
            put(result, to_float(type, to_float8(type, static_cast<float>(value.real()))));
            break;
        }
        double real = value.real();
        constexpr double half_range = 9223372036854775808.0;
        uint64_t bits = uint64_t{1} << 63; // what the processor gives for NaN and out of range
        if (is_unsigned(type) && real >= half_range && real < 2 * half_range) bits = static_cast<uint64_t>(real);
        else if (real >= -half_range && real < half_range) bits = static_cast<uint64_t>(static_cast<int64_t>(real));
        put_integer(result, type, bits);
    }
    }
    return result;
}
Immediate Immediate::of(DType type, double value) { return of(type, std::complex<double>(value)); }
Immediate Immediate::of(DType type, int64_t value) {
    Immediate result;
    if (is_floating(type) || is_complex(type)) return of(type, static_cast<double>(value));
    put_integer(result, type, type == DType::Bool ? value != 0 : static_cast<uint64_t>(value));
    return result;
}
Immediate Immediate::of(DType type, uint64_t value) {
    if (is_floating(type) || is_complex(type)) return of(type, static_cast<double>(value));
    return of(type, static_cast<int64_t>(value));
}

std::complex<double> Immediate::to_complex(DType type) const {
    switch (value_type(type)) {
    case DType::Float32: return static_cast<double>(get<float>(*this));
    case DType::Float64: return get<double>(*this);
    case DType::Complex64: return std::complex<double>(get<std::complex<float>>(*this));
    case DType::Complex128: return get<std::complex<double>>(*this);
    case DType::UInt64: return static_cast<double>(bits[0]);
    default: return static_cast<double>(to_int(type));
    }
}

int64_t Immediate::to_int(DType type) const {
    switch (type) {
    case DType::Bool:
    case DType::UInt8: return get<uint8_t>(*this);
    case DType::Int8: return get<int8_t>(*this);
    case DType::Int16: return get<int16_t>(*this);
    case DType::UInt16: return get<uint16_t>(*this);
    case DType::Int32: return get<int32_t>(*this);
    case DType::UInt32: return get<uint32_t>(*this);
    case DType::Int64:
    case DType::UInt64: return static_cast<int64_t>(bits[0]);
    default: return static_cast<int64_t>(to_double(type));
    }
}

Expression::Expression(const Expression& other)
    : nodes(other.nodes), outputs(other.outputs), input_count(other.input_count), scalar_count(other.scalar_count) {}

Expression::~Expression() { delete_program(__atomic_load_n(&program_, __ATOMIC_RELAXED)); }

void Expression::swap(Expression& other) noexcept {
    nodes.swap(other.nodes);
    outputs.swap(other.outputs);
    std::swap(input_count, other.input_count);
    std::swap(scalar_count, other.scalar_count);
    std::swap(program_, other.program_);
}

bool Expression::uses_input(int input) const {
    for (const Node& node : nodes)
        if (node.primitive == Primitive::Input && node.index() == input) return true;
    return false;
}

bool Expression::operator==(const Expression& other) const {
    return input_count == other.input_count && scalar_count == other.scalar_count && outputs == other.outputs && nodes == other.nodes;
}

uint64_t Expression::hash() const {
    uint64_t result = mix(static_cast<uint64_t>(input_count), static_cast<uint64_t>(scalar_count));
    for (const Node& node : nodes) result = mix(result, hash_node(node));
    for (int32_t output : outputs) result = mix(result, static_cast<uint64_t>(output));
    return result;
}

uint64_t hash_node(const Node& node) {
    uint64_t result = mix(static_cast<uint64_t>(node.primitive), static_cast<uint64_t>(node.type));
    for (int32_t operand : node.operands) result = mix(result, static_cast<uint64_t>(operand));
    return mix(mix(result, node.value.bits[0]), node.value.bits[1]);
}

std::string Expression::to_string() const {
    std::string text;
    for (size_t i = 0; i < nodes.size(); i++) {
        const Node& node = nodes[i];
        text += format("%%%zu = %s", i, name(node.primitive));
        if (node.primitive == Primitive::Constant) {
            std::complex<double> value = node.value.to_complex(node.type);
            if (kindling::is_complex(node.type)) text += format(" (%.17g, %.17g)", value.real(), value.imag());
            else if (is_floating(node.type)) text += format(" %.17g", value.real());
            else text += format(" %lld", static_cast<long long>(node.value.to_int(node.type)));
        } else if (operand_count(node.primitive) == 0) {
            text += format(" %d", node.index());
        }
        for (int k = 0; k < operand_count(node.primitive); k++) text += format(k ? ", %%%d" : " %%%d", node.operands[k]);
        text += format(": %s\n", kindling::name(node.type));
    }
    text += "return";
    for (int32_t output : outputs) text += format(" %%%d", output);
    return text + "\n";
}

void Expression::verify() const {
    auto check = [&](bool good, size_t at, const char* what) {
        if (!good) fail(ErrorKind::Internal, "internal error: value %%%zu of an expression %s:\n%s", at, what, to_string().c_str());
    };
    for (size_t i = 0; i < nodes.size(); i++) {
        const Node& node = nodes[i];
        check(static_cast<int>(node.primitive) < primitive_count, i, "is no primitive");
        const PrimitiveFacts& fact = facts_of(node.primitive);
        check(node.type < DType::None, i, "has no dtype");
        for (int k = 0; k < 3; k++) {
            int32_t operand = node.operands[k];
            check(k < fact.operands ? operand >= 0 && static_cast<size_t>(operand) < i : operand == -1, i, "has wrong operands");
        }
        auto type = [&](int k) { return nodes[static_cast<size_t>(node.operands[k])].type; };
        switch (node.primitive) {
        case Primitive::Input: check(node.index() >= 0 && node.index() < input_count, i, "is no input"); break;
        case Primitive::Scalar: check(node.index() >= 0 && node.index() < scalar_count, i, "is no scalar slot"); break;
        case Primitive::Index: check(node.type == DType::Int64, i, "must be int64"); break;
        case Primitive::Constant:
        case Primitive::Cast: break;
        case Primitive::Select:
            check(type(0) == DType::Bool && type(1) == node.type && type(2) == node.type, i, "selects among wrong dtypes");
            break;
        case Primitive::MakeComplex:
            check(kindling::is_complex(node.type) && type(0) == to_real(node.type) && type(1) == type(0), i, "has wrong dtypes");
            break;
        default:
            for (int k = 0; k < fact.operands; k++) {
                if (!allowed(fact.rule, type(k)))
                    fail(ErrorKind::NotImplemented, "\"%s_cpu\" not implemented for '%s'", fact.name, scalar_type_name(type(k)));
                check(type(k) == type(0), i, "has operands of different dtypes");
            }
            check(node.type == result_type(fact, type(0)), i, "has the wrong dtype");
        }
    }
    for (int32_t output : outputs)
        check(output >= 0 && static_cast<size_t>(output) < nodes.size(), static_cast<size_t>(output), "is no output");
}

const TileProgram& Expression::program() const {
    const TileProgram* have = __atomic_load_n(&program_, __ATOMIC_ACQUIRE);
    if (have) [[likely]]
        return *have;
    verify();
    const TileProgram* made = make_program(*this);
    if (__atomic_compare_exchange_n(&program_, &have, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return *made;
    delete_program(made); // another thread was first
    return *have;
}

} // namespace kindling
