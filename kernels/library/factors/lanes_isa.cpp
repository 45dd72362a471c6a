// kernels/library/factors/lanes_isa.cpp: LU, Cholesky and QR of several small matrices at once, a lane for each. No reduction
// runs across lanes, and each lane chooses its own pivot.
#include "kernels/library/factors/lanes_isa.h"

#include "kernels/library/lanes.h"

#if defined(__AVX2__) && !defined(__AVX512F__)
namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

using namespace kindling::KINDLING_ISA_NAMESPACE;

static_assert(width == 32); // as lane_room has it

/// Matrices of so many rows, by columns.
template <class T> struct Columns {
    T* at;
    int64_t rows;
    Lane<T>& operator()(int64_t i, int64_t j) const { return *reinterpret_cast<Aliased*>(at + (j * rows + i) * lanes<T>); }

private:
    using Aliased [[gnu::may_alias]] = Lane<T>;
};

/// Matrices of m rows by columns, from there, or from `rows` where they lie by rows.
template <class T> [[gnu::noinline]] void gather_columns(T* to, const T* from, const void* rows, int64_t m, int64_t n, int64_t count) {
    if (!rows) return gather_lanes(to, from, m * n, m * n, count);
    for (int64_t i = 0; i < m; ++i) turn(to + i * lanes<T>, m * lanes<T>, static_cast<const T*>(rows) + i * n, m * n, count, n);
    repeat_first(to, m * n, count);
}

template <class T> Lane<T> number(int64_t value) { return all<Lane<T>>(static_cast<T>(value)); }

/// Exchanges rows k and `with`, which each lane has its own of, in columns [0, n).
template <class T> void exchange(const Columns<T>& a, int64_t k, const Lane<T>& with, int64_t m, int64_t n) {
    for (int64_t i = k + 1; i < m; ++i) {
        const auto here = with == number<T>(i);
        if (!anywhere(here)) continue;
        for (int64_t j = 0; j < n; ++j) {
            const Lane<T> one = a(k, j), other = a(i, j);
            a(k, j) = choose(here, other, one);
            a(i, j) = choose(here, one, other);
        }
    }
}

/// places[k] becomes the row that was exchanged with row k.
template <class T> bool eliminate(const Columns<T>& a, int64_t m, int64_t n, T* places) {
    for (int64_t k = 0; k < (m < n ? m : n); ++k) {
        Lane<T> pivot = a(k, k), most = absolute(pivot), place = number<T>(k);
        for (int64_t i = k + 1; i < m; ++i) {
            const Lane<T> value = a(i, k), size = absolute(value);
            const auto larger = size > most;
            most = choose(larger, size, most);
            pivot = choose(larger, value, pivot);
            place = choose(larger, number<T>(i), place);
        }
        if (anywhere(pivot == Lane<T>{})) return false;
        store(places + k * lanes<T>, place);
        exchange(a, k, place, m, n);
        for (int64_t i = k + 1; i < m; ++i) {
            const Lane<T> times = a(i, k) / pivot;
            a(i, k) = times;
            for (int64_t j = k + 1; j < n; ++j) a(i, j) -= times * a(k, j);
        }
    }
    return true;
}

template <class T> void substitute(const Columns<T>& lu, int64_t n, const Columns<T>& x, int64_t right) {
    for (int64_t c = 0; c < right; ++c) {
        for (int64_t k = 0; k < n; ++k)
            for (int64_t i = k + 1; i < n; ++i) x(i, c) -= lu(i, k) * x(k, c);
        for (int64_t k = n; k-- > 0;) {
            const Lane<T> known = x(k, c) = x(k, c) / lu(k, k);
            for (int64_t i = 0; i < k; ++i) x(i, c) -= lu(i, k) * known;
        }
    }
}

template <class T> bool lu(int64_t count, int64_t m, int64_t n, const void* rows, void* matrices, int32_t* pivots, void* room) {
    T *a = static_cast<T*>(matrices), *work = static_cast<T*>(room);
    const int64_t size = m * n, steps = m < n ? m : n;
    T* places = work + size * lanes<T>;
    gather_columns(work, a, rows, m, n, count);
    const bool usual = eliminate<T>({work, m}, m, n, places);
    if (usual) {
        scatter_lanes(a, size, work, size, count);
        for (int64_t l = 0; l < count; ++l)
            for (int64_t k = 0; k < steps; ++k) *pivots++ = static_cast<int32_t>(places[k * lanes<T> + l]) + 1;
    }
    clear_upper_halves();
    return usual;
}

template <class T>
bool solve(int64_t count, int64_t n, int64_t right, const void* factors, const int32_t* pivots, const void* rows, void* b, void* room) {
    T *x = static_cast<T*>(b), *work = static_cast<T*>(room);
    const Columns<T> sides{work + n * n * lanes<T>, n};
    gather_lanes(work, static_cast<const T*>(factors), n * n, n * n, count);
    gather_columns(sides.at, x, rows, n, right, count);
    for (int64_t k = 0; k < n; ++k) {
        alignas(64) T places[lanes<T>];
        for (int64_t l = 0; l < lanes<T>; ++l) places[l] = static_cast<T>(pivots[(l < count ? l : 0) * n + k] - 1);
        exchange(sides, k, load<Lane<T>>(places), n, right);
    }
    substitute<T>({work, n}, n, sides, right);
    scatter_lanes(x, n * right, sides.at, n * right, count);
    clear_upper_halves();
    return true;
}

template <class T> bool inverse(int64_t count, int64_t n, const void* rows, void* matrices, void* room) {
    T *a = static_cast<T*>(matrices), *work = static_cast<T*>(room);
    const Columns<T> whole{work, n}, sides{work + n * n * lanes<T>, n};
    T* places = sides.at + n * n * lanes<T>;
    gather_columns(work, a, rows, n, n, count);
    const bool usual = eliminate<T>(whole, n, n, places);
    if (usual) {
        for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < n; ++i) sides(i, j) = number<T>(i == j);
        for (int64_t k = 0; k < n; ++k) exchange(sides, k, load<Lane<T>>(places + k * lanes<T>), n, n);
        substitute<T>(whole, n, sides, n);
        scatter_lanes(a, n * n, sides.at, n * n, count);
    }
    clear_upper_halves();
    return usual;
}

template <class T> bool cholesky(int64_t count, bool upper, int64_t n, void* matrices, void* room) {
    T *a = static_cast<T*>(matrices), *work = static_cast<T*>(room);
    const Columns<T> whole{work, n};
    gather_lanes(work, a, n * n, n * n, count);
    auto at = [&](int64_t i, int64_t j) -> Lane<T>& { return upper ? whole(j, i) : whole(i, j); };
    bool usual = true;
    for (int64_t j = 0; j < n && usual; ++j) {
        for (int64_t k = 0; k < j; ++k)
            for (int64_t i = j; i < n; ++i) at(i, j) -= at(i, k) * at(j, k);
        usual = !anywhere(!(at(j, j) > Lane<T>{}));
        const Lane<T> root = at(j, j) = square_root(at(j, j));
        for (int64_t i = j + 1; i < n; ++i) at(i, j) = at(i, j) / root;
        for (int64_t i = 0; i < j; ++i) at(i, j) = Lane<T>{};
    }
    if (usual) scatter_lanes(a, n * n, work, n * n, count);
    clear_upper_halves();
    return usual;
}

/// The sum of f(i) for i in [begin, end), as 16 lanes that are halved until one is left.
template <class T, class F> Lane<T> sum_by_halves(int64_t begin, int64_t end, F f) {
    Lane<T> part[largest_in_lanes];
    int64_t half = 1;
    while (2 * half < end) half *= 2;
    for (int64_t i = 0; i < 2 * half; ++i) part[i] = Lane<T>{};
    for (int64_t i = begin; i < end; ++i) part[i] += f(i);
    for (; half; half /= 2)
        for (int64_t i = 0; i < half; ++i) part[i] += part[i + half];
    return part[0];
}

/// x -= tau v (v'x) for columns [from, n), where v is column j of `a` below row j, and 1 there.
template <class T>
void reflect(const Columns<T>& a, int64_t m, int64_t j, const Lane<T>& tau, const Columns<T>& x, int64_t from, int64_t n) {
    for (int64_t c = from; c < n; ++c) {
        const Lane<T> times = sum_by_halves<T>(j, m, [&](int64_t i) { return i == j ? x(i, c) : Lane<T>(a(i, j) * x(i, c)); }) * tau;
        x(j, c) -= times;
        for (int64_t i = j + 1; i < m; ++i) x(i, c) -= a(i, j) * times;
    }
}

template <class T> bool qr(int64_t count, int64_t m, int64_t n, int64_t width, const void* given, void* q, void* r, void* room) {
    T* work = static_cast<T*>(room);
    constexpr auto large = static_cast<T>(__builtin_ldexp(1, reflector_range<T>)),
                   small = static_cast<T>(__builtin_ldexp(1, -reflector_range<T>));
    constexpr int64_t register_rows = 64 / static_cast<int64_t>(sizeof(T)); // of the routine for one matrix, which leaves zeros with a sign
    const Columns<T> a{work, m}, other{work + m * n * lanes<T>, m};
    T* taus = other.at + (m * width > width * n ? m * width : width * n) * lanes<T>;
    const int64_t steps = m < n ? m : n;
    gather_lanes(work, static_cast<const T*>(given), m * n, m * n, count);
    bool usual = true;
    for (int64_t j = 0; j < steps && usual; ++j) {
        Lane<T> tau = {};
        if (j + 1 < m) {
            const Lane<T> alpha = a(j, j), sum = sum_by_halves<T>(j + 1, m, [&](int64_t i) { return Lane<T>(a(i, j) * a(i, j)); });
            const Lane<T> square = sum + alpha * alpha, size = square_root(square);
            usual = !anywhere(!((sum >= all<Lane<T>>(small)) & (square <= all<Lane<T>>(large))));
            const Lane<T> beta = -with_sign(size, alpha), inverse = number<T>(1) / (alpha - beta);
            tau = (beta - alpha) / beta;
            for (int64_t i = j + 1; i < m; ++i) a(i, j) = a(i, j) * inverse;
            a(j, j) = beta;
            reflect(a, m, j, tau, a, j + 1, n);
        }
        store(taus + j * lanes<T>, tau);
    }
    if (usual) {
        const Columns<T> triangle{other.at, width};
        for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < width; ++i) triangle(i, j) = i <= j && i < m ? a(i, j) : Lane<T>{};
        scatter_lanes(static_cast<T*>(r), width * n, other.at, width * n, count);
    }
    if (usual && q) {
        for (int64_t j = 0; j < width; ++j)
            for (int64_t i = 0; i < m; ++i) other(i, j) = number<T>(i == j);
        for (int64_t j = steps; j-- > 0;) {
            const Lane<T> tau = load<Lane<T>>(taus + j * lanes<T>);
            reflect(a, m, j, tau, other, j + 1, width);
            for (int64_t i = j / register_rows * register_rows; i < j; ++i) other(i, j) = Lane<T>{} * -tau;
            other(j, j) = number<T>(1) - tau;
            for (int64_t i = j + 1; i < m; ++i) other(i, j) = a(i, j) * -tau;
        }
        scatter_lanes(static_cast<T*>(q), m * width, other.at, m * width, count);
    }
    clear_upper_halves();
    return usual;
}

} // namespace

extern constexpr LaneFactors lane_factors[2] = {
    {lanes<float>, lu<float>, solve<float>, inverse<float>, cholesky<float>, qr<float>},
    {lanes<double>, lu<double>, solve<double>, inverse<double>, cholesky<double>, qr<double>},
};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
#endif
