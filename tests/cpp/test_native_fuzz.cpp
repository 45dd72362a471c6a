// The native executor against the tile executor: the same bits (but for what a NaN looks like) over random expressions,
// every operator, dtype and instruction set, sizes, strides, tails, broadcasting, in-place runs and reductions.
// test_native_fuzz [kernels] [seed]; a failure prints the seed that repeats it alone.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/loop.h"
#include "kernels/native/native.h"
#include "kernels/symbol.h"
#include "kernels/tile/move.h"
#include "kernels/tile/tile.h"
#include "tests/cpp/check.h"

using namespace kindling;

namespace {

uint64_t state;
uint64_t bits() {
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
int below(int n) { return static_cast<int>(bits() % static_cast<uint64_t>(n)); }
bool chance(int percent) { return below(100) < percent; }
double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

const DType dtypes[] = {DType::Float32, DType::Float32,  DType::Float32, DType::Float32, DType::Float64, DType::Float64,
                        DType::Float16, DType::BFloat16, DType::Int32,   DType::Int64,   DType::UInt8,   DType::Int8,
                        DType::Int16,   DType::UInt16,   DType::UInt32,  DType::UInt64,  DType::Bool,    DType::Complex64};

double number() {
    switch (below(12)) {
    case 0: return 0.0;
    case 1: return -0.0;
    case 2: return std::numeric_limits<double>::infinity() * (chance(50) ? 1 : -1);
    case 3: return std::numeric_limits<double>::quiet_NaN();
    case 4: return std::ldexp(uniform() - 0.5, below(600) - 300);
    case 5: return std::ldexp(uniform() - 0.5, below(80) - 40);
    case 6: return std::ldexp(uniform(), -below(160));
    case 7: return below(41) - 20;
    case 8: return (uniform() - 0.5) * 4e6;
    default: return (uniform() - 0.5) * 8;
    }
}

void fill(DType type, char* to) {
    if (type == DType::Bool) {
        *to = static_cast<char>(chance(50));
    } else if (is_half(type)) {
        float value = static_cast<float>(number());
        uint16_t half = type == DType::Float16 ? to_half(value).bits : to_bfloat16(value).bits;
        std::memcpy(to, &half, 2);
    } else if (category(type) < 2) {
        uint64_t value = chance(50) ? bits() : static_cast<uint64_t>(static_cast<int64_t>(below(21) - 10));
        std::memcpy(to, &value, item_size(type));
    } else if (is_complex(type)) {
        Immediate value = Immediate::of(type, std::complex<double>(number(), number()));
        std::memcpy(to, &value, item_size(type));
    } else {
        Immediate value = Immediate::of(type, number());
        std::memcpy(to, &value, item_size(type));
    }
}

bool same(DType type, const char* a, const char* b) {
    if (!std::memcmp(a, b, item_size(type))) return true;
    if (is_half(type)) {
        uint16_t p, q;
        std::memcpy(&p, a, 2), std::memcpy(&q, b, 2);
        const uint16_t infinity = type == DType::Float16 ? 0x7C00 : 0x7F80;
        return (p & 0x7FFF) > infinity && (q & 0x7FFF) > infinity;
    }
    auto nan = [](double x) { return x != x; };
    if (type == DType::Float32) {
        float p, q;
        std::memcpy(&p, a, 4), std::memcpy(&q, b, 4);
        return nan(p) && nan(q);
    }
    if (type == DType::Float64) {
        double p, q;
        std::memcpy(&p, a, 8), std::memcpy(&q, b, 8);
        return nan(p) && nan(q);
    }
    if (is_complex(type)) {
        DType part = to_real(type);
        size_t size = item_size(part);
        return same(part, a, b) && same(part, a + size, b + size);
    }
    return false;
}

Sym random_value(const std::vector<Sym>& values) {
    // Later values more often: chains rather than bushes.
    size_t n = values.size();
    size_t at = chance(60) && n > 4 ? n - 1 - static_cast<size_t>(below(4)) : static_cast<size_t>(below(static_cast<int>(n)));
    return values[at];
}

bool is_division(Primitive primitive) {
    return primitive == Primitive::FloorDiv || primitive == Primitive::TruncDiv || primitive == Primitive::Fmod ||
           primitive == Primitive::Remainder;
}

/// Grows an expression; the primitive that everything must contain comes first.
Expression random_expression(Primitive wanted, int size, int most_outputs, bool folds, bool rows) {
    ExpressionBuilder builder;
    std::vector<Sym> values;
    int inputs = 1 + below(5);
    for (int i = 0; i < inputs; i++) {
        DType type = dtypes[below(sizeof dtypes / sizeof *dtypes)];
        if (type == DType::Complex64 && chance(80)) type = DType::Float32;
        values.push_back(builder.input(type));
    }
    for (int i = below(3); i > 0; i--) values.push_back(builder.scalar(chance(70) ? DType::Float32 : DType::Int64));
    if (chance(10)) values.push_back(builder.index(0));
    for (int i = 0; i < size; i++) {
        Primitive primitive = i == 0 ? wanted : static_cast<Primitive>(below(primitive_count));
        if (primitive == Primitive::RowSum || primitive == Primitive::RowMax) continue; // of row kernels
        Sym x = random_value(values), y = random_value(values), z = random_value(values);
        if (rows && chance(20) && is_floating(x.dtype()) && !is_complex(values[0].dtype())) {
            x = x + cast(values[0], x.dtype()); // what is folded lies along the row
            values.push_back(chance(60) ? row_sum(x) : row_max(x));
            values.push_back(chance(50) ? y - like(y, 1) : values.back());
            continue;
        }
        if (chance(15)) y = like(x, below(7) - 2);
        DType met = operand_count(primitive) == 2 ? promote(x.dtype(), y.dtype()) : x.dtype();
        bool special = primitive == Primitive::Cast || primitive == Primitive::Select;
        if (primitive == Primitive::MakeComplex && (!is_floating(met) || is_half(met))) continue;
        if (!special && !primitive_allows(primitive, met) && category(met) >= 2) continue;
        try {
            if (primitive == Primitive::Cast) {
                DType type = dtypes[below(sizeof dtypes / sizeof *dtypes)];
                if (is_complex(type) && chance(90)) continue;
                values.push_back(cast(x, type));
            } else if (primitive == Primitive::Select) {
                values.push_back(where(x.dtype() == DType::Bool ? x : x == like(x, 0), y, z));
            } else if (operand_count(primitive) == 0) {
                continue;
            } else if (operand_count(primitive) == 1) {
                // What a NaN's sign is, is no one's promise.
                if (primitive == Primitive::SignBit && x.is_floating()) x = where(isnan(x), like(x, 1), x);
                values.push_back(Sym::unary(primitive, x));
            } else if (operand_count(primitive) == 2) {
                if (primitive == Primitive::Copysign && y.is_floating()) y = where(isnan(y), like(y, 1), y);
                if (primitive == Primitive::Zeta) y = abs(y); // far below zero its sum does not end
                if (is_division(primitive) && (category(x.dtype()) < 2 || category(y.dtype()) < 2)) continue; // raises
                values.push_back(Sym::binary(primitive, x, y));
            } else {
                if (!x.is_floating() || is_half(x.dtype())) continue;
                values.push_back(fma(x, cast(y, x.dtype()), cast(z, x.dtype())));
            }
        } catch (const Error&) { // not defined for these dtypes
        }
    }
    int outputs = 1 + below(most_outputs);
    for (int k = 0; k < outputs; k++) {
        Sym value = k == 0 ? values.back() : random_value(values);
        builder.output(folds && is_half(value.dtype()) ? cast(value, DType::Float32) : value); // halves fold as float
    }
    Expression expression = builder.finish();
    try {
        expression.verify();
    } catch (const Error&) { return Expression(); }
    return expression;
}

/// At whole cache lines, where results that are written past the cache begin.
template <class T> struct Lines {
    using value_type = T;
    T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{64})); }
    void deallocate(T* memory, size_t) { ::operator delete(memory, std::align_val_t{64}); }
    friend bool operator==(const Lines&, const Lines&) { return true; }
};
using Bytes = std::vector<char, Lines<char>>;
struct Memory {
    DType type;
    Bytes bytes;
    std::vector<int64_t> strides;
    int64_t offset = 0;
    char* data() { return bytes.data() + offset; }
};

/// Memory for an operand of this space: contiguous, another order, gaps, broadcast (inputs), at odd addresses.
Memory random_memory(DType type, const std::vector<int64_t>& sizes, bool output, uint64_t reduced) {
    Memory memory{type, {}, std::vector<int64_t>(sizes.size(), 0), 0};
    const int64_t item = static_cast<int64_t>(item_size(type));
    std::vector<size_t> order;
    for (size_t d = 0; d < sizes.size(); d++) order.push_back(d);
    if (chance(30))
        for (size_t d = 1; d < sizes.size(); d++) std::swap(order[d], order[static_cast<size_t>(below(static_cast<int>(d) + 1))]);
    int64_t stride = item * (chance(15) ? 1 + below(3) : 1);
    for (size_t k = order.size(); k-- > 0;) {
        size_t d = order[k];
        if (reduced >> d & 1 && output) continue;
        if (!output && chance(12)) continue; // broadcast
        memory.strides[d] = stride;
        stride *= sizes[d] + (chance(10) ? below(3) : 0);
    }
    memory.offset = chance(25) ? (is_half(type) || item == 1 ? below(9) : item * below(5)) : 0;
    int64_t size = memory.offset + item;
    for (size_t d = 0; d < sizes.size(); d++)
        if (sizes[d] > 0) size += memory.strides[d] * (sizes[d] - 1);
    memory.bytes.resize(static_cast<size_t>(size + stride + 64));
    return memory;
}

int compiled = 0;

bool try_one(uint64_t seed, bool show) {
    state = seed;
    Primitive wanted = static_cast<Primitive>(below(primitive_count));
    int size = chance(20) ? 1 : chance(10) ? 100 + below(150) : 1 + below(30);
    const bool folds = chance(20), rows = !folds && chance(30);
    Expression expression = random_expression(wanted, size, folds ? 2 : 4, folds, rows);
    if (expression.nodes.empty()) return true;
    std::vector<int64_t> sizes;
    int ndim = 1 + below(3);
    for (int d = 0; d < ndim; d++) sizes.push_back(chance(3) ? 0 : chance(15) ? 1 : 1 + below(ndim == 1 ? 600 : ndim == 2 ? 70 : 18));
    if (chance(4)) sizes[0] *= 40;
    if (folds && ndim == 2 && chance(25)) sizes = {20 + below(300), 180 + below(400)}; // rows go into lanes by machine code
    uint64_t reduced = 0;
    const uint64_t row = !rows ? 0 : chance(50) ? uint64_t{1} << (ndim - 1) : 1 + static_cast<uint64_t>(below((1 << ndim) - 1));
    if (rows)
        for (const Node& node : expression.nodes)
            if (node.primitive == Primitive::Index) return true; // not in row kernels
    std::vector<Combine> combines;
    std::vector<DType> output_types;
    const int outputs = static_cast<int>(expression.outputs.size());
    if (folds) {
        reduced = 1 + static_cast<uint64_t>(below((1 << ndim) - 1));
        for (int k = 0; k < outputs; k++) {
            DType type = value_type(expression.output_type(k));
            Combine combine = is_complex(type) || type == DType::Bool ? Combine::Sum : static_cast<Combine>(below(4));
            if (type == DType::Bool) combine = Combine::Any;
            combines.push_back(combine);
            output_types.push_back(accumulate_type(combine, type));
        }
    } else {
        for (int k = 0; k < outputs; k++) output_types.push_back(expression.output_type(k));
    }
    std::vector<DType> input_types(static_cast<size_t>(expression.input_count), DType::Float32);
    for (const Node& node : expression.nodes)
        if (node.primitive == Primitive::Input) input_types[static_cast<size_t>(node.index())] = node.type;
    std::vector<Immediate> scalars(static_cast<size_t>(expression.scalar_count));
    for (const Node& node : expression.nodes)
        if (node.primitive == Primitive::Scalar) {
            Immediate& value = scalars[static_cast<size_t>(node.index())];
            value = category(node.type) >= 2 ? Immediate::of(node.type, number()) : Immediate::of(node.type, below(9) - 3);
        }
    std::vector<Memory> memories;
    for (DType type : output_types) memories.push_back(random_memory(type, sizes, true, reduced));
    for (DType type : input_types) {
        memories.push_back(random_memory(type, sizes, false, 0));
        Memory& memory = memories.back();
        const int64_t item = static_cast<int64_t>(item_size(type));
        for (int64_t at = memory.offset; at + item <= static_cast<int64_t>(memory.bytes.size()); at += item)
            fill(type, memory.bytes.data() + at);
    }
    // Now and then an output is an input in place.
    int alias = -1;
    if (!folds && !rows && chance(15))
        for (size_t i = 0; i < input_types.size() && alias < 0; i++) {
            bool whole = true;
            for (size_t d = 0; d < sizes.size(); d++) whole &= memories[static_cast<size_t>(outputs) + i].strides[d] != 0 || sizes[d] <= 1;
            if (input_types[i] == output_types[0] && whole) alias = static_cast<int>(i);
        }
    set_past_cache(chance(40) ? 0 : int64_t{1} << 40);
    auto execute = [&](NativeMode mode) {
        set_native(mode);
        std::vector<Memory> copy = memories;
        std::vector<LoopOperand> operands;
        for (size_t k = 0; k < copy.size(); k++) {
            size_t from = k == 0 && alias >= 0 ? static_cast<size_t>(outputs + alias) : k;
            operands.push_back({copy[from].data(), copy[k].type, copy[from].strides.data()});
        }
        LoopKernel kernel;
        kernel.expression = &expression;
        kernel.ndim = ndim;
        kernel.sizes = sizes.data();
        kernel.output_count = outputs;
        kernel.input_count = static_cast<int>(input_types.size());
        kernel.operands = operands.data();
        kernel.scalars = scalars.data();
        kernel.reduced = reduced;
        kernel.row = row;
        kernel.combines = folds ? combines.data() : nullptr;
        run(kernel);
        return copy;
    };
    std::vector<Memory> want = execute(NativeMode::Off);
    int64_t before = native_kernel_count();
    std::vector<Memory> have = execute(NativeMode::Always);
    compiled += native_kernel_count() > before;
    for (size_t k = 0; k < want.size(); k++) {
        const Memory& a = want[k];
        const Memory& b = have[k];
        if (a.bytes == b.bytes) continue;
        // Element by element, since NaNs may differ; what lies between elements must not.
        int64_t item = static_cast<int64_t>(item_size(a.type));
        std::vector<int64_t> at(sizes.size(), 0);
        Bytes left = a.bytes, right = b.bytes;
        int64_t total = 1;
        for (int64_t s : sizes) total *= s;
        bool good = true;
        for (int64_t e = 0; e < total && good; e++) {
            int64_t flat = e, offset = a.offset;
            for (size_t d = sizes.size(); d-- > 0; flat /= sizes[d]) at[d] = flat % sizes[d], offset += at[d] * a.strides[d];
            good = same(a.type, &a.bytes[static_cast<size_t>(offset)], &b.bytes[static_cast<size_t>(offset)]);
            std::memset(&left[static_cast<size_t>(offset)], 0, static_cast<size_t>(item));
            std::memset(&right[static_cast<size_t>(offset)], 0, static_cast<size_t>(item));
            if (!good && show) {
                std::fprintf(stderr, "seed %llu, %s: operand %zu (%s), element %lld:", static_cast<unsigned long long>(seed), name(isa()),
                             k, name(a.type), static_cast<long long>(e));
                for (const Bytes* bytes : {&a.bytes, &b.bytes}) {
                    std::fprintf(stderr, bytes == &a.bytes ? " tile" : " native");
                    for (int64_t i = item; i-- > 0;)
                        std::fprintf(stderr, "%s%02x", i == item - 1 ? " " : "",
                                     static_cast<unsigned>(static_cast<uint8_t>((*bytes)[static_cast<size_t>(offset + i)])));
                }
                std::fprintf(stderr, "\n%s", expression.to_string().c_str());
                for (const Memory& memory : memories) {
                    std::fprintf(stderr, "%s", name(memory.type));
                    for (size_t d = 0; d < sizes.size(); d++)
                        std::fprintf(stderr, " %lld:%lld", static_cast<long long>(sizes[d]), static_cast<long long>(memory.strides[d]));
                    std::fprintf(stderr, "\n");
                }
            }
        }
        if (good && left != right) {
            good = false;
            if (show)
                std::fprintf(stderr, "seed %llu: memory beside the elements has changed\n%s", static_cast<unsigned long long>(seed),
                             expression.to_string().c_str());
        }
        if (!good) return false;
    }
    return true;
}

int run_all(int64_t count, uint64_t seed, bool alone) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t one = alone ? seed : seed * 1000003 + static_cast<uint64_t>(i);
        bool good = try_one(one, failures < 3);
        CHECK(good && "both executors give the same bits");
        if (failures > 20) break;
    }
    if (!alone) CHECK(compiled > count / 3);
    std::fprintf(stderr, "%s: %lld kernels, %d compiled\n", name(isa()), static_cast<long long>(count), compiled);
    return failures ? 1 : 0;
}

} // namespace

int main(int count, char** arguments) {
    // Numbers of kernels and a seed; a count of 1 repeats one seed.
    int64_t kernels = count > 1 ? std::atoll(arguments[1]) : 3000;
    uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
    for (Isa one : {Isa::Avx2, Isa::Avx512}) {
        if (one > machine_isa()) {
            std::fprintf(stderr, "%s: not run, because this machine lacks it\n", name(one));
            continue;
        }
        pid_t child = fork(); // an instruction set is chosen once a process
        if (child == 0) {
            setenv("KINDLING_ISA", name(one), 1);
            _exit(run_all(kernels, seed, kernels == 1));
        }
        int status = 0;
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return finish("test_native_fuzz");
}
