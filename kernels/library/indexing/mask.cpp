// kernels/library/indexing/mask.cpp: counts masks in parts and distributes them over threads.
// Compiled for size.
#include "kernels/library/indexing/mask.h"

#include <emmintrin.h>

#include "kernels/isa.h"
#include "kernels/library/indexing/mask_isa.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

int64_t count_true(const char* at, int64_t n) {
    const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi8(1);
    __m128i sums = zero;
    int64_t i = 0, count = 0;
    for (; i + 16 <= n; i += 16) // adds zeros and ones, eight bytes at a time
        sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_min_epu8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at + i)), one), zero));
    for (; i < n; i++) count += at[i] != 0;
    return count + _mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums));
}

const MaskSteps& steps() { return isa() == Isa::Avx512 ? isa_avx512::mask_steps : isa_baseline::mask_steps; }

} // namespace

/// Calls f(number, first byte, how many) for each part.
template <class F> void Mask::by_part(F f) const {
    parallel_for(0, parts_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; p++) f(p, p * part_, size_ - p * part_ < part_ ? size_ - p * part_ : part_);
    });
}

Mask::Mask(const void* bytes, int64_t n) : bytes_(static_cast<const char*>(bytes)), size_(n) {
    constexpr int64_t least = 65536;
    part_ = n <= least * most_parts ? least : ((n + most_parts - 1) / most_parts + 63) & ~int64_t{63};
    parts_ = (n + part_ - 1) / part_;
    before_[0] = 0;
    by_part([&](int64_t p, int64_t first, int64_t size) { before_[p + 1] = count_true(bytes_ + first, size); });
    for (int64_t p = 0; p < parts_; p++) before_[p + 1] += before_[p];
}

void Mask::take(const void* from, int item, void* out) const {
    by_part([&](int64_t p, int64_t first, int64_t size) {
        char* to = static_cast<char*>(out);
        steps().take(to + before_[p] * item, to + before_[p + 1] * item, static_cast<const char*>(from) + first * item, bytes_ + first,
                     size, item);
    });
}

void Mask::places(int ndim, const int64_t* sizes, int64_t* out) const {
    const int outer = ndim ? ndim - 1 : 0;
    const int64_t columns = ndim ? sizes[outer] : 1;
    const auto put = steps().places;
    if (outer > 0 && columns < 64) { // as one row at the end of the memory for all coordinates, then expanded in order
        by_part([&](int64_t p, int64_t first, int64_t size) {
            int64_t *to = out + before_[p] * ndim, *end = out + before_[p + 1] * ndim;
            const int64_t* flat = end - (before_[p + 1] - before_[p]);
            put(const_cast<int64_t*>(flat), end, bytes_ + first, size, nullptr, 0, first);
            for (; to < end; to += ndim) {
                int64_t which = *flat++;
                for (int d = outer; d > 0; which /= sizes[d], d--) to[d] = which % sizes[d];
                to[0] = which;
            }
        });
        return;
    }
    by_part([&](int64_t p, int64_t first, int64_t size) {
        int64_t row[64];
        int64_t which = first / columns, column = first % columns;
        for (int d = outer; d-- > 0; which /= sizes[d]) row[d] = which % sizes[d];
        int64_t *to = out + before_[p] * ndim, *end = out + before_[p + 1] * ndim;
        while (to < end) { // nothing may be written behind the last position
            const int64_t n = columns - column < size ? columns - column : size;
            to = put(to, end, bytes_ + first, n, row, outer, column);
            first += n, size -= n, column = 0;
            for (int d = outer; d-- > 0;) {
                if (++row[d] < sizes[d]) break;
                row[d] = 0;
            }
        }
    });
}

} // namespace kindling::library
