// kernels/library/random/random_samplers.cpp: samplers with rejection: gamma after Marsaglia and Tsang (2000), Poisson and
// binomial after Hoermann (1993). Draws and comparisons have torch's order and precision, so that the same numbers are
// accepted.
// Compiled for size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "kernels/library/half.h"
#include "kernels/library/random/random.h"
#include "kernels/library/scratch.h"
#include "runtime/random.h"

namespace kindling::library {
namespace {

[[noreturn, gnu::cold]] void refuse(const char* kernel, DType dtype) {
    fail(ErrorKind::NotImplemented, "\"%s\" not implemented for '%s'", kernel, scalar_type_name(dtype));
}

// Constants are float on purpose: the parameter's own precision decides the acceptance.
template <class T> double gamma_sample(T alpha, Generator& generator) {
    double scale = 1;
    if (alpha < T(1.0f)) {
        if (alpha == T(0.0f)) return 0;
        scale = std::pow(1 - generator.uniform_double(), static_cast<double>(1.0f / alpha));
        alpha += 1.0f;
    }
    const double d = alpha - 1.0f / 3.0f;
    const double c = 1.0f / std::sqrt(9.0f * d);
    for (;;) {
        double x, y;
        do {
            x = generator.normal_double();
            y = 1.0f + c * x;
        } while (y <= 0);
        const double v = y * y * y, u = 1 - generator.uniform_double(), xx = x * x;
        if (u < 1.0f - 0.0331f * xx * xx || std::log(u) < 0.5f * xx + d * (1.0f - v + std::log(v))) return scale * d * v;
    }
}

double digamma(double x) {
    if (x == 0) return std::numeric_limits<double>::infinity();
    double added = 0;
    if (x < 0) {
        if (x == std::floor(x)) return std::numeric_limits<double>::infinity();
        constexpr double pi = 3.14159265358979323846;
        added = -pi / std::tan(pi * x);
        x = 1 - x;
    }
    double result = 0;
    while (x < 10) {
        result -= 1 / x;
        x += 1;
    }
    double tail = 0;
    if (x < 1e17) {
        // The asymptotic series: Bernoulli numbers over 2 k.
        double z = 1 / (x * x);
        tail = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
    }
    return result + std::log(x) - 0.5 / x - tail + added;
}

// S = sum over n of t_n, t_n = t_(n-1) * x (sum + n - 1) / (a + n), which is the distribution function but for a factor, and
// its derivative: S * slope + sum over n of t_n * (H_n - below * G_n), H_n and G_n the sums of 1 / (sum + k - 1), 1 / (a + k).
double series_slope(double x, double a, double sum, double slope, bool below) {
    double term = 1, inner = 0, total = slope;
    for (double n = 1; n < 1e7; n += 1) {
        term *= x * (sum + n - 1) / (a + n);
        inner += 1 / (sum + n - 1) - (below ? 1 / (a + n) : 0);
        double part = term * (slope + inner);
        total += part;
        if (std::fabs(part) <= 1e-17 * std::fabs(total) && x * (sum + n) < a + n + 1) break;
    }
    return total;
}

// -(d cdf / d a) / pdf / (1 - x) of Beta(a, b) at x, what implicit reparameterisation multiplies by (Figurnov et al., 2018;
// Jankowiak and Obermeyer, 2018). The distribution function is x^a (1 - x)^b / (a B(a, b)) times the hypergeometric series
// F(a + b, 1; a + 1; x), differentiated term by term; above the mean it is read from the other end. All terms then have one
// sign, so nothing cancels.
double beta_gradient(double x, double a, double b) {
    double sum = a + b, result;
    if (!(x > 0 && a > 0 && b > 0)) return x == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
    if (x * sum <= a) result = -x / a * series_slope(x, a, sum, std::log(x) + digamma(sum) - digamma(a) - 1 / a, true);
    else result = x / b * series_slope(1 - x, b, sum, std::log(x) + digamma(sum) - digamma(a), false);
    return result;
}

// -(d cdf / d alpha) / pdf, by a Taylor series for small x, Rice's saddle point for large alpha, and a rational fit
// between them.
double gamma_gradient(double alpha, double x) {
    if (x < 0.8) {
        double numerator = 1, denominator = alpha;
        double first = numerator / denominator, second = numerator / (denominator * denominator);
        for (int i = 1; i <= 5; ++i) {
            numerator *= -x / i;
            denominator += 1;
            first += numerator / denominator;
            second += numerator / (denominator * denominator);
        }
        double power = std::pow(x, alpha), density = std::pow(x, alpha - 1) * std::exp(-x);
        double slope = (std::log(x) - digamma(alpha)) * power * first - power * second;
        double result = -slope / density;
        return result != result ? 0 : result;
    }
    if (alpha > 8) {
        if (0.9f * alpha <= x && x <= 1.1f * alpha) {
            double top = 1 + 24 * alpha * (1 + 12 * alpha);
            double rest = 1440 * (alpha * alpha) + 6 * x * (53 - 120 * x) - 65 * x * x / alpha + alpha * (107 + 3600 * x);
            return top * rest / (1244160 * (alpha * alpha) * (alpha * alpha));
        }
        double root = std::sqrt(8 * alpha), near = root / (alpha - x);
        double far = std::pow(x - alpha - alpha * std::log(x / alpha), -1.5);
        double both = x < alpha ? near - far : near + far;
        double term = std::log(x / alpha) * both - std::sqrt(2 / alpha) * (alpha + x) / ((alpha - x) * (alpha - x));
        double stirling = 1 + 1 / (12 * alpha) * (1 + 1 / (24 * alpha));
        return -stirling * x * term / root;
    }
    double u = std::log(x / alpha), v = std::log(alpha);
    static constexpr double fit[3][8] = {
        {0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084},
        {0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915, -0.00058392623},
        {0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07},
    };
    double c[8];
    for (int i = 0; i < 8; ++i) c[i] = fit[0][i] + u * (fit[1][i] + u * fit[2][i]);
    double p = c[0] + v * (c[1] + v * (c[2] + v * c[3])), q = c[4] + v * (c[5] + v * (c[6] + v * c[7]));
    return std::exp(p / q);
}

double poisson_sample(double rate, Generator& generator) {
    KINDLING_CHECK(Runtime, rate >= 0, "invalid Poisson rate, expected rate to be non-negative");
    if (rate >= 10) {
        const double root = std::sqrt(rate), log_rate = std::log(rate);
        const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
        const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), limit = 0.9277 - 3.6224 / (b - 2);
        for (;;) {
            double u = generator.uniform_double() - 0.5, v = generator.uniform_double(), us = 0.5 - std::fabs(u);
            double k = std::floor((2 * a / us + b) * u + rate + 0.43);
            if (us >= 0.07 && v <= limit) return k;
            if (k < 0 || (us < 0.013 && v > us)) continue;
            if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <= -rate + k * log_rate - std::lgamma(k + 1)) return k;
        }
    }
    if (rate == 0) return 0;
    const double enough = std::exp(-rate);
    double product = 1;
    for (int64_t count = 0;; ++count) {
        product *= generator.uniform_double();
        if (product <= enough) return static_cast<double>(count);
    }
}

double stirling_tail(double k) {
    static constexpr double tail[] = {0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
                                      0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287};
    if (k <= 9) return tail[static_cast<int>(k)];
    double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

template <class T> T binomial_few(T trials, T probability, Generator& generator) {
    double sum = 0, log_miss = std::log1p(-probability);
    for (T hits = 0;; hits = hits + 1) {
        sum += std::ceil(std::log(generator.uniform_double()) / log_miss);
        if (sum > trials) return hits;
    }
}

template <class T> T binomial_many(T trials, T probability, Generator& generator) {
    const double deviation = std::sqrt(trials * probability * (1 - probability));
    const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * probability;
    const double c = trials * probability + 0.5, limit = 0.92 - 4.2 / b, odds = probability / (1 - probability);
    const double alpha = (2.83 + 5.1 / b) * deviation, middle = std::floor((trials + 1) * probability);
    for (;;) {
        double u = generator.uniform_double() - 0.5, v = generator.uniform_double(), us = 0.5 - std::fabs(u);
        T k = static_cast<T>(std::floor((2 * a / us + b) * u + c));
        if (k < 0 || k > trials) continue;
        if (us >= 0.07 && v <= limit) return k;
        v = std::log(v * alpha / (a / (us * us) + b));
        double bound = (middle + 0.5) * std::log((middle + 1) / (odds * (trials - middle + 1))) +
                       (trials + 1) * std::log((trials - middle + 1) / (trials - k + 1)) +
                       (k + 0.5) * std::log(odds * (trials - k + 1) / (k + 1)) + stirling_tail(middle) + stirling_tail(trials - middle) -
                       stirling_tail(k) - stirling_tail(trials - k);
        if (v <= bound) return k;
    }
}

template <class T> T binomial_sample(T trials, T probability, Generator& generator) {
    if (trials <= 0 || probability <= 0) return 0;
    if (probability >= 1) return trials;
    // With NaN trials no number of hits exceeds them: the sum in binomial_few would never end.
    if (probability != probability || trials != trials) return std::numeric_limits<T>::quiet_NaN();
    bool turned = probability > T(0.5);
    if (turned) probability = static_cast<T>(1.0 - probability);
    T hits = trials * probability >= 10 ? binomial_many(trials, probability, generator) : binomial_few(trials, probability, generator);
    return turned ? trials - hits : hits;
}

template <class F> void for_float_and_double(DType dtype, const char* kernel, F f) {
    if (dtype == DType::Float32) return f(float{});
    if (dtype == DType::Float64) return f(double{});
    refuse(kernel, dtype);
}

} // namespace

void standard_gamma(void* out, const void* alpha, DType dtype, int64_t count, Generator& generator) {
    for_float_and_double(dtype, "gamma_cpu", [&](auto type) {
        using T = decltype(type);
        GeneratorLock guard(generator);
        for (int64_t i = 0; i < count; ++i) {
            T value = static_cast<T>(gamma_sample(static_cast<const T*>(alpha)[i], generator));
            static_cast<T*>(out)[i] = std::max(std::numeric_limits<T>::min(), value);
        }
    });
}

void dirichlet_gradient(void* out, const void* x, const void* alpha, const void* total, DType dtype, int64_t count) {
    for_float_and_double(dtype, "_dirichlet_grad_cpu", [&](auto type) {
        using T = decltype(type);
        for (int64_t i = 0; i < count; ++i) {
            double a = static_cast<const T*>(alpha)[i], sum = static_cast<const T*>(total)[i];
            static_cast<T*>(out)[i] = static_cast<T>(beta_gradient(static_cast<const T*>(x)[i], a, sum - a));
        }
    });
}

void standard_gamma_gradient(void* out, const void* alpha, const void* sample, DType dtype, int64_t count) {
    for_float_and_double(dtype, "_standard_gamma_grad_cpu", [&](auto type) {
        using T = decltype(type);
        for (int64_t i = 0; i < count; ++i)
            static_cast<T*>(out)[i] = static_cast<T>(gamma_gradient(static_cast<const T*>(alpha)[i], static_cast<const T*>(sample)[i]));
    });
}

void poisson(void* out, const void* rate, DType dtype, int64_t count, Generator& generator) {
    auto run = [&](auto type) {
        using T = decltype(type);
        GeneratorLock guard(generator);
        for (int64_t i = 0; i < count; ++i)
            static_cast<T*>(out)[i] = store_as<T>(poisson_sample(static_cast<double>(load(static_cast<const T*>(rate)[i])), generator));
    };
    switch (dtype) {
    case DType::Float32: return run(float{});
    case DType::Float64: return run(double{});
    case DType::Float16: return run(Half{});
    case DType::BFloat16: return run(BFloat16{});
    default: refuse("poisson_cpu", dtype);
    }
}

void binomial(void* out, const void* trials, const void* probability, DType dtype, int64_t count, Generator& generator) {
    for_float_and_double(dtype, "binomial_cpu", [&](auto type) {
        using T = decltype(type);
        GeneratorLock guard(generator);
        for (int64_t i = 0; i < count; ++i)
            static_cast<T*>(out)[i] = binomial_sample(static_cast<const T*>(trials)[i], static_cast<const T*>(probability)[i], generator);
    });
}

void dirichlet(void* out, const void* alpha, DType dtype, int64_t rows, int64_t width, Generator& generator) {
    for_float_and_double(dtype, "dirichlet", [&](auto type) {
        using T = decltype(type);
        GeneratorLock guard(generator);
        Scratch<double> gamma(rows * width);
        for (int64_t i = 0; i < rows * width; ++i)
            gamma[i] = std::max(std::numeric_limits<double>::min(), // also for float32: a small alpha gives less than it holds
                                gamma_sample<double>(static_cast<const T*>(alpha)[i], generator));
        for (int64_t row = 0; row < rows; ++row) {
            double sum = 0;
            for (int64_t j = 0; j < width; ++j) sum += gamma[row * width + j];
            for (int64_t j = 0; j < width; ++j) {
                T share = static_cast<T>(gamma[row * width + j] / sum);
                T most = std::nextafter(T{1}, T{0});
                static_cast<T*>(out)[row * width + j] = std::min(std::max(std::numeric_limits<T>::min(), share), most);
            }
        }
    });
}

} // namespace kindling::library
