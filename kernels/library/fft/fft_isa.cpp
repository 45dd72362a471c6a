// kernels/library/fft/fft_isa.cpp: the stages of Fourier transforms over blocks of lanes, for one instruction set.
#include "kernels/library/fft/fft_isa.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/library/vec.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

// A complex number, or a register of them.
template <class V> struct Complex {
    V re, im;
};
template <class V> inline Complex<V> operator+(Complex<V> a, Complex<V> b) { return {a.re + b.re, a.im + b.im}; }
template <class V> inline Complex<V> operator-(Complex<V> a, Complex<V> b) { return {a.re - b.re, a.im - b.im}; }
template <class V> inline Complex<V> operator*(Complex<V> a, Complex<V> b) {
    V re{-(a.im * b.im).v}, im = a.im * b.re;
    re.add_product(a.re, b.re);
    im.add_product(a.re, b.im);
    return {re, im};
}
template <class V> inline Complex<V> operator*(Complex<V> a, V b) { return {a.re * b, a.im * b}; }
/// sum + a * b, rounded once where the processor can.
template <class V> inline Complex<V> plus(Complex<V> sum, Complex<V> a, V b) {
    sum.re.add_product(a.re, b);
    sum.im.add_product(a.im, b);
    return sum;
}
/// a - i b and a + i b.
template <class V> inline Complex<V> minus_i(Complex<V> a, Complex<V> b) { return {a.re + b.im, a.im - b.re}; }
template <class V> inline Complex<V> plus_i(Complex<V> a, Complex<V> b) { return {a.re - b.im, a.im + b.re}; }
template <class V, class R> inline Complex<V> factor(const R* w) { return {V::all(w[0]), V::all(w[1])}; }

// ---- the order of lanes

// Element i of the two registers side by side, for each i of the list. The compiler selects the instruction.
template <class T, int... I> inline Vec<T> pick(Vec<T> a, Vec<T> b, std::integer_sequence<int, I...>) {
    return {__builtin_shufflevector(a.v, b.v, I...)};
}
template <int step, int first, int... I>
constexpr std::integer_sequence<int, (first + step * I)...> series(std::integer_sequence<int, I...>) {
    return {};
}
template <int width, bool upper, bool reversed, int... I>
constexpr std::integer_sequence<int, (I % 2 * width +
                                      (reversed ? width - 1 - I / 2 - (upper ? width / 2 : 0) : I / 2 + (upper ? width / 2 : 0)))...>
zipped(std::integer_sequence<int, I...>) {
    return {};
}
// One round of a transpose: lanes with bit D of one register are exchanged with those without it of the other.
template <int width, int D, bool upper, int... I>
constexpr std::integer_sequence<int, (upper ? (I & D ? width + I : I + D) : (I & D ? width + (I ^ D) : I))...> exchanged(
    std::integer_sequence<int, I...>) {
    return {};
}
template <class T> using Places = std::make_integer_sequence<int, Vec<T>::width>;

/// Splits re0 im0 re1 im1 ... in two registers into real and imaginary parts, and back; last number first if asked.
template <class T, bool reversed = false> inline Complex<Vec<T>> parts(Vec<T> a, Vec<T> b) {
    constexpr int w = Vec<T>::width;
    if constexpr (reversed) return {pick(a, b, series<-2, 2 * w - 2>(Places<T>{})), pick(a, b, series<-2, 2 * w - 1>(Places<T>{}))};
    else return {pick(a, b, series<2, 0>(Places<T>{})), pick(a, b, series<2, 1>(Places<T>{}))};
}
template <bool reversed = false, class T> inline void put_pairs(T* to, Complex<Vec<T>> c) {
    constexpr int w = Vec<T>::width;
    pick(c.re, c.im, zipped<w, false, reversed>(Places<T>{})).store(to);
    pick(c.re, c.im, zipped<w, true, reversed>(Places<T>{})).store(to + w);
}
template <bool reversed = false, class T> inline Complex<Vec<T>> get_pairs(const T* from, std::type_identity<T>) {
    return parts<T, reversed>(Vec<T>::load(from), Vec<T>::load(from + Vec<T>::width));
}

template <class T, int D> inline void transpose_round(Vec<T>* rows) {
    constexpr int w = Vec<T>::width;
#pragma GCC unroll 16
    for (int i = 0; i < w; ++i)
        if (!(i & D)) {
            Vec<T> a = rows[i], b = rows[i + D];
            rows[i] = pick(a, b, exchanged<w, D, false>(Places<T>{}));
            rows[i + D] = pick(a, b, exchanged<w, D, true>(Places<T>{}));
        }
}
/// Transposes a square with as many rows as a register has lanes: from[i] to the memory at to + i * step.
template <class T> inline void transpose_square(const Vec<T>* from, T* to, int64_t step) {
    constexpr int w = Vec<T>::width;
    Vec<T> rows[w];
#pragma GCC unroll 16
    for (int i = 0; i < w; ++i) rows[i] = from[i];
    if constexpr (w >= 16) transpose_round<T, 8>(rows);
    if constexpr (w >= 8) transpose_round<T, 4>(rows);
    if constexpr (w >= 4) transpose_round<T, 2>(rows);
    transpose_round<T, 1>(rows);
#pragma GCC unroll 16
    for (int i = 0; i < w; ++i) rows[i].store(to + i * step);
}

// ---- butterflies: the transform of r numbers, in place

template <class V> inline void butterfly2(Complex<V>& a, Complex<V>& b) {
    auto sum = a + b;
    b = a - b;
    a = sum;
}
template <class V> inline void butterfly4(Complex<V>& a, Complex<V>& b, Complex<V>& c, Complex<V>& d) {
    auto apc = a + c, amc = a - c, bpd = b + d, bmd = b - d;
    a = apc + bpd;
    b = minus_i(amc, bmd);
    c = apc - bpd;
    d = plus_i(amc, bmd);
}
template <class V> inline Complex<V> by_eighth(Complex<V> a, V half_root) { // exp(-pi i / 4)
    return {(a.re + a.im) * half_root, (a.im - a.re) * half_root};
}
template <class V> inline Complex<V> by_three_eighths(Complex<V> a, V half_root) {
    return {(a.im - a.re) * half_root, V::all(0) - (a.re + a.im) * half_root};
}
template <class V> inline void butterfly8(Complex<V>* v) {
    V h = V::all(0.70710678118654752440);
    butterfly4(v[0], v[2], v[4], v[6]);
    butterfly4(v[1], v[3], v[5], v[7]);
    auto b = by_eighth(v[3], h), d = by_three_eighths(v[7], h);
    auto e0 = v[0], e1 = v[2], e2 = v[4], e3 = v[6], o0 = v[1], o2 = v[5];
    v[0] = e0 + o0;
    v[4] = e0 - o0;
    v[1] = e1 + b;
    v[5] = e1 - b;
    v[2] = minus_i(e2, o2);
    v[6] = plus_i(e2, o2);
    v[3] = e3 + d;
    v[7] = e3 - d;
}
template <class V> inline void butterfly3(Complex<V>* v) {
    auto sum = v[1] + v[2], turned = (v[1] - v[2]) * V::all(0.86602540378443864676);
    auto middle = plus(v[0], sum, V::all(-0.5));
    v[0] = v[0] + sum;
    v[1] = minus_i(middle, turned);
    v[2] = plus_i(middle, turned);
}
template <class V> inline void butterfly5(Complex<V>* v) {
    V c1 = V::all(0.30901699437494742410), c2 = V::all(-0.80901699437494742410);
    V s1 = V::all(0.95105651629515357212), s2 = V::all(0.58778525229247312917);
    auto a = v[1] + v[4], b = v[2] + v[3], c = v[1] - v[4], d = v[2] - v[3];
    auto first = plus(plus(v[0], a, c1), b, c2), second = plus(plus(v[0], a, c2), b, c1);
    auto odd_first = plus(c * s1, d, s2), odd_second = plus(c * s2, d, V::all(0) - s1);
    v[0] = v[0] + a + b;
    v[1] = minus_i(first, odd_first);
    v[4] = plus_i(first, odd_first);
    v[2] = minus_i(second, odd_second);
    v[3] = plus_i(second, odd_second);
}

// ---- stages

/// Calls f(k) for k from `first` to below r, unrolled.
template <int r, class F> inline void each(int first, F f) {
#pragma GCC unroll 16
    for (int k = first; k < r; ++k) f(k);
}
/// Calls body(from, to, factors) for one butterfly's registers, for all of a stage.
template <class R, class F> inline void for_butterflies(int r, int64_t m, int64_t s, const R* x, R* y, const R* w, F body) {
    for (int64_t p = 0; p < m; ++p, w += 2 * (r - 1))
        for (int64_t q = 0; q < s; ++q)
            for (int64_t lane = 0; lane < lanes<R>; lane += Vec<R>::width)
                // The first factors are all 1, and a last stage has no others.
                body(x + (s * p + q) * block<R> + lane, y + (s * r * p + q) * block<R> + lane, p ? w : nullptr);
}
template <int r, class R, class F> inline void stage_of(int64_t m, int64_t s, const R* x, R* y, const R* w, bool back, F butterfly) {
    using V = Vec<R>;
    const int64_t re = back ? lanes<R> : 0, im = lanes<R> - re;
    const int64_t from = m * s * block<R>, to = s * block<R>;
    for_butterflies(r, m, s, x, y, w, [=](const R* source, R* target, const R* factors) {
        Complex<V> v[r];
        each<r>(0, [&](int k) { v[k] = {V::load(source + k * from + re), V::load(source + k * from + im)}; });
        butterfly(v);
        if (factors) each<r>(1, [&](int k) { v[k] = v[k] * factor<V>(factors + 2 * (k - 1)); });
        each<r>(0, [&](int k) {
            v[k].re.store(target + k * to + re);
            v[k].im.store(target + k * to + im);
        });
    });
}
/// Any odd radix. Numbers at the same distance forwards and backwards from 0 are combined, which leaves real factors:
/// `roots` has cosines and sines.
template <class R> void stage_odd(int r, int64_t m, int64_t s, const R* x, R* y, const R* w, const R* roots, bool back) {
    using V = Vec<R>;
    const int half = r / 2;
    const int64_t re = back ? lanes<R> : 0, im = lanes<R> - re;
    const int64_t from = m * s * block<R>, to = s * block<R>;
    for_butterflies(r, m, s, x, y, w, [=](const R* source, R* target, const R* factors) {
        auto get = [=](int k) { return Complex<V>{V::load(source + k * from + re), V::load(source + k * from + im)}; };
        auto put = [=](int k, Complex<V> c) {
            if (factors && k) c = c * factor<V>(factors + 2 * (k - 1));
            c.re.store(target + k * to + re);
            c.im.store(target + k * to + im);
        };
        Complex<V> sum[largest_radix / 2], difference[largest_radix / 2];
        const Complex<V> zero = get(0);
        Complex<V> total = zero;
        for (int j = 1; j <= half; ++j) {
            auto a = get(j), b = get(r - j);
            sum[j - 1] = a + b;
            difference[j - 1] = a - b;
            total = total + sum[j - 1];
        }
        put(0, total);
        // Two results share what is loaded. With an odd number the last two are each other's mirror image.
        const R* root = roots;
        for (int k = 1; k <= half; k += 2) {
            Complex<V> even[2] = {zero, zero}, odd[2] = {};
            for (int j = 0; j < half; ++j)
                each<2>(0, [&](int i) {
                    even[i] = plus(even[i], sum[j], V::all(*root++));
                    odd[i] = plus(odd[i], difference[j], V::all(*root++));
                });
            each<2>(0, [&](int i) {
                put(k + i, minus_i(even[i], odd[i]));
                put(r - k - i, plus_i(even[i], odd[i]));
            });
        }
    });
}

/// Radix 16 as four by four, through memory: all in registers it would be six times the code and no faster.
template <class R> void stage16(int64_t m, int64_t s, const R* x, R* y, const R* w, bool back) {
    using V = Vec<R>;
    constexpr double c = 0.92387953251128675613, h = 0.70710678118654752440, d = 0.38268343236508977173;
    // exp(-2 pi i j k / 16)
    static constexpr R roots[4][4][2] = {{{1, 0}, {1, 0}, {1, 0}, {1, 0}},
                                         {{1, 0}, {R(c), R(-d)}, {R(h), R(-h)}, {R(d), R(-c)}},
                                         {{1, 0}, {R(h), R(-h)}, {0, -1}, {R(-h), R(-h)}},
                                         {{1, 0}, {R(d), R(-c)}, {R(-h), R(-h)}, {R(-c), R(d)}}};
    const int64_t re = back ? lanes<R> : 0, im = lanes<R> - re;
    const int64_t from = m * s * block<R>, to = s * block<R>;
    for_butterflies(16, m, s, x, y, w, [=](const R* source, R* target, const R* factors) {
        Complex<V> middle[4][4];
#pragma GCC unroll 1
        for (int j = 0; j < 4; ++j) {
            Complex<V> v[4];
            each<4>(0, [&](int k) {
                const R* at = source + (j + 4 * k) * from;
                v[k] = {V::load(at + re), V::load(at + im)};
            });
            butterfly4(v[0], v[1], v[2], v[3]);
            middle[j][0] = v[0];
            each<4>(1, [&](int k) { middle[j][k] = v[k] * factor<V>(roots[j][k]); });
        }
#pragma GCC unroll 1
        for (int k = 0; k < 4; ++k) {
            Complex<V> v[4];
            each<4>(0, [&](int j) { v[j] = middle[j][k]; });
            butterfly4(v[0], v[1], v[2], v[3]);
            each<4>(0, [&](int j) {
                const int place = k + 4 * j;
                if (factors && place) v[j] = v[j] * factor<V>(factors + 2 * (place - 1));
                v[j].re.store(target + place * to + re);
                v[j].im.store(target + place * to + im);
            });
        }
    });
}

template <class R> void stage(int r, int64_t m, int64_t s, const R* x, R* y, const R* w, const R* roots, bool back) {
    using C = Complex<Vec<R>>;
    switch (r) {
    case 2: return stage_of<2>(m, s, x, y, w, back, [](C* v) { butterfly2(v[0], v[1]); });
    case 3: return stage_of<3>(m, s, x, y, w, back, [](C* v) { butterfly3(v); });
    case 4: return stage_of<4>(m, s, x, y, w, back, [](C* v) { butterfly4(v[0], v[1], v[2], v[3]); });
    case 5: return stage_of<5>(m, s, x, y, w, back, [](C* v) { butterfly5(v); });
    case 8: return stage_of<8>(m, s, x, y, w, back, [](C* v) { butterfly8(v); });
    case 16: return stage16(m, s, x, y, w, back);
    default: return stage_odd(r, m, s, x, y, w, roots, back);
    }
}

// ---- rows of complex numbers and blocks

/// Loads and stores the first `count` elements of a register (none if negative); others are 0 or stay.
#if defined(__AVX512F__)
inline __mmask16 first_words(int64_t count) { return static_cast<__mmask16>(count <= 0 ? 0 : count >= 16 ? 0xffff : (1 << count) - 1); }
template <class T> inline Vec<T> load_some(const T* p, int64_t count) {
    return {(decltype(Vec<T>::v))_mm512_maskz_loadu_ps(first_words(count * static_cast<int64_t>(sizeof(T)) / 4), p)};
}
template <class T> inline void store_some(Vec<T> v, T* p, int64_t count) {
    _mm512_mask_storeu_ps(p, first_words(count * static_cast<int64_t>(sizeof(T)) / 4), (__m512)v.v);
}
#else
template <class T> inline Vec<T> load_some(const T* p, int64_t count) {
    alignas(32) T some[Vec<T>::width] = {};
    for (int64_t i = 0; i < Vec<T>::width && i < count; ++i) some[i] = p[i];
    return Vec<T>::load(some);
}
template <class T> inline void store_some(Vec<T> v, T* p, int64_t count) {
    alignas(32) T some[Vec<T>::width];
    v.store(some);
    for (int64_t i = 0; i < Vec<T>::width && i < count; ++i) p[i] = some[i];
}
#endif

template <class R> void load(const R* from, int64_t row, int64_t rows, int64_t count, R* x) {
    using V = Vec<R>;
    constexpr int64_t width = V::width;
    for (int64_t j = 0; j < rows; ++j, from += 2 * row, x += block<R>)
        for (int64_t lane = 0; lane < lanes<R>; lane += width) {
            const R* at = from + 2 * lane;
            const int64_t left = 2 * (count - lane);
            auto c = left >= 2 * width ? parts(V::load(at), V::load(at + width))
                                       : parts(load_some(at, left), load_some(at + width, left - width));
            c.re.store(x + lane);
            c.im.store(x + lanes<R> + lane);
        }
}
template <class R> void store(const R* x, int64_t rows, int64_t count, R* to, int64_t row, R scale) {
    using V = Vec<R>;
    constexpr int64_t width = V::width;
    V factor = V::all(scale);
    for (int64_t j = 0; j < rows; ++j, to += 2 * row, x += block<R>)
        for (int64_t lane = 0; lane < lanes<R>; lane += width) {
            R* at = to + 2 * lane;
            const int64_t left = 2 * (count - lane);
            auto c = Complex<V>{V::load(x + lane), V::load(x + lanes<R> + lane)} * factor;
            if (left >= 2 * width) put_pairs(at, c);
            else {
                store_some(pick(c.re, c.im, zipped<width, false, false>(Places<R>{})), at, left);
                store_some(pick(c.re, c.im, zipped<width, true, false>(Places<R>{})), at + width, left - width);
            }
        }
}

template <class R> void transpose(const R* x, int64_t rows, int64_t columns, const R* w, const R* outer, R* y, int64_t row, bool back) {
    using V = Vec<R>;
    constexpr int64_t width = V::width;
    const int64_t re = back ? lanes<R> : 0, im = lanes<R> - re;
    for (int64_t k = 0; k < (rows + lanes<R> - 1) / lanes<R> * lanes<R>; k += width)
        for (int64_t lane = 0; lane < columns; lane += width) {
            V parts[2][width];
#pragma GCC unroll 4
            for (int64_t i = 0; i < width; ++i) {
                Complex<V> c{V::all(0), V::all(0)};
                if (k + i < rows) {
                    const R* from = x + (k + i) * block<R> + lane;
                    const R* by = w + (k + i) * block<R> + lane;
                    Complex<V> f{V::load(by), V::load(by + lanes<R>)};
                    if (outer) f = f * factor<V>(outer + 2 * (k + i));
                    c = Complex<V>{V::load(from + re), V::load(from + im)} * f;
                }
                parts[0][i] = c.re;
                parts[1][i] = c.im;
            }
            R* to = y + (k / lanes<R> * row + lane) * block<R> + k % lanes<R>;
#pragma GCC unroll 1
            for (int part = 0; part < 2; ++part) transpose_square(parts[part], to + (part ? im : re), block<R>);
        }
}

// ---- real numbers

/// The values a and b, at k and at n - k, of the transform of pairs become those of the real transform, doubled.
template <class V> struct Both {
    Complex<V> at, mirrored;
};
template <class V> inline Both<V> untangled(Complex<V> a, Complex<V> b, Complex<V> w, V scale, V sign) {
    // The transforms of the even and of the odd elements.
    Complex<V> even{a.re + b.re, a.im - b.im}, odd{a.im + b.im, b.re - a.re};
    auto turned = odd * w;
    auto sum = even + turned, rest = even - turned;
    return {{sum.re * scale, sum.im * sign}, {rest.re * scale, (V::all(0) - rest.im) * sign}};
}
/// The inverse: x at k and n - k become the values of the transform of pairs, doubled.
template <class V> inline Both<V> entangled(Complex<V> a, Complex<V> b, Complex<V> w) {
    Complex<V> even{a.re + b.re, a.im - b.im}, odd{a.re - b.re, a.im + b.im};
    Complex<V> turned = odd * Complex<V>{w.re, V::all(0) - w.im};
    return {{even.re - turned.im, even.im + turned.re}, {even.re + turned.im, turned.re - even.im}};
}

/// y[k], y[n - k] = f(x[k], x[n - k], w[k]) for k from 0 to n / 2, by registers while both ends stay apart.
template <class R, class F> inline void mirrored(const R* x, R* y, int64_t n, const R* w, F f) {
    using V = Vec<R>;
    constexpr int64_t width = V::width;
    const R* sines = w + n / 2 + 1;
    int64_t k = 0;
    for (; 2 * (k + width) - 1 <= n; k += width) {
        const int64_t low = n - k - width + 1;
        auto a = get_pairs(x + 2 * k, std::type_identity<R>{});
        auto b = get_pairs<true>(x + 2 * low, std::type_identity<R>{});
        auto both = f(a, b, Complex<V>{V::load(w + k), V::load(sines + k)});
        put_pairs(y + 2 * k, both.at);
        put_pairs<true>(y + 2 * low, both.mirrored);
    }
    for (; 2 * k <= n; ++k) {
        using One = One<R>;
        const int64_t other = n - k;
        auto both =
            f(Complex<One>{{x[2 * k]}, {x[2 * k + 1]}}, Complex<One>{{x[2 * other]}, {x[2 * other + 1]}}, Complex<One>{{w[k]}, {sines[k]}});
        y[2 * other] = both.mirrored.re.v;
        y[2 * other + 1] = both.mirrored.im.v;
        y[2 * k] = both.at.re.v;
        y[2 * k + 1] = both.at.im.v;
    }
}

template <class R> void untangle(R* x, R* y, int64_t n, const R* w, R scale, R sign) {
    x[2 * n] = x[0];
    x[2 * n + 1] = x[1];
    mirrored(x, y, n, w, [=](auto a, auto b, auto f) {
        using V = decltype(a.re);
        return untangled(a, b, f, V::all(scale / 2), V::all(scale * sign / 2));
    });
    y[1] = y[2 * n + 1] = 0;
}
template <class R> void entangle(const R* x, R* y, int64_t n, const R* w, R sign) {
    mirrored(x, y, n, w, [=](auto a, auto b, auto f) {
        using V = decltype(a.re);
        a.im = a.im * V::all(sign);
        b.im = b.im * V::all(sign);
        return entangled(a, b, f);
    });
    y[0] = x[0] + x[2 * n];
    y[1] = x[0] - x[2 * n];
}

/// The same for blocks: f(a, b, w) for each register of the blocks k and n - k.
template <class R, class F> inline void mirrored_blocks(R* x, int64_t n, const R* w, F f) {
    using V = Vec<R>;
    for (int64_t k = 1; 2 * k <= n; ++k) {
        R *at = x + k * block<R>, *other = x + (n - k) * block<R>;
        Complex<V> root{V::all(w[k]), V::all(w[n / 2 + 1 + k])};
        for (int64_t lane = 0; lane < lanes<R>; lane += V::width, at += V::width, other += V::width) {
            auto both = f(Complex<V>{V::load(at), V::load(at + lanes<R>)}, Complex<V>{V::load(other), V::load(other + lanes<R>)}, root);
            both.mirrored.re.store(other);
            both.mirrored.im.store(other + lanes<R>);
            both.at.re.store(at);
            both.at.im.store(at + lanes<R>);
        }
    }
}
template <class R> void untangle_blocks(R* x, int64_t n, const R* w, R scale, R sign) {
    using V = Vec<R>;
    R* last = x + n * block<R>;
    for (int64_t lane = 0; lane < lanes<R>; ++lane) {
        R re = x[lane], im = x[lanes<R> + lane];
        x[lane] = (re + im) * scale;
        last[lane] = (re - im) * scale;
        x[lanes<R> + lane] = last[lanes<R> + lane] = 0;
    }
    mirrored_blocks(x, n, w, [=](auto a, auto b, auto f) { return untangled(a, b, f, V::all(scale / 2), V::all(scale * sign / 2)); });
}
template <class R> void entangle_blocks(R* x, int64_t n, const R* w, R sign) {
    using V = Vec<R>;
    const R* last = x + n * block<R>;
    for (int64_t lane = 0; lane < lanes<R>; ++lane) {
        R first = x[lane];
        x[lane] = first + last[lane];
        x[lanes<R> + lane] = first - last[lane];
    }
    mirrored_blocks(x, n, w, [=](auto a, auto b, auto f) {
        a.im = a.im * V::all(sign);
        b.im = b.im * V::all(sign);
        return entangled(a, b, f);
    });
}

template <class R> void multiply(R* to, const R* a, const R* b, int64_t count, bool conjugate) {
    using V = Vec<R>;
    int64_t i = 0;
    V sign = V::all(conjugate ? R(-1) : R(1));
    for (; i + V::width <= count; i += V::width) {
        auto c = get_pairs(a + 2 * i, std::type_identity<R>{}) * get_pairs(b + 2 * i, std::type_identity<R>{});
        c.im = c.im * sign;
        put_pairs(to + 2 * i, c);
    }
    for (; i < count; ++i) {
        R re = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1], im = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
        to[2 * i] = re;
        to[2 * i + 1] = conjugate ? -im : im;
    }
}

template <class R> void multiply_blocks(R* x, const R* w, int64_t count) {
    using V = Vec<R>;
    for (; count--; x += block<R>, w += block<R>)
        for (int64_t lane = 0; lane < lanes<R>; lane += V::width) {
            auto c =
                Complex<V>{V::load(x + lane), V::load(x + lanes<R> + lane)} * Complex<V>{V::load(w + lane), V::load(w + lanes<R> + lane)};
            c.re.store(x + lane);
            c.im.store(x + lanes<R> + lane);
        }
}
template <class R> void turn_blocks(R* x, const R* w, int64_t count, bool back) {
    using V = Vec<R>;
    const int64_t re = back ? lanes<R> : 0, im = lanes<R> - re;
    for (; count--; x += block<R>, w += 2)
        for (int64_t lane = 0; lane < lanes<R>; lane += V::width) {
            auto c = Complex<V>{V::load(x + re + lane), V::load(x + im + lane)} * factor<V>(w);
            c.re.store(x + re + lane);
            c.im.store(x + im + lane);
        }
}
template <class R> void multiply_by_number(R* x, int64_t count, R by) {
    using V = Vec<R>;
    V all = V::all(by);
    for (int64_t i = 0; i < count * block<R>; i += V::width) (V::load(x + i) * all).store(x + i);
}

template <class R>
constexpr FourierLoops<R> loops = {
    stage<R>,           load<R>,     store<R>,           transpose<R>,   untangle<R>,          untangle_blocks<R>, entangle<R>,
    entangle_blocks<R>, multiply<R>, multiply_blocks<R>, turn_blocks<R>, multiply_by_number<R>};

} // namespace

extern constexpr FourierSteps fourier_steps = {loops<float>, loops<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
