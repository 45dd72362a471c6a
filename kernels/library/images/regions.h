// kernels/library/images/regions.h: pooling over regions of planes (RoIAlign and the like), overlapping boxes, and the columns
// of deformable convolutions. float32 and float64; all tensors contiguous.
#pragma once
#include <cstdint>
#include <vector>

#include "core/dtype.h"

namespace kindling::library {

/// Regions [count, 5]: the number of an image in [0, images), then x1, y1, x2, y2, which `scale` converts to pixels.
/// Each is divided into rows x columns cells. Input [images, channels, height, width], output [count, cell_channels,
/// rows, columns].
struct Regions {
    DType dtype;
    bool by_position; // a cell reads a channel of its own: (c * rows + row) * columns + column
    bool is_sampled;  // a cell interpolates the image at points inside of it; otherwise it reads the pixels that it covers
    bool half_pixel;  // for sampled cells: pixel centres are at .5, and a region may have any size
    int64_t sampling; // points per cell along each dimension; at most 0: one per pixel
    double scale;
    int64_t count, images, channels, height, width, cell_channels, rows, columns;
};
/// Means of cells. RuntimeError for a region of an image that does not exist.
void region_means(const Regions& r, const void* input, const void* regions, void* output);
/// grad_input is overwritten.
void region_means_gradient(const Regions& r, const void* grad, const void* regions, void* grad_input);
/// Maxima of cells and their positions in their planes: -1 (and a maximum of 0) if a cell covers nothing.
void region_maxima(const Regions& r, const void* input, const void* regions, void* output, int32_t* places);
void region_maxima_gradient(const Regions& r, const void* grad, const void* regions, const int32_t* places, void* grad_input);

/// Non-maximum suppression of boxes [count, 4] (x1, y1, x2, y2), in the order `best`. A box that is kept removes later ones
/// that overlap it by more than `threshold` (intersection over union). Gives those that are kept.
std::vector<int64_t> boxes_to_keep(DType dtype, const void* boxes, const std::vector<int64_t>& best, double threshold);

/// Intersection over union [counts[0], counts[1]] of boxes (centre x, y, width, height, degrees counterclockwise, y downwards).
void overlaps_of_rotated(DType dtype, const void* const boxes[2], const int64_t counts[2], float* result);

/// Columns [channels * taps, positions] of one image of a convolution whose taps are displaced by offsets [groups,
/// taps, (y, x), positions], and weighted by mask [groups, taps, positions], if it is given.
struct Deformed {
    DType dtype;
    int64_t channels, groups, in[2], kernel[2], out[2], stride[2], padding[2], dilation[2];
};
void deformed_columns(const Deformed& d, const void* image, const void* offset, const void* mask, void* columns);
/// Accumulates to grad_image. Overwrites grad_offset and grad_mask (null if there is no mask).
void deformed_columns_gradient(const Deformed& d, const void* grad_columns, const void* image, const void* offset, const void* mask,
                               void* grad_image, void* grad_offset, void* grad_mask);

} // namespace kindling::library
