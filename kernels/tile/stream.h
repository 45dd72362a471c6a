// kernels/tile/stream.h: an operand read in the order of a flattened iteration space. Internal to the tile executor.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/loop.h"

namespace kindling {

/// Scratch memory for one run on one thread: a little on the stack, the rest from the caching allocator, whose blocks
/// are warm from the run before. The thread may be the program's own, with a stack of 64 KB.
class RunArena {
public:
    RunArena() {} // the space stays uninitialised
    RunArena(const RunArena&) = delete;
    ~RunArena() {
        if (first_) [[unlikely]]
            release();
    }
    void* take_bytes(size_t bytes) {
        bytes = (bytes + 63) & ~size_t{63};
        if (bytes > left_) [[unlikely]]
            return take_from_block(bytes);
        char* place = next_;
        next_ += bytes;
        left_ -= bytes;
        return place;
    }
    template <class T> T* take(int64_t count) { return static_cast<T*>(take_bytes(static_cast<size_t>(count) * sizeof(T))); }

private:
    static constexpr size_t near = 1024;
    struct alignas(64) Block {
        Block* next;
        size_t bytes;
    };
    void* take_from_block(size_t bytes);
    void release() noexcept;
    Block* first_ = nullptr;
    char* next_ = space_;
    size_t left_ = near;
    alignas(64) char space_[near];
};

/// An operand over the flattened space. Its own dimensions are merged as far as its strides allow.
struct Stream {
    enum Mode : uint8_t { Repeated, Contiguous, Strided, General };

    char* base;
    int item;
    int ndim;
    Mode mode;
    bool is_large; // more than the first caches hold, so that short rows are prefetched
    const int64_t* sizes;
    const int64_t* strides;
    int64_t* coordinates; // General only: the coordinates of `at`
    char* at;

    /// `memory` needs room for 3 * ndim numbers.
    void set(void* data, int item_size, int dims, const int64_t* all_sizes, const int64_t* all_strides, int64_t* memory) {
        base = at = static_cast<char*>(data);
        item = item_size;
        int64_t *to_sizes = memory, *to_strides = memory + dims;
        int count = 0;
        for (int d = 0; d < dims; d++) {
            if (all_sizes[d] == 1) continue;
            if (count && to_strides[count - 1] == all_strides[d] * all_sizes[d]) {
                to_sizes[count - 1] *= all_sizes[d];
                to_strides[count - 1] = all_strides[d];
            } else {
                to_sizes[count] = all_sizes[d];
                to_strides[count++] = all_strides[d];
            }
        }
        ndim = count;
        int64_t bytes = item_size;
        for (int d = 0; d < count; d++) bytes *= to_strides[d] ? to_sizes[d] : 1;
        is_large = bytes >= 512 << 10;
        sizes = to_sizes;
        strides = to_strides;
        coordinates = memory + 2 * dims;
        for (int d = 0; d < count; d++) coordinates[d] = 0;
        mode = count == 0 || (count == 1 && strides[0] == 0) ? Repeated : count > 1 ? General : strides[0] == item ? Contiguous : Strided;
    }

    void seek(int64_t flat) {
        switch (mode) {
        case Repeated: break;
        case Contiguous: at = base + flat * item; break;
        case Strided: at = base + flat * strides[0]; break;
        case General:
            at = base;
            for (int d = ndim; d-- > 0;) {
                coordinates[d] = flat % sizes[d];
                flat /= sizes[d];
                at += coordinates[d] * strides[d];
            }
        }
    }
    void skip(int64_t n) {
        switch (mode) {
        case Repeated: break;
        case Contiguous: at += n * item; break;
        case Strided: at += n * strides[0]; break;
        case General:
            at += n * strides[ndim - 1];
            coordinates[ndim - 1] += n;
            for (int d = ndim - 1; coordinates[d] >= sizes[d];) {
                int64_t carry = coordinates[d] / sizes[d];
                coordinates[d] -= carry * sizes[d];
                at -= carry * sizes[d] * strides[d];
                if (d == 0) break;
                d--;
                coordinates[d] += carry;
                at += carry * strides[d];
            }
        }
    }
    /// Elements from `at` onwards that have one stride.
    int64_t run_left() const { return mode == General ? sizes[ndim - 1] - coordinates[ndim - 1] : INT64_MAX; }
    int64_t run_stride() const { return mode == Repeated ? 0 : strides[ndim - 1]; }
    /// True if the next n elements are contiguous.
    bool direct(int64_t n) const { return mode == Contiguous || (mode == General && strides[ndim - 1] == item && run_left() >= n); }

    /// Gathers the next n elements into `to`, or scatters them out of `from`, and advances.
    void gather(void* to, int64_t n);
    void scatter(const void* from, int64_t n);
    /// The same for a coordinate. `base` is its value at the origin; strides count in ones.
    void count(int64_t* to, int64_t n);
};

} // namespace kindling
