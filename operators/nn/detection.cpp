// operators/nn/detection.cpp: what torchvision registers in C++, under its names: torch.ops.torchvision.nms and its kin.
#include "core/dispatch.h"
#include "core/shape.h"
#include "generated/functions.h"
#include "kernels/library/images/regions.h"
#include "kernels/library/indexing/sorting.h"
#include "operators/declare.h"

namespace kindling {
namespace {

using library::Regions;

/// The dtype that kernels work in: halves go by way of float.
DType worked(DType dtype) { return dtype == DType::Float16 ? DType::Float32 : dtype; }
Tensor plain(const Tensor& x) { return contiguous(to(x, worked(x.dtype()))); }

struct Pooling {
    const char* name;
    bool by_position = false, is_sampled = false, half_pixel = false;
    int64_t sampling = 0;
};

Regions regions(const Pooling& kind, IntList input, const Tensor& rois, DType dtype, double scale, int64_t rows, int64_t columns) {
    KINDLING_CHECK(Runtime, input.size() == 4, "%s: input must have shape as Tensor[N, C, H, W], not %s", kind.name, str(input).c_str());
    KINDLING_CHECK(Runtime, rois.dim() == 2 && rois.size(1) == 5, "%s: rois must have shape as Tensor[K, 5], not %s", kind.name,
                   str(rois.sizes()).c_str());
    KINDLING_CHECK(Runtime, dtype == rois.dtype(), "%s: expected input and rois to have the same type, but got %s and %s", kind.name,
                   name(dtype), name(rois.dtype()));
    KINDLING_CHECK(Runtime, rows > 0 && columns > 0, "%s: output size must be positive, but got %ld by %ld", kind.name, rows, columns);
    const int64_t cells = kind.by_position ? rows * columns : 1;
    KINDLING_CHECK(Runtime, input[1] % cells == 0,
                   "%s: input channels must be a multiple of pooling height * pooling width, but there are %ld for %ld cells", kind.name,
                   input[1], cells);
    return {worked(dtype), kind.by_position, kind.is_sampled, kind.half_pixel, kind.sampling,    scale, rois.size(0),
            input[0],      input[1],         input[2],        input[3],        input[1] / cells, rows,  columns};
}

Regions means(KernelCall& call, const Pooling& kind, const Tensor& input, const Tensor& rois, double scale, int64_t rows, int64_t columns) {
    const Regions r = regions(kind, input.sizes(), rois, input.dtype(), scale, rows, columns);
    const Sizes sizes{r.count, r.cell_channels, rows, columns};
    call.reads(input, r.dtype);
    call.reads(rois, r.dtype);
    call.gives(sizes, input.dtype()).computed_in(r.dtype);
    if (kind.by_position) call.gives(sizes, DType::Int32); // which channel each cell read
    call.costs(16 * checked_numel(sizes));
    return r;
}
constexpr auto region_means = [](const Regions& r, const Array& input, const Array& rois, const Array& result) {
    library::region_means(r, input.data(), rois.data(), result.data());
};
constexpr auto region_means_by_position = [](const Regions& r, const Array& input, const Array& rois, const Array& result,
                                             const Array& channels) {
    region_means(r, input, rois, result);
    const int64_t cells = r.cell_channels * r.rows * r.columns;
    for (int64_t i = 0; i < channels.numel(); i++) channels.data_ptr<int32_t>()[i] = static_cast<int32_t>(i % cells);
};

Regions gradient(KernelCall& call, const Pooling& kind, const Tensor& grad, const Tensor& rois, double scale, int64_t rows, int64_t columns,
                 IntList sizes) {
    const Regions r = regions(kind, sizes, rois, grad.dtype(), scale, rows, columns);
    const Sizes expected{r.count, r.cell_channels, rows, columns};
    KINDLING_CHECK(Runtime, grad.sizes() == IntList(expected), "%s: expected a gradient of shape %s, but got %s", kind.name,
                   str(IntList(expected)).c_str(), str(grad.sizes()).c_str());
    call.reads(grad, r.dtype);
    call.reads(rois, r.dtype);
    call.gives(sizes, grad.dtype()).computed_in(r.dtype);
    call.costs(16 * grad.numel());
    return r;
}
constexpr auto region_means_gradient = [](const Regions& r, const Array& grad, const Array& rois, const Array& result) {
    library::region_means_gradient(r, grad.data(), rois.data(), result.data());
};

constexpr Pooling max_pooling{"roi_pool"}, position_pooling{"ps_roi_pool", true};
constexpr Pooling alignment(int64_t sampling, bool aligned) { return {"roi_align", false, true, aligned, sampling}; }
constexpr Pooling position_alignment(int64_t sampling) { return {"ps_roi_align", true, true, true, sampling}; }

/// The sizes of a deformable convolution; RuntimeError where they do not fit.
struct Deformable : library::Deformed {
    int64_t images, outputs, weight_groups;
    bool masked;
    Deformable(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask, const Tensor& bias,
               const int64_t (&sizes)[6], int64_t weight_groups_, int64_t offset_groups, bool use_mask)
        : weight_groups(weight_groups_), masked(use_mask) {
        auto ask = [](bool good, const char* what) { KINDLING_CHECK(Runtime, good, "deform_conv2d: %s", what); };
        ask(input.dim() == 4 && offset.dim() == 4 && weight.dim() == 4 && (!use_mask || mask.dim() == 4),
            "input, offset, weight and mask must have four dimensions");
        for (const Tensor* each : {&weight, &offset, &bias})
            ask(each->dtype() == input.dtype(), "input, weight, offset and bias must have one dtype");
        ask(!use_mask || mask.dtype() == input.dtype(), "input and mask must have one dtype");
        ask(weight_groups > 0 && offset_groups > 0, "groups must be positive");
        dtype = worked(input.dtype());
        images = input.size(0);
        channels = input.size(1);
        groups = offset_groups;
        outputs = weight.size(0);
        for (int d = 0; d < 2; d++) {
            in[d] = input.size(2 + d);
            kernel[d] = weight.size(2 + d);
            stride[d] = sizes[d];
            padding[d] = sizes[2 + d];
            dilation[d] = sizes[4 + d];
            ask(kernel[d] > 0 && stride[d] > 0 && padding[d] >= 0 && dilation[d] > 0,
                "kernel, stride and dilation must be positive, and padding not negative");
            out[d] = (in[d] + 2 * padding[d] - (dilation[d] * (kernel[d] - 1) + 1)) / stride[d] + 1;
            ask(in[d] + 2 * padding[d] >= dilation[d] * (kernel[d] - 1) + 1, "the kernel is larger than the padded input");
        }
        const int64_t taps = groups * kernel[0] * kernel[1];
        KINDLING_CHECK(Runtime, channels == weight.size(1) * weight_groups && outputs % weight_groups == 0 && channels % groups == 0,
                       "deform_conv2d: %ld input channels and a weight of shape %s do not fit %ld groups and %ld offset groups", channels,
                       str(weight.sizes()).c_str(), weight_groups, groups);
        auto places = [&](const Tensor& given, int64_t count, const char* what) {
            const Sizes expected{images, count, out[0], out[1]};
            KINDLING_CHECK(Runtime, given.sizes() == IntList(expected), "deform_conv2d: expected %s of shape %s, but got %s", what,
                           str(IntList(expected)).c_str(), str(given.sizes()).c_str());
        };
        places(offset, 2 * taps, "offset");
        if (use_mask) places(mask, taps, "mask");
        KINDLING_CHECK(Runtime, bias.dim() == 1 && bias.size(0) == outputs, "deform_conv2d: expected bias of shape [%ld], but got %s",
                       outputs, str(bias.sizes()).c_str());
    }
    int64_t places() const { return out[0] * out[1]; }
    int64_t taps() const { return kernel[0] * kernel[1]; }
    /// The weight, or columns, of each group.
    Tensor by_group(const Tensor& x, int64_t rows) const {
        return view(x, {weight_groups, rows / weight_groups, x.numel() / (rows ? rows : 1)});
    }
};

struct Kept {
    double threshold;
    std::vector<int64_t> boxes;
};

} // namespace
} // namespace kindling

OPERATORS(detection) {
    declare("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")({
        doc("The boxes (x1, y1, x2, y2) that stay when each, best first, takes those away that overlap it by more (greedy non-maximum "
            "suppression)"),
        not_differentiable(),
        shape_by_value(),
        takes(kind::Float),
        kernel(
            [](KernelCall& call, const Tensor& dets, const Tensor& scores, double iou_threshold) {
                KINDLING_CHECK(Runtime, dets.dim() == 2, "boxes should be a 2d tensor, got %ldD", dets.dim());
                KINDLING_CHECK(Runtime, dets.size(1) == 4, "boxes should have 4 elements in dimension 1, got %ld", dets.size(1));
                KINDLING_CHECK(Runtime, scores.dim() == 1, "scores should be a 1d tensor, got %ldD", scores.dim());
                KINDLING_CHECK(Runtime, dets.size(0) == scores.size(0),
                               "boxes and scores should have same number of elements in dimension 0, got %ld and %ld", dets.size(0),
                               scores.size(0));
                KINDLING_CHECK(Runtime, dets.dtype() == scores.dtype(), "dets should have the same type as scores");
                call.reads(dets);
                call.reads(scores);
                call.costs(dets.size(0) * dets.size(0));
                return Kept{iou_threshold, {}};
            },
            [](Kept& kept, KernelCall& call, const Array& dets, const Array& scores) {
                const int64_t count = dets.size(0);
                std::vector<int64_t> best(static_cast<size_t>(count));
                library::sort({scores.dtype(), 1, count, 1}, scores.data(), nullptr, best.data(), true);
                kept.boxes = library::boxes_to_keep(dets.dtype(), dets.data(), best, kept.threshold);
                call.gives({static_cast<int64_t>(kept.boxes.size())}, DType::Int64);
            },
            [](const Kept& kept, const Array&, const Array&, const Array& result) {
                std::copy(kept.boxes.begin(), kept.boxes.end(), result.data_ptr<int64_t>());
            }),
    });
    declare("torchvision::box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor")({
        doc("Intersection over union of each pair of rotated boxes (centre x, y, width, height, degrees)"),
        not_differentiable(),
        takes(kind::Float),
        kernel(
            [](KernelCall& call, const Tensor& boxes1, const Tensor& boxes2) {
                for (const Tensor* each : {&boxes1, &boxes2})
                    KINDLING_CHECK(Runtime, each->dim() == 2 && each->size(1) == 5, "boxes should have shape [N, 5], got %s",
                                   str(each->sizes()).c_str());
                KINDLING_CHECK(Runtime, boxes1.dtype() == boxes2.dtype(), "boxes should have the same type");
                const Sizes sizes{boxes1.size(0), boxes2.size(0)};
                const DType dtype = worked(boxes1.dtype());
                call.reads(boxes1, dtype);
                call.reads(boxes2, dtype);
                call.gives(sizes, DType::Float32);
                call.costs(400 * checked_numel(sizes));
                return dtype;
            },
            [](DType dtype, const Array& first, const Array& second, const Array& result) {
                const void* boxes[] = {first.data(), second.data()};
                const int64_t counts[] = {first.size(0), second.size(0)};
                library::overlaps_of_rotated(dtype, boxes, counts, result.data_ptr<float>());
            }),
    });
    declare("torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
            "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor")({
        doc("The mean of points between the pixels in each cell of regions (RoIAlign; He et al., 2017)"),
        takes(kind::Floats),
        raises_by_value(),
        kernel(
            [](KernelCall& call, const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height, int64_t pooled_width,
               int64_t sampling_ratio, bool aligned) {
                return means(call, alignment(sampling_ratio, aligned), input, rois, spatial_scale, pooled_height, pooled_width);
            },
            region_means),
        derivative(
            "input",
            GIVEN(Tensor grad, IntList input_sizes, Tensor rois, double spatial_scale, int64_t pooled_height, int64_t pooled_width,
                  int64_t sampling_ratio, bool aligned) {
                return torchvision__roi_align_backward(grad, rois, spatial_scale, pooled_height, pooled_width, input_sizes[0],
                                                       input_sizes[1], input_sizes[2], input_sizes[3], sampling_ratio, aligned);
            }),
    });
    declare("torchvision::_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height, "
            "SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width, int sampling_ratio, bool aligned) -> "
            "Tensor")({
        doc("The gradient of roi_align's input"),
        takes(kind::Floats),
        no_derivative(),
        kernel(
            [](KernelCall& call, const Tensor& grad, const Tensor& rois, double spatial_scale, int64_t pooled_height, int64_t pooled_width,
               int64_t batch_size, int64_t channels, int64_t height, int64_t width, int64_t sampling_ratio, bool aligned) {
                return gradient(call, alignment(sampling_ratio, aligned), grad, rois, spatial_scale, pooled_height, pooled_width,
                                {batch_size, channels, height, width});
            },
            region_means_gradient),
    });
    declare("torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
            "SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)")({
        doc("roi_align where each cell reads a channel of its own, and which that was (Li et al., 2017)"),
        takes(kind::Floats),
        raises_by_value(),
        kernel(
            [](KernelCall& call, const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height, int64_t pooled_width,
               int64_t sampling_ratio) {
                return means(call, position_alignment(sampling_ratio), input, rois, spatial_scale, pooled_height, pooled_width);
            },
            region_means_by_position),
        derivative(
            "input",
            GIVEN(Tensor grad, IntList input_sizes, Tensor rois, Tensor result1, double spatial_scale, int64_t pooled_height,
                  int64_t pooled_width, int64_t sampling_ratio) {
                return torchvision__ps_roi_align_backward(grad, rois, result1, spatial_scale, pooled_height, pooled_width, sampling_ratio,
                                                          input_sizes[0], input_sizes[1], input_sizes[2], input_sizes[3]);
            }),
    });
    declare("torchvision::_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
            "SymInt pooled_height, SymInt pooled_width, int sampling_ratio, SymInt batch_size, SymInt channels, SymInt height, SymInt "
            "width) -> Tensor")({
        doc("The gradient of ps_roi_align's input"),
        takes(kind::Floats),
        no_derivative(),
        kernel(
            [](KernelCall& call, const Tensor& grad, const Tensor& rois, const Tensor&, double spatial_scale, int64_t pooled_height,
               int64_t pooled_width, int64_t sampling_ratio, int64_t batch_size, int64_t channels, int64_t height, int64_t width) {
                return gradient(call, position_alignment(sampling_ratio), grad, rois, spatial_scale, pooled_height, pooled_width,
                                {batch_size, channels, height, width});
            },
            region_means_gradient),
    });
    declare("torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
            "SymInt pooled_width) -> (Tensor, Tensor)")({
        doc("The mean of the pixels in each cell of regions, each cell in a channel of its own, and which that was (R-FCN; Dai et al., "
            "2016)"),
        takes(kind::Floats),
        raises_by_value(),
        kernel([](KernelCall& call, const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                  int64_t pooled_width) { return means(call, position_pooling, input, rois, spatial_scale, pooled_height, pooled_width); },
               region_means_by_position),
        derivative(
            "input",
            GIVEN(Tensor grad, IntList input_sizes, Tensor rois, Tensor result1, double spatial_scale, int64_t pooled_height,
                  int64_t pooled_width) {
                return torchvision__ps_roi_pool_backward(grad, rois, result1, spatial_scale, pooled_height, pooled_width, input_sizes[0],
                                                         input_sizes[1], input_sizes[2], input_sizes[3]);
            }),
    });
    declare("torchvision::_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
            "SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor")({
        doc("The gradient of ps_roi_pool's input"),
        takes(kind::Floats),
        no_derivative(),
        kernel(
            [](KernelCall& call, const Tensor& grad, const Tensor& rois, const Tensor&, double spatial_scale, int64_t pooled_height,
               int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height, int64_t width) {
                return gradient(call, position_pooling, grad, rois, spatial_scale, pooled_height, pooled_width,
                                {batch_size, channels, height, width});
            },
            region_means_gradient),
    });
    declare("torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
            "SymInt pooled_width) -> (Tensor, Tensor)")({
        doc("The maximum of each cell of regions, and where it is in its plane (Fast R-CNN; Girshick, 2015)"),
        takes(kind::Floats),
        raises_by_value(),
        kernel(
            [](KernelCall& call, const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
               int64_t pooled_width) {
                const Regions r = means(call, max_pooling, input, rois, spatial_scale, pooled_height, pooled_width);
                call.gives({r.count, r.channels, r.rows, r.columns}, DType::Int32);
                return r;
            },
            [](const Regions& r, const Array& input, const Array& rois, const Array& result, const Array& places) {
                library::region_maxima(r, input.data(), rois.data(), result.data(), places.data_ptr<int32_t>());
            }),
        derivative(
            "input",
            GIVEN(Tensor grad, IntList input_sizes, Tensor rois, Tensor result1, double spatial_scale, int64_t pooled_height,
                  int64_t pooled_width) {
                return torchvision__roi_pool_backward(grad, rois, result1, spatial_scale, pooled_height, pooled_width, input_sizes[0],
                                                      input_sizes[1], input_sizes[2], input_sizes[3]);
            }),
    });
    declare("torchvision::_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, "
            "SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor")({
        doc("The gradient of roi_pool's input"),
        takes(kind::Floats),
        no_derivative(),
        kernel(
            [](KernelCall& call, const Tensor& grad, const Tensor& rois, const Tensor& argmax, double spatial_scale, int64_t pooled_height,
               int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height, int64_t width) {
                const Regions r = gradient(call, max_pooling, grad, rois, spatial_scale, pooled_height, pooled_width,
                                           {batch_size, channels, height, width});
                KINDLING_CHECK(Runtime, argmax.sizes() == grad.sizes() && argmax.dtype() == DType::Int32,
                               "roi_pool: expected an argmax of int32 and of the gradient's shape");
                call.reads(argmax);
                return r;
            },
            [](const Regions& r, const Array& grad, const Array& rois, const Array& argmax, const Array& result) {
                library::region_maxima_gradient(r, grad.data(), rois.data(), argmax.data_ptr<int32_t>(), result.data());
            }),
    });
    declare("torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
            "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt "
            "offset_groups, bool use_mask) -> Tensor")({
        doc("A convolution whose taps are moved by offsets, and weighted by a mask (Dai et al., 2017; Zhu et al., 2018)"),
        takes(kind::Floats),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask, const Tensor& bias,
                       int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w,
                       int64_t groups, int64_t offset_groups, bool use_mask) {
            const Deformable d(input, weight, offset, mask, bias, {stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w}, groups,
                               offset_groups, use_mask);
            Tensor x = plain(input), w = d.by_group(plain(weight), d.outputs), moved = plain(offset),
                   factor = use_mask ? plain(mask) : Tensor();
            Tensor columns = make_tensor({d.channels * d.taps(), d.places()}, d.dtype, input.device());
            std::vector<Tensor> images;
            for (int64_t n = 0; n < d.images; n++) {
                if (!columns.is_meta())
                    library::deformed_columns(d, select(x, 0, n).data(), select(moved, 0, n).data(),
                                              use_mask ? select(factor, 0, n).data() : nullptr, columns.data());
                images.push_back(view(bmm(w, d.by_group(columns, d.channels * d.taps())), {d.outputs, d.out[0], d.out[1]}));
            }
            Tensor result = images.empty() ? make_tensor({0, d.outputs, d.out[0], d.out[1]}, d.dtype, input.device()) : stack(images, 0);
            return to(add(result, view(plain(bias), {1, d.outputs, 1, 1})), input.dtype());
        }),
        derivative(
            "input, weight, offset, mask, bias",
            GIVEN(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int64_t stride_h, int64_t stride_w,
                  int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups,
                  bool use_mask) {
                return torchvision__deform_conv2d_backward(grad, input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w,
                                                           dilation_h, dilation_w, groups, offset_groups, use_mask);
            }),
    });
    declare("torchvision::_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, "
            "Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt "
            "groups, SymInt offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)")({
        doc("The gradients of deform_conv2d's input, weight, offset, mask and bias"),
        takes(kind::Floats),
        no_derivative(),
        composition([](const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                       const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
                       int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask) {
            const Deformable d(input, weight, offset, mask, bias, {stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w}, groups,
                               offset_groups, use_mask);
            Tensor g = plain(grad), x = plain(input), w = d.by_group(plain(weight), d.outputs), moved = plain(offset),
                   factor = use_mask ? plain(mask) : Tensor();
            Tensor grad_input = zeros_like(x), grad_weight = zeros_like(w), grad_offset = empty_like(moved),
                   grad_mask = use_mask ? empty_like(factor) : zeros_like(mask);
            Tensor columns = make_tensor({d.channels * d.taps(), d.places()}, d.dtype, input.device()),
                   by_group = d.by_group(columns, d.channels * d.taps());
            for (int64_t n = 0; n < d.images; n++) {
                Tensor of_image = d.by_group(select(g, 0, n), d.outputs), image = select(x, 0, n), places = select(moved, 0, n),
                       weights = use_mask ? select(factor, 0, n) : Tensor();
                if (!columns.is_meta())
                    library::deformed_columns(d, image.data(), places.data(), use_mask ? weights.data() : nullptr, columns.data());
                grad_weight = add(grad_weight, bmm(of_image, transpose(by_group, 1, 2)));
                Tensor grad_columns = bmm(transpose(w, 1, 2), of_image);
                if (!columns.is_meta())
                    library::deformed_columns_gradient(d, grad_columns.data(), image.data(), places.data(),
                                                       use_mask ? weights.data() : nullptr, select(grad_input, 0, n).data(),
                                                       select(grad_offset, 0, n).data(),
                                                       use_mask ? select(grad_mask, 0, n).data() : nullptr);
            }
            const DType dtype = input.dtype();
            const int64_t rest[] = {0, 2, 3};
            return std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(to(grad_input, dtype), to(view(grad_weight, weight.sizes()), dtype),
                                                                      to(grad_offset, dtype), to(grad_mask, dtype),
                                                                      to(sum(g, IntList(rest, 3)), dtype));
        }),
    });
    declare("torchvision::_cuda_version() -> int")({
        doc("-1: built without CUDA"),
        not_differentiable(),
        composition([]() { return int64_t{-1}; }),
    });
}
