// kernels/tile/tile.h: an expression as the tile executor runs it: calls of vector code over short contiguous arrays.
#pragma once
#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "kernels/expression.h"

namespace kindling {

/// out[i] = f(a[i], b[i], c[i]) for i < n. An operand whose bit is set in `splat` is one scalar repeated over
/// splat_bytes; it is read again and again. `out` may be an operand of the same element size.
using TileFunction = void (*)(void* out, const void* a, const void* b, const void* c, int64_t n, unsigned splat);
inline constexpr int splat_bytes = 64;

/// Steps on tiles that are no primitive of an expression.
enum class TileMove : uint8_t {
    HalfToFloat,
    BFloat16ToFloat,
    FloatToHalf,
    FloatToBFloat16,
    RoundHalf,
    RoundBFloat16,
    Float8ToFloat,
    FloatToFloat8 = Float8ToFloat + 5, // the first of five each, one per dtype
    End = FloatToFloat8 + 5
};
constexpr TileMove move_of(DType dtype, TileMove half, TileMove bfloat16, TileMove float8) {
    if (!is_float8(dtype)) return dtype == DType::Float16 ? half : bfloat16;
    return static_cast<TileMove>(static_cast<int>(float8) + static_cast<int>(dtype) - static_cast<int>(DType::Float8E4M3FN));
}
/// From a narrow dtype to float, and back.
constexpr TileMove move_to_float(DType dtype) {
    return move_of(dtype, TileMove::HalfToFloat, TileMove::BFloat16ToFloat, TileMove::Float8ToFloat);
}
constexpr TileMove move_from_float(DType dtype) {
    return move_of(dtype, TileMove::FloatToHalf, TileMove::FloatToBFloat16, TileMove::FloatToFloat8);
}

/// out[r] = the reduction of row r of n >= 1 values; see fold.h.
using RowFold = void (*)(void* out, const void* values, int64_t rows, int64_t n);

/// What a step computes. The native executor compiles steps instead of calling them.
struct TileTask {
    enum Kind : uint8_t { Compute, Cast, Move, Fold };
    Kind kind;
    uint8_t which;  // a Primitive, a TileMove or a Combine
    DType type, to; // Compute: of the operands (Select: of its values; MakeComplex: of the result). Cast: from, to
};

struct TileStep {
    TileFunction function;    // for a row reduction, what merges two partial results
    int16_t out, operands[3]; // slots, -1 for none
    uint8_t operand_count;
    uint8_t scale;     // elements of `function` per element of the step: 2 if complex addition runs as float's
    uint8_t item_size; // bytes of one value of `out`
    uint8_t level = 0; // how many row reductions come before it; steps are sorted by this, reductions last
    RowFold fold = nullptr;
    TileTask task{};
};

/// A value at run time: an operand's memory, a buffer, or a splat.
struct TileSlot {
    enum Kind : uint8_t { Input, Index, Splat, Buffer, Unused };
    Kind kind;
    uint8_t item_size;
    int16_t which; // Input: operand. Index: dimension. Splat: constant (>= 0) or ~scalar. Buffer: buffer
    uint8_t level = 0;
    bool crosses = false; // a step of a higher level reads it
};

struct NativeState; // see native/native.h

struct TileProgram {
    std::vector<TileStep> steps;
    std::vector<TileSlot> slots;
    std::vector<Immediate> constants;
    std::vector<int16_t> outputs;        // the slot of each output, in the dtype that is stored
    std::vector<int16_t> gather_buffers; // one per Input and Index slot: the buffer into which it is gathered where that is needed
    int buffer_count = 0;
    int stream_slots = 0;                  // Input and Index slots
    int buffer_item = 0;                   // bytes of the widest value in a buffer
    int level_count = 1;                   // more than 1 if there are row reductions
    bool one_step = false;                 // a single step, from inputs and splats to the single output
    mutable NativeState* native = nullptr; // what the native executor has made of this program

    /// The value of a Splat slot: a constant of the program, or one of the run's scalars.
    const Immediate* number(const TileSlot& slot, const Immediate* scalars) const {
        return slot.which >= 0 ? &constants[static_cast<size_t>(slot.which)] : scalars + ~slot.which;
    }
};

/// Code for a primitive or cast; `function` is null if there is no vector code.
struct TileCode {
    TileFunction function = nullptr;
    uint8_t scale = 1;
};
TileCode find_tile(Primitive primitive, DType type); // type of the (first value) operand
TileCode find_cast(DType from, DType to);            // value types
TileFunction find_move(TileMove move);
TileFunction find_float8_move(TileMove move);

const TileProgram* make_program(const Expression& expression);
void delete_program(const TileProgram* program);

uint64_t hash_node(const Node& node);
DType primitive_result_type(Primitive primitive, DType type);
bool primitive_allows(Primitive primitive, DType type);

#define KINDLING_DECLARE_TILES(NAMESPACE)                                                                                                  \
    namespace NAMESPACE {                                                                                                                  \
    TileCode find_arithmetic(Primitive primitive, DType type);                                                                             \
    TileFunction find_cast(DType from, DType to);                                                                                          \
    TileFunction find_move(TileMove move);                                                                                                 \
    TileFunction find_maths(Primitive primitive, DType type);                                                                              \
    TileFunction find_wide_maths(Primitive primitive, DType type);                                                                         \
    TileFunction find_remainder(Primitive primitive, DType type);                                                                          \
    }
KINDLING_DECLARE_TILES(isa_baseline)
KINDLING_DECLARE_TILES(isa_avx2)
KINDLING_DECLARE_TILES(isa_avx512)
#undef KINDLING_DECLARE_TILES
/// Functions so rare that they are compiled once, for all instruction sets.
TileFunction find_special(Primitive primitive, DType type);

} // namespace kindling
