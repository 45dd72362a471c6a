// operators/linear_algebra/contractions.cpp: products over chosen dimensions, outer and cross products, covariance, and combinations.
#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/declare.h"
#include "operators/forms.h"

namespace kindling {
namespace {

Tensor number(double value) { return wrap_number(Scalar(value)); }

Tensor contracted(const Tensor& self, const Tensor& other, IntList dims_self, IntList dims_other) {
    KINDLING_CHECK(Runtime, dims_self.size() == dims_other.size(), "both dimension lists should have same length");
    KINDLING_CHECK(Runtime, self.dtype() == other.dtype(), "tensordot: both inputs should have same dtype, got %s and %s",
                   name(self.dtype()), name(other.dtype()));
    dim_mask(dims_self, self.dim(), false);
    dim_mask(dims_other, other.dim(), false);
    Tensor a = self, b = other;
    Sizes first, second, order_a, order_b, result;
    int64_t inner = 1, rows = 1, columns = 1;
    for (size_t i = 0; i < dims_self.size(); i++) {
        int64_t d = wrap_dim(dims_self[i], a.dim()), e = wrap_dim(dims_other[i], b.dim());
        if (a.size(d) == 1 && b.size(e) != 1) b = sum(b, IntList({e}), true, b.dtype());
        else if (b.size(e) == 1 && a.size(d) != 1) a = sum(a, IntList({d}), true, a.dtype());
        KINDLING_CHECK(Runtime, a.size(d) == b.size(e),
                       "contracted dimensions need to match, but first has size %ld in dim %ld and second has size %ld in dim %ld",
                       a.size(d), d, b.size(e), e);
        first.push_back(d);
        second.push_back(e);
        inner *= a.size(d);
    }
    auto has = [](const Sizes& list, int64_t value) {
        for (int64_t each : list)
            if (each == value) return true;
        return false;
    };
    for (int64_t d = 0; d < a.dim(); d++)
        if (!has(first, d)) {
            order_a.push_back(d);
            rows *= a.size(d);
            result.push_back(a.size(d));
        }
    for (int64_t d : first) order_a.push_back(d);
    for (int64_t d : second) order_b.push_back(d);
    for (int64_t d = 0; d < b.dim(); d++)
        if (!has(second, d)) {
            order_b.push_back(d);
            columns *= b.size(d);
            result.push_back(b.size(d));
        }
    return reshape(mm(reshape(permute(a, order_a), {rows, inner}), reshape(permute(b, order_b), {inner, columns})), result);
}

Tensor kronecker(const Tensor& self, const Tensor& other) {
    int64_t dims = std::max(self.dim(), other.dim());
    Sizes a, b, result;
    for (int64_t d = 0; d < dims; d++) {
        int64_t i = d - (dims - self.dim()), j = d - (dims - other.dim());
        int64_t m = i < 0 ? 1 : self.size(i), n = j < 0 ? 1 : other.size(j);
        a.push_back(m);
        a.push_back(1);
        b.push_back(1);
        b.push_back(n);
        result.push_back(m * n);
    }
    Tensor x = reshape(self, a), y = reshape(other, b);
    if (const int64_t numel = checked_numel(result); dims && numel >= 4096) {
        // Both with whole rows of the result, if that is little to copy: short pieces of rows would be read one by one.
        const int64_t m = a[a.size() - 2], n = b.back(), row = m * n;
        if (m > 1 && n > 1 && n <= 128 && self.numel() >= 4 * m && other.numel() >= 4 * n) {
            a.back() = n, b[b.size() - 2] = m;
            x = expand(x, a), y = expand(y, b);
            for (Sizes* each : {&a, &b}) each->pop_back(), each->back() = row;
            x = reshape(x, a), y = reshape(y, b);
        }
    }
    return untied(reshape(mul(x, y), result));
}

/// Ones, x, x**2, ... along a new last dimension.
Tensor powers(const Tensor& x, int64_t count) {
    Sizes head = x.sizes(), tail = x.sizes();
    head.push_back(std::min<int64_t>(count, 1));
    tail.push_back(std::max<int64_t>(count - 1, 0));
    DType dtype = is_floating(x.dtype()) || x.is_complex() ? x.dtype() : DType::Int64;
    Tensor first = ones(head, dtype, std::nullopt, x.device());
    return cat({first, cumprod(expand(unsqueeze(to(x, dtype), -1), tail), -1)}, -1);
}

/// How many ways there are to take `taken` out of `n`; INT64_MAX where they are more.
int64_t binomial(__int128 n, __int128 taken) {
    taken = std::min(taken, n - taken);
    __int128 count = taken >= 0;
    for (__int128 i = 1; i <= taken && count < INT64_MAX; i++) count = count * (n - taken + i) / i;
    return static_cast<int64_t>(std::min<__int128>(count, INT64_MAX));
}

/// All choices of r of the numbers below n, in order, one in each row.
Tensor choices(int64_t n, int64_t r, bool repeats, Device device) {
    int64_t count = repeats && n == 0 ? 0
                    : repeats         ? binomial(static_cast<__int128>(n) + r - 1, r)
                                      : binomial(n, r),
            step = repeats ? 0 : 1;
    Tensor result = make_tensor({count, r}, DType::Int64, device);
    if (result.is_meta() || count == 0) return result;
    int64_t* row = result.data_ptr<int64_t>();
    for (int64_t j = 0; j < r; j++) row[j] = j * step;
    for (int64_t i = 1; i < count; i++, row += r) {
        int64_t last = r - 1; // the last number of the row before that can still grow
        while (row[last] == n - 1 - (r - 1 - last) * step) last--;
        for (int64_t j = 0; j < r; j++) row[r + j] = j < last ? row[j] : row[last] + 1 + (j - last) * step;
    }
    return result;
}

} // namespace
} // namespace kindling

OPERATORS(contractions) {
    declare("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor")({
        doc("Sums of products over pairs of dimensions"),
        in(space::Torch),
        composition([](const Tensor& self, const Tensor& other, IntList dims_self, IntList dims_other) {
            return contracted(self, other, dims_self, dims_other);
        }),
    });
    declare("kron(Tensor self, Tensor other) -> Tensor")({
        doc("The Kronecker product: each element of self times other"),
        out_castable(),
        composition([](const Tensor& self, const Tensor& other) { return kronecker(self, other); }),
    });
    declare("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor")({
        doc("The cross product of vectors of three elements"),
        takes(kind::All & ~(kind::Bool | kind::Unsigned)),
        composition([](const Tensor& self, const Tensor& other, int64_t dim) {
            KINDLING_CHECK(Runtime, self.dim() == other.dim(), "linalg.cross: inputs must have the same number of dimensions.");
            KINDLING_CHECK(Runtime, self.size(dim) == 3 && other.size(dim) == 3,
                           "linalg.cross: inputs dimension %ld must have length 3. Got %ld and %ld", dim, self.size(dim), other.size(dim));
            KINDLING_CHECK(Runtime, self.dtype() == other.dtype(), "expected scalar type %s but found %s", scalar_type_name(self.dtype()),
                           scalar_type_name(other.dtype()));
            int64_t d = wrap_dim(dim, self.dim());
            Tensor a = self, b = other;
            if (!(self.sizes() == other.sizes())) {
                Sizes sizes = broadcast_sizes(self.sizes(), other.sizes(), "linalg.cross");
                a = expand(a, sizes);
                b = expand(b, sizes);
            }
            auto turned = [&](const Tensor& x, int64_t by) { return roll(x, IntList({by}), IntList({d})); };
            return contiguous(sub(mul(turned(a, -1), turned(b, 1)), mul(turned(a, 1), turned(b, -1))));
        }),
        refuses("torch.linalg.cross(torch.ones(2), torch.ones(2))", "RuntimeError: linalg.cross: inputs dimension -1 must have length 3"),
    });
    declare("cross(Tensor self, Tensor other, int? dim=None) -> Tensor")({
        doc("The cross product; without dim, along the first dimension of size 3"),
        composition([](const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
            if (!dim) {
                for (int64_t d = 0; d < self.dim() && !dim; d++)
                    if (self.size(d) == 3) dim = d;
                KINDLING_CHECK(Runtime, dim, "no dimension of size 3 in input");
            }
            return linalg_cross(self, other, *dim);
        }),
    });
    declare("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor")({
        doc("Powers of a vector's elements as columns, the highest first"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& x, std::optional<int64_t> n, bool increasing) {
            KINDLING_CHECK(Runtime, x.dim() == 1, "x must be a one-dimensional tensor.");
            KINDLING_CHECK(Runtime, !n || *n >= 0, "N must be non-negative.");
            Tensor result = powers(x, n.value_or(x.size(0)));
            return increasing ? result : flip(result, IntList({1}));
        }),
    });
    declare("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor")({
        doc("Powers of vectors' elements: 1, x, x**2, ..."),
        no_out(),
        composition([](const Tensor& x, std::optional<int64_t> n) {
            KINDLING_CHECK(Runtime, x.dtype() != DType::Bool && !is_half(x.dtype()),
                           "linalg.vander supports floating point, complex, and integer tensors, but got %s", scalar_type_name(x.dtype()));
            Tensor rows = x.dim() ? x : unsqueeze(x, -1);
            int64_t count = n.value_or(rows.size(-1));
            KINDLING_CHECK(Runtime, count > 1, "N must be greater than 1.");
            return powers(rows, count);
        }),
    });
    declare("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor")({
        doc("The covariance of variables in rows, observations in columns"),
        no_out(),
        composition([](const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
            KINDLING_CHECK(Runtime, self.dim() <= 2,
                           "cov(): expected input to have two or fewer dimensions but got an input with %ld dimensions", self.dim());
            KINDLING_CHECK(Runtime, self.dtype() != DType::Bool, "cov(): bool dtype is not supported for input");
            Tensor x = self.dim() < 2 ? reshape(self, {1, -1}) : self, w;
            int64_t observations = x.size(1);
            auto check = [&](const Tensor& weights, const char* which, bool whole) {
                KINDLING_CHECK(Runtime, weights.dim() <= 1,
                               "cov(): expected %s to have one or fewer dimensions but got %s with %ld dimensions", which, which,
                               weights.dim());
                KINDLING_CHECK(Runtime, whole ? is_integral(weights.dtype()) : is_floating(weights.dtype()),
                               "cov(): expected %s to have %s dtype but got %s with %s dtype", which, whole ? "integral" : "floating point",
                               which, scalar_type_name(weights.dtype()));
                KINDLING_CHECK(Runtime, weights.numel() == observations,
                               "cov(): expected %s to have the same numel as there are observations in the input but got %ld != %ld", which,
                               weights.numel(), observations);
                KINDLING_CHECK(Runtime, weights.numel() == 0 || true_for_all(ge(weights, Scalar(0))), "cov(): %s cannot be negative",
                               which);
            };
            if (fweights.defined()) {
                check(fweights, "fweights", true);
                w = fweights;
            }
            if (aweights.defined()) {
                check(aweights, "aweights", false);
                w = w.defined() ? mul(w, aweights) : aweights;
            }
            Tensor total = w.defined() ? sum(w) : scalar_tensor(Scalar(observations), DType::Int64);
            KINDLING_CHECK(Runtime, !w.defined() || total.item<double>() != 0, "cov(): weights sum to zero, can't be normalized");
            IntList rows = generated::ints<1>();
            Tensor average = div(sum(w.defined() ? mul(x, w) : x, rows), total), norm;
            if (w.defined() && aweights.defined() && correction != 0)
                norm = sub(total, div(mul(number(static_cast<double>(correction)), sum(mul(w, aweights))), total));
            else norm = sub(total, wrap_number(Scalar(correction)));
            if (w.defined() ? norm.item<double>() <= 0 : observations - correction <= 0)
                warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.");
            norm = clamp_min(norm, Scalar(0));
            x = sub(x, observations == 1 ? to(x, average.dtype())
                                         : unsqueeze(average, 1)); // the mean of one number is that number, whatever rounding says
            Tensor weighted = w.defined() ? mul(x, w) : x;
            return squeeze(div(mm(x, conj(t(weighted))), norm));
        }),
    });
    declare("corrcoef(Tensor self) -> Tensor")({
        doc("Pearson's correlation of variables in rows"),
        no_out(),
        composition([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dim() <= 2,
                           "corrcoef(): expected input to have two or fewer dimensions but got an input with %ld dimensions", self.dim());
            Tensor c = cov(self);
            if (c.dim() == 0) return div(c, c);
            Tensor d = diagonal(c), deviation = sqrt(d.is_complex() ? real(d) : d);
            c = div(div(c, reshape(deviation, {-1, 1})), reshape(deviation, {1, -1}));
            if (c.is_complex()) return complex(clamp(real(c), Scalar(-1), Scalar(1)), clamp(imag(c), Scalar(-1), Scalar(1)));
            return clamp(c, Scalar(-1), Scalar(1));
        }),
    });
    declare("cartesian_prod(Tensor[] tensors) -> Tensor")({
        doc("All combinations of elements of 1-D tensors, one in each row"),
        in(space::Torch),
        no_out(),
        composition([](TensorList tensors) {
            for (const Tensor& each : tensors)
                KINDLING_CHECK(Runtime, each.dim() == 1, "Expect a 1D vector, but got shape %s", str(each.sizes()).c_str());
            if (tensors.size() == 1) return tensors[0];
            std::vector<Tensor> grids = meshgrid(tensors, "ij");
            for (Tensor& grid : grids) grid = reshape(grid, {-1});
            return stack(grids, 1);
        }),
    });
    declare("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor")({
        doc("All choices of r elements of a 1-D tensor, in order, one in each row"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, int64_t r, bool with_replacement) {
            KINDLING_CHECK(Runtime, self.dim() == 1, "Expect a 1D vector, but got shape %s", str(self.sizes()).c_str());
            KINDLING_CHECK(Runtime, r >= 0, "Expect a non-negative number, but got %ld", r);
            if (r == 0) return empty({0}, self.dtype(), std::nullopt, self.device());
            Tensor places = choices(self.size(0), r, with_replacement, self.device());
            return _unsafe_view(index_select(self, 0, reshape(places, {-1})), places.sizes());
        }),
    });
}
