// kernels/library/indexing/mask.h: what a mask selects: its positions, or another tensor's elements there.
#pragma once
#include <cstdint>

namespace kindling::library {

/// A mask of bytes, counted: how many are not zero, and how many of them come before each part. So parts can be
/// processed in parallel.
class Mask {
public:
    Mask(const void* bytes, int64_t n);
    int64_t count() const { return before_[parts_]; }
    /// Writes the positions as rows of `ndim` coordinates, in order.
    void places(int ndim, const int64_t* sizes, int64_t* out) const;
    /// Packs elements of `item` bytes, laid out as the mask is, if they are selected.
    void take(const void* from, int item, void* out) const;

private:
    template <class F> void by_part(F f) const;
    static constexpr int64_t most_parts = 64;
    const char* bytes_;
    int64_t size_, part_, parts_;
    int64_t before_[most_parts + 1];
};

} // namespace kindling::library
