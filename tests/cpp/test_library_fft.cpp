// Fourier transforms of many lengths against the defining sum.
#include <cmath>
#include <complex>
#include <string>

#include "check.h"
#include "core/error.h"
#include "draw.h"
#include "kernels/library/fft/fft.h"

using namespace kindling;
using namespace kindling::library;

template <class R> static void lengths() {
    using C = std::complex<R>;
    const double tolerance = std::is_same_v<R, double> ? 1e-13 : 2e-6;
    // Few rows are matrices, many are lanes of blocks, 19 are some of either. Rows of 97, 179, 257 and 1009 go through Bluestein's
    // convolution, as does one row of 37 or 61; as lanes 97 and 257 go through Rader's, and 179 cannot. 16 and 48 have the last
    // stages of rows; 2310 has every odd radix up to 11, 61 is the largest one.
    for (int64_t n : {1,  2,   3,   4,   5,   6,   7,   8,   12,  16,  30,  31,  37,   48,   61,   64,  74,
                      97, 100, 128, 179, 210, 256, 257, 360, 512, 520, 578, 961, 1000, 1009, 1024, 2310})
        for (auto [outer, inner] : {std::pair<int64_t, int64_t>{1, 1}, {3, 1}, {2, 5}, {19, 1}, {1, 37}})
            for (bool forward : {true, false}) {
                if (n > 520 && outer * inner > 10) continue;
                std::vector<std::complex<double>> roots(static_cast<size_t>(n));
                for (int64_t j = 0; j < n; ++j) {
                    double angle = (forward ? -2 : 2) * M_PI * static_cast<double>(j) / static_cast<double>(n);
                    roots[static_cast<size_t>(j)] = {std::cos(angle), std::sin(angle)};
                }
                Fourier f{dtype_of<R>, outer, n, inner, forward, 0.5};
                int64_t half = n / 2 + 1;
                std::vector<C> x(static_cast<size_t>(outer * n * inner)), out(x.size()), part(static_cast<size_t>(outer * half * inner));
                std::vector<R> real(x.size()), back(x.size());
                for (C& v : x) v = C(static_cast<R>(draw::real()), static_cast<R>(draw::real()));
                for (R& v : real) v = static_cast<R>(draw::real());
                fft_complex(f, x.data(), out.data());
                fft_from_real(f, real.data(), part.data());
                Fourier reverse = f;
                reverse.forward = !forward;
                reverse.scale = 2.0 / static_cast<double>(n);
                fft_to_real(reverse, part.data(), back.data());
                double worst = 0, worst_real = 0, worst_back = 0;
                for (int64_t o = 0; o < outer; ++o)
                    for (int64_t i = 0; i < inner; ++i)
                        for (int64_t k = 0; k < n; ++k) {
                            std::complex<double> sum = 0, real_sum = 0;
                            for (int64_t j = 0; j < n; ++j) {
                                std::complex<double> w = roots[static_cast<size_t>(j * k % n)];
                                auto place = static_cast<size_t>((o * n + j) * inner + i);
                                sum += w * std::complex<double>(x[place]);
                                real_sum += w * static_cast<double>(real[place]);
                            }
                            auto place = static_cast<size_t>((o * n + k) * inner + i);
                            worst = std::max(worst, std::abs(std::complex<double>(out[place]) - 0.5 * sum));
                            worst_back =
                                std::max(worst_back, std::abs(static_cast<double>(back[place]) - static_cast<double>(real[place])));
                            if (k < half)
                                worst_real = std::max(
                                    worst_real,
                                    std::abs(std::complex<double>(part[static_cast<size_t>((o * half + k) * inner + i)]) - 0.5 * real_sum));
                        }
                double scale = std::sqrt(static_cast<double>(n));
                CHECK(worst < tolerance * scale);
                CHECK(worst_real < tolerance * scale);
                CHECK(worst_back < tolerance * scale);
                std::vector<C> same = x;
                fft_complex(f, same.data(), same.data());
                CHECK(same == out);
            }
}

int main() {
    lengths<double>();
    lengths<float>();
    Fourier bad{DType::Int32, 1, 1, 1, true, 1};
    int64_t memory[2] = {};
    CHECK_THROWS(fft_complex(bad, memory, memory), "Unsupported dtype");
    return finish("fft");
}
