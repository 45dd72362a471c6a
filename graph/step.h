// graph/step.h: a kernel that is no loop, as it is put off: what its result rule said, and the headers of what it reads and writes.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling {

struct Operator;

/// One of its arrays. Its memory has no address yet.
struct StepArray {
    static constexpr int most_dims = 5;
    bool given = false; // an optional one may not be
    bool by_rows;       // its first dimension are the step's rows; else all of it belongs to every row
    uint8_t ndim;
    DType type;
    uint32_t key;                 // what is lazy of it (core/tensor_impl.h)
    int64_t offset;               // bytes
    int64_t shape[2 * most_dims]; // sizes, then strides, in elements
};

/// An element of its result depends on one row of what goes by rows. So it may run on some rows of it, with the same bits.
struct Step {
    static constexpr int most_arrays = 6;
    /// Runs so many rows. `memory`: where each array lies, those by rows from the first of these rows on. `packed`: see below; may be null.
    using Run = void (*)(const Step& step, void* const* memory, int64_t rows, void* packed);

    const Operator* op = nullptr;
    Run run = nullptr;
    /// Makes of what all rows read what many runs read faster: `packed_bytes` at `packed`. Null: there is nothing to gain.
    Run pack = nullptr;
    int64_t packed_bytes = 0;
    int64_t rows = 0, least_rows = 1; // with fewer at a time the bits may be others
    int64_t cost = 0;                 // about so many operations
    bool looks_up = false;            // of what all rows share it reads those parts alone that its rows name
    int count = 0;                    // of arrays; the last one is the result
    StepArray arrays[most_arrays];
    alignas(16) unsigned char plan[256]; // the result rule's

    /// Which arrays its operands are: the result first, then what is given. How many.
    int operands(int* which) const {
        int given = 0;
        which[given++] = count - 1;
        for (int i = 0; i + 1 < count; i++)
            if (arrays[i].given) which[given++] = i;
        return given;
    }
};

} // namespace kindling
