// kernels/library/factors/reflectors.cpp: Householder's QR. Few columns are reflected one after the other in a copy with whole registers of
// rows. More are halved, and the reflectors of the left half are applied to the right at once, as I - V T V'. T is not computed: its
// inverse is the upper triangle of V'V with 1 / tau in the diagonal (C. Puglisi, 1992), so T times a matrix is a triangular system.
// Compiled for calls.
#include "kernels/library/factors/reflectors.h"

#include <algorithm>
#include <cstring>

#include "kernels/isa.h"
#include "kernels/library/factors/triangle.h"
#include "kernels/library/factors/triangle_isa.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr int64_t whole = 16;  // columns that are reflected one by one
constexpr int64_t widest = 64; // reflectors applied at once: of more, V'V costs what it saves

int64_t rounded(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

void clear(char* at, int64_t bytes) { std::memset(at, 0, static_cast<size_t>(bytes)); }
double get(DType dtype, const void* at) {
    return dtype == DType::Float32 ? static_cast<double>(*static_cast<const float*>(at)) : *static_cast<const double*>(at);
}

/// Reflector j below the diagonal of a matrix becomes a column of `rows` numbers: zeros, 1, what is stored, zeros.
void spell_out(DType dtype, int64_t m, int64_t j, const char* column, char* v, int64_t rows) {
    const auto item = static_cast<int64_t>(item_size(dtype));
    make_unit(dtype, j, v, rows);
    std::memcpy(v + (j + 1) * item, column + (j + 1) * item, static_cast<size_t>((m - j - 1) * item));
}

const TriangleLoops& loops() { return KINDLING_OF_ISA(triangle_loops); }

/// For n columns of m numbers, and three more, since columns are reflected by fours.
Scratch<char> room_for(DType dtype, int64_t m, int64_t n) {
    const auto item = static_cast<int64_t>(item_size(dtype));
    return Scratch<char>(rounded(m * item, 64) * (n + 3));
}

/// The product of `count` reflectors, copied from below the diagonal of a matrix by columns.
class Reflectors {
public:
    Reflectors(DType dtype, int64_t m, int64_t count, const char* a, int64_t lda, const char* tau)
        : dtype_(dtype), item_(static_cast<int64_t>(item_size(dtype))), m_(m), count_(count), v_(m * count * item_),
          triangle_(count * count * item_) {
        for (int64_t j = 0; j < count; ++j) spell_out(dtype, m, j, a + j * lda * item_, v_.data + j * m * item_, m);
        // The other triangle is not read. With many reflectors a quarter is left out, and the zeros before the second half of them, where
        // that leaves the sums in one part.
        const int64_t half = count > 32 ? count / 2 : count, others = count - half, skipped = m <= 512 ? half : 0;
        char *second = v_.data + half * m * item_, *right = triangle_.data + half * item_;
        multiply(dtype, half, half, m, {v_.data, m, 1}, {v_.data, 1, m}, {triangle_.data, count, 1}, false);
        if (others)
            multiply(dtype, count, others, m - skipped, {v_.data + skipped * item_, m, 1}, {second + skipped * item_, 1, m},
                     {right, count, 1}, false);
        for (int64_t j = 0; j < count; ++j) // infinite if nothing is reflected: then 0 is added
            put_number(dtype, triangle_.data + j * (count + 1) * item_, 1 / get(dtype, tau + j * item_));
    }
    /// Multiplies `columns` columns by it, or by its transpose: the reflectors from the first on. `identity`: the columns are that.
    void apply(bool transposed, void* c, int64_t ldc, int64_t columns, bool identity = false) const {
        const int64_t width = rounded(columns, 64 / item_);
        Scratch<char> x(count_ * width * item_);
        if (identity) copy_part(dtype_, count_, columns, {v_.data, m_, 1}, {x.data, width, 1});
        else multiply(dtype_, count_, columns, m_, {v_.data, m_, 1}, {c, 1, ldc}, {x.data, width, 1}, false);
        for (int64_t j = 0; j < count_ && columns < width; ++j) clear(x.data + (j * width + columns) * item_, (width - columns) * item_);
        const TriangularMatrix inverse{triangle_.data, transposed ? 1 : count_, transposed ? count_ : 1, transposed, false};
        solve_triangle({dtype_, count_, width, inverse, x.data, width, 1});
        multiply(dtype_, m_, columns, count_, {v_.data, 1, m_}, {x.data, width, 1}, {c, 1, ldc}, true);
    }

private:
    DType dtype_;
    int64_t item_, m_, count_;
    Scratch<char> v_, triangle_;
};

void factor(DType dtype, int64_t m, int64_t n, char* a, int64_t lda, char* tau) {
    if (n <= whole) return loops().factor_reflectors[dtype == DType::Float64](m, n, a, lda, tau, room_for(dtype, m, n).data);
    const auto item = static_cast<int64_t>(item_size(dtype));
    const int64_t steps = std::min(m, n), first = steps <= whole ? steps : std::min(rounded(steps / 2, whole), widest);
    factor(dtype, m, first, a, lda, tau);
    Reflectors(dtype, m, first, a, lda, tau).apply(true, a + first * lda * item, lda, n - first);
    if (first < steps) factor(dtype, m - first, n - first, a + first * (lda + 1) * item, lda, tau + first * item);
}

} // namespace

void factor_by_reflectors(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, void* tau) {
    factor(dtype, m, n, static_cast<char*>(a), lda, static_cast<char*>(tau));
}

void form_reflectors(DType dtype, int64_t m, int64_t n, int64_t k, void* matrix, int64_t lda, const void* tau) {
    if (n <= whole) return loops().form_reflectors[dtype == DType::Float64](m, n, k, matrix, lda, tau, room_for(dtype, m, n).data);
    const auto item = static_cast<int64_t>(item_size(dtype));
    char* a = static_cast<char*>(matrix);
    for (int64_t j = k; j < n; ++j) make_unit(dtype, j, a + j * lda * item, m);
    for (int64_t end = k, first; end > 0; end = first) {
        first = (end - 1) / widest * widest;
        char* diagonal = a + first * (lda + 1) * item;
        const Reflectors block(dtype, m - first, end - first, diagonal, lda, static_cast<const char*>(tau) + first * item);
        for (int64_t j = first; j < end; ++j) make_unit(dtype, j, a + j * lda * item, m);
        block.apply(false, diagonal, lda, n - first, end == k);
    }
}

} // namespace kindling::library
