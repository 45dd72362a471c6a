// kernels/library/mask.h: what a mask chooses: its places, or another tensor's elements there.
#pragma once
#include <cstdint>

namespace kindling::library {

/// A mask of bytes, counted: how many are not zero, and how many of them before each part, so that parts are worked on
/// side by side.
class Mask {
public:
    Mask(const void* bytes, int64_t n);
    int64_t count() const { return before_[parts_]; }
    /// Rows of `ndim` coordinates in a mask of these sizes, in order.
    void places(int ndim, const int64_t* sizes, int64_t* out) const;
    /// Elements of `item` bytes that lie as the mask does, those chosen one after the other.
    void take(const void* from, int item, void* out) const;

private:
    template <class F>
    void by_part(F f) const;
    static constexpr int64_t most_parts = 64;
    const char* bytes_;
    int64_t size_, part_, parts_;
    int64_t before_[most_parts + 1];
};

} // namespace kindling::library
