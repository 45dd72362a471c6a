// LAPACK by what its results must satisfy, for the four dtypes. Where no library is found, that is what is checked.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "check.h"
#include "core/error.h"
#include "kernels/library/factors/lapack.h"
#include "kernels/library/products/gemm.h"
#include "runtime/blas.h"

using namespace kindling;
using namespace kindling::library;

static uint64_t seed = 88172645463325252u;
static double uniform() {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return static_cast<double>(seed >> 11) * 0x1p-53 * 2 - 1;
}
template <class T> constexpr bool complex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T> static T draw() {
    if constexpr (complex<T>) return T(static_cast<typename T::value_type>(uniform()), static_cast<typename T::value_type>(uniform()));
    else return static_cast<T>(uniform());
}
template <class T> static T conj_of(T x) {
    if constexpr (complex<T>) return std::conj(x);
    else return x;
}

/// Column by column, as LAPACK has it.
template <class T> struct Matrix {
    int64_t rows, columns;
    std::vector<T> data;
    Matrix(int64_t r, int64_t c) : rows(r), columns(c), data(static_cast<size_t>(std::max<int64_t>(r * c, 1))) {}
    T& operator()(int64_t i, int64_t j) { return data[static_cast<size_t>(j * rows + i)]; }
    T operator()(int64_t i, int64_t j) const { return data[static_cast<size_t>(j * rows + i)]; }
    static Matrix random(int64_t r, int64_t c) {
        Matrix m(r, c);
        for (T& x : m.data) x = draw<T>();
        return m;
    }
    Matrix adjoint() const {
        Matrix m(columns, rows);
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) m(j, i) = conj_of((*this)(i, j));
        return m;
    }
    Matrix transpose() const {
        Matrix m(columns, rows);
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) m(j, i) = (*this)(i, j);
        return m;
    }
    Matrix head(int64_t r, int64_t c) const {
        Matrix m(r, c);
        for (int64_t i = 0; i < r; ++i)
            for (int64_t j = 0; j < c; ++j) m(i, j) = (*this)(i, j);
        return m;
    }
};
template <class T> static Matrix<T> operator*(const Matrix<T>& a, const Matrix<T>& b) {
    Matrix<T> c(a.rows, b.columns);
    for (int64_t j = 0; j < b.columns; ++j)
        for (int64_t k = 0; k < a.columns; ++k)
            for (int64_t i = 0; i < a.rows; ++i) c(i, j) += a(i, k) * b(k, j);
    return c;
}
template <class T> static double distance(const Matrix<T>& a, const Matrix<T>& b) {
    if (a.rows != b.rows || a.columns != b.columns) return 1e300;
    double most = 0;
    for (size_t i = 0; i < a.data.size(); ++i) {
        double d = std::abs(a.data[i] - b.data[i]);
        if (!(d <= most)) most = d;
    }
    return most;
}
template <class T> static Matrix<T> identity(int64_t n) {
    Matrix<T> m(n, n);
    for (int64_t i = 0; i < n; ++i) m(i, i) = 1;
    return m;
}

template <class T> static void factorisations() {
    constexpr DType dtype = dtype_of<T>;
    using R = std::conditional_t<to_real(dtype) == DType::Float64, double, float>;
    const double tolerance = std::is_same_v<R, double> ? 1e-11 : 2e-3;
    using M = Matrix<T>;
    for (int64_t n : {1, 2, 7, 40}) {
        M a = M::random(n, n), b = M::random(n, 3);
        std::vector<int32_t> pivots(static_cast<size_t>(n));
        M lu = a, x = b;
        CHECK(lapack::getrf(dtype, n, n, lu.data.data(), n, pivots.data()) == 0);
        CHECK(lapack::getrs(dtype, 'N', n, 3, lu.data.data(), n, pivots.data(), x.data.data(), n) == 0);
        CHECK(distance(a * x, b) < tolerance * 100);
        CHECK(lapack::getri(dtype, n, lu.data.data(), n, pivots.data()) == 0);
        CHECK(distance(a * lu, identity<T>(n)) < tolerance * 100);

        M positive = a * a.adjoint();
        for (int64_t i = 0; i < n; ++i) positive(i, i) += T(1);
        for (char uplo : {'U', 'L'}) {
            M factor = positive;
            CHECK(lapack::potrf(dtype, uplo, n, factor.data.data(), n) == 0);
            M triangle = factor;
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < n; ++j)
                    if (uplo == 'U' ? i > j : i < j) triangle(i, j) = 0;
            M product = uplo == 'U' ? triangle.adjoint() * triangle : triangle * triangle.adjoint();
            CHECK(distance(product, positive) < tolerance * 10);
            x = b;
            CHECK(lapack::potrs(dtype, uplo, n, 3, factor.data.data(), n, x.data.data(), n) == 0);
            CHECK(distance(positive * x, b) < tolerance * 100);

            M symmetric = a, hermitian = a;
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < n; ++j) {
                    symmetric(i, j) = a(i, j) + a(j, i);
                    hermitian(i, j) = a(i, j) + conj_of(a(j, i));
                }
            for (bool h : {false, true}) {
                if (h && !complex<T>) continue;
                M f = h ? hermitian : symmetric;
                x = b;
                CHECK(lapack::sytrf(dtype, h, uplo, n, f.data.data(), n, pivots.data()) == 0);
                CHECK(lapack::sytrs(dtype, h, uplo, n, 3, f.data.data(), n, pivots.data(), x.data.data(), n) == 0);
                CHECK(distance((h ? hermitian : symmetric) * x, b) < tolerance * 500);
            }
            M vectors = hermitian;
            std::vector<R> w(static_cast<size_t>(n));
            CHECK(lapack::syevd(dtype, 'V', uplo, n, vectors.data.data(), n, w.data()) == 0);
            M scaled = vectors;
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < n; ++j) scaled(i, j) *= T(w[static_cast<size_t>(j)]);
            CHECK(distance(hermitian * vectors, scaled) < tolerance * 10);
            CHECK(std::is_sorted(w.begin(), w.end()));
        }

        using C = std::complex<R>;
        Matrix<C> vectors(n, n), general(n, n), scaled(n, n);
        std::vector<C> w(static_cast<size_t>(n));
        M work = a;
        CHECK(lapack::geev(dtype, n, work.data.data(), n, w.data(), vectors.data.data()) == 0);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) {
                general(i, j) = C(a(i, j));
                scaled(i, j) = vectors(i, j) * w[static_cast<size_t>(j)];
            }
        CHECK(distance(general * vectors, scaled) < tolerance * 10);
    }
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {3, 5}, {40, 17}, {17, 40}}) {
        int64_t small = std::min(m, n);
        M a = M::random(m, n), qr = a;
        std::vector<T> tau(static_cast<size_t>(small));
        CHECK(lapack::geqrf(dtype, m, n, qr.data.data(), m, tau.data()) == 0);
        M r(small, n), q = qr.head(m, small);
        for (int64_t i = 0; i < small; ++i)
            for (int64_t j = i; j < n; ++j) r(i, j) = qr(i, j);
        CHECK(lapack::orgqr(dtype, m, small, small, q.data.data(), m, tau.data()) == 0);
        CHECK(distance(q * r, a) < tolerance);
        CHECK(distance(q.adjoint() * q, identity<T>(small)) < tolerance);
        M c = M::random(m, 2), turned = c;
        CHECK(lapack::ormqr(dtype, 'L', 'T', m, 2, small, qr.data.data(), m, tau.data(), turned.data.data(), m) == 0);
        CHECK(distance(turned.head(small, 2), q.adjoint() * c) < tolerance);

        for (bool divide : {true, false}) {
            M work = a, u(m, small), vt(small, n);
            std::vector<R> s(static_cast<size_t>(small));
            auto f = divide ? lapack::gesdd : lapack::gesvd;
            CHECK(f(dtype, 'S', m, n, work.data.data(), m, s.data(), u.data.data(), m, vt.data.data(), small) == 0);
            for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < small; ++j) u(i, j) *= T(s[static_cast<size_t>(j)]);
            CHECK(distance(u * vt, a) < tolerance);
            std::vector<R> alone(static_cast<size_t>(small));
            work = a;
            CHECK(f(dtype, 'N', m, n, work.data.data(), m, alone.data(), nullptr, 1, nullptr, 1) == 0);
            CHECK(std::abs(alone[0] - s[0]) < tolerance);
        }

        // Least squares by four routines: a' (a x - b) = 0 where m >= n.
        int64_t large = std::max(m, n);
        M b = M::random(m, 2);
        for (int which = 0; which < 4; ++which) {
            M work = a, x(large, 2);
            for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < 2; ++j) x(i, j) = b(i, j);
            std::vector<int32_t> pivots(static_cast<size_t>(n));
            std::vector<R> s(static_cast<size_t>(small));
            int32_t rank = -1;
            R epsilon = std::is_same_v<R, double> ? R(1e-15) : R(1e-6);
            int info = which == 0 ? lapack::gels(dtype, 'N', m, n, 2, work.data.data(), m, x.data.data(), large)
                       : which == 1
                           ? lapack::gelsy(dtype, m, n, 2, work.data.data(), m, x.data.data(), large, pivots.data(), epsilon, &rank)
                       : which == 2 ? lapack::gelsd(dtype, m, n, 2, work.data.data(), m, x.data.data(), large, s.data(), epsilon, &rank)
                                    : lapack::gelss(dtype, m, n, 2, work.data.data(), m, x.data.data(), large, s.data(), epsilon, &rank);
            CHECK(info == 0);
            CHECK(which == 0 || rank == small);
            M product = a * x.head(n, 2);
            for (size_t i = 0; i < product.data.size(); ++i) product.data[i] -= b.data[i];
            CHECK(distance(a.adjoint() * product, M(n, 2)) < tolerance * 20);
        }
    }
    M singular(3, 3);
    int32_t pivots[3];
    CHECK(lapack::getrf(dtype, 3, 3, singular.data.data(), 3, pivots) == 1);
    CHECK(lapack::potrf(dtype, 'L', 3, singular.data.data(), 3) == 1);
}

template <class T> static void triangular(bool large) {
    constexpr DType dtype = dtype_of<T>;
    using M = Matrix<T>;
    for (char side : {'L', 'R'})
        for (char uplo : {'U', 'L'})
            for (char trans : {'N', 'T', 'C'})
                for (char diag : {'N', 'U'}) {
                    int64_t m = large ? 70 : 6, n = large ? 66 : 4, size = side == 'L' ? m : n;
                    M a = M::random(size, size), b = M::random(m, n);
                    for (T& x : a.data) x *= T(0.1);
                    for (int64_t i = 0; i < size; ++i) a(i, i) += T(2);
                    M full = a; // what the call sees of it
                    for (int64_t i = 0; i < size; ++i)
                        for (int64_t j = 0; j < size; ++j) {
                            if (uplo == 'U' ? i > j : i < j) full(i, j) = 0;
                            if (i == j && diag == 'U') full(i, j) = 1;
                        }
                    if (trans == 'T') full = full.transpose();
                    if (trans == 'C') full = full.adjoint();
                    M x = b;
                    lapack::trsm(dtype, side, uplo, trans, diag, m, n, a.data.data(), size, x.data.data(), m);
                    double off = side == 'L' ? distance(full * x, b) : distance(x * full, b);
                    double scale = 1;
                    for (T value : x.data) scale = std::max(scale, static_cast<double>(std::abs(value)));
                    CHECK(off < (to_real(dtype) == DType::Float64 ? 1e-12 : 1e-4) * scale);
                }
}

/// QR of our own, which needs no library: shapes around those at which columns are split, the whole of Q, numbers whose squares are none.
template <class T> static void reflected() {
    constexpr DType dtype = dtype_of<T>;
    using M = Matrix<T>;
    const double unit = std::numeric_limits<T>::epsilon();
    const T far = std::ldexp(T{1}, std::numeric_limits<T>::max_exponent - 10);
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1},
                        {1, 9},
                        {9, 1},
                        {7, 5},
                        {16, 16},
                        {17, 40},
                        {40, 17},
                        {33, 33},
                        {70, 130},
                        {150, 150},
                        {300, 20}})
        for (T size : {T{1}, far, 1 / far}) {
            M a = M::random(m, n), qr = a;
            for (T& x : qr.data) x *= size;
            const int64_t small = std::min(m, n);
            std::vector<T> tau(static_cast<size_t>(small));
            CHECK(lapack::geqrf(dtype, m, n, qr.data.data(), m, tau.data()) == 0);
            M r(m, n), q(m, m);
            for (int64_t j = 0; j < n; ++j)
                for (int64_t i = 0; i <= std::min(j, m - 1); ++i) r(i, j) = qr(i, j) / size;
            std::copy_n(qr.data.begin(), m * small, q.data.begin());
            CHECK(lapack::orgqr(dtype, m, m, small, q.data.data(), m, tau.data()) == 0);
            CHECK(distance(q * r, a) < 40 * unit * static_cast<double>(std::max(m, n)));
            CHECK(distance(q.transpose() * q, identity<T>(m)) < 40 * unit * static_cast<double>(m));
        }
    // What is triangular already is not touched; without reflectors the product is the identity.
    M triangle = M::random(30, 30), given(30, 30);
    for (int64_t j = 0; j < 30; ++j)
        for (int64_t i = 0; i <= j; ++i) given(i, j) = triangle(i, j);
    triangle = given;
    std::vector<T> tau(30, T{1});
    lapack::geqrf(dtype, 30, 30, triangle.data.data(), 30, tau.data());
    CHECK(distance(triangle, given) == 0 && *std::max_element(tau.begin(), tau.end()) == 0);
    M none = M::random(30, 20);
    lapack::orgqr(dtype, 30, 20, 0, none.data.data(), 30, tau.data());
    CHECK(distance(none, identity<T>(30).head(30, 20)) == 0);
}

/// Cholesky of our own, which needs no library: both triangles, sizes around those at which it is divided, a leading dimension that is
/// larger.
template <class T> static void positive() {
    constexpr DType dtype = dtype_of<T>;
    using M = Matrix<T>;
    for (int64_t n : {1, 16, 17, 33, 130, 300})
        for (bool upper : {false, true}) {
            M drawn = M::random(n, n), given = drawn * drawn.transpose(), room(n + 3, n), factor(n, n);
            for (int64_t j = 0; j < n; ++j) given(j, j) += static_cast<T>(n);
            for (int64_t j = 0; j < n; ++j)
                for (int64_t i = 0; i < n; ++i) room(i, j) = given(i, j);
            CHECK(lapack::potrf(dtype, upper ? 'U' : 'L', n, room.data.data(), n + 3) == 0);
            for (int64_t j = 0; j < n; ++j)
                for (int64_t i = upper ? 0 : j; i <= (upper ? j : n - 1); ++i) factor(i, j) = room(i, j);
            const double close = 40 * std::numeric_limits<T>::epsilon() * static_cast<double>(n);
            CHECK(distance(upper ? factor.transpose() * factor : factor * factor.transpose(), given) < close * static_cast<double>(n));
            given(n / 2, n / 2) = 0;
            CHECK(lapack::potrf(dtype, upper ? 'U' : 'L', n, given.data.data(), n) == n / 2 + 1);
        }
}

int main() {
    reflected<float>();
    positive<float>();
    positive<double>();
    reflected<double>();
    triangular<float>(false);
    triangular<double>(false);
    triangular<std::complex<float>>(false);
    triangular<std::complex<double>>(false);
    if (!blas_available()) {
        int32_t pivot;
        std::complex<double> one = 1;
        CHECK_THROWS(lapack::getrf(DType::Complex128, 1, 1, &one, 1, &pivot), "no library that has it was found");
        std::fprintf(stderr, "lapack: no library here; only its absence was checked\n");
        return finish("lapack");
    }
    CHECK(blas_path() != nullptr);
    triangular<double>(true);
    triangular<std::complex<float>>(true);
    factorisations<float>();
    factorisations<double>();
    factorisations<std::complex<float>>();
    factorisations<std::complex<double>>();
    CHECK_THROWS(lapack::potrf(DType::Int64, 'L', 1, nullptr, 1), "not implemented for 'Long'");
    CHECK_THROWS(blas_routine("nosuchroutine"), "has no routine 'nosuchroutine'");
    return finish("lapack");
}
