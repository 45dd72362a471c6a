// What masks choose, for every instruction set, beside a loop over the bytes; nothing is written behind the end.
#include <algorithm>
#include <cstring>
#include <vector>

#include "check.h"
#include "draw.h"
#include "kernels/isa.h"
#include "kernels/library/indexing/mask.h"
#include "kernels/library/indexing/mask_isa.h"

using namespace kindling;
using namespace kindling::library;

/// Bytes of which about one in `rare` is not zero, in runs that leave whole words and lines out now and then.
static std::vector<char> draw_mask(int64_t n, int64_t rare) {
    std::vector<char> mask(static_cast<size_t>(n));
    int64_t quiet = 0;
    for (char& byte : mask) {
        if (quiet-- > 0) continue;
        if (draw::integer(0, 99) == 0) quiet = draw::integer(0, 200);
        byte = draw::integer(0, rare) == 0 ? static_cast<char>(draw::integer(1, 255)) : 0;
    }
    return mask;
}

static void steps() {
    for (const MaskSteps* set : {&isa_baseline::mask_steps, &isa_avx512::mask_steps}) {
        if (set == &isa_avx512::mask_steps && machine_isa() != Isa::Avx512) continue;
        for (int turn = 0; turn < 300; turn++) {
            const int64_t n = draw::integer(1, 300), rare = turn % 4 == 0 ? 0 : draw::integer(0, 20);
            const std::vector<char> mask = draw_mask(n, rare);
            const int64_t count = n - std::count(mask.begin(), mask.end(), 0);
            for (int64_t item : {1, 2, 4, 8, 16}) {
                std::vector<char> from(static_cast<size_t>(n * item)), expected;
                for (char& byte : from) byte = static_cast<char>(draw::integer(0, 255));
                for (int64_t i = 0; i < n; i++)
                    if (mask[static_cast<size_t>(i)])
                        expected.insert(expected.end(), from.begin() + i * item, from.begin() + (i + 1) * item);
                std::vector<char> to(static_cast<size_t>(count * item + 128), 77);
                set->take(to.data(), to.data() + count * item, from.data(), mask.data(), n, static_cast<int>(item));
                expected.resize(to.size(), 77);
                CHECK(to == expected);
            }
            for (int outer = 0; outer < 4; outer++) {
                const int64_t row[3] = {3, -4, 5}, column = draw::integer(0, 1000);
                std::vector<int64_t> expected, to(static_cast<size_t>(count * (outer + 1) + 16), 77);
                for (int64_t i = 0; i < n; i++)
                    if (mask[static_cast<size_t>(i)]) {
                        expected.insert(expected.end(), row, row + outer);
                        expected.push_back(column + i);
                    }
                const int64_t* end = set->places(to.data(), to.data() + count * (outer + 1), mask.data(), n, row, outer, column);
                CHECK(end == to.data() + count * (outer + 1));
                expected.resize(to.size(), 77);
                CHECK(to == expected);
            }
        }
    }
}

/// Several parts, rows short and long, and parts that end within rows.
static void whole_masks() {
    const std::vector<std::vector<int64_t>> shapes = {{},         {1},        {200001},        {5, 70001},
                                                      {70001, 5}, {300, 700}, {3, 40, 7, 500}, {40, 500, 3, 7},
                                                      {2, 3, 0},  {70000, 1}, {4200000},       {70000, 61}};
    for (const auto& shape : shapes) {
        int64_t n = 1;
        for (int64_t size : shape) n *= size;
        const std::vector<char> mask = draw_mask(n, 7);
        const Mask counted(mask.data(), n);
        std::vector<int64_t> flat;
        for (int64_t i = 0; i < n; i++)
            if (mask[static_cast<size_t>(i)]) flat.push_back(i);
        CHECK(counted.count() == static_cast<int64_t>(flat.size()));
        const int ndim = static_cast<int>(shape.size());
        std::vector<int64_t> expected, places(flat.size() * shape.size() + 1, -7);
        for (int64_t each : flat) {
            std::vector<int64_t> place(shape.size());
            for (int d = ndim; d-- > 0; each /= shape[static_cast<size_t>(d)])
                place[static_cast<size_t>(d)] = each % shape[static_cast<size_t>(d)];
            expected.insert(expected.end(), place.begin(), place.end());
        }
        expected.push_back(-7);
        counted.places(ndim, shape.data(), places.data());
        CHECK(places == expected);
        std::vector<int32_t> from(static_cast<size_t>(n)), taken(flat.size() + 1, -7), chosen;
        for (size_t i = 0; i < from.size(); i++) from[i] = static_cast<int32_t>(3 * i);
        for (int64_t each : flat) chosen.push_back(static_cast<int32_t>(3 * each));
        chosen.push_back(-7);
        counted.take(from.data(), 4, taken.data());
        CHECK(taken == chosen);
    }
}

int main() {
    steps();
    whole_masks();
    return finish("library: masks");
}
