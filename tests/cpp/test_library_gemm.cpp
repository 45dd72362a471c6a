// Matrix products against three plain loops: all dtypes, strides, batches, scales; and that an element's value does not
// depend on the thread count or on the batch.
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <string>

#include "check.h"
#include "core/error.h"
#include "draw.h"
#include "kernels/isa.h"
#include "kernels/library/products/gemm.h"
#include "kernels/library/products/gemm_tiles.h"
#include "runtime/threads.h"

using namespace kindling;
using namespace kindling::library;

struct Layout {
    int64_t row, column, batch, size;
};
static Layout layout(int64_t batch, int64_t rows, int64_t columns) {
    switch (draw::integer(0, 2)) {
    case 0: return {columns, 1, rows * columns, batch * rows * columns};
    case 1: return {1, rows, rows * columns, batch * rows * columns};
    default: return {columns * 6, 3, rows * columns * 6, batch * rows * columns * 6};
    }
}

template <class T> static void products(int rounds) {
    constexpr bool integral = std::is_integral_v<T>;
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 12, 13, 31, 32, 33, 64, 70, 129};
    for (int round = 0; round < rounds; ++round) {
        auto pick = [] { return sizes[draw::integer(0, 12)]; };
        int64_t batch = draw::integer(1, 3), m = pick(), n = pick(), k = round % 10 == 0 ? draw::integer(0, 600) : pick();
        Layout la = layout(batch, m, k), lb = layout(batch, k, n), lo = layout(batch, m, n), lc = layout(batch, m, n);
        auto values = [&](int64_t count) {
            std::vector<double> v = draw::reals(count);
            if (integral)
                for (double& x : v) x = static_cast<double>(draw::integer(std::is_unsigned_v<T> ? 0 : -3, 3));
            return v;
        };
        auto a = draw::as<T>(values(la.size)), b = draw::as<T>(values(lb.size)), c = draw::as<T>(values(lc.size));
        std::vector<T> out(static_cast<size_t>(lo.size));
        static const double scales[][2] = {{1, 1}, {1, 0}, {2, 3}};
        const double* scale = scales[draw::integer(0, 2)];
        bool with_c = draw::integer(0, 1);
        Gemm g{};
        g.dtype = dtype_of<T>;
        g.m = m, g.n = n, g.k = k, g.batch = batch;
        g.a = a.data(), g.a_row = la.row, g.a_column = la.column, g.a_batch = la.batch;
        g.b = b.data(), g.b_row = lb.row, g.b_column = lb.column, g.b_batch = lb.batch;
        g.out = out.data(), g.out_row = lo.row, g.out_column = lo.column, g.out_batch = lo.batch;
        if (with_c) g.c = c.data(), g.c_row = lc.row, g.c_column = lc.column, g.c_batch = lc.batch;
        g.alpha = scale[0], g.beta = scale[1];
        g.integer_alpha = static_cast<int64_t>(scale[0]), g.integer_beta = static_cast<int64_t>(scale[1]);
        gemm(g);
        std::vector<T> got;
        std::vector<double> expected;
        for (int64_t s = 0; s < batch; ++s)
            for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) {
                    double sum = 0;
                    for (int64_t p = 0; p < k; ++p)
                        sum += draw::number(a[static_cast<size_t>(s * la.batch + i * la.row + p * la.column)]) *
                               draw::number(b[static_cast<size_t>(s * lb.batch + p * lb.row + j * lb.column)]);
                    sum *= scale[0];
                    if (with_c) sum += scale[1] * draw::number(c[static_cast<size_t>(s * lc.batch + i * lc.row + j * lc.column)]);
                    if constexpr (integral) sum = static_cast<double>(static_cast<T>(static_cast<int64_t>(sum)));
                    expected.push_back(sum);
                    got.push_back(out[static_cast<size_t>(s * lo.batch + i * lo.row + j * lo.column)]);
                }
        CHECK(draw::close(got, expected, 2));
    }
}

template <class R> static void complex_products() {
    using C = std::complex<R>;
    int64_t m = 7, n = 9, k = 11;
    std::vector<C> a(77), b(99), out(63);
    for (C& x : a) x = C(static_cast<R>(draw::real()), static_cast<R>(draw::real()));
    for (C& x : b) x = C(static_cast<R>(draw::real()), static_cast<R>(draw::real()));
    for (bool a_conjugate : {false, true})
        for (bool b_conjugate : {false, true}) {
            std::vector<C> c(out.size(), C(1, 2));
            Gemm g{};
            g.dtype = dtype_of<C>;
            g.m = m, g.n = n, g.k = k;
            g.a = a.data(), g.a_row = k, g.a_column = 1;
            g.b = b.data(), g.b_row = n, g.b_column = 1;
            g.out = out.data(), g.out_row = n, g.out_column = 1;
            g.c = c.data(), g.c_row = n, g.c_column = 1;
            g.alpha = 2, g.alpha_imaginary = 1, g.beta = 0, g.beta_imaginary = 3;
            g.a_conjugate = a_conjugate, g.b_conjugate = b_conjugate;
            gemm(g);
            for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) {
                    C sum = 0;
                    for (int64_t p = 0; p < k; ++p) {
                        C x = a[static_cast<size_t>(i * k + p)], y = b[static_cast<size_t>(p * n + j)];
                        sum += (a_conjugate ? std::conj(x) : x) * (b_conjugate ? std::conj(y) : y);
                    }
                    C expected = C(2, 1) * sum + C(0, 3) * C(1, 2);
                    CHECK(std::abs(out[static_cast<size_t>(i * n + j)] - expected) < draw::tolerance<R>() * 20);
                }
        }
}

static void same_numbers() {
    int64_t m = 200, n = 300, k = 400;
    auto a = draw::as<float>(draw::reals(m * k)), b = draw::as<float>(draw::reals(k * n));
    auto run = [&](int threads, int64_t rows, int64_t columns, int64_t batch) {
        set_num_threads(threads);
        std::vector<float> out(static_cast<size_t>(rows * columns * batch));
        Gemm g{};
        g.dtype = DType::Float32;
        g.m = rows, g.n = columns, g.k = k;
        g.a = a.data(), g.a_row = k, g.a_column = 1;
        g.b = b.data(), g.b_row = n, g.b_column = 1;
        g.out = out.data(), g.out_row = columns, g.out_column = 1;
        g.batch = batch, g.out_batch = rows * columns;
        gemm(g);
        return out;
    };
    auto one = run(1, m, n, 1), four = run(4, m, n, 1), seven = run(7, m, n, 1), batch = run(3, m, n, 2), part = run(1, 50, n, 1);
    CHECK(one == four);
    CHECK(one == seven);
    CHECK(memcmp(one.data(), batch.data() + m * n, one.size() * sizeof(float)) == 0);
    CHECK(memcmp(one.data(), part.data(), part.size() * sizeof(float)) == 0);
    set_num_threads(2);
}

// Small matrices of a batch, which go another way, and lie in larger ones full of NaN, are the numbers of products alone, and nothing
// else of the result is written.
template <class T> static void small_batches() {
    constexpr int64_t batch = 5;
    for (int round = 0; round < 400; ++round) {
        const int64_t m = draw::integer(1, 40), n = draw::integer(1, 40), k = draw::integer(round % 40 ? 1 : 0, round % 7 ? 40 : 130);
        const T nan = static_cast<T>(std::nan(""));
        struct Matrices {
            int64_t rows, columns, row, column, step;
            std::vector<T> numbers;
        };
        auto make = [&](int64_t rows, int64_t columns, T rest) {
            Matrices x{rows, columns, columns + 3, 1, (rows + 2) * (columns + 3), {}};
            if (draw::integer(0, 2) == 0) x.row = 1, x.column = rows + 2; // by columns
            x.numbers.assign(static_cast<size_t>(batch * x.step), rest);
            for (int64_t s = 0; s < batch; ++s)
                for (int64_t i = 0; i < rows; ++i)
                    for (int64_t j = 0; j < columns; ++j)
                        x.numbers[static_cast<size_t>(s * x.step + i * x.row + j * x.column)] = static_cast<T>(draw::real());
            return x;
        };
        const Matrices a = make(m, k, nan), b = make(k, n, nan), c = make(m, n, T{7});
        const bool one_a = draw::integer(0, 3) == 0, one_b = draw::integer(0, 3) == 0, add = draw::integer(0, 3) == 0;
        auto run = [&](int threads, int64_t first, int64_t count, std::vector<T>& out) {
            set_num_threads(threads);
            Gemm g{};
            g.dtype = dtype_of<T>;
            g.m = m, g.n = n, g.k = k, g.batch = count, g.alpha = round % 3 ? 1 : 2.5;
            g.a_row = a.row, g.a_column = a.column, g.a_batch = one_a ? 0 : a.step, g.a = a.numbers.data() + first * g.a_batch;
            g.b_row = b.row, g.b_column = b.column, g.b_batch = one_b ? 0 : b.step, g.b = b.numbers.data() + first * g.b_batch;
            g.out_row = c.row, g.out_column = c.column, g.out_batch = c.step, g.out = out.data() + first * c.step;
            if (add) g.c = g.out, g.c_row = c.row, g.c_column = c.column, g.c_batch = c.step;
            gemm(g);
        };
        std::vector<T> together = c.numbers, shared = c.numbers, alone = c.numbers;
        run(1, 0, batch, together);
        run(3, 0, batch, shared);
        for (int64_t s = 0; s < batch; ++s) run(1, s, 1, alone);
        CHECK(together == alone && shared == alone);
        std::vector<T> expected = c.numbers;
        for (int64_t s = 0; s < batch; ++s)
            for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) {
                    double sum = 0;
                    for (int64_t p = 0; p < k; ++p)
                        sum += draw::number(a.numbers[static_cast<size_t>((one_a ? 0 : s * a.step) + i * a.row + p * a.column)]) *
                               draw::number(b.numbers[static_cast<size_t>((one_b ? 0 : s * b.step) + p * b.row + j * b.column)]);
                    T& number = expected[static_cast<size_t>(s * c.step + i * c.row + j * c.column)];
                    number = static_cast<T>(sum * (round % 3 ? 1 : 2.5) + (add ? draw::number(number) : 0));
                }
        CHECK(draw::close(together, std::vector<double>(expected.begin(), expected.end()), 2));
    }
    set_num_threads(2);
}

// Products that take several blocks each way: a corner of the result is the same numbers when it is computed alone.
template <class T> static void blocks() {
    int64_t m = 400, n = 2100, k = 300, rows = 14, columns = 61;
    auto a = draw::as<T>(draw::reals(m * k)), b = draw::as<T>(draw::reals(k * n)), c = draw::as<T>(draw::reals(m * n));
    for (bool a_turned : {false, true})
        for (bool b_turned : {false, true})
            for (bool add : {false, true}) {
                auto run = [&](int64_t first_row, int64_t first_column) {
                    std::vector<T> out(static_cast<size_t>((m - first_row) * (n - first_column)));
                    Gemm g{};
                    g.dtype = dtype_of<T>;
                    g.m = m - first_row, g.n = n - first_column, g.k = k;
                    g.a_row = a_turned ? 1 : k, g.a_column = a_turned ? m : 1;
                    g.b_row = b_turned ? 1 : n, g.b_column = b_turned ? k : 1;
                    g.a = a.data() + first_row * g.a_row, g.b = b.data() + first_column * g.b_column;
                    g.out = out.data(), g.out_row = g.n, g.out_column = 1;
                    if (add) g.c = c.data() + first_row * n + first_column, g.c_row = n, g.c_column = 1;
                    gemm(g);
                    return out;
                };
                std::vector<T> whole = run(0, 0), corner = run(m - rows, n - columns);
                for (int64_t i = 0; i < rows; ++i)
                    CHECK(memcmp(whole.data() + (m - rows + i) * n + n - columns, corner.data() + i * columns,
                                 static_cast<size_t>(columns) * sizeof(T)) == 0);
                double sum = add ? draw::number(c.back()) : 0;
                for (int64_t p = 0; p < k; ++p)
                    sum += draw::number(a[static_cast<size_t>(a_turned ? p * m + m - 1 : (m - 1) * k + p)]) *
                           draw::number(b[static_cast<size_t>(b_turned ? (n - 1) * k + p : p * n + n - 1)]);
                CHECK(draw::close(std::vector<T>{whole.back()}, std::vector<double>{sum}, 10));
            }
}

// A right side that was packed before gives the numbers of one that lies in rows, whatever it was packed from.
template <class T> static void panels() {
    constexpr DType type = dtype_of<T>;
    for (int64_t m : {1, 5, 24, 61, 150})
        for (int64_t n : {5, 31, 64, 300})
            for (int64_t k : {0, 1, 40, 300}) {
                auto a = draw::as<T>(draw::reals(2 * m * k)), b = draw::as<T>(draw::reals(2 * k * n)),
                     c = draw::as<T>(draw::reals(2 * m * n));
                std::vector<T> turned(b.size());
                for (int64_t i = 0; i < 2 * k * n; ++i)
                    turned[static_cast<size_t>(i / (k * n) * k * n + i % n * k + i % (k * n) / n)] = b[static_cast<size_t>(i)];
                const int64_t columns = panel_columns(type), panel = columns * k, matrix = (n + columns - 1) / columns * panel;
                auto run = [&](int threads, const T* packed) {
                    set_num_threads(threads);
                    std::vector<T> out(static_cast<size_t>(2 * m * n));
                    Gemm g{};
                    g.dtype = type;
                    g.m = m, g.n = n, g.k = k, g.batch = 2;
                    g.a = a.data(), g.a_row = k, g.a_column = 1, g.a_batch = m * k;
                    g.b = packed ? packed : b.data(), g.b_row = packed ? columns : n, g.b_column = 1, g.b_batch = packed ? matrix : k * n;
                    if (packed) g.b_panel = panel;
                    g.c = c.data(), g.c_row = n, g.c_column = 1, g.c_batch = m * n;
                    g.out = out.data(), g.out_row = n, g.out_column = 1, g.out_batch = m * n;
                    gemm(g);
                    return out;
                };
                const std::vector<T> expected = run(1, nullptr);
                for (bool by_columns : {false, true}) {
                    std::vector<T> packed(static_cast<size_t>(2 * matrix + 1), T{7});
                    for (int64_t i = 0; i < 2; ++i)
                        if (by_columns) pack_panels(type, packed.data() + i * matrix, turned.data() + i * k * n, 1, k, k, n);
                        else pack_panels(type, packed.data() + i * matrix, b.data() + i * k * n, n, 1, k, n);
                    CHECK(packed.back() == 7);
                    CHECK(run(1, packed.data()) == expected);
                    if (k) CHECK(run(4, packed.data()) == expected);
                }
            }
    set_num_threads(2);
}

// Products by tiles, at the edges of tiles, of blocks and of what is packed at once: every layout, sums kept from one
// part of k to the next, any number of threads. The numbers are small whole ones, so that sums are exact.
static void tiles() {
    if (!has_tiles()) {
        std::fprintf(stderr, "gemm: skipped 1: no AMX tiles here, or KINDLING_ISA is set\n");
        return;
    }
    struct Shape {
        int64_t m, n, k;
    };
    std::vector<Shape> shapes = {{300, 200, 2100}, {40, 70, 5000}, {600, 1100, 96}, {70, 600, 4200}, {33, 65, 2049}};
    for (int round = 0; round < 60; ++round) shapes.push_back({draw::integer(5, 70), draw::integer(5, 70), draw::integer(1, 140)});
    for (const Shape& shape : shapes) {
        const auto [m, n, k] = shape;
        for (int layout = 0; layout < 4; ++layout)
            for (bool whole : {false, true}) {
                const bool a_turned = layout & 1, b_turned = layout & 2;
                // Some rows and columns more than are used: nothing behind an edge may count.
                const int64_t a_row = a_turned ? 1 : k + 3, a_column = a_turned ? m + 5 : 1;
                const int64_t b_row = b_turned ? 1 : n + 7, b_column = b_turned ? k + 1 : 1;
                auto number = [](int64_t i) { return static_cast<float>(i * 7919 % 13 - 6); };
                const int64_t a_size = (m + 5) * (k + 3), b_size = (n + 7) * (k + 1);
                std::vector<BFloat16> a(static_cast<size_t>(a_size), BFloat16{0x7fc0}), b(static_cast<size_t>(b_size), BFloat16{0x7fc0});
                std::vector<int8_t> a8(static_cast<size_t>(a_size), 99), b8(static_cast<size_t>(b_size), 99);
                for (int64_t p = 0; p < k; ++p) {
                    for (int64_t i = 0; i < m; ++i) {
                        const auto at = static_cast<size_t>(i * a_row + p * a_column);
                        a8[at] = static_cast<int8_t>(number(i * 31 + p));
                        a[at] = draw::as<BFloat16>(std::vector<double>{static_cast<double>(a8[at])})[0];
                    }
                    for (int64_t j = 0; j < n; ++j) {
                        const auto at = static_cast<size_t>(p * b_row + j * b_column);
                        b8[at] = static_cast<int8_t>(number(p * 17 + j));
                        b[at] = draw::as<BFloat16>(std::vector<double>{static_cast<double>(b8[at])})[0];
                    }
                }
                std::vector<int32_t> sums(static_cast<size_t>(m * (n + 2)), -77);
                std::vector<float> floats(static_cast<size_t>(m * (n + 2)), -77);
                TilesPart part{};
                part.m = m, part.n = n, part.k = k, part.out_row = n + 2, part.batch = 1, part.alpha = part.beta = 1;
                part.a_row = a_row, part.a_column = a_column, part.b_row = b_row, part.b_column = b_column;
                part.kind = whole ? TilesPart::Int32 : TilesPart::Float;
                part.a = whole ? static_cast<const void*>(a8.data()) : a.data();
                part.b = whole ? static_cast<const void*>(b8.data()) : b.data();
                part.out = whole ? static_cast<void*>(sums.data()) : floats.data();
                gemm_tiles(part);
                int64_t wrong = 0;
                for (int64_t i = 0; i < m; ++i)
                    for (int64_t j = 0; j < n + 2; ++j) {
                        int64_t expected = j < n ? 0 : -77;
                        if (j < n)
                            for (int64_t p = 0; p < k; ++p)
                                expected +=
                                    a8[static_cast<size_t>(i * a_row + p * a_column)] * b8[static_cast<size_t>(p * b_row + j * b_column)];
                        const auto at = static_cast<size_t>(i * (n + 2) + j);
                        wrong += whole ? sums[at] != expected : floats[at] != static_cast<float>(expected);
                    }
                CHECK(wrong == 0);
            }
    }
}

// An element of a bfloat16 product does not depend on threads, batch or the rest of the matrix either.
static void same_halves() {
    int64_t m = 150, n = 260, k = 2500;
    auto a = draw::as<BFloat16>(draw::reals(m * k)), b = draw::as<BFloat16>(draw::reals(k * n));
    auto run = [&](int threads, int64_t rows, int64_t batch) {
        set_num_threads(threads);
        std::vector<BFloat16> out(static_cast<size_t>(rows * n * batch));
        Gemm g{};
        g.dtype = DType::BFloat16;
        g.m = rows, g.n = n, g.k = k;
        g.a = a.data(), g.a_row = k, g.a_column = 1;
        g.b = b.data(), g.b_row = n, g.b_column = 1;
        g.out = out.data(), g.out_row = n, g.out_column = 1;
        g.batch = batch, g.out_batch = rows * n;
        gemm(g);
        return out;
    };
    const auto one = run(1, m, 1), four = run(4, m, 1), batch = run(3, m, 2), part = run(1, 37, 1);
    CHECK(memcmp(one.data(), four.data(), one.size() * 2) == 0);
    CHECK(memcmp(one.data(), batch.data() + m * n, one.size() * 2) == 0);
    CHECK(memcmp(one.data(), part.data(), part.size() * 2) == 0);
    set_num_threads(2);
}

int main() {
    tiles();
    same_halves();
    blocks<BFloat16>();
    panels<float>();
    panels<double>();
    products<float>(150);
    products<double>(150);
    products<Half>(20);
    products<BFloat16>(150);
    products<uint8_t>(20);
    products<int8_t>(20);
    products<int16_t>(20);
    products<int32_t>(20);
    products<int64_t>(20);
    complex_products<float>();
    complex_products<double>();
    small_batches<float>();
    small_batches<double>();
    same_numbers();
    blocks<float>();
    blocks<double>();
    Gemm bools{};
    bools.dtype = DType::Bool;
    bools.m = bools.n = bools.k = 1;
    CHECK_THROWS(gemm(bools), "\"addmm_impl_cpu_\" not implemented for 'Bool'");
    return finish("gemm");
}
