// runtime/random.cpp: the Mersenne Twister and its state.
// Compiled for loops.
#include "runtime/random.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "core/error.h"

namespace kindling {
namespace {

constexpr int middle = 397;
constexpr uint32_t upper = 0x80000000u, lower = 0x7fffffffu;

inline uint32_t mix(uint32_t high, uint32_t low) { return (((high & upper) | (low & lower)) >> 1) ^ (-(low & 1u) & 0x9908b0dfu); }

inline uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

// The state as torch stores it: a 5048-byte form that dates from its Lua days, and a cached float sample.
struct StoredState {
    uint64_t initial_seed;
    int32_t left;
    int32_t seeded;
    uint64_t next;
    uint64_t words[624];
    double normal_x;
    double normal_y;
    double normal_rho;
    int32_t normal_is_valid;
    int32_t padding;
};
static_assert(sizeof(StoredState) == 5048);

constinit Generator default_generator_;

} // namespace

void Generator::seed_engine(uint64_t seed) {
    words_[0] = static_cast<uint32_t>(seed);
    for (uint32_t i = 1; i < state_words; ++i) words_[i] = 1812433253u * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
    left_ = 1;
    next_ = 0;
    seeded_ = true;
}

void Generator::draw_what_waits() const {
    if (Waiting* waiting = waiting_.exchange(nullptr)) waiting->draw(waiting);
}

void Generator::put_off(Waiting* draws) {
    if (waiting_.load() == draws) return;
    draw_what_waits();
    waiting_.store(draws);
}

void Generator::manual_seed(uint64_t seed) {
    GeneratorLock guard(*this);
    initial_seed_ = seed;
    has_normal_double_ = has_normal_float_ = false;
    seed_engine(seed);
}

uint64_t Generator::seed() {
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) != sizeof value) {
        timespec now{};
        clock_gettime(CLOCK_REALTIME, &now);
        value = (static_cast<uint64_t>(now.tv_sec) * 1000000007u) ^ (static_cast<uint64_t>(now.tv_nsec) << 20) ^
                static_cast<uint64_t>(getpid());
    }
    value &= (1ull << 53) - 1; // a Python float holds it
    manual_seed(value);
    return value;
}

void Generator::twist() {
    if (!seeded_) seed_engine(initial_seed_);
    uint32_t* p = words_;
    for (int i = 0; i < state_words - middle; ++i) p[i] = p[i + middle] ^ mix(p[i], p[i + 1]);
    for (int i = state_words - middle; i < state_words - 1; ++i) p[i] = p[i + middle - state_words] ^ mix(p[i], p[i + 1]);
    p[state_words - 1] = p[middle - 1] ^ mix(p[state_words - 1], p[0]);
    left_ = state_words;
    next_ = 0;
}

uint32_t Generator::random() {
    if (--left_ == 0) twist();
    return temper(words_[next_++]);
}

void Generator::random(uint32_t* words, size_t count) {
    while (count) {
        if (left_ == 1) {
            twist();
            ++left_;
        }
        size_t ready = static_cast<size_t>(left_ - 1);
        size_t taken = count < ready ? count : ready;
        const uint32_t* from = words_ + next_;
        for (size_t i = 0; i < taken; ++i) words[i] = temper(from[i]);
        left_ -= static_cast<int32_t>(taken);
        next_ += static_cast<uint32_t>(taken);
        words += taken;
        count -= taken;
    }
}

double Generator::normal_double() {
    if (has_normal_double_) {
        has_normal_double_ = false;
        return normal_double_;
    }
    double u1 = uniform_double(), u2 = uniform_double();
    double radius = std::sqrt(-2.0 * std::log1p(-u2));
    double theta = 2.0 * 3.14159265358979323846 * u1;
    normal_double_ = radius * std::sin(theta);
    has_normal_double_ = true;
    return radius * std::cos(theta);
}

void Generator::get_state(uint8_t state[state_bytes]) const {
    GeneratorLock guard(*this);
    if (!seeded_) const_cast<Generator*>(this)->seed_engine(initial_seed_);
    StoredState stored{};
    stored.initial_seed = initial_seed_;
    stored.left = left_;
    stored.seeded = seeded_;
    stored.next = next_;
    for (int i = 0; i < state_words; ++i) stored.words[i] = words_[i];
    if (has_normal_double_) {
        stored.normal_is_valid = 1;
        stored.normal_y = normal_double_;
    }
    memset(state, 0, state_bytes);
    memcpy(state, &stored, sizeof stored);
    if (has_normal_float_) {
        memcpy(state + sizeof stored, &normal_float_, sizeof normal_float_);
        state[sizeof stored + 4] = 1;
    }
}

void Generator::set_state(const uint8_t* state, size_t bytes) {
    KINDLING_CHECK(Runtime, bytes == state_bytes || bytes == sizeof(StoredState),
                   "Expected either a CPUGeneratorImplStateLegacy of size %zu or a CPUGeneratorImplState of size %zu "
                   "but found the input RNG state size to be %zu",
                   sizeof(StoredState), state_bytes, bytes);
    StoredState stored;
    memcpy(&stored, state, sizeof stored);
    KINDLING_CHECK(Runtime, stored.seeded && stored.left > 0 && stored.left <= state_words && stored.next <= state_words,
                   "Invalid mt19937 state");
    // Words beyond the array are never there to be drawn, whatever the state says.
    KINDLING_CHECK(Runtime, stored.next + static_cast<uint64_t>(stored.left) <= state_words + 1, "Invalid mt19937 state");
    GeneratorLock guard(*this);
    initial_seed_ = stored.initial_seed;
    left_ = stored.left;
    next_ = static_cast<uint32_t>(stored.next);
    seeded_ = true;
    for (int i = 0; i < state_words; ++i) words_[i] = static_cast<uint32_t>(stored.words[i]);
    has_normal_double_ = has_normal_float_ = false;
    if (bytes == state_bytes) {
        if (stored.normal_is_valid) {
            has_normal_double_ = true;
            normal_double_ = stored.normal_y;
        }
        if (state[sizeof stored + 4]) {
            has_normal_float_ = true;
            memcpy(&normal_float_, state + sizeof stored, sizeof normal_float_);
        }
    } else if (stored.normal_is_valid) {
        // The old form keeps the pair's polar parts.
        has_normal_double_ = true;
        normal_double_ = stored.normal_rho * std::sin(2.0 * 3.14159265358979323846 * stored.normal_x);
    }
}

void Generator::copy_from(const Generator& other) {
    uint8_t state[state_bytes];
    other.get_state(state);
    set_state(state, state_bytes);
}

Generator& default_generator() {
    constinit static pthread_once_t seeded = PTHREAD_ONCE_INIT;
    pthread_once(&seeded, [] { default_generator_.seed(); });
    return default_generator_;
}
bool is_default(const Generator* generator) { return generator == &default_generator_; }

} // namespace kindling
