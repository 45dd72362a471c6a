// operators/tensors/creation.cpp: tensors from nothing but sizes and numbers.
#include <cmath>
#include <cstring>

#include "core/thread_state.h"
#include "generated/functions.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/loops.h"

namespace kindling {

namespace {

/// A fresh result of these sizes.
KernelCall::Result& gives_fresh(KernelCall& call, IntList sizes, DType dtype, const std::optional<Device>& device) {
    call.on(or_default(device));
    return call.gives(sizes, or_default(dtype)).written_as_it_lies();
}
/// Of a tensor's dtype and device, unless others are given.
KernelCall::Result& gives_fresh(KernelCall& call, const Tensor& self, IntList sizes, DType dtype, const std::optional<Device>& device) {
    return gives_fresh(call, sizes, dtype == DType::None ? self.dtype() : dtype, device.value_or(self.device()));
}
/// Of its shape and memory format, too.
KernelCall::Result& gives_like(KernelCall& call, const Tensor& self, DType dtype, const std::optional<Device>& device,
                               const std::optional<MemoryFormat>& format) {
    KernelCall::Result& result = gives_fresh(call, self, self.sizes(), dtype, device);
    const MemoryFormat wanted = format.value_or(MemoryFormat::Preserve);
    return wanted == MemoryFormat::Preserve ? result.preserves(self) : result.laid_out(format_strides(self.sizes(), wanted));
}

constexpr auto as_it_begins = [](const Array&) {}; // uninitialised, or zeros if the rule says so
/// The result that was just given is this number everywhere.
void fills(KernelCall& call, const Scalar& value) {
    const KernelCall::Result& result = call.result(0);
    const bool rounds = checked_numel(result.sizes) == 1 && is_narrow(result.dtype) && value.is_real(); // as torch
    if (!call.on_meta() && !rounds) check_fits(value, result.dtype);
    call.along(result.sizes, 0, DType::None);
    call.number(value_type(result.dtype), immediate_of(value, result.dtype));
}
constexpr auto number_itself = [](auto value) { return value; };

void check_strides(IntList size, IntList stride) {
    KINDLING_CHECK(Runtime, size.size() == stride.size(), "dimensionality of sizes (%zu) must match dimensionality of strides (%zu)",
                   size.size(), stride.size());
    for (int64_t step : stride)
        KINDLING_CHECK(Runtime, step >= 0, "Negative strides are not supported at the moment, got strides: %s", str(stride).c_str());
}

/// A number as a dtype holds it.
std::complex<double> as_held(const Scalar& number, DType dtype) {
    if (is_integral(dtype)) { // a negative number wraps, as in the C++ of PyTorch
        const int64_t whole = number.to_int();
        const size_t bits = 8 * item_size(dtype);
        if (!is_unsigned(dtype) && dtype != DType::UInt8) return static_cast<double>(whole);
        return static_cast<double>(bits == 64 ? static_cast<uint64_t>(whole) : static_cast<uint64_t>(whole) & ((uint64_t{1} << bits) - 1));
    }
    return Immediate::of(dtype, number.to_complex()).to_complex(dtype);
}

/// start, start + step, ...: a loop over the index of a vector, in doubles for floating numbers (as torch: in the accumulate type).
template <class T> void gives_range(KernelCall& call, int64_t count, DType dtype, const std::optional<Device>& device, T start, T step) {
    gives_fresh(call, Sizes{count}, dtype, device);
    call.along(Sizes{count}, 0, DType::None);
    const DType inner = std::is_same_v<T, double> ? DType::Float64 : DType::Int64;
    call.number(inner, start);
    call.number(inner, step);
    call.choice(inner == DType::Float64 && count <= INT32_MAX);
}
/// Of few numbers the index is narrowed first: for 32 bits there is an instruction that converts vectors.
constexpr auto counted = [](auto start, auto step, auto few) {
    const Sym i = step.builder()->index(0);
    return start + step * cast(few.flag() ? cast(i, DType::Int32) : i, step.dtype());
};

/// What a rule says of evenly spaced numbers: a, a + by, ... up to the middle, and from there on ..., b - by, b, as torch: the last
/// number is exactly `b`. In half types each step rounds, in others product and sum together, if they are `fused`.
void spaces(KernelCall& call, std::complex<double> a, std::complex<double> b, std::complex<double> by, int64_t steps, DType inner,
            bool fused) {
    call.along(Sizes{steps}, 0, DType::None);
    for (const std::complex<double>& each : {a, b, by}) call.number(value_type(inner), each);
    const DType counts = steps <= INT32_MAX ? DType::Int32 : DType::Int64; // twice as many to a vector, which converts them, too
    call.number(counts, steps - 1);
    call.number(counts, steps / 2);
    call.choice(static_cast<int64_t>(inner));
    call.choice(fused);
}
/// Of one step there is the start alone, in the result's dtype.
void spaces_one(KernelCall& call, const Scalar& start) {
    const DType dtype = call.result(0).dtype;
    if (!call.on_meta() && !(is_narrow(dtype) && start.is_real())) check_fits(start, dtype);
    call.along(Sizes{1}, 0, DType::None);
    for (int i = 0; i < 3; i++) call.number(value_type(dtype), immediate_of(start, dtype));
    for (int i = 0; i < 2; i++) call.number(DType::Int32, 0);
    call.choice(static_cast<int64_t>(DType::None));
    call.choice(false);
}
Sym spaced(const Sym& first, const Sym& end, const Sym& step, const Sym& last, const Sym& half, const Sym& dtype, const Sym& fused) {
    const DType inner = static_cast<DType>(dtype.integer());
    if (inner == DType::None) return first;
    const Sym i = cast(last.builder()->index(0), last.dtype());
    auto round = [&](const Sym& x) { return is_half(inner) ? cast(cast(x, inner), x.dtype()) : x; };
    auto from = [&](const Sym& start, const Sym& by, const Sym& count) {
        const Sym many = cast(count, start.dtype());
        return is_half(inner) || !fused.flag() ? start + round(by * round(many)) : fma(by, many, start);
    };
    auto part = [&](const Sym& a, const Sym& b, const Sym& by) { return where(i < half, from(a, by, i), from(b, -by, last - i)); };
    if (!is_complex(inner)) return part(first, end, step);
    return make_complex(part(real(first), real(end), real(step)), part(imag(first), imag(end), imag(step)));
}

void arange_of(KernelCall& call, const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
               const std::optional<Device>& device) {
    KINDLING_CHECK(NotImplemented, !is_complex(dtype) && dtype != DType::Bool, "\"arange_cpu\" not implemented for '%s'",
                   scalar_type_name(dtype));
    for (const Scalar& number : {start, end, step}) check_fits(number, DType::Float64);
    KINDLING_CHECK(Runtime, step.to_double() != 0, "step must be nonzero");
    KINDLING_CHECK(Value, dtype != DType::Int64 || step.to_int() != 0, "step must be nonzero"); // of narrower ones all are the first
    double first = start.to_double(), last = end.to_double(), stride = step.to_double();
    KINDLING_CHECK(Runtime, std::isfinite(first) && std::isfinite(last), "unsupported range: %g -> %g", first, last);
    KINDLING_CHECK(Runtime, (stride > 0 && last >= first) || (stride < 0 && last <= first),
                   "upper bound and lower bound inconsistent with step sign");
    if (is_integral(dtype))
        for (const Scalar& number : {start, end, step}) check_fits(number, DType::Int64);
    auto whole_number = [](const Scalar& number) { return number.is_integral() || number.is_bool(); };
    int64_t count;
    if (dtype == DType::Int64 || (is_integral(dtype) && whole_number(start) && whole_number(end) && whole_number(step))) {
        int64_t s = step.to_int(), sign = s > 0 ? 1 : -1;
        __int128 whole = (static_cast<__int128>(end.to_int()) - start.to_int() + s - sign) / s;
        KINDLING_CHECK(Runtime, whole <= INT64_MAX, "invalid size, possible overflow?");
        count = static_cast<int64_t>(whole);
    } else {
        double size = std::ceil((last - first) / stride);
        KINDLING_CHECK(Runtime, size >= 0 && size <= 9.2e18, "invalid size, possible overflow?");
        count = static_cast<int64_t>(size);
    }
    if (is_floating(dtype)) gives_range(call, count, dtype, device, first, stride);
    else gives_range(call, count, dtype, device, start.to_int(), step.to_int());
}

/// start, start + step, ... up to end, which is one of them if it is met.
void range_of(KernelCall& call, const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
              const std::optional<Device>& device) {
    if (warn)
        warn("torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
             "builtin. Instead, use torch.arange, which produces values in [start, end).");
    KINDLING_CHECK(NotImplemented, !is_complex(dtype) && dtype != DType::Bool, "\"range_cpu\" not implemented for '%s'",
                   scalar_type_name(dtype));
    for (const Scalar& number : {start, end, step}) check_fits(number, DType::Float64);
    const bool whole = is_integral(dtype);
    double first = start.to_double(), last = end.to_double(), stride = step.to_double();
    KINDLING_CHECK(Runtime, std::isfinite(first) && std::isfinite(last), "unsupported range: %g -> %g", first, last);
    KINDLING_CHECK(Runtime, stride == 0 || (stride > 0 ? last >= first : last <= first),
                   "upper bound and lower bound inconsistent with step sign");
    if (whole) {
        for (const Scalar& number : {start, end, step}) check_fits(number, DType::Int64);
        first = static_cast<double>(start.to_int());
        last = static_cast<double>(end.to_int());
        stride = static_cast<double>(step.to_int());
    }
    KINDLING_CHECK(Runtime, stride != 0, "step must be nonzero");
    KINDLING_CHECK(Runtime, (stride > 0 && last >= first) || (stride < 0 && last <= first),
                   "upper bound and lower bound inconsistent with step sign");
    double size = (last - first) / stride + 1;
    KINDLING_CHECK(Runtime, size >= 0 && size <= 9.2e18, "invalid size, possible overflow?");
    int64_t count = static_cast<int64_t>(size);
    if (whole) gives_range(call, count, dtype, device, start.to_int(), step.to_int());
    else gives_range(call, count, dtype, device, first, stride);
}

DType dtype_of_spaced(const Scalar& start, const Scalar& end, int64_t steps, DType dtype, const char* operation) {
    KINDLING_CHECK(Runtime, steps >= 0, "number of steps must be non-negative");
    const bool complex = start.is_complex() || end.is_complex();
    if (dtype == DType::None) dtype = complex ? to_complex(default_dtype()) : default_dtype();
    KINDLING_CHECK(Runtime, is_complex(dtype) || !complex, "torch.%s(): inferred dtype %s can't be safely cast to passed dtype %s",
                   operation, c_type_name(to_complex(default_dtype())), scalar_type_name(dtype));
    return dtype;
}

DType range_dtype(DType dtype, const Scalar& a, const Scalar& b, const Scalar& c) {
    if (dtype != DType::None) return dtype;
    auto real = [](const Scalar& x) { return !x.is_float() && !x.is_complex(); };
    bool whole = real(a) && real(b) && real(c);
    return whole ? DType::Int64 : default_dtype();
}

void unit_matrix(KernelCall& call, int64_t n, int64_t m, DType dtype, const std::optional<Device>& device) {
    KINDLING_CHECK(Runtime, n >= 0, "n must be greater or equal to 0, got %ld", n);
    KINDLING_CHECK(Runtime, m >= 0, "m must be greater or equal to 0, got %ld", m);
    gives_fresh(call, {n, m}, dtype, device).zeroed();
    call.reads(ones({}, or_default(dtype)));
}
constexpr auto ones_on_diagonal = [](const Array& one, const Array& result) {
    const int64_t count = std::min(result.size(0), result.size(1)), step = result.stride(0) + result.stride(1);
    auto fill = [&]<class T>(T) {
        const T unit = *one.data_ptr<T>();
        for (int64_t i = 0; i < count; i++) result.data_ptr<T>()[i * step] = unit;
    };
    switch (result.element_size()) {
    case 1: return fill(uint8_t{});
    case 2: return fill(uint16_t{});
    case 4: return fill(uint32_t{});
    case 8: return fill(uint64_t{});
    default: return fill(std::complex<double>{});
    }
};

/// What linspace raises because of its numbers: its rule needs no memory.
void check_spaced(const Scalar& start, const Scalar& end, int64_t steps, DType dtype) {
    linspace(start, end, steps, dtype, std::nullopt, Device{DeviceType::Meta}, std::nullopt);
}

} // namespace
} // namespace kindling

OPERATORS(creation) {
    declare("empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor")({
        doc("Uninitialised memory"),
        on_any_device(),
        by_loops(),
        takes_float8(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, IntList size, DType dtype, std::optional<Layout>, std::optional<Device> device, std::optional<bool>,
               std::optional<MemoryFormat> memory_format) {
                KINDLING_CHECK(Runtime, memory_format != MemoryFormat::Preserve, "unsupported memory format Preserve");
                checked_numel(size);
                KernelCall::Result& result = gives_fresh(call, size, dtype, device);
                if (memory_format && memory_format != MemoryFormat::Contiguous) result.laid_out(format_strides(size, *memory_format));
            },
            as_it_begins),
    });
    declare("empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Uninitialised memory with the given strides"),
        on_any_device(),
        by_loops(),
        takes_float8(),
        not_differentiable(),
        no_out(),
        kernel(
            [](KernelCall& call, IntList size, IntList stride, DType dtype, std::optional<Layout>, std::optional<Device> device,
               std::optional<bool>) {
                check_strides(size, stride);
                gives_fresh(call, size, dtype, device).laid_out(stride);
            },
            as_it_begins),
    });
    declare("empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Uninitialised memory, dense in the given order of dimensions"),
        on_any_device(),
        by_loops(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, IntList size, IntList physical_layout, DType dtype, std::optional<Layout>, std::optional<Device> device,
               std::optional<bool>) {
                KINDLING_CHECK(Runtime, size.size() == physical_layout.size(),
                               "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = %zu is not "
                               "equal to len(physical_layout) = %zu",
                               size.size(), physical_layout.size());
                Sizes strides(size.size());
                int64_t step = 1;
                uint64_t seen = 0;
                for (size_t i = size.size(); i-- > 0;) {
                    int64_t dim = physical_layout[i];
                    KINDLING_CHECK(Runtime, dim >= 0 && dim < static_cast<int64_t>(size.size()),
                                   "Dimension out of range (expected to be between 0 and %zu, but got %ld at index %zu).  NB: negative "
                                   "dims not currently supported; file an issue if you want it.",
                                   size.size() - 1, dim, i);
                    KINDLING_CHECK(Runtime, !(seen >> dim & 1), "Duplicate dim not allowed");
                    seen |= uint64_t{1} << dim;
                    strides[static_cast<size_t>(dim)] = step;
                    step *= std::max<int64_t>(size[static_cast<size_t>(dim)], 1);
                }
                gives_fresh(call, size, dtype, device).laid_out(strides);
            },
            as_it_begins),
    });
    declare("empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor")({
        doc("Uninitialised memory of a tensor's shape, dtype and device"),
        on_any_device(),
        by_loops(),
        takes_float8(),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        kernel([](KernelCall& call, const Tensor& self, DType dtype, std::optional<Layout>, std::optional<Device> device,
                  std::optional<bool>, std::optional<MemoryFormat> format) { gives_like(call, self, dtype, device, format); },
               as_it_begins),
    });
    declare("zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Zeros"),
        takes_float8(),
        not_differentiable(),
        kernel([](KernelCall& call, IntList size, DType dtype, std::optional<Layout>, std::optional<Device> device,
                  std::optional<bool>) { gives_fresh(call, size, dtype, device).zeroed(); },
               as_it_begins),
        example("torch.zeros(2, 3, dtype=torch.int64)"),
    });
    declare("zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor")({
        doc("Zeros of a tensor's shape, dtype and device"),
        takes_float8(),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        kernel([](KernelCall& call, const Tensor& self, DType dtype, std::optional<Layout>, std::optional<Device> device,
                  std::optional<bool>, std::optional<MemoryFormat> format) { gives_like(call, self, dtype, device, format).zeroed(); },
               as_it_begins),
    });
    declare("ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Ones"),
        takes_float8(),
        not_differentiable(),
        elements(
            [](KernelCall& call, IntList size, DType dtype, std::optional<Layout>, std::optional<Device> device, std::optional<bool>) {
                gives_fresh(call, size, dtype, device);
                fills(call, 1);
            },
            number_itself),
    });
    declare("ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor")({
        doc("Ones of a tensor's shape, dtype and device"),
        takes_float8(),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        elements(
            [](KernelCall& call, const Tensor& self, DType dtype, std::optional<Layout>, std::optional<Device> device, std::optional<bool>,
               std::optional<MemoryFormat> format) {
                gives_like(call, self, dtype, device, format);
                fills(call, 1);
            },
            number_itself),
    });
    declare("full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("One number everywhere; the dtype is the number's unless given"),
        takes_float8(),
        not_differentiable(),
        elements(
            [](KernelCall& call, IntList size, const Scalar& fill_value, DType dtype, std::optional<Layout>, std::optional<Device> device,
               std::optional<bool>) {
                if (dtype == DType::None)
                    dtype = fill_value.is_bool()       ? DType::Bool
                            : fill_value.is_integral() ? DType::Int64
                            : fill_value.is_complex()  ? to_complex(default_dtype())
                                                       : default_dtype();
                gives_fresh(call, size, dtype, device);
                fills(call, fill_value);
            },
            number_itself),
    });
    declare("full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor")({
        doc("One number everywhere, of a tensor's shape, dtype and device"),
        takes_float8(),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        elements(
            [](KernelCall& call, const Tensor& self, const Scalar& fill_value, DType dtype, std::optional<Layout>,
               std::optional<Device> device, std::optional<bool>, std::optional<MemoryFormat> format) {
                gives_like(call, self, dtype, device, format);
                fills(call, fill_value);
            },
            number_itself),
    });
    declare("new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("Uninitialised memory of a tensor's dtype and device"),
        on_any_device(),
        by_loops(),
        takes_float8(),
        in(space::Method),
        not_differentiable(),
        no_out(),
        kernel([](KernelCall& call, const Tensor& self, IntList size, DType dtype, std::optional<Layout>, std::optional<Device> device,
                  std::optional<bool>) { gives_fresh(call, self, size, dtype, device); },
               as_it_begins),
    });
    declare("new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Uninitialised memory with the given strides"),
        on_any_device(),
        by_loops(),
        takes_float8(),
        in(space::Method),
        not_differentiable(),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& self, IntList size, IntList stride, DType dtype, std::optional<Layout>,
               std::optional<Device> device, std::optional<bool>) {
                check_strides(size, stride);
                gives_fresh(call, self, size, dtype, device).laid_out(stride);
            },
            as_it_begins),
    });
    declare("_new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor")({
        doc("Zeros that lie as other does, as often as self's first dimensions say: its tangent, for all slices"),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        keeps_conj(),
        composition([](const Tensor& self, const Tensor& other, int64_t self_num_batch_dims) {
            KINDLING_CHECK(Runtime, self_num_batch_dims >= 0 && self_num_batch_dims <= self.dim(),
                           "_new_zeros_with_same_feature_meta: self has no %lld dimensions", static_cast<long long>(self_num_batch_dims));
            int64_t count = static_cast<int64_t>(other.storage()->bytes / other.element_size());
            Sizes sizes(IntList(self.sizes().data(), static_cast<size_t>(self_num_batch_dims))), strides(sizes);
            for (size_t d = sizes.size(); d-- > 0; count *= sizes[d]) strides[d] = count;
            for (int64_t d = 0; d < other.dim(); d++) sizes.push_back(other.size(d)), strides.push_back(other.stride(d));
            return as_strided(zeros({count}, other.dtype(), std::nullopt, other.device()), sizes, strides, other.storage_offset());
        }),
    });
    declare("new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("Zeros of a tensor's dtype and device"),
        takes_float8(),
        in(space::Method),
        not_differentiable(),
        no_out(),
        kernel([](KernelCall& call, const Tensor& self, IntList size, DType dtype, std::optional<Layout>, std::optional<Device> device,
                  std::optional<bool>) { gives_fresh(call, self, size, dtype, device).zeroed(); },
               as_it_begins),
    });
    declare("new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("Ones of a tensor's dtype and device"),
        takes_float8(),
        in(space::Method),
        not_differentiable(),
        no_out(),
        elements(
            [](KernelCall& call, const Tensor& self, IntList size, DType dtype, std::optional<Layout>, std::optional<Device> device,
               std::optional<bool>) {
                gives_fresh(call, self, size, dtype, device);
                fills(call, 1);
            },
            number_itself),
    });
    declare("new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("One number everywhere, of a tensor's dtype and device"),
        takes_float8(),
        in(space::Method),
        not_differentiable(),
        no_out(),
        elements(
            [](KernelCall& call, const Tensor& self, IntList size, const Scalar& fill_value, DType dtype, std::optional<Layout>,
               std::optional<Device> device, std::optional<bool>) {
                gives_fresh(call, self, size, dtype, device);
                fills(call, fill_value);
            },
            number_itself),
    });
    declare("scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("A 0-d tensor"),
        takes_float8(),
        not_differentiable(),
        no_out(),
        elements(
            [](KernelCall& call, const Scalar& s, DType dtype, std::optional<Layout>, std::optional<Device> device, std::optional<bool>) {
                gives_fresh(call, {}, dtype, device);
                fills(call, s);
            },
            number_itself),
    });
    declare("arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("0, 1, ... below end"),
        flags(trait::OutKeepsShape),
        not_differentiable(),
        elements([](KernelCall& call, const Scalar& end, DType dtype, std::optional<Layout>, std::optional<Device> device,
                    std::optional<bool>) { arange_of(call, 0, end, 1, range_dtype(dtype, 0, end, 1), device); },
                 counted),
        example("torch.arange(5)"),
    });
    declare("arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("start, start + 1, ... below end"),
        flags(trait::OutKeepsShape),
        not_differentiable(),
        no_out(),
        elements([](KernelCall& call, const Scalar& start, const Scalar& end, DType dtype, std::optional<Layout>,
                    std::optional<Device> device,
                    std::optional<bool>) { arange_of(call, start, end, 1, range_dtype(dtype, start, end, 1), device); },
                 counted),
    });
    declare("arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("start, start + step, ... before end"),
        flags(trait::OutKeepsShape),
        not_differentiable(),
        elements([](KernelCall& call, const Scalar& start, const Scalar& end, const Scalar& step, DType dtype, std::optional<Layout>,
                    std::optional<Device> device,
                    std::optional<bool>) { arange_of(call, start, end, step, range_dtype(dtype, start, end, step), device); },
                 counted),
        refuses("torch.arange(0, 5, 0)", "RuntimeError: step must be nonzero"),
    });
    declare("range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("start, start + step, ... to end; new programs call arange"),
        flags(trait::OutKeepsShape),
        not_differentiable(),
        elements([](KernelCall& call, const Scalar& start, const Scalar& end, const Scalar& step, DType dtype, std::optional<Layout>,
                    std::optional<Device> device, std::optional<bool>) { range_of(call, start, end, step, or_default(dtype), device); },
                 counted),
    });
    declare("linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("steps numbers from start to end, evenly spaced"),
        flags(trait::OutKeepsShape),
        not_differentiable(),
        elements(
            [](KernelCall& call, const Scalar& start, const Scalar& end, int64_t steps, DType dtype, std::optional<Layout>,
               std::optional<Device> device, std::optional<bool>) {
                dtype = dtype_of_spaced(start, end, steps, dtype, "linspace");
                check_fits(start, dtype);
                check_fits(end, dtype);
                gives_fresh(call, Sizes{steps}, dtype, device);
                if (steps == 1) return spaces_one(call, start);
                KINDLING_CHECK(NotImplemented, dtype != DType::Bool || !steps, "\"linspace_cpu\" not implemented for 'Bool'");
                // The ends are numbers of the result's dtype, and so is the step, but for whole numbers.
                const std::complex<double> a = as_held(start, dtype), b = as_held(end, dtype);
                const DType inner = is_integral(dtype) ? DType::Float64 : dtype;
                auto round = [&](std::complex<double> x) { return as_held(is_complex(inner) ? Scalar(x) : Scalar(x.real()), inner); };
                const std::complex<double> by = round(b - a) / round(static_cast<double>(steps - 1)).real();
                spaces(call, a, b, round(by), steps, inner, true);
            },
            [](auto first, auto end, auto step, auto last, auto half, auto inner, auto fused) {
                return spaced(first, end, step, last, half, inner, fused);
            }),
    });
    declare("logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("steps numbers from base ** start to base ** end, evenly spaced in the exponent"),
        flags(trait::OutKeepsShape),
        not_differentiable(),
        elements(
            [](KernelCall& call, const Scalar& start, const Scalar& end, int64_t steps, double base, DType dtype, std::optional<Layout>,
               std::optional<Device> device, std::optional<bool>) {
                dtype = dtype_of_spaced(start, end, steps, dtype, "logspace");
                KINDLING_CHECK(NotImplemented, dtype != DType::Bool || steps < 2, "\"logspace_cpu\" not implemented for '%s'",
                               scalar_type_name(dtype));
                const bool complex = is_complex(dtype);
                if (!complex || steps > 1)
                    for (const Scalar& each : {start, end})
                        if (steps != 1) check_fits(each, dtype);
                gives_fresh(call, Sizes{steps}, dtype, device);
                // All between the ends is computed in double.
                const DType inner = complex ? DType::Complex128 : DType::Float64;
                if (complex) {
                    const std::complex<double> a = start.to_complex(), b = end.to_complex();
                    spaces(call, a, steps == 1 ? a : b, steps == 1 ? 0.0 : (b - a) / static_cast<double>(steps - 1), steps, inner, true);
                } else if (steps == 1) spaces_one(call, Scalar(std::pow(base, start.to_double())));
                else {
                    const double a = as_held(start, dtype).real(), b = as_held(end, dtype).real();
                    double apart = is_integral(dtype) ? b - a : as_held(Scalar(b - a), dtype).real();
                    if (dtype == DType::Int64) // wraps, as in PyTorch
                        apart = static_cast<double>(
                            static_cast<int64_t>(static_cast<uint64_t>(end.to_int()) - static_cast<uint64_t>(start.to_int())));
                    spaces(call, a, b, apart / static_cast<double>(steps - 1), steps, inner, false);
                }
                call.number(inner, std::complex<double>(base));
            },
            [](auto first, auto end, auto step, auto last, auto half, auto base, auto inner, auto fused) {
                const Sym exponent = spaced(first, end, step, last, half, inner, fused);
                return inner.integer() == static_cast<int64_t>(DType::None) ? exponent : pow(base, exponent);
            }),
    });
    declare("linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Evenly spaced numbers between 0-d tensors"),
        raises_by_value(GIVEN(Tensor start, Tensor end, int64_t steps, DType dtype) {
            check_spaced(start.item_scalar(), end.item_scalar(), steps, dtype);
        }),
        out_decides(),
        flags(trait::OutKeepsShape),
        in(space::Torch),
        not_differentiable(),
        composition([](const Tensor& start, const Tensor& end, int64_t steps, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin) {
            KINDLING_CHECK(Runtime, start.dim() == 0 && end.dim() == 0, "linspace only supports 0-dimensional start and end tensors");
            return linspace(start.item_scalar(), end.item_scalar(), steps, dtype, layout, device, pin);
        }),
    });
    declare("linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Evenly spaced numbers between 0-d tensors"),
        raises_by_value(
            GIVEN(Tensor start, Scalar end, int64_t steps, DType dtype) { check_spaced(start.item_scalar(), end, steps, dtype); }),
        out_decides(),
        flags(trait::OutKeepsShape),
        in(space::Torch),
        not_differentiable(),
        composition([](const Tensor& start, const Scalar& end, int64_t steps, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin) {
            KINDLING_CHECK(Runtime, start.dim() == 0, "linspace only supports 0-dimensional start and end tensors");
            return linspace(start.item_scalar(), end, steps, dtype, layout, device, pin);
        }),
    });
    declare("linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Evenly spaced numbers between 0-d tensors"),
        raises_by_value(
            GIVEN(Scalar start, Tensor end, int64_t steps, DType dtype) { check_spaced(start, end.item_scalar(), steps, dtype); }),
        out_decides(),
        flags(trait::OutKeepsShape),
        in(space::Torch),
        not_differentiable(),
        composition([](const Scalar& start, const Tensor& end, int64_t steps, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin) {
            KINDLING_CHECK(Runtime, end.dim() == 0, "linspace only supports 0-dimensional start and end tensors");
            return linspace(start, end.item_scalar(), steps, dtype, layout, device, pin);
        }),
    });
    declare("logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10.0, *, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Powers of base between 0-d tensors"),
        out_decides(),
        flags(trait::OutKeepsShape),
        in(space::Torch),
        not_differentiable(),
        composition([](const Tensor& start, const Tensor& end, int64_t steps, double base, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin) {
            KINDLING_CHECK(Runtime, start.dim() == 0 && end.dim() == 0, "logspace only supports 0-dimensional start and end tensors");
            return logspace(start.item_scalar(), end.item_scalar(), steps, base, dtype, layout, device, pin);
        }),
    });
    declare("logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Powers of base between 0-d tensors"),
        out_decides(),
        flags(trait::OutKeepsShape),
        in(space::Torch),
        not_differentiable(),
        composition([](const Tensor& start, const Scalar& end, int64_t steps, double base, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin) {
            KINDLING_CHECK(Runtime, start.dim() == 0, "logspace only supports 0-dimensional start and end tensors");
            return logspace(start.item_scalar(), end, steps, base, dtype, layout, device, pin);
        }),
    });
    declare("logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10.0, *, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Powers of base between 0-d tensors"),
        out_decides(),
        flags(trait::OutKeepsShape),
        in(space::Torch),
        not_differentiable(),
        composition([](const Scalar& start, const Tensor& end, int64_t steps, double base, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin) {
            KINDLING_CHECK(Runtime, end.dim() == 0, "logspace only supports 0-dimensional start and end tensors");
            return logspace(start, end.item_scalar(), steps, base, dtype, layout, device, pin);
        }),
    });
    declare("eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("The unit matrix"),
        takes_float8(),
        not_differentiable(),
        kernel([](KernelCall& call, int64_t n, DType dtype, std::optional<Layout>, std::optional<Device> device,
                  std::optional<bool>) { unit_matrix(call, n, n, dtype, device); },
               ones_on_diagonal),
    });
    declare("eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None) -> Tensor")({
        doc("n rows and m columns, ones on the diagonal"),
        not_differentiable(),
        kernel([](KernelCall& call, int64_t n, int64_t m, DType dtype, std::optional<Layout>, std::optional<Device> device,
                  std::optional<bool>) { unit_matrix(call, n, m, dtype, device); },
               ones_on_diagonal),
    });
    declare("fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)")({
        doc("One number everywhere, in place"),
        node(2),
        broadcasts(),
        takes_float8(),
        in(space::Torch | space::Method),
        elements(
            [](KernelCall& call, const Tensor& self, const Scalar& value) {
                if (self.numel() != 1 || !is_narrow(self.dtype()) || !value.is_real()) check_fits(value, self.dtype()); // as torch
                call.writes_all(self); // into expanded tensors too: every write is of the same number
                call.along(self, 0, DType::None);
                call.number(value_type(self.dtype()), immediate_of(value, self.dtype()));
            },
            number_itself),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)")({
        doc("A 0-d tensor's number everywhere, in place"),
        node(3),
        batches([](const Tensor& self, const Tensor& value) { return copy_(self, value); }),
        linear(),
        takes_float8(),
        in(space::Torch | space::Method),
        elements(
            [](KernelCall& call, const Tensor& self, const Tensor& value) {
                KINDLING_CHECK(Runtime, value.dim() == 0,
                               "fill_ only supports 0-dimension value tensor but got tensor with %ld dimensions.", value.dim());
                call.writes(self);
                call.along(self, 0, DType::None);
                call.reads_as_it_lies(value);
            },
            number_itself),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
        derivative(
            "value", GIVEN(Tensor grad) { return sum(grad); }),
    });
    declare("fill.Scalar(Tensor self, Scalar value) -> Tensor")({
        doc("One number everywhere"),
        takes_float8(),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, const Scalar& value) { return fill_(clone(self), value); }),
    });
    declare("fill.Tensor(Tensor self, Tensor value) -> Tensor")({
        doc("A 0-d tensor's number everywhere"),
        takes_float8(),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, const Tensor& value) { return fill_(clone(self), value); }),
    });
    declare("zero_(Tensor(a!) self) -> Tensor(a!)")({
        doc("Zeros, in place"),
        broadcasts(),
        linear(),
        takes_float8(),
        in(space::Torch | space::Method),
        elements(
            [](KernelCall& call, const Tensor& self) {
                call.writes_all(self);
                call.along(self, 0, DType::None);
                call.number(value_type(self.dtype()), Immediate::of(value_type(self.dtype()), int64_t{0}));
            },
            number_itself),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
}
