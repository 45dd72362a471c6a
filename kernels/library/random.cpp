#include "kernels/library/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/library/half.h"
#include "kernels/library/random_isa.h"
#include "runtime/random.h"

namespace kindling::library {
namespace {

constexpr int max_dims = 64;

// The order in which a strided tensor is written: dimensions of one element dropped, the smallest stride innermost,
// neighbours merged.
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
        if (walk.strides[d] == walk.strides[last] * walk.sizes[last] &&
            (!other || walk.other[d] == walk.other[last] * walk.sizes[last])) {
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
template <class Row>
void for_rows(const Walk& walk, Row row) {
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

// Draws W words for each element, many at a time, and stores make(words) in T.
template <class T, int W, class Make>
void fill_words(const RandomOut& out, Generator& generator, Make make) {
    if (out.count == 0) return;
    GeneratorLock guard(generator);
    T* data = static_cast<T*>(out.data);
    for_rows(walk_of(out, nullptr), [&](int64_t offset, int64_t, int64_t count, int64_t stride, int64_t) {
        constexpr int64_t chunk = 512;
        uint32_t words[chunk * W];
        for (int64_t begin = 0; begin < count; begin += chunk) {
            int64_t n = count - begin < chunk ? count - begin : chunk;
            generator.random(words, static_cast<size_t>(n * W));
            T* place = data + offset + begin * stride;
            if (stride == 1)
                for (int64_t i = 0; i < n; ++i)
                    place[i] = make(words + i * W);
            else
                for (int64_t i = 0; i < n; ++i)
                    place[i * stride] = make(words + i * W);
        }
    });
}

// Draws each element by itself.
template <class T, class Draw>
void fill_serial(const RandomOut& out, Generator& generator, Draw draw) {
    if (out.count == 0) return;
    GeneratorLock guard(generator);
    T* data = static_cast<T*>(out.data);
    for_rows(walk_of(out, nullptr), [&](int64_t offset, int64_t, int64_t count, int64_t stride, int64_t) {
        for (int64_t i = 0; i < count; ++i)
            data[offset + i * stride] = store_as<T>(draw());
    });
}

inline uint64_t wide(const uint32_t* words) { return static_cast<uint64_t>(words[0]) << 32 | words[1]; }
inline float to_uniform_float(uint32_t word) {
    return static_cast<float>(static_cast<int32_t>(word & 0xffffff)) * 0x1p-24f;
}
inline double to_uniform_double(const uint32_t* words) {
    return static_cast<double>(static_cast<int64_t>(wide(words) & ((1ull << 53) - 1))) * 0x1p-53;
}

[[noreturn, gnu::cold]] void refuse(const char* kernel, DType dtype) {
    fail(ErrorKind::NotImplemented, "\"%s\" not implemented for '%s'", kernel, scalar_type_name(dtype));
}

template <class F>
void for_floating(DType dtype, const char* kernel, F f) {
    switch (dtype) {
    case DType::Float32:
        return f(float{});
    case DType::Float64:
        return f(double{});
    case DType::Float16:
        return f(Half{});
    case DType::BFloat16:
        return f(BFloat16{});
    default:
        refuse(kernel, dtype);
    }
}

template <bool with_bool, bool with_wide_unsigned, class F>
void for_real(DType dtype, const char* kernel, F f) {
    switch (dtype) {
    case DType::UInt8:
        return f(uint8_t{});
    case DType::Int8:
        return f(int8_t{});
    case DType::Int16:
        return f(int16_t{});
    case DType::Int32:
        return f(int32_t{});
    case DType::Int64:
        return f(int64_t{});
    case DType::Bool:
        if constexpr (with_bool) return f(bool{});
        break;
    case DType::UInt16:
        if constexpr (with_wide_unsigned) return f(uint16_t{});
        break;
    case DType::UInt32:
        if constexpr (with_wide_unsigned) return f(uint32_t{});
        break;
    case DType::UInt64:
        if constexpr (with_wide_unsigned) return f(uint64_t{});
        break;
    default:
        return for_floating(dtype, kernel, f);
    }
    refuse(kernel, dtype);
}

const RandomSteps& random_steps() {
    switch (isa()) {
    case Isa::Avx512:
        return isa_avx512::random_steps;
    case Isa::Avx2:
        return isa_avx2::random_steps;
    default:
        return isa_baseline::random_steps;
    }
}

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

// The contiguous form for 16 elements or more: blocks of 16, and the last 16 drawn anew if the size is no multiple.
template <class T>
void fill_normal_blocks(T* data, int64_t count, double mean, double deviation, Generator& generator) {
    constexpr int64_t chunk = 512;
    GeneratorLock guard(generator);
    if constexpr (std::is_same_v<T, double>) {
        uint32_t words[chunk * 2];
        auto draw = [&](double* to, int64_t n) {
            generator.random(words, static_cast<size_t>(n) * 2);
            for (int64_t i = 0; i < n; ++i)
                to[i] = to_uniform_double(words + 2 * i);
        };
        for (int64_t begin = 0; begin < count; begin += chunk)
            draw(data + begin, std::min(chunk, count - begin));
        for (int64_t i = 0; i + 16 <= count; i += 16)
            normal_block_double(data + i, mean, deviation);
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
            for (int64_t i = 0; i < n; ++i)
                to[i] = to_uniform_float(words[i]);
        };
        auto put = [&](T* to, int64_t n) {
            draw(buffer, n);
            transform(buffer, n / 16, m, s);
            for (int64_t i = 0; i < n; ++i)
                to[i] = store_as<T>(buffer[i]);
        };
        int64_t whole = count & ~int64_t{15};
        for (int64_t begin = 0; begin < whole; begin += chunk)
            put(data + begin, std::min(chunk, whole - begin));
        if (count % 16) {
            // Float draws the tail's uniform numbers with the rest and drops them; the half types never draw them.
            if constexpr (std::is_same_v<T, float>) draw(buffer, count - whole);
            put(data + count - 16, 16);
        }
    }
}

} // namespace

void fill_uniform(const RandomOut& out, double from, double to, Generator& generator) {
    if (out.count == 0) return;
    for_floating(out.dtype, "uniform_kernel_cpu", [&](auto type) {
        using T = decltype(type);
        using M = math_type<T>;
        constexpr int words_each = std::is_same_v<T, double> ? 2 : 1;
        M low = static_cast<M>(from), range = static_cast<M>(to) - low;
        T first = store_as<T>(from);
        M end = load(store_as<T>(to));
        T* data = static_cast<T*>(out.data);
        GeneratorLock guard(generator);
        for_rows(walk_of(out, nullptr), [&](int64_t offset, int64_t, int64_t count, int64_t stride, int64_t) {
            constexpr int64_t chunk = 512;
            uint32_t words[chunk * words_each];
            M values[chunk];
            for (int64_t begin = 0; begin < count; begin += chunk) {
                int64_t n = std::min(chunk, count - begin);
                generator.random(words, static_cast<size_t>(n * words_each));
                for (int64_t i = 0; i < n; ++i) {
                    if constexpr (words_each == 2)
                        values[i] = to_uniform_double(words + 2 * i);
                    else
                        values[i] = to_uniform_float(words[i]);
                }
                if (low != 0 || range != 1) {
                    if constexpr (words_each == 2)
                        random_steps().affine_double(values, n, range, low);
                    else
                        random_steps().affine_float(values, n, range, low);
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
    for_floating(out.dtype, "normal_kernel_cpu", [&](auto type) {
        using T = decltype(type);
        if (out.count >= 16 && is_contiguous(out))
            return fill_normal_blocks(static_cast<T*>(out.data), out.count, mean, deviation, generator);
        fill_serial<T>(out, generator, [&] { return std::fma(generator.normal_double(), deviation, mean); });
    });
}

void fill_log_normal(const RandomOut& out, double mean, double deviation, Generator& generator) {
    for_floating(out.dtype, "log_normal_cpu", [&](auto type) {
        fill_serial<decltype(type)>(out, generator,
                                    [&] { return std::exp(std::fma(generator.normal_double(), deviation, mean)); });
    });
}

void fill_cauchy(const RandomOut& out, double median, double sigma, Generator& generator) {
    for_floating(out.dtype, "cauchy_cpu", [&](auto type) {
        fill_serial<decltype(type)>(out, generator, [&] {
            return std::fma(sigma, std::tan(3.14159265358979323846 * (generator.uniform_double() - 0.5)), median);
        });
    });
}

void fill_exponential(const RandomOut& out, double lambda, Generator& generator) {
    for_floating(out.dtype, "exponential_cpu", [&](auto type) {
        using T = decltype(type);
        double scale = -1.0 / lambda;
        fill_words<T, 2>(out, generator,
                         [=](const uint32_t* w) { return store_as<T>(scale * std::log1p(-to_uniform_double(w))); });
    });
}

void fill_bernoulli(const RandomOut& out, double probability, Generator& generator) {
    for_real<true, false>(out.dtype, "bernoulli_scalar_cpu_", [&](auto type) {
        using T = decltype(type);
        // k / 2^53 < p in whole numbers, and no branch that half the draws mispredict.
        const T values[2] = {store_as<T>(0), store_as<T>(1)};
        auto limit = static_cast<uint64_t>(std::ceil(probability * 0x1p53));
        fill_words<T, 2>(out, generator,
                         [=](const uint32_t* w) { return values[(wide(w) & ((1ull << 53) - 1)) < limit]; });
    });
}

void fill_bernoulli(const RandomOut& out, const void* probability, DType probability_dtype,
                    const int64_t* probability_strides, Generator& generator) {
    if (out.count == 0) return;
    for_real<true, false>(out.dtype, "bernoulli_tensor_cpu_self_", [&](auto type) {
        using T = decltype(type);
        for_floating(probability_dtype, "bernoulli_tensor_cpu_p_", [&](auto probability_type) {
            using P = decltype(probability_type);
            Walk walk = walk_of(out, probability_strides);
            const P* p = static_cast<const P*>(probability);
            T* data = static_cast<T*>(out.data);
            const T values[2] = {store_as<T>(0), store_as<T>(1)};
            GeneratorLock guard(generator);
            for_rows(walk, [&](int64_t offset, int64_t other, int64_t count, int64_t stride, int64_t other_stride) {
                constexpr int64_t chunk = 512;
                constexpr int words_each = std::is_same_v<P, double> ? 2 : 1;
                uint32_t words[chunk * words_each];
                for (int64_t begin = 0; begin < count; begin += chunk) {
                    int64_t n = std::min(chunk, count - begin);
                    const P* chances = p + other + begin * other_stride;
                    T* place = data + offset + begin * stride;
                    bool good = true;
                    for (int64_t i = 0; i < n; ++i) {
                        auto chance = load(chances[i * other_stride]);
                        good &= chance >= 0 && chance <= 1;
                    }
                    KINDLING_CHECK(Runtime, good, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
                    generator.random(words, static_cast<size_t>(n * words_each));
                    for (int64_t i = 0; i < n; ++i) {
                        auto chance = load(chances[i * other_stride]);
                        if constexpr (words_each == 2)
                            place[i * stride] = values[to_uniform_double(words + 2 * i) < chance];
                        else
                            place[i * stride] = values[to_uniform_float(words[i]) < chance];
                    }
                }
            });
        });
    });
}

void fill_geometric(const RandomOut& out, double probability, Generator& generator) {
    for_real<false, false>(out.dtype, "geometric_cpu", [&](auto type) {
        double scale = std::log1p(-probability);
        fill_serial<decltype(type)>(out, generator,
                                    [&] { return std::ceil(std::log(generator.uniform_double()) / scale); });
    });
}

void fill_random(const RandomOut& out, Generator& generator) {
    for_real<true, false>(out.dtype, "random_kernel_cpu", [&](auto type) {
        using T = decltype(type);
        if constexpr (std::is_same_v<T, double>)
            fill_words<T, 2>(out, generator,
                             [](const uint32_t* w) { return static_cast<double>(wide(w) % ((1ull << 53) + 1)); });
        else if constexpr (std::is_same_v<T, int64_t>)
            fill_words<T, 2>(out, generator,
                             [](const uint32_t* w) { return static_cast<int64_t>(wide(w) & INT64_MAX); });
        else if constexpr (std::is_same_v<T, bool>)
            fill_words<T, 1>(out, generator, [](const uint32_t* w) { return (w[0] & 1) != 0; });
        else if constexpr (std::is_integral_v<T>)
            fill_words<T, 1>(out, generator, [](const uint32_t* w) {
                return static_cast<T>(w[0] & static_cast<uint32_t>(std::numeric_limits<T>::max()));
            });
        else {
            constexpr uint32_t values = (std::is_same_v<T, float>  ? 1u << 24
                                         : std::is_same_v<T, Half> ? 1u << 11
                                                                   : 1u << 8) +
                                        1;
            fill_words<T, 1>(out, generator, [](const uint32_t* w) { return store_as<T>(w[0] % values); });
        }
    });
}

void fill_random(const RandomOut& out, int64_t from, uint64_t range, Generator& generator) {
    for_real<true, true>(out.dtype, "random_from_to_kernel_cpu", [&](auto type) {
        using T = decltype(type);
        if (range == 0)
            fill_words<T, 2>(out, generator,
                             [](const uint32_t* w) { return store_as<T>(static_cast<int64_t>(wide(w))); });
        else if (range >= 1ull << 28)
            fill_words<T, 2>(out, generator, [=](const uint32_t* w) {
                return store_as<T>(static_cast<int64_t>(wide(w) % range + static_cast<uint64_t>(from)));
            });
        else
            fill_words<T, 1>(out, generator, [=, range32 = static_cast<uint32_t>(range)](const uint32_t* w) {
                return store_as<T>(static_cast<int64_t>(w[0] % range32 + static_cast<uint64_t>(from)));
            });
    });
}

void fill_permutation(void* data, DType dtype, int64_t n, Generator& generator) {
    for_real<false, true>(dtype, "randperm", [&](auto type) {
        using T = decltype(type);
        T* out = static_cast<T*>(data);
        GeneratorLock guard(generator);
        if (n < std::numeric_limits<uint32_t>::max() / 20) {
            for (int64_t i = 0; i < n; ++i)
                out[i] = store_as<T>(i);
            for (int64_t i = 0; i + 1 < n; ++i) {
                int64_t other = i + static_cast<int64_t>(generator.random() % static_cast<uint32_t>(n - i));
                std::swap(out[i], out[other]);
            }
        } else {
            for (int64_t i = 0; i < n; ++i) {
                auto other = static_cast<int64_t>(generator.random64() % static_cast<uint64_t>(i + 1));
                out[i] = out[other];
                out[other] = store_as<T>(i);
            }
        }
    });
}

void multinomial_with_replacement(int64_t* out, const void* weights, DType dtype, int64_t rows, int64_t categories,
                                  int64_t samples, Generator& generator) {
    for_floating(dtype, "multinomial", [&](auto type) {
        using T = decltype(type);
        using M = math_type<T>;
        const T* row = static_cast<const T*>(weights);
        M* cumulative = new M[static_cast<size_t>(categories)];
        struct Free {
            M* memory;
            ~Free() { delete[] memory; }
        } free{cumulative};
        GeneratorLock guard(generator);
        for (int64_t r = 0; r < rows; ++r, row += categories, out += samples) {
            M sum = 0;
            for (int64_t j = 0; j < categories; ++j) {
                M value = load(row[j]);
                KINDLING_CHECK(Runtime, value >= 0,
                               "invalid multinomial distribution (encountering probability entry < 0)");
                KINDLING_CHECK(Runtime, std::isfinite(value),
                               "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
                sum += value;
                cumulative[j] = sum;
            }
            KINDLING_CHECK(Runtime, sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
            for (int64_t j = 0; j < categories; ++j)
                cumulative[j] /= sum;
            cumulative[categories - 1] = 1;
            for (int64_t i = 0; i < samples; ++i) {
                double sample = generator.uniform_double();
                int64_t left = 0, right = categories;
                while (right - left > 0) {
                    int64_t middle = left + (right - left) / 2;
                    if (cumulative[middle] < sample)
                        left = middle + 1;
                    else
                        right = middle;
                }
                out[i] = left;
            }
        }
    });
}

} // namespace kindling::library
