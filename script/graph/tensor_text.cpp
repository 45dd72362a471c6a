// script/graph/tensor_text.cpp: a tensor as PyTorch's C++ prints one: in graphs, in scripts, in messages of the tracer.
#include <cmath>

#include "core/dispatch.h"
#include "script/graph/value.h"

namespace kindling::script {
namespace {

class Printer {
public:
    explicit Printer(const Tensor& tensor) : values_(tensor.to(DType::Float64).contiguous()) {}

    std::string run(const std::string& kind) {
        const int64_t dims = values_.dim();
        std::string sizes;
        for (int64_t size : values_.sizes()) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
        if (dims == 0) out_ += format("%g\n", data(values_)[0]);
        else if (values_.numel() && dims == 1) column();
        else if (values_.numel() && dims == 2) matrix(values_, 0);
        else if (values_.numel()) matrices();
        return out_ + "[ " + kind + "{" + sizes + "} ]";
    }

private:
    static const double* data(const Tensor& tensor) { return tensor.data_ptr<double>(); }

    struct Layout {
        double scale = 1;
        int width = 11;
        char how = 'g';
    };
    /// How the numbers of a vector or a matrix are written: one way for all of them.
    static Layout layout(const Tensor& tensor) {
        const double* values = data(tensor);
        bool whole = true;
        double least = 0, most = 0;
        bool any = false;
        for (int64_t i = 0; i < tensor.numel(); i++) {
            const double value = std::fabs(values[i]);
            if (!std::isfinite(value)) continue;
            whole = whole && value == std::ceil(value);
            least = any ? std::min(least, value) : value;
            most = any ? std::max(most, value) : value;
            any = true;
        }
        const auto digits = [&](double value) { return any && value != 0 ? std::floor(std::log10(value)) + 1 : 1; };
        least = digits(least);
        most = digits(most);
        if (whole) return most > 9 ? Layout{1, 11, 'e'} : Layout{1, static_cast<int>(most) + 1, 'g'};
        if (most - least > 4) return {1, std::fabs(most) > 99 || std::fabs(least) > 99 ? 12 : 11, 'e'};
        if (most > 5 || most < 0) return {std::pow(10, most - 1), 7, 'f'};
        return {1, most == 0 ? 7 : static_cast<int>(most) + 6, 'f'};
    }
    void number(const Layout& how, double value) {
        value /= how.scale;
        out_ += how.how == 'e'   ? format("%*.4e", how.width, value)
                : how.how == 'f' ? format("%*.4f", how.width, value)
                                 : format("%*g", how.width, value);
    }
    void column() {
        const Layout how = layout(values_);
        if (how.scale != 1) out_ += format("%g *\n", how.scale);
        for (int64_t i = 0; i < values_.numel(); i++) {
            number(how, data(values_)[i]);
            out_ += '\n';
        }
    }
    void matrix(const Tensor& tensor, int64_t indent) {
        constexpr int64_t line = 80;
        const Layout how = layout(tensor);
        const std::string space(static_cast<size_t>(indent), ' ');
        const int64_t rows = tensor.size(0), columns = tensor.size(1), at_once = (line - indent) / (how.width + 1);
        out_ += space;
        for (int64_t first = 0, last; first < columns; first = last + 1) {
            last = first + at_once <= columns ? first + at_once - 1 : columns - 1;
            if (at_once < columns)
                out_ +=
                    (first ? "\n" : "") + format("Columns %ld to %ld", static_cast<long>(first + 1), static_cast<long>(last + 1)) + space;
            if (how.scale != 1) out_ += format("%g *\n", how.scale) + space;
            for (int64_t row = 0; row < rows; row++)
                for (int64_t at = first; at <= last; at++) {
                    number(how, data(tensor)[row * columns + at]);
                    if (at != last) out_ += ' ';
                    else {
                        out_ += '\n';
                        if (row != rows - 1) out_ += how.scale != 1 ? space + " " : space;
                    }
                }
        }
    }
    void matrices() {
        const size_t outer = static_cast<size_t>(values_.dim() - 2);
        std::vector<int64_t> at(outer, 0);
        for (bool start = true;; start = false) {
            if (!start) {
                size_t i = 0;
                while (i < outer && ++at[i] >= values_.size(static_cast<int64_t>(i))) at[i++] = 0;
                if (i == outer) return;
                out_ += '\n';
            }
            Tensor part = values_;
            out_ += "(";
            for (int64_t each : at) {
                part = part.select(0, each);
                out_ += std::to_string(each + 1) + ",";
            }
            out_ += ".,.) = \n";
            matrix(part, 1);
        }
    }

    Tensor values_;
    std::string out_;
};

} // namespace

std::string stream_text(const Tensor& tensor, bool as_type) {
    if (!tensor.defined()) return "[ Tensor (undefined) ]";
    const std::string dtype = scalar_type_name(tensor.dtype());
    NoGradGuard no_grad;
    Exclude quiet(key::Autograd | key::Trace);
    return Printer(tensor.detach()).run(as_type ? "CPU" + dtype + "Type" : "torch." + dtype + "Tensor");
}

std::string constant_text(const Tensor& tensor) {
    constexpr int64_t most_shown = 10;
    if (tensor.numel() == 1) {
        const Scalar number = tensor.item_scalar();
        if (number.is_complex()) return format("{(%g,%g)}", number.to_complex().real(), number.to_complex().imag());
        return number.is_integral() || number.is_bool() ? "{" + std::to_string(number.to_int()) + "}" : format("{%g}", number.to_double());
    }
    if (tensor.numel() > most_shown || tensor.is_meta()) return "<Tensor>";
    std::string text = stream_text(tensor, true);
    for (char& c : text)
        if (c == '\n') c = ' ';
    return text;
}

} // namespace kindling::script
