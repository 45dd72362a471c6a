// kernels/library/images/padding.cpp: rows of padded planes: a run of neighbours, copied or added as a whole, and the edges.
#include "kernels/library/images/padding.h"

#include <cstring>

#include "kernels/isa.h"
#include "kernels/library/dtype_switch.h"
#include "kernels/tile/move.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr int64_t parallel_bytes = 1 << 17;

/// The longest run of positions that read neighbours in order.
struct Run {
    int64_t first = 0, end = 0;
    Run(const int64_t* from, int64_t n) {
        for (int64_t i = 0, start = 0; i < n; i++) {
            if (i > start && from[i] != from[i - 1] + 1) start = i;
            if (i + 1 - start > end - first) first = start, end = i + 1;
        }
    }
};

/// The elements of a row outside its run, one by one.
using Edges = void (*)(char* to, const char* row, const int64_t* from, const Run& run, int64_t n);
template <class T> void copy_edges(char* to, const char* row, const int64_t* from, const Run& run, int64_t n) {
    for (int64_t i = run.first ? 0 : run.end; i < n; i++) {
        std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), row + from[i] * static_cast<int64_t>(sizeof(T)), sizeof(T));
        if (i + 1 == run.first) i = run.end - 1;
    }
}

/// Calls each(row, where the row that it reads begins) for rows [begin, end) of the padded planes.
template <class F> void each_row(const Pads& p, int64_t begin, int64_t end, F each) {
    int64_t h = begin % p.to[1], d = begin / p.to[1] % p.to[0], plane = begin / p.to[1] / p.to[0];
    for (int64_t row = begin; row < end; row++) {
        each(row, ((plane * p.in[0] + p.from[0][d]) * p.in[1] + p.from[1][h]) * p.in[2]);
        if (++h < p.to[1]) continue;
        h = 0;
        if (++d == p.to[0]) d = 0, plane++;
    }
}

} // namespace

void pad(const Pads& p, int item, const void* in, void* out) {
    const int64_t n = p.to[2], row_bytes = n * item;
    const int64_t* from = p.from[2];
    const Run run(from, n);
    Edges edges = nullptr;
    by_size(static_cast<size_t>(item), [&](auto unit) { edges = copy_edges<decltype(unit)>; });
    const auto copy = KINDLING_OF_ISA(copy_bytes);
    parallel_for(0, p.planes * p.to[0] * p.to[1], 1 + parallel_bytes / row_bytes, [&](int64_t begin, int64_t end) {
        each_row(p, begin, end, [&](int64_t r, int64_t read) {
            const char* row = static_cast<const char*>(in) + read * item;
            char* to = static_cast<char*>(out) + r * row_bytes;
            copy(to + run.first * item, row + from[run.first] * item, (run.end - run.first) * item);
            edges(to, row, from, run, n);
        });
    });
}

void add_padded(const Pads& p, DType dtype, const void* given, void* result) {
    const int64_t n = p.to[2], rows = p.to[0] * p.to[1], parts = is_complex(dtype) ? 2 : 1;
    if (!rows || !n) return; // negative paddings left nothing
    const int64_t* places = p.from[2];
    const Run run(places, n);
    for_type(Types<float, double>{}, to_real(dtype), "pad_backward", [&](auto zero) {
        using T = decltype(zero);
        // A plane's rows write to the same rows of the tensor, so a plane belongs to one thread.
        parallel_for(0, p.planes, 1 + parallel_bytes / (rows * n * parts * static_cast<int64_t>(sizeof(T))),
                     [&](int64_t begin, int64_t end) {
                         each_row(p, begin * rows, end * rows, [&](int64_t r, int64_t read) {
                             const T* from = static_cast<const T*>(given) + r * n * parts;
                             T* to = static_cast<T*>(result) + read * parts;
                             auto add = [&](int64_t i, int64_t count) {
                                 T* __restrict at = to + places[i] * parts;
                                 const T* __restrict x = from + i * parts;
                                 for (int64_t k = 0; k < count * parts; k++) at[k] += x[k];
                             };
                             for (int64_t i = 0; i < run.first; i++) add(i, 1);
                             add(run.first, run.end - run.first);
                             for (int64_t i = run.end; i < n; i++) add(i, 1);
                         });
                     });
    });
}

} // namespace kindling::library
