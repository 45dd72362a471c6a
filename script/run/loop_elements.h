// script/run/loop_elements.h: tensors in loops: single elements, and rows that are computed element by element.
#pragma once
#include <bit>

#include "kernels/reductions/fold.h"
#include "script/graph/codes.h"
#include "script/run/loop_values.h"

namespace kindling::script {
namespace {

/// Sums in the order of every other sum of as many numbers.
float call_sum32(const float* values, int64_t count) noexcept {
    float sum = 0;
    if (count) find_row_fold(Combine::Sum, DType::Float32)(&sum, values, 1, count);
    return sum;
}
double call_sum64(const double* values, int64_t count) noexcept {
    double sum = 0;
    if (count) find_row_fold(Combine::Sum, DType::Float64)(&sum, values, 1, count);
    return sum;
}

class LoopElements : protected LoopValues {
protected:
    using LoopValues::LoopValues;

    // ---- tensors

    const TensorFacts& facts_of(const Abstract& a) { return facts_[a.view->tensor]; }
    DType dtype_of(const Abstract& a) { return a.kind == Abstract::Element || a.kind == Abstract::Row ? a.dtype : facts_of(a).dtype; }
    scalar::Region region_of(size_t tensor) const { return apart_ ? static_cast<scalar::Region>(tensor + 1) : scalar::any_region; }

    void touch(const View& view) {
        std::vector<Word>& common = in_common_[view.tensor];
        if (common.empty()) common = view.indices;
        for (size_t d = 0; d < common.size(); d++)
            if (common[d] != view.indices[d]) common[d] = {};
    }
    /// The element that a tensor of no dimension holds now.
    Abstract load(const Abstract& a, const Node* node) {
        if (a.kind == Abstract::Element) return a;
        if (a.kind == Abstract::Row) refuse(node, "a row is used as a number");
        if (!a.view->sizes.empty()) refuse(node, "a tensor with dimensions is computed with");
        const DType dtype = facts_of(a).dtype;
        if (const scalar::Variable* held = of_tensor(held_, kept_, a.view->tensor)) return element(dtype, b_.get(*held));
        touch(*a.view);
        const Memory memory = memory_of(dtype);
        return element(dtype, b_.load(memory, data_[a.view->tensor], a.view->offset ? a.view->offset : Word{},
                                      a.view->offset ? scalar::memory_bytes(memory) : 1, 0, region_of(a.view->tensor)));
    }
    void store(const Abstract& target, Word word, const Node* node) {
        if (target.kind != Abstract::Viewed) refuse(node, "a value that was computed is written to in place");
        if (!target.view->sizes.empty()) refuse(node, "a tensor with dimensions is written to");
        const size_t tensor = target.view->tensor;
        const scalar::Variable* count = of_tensor(counts_, written_, tensor);
        if (!count) refuse(node, "a tensor is written to by a way that was not seen");
        for (const auto& [loop, place] : by_value_)
            if (source_of(loop, place) == inputs_[tensor]) refuse(node, "a tensor is carried by its value and written to");
        stores_++;
        b_.set(*count, b_.add(b_.get(*count), b_.integer(1)));
        if (const scalar::Variable* held = of_tensor(held_, kept_, tensor)) {
            b_.set(*held, word);
            return;
        }
        touch(*target.view);
        const Memory memory = memory_of(facts_[tensor].dtype);
        b_.store(memory, data_[tensor], target.view->offset ? target.view->offset : Word{},
                 target.view->offset ? scalar::memory_bytes(memory) : 1, 0, word, region_of(tensor));
    }
    static const Value* source_of(const Node* loop, size_t place) { return loop->inputs[place + 2]; }

    /// A number or element in another dtype, as casts make it.
    Word cast(Word word, DType to) {
        const ScalarType from = b_.type(word), want = computed(to);
        if (want == ScalarType::Bool) {
            if (from == ScalarType::Bool) return word;
            return b_.binary(scalar::Op::Ne, word,
                             from == ScalarType::F64   ? b_.real(0)
                             : from == ScalarType::F32 ? b_.real32(0)
                                                       : b_.integer(0));
        }
        if (from != want) word = b_.convert(want, word);
        return want == ScalarType::I64 ? wrap(word, to) : word;
    }
    Word wrap(Word word, DType dtype) {
        switch (dtype) {
        case DType::UInt8: return b_.binary(scalar::Op::And, word, b_.integer(255));
        case DType::Int8:
        case DType::Int16:
        case DType::Int32: {
            const Word bits = b_.integer(dtype == DType::Int8 ? 56 : dtype == DType::Int16 ? 48 : 32);
            return b_.binary(scalar::Op::Shr, b_.binary(scalar::Op::Shl, word, bits), bits);
        }
        default: return word;
        }
    }
    /// The dtype in which two operands meet: both are tensors of no dimension, or one is a number, which is weak.
    DType meet(const Abstract& a, const Abstract& c) {
        if (a.tensor() && c.tensor()) return promote(dtype_of(a), dtype_of(c));
        const Abstract& tensor = a.tensor() ? a : c;
        const Abstract& weak = a.tensor() ? c : a;
        const DType dtype = dtype_of(tensor);
        const int kind = weak.kind == Abstract::Bool ? 0 : weak.kind == Abstract::Int ? 1 : 2;
        if (kind <= category(dtype)) return dtype;
        return kind == 1 ? DType::Int64 : default_dtype();
    }
    Word operand(const Abstract& a, DType dtype, const Node* node) { return cast(a.tensor() ? load(a, node).word : a.word, dtype); }

    Abstract select(const Abstract& base, const Abstract& dim, const Abstract& index, const Node* node) {
        if (base.kind != Abstract::Viewed || dim.kind != Abstract::Int || index.kind != Abstract::Int)
            refuse(node, "a selection that is no element of a tensor from outside");
        const std::optional<int64_t> at = constant(dim.word);
        if (!at) refuse(node, "a selection along a dimension that is not constant");
        const View& view = *base.view;
        const int64_t ndim = static_cast<int64_t>(view.sizes.size()), place = *at < 0 ? *at + ndim : *at;
        if (place < 0 || place >= ndim) refuse(node, "a selection along a dimension that the tensor lacks");
        const size_t d = static_cast<size_t>(place);
        const int32_t code = exit(node, LoweredLoop::Exit::OutOfRange);
        exits_.back().tensor = view.tensor;
        exits_.back().dimension = d;
        exits_.back().values.resize(1 + view.sizes.size(), 'i'); // the sizes of what is indexed are part of what is said
        std::vector<Word> words = {index.word};
        words.insert(words.end(), view.sizes.begin(), view.sizes.end());
        append_state(words);
        const Word checked = b_.python_index(index.word, view.sizes[d], code, words.data(), words.size());
        Abstract made = base;
        made.view = std::make_shared<View>(view);
        Word step = checked;
        if (constant(view.strides[d]) != 1) step = b_.multiply(checked, view.strides[d]);
        made.view->offset = view.offset ? b_.add(view.offset, step) : step;
        size_t left = 0, dimension = 0;
        while (view.indices[dimension] || left++ < d) dimension++;
        made.view->indices[dimension] = index.word;
        made.view->sizes.erase(made.view->sizes.begin() + static_cast<long>(d));
        made.view->strides.erase(made.view->strides.begin() + static_cast<long>(d));
        return made;
    }

    /// aten::tensor(number, dtype, device, requires_grad)
    Abstract new_element(const Node* node, const std::vector<Abstract>& a) {
        DType dtype = a[0].kind == Abstract::Bool ? DType::Bool : a[0].kind == Abstract::Int ? DType::Int64 : default_dtype();
        if (a.size() > 1 && a[1].kind == Abstract::Int) {
            const std::optional<int64_t> code = constant(a[1].word);
            if (!code) refuse(node, "a tensor of a dtype that is not constant");
            dtype = dtype_of_code(*code);
        }
        if (!loops_know(dtype)) refuse(node, "a tensor of ", kindling::name(dtype));
        if (a.size() > 2 && !(a[2].kind == Abstract::Known &&
                              (a[2].known.is_none() || (a[2].known.is(Item::Tag::Device) && a[2].known.device().type == DeviceType::CPU))))
            refuse(node, "a tensor on another device");
        if (a.size() > 3 && !is_false(a[3])) refuse(node, "a tensor that requires grad");
        // By way of the default dtype, as PyTorch makes it: a float that is written to a tensor of float64 has been rounded to float32.
        const DType first = a[0].kind == Abstract::Bool ? DType::Bool : a[0].kind == Abstract::Int ? DType::Int64 : default_dtype();
        if (!loops_know(first)) refuse(node, "a tensor of ", kindling::name(first));
        return element(dtype, cast(cast(a[0].word, first), dtype));
    }
    // ---- tensors and elements

    Abstract of_tensors(const Node* node, const std::string& name, const std::vector<Abstract>& a) {
        using scalar::Op;
        const Abstract& self = a[0];
        if (name == "select") return select(self, a[1], a[2], node);
        if (name == "slice") return slice(node, a);
        if (name == "sum" && self.is_row()) return sum(node, a);
        if (self.is_row() || (a.size() > 1 && a[1].is_row())) {
            const bool one = a.size() == 1 || !(a[1].tensor() || a[1].number());
            if (name == "add" || name == "sub" || name == "mul" || name == "div" || name == "pow" ||
                (one && (name == "neg" || name == "abs" || name == "square" || name == "sqrt")))
                return row(node, name, a);
        }
        if (self.kind == Abstract::Viewed) {
            const View& view = *self.view;
            if (name == "size" && a.size() == 2 && a[1].kind == Abstract::Int) {
                const std::optional<int64_t> dim = constant(a[1].word);
                const int64_t ndim = static_cast<int64_t>(view.sizes.size());
                if (dim && *dim >= -ndim && *dim < ndim)
                    return number(Abstract::Int, view.sizes[static_cast<size_t>(*dim < 0 ? *dim + ndim : *dim)]);
            }
            if (name == "len" && !view.sizes.empty()) return number(Abstract::Int, view.sizes[0]);
            if (name == "dim") return number(Abstract::Int, b_.integer(static_cast<int64_t>(view.sizes.size())));
            if (name == "numel") {
                Word all = b_.integer(1);
                for (const Word size : view.sizes) all = b_.multiply(all, size);
                return number(Abstract::Int, all);
            }
            if ((name == "shape" || (name == "size" && a.size() == 1))) {
                Abstract made;
                made.kind = Abstract::List;
                for (const Word size : view.sizes) made.parts.push_back(number(Abstract::Int, size));
                return made;
            }
        }
        if (name == "dtype") return number(Abstract::Int, b_.integer(code_of(dtype_of(self))));
        if (name == "device") return known(Item(Device{}));
        if (name == "detach" || name == "clone") {
            if (name == "clone") return load(self, node);
            return self;
        }
        if (name == "Float" || name == "Int" || name == "Bool" || name == "item" || name == "FloatImplicit" || name == "IntImplicit" ||
            name == "ScalarImplicit") {
            const Abstract now = load(self, node);
            const int kind = category(now.dtype);
            if (name[0] == 'F') return number(Abstract::Float, b_.convert(ScalarType::F64, now.word));
            if (name[0] == 'B') return number(Abstract::Bool, cast(now.word, DType::Bool));
            if (name[0] == 'I') {
                if (kind == 2) {
                    const Word real = b_.convert(ScalarType::F64, now.word);
                    const int32_t code =
                        exit(node, LoweredLoop::Exit::Message, "value cannot be converted to type int64_t without overflow");
                    check(b_.binary(Op::And, b_.binary(Op::Ge, real, b_.real(-0x1p63)), b_.binary(Op::Le, real, b_.real(0x1p63))), code,
                          {});
                }
                return number(Abstract::Int, b_.convert(ScalarType::I64, now.word));
            }
            if (kind == 2) return number(Abstract::Float, b_.convert(ScalarType::F64, now.word));
            if (kind == 1) return number(Abstract::Int, now.word);
            return number(Abstract::Bool, now.word);
        }
        if (name == "copy_") {
            store(self, operand(a[1], dtype_of(self), node), node);
            return self;
        }
        if (name == "fill_") {
            if (a[1].number() && !(a[1].kind != Abstract::Float || category(dtype_of(self)) == 2))
                refuse(node, "fill_ of integers with a float");
            store(self, operand(a[1], dtype_of(self), node), node);
            return self;
        }
        if (name == "zero_") {
            store(self, cast(b_.integer(0), dtype_of(self)), node);
            return self;
        }
        const bool in_place = name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
        const std::string plain = in_place ? name.substr(0, name.size() - 1) : name;
        Abstract result;
        if (a.size() >= 2 && (a[1].tensor() || a[1].number()) && (self.tensor() || self.number())) result = binary(node, plain, a);
        else result = unary(node, plain, a);
        if (!in_place) return result;
        const DType want = dtype_of(self);
        if (category(result.dtype) > category(want)) refuse(node, "a result that cannot be cast to what it is written to");
        store(self, cast(result.word, want), node);
        return self;
    }

    // ---- rows: a[i, :], what is computed of them element by element, and sums

    Abstract slice(const Node* node, const std::vector<Abstract>& a) {
        const bool whole = a.size() == 5 && a[0].kind == Abstract::Viewed &&
                           (is_none(a[2]) || (a[2].kind == Abstract::Int && constant(a[2].word) == 0)) &&
                           (is_none(a[3]) || (a[3].kind == Abstract::Int && constant(a[3].word) == INT64_MAX)) &&
                           a[4].kind == Abstract::Int && constant(a[4].word) == 1;
        if (!whole) refuse(node, "a slice that is not whole");
        return a[0];
    }
    /// An element of a row; what is no row is the same everywhere.
    Abstract item(const Abstract& a, Word index, const Node* node) {
        if (a.kind == Abstract::Row) {
            if (a.stores != stores_) refuse(node, "a row is used after something was written");
            std::vector<Abstract> items = a.parts;
            const bool two = of_two(items);
            for (size_t i = 0; i < (two ? 2 : 1); i++) items[i] = item(items[i], index, node);
            return element(a.dtype, two ? binary(a.row, name_of(a.row), items).word : unary(a.row, name_of(a.row), items).word);
        }
        if (!a.is_row()) return a;
        Abstract made = a;
        made.view = std::make_shared<View>(*a.view);
        const Word step = constant(a.view->strides[0]) == 1 ? index : b_.multiply(index, a.view->strides[0]);
        made.view->offset = a.view->offset ? b_.add(a.view->offset, step) : step;
        made.view->sizes.clear();
        made.view->strides.clear();
        return load(made, node);
    }
    static bool of_two(const std::vector<Abstract>& a) { return a.size() > 1 && (a[1].tensor() || a[1].number()); }
    Word length(const Abstract& a) const { return a.kind == Abstract::Row ? a.word : a.view->sizes[0]; }
    Abstract row(const Node* node, const std::string& name, const std::vector<Abstract>& a) {
        const bool two = of_two(a);
        Abstract made;
        made.kind = Abstract::Row;
        made.word = length(a[0].is_row() ? a[0] : a[1]);
        if (two && a[0].is_row() && a[1].is_row() && length(a[0]).id != length(a[1]).id) refuse(node, "rows of different lengths");
        made.dtype = two ? meet(a[0], a[1]) : dtype_of(a[0]);
        if (name == "div" && category(made.dtype) != 2) made.dtype = default_dtype();
        made.stores = stores_;
        made.row = node;
        made.parts = a;
        return made;
    }
    Abstract sum(const Node* node, const std::vector<Abstract>& a) {
        const DType dtype = dtype_of(a[0]);
        if (a.size() != 2 || !is_none(a[1]) || category(dtype) != 2 || !scratch_)
            refuse(node, "a sum that is not of a whole row of floats");
        const Word count = length(a[0]);
        bool fits = false;
        for (size_t i = 0; i < sizes_.size(); i++) fits |= sizes_[i].id == count.id && numbers_[i] >= 0;
        if (!fits) refuse(node, "a row that is long");
        const scalar::Variable index = b_.variable(ScalarType::I64);
        b_.set(index, b_.integer(0));
        const scalar::Block head = b_.block(), inside = b_.block(), after = b_.block();
        b_.jump(head);
        b_.enter(head);
        b_.branch(b_.less(b_.get(index), count), inside, after);
        b_.seal(inside);
        b_.enter(inside);
        const Memory memory = memory_of(dtype);
        b_.store(memory, scratch_, b_.get(index), scalar::memory_bytes(memory), 0, item(a[0], b_.get(index), node).word, scratch_region);
        b_.set(index, b_.add(b_.get(index), b_.integer(1)));
        b_.jump(head);
        b_.seal(head);
        b_.seal(after);
        b_.enter(after);
        const Word total = dtype == DType::Float32 ? b_.call(scalar::callee("sum", call_sum32, scalar::Effect::Reads), {scratch_, count})
                                                   : b_.call(scalar::callee("sum", call_sum64, scalar::Effect::Reads), {scratch_, count});
        return element(dtype, total);
    }

    Abstract binary(const Node* node, const std::string& name, const std::vector<Abstract>& a) {
        using scalar::Op;
        DType dtype = meet(a[0], a[1]);
        if (!loops_know(dtype)) refuse(node, "elements of ", kindling::name(dtype));
        const bool floating = category(dtype) == 2, bools = dtype == DType::Bool;
        static constexpr struct {
            char name[6];
            Op op;
        } comparisons[] = {{"lt", Op::Lt}, {"le", Op::Le}, {"gt", Op::Gt}, {"ge", Op::Ge}, {"eq", Op::Eq}, {"ne", Op::Ne}};
        for (const auto& each : comparisons)
            if (name == each.name && a.size() == 2) {
                Word x = operand(a[0], dtype, node), y = operand(a[1], dtype, node);
                if (bools) x = b_.convert(ScalarType::I64, x), y = b_.convert(ScalarType::I64, y);
                return element(DType::Bool, b_.binary(each.op, x, y));
            }
        if (name == "add" || name == "sub") {
            if (a.size() > 2 && !is_one(a[2])) refuse(node, name.c_str(), " with alpha");
            const auto is_bool = [&](const Abstract& x) { return x.tensor() ? dtype_of(x) == DType::Bool : x.kind == Abstract::Bool; };
            if (bools || (name == "sub" && (is_bool(a[0]) || is_bool(a[1])))) refuse(node, name.c_str(), " of bools");
            return element(
                dtype, wrap(b_.binary(name == "add" ? Op::Add : Op::Sub, operand(a[0], dtype, node), operand(a[1], dtype, node)), dtype));
        }
        if (a.size() > 2) refuse(node, node->kind.c_str(), " is nothing that loops over elements know");
        if (name == "mul") {
            if (bools) return element(dtype, b_.binary(Op::And, operand(a[0], dtype, node), operand(a[1], dtype, node)));
            return element(dtype, wrap(b_.multiply(operand(a[0], dtype, node), operand(a[1], dtype, node)), dtype));
        }
        if (name == "div") {
            if (!floating) dtype = default_dtype();
            return element(dtype, b_.divide(operand(a[0], dtype, node), operand(a[1], dtype, node)));
        }
        if ((name == "minimum" || name == "maximum" || name == "min" || name == "max") && !floating && !bools && a[0].tensor() &&
            a[1].tensor())
            return element(dtype, b_.binary(name[1] == 'i' ? Op::Min : Op::Max, operand(a[0], dtype, node), operand(a[1], dtype, node)));
        if ((name == "minimum" || name == "maximum" || name == "min" || name == "max") && floating && a[0].tensor() &&
            a[1].tensor()) { // NaN wins
            const Word x = operand(a[0], dtype, node), y = operand(a[1], dtype, node);
            const Word better = b_.binary(name[1] == 'i' ? Op::Lt : Op::Gt, x, y), nan = b_.binary(Op::Ne, x, x);
            return element(dtype, b_.select(b_.binary(Op::Or, better, nan), x, y));
        }
        if (name == "pow" && a[1].number() && floating) {
            const scalar::Node& exponent = made_.nodes[a[1].word.id];
            const double power = exponent.op != Op::Constant    ? 0
                                 : a[1].kind == Abstract::Float ? std::bit_cast<double>(exponent.bits)
                                                                : static_cast<double>(static_cast<int64_t>(exponent.bits));
            if (power == 2) {
                const Word x = operand(a[0], dtype, node);
                return element(dtype, b_.multiply(x, x));
            }
        }
        if (!floating && (name == "bitwise_and" || name == "bitwise_or" || name == "bitwise_xor" || name == "__and__" || name == "__or__" ||
                          name == "__xor__" || (bools && (name == "logical_and" || name == "logical_or")))) {
            const Op op = name.find("and") != std::string::npos ? Op::And : name.find("xor") != std::string::npos ? Op::Xor : Op::Or;
            return element(dtype, b_.binary(op, operand(a[0], dtype, node), operand(a[1], dtype, node)));
        }
        refuse(node, node->kind.c_str(), " of elements is nothing that loops know");
    }

    Abstract unary(const Node* node, const std::string& name, const std::vector<Abstract>& a) {
        using scalar::Op;
        if (a[0].kind == Abstract::Viewed && !a[0].view->sizes.empty())
            refuse(node, node->kind.c_str(), " of a tensor with dimensions is nothing that loops over elements know");
        if (a.size() != 1) refuse(node, node->kind.c_str(), " of elements is nothing that loops know");
        const Abstract now = load(a[0], node);
        const int kind = category(now.dtype);
        if (name == "neg" && kind) return element(now.dtype, wrap(b_.unary(Op::Neg, now.word), now.dtype));
        if (name == "abs" && kind) return element(now.dtype, wrap(b_.unary(Op::Abs, now.word), now.dtype));
        if (name == "sqrt" && kind == 2) return element(now.dtype, b_.unary(Op::Sqrt, now.word));
        if (name == "square" && kind) return element(now.dtype, wrap(b_.multiply(now.word, now.word), now.dtype));
        if (name == "relu" && kind) {
            const Word zero = cast(b_.integer(0), now.dtype);
            return element(now.dtype, b_.select(b_.binary(Op::Lt, now.word, zero), zero, now.word));
        }
        if (kind == 2 && (name == "floor" || name == "ceil" || name == "trunc"))
            return element(now.dtype, b_.unary(name == "floor" ? Op::Floor : name == "ceil" ? Op::Ceil : Op::Trunc, now.word));
        if (name == "logical_not") return element(DType::Bool, b_.unary(Op::Not, cast(now.word, DType::Bool)));
        if (name == "bitwise_not" && kind < 2) return element(now.dtype, wrap(b_.unary(Op::Not, now.word), now.dtype));
        refuse(node, node->kind.c_str(), " of elements is nothing that loops know");
    }
};

} // namespace
} // namespace kindling::script
