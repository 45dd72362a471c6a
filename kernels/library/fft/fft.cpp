// kernels/library/fft/fft.cpp: plans Fourier transforms. A transform of blocks (fft_isa.h) runs Stockham's mixed-radix
// stages over many sequences side by side. One long sequence becomes a matrix of n = first * second numbers: its
// columns are transformed, multiplied by roots of unity and transposed, then its rows are transformed (Bailey 1990,
// "FFTs in external or hierarchical memory"). Lengths with a large prime factor use a convolution, Rader's
// or Bluestein's.
// Compiled for size.
#include "kernels/library/fft/fft.h"

#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/library/fft/fft_isa.h"
#include "kernels/library/scratch.h"
#include "kernels/tile/move.h"
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
    double offset =
        (static_cast<double>(numerator * 4) - static_cast<double>(quarter * denominator)) / static_cast<double>(denominator * 4);
    double c = std::cos(two_pi * offset), s = std::sin(two_pi * offset);
    switch (quarter % 4) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
    }
}

template <class R> const FourierLoops<R>& loops() {
    static const FourierSteps& steps = KINDLING_OF_ISA(fourier_steps);
    if constexpr (sizeof(R) == 4) return steps.in_float;
    else return steps.in_double;
}

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }
/// Groups of lanes that n numbers fill. Without a sign: such a division is a shift also where it is compiled for size.
template <class R> int64_t groups_of(int64_t n) { return static_cast<int64_t>(static_cast<uint64_t>(n + lanes<R> - 1) / lanes<R>); }

/// The radices of a length; none if it has a prime factor that is too large.
struct Radices {
    uint8_t values[40]; // 3^40 exceeds an int64
    uint8_t count = 0;
    const uint8_t* begin() const { return values; }
    const uint8_t* end() const { return values + count; }
    bool empty() const { return !count; }
};
Radices radices_of(int64_t n) {
    Radices radices;
    auto add = [&](int r) { radices.values[radices.count++] = static_cast<uint8_t>(r); };
    int twos = __builtin_ctzll(static_cast<uint64_t>(n));
    int64_t rest = n >> twos;
    if (twos % 3 == 1 && twos > 1) {
        add(16);
        twos -= 4;
    }
    for (; twos > 2; twos -= 3) add(8);
    if (twos) add(1 << twos);
    for (int r = 3; r <= largest_radix; r += 2)
        for (; rest % r == 0; rest /= r) add(r);
    if (rest != 1) radices.count = 0;
    return radices;
}
bool has_stages(int64_t n) { return n == 1 || !radices_of(n).empty(); }
/// The cost of the stages, in passes of radix 8 over the blocks.
double cost_of(const Radices& radices) {
    double cost = 0;
    for (int r : radices) cost += r == 16 ? 1.6 : r == 8 ? 1 : r <= 4 ? 0.8 : 0.5 + 0.2 * r;
    return cost;
}

/// A transform of blocks.
template <class R> struct Stages {
    int64_t n = 0;
    Radices radices;
    std::vector<StageStep> steps;
    std::vector<R> twiddles, roots; // stage after stage

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
            steps.push_back({r, m});
            for (int64_t p = 0; p < m; ++p)
                for (int k = 1; k < r; ++k) push(twiddles, p * k, length);
            if (r > 5 && r % 2)
                for (int k = 1; k <= r / 2; k += 2)
                    for (int j = 1; j <= r / 2; ++j)
                        for (int i : {k, k + 1}) {
                            push(roots, i * j, r);
                            roots.back() = -roots.back();
                        }
            length = m;
        }
    }
    /// Overwrites x and the spare memory; returns where the result is.
    StageList<R> list() const { return {n, steps.data(), radices.count, twiddles.data(), roots.data()}; }
    R* run(R* x, R* spare, bool back, const Outside<R>& outside = {}) const { return loops<R>().stages(list(), x, spare, back, outside); }
    /// Whether rows are transposed by tiles on their way to the first stage and from the last one: as a whole they stay in the first
    /// cache up to some length.
    bool takes_tiles() const {
        if (n < 192 || steps.size() < 2) return false;
        const StageStep &first = steps.front(), &last = steps.back();
        return first.radix <= most_tiles && last.radix <= most_tiles && std::min(first.rest, n / last.radix) >= tile<R>;
    }
    static constexpr int64_t most_tiles = 16;
    /// Rounded up so that blocks can be transposed.
    int64_t padded() const { return groups_of<R>(n) * lanes<R>; }
};

constexpr int64_t longest_alone = 16384;            // longer rows are shared out to threads
constexpr int64_t longest_blocks = 2048;            // longer rows are split into matrices, one by one
constexpr int64_t longest_column = 4096;            // longer sequences across memory are copied to rows first
constexpr int64_t longest_table = int64_t{1} << 16; // of the factors between columns and rows

/// What a plan is for: sequences as lanes of blocks, one sequence, the same with the columns of the matrix as its rows, or the
/// factors of real transforms.
enum class Use { Blocks, Row, Turned, Turns };

template <class R> struct Plan {
    int64_t n = 0;
    Use use = Use::Blocks;
    Stages<R> first;                   // of blocks, or of a row's columns
    int64_t least_rows = lanes<R> + 1; // of Blocks: fewer rows are faster one by one
    Stages<R> second;
    std::vector<R> between, outer;
    Matrix<R> matrix{}; // of all of these
    // Bluestein's algorithm, if it is used: there and back again. kernel: the transformed chirp, divided by the padded length,
    // in the blocks that the transform's rows end in
    std::shared_ptr<const Plan> there, back;
    std::vector<R> chirp, conjugate, kernel;
    // Rader's algorithm for blocks of a prime length, if it is used: `first` is a length shorter. kernel: as above, one number
    // for each block
    std::vector<int64_t> powers, logarithms; // of a generator, modulo n; the places of powers whose inverses are 1, 2, ...
    std::vector<R> turns;                    // exp(-pi i k / n) for k = 0 to n / 2, real parts first

    // A row's matrix in blocks: groups of columns, groups of rows, blocks of such a group, numbers of all.
    int64_t columns() const { return groups_of<R>(second.n); }
    int64_t rows() const { return groups_of<R>(first.n); }
    int64_t pitch() const { return columns() * lanes<R>; }
    int64_t room() const { return rows() * pitch() * block<R>; }
    /// Working memory for a group of columns or of rows.
    int64_t group_room() const { return std::max(2 * first.padded(), second.padded()) * block<R>; }
    /// How often run_row looks ahead.
    int64_t steps() const { return 2 * (columns() + rows()) + 1; }
};

template <class R> std::shared_ptr<const Plan<R>> plan_of(int64_t n, Use use);

template <class R> void run_columns(const Plan<R>& plan, const R* in, R* middle, bool back, R* room = nullptr, Ahead* ahead = nullptr);

/// The cheapest length of the columns, 0 if there is none, and the cost, in passes of radix 8 over blocks filled by one row.
struct Split {
    int64_t first = 0;
    double cost = 0;
};
Split split_of(int64_t n, int64_t lane_count) {
    Split best;
    for (int64_t d = 2; d * d <= n; ++d) {
        if (n % d) continue;
        for (int64_t first : {d, n / d}) {
            int64_t second = n / first;
            auto waste = [&](int64_t count) { return static_cast<double>(round_up(count, lane_count)) / static_cast<double>(count); };
            double cost = waste(second) * (cost_of(radices_of(first)) + 1.2) + waste(first) * (cost_of(radices_of(second)) + 0.3);
            if (std::max(first, second) > 4096) cost *= 2; // blocks exceed the second cache
            if (!best.first || cost < best.cost) best = {first, cost};
        }
    }
    return best;
}
/// The length of the convolution by which a row of n numbers, whose length is no product, is transformed.
int64_t padded_length(int64_t n) {
    int64_t length = INT64_MAX;
    for (int64_t odd : {1, 3, 5, 9, 15}) {
        int64_t candidate = odd * 128;
        while (candidate < 2 * n - 1) candidate *= 2;
        length = std::min(length, candidate);
    }
    return length;
}
/// From how many rows on blocks with a row in each lane, which take so many passes, are faster than rows one by one. The
/// constants are measured: a pass costs more where the blocks that it combines lie pages apart, since they share the first
/// cache's few lines of a set; the other two are what blocks and a row cost beside their passes.
int64_t least_rows_of(int64_t n, double passes, int64_t lane_count) {
    Split split = has_stages(n) ? split_of(n, lane_count) : Split();
    int64_t length = n, transforms = 1;
    if (!split.first) {
        length = padded_length(n);
        transforms = 2;
        split = split_of(length, lane_count);
    }
    const double row = static_cast<double>(transforms) * (static_cast<double>(length) / static_cast<double>(lane_count) * split.cost + 22);
    const double blocks = static_cast<double>(n) * (1.5 + passes) * (n % 256 > 1 ? 1 : 1.45) + 20;
    return static_cast<int64_t>(blocks / row) + 1;
}

/// Rader's algorithm (1968): in the order of the powers of a generator modulo a prime n, what follows the first of n numbers is
/// transformed by a cyclic convolution, here of a length that has stages. False if n is no such prime.
template <class R> bool make_prime(Plan<R>& plan) {
    const int64_t n = plan.n, m = n - 1;
    if (!has_stages(m)) return false;
    for (int64_t d = 2; d * d <= n; ++d)
        if (n % d == 0) return false;
    plan.powers.resize(static_cast<size_t>(m));
    plan.logarithms.resize(static_cast<size_t>(m));
    for (int64_t generator = 2, count = 0; count < m; ++generator) {
        count = 0;
        for (int64_t power = 1; !count || power != 1; power = power * generator % n) plan.powers[static_cast<size_t>(count++)] = power;
    }
    plan.first.make(m);
    Scratch<R> room(2 * m * block<R>);
    std::memset(room.data, 0, static_cast<size_t>(m * block<R>) * sizeof(R));
    for (int64_t q = 0; q < m; ++q) {
        const int64_t inverse = plan.powers[static_cast<size_t>((m - q) % m)];
        plan.logarithms[static_cast<size_t>(inverse - 1)] = q;
        const Root w = root(static_cast<uint64_t>(inverse), static_cast<uint64_t>(n));
        room[q * block<R>] = static_cast<R>(w.re);
        room[q * block<R> + lanes<R>] = static_cast<R>(w.im);
    }
    const R* x = plan.first.run(room.data, room.data + m * block<R>, false);
    for (int64_t q = 0; q < m; ++q)
        for (int64_t part : {int64_t{0}, lanes<R>}) plan.kernel.push_back(x[q * block<R> + part] / static_cast<R>(m));
    return true;
}

template <class R> std::shared_ptr<const Plan<R>> make_plan(int64_t n, Use use) {
    auto plan = std::make_shared<Plan<R>>();
    plan->n = n;
    plan->use = use;
    if (use == Use::Blocks) {
        if (has_stages(n)) {
            plan->first.make(n);
            plan->least_rows = least_rows_of(n, cost_of(plan->first.radices), lanes<R>);
        } else if (make_prime(*plan)) plan->least_rows = least_rows_of(n, 2 * cost_of(plan->first.radices) + 3, lanes<R>);
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
    if (int64_t first = has_stages(n) ? split_of(n, lanes<R>).first : 0) {
        int64_t second = n / first;
        if (use == Use::Turned) std::swap(first, second);
        plan->first.make(first);
        plan->second.make(second);
        const bool large = n > longest_table;
        const int64_t size = plan->first.padded() * block<R>;
        std::vector<R> factors(static_cast<size_t>(size));
        for (int64_t c = 0; c < (large ? lanes<R> : second); c += lanes<R>) {
            for (int64_t k = 0; k < first; ++k)
                for (int64_t j = 0; j < lanes<R>; ++j) {
                    Root w = root(static_cast<uint64_t>(c + j) * static_cast<uint64_t>(k), static_cast<uint64_t>(n));
                    factors[static_cast<size_t>(k * block<R> + j)] = static_cast<R>(w.re);
                    factors[static_cast<size_t>(k * block<R> + lanes<R> + j)] = static_cast<R>(w.im);
                }
            plan->between.resize(plan->between.size() + static_cast<size_t>(size));
            if (!large)
                loops<R>().arrange(factors.data(), nullptr, plan->between.data() + plan->between.size() - size, plan->first.padded());
        }
        if (large) {
            plan->between.swap(factors);
            for (int64_t c = 0; c < second; c += lanes<R>)
                for (int64_t k = 0; k < plan->first.padded(); ++k) plan->first.push(plan->outer, c * k, n);
        }
        plan->matrix = {
            plan->first.list(), plan->second.list(), plan->pitch(), size, plan->between.data(), large ? plan->outer.data() : nullptr};
        return plan;
    }
    // j k = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with a chirp.
    const int64_t length = padded_length(n);
    plan->there = plan_of<R>(length, Use::Row);
    plan->back = plan_of<R>(length, Use::Turned);
    const Plan<R>& there = *plan->there;
    Scratch<R> room(2 * length), middle(there.room()), spare(there.group_room());
    std::fill(room.data, room.data + 2 * length, R{0});
    uint64_t square = 0, modulus = 2 * static_cast<uint64_t>(n); // j * j modulo 2 n
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
    run_columns(there, room.data, middle.data, false);
    for (int64_t k = 0; k < there.rows(); ++k) {
        const R* x = there.second.run(middle.data + k * there.pitch() * block<R>, spare.data, false);
        for (int64_t i = 0; i < there.second.n * block<R>; ++i) plan->kernel.push_back(x[i] / static_cast<R>(length));
    }
    return plan;
}

// The plans used last. Created at the first transform and never destroyed.
template <class R> struct Cache {
    static constexpr int size = 16;
    std::shared_ptr<const Plan<R>> plans[size];
    uint64_t used[size] = {};
    uint64_t clock = 0;
};
constinit pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
template <class R> constinit Cache<R>* cache = nullptr;

template <class R> std::shared_ptr<const Plan<R>> plan_of(int64_t n, Use use) {
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

/// Blocks that one thread processes at a time.
int64_t grain_of(int64_t numbers) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(numbers, 1)); }

/// Transforms blocks. Overwrites x and the spare memory; returns in which of them the result is.
template <class R> R* run_lanes(const Plan<R>& plan, R* x, R* spare, bool back, const Outside<R>& outside) {
    if (plan.powers.empty()) return plan.first.run(x, spare, back, outside);
    constexpr int64_t bytes = block<R> * static_cast<int64_t>(sizeof(R));
    const int64_t m = plan.n - 1;
    auto gather = [&](R* to, const R* from, const std::vector<int64_t>& places) {
        copy_from_places(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from), places.data(), m, bytes, bytes);
    };
    gather(spare + block<R>, x, plan.powers);
    R* y = plan.first.run(spare + block<R>, x + block<R>, back);
    for (int64_t j = 0; j < block<R>; ++j) spare[j] = x[j] + y[j]; // the sum of all
    loops<R>().turn_blocks(y, plan.kernel.data(), m, back);
    for (int64_t j = 0; j < block<R>; ++j) y[j] += x[j]; // which adds it to each result
    y = plan.first.run(y, y == x + block<R> ? spare + block<R> : x + block<R>, !back);
    R* result = y == x + block<R> ? spare : x;
    if (result == x) std::memcpy(x, spare, bytes);
    gather(result + block<R>, y, plan.logarithms);
    return result;
}
/// The columns of a row's matrix, and its rows: in this thread if there is room for a group, else in threads that have their own.
template <class R> void run_columns(const Plan<R>& plan, const R* in, R* middle, bool back, R* room, Ahead* ahead) {
    const auto columns = loops<R>().columns;
    if (room) return columns(plan.matrix, 0, plan.columns(), in, middle, room, back, ahead);
    parallel_for(0, plan.columns(), grain_of(plan.first.n * lanes<R>), [&](int64_t begin, int64_t end) {
        Scratch<R> own(plan.group_room());
        columns(plan.matrix, begin, end, in, middle, own.data, back, nullptr);
    });
}
template <class R> void run_rows(const Plan<R>& plan, R* middle, R* out, R scale, bool back, R* room, Ahead* ahead) {
    const auto rows = loops<R>().rows;
    if (room) return rows(plan.matrix, 0, plan.rows(), middle, out, scale, room, back, ahead);
    parallel_for(0, plan.rows(), grain_of(plan.second.n * lanes<R>), [&](int64_t begin, int64_t end) {
        Scratch<R> own(plan.group_room());
        rows(plan.matrix, begin, end, middle, out, scale, own.data, back, nullptr);
    });
}
/// Bluestein's algorithm. The rows of the transform there are the columns of the one back, so they stay in blocks, and the
/// transformed values are never put in order.
template <class R> void run_chirp(const Plan<R>& plan, const R* in, R* out, R scale, bool conjugate) {
    const FourierLoops<R>& loop = loops<R>();
    const Plan<R>&there = *plan.there, &back = *plan.back;
    const int64_t length = there.n, second = there.second.n;
    Scratch<R> room(std::max(2 * length, back.room())), middle(std::max(2 * length, there.room()));
    loop.multiply(room.data, in, conjugate ? plan.conjugate.data() : plan.chirp.data(), plan.n, conjugate);
    std::fill(room.data + 2 * plan.n, room.data + 2 * length, R{0});
    run_columns(there, room.data, middle.data, false);
    parallel_for(0, there.rows(), grain_of(second * lanes<R>), [&](int64_t begin, int64_t end) {
        Scratch<R> other(there.group_room());
        for (int64_t k = begin; k < end; ++k) {
            R* row = middle.data + k * there.pitch() * block<R>;
            R* x = there.second.run(row, other.data, false);
            loop.multiply_blocks(x, plan.kernel.data() + k * second * block<R>, second);
            loop.column(back.matrix, k, x, x == row ? other.data : row, room.data, true, nullptr);
        }
    });
    run_rows<R>(back, room.data, middle.data, scale, true, nullptr, nullptr);
    loop.multiply(out, middle.data, plan.chirp.data(), plan.n, conjugate);
}

/// One sequence of complex numbers; `out` may be `in`. With room for row_room() numbers it is for this thread alone.
template <class R> void run_row(const Plan<R>& plan, const R* in, R* out, R scale, bool back, R* room, Ahead* ahead) {
    if (plan.there) return run_chirp(plan, in, out, scale, back);
    if (room) {
        R* middle = room + plan.group_room();
        run_columns(plan, in, middle, back, room, ahead);
        return run_rows(plan, middle, out, scale, back, room, ahead);
    }
    Scratch<R> middle(plan.room());
    run_columns(plan, in, middle.data, back);
    run_rows<R>(plan, middle.data, out, scale, back, nullptr, nullptr);
}
/// None for rows that are shared out to threads, or that ask for memory of their own.
template <class R> int64_t row_room(const Plan<R>& plan) {
    return plan.there || plan.n > longest_alone ? 0 : plan.group_room() + plan.room();
}

// ---- arrays [outer, n, inner]

/// Transposes [outer, rows, columns] numbers of `item` bytes to [outer, columns, rows].
void transpose_planes(const void* from, void* to, int64_t outer, int64_t rows, int64_t columns, int64_t item) {
    PlaneCopy copy = find_plane_copy(static_cast<int>(item));
    const int64_t plane = rows * columns * item;
    for (int64_t o = 0; o < outer; ++o)
        copy({static_cast<char*>(to) + o * plane,
              static_cast<const char*>(from) + o * plane,
              {columns, rows},
              {rows * item, item},
              {item, columns * item}});
}

/// Which side of a transform has real numbers.
enum class Kind { Complex, FromReal, ToReal };

template <class R> class Transform {
public:
    Transform(const Fourier& f, Kind kind, const void* in, void* out)
        : f_(f), kind_(kind), in_(static_cast<const R*>(in)), out_(static_cast<R*>(out)), kept_(f.n / 2 + 1),
          given_{kind == Kind::ToReal ? kept_ : f.n, kind == Kind::FromReal ? 1 : 2},
          result_{kind == Kind::FromReal ? kept_ : f.n, kind == Kind::ToReal ? 1 : 2}, pairs_(kind != Kind::Complex && f.n % 2 == 0),
          length_(pairs_ ? f.n / 2 : f.n), back_(kind == Kind::ToReal || (!pairs_ && !f.forward)), scale_(static_cast<R>(f.scale)),
          sign_(f.forward == (kind == Kind::FromReal) ? R{1} : R{-1}) {}

    void run() {
        const bool across = f_.inner > 1; // sequences lie across memory
        if (length_ <= (across ? longest_column : longest_blocks)) blocks_ = plan_of<R>(length_, Use::Blocks);
        if (across && (f_.inner < lanes<R> / 2 || !blocks_ || !blocks_->first.n)) return run_transposed();
        if (pairs_) turns_ = plan_of<R>(length_, Use::Turns);
        if (across) {
            const int64_t chunks = groups_of<R>(f_.inner);
            parallel_for(0, f_.outer * chunks, grain_of(length_ * lanes<R>), [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                    const int64_t at = i % chunks * lanes<R>;
                    run_blocks(i / chunks, at, std::min(lanes<R>, f_.inner - at));
                }
            });
            return;
        }
        const int64_t least = blocks_ ? blocks_->least_rows : lanes<R> + 1;
        const int64_t bundle = least > lanes<R> ? 1 : lanes<R>;
        if (bundle == 1 || (f_.outer % bundle && f_.outer % bundle < least)) row_ = plan_of<R>(length_, Use::Row);
        const int64_t read = given_.bytes() * f_.outer, written = result_.bytes() * f_.outer;
        const int64_t row = std::max(given_.bytes(), result_.bytes());
        past_cache_ = row <= longest_apart && in_ != out_ && passes_cache(written, read);
        fetches_ = row <= longest_ahead && read + written > near;
        parallel_for(0, (f_.outer + bundle - 1) / bundle, grain_of(length_ * bundle), [&](int64_t begin, int64_t end) {
            Scratch<R> room(row_ ? 2 * groups_of<R>(length_ + 1) * lanes<R> + row_room(*row_) : 0);
            for (int64_t i = begin * bundle; i < std::min(end * bundle, f_.outer); i += bundle) {
                const int64_t count = std::min(bundle, f_.outer - i);
                if (count >= least) run_blocks(i, 0, count);
                else
                    for (int64_t j = i; j < i + count; ++j) run_one(j, room.data);
            }
            if (past_cache_) end_past_cache();
        });
    }

private:
    static constexpr int64_t item = sizeof(R);
    static constexpr int64_t longest_ahead = 1 << 15; // bytes of a row; longer ones are left to the hardware prefetcher
    static constexpr int64_t longest_apart = 1 << 20; // bytes of a row that is made apart, in the second cache for most of it
    static constexpr int64_t piece_of_bundle = 64;
    static constexpr int64_t near = 4 << 20; // bytes of an array for which it is fast enough: some second caches

    /// One side of the transform: how many numbers a sequence has, of how many parts each.
    struct Side {
        int64_t numbers, parts;
        int64_t bytes() const { return numbers * parts * item; }
    };

    /// The sequences that begin at [o, 0, i] to [o, 0, i + count - 1], a lane for each.
    void run_blocks(int64_t o, int64_t i, int64_t count) const {
        const FourierLoops<R>& loop = loops<R>();
        const int64_t inner = f_.inner, most = length_ + pairs_;
        const bool tiles = inner == 1 && count == lanes<R> && blocks_->powers.empty() && blocks_->first.takes_tiles();
        Scratch<R> room((2 * most + (tiles ? Stages<R>::most_tiles * tile<R> : 0)) * block<R>);
        R* x = room.data;
        // Parts of numbers are parts of blocks, and so are reals by twos. By themselves reals are the real parts.
        auto step_of = [&](const Side& side) { return (side.parts == 2 || pairs_ ? lanes<R> : block<R>)*item; };
        const R* from = in_ + (o * given_.numbers * inner + i) * given_.parts;
        R* to = out_ + (o * result_.numbers * inner + i) * result_.parts;
        Ahead next = ahead_of(from, to, count, 4 * most / piece_of_bundle + 1), *ahead = fetches_ ? &next : nullptr;
        Outside<R> outside;
        if (tiles) { // pairs of reals are numbers, too
            const bool in = kind_ == Kind::Complex || (kind_ == Kind::FromReal && pairs_);
            const bool out = !past_cache_ && (kind_ == Kind::Complex || (kind_ == Kind::ToReal && pairs_));
            outside = {in ? from : nullptr,
                       out ? to : nullptr,
                       0,
                       scale_,
                       given_.numbers * given_.parts,
                       result_.numbers * result_.parts,
                       x + 2 * most * block<R>,
                       ahead};
        } else if (inner > 1 && count == lanes<R> && kind_ == Kind::Complex && loop.takes_pairs && blocks_->powers.empty() && length_ > 1)
            outside = {from, to, 2 * inner, scale_};
        if (outside.in) {
            // The first stage reads them.
        } else if (inner > 1 && given_.parts == 2) loop.load(from, inner, given_.numbers, count, x);
        else {
            const int64_t step = step_of(given_);
            if (count < lanes<R> || step > lanes<R> * item) std::memset(x, 0, static_cast<size_t>(most * block<R> * item));
            copy({reinterpret_cast<char*>(x),
                  reinterpret_cast<const char*>(from),
                  {given_.numbers * given_.parts, count},
                  {step, item},
                  {inner * item, inner > 1 ? item : given_.bytes()}},
                 0, ahead);
        }
        if (kind_ == Kind::ToReal) {
            if (pairs_) loop.entangle_blocks(x, length_, turns_->turns.data(), sign_);
            else mirror(x, block<R>, lanes<R>);
        }
        x = run_lanes(*blocks_, x, x + most * block<R>, back_, outside);
        if (outside.out) return;
        R scale = scale_;
        if (kind_ == Kind::FromReal) {
            if (pairs_) {
                loop.untangle_blocks(x, length_, turns_->turns.data(), scale, sign_);
                scale = 1;
            } else std::memset(x + lanes<R>, 0, lanes<R> * item);
        }
        if (inner > 1 && result_.parts == 2) return loop.store(x, result_.numbers, count, to, inner, scale);
        if (scale != 1) loop.scale(x, length_, scale);
        R* rows = past_cache_ ? x == room.data ? room.data + most * block<R> : room.data : to;
        copy({reinterpret_cast<char*>(rows),
              reinterpret_cast<const char*>(x),
              {count, result_.numbers * result_.parts},
              {inner > 1 ? item : result_.bytes(), inner * item},
              {item, step_of(result_)}},
             1, ahead);
        if (past_cache_) copy_past_cache(to, rows, count * result_.bytes());
    }
    /// Copies a plane; in pieces of the given dimension, between which it looks ahead, if it does.
    static void copy(Plane plane, int dimension, Ahead* ahead) {
        const PlaneCopy copy_piece = find_plane_copy(item);
        if (!ahead) return copy_piece(plane);
        const int64_t whole = plane.sizes[dimension];
        for (int64_t at = 0; at < whole; at += piece_of_bundle) {
            plane.sizes[dimension] = std::min(piece_of_bundle, whole - at);
            copy_piece(plane);
            plane.to += piece_of_bundle * plane.to_strides[dimension];
            plane.from += piece_of_bundle * plane.from_strides[dimension];
            ahead->some();
        }
    }
    /// What is fetched while rows at `from` become rows at `to`: these, and as many that follow.
    Ahead ahead_of(const R* from, const R* to, int64_t rows, int64_t steps) const {
        return {to, past_cache_ ? 0 : rows * result_.bytes(), from + rows * given_.numbers * given_.parts, rows * given_.bytes(), steps};
    }

    /// The row i of an array with inner == 1.
    void run_one(int64_t i, R* room) const {
        const FourierLoops<R>& loop = loops<R>();
        const R* from = in_ + i * given_.numbers * given_.parts;
        R* to = out_ + i * result_.numbers * result_.parts;
        // Rows of a real transform's result do not begin at a cache line, so they are made here.
        R* result = past_cache_ ? room : to;
        R* own = row_room(*row_) ? room + 2 * groups_of<R>(length_ + 1) * lanes<R> : nullptr;
        Ahead next = fetches_ ? ahead_of(from, to, 1, row_->steps()) : Ahead(), *ahead = fetches_ ? &next : nullptr;
        if (kind_ == Kind::Complex) {
            run_row(*row_, from, result, scale_, back_, own, ahead);
        } else if (kind_ == Kind::FromReal) {
            const R* numbers = from;
            if (!pairs_) {
                for (int64_t j = 0; j < length_; ++j) {
                    room[2 * j] = from[j];
                    room[2 * j + 1] = 0;
                }
                numbers = room;
            }
            run_row(*row_, numbers, room, pairs_ ? R{1} : scale_, back_, own, ahead);
            if (pairs_) loop.untangle(room, result, length_, turns_->turns.data(), scale_, sign_);
            else {
                room[1] = 0;
                result = room;
            }
        } else if (pairs_) {
            loop.entangle(from, room, length_, turns_->turns.data(), sign_);
            run_row(*row_, room, result, scale_, back_, own, ahead);
        } else {
            std::memcpy(room, from, static_cast<size_t>(given_.bytes()));
            mirror(room, 2, 1);
            run_row(*row_, room, room, scale_, back_, own, ahead);
            for (int64_t j = 0; j < length_; ++j) to[j] = room[2 * j];
            return;
        }
        if (result != to) (past_cache_ ? copy_past_cache : copy_bytes)(to, result, result_.bytes());
    }

    /// Completes an odd number of values of a transform with conjugate symmetry, each `step` reals with the imaginary
    /// parts of `width` values behind as many real ones.
    void mirror(R* x, int64_t step, int64_t width) const {
        std::memset(x + width, 0, static_cast<size_t>(width * item));
        for (int64_t k = 1; k < kept_; ++k) {
            R *at = x + k * step, *other = x + (length_ - k) * step;
            for (int64_t j = 0; j < width; ++j) {
                const R re = at[j], im = sign_ * at[width + j];
                at[width + j] = im;
                other[j] = re;
                other[width + j] = -im;
            }
        }
    }

    /// Copies sequences that lie across memory to rows, and their results back.
    void run_transposed() const {
        Scratch<R> rows(f_.outer * given_.numbers * given_.parts * f_.inner);
        Scratch<R> results(kind_ == Kind::Complex ? 0 : f_.outer * result_.numbers * result_.parts * f_.inner);
        R* to = kind_ == Kind::Complex ? rows.data : results.data;
        transpose_planes(in_, rows.data, f_.outer, given_.numbers, f_.inner, given_.parts * item);
        Fourier along = f_;
        along.outer = f_.outer * f_.inner;
        along.inner = 1;
        Transform(along, kind_, rows.data, to).run();
        transpose_planes(to, out_, f_.outer, f_.inner, result_.numbers, result_.parts * item);
    }

    const Fourier& f_;
    Kind kind_;
    const R* in_;
    R* out_;
    int64_t kept_; // values of a transform of reals that symmetry does not give
    Side given_, result_;
    bool pairs_;     // an even number of reals: taken by twos as complex numbers
    int64_t length_; // of the complex transforms
    bool back_;
    R scale_, sign_; // sign_: of imaginary parts on the complex side of a transform of reals
    bool past_cache_ = false, fetches_ = false;
    std::shared_ptr<const Plan<R>> blocks_, row_, turns_;
};

bool is_double(const Fourier& f) {
    KINDLING_CHECK(Runtime, f.real == DType::Float32 || f.real == DType::Float64, "Unsupported dtype %s", scalar_type_name(f.real));
    return f.real == DType::Float64;
}

void run(const Fourier& f, Kind kind, const void* in, void* out) {
    const bool wide = is_double(f);
    if (f.outer * f.n * f.inner == 0) return;
    if (wide) Transform<double>(f, kind, in, out).run();
    else Transform<float>(f, kind, in, out).run();
}

} // namespace

void fft_complex(const Fourier& f, const void* in, void* out) { run(f, Kind::Complex, in, out); }
void fft_from_real(const Fourier& f, const void* in, void* out) { run(f, Kind::FromReal, in, out); }
void fft_to_real(const Fourier& f, const void* in, void* out) { run(f, Kind::ToReal, in, out); }

} // namespace kindling::library
