// graph/items.cpp: dimensions that are merged, split and compared.
// Compiled for size.
#include "graph/items.h"

#include <algorithm>

namespace kindling {

void merge(Dims& sizes, uint64_t* masks[2], std::vector<Operand>& operands) {
    size_t kept = 0;
    uint64_t merged[2] = {0, 0};
    for (size_t d = 0; d < sizes.size(); d++) {
        if (sizes[d] == 1) continue;
        bool together = kept > 0;
        for (int m = 0; m < 2 && together; m++) together = (merged[m] >> (kept - 1) & 1) == (*masks[m] >> d & 1);
        for (const Operand& operand : operands) together = together && operand.strides[kept - 1] == operand.strides[d] * sizes[d];
        const size_t to = together ? kept - 1 : kept;
        const int64_t size = together ? sizes[to] * sizes[d] : sizes[d];
        for (Operand& operand : operands) operand.strides[to] = operand.strides[d];
        for (int m = 0; m < 2; m++)
            if (*masks[m] >> d & 1) merged[m] |= uint64_t{1} << to;
        sizes[to] = size;
        if (!together) kept++;
    }
    sizes.resize(kept);
    for (Operand& operand : operands) operand.strides.resize(kept);
    for (int m = 0; m < 2; m++) *masks[m] = merged[m];
}

bool refine(const Dims& a, const Dims& b, Dims& both) {
    Dims reversed;
    size_t i = a.size(), j = b.size();
    int64_t left_a = 1, left_b = 1; // of the dimension that is being split; 1: take the next
    for (;;) {
        if (left_a == 1) {
            if (i == 0) break;
            left_a = a[--i];
        }
        if (left_b == 1) {
            if (j == 0) break;
            left_b = b[--j];
        }
        const int64_t part = std::min(left_a, left_b);
        if (left_a % part || left_b % part) return false;
        reversed.push_back(part);
        left_a /= part, left_b /= part;
    }
    if (i || j || left_a != 1 || left_b != 1) return false;
    both.clear();
    for (size_t k = reversed.size(); k-- > 0;) both.push_back(reversed[k]);
    return true;
}

Dims finer(const Dims& sizes, const Dims& strides, const Dims& fine) {
    Dims result(fine.size());
    size_t d = sizes.size();
    int64_t left = 1, stride = 0;
    for (size_t k = fine.size(); k-- > 0;) {
        if (left == 1) {
            d--;
            left = sizes[d];
            stride = strides[d];
        }
        result[k] = stride;
        stride *= fine[k];
        left /= fine[k];
    }
    return result;
}
uint64_t finer(const Dims& sizes, uint64_t mask, const Dims& fine) {
    uint64_t result = 0;
    size_t d = sizes.size();
    int64_t left = 1;
    for (size_t k = fine.size(); k-- > 0;) {
        if (left == 1) {
            d--;
            left = sizes[d];
        }
        if (mask >> d & 1) result |= uint64_t{1} << k;
        left /= fine[k];
    }
    return result;
}

} // namespace kindling
