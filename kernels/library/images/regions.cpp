// kernels/library/images/regions.cpp: pooling over regions, non-maximum suppression, columns of deformable convolutions.
// Compiled for size.
#include "kernels/library/images/regions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/library/dtype_switch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr Types<float, double> real_types;

/// A pixel that a cell reads, and its weight.
template <class T> struct Tap {
    int64_t place;
    T weight;
};

/// A number as a count or position that may be computed with, whatever its value.
template <class T> int64_t whole(T x) { return x >= T(1e9) ? 1'000'000'000 : x > T(-1e9) ? static_cast<int64_t>(x) : -1'000'000'000; }

/// Interpolates between four pixels. Up to one pixel outside the image its edge is used, further away nothing.
template <class T> void between_pixels(const Regions& r, T y, T x, std::vector<Tap<T>>& taps) {
    const T height = static_cast<T>(r.height), width = static_cast<T>(r.width);
    if (!r.height || !r.width || !(y >= -1 && y <= height && x >= -1 && x <= width)) return;
    y = std::clamp(y, T(0), height - 1);
    x = std::clamp(x, T(0), width - 1);
    const int64_t top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
    const int64_t below = std::min(top + 1, r.height - 1), right = std::min(left + 1, r.width - 1);
    const T ly = y - static_cast<T>(top), lx = x - static_cast<T>(left), hy = 1 - ly, hx = 1 - lx;
    taps.insert(taps.end(), {{top * r.width + left, hy * hx},
                             {top * r.width + right, hy * lx},
                             {below * r.width + left, ly * hx},
                             {below * r.width + right, ly * lx}});
}

/// What the cells of a region read.
template <class T> class Cells {
public:
    Cells(const Regions& regions, const T* given, bool for_gradient = false) : omitted(regions.by_position && !for_gradient), r(regions) {
        KINDLING_CHECK(Runtime, given[0] >= 0 && given[0] < static_cast<T>(r.images), "a region is of image %g, but there are %ld images",
                       static_cast<double>(given[0]), r.images);
        image = static_cast<int64_t>(given[0]);
        const T scale = static_cast<T>(r.scale), offset = r.is_sampled && r.half_pixel ? T(0.5) : T(0);
        T begin[2], end[2]; // y, x
        for (int d = 0; d < 2; d++) {
            begin[d] = given[2 - d] * scale - offset;
            end[d] = given[4 - d] * scale - offset;
            // Pixels are covered from the first to the last, or to the one before the last.
            if (!r.is_sampled) begin[d] = std::round(begin[d]), end[d] = std::round(end[d]);
            start[d] = begin[d];
            T size = end[d] - begin[d] + (r.is_sampled || r.by_position ? 0 : 1);
            if (!r.is_sampled || !r.half_pixel) size = std::max(size, T(1));
            cell[d] = size / static_cast<T>(d ? r.columns : r.rows);
            if (r.is_sampled) points[d] = r.sampling > 0 ? r.sampling : whole(std::ceil(cell[d]));
        }
        KINDLING_CHECK(Runtime, !r.is_sampled || points[0] <= 0 || points[1] <= (int64_t{1} << 31) / points[0],
                       "a region of %g by %g pixels is too large to be sampled at each", static_cast<double>(end[0] - begin[0]),
                       static_cast<double>(end[1] - begin[1]));
    }
    /// The pixels that a cell covers in a dimension.
    void covered(int d, int64_t at, int64_t& first, int64_t& past) const {
        const int64_t size = (d ? r.width : r.height) - omitted;
        first = std::clamp(whole(std::floor(static_cast<T>(at) * cell[d])) + whole(start[d]), int64_t{0}, size);
        past = std::clamp(whole(std::ceil(static_cast<T>(at + 1) * cell[d])) + whole(start[d]), int64_t{0}, size);
    }
    /// The taps of a cell; returns what their sum is divided by.
    T read(int64_t row, int64_t column, std::vector<Tap<T>>& taps) const {
        taps.clear();
        if (!r.is_sampled) {
            int64_t y, x, y_end, x_end;
            covered(0, row, y, y_end);
            covered(1, column, x, x_end);
            for (; y < y_end; y++)
                for (int64_t i = x; i < x_end; i++) taps.push_back({y * r.width + i, 1});
            return static_cast<T>(std::max<size_t>(taps.size(), 1));
        }
        const Points down = points_of(0, row, r.height), along = points_of(1, column, r.width);
        for (int64_t i = down.first; i < down.past; i++)
            for (int64_t j = along.first; j < along.past; j++) between_pixels(r, down.at(*this, 0, i), along.at(*this, 1, j), taps);
        // 0 / 0 is NaN for cells that are read by position, as in torchvision.
        return static_cast<T>(r.by_position ? points[0] * points[1] : std::max<int64_t>(points[0] * points[1], 1));
    }

    int64_t image = 0;

private:
    /// Of a cell's points in a dimension, those that may be in the image: a region may have any size.
    struct Points {
        int64_t first, past;
        T begin;
        T at(const Cells& c, int d, int64_t i) const {
            return begin + (static_cast<T>(i) + T(0.5)) * c.cell[d] / static_cast<T>(c.points[d]);
        }
    };
    Points points_of(int d, int64_t at, int64_t size) const {
        Points p{0, points[d], start[d] + static_cast<T>(at) * cell[d]};
        if (points[d] <= 1024) return p;
        const T step = cell[d] / static_cast<T>(points[d]);
        p.first = std::clamp(whole((-1 - p.begin) / step) - 2, int64_t{0}, points[d]);
        p.past = std::clamp(whole((static_cast<T>(size) - p.begin) / step) + 2, int64_t{0}, points[d]);
        return p;
    }

    const int64_t
        omitted; // torchvision's cells that are read by position never read the last row and column, though gradients are added there
    const Regions& r;
    T start[2], cell[2];
    int64_t points[2] = {0, 0};
};

/// Calls f(cells of region, region, row, column) for all cells.
template <class T, class F> void each_cell(const Regions& r, const T* regions, int64_t begin, int64_t end, F f, bool for_gradient = false) {
    for (int64_t region = begin; region < end; region++) {
        const Cells<T> cells(r, regions + 5 * region, for_gradient);
        for (int64_t row = 0; row < r.rows; row++)
            for (int64_t column = 0; column < r.columns; column++) f(cells, region, row, column);
    }
}
int64_t channel_of(const Regions& r, int64_t c, int64_t row, int64_t column) {
    return r.by_position ? (c * r.rows + row) * r.columns + column : c;
}
int64_t cell_of(const Regions& r, int64_t region, int64_t c, int64_t row, int64_t column) {
    return ((region * r.cell_channels + c) * r.rows + row) * r.columns + column;
}

/// Clears gradients for accumulation; false if there are no pixels.
bool clear(const Regions& r, void* grad_input) {
    const int64_t pixels = r.images * r.channels * r.height * r.width;
    if (pixels) std::memset(grad_input, 0, static_cast<size_t>(pixels) * item_size(r.dtype));
    return pixels > 0;
}

template <class F> void by_regions(const Regions& r, F f) {
    parallel_for(0, r.count, std::max<int64_t>(1, 20000 / std::max<int64_t>(1, r.cell_channels * r.rows * r.columns * 16)), f);
}

} // namespace

void region_means(const Regions& r, const void* input, const void* regions, void* output) {
    for_type(real_types, r.dtype, "region_means", [&](auto zero) {
        using T = decltype(zero);
        by_regions(r, [&](int64_t begin, int64_t end) {
            std::vector<Tap<T>> taps;
            each_cell<T>(r, static_cast<const T*>(regions), begin, end,
                         [&](const Cells<T>& cells, int64_t region, int64_t row, int64_t column) {
                             const T divisor = cells.read(row, column, taps);
                             for (int64_t c = 0; c < r.cell_channels; c++) {
                                 const T* plane = static_cast<const T*>(input) +
                                                  (cells.image * r.channels + channel_of(r, c, row, column)) * r.height * r.width;
                                 T sum = 0;
                                 for (const Tap<T>& tap : taps) sum += tap.weight * plane[tap.place];
                                 static_cast<T*>(output)[cell_of(r, region, c, row, column)] = sum / divisor;
                             }
                         });
        });
    });
}

void region_means_gradient(const Regions& r, const void* grad, const void* regions, void* grad_input) {
    if (!clear(r, grad_input)) return;
    // Regions may read the same pixels. So work is split by channel: no two threads write to one plane.
    const int64_t grain = std::max<int64_t>(1, 20000 / std::max<int64_t>(1, r.count * r.rows * r.columns * 16));
    for_type(real_types, r.dtype, "region_means_gradient", [&](auto zero) {
        using T = decltype(zero);
        parallel_for(0, r.cell_channels, grain, [&](int64_t first, int64_t past) {
            std::vector<Tap<T>> taps;
            each_cell<T>(
                r, static_cast<const T*>(regions), 0, r.count,
                [&](const Cells<T>& cells, int64_t region, int64_t row, int64_t column) {
                    const T divisor = cells.read(row, column, taps);
                    for (int64_t c = first; c < past; c++) {
                        T* plane =
                            static_cast<T*>(grad_input) + (cells.image * r.channels + channel_of(r, c, row, column)) * r.height * r.width;
                        const T each = static_cast<const T*>(grad)[cell_of(r, region, c, row, column)] / divisor;
                        for (const Tap<T>& tap : taps) plane[tap.place] += tap.weight * each;
                    }
                },
                true);
        });
    });
}

void region_maxima(const Regions& r, const void* input, const void* regions, void* output, int32_t* places) {
    for_type(real_types, r.dtype, "region_maxima", [&](auto zero) {
        using T = decltype(zero);
        by_regions(r, [&](int64_t begin, int64_t end) {
            each_cell<T>(r, static_cast<const T*>(regions), begin, end,
                         [&](const Cells<T>& cells, int64_t region, int64_t row, int64_t column) {
                             int64_t top, bottom, left, right;
                             cells.covered(0, row, top, bottom);
                             cells.covered(1, column, left, right);
                             for (int64_t c = 0; c < r.cell_channels; c++) {
                                 const T* plane = static_cast<const T*>(input) + (cells.image * r.channels + c) * r.height * r.width;
                                 T most = top < bottom && left < right ? std::numeric_limits<T>::lowest() : 0;
                                 int64_t place = -1;
                                 for (int64_t y = top; y < bottom; y++)
                                     for (int64_t x = left; x < right; x++)
                                         if (plane[y * r.width + x] > most) most = plane[place = y * r.width + x];
                                 const int64_t cell = cell_of(r, region, c, row, column);
                                 static_cast<T*>(output)[cell] = most;
                                 places[cell] = static_cast<int32_t>(place);
                             }
                         });
        });
    });
}

void region_maxima_gradient(const Regions& r, const void* grad, const void* regions, const int32_t* places, void* grad_input) {
    if (!clear(r, grad_input)) return;
    for_type(real_types, r.dtype, "region_maxima_gradient", [&](auto zero) {
        using T = decltype(zero);
        const int64_t plane = r.height * r.width, cells = r.rows * r.columns;
        for (int64_t region = 0; region < r.count; region++) {
            const int64_t image = Cells<T>(r, static_cast<const T*>(regions) + 5 * region).image;
            for (int64_t i = region * r.channels * cells; i < (region + 1) * r.channels * cells; i++) {
                const int64_t place = places[i], c = i / cells % r.channels;
                KINDLING_CHECK(Runtime, place < plane, "a region's maximum lies at %ld of a plane of %ld", place, plane);
                if (place >= 0) static_cast<T*>(grad_input)[(image * r.channels + c) * plane + place] += static_cast<const T*>(grad)[i];
            }
        }
    });
}

std::vector<int64_t> boxes_to_keep(DType dtype, const void* boxes, const std::vector<int64_t>& best, double threshold) {
    std::vector<int64_t> kept;
    for_type(real_types, dtype, "nms_kernel", [&](auto zero) {
        using T = decltype(zero);
        const size_t count = best.size();
        std::vector<T> ordered(4 * count); // each meets all after it
        for (size_t i = 0; i < count; i++) std::copy_n(static_cast<const T*>(boxes) + 4 * best[i], 4, ordered.data() + 4 * i);
        auto area = [](const T* b) { return (b[2] - b[0]) * (b[3] - b[1]); };
        std::vector<bool> gone(count);
        for (size_t i = 0; i < count; i++) {
            if (gone[i]) continue;
            if (i % 64 == 0) hear_signals();
            kept.push_back(best[i]);
            const T *a = ordered.data() + 4 * i, size = area(a);
            for (size_t j = i + 1; j < count; j++) {
                const T* b = ordered.data() + 4 * j;
                const T width = std::max(T(0), std::min(a[2], b[2]) - std::max(a[0], b[0])),
                        height = std::max(T(0), std::min(a[3], b[3]) - std::max(a[1], b[1]));
                const T common = width * height;
                if (static_cast<double>(common / (size + area(b) - common)) > threshold) gone[j] = true;
            }
        }
    });
    return kept;
}

namespace {

struct Corner {
    double x, y;
};

/// Twice the area that two rectangles share: one is cut along each side of the other.
double common_area(const Corner* a, const Corner* b) {
    Corner left[16], cut[16];
    int count = 4;
    std::copy(a, a + 4, left);
    for (int side = 0; side < 4; side++) {
        const Corner from = b[side], to = b[(side + 1) % 4];
        const auto inside = [&](Corner p) { return (to.y - from.y) * (p.x - from.x) - (to.x - from.x) * (p.y - from.y); };
        int kept = 0;
        for (int i = 0; i < count; i++) {
            const Corner p = left[i], q = left[(i + 1) % count];
            const double before = inside(p), after = inside(q);
            if (before >= 0) cut[kept++] = p;
            if ((before < 0) != (after < 0))
                cut[kept++] = {p.x + (q.x - p.x) * before / (before - after), p.y + (q.y - p.y) * before / (before - after)};
        }
        count = kept;
        std::copy(cut, cut + count, left);
    }
    double area = 0;
    for (int i = 0; i < count; i++) area += left[i].x * left[(i + 1) % count].y - left[(i + 1) % count].x * left[i].y;
    return std::abs(area);
}

} // namespace

void overlaps_of_rotated(DType dtype, const void* const boxes[2], const int64_t counts[2], float* result) {
    for_type(real_types, dtype, "box_iou_rotated", [&](auto zero) {
        using T = decltype(zero);
        for (int64_t i = 0; i < counts[0]; i++)
            for (int64_t j = 0; j < counts[1]; j++) {
                const T* box[2] = {static_cast<const T*>(boxes[0]) + 5 * i, static_cast<const T*>(boxes[1]) + 5 * j};
                Corner corners[2][4];
                double area[2];
                for (int k = 0; k < 2; k++) {
                    // About the first box's centre, where few digits are lost.
                    const double x = static_cast<double>(box[k][0]) - static_cast<double>(box[0][0]),
                                 y = static_cast<double>(box[k][1]) - static_cast<double>(box[0][1]);
                    const double width = static_cast<double>(box[k][2]), height = static_cast<double>(box[k][3]),
                                 angle = static_cast<double>(box[k][4]) * 0.017453292519943295;
                    const Corner along{std::cos(angle) * width / 2, -std::sin(angle) * width / 2},
                        down{std::sin(angle) * height / 2, std::cos(angle) * height / 2};
                    for (int corner = 0; corner < 4; corner++) {
                        const double s = corner < 2 ? 1 : -1, t = corner == 0 || corner == 3 ? 1 : -1;
                        corners[k][corner] = {x + s * along.x + t * down.x, y + s * along.y + t * down.y};
                    }
                    area[k] = width * height;
                }
                const double common = area[0] < 1e-14 || area[1] < 1e-14 ? 0 : common_area(corners[0], corners[1]) / 2;
                result[i * counts[1] + j] = static_cast<float>(common == 0 ? 0 : common / (area[0] + area[1] - common));
            }
    });
}

namespace {

/// The position of one tap: the four pixels around it, some of which are outside.
template <class T> struct Between {
    int64_t place[4]; // -1: outside
    T weight[4], down[4], along[4];
    Between(const Deformed& d, T y, T x) {
        const T height = static_cast<T>(d.in[0]), width = static_cast<T>(d.in[1]);
        if (!(y > -1 && y < height && x > -1 && x < width)) {
            for (int i = 0; i < 4; i++) place[i] = -1, weight[i] = down[i] = along[i] = 0;
            return;
        }
        const T floor_y = std::floor(y), floor_x = std::floor(x), ly = y - floor_y, lx = x - floor_x;
        for (int i = 0; i < 4; i++) {
            const int64_t py = static_cast<int64_t>(floor_y) + i / 2, px = static_cast<int64_t>(floor_x) + i % 2;
            const T wy = i / 2 ? ly : 1 - ly, wx = i % 2 ? lx : 1 - lx;
            place[i] = py >= 0 && py < d.in[0] && px >= 0 && px < d.in[1] ? py * d.in[1] + px : -1;
            weight[i] = wy * wx;
            down[i] = i / 2 ? wx : -wx;
            along[i] = i % 2 ? wy : -wy;
        }
    }
};

/// Calls f(group, tap, position, pixels around it, mask) for all.
template <class T, class F> void each_place(const Deformed& d, const void* offset, const void* mask, int64_t first, int64_t past, F f) {
    const int64_t taps = d.kernel[0] * d.kernel[1], places = d.out[0] * d.out[1];
    for (int64_t group_tap = first; group_tap < past; group_tap++) {
        const int64_t tap = group_tap % taps;
        const T* moved = static_cast<const T*>(offset) + group_tap * 2 * places;
        for (int64_t place = 0; place < places; place++) {
            const int64_t y = place / d.out[1] * d.stride[0] - d.padding[0] + tap / d.kernel[1] * d.dilation[0];
            const int64_t x = place % d.out[1] * d.stride[1] - d.padding[1] + tap % d.kernel[1] * d.dilation[1];
            const Between<T> between(d, static_cast<T>(y) + moved[place], static_cast<T>(x) + moved[places + place]);
            f(group_tap / taps, tap, place, between, mask ? static_cast<const T*>(mask)[group_tap * places + place] : T(1));
        }
    }
}

} // namespace

void deformed_columns(const Deformed& d, const void* image, const void* offset, const void* mask, void* columns) {
    const int64_t taps = d.kernel[0] * d.kernel[1], places = d.out[0] * d.out[1], together = d.channels / d.groups,
                  plane = d.in[0] * d.in[1];
    for_type(real_types, d.dtype, "deformable_im2col", [&](auto zero) {
        using T = decltype(zero);
        parallel_for(0, d.groups * taps, std::max<int64_t>(1, 20000 / std::max<int64_t>(1, places * together * 4)),
                     [&](int64_t first, int64_t past) {
                         each_place<T>(d, offset, mask, first, past,
                                       [&](int64_t group, int64_t tap, int64_t place, const Between<T>& at, T factor) {
                                           for (int64_t c = group * together; c < (group + 1) * together; c++) {
                                               const T* from = static_cast<const T*>(image) + c * plane;
                                               T sum = 0;
                                               for (int i = 0; i < 4; i++)
                                                   if (at.place[i] >= 0) sum += at.weight[i] * from[at.place[i]];
                                               static_cast<T*>(columns)[(c * taps + tap) * places + place] = factor * sum;
                                           }
                                       });
                     });
    });
}

void deformed_columns_gradient(const Deformed& d, const void* grad_columns, const void* image, const void* offset, const void* mask,
                               void* grad_image, void* grad_offset, void* grad_mask) {
    const int64_t taps = d.kernel[0] * d.kernel[1], places = d.out[0] * d.out[1], together = d.channels / d.groups,
                  plane = d.in[0] * d.in[1];
    for_type(real_types, d.dtype, "deformable_col2im", [&](auto zero) {
        using T = decltype(zero);
        parallel_for(0, d.groups, 1, [&](int64_t begin, int64_t end) { // the taps of a group write to the same pixels
            each_place<T>(d, offset, mask, begin * taps, end * taps,
                          [&](int64_t group, int64_t tap, int64_t place, const Between<T>& at, T factor) {
                              T down = 0, along = 0, value = 0;
                              for (int64_t c = group * together; c < (group + 1) * together; c++) {
                                  const T grad = static_cast<const T*>(grad_columns)[(c * taps + tap) * places + place];
                                  const T* from = static_cast<const T*>(image) + c * plane;
                                  T* to = static_cast<T*>(grad_image) + c * plane;
                                  for (int i = 0; i < 4; i++) {
                                      if (at.place[i] < 0) continue;
                                      const T pixel = from[at.place[i]] * grad;
                                      down += at.down[i] * pixel;
                                      along += at.along[i] * pixel;
                                      value += at.weight[i] * pixel;
                                      to[at.place[i]] += factor * at.weight[i] * grad;
                                  }
                              }
                              T* moved = static_cast<T*>(grad_offset) + (group * taps + tap) * 2 * places + place;
                              moved[0] = factor * down;
                              moved[places] = factor * along;
                              if (grad_mask) static_cast<T*>(grad_mask)[(group * taps + tap) * places + place] = value;
                          });
        });
    });
}

} // namespace kindling::library
