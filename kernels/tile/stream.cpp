// kernels/tile/stream.cpp: strided and broadcast elements to and from contiguous tiles, by element size.
#include "kernels/tile/stream.h"

#include "kernels/tile/move.h"
#include "runtime/allocator.h"

namespace kindling {

void* RunArena::take_from_block(size_t bytes) {
    constexpr size_t usual = 96 * 1024;
    const size_t whole = bytes + sizeof(Block) > usual ? bytes + sizeof(Block) : usual;
    auto* block = static_cast<Block*>(allocate(whole));
    *block = {first_, whole};
    first_ = block;
    char* place = reinterpret_cast<char*>(block + 1);
    const size_t left = whole - sizeof(Block) - bytes;
    if (left > left_) next_ = place + bytes, left_ = left;
    return place;
}

void RunArena::release() noexcept {
    for (Block* block = first_; block;) {
        Block* next = block->next;
        deallocate(block, block->bytes);
        block = next;
    }
}

/// Elements between `at` and memory where they lie one after the other: whole planes where rows are short.
template <bool Out> static void transfer(Stream& stream, char* memory, int64_t n) {
    PlaneCopy copy = find_plane_copy(stream.item);
    const int64_t item = stream.item, stride = stream.run_stride();
    while (n > 0) {
        int64_t row = stream.run_left(), rows = 1, between = 0;
        if (row > n) row = n;
        if (stream.mode == Stream::General && row == stream.sizes[stream.ndim - 1]) {
            const int64_t left = stream.sizes[stream.ndim - 2] - stream.coordinates[stream.ndim - 2];
            rows = n / row < left ? n / row : left;
            between = stream.strides[stream.ndim - 2];
        }
        if (Out) copy({stream.at, memory, {rows, row}, {between, stride}, {row * item, item}});
        else copy({memory, stream.at, {rows, row}, {row * item, item}, {between, stride}});
        stream.skip(rows * row);
        if (!Out && stride == item && row * item >= 512) fetch_ahead(stream.at, 1024);
        else if (!Out && rows > 1 && between != 0 && stream.is_large) fetch_ahead(stream.at, 4096);
        memory += rows * row * item;
        n -= rows * row;
    }
}

void Stream::gather(void* to, int64_t n) { transfer<false>(*this, static_cast<char*>(to), n); }
void Stream::scatter(const void* from, int64_t n) { transfer<true>(*this, static_cast<char*>(const_cast<void*>(from)), n); }

void Stream::count(int64_t* to, int64_t n) {
    int64_t stride = run_stride();
    while (n > 0) {
        int64_t run = run_left();
        if (run > n) run = n;
        count_up(to, at - static_cast<char*>(nullptr), stride, run);
        skip(run);
        to += run;
        n -= run;
    }
}

} // namespace kindling
