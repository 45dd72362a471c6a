// Sorting and selecting against the standard library, for every dtype and with nan; shapes with inner dimensions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "check.h"
#include "core/error.h"
#include "draw.h"
#include "kernels/library/indexing/sorting.h"

using namespace kindling;
using namespace kindling::library;

template <class T> static bool before(T a, T b) {
    double x = draw::number(a), y = draw::number(b);
    return x < y || (std::isnan(y) && !std::isnan(x));
}

template <class T> static void orders() {
    constexpr bool floating = !std::is_integral_v<T>;
    for (int64_t n : {1, 2, 17, 49, 100, 511, 512, 2000})
        for (int64_t inner : {1, 3}) {
            int64_t outer = 2;
            std::vector<double> values(static_cast<size_t>(outer * n * inner));
            for (double& v : values)
                v = static_cast<double>(draw::integer(std::is_signed_v<T> || floating ? -20 : 0, 20)) * (floating ? 0.5 : 1);
            if (floating)
                for (int i = 0; i < 3; ++i) values[static_cast<size_t>(draw::integer(0, outer * n * inner - 1))] = std::nan("");
            auto x = draw::as<T>(values);
            std::vector<T> sorted(x.size()), chosen(static_cast<size_t>(outer * inner)), top(x.size());
            std::vector<int64_t> indices(x.size()), index(chosen.size()), top_index(x.size());
            Rows rows{dtype_of<T>, outer, n, inner};
            for (bool descending : {false, true}) {
                sort(rows, x.data(), sorted.data(), indices.data(), descending);
                int64_t k = std::max<int64_t>(1, n / 3);
                topk(rows, x.data(), k, descending, true, top.data(), top_index.data());
                kthvalue(rows, x.data(), k, chosen.data(), index.data());
                for (int64_t o = 0; o < outer; ++o)
                    for (int64_t c = 0; c < inner; ++c) {
                        auto at = [&](int64_t i) { return static_cast<size_t>((o * n + i) * inner + c); };
                        std::vector<int64_t> expected(static_cast<size_t>(n));
                        for (int64_t i = 0; i < n; ++i) expected[static_cast<size_t>(i)] = i;
                        std::stable_sort(expected.begin(), expected.end(), [&](int64_t a, int64_t b) {
                            return descending ? before(x[at(b)], x[at(a)]) : before(x[at(a)], x[at(b)]);
                        });
                        for (int64_t i = 0; i < n; ++i) {
                            CHECK(indices[at(i)] == expected[static_cast<size_t>(i)]);
                            CHECK(!before(sorted[at(i)], x[at(indices[at(i)])]) && !before(x[at(indices[at(i)])], sorted[at(i)]));
                        }
                        for (int64_t i = 0; i < k; ++i) {
                            auto place = static_cast<size_t>((o * k + i) * inner + c);
                            CHECK(!before(top[place], sorted[at(i)]) && !before(sorted[at(i)], top[place]));
                            CHECK(!before(x[at(top_index[place])], top[place]) && !before(top[place], x[at(top_index[place])]));
                        }
                        if (!descending) {
                            T value = chosen[static_cast<size_t>(o * inner + c)], there = x[at(index[static_cast<size_t>(o * inner + c)])];
                            CHECK(!before(value, sorted[at(k - 1)]) && !before(sorted[at(k - 1)], value));
                            CHECK(!before(value, there) && !before(there, value));
                        }
                    }
            }
        }
}

int main() {
    orders<float>();
    orders<double>();
    orders<Half>();
    orders<BFloat16>();
    orders<uint8_t>();
    orders<int8_t>();
    orders<int16_t>();
    orders<int32_t>();
    orders<int64_t>();
    orders<uint64_t>();

    bool bits[] = {true, false, true, false}, sorted_bits[4];
    int64_t order[4];
    sort({DType::Bool, 1, 4, 1}, bits, sorted_bits, order, false);
    CHECK(!sorted_bits[0] && !sorted_bits[1] && sorted_bits[2] && sorted_bits[3]);
    CHECK(order[0] == 1 && order[1] == 3 && order[2] == 0 && order[3] == 2);

    double nan = std::nan(""), value;
    int64_t index;
    double five[] = {3, 1, nan, 2, 1};
    median({DType::Float64, 1, 5, 1}, five, false, &value, &index);
    CHECK(std::isnan(value) && index == 2);
    median({DType::Float64, 1, 5, 1}, five, true, &value, &index);
    CHECK(value == 1 && index == 4); // 1 1 2 3: the lower of the middle two, the later of the equal ones
    int64_t modes[] = {3, 1, 2, 1, 3}, most;
    mode({DType::Int64, 1, 5, 1}, modes, &most, &index);
    CHECK(most == 1 && modes[index] == 1);

    int64_t kinds[5], inverse[5], counts[5];
    CHECK(unique_sorted(DType::Int64, 5, modes, kinds, inverse, counts) == 3);
    CHECK(kinds[0] == 1 && kinds[1] == 2 && kinds[2] == 3 && counts[0] == 2 && counts[1] == 1 && counts[2] == 2);
    for (int i = 0; i < 5; ++i) CHECK(kinds[inverse[i]] == modes[i]);
    int64_t runs[] = {1, 1, 2, 1, 1};
    CHECK(unique_consecutive(DType::Int64, 5, runs, kinds, inverse, counts) == 3);
    CHECK(kinds[1] == 2 && counts[0] == 2 && counts[2] == 2 && inverse[4] == 2);
    CHECK(unique_sorted(DType::Int64, 0, modes, kinds, inverse, counts) == 0);
    float pairs[] = {2, 1, 1, 5, 2, 1, 1, 4};
    CHECK(unique_rows(DType::Float32, 4, 2, pairs, false, kinds, inverse, counts) == 3);
    CHECK(kinds[0] == 3 && kinds[1] == 1 && kinds[2] == 0 && counts[2] == 2 && inverse[0] == 2 && inverse[2] == 2);

    double edges[] = {1, 2, 2, 5}, wanted[] = {0, 2, 5, 9, nan};
    int64_t places[5];
    search_sorted(DType::Float64, 1, 4, true, edges, nullptr, 5, wanted, false, places);
    CHECK(places[0] == 0 && places[1] == 1 && places[2] == 3 && places[3] == 4 && places[4] == 4);
    search_sorted(DType::Float64, 1, 4, true, edges, nullptr, 5, wanted, true, places);
    CHECK(places[0] == 0 && places[1] == 3 && places[2] == 4 && places[3] == 4 && places[4] == 4);
    CHECK_THROWS(sort({DType::Complex64, 1, 1, 1}, edges, nullptr, nullptr, false), "not implemented for 'ComplexFloat'");
    return finish("sorting");
}
