// Stockham's mixed-radix transform on split real and imaginary arrays, several rows side by side so that the innermost
// loops are long; lengths with a large prime factor go through Bluestein's convolution.
#include "kernels/library/fft.h"

#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/library/fft_isa.h"
#include "kernels/library/scratch.h"
#include "kernels/move.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr int largest_radix = 31;

// exp(-2 pi i numerator / denominator) with the argument brought into an eighth of the circle first.
struct Root {
    double re, im;
};
Root root(uint64_t numerator, uint64_t denominator) {
    constexpr double two_pi = 6.283185307179586476925286766559;
    numerator %= denominator;
    uint64_t eighth = numerator * 8 / denominator;
    // The distance to the nearest multiple of a quarter, exactly.
    uint64_t quarter = (eighth + 1) / 2;
    double offset = (static_cast<double>(numerator * 4) - static_cast<double>(quarter * denominator)) /
                    static_cast<double>(denominator * 4);
    double c = std::cos(two_pi * offset), s = std::sin(two_pi * offset);
    switch (quarter % 4) {
    case 0:
        return {c, -s};
    case 1:
        return {-s, -c};
    case 2:
        return {-c, s};
    default:
        return {s, c};
    }
}

template <class R>
struct Plan {
    int64_t n;
    std::vector<int> radices; // empty with n > 1: Bluestein
    std::vector<R> twiddles;  // for each stage, each p, each k from 1: re, im
    std::vector<R> roots;     // for each generic stage, radix * radix: re, im
    int64_t padded = 0;
    std::vector<R> chirp;  // re, im
    std::vector<R> kernel; // the transformed chirp, divided by `padded`
    std::shared_ptr<const Plan> inner;
};

template <class R>
std::shared_ptr<const Plan<R>> plan_of(int64_t n);

template <class R>
const FourierStages<R>& stages() {
    const FourierSteps& steps = KINDLING_OF_ISA(fourier_steps);
    if constexpr (sizeof(R) == 4)
        return steps.in_float;
    else
        return steps.in_double;
}

// Forward transform of `s` interleaved rows: x is overwritten, as is the spare room; the result's place is returned.
template <class R>
Split<R> transform(const Plan<R>& plan, int64_t s, Split<R> x, Split<R> spare) {
    int64_t n = plan.n;
    if (n == 1) return x;
    if (!plan.radices.empty()) {
        const R* w = plan.twiddles.data();
        const R* roots = plan.roots.data();
        for (int r : plan.radices) {
            int64_t m = n / r;
            Split<const R> from{x.re, x.im};
            if (r == 4)
                stages<R>().four(m, s, from, spare, w);
            else if (r == 2)
                stages<R>().two(m, s, from, spare, w);
            else if (r == 3)
                stages<R>().three(m, s, from, spare, w);
            else {
                stages<R>().any(r, m, s, from, spare, w, roots);
                roots += 2 * r * r;
            }
            w += 2 * m * (r - 1);
            std::swap(x, spare);
            n = m;
            s *= r;
        }
        return x;
    }
    // Bluestein: j k = (j^2 + k^2 - (k - j)^2) / 2 makes it a convolution with a chirp.
    int64_t padded = plan.padded;
    Scratch<R> room(4 * padded * s);
    Split<R> a{room.data, room.data + padded * s}, b{a.im + padded * s, a.im + 2 * padded * s};
    for (int64_t j = 0; j < n; ++j) {
        R cr = plan.chirp[static_cast<size_t>(2 * j)], ci = plan.chirp[static_cast<size_t>(2 * j + 1)];
        for (int64_t q = j * s; q < (j + 1) * s; ++q) {
            a.re[q] = x.re[q] * cr - x.im[q] * ci;
            a.im[q] = x.re[q] * ci + x.im[q] * cr;
        }
    }
    std::fill(a.re + n * s, a.re + padded * s, R{0});
    std::fill(a.im + n * s, a.im + padded * s, R{0});
    Split<R> t = transform(*plan.inner, s, a, b);
    Split<R> other = t.re == a.re ? b : a;
    for (int64_t j = 0; j < padded; ++j) {
        R kr = plan.kernel[static_cast<size_t>(2 * j)], ki = plan.kernel[static_cast<size_t>(2 * j + 1)];
        for (int64_t q = j * s; q < (j + 1) * s; ++q) {
            R re = t.re[q] * kr - t.im[q] * ki;
            t.im[q] = t.re[q] * ki + t.im[q] * kr;
            t.re[q] = re;
        }
    }
    // The way back is the way there with real and imaginary parts exchanged.
    Split<R> back = transform(*plan.inner, s, Split<R>{t.im, t.re}, Split<R>{other.im, other.re});
    for (int64_t j = 0; j < n; ++j) {
        R cr = plan.chirp[static_cast<size_t>(2 * j)], ci = plan.chirp[static_cast<size_t>(2 * j + 1)];
        for (int64_t q = j * s; q < (j + 1) * s; ++q) {
            R re = back.im[q], im = back.re[q];
            x.re[q] = re * cr - im * ci;
            x.im[q] = re * ci + im * cr;
        }
    }
    return x;
}

template <class R>
std::shared_ptr<const Plan<R>> make_plan(int64_t n) {
    auto plan = std::make_shared<Plan<R>>();
    plan->n = n;
    int64_t rest = n;
    while (rest % 4 == 0) {
        plan->radices.push_back(4);
        rest /= 4;
    }
    for (int r = 2; r <= largest_radix && rest > 1; ++r)
        while (rest % r == 0) {
            plan->radices.push_back(r);
            rest /= r;
        }
    if (rest == 1) {
        // Large radices first: they are the ones whose loops over m are cheap to keep short.
        int64_t length = n;
        for (int r : plan->radices) {
            int64_t m = length / r;
            for (int64_t p = 0; p < m; ++p)
                for (int k = 1; k < r; ++k) {
                    Root w = root(static_cast<uint64_t>(p) * static_cast<uint64_t>(k), static_cast<uint64_t>(length));
                    plan->twiddles.push_back(static_cast<R>(w.re));
                    plan->twiddles.push_back(static_cast<R>(w.im));
                }
            if (r > 4)
                for (int j = 0; j < r; ++j)
                    for (int k = 0; k < r; ++k) {
                        Root w = root(static_cast<uint64_t>(j * k), static_cast<uint64_t>(r));
                        plan->roots.push_back(static_cast<R>(w.re));
                        plan->roots.push_back(static_cast<R>(w.im));
                    }
            length = m;
        }
        return plan;
    }
    plan->radices.clear();
    int64_t padded = 1;
    while (padded < 2 * n - 1)
        padded *= 2;
    plan->padded = padded;
    plan->inner = plan_of<R>(padded);
    plan->chirp.resize(static_cast<size_t>(2 * n));
    Scratch<R> room(4 * padded);
    Split<R> a{room.data, room.data + padded}, b{room.data + 2 * padded, room.data + 3 * padded};
    std::fill(room.data, room.data + 2 * padded, R{0});
    uint64_t square = 0, modulus = 2 * static_cast<uint64_t>(n); // j * j modulo 2 n
    for (int64_t j = 0; j < n; ++j) {
        Root w = root(square, modulus);
        plan->chirp[static_cast<size_t>(2 * j)] = static_cast<R>(w.re);
        plan->chirp[static_cast<size_t>(2 * j + 1)] = static_cast<R>(w.im);
        a.re[j] = static_cast<R>(w.re);
        a.im[j] = static_cast<R>(-w.im);
        if (j) {
            a.re[padded - j] = a.re[j];
            a.im[padded - j] = a.im[j];
        }
        square = (square + 2 * static_cast<uint64_t>(j) + 1) % modulus;
    }
    Split<R> t = transform(*plan->inner, 1, a, b);
    plan->kernel.resize(static_cast<size_t>(2 * padded));
    for (int64_t j = 0; j < padded; ++j) {
        plan->kernel[static_cast<size_t>(2 * j)] = t.re[j] / static_cast<R>(padded);
        plan->kernel[static_cast<size_t>(2 * j + 1)] = t.im[j] / static_cast<R>(padded);
    }
    return plan;
}

// The plans used last. Made at the first transform and never destroyed.
template <class R>
struct Cache {
    static constexpr int size = 16;
    std::shared_ptr<const Plan<R>> plans[size];
    uint64_t used[size] = {};
    uint64_t clock = 0;
};
constinit pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
template <class R>
constinit Cache<R>* cache = nullptr;

template <class R>
std::shared_ptr<const Plan<R>> plan_of(int64_t n) {
    std::shared_ptr<const Plan<R>> found;
    pthread_mutex_lock(&cache_lock);
    if (!cache<R>) cache<R> = new Cache<R>;
    Cache<R>& c = *cache<R>;
    for (int i = 0; i < Cache<R>::size; ++i)
        if (c.plans[i] && c.plans[i]->n == n) {
            c.used[i] = ++c.clock;
            found = c.plans[i];
        }
    pthread_mutex_unlock(&cache_lock);
    if (found) return found;
    found = make_plan<R>(n);
    if (n > (1 << 22)) return found; // too large to keep
    pthread_mutex_lock(&cache_lock);
    int oldest = 0;
    for (int i = 1; i < Cache<R>::size; ++i)
        if (c.used[i] < c.used[oldest]) oldest = i;
    std::shared_ptr<const Plan<R>> dropped = std::move(c.plans[oldest]);
    c.plans[oldest] = found;
    c.used[oldest] = ++c.clock;
    pthread_mutex_unlock(&cache_lock);
    return found;
}

// Row r of [outer, inner] begins here, in an array with `length` along the dimension.
inline int64_t row_start(const Fourier& f, int64_t row, int64_t length) {
    return row / f.inner * length * f.inner + row % f.inner;
}

// f(row, begin, end) over places and rows in small squares, so that neither order leaves the cache.
template <class F>
inline void for_places(int64_t n, int64_t s, F f) {
    for (int64_t begin = 0; begin < n; begin += 16)
        for (int64_t q = 0; q < s; ++q)
            f(q, begin, std::min(begin + 16, n));
}

// Rows that lie one after the other, `pairs` pairs of numbers each, `row` apart, to lanes: the first of pair j of row q at
// first[j * s + q], the second at second[j * s + q]; and back. By way of blocks that are turned in the first cache.
constexpr int64_t most_lanes = 16;
template <class R> constexpr int64_t turned_pairs = 128 / sizeof(R);
template <class R>
void to_lanes(const R* from, int64_t row, int64_t pairs, int64_t s, R* first, R* second) {
    PlaneCopy copy = find_plane_copy(sizeof(R));
    constexpr int64_t item = sizeof(R);
    alignas(64) R block[2 * turned_pairs<R> * most_lanes];
    auto move = [&](R* to, const R* source, int64_t rows, int64_t source_row, int64_t source_step) {
        copy({reinterpret_cast<char*>(to), reinterpret_cast<const char*>(source), {rows, s}, {s * item, item},
              {source_row * item, source_step * item}});
    };
    for (int64_t j = 0; j < pairs; j += turned_pairs<R>) {
        const int64_t some = std::min(turned_pairs<R>, pairs - j);
        move(block, from + 2 * j, 2 * some, 1, row);
        move(first + j * s, block, some, 2 * s, 1);
        move(second + j * s, block + s, some, 2 * s, 1);
    }
}
template <class R>
void from_lanes(R* to, int64_t row, int64_t pairs, int64_t s, const R* first, const R* second, R first_scale, R second_scale) {
    PlaneCopy copy = find_plane_copy(sizeof(R));
    constexpr int64_t item = sizeof(R);
    alignas(64) R block[2 * turned_pairs<R> * most_lanes];
    for (int64_t j = 0; j < pairs; j += turned_pairs<R>) {
        const int64_t some = std::min(turned_pairs<R>, pairs - j);
        for (int64_t k = 0; k < some; ++k) {
            const R *a = first + (j + k) * s, *b = second + (j + k) * s;
            R *c = block + 2 * k * s, *d = c + s;
            for (int64_t q = 0; q < s; ++q) c[q] = a[q] * first_scale;
            for (int64_t q = 0; q < s; ++q) d[q] = b[q] * second_scale;
        }
        copy({reinterpret_cast<char*>(to + 2 * j), reinterpret_cast<char*>(block), {s, 2 * some}, {row * item, item},
              {item, s * item}});
    }
}

// run(first row, how many) over all rows in bundles.
template <class Run>
void for_bundles(const Fourier& f, int64_t n, Run run) {
    int64_t rows = f.outer * f.inner;
    int64_t bundle = std::clamp<int64_t>((int64_t{1} << 15) / std::max<int64_t>(n, 1), 1, 16);
    int64_t bundles = (rows + bundle - 1) / bundle;
    parallel_for(0, bundles, std::max<int64_t>(1, 4096 / std::max<int64_t>(n * bundle, 1)),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i)
                         run(i * bundle, std::min(bundle, rows - i * bundle));
                 });
}

template <class R>
void run_complex(const Fourier& f, const R* in, R* out) {
    auto plan = plan_of<R>(f.n);
    int64_t n = f.n, step = 2 * f.inner;
    auto scale = static_cast<R>(f.scale);
    for_bundles(f, n, [&](int64_t row, int64_t s) {
        Scratch<R> room(4 * n * s);
        Split<R> x{room.data, room.data + n * s}, y{room.data + 2 * n * s, room.data + 3 * n * s};
        int part = f.forward ? 0 : 1; // backwards: parts exchanged before and after
        if (f.inner == 1) {
            to_lanes(in + 2 * row * n, 2 * n, n, s, part ? x.im : x.re, part ? x.re : x.im);
            Split<R> t = transform(*plan, s, x, y);
            from_lanes(out + 2 * row * n, 2 * n, n, s, part ? t.im : t.re, part ? t.re : t.im, scale, scale);
            return;
        }
        for_places(n, s, [&](int64_t q, int64_t begin, int64_t end) {
            const R* from = in + 2 * row_start(f, row + q, n);
            for (int64_t j = begin; j < end; ++j) {
                x.re[j * s + q] = from[j * step + part];
                x.im[j * s + q] = from[j * step + 1 - part];
            }
        });
        Split<R> t = transform(*plan, s, x, y);
        for_places(n, s, [&](int64_t q, int64_t begin, int64_t end) {
            R* to = out + 2 * row_start(f, row + q, n);
            for (int64_t j = begin; j < end; ++j) {
                to[j * step + part] = t.re[j * s + q] * scale;
                to[j * step + 1 - part] = t.im[j * s + q] * scale;
            }
        });
    });
}

template <class R>
void run_from_real(const Fourier& f, const R* in, R* out) {
    int64_t n = f.n, kept = n / 2 + 1, step = 2 * f.inner;
    auto scale = static_cast<R>(f.scale);
    R sign = f.forward ? R{1} : R{-1}; // of a real array the way back is the conjugate
    bool even = n % 2 == 0;
    int64_t length = even ? n / 2 : n; // even lengths: pairs of reals as complex numbers
    auto plan = plan_of<R>(length);
    std::vector<R> turns;
    if (even)
        for (int64_t k = 0; k <= length / 2; ++k) {
            Root w = root(static_cast<uint64_t>(k), static_cast<uint64_t>(n));
            turns.push_back(static_cast<R>(w.re));
            turns.push_back(static_cast<R>(w.im));
        }
    for_bundles(f, length, [&](int64_t row, int64_t s) {
        Scratch<R> room(4 * length * s);
        Split<R> x{room.data, room.data + length * s}, y{room.data + 2 * length * s, room.data + 3 * length * s};
        if (even && f.inner == 1) to_lanes(in + row * n, n, length, s, x.re, x.im);
        else for_places(length, s, [&](int64_t q, int64_t begin, int64_t end) {
            const R* from = in + row_start(f, row + q, n);
            for (int64_t j = begin; j < end; ++j) {
                x.re[j * s + q] = even ? from[2 * j * f.inner] : from[j * f.inner];
                x.im[j * s + q] = even ? from[(2 * j + 1) * f.inner] : R{0};
            }
        });
        Split<R> t = transform(*plan, s, x, y);
        Split<R> result = t;
        Scratch<R> untangled(even ? 2 * kept * s : 0);
        if (even) {
            result = {untangled.data, untangled.data + kept * s};
            stages<R>().untangle(length, s, {t.re, t.im}, result, turns.data());
            if (f.inner == 1)
                return from_lanes(out + 2 * row * kept, 2 * kept, kept, s, result.re, result.im, scale, scale * sign);
        }
        for_places(kept, s, [&](int64_t q, int64_t begin, int64_t end) {
            R* to = out + 2 * row_start(f, row + q, kept);
            for (int64_t k = begin; k < end; ++k) {
                bool real = k == 0 || 2 * k == n;
                to[k * step] = result.re[k * s + q] * scale;
                to[k * step + 1] = real ? R{0} : result.im[k * s + q] * sign * scale;
            }
        });
    });
}

template <class R>
void run_to_real(const Fourier& f, const R* in, R* out) {
    int64_t n = f.n, given = n / 2 + 1, step = 2 * f.inner;
    auto scale = static_cast<R>(f.scale);
    R sign = f.forward ? R{-1} : R{1};
    bool even = n % 2 == 0;
    int64_t length = even ? n / 2 : n;
    auto plan = plan_of<R>(length);
    std::vector<R> turns;
    if (even)
        for (int64_t k = 0; k < length; ++k) {
            Root w = root(static_cast<uint64_t>(k), static_cast<uint64_t>(n));
            turns.push_back(static_cast<R>(w.re));
            turns.push_back(static_cast<R>(-w.im));
        }
    for_bundles(f, length, [&](int64_t row, int64_t s) {
        Scratch<R> room(4 * length * s);
        Split<R> x{room.data, room.data + length * s}, y{room.data + 2 * length * s, room.data + 3 * length * s};
        for_places(length, s, [&](int64_t q, int64_t begin, int64_t end) {
            const R* from = in + 2 * row_start(f, row + q, given);
            auto re = [&](int64_t k) { return from[k * step]; };
            auto im = [&](int64_t k) { return k == 0 || 2 * k == n ? R{0} : sign * from[k * step + 1]; };
            // The transform backwards has its parts exchanged: x.re gets imaginary parts.
            if (!even) {
                for (int64_t k = begin; k < end; ++k) {
                    bool mirrored = k >= given;
                    x.re[k * s + q] = mirrored ? -im(n - k) : im(k);
                    x.im[k * s + q] = re(mirrored ? n - k : k);
                }
                return;
            }
            for (int64_t k = begin; k < end; ++k) {
                int64_t other = length - k;
                R ar = re(k), ai = im(k), br = re(other), bi = -im(other);
                R er = ar + br, ei = ai + bi, dr = ar - br, di = ai - bi; // twice the even and the odd part
                R wr = turns[static_cast<size_t>(2 * k)], wi = turns[static_cast<size_t>(2 * k + 1)];
                R tr = dr * wr - di * wi, ti = dr * wi + di * wr;
                x.im[k * s + q] = er - ti; // e + i t
                x.re[k * s + q] = ei + tr;
            }
        });
        Split<R> t = transform(*plan, s, x, y);
        if (even && f.inner == 1) return from_lanes(out + row * n, n, length, s, t.im, t.re, scale, scale);
        for_places(length, s, [&](int64_t q, int64_t begin, int64_t end) {
            R* to = out + row_start(f, row + q, n);
            for (int64_t j = begin; j < end; ++j) {
                if (even) {
                    to[2 * j * f.inner] = t.im[j * s + q] * scale;
                    to[(2 * j + 1) * f.inner] = t.re[j * s + q] * scale;
                } else {
                    to[j * f.inner] = t.im[j * s + q] * scale;
                }
            }
        });
    });
}

bool is_double(const Fourier& f) {
    KINDLING_CHECK(Runtime, f.real == DType::Float32 || f.real == DType::Float64, "Unsupported dtype %s",
                   scalar_type_name(f.real));
    return f.real == DType::Float64;
}

} // namespace

void fft_complex(const Fourier& f, const void* in, void* out) {
    if (f.outer * f.n * f.inner == 0) return;
    if (is_double(f))
        run_complex(f, static_cast<const double*>(in), static_cast<double*>(out));
    else
        run_complex(f, static_cast<const float*>(in), static_cast<float*>(out));
}

void fft_from_real(const Fourier& f, const void* in, void* out) {
    if (f.outer * f.n * f.inner == 0) return;
    if (is_double(f))
        run_from_real(f, static_cast<const double*>(in), static_cast<double*>(out));
    else
        run_from_real(f, static_cast<const float*>(in), static_cast<float*>(out));
}

void fft_to_real(const Fourier& f, const void* in, void* out) {
    if (f.outer * f.n * f.inner == 0) return;
    if (is_double(f))
        run_to_real(f, static_cast<const double*>(in), static_cast<double*>(out));
    else
        run_to_real(f, static_cast<const float*>(in), static_cast<float*>(out));
}

} // namespace kindling::library
