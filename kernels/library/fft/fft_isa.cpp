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
// Elements of a and b in turns, from the lower or the upper half of each 16 bytes.
template <int width, int in_lane, bool upper, int... I>
constexpr std::integer_sequence<int, (I / in_lane * in_lane + I % in_lane / 2 + (upper ? in_lane / 2 : 0) + I % 2 * width)...> in_turns(
    std::integer_sequence<int, I...>) {
    return {};
}
// Every other 16 bytes of a, then of b.
template <int width, int in_lane, bool upper, int... I>
constexpr std::integer_sequence<int, ((2 * (I / in_lane) + upper) * in_lane + I % in_lane)...> every_other(
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

/// What transposes half a register of as many rows as it has lanes. Registers are loaded in halves from two rows, which takes a
/// round of shuffles less: those have one port, insertions the two of arithmetic. (In quarters loads would be the bottleneck.)
template <class T> struct Square {
    using V = Vec<T>;
    static constexpr int width = V::width, in_lane = 16 / static_cast<int>(sizeof(T));
    static constexpr int part = width > in_lane ? width / 2 : width; // of a register: half of it; registers

    /// The row that register i begins with. Its second half is of the row `in_lane` below.
    static constexpr int row(int i) { return i / in_lane * 2 * in_lane + i % in_lane; }
    static V load(const T* first, [[maybe_unused]] const T* second) {
#if defined(__AVX512F__)
        return {(decltype(V::v))_mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps((const float*)first)),
                                                   _mm256_loadu_ps((const float*)second), 1)};
#elif defined(__AVX2__)
        return {(decltype(V::v))_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((const float*)first)),
                                                     _mm_loadu_ps((const float*)second), 1)};
#else
        return V::load(first);
#endif
    }
    /// A register with a in its first half, and b in the second one.
    static V both(T a, [[maybe_unused]] T b) {
        if constexpr (part == width) return V::all(a);
        else return in_halves(V::all(a), V::all(b), Places<T>{});
    }
    template <int... I> static V in_halves(V a, V b, std::integer_sequence<int, I...>) {
        return pick(a, b, std::integer_sequence<int, (I < part ? I : width + I)...>{});
    }
    /// Registers as load() fills them, to `part` rows that are `step` apart.
    [[gnu::always_inline]] static void store(V (&now)[part], T* to, int64_t step) {
#pragma GCC unroll 2
        for (int round = 1; round < in_lane; round *= 2) {
            V next[part];
#pragma GCC unroll 16
            for (int i = 0; i < part; ++i) {
                const int first = i / in_lane * in_lane + i % in_lane / 2;
                V a = now[first], b = now[first + in_lane / 2];
                next[i] = i % 2 ? pick(a, b, in_turns<width, in_lane, true>(Places<T>{}))
                                : pick(a, b, in_turns<width, in_lane, false>(Places<T>{}));
            }
#pragma GCC unroll 16
            for (int i = 0; i < part; ++i) now[i] = next[i];
        }
#pragma GCC unroll 16
        for (int i = 0; i < part; ++i) {
            if constexpr (width == 4 * in_lane) {
                const V a = now[i % in_lane], b = now[i % in_lane + in_lane];
                (i < in_lane ? pick(a, b, every_other<width, in_lane, false>(Places<T>{}))
                             : pick(a, b, every_other<width, in_lane, true>(Places<T>{})))
                    .store(to + i * step);
            } else now[i].store(to + i * step);
        }
    }
};
/// A register that is loaded once, though instructions could load it each time.
template <class T> inline Vec<T> load_once(const T* p) {
    Vec<T> x = Vec<T>::load(p);
    asm("" : "+v"(x.v));
    return x;
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

#if defined(__AVX512F__)
/// Which elements of two registers are their even and their odd ones, or alternate between them; and with real and imaginary parts
/// exchanged.
template <class R> struct Orders {
    alignas(64) std::conditional_t<sizeof(R) == 4, int32_t, int64_t> of[2][4][lanes<R>];
};
template <class R> constexpr Orders<R> make_orders() {
    constexpr int width = lanes<R>;
    Orders<R> orders{};
    for (int back = 0; back < 2; ++back)
        for (int i = 0; i < width; ++i) {
            for (int part = 0; part < 2; ++part) {
                orders.of[back][part][i] = 2 * i + (part ^ back);
                orders.of[back][2 + part][i] = part * width / 2 + i / 2 + (i % 2 ^ back) * width;
            }
        }
    return orders;
}
template <class R> constexpr Orders<R> orders = make_orders<R>();
#endif

/// Calls f(k) for k from `first` to below r, unrolled.
template <int r, class F> inline void each(int first, F f) {
#pragma GCC unroll 16
    for (int k = first; k < r; ++k) f(k);
}
constexpr bool takes_pairs = Vec<float>::width == lanes<float>;
/// What a stage does: transforms of r * m blocks at x, s of them interleaved, become r times as many of m blocks at y. It may read
/// pairs in an array outside in place of blocks, or write them. Only registers of a whole block are read from pairs and written to
/// them: elsewhere that would be more code than it is worth. Strides are computed before, once for all radices.
template <class R> struct Stage {
    int64_t r, m, s;
    const R *w, *roots;
    const R* x;
    R* y;
    // From one butterfly's first number to the next one's, from a number of a butterfly to the next, and from a real part to the
    // imaginary one. to_skip: behind s butterflies.
    int64_t from_next, from, from_im, to_next, to, to_im, to_skip;
    bool from_pairs, to_pairs, back;
    bool later; // whether it begins behind the factors that are 1
    R scale;    // of what is written as pairs
#if defined(__AVX512F__)
    // The parts of two registers of pairs, and two registers of pairs of the parts.
    Complex<Vec<R>> split(Complex<Vec<R>> c) const { return from_pairs ? shuffled(c, 0) : c; }
    Complex<Vec<R>> joined(Complex<Vec<R>> c) const { return to_pairs ? shuffled(c * Vec<R>::all(scale), 2) : c; }
    Complex<Vec<R>> shuffled(Complex<Vec<R>> c, int first) const {
        const auto* order = orders<R>.of[back] + first;
        return {{select(c.re.v, order[0], c.im.v)}, {select(c.re.v, order[1], c.im.v)}};
    }
    static __m512 select(__m512 a, const int32_t* order, __m512 b) { return _mm512_permutex2var_ps(a, _mm512_load_si512(order), b); }
    static __m512d select(__m512d a, const int64_t* order, __m512d b) { return _mm512_permutex2var_pd(a, _mm512_load_si512(order), b); }
#else
    Complex<Vec<R>> split(Complex<Vec<R>> c) const { return c; }
    Complex<Vec<R>> joined(Complex<Vec<R>> c) const { return c; }
#endif
};
// Bodies of loops over butterflies are inlined where there are registers for their strides as well: computed each time these are as much
// as a radix 4. With 16 registers calls are faster, and less code.
#if defined(__AVX512F__)
#define KINDLING_BODY __attribute__((always_inline))
#else
#define KINDLING_BODY __attribute__((noinline))
#endif
/// Calls body(from, to, factors) for one butterfly's registers, for all of a stage.
template <class R, class F> [[gnu::always_inline]] inline void for_butterflies(const Stage<R>& stage, F body) {
    const int64_t m = stage.m, s = stage.s, from = stage.from_next, to = stage.to_next, skip = stage.to_skip;
    const R *w = stage.w, *x = stage.x;
    R* y = stage.y;
    for (int64_t p = 0; p < m; ++p, w += 2 * (stage.r - 1), y += skip)
        for (int64_t q = 0; q < s; ++q, x += from, y += to)
            for (int64_t lane = 0; lane < lanes<R>; lane += Vec<R>::width)
                // The first factors are all 1, and a last stage has no others.
                body(x + lane, y + lane, p || stage.later ? w : nullptr);
}
template <int r, class R, class F> inline void stage_of(const Stage<R>& stage, F butterfly) {
    using V = Vec<R>;
    const int64_t from = stage.from, to = stage.to, im_from = stage.from_im, im_to = stage.to_im;
    for_butterflies(stage, [=, &stage](const R* source, R* target, const R* factors) KINDLING_BODY {
        Complex<V> v[r];
        each<r>(0, [&](int k) {
            v[k] = {V::load(source), V::load(source + im_from)};
            source += from;
        });
        if (stage.from_pairs) each<r>(0, [&](int k) { v[k] = stage.split(v[k]); });
        butterfly(v);
        if (factors) each<r>(1, [&](int k) { v[k] = v[k] * factor<V>(factors + 2 * (k - 1)); });
        if (stage.to_pairs) each<r>(0, [&](int k) { v[k] = stage.joined(v[k]); });
        each<r>(0, [&](int k) {
            v[k].re.store(target);
            v[k].im.store(target + im_to);
            target += to;
        });
    });
}
/// Any odd radix. Numbers at the same distance forwards and backwards from 0 are combined, which leaves real factors:
/// `roots` has cosines and sines.
template <class R> void stage_odd(const Stage<R>& stage) {
    using V = Vec<R>;
    const int r = static_cast<int>(stage.r), half = r / 2;
    const int64_t from = stage.from, to = stage.to, im_from = stage.from_im, im_to = stage.to_im;
    for_butterflies(stage, [=, &stage](const R* source, R* target, const R* factors) KINDLING_BODY {
        auto get = [&](int k) { return stage.split(Complex<V>{V::load(source + k * from), V::load(source + k * from + im_from)}); };
        auto put = [&](int k, Complex<V> c) {
            if (factors && k) c = c * factor<V>(factors + 2 * (k - 1));
            c = stage.joined(c);
            c.re.store(target + k * to);
            c.im.store(target + k * to + im_to);
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
        const R* root = stage.roots;
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

// exp(-2 pi i j k / 16) for j and k from 1 to 3.
template <class R> struct Sixteenths {
    static constexpr double c = 0.92387953251128675613, h = 0.70710678118654752440, d = 0.38268343236508977173;
    static constexpr R roots[3][3][2] = {{{R(c), R(-d)}, {R(h), R(-h)}, {R(d), R(-c)}},
                                         {{R(h), R(-h)}, {0, -1}, {R(-h), R(-h)}},
                                         {{R(d), R(-c)}, {R(-h), R(-h)}, {R(-c), R(d)}}};
};
/// Radix 16 as four by four, through memory: all in registers it would be three times the code and no faster.
template <class R> void stage16(const Stage<R>& stage) {
    using V = Vec<R>;
    const int64_t from = stage.from, to = stage.to, im_from = stage.from_im, im_to = stage.to_im;
    for_butterflies(stage, [=, &stage](const R* source, R* target, const R* factors) KINDLING_BODY {
        Complex<V> middle[4][4];
#pragma GCC unroll 1
        for (int j = 0; j < 4; ++j, source += from) {
            Complex<V> v[4];
            each<4>(0, [&](int k) { v[k] = {V::load(source + 4 * k * from), V::load(source + 4 * k * from + im_from)}; });
            if (stage.from_pairs) each<4>(0, [&](int k) { v[k] = stage.split(v[k]); });
            butterfly4(v[0], v[1], v[2], v[3]);
            if (j) each<4>(1, [&](int k) { v[k] = v[k] * factor<V>(Sixteenths<R>::roots[j - 1][k - 1]); });
            each<4>(0, [&](int k) { middle[j][k] = v[k]; });
        }
#pragma GCC unroll 1
        for (int k = 0; k < 4; ++k, target += to) {
            Complex<V> v[4];
            each<4>(0, [&](int j) { v[j] = middle[j][k]; });
            butterfly4(v[0], v[1], v[2], v[3]);
            each<4>(0, [&](int j) {
                if (factors && k + j) v[j] = v[j] * factor<V>(factors + 2 * (k + 4 * j - 1));
                if (stage.to_pairs) v[j] = stage.joined(v[j]);
                v[j].re.store(target + 4 * j * to);
                v[j].im.store(target + 4 * j * to + im_to);
            });
        }
    });
}

template <class R> inline void run_stage(const Stage<R>& stage) {
    using C = Complex<Vec<R>>;
    switch (stage.r) {
    case 2: return stage_of<2>(stage, [](C* v) { butterfly2(v[0], v[1]); });
    case 3: return stage_of<3>(stage, [](C* v) { butterfly3(v); });
    case 4: return stage_of<4>(stage, [](C* v) { butterfly4(v[0], v[1], v[2], v[3]); });
    case 5: return stage_of<5>(stage, [](C* v) { butterfly5(v); });
    case 8: return stage_of<8>(stage, [](C* v) { butterfly8(v); });
    case 16: return stage16(stage);
    default: return stage_odd(stage);
    }
}

/// Transposes a square of as many numbers as a block has lanes.
template <class R> [[gnu::noinline]] void transpose_square(const R* from, int64_t from_step, R* to, int64_t to_step) {
    using S = Square<R>;
    for (int64_t k = 0; k < lanes<R>; k += S::width)
        for (int64_t lane = 0; lane < lanes<R>; lane += S::part) {
            Vec<R> now[S::part];
#pragma GCC unroll 8
            for (int i = 0; i < S::part; ++i) {
                const R* row = from + (k + S::row(i)) * from_step + lane;
                now[i] = S::load(row, row + S::in_lane * from_step);
            }
            S::store(now, to + lane * to_step + k, to_step);
        }
}
/// Calls body(at) so that from `at` on half a register's numbers make up 0 to n, some of them twice.
template <class R, class F> inline void for_tiles(int64_t n, F body) {
    for (int64_t at = 0; at < n; at += tile<R>) body(at = at + tile<R> > n ? n - tile<R> : at);
}
[[gnu::noinline]] void look(Ahead* ahead) {
    if (ahead) ahead->some();
}
template <class R> void multiply_by_number(R* x, int64_t count, R by) {
    using V = Vec<R>;
    V all = V::all(by);
    for (int64_t i = 0; i < count * block<R>; i += V::width) (V::load(x + i) * all).store(x + i);
}

template <class R> [[gnu::noinline]] R* stages(const StageList<R>& list, R* x, R* y, bool back, const Outside<R>& outside) {
    const R *w = list.twiddles, *roots = list.roots, *from = outside.in ? outside.in : x;
    const int64_t re = back ? lanes<R> : 0, im = lanes<R> - 2 * re, across = tile<R> * block<R>;
    int64_t s = 1;
    for (const StageStep *at = list.steps, *end = at + list.count; at < end; ++at) {
        const int64_t r = at->radix, m = at->rest;
        const bool in = s == 1 && outside.in, out = m == 1 && outside.out;
        if (in && outside.in_row)
            for_tiles<R>(m, [&](int64_t p) {
                for (int64_t k = 0; k < r; ++k)
                    transpose_square(from + 2 * (p + k * m), outside.in_row, outside.tiles + k * across, lanes<R>);
                run_stage<R>({r, tile<R>, 1, w + p * 2 * (r - 1), roots, outside.tiles + re, y + p * r * block<R> + re, block<R>, across,
                              im, block<R>, block<R>, im, (r - 1) * block<R>, false, false, back, p > 0, 1});
                look(outside.ahead);
            });
        else if (out && outside.out_row)
            for_tiles<R>(s, [&](int64_t q) {
                run_stage<R>({r, 1, tile<R>, w, roots, from + q * block<R> + re, outside.tiles + re, block<R>, s * block<R>, im, block<R>,
                              across, im, 0, false, false, back, false, 1});
                if (outside.scale != 1) multiply_by_number(outside.tiles, r * tile<R>, outside.scale);
                for (int64_t k = 0; k < r; ++k)
                    transpose_square<R>(outside.tiles + k * across, lanes<R>, outside.out + 2 * (q + k * s), outside.out_row);
                look(outside.ahead);
            });
        else {
            const int64_t from_next = in ? outside.step : block<R>, to_next = out ? outside.step : block<R>;
            const int64_t from_re = in ? 0 : re, to_re = out ? 0 : re;
            run_stage<R>({r, m, s, w, roots, from + from_re, (out ? outside.out : y) + to_re, from_next, m * s * from_next,
                          lanes<R> - 2 * from_re, to_next, s * to_next, lanes<R> - 2 * to_re, (r - 1) * s * to_next, in, out, back, false,
                          outside.scale});
        }
        w += 2 * m * (r - 1);
        if (r > 5 && r % 2) roots += (r / 2 + 1) / 2 * (r / 2) * 4;
        std::swap(x, y);
        from = x;
        s *= r;
    }
    return x;
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
template <class R> void arrange(const R* w, const R* outer, R* to, int64_t rows) {
    using S = Square<R>;
    using V = Vec<R>;
    for (int64_t k = 0; k < rows; k += S::width)
        for (int64_t lane = 0; lane < lanes<R>; lane += S::part)
            for (int i = 0; i < S::part; ++i, to += 2 * S::width) {
                const int64_t first = k + S::row(i), second = first + S::in_lane;
                const R *a = w + first * block<R> + lane, *b = w + second * block<R> + lane;
                Complex<V> f{S::load(a, b), S::load(a + lanes<R>, b + lanes<R>)};
                if (outer)
                    f = f * Complex<V>{S::both(outer[2 * first], outer[2 * second]), S::both(outer[2 * first + 1], outer[2 * second + 1])};
                f.re.store(to);
                f.im.store(to + S::width);
            }
}
/// x[k] (k < rows, one lane for each j < columns) times w[k], as arrange() ordered them, transposed: y[k / lanes * row + j] has lanes
/// k % lanes. `row` is in blocks, a multiple of `lanes`. What is behind the rows of x, up to a multiple of `lanes`, becomes 0.
template <class R> inline void transpose(R* x, int64_t rows, int64_t columns, const R* w, R* y, int64_t row, bool back) {
    using V = Vec<R>;
    using S = Square<R>;
    const int64_t re = back ? lanes<R> : 0, im = lanes<R> - 2 * re, whole = (rows + lanes<R> - 1) / lanes<R> * lanes<R>;
    for (int64_t i = rows * block<R>; i < whole * block<R>; i += V::width) V::zero().store(x + i);
    x += re;
    y += re;
    for (int64_t k = 0; k < whole; k += S::width)
        for (int64_t lane = 0; lane < lanes<R>; lane += S::part, w += S::part * 2 * S::width) {
            if (lane >= columns) continue;
            V all_re[S::part], all_im[S::part];
#pragma GCC unroll 8
            for (int i = 0; i < S::part; ++i) {
                const R* from = x + (k + S::row(i)) * block<R> + lane;
                const R* by = w + i * 2 * S::width;
                const V f = load_once(by), g = load_once(by + S::width);
                const V a = S::load(from, from + S::in_lane * block<R>), b = S::load(from + im, from + S::in_lane * block<R> + im);
                V c{-(b * g).v}, d = b * f;
                c.add_product(a, f);
                d.add_product(a, g);
                all_re[i] = c;
                all_im[i] = d;
            }
            R* to = y + (k / lanes<R> * row + lane) * block<R> + k % lanes<R>;
            S::store(all_re, to, block<R>);
            S::store(all_im, to + im, block<R>);
        }
}

template <class R> void column(const Matrix<R>& m, int64_t c, R* x, R* spare, R* middle, bool back, const R* in) {
    R* result = stages(m.first, x, spare, back, {in, nullptr, 2 * m.second.n});
    const R* w = m.between + (m.outer ? 0 : c * m.spare);
    if (m.outer) { // in the memory that is left
        R* turned = result == x ? spare : x;
        const int64_t rows = m.spare / block<R>;
        arrange(w, m.outer + 2 * c * rows, turned, rows);
        w = turned;
    }
    transpose(result, m.first.n, m.second.n - c * lanes<R>, w, middle + c * lanes<R> * block<R>, m.pitch, back);
}
template <class R> void columns(const Matrix<R>& m, int64_t begin, int64_t end, const R* in, R* middle, R* room, bool back, Ahead* ahead) {
    for (int64_t c = begin; c < end; ++c) {
        const R* from = in + 2 * c * lanes<R>;
        const int64_t count = m.second.n - c * lanes<R>;
        const bool whole = takes_pairs && count >= lanes<R>;
        if (!whole) load(from, m.second.n, m.first.n, count, room);
        look(ahead);
        column<R>(m, c, room, room + m.spare, middle, back, whole ? from : nullptr);
        look(ahead);
    }
}
template <class R> void rows(const Matrix<R>& m, int64_t begin, int64_t end, R* middle, R* out, R scale, R* room, bool back, Ahead* ahead) {
    for (int64_t k = begin; k < end; ++k) {
        look(ahead);
        R* to = out + 2 * k * lanes<R>;
        const int64_t count = m.first.n - k * lanes<R>;
        const bool whole = takes_pairs && count >= lanes<R>;
        const R* x = stages(m.second, middle + k * m.pitch * block<R>, room, back, {nullptr, whole ? to : nullptr, 2 * m.first.n, scale});
        look(ahead);
        if (!whole) store(x, m.second.n, count, to, m.first.n, scale);
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

template <class R>
constexpr FourierLoops<R> loops = {stages<R>,          load<R>,     store<R>,           arrange<R>,         column<R>,
                                   columns<R>,         rows<R>,     untangle<R>,        untangle_blocks<R>, entangle<R>,
                                   entangle_blocks<R>, multiply<R>, multiply_blocks<R>, turn_blocks<R>,     multiply_by_number<R>,
                                   takes_pairs};

} // namespace

extern constexpr FourierSteps fourier_steps = {loops<float>, loops<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
