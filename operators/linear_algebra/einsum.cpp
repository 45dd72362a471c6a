// operators/linear_algebra/einsum.cpp: sums of products after the summation convention, two operands at a time, each a batched product.
#include <algorithm>

#include "generated/functions.h"
#include "operators/declare.h"

namespace kindling {
namespace {

/// A tensor and the label of each of its dimensions: its letter, or a number below all letters for one that `...` stands for.
struct Labelled {
    Tensor tensor;
    std::string labels;
    int64_t size(char label) const { return tensor.size(static_cast<int64_t>(labels.find(label))); }
};

bool has(const std::string& labels, char label) { return labels.find(label) != labels.npos; }

/// The labels of `from` for which `keep` holds.
template <class Keep> std::string chosen(const std::string& from, Keep keep) {
    std::string result;
    std::copy_if(from.begin(), from.end(), std::back_inserter(result), keep);
    return result;
}

Sizes places(const std::string& labels, const std::string& wanted) {
    Sizes result;
    for (char label : wanted) result.push_back(static_cast<int64_t>(labels.find(label)));
    return result;
}

Labelled in_order(const Labelled& x, const std::string& labels) { return {permute(x.tensor, places(x.labels, labels)), labels}; }

Labelled without(const Labelled& x, const std::string& labels) {
    if (labels.empty()) return x;
    return {sum(x.tensor, IntList(places(x.labels, labels))), chosen(x.labels, [&](char label) { return !has(labels, label); })};
}

/// Letters from `text`, and one '.' for an ellipsis; `operand` is negative for the output.
std::string subscripts(Text text, size_t begin, size_t end, int64_t operand) {
    std::string result, where = operand < 0 ? "output" : "operand " + std::to_string(operand), dots = operand < 0 ? " (...)" : "";
    for (size_t i = begin; i < end; i++) {
        char c = text[i];
        if (c == ' ') continue;
        if (c == '.') {
            KINDLING_CHECK(Runtime, !has(result, '.'),
                           operand < 0 ? "einsum(): found '.' for %s but an ellipsis (...) was already found"
                                       : "einsum(): found '.' for %s for which an ellipsis was already found",
                           where.c_str());
            KINDLING_CHECK(Runtime, i + 2 < end && text[i + 1] == '.' && text[i + 2] == '.',
                           "einsum(): found '.' for %s that is not part of any ellipsis%s", where.c_str(), dots.c_str());
            i += 2;
        } else {
            KINDLING_CHECK(Runtime, (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'),
                           "einsum(): invalid subscript given at index %zu in the equation string, subscripts must be in [a-zA-Z]", i);
            KINDLING_CHECK(Runtime, operand >= 0 || !has(result, c), "einsum(): output subscript %c appears more than once in the output",
                           c);
        }
        result += c;
    }
    return result;
}

/// '.' replaced by the last `count` of the `all` dimensions that ellipses stand for.
std::string spelled_out(std::string labels, int64_t count, int64_t all) {
    std::string dims;
    for (int64_t i = all - count; i < all; i++) dims += static_cast<char>(1 + i);
    if (size_t dot = labels.find('.'); dot != labels.npos) labels.replace(dot, 1, dims);
    return labels;
}

/// A label that repeats takes the diagonal.
Labelled without_repeats(Labelled x, int64_t operand) {
    for (size_t first = 0; first < x.labels.size();) {
        char label = x.labels[first];
        size_t second = x.labels.find(label, first + 1);
        if (second == x.labels.npos) {
            first++;
            continue;
        }
        int64_t a = static_cast<int64_t>(first), b = static_cast<int64_t>(second);
        KINDLING_CHECK(Runtime, x.tensor.size(a) == x.tensor.size(b),
                       "einsum(): subscript %c is repeated for operand %ld but the sizes don't match, %ld != %ld", label, operand,
                       x.tensor.size(b), x.tensor.size(a));
        x.tensor = movedim(diagonal(x.tensor, 0, a, b), -1, a);
        x.labels.erase(second, 1);
    }
    return x;
}

/// One contraction; labels not in `later` are summed.
Labelled contracted(Labelled a, Labelled b, const std::string& later) {
    a = without(a, chosen(a.labels, [&](char label) { return !has(b.labels, label) && !has(later, label); }));
    b = without(b, chosen(b.labels, [&](char label) { return !has(a.labels, label) && !has(later, label); }));
    std::string batch, inner, rows, columns;
    for (char label : a.labels) (!has(b.labels, label) ? rows : has(later, label) ? batch : inner) += label;
    for (char label : b.labels)
        if (!has(a.labels, label)) columns += label;
    for (char label : inner) // of size 1 on one side only, it broadcasts: the other side is summed first
        if (a.size(label) != b.size(label)) {
            Labelled& wide = a.size(label) == 1 ? b : a;
            wide.tensor = sum(wide.tensor, IntList(places(wide.labels, std::string(1, label))), true);
        }
    a = in_order(a, batch + rows + inner);
    b = in_order(b, batch + inner + columns);
    Sizes shape, left, right;
    int64_t count = 1, m = 1, k = 1, n = 1;
    for (char label : batch) shape.push_back(a.size(label) == 1 ? b.size(label) : a.size(label)), count *= shape[shape.size() - 1];
    left = right = shape;
    for (char label : rows) left.push_back(a.size(label)), m *= a.size(label);
    for (char label : inner) left.push_back(a.size(label)), right.push_back(a.size(label)), k *= a.size(label);
    for (char label : columns) right.push_back(b.size(label)), n *= b.size(label);
    if (inner.empty()) {
        Sizes wide = a.tensor.sizes(), narrow;
        for (char label : batch) narrow.push_back(b.size(label));
        for (size_t i = 0; i < rows.size(); i++) narrow.push_back(1);
        for (char label : columns) wide.push_back(1), narrow.push_back(b.size(label));
        return {mul(reshape(a.tensor, wide), reshape(b.tensor, narrow)), batch + rows + columns};
    }
    Tensor product = bmm(reshape(expand(a.tensor, left), {count, m, k}), reshape(expand(b.tensor, right), {count, k, n}));
    for (char label : rows) shape.push_back(a.size(label));
    for (char label : columns) shape.push_back(b.size(label));
    return {reshape(product, shape), batch + rows + columns};
}

Tensor summed_products(Text equation, TensorList tensors) {
    KINDLING_CHECK(Runtime, !tensors.empty(), "einsum(): must provide at least one operand");
    size_t arrow = equation.find("->"), end = arrow == equation.npos ? equation.size() : arrow, begin = 0;
    std::vector<Labelled> operands;
    for (bool last = false; !last;) {
        size_t comma = std::min(equation.find(',', begin), end);
        int64_t i = static_cast<int64_t>(operands.size());
        last = comma == end;
        std::string labels = subscripts(equation, begin, comma, i);
        KINDLING_CHECK(Runtime, operands.size() < tensors.size(), "einsum(): fewer operands were provided than specified in the equation");
        operands.push_back({tensors[operands.size()], labels});
        begin = comma + 1;
    }
    KINDLING_CHECK(Runtime, operands.size() == tensors.size(), "einsum(): more operands were provided than specified in the equation");
    int64_t extra = 0; // dimensions that ellipses stand for
    for (size_t i = 0; i < operands.size(); i++) {
        const Labelled& x = operands[i];
        bool dots = has(x.labels, '.');
        int64_t named = static_cast<int64_t>(x.labels.size()) - dots, dim = x.tensor.dim();
        KINDLING_CHECK(Runtime, dots ? named <= dim : named == dim,
                       "einsum(): the number of subscripts in the equation (%ld) %s the number of dimensions (%ld) for operand %zu%s",
                       named, dots ? "is more than" : "does not match", dim, i, dots ? "" : " and no ellipsis was given");
        if (dots) extra = std::max(extra, dim - named);
    }
    std::string all;
    for (Labelled& x : operands) {
        x.labels = spelled_out(x.labels, x.tensor.dim() - static_cast<int64_t>(x.labels.size()) + 1, extra);
        all += x.labels;
    }
    std::string output;
    if (arrow == equation.npos) {
        output = chosen(all, [&](char label) { return label >= 'A' && std::count(all.begin(), all.end(), label) == 1; });
        std::sort(output.begin(), output.end());
        output = spelled_out(".", extra, extra) + output;
    } else {
        output = spelled_out(subscripts(equation, arrow + 2, equation.size(), -1), extra, extra);
        for (char label : output)
            KINDLING_CHECK(Runtime, label < 'A' || has(all, label),
                           "einsum(): output subscript %c does not appear in the equation for any input operand", label);
    }
    int64_t sizes[128];
    std::fill(sizes, sizes + 128, 1);
    for (size_t i = 0; i < operands.size(); i++) {
        Labelled& x = operands[i];
        x = without_repeats(x, static_cast<int64_t>(i));
        for (char label : x.labels) {
            int64_t size = x.size(label), &before = sizes[static_cast<int>(label)];
            std::string shown = label < 'A' ? "..." : std::string(1, label);
            KINDLING_CHECK(Runtime, size == before || size == 1 || before == 1,
                           "einsum(): subscript %s has size %ld for operand %zu which does not broadcast with previously seen size %ld",
                           shown.c_str(), size, i, before);
            if (size != 1) before = size;
        }
    }
    Labelled result = operands[0];
    for (size_t k = 1; k < operands.size(); k++) {
        std::string later = output;
        for (size_t j = k + 1; j < operands.size(); j++) later += operands[j].labels;
        result = contracted(result, operands[k], later);
    }
    result = without(result, chosen(result.labels, [&](char label) { return !has(output, label); }));
    for (char label : output)
        if (!has(result.labels, label))
            result = {unsqueeze(result.tensor, -1), result.labels + label}; // of an ellipsis that no operand has
    return permute(result.tensor, places(result.labels, output));
}

} // namespace
} // namespace kindling

OPERATORS(einsum) {
    declare("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor")({
        doc("Sums of products after the summation convention; torch contracts from the left as well when no path is given"),
        in(space::Hidden),
        no_out(),
        composition([](Text equation, TensorList tensors, std::optional<IntList> path) {
            const size_t steps = tensors.size() == 1 ? 1 : 2 * (tensors.size() - 1);
            KINDLING_CHECK(Runtime, !path || tensors.empty() || path->size() == steps,
                           "einsum(): expected contraction path given in path parameter to have size %zu but got %zu", steps, path->size());
            return summed_products(equation, tensors);
        }),
    });
}
