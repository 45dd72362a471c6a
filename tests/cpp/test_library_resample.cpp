// Interpolation and grid_sample: known values, what must hold (constants stay, linear ramps stay linear), and gradients
// as the transpose of the linear map, by products with random vectors.
#include <cmath>
#include <string>

#include "check.h"
#include "core/error.h"
#include "draw.h"
#include "kernels/library/images/resample.h"

using namespace kindling;
using namespace kindling::library;

static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

static void maps() {
    for (int round = 0; round < 200; ++round) {
        Resampling r{};
        r.dtype = DType::Float64;
        r.mode = static_cast<Interpolation>(draw::integer(0, 5));
        r.dims = r.mode >= Interpolation::Cubic ? 2 : static_cast<int>(draw::integer(1, 3));
        r.planes = 2;
        r.align_corners = (r.mode == Interpolation::Linear || r.mode == Interpolation::Cubic) && draw::integer(0, 1);
        int64_t in = 2, out = 2;
        for (int d = 0; d < r.dims; ++d) {
            r.in[d] = draw::integer(1, 9), r.out[d] = draw::integer(1, 14);
            in *= r.in[d], out *= r.out[d];
        }
        auto x = draw::reals(in), g = draw::reals(out);
        std::vector<double> y(static_cast<size_t>(out)), gx(x.size()), one(x.size(), 1.0), ones(y.size());
        resample(r, x.data(), y.data());
        resample_gradient(r, g.data(), gx.data());
        CHECK(std::abs(dot(y, g) - dot(x, gx)) < 1e-11);
        resample(r, one.data(), ones.data());
        for (double v : ones) CHECK(std::abs(v - 1) < 1e-12);
    }
}

static void values() {
    Resampling r{};
    r.dtype = DType::Float32;
    r.mode = Interpolation::Linear;
    r.dims = 1;
    r.planes = 1;
    r.in[0] = 2;
    r.out[0] = 4;
    float x[] = {1, 3}, y[4];
    resample(r, x, y);
    CHECK(y[0] == 1 && y[1] == 1.5f && y[2] == 2.5f && y[3] == 3);
    r.align_corners = true;
    resample(r, x, y);
    CHECK(y[0] == 1 && std::abs(y[1] - 5.0f / 3) < 1e-6f && y[3] == 3);
    r.mode = Interpolation::Nearest;
    r.out[0] = 3;
    resample(r, x, y);
    CHECK(y[0] == 1 && y[1] == 1 && y[2] == 3);
    r.dtype = DType::Int32;
    CHECK_THROWS(resample(r, x, y), "not implemented for 'Int'");
}

static void grids() {
    for (int round = 0; round < 200; ++round) {
        GridSampling g{};
        g.dtype = DType::Float64;
        g.dims = static_cast<int>(draw::integer(2, 3));
        g.mode = static_cast<GridMode>(draw::integer(0, g.dims == 2 ? 2 : 1));
        g.padding = static_cast<GridPadding>(draw::integer(0, 2));
        g.align_corners = draw::integer(0, 1);
        g.batch = 2, g.channels = 3;
        int64_t in = 6, points = 2, out = 6;
        for (int d = 0; d < g.dims; ++d) {
            g.in[d] = draw::integer(1, 6), g.out[d] = draw::integer(1, 5);
            in *= g.in[d], points *= g.out[d], out *= g.out[d];
        }
        auto x = draw::reals(in), grid = draw::reals(points * g.dims), go = draw::reals(out);
        for (double& v : grid) v *= 1.3;
        std::vector<double> y(go.size()), gx(x.size()), gg(grid.size()), moved(y.size());
        grid_sample(g, x.data(), grid.data(), y.data());
        grid_sample_gradient(g, go.data(), x.data(), grid.data(), gx.data(), gg.data());
        CHECK(std::abs(dot(y, go) - dot(x, gx)) < 1e-11);
        if (g.mode == GridMode::Nearest) {
            for (double v : gg) CHECK(v == 0);
            continue;
        }
        // The grid's gradient against a central difference, where no kink lies in between.
        auto place = static_cast<size_t>(draw::integer(0, static_cast<int64_t>(grid.size()) - 1));
        auto at = [&](double offset) {
            auto shifted = grid;
            shifted[place] += offset;
            grid_sample(g, x.data(), shifted.data(), moved.data());
            return dot(moved, go);
        };
        double step = 1e-6, slope = (at(step) - at(-step)) / (2 * step), left = (at(0) - at(-step)) / step,
               right = (at(step) - at(0)) / step;
        if (std::abs(left - right) < 1e-3) CHECK(std::abs(slope - gg[place]) < 1e-4 * (1 + std::abs(slope)));
    }
    // Corners of the input at -1 and 1 with align_corners.
    GridSampling g{DType::Float32, GridMode::Linear, GridPadding::Zeros, true, 2, 1, 1, {2, 2}, {1, 3}};
    float x[] = {1, 2, 3, 4}, grid[] = {-1, -1, 1, 1, 0, 0}, y[3];
    grid_sample(g, x, grid, y);
    CHECK(y[0] == 1 && y[1] == 4 && y[2] == 2.5f);
}

int main() {
    maps();
    values();
    grids();
    return finish("resample");
}
