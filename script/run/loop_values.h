// script/run/loop_values.h: what a value of a loop is on its way from a graph to scalar SSA, and what all of the lowering writes with. A
// value is a number, an element that was computed (a tensor of no dimension), a row, a list, or a view into a tensor that came in: an
// offset, sizes and strides. Reading a view of no dimension is a load.
//
// The lowering is one class in layers, a file each, all in one translation unit: in several it was 4.9 KB longer.
#pragma once
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/tensor.h"
#include "kernels/scalar/builder.h"
#include "script/run/native_loop.h"

namespace kindling::script {
namespace {

using scalar::Memory;
using Word = scalar::Value;
using ScalarType = scalar::Type;

struct Unsupported {
    const Node* node;
    std::string why;
};
/// A carried tensor has to be taken by its value: lower again.
struct Again {};
/// Parts of the loop may not run at the same time, and why: lower it as a whole, which knows more of its rounds.
struct Whole {
    std::string why;
};

struct View {
    size_t tensor; // which input
    Word offset;   // in elements; none: 0
    std::vector<Word> sizes, strides;
    bool unit;                 // the last stride is 1
    std::vector<Word> indices; // of each dimension of the tensor, if one was chosen
};

struct Abstract {
    // List: one that is only read, of known length; Array: one in memory, whose items are numbers.
    enum Kind : uint8_t { Nothing, Int, Float, Bool, Element, Viewed, Row, Known, List, Array } kind = Nothing;
    Word word;                 // of a row: its length; of an array: its Item::Items
    DType dtype = DType::None; // of an element, of a row, of what an array holds
    Word length;               // of an array, where it is known
    bool of_lists = false;     // of an array: its items are lists of numbers
    const Node* row = nullptr; // that computes a row from `parts`: its elements are computed where they are used,
    size_t stores = 0;         //   so nothing may have been written since
    std::shared_ptr<View> view;
    Item known; // text, a device, None
    std::vector<Abstract> parts;

    bool number() const { return kind == Int || kind == Float || kind == Bool; }
    bool tensor() const { return kind == Element || kind == Viewed || kind == Row; }
    bool is_row() const { return kind == Row || (kind == Viewed && view->sizes.size() == 1); }
};

Memory memory_of(DType dtype) {
    switch (dtype) {
    case DType::Bool: return Memory::Bool;
    case DType::UInt8: return Memory::U8;
    case DType::Int8: return Memory::I8;
    case DType::Int16: return Memory::I16;
    case DType::Int32: return Memory::I32;
    case DType::Int64: return Memory::I64;
    case DType::Float32: return Memory::F32;
    default: return Memory::F64;
    }
}
/// What values of a dtype are computed in.
ScalarType computed(DType dtype) {
    switch (dtype) {
    case DType::Bool: return ScalarType::Bool;
    case DType::Float32: return ScalarType::F32;
    case DType::Float64: return ScalarType::F64;
    default: return ScalarType::I64;
    }
}

class LoopValues {
public:
    LoopValues(const Node* loop, const std::vector<const Value*>& inputs, const std::vector<TensorFacts>& facts, bool apart,
               const std::vector<std::pair<const Node*, size_t>>& by_value, bool parts)
        : loop_(loop), inputs_(inputs), facts_(facts), apart_(apart), parts_(parts), by_value_(by_value), b_(made_) {}

protected:
    [[noreturn]] void refuse(const Node* node, const char* what, const char* why = "") { throw Unsupported{node, std::string(what) + why}; }
    static const scalar::Variable* of_tensor(const std::vector<scalar::Variable>& variables, const std::vector<size_t>& tensors,
                                             size_t tensor) {
        const size_t at = static_cast<size_t>(std::find(tensors.begin(), tensors.end(), tensor) - tensors.begin());
        return at < variables.size() ? &variables[at] : nullptr;
    }

    // ---- exits

    /// Registers that stand for memory, then the counts of writes: part of every exit.
    void append_state(std::vector<Word>& words) {
        for (const scalar::Variable each : held_) words.push_back(b_.get(each));
        for (const scalar::Variable each : counts_) words.push_back(b_.get(each));
    }
    int32_t exit(const Node* node, LoweredLoop::Exit::Kind kind, const char* text = "") {
        LoweredLoop::Exit& made = exits_.emplace_back();
        made.kind = kind;
        made.node = node;
        made.text = text;
        return static_cast<int32_t>(exits_.size() - 1);
    }
    void check(Word condition, int32_t code, std::vector<Word> values) {
        append_state(values);
        b_.check(condition, code, values.data(), values.size());
    }

    // ---- numbers

    Abstract number(Abstract::Kind kind, Word word) {
        Abstract made;
        made.kind = kind;
        made.word = word;
        return made;
    }
    Abstract element(DType dtype, Word word) {
        Abstract made;
        made.kind = Abstract::Element;
        made.dtype = dtype;
        made.word = word;
        return made;
    }
    Abstract known(const Item& item) {
        switch (item.tag()) {
        case Item::Tag::Int: return number(Abstract::Int, b_.integer(item.integer()));
        case Item::Tag::Float: return number(Abstract::Float, b_.real(item.number()));
        case Item::Tag::Bool: return number(Abstract::Bool, b_.boolean(item.truth()));
        default: {
            Abstract made;
            made.kind = Abstract::Known;
            made.known = item;
            return made;
        }
        }
    }
    Word to_f64(const Abstract& a) { return b_.convert(ScalarType::F64, a.word); }
    Word to_i64(const Abstract& a) { return b_.convert(ScalarType::I64, a.word); }

    std::optional<int64_t> constant(Word word) const {
        const scalar::Node& node = made_.nodes[word.id];
        if (node.op != scalar::Op::Constant || node.type != ScalarType::I64) return {};
        return static_cast<int64_t>(node.bits);
    }

    static std::string name_of(const Node* node) { return node->kind.substr(node->kind.find("::") + 2); }
    bool is_false(const Abstract& a) const {
        if (a.kind == Abstract::Known) return a.known.is_none();
        const scalar::Node& flag = made_.nodes[a.word.id];
        return a.kind == Abstract::Bool && flag.op == scalar::Op::Constant && flag.bits == 0;
    }
    static bool is_none(const Abstract& a) { return a.kind == Abstract::Known && a.known.is_none(); }
    bool is_one(const Abstract& a) const { return a.kind == Abstract::Int && constant(a.word) == 1; }

    const Node* loop_;
    const std::vector<const Value*>& inputs_;
    const std::vector<TensorFacts>& facts_;
    bool apart_, parts_;
    std::vector<std::pair<const Node*, size_t>> by_value_;
    scalar::Function made_;
    scalar::Builder b_;
    static constexpr scalar::Region scratch_region = 0x7FFF, list_region = 0x7FFE; // two lists may be the same one
    // Of where the items of lists begin and end; another one where a list changes its length.
    scalar::Region header_region_ = scalar::constant_region;
    scalar::Region rows_region_ = scalar::constant_region; // of which lists a list of lists holds
    Word lists_;                                           // MadeLists
    size_t lists_made_ = 0;                                // places that make or hold one, so far in the text
    scalar::Variable ran_;
    Word scratch_;             // where rows are computed, for sums
    std::vector<int> numbers_; // of the sizes that have one
    std::vector<Word> sizes_;
    size_t stores_ = 0; // so far in the text
    std::vector<std::vector<Word>>
        in_common_;            // of each tensor: indices that every reading and writing of it has in common; none yet: empty
    Word trip_, first_, last_; // of the outermost loop; what a part of it runs over
    std::vector<Word> data_;
    std::vector<size_t> kept_, written_;
    std::vector<scalar::Variable> held_, counts_; // of those tensors
    std::vector<LoweredLoop::Exit> exits_;
    std::unordered_map<const Value*, Abstract> values_, constants_;
};

} // namespace
} // namespace kindling::script
