// The random streams against torch's, by a table of hashes that random_table.py writes.
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "core/error.h"
#include "kernels/library/random/random.h"
#include "runtime/random.h"

using namespace kindling;
using namespace kindling::library;

enum Kind { Uniform, Normal, LogNormal, Cauchy, Exponential, Bernoulli, Geometric, Random, RandomRange, Permutation };

struct Expected {
    Kind kind;
    DType dtype;
    int64_t count;
    uint64_t seed;
    double a, b;
    uint64_t hash;
    int64_t after;
};
static const Expected table[] = {
#include "random_table.inc"
};

static uint64_t fnv(const unsigned char* data, size_t size) {
    uint64_t value = 14695981039346656037u;
    for (size_t i = 0; i < size; ++i) value = (value ^ data[i]) * 1099511628211u;
    return value;
}

static void fill(Kind kind, const RandomOut& out, double a, double b, Generator& generator) {
    switch (kind) {
    case Uniform: return fill_uniform(out, a, b, generator);
    case Normal: return fill_normal(out, a, b, generator);
    case LogNormal: return fill_log_normal(out, a, b, generator);
    case Cauchy: return fill_cauchy(out, a, b, generator);
    case Exponential: return fill_exponential(out, a, generator);
    case Bernoulli: return fill_bernoulli(out, a, generator);
    case Geometric: return fill_geometric(out, a, generator);
    case Random: return fill_random(out, generator);
    case RandomRange: return fill_random(out, static_cast<int64_t>(a), static_cast<uint64_t>(b), generator);
    case Permutation: return fill_permutation(out.data, out.dtype, out.count, generator);
    }
}

int main() {
    for (const Expected& e : table) {
        Generator generator(e.seed);
        std::vector<unsigned char> data(static_cast<size_t>(e.count) * item_size(e.dtype));
        fill(e.kind, {data.data(), e.dtype, e.count}, e.a, e.b, generator);
        int64_t after = 0;
        fill_random({&after, DType::Int64, 1}, generator);
        bool same = fnv(data.data(), data.size()) == e.hash && after == e.after;
        if (!same)
            std::fprintf(stderr, "kind %d, %s, %ld elements, seed %lu differ from torch\n", e.kind, name(e.dtype),
                         static_cast<long>(e.count), static_cast<unsigned long>(e.seed));
        CHECK(same);
    }
    CHECK(sizeof table / sizeof *table > 400);

    // A transposed tensor is written in memory order.
    Generator first(5), second(5);
    double flat[12], turned[12];
    int64_t sizes[] = {3, 4}, strides[] = {1, 3};
    fill_uniform({flat, DType::Float64, 12}, 0, 1, first);
    fill_uniform({turned, DType::Float64, 12, 2, sizes, strides}, 0, 1, second);
    CHECK(memcmp(flat, turned, sizeof flat) == 0);

    // The state comes back, the cached normal sample included, and bad states are refused.
    uint8_t state[Generator::state_bytes];
    Generator source(11), target(12);
    source.normal_double();
    source.get_state(state);
    target.set_state(state, sizeof state);
    for (int i = 0; i < 2000; ++i) CHECK(source.normal_double() == target.normal_double());
    CHECK(target.initial_seed() == 11);
    CHECK_THROWS(target.set_state(state, 100), "RNG state size to be 100");
    state[8] = 0xff;
    CHECK_THROWS(target.set_state(state, sizeof state), "Invalid mt19937 state");
    CHECK_THROWS(fill_uniform({flat, DType::Int32, 1}, 0, 1, source), "\"uniform_kernel_cpu\" not implemented for 'Int'");

    // Seeded by the system at its first use; what it draws follows from that seed.
    Generator fresh(default_generator().initial_seed());
    CHECK(default_generator().random64() == fresh.random64());
    return finish("random");
}
