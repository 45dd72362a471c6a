// kernels/native/lanes.h: a kernel as straight-line code over vectors of lanes: what the native executor records,
// verifies, prints and turns into machine code.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/isa.h"
#include "kernels/native/assembler.h"
#include "kernels/reductions/fold.h"
#include "kernels/tile/tile.h"

namespace kindling::native {

// X(name, operands, width of the operands, width of the result, how it becomes code, EVEX form, VEX form)
// Width: bytes of a lane, 0 for a mask. How: Binary and Unary are the form itself (Either: it commutes), Immediate the
// same with an immediate. The rest has code of its own in emit.cpp.
#define KINDLING_FOR_EACH_LANE_OP(X)                                                                                                       \
    X(Constant4, 0, 4, 4, Leaf, MovUps, MovUps)                                                                                            \
    X(Constant8, 0, 8, 8, Leaf, MovUps, MovUps)                                                                                            \
    X(Load8, 0, 4, 4, Leaf, MovZxBd, MovZxBd)                                                                                              \
    X(Load16, 0, 4, 4, Leaf, MovZxWd, MovZxWd)                                                                                             \
    X(LoadHalf, 0, 4, 4, Leaf, CvtPhPs, CvtPhPs)                                                                                           \
    X(Load32, 0, 4, 4, Leaf, MovUps, MovUps)                                                                                               \
    X(Load64, 0, 8, 8, Leaf, MovUps, MovUps)                                                                                               \
    X(AddF, 2, 4, 4, Either, AddPs, AddPs)                                                                                                 \
    X(AddG, 2, 8, 8, Either, AddPd, AddPd)                                                                                                 \
    X(SubF, 2, 4, 4, Binary, SubPs, SubPs)                                                                                                 \
    X(SubG, 2, 8, 8, Binary, SubPd, SubPd)                                                                                                 \
    X(MulF, 2, 4, 4, Either, MulPs, MulPs)                                                                                                 \
    X(MulG, 2, 8, 8, Either, MulPd, MulPd)                                                                                                 \
    X(DivF, 2, 4, 4, Binary, DivPs, DivPs)                                                                                                 \
    X(DivG, 2, 8, 8, Binary, DivPd, DivPd)                                                                                                 \
    X(ScaleF, 2, 4, 4, Binary, ScalefPs, ScalefPs)                                                                                         \
    X(ScaleG, 2, 8, 8, Binary, ScalefPd, ScalefPd)                                                                                         \
    X(MinF, 2, 4, 4, Binary, MinPs, MinPs)                                                                                                 \
    X(MinG, 2, 8, 8, Binary, MinPd, MinPd)                                                                                                 \
    X(MaxF, 2, 4, 4, Binary, MaxPs, MaxPs)                                                                                                 \
    X(MaxG, 2, 8, 8, Binary, MaxPd, MaxPd)                                                                                                 \
    X(FmaF, 3, 4, 4, Fused, FmaPs, FmaPs)                                                                                                  \
    X(FmaG, 3, 8, 8, Fused, FmaPd, FmaPd)                                                                                                  \
    X(SqrtF, 1, 4, 4, Unary, SqrtPs, SqrtPs)                                                                                               \
    X(SqrtG, 1, 8, 8, Unary, SqrtPd, SqrtPd)                                                                                               \
    X(RoundF, 1, 4, 4, Immediate, ScalePs, RoundPs)                                                                                        \
    X(RoundG, 1, 8, 8, Immediate, ScalePd, RoundPd)                                                                                        \
    X(And4, 2, 4, 4, Either, AndPs, AndPs)                                                                                                 \
    X(And8, 2, 8, 8, Either, AndPd, AndPd)                                                                                                 \
    X(Or4, 2, 4, 4, Either, OrPs, OrPs)                                                                                                    \
    X(Or8, 2, 8, 8, Either, OrPd, OrPd)                                                                                                    \
    X(Xor4, 2, 4, 4, Either, XorPs, XorPs)                                                                                                 \
    X(Xor8, 2, 8, 8, Either, XorPd, XorPd)                                                                                                 \
    X(Add4, 2, 4, 4, Either, AddD, AddD)                                                                                                   \
    X(Add8, 2, 8, 8, Either, AddQ, AddQ)                                                                                                   \
    X(Sub4, 2, 4, 4, Binary, SubD, SubD)                                                                                                   \
    X(Sub8, 2, 8, 8, Binary, SubQ, SubQ)                                                                                                   \
    X(Mul4, 2, 4, 4, Either, MulD, MulD)                                                                                                   \
    X(Mul8, 2, 8, 8, Either, MulQ, MulQ)                                                                                                   \
    X(MulLow8, 2, 8, 8, Either, MulUdq, MulUdq)                                                                                            \
    X(MinS4, 2, 4, 4, Either, MinSd, MinSd)                                                                                                \
    X(MaxS4, 2, 4, 4, Either, MaxSd, MaxSd)                                                                                                \
    X(MinU4, 2, 4, 4, Either, MinUd, MinUd)                                                                                                \
    X(MaxU4, 2, 4, 4, Either, MaxUd, MaxUd)                                                                                                \
    X(MinS8, 2, 8, 8, Either, MinSq, MinSq)                                                                                                \
    X(MaxS8, 2, 8, 8, Either, MaxSq, MaxSq)                                                                                                \
    X(MinU8, 2, 8, 8, Either, MinUq, MinUq)                                                                                                \
    X(MaxU8, 2, 8, 8, Either, MaxUq, MaxUq)                                                                                                \
    X(Shl4, 1, 4, 4, Shift, ShlD, ShlD)                                                                                                    \
    X(Shr4, 1, 4, 4, Shift, ShrD, ShrD)                                                                                                    \
    X(Sar4, 1, 4, 4, Shift, SarD, SarD)                                                                                                    \
    X(Shl8, 1, 8, 8, Shift, ShlQ, ShlQ)                                                                                                    \
    X(Shr8, 1, 8, 8, Shift, ShrQ, ShrQ)                                                                                                    \
    X(Sar8, 1, 8, 8, Shift, SarQ, SarQ)                                                                                                    \
    X(ShlBy8, 2, 8, 8, Binary, ShlvQ, ShlvQ)                                                                                               \
    X(ShrBy8, 2, 8, 8, Binary, ShrvQ, ShrvQ)                                                                                               \
    X(SarBy8, 2, 8, 8, Binary, SarvQ, SarvQ)                                                                                               \
    X(CompareF, 2, 4, 0, Compare, CmpPs, CmpPs)                                                                                            \
    X(CompareG, 2, 8, 0, Compare, CmpPd, CmpPd)                                                                                            \
    X(CompareS4, 2, 4, 0, Compare, CmpD, CmpPs)                                                                                            \
    X(CompareS8, 2, 8, 0, Compare, CmpQ, CmpPs)                                                                                            \
    X(CompareU4, 2, 4, 0, Compare, CmpUd, CmpPs)                                                                                           \
    X(CompareU8, 2, 8, 0, Compare, CmpUq, CmpPs)                                                                                           \
    X(Equal4, 2, 4, 0, Either, CmpD, EqD)                                                                                                  \
    X(Equal8, 2, 8, 0, Either, CmpQ, EqQ)                                                                                                  \
    X(Greater4, 2, 4, 0, Binary, CmpD, GtD)                                                                                                \
    X(Greater8, 2, 8, 0, Binary, CmpQ, GtQ)                                                                                                \
    X(Select4, 3, 4, 4, Select, BlendmPs, BlendvPs)                                                                                        \
    X(Select8, 3, 8, 8, Select, BlendmPd, BlendvPd)                                                                                        \
    X(MaskAnd, 2, 0, 0, Mask, KAnd, AndPs)                                                                                                 \
    X(MaskOr, 2, 0, 0, Mask, KOr, OrPs)                                                                                                    \
    X(MaskXor, 2, 0, 0, Mask, KXor, XorPs)                                                                                                 \
    X(MaskNot, 1, 0, 0, Mask, KNot, KNot)                                                                                                  \
    X(MaskToInt4, 1, 0, 4, Spread, MovM2d, MovUps)                                                                                         \
    X(MaskToInt8, 1, 0, 8, Spread, MovM2q, MovUps)                                                                                         \
    X(IntToF, 1, 4, 4, Unary, CvtDqPs, CvtDqPs)                                                                                            \
    X(UintToF, 1, 4, 4, Unary, CvtUdqPs, CvtUdqPs)                                                                                         \
    X(FToInt, 1, 4, 4, Unary, CvtPsDq, CvtPsDq)                                                                                            \
    X(IntToG, 1, 4, 8, Unary, CvtDqPd, CvtDqPd)                                                                                            \
    X(UintToG, 1, 4, 8, Unary, CvtUdqPd, CvtUdqPd)                                                                                         \
    X(GToInt, 1, 8, 4, Unary, CvtPdDq, CvtPdDq)                                                                                            \
    X(FToG, 1, 4, 8, Unary, CvtPsPd, CvtPsPd)                                                                                              \
    X(GToF, 1, 8, 4, Unary, CvtPdPs, CvtPdPs)                                                                                              \
    X(LongToG, 1, 8, 8, Unary, CvtQqPd, CvtQqPd)                                                                                           \
    X(UlongToG, 1, 8, 8, Unary, CvtUqqPd, CvtUqqPd)                                                                                        \
    X(LongToF, 1, 8, 4, Unary, CvtQqPs, CvtQqPs)                                                                                           \
    X(UlongToF, 1, 8, 4, Unary, CvtUqqPs, CvtUqqPs)                                                                                        \
    X(GToLong, 1, 8, 8, Unary, CvtPdQq, CvtPdQq)                                                                                           \
    X(FToLong, 1, 4, 8, Unary, CvtPsQq, CvtPsQq)                                                                                           \
    X(Extend, 1, 4, 8, Unary, MovSxDq, MovSxDq)                                                                                            \
    X(ExtendZero, 1, 4, 8, Unary, MovZxDq, MovZxDq)                                                                                        \
    X(Truncate, 1, 8, 4, Narrow, MovQd, ShufPs)                                                                                            \
    X(ToHalf, 1, 4, 2, Narrow, CvtPsPh, CvtPsPh)                                                                                           \
    X(FromHalf, 1, 2, 4, Unary, CvtPhPs, CvtPhPs)                                                                                          \
    X(FixHigh, 3, 8, 8, Fix, MovUps, MovUps)                                                                                               \
    X(FixLow, 3, 8, 8, Fix, MovUps, MovUps)                                                                                                \
    X(FixQuadrant, 3, 8, 8, Fix, MovUps, MovUps)                                                                                           \
    X(Rare, 3, 4, 4, Rare, MovUps, MovUps)                                                                                                 \
    X(Table, 0, 4, 4, Leaf, MovUps, MovUps)                                                                                                \
    X(Lookup, 2, 4, 4, Lookup, PermPs, PermPs)                                                                                             \
    X(LookupHalf, 1, 4, 4, Lookup, PermPs, PermPs)                                                                                         \
    X(Ternary4, 3, 4, 4, Ternary, TernaryD, TernaryD)                                                                                      \
    X(Call, 0, 8, 8, Call, MovUps, MovUps)

enum class LaneOp : uint8_t {
#define X(NAME, ...) NAME,
    KINDLING_FOR_EACH_LANE_OP(X)
#undef X
};
enum class How : uint8_t {
    Leaf,
    Binary,
    Either,
    Unary,
    Immediate,
    Shift,
    Compare,
    Select,
    Mask,
    Spread,
    Narrow,
    Fused,
    Ternary,
    Lookup,
    Fix,
    Rare,
    Call
};
struct LaneFacts {
    char text[12];
    uint8_t operands, from, to;
    How how;
    Form evex, vex;
};
const LaneFacts& facts(LaneOp op);

/// One value. Its operands are earlier ones.
struct Lane {
    LaneOp op;
    uint8_t width; // bytes of a lane; for a mask, of the lanes it was computed from
    bool mask;     // with AVX-512 it lives in a mask register
    uint8_t operand_count;
    uint8_t immediate; // shift count, comparison, rounding, truth table; of a call: the width of the operands; of a
                       // table: how many numbers
    bool invariant;    // the same for all elements, so it is computed once
    int32_t operands[3];
    uint64_t bits; // Constant: the value. Load: the slot. Call, Rare: the function. Table, LookupHalf: its address
};

/// True if it is read from memory.
bool is_load(const Lane& lane);

struct LaneStore {
    int32_t value;
    int16_t slot;
    uint8_t item;
    bool past_cache; // by a streaming store
};

/// A reduction. The 16 lanes of each block of 256 elements (kernels/reductions/fold.h) are left in memory, for find_lane_fold.
struct LaneFold {
    int32_t value;
    int16_t slot;    // of the result
    Combine combine; // Sum, Prod, Min or Max
    uint8_t width;
    bool is_extreme() const { return combine == Combine::Min || combine == Combine::Max; }
};

/// Memory that is prefetched while the loop runs, at the loop's position behind the slot's prefetch pointer.
struct LaneFetch {
    int16_t slot;
    uint8_t item;
    bool to_write;
};

struct LaneProgram {
    Isa isa;
    int lanes = 0;
    int slots = 0;                         // of the tile program
    bool leaves = false, has_call = false; // it has a branch for rare lanes
    bool partial = false;                  // it has a remainder behind the last turn
    std::vector<Lane> values;
    std::vector<LaneStore> stores;
    std::vector<LaneFold> folds;
    std::vector<LaneFetch> fetches;

    /// True if registers are left besides those of the accumulators.
    bool folds_fit() const;
    /// Pointers per row: of the slots, of what is prefetched, and of the reductions' lanes.
    int pointers() const { return 2 * slots + 1; }
    /// Elements per turn of the loop. Reductions take 16.
    int turn() const { return folds.empty() ? lanes : fold_lanes; }

    std::string to_string() const;
    /// Throws an Internal error if an operand, a width or a slot is invalid.
    void verify(int slot_count) const;
};

enum class LaneType : uint8_t { F32, F64, I32, U32, I64, U64 };
enum class LaneWhat : uint8_t { Add, Sub, Mul, Div, And, Or, Xor, Shl, Shr, Lt, Le, Gt, Ge, Eq, Ne };

/// Builds a program value by value. Equal values are merged. What an instruction set lacks is composed of what it has.
class Recorder {
public:
    Recorder(Isa isa, const uint8_t* repeated_slots);

    static constexpr int zero = -1;  // 0, of the type of the other operand
    static constexpr int never = -2; // a mask without lanes

    int constant(LaneType type, uint64_t bits);
    int load(LaneOp op, int slot);
    int binary(LaneWhat what, LaneType type, int a, int b);
    int negate(LaneType type, int a);
    int invert(LaneType type, int a);
    int choose(LaneType type, int mask, int a, int b);
    int square_root(LaneType type, int a);
    int round(LaneType type, int mode, int a);
    int fma(LaneType type, int a, int b, int c);
    int scale(LaneType type, int a, int power); // multiplies by a power of two; AVX-512 only
    /// Turns a mask into 0 and -1. Returns -1 if this instruction set has no form for it.
    int convert(LaneType from, LaneType to, int a);
    int half_round_trip(int a);
    int to_half(int a) { return add(LaneOp::ToHalf, 2, a); }
    int from_half(int a) { return add(LaneOp::FromHalf, 4, a); }
    int fix(LaneOp op, int x, int value, int large);
    /// Looks up a table of 8 or 16 numbers by the lowest three or four bits.
    int lookup(const float* table, int count, int index);
    /// The result of `function` for a and b in lanes of the mask, if there are any. Otherwise it is undefined.
    int rare(TileFunction function, int a, int b, int mask);
    int call(TileFunction function, int from_width, int to_width, const int* operands, int count);

    bool is_mask(int value) const { return value == never || (value >= 0 && at(value).mask); }
    /// The mask of lanes that are not 0.
    int truth(LaneType type, int value);
    int as_mask(int value);           // of a value that is a mask, or an integer of 4 bytes
    int as_int(int value, int width); // a mask becomes 0 and -1; anything else stays as it is
    bool has(LaneOp op) const;        // whether the instruction set has the form
    Isa isa() const { return program_.isa; }
    const Lane& at(int value) const { return program_.values[static_cast<size_t>(value)]; }

    /// How many values so far are not the same for all elements.
    int operations() const { return operations_; }

    bool lacking = false; // a body needs a conversion that this instruction set has no form for

    void store(int value, int slot, int item);
    void fold(Combine combine, LaneType type, int value, int slot);
    /// The program without dead values.
    LaneProgram finish();

private:
    LaneProgram program_;
    const uint8_t* repeated_;
    std::vector<int32_t> table_; // hash table of values, for merging equal ones
    size_t used_ = 0;
    int operations_ = 0;

    bool evex() const { return program_.isa == Isa::Avx512; }
    int intern(Lane lane);
    int add(LaneOp op, int width, int a, int b = -1, int c = -1, int immediate = 0);
    int typed(LaneType type, int value); // zero and masks become values
    int compare(LaneWhat what, LaneType type, int a, int b);
    int mask_op(LaneWhat what, int a, int b);
    int mask_not(int a);
    int mask_of_width(int mask, int width);
    int shift(LaneType type, bool left, int a, int b);
    int bitwise(LaneOp op, int width, int a, int b);
};

constexpr int width_of(LaneType type) { return type == LaneType::F32 || type == LaneType::I32 || type == LaneType::U32 ? 4 : 8; }

} // namespace kindling::native
