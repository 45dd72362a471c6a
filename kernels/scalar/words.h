// kernels/scalar/words.h: the words that the interpreter runs, and a function in words.
#pragma once
#include <bit>
#include <cmath>
#include <memory>

#include "kernels/scalar/code.h"

namespace kindling::scalar {

// The registers that a word names are A and B, with what they hold behind: I64, F64 (D) or F32 (F).
// X(name, what the result is, of registers A and B)
// clang-format off
#define KINDLING_FOR_EACH_SIMPLE(X)                                                                            \
    X(AddI, set_i(wrap_add(IA, IB))) X(SubI, set_i(wrap_sub(IA, IB))) X(MulI, set_i(wrap_mul(IA, IB)))         \
    X(NegI, set_i(wrap_sub(0, IA))) X(AbsI, set_i(IA < 0 ? wrap_sub(0, IA) : IA))                              \
    X(MinI, set_i(IA < IB ? IA : IB)) X(MaxI, set_i(IA > IB ? IA : IB))                                        \
    X(FloorDivI, set_i(floor_div(IA, IB))) X(FloorModI, set_i(floor_mod(IA, IB)))                              \
    X(AndI, set_i(IA & IB)) X(OrI, set_i(IA | IB)) X(XorI, set_i(IA ^ IB)) X(NotI, set_i(~IA)) X(NotB, set_i(IA ^ 1)) \
    X(ShlI, set_i(static_cast<int64_t>(static_cast<uint64_t>(IA) << (IB & 63)))) X(ShrI, set_i(IA >> (IB & 63))) \
    X(AddD, set_d(DA + DB)) X(SubD, set_d(DA - DB)) X(MulD, set_d(DA * DB)) X(DivD, set_d(DA / DB))            \
    X(NegD, set_d(-DA)) X(AbsD, set_d(std::fabs(DA))) X(MinD, set_d(DA < DB ? DA : DB)) X(MaxD, set_d(DA > DB ? DA : DB)) \
    X(SqrtD, set_d(std::sqrt(DA))) X(FloorD, set_d(std::floor(DA))) X(CeilD, set_d(std::ceil(DA)))             \
    X(TruncD, set_d(std::trunc(DA))) X(RoundD, set_d(std::nearbyint(DA)))                                      \
    X(AddF, set_f(FA + FB)) X(SubF, set_f(FA - FB)) X(MulF, set_f(FA * FB)) X(DivF, set_f(FA / FB))            \
    X(NegF, set_f(-FA)) X(AbsF, set_f(std::fabs(FA))) X(MinF, set_f(FA < FB ? FA : FB)) X(MaxF, set_f(FA > FB ? FA : FB)) \
    X(SqrtF, set_f(std::sqrt(FA))) X(FloorF, set_f(std::floor(FA))) X(CeilF, set_f(std::ceil(FA)))             \
    X(TruncF, set_f(std::trunc(FA))) X(RoundF, set_f(std::nearbyint(FA)))                                      \
    X(IntToD, set_d(static_cast<double>(IA))) X(IntToF, set_f(static_cast<float>(IA)))                         \
    X(FToD, set_d(static_cast<double>(FA))) X(DToF, set_f(static_cast<float>(DA)))                             \
    X(DToI, set_i(to_i64(DA))) X(FToI, set_i(to_i64(static_cast<double>(FA)))) X(Copy, set_i(IA))              \
    X(Low32, set_i(IA & 0xFFFFFFFF))
// clang-format on

// X(name, condition): each has a form that gives a bool, and one that jumps.
// clang-format off
#define KINDLING_FOR_EACH_COMPARISON(X)                                                                        \
    X(EqI, IA == IB) X(NeI, IA != IB) X(LtI, IA < IB) X(LeI, IA <= IB) X(GtI, IA > IB) X(GeI, IA >= IB)        \
    X(BelowI, static_cast<uint64_t>(IA) < static_cast<uint64_t>(IB))                                           \
    X(EqD, DA == DB) X(NeD, DA != DB) X(LtD, DA < DB) X(LeD, DA <= DB) X(GtD, DA > DB) X(GeD, DA >= DB)        \
    X(EqF, FA == FB) X(NeF, FA != FB) X(LtF, FA < FB) X(LeF, FA <= FB) X(GtF, FA > FB) X(GeF, FA >= FB)
// clang-format on

// X(name, type in memory)
// clang-format off
#define KINDLING_FOR_EACH_MEMORY(X)                                                                            \
    X(I8, int8_t) X(U8, uint8_t) X(I16, int16_t) X(U16, uint16_t) X(I32, int32_t) X(U32, uint32_t) X(I64, int64_t)
// clang-format on

enum class Word : uint8_t {
#define X(NAME, ...) NAME,
    // clang-format off
    KINDLING_FOR_EACH_SIMPLE(X) KINDLING_FOR_EACH_COMPARISON(X)
// clang-format on
#undef X
#define X(NAME, ...) Jump##NAME,
        KINDLING_FOR_EACH_COMPARISON(X)
#undef X
#define X(NAME, ...) Load##NAME, LoadAt##NAME, Store##NAME, StoreAt##NAME,
            KINDLING_FOR_EACH_MEMORY(X)
#undef X
                LoadBool,
    LoadAtBool,
    Select,
    Call,
    Index,
    Check,
    Poll,
    Jump,
    Branch,
    Leave,
    Count
};

struct WayOut {
    int32_t code;
    uint32_t from, count; // registers, in `left`
};

class Interpreted final : public Code {
public:
    std::vector<uint32_t> words;
    std::vector<uint64_t> constants;
    uint32_t registers = 0;           // the constants' not counted
    std::vector<uint32_t> parameters; // registers of parameters, or nowhere
    std::vector<WayOut> exits;
    std::vector<uint32_t> left;
    struct Called {
        const void* address;
        Type result;
        uint8_t general, floating;
        uint32_t from; // registers, in `left`: general ones first
    };
    std::vector<Called> calls;

    Interpreted() { entry_ = start; }
    size_t bytes() const override { return words.size() * sizeof(uint32_t); }
    void set_slots(size_t count) { slots_ = count; }
    static int64_t start(const Code* self, Slot* slots, Asker* asker);
    /// Where each word's code is: what stands for it in `words`.
    static const int32_t* distances();
};

} // namespace kindling::scalar
