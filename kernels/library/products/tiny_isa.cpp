// kernels/library/products/tiny_isa.cpp: products of several small matrices at once.
// Compiled for vectors.
#include "kernels/library/products/tiny_isa.h"

#if defined(__AVX2__) && !defined(__AVX512F__)
#include <algorithm>

#include "kernels/library/lanes.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

using namespace kindling::KINDLING_ISA_NAMESPACE;

/// Where the lanes of number (i, j) of a matrix are: by rows or by columns, as most matrices lie, which then are turned as a whole.
struct Order {
    int64_t row, column;
    bool dense;
    template <class T> static Order of(const TinyMatrix<T>& x, int64_t rows, int64_t columns) {
        if (x.row == 1 && x.column == rows) return {1, rows, true};
        return {columns, 1, x.column == 1 && x.row == columns};
    }
};

template <class T, class F>
void each_number(const TinyMatrix<T>& x, const Order& order, int64_t rows, int64_t columns, int64_t count, F f) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            for (int64_t l = 0; l < count; ++l)
                f(x.at + l * x.step + i * x.row + j * x.column, (i * order.row + j * order.column) * lanes<T> + l);
}

template <class T> void gather(T* to, const TinyMatrix<const T>& x, const Order& order, int64_t rows, int64_t columns, int64_t count) {
    if (order.dense) return gather_lanes(to, x.at, x.step, rows * columns, count);
    std::fill_n(to, rows * columns * lanes<T>, T{0});
    each_number(x, order, rows, columns, count, [&](const T* from, int64_t lane) { to[lane] = *from; });
}

template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const TinyMatrix<const T>& a, const TinyMatrix<const T>& b, const TinyMatrix<T>& out,
              T alpha, int64_t begin, int64_t end) {
    constexpr int64_t room = largest_tiny * largest_tiny;
    alignas(64) T left[room * lanes<T>], right[room * lanes<T>], product[room * lanes<T>];
    const Order rows = Order::of(a, m, k), columns = Order::of(b, k, n), order = Order::of(out, m, n);
    const Lane<T> times = all<Lane<T>>(alpha);
    for (; begin < end; begin += lanes<T>) {
        const int64_t count = std::min(lanes<T>, end - begin);
        gather(left, a.from(begin), rows, m, k, count);
        gather(right, b.from(begin), columns, k, n, count);
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
                Lane<T> sum = {};
                for (int64_t p = 0; p < k; ++p)
                    sum = mul_add(load<Lane<T>>(left + (i * rows.row + p * rows.column) * lanes<T>),
                                  load<Lane<T>>(right + (p * columns.row + j * columns.column) * lanes<T>), sum);
                store(product + (i * order.row + j * order.column) * lanes<T>, sum * times);
            }
        const TinyMatrix<T> to = out.from(begin);
        if (order.dense) scatter_lanes(to.at, to.step, product, m * n, count);
        else each_number(to, order, m, n, count, [&](T* number, int64_t lane) { *number = product[lane]; });
    }
    clear_upper_halves();
}

} // namespace

extern constexpr MultiplyTiny<float> multiply_tiny_float = multiply<float>;
extern constexpr MultiplyTiny<double> multiply_tiny_double = multiply<double>;

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
#endif
