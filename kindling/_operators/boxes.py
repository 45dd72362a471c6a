"""Operators of torchvision's library on quantised tensors: they have a signature, so that torchvision can refer to them, and no kernel."""
from kindling import library

library.define("torchvision::qnms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
library.define("torchvision::qroi_align", "(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
               "int sampling_ratio, bool aligned) -> Tensor")
