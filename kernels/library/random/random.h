// kernels/library/random/random.h: random fills and samplers that give torch's CPU numbers for the same generator state.
//
// Fills write a strided tensor in the order in which torch writes it: smallest stride first, whatever the order of the
// dimensions. They hold the generator's lock while they draw. The caller checks the parameters (a positive deviation, a
// probability between 0 and 1, ...).
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling {
class Generator;

namespace library {

/// Where a fill writes. Strides count elements; no two indices may share an element.
struct RandomOut {
    void* data;
    DType dtype;
    int64_t count; // elements in all
    int ndim = -1; // -1: contiguous, sizes and strides unused
    const int64_t* sizes = nullptr;
    const int64_t* strides = nullptr;
};

// Floating dtypes only.
void fill_uniform(const RandomOut& out, double from, double to, Generator& generator);
void fill_normal(const RandomOut& out, double mean, double deviation, Generator& generator);
void fill_log_normal(const RandomOut& out, double mean, double deviation, Generator& generator);
void fill_cauchy(const RandomOut& out, double median, double sigma, Generator& generator);
void fill_exponential(const RandomOut& out, double lambda, Generator& generator);

// Any real dtype but the wide unsigned ones, bool included unless said.
void fill_bernoulli(const RandomOut& out, double probability, Generator& generator);
/// `probability` is float16, bfloat16, float32 or float64. It is read by `probability_strides` over out's sizes (null:
/// both contiguous).
void fill_bernoulli(const RandomOut& out, const void* probability, DType probability_dtype, const int64_t* probability_strides,
                    Generator& generator);
/// Not for bool.
void fill_geometric(const RandomOut& out, double probability, Generator& generator);
/// random_(): all non-negative values of an integer type; [0, 2^digits] for floating ones.
void fill_random(const RandomOut& out, Generator& generator);
/// random_(from, to) and randint: from <= x < from + range; a range of 0 stands for all 64 bits. Any real dtype.
void fill_random(const RandomOut& out, int64_t from, uint64_t range, Generator& generator);

/// A permutation of 0 .. n-1. Any real dtype that holds n - 1.
void fill_permutation(void* data, DType dtype, int64_t n, Generator& generator);

/// `samples` draws with replacement from each of `rows` contiguous rows of `categories` weights (floating dtypes).
/// Throws RuntimeError for weights that are negative, infinite or nan and for rows that sum to 0.
/// Draws without replacement, and single ones, are topk(weights / exponential).
void multinomial_with_replacement(int64_t* out, const void* weights, DType dtype, int64_t rows, int64_t categories, int64_t samples,
                                  Generator& generator);

// Samplers over contiguous arrays of one floating dtype.
void standard_gamma(void* out, const void* alpha, DType dtype, int64_t count, Generator& generator);
/// d(sample)/d(alpha) at a fixed quantile.
/// -(d cdf / d alpha) / pdf / (1 - x) of Beta(alpha, total - alpha) at x.
void dirichlet_gradient(void* out, const void* x, const void* alpha, const void* total, DType dtype, int64_t count);
void standard_gamma_gradient(void* out, const void* alpha, const void* sample, DType dtype, int64_t count);
void poisson(void* out, const void* rate, DType dtype, int64_t count, Generator& generator);
void binomial(void* out, const void* trials, const void* probability, DType dtype, int64_t count, Generator& generator);
/// Rows of `width` concentrations.
void dirichlet(void* out, const void* alpha, DType dtype, int64_t rows, int64_t width, Generator& generator);

} // namespace library
} // namespace kindling
