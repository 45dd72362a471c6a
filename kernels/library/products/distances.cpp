// kernels/library/products/distances.cpp: turns rows into columns, and distributes rows over threads.
// Compiled for size.
#include "kernels/library/products/distances.h"

#include <algorithm>

#include "kernels/isa.h"
#include "kernels/library/products/distances_isa.h"
#include "kernels/tile/move.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr int64_t register_bytes = 64;
int64_t pitch_of(DType dtype, int64_t count) { return count + register_bytes / static_cast<int64_t>(item_size(dtype)); }

} // namespace

int64_t distances_room(DType dtype, int64_t count, int64_t length) {
    return length > longest_between ? 0 : pitch_of(dtype, count) * length * static_cast<int64_t>(item_size(dtype));
}

bool row_distances(DType dtype, const void* rows, int64_t count, int64_t length, bool squares, void* result, void* room) {
    if (length > longest_between) return false;
    const auto item = static_cast<int64_t>(item_size(dtype)), pitch = pitch_of(dtype, count);
    char* turned = static_cast<char*>(room);
    find_plane_copy(static_cast<int>(item))(
        {turned, static_cast<const char*>(rows), {length, count}, {pitch * item, item}, {item, length * item}});
    const Distances& code = KINDLING_OF_ISA(distances);
    const Between run = dtype == DType::Float32 ? code.floats : code.doubles;
    const RowsBetween given{rows, room, result, count, length, pitch, squares};
    constexpr int64_t some = 8; // rows that meet the same others
    const int64_t parts = (count + some - 1) / some;
    const auto part = [&](int64_t k) { run(given, k * some, std::min(count, (k + 1) * some)); };
    parallel_for(0, (parts + 1) / 2, 1 + 65536 / (2 * some * count * length), [&](int64_t begin, int64_t end) {
        for (; begin < end; begin++) { // one from either end: the first rows have the most behind them
            part(begin);
            if (parts - 1 - begin > begin) part(parts - 1 - begin);
        }
    });
    return true;
}

} // namespace kindling::library
