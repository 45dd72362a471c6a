// operators/tensors/random.cpp: what draws from a generator; torch's numbers for the same seed.
#include <algorithm>

#include "core/dispatch.h"
#include "core/thread_state.h"
#include "generated/functions.h"
#include "kernels/library/random/random.h"
#include "operators/batching.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/loops.h"
#include "runtime/random.h"

namespace kindling {

namespace {

Generator& chosen(Generator* generator) { return generator ? *generator : default_generator(); }

library::RandomOut out_of(const Array& array) {
    library::RandomOut out{array.data(), array.dtype(), array.numel()};
    if (!array.is_contiguous()) {
        out.ndim = static_cast<int>(array.dim());
        out.sizes = array.sizes().data();
        out.strides = array.strides().data();
    }
    return out;
}
/// Runs fill(RandomOut) on numbers, or on both parts of complex ones.
template <class F> void fill_parts(const Array& array, F fill) {
    library::RandomOut out = out_of(array);
    if (!array.is_complex()) return fill(out);
    Sizes sizes = array.sizes(), strides = array.strides();
    for (int64_t& step : strides) step *= 2;
    sizes.push_back(2);
    strides.push_back(1);
    out.dtype = to_real(out.dtype);
    out.count *= 2;
    if (out.ndim >= 0) out.ndim++, out.sizes = sizes.data(), out.strides = strides.data();
    fill(out);
}

/// What a fill draws from.
struct Draw {
    double a, b;
    Generator* generator;
};
struct DrawIntegers {
    int64_t from;
    uint64_t range;
    Generator* generator;
}; // a range of 0 stands for all 64 bits

/// All of one dtype, for which there is a kernel.
void need_floats_alike(const Tensor& first, std::initializer_list<const Tensor*> others, const char* operation) {
    for (const Tensor* each : others)
        KINDLING_CHECK(Runtime, each->dtype() == first.dtype(), "Found dtype %s but expected %s", scalar_type_name(each->dtype()),
                       scalar_type_name(first.dtype()));
    KINDLING_CHECK(NotImplemented, first.dtype() == DType::Float32 || first.dtype() == DType::Float64,
                   "\"%s_cpu\" not implemented for '%s'", operation, scalar_type_name(first.dtype()));
}

void need_float(DType dtype, const char* name) {
    KINDLING_CHECK(NotImplemented, is_floating(dtype), "\"%s\" not implemented for '%s'", name, scalar_type_name(dtype));
}
void need_continuous(const Tensor& self, const char* distribution) {
    KINDLING_CHECK(Runtime, is_floating(self.dtype()),
                   "%s distribution is a continuous probability distribution. dtype must be a floating point but you specified %s",
                   distribution, name(self.dtype()));
}

/// float32 or float64.
void need_single(const Tensor& self, const char* name) {
    KINDLING_CHECK(NotImplemented, kind_of(self.dtype()) == kind::Float, "\"%s\" not implemented for '%s'", name,
                   scalar_type_name(self.dtype()));
}

Draw normal_numbers(DType dtype, double mean, double deviation, Generator* generator) {
    KINDLING_CHECK(Runtime, deviation >= 0, "normal expects std >= 0.0, but found std %g", deviation);
    if (is_complex(dtype)) return {mean, deviation / 1.4142135623730951, generator}; // as in PyTorch, of both parts
    need_float(dtype, "normal_kernel_cpu");
    return {mean, deviation, generator};
}
constexpr auto fill_normal = [](const Draw& draw, const Array& result) {
    fill_parts(result, [&](const library::RandomOut& out) { library::fill_normal(out, draw.a, draw.b, chosen(draw.generator)); });
};

Draw uniform_numbers(DType dtype, double from, double to, Generator* generator) {
    dtype = to_real(dtype);
    need_float(dtype, "check_uniform_bounds");
    const double most = greatest(dtype);
    KINDLING_CHECK(Runtime, from >= -most && from <= most, "from is out of bounds for %s", c_type_name(dtype));
    KINDLING_CHECK(Runtime, to >= -most && to <= most, "to is out of bounds for %s", c_type_name(dtype));
    KINDLING_CHECK(Runtime, from <= to, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from, to);
    KINDLING_CHECK(Runtime, to - from <= most,
                   "uniform_ expects to-from <= std::numeric_limits<%s>::max(), but found to=%g and from=%g which result in to-from to "
                   "exceed the limit",
                   scalar_type_name(dtype), to, from);
    return {from, to, generator};
}
constexpr auto fill_uniform = [](const Draw& draw, const Array& result) {
    fill_parts(result, [&](const library::RandomOut& out) { library::fill_uniform(out, draw.a, draw.b, chosen(draw.generator)); });
};

/// A fresh result to draw into. An out= is written as it lies: which number comes where depends on its strides.
DType gives_drawn(KernelCall& call, IntList size, DType dtype, const std::optional<Device>& device) {
    call.on(or_default(device));
    call.gives(size, dtype).written_as_it_lies();
    return dtype;
}

/// How many bits the whole numbers of a floating dtype have.
int digits(DType dtype) { return dtype == DType::Float16 ? 11 : dtype == DType::BFloat16 ? 8 : dtype == DType::Float32 ? 24 : 53; }
int64_t rounded(int64_t value, DType dtype) {
    double x = static_cast<double>(value);
    if (dtype != DType::Float64) {
        float narrow = static_cast<float>(value);
        x = dtype == DType::Float16 ? to_float(to_half(narrow)) : dtype == DType::BFloat16 ? to_float(to_bfloat16(narrow)) : narrow;
    }
    return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : static_cast<int64_t>(x);
}
/// Limits between which every number, rounded to the dtype, stays.
void narrow_random_range(DType dtype, int64_t& from, int64_t& to) {
    auto step = [&](int64_t value) {
        uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
        int n = 63 - __builtin_clzll(size | 1);
        return int64_t{1} << std::clamp(n - digits(dtype) + 1, 0, 62);
    };
    const int64_t low = rounded(from + 1, dtype), high = rounded(to - 1, dtype);
    if (low < from) from = low + step(from + 1);
    if (high >= to && high != INT64_MAX) to = high - step(to - 1); // what no int64 holds is left as it is
    KINDLING_CHECK(Runtime, from < to,
                   "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from=%ld >= to=%ld", from, to);
}

/// The last of the numbers that random_ draws from without a limit: up to it a dtype has all whole numbers.
int64_t last_random(DType dtype) {
    KINDLING_CHECK(Runtime, !is_complex(dtype), "random_from_to_impl handles only integral, floating-point and boolean types");
    switch (dtype) {
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float32:
    case DType::Float64: return int64_t{1} << digits(dtype);
    case DType::Bool: return 1;
    default: return item_size(dtype) == 8 ? INT64_MAX : (int64_t{1} << (8 * item_size(dtype) - !is_unsigned(dtype))) - 1;
    }
}

void check_random_range(DType dtype, int64_t& from, int64_t& to) {
    KINDLING_CHECK(Runtime, from < to, "random_ expects 'from' to be less than 'to', but got from=%ld >= to=%ld", from, to);
    KINDLING_CHECK(Runtime, !is_complex(dtype), "check_random_bounds handles only integral, floating-point and boolean types");
    auto check = [&](int64_t bottom, int64_t top) {
        KINDLING_CHECK(Runtime, from >= bottom && from <= top, "from is out of bounds for %s", name(dtype));
        KINDLING_CHECK(Runtime, to - 1 >= bottom && to - 1 <= top, "to - 1 is out of bounds for %s", name(dtype));
    };
    if (dtype == DType::Float16) check(-65504, 65504);
    if (is_floating(dtype)) return narrow_random_range(dtype, from, to);
    if (dtype == DType::Int64 || dtype == DType::UInt64) return;
    int bits = static_cast<int>(8 * item_size(dtype));
    int64_t top = dtype == DType::Bool ? 1 : (int64_t{1} << (bits - !is_unsigned(dtype))) - 1,
            bottom = is_unsigned(dtype) || dtype == DType::Bool ? 0 : -top - 1;
    check(bottom, top);
}

DrawIntegers integers_below(DType dtype, int64_t from, int64_t to, Generator* generator) {
    check_random_range(dtype, from, to);
    return {from, static_cast<uint64_t>(to) - static_cast<uint64_t>(from), generator};
}
/// All that the dtype has from `from` on.
DrawIntegers integers_from(DType dtype, int64_t from, Generator* generator) {
    if (from == INT64_MIN) {
        KINDLING_CHECK(NotImplemented, !is_complex(dtype) && dtype != DType::Bool && dtype != DType::Float16,
                       "\"random_full_64_bits_range_kernel_cpu\" not implemented for '%s'", scalar_type_name(dtype));
        KINDLING_CHECK(Runtime, dtype == DType::Int64 || is_floating(dtype),
                       "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
        return {from, 0, generator};
    }
    int64_t last = last_random(dtype);
    KINDLING_CHECK(
        Runtime, from <= last,
        "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got from=%ld > to_inc=%ld", from,
        last);
    if (is_floating(dtype)) {
        KINDLING_CHECK(Runtime, dtype != DType::Float16 || from >= -65504, "from is out of bounds for %s", name(dtype));
        int64_t all = INT64_MAX;
        narrow_random_range(dtype, from, all);
        KINDLING_CHECK(
            Runtime, from < last,
            "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got from=%ld > to_inc=%ld",
            from, last);
    } else if (item_size(dtype) < 8) {
        int64_t first = from, past = last + 1;
        check_random_range(dtype, first, past);
    }
    return {from, static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1, generator};
}
constexpr auto fill_integers = [](const DrawIntegers& draw, const Array& result) {
    library::fill_random(out_of(result), draw.from, draw.range, chosen(draw.generator));
};

/// Whether all are in [0, 1]. The memory is dense, or repeats what is.
bool are_probabilities(const Array& p) {
    int64_t count = 1;
    for (int64_t d = 0; d < p.dim(); d++) count *= p.stride(d) ? p.size(d) : 1;
    auto within = [&](auto read) {
        bool all = true;
        for (int64_t i = 0; i < count; i++) all &= read(i) >= 0 && read(i) <= 1;
        return all;
    };
    switch (p.dtype()) {
    case DType::Float64: return within([x = p.data_ptr<double>()](int64_t i) { return x[i]; });
    case DType::Float32: return within([x = p.data_ptr<float>()](int64_t i) { return x[i]; });
    case DType::Float16: return within([x = p.data_ptr<Half>()](int64_t i) { return to_float(x[i]); });
    default: return within([x = p.data_ptr<BFloat16>()](int64_t i) { return to_float(x[i]); });
    }
}

/// Numbers like `self`, which they are drawn by.
Generator* draws_by(KernelCall& call, const Tensor& self, Generator* generator) {
    call.reads(self);
    call.gives(self.sizes(), self.dtype());
    return generator;
}

void check_probabilities(const Array& p) {
    KINDLING_CHECK(Runtime, are_probabilities(p), "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
}
void check_probabilities(const Tensor& p, IntList sizes) {
    if (checked_numel(sizes)) check_probabilities(Array(contiguous(p).impl()));
}
void check_deviations(const Tensor& std) {
    KINDLING_CHECK(Runtime, !std.numel() || ge(min(std), Scalar(0)).item<bool>(), "normal expects all elements of std >= 0.0");
}

void check_weights(const Tensor& self, int64_t samples, bool replacement) {
    if (!replacement || samples == 1) {
        KINDLING_CHECK(Runtime, all(logical_and(ge(self, Scalar(0)), isfinite(self))).item<bool>(),
                       "probability tensor contains either `inf`, `nan` or element < 0");
        KINDLING_CHECK(Runtime, !any(eq(sum(self, IntList({-1})), Scalar(0))).item<bool>(),
                       "invalid multinomial distribution (sum of probabilities <= 0)");
    } else { // sampling looks at them as it adds them up
        const Tensor weights = contiguous(self);
        library::multinomial_with_replacement(nullptr, weights.data(), weights.dtype(), self.dim() == 2 ? self.size(0) : 1, self.size(-1),
                                              0, chosen(nullptr));
    }
}

Tensor weights_sampled(const Tensor& self, int64_t samples, bool replacement, Generator* generator) {
    KINDLING_CHECK(Runtime, self.dim() > 0 && self.dim() <= 2, "prob_dist must be 1 or 2 dim");
    KINDLING_CHECK(Runtime, is_floating(self.dtype()), "multinomial only supports floating-point dtypes for input, got: %s",
                   scalar_type_name(self.dtype()));
    KINDLING_CHECK(Runtime, samples > 0, "cannot sample n_sample <= 0 samples");
    int64_t categories = self.size(-1);
    KINDLING_CHECK(Runtime, replacement || samples <= categories,
                   "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    KINDLING_CHECK(Runtime, categories <= int64_t{1} << 24, "number of categories cannot exceed 2^24");
    Sizes sizes;
    if (self.dim() == 2) sizes.push_back(self.size(0));
    sizes.push_back(samples);
    if (self.is_meta()) return make_tensor(sizes, DType::Int64, self.device());
    if (!replacement || samples == 1) {
        check_weights(self, samples, replacement);
        if (self.numel() == 0) return make_tensor(sizes, DType::Int64);
        Tensor keys = exponential_(empty_like(self), 1, generator);
        keys = div(self, keys);
        if (samples == 1) return argmax(keys, -1, true);
        return std::get<1>(topk(keys, samples));
    }
    Tensor result = make_tensor(sizes, DType::Int64), weights = contiguous(self);
    library::multinomial_with_replacement(result.data_ptr<int64_t>(), weights.data(), weights.dtype(), self.dim() == 2 ? self.size(0) : 1,
                                          categories, samples, chosen(generator));
    return result;
}

} // namespace
} // namespace kindling

OPERATORS(random) {
    declare("uniform_(Tensor(a!) self, float from=0, float to=1, *, Generator? generator=None) -> Tensor(a!)")({
        doc("Uniform numbers in [from, to), in place"),
        in(space::Method),
        random_numbers(1, 2),
        kernel(
            [](KernelCall& call, const Tensor& self, double from, double to, Generator* generator) {
                const Draw draw = self.is_complex() && !self.numel() ? Draw{} : uniform_numbers(self.dtype(), from, to, generator);
                call.writes(self);
                return draw;
            },
            fill_uniform),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)")({
        doc("Normal numbers, in place"),
        in(space::Method),
        random_numbers(),
        kernel(
            [](KernelCall& call, const Tensor& self, double mean, double std, Generator* generator) {
                const Draw draw = normal_numbers(self.dtype(), mean, std, generator);
                call.writes(self);
                return draw;
            },
            fill_normal),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("log_normal_(Tensor(a!) self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor(a!)")({
        doc("Exponentials of normal numbers, in place"),
        in(space::Method),
        random_numbers(),
        kernel(
            [](KernelCall& call, const Tensor& self, double mean, double std, Generator* generator) {
                need_float(self.dtype(), "log_normal_cpu");
                KINDLING_CHECK(Runtime, std > 0, "log_normal_ expects std > 0.0, but found std=%g", std);
                call.writes(self);
                return Draw{mean, std, generator};
            },
            [](const Draw& draw, const Array& self) { library::fill_log_normal(out_of(self), draw.a, draw.b, chosen(draw.generator)); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("cauchy_(Tensor(a!) self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor(a!)")({
        doc("Cauchy numbers, in place"),
        in(space::Method),
        random_numbers(2, 2),
        kernel(
            [](KernelCall& call, const Tensor& self, double median, double sigma, Generator* generator) {
                need_continuous(self, "Cauchy");
                KINDLING_CHECK(Runtime, sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=%g", sigma);
                call.writes(self);
                return Draw{median, sigma, generator};
            },
            [](const Draw& draw, const Array& self) { library::fill_cauchy(out_of(self), draw.a, draw.b, chosen(draw.generator)); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("exponential_(Tensor(a!) self, float lambd=1, *, Generator? generator=None) -> Tensor(a!)")({
        doc("Exponentially distributed numbers, in place"),
        in(space::Method),
        random_numbers(2, 2),
        kernel(
            [](KernelCall& call, const Tensor& self, double lambd, Generator* generator) {
                need_continuous(self, "Exponential");
                KINDLING_CHECK(Runtime, lambd > 0, "exponential_ expects lambda > 0.0, but found lambda=%g", lambd);
                call.writes(self);
                return Draw{lambd, 0, generator};
            },
            [](const Draw& draw, const Array& self) { library::fill_exponential(out_of(self), draw.a, chosen(draw.generator)); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)")({
        doc("Geometrically distributed numbers, in place"),
        in(space::Method),
        random_numbers(2, 2),
        kernel(
            [](KernelCall& call, const Tensor& self, double p, Generator* generator) {
                KINDLING_CHECK(Runtime, p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=%g", p);
                call.writes(self);
                return Draw{p, 0, generator};
            },
            [](const Draw& draw, const Array& self) { library::fill_geometric(out_of(self), draw.a, chosen(draw.generator)); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)")({
        doc("Integers of the dtype's whole range that are not negative, in place"),
        node(2),
        in(space::Method),
        random_numbers(1, 2),
        kernel(
            [](KernelCall& call, const Tensor& self, Generator* generator) {
                call.writes(self);
                return generator;
            },
            [](Generator* generator, const Array& self) { library::fill_random(out_of(self), chosen(generator)); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)")({
        doc("Integers in [0, to), in place"),
        node(1),
        in(space::Method),
        random_numbers(),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t to, Generator* generator) {
                const DrawIntegers draw = integers_below(self.dtype(), 0, to, generator);
                call.writes(self);
                return draw;
            },
            fill_integers),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)")({
        doc("Integers in [from, to), in place"),
        in(space::Method),
        random_numbers(),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* generator) {
                const DrawIntegers draw =
                    to ? integers_below(self.dtype(), from, *to, generator) : integers_from(self.dtype(), from, generator);
                call.writes(self);
                return draw;
            },
            fill_integers),
        refuses("torch.empty(2).random_(3, 1)", "RuntimeError: random_ expects 'from' to be less than 'to'"),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)")({
        doc("1 with its own probability, else 0, in place"),
        node(1),
        raises_by_value(GIVEN(Tensor p, IntList self_sizes) { check_probabilities(p, self_sizes); }),
        in(space::Method),
        random_numbers(),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& p, Generator* generator) {
                call.writes(self);
                if (self.numel()) need_float(p.dtype(), "bernoulli_tensor_cpu_p_");
                if (!self.numel()) call.reads_as_it_lies(p);
                else if (self.is_contiguous()) call.reads(expand(p, self.sizes()));
                else call.reads_as_it_lies(expand(contiguous(p), self.sizes()));
                return generator;
            },
            [](Generator* generator, const Array& p, const Array& self) {
                check_probabilities(p);
                library::fill_bernoulli(out_of(self), p.data(), p.dtype(), self.is_contiguous() ? nullptr : p.strides().data(),
                                        chosen(generator));
            }),
        derivative(
            "self, p",
            GIVEN(Tensor grad, IntList p_sizes) { return std::tuple(zeros(grad.sizes(), grad.dtype()), zeros(p_sizes, grad.dtype())); }),
    });
    declare("bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)")({
        doc("1 with probability p, else 0, in place"),
        node(2),
        in(space::Method),
        random_numbers(2, 2),
        kernel(
            [](KernelCall& call, const Tensor& self, double p, Generator* generator) {
                KINDLING_CHECK(Runtime, p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
                call.writes(self);
                return Draw{p, 0, generator};
            },
            [](const Draw& draw, const Array& self) { library::fill_bernoulli(out_of(self), draw.a, chosen(draw.generator)); }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor")({
        doc("1 with the probability in self, else 0"),
        broadcasts(),
        raises_by_value(GIVEN(Tensor self) { check_probabilities(self, self.sizes()); }),
        out_castable(),
        random_numbers(1, 2),
        composition([](const Tensor& self, Generator* generator) {
            return bernoulli_(room_to_draw(self.sizes(), self.dtype(), self.device()), self, generator);
        }),
        refuses("torch.bernoulli(torch.tensor([2.]))", "RuntimeError: Expected p_in"),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor")({
        doc("1 with probability p, else 0, in self's shape"),
        broadcasts(),
        random_numbers(2, 2),
        no_out(),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
        composition([](const Tensor& self, double p, Generator* generator) {
            return bernoulli_(empty_like(self, DType::None, std::nullopt, std::nullopt, std::nullopt, MemoryFormat::Contiguous), p,
                              generator);
        }),
    });
    declare("rand(SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Uniform numbers in [0, 1)"),
        random_numbers(1, 2),
        not_differentiable(),
        kernel([](KernelCall& call, IntList size, Generator* generator, DType dtype, std::optional<Layout>, std::optional<Device> device,
                  std::optional<bool>) { return uniform_numbers(gives_drawn(call, size, or_default(dtype), device), 0, 1, generator); },
               fill_uniform),
        example("torch.rand(2, 3)"),
    });
    declare("rand_like(Tensor self, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor")({
        doc("Uniform numbers in [0, 1) of a tensor's shape"),
        broadcasts(),
        in(space::Torch),
        random_numbers(1, 2),
        not_differentiable(),
        no_out(),
        composition([](const Tensor& self, Generator* generator, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
                       std::optional<bool> pin, std::optional<MemoryFormat> format) {
            return uniform_(empty_like(self, dtype, layout, device, pin, format), 0, 1, generator);
        }),
    });
    declare("randn(SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Normal numbers with mean 0 and variance 1"),
        random_numbers(),
        not_differentiable(),
        kernel([](KernelCall& call, IntList size, Generator* generator, DType dtype, std::optional<Layout>, std::optional<Device> device,
                  std::optional<bool>) { return normal_numbers(gives_drawn(call, size, or_default(dtype), device), 0, 1, generator); },
               fill_normal),
    });
    declare("randn_like(Tensor self, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor")({
        doc("Normal numbers of a tensor's shape"),
        broadcasts(),
        in(space::Torch),
        random_numbers(),
        not_differentiable(),
        no_out(),
        composition([](const Tensor& self, Generator* generator, DType dtype, std::optional<Layout> layout, std::optional<Device> device,
                       std::optional<bool> pin, std::optional<MemoryFormat> format) {
            return normal_(empty_like(self, dtype, layout, device, pin, format), 0, 1, generator);
        }),
    });
    declare("randint(SymInt high, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=long, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Integers in [0, high)"),
        random_numbers(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, int64_t high, IntList size, Generator* generator, DType dtype, std::optional<Layout>,
               std::optional<Device> device, std::optional<bool>) {
                return integers_below(gives_drawn(call, size, dtype == DType::None ? DType::Int64 : dtype, device), 0, high, generator);
            },
            fill_integers),
    });
    declare("randint.low(SymInt low, SymInt high, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=long, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Integers in [low, high)"),
        random_numbers(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, int64_t low, int64_t high, IntList size, Generator* generator, DType dtype, std::optional<Layout>,
               std::optional<Device> device, std::optional<bool>) {
                return integers_below(gives_drawn(call, size, dtype == DType::None ? DType::Int64 : dtype, device), low, high, generator);
            },
            fill_integers),
    });
    declare("randint_like(Tensor self, SymInt high, *, Generator? generator=None, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor")({
        doc("Integers in [0, high) of a tensor's shape"),
        broadcasts(),
        in(space::Torch),
        random_numbers(),
        not_differentiable(),
        no_out(),
        composition([](const Tensor& self, int64_t high, Generator* generator, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin, std::optional<MemoryFormat> format) {
            return random_(empty_like(self, dtype, layout, device, pin, format), 0, high, generator);
        }),
    });
    declare("randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator=None, "
            "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> "
            "Tensor")({
        doc("Integers in [low, high) of a tensor's shape"),
        broadcasts(),
        in(space::Torch),
        random_numbers(),
        not_differentiable(),
        no_out(),
        composition([](const Tensor& self, int64_t low, int64_t high, Generator* generator, DType dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin, std::optional<MemoryFormat> format) {
            return random_(empty_like(self, dtype, layout, device, pin, format), low, high, generator);
        }),
    });
    declare("randperm(SymInt n, *, Generator? generator=None, ScalarType? dtype=long, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("0 to n - 1 in random order"),
        random_numbers(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, int64_t n, Generator* generator, DType given, std::optional<Layout>, std::optional<Device> device,
               std::optional<bool>) {
                KINDLING_CHECK(Runtime, n >= 0, "n must be non-negative, got%ld", n);
                const DType dtype = given == DType::None ? DType::Int64 : given;
                KINDLING_CHECK(NotImplemented, !is_complex(dtype) && dtype != DType::Bool, "\"randperm\" not implemented for '%s'",
                               scalar_type_name(dtype));
                call.device = or_default(device);
                call.gives({n}, dtype);
                return generator;
            },
            [](Generator* generator, const Array& result) {
                library::fill_permutation(result.data(), result.dtype(), result.numel(), chosen(generator));
            }),
    });
    declare("multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor")({
        doc("Categories drawn with the weights in each row"),
        random_numbers(),
        not_differentiable(),
        raises_by_value(GIVEN(Tensor self, int64_t num_samples, bool replacement) { check_weights(self, num_samples, replacement); }),
        batches([](const Tensor& self, int64_t num_samples, bool replacement, Generator* generator) {
            Mapped m({self});
            return m.wraps([&] {
                const Tensor weights = m.bare(self);
                if (weights.dim() < 3) return multinomial(weights, num_samples, replacement, generator);
                return unflatten(multinomial(flatten(weights, 0, 1), num_samples, replacement, generator), 0,
                                 {weights.size(0), weights.size(1)});
            });
        }),
        composition([](const Tensor& self, int64_t num_samples, bool replacement, Generator* generator) {
            return weights_sampled(self, num_samples, replacement, generator);
        }),
        refuses("torch.multinomial(torch.tensor([-1., 2.]), 1)", "RuntimeError: probability tensor contains"),
    });
    declare("normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor")({
        doc("Normal numbers, each with its own mean and deviation"),
        node(3),
        broadcasts(),
        raises_by_value(GIVEN(Tensor std) { check_deviations(std); }),
        out_castable(),
        in(space::Torch),
        random_numbers(),
        composition([](const Tensor& mean, const Tensor& std, Generator* generator) {
            KINDLING_CHECK(Runtime, !std.is_complex(), "normal expects standard deviation to be non-complex");
            check_deviations(std);
            Tensor shape = room_to_draw(broadcast_sizes(mean.sizes(), std.sizes()), mean.dtype(), mean.device());
            return add_(mul_(normal_(shape, 0, 1, generator), std), mean);
        }),
        derivative(
            "mean, std", GIVEN(Tensor grad, IntList mean_sizes,
                               IntList std_sizes) { return std::tuple(zeros(mean_sizes, grad.dtype()), zeros(std_sizes, grad.dtype())); }),
    });
    declare("normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor")({
        doc("Normal numbers, each with its own mean"),
        node(1),
        broadcasts(),
        out_castable(),
        in(space::Torch),
        random_numbers(),
        composition([](const Tensor& mean, double std, Generator* generator) {
            KINDLING_CHECK(Runtime, std >= 0, "normal expects std >= 0.0, but found std %g", std);
            return add(mul(normal_(room_to_draw(mean.sizes(), mean.dtype(), mean.device()), 0, 1, generator), wrap_number(Scalar(std))),
                       mean);
        }),
        derivative(
            "mean", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor")({
        doc("Normal numbers, each with its own deviation"),
        node(2),
        broadcasts(),
        raises_by_value(GIVEN(Tensor std) { check_deviations(std); }),
        out_castable(),
        in(space::Torch),
        random_numbers(),
        composition([](double mean, const Tensor& std, Generator* generator) {
            KINDLING_CHECK(Runtime, !std.is_complex(), "normal expects standard deviation to be non-complex");
            check_deviations(std);
            if (item_size(std.dtype()) > 2) check_fits(Scalar(mean), std.dtype()); // others are computed in float32, and get to be infinite
            return add(mul(normal_(room_to_draw(std.sizes(), std.dtype(), std.device()), 0, 1, generator), std), wrap_number(Scalar(mean)));
        }),
        derivative(
            "std", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("Normal numbers"),
        out_decides(),
        in(space::Torch),
        random_numbers(),
        not_differentiable(),
        composition([](double mean, double std, IntList size, Generator* generator, DType dtype, std::optional<Layout>,
                       std::optional<Device> device, std::optional<bool>) {
            return normal_(room_to_draw(size, or_default(dtype), or_default(device)), mean, std, generator);
        }),
    });
    declare("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor")({
        doc("Gamma numbers of shape self and rate 1"),
        broadcasts(),
        in(space::Torch),
        random_numbers(),
        kernel(
            [](KernelCall& call, const Tensor& self, Generator* generator) {
                need_single(self, "gamma_cpu");
                return draws_by(call, self, generator);
            },
            [](Generator* generator, const Array& self, const Array& result) {
                library::standard_gamma(result.data(), self.data(), self.dtype(), self.numel(), chosen(generator));
            }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Tensor result) { return mul(grad, _standard_gamma_grad(self, result)); }),
    });
    declare("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor")({
        doc("d(sample)/d(shape) of a gamma number"),
        in(space::Torch),
        derivative(
            "self, output",
            GIVEN(Tensor grad) {
                (void)grad;
                fail(ErrorKind::NotImplemented, "the derivative for '_standard_gamma_grad' is not implemented.");
                return std::make_tuple(Tensor(), Tensor());
            }),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& output) {
                need_floats_alike(self, {&output}, "_standard_gamma_grad");
                Sizes sizes = broadcast_sizes(self.sizes(), output.sizes(), "_standard_gamma_grad");
                for (const Tensor* each : {&self, &output}) call.reads(expand(*each, sizes));
                call.gives(sizes, self.dtype());
            },
            [](const Array& self, const Array& output, const Array& result) {
                library::standard_gamma_gradient(result.data(), self.data(), output.data(), self.dtype(), result.numel());
            }),
    });
    declare("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor")({
        doc("d(sample)/d(alpha) / (1 - sample) of a Dirichlet number (Figurnov et al., 2018), by series that always converge"),
        in(space::Torch),
        no_derivative(),
        kernel(
            [](KernelCall& call, const Tensor& x, const Tensor& alpha, const Tensor& total) {
                need_floats_alike(x, {&alpha, &total}, "_dirichlet_grad");
                Sizes sizes =
                    broadcast_sizes(broadcast_sizes(x.sizes(), alpha.sizes(), "_dirichlet_grad"), total.sizes(), "_dirichlet_grad");
                for (const Tensor* each : {&x, &alpha, &total}) call.reads(expand(*each, sizes));
                call.gives(sizes, x.dtype());
            },
            [](const Array& x, const Array& alpha, const Array& total, const Array& result) {
                library::dirichlet_gradient(result.data(), x.data(), alpha.data(), total.data(), x.dtype(), result.numel());
            }),
    });
    declare("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor")({
        doc("Dirichlet numbers; the last dimension is one distribution"),
        in(space::Torch),
        random_numbers(),
        no_derivative(),
        kernel(
            [](KernelCall& call, const Tensor& self, Generator* generator) {
                need_single(self, "dirichlet");
                return draws_by(call, self, generator);
            },
            [](Generator* generator, const Array& self, const Array& result) {
                const int64_t width = self.dim() ? self.size(-1) : 1;
                library::dirichlet(result.data(), self.data(), self.dtype(), self.numel() / width, width, chosen(generator));
            }),
    });
    declare("poisson(Tensor self, Generator? generator=None) -> Tensor")({
        doc("Poisson numbers of rate self"),
        broadcasts(),
        raises_by_value(GIVEN(Tensor self) {
            KINDLING_CHECK(Runtime, all(ge(self, Scalar(0))).item<bool>(), "invalid Poisson rate, expected rate to be non-negative");
        }),
        in(space::Torch),
        random_numbers(),
        no_out(),
        takes(kind::Floats),
        kernel([](KernelCall& call, const Tensor& self, Generator* generator) { return draws_by(call, self, generator); },
               [](Generator* generator, const Array& self, const Array& result) {
                   library::poisson(result.data(), self.data(), self.dtype(), self.numel(), chosen(generator));
               }),
        derivative(
            "self", GIVEN(Tensor grad) { return zeros(grad.sizes(), grad.dtype()); }),
    });
    declare("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor")({
        doc("Binomial numbers"),
        broadcasts(),
        in(space::Torch),
        random_numbers(),
        no_derivative(),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& count, const Tensor& prob, Generator* generator) {
                Sizes sizes = broadcast_sizes(count.sizes(), prob.sizes(), "binomial");
                for (const Tensor* each : {&count, &prob})
                    KINDLING_CHECK(Value, is_floating(each->dtype()), "binomial only supports floating-point dtypes for %s, got: %s",
                                   each == &count ? "count" : "prob", scalar_type_name(each->dtype()));
                KINDLING_CHECK(Runtime, count.dtype() == prob.dtype(), "binomial: expected count and prob of one dtype, got %s and %s",
                               scalar_type_name(count.dtype()), scalar_type_name(prob.dtype()));
                need_single(count, "binomial_cpu");
                for (const Tensor* each : {&count, &prob}) call.reads(expand(*each, sizes));
                call.gives(sizes, count.dtype());
                return generator;
            },
            [](Generator* generator, const Array& count, const Array& prob, const Array& result) {
                library::binomial(result.data(), count.data(), prob.data(), count.dtype(), result.numel(), chosen(generator));
            }),
    });
}
