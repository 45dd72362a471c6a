// operators/tensors/copying.cpp: copies, conversions and what shares or resizes memory.
#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/loops.h"

namespace kindling {

Tensor cast_for_autocast(const Tensor& tensor, DType dtype) { return to(tensor, dtype); }

namespace {

MemoryFormat chosen(const std::optional<MemoryFormat>& format) { return format.value_or(MemoryFormat::Preserve); }

Device device_or(const std::optional<Device>& device, const Tensor& self) { return device.value_or(self.device()); }

/// What a rule says of a copy on another device or of another dtype.
void copies(KernelCall& call, const Tensor& self, DType dtype, Device device, MemoryFormat format) {
    KINDLING_CHECK(NotImplemented, !self.is_meta() || device.type == DeviceType::Meta, "Cannot copy out of meta tensor; no data!");
    call.on(device);
    KernelCall::Result& result = call.gives(self.sizes(), dtype).written_as_it_lies();
    if (format == MemoryFormat::Preserve) result.preserves(self);
    else if (format != MemoryFormat::Contiguous) result.laid_out(format_strides(self.sizes(), format));
    if (is_private(device.type) || self.impl()->key & key::Private) return call.declines();
    call.along(self, 0, DType::None);
    call.reads_as_it_lies(self);
}
constexpr auto itself = [](auto x) { return x; };
/// The same from a plug-in's device, or to one.
Tensor copied_between_devices(const Tensor& self, DType dtype, Device device, MemoryFormat format) {
    const Sizes strides = format == MemoryFormat::Preserve
                              ? preserved_strides(self.sizes(), self.strides(), self.impl()->non_overlapping_dense)
                              : format_strides(self.sizes(), format);
    Tensor result = make_tensor(self.sizes(), strides, dtype, device);
    copy_into(result, self);
    return result;
}

/// A size that is there already leaves the strides alone, unless a format asks for others.
void resized(const Tensor& self, IntList size, std::optional<MemoryFormat> format) {
    KINDLING_CHECK(Runtime, format != MemoryFormat::Preserve, "Unsupported memory format Preserve");
    KINDLING_CHECK(Runtime, !self.impl()->uncounted || thread_state.inference_mode || self.sizes() == size,
                   "Inplace update to inference tensor outside InferenceMode is not allowed.");
    if (self.sizes() != size && !self.impl()->uncounted) self.bump_version();
    if (format || self.sizes() != size) resize_tensor(self, size, format_strides(size, format.value_or(MemoryFormat::Contiguous)));
}

/// Whether both are the same elements of the same memory, read in the same way.
bool is_there_already(const TensorImpl& to, const TensorImpl& from) {
    return from.storage == to.storage && from.offset == to.offset && from.dtype == to.dtype && !((from.key ^ to.key) & key::lazy) &&
           from.sizes() == to.sizes() && from.strides() == to.strides() && to.device.type != DeviceType::Meta;
}

template <class A, class B> DType joint_type(const A& a, const B& b) {
    ResultType type;
    type.add(a);
    type.add(b);
    return type.get();
}

} // namespace
} // namespace kindling

namespace kindling {

Tensor clone_with_strides(const Tensor& self) {
    for (int64_t d = 0; d < self.dim(); d++)
        if (self.size(d) > 1 && self.stride(d) == 0) return clone(self);
    if (batch_behind(self)) return clone(self);
    Tensor result = make_tensor({static_cast<int64_t>(self.storage()->bytes / self.element_size())}, self.dtype(),
                                self.device()); // all of it: another view may reach there
    result.impl()->set_shape(self.sizes(), self.strides());
    result.impl()->offset = self.storage_offset();
    copy_(result, self);
    return result;
}

} // namespace kindling

OPERATORS(copying) {
    declare("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor")({
        doc("A copy; keeps dense strides unless a memory format is given"),
        by_host(),
        linear(),
        takes_float8(),
        no_out(),
        elements([](KernelCall& call, const Tensor& self,
                    std::optional<MemoryFormat> memory_format) { copies(call, self, self.dtype(), self.device(), chosen(memory_format)); },
                 itself),
        otherwise([](const Tensor& self, std::optional<MemoryFormat> memory_format) {
            return copied_between_devices(self, self.dtype(), self.device(), chosen(memory_format));
        }),
        derivative(
            "self", GIVEN(Tensor grad) { return grad; }),
    });
    declare("contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)")({
        doc("The tensor itself if its memory is in order, else a copy that is"),
        takes_float8(),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, MemoryFormat memory_format) {
            if (self.is_contiguous(memory_format == MemoryFormat::Preserve ? MemoryFormat::Contiguous : memory_format)) return self;
            KINDLING_CHECK(Runtime, memory_format != MemoryFormat::Preserve,
                           "preserve memory format is unsupported by the contiguous operator");
            return clone(self, memory_format);
        }),
    });
    declare("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)")({
        doc("Writes src into self, broadcast and converted"),
        by_host(),
        broadcasts(),
        linear(),
        takes_float8(),
        in(space::Method),
        keeps_conj(),
        elements(
            [](KernelCall& call, const Tensor& self, const Tensor& src, bool) {
                KINDLING_CHECK(NotImplemented, !src.is_meta() || self.is_meta(), "Cannot copy out of meta tensor; no data!");
                TensorImpl *from = src.impl(), *to = self.impl();
                if (is_there_already(*to, *from)) return call.declines();
                check_overlap(self, &from, 1);
                if (src.sizes() != self.sizes()) {
                    Sizes sizes = broadcast_sizes(self.sizes(), src.sizes(), "copy_");
                    KINDLING_CHECK(Runtime, IntList(sizes) == self.sizes(), "output with shape %s doesn't match the broadcast shape %s",
                                   str(self.sizes()).c_str(), str(IntList(sizes)).c_str());
                }
                call.writes_all(self);
                if (from->storage == to->storage || (from->key | to->key) & (key::lazy | key::Private)) return call.declines();
                call.along(self, 0, DType::None);
                call.reads_as_it_lies(src);
            },
            itself),
        otherwise([](const Tensor& self, const Tensor& src, bool) {
            if (!is_there_already(*self.impl(), *src.impl())) copy_into(self, src);
            written(self);
            return self;
        }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
        derivative(
            "src", GIVEN(Tensor grad) { return grad; }),
    });
    declare("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor")({
        doc("What copy_ would leave in self"),
        by_host(),
        linear(),
        takes_float8(),
        in(space::Hidden),
        composition([](const Tensor& self, const Tensor& src, bool) {
            expanded_strides(src.sizes(), src.strides(), self.sizes());
            return copy_(clone_with_strides(self), src);
        }),
        derivative(
            "src", GIVEN(Tensor grad) { return grad; }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor")({
        doc("A copy of another dtype or on another device"),
        by_host(),
        linear(),
        takes_float8(),
        in(space::Torch),
        no_out(),
        elements(
            [](KernelCall& call, const Tensor& self, DType dtype, std::optional<Layout>, std::optional<Device> device, std::optional<bool>,
               bool, std::optional<MemoryFormat> memory_format) {
                copies(call, self, dtype == DType::None ? self.dtype() : dtype, device_or(device, self), chosen(memory_format));
            },
            itself),
        otherwise([](const Tensor& self, DType dtype, std::optional<Layout>, std::optional<Device> device, std::optional<bool>, bool,
                     std::optional<MemoryFormat> memory_format) {
            return copied_between_devices(self, dtype == DType::None ? self.dtype() : dtype, device_or(device, self),
                                          chosen(memory_format));
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape) { return _to_copy(grad, self_shape.dtype()); }),
    });
    declare("to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)")({
        doc("The tensor itself, or a copy where dtype, device or memory format differ"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, DType dtype, std::optional<Layout>, std::optional<Device> device, std::optional<bool>, bool,
                       bool copy, std::optional<MemoryFormat> memory_format) {
            DType target = dtype == DType::None ? self.dtype() : dtype;
            Device where = device_or(device, self);
            MemoryFormat format = chosen(memory_format);
            bool same = target == self.dtype() && where.type == self.device().type && !copy &&
                        (!is_private(where.type) || where.index < 0 || where.index == self.device().index) &&
                        (format == MemoryFormat::Preserve || self.suggest_memory_format() == format);
            if (same) return self;
            return _to_copy(self, target, std::nullopt, where, std::nullopt, false, format);
        }),
    });
    declare("to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
            "MemoryFormat? memory_format=None) -> Tensor(a)")({
        doc("to a device and dtype"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, Device device, DType dtype, bool, bool copy, std::optional<MemoryFormat> memory_format) {
            return to(self, dtype, std::nullopt, device, std::nullopt, false, copy, memory_format);
        }),
    });
    declare("to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
            "MemoryFormat? memory_format=None) -> Tensor(a)")({
        doc("to a dtype"),
        takes_float8(),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, DType dtype, bool, bool copy, std::optional<MemoryFormat> memory_format) {
            if (dtype == self.dtype() && !copy && chosen(memory_format) == MemoryFormat::Preserve) return self;
            return to(self, dtype, std::nullopt, std::nullopt, std::nullopt, false, copy, memory_format);
        }),
    });
    declare("to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
            "MemoryFormat? memory_format=None) -> Tensor(a)")({
        doc("to the other's dtype and device"),
        takes_float8(),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, const Tensor& other, bool, bool copy, std::optional<MemoryFormat> memory_format) {
            return to(self, other.dtype(), std::nullopt, other.device(), std::nullopt, false, copy, memory_format);
        }),
    });
    declare("_local_scalar_dense(Tensor self) -> Scalar")({
        doc("The number of a tensor of one element: what item() asks for, as a subclass sees it"),
        by_host(),
        number_by_value(),
        takes_float8(),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        slice_by_slice(),
        composition([](const Tensor& self) { return self.item_scalar(); }),
        example("torch._local_scalar_dense(torch.tensor([1.5]))"),
    });
    declare("result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType")({
        doc("The dtype that an operator of the two would compute in"),
        takes_float8(),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        composition([](const Tensor& tensor, const Tensor& other) { return joint_type(*tensor.impl(), *other.impl()); }),
        example("torch.result_type(torch.tensor([1]), 1.0)"),
    });
    declare("result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType")({
        doc("The dtype that an operator of a tensor and a number would compute in"),
        takes_float8(),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        composition([](const Tensor& tensor, const Scalar& other) { return joint_type(*tensor.impl(), other); }),
    });
    declare("result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType")({
        doc("The dtype that an operator of a number and a tensor would compute in"),
        takes_float8(),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        composition([](const Scalar& scalar, const Tensor& tensor) { return joint_type(scalar, *tensor.impl()); }),
    });
    declare("result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType")({
        doc("The dtype that an operator of two numbers would compute in"),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        composition([](const Scalar& scalar1, const Scalar& scalar2) { return joint_type(scalar1, scalar2); }),
    });
    declare("type_as(Tensor self, Tensor other) -> Tensor")({
        doc("to the other's dtype"),
        takes_float8(),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, const Tensor& other) { return to(self, other); }),
    });
    declare("detach(Tensor(a) self) -> Tensor(a)")({
        doc("The same memory outside the autograd graph; shares the version counter"),
        not_differentiable(),
        view([](const Tensor& self) {
            Tensor result = untied(make_view(self, self.sizes(), self.strides(), self.storage_offset()));
            count_detached(result.impl(), self.impl());
            return result;
        }),
    });
    declare("resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)")({
        doc("Changes the size in place, growing the storage if need be; new elements are not initialised"),
        on_any_device(),
        takes_float8(),
        in(space::Method),
        not_differentiable(),
        keeps_conj(),
        header([](const Tensor& self, IntList size, std::optional<MemoryFormat> memory_format) {
            KINDLING_CHECK(Runtime, !self.requires_grad() || thread_state.inference_mode, "cannot resize variables that require grad");
            for (int64_t each : size)
                KINDLING_CHECK(Runtime, each >= 0, "Trying to resize a tensor to a negative size: %s", str(size).c_str());
            resized(self, size, memory_format);
            return self;
        }),
    });
    declare("resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)")({
        doc("resize_ to another tensor's size"),
        takes_float8(),
        in(space::Torch | space::Method),
        not_differentiable(),
        keeps_conj(),
        header([](const Tensor& self, const Tensor& the_template, std::optional<MemoryFormat> memory_format) {
            KINDLING_CHECK(Runtime, !self.requires_grad() || thread_state.inference_mode, "cannot resize variables that require grad");
            if (memory_format == MemoryFormat::Preserve) memory_format = the_template.suggest_memory_format();
            resized(self, the_template.sizes(), memory_format);
            return self;
        }),
    });
    declare("fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)")({
        doc("Writes a number to the diagonal, from which all dimensions are equal; wrap goes on below a square of a tall matrix"),
        in(space::Method),
        composition([](const Tensor& self, const Scalar& fill_value, bool wrap) {
            const int64_t dims = self.dim();
            KINDLING_CHECK(Runtime, dims >= 2, "dimensions must larger than 1");
            const int64_t height = self.size(0), width = self.size(1);
            int64_t step = 0;
            const int64_t count = std::min(height, width);
            for (int64_t i = 0; i < dims; i++) {
                KINDLING_CHECK(Runtime, dims == 2 || self.size(i) == height, "all dimensions of input must be of equal length");
                step += self.stride(i);
            }
            fill_(as_strided(self, {count}, {step}), fill_value);
            if (wrap && dims == 2 && height > width + 1) {
                const int64_t left = (self.numel() + width) / (width + 1) - count;
                fill_(as_strided(self, {left}, {step}, self.storage_offset() + self.stride(0) * (width + 1)), fill_value);
            }
            return self;
        }),
    });
    declare("set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, SymInt storage_offset, SymInt[] size, "
            "SymInt[] stride=[]) -> Tensor(a!)")({
        doc("Makes self look into a storage"),
        on_any_device(),
        takes_float8(),
        in(space::Method),
        not_differentiable(),
        keeps_conj(),
        header([](const Tensor& self, Ref<Storage> source, int64_t storage_offset, IntList size, IntList stride) {
            KINDLING_CHECK(Runtime, stride.empty() || stride.size() == size.size(), "unequal size length (%zu) and stride length (%zu)",
                           size.size(), stride.size());
            const bool as_is =
                size == self.sizes() && (stride.empty() || stride == self.strides()); // the shape is left alone, and the storage with it
            Sizes strides = as_is ? Sizes(self.strides()) : stride.size() == size.size() ? Sizes(stride) : contiguous_strides(size);
            KINDLING_CHECK(Runtime, !self.impl()->uncounted || thread_state.inference_mode,
                           "Inplace update to inference tensor outside InferenceMode is not allowed.");
            KINDLING_CHECK(Runtime, storage_offset >= 0, "Tensor: invalid storage offset %ld", storage_offset);
            KINDLING_CHECK(Runtime, source->device == self.device(),
                           "Attempted to set the storage of a tensor on device \"%s\" to a storage on different device \"%s\".  This is no "
                           "longer allowed; the devices must match.",
                           name(self.device().type), name(source->device.type));
            for (int64_t step : strides)
                KINDLING_CHECK(Runtime, step >= 0, "set_: Negative strides are not supported at the moment, got strides: %s",
                               str(strides).c_str());
            checked_numel(size);
            size_t bytes = checked_bytes(size, strides, storage_offset, self.element_size());
            // Without strides it is looked at as rows in order, also where self keeps its own.
            const size_t needed =
                stride.empty() ? checked_bytes(size, contiguous_strides(size), storage_offset, self.element_size()) : bytes;
            KINDLING_CHECK(Runtime, needed <= source->bytes || (source->resizable && !as_is),
                           "setStorage: sizes %s, strides %s, storage offset %ld, and itemsize %zu requiring a storage size of %zu are "
                           "out of bounds for storage of size %zu",
                           str(size).c_str(), str(stride).c_str(), storage_offset, self.element_size(), needed, source->bytes);
            if (bytes > source->bytes) source->resize(bytes);
            TensorImpl* impl = self.impl();
            if (impl->autograd) forget_accumulator(impl->autograd);
            impl->keep_version();
            Storage* old = impl->storage;
            impl->storage = source.take();
            release(old);
            self.bump_version();
            impl->offset = storage_offset;
            impl->set_shape(size, strides);
            return self;
        }),
    });
    declare("set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)")({
        doc("Makes self the whole of a storage, flat"),
        on_any_device(),
        takes_float8(),
        in(space::Method),
        not_differentiable(),
        keeps_conj(),
        header([](const Tensor& self, Ref<Storage> source) {
            int64_t count = static_cast<int64_t>(source->bytes / self.element_size());
            return set_(self, source, 0, {count}, {1});
        }),
    });
    declare("set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)")({
        doc("Makes self look where another tensor looks"),
        on_any_device(),
        takes_float8(),
        in(space::Method),
        no_derivative(),
        keeps_conj(),
        header([](const Tensor& self, const Tensor& source) {
            KINDLING_CHECK(Runtime, self.dtype() == source.dtype(), "Could not set tensor of type %s to a tensor of type %s",
                           name(source.dtype()), name(self.dtype()));
            return set_(self, Ref<Storage>::share(source.storage()), source.storage_offset(), source.sizes(), source.strides());
        }),
    });
    declare("set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, "
            "SymInt[] stride=[]) -> Tensor(a!)")({
        doc("Makes self look into another tensor's storage"),
        on_any_device(),
        in(space::Method),
        not_differentiable(),
        keeps_conj(),
        header([](const Tensor& self, const Tensor& source, int64_t storage_offset, IntList size, IntList stride) {
            KINDLING_CHECK(Runtime, source.is_contiguous(), "passed in tensor to be used as storage must be contiguous");
            const auto from =
                static_cast<uint64_t>(source.storage_offset()) + static_cast<uint64_t>(storage_offset); // counted from where source begins
            return set_(self, Ref<Storage>::share(source.storage()), static_cast<int64_t>(from), size, stride);
        }),
    });
    declare("set_(Tensor(a!) self) -> Tensor(a!)")({
        doc("Makes self empty"),
        on_any_device(),
        takes_float8(),
        in(space::Method),
        not_differentiable(),
        header([](const Tensor& self) { return set_(self, Storage::make(0, self.device()), 0, {0}, {1}); }),
    });
    declare("is_same_size(Tensor self, Tensor other) -> bool")({
        doc("Whether the shapes are equal"),
        takes_float8(),
        not_differentiable(),
        by_loops(),
        header([](const Tensor& self, const Tensor& other) { return self.sizes() == other.sizes(); }),
    });
    declare("lift_fresh(Tensor(a) self) -> Tensor(a)")({
        doc("The tensor itself: marks constants for modes"),
        takes_float8(),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& self) { return self; }),
    });
}
