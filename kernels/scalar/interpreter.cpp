// kernels/scalar/interpreter.cpp: runs words, with direct threading.
// Compiled for calls.
#include <cstring>

#include "kernels/scalar/analysis.h"
#include "kernels/scalar/evaluate.h"
#include "kernels/scalar/words.h"

namespace kindling::scalar {

namespace {

/// All that a System V function can take in registers; it ignores what it does not expect.
uint64_t call(const Interpreted::Called& called, const uint32_t* from, const uint64_t* r) {
    int64_t g[6] = {};
    double f[8] = {};
    for (int i = 0; i < called.general; i++) g[i] = static_cast<int64_t>(r[from[i]]);
    for (int i = 0; i < called.floating; i++) f[i] = std::bit_cast<double>(r[from[called.general + i]]);
#define ARGUMENTS g[0], g[1], g[2], g[3], g[4], g[5], f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
#define TAKEN int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double, double, double, double, double, double, double
    void* function = const_cast<void*>(called.address);
    switch (called.result) {
    case Type::F64: return std::bit_cast<uint64_t>(reinterpret_cast<double (*)(TAKEN)>(function)(ARGUMENTS));
    case Type::F32: return std::bit_cast<uint32_t>(reinterpret_cast<float (*)(TAKEN)>(function)(ARGUMENTS));
    case Type::Bool: return reinterpret_cast<bool (*)(TAKEN)>(function)(ARGUMENTS);
    default: return static_cast<uint64_t>(reinterpret_cast<int64_t (*)(TAKEN)>(function)(ARGUMENTS));
    }
#undef ARGUMENTS
#undef TAKEN
}

/// Runs the code. Without any registers, only says where each word's code is: its distance from the first.
int64_t interpret(const Interpreted* self, uint64_t* r, Slot* slots, Asker* asker, const int32_t** distances) {
#define DISTANCE(LABEL) static_cast<int32_t>(static_cast<const char*>(&&LABEL) - static_cast<const char*>(&&word_AddI)),
    static const int32_t distance_of[] = {
#define X(NAME, ...) DISTANCE(word_##NAME)
        // clang-format off
        KINDLING_FOR_EACH_SIMPLE(X) KINDLING_FOR_EACH_COMPARISON(X)
    // clang-format on
#undef X
#define X(NAME, ...) DISTANCE(jump_##NAME)
            KINDLING_FOR_EACH_COMPARISON(X)
#undef X
#define X(NAME, ...) DISTANCE(load_##NAME) DISTANCE(load_at_##NAME) DISTANCE(store_##NAME) DISTANCE(store_at_##NAME)
                KINDLING_FOR_EACH_MEMORY(X)
#undef X
        // clang-format off
        DISTANCE(load_Bool) DISTANCE(load_at_Bool) DISTANCE(word_Select) DISTANCE(word_Call) DISTANCE(word_Index)
        DISTANCE(word_Check) DISTANCE(word_Poll) DISTANCE(word_Jump) DISTANCE(word_Branch) DISTANCE(word_Leave)
        // clang-format on
    };
    static_assert(sizeof distance_of / sizeof distance_of[0] == static_cast<size_t>(Word::Count));
    if (!r) {
        *distances = distance_of;
        return 0;
    }
    const uint32_t* const code = self->words.data();
    const uint32_t* at = code;
    uint32_t way = 0;
#define NEXT(LENGTH)                                                                                                                       \
    do {                                                                                                                                   \
        at += LENGTH;                                                                                                                      \
        goto*(static_cast<const char*>(&&word_AddI) + static_cast<int32_t>(at[0]));                                                        \
    } while (0)
#define RAW(PLACE) r[at[PLACE]]
#define IA static_cast<int64_t>(RAW(2))
#define IB static_cast<int64_t>(RAW(3))
#define DA std::bit_cast<double>(RAW(2))
#define DB std::bit_cast<double>(RAW(3))
#define FA std::bit_cast<float>(static_cast<uint32_t>(RAW(2)))
#define FB std::bit_cast<float>(static_cast<uint32_t>(RAW(3)))
#define set_i(VALUE) RAW(1) = static_cast<uint64_t>(VALUE)
#define set_d(VALUE) RAW(1) = std::bit_cast<uint64_t>(VALUE)
#define set_f(VALUE) RAW(1) = std::bit_cast<uint32_t>(VALUE)
    NEXT(0);
#define X(NAME, VALUE)                                                                                                                     \
    word_##NAME : VALUE;                                                                                                                   \
    NEXT(4);
    KINDLING_FOR_EACH_SIMPLE(X)
#undef X
#define X(NAME, CONDITION)                                                                                                                 \
    word_##NAME : RAW(1) = CONDITION;                                                                                                      \
    NEXT(4);
    KINDLING_FOR_EACH_COMPARISON(X)
#undef X
    // op, where to, a, b
#define X(NAME, CONDITION)                                                                                                                 \
    jump_##NAME : if (CONDITION) {                                                                                                         \
        at = code + at[1];                                                                                                                 \
        NEXT(0);                                                                                                                           \
    }                                                                                                                                      \
    NEXT(4);
    KINDLING_FOR_EACH_COMPARISON(X)
#undef X
    // op, register, base, displacement; at: op, register, base, displacement, index, scale
#define PLAIN (reinterpret_cast<char*>(RAW(2)) + static_cast<int32_t>(at[3]))
#define INDEXED (reinterpret_cast<char*>(RAW(2) + RAW(4) * at[5]) + static_cast<int32_t>(at[3]))
#define GET(TYPE, FROM, LENGTH)                                                                                                            \
    {                                                                                                                                      \
        TYPE value;                                                                                                                        \
        std::memcpy(&value, FROM, sizeof value);                                                                                           \
        set_i(value);                                                                                                                      \
    }                                                                                                                                      \
    NEXT(LENGTH)
#define PUT(TYPE, TO, LENGTH)                                                                                                              \
    {                                                                                                                                      \
        const TYPE value = static_cast<TYPE>(RAW(1));                                                                                      \
        std::memcpy(TO, &value, sizeof value);                                                                                             \
    }                                                                                                                                      \
    NEXT(LENGTH)
#define X(NAME, TYPE)                                                                                                                      \
    load_##NAME : GET(TYPE, PLAIN, 4);                                                                                                     \
    load_at_##NAME : GET(TYPE, INDEXED, 6);                                                                                                \
    store_##NAME : PUT(TYPE, PLAIN, 4);                                                                                                    \
    store_at_##NAME : PUT(TYPE, INDEXED, 6);
    KINDLING_FOR_EACH_MEMORY(X)
#undef X
load_Bool:
    RAW(1) = *PLAIN != 0;
    NEXT(4);
load_at_Bool:
    RAW(1) = *INDEXED != 0;
    NEXT(6);
word_Select:
    RAW(1) = RAW(2) ? RAW(3) : RAW(4);
    NEXT(5);
word_Call:
    {
        const Interpreted::Called& called = self->calls[at[2]];
        RAW(1) = call(called, self->left.data() + called.from, r);
        NEXT(3);
    }
word_Index:
    if (RAW(1) >= RAW(2)) {
        way = at[3];
        goto leave;
    }
    NEXT(4);
word_Check:
    if (!RAW(1)) {
        way = at[2];
        goto leave;
    }
    NEXT(3);
word_Poll:
    if (--asker->counter < 0 && asker->ask && asker->ask(asker)) {
        way = at[1];
        goto leave;
    }
    NEXT(2);
word_Jump:
    at = code + at[1];
    NEXT(0);
word_Branch:
    if (RAW(2)) {
        at = code + at[1];
        NEXT(0);
    }
    NEXT(3);
word_Leave:
    way = at[1];
leave:
    const WayOut& exit = self->exits[way];
    for (uint32_t i = 0; i < exit.count; i++) slots[i].i = static_cast<int64_t>(r[self->left[exit.from + i]]);
    return exit.code;
}

} // namespace

const int32_t* Interpreted::distances() {
    const int32_t* distances = nullptr;
    interpret(nullptr, nullptr, nullptr, nullptr, &distances);
    return distances;
}

int64_t Interpreted::start(const Code* code, Slot* slots, Asker* asker) {
    const Interpreted* self = static_cast<const Interpreted*>(code);
    const size_t count = self->registers + self->constants.size();
    uint64_t few[256];
    std::unique_ptr<uint64_t[]> many;
    uint64_t* r = few;
    if (count > sizeof few / sizeof few[0]) {
        many.reset(new uint64_t[count]);
        r = many.get();
    }
    if (!self->constants.empty()) std::memcpy(r + self->registers, self->constants.data(), self->constants.size() * sizeof(uint64_t));
    for (size_t i = 0; i < self->parameters.size(); i++)
        if (self->parameters[i] != nowhere) r[self->parameters[i]] = static_cast<uint64_t>(slots[i].i);
    Asker none;
    return interpret(self, r, slots, asker ? asker : &none, nullptr);
}

} // namespace kindling::scalar
