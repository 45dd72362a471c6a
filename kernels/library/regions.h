// kernels/library/regions.h: pooling over regions of planes (RoIAlign and its kin), boxes that overlap, and the columns of
// deformable convolutions. float32 and float64; all tensors contiguous.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// Regions [count, 5]: the number of an image in [0, images), then x1, y1, x2, y2, which `scale` brings to pixels. Each is cut into
/// rows x columns cells. Input [images, channels, height, width], output [count, cell_channels, rows, columns].
struct Regions {
    DType dtype;
    bool by_position;      // a cell reads a channel of its own: (c * rows + row) * columns + column
    bool is_sampled;       // a cell reads the image between pixels at points inside of it, else at the pixels that it covers
    bool half_pixel;       // of what is sampled: pixel centres lie at .5, and a region may be of any size
    int64_t sampling;      // points in a cell along each dimension; at most 0: one a pixel
    double scale;
    int64_t count, images, channels, height, width, cell_channels, rows, columns;
};
/// Means of cells. RuntimeError for a region of an image that is not there.
void region_means(const Regions& r, const void* input, const void* regions, void* output);
/// grad_input is overwritten.
void region_means_gradient(const Regions& r, const void* grad, const void* regions, void* grad_input);
/// Maxima of cells and their places in their planes: -1 (and a maximum of 0) where a cell covers nothing.
void region_maxima(const Regions& r, const void* input, const void* regions, void* output, int32_t* places);
void region_maxima_gradient(const Regions& r, const void* grad, const void* regions, const int32_t* places, void* grad_input);

/// Of boxes [count, 4] (x1, y1, x2, y2), best first: writes which stay when each that stays takes those behind it away that overlap
/// it by more than `threshold` (intersection over union). Returns how many.
int64_t boxes_to_keep(DType dtype, const void* boxes, int64_t count, double threshold, int64_t* kept);

/// Columns [channels * taps, places] of one image of a convolution whose taps are moved by offsets
/// [groups, taps, (y, x), places], and weighted by mask [groups, taps, places], if it is given.
struct Deformed {
    DType dtype;
    int64_t channels, groups, in[2], kernel[2], out[2], stride[2], padding[2], dilation[2];
};
void deformed_columns(const Deformed& d, const void* image, const void* offset, const void* mask, void* columns);
/// grad_image is added to; grad_offset and grad_mask (null where there is no mask) are overwritten.
void deformed_columns_gradient(const Deformed& d, const void* grad_columns, const void* image, const void* offset, const void* mask,
                               void* grad_image, void* grad_offset, void* grad_mask);

}  // namespace kindling::library
