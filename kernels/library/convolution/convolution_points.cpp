// kernels/library/convolution/convolution_points.cpp: kernels of one tap: a product for each image. Small images share one, side by
// side, so that the weights are packed once for several of them and few columns of the product are left over.
#include <algorithm>
#include <cstring>

#include "core/dtype.h"
#include "kernels/library/convolution/convolution_shape.h"
#include "kernels/library/products/gemm.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

using Shape = ConvolutionShape;

constexpr int64_t small = 256; // positions of an image that has a product of its own

/// What a product multiplies: its rows are the channels that are computed, its depth those that are read.
template <class T> struct Points {
    int64_t rows, depth;
    const T* weight;
    int64_t group, row, column; // steps in the weights
    const T* from;
    const T* bias;
    T* to;
};

template <class T> void run(const Shape& s, const Points<T>& p) {
    const int64_t space = s.out_space, abreast = std::clamp<int64_t>((2 * small - 1) / space, 1, s.batch);
    const int64_t chunks = (s.batch + abreast - 1) / abreast, together = (s.batch + chunks - 1) / chunks;
    const bool in_place = together == 1 && s.direct;
    auto task = [&](int64_t index) {
        const int64_t group = index % s.groups, first = index / s.groups * together, images = std::min(together, s.batch - first);
        const int64_t width = images * space;
        const T* from = p.from + (first * s.groups + group) * p.depth * s.in_space;
        T* to = p.to + (first * s.groups + group) * p.rows * space;
        Scratch<T> side(in_place ? 0 : p.depth * width), result(images > 1 ? p.rows * width : 0);
        if (!in_place)
            for (int64_t c = 0; c < p.depth; ++c)
                for (int64_t n = 0; n < images; ++n) {
                    const T* plane = from + (n * s.groups * p.depth + c) * s.in_space;
                    T* line = side.data + c * width + n * space;
                    if (s.direct) {
                        copy_row(line, plane, space);
                        continue;
                    }
                    for (int64_t y = 0; y < s.out[1]; ++y, line += s.out[2])
                        for (int64_t x = 0; x < s.out[2]; ++x) line[x] = plane[y * s.stride[1] * s.in[2] + x * s.stride[2]];
                }
        Gemm g{};
        g.dtype = dtype_of<T>;
        g.m = p.rows, g.n = width, g.k = p.depth;
        g.a = p.weight + group * p.group, g.a_row = p.row, g.a_column = p.column;
        g.b = in_place ? from : side.data, g.b_row = width, g.b_column = 1;
        g.out = images > 1 ? result.data : to, g.out_row = width, g.out_column = 1;
        if (p.bias) g.c = p.bias + group * p.rows, g.c_row = 1, g.c_column = 0;
        gemm(g);
        if (images > 1)
            for (int64_t c = 0; c < p.rows; ++c)
                for (int64_t n = 0; n < images; ++n)
                    copy_row(to + (n * s.groups * p.rows + c) * space, result.data + c * width + n * space, space);
    };
    const int64_t tasks = chunks * s.groups;
    if (tasks == 1) return task(0); // the product itself uses the threads
    const double work = static_cast<double>(p.rows * p.depth) * static_cast<double>(together * space);
    parallel_for(0, tasks, std::max<int64_t>(1, static_cast<int64_t>(500e3 / (work + 1))), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            hear_signals();
            task(i);
        }
    });
}

bool fits(const Shape& s) {
    return s.taps == 1 && s.in[0] == 1 && s.padding[0] == 0 && s.padding[1] == 0 && s.padding[2] == 0 && s.out_space > 0 &&
           s.in_channels * s.out_channels >= 64 && (s.direct ? s.out_space < small : s.in_channels >= 16);
}

} // namespace

template <class T> bool run_points(const Shape& s, const T* input, const T* weight, const T* bias, T* output) {
    if (!fits(s)) return false;
    run<T>(s, {s.out_channels, s.in_channels, weight, s.out_channels * s.in_channels, s.in_channels, 1, input, bias, output});
    return true;
}
template <class T> bool run_points_input(const Shape& s, const T* grad_output, const T* weight, const T* bias, T* grad_input) {
    if (!s.direct || !fits(s)) return false;
    run<T>(s, {s.in_channels, s.out_channels, weight, s.out_channels * s.in_channels, 1, s.in_channels, grad_output, bias, grad_input});
    return true;
}

template bool run_points(const Shape&, const float*, const float*, const float*, float*);
template bool run_points(const Shape&, const double*, const double*, const double*, double*);
template bool run_points_input(const Shape&, const float*, const float*, const float*, float*);
template bool run_points_input(const Shape&, const double*, const double*, const double*, double*);

} // namespace kindling::library
