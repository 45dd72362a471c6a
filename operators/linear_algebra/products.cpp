// operators/linear_algebra/products.cpp: matrix products, all on one general product.
#include <cstring>

#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/products/gemm.h"
#include "operators/batching.h"
#include "operators/cached.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/loops.h"

namespace kindling {
namespace {

/// beta * c + alpha * a @ b of (batches of) matrices or vectors.
struct Product {
    int64_t m, n, k, batch = 1;
    bool adds = false; // if not, beta is 0 and alpha 1
    Scalar beta = {}, alpha = {};
};

void check_factors(const Product& product, DType dtype) {
    if (product.adds)
        for (const Scalar* factor : {&product.alpha, &product.beta}) check_fits(*factor, value_type(dtype));
}

/// What a rule says of it; c broadcasts. The result has `sizes`, which are those of the matrices or, of vectors, fewer.
void product_of(KernelCall& call, const Tensor& a, const Tensor& b, IntList sizes, const Product& product, const Tensor& c = {}) {
    call.reads_unresolved(a);
    call.reads_unresolved(b);
    if (c.defined()) {
        Sizes matrices{product.m, product.n};
        if (a.dim() == 3) matrices.insert(0, product.batch);
        expanded_strides(c.sizes(), c.strides(), matrices); // refuses what does not broadcast
        call.reads_as_it_lies(product.beta.equals(0) ? Tensor() : expand(c, matrices));
    } else call.reads_as_it_lies(c);
    call.gives(sizes, a.dtype());
    call.costs(product.m * product.n * product.k * product.batch);
    // By rows of a, or by matrices. What raises raises now; a half type's b would be widened again for each block of rows.
    const DType dtype = a.dtype();
    if (!thread_state.recording || !product.k || call.on_meta() || !product.m || !product.n || !product.batch) return;
    check_factors(product, dtype);
    if (a.dim() == 3) call.goes_by_rows(7);
    else if (a.dim() == 2 && b.dim() == 2 && a.stride(1) == 1 && kind_of(dtype) == kind::Float) {
        call.goes_by_rows(5, 16); // few rows add up in another order (gemm.h)
        const int64_t panel = library::panel_columns(dtype), item = static_cast<int64_t>(item_size(dtype));
        if (product.n >= panel) call.packs((product.n + panel - 1) / panel * panel * product.k * item);
    }
}

constexpr auto packed = [](const Product& what, const Array&, const Array& b, Workspace room) {
    library::pack_panels(b.dtype(), room.data, b.data(), b.stride(0), b.stride(1), what.k, what.n);
};

/// `panels`: b as `packed` made it, if it did.
constexpr auto multiplied = [](const Product& what, const Array& a, const Array& b, const Array& c, const Array& out, Span<Array> panels) {
    const DType dtype = a.dtype();
    if (dtype == DType::Bool) fail(ErrorKind::NotImplemented, "\"addmm_impl_cpu_\" not implemented for 'Bool'");
    check_factors(what, dtype);
    if (!what.k && !c.defined()) { // sums of nothing
        std::memset(out.data(), 0, static_cast<size_t>(out.numel()) * out.element_size());
        return;
    }
    library::Gemm problem{};
    problem.dtype = dtype;
    problem.m = a.dim() > 1 ? a.size(-2) : 1;
    problem.n = what.n;
    problem.k = what.k;
    problem.batch = a.dim() == 3 ? a.size(0) : 1;
    problem.a = a.data();
    problem.a_column = a.stride(-1);
    if (a.dim() > 1) problem.a_row = a.stride(-2);
    problem.a_conjugate = a.is_conj();
    problem.b = b.data();
    problem.b_row = b.stride(b.dim() > 1 ? -2 : -1);
    problem.b_column = b.dim() > 1 ? b.stride(-1) : 1;
    problem.b_conjugate = b.is_conj();
    if (panels.size()) {
        problem.b = panels[0].data();
        problem.b_row = library::panel_columns(dtype);
        problem.b_column = 1;
        problem.b_panel = problem.b_row * what.k;
    }
    problem.out = out.data();
    problem.out_row = what.n;
    problem.out_column = 1;
    if (a.dim() == 3) {
        problem.a_batch = a.stride(0);
        problem.b_batch = b.stride(0);
        problem.out_batch = what.m * what.n;
    }
    if (c.defined()) {
        problem.c = c.data();
        problem.c_row = c.stride(-2);
        problem.c_column = c.stride(-1);
        if (c.dim() == 3) problem.c_batch = c.stride(0);
    }
    problem.beta = 0;
    problem.integer_beta = 0;
    if (what.adds) {
        const std::complex<double> alpha = what.alpha.to_complex(), beta = what.beta.to_complex();
        problem.alpha = alpha.real();
        problem.alpha_imaginary = alpha.imag();
        problem.beta = beta.real();
        problem.beta_imaginary = beta.imag();
        if (is_integral(dtype)) {
            problem.integer_alpha = what.alpha.to_int();
            problem.integer_beta = what.beta.to_int();
        }
    }
    library::gemm(problem);
};

/// A product of bytes, in parts of so many columns: float holds the sum of so many products exactly.
struct BytesProduct {
    int64_t m, n, k, part;
};

constexpr auto bytes_multiplied = [](const BytesProduct& p, const Array& self, const Array& mat2, const Array& result,
                                     Workspace workspace) {
    library::Gemm whole{DType::Int8,    p.m,           p.n, p.k, self.data(), self.stride(0), self.stride(1), mat2.data(), mat2.stride(0),
                        mat2.stride(1), result.data(), p.n, 1};
    if (self.dtype() == DType::Int8 && library::gemm_bytes(whole)) return;
    float *left = workspace.as<float>(), *right = left + p.m * p.part, *sums = right + p.part * p.n;
    auto convert = [](void* to, DType type, const void* from, DType given, int64_t rows, int64_t columns, int64_t down, int64_t along,
                      bool adds) {
        const Expression& expression = cached_expression(key_of(type, given, adds), [&](ExpressionBuilder& b) {
            const Sym x = cast(b.input(given), type);
            b.output(adds ? x + b.input(type) : x);
        });
        const int64_t sizes[2] = {rows, columns}, item = static_cast<int64_t>(item_size(type)),
                      size = static_cast<int64_t>(item_size(given));
        const int64_t to_strides[2] = {columns * item, item}, from_strides[2] = {down * size, along * size};
        const LoopOperand operands[3] = {{to, type, to_strides}, {const_cast<void*>(from), given, from_strides}, {to, type, to_strides}};
        run(LoopKernel{
            .expression = &expression, .ndim = 2, .sizes = sizes, .output_count = 1, .input_count = 1 + adds, .operands = operands});
    };
    if (!p.k) std::memset(result.data(), 0, static_cast<size_t>(result.numel()) * result.element_size());
    for (int64_t at = 0; at < p.k; at += p.part) {
        const int64_t count = std::min(p.part, p.k - at);
        convert(left, DType::Float32, self.data_ptr<char>() + at * self.stride(1), self.dtype(), p.m, count, self.stride(0), self.stride(1),
                false);
        convert(right, DType::Float32, mat2.data_ptr<char>() + at * mat2.stride(0), mat2.dtype(), count, p.n, mat2.stride(0),
                mat2.stride(1), false);
        library::gemm({DType::Float32, p.m, p.n, count, left, count, 1, right, p.n, 1, sums, p.n, 1});
        convert(result.data(), DType::Int32, sums, DType::Float32, p.m, p.n, p.n, 1, at > 0);
    }
};

void same_dtype(const Tensor& a, const Tensor& b, const char* operation) {
    KINDLING_CHECK(Runtime, a.dtype() == b.dtype(), "%s: expected m1 and m2 to have the same dtype, but got: %s != %s", operation,
                   name(a.dtype()), name(b.dtype()));
}

void check_mm(const Tensor& a, const Tensor& b) {
    KINDLING_CHECK(Runtime, a.dim() == 2, "self must be a matrix, got %s in mm", str(a).c_str());
    KINDLING_CHECK(Runtime, b.dim() == 2, "mat2 must be a matrix, got %s in mm", str(b).c_str());
    KINDLING_CHECK(Runtime, a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied (%ldx%ld and %ldx%ld)", a.size(0), a.size(1),
                   b.size(0), b.size(1));
    same_dtype(a, b, "mm");
}

void check_bmm(const Tensor& a, const Tensor& b) {
    KINDLING_CHECK(Runtime, a.dim() == 3, "batch1 must be a 3D tensor");
    KINDLING_CHECK(Runtime, b.dim() == 3, "batch2 must be a 3D tensor");
    KINDLING_CHECK(Runtime, a.size(0) == b.size(0) && a.size(2) == b.size(1),
                   "Expected size for first two dimensions of batch2 tensor to be: [%ld, %ld] but got: [%ld, %ld].", a.size(0), a.size(2),
                   b.size(0), b.size(1));
    same_dtype(a, b, "bmm");
}

Tensor scaled(const Tensor& t, const Scalar& s) {
    if (s.equals(1)) return t;
    return mul(t, wrap_number(s.is_complex() ? Scalar(std::conj(s.to_complex())) : s));
}

/// The tangent of beta * self + alpha * product(a, b).
template <class F>
Tensor sum_tangent(const Tensor& self_t, const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t, const Scalar& beta,
                   const Scalar& alpha, F product) {
    Tensor t = a_t.defined() ? product(a_t, b) : Tensor();
    if (b_t.defined()) t = t.defined() ? add(t, product(a, b_t)) : product(a, b_t);
    auto times = [](const Tensor& x, const Scalar& s) { return s.equals(1) ? x : mul(x, wrap_number(s)); };
    if (t.defined()) t = times(t, alpha);
    if (self_t.defined()) t = t.defined() ? add(t, times(self_t, beta)) : times(self_t, beta);
    return t;
}

Tensor H(const Tensor& t) { return conj(transpose(t, -2, -1)); }

/// Gradients of left @ right, by columns where the operand lies by columns (a weight's transpose), as torch gives them: they
/// need no copy then to lie as the operand does.
bool by_columns(const Tensor& shape) { return shape.stride(0) == 1 && shape.stride(1) == shape.size(0); }
Tensor left_gradient(const Tensor& grad, const Tensor& right, const Tensor& left_shape) {
    return by_columns(left_shape) ? t(mm(conj(right), t(grad))) : mm(grad, H(right));
}
Tensor right_gradient(const Tensor& grad, const Tensor& left, const Tensor& right_shape) {
    return by_columns(right_shape) ? t(mm(t(grad), conj(left))) : mm(H(left), grad);
}

/// A product that is added. Where alpha is 0, PyTorch's BLAS does not look at the matrices, so their NaN and infinities do not matter.
Product added(int64_t m, int64_t n, int64_t k, int64_t batch, const Scalar& beta, const Scalar& alpha, bool looks) {
    return {m, n, looks || !alpha.equals(0) ? k : 0, batch, true, beta, alpha};
}

/// beta * self + alpha * product. Without beta, what is in self does not count.
Tensor added(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha) {
    const Tensor scaled = alpha.to_complex() == 1.0 ? product : mul(product, wrap_number(alpha));
    if (beta.to_complex() == 0.0) return scaled;
    return add(scaled, beta.to_complex() == 1.0 ? self : mul(self, wrap_number(beta)));
}

} // namespace
} // namespace kindling

OPERATORS(products) {
    declare("mm(Tensor self, Tensor mat2) -> Tensor")({
        doc("The product of two matrices"),
        multilinear(),
        flags(trait::AutocastLower),
        keeps_conj(),
        batches([](const Tensor& self, const Tensor& mat2) {
            KINDLING_CHECK(Runtime, self.dim() == 2, "self must be a matrix");
            KINDLING_CHECK(Runtime, mat2.dim() == 2, "mat2 must be a matrix");
            Mapped m({self, mat2});
            return m.wraps([&] { return matmul(m.bare(self), m.bare(mat2)); });
        }),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& mat2) {
                check_mm(self, mat2);
                const Product product{self.size(0), mat2.size(1), self.size(1)};
                product_of(call, self, mat2, Sizes{self.size(0), mat2.size(1)}, product);
                return product;
            },
            multiplied),
        by_rows(packed),
        derivative(
            "self", GIVEN(Tensor grad, Tensor mat2, Tensor self_shape) { return left_gradient(grad, mat2, self_shape); }),
        derivative(
            "mat2", GIVEN(Tensor grad, Tensor self, Tensor mat2_shape) { return right_gradient(grad, self, mat2_shape); }),
        refuses("torch.ones(2, 3).mm(torch.ones(2, 3))", "RuntimeError: mat1 and mat2 shapes cannot be multiplied \\(2x3 and 2x3\\)"),
    });
    declare("bmm(Tensor self, Tensor mat2) -> Tensor")({
        doc("Products of matrices in batches of one size"),
        multilinear(),
        flags(trait::AutocastLower),
        keeps_conj(),
        batches([](const Tensor& self, const Tensor& mat2) {
            KINDLING_CHECK(Runtime, self.dim() == 3 && mat2.dim() == 3, "batch1 and batch2 must be 3D tensors");
            KINDLING_CHECK(Runtime, self.size(0) == mat2.size(0), "batch1 and batch2 must have same number of batches, got %ld and %ld",
                           self.size(0), mat2.size(0));
            Mapped m({self, mat2});
            return m.wraps([&] { return matmul(m.bare(self), m.bare(mat2)); });
        }),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& mat2) {
                check_bmm(self, mat2);
                const Product product{self.size(1), mat2.size(2), self.size(2), self.size(0)};
                product_of(call, self, mat2, Sizes{self.size(0), self.size(1), mat2.size(2)}, product);
                return product;
            },
            multiplied),
        by_rows(packed),
        derivative(
            "self", GIVEN(Tensor grad, Tensor mat2) { return bmm(grad, H(mat2)); }),
        derivative(
            "mat2", GIVEN(Tensor grad, Tensor self) { return bmm(H(self), grad); }),
    });
    declare("_int_mm(Tensor self, Tensor mat2) -> Tensor")({
        doc("The product of a matrix of int8 or uint8 with one of int8, summed in int32"),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& mat2) {
                KINDLING_CHECK(Runtime, self.dim() == 2, "_int_mm: Expected self to be of dimension 2 but got %ld", self.dim());
                KINDLING_CHECK(Runtime, mat2.dim() == 2, "_int_mm: Expected mat2 to be of dimension 2 but got %ld", mat2.dim());
                KINDLING_CHECK(Runtime, self.size(1) == mat2.size(0),
                               "_int_mm: self.size(1) needs to match mat2.size(0) but got %ld and %ld", self.size(1), mat2.size(0));
                KINDLING_CHECK(Runtime, self.dtype() == DType::Int8 || self.dtype() == DType::UInt8,
                               "_int_mm: Expected self dtype to be int8 or uint8 but got %s", name(self.dtype()));
                KINDLING_CHECK(Runtime, mat2.dtype() == DType::Int8, "_int_mm: Expected mat2 dtype to be of type int8 but got %s",
                               name(mat2.dtype()));
                const int64_t m = self.size(0), n = mat2.size(1), k = self.size(1);
                const BytesProduct product{m, n, k, std::min<int64_t>(k, self.dtype() == DType::Int8 ? 1024 : 512)};
                call.reads_as_it_lies(self);
                call.reads_as_it_lies(mat2);
                call.gives({m, n}, DType::Int32);
                call.costs(m * n * std::max<int64_t>(k, 1));
                call.needs_workspace(static_cast<int64_t>(sizeof(float)) * (m * product.part + product.part * n + m * n));
                return product;
            },
            bytes_multiplied),
        refuses("torch._int_mm(torch.ones(2, 3), torch.ones(3, 2))", "RuntimeError: _int_mm: Expected self dtype to be int8 or uint8"),
    });
    declare("_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor")({
        doc("self times the transpose of an int8 matrix whose rows have a scale each; summed in float32"),
        not_differentiable(),
        composition([](const Tensor& self, const Tensor& mat2, const Tensor& scales) {
            KINDLING_CHECK(Runtime, is_half(self.dtype()) || self.dtype() == DType::Float32,
                           "_weight_int8pack_mm : expect A to be either 32-bit or 16-bit float tensor.");
            KINDLING_CHECK(Runtime, self.dim() == 2 && mat2.dim() == 2 && self.size(1) == mat2.size(1) && mat2.dtype() == DType::Int8,
                           "_weight_int8pack_mm : expect B to be an int8 tensor of as many columns as A, got %s and %s",
                           str(self.sizes()).c_str(), str(mat2.sizes()).c_str());
            KINDLING_CHECK(Runtime, scales.dim() == 1 && scales.size(0) == mat2.size(0),
                           "_weight_int8pack_mm : expect scales to be 1d tensor with size %ld", mat2.size(0));
            return to(mul(mm(to(self, DType::Float32), t(to(mat2, DType::Float32))), to(scales, DType::Float32)), self.dtype());
        }),
        refuses("torch.ops.aten._weight_int8pack_mm(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4))",
                "RuntimeError: _weight_int8pack_mm : expect B to be an int8 tensor"),
    });
    declare("_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, "
            "Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor")({
        doc("The product of matrices of eight-bit floating numbers, each with a scale for all of it or, both, for each row and column; "
            "summed in float32"),
        takes_float8(),
        no_derivative(),
        has_out(),
        in(space::Torch),
        composition([](const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b, const Tensor& bias,
                       const Tensor& scale_result, DType out_dtype, bool) {
            KINDLING_CHECK(Runtime, self.dim() == 2, "mat1 must be a matrix");
            KINDLING_CHECK(Runtime, mat2.dim() == 2, "mat2 must be a matrix");
            KINDLING_CHECK(Runtime, self.size(1) == mat2.size(0), "mat_a and mat_b shapes cannot be multiplied (%ldx%ld and %ldx%ld)",
                           self.size(0), self.size(1), mat2.size(0), mat2.size(1));
            auto has = [](const Tensor& scale, int64_t rows, int64_t columns) {
                return scale.dim() == 2 && scale.size(0) == rows && scale.size(1) == columns;
            };
            const bool whole = scale_a.numel() == 1 && scale_b.numel() == 1;
            const bool dtypes = is_float8(self.dtype()) && is_float8(mat2.dtype()) && scale_a.dtype() == DType::Float32 &&
                                scale_b.dtype() == DType::Float32;
            KINDLING_CHECK(Value, dtypes && (whole || (has(scale_a, self.size(0), 1) && has(scale_b, 1, mat2.size(1)))),
                           "Invalid scaling configuration.\n- For TensorWise scaling, a and b should be float8, scales should be float and "
                           "singletons.\n- For RowWise scaling, a and b "
                           "should be float8, scales should be float, scale_a should be (%ld, 1) and scale_b should be (1, %ld).\nGot "
                           "mat_a.dtype()=%s, scale_a.dtype()=%s, "
                           "scale_a.size()=%s, mat_b.dtype()=%s, scale_b.dtype()=%s, scale_b.size()=%s",
                           self.size(0), mat2.size(1), scalar_type_name(self.dtype()), scalar_type_name(scale_a.dtype()),
                           str(scale_a.sizes()).c_str(), scalar_type_name(mat2.dtype()), scalar_type_name(scale_b.dtype()),
                           str(scale_b.sizes()).c_str());
            KINDLING_CHECK(Runtime, !bias.defined() || bias.numel() == mat2.size(1), "Bias must be size %ld but got %ld", mat2.size(1),
                           bias.numel());
            const DType result = out_dtype == DType::None ? self.dtype() : out_dtype;
            KINDLING_CHECK(Runtime, is_narrow(result) || result == DType::Float32,
                           "_scaled_mm: out_dtype must be float32, a half type or a float8, got %s", name(result));
            auto scale = [](const Tensor& x) { return x.numel() == 1 ? reshape(to(x, DType::Float32), {}) : to(x, DType::Float32); };
            Tensor out = mul(mul(mm(to(self, DType::Float32), to(mat2, DType::Float32)), scale(scale_a)), scale(scale_b));
            if (bias.defined()) out = add(out, to(bias, DType::Float32));
            if (scale_result.defined() && is_float8(result)) out = div(out, scale(scale_result));
            return to(out, result);
        }),
    });
    declare("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")({
        doc("beta * self + alpha * mat1 @ mat2"),
        inplace_is_method(),
        flags(trait::AutocastLower),
        has_inplace(),
        keeps_conj(),
        batches([](const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
            Mapped m({self, mat1, mat2});
            if (m.has(mat1) && !m.has(mat2) && !m.has(self) && self.dim() == 1 && mat1.dim() == 2 &&
                mat2.dim() == 2) // a linear layer: one product
                return m.wraps([&] {
                    const Tensor rows = reshape(m.bare(mat1), {-1, mat1.size(1)});
                    return view(addmm(m.bare(self), rows, m.bare(mat2), beta, alpha), {m.size(), mat1.size(0), mat2.size(1)});
                });
            return added(self, mm(mat1, mat2), beta, alpha);
        }),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
                KINDLING_CHECK(Runtime, mat1.dtype() == mat2.dtype(), "mat1 and mat2 must have the same dtype, but got %s and %s",
                               scalar_type_name(mat1.dtype()), scalar_type_name(mat2.dtype()));
                check_mm(mat1, mat2);
                KINDLING_CHECK(Runtime, self.dtype() == mat1.dtype(), "self and mat2 must have the same dtype, but got %s and %s",
                               scalar_type_name(self.dtype()), scalar_type_name(mat2.dtype()));
                const Sizes sizes{mat1.size(0), mat2.size(1)};
                const bool looks = !(kind_of(self.dtype()) & (kind::Float | kind::Complex));
                const Product product = added(sizes[0], sizes[1], mat1.size(1), 1, beta, alpha, looks);
                product_of(call, mat1, mat2, sizes, product, self);
                return product;
            },
            multiplied),
        by_rows(packed),
        derivative(
            "self", GIVEN(Tensor grad, Scalar beta) { return scaled(grad, beta); }),
        derivative(
            "mat1", GIVEN(Tensor grad, Tensor mat2, Scalar alpha,
                          Tensor mat1_shape) { return scaled(left_gradient(grad, mat2, mat1_shape), alpha); }),
        derivative(
            "mat2", GIVEN(Tensor grad, Tensor mat1, Scalar alpha,
                          Tensor mat2_shape) { return scaled(right_gradient(grad, mat1, mat2_shape), alpha); }),
        forward(GIVEN(Tensor self_t, Tensor mat1, Tensor mat1_t, Tensor mat2, Tensor mat2_t, Scalar beta, Scalar alpha) {
            return sum_tangent(self_t, mat1, mat1_t, mat2, mat2_t, beta, alpha, [](const Tensor& a, const Tensor& b) { return mm(a, b); });
        }),
    });
    declare("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")({
        doc("beta * self + alpha * batch1 @ batch2"),
        inplace_is_method(),
        flags(trait::AutocastLower),
        has_inplace(),
        keeps_conj(),
        batches([](const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) {
            return added(self, bmm(batch1, batch2), beta, alpha);
        }),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) {
                check_bmm(batch1, batch2);
                KINDLING_CHECK(Runtime, self.dtype() == batch1.dtype(),
                               "Input dtypes must be the same, got: input: %s, batch1: %s, batch2: %s", name(self.dtype()),
                               name(batch1.dtype()), name(batch2.dtype()));
                const Sizes sizes{batch1.size(0), batch1.size(1), batch2.size(2)};
                const bool looks = sizes[1] * batch1.size(2) * sizes[2] < 400;
                const Product product = added(sizes[1], sizes[2], batch1.size(2), sizes[0], beta, alpha, looks);
                product_of(call, batch1, batch2, sizes, product, self);
                return product;
            },
            multiplied),
        by_rows(packed),
        derivative(
            "self", GIVEN(Tensor grad, Scalar beta) { return scaled(grad, beta); }),
        derivative(
            "batch1", GIVEN(Tensor grad, Tensor batch2, Scalar alpha) { return scaled(bmm(grad, H(batch2)), alpha); }),
        derivative(
            "batch2", GIVEN(Tensor grad, Tensor batch1, Scalar alpha) { return scaled(bmm(H(batch1), grad), alpha); }),
        forward(GIVEN(Tensor self_t, Tensor batch1, Tensor batch1_t, Tensor batch2, Tensor batch2_t, Scalar beta, Scalar alpha) {
            return sum_tangent(self_t, batch1, batch1_t, batch2, batch2_t, beta, alpha,
                               [](const Tensor& a, const Tensor& b) { return bmm(a, b); });
        }),
    });
    declare("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")({
        doc("beta * self + alpha * the sum of batch1 @ batch2 over the batch"),
        inplace_is_method(),
        flags(trait::AutocastLower),
        has_inplace(),
        composition([](const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) {
            check_bmm(batch1, batch2);
            const int64_t inner = batch1.size(0) * batch1.size(2);
            Tensor left = reshape(transpose(batch1, 0, 1), {batch1.size(1), inner}), right = reshape(batch2, {inner, batch2.size(2)});
            return addmm(self, left, right, beta, alpha);
        }),
    });
    declare("mv(Tensor self, Tensor vec) -> Tensor")({
        doc("A matrix times a vector"),
        multilinear(),
        keeps_conj(),
        batches([](const Tensor& self, const Tensor& vec) {
            KINDLING_CHECK(Runtime, self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got %ld, %ld, %ld", int64_t{1},
                           self.dim(), vec.dim());
            Mapped m({self, vec});
            return m.wraps([&] {
                const Tensor A = m.bare(self), v = m.bare(vec);
                if (!m.has(vec)) return matmul(A, v);
                return m.has(self) ? squeeze(matmul(A, unsqueeze(v, -1)), -1) : matmul(v, t(A));
            });
        }),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& vec) {
                KINDLING_CHECK(Runtime, self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got %ld, %ld, %ld",
                               int64_t{1}, self.dim(), vec.dim());
                KINDLING_CHECK(Runtime, self.size(1) == vec.size(0), "size mismatch, got input (%ld), mat (%ldx%ld), vec (%ld)",
                               self.size(0), self.size(0), self.size(1), vec.size(0));
                same_dtype(self, vec, "mv");
                const Product product{self.size(0), 1, self.size(1)};
                product_of(call, self, vec, Sizes{self.size(0)}, product);
                return product;
            },
            multiplied),
        derivative(
            "self", GIVEN(Tensor grad, Tensor vec) { return mul(unsqueeze(grad, 1), conj(unsqueeze(vec, 0))); }),
        derivative(
            "vec", GIVEN(Tensor grad, Tensor self) { return mv(H(self), grad); }),
    });
    declare("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor")({
        doc("beta * self + alpha * mat @ vec"),
        has_inplace(),
        keeps_conj(),
        batches([](const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
            return added(self, mv(mat, vec), beta, alpha);
        }),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
                KINDLING_CHECK(Runtime, mat.dim() == 2 && vec.dim() == 1 && self.dim() <= 1,
                               "vector + matrix @ vector expected, got %ld, %ld, %ld", self.dim(), mat.dim(), vec.dim());
                KINDLING_CHECK(Runtime, mat.size(1) == vec.size(0) && (self.numel() == mat.size(0) || self.numel() == 1),
                               "size mismatch, got input (%ld), mat (%ldx%ld), vec (%ld)", self.numel(), mat.size(0), mat.size(1),
                               vec.size(0));
                same_dtype(mat, vec, "addmv");
                KINDLING_CHECK(Runtime, self.dtype() == mat.dtype(),
                               "addmv: expected self and mat to have the same dtype, but got: %s != %s", name(self.dtype()),
                               name(mat.dtype()));
                const Product product = added(mat.size(0), 1, mat.size(1), 1, beta, alpha, kind_of(self.dtype()) != kind::Float);
                product_of(call, mat, vec, Sizes{mat.size(0)}, product, self.dim() ? unsqueeze(self, 1) : self);
                return product;
            },
            multiplied),
        derivative(
            "self", GIVEN(Tensor grad, Scalar beta) { return scaled(grad, beta); }),
        derivative(
            "mat",
            GIVEN(Tensor grad, Tensor vec, Scalar alpha) { return scaled(mul(unsqueeze(grad, 1), conj(unsqueeze(vec, 0))), alpha); }),
        derivative(
            "vec", GIVEN(Tensor grad, Tensor mat, Scalar alpha) { return scaled(mv(H(mat), grad), alpha); }),
        forward(GIVEN(Tensor self_t, Tensor mat, Tensor mat_t, Tensor vec, Tensor vec_t, Scalar beta, Scalar alpha) {
            return sum_tangent(self_t, mat, mat_t, vec, vec_t, beta, alpha, [](const Tensor& a, const Tensor& b) { return mv(a, b); });
        }),
    });
    declare("outer(Tensor self, Tensor vec2) -> Tensor")({
        doc("All products of two vectors' elements"),
        out_castable(),
        alias("ger"),
        composition([](const Tensor& self, const Tensor& vec2) {
            KINDLING_CHECK(Runtime, self.dim() == 1, "outer: Expected 1-D argument self, but got %ld-D", self.dim());
            KINDLING_CHECK(Runtime, vec2.dim() == 1, "outer: Expected 1-D argument vec2, but got %ld-D", vec2.dim());
            return mul(unsqueeze(self, 1), unsqueeze(vec2, 0));
        }),
    });
    declare("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")({
        doc("beta * self + alpha * outer(vec1, vec2)"),
        inplace_is_method(),
        out_castable(),
        has_inplace(),
        composition([](const Tensor& given, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha) {
            KINDLING_CHECK(Runtime, vec1.dim() == 1, "addr: Expected 1-D argument vec1, but got %ld-D", vec1.dim());
            KINDLING_CHECK(Runtime, vec2.dim() == 1, "addr: Expected 1-D argument vec2, but got %ld-D", vec2.dim());
            ResultType promoted;
            const Tensor spread = expand(given, {vec1.size(0), vec2.size(0)}); // so that a number counts as a tensor, as in torch
            for (const Tensor* each : {&spread, &vec1, &vec2}) promoted.add(*each->impl());
            check_kind(beta, promoted.get(), "beta");
            check_fits(beta, promoted.get());
            check_kind(alpha, promoted.get(), "alpha");
            check_fits(alpha, promoted.get());
            auto number = [&](const Scalar& s) {
                return wrap_number(s.is_complex() && !is_complex(promoted.get()) ? Scalar(s.to_double()) : s);
            };
            // All is computed in the dtype of all three, as torch does: what would wrap in bytes does not beside a float.
            const Tensor self = to(given, promoted.get()), first = to(vec1, promoted.get()), second = to(vec2, promoted.get());
            if (promoted.get() == DType::Bool) {
                Tensor product = outer(first, second);
                if (!alpha.to_bool()) product = zeros_like(product);
                return beta.to_bool() ? logical_or(self, product) : product;
            }
            Tensor product = outer(alpha.equals(1) ? first : mul(first, number(alpha)), second);
            if (beta.equals(0)) {
                // What self holds does not matter, NaN neither; that it takes part does: its gradient is 0.
                return thread_state.grad_mode && self.requires_grad() ? add(masked_fill(self, ones({}, DType::Bool), Scalar(0)), product)
                                                                      : product;
            }
            return add(beta.equals(1) ? self : mul(self, number(beta)), product);
        }),
    });
    declare("dot(Tensor self, Tensor tensor) -> Tensor")({
        doc("The sum of two vectors' products"),
        multilinear(),
        keeps_conj(),
        batches([](const Tensor& self, const Tensor& tensor) {
            KINDLING_CHECK(Runtime, self.dim() == 1 && tensor.dim() == 1, "1D tensors expected, but got %ldD and %ldD tensors", self.dim(),
                           tensor.dim());
            KINDLING_CHECK(Runtime, self.dtype() == tensor.dtype() && self.size(0) == tensor.size(0),
                           "dot: tensors of one dtype and size expected, got %s and %s", str(self).c_str(), str(tensor).c_str());
            Mapped m({self, tensor});
            return m.wraps([&] {
                const Tensor a = m.bare(self), b = m.bare(tensor);
                if (!m.has(tensor)) return matmul(a, b);
                return m.has(self) ? squeeze(squeeze(matmul(unsqueeze(a, -2), unsqueeze(b, -1)), -1), -1) : matmul(b, a);
            });
        }),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& tensor) {
                KINDLING_CHECK(Runtime, self.dim() == 1 && tensor.dim() == 1, "1D tensors expected, but got %ldD and %ldD tensors",
                               self.dim(), tensor.dim());
                KINDLING_CHECK(Runtime, self.dtype() == tensor.dtype(),
                               "dot : expected both vectors to have same dtype, but found %s and %s", scalar_type_name(self.dtype()),
                               scalar_type_name(tensor.dtype()));
                KINDLING_CHECK(Runtime, self.numel() == tensor.numel(),
                               "inconsistent tensor size, expected tensor [%ld] and src [%ld] to have the same number of elements, but got "
                               "%ld and %ld elements respectively",
                               self.numel(), tensor.numel(), self.numel(), tensor.numel());
                const Product product{1, 1, self.numel()};
                product_of(call, self, tensor, {}, product);
                return product;
            },
            multiplied),
        derivative(
            "self", GIVEN(Tensor grad, Tensor tensor) { return mul(grad, conj(tensor)); }),
        derivative(
            "tensor", GIVEN(Tensor grad, Tensor self) { return mul(grad, conj(self)); }),
    });
    declare("vdot(Tensor self, Tensor other) -> Tensor")({
        doc("dot with the first vector conjugated"),
        composition([](const Tensor& self, const Tensor& other) { return dot(conj(self), other); }),
    });
    declare("inner(Tensor self, Tensor other) -> Tensor")({
        doc("Sums of products over the last dimensions"),
        composition([](const Tensor& self, const Tensor& other) {
            if (self.dim() == 0 || other.dim() == 0) return mul(self, other);
            KINDLING_CHECK(Runtime, self.size(-1) == other.size(-1),
                           "inner() the last dimension must match on both input tensors but got shapes %s and %s",
                           str(self.sizes()).c_str(), str(other.sizes()).c_str());
            auto rows = [](const Tensor& x) {
                int64_t count = 1;
                for (int64_t i = 0; i + 1 < x.dim(); i++) count *= x.size(i);
                return reshape(x, {count, x.size(-1)});
            };
            Tensor product = mm(rows(self), t(rows(other)));
            Sizes sizes = self.sizes();
            sizes.pop_back();
            for (int64_t i = 0; i + 1 < other.dim(); i++) sizes.push_back(other.size(i));
            return reshape(product, sizes);
        }),
    });
    declare("matmul(Tensor self, Tensor other) -> Tensor")({
        doc("Matrix product with batches broadcast, vectors as in NumPy's matmul"),
        flags(trait::AutocastLower),
        alias("linalg_matmul"),
        alias("__matmul__"),
        composition([](const Tensor& self, const Tensor& other) {
            int64_t a = self.dim(), b = other.dim();
            KINDLING_CHECK(Runtime, a && b, "both arguments to matmul need to be at least 1D, but they are %ldD and %ldD", a, b);
            if (a == 1 && b == 1) return dot(self, other);
            if (a == 2 && b == 1) return mv(self, other);
            if (a == 1 && b == 2) return _unsafe_view(mm(unsqueeze(self, 0), other), {other.size(1)}); // a result of its own, not a view
            if (a == 2 && b == 2) return mm(self, other);
            if (b <= 2 && a >= 3) { // fold the batch into the rows: one product
                Tensor right = b == 1 ? unsqueeze(other, 1) : other;
                KINDLING_CHECK(Runtime, self.size(-1) == right.size(0), "mat1 and mat2 shapes cannot be multiplied (%ldx%ld and %ldx%ld)",
                               self.numel() / std::max<int64_t>(self.size(-1), 1), self.size(-1), right.size(0), right.size(1));
                SizeVector sizes;
                Size rows = 1;
                for (int64_t i = 0; i + 1 < a; i++) {
                    sizes.push_back(size_of(self, i));
                    rows = rows * sizes[static_cast<size_t>(i)];
                }
                Tensor product = mm(reshape(self, SizeVector{rows, size_of(self, -1)}), right);
                if (b == 2) sizes.push_back(size_of(other, 1));
                return _unsafe_view(product, sizes);
            }
            if (a <= 2 && b >= 3 &&
                (self.requires_grad() || is_followed(self))) { // the same from the right, so that no gradient is as large as the batch
                Sizes sizes = other.sizes();
                int64_t count = other.size(-1);
                for (int64_t i = 0; i + 2 < b; i++) count *= sizes[static_cast<size_t>(i)];
                Tensor rows = reshape(transpose(other, -1, -2), {count, other.size(-2)});
                sizes.pop_back();
                sizes[sizes.size() - 1] = other.size(-1);
                if (a == 1) return _unsafe_view(mv(rows, self), sizes);
                sizes.push_back(self.size(0));
                return contiguous(transpose(_unsafe_view(mm(rows, t(self)), sizes), -1, -2), MemoryFormat::Contiguous);
            }
            Tensor left = a == 1 ? unsqueeze(self, 0) : self, right = b == 1 ? unsqueeze(other, 1) : other;
            int64_t n = left.size(-2), k = left.size(-1), k2 = right.size(-2), m = right.size(-1);
            IntList left_batch(left.sizes().data(), left.sizes().size() - 2), right_batch(right.sizes().data(), right.sizes().size() - 2);
            Sizes batch = broadcast_sizes(left_batch, right_batch, "matmul");
            int64_t count = 1;
            for (int64_t size : batch) count *= size;
            Sizes left_sizes = batch, right_sizes = batch, result = batch;
            left_sizes.push_back(n);
            left_sizes.push_back(k);
            right_sizes.push_back(k2);
            right_sizes.push_back(m);
            Tensor product = bmm(reshape(expand(left, left_sizes), {count, n, k}), reshape(expand(right, right_sizes), {count, k2, m}));
            if (a > 1) result.push_back(n);
            if (b > 1) result.push_back(m);
            return _unsafe_view(product, result);
        }),
        example("torch.matmul(torch.ones(3, 2, 4), torch.ones(4, 5)).shape"),
    });
    declare("chain_matmul(Tensor[] matrices) -> Tensor")({
        doc("The product of several matrices"),
        in(space::Torch),
        composition([](TensorList matrices) {
            KINDLING_CHECK(Runtime, !matrices.empty(), "chain_matmul(): Expected one or more matrices");
            for (size_t i = 0; i < matrices.size(); i++)
                KINDLING_CHECK(Runtime, matrices[i].dim() == 2, "Tensor dimension is %ld, expected 2 instead.", matrices[i].dim());
            Tensor result = matrices.size() == 1 ? clone(matrices[0]) : matrices[0];
            for (size_t i = 1; i < matrices.size(); i++) result = mm(result, matrices[i]);
            return result;
        }),
    });
    declare("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")({
        doc("input @ weight.T + bias"),
        flags(trait::AutocastLower),
        in(space::Nn | space::Hidden),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias) {
            if (weight.dim() == 2 && input.dim() == 2) return bias.defined() ? addmm(bias, input, t(weight)) : mm(input, t(weight));
            if (weight.dim() == 2 && input.dim() > 0 && bias.defined() && bias.dim() == 1 &&
                (bias.dtype() == input.dtype() || input.is_contiguous())) {
                KINDLING_CHECK(Runtime, input.size(-1) == weight.size(1), "mat1 and mat2 shapes cannot be multiplied (%ldx%ld and %ldx%ld)",
                               input.numel() / std::max<int64_t>(input.size(-1), 1), input.size(-1), weight.size(1), weight.size(0));
                Sizes sizes = input.sizes();
                int64_t rows = 1;
                for (size_t i = 0; i + 1 < sizes.size(); i++) rows *= sizes[i];
                sizes[sizes.size() - 1] = weight.size(0);
                return view(addmm(bias, reshape(input, {rows, input.size(-1)}), t(weight)), sizes);
            }
            Tensor result = matmul(input, weight.dim() == 1 ? weight : t(weight));
            if (!bias.defined()) return result;
            Tensor sum = add(result, bias); // PyTorch adds in place
            KINDLING_CHECK(Runtime, category(sum.dtype()) <= category(result.dtype()),
                           "result type %s can't be cast to the desired output type %s", scalar_type_name(sum.dtype()),
                           scalar_type_name(result.dtype()));
            KINDLING_CHECK(Runtime, sum.sizes() == result.sizes(), "output with shape %s doesn't match the broadcast shape %s",
                           str(result.sizes()).c_str(), str(sum.sizes()).c_str());
            return to(sum, result.dtype());
        }),
    });
}
