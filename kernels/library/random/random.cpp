// kernels/library/random/random.cpp: random fills in torch's order of memory and of draws.
#include "kernels/library/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/isa.h"
#include "kernels/library/random/random_isa.h"
#include "kernels/library/scratch.h"
#include "kernels/library/wide.h"
#include "runtime/random.h"

namespace kindling::library {
namespace {

constexpr int max_dims = 64;

// The order in which a strided tensor is written: dimensions of one element dropped, the smallest stride innermost,
// adjacent ones merged.
struct Walk {
    int ndim = 0;
    int64_t sizes[max_dims];
    int64_t strides[max_dims];
    int64_t other[max_dims]; // a second operand's strides
};

Walk walk_of(const RandomOut& out, const int64_t* other) {
    Walk walk;
    if (out.ndim < 0) {
        walk.ndim = 1;
        walk.sizes[0] = out.count;
        walk.strides[0] = walk.other[0] = 1;
        return walk;
    }
    KINDLING_ASSERT(out.ndim <= max_dims);
    for (int d = out.ndim - 1; d >= 0; --d) {
        if (out.sizes[d] == 1) continue;
        int place = walk.ndim++;
        while (place > 0 && walk.strides[place - 1] > out.strides[d]) {
            walk.sizes[place] = walk.sizes[place - 1];
            walk.strides[place] = walk.strides[place - 1];
            walk.other[place] = walk.other[place - 1];
            --place;
        }
        walk.sizes[place] = out.sizes[d];
        walk.strides[place] = out.strides[d];
        walk.other[place] = other ? other[d] : 0;
    }
    if (walk.ndim == 0) {
        walk.ndim = 1;
        walk.sizes[0] = walk.strides[0] = walk.other[0] = 1;
    }
    int last = 0;
    for (int d = 1; d < walk.ndim; ++d) {
        if (walk.strides[d] == walk.strides[last] * walk.sizes[last] && (!other || walk.other[d] == walk.other[last] * walk.sizes[last])) {
            walk.sizes[last] *= walk.sizes[d];
        } else {
            ++last;
            walk.sizes[last] = walk.sizes[d];
            walk.strides[last] = walk.strides[d];
            walk.other[last] = walk.other[d];
        }
    }
    walk.ndim = last + 1;
    return walk;
}

// Calls row(offset, other_offset, count, stride, other_stride) for every innermost row.
template <class Row> void for_rows(const Walk& walk, Row row) {
    int64_t index[max_dims] = {}, offset = 0, other = 0;
    for (;;) {
        row(offset, other, walk.sizes[0], walk.strides[0], walk.other[0]);
        int d = 1;
        for (; d < walk.ndim; ++d) {
            offset += walk.strides[d];
            other += walk.other[d];
            if (++index[d] < walk.sizes[d]) break;
            offset -= walk.strides[d] * walk.sizes[d];
            other -= walk.other[d] * walk.sizes[d];
            index[d] = 0;
        }
        if (d >= walk.ndim) return;
    }
}

constexpr int64_t chunk = 256; // some KB of the stack, which may be small

constexpr auto real_types = FloatingTypes{} + NarrowIntegers{};
constexpr auto bool_types = real_types + Types<bool>{};

// Fills with the results of draw(values, n), at most a chunk at a time; M is their type.
template <class M, class... T, class Draw>
void fill_chunks(Types<T...> types, const char* kernel, const RandomOut& out, Generator& generator, Draw draw) {
    Store<M> store = find_store<M>(types, out.dtype, kernel);
    if (out.count == 0) return;
    auto bytes = static_cast<int64_t>(item_size(out.dtype));
    GeneratorLock guard(generator);
    for_rows(walk_of(out, nullptr), [&](int64_t offset, int64_t, int64_t count, int64_t stride, int64_t) {
        M values[chunk];
        for (int64_t begin = 0; begin < count; begin += chunk) {
            int64_t n = std::min(chunk, count - begin);
            draw(values, n);
            store(static_cast<char*>(out.data) + (offset + begin * stride) * bytes, stride, values, n);
        }
    });
}

// Draws W words per element, many at a time: make(words) is its value.
template <class M, int W, class... T, class Make>
void fill_words(Types<T...> types, const char* kernel, const RandomOut& out, Generator& generator, Make make) {
    fill_chunks<M>(types, kernel, out, generator, [&](M* values, int64_t n) {
        uint32_t words[chunk * W];
        generator.random(words, static_cast<size_t>(n * W));
        for (int64_t i = 0; i < n; ++i) values[i] = make(words + i * W);
    });
}

// Draws each element by itself.
template <class... T, class Draw>
void fill_serial(Types<T...> types, const char* kernel, const RandomOut& out, Generator& generator, Draw draw) {
    fill_chunks<double>(types, kernel, out, generator, [&](double* values, int64_t n) {
        for (int64_t i = 0; i < n; ++i) values[i] = draw();
    });
}

inline uint64_t wide(const uint32_t* words) { return static_cast<uint64_t>(words[0]) << 32 | words[1]; }
inline float to_uniform_float(uint32_t word) { return static_cast<float>(static_cast<int32_t>(word & 0xffffff)) * 0x1p-24f; }
inline double to_uniform_double(const uint32_t* words) {
    return static_cast<double>(static_cast<int64_t>(wide(words) & ((1ull << 53) - 1))) * 0x1p-53;
}

const RandomSteps& random_steps() { return KINDLING_OF_ISA(random_steps); }

bool is_contiguous(const RandomOut& out) {
    if (out.ndim < 0) return true;
    int64_t expected = 1;
    for (int d = out.ndim - 1; d >= 0; --d) {
        if (out.sizes[d] == 1) continue;
        if (out.strides[d] != expected) return false;
        expected *= out.sizes[d];
    }
    return true;
}

void normal_block_double(double* data, double mean, double deviation) {
    for (int j = 0; j < 8; ++j) {
        double u1 = 1 - data[j], u2 = data[j + 8];
        double radius = std::sqrt(-2 * std::log(u1)), theta = 2.0 * 3.14159265358979323846 * u2;
        data[j] = std::fma(radius * std::cos(theta), deviation, mean);
        data[j + 8] = std::fma(radius * std::sin(theta), deviation, mean);
    }
}

// The contiguous form for 16 elements or more: blocks of 16, and the last 16 drawn again if the size is no multiple.
template <class T> void fill_normal_blocks(T* data, int64_t count, double mean, double deviation, Generator& generator) {
    GeneratorLock guard(generator);
    if constexpr (std::is_same_v<T, double>) {
        uint32_t words[chunk * 2];
        auto draw = [&](double* to, int64_t n) {
            generator.random(words, static_cast<size_t>(n) * 2);
            for (int64_t i = 0; i < n; ++i) to[i] = to_uniform_double(words + 2 * i);
        };
        for (int64_t begin = 0; begin < count; begin += chunk) draw(data + begin, std::min(chunk, count - begin));
        for (int64_t i = 0; i + 16 <= count; i += 16) normal_block_double(data + i, mean, deviation);
        if (count % 16) {
            draw(data + count - 16, 16);
            normal_block_double(data + count - 16, mean, deviation);
        }
    } else {
        auto transform = random_steps().normal_blocks;
        auto m = static_cast<float>(mean), s = static_cast<float>(deviation);
        uint32_t words[chunk];
        float buffer[chunk];
        auto draw = [&](float* to, int64_t n) {
            generator.random(words, static_cast<size_t>(n));
            for (int64_t i = 0; i < n; ++i) to[i] = to_uniform_float(words[i]);
        };
        auto put = [&](T* to, int64_t n) {
            draw(buffer, n);
            transform(buffer, n / 16, m, s);
            for (int64_t i = 0; i < n; ++i) to[i] = store_as<T>(buffer[i]);
        };
        int64_t whole = count & ~int64_t{15};
        for (int64_t begin = 0; begin < whole; begin += chunk) put(data + begin, std::min(chunk, whole - begin));
        if (count % 16) {
            // Float draws the tail's uniform numbers with the rest and drops them. The half types never draw them.
            if constexpr (std::is_same_v<T, float>) draw(buffer, count - whole);
            put(data + count - 16, 16);
        }
    }
}

} // namespace

void fill_uniform(const RandomOut& out, double from, double to, Generator& generator) {
    if (out.count == 0) return;
    for_type(FloatingTypes{}, out.dtype, "uniform_kernel_cpu", [&](auto type) {
        using T = decltype(type);
        using M = math_type<T>;
        constexpr int words_each = std::is_same_v<T, double> ? 2 : 1;
        M low = static_cast<M>(from), range = static_cast<M>(to) - low;
        T first = store_as<T>(from);
        M end = load(store_as<T>(to));
        T* data = static_cast<T*>(out.data);
        GeneratorLock guard(generator);
        for_rows(walk_of(out, nullptr), [&](int64_t offset, int64_t, int64_t count, int64_t stride, int64_t) {
            uint32_t words[chunk * words_each];
            M values[chunk];
            for (int64_t begin = 0; begin < count; begin += chunk) {
                int64_t n = std::min(chunk, count - begin);
                generator.random(words, static_cast<size_t>(n * words_each));
                for (int64_t i = 0; i < n; ++i) {
                    if constexpr (words_each == 2) values[i] = to_uniform_double(words + 2 * i);
                    else values[i] = to_uniform_float(words[i]);
                }
                if (low != 0 || range != 1) {
                    if constexpr (words_each == 2) random_steps().affine_double(values, n, range, low);
                    else random_steps().affine_float(values, n, range, low);
                }
                T* place = data + offset + begin * stride;
                for (int64_t i = 0; i < n; ++i) {
                    T value = store_as<T>(values[i]);
                    place[i * stride] = load(value) == end ? first : value; // rounding may reach the open end
                }
            }
        });
    });
}

void fill_normal(const RandomOut& out, double mean, double deviation, Generator& generator) {
    constexpr const char* kernel = "normal_kernel_cpu";
    if (out.count >= 16 && is_contiguous(out))
        return for_type(FloatingTypes{}, out.dtype, kernel, [&](auto type) {
            fill_normal_blocks(static_cast<decltype(type)*>(out.data), out.count, mean, deviation, generator);
        });
    fill_serial(FloatingTypes{}, kernel, out, generator, [&] { return std::fma(generator.normal_double(), deviation, mean); });
}

void fill_log_normal(const RandomOut& out, double mean, double deviation, Generator& generator) {
    fill_serial(FloatingTypes{}, "log_normal_cpu", out, generator,
                [&] { return std::exp(std::fma(generator.normal_double(), deviation, mean)); });
}

void fill_cauchy(const RandomOut& out, double median, double sigma, Generator& generator) {
    fill_serial(FloatingTypes{}, "cauchy_cpu", out, generator,
                [&] { return std::fma(sigma, std::tan(3.14159265358979323846 * (generator.uniform_double() - 0.5)), median); });
}

void fill_exponential(const RandomOut& out, double lambda, Generator& generator) {
    double scale = -1.0 / lambda;
    fill_words<double, 2>(FloatingTypes{}, "exponential_cpu", out, generator,
                          [=](const uint32_t* w) { return scale * std::log1p(-to_uniform_double(w)); });
}

void fill_bernoulli(const RandomOut& out, double probability, Generator& generator) {
    // k / 2^53 < p in integers.
    auto limit = static_cast<uint64_t>(std::ceil(probability * 0x1p53));
    fill_words<int64_t, 2>(bool_types, "bernoulli_scalar_cpu_", out, generator,
                           [=](const uint32_t* w) { return (wide(w) & ((1ull << 53) - 1)) < limit; });
}

void fill_bernoulli(const RandomOut& out, const void* probability, DType probability_dtype, const int64_t* probability_strides,
                    Generator& generator) {
    if (out.count == 0) return;
    Store<int64_t> store = find_store<int64_t>(bool_types, out.dtype, "bernoulli_tensor_cpu_self_");
    for_wide(FloatingTypes{}, probability_dtype, "bernoulli_tensor_cpu_p_", [&]<class P>(const Wide<P>& wide) {
        auto bytes = static_cast<int64_t>(item_size(out.dtype));
        Scratch<P> chances(chunk);
        GeneratorLock guard(generator);
        for_rows(walk_of(out, probability_strides),
                 [&](int64_t offset, int64_t other, int64_t count, int64_t stride, int64_t other_stride) {
                     constexpr int words_each = std::is_same_v<P, double> ? 2 : 1;
                     uint32_t words[chunk * words_each];
                     int64_t values[chunk];
                     for (int64_t begin = 0; begin < count; begin += chunk) {
                         int64_t n = std::min(chunk, count - begin);
                         wide.load(wide.at(probability, other + begin * other_stride), other_stride, chances.data, n);
                         bool good = true;
                         for (int64_t i = 0; i < n; ++i) good &= chances[i] >= 0 && chances[i] <= 1;
                         KINDLING_CHECK(Runtime, good, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
                         generator.random(words, static_cast<size_t>(n * words_each));
                         for (int64_t i = 0; i < n; ++i) {
                             if constexpr (words_each == 2) values[i] = to_uniform_double(words + 2 * i) < chances[i];
                             else values[i] = to_uniform_float(words[i]) < chances[i];
                         }
                         store(static_cast<char*>(out.data) + (offset + begin * stride) * bytes, stride, values, n);
                     }
                 });
    });
}

void fill_geometric(const RandomOut& out, double probability, Generator& generator) {
    double scale = std::log1p(-probability);
    fill_serial(real_types, "geometric_cpu", out, generator, [&] { return std::ceil(std::log(generator.uniform_double()) / scale); });
}

void fill_random(const RandomOut& out, Generator& generator) {
    constexpr const char* kernel = "random_kernel_cpu";
    uint64_t mask = 0, values = 0; // the values are those under a mask, or the first so many
    switch (out.dtype) {
    case DType::Bool: mask = 1; break;
    case DType::UInt8: mask = UINT8_MAX; break;
    case DType::Int8: mask = INT8_MAX; break;
    case DType::Int16: mask = INT16_MAX; break;
    case DType::Int32: mask = INT32_MAX; break;
    case DType::Int64: mask = INT64_MAX; break;
    case DType::Float64: values = (1ull << 53) + 1; break;
    case DType::Float32: values = (1u << 24) + 1; break;
    case DType::Float16: values = (1u << 11) + 1; break;
    default: values = (1u << 8) + 1;
    }
    auto make = [=](uint64_t word) { return static_cast<int64_t>(mask ? word & mask : word % values); };
    if (out.dtype == DType::Float64 || out.dtype == DType::Int64)
        fill_words<int64_t, 2>(bool_types, kernel, out, generator, [=](const uint32_t* w) { return make(wide(w)); });
    else fill_words<int64_t, 1>(bool_types, kernel, out, generator, [=](const uint32_t* w) { return make(w[0]); });
}

void fill_random(const RandomOut& out, int64_t from, uint64_t range, Generator& generator) {
    constexpr const char* kernel = "random_from_to_kernel_cpu";
    constexpr auto types = bool_types + WideUnsigned{};
    if (range == 0) fill_words<int64_t, 2>(types, kernel, out, generator, [](const uint32_t* w) { return static_cast<int64_t>(wide(w)); });
    else if (range >= 1ull << 28)
        fill_words<int64_t, 2>(types, kernel, out, generator,
                               [=](const uint32_t* w) { return static_cast<int64_t>(wide(w) % range + static_cast<uint64_t>(from)); });
    else
        fill_words<int64_t, 1>(types, kernel, out, generator, [=, range32 = static_cast<uint32_t>(range)](auto* w) {
            return static_cast<int64_t>(w[0] % range32 + static_cast<uint64_t>(from));
        });
}

void fill_permutation(void* data, DType dtype, int64_t n, Generator& generator) {
    Store<int64_t> store = find_store<int64_t>(real_types + WideUnsigned{}, dtype, "randperm");
    Scratch<int64_t> copy(dtype == DType::Int64 ? 0 : n);
    int64_t* out = dtype == DType::Int64 ? static_cast<int64_t*>(data) : copy.data;
    {
        GeneratorLock guard(generator);
        if (n < std::numeric_limits<uint32_t>::max() / 20) {
            for (int64_t i = 0; i < n; ++i) out[i] = i;
            for (int64_t i = 0; i + 1 < n; ++i) {
                int64_t other = i + static_cast<int64_t>(generator.random() % static_cast<uint32_t>(n - i));
                std::swap(out[i], out[other]);
            }
        } else {
            for (int64_t i = 0; i < n; ++i) {
                auto other = static_cast<int64_t>(generator.random64() % static_cast<uint64_t>(i + 1));
                out[i] = out[other];
                out[other] = i;
            }
        }
    }
    if (out != data) store(data, 1, out, n);
}

void multinomial_with_replacement(int64_t* out, const void* weights, DType dtype, int64_t rows, int64_t categories, int64_t samples,
                                  Generator& generator) {
    for_wide(FloatingTypes{}, dtype, "multinomial", [&]<class M>(const Wide<M>& wide) {
        Scratch<M> cumulative(categories);
        GeneratorLock guard(generator);
        for (int64_t r = 0; r < rows; ++r, out += samples) {
            wide.load(wide.at(weights, r * categories), 1, cumulative.data, categories);
            M sum = 0;
            for (int64_t j = 0; j < categories; ++j) {
                M value = cumulative[j];
                KINDLING_CHECK(Runtime, value >= 0, "invalid multinomial distribution (encountering probability entry < 0)");
                KINDLING_CHECK(Runtime, std::isfinite(value),
                               "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
                sum += value;
                cumulative[j] = sum;
            }
            KINDLING_CHECK(Runtime, sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
            for (int64_t j = 0; j < categories; ++j) cumulative[j] /= sum;
            cumulative[categories - 1] = 1;
            for (int64_t i = 0; i < samples; ++i) {
                double sample = generator.uniform_double();
                int64_t left = 0, right = categories;
                while (right - left > 0) {
                    int64_t middle = left + (right - left) / 2;
                    if (cumulative[middle] < sample) left = middle + 1;
                    else right = middle;
                }
                out[i] = left;
            }
        }
    });
}

} // namespace kindling::library
