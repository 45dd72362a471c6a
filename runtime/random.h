// runtime/random.h: the CPU random generator, number for number torch's: a Mersenne Twister (mt19937), the two cached
// normal samples, and the 5056-byte state.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/export.h"
#include "core/storage.h"

namespace KINDLING_VISIBLE kindling {

class Generator {
public:
    static constexpr uint64_t default_seed = 67280421310721;
    static constexpr size_t state_bytes = 5056;

    Device device; // whose numbers these are; a plug-in's kernels draw from one of theirs

    constexpr Generator() = default;
    explicit Generator(uint64_t seed) { manual_seed(seed); }
    Generator(const Generator&) = delete;
    Generator& operator=(const Generator&) = delete;

    /// Restarts the stream; drops the cached normal samples.
    void manual_seed(uint64_t seed);
    /// A seed from the system, which becomes the stream's. Returns it.
    uint64_t seed();
    uint64_t initial_seed() const { return initial_seed_; }

    /// The next 32 or 64 bits.
    uint32_t random();
    uint64_t random64() {
        uint64_t high = random();
        return high << 32 | random();
    }
    /// The next `count` words, faster than one at a time.
    void random(uint32_t* words, size_t count);

    /// [0, 1) with 24 or 53 random bits.
    float uniform_float() { return static_cast<float>(random() & 0xffffff) * 0x1p-24f; }
    double uniform_double() { return static_cast<double>(random64() & ((1ull << 53) - 1)) * 0x1p-53; }
    /// Mean 0, deviation 1, by Box and Muller; every second sample is the cached one.
    double normal_double();

    /// torch's layout of `get_rng_state`. set_state refuses other sizes and states that no generator can be in.
    void get_state(uint8_t state[state_bytes]) const;
    void set_state(const uint8_t* state, size_t bytes);
    /// Becomes a copy of `other`'s stream.
    void copy_from(const Generator& other);

    /// Held by everything that draws more than one number, or asks for the state. Draws that were put off come first.
    void lock() const {
        if (waiting_.load(std::memory_order_relaxed)) [[unlikely]]
            draw_what_waits();
        pthread_mutex_lock(&mutex_);
    }
    void unlock() const { pthread_mutex_unlock(&mutex_); }

    /// Draws that were put off (graph/pending.h). At most one at a time: a second one has the first drawn.
    struct Waiting {
        void (*draw)(Waiting*);
    };
    void put_off(Waiting* draws);
    void forget(Waiting* draws) { waiting_.compare_exchange_strong(draws, nullptr); }

private:
    static constexpr int state_words = 624;
    void twist();
    void seed_engine(uint64_t seed);
    void draw_what_waits() const;

    mutable std::atomic<Waiting*> waiting_{nullptr};
    mutable pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    uint64_t initial_seed_ = default_seed;
    int32_t left_ = 1; // words not yet drawn, plus one
    uint32_t next_ = 0;
    bool seeded_ = false; // filled at the first draw, so that a generator can be made at compile time
    bool has_normal_double_ = false;
    bool has_normal_float_ = false;
    float normal_float_ = 0; // kept for the state's sake: nothing on the CPU draws it
    double normal_double_ = 0;
    uint32_t words_[state_words] = {};
};

/// The generator used when none is given. The system seeds it when it is first asked for, unless the program has done so.
Generator& default_generator();
/// Whether it is that one. Seeds nothing.
bool is_default(const Generator* generator);

struct GeneratorLock {
    explicit GeneratorLock(const Generator& generator) : generator_(generator) { generator_.lock(); }
    ~GeneratorLock() { generator_.unlock(); }
    GeneratorLock(const GeneratorLock&) = delete;

private:
    const Generator& generator_;
};

} // namespace kindling
