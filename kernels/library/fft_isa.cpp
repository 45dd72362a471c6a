#include "kernels/library/fft_isa.h"

#include "kernels/library/vec.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

// A complex number, or a register of them.
template <class V>
struct Complex {
    V re, im;
};
template <class V>
inline Complex<V> operator+(Complex<V> a, Complex<V> b) {
    return {a.re + b.re, a.im + b.im};
}
template <class V>
inline Complex<V> operator-(Complex<V> a, Complex<V> b) {
    return {a.re - b.re, a.im - b.im};
}
template <class V>
inline Complex<V> operator*(Complex<V> a, Complex<V> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// a - i b and a + i b.
template <class V>
inline Complex<V> minus_i(Complex<V> a, Complex<V> b) {
    return {a.re + b.im, a.im - b.re};
}
template <class V>
inline Complex<V> plus_i(Complex<V> a, Complex<V> b) {
    return {a.re - b.im, a.im + b.re};
}

template <class V, class P>
inline Complex<V> get(P x, int64_t i) {
    return {V::load(x.re + i), V::load(x.im + i)};
}
template <class V, class R>
inline void put(Split<R> y, int64_t i, Complex<V> value) {
    value.re.store(y.re + i);
    value.im.store(y.im + i);
}
template <class V, class R>
inline Complex<V> factor(const R* w) {
    return {V::all(w[0]), V::all(w[1])};
}

// f(V type, q) over [0, s): whole registers, then one by one.
template <class R, class F>
inline void for_lanes(int64_t s, F f) {
    int64_t q = 0;
    for (; q + Vec<R>::width <= s; q += Vec<R>::width)
        f(Vec<R>{}, q);
    for (; q < s; ++q)
        f(One<R>{}, q);
}

template <class R>
void stage2(int64_t m, int64_t s, Split<const R> x, Split<R> y, const R* w) {
    for (int64_t p = 0; p < m; ++p, w += 2)
        for_lanes<R>(s, [&](auto type, int64_t q) {
            using V = decltype(type);
            auto a = get<V>(x, s * p + q), b = get<V>(x, s * (p + m) + q);
            put(y, s * 2 * p + q, a + b);
            put(y, s * (2 * p + 1) + q, (a - b) * factor<V>(w));
        });
}

template <class R>
void stage4(int64_t m, int64_t s, Split<const R> x, Split<R> y, const R* w) {
    for (int64_t p = 0; p < m; ++p, w += 6)
        for_lanes<R>(s, [&](auto type, int64_t q) {
            using V = decltype(type);
            auto a = get<V>(x, s * p + q), b = get<V>(x, s * (p + m) + q);
            auto c = get<V>(x, s * (p + 2 * m) + q), d = get<V>(x, s * (p + 3 * m) + q);
            auto apc = a + c, amc = a - c, bpd = b + d, bmd = b - d;
            int64_t to = s * 4 * p + q;
            put(y, to, apc + bpd);
            put(y, to + s, minus_i(amc, bmd) * factor<V>(w));
            put(y, to + 2 * s, (apc - bpd) * factor<V>(w + 2));
            put(y, to + 3 * s, plus_i(amc, bmd) * factor<V>(w + 4));
        });
}

template <class R>
void stage3(int64_t m, int64_t s, Split<const R> x, Split<R> y, const R* w) {
    for (int64_t p = 0; p < m; ++p, w += 4)
        for_lanes<R>(s, [&](auto type, int64_t q) {
            using V = decltype(type);
            V half = V::all(R(0.5)), sine = V::all(R(0.86602540378443864676));
            auto a = get<V>(x, s * p + q), b = get<V>(x, s * (p + m) + q), c = get<V>(x, s * (p + 2 * m) + q);
            auto sum = b + c, difference = b - c;
            Complex<V> turned{sine * difference.re, sine * difference.im};
            Complex<V> middle{a.re - half * sum.re, a.im - half * sum.im};
            int64_t to = s * 3 * p + q;
            put(y, to, a + sum);
            put(y, to + s, minus_i(middle, turned) * factor<V>(w));
            put(y, to + 2 * s, plus_i(middle, turned) * factor<V>(w + 2));
        });
}

template <class R>
void stage_any(int r, int64_t m, int64_t s, Split<const R> x, Split<R> y, const R* w, const R* roots) {
    for (int64_t p = 0; p < m; ++p, w += 2 * (r - 1))
        for (int k = 0; k < r; ++k)
            for_lanes<R>(s, [&](auto type, int64_t q) {
                using V = decltype(type);
                auto sum = get<V>(x, s * p + q);
                for (int j = 1; j < r; ++j)
                    sum = sum + get<V>(x, s * (p + m * j) + q) * factor<V>(roots + 2 * (j * r + k));
                put(y, s * (r * p + k) + q, k == 0 ? sum : sum * factor<V>(w + 2 * (k - 1)));
            });
}

template <class R>
void untangle(int64_t length, int64_t s, Split<const R> x, Split<R> y, const R* w) {
    for_lanes<R>(s, [&](auto type, int64_t q) {
        using V = decltype(type);
        auto a = get<V>(x, q);
        V none = V::all(R{0});
        put(y, q, Complex<V>{a.re + a.im, none});
        put(y, length * s + q, Complex<V>{a.re - a.im, none});
    });
    for (int64_t k = 1; k <= length / 2; ++k) {
        int64_t other = length - k;
        for_lanes<R>(s, [&](auto type, int64_t q) {
            using V = decltype(type);
            auto a = get<V>(x, k * s + q), b = get<V>(x, other * s + q);
            V half = V::all(R(0.5));
            // The transforms of the even and of the odd elements.
            Complex<V> even{half * (a.re + b.re), half * (a.im - b.im)}, odd{half * (a.im + b.im), half * (b.re - a.re)};
            auto turned = odd * factor<V>(w + 2 * k);
            put(y, k * s + q, even + turned);
            if (other != k) put(y, other * s + q, Complex<V>{even.re - turned.re, turned.im - even.im});
        });
    }
}

template <class R>
constexpr FourierStages<R> stages = {stage2<R>, stage3<R>, stage4<R>, stage_any<R>, untangle<R>};

} // namespace

extern constexpr FourierSteps fourier_steps = {stages<float>, stages<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
