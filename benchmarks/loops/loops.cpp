// benchmarks/loops/loops.cpp: the loops of programs.py in C++, on contiguous memory: loops NAME SIZE prints the least seconds of several
// runs. Built with -O2 by benchmarks/script_loops.py. T: float or double.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#ifndef T
#define T double
#endif
using Real = std::vector<T>;
using Whole = std::vector<int64_t>;

static std::mt19937_64 generator(7);
static Real rand_of(size_t n, double shift = 0) {
    Real v(n);
    for (T& x : v) x = static_cast<T>(std::uniform_real_distribution<double>()(generator) + shift);
    return v;
}
static Whole whole_of(size_t n, int64_t high) {
    Whole v(n);
    for (int64_t& x : v) x = static_cast<int64_t>(generator() % static_cast<uint64_t>(high));
    return v;
}
static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

template <class F> static void report(F run, int times) {
    double least = 1e30;
    for (int i = 0; i < times; i++) {
        const auto begin = std::chrono::steady_clock::now();
        run();
        least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::printf("%.9f\n", least);
}

static volatile double sink;

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const char* name = argv[1];
    const int64_t n = std::atoll(argv[2]);
    const size_t N = static_cast<size_t>(n);
    const int times = 5;
    if (!std::strcmp(name, "edit_distance")) {
        const int64_t m = n + 3, w = m + 1;
        const Whole a = whole_of(N, 4), b = whole_of(N + 3, 4);
        Whole table((N + 1) * (N + 4));
        report(
            [&] {
                for (int64_t i = 0; i <= n; i++) table[i * w] = i;
                for (int64_t j = 0; j <= m; j++) table[j] = j;
                for (int64_t i = 1; i <= n; i++)
                    for (int64_t j = 1; j <= m; j++) {
                        int64_t best = table[(i - 1) * w + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
                        const int64_t up = table[(i - 1) * w + j] + 1, left = table[i * w + j - 1] + 1;
                        if (up < best) best = up;
                        if (left < best) best = left;
                        table[i * w + j] = best;
                    }
                sink = static_cast<double>(table[n * w + m]);
            },
            times);
    } else if (!std::strcmp(name, "mandelbrot")) {
        Whole out(N * N);
        report(
            [&] {
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j < n; j++) {
                        const double cr = -2.0 + 3.0 * static_cast<double>(j) / static_cast<double>(n),
                                     ci = -1.5 + 3.0 * static_cast<double>(i) / static_cast<double>(n);
                        double zr = 0, zi = 0;
                        int64_t k = 0;
                        while (k < 100 && zr * zr + zi * zi < 4.0) {
                            const double t = zr * zr - zi * zi + cr;
                            zi = 2.0 * zr * zi + ci;
                            zr = t;
                            k++;
                        }
                        out[i * n + j] = k;
                    }
                sink = static_cast<double>(out[0]);
            },
            times);
    } else if (!std::strcmp(name, "floyd_warshall")) {
        Real d = rand_of(N * N);
        report(
            [&] {
                for (int64_t k = 0; k < n; k++)
                    for (int64_t i = 0; i < n; i++)
                        for (int64_t j = 0; j < n; j++) {
                            const double through = static_cast<double>(d[i * n + k]) + static_cast<double>(d[k * n + j]);
                            if (through < static_cast<double>(d[i * n + j])) d[i * n + j] = static_cast<T>(through);
                        }
                sink = d[1];
            },
            times);
    } else if (!std::strcmp(name, "lstm")) {
        const int64_t inputs = 16, hidden = 32;
        const Real x = rand_of(N * 16), w = rand_of(128 * 16, -0.5), u = rand_of(128 * 32, -0.5), b = rand_of(128);
        Real h(32), c(32), gates(128);
        report(
            [&] {
                for (int64_t t = 0; t < n; t++) {
                    for (int64_t g = 0; g < 4 * hidden; g++) {
                        double s = b[g];
                        for (int64_t k = 0; k < inputs; k++)
                            s += static_cast<double>(w[g * inputs + k]) * static_cast<double>(x[t * inputs + k]);
                        for (int64_t k = 0; k < hidden; k++) s += static_cast<double>(u[g * hidden + k]) * static_cast<double>(h[k]);
                        gates[g] = static_cast<T>(s);
                    }
                    for (int64_t k = 0; k < hidden; k++) {
                        const double i = sigmoid(gates[k]), f = sigmoid(gates[hidden + k]), o = sigmoid(gates[3 * hidden + k]);
                        const double fresh = f * c[k] + i * std::tanh(static_cast<double>(gates[2 * hidden + k]));
                        c[k] = static_cast<T>(fresh);
                        h[k] = static_cast<T>(o * std::tanh(fresh));
                    }
                }
                sink = h[0];
            },
            times);
    } else if (!std::strcmp(name, "beam_search")) {
        const int64_t s = 16, width = 4;
        const Real scores = rand_of(N * 256);
        Real best((N + 1) * 4);
        Whole states((N + 1) * 4), back((N + 1) * 4);
        report(
            [&] {
                for (int64_t j = 0; j < width; j++) best[j] = j == 0 ? 0 : static_cast<T>(-1e30), states[j] = 0;
                for (int64_t t = 0; t < n; t++) {
                    for (int64_t j = 0; j < width; j++)
                        best[(t + 1) * 4 + j] = static_cast<T>(-1e30), states[(t + 1) * 4 + j] = back[(t + 1) * 4 + j] = 0;
                    for (int64_t j = 0; j < width; j++) {
                        const double base = best[t * 4 + j];
                        const int64_t state = states[t * 4 + j];
                        for (int64_t to = 0; to < s; to++) {
                            const double value = base + static_cast<double>(scores[(t * s + state) * s + to]);
                            if (value > static_cast<double>(best[(t + 1) * 4 + width - 1])) {
                                int64_t place = width - 1;
                                while (place > 0 && value > static_cast<double>(best[(t + 1) * 4 + place - 1])) {
                                    best[(t + 1) * 4 + place] = best[(t + 1) * 4 + place - 1];
                                    states[(t + 1) * 4 + place] = states[(t + 1) * 4 + place - 1];
                                    back[(t + 1) * 4 + place] = back[(t + 1) * 4 + place - 1];
                                    place--;
                                }
                                best[(t + 1) * 4 + place] = static_cast<T>(value);
                                states[(t + 1) * 4 + place] = to;
                                back[(t + 1) * 4 + place] = j;
                            }
                        }
                    }
                }
                sink = best[4];
            },
            times);
    } else if (!std::strcmp(name, "life")) {
        Whole a = whole_of(N * N, 2), b(N * N);
        report(
            [&] {
                for (int64_t r = 0; r < 4; r++)
                    for (int64_t i = 0; i < n; i++) {
                        const int64_t up = (i + n - 1) % n, down = (i + 1) % n;
                        for (int64_t j = 0; j < n; j++) {
                            const int64_t left = (j + n - 1) % n, right = (j + 1) % n;
                            const Whole& from = r % 2 == 0 ? a : b;
                            Whole& to = r % 2 == 0 ? b : a;
                            const int64_t alive = from[up * n + left] + from[up * n + j] + from[up * n + right] + from[i * n + left] +
                                                  from[i * n + right] + from[down * n + left] + from[down * n + j] + from[down * n + right];
                            to[i * n + j] = alive == 3 || (alive == 2 && from[i * n + j] == 1);
                        }
                    }
                sink = static_cast<double>(a[0]);
            },
            times);
    } else if (!std::strcmp(name, "kmeans_assign")) {
        const int64_t k = 10, d = 8;
        const Real points = rand_of(N * 8), centres = rand_of(80);
        Whole labels(N);
        report(
            [&] {
                double total = 0;
                for (int64_t i = 0; i < n; i++) {
                    double best = 1e30;
                    int64_t label = 0;
                    for (int64_t c = 0; c < k; c++) {
                        double s = 0;
                        for (int64_t j = 0; j < d; j++) {
                            const double t = static_cast<double>(points[i * d + j]) - static_cast<double>(centres[c * d + j]);
                            s += t * t;
                        }
                        if (s < best) best = s, label = c;
                    }
                    labels[i] = label;
                    total += best;
                }
                sink = total;
            },
            times);
    } else if (!std::strcmp(name, "matmul")) {
        const Real a = rand_of(N * N), b = rand_of(N * N);
        Real c(N * N);
        report(
            [&] {
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j < n; j++) {
                        double s = 0;
                        for (int64_t k = 0; k < n; k++) s += static_cast<double>(a[i * n + k]) * static_cast<double>(b[k * n + j]);
                        c[i * n + j] = static_cast<T>(s);
                    }
                sink = c[0];
            },
            times);
    } else if (!std::strcmp(name, "list_distance")) {
        const int64_t m = n + 3;
        const Whole a = whole_of(N, 4), b = whole_of(N + 3, 4);
        report(
            [&] {
                Whole before(N + 4);
                for (int64_t j = 0; j <= m; j++) before[j] = j;
                for (int64_t i = 0; i < n; i++) {
                    Whole now(N + 4);
                    now[0] = i + 1;
                    for (int64_t j = 0; j < m; j++)
                        now[j + 1] = std::min(std::min(now[j] + 1, before[j + 1] + 1), before[j] + (a[i] == b[j] ? 0 : 1));
                    before = std::move(now);
                }
                sink = static_cast<double>(before[m]);
            },
            times);
    } else if (!std::strcmp(name, "list_paths")) {
        std::vector<std::vector<double>> d(N, std::vector<double>(N));
        for (auto& row : d)
            for (double& x : row) x = std::uniform_real_distribution<double>()(generator);
        report(
            [&] {
                for (size_t k = 0; k < N; k++)
                    for (size_t i = 0; i < N; i++)
                        for (size_t j = 0; j < N; j++) {
                            const double through = d[i][k] + d[k][j];
                            if (through < d[i][j]) d[i][j] = through;
                        }
                double total = 0;
                for (const auto& row : d)
                    for (const double x : row) total += x;
                sink = total;
            },
            times);
    } else if (!std::strcmp(name, "list_sort")) {
        const Whole given = whole_of(N, 1000000);
        report(
            [&] {
                Whole a = given;
                std::vector<Whole> waiting{{0, n - 1}};
                while (!waiting.empty()) {
                    const Whole part = std::move(waiting.back());
                    waiting.pop_back();
                    const int64_t low = part[0], high = part[1];
                    if (low >= high) continue;
                    const int64_t pivot = a[(low + high) / 2];
                    int64_t i = low, j = high;
                    while (i <= j) {
                        while (a[i] < pivot) i++;
                        while (a[j] > pivot) j--;
                        if (i <= j) std::swap(a[i++], a[j--]);
                    }
                    waiting.push_back({low, j});
                    waiting.push_back({i, high});
                }
                int64_t sum = 0;
                for (const int64_t x : a) sum = (sum * 31 + x) % 1000003;
                sink = static_cast<double>(sum);
            },
            times);
    } else if (!std::strcmp(name, "list_insertions")) {
        const Whole a = whole_of(N, 1000000);
        const auto slice = [](const Whole& list, size_t from, size_t to) {
            return Whole(list.begin() + static_cast<int64_t>(from), list.begin() + static_cast<int64_t>(to));
        };
        const auto sum = [](const Whole& first, const Whole& second) {
            Whole both;
            both.reserve(first.size() + second.size());
            both.insert(both.end(), first.begin(), first.end());
            both.insert(both.end(), second.begin(), second.end());
            return both;
        };
        report(
            [&] {
                int64_t made = 0;
                for (const int64_t x : a) {
                    const Whole shorter{1, 2, 3, 4, 5, 6};
                    for (size_t at = 0; at < 7; at++) {
                        const Whole longer = sum(sum(slice(shorter, 0, at), {x}), slice(shorter, at, 6));
                        made += longer[at] + static_cast<int64_t>(longer.size());
                    }
                }
                sink = static_cast<double>(made);
            },
            times);
    } else return 2;
    return 0;
}
