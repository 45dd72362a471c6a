// kernels/library/isa_buffer.h: Scratch (scratch.h) for files that are compiled for an instruction set of their own.
//
// In an unnamed namespace: each such file has its own copy. With one name for all, the linker would keep a single one,
// which could hold instructions that this processor lacks.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/allocator.h"

namespace kindling::library {
namespace {

/// Uninitialised room for `count` elements.
template <class T> struct Buffer {
    T* data;
    size_t bytes;
    explicit Buffer(int64_t count) : data(nullptr), bytes(sizeof(T) * static_cast<size_t>(count)) {
        data = static_cast<T*>(allocate(bytes));
    }
    ~Buffer() { deallocate(data, bytes); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
};

} // namespace
} // namespace kindling::library
