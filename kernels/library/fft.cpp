// kernels/library/fft.cpp: plans Fourier transforms. A transform of blocks (fft_isa.h) runs Stockham's mixed-radix
// stages over many sequences side by side. One long sequence becomes a matrix of n = first * second numbers: its
// columns are transformed, multiplied by roots of unity and transposed, then its rows are transformed (Bailey 1990,
// "FFTs in external or hierarchical memory"). Lengths with a large prime factor use Bluestein's convolution.
#include "kernels/library/fft.h"

#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <cstring>
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

// exp(-2 pi i numerator / denominator), with the argument reduced to an eighth of the circle first.
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
const FourierLoops<R>& loops() {
    const FourierSteps& steps = KINDLING_OF_ISA(fourier_steps);
    if constexpr (sizeof(R) == 4)
        return steps.in_float;
    else
        return steps.in_double;
}

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

/// The radices of n; none if it has a prime factor that is too large.
std::vector<int> radices_of(int64_t n) {
    std::vector<int> radices;
    int twos = __builtin_ctzll(static_cast<uint64_t>(n));
    int64_t rest = n >> twos;
    if (twos % 3 == 1 && twos > 1) {
        radices.push_back(16);
        twos -= 4;
    }
    for (; twos > 2; twos -= 3) radices.push_back(8);
    if (twos) radices.push_back(1 << twos);
    for (int r = 3; r <= largest_radix; r += 2)
        for (; rest % r == 0; rest /= r) radices.push_back(r);
    if (rest != 1) radices.clear();
    return radices;
}
bool has_stages(int64_t n) { return n == 1 || !radices_of(n).empty(); }
/// The cost of the stages, in passes of radix 8 over the blocks.
double cost_of(const std::vector<int>& radices) {
    double cost = 0;
    for (int r : radices) cost += r == 16 ? 1.6 : r == 8 ? 1 : r <= 4 ? 0.8 : 0.5 + 0.2 * r;
    return cost;
}

/// A transform of blocks.
template <class R>
struct Stages {
    int64_t n = 0;
    std::vector<int> radices;
    std::vector<R> twiddles, roots;  // as FourierLoops::stage reads them, stage after stage

    void push(std::vector<R>& to, int64_t numerator, int64_t denominator) {
        Root w = root(static_cast<uint64_t>(numerator), static_cast<uint64_t>(denominator));
        to.push_back(static_cast<R>(w.re));
        to.push_back(static_cast<R>(w.im));
    }
    void make(int64_t length) {
        n = length;
        radices = radices_of(n);
        for (int r : radices) {
            int64_t m = length / r;
            for (int64_t p = 0; p < m; ++p)
                for (int k = 1; k < r; ++k) push(twiddles, p * k, length);
            if (r > 5 && r % 2)
                for (int j = 0; j < r; ++j) {
                    push(roots, j, r);
                    roots.back() = -roots.back();
                }
            length = m;
        }
    }
    /// Overwrites x and the spare memory; returns where the result is.
    R* run(R* x, R* spare, bool back) const {
        const R *w = twiddles.data(), *angles = roots.data();
        int64_t length = n, s = 1;
        for (int r : radices) {
            int64_t m = length / r;
            loops<R>().stage(r, m, s, x, spare, w, angles, back);
            w += 2 * m * (r - 1);
            if (r > 5 && r % 2) angles += 2 * r;
            std::swap(x, spare);
            length = m;
            s *= r;
        }
        return x;
    }
};

constexpr int64_t shortest_row = 256;           // below it, blocks of many rows are faster
constexpr int64_t longest_table = int64_t{1} << 16;  // of the factors between columns and rows

/// What a plan is for: sequences as lanes of blocks, one sequence, or the factors of real transforms.
enum class Use { Blocks, Row, Turns };

template <class R>
struct Plan {
    int64_t n = 0;
    Use use = Use::Blocks;
    Stages<R> first;  // of blocks, or of a row's columns
    Stages<R> second;
    std::vector<R> between, outer;  // FourierLoops::transpose
    // Bluestein's algorithm, if it is used
    std::shared_ptr<const Plan> padded;
    std::vector<R> chirp, conjugate, kernel;  // kernel: the transformed chirp, divided by padded->n
    std::vector<R> turns;  // exp(-pi i k / n) for k = 0 to n / 2, real parts first
};

template <class R>
std::shared_ptr<const Plan<R>> plan_of(int64_t n, Use use);

template <class R>
void run_row(const Plan<R>& plan, const R* in, R* out, R scale, bool back);

/// The cheapest length of the columns, or 0.
template <class R>
int64_t first_of(int64_t n) {
    int64_t best = 0;
    double least = 0;
    for (int64_t d = 2; d * d <= n; ++d) {
        if (n % d) continue;
        for (int64_t first : {d, n / d}) {
            int64_t second = n / first;
            auto waste = [](int64_t count) { return static_cast<double>(round_up(count, lanes<R>)) / static_cast<double>(count); };
            double cost = waste(second) * (cost_of(radices_of(first)) + 1.7) + waste(first) * (cost_of(radices_of(second)) + 0.7);
            if (std::max(first, second) > 4096) cost *= 2;  // blocks exceed the second cache
            if (!best || cost < least) {
                best = first;
                least = cost;
            }
        }
    }
    return best;
}

template <class R>
std::shared_ptr<const Plan<R>> make_plan(int64_t n, Use use) {
    auto plan = std::make_shared<Plan<R>>();
    plan->n = n;
    plan->use = use;
    if (use == Use::Blocks) {
        plan->first.make(n);
        return plan;
    }
    if (use == Use::Turns) {
        const int64_t count = n / 2 + 1;
        plan->turns.resize(static_cast<size_t>(2 * count));
        for (int64_t k = 0; k < count; ++k) {
            Root w = root(static_cast<uint64_t>(k), static_cast<uint64_t>(2 * n));
            plan->turns[static_cast<size_t>(k)] = static_cast<R>(w.re);
            plan->turns[static_cast<size_t>(count + k)] = static_cast<R>(w.im);
        }
        return plan;
    }
    if (has_stages(n)) {
        int64_t first = first_of<R>(n), second = n / first;
        plan->first.make(first);
        plan->second.make(second);
        const bool large = n > longest_table;
        for (int64_t c = 0; c < (large ? lanes<R> : second); c += lanes<R>)
            for (int64_t k = 0; k < first; ++k)
                for (bool im : {false, true})
                    for (int64_t j = c; j < c + lanes<R>; ++j) {
                        Root w = root(static_cast<uint64_t>(j) * static_cast<uint64_t>(k), static_cast<uint64_t>(n));
                        plan->between.push_back(static_cast<R>(im ? w.im : w.re));
                    }
        if (large)
            for (int64_t c = 0; c < second; c += lanes<R>)
                for (int64_t k = 0; k < first; ++k) plan->first.push(plan->outer, c * k, n);
        return plan;
    }
    // j k = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with a chirp.
    int64_t length = INT64_MAX;
    for (int64_t odd : {1, 3, 5, 9, 15}) {
        int64_t candidate = odd * shortest_row;
        while (candidate < 2 * n - 1) candidate *= 2;
        length = std::min(length, candidate);
    }
    plan->padded = plan_of<R>(length, Use::Row);
    Scratch<R> room(2 * length);
    std::fill(room.data, room.data + 2 * length, R{0});
    uint64_t square = 0, modulus = 2 * static_cast<uint64_t>(n);  // j * j modulo 2 n
    for (int64_t j = 0; j < n; ++j) {
        Root w = root(square, modulus);
        plan->chirp.push_back(static_cast<R>(w.re));
        plan->chirp.push_back(static_cast<R>(w.im));
        plan->conjugate.push_back(static_cast<R>(w.re));
        plan->conjugate.push_back(static_cast<R>(-w.im));
        for (int64_t place : {j, (length - j) % length}) {
            room[2 * place] = static_cast<R>(w.re);
            room[2 * place + 1] = static_cast<R>(-w.im);
        }
        square = (square + 2 * static_cast<uint64_t>(j) + 1) % modulus;
    }
    plan->kernel.resize(static_cast<size_t>(2 * length));
    run_row(*plan->padded, room.data, plan->kernel.data(), static_cast<R>(1.0 / static_cast<double>(length)), false);
    return plan;
}

// The plans used last. Created at the first transform and never destroyed.
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
std::shared_ptr<const Plan<R>> plan_of(int64_t n, Use use) {
    std::shared_ptr<const Plan<R>> found;
    pthread_mutex_lock(&cache_lock);
    if (!cache<R>) cache<R> = new Cache<R>;
    Cache<R>& c = *cache<R>;
    for (int i = 0; i < Cache<R>::size && !found; ++i)
        if (c.plans[i] && c.plans[i]->n == n && c.plans[i]->use == use) {
            c.used[i] = ++c.clock;
            found = c.plans[i];
        }
    pthread_mutex_unlock(&cache_lock);
    if (found) return found;
    found = make_plan<R>(n, use);
    if (n > (1 << 22)) return found;  // too large to keep
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

/// Blocks that one thread processes at a time.
int64_t grain_of(int64_t numbers) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(numbers, 1)); }

/// Prefetches a row's result and the row after it before the row is processed. Without it 2048 real rows of 2048 take
/// 1.8 times as long: a row is two pages, at whose ends the hardware prefetcher stops. Rows that fill the first cache
/// are left to it.
void prefetch_row(const void* next, int64_t next_bytes, void* result, int64_t bytes) {
    if (next_bytes > (int64_t{1} << 15)) return;
    for (int64_t at = 0; at < next_bytes; at += 64) __builtin_prefetch(static_cast<const char*>(next) + at, 0, 2);
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(static_cast<char*>(result) + at, 1, 2);
}

/// One sequence of complex numbers; `out` may be `in`.
template <class R>
void run_row(const Plan<R>& plan, const R* in, R* out, R scale, bool back) {
    const FourierLoops<R>& loop = loops<R>();
    if (plan.padded) {
        const int64_t length = plan.padded->n;
        Scratch<R> room(2 * length);
        loop.multiply(room.data, in, back ? plan.conjugate.data() : plan.chirp.data(), plan.n, back);
        std::fill(room.data + 2 * plan.n, room.data + 2 * length, R{0});
        run_row(*plan.padded, room.data, room.data, R{1}, false);
        loop.multiply(room.data, room.data, plan.kernel.data(), length, false);
        run_row(*plan.padded, room.data, room.data, scale, true);
        loop.multiply(out, room.data, plan.chirp.data(), plan.n, back);
        return;
    }
    const int64_t first = plan.first.n, second = plan.second.n;
    const int64_t columns = (second + lanes<R> - 1) / lanes<R>, rows = (first + lanes<R> - 1) / lanes<R>;
    const int64_t row = columns * lanes<R>;  // in blocks
    Scratch<R> middle(rows * row * block<R>);
    parallel_for(0, columns, grain_of(first * lanes<R>), [&](int64_t begin, int64_t end) {
        Scratch<R> room(2 * first * block<R>);
        for (int64_t c = begin; c < end; ++c) {
            const int64_t count = std::min(lanes<R>, second - c * lanes<R>);
            loop.load(in + 2 * c * lanes<R>, second, first, count, room.data);
            const R* x = plan.first.run(room.data, room.data + first * block<R>, back);
            const bool table = plan.outer.empty();
            loop.transpose(x, first, count, plan.between.data() + (table ? c * first * block<R> : 0),
                           table ? nullptr : plan.outer.data() + 2 * c * first, middle.data + c * lanes<R> * block<R>, row, back);
        }
    });
    parallel_for(0, rows, grain_of(second * lanes<R>), [&](int64_t begin, int64_t end) {
        Scratch<R> room(second * block<R>);
        for (int64_t k = begin; k < end; ++k) {
            const R* x = plan.second.run(middle.data + k * row * block<R>, room.data, back);
            loop.store(x, second, std::min(lanes<R>, first - k * lanes<R>), out + 2 * k * lanes<R>, first, scale);
        }
    });
}

/// True if sequences of n numbers are transformed one by one, not several as blocks.
bool by_rows(int64_t n) { return n >= shortest_row || !has_stages(n); }

// ---- arrays [outer, n, inner]

/// Copies up to `lanes` rows of `numbers` numbers, `row` apart, to the lanes of blocks, and back.
template <class R>
void rows_to_lanes(const R* from, int64_t row, int64_t numbers, int64_t count, R* x) {
    constexpr int64_t item = sizeof(R);
    if (count < lanes<R>) std::memset(x, 0, static_cast<size_t>(numbers * lanes<R> * item));
    find_plane_copy(item)({reinterpret_cast<char*>(x), reinterpret_cast<const char*>(from), {numbers, count},
                           {lanes<R> * item, item}, {item, row * item}});
}
template <class R>
void lanes_to_rows(const R* x, int64_t numbers, int64_t count, R* to, int64_t row) {
    constexpr int64_t item = sizeof(R);
    find_plane_copy(item)({reinterpret_cast<char*>(to), reinterpret_cast<const char*>(x), {count, numbers}, {row * item, item},
                           {item, lanes<R> * item}});
}
/// Copies `count` numbers of each of `rows` rows to the lanes of rows of x, and back.
template <class R>
void copy_lanes(R* to, int64_t to_row, const R* from, int64_t from_row, int64_t rows, int64_t count) {
    for (int64_t j = 0; j < rows; ++j) std::memcpy(to + j * to_row, from + j * from_row, static_cast<size_t>(count) * sizeof(R));
}

/// Calls body(first row, how many) for bundles of rows that become the lanes of blocks.
template <class F>
void for_bundles(int64_t rows, int64_t lane_count, int64_t n, F body) {
    parallel_for(0, (rows + lane_count - 1) / lane_count, grain_of(n * lane_count), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) body(i * lane_count, std::min(lane_count, rows - i * lane_count));
    });
}
template <class F>
void for_rows(int64_t rows, int64_t n, F body) {
    parallel_for(0, rows, grain_of(n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) body(i);
    });
}
/// Calls body(outer index, first inner index, how many) for neighbouring sequences that become the lanes of blocks.
template <class F>
void for_columns(const Fourier& f, int64_t lane_count, F body) {
    const int64_t chunks = (f.inner + lane_count - 1) / lane_count;
    parallel_for(0, f.outer * chunks, grain_of(f.n * lane_count), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            int64_t at = i % chunks * lane_count;
            body(i / chunks, at, std::min(lane_count, f.inner - at));
        }
    });
}
/// True if sequences `inner` apart are read as lanes in place; else they are copied first.
template <class R>
bool in_place(const Fourier& f) {
    return f.inner >= lanes<R> / 2 && f.n <= 4096 && has_stages(f.n);
}
/// Transposes [outer, rows, columns] numbers of `item` bytes to [outer, columns, rows].
void transpose_planes(const void* from, void* to, int64_t outer, int64_t rows, int64_t columns, int64_t item) {
    PlaneCopy copy = find_plane_copy(static_cast<int>(item));
    const int64_t plane = rows * columns * item;
    for (int64_t o = 0; o < outer; ++o)
        copy({static_cast<char*>(to) + o * plane, static_cast<const char*>(from) + o * plane, {columns, rows}, {rows * item, item},
              {item, columns * item}});
}

template <class R>
void run_complex(const Fourier& f, const R* in, R* out) {
    constexpr int64_t item = sizeof(R);
    const FourierLoops<R>& loop = loops<R>();
    const int64_t n = f.n;
    const bool back = !f.forward;
    const auto scale = static_cast<R>(f.scale);
    if (f.inner > 1 && in_place<R>(f)) {
        auto plan = plan_of<R>(n, Use::Blocks);
        for_columns(f, lanes<R>, [&](int64_t o, int64_t i, int64_t count) {
            Scratch<R> room(2 * n * block<R>);
            const int64_t at = 2 * (o * n * f.inner + i);
            loop.load(in + at, f.inner, n, count, room.data);
            const R* x = plan->first.run(room.data, room.data + n * block<R>, back);
            loop.store(x, n, count, out + at, f.inner, scale);
        });
        return;
    }
    if (f.inner > 1) {
        Scratch<R> rows(2 * f.outer * n * f.inner);
        transpose_planes(in, rows.data, f.outer, n, f.inner, 2 * sizeof(R));
        Fourier along = f;
        along.outer = f.outer * f.inner;
        along.inner = 1;
        run_complex(along, rows.data, rows.data);
        transpose_planes(rows.data, out, f.outer, f.inner, n, 2 * sizeof(R));
        return;
    }
    if (by_rows(n)) {
        auto plan = plan_of<R>(n, Use::Row);
        for_rows(f.outer, n, [&](int64_t i) {
            prefetch_row(in + 2 * (i + 1) * n, 2 * n * item, out + 2 * i * n, 2 * n * item);
            run_row(*plan, in + 2 * i * n, out + 2 * i * n, scale, back);
        });
        return;
    }
    auto plan = plan_of<R>(n, Use::Blocks);
    for_bundles(f.outer, lanes<R>, n, [&](int64_t row, int64_t count) {
        Scratch<R> room(2 * n * block<R>);
        rows_to_lanes(in + 2 * row * n, 2 * n, 2 * n, count, room.data);
        R* x = plan->first.run(room.data, room.data + n * block<R>, back);
        if (scale != 1) loop.scale(x, n, scale);
        lanes_to_rows(x, 2 * n, count, out + 2 * row * n, 2 * n);
    });
}

template <class R>
void run_from_real(const Fourier& f, const R* in, R* out) {
    constexpr int64_t item = sizeof(R);
    const FourierLoops<R>& loop = loops<R>();
    const int64_t n = f.n, kept = n / 2 + 1;
    const auto scale = static_cast<R>(f.scale);
    const R sign = f.forward ? R{1} : R{-1};  // of real numbers the inverse is the conjugate
    if (n % 2) {
        Scratch<R> whole(2 * f.outer * n * f.inner);
        for (int64_t i = 0; i < f.outer * n * f.inner; ++i) {
            whole[2 * i] = in[i];
            whole[2 * i + 1] = 0;
        }
        run_complex(f, whole.data, whole.data);
        for (int64_t o = 0; o < f.outer; ++o) {
            R* to = out + 2 * o * kept * f.inner;
            std::memcpy(to, whole.data + 2 * o * n * f.inner, static_cast<size_t>(2 * kept * f.inner) * sizeof(R));
            for (int64_t i = 0; i < f.inner; ++i) to[2 * i + 1] = 0;
        }
        return;
    }
    // Pairs of real numbers as complex ones.
    const int64_t half = n / 2;
    auto factors = plan_of<R>(half, Use::Turns);
    const R* turns = factors->turns.data();
    Fourier pairs = f;
    pairs.n = half;
    if (f.inner > 1 && in_place<R>(pairs)) {
        auto plan = plan_of<R>(half, Use::Blocks);
        for_columns(pairs, lanes<R>, [&](int64_t o, int64_t i, int64_t count) {
            Scratch<R> room(2 * kept * block<R>);
            if (count < lanes<R>) std::memset(room.data, 0, static_cast<size_t>(half * block<R>) * sizeof(R));
            copy_lanes(room.data, lanes<R>, in + o * n * f.inner + i, f.inner, n, count);
            R* x = plan->first.run(room.data, room.data + kept * block<R>, false);
            loop.untangle_blocks(x, half, turns, scale, sign);
            loop.store(x, kept, count, out + 2 * (o * kept * f.inner + i), f.inner, R{1});
        });
        return;
    }
    if (f.inner > 1) {
        Scratch<R> rows(f.outer * n * f.inner), results(2 * f.outer * kept * f.inner);
        transpose_planes(in, rows.data, f.outer, n, f.inner, sizeof(R));
        Fourier along = f;
        along.outer = f.outer * f.inner;
        along.inner = 1;
        run_from_real(along, rows.data, results.data);
        transpose_planes(results.data, out, f.outer, f.inner, kept, 2 * sizeof(R));
        return;
    }
    if (by_rows(half)) {
        auto plan = plan_of<R>(half, Use::Row);
        for_rows(f.outer, n, [&](int64_t i) {
            prefetch_row(in + (i + 1) * n, n * item, out + 2 * i * kept, 2 * kept * item);
            Scratch<R> room(2 * kept);  // rows of the result do not begin at a cache line
            run_row(*plan, in + i * n, room.data, R{1}, false);
            loop.untangle(room.data, out + 2 * i * kept, half, turns, scale, sign);
        });
        return;
    }
    auto plan = plan_of<R>(half, Use::Blocks);
    for_bundles(f.outer, lanes<R>, n, [&](int64_t row, int64_t count) {
        Scratch<R> room(2 * kept * block<R>);
        rows_to_lanes(in + row * n, n, n, count, room.data);
        R* x = plan->first.run(room.data, room.data + kept * block<R>, false);
        loop.untangle_blocks(x, half, turns, scale, sign);
        lanes_to_rows(x, 2 * kept, count, out + 2 * row * kept, 2 * kept);
    });
}

template <class R>
void run_to_real(const Fourier& f, const R* in, R* out) {
    constexpr int64_t item = sizeof(R);
    const FourierLoops<R>& loop = loops<R>();
    const int64_t n = f.n, given = n / 2 + 1;
    const auto scale = static_cast<R>(f.scale);
    const R sign = f.forward ? R{-1} : R{1};
    if (n % 2) {
        Scratch<R> whole(2 * f.outer * n * f.inner);
        for (int64_t o = 0; o < f.outer; ++o)
            for (int64_t k = 0; k < n; ++k) {
                const bool mirrored = k >= given;
                const R* from = in + 2 * (o * given + (mirrored ? n - k : k)) * f.inner;
                R* to = whole.data + 2 * (o * n + k) * f.inner;
                const R by = k == 0 ? R{0} : mirrored ? -sign : sign;
                for (int64_t i = 0; i < f.inner; ++i) {
                    to[2 * i] = from[2 * i];
                    to[2 * i + 1] = k ? by * from[2 * i + 1] : R{0};
                }
            }
        Fourier back = f;
        back.forward = false;
        run_complex(back, whole.data, whole.data);
        for (int64_t i = 0; i < f.outer * n * f.inner; ++i) out[i] = whole[2 * i];
        return;
    }
    const int64_t half = n / 2;
    auto factors = plan_of<R>(half, Use::Turns);
    const R* turns = factors->turns.data();
    Fourier pairs = f;
    pairs.n = half;
    if (f.inner > 1 && in_place<R>(pairs)) {
        auto plan = plan_of<R>(half, Use::Blocks);
        for_columns(pairs, lanes<R>, [&](int64_t o, int64_t i, int64_t count) {
            Scratch<R> room(2 * given * block<R>);
            loop.load(in + 2 * (o * given * f.inner + i), f.inner, given, count, room.data);
            loop.entangle_blocks(room.data, half, turns, sign);
            R* x = plan->first.run(room.data, room.data + given * block<R>, true);
            if (scale != 1) loop.scale(x, half, scale);
            copy_lanes(out + o * n * f.inner + i, f.inner, x, lanes<R>, n, count);
        });
        return;
    }
    if (f.inner > 1) {
        Scratch<R> rows(2 * f.outer * given * f.inner), results(f.outer * n * f.inner);
        transpose_planes(in, rows.data, f.outer, given, f.inner, 2 * sizeof(R));
        Fourier along = f;
        along.outer = f.outer * f.inner;
        along.inner = 1;
        run_to_real(along, rows.data, results.data);
        transpose_planes(results.data, out, f.outer, f.inner, n, sizeof(R));
        return;
    }
    if (by_rows(half)) {
        auto plan = plan_of<R>(half, Use::Row);
        for_rows(f.outer, n, [&](int64_t i) {
            prefetch_row(in + 2 * (i + 1) * given, 2 * given * item, out + i * n, n * item);
            Scratch<R> room(2 * given);
            loop.entangle(in + 2 * i * given, room.data, half, turns, sign);
            run_row(*plan, room.data, out + i * n, scale, true);
        });
        return;
    }
    auto plan = plan_of<R>(half, Use::Blocks);
    for_bundles(f.outer, lanes<R>, n, [&](int64_t row, int64_t count) {
        Scratch<R> room(2 * given * block<R>);
        rows_to_lanes(in + 2 * row * given, 2 * given, 2 * given, count, room.data);
        loop.entangle_blocks(room.data, half, turns, sign);
        R* x = plan->first.run(room.data, room.data + given * block<R>, true);
        if (scale != 1) loop.scale(x, half, scale);
        lanes_to_rows(x, n, count, out + row * n, n);
    });
}

bool is_double(const Fourier& f) {
    KINDLING_CHECK(Runtime, f.real == DType::Float32 || f.real == DType::Float64, "Unsupported dtype %s",
                   scalar_type_name(f.real));
    return f.real == DType::Float64;
}

template <class F, class G>
void by_type(const Fourier& f, const void* in, void* out, F in_float, G in_double) {
    const bool wide = is_double(f);
    if (f.outer * f.n * f.inner == 0) return;
    if (wide)
        in_double(f, static_cast<const double*>(in), static_cast<double*>(out));
    else
        in_float(f, static_cast<const float*>(in), static_cast<float*>(out));
}

} // namespace

void fft_complex(const Fourier& f, const void* in, void* out) { by_type(f, in, out, run_complex<float>, run_complex<double>); }
void fft_from_real(const Fourier& f, const void* in, void* out) { by_type(f, in, out, run_from_real<float>, run_from_real<double>); }
void fft_to_real(const Fourier& f, const void* in, void* out) { by_type(f, in, out, run_to_real<float>, run_to_real<double>); }

} // namespace kindling::library
