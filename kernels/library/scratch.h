// kernels/library/scratch.h: working memory of a kernel, from the caching allocator.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/error.h"
#include "runtime/allocator.h"

namespace kindling::library {

/// Uninitialised room for `count` elements.
template <class T> struct Scratch {
    T* data;
    explicit Scratch(int64_t count) : data(nullptr), bytes_(static_cast<size_t>(count) * sizeof(T)) {
        KINDLING_ASSERT(count >= 0 && static_cast<uint64_t>(count) < (uint64_t{1} << 58));
        data = static_cast<T*>(allocate(bytes_));
    }
    ~Scratch() { deallocate(data, bytes_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    T& operator[](int64_t index) const { return data[index]; }

private:
    size_t bytes_;
};

} // namespace kindling::library
