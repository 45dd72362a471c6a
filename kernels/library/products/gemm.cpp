// kernels/library/products/gemm.cpp: which way a matrix product is computed, threads, and dtypes that are converted.
// Compiled for size.
#include "kernels/library/products/gemm.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/library/half.h"
#include "kernels/library/products/gemm_bf16.h"
#include "kernels/library/products/gemm_isa.h"
#include "kernels/library/products/gemm_tiles.h"
#include "kernels/library/products/tiny_isa.h"
#include "kernels/library/scratch.h"
#include "kernels/tile/tile.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

const GemmSteps& gemm_steps() { return KINDLING_OF_ISA(gemm_steps); }

constexpr GemmBatch no_batch;
void run_part(const GemmPart<float>& part, const GemmBatch& batch = no_batch) { gemm_steps().gemm_float(part, batch); }
void run_part(const GemmPart<double>& part, const GemmBatch& batch = no_batch) { gemm_steps().gemm_double(part, batch); }

/// Multiply-adds of about a tenth of a second: signals are handled after so many, since a product itself cannot be interrupted.
double enough_work() { return 2e9 * gemm_steps().panel_bytes / 32; } // wider registers do more in that time

// Calls piece(first row, rows, first column, columns) for such parts of a single-threaded product. Small ones are one part.
template <class F> void in_pieces(int64_t m, int64_t n, int64_t k, F piece) {
    const double enough = enough_work();
    const double wide = static_cast<double>(n), deep = static_cast<double>(k) + 1;
    if (static_cast<double>(m) * wide * deep < 2 * enough) return piece(int64_t{0}, m, int64_t{0}, n);
    auto side = static_cast<int64_t>(std::sqrt(enough / deep)) / 96 * 96;
    const int64_t rows = std::min(std::max<int64_t>(side, 96), m);
    side = static_cast<int64_t>(enough / deep / static_cast<double>(rows)) / 96 * 96;
    const int64_t columns = std::min(std::max<int64_t>(side, 96), n);
    for (int64_t i = 0; i < m; i += rows)
        for (int64_t j = 0; j < n; j += columns) {
            if (i + j > 0) hear_signals();
            piece(i, std::min(rows, m - i), j, std::min(columns, n - j));
        }
}

constexpr double parallel_work = 600e3; // multiply-adds below which waking a thread does not pay

template <class T> GemmPart<T> part_of(const Gemm& g) {
    return {g.m,
            g.n,
            g.k,
            static_cast<const T*>(g.a),
            g.a_row,
            g.a_column,
            static_cast<const T*>(g.b),
            g.b_row,
            g.b_column,
            static_cast<T*>(g.out),
            g.out_row,
            g.out_column,
            static_cast<const T*>(g.c),
            g.c_row,
            g.c_column,
            static_cast<T>(g.alpha),
            static_cast<T>(g.beta),
            false,
            g.b_panel};
}

// out' = b' a': the same elements, summed in the same order. For a Gemm or a GemmPart; steps between the matrices of a
// batch are the caller's.
template <class Product> void turn(Product& p) {
    std::swap(p.m, p.n);
    std::swap(p.a, p.b);
    std::swap(p.a_row, p.b_column);
    std::swap(p.a_column, p.b_row);
    std::swap(p.out_row, p.out_column);
    std::swap(p.c_row, p.c_column);
}

/// Whether tiles can read b and write the result where they are.
template <class T> bool along_rows(const GemmPart<T>& p) { return p.b_column == 1 && p.b_row != 1 && p.out_column == 1; }

/// Small matrices go several at once: a call for each would take longer than its arithmetic. With AVX-512 that is so for the smallest.
template <class T> bool run_tiny(const GemmPart<T>& p, int64_t batch, int64_t a_batch, int64_t b_batch, int64_t out_batch) {
    if (batch < 2 || std::max({p.m, p.n, p.k}) > largest_tiny || p.k == 0 || p.c || p.b_panel || isa() == Isa::Baseline) return false;
    if (isa() == Isa::Avx512 && p.m * p.n * p.k > (along_rows(p) ? 1 : 3) * 256 / static_cast<int64_t>(sizeof(T))) return false;
    MultiplyTiny<T> multiply;
    if constexpr (sizeof(T) == 4) multiply = isa_avx2::multiply_tiny_float;
    else multiply = isa_avx2::multiply_tiny_double;
    const TinyMatrix<const T> a{p.a, p.a_row, p.a_column, a_batch}, b{p.b, p.b_row, p.b_column, b_batch};
    const int64_t least = 8 * 65536 / (p.m * p.n * p.k + 8 * (p.m * p.k + p.k * p.n + p.m * p.n)) + 8;
    parallel_for(0, batch, least, [&](int64_t begin, int64_t end) {
        multiply(p.m, p.n, p.k, a, b, {p.out, p.out_row, p.out_column, out_batch}, p.alpha, begin, end);
    });
    return true;
}

template <class T> void run_real(GemmPart<T> part, int64_t batch, int64_t a_batch, int64_t b_batch, int64_t out_batch, int64_t c_batch) {
    if (part.m == 0 || part.n == 0 || batch == 0) return;
    if (part.beta == 0) part.c = nullptr;
    if (run_tiny(part, batch, a_batch, b_batch, out_batch)) return;
    // Tiles run along rows. Transpose the product if its result is stored by columns, or has few of them, but for those that a tile of
    // AVX-512 makes faster, which has masks.
    const bool by_columns = part.out_column != 1 && part.out_row == 1 && part.m > 1;
    const bool narrow = isa() == Isa::Avx512 && part.n > 1 && along_rows(part) && (part.k <= 16 || sizeof(T) == 8);
    if (part.m > 4 && !part.b_panel && ((part.n <= 4 && !narrow) || by_columns)) {
        turn(part);
        std::swap(a_batch, b_batch);
    }
    part.may_dot = part.m <= 4 || (part.m <= 8 && part.n * part.k >= 3 << 16); // packing a large b costs more

    auto moved = [](GemmPart<T> p, int64_t i, int64_t rows, int64_t j, int64_t columns) {
        p.m = rows;
        p.n = columns;
        p.a += i * p.a_row;
        p.b += p.b_panel ? j * p.b_panel / panel_columns(dtype_of<T>) : j * p.b_column;
        p.out += i * p.out_row + j * p.out_column;
        if (p.c) p.c += i * p.c_row + j * p.c_column;
        return p;
    };
    auto run_listening = [&](const GemmPart<T>& whole) {
        in_pieces(whole.m, whole.n, whole.k,
                  [&](int64_t i, int64_t rows, int64_t j, int64_t columns) { run_part(moved(whole, i, rows, j, columns)); });
    };

    // The grid of pieces that threads share.
    double work = static_cast<double>(part.m) * static_cast<double>(part.n) * static_cast<double>(part.k);
    int64_t rows = 1, columns = 1;
    int threads = num_threads();
    bool alone = threads == 1 || work * static_cast<double>(batch) < parallel_work * 2;
    if (!alone) {
        int64_t wanted = batch >= 4 * threads ? 1 : (2 * threads + batch - 1) / batch;
        int64_t most = static_cast<int64_t>(work / parallel_work) + 1;
        wanted = std::min(wanted, most);
        while (rows * columns < wanted) {
            bool can_rows = part.m / (rows + 1) >= 48, can_columns = part.n / (columns + 1) >= 64;
            if (can_rows && (!can_columns || part.m / rows >= part.n / columns)) ++rows;
            else if (can_columns) ++columns;
            else break;
        }
    }
    auto piece = [&](int64_t index) {
        GemmPart<T> p = part;
        int64_t b = index / (rows * columns), r = index / columns % rows, c = index % columns;
        p.a += b * a_batch;
        p.b += b * b_batch;
        p.out += b * out_batch;
        if (p.c) p.c += b * c_batch;
        int64_t row_step = ((part.m + rows - 1) / rows + 11) / 12 * 12;
        int64_t column_step = ((part.n + columns - 1) / columns + 31) / 32 * 32;
        int64_t i = r * row_step, j = c * column_step;
        if (i >= part.m || j >= part.n) return;
        run_listening(moved(p, i, std::min(row_step, part.m - i), j, std::min(column_step, part.n - j)));
    };
    const int64_t pieces = batch * rows * columns, at_once = static_cast<int64_t>(enough_work() / (work + 1));
    auto run_pieces = [&](int64_t begin, int64_t end) {
        if (pieces > batch || at_once < 2) {
            for (int64_t i = begin; i < end; ++i) piece(i);
            return;
        }
        for (int64_t i = begin; i < end; i += at_once) { // small ones are not worth a call for each
            if (i > begin) hear_signals();
            GemmPart<T> p = part;
            p.a += i * a_batch;
            p.b += i * b_batch;
            p.out += i * out_batch;
            if (p.c) p.c += i * c_batch;
            run_part(p, {std::min(at_once, end - i), a_batch, b_batch, out_batch, c_batch});
        }
    };
    if (pieces == 1 && at_once > 1) return run_part(part);
    if (alone || pieces == 1) return run_pieces(0, pieces);
    auto grain = static_cast<int64_t>(parallel_work / (work / static_cast<double>(rows * columns) + 1));
    parallel_for(0, pieces, std::max<int64_t>(grain, 1), run_pieces);
}

// Converts rows of a matrix of half numbers to contiguous floats.
void widen(DType dtype, float* to, const void* from, int64_t rows, int64_t columns, int64_t row, int64_t column) {
    TileFunction move = find_move(move_to_float(dtype));
    const auto* source = static_cast<const uint16_t*>(from);
    parallel_for(0, rows, 1 + 16384 / std::max<int64_t>(columns, 1), [&](int64_t begin, int64_t end) {
        Scratch<uint16_t> line(column == 1 ? 0 : columns);
        for (int64_t i = begin; i < end; ++i) {
            const uint16_t* values = source + i * row;
            if (column != 1) {
                for (int64_t j = 0; j < columns; ++j) line[j] = values[j * column];
                values = line.data;
            }
            move(to + i * columns, values, nullptr, nullptr, columns, 0);
        }
    });
}

// By AMX tiles, in pieces that the threads share. False if the product is not for them.
bool run_tiles(TilesPart whole) {
    if (whole.m <= 4 || whole.n <= 4 || whole.k == 0 || !has_tiles()) return false;
    constexpr double enough = 8e6; // multiply-adds below which waking a thread does not pay
    const double work = static_cast<double>(whole.m) * static_cast<double>(whole.n) * static_cast<double>(whole.k);
    const int64_t item = whole.kind == TilesPart::Int32 ? 1 : 2, out_item = whole.kind == TilesPart::BFloat16 ? 2 : 4,
                  threads = num_threads();
    auto at = [](const void* from, int64_t bytes) { return from ? static_cast<const char*>(from) + bytes : nullptr; };
    auto moved = [&](TilesPart part, int64_t index, int64_t i, int64_t j) {
        part.a = at(part.a, (index * part.a_batch + i * part.a_row) * item);
        part.b = at(part.b, (index * part.b_batch + j * part.b_column) * item);
        part.c = at(part.c, (index * part.c_batch + i * part.c_row + j * part.c_column) * out_item);
        part.out = static_cast<char*>(part.out) + (index * part.out_batch + i * part.out_row + j) * out_item;
        return part;
    };
    if ((whole.batch >= threads && work < 3e10) || work < enough) {
        parallel_for(0, whole.batch, 1 + static_cast<int64_t>(enough / (work + 1)), [&](int64_t begin, int64_t end) {
            TilesPart part = moved(whole, begin, 0, 0);
            part.batch = end - begin;
            gemm_tiles(part);
        });
        return true;
    }
    // Each piece packs the other operand for itself, so columns are split if there are enough of them.
    const bool by_rows = whole.m > 2 * whole.n;
    const int64_t size = by_rows ? whole.m : whole.n, most = std::min(threads, static_cast<int64_t>(work / enough) + 1);
    const int64_t step = ((size + most - 1) / most + 31) / 32 * 32, pieces = (size + step - 1) / step;
    parallel_for(0, whole.batch * pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) {
            const int64_t from = index % pieces * step, count = std::min(step, size - from);
            in_pieces(by_rows ? count : whole.m, by_rows ? whole.n : count, whole.k / 16,
                      [&](int64_t i, int64_t rows, int64_t j, int64_t columns) {
                          TilesPart part = moved(whole, index / pieces, i + (by_rows ? from : 0), j + (by_rows ? 0 : from));
                          part.m = rows;
                          part.n = columns;
                          part.batch = 1;
                          gemm_tiles(part);
                      });
        }
    });
    return true;
}

TilesPart tiles_of(const Gemm& g, TilesPart::Kind kind) {
    return {g.m,
            g.n,
            g.k,
            g.a,
            g.a_row,
            g.a_column,
            g.b,
            g.b_row,
            g.b_column,
            g.out,
            g.out_row,
            kind,
            g.beta == 0 ? nullptr : g.c,
            g.c_row,
            g.c_column,
            static_cast<float>(g.alpha),
            static_cast<float>(g.beta),
            g.batch,
            g.a_batch,
            g.b_batch,
            g.out_batch,
            g.c_batch};
}

// By AVX512-BF16, in pieces that the threads share.
void run_bf16(const Gemm& g, const uint16_t* a, const uint16_t* b, float* out) {
    if (run_tiles({g.m, g.n, g.k, a, g.a_row, g.a_column, b, g.b_row, g.b_column, out, g.n, TilesPart::Float})) return;
    Bf16Part whole{g.m, g.n, g.k, a, g.a_row, g.a_column, b, g.b_row, g.b_column, out, g.n};
    double work = static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
    bool by_rows = g.m > g.n;
    int64_t threads = num_threads(), size = by_rows ? g.m : g.n, unit = by_rows ? 12 : 32;
    // Each piece packs the other operand for itself. So there are more pieces than threads only if packing is little of
    // the work.
    int64_t most = threads == 1 ? 1 : size >= 4096 ? 2 * threads : threads;
    int64_t wanted = std::min<int64_t>(most, static_cast<int64_t>(work / parallel_work) + 1);
    int64_t step = ((size + wanted - 1) / wanted + unit - 1) / unit * unit;
    parallel_for(0, (size + step - 1) / step, 1, [&](int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) {
            Bf16Part part = whole;
            int64_t at = index * step;
            if (by_rows) part.m = std::min(step, g.m - at), part.a += at * g.a_row, part.out += at * g.n;
            else part.n = std::min(step, g.n - at), part.b += at * g.b_column, part.out += at;
            gemm_bf16(part);
        }
    });
}

// Few rows read every number of b once: b is converted to float in blocks of columns that stay in the cache.
void run_few_rows(const Gemm& g, const float* a, const uint16_t* b, float* out) {
    const bool turned = g.b_row == 1;
    const int64_t block = std::max<int64_t>(16384 / std::max<int64_t>(g.k, 1) / 32 * 32, 32), blocks = (g.n + block - 1) / block;
    parallel_for(0, blocks, 4, [&](int64_t begin, int64_t end) {
        Scratch<float> wide(block * g.k);
        for (int64_t index = begin; index < end; ++index) {
            const int64_t j = index * block, n = std::min(block, g.n - j);
            if (turned) widen(g.dtype, wide.data, b + j * g.b_column, n, g.k, g.b_column, 1);
            else widen(g.dtype, wide.data, b + j * g.b_column, g.k, n, g.b_row, g.b_column);
            run_real(GemmPart<float>{g.m, n, g.k, a, g.k, 1, wide.data, turned ? 1 : n, turned ? g.k : 1, out + j, g.n, 1, nullptr, 0, 0, 1,
                                     0, false},
                     1, 0, 0, 0, 0);
        }
    });
}

template <class T> void run_half(Gemm g) {
    if (g.n <= 4 ? g.m > 4 : g.out_column != 1 && g.out_row == 1) {
        turn(g);
        std::swap(g.a_batch, g.b_batch);
    }
    if (g.dtype == DType::BFloat16 && g.out_column == 1 && run_tiles(tiles_of(g, TilesPart::BFloat16))) return;
    const bool pairs = g.dtype == DType::BFloat16 && has_bf16_products() && g.k > 0, few = !pairs && g.m <= 4;
    Scratch<float> a(pairs ? 0 : g.m * g.k), b(pairs || few ? 0 : g.k * g.n), out(g.m * g.n);
    TileFunction narrow = find_move(g.dtype == DType::Float16 ? TileMove::FloatToHalf : TileMove::FloatToBFloat16);
    auto alpha = static_cast<float>(g.alpha), beta = static_cast<float>(g.beta);
    for (int64_t index = 0; index < g.batch; ++index) {
        const auto* left = static_cast<const uint16_t*>(g.a) + index * g.a_batch;
        const auto* right = static_cast<const uint16_t*>(g.b) + index * g.b_batch;
        if (pairs) {
            run_bf16(g, left, right, out.data);
        } else {
            if (index == 0 || g.a_batch) widen(g.dtype, a.data, left, g.m, g.k, g.a_row, g.a_column);
            // It stays by columns if it is: dot products and packing then read it along k.
            bool turned = g.b_row == 1;
            if (few) {
                run_few_rows(g, a.data, right, out.data);
            } else {
                if (index == 0 || g.b_batch) {
                    if (turned) widen(g.dtype, b.data, right, g.n, g.k, g.b_column, 1);
                    else widen(g.dtype, b.data, right, g.k, g.n, g.b_row, g.b_column);
                }
                GemmPart<float> part{g.m, g.n,     g.k, a.data, g.k, 1, b.data, turned ? 1 : g.n, turned ? g.k : 1, out.data, g.n,
                                     1,   nullptr, 0,   0,      1,   0, false};
                run_real(part, 1, 0, 0, 0, 0);
            }
        }
        T* to = static_cast<T*>(g.out) + index * g.out_batch;
        const T* c = g.c && beta != 0 ? static_cast<const T*>(g.c) + index * g.c_batch : nullptr;
        for (int64_t i = 0; i < g.m; ++i) {
            if (!c && alpha == 1 && g.out_column == 1) {
                narrow(to + i * g.out_row, out.data + i * g.n, nullptr, nullptr, g.n, 0);
                continue;
            }
            for (int64_t j = 0; j < g.n; ++j) {
                float value = alpha * out.data[i * g.n + j];
                if (c) value += beta * as_float(c[i * g.c_row + j * g.c_column]);
                to[i * g.out_row + j * g.out_column] = store_as<T>(value);
            }
        }
    }
}

// (ar + ai i)(br + bi i) by four real products over the same memory, with a stride of two.
template <class R> void run_complex(const Gemm& g) {
    Scratch<R> real(g.m * g.n), imaginary(g.m * g.n);
    R a_sign = g.a_conjugate ? R{-1} : R{1}, b_sign = g.b_conjugate ? R{-1} : R{1};
    R alpha[2] = {static_cast<R>(g.alpha), static_cast<R>(g.alpha_imaginary)};
    R beta[2] = {static_cast<R>(g.beta), static_cast<R>(g.beta_imaginary)};
    for (int64_t index = 0; index < g.batch; ++index) {
        const R* a = static_cast<const R*>(g.a) + 2 * index * g.a_batch;
        const R* b = static_cast<const R*>(g.b) + 2 * index * g.b_batch;
        auto product = [&](R* to, const R* left, const R* right, R sign, bool add) {
            GemmPart<R> part{
                g.m, g.n, g.k,  left, 2 * g.a_row, 2 * g.a_column, right, 2 * g.b_row, 2 * g.b_column, to, g.n, 1, add ? to : nullptr,
                g.n, 1,   sign, 1,    false};
            run_real(part, 1, 0, 0, 0, 0);
        };
        product(real.data, a, b, R{1}, false);
        product(real.data, a + 1, b + 1, -a_sign * b_sign, true);
        product(imaginary.data, a, b + 1, b_sign, false);
        product(imaginary.data, a + 1, b, a_sign, true);
        R* out = static_cast<R*>(g.out) + 2 * index * g.out_batch;
        const R* c = g.c && (beta[0] != 0 || beta[1] != 0) ? static_cast<const R*>(g.c) + 2 * index * g.c_batch : nullptr;
        bool scale = alpha[0] != 1 || alpha[1] != 0, scale_c = beta[0] != 1 || beta[1] != 0;
        for (int64_t i = 0; i < g.m; ++i)
            for (int64_t j = 0; j < g.n; ++j) {
                R x = real.data[i * g.n + j], y = imaginary.data[i * g.n + j];
                if (scale) {
                    R turned = alpha[0] * x - alpha[1] * y;
                    y = alpha[0] * y + alpha[1] * x;
                    x = turned;
                }
                if (c) {
                    const R* added = c + 2 * (i * g.c_row + j * g.c_column);
                    R cx = added[0], cy = added[1];
                    x += scale_c ? beta[0] * cx - beta[1] * cy : cx;
                    y += scale_c ? beta[0] * cy + beta[1] * cx : cy;
                }
                R* place = out + 2 * (i * g.out_row + j * g.out_column);
                place[0] = x;
                place[1] = y;
            }
    }
}

// Integers wrap around, so sums are computed in the unsigned type, in any order.
template <class T> void run_integer(const Gemm& g) {
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    auto alpha = static_cast<U>(g.integer_alpha), beta = static_cast<U>(g.integer_beta);
    int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(parallel_work / (static_cast<double>(g.n) * static_cast<double>(g.k) + 1)));
    parallel_for(0, g.batch * g.m, grain, [&](int64_t begin, int64_t end) {
        constexpr int64_t chunk = 512;
        U sums[chunk];
        for (int64_t row = begin; row < end; ++row) {
            int64_t index = row / g.m, i = row % g.m;
            const T* a = static_cast<const T*>(g.a) + index * g.a_batch + i * g.a_row;
            const T* b = static_cast<const T*>(g.b) + index * g.b_batch;
            T* out = static_cast<T*>(g.out) + index * g.out_batch + i * g.out_row;
            const T* c = g.c && beta != 0 ? static_cast<const T*>(g.c) + index * g.c_batch + i * g.c_row : nullptr;
            for (int64_t j0 = 0; j0 < g.n; j0 += chunk) {
                int64_t n = std::min(chunk, g.n - j0);
                std::fill(sums, sums + n, U{0});
                if (g.b_column == 1) {
                    for (int64_t p = 0; p < g.k; ++p) {
                        U factor = static_cast<U>(a[p * g.a_column]);
                        const T* line = b + p * g.b_row + j0;
                        for (int64_t j = 0; j < n; ++j) sums[j] += factor * static_cast<U>(line[j]);
                    }
                } else {
                    for (int64_t j = 0; j < n; ++j) {
                        const T* column = b + (j0 + j) * g.b_column;
                        U sum = 0;
                        for (int64_t p = 0; p < g.k; ++p) sum += static_cast<U>(a[p * g.a_column]) * static_cast<U>(column[p * g.b_row]);
                        sums[j] = sum;
                    }
                }
                for (int64_t j = 0; j < n; ++j) {
                    U value = alpha * sums[j];
                    if (c) value += beta * static_cast<U>(c[(j0 + j) * g.c_column]);
                    out[(j0 + j) * g.out_column] = static_cast<T>(value);
                }
            }
        }
    });
}

} // namespace

int64_t panel_columns(DType dtype) { return gemm_steps().panel_bytes / static_cast<int64_t>(item_size(dtype)); }

void pack_panels(DType dtype, void* to, const void* b, int64_t b_row, int64_t b_column, int64_t k, int64_t n) {
    const int64_t panel = panel_columns(dtype), item = static_cast<int64_t>(item_size(dtype));
    parallel_for(0, (n + panel - 1) / panel, 1 + 65536 / (panel * k + 1), [&](int64_t begin, int64_t end) {
        const int64_t columns = std::min(end * panel, n) - begin * panel;
        void* target = static_cast<char*>(to) + begin * panel * k * item;
        const void* from = static_cast<const char*>(b) + begin * panel * b_column * item;
        gemm_steps().pack[dtype == DType::Float64](target, from, b_row, b_column, k, columns);
    });
}

void turn_numbers(DType dtype, void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t rows, int64_t count) {
    gemm_steps().turn[dtype == DType::Float64](to, to_stride, from, from_stride, rows, count);
}

bool gemm_bytes(const Gemm& problem) {
    return run_tiles({problem.m, problem.n, problem.k, problem.a, problem.a_row, problem.a_column, problem.b, problem.b_row,
                      problem.b_column, problem.out, problem.out_row, TilesPart::Int32});
}

void gemm(const Gemm& g) {
    if (g.m == 0 || g.n == 0 || g.batch == 0) return;
    switch (g.dtype) {
    case DType::Float32: return run_real(part_of<float>(g), g.batch, g.a_batch, g.b_batch, g.out_batch, g.c_batch);
    case DType::Float64: return run_real(part_of<double>(g), g.batch, g.a_batch, g.b_batch, g.out_batch, g.c_batch);
    case DType::Float16: return run_half<Half>(g);
    case DType::BFloat16: return run_half<BFloat16>(g);
    case DType::Complex64: return run_complex<float>(g);
    case DType::Complex128: return run_complex<double>(g);
    case DType::UInt8: return run_integer<uint8_t>(g);
    case DType::Int8: return run_integer<int8_t>(g);
    case DType::Int16: return run_integer<int16_t>(g);
    case DType::Int32: return run_integer<int32_t>(g);
    case DType::Int64: return run_integer<int64_t>(g);
    case DType::UInt16: return run_integer<uint16_t>(g);
    case DType::UInt32: return run_integer<uint32_t>(g);
    case DType::UInt64: return run_integer<uint64_t>(g);
    default: fail(ErrorKind::NotImplemented, "\"addmm_impl_cpu_\" not implemented for '%s'", scalar_type_name(g.dtype));
    }
}

} // namespace kindling::library
