// script/run/loop_lowering.cpp: from a loop of a graph to scalar SSA. A value of the graph is a number, an element that was computed (a
// tensor of no dimension), a list that came in, or a view into a tensor that came in: an offset, sizes and strides. Reading a view of no
// dimension is a load.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "core/tensor.h"
#include "kernels/reductions/fold.h"
#include "kernels/scalar/builder.h"
#include "script/graph/codes.h"
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

struct View {
    size_t tensor; // which input
    Word offset;   // in elements; none: 0
    std::vector<Word> sizes, strides;
    bool unit; // the last stride is 1
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

// ---- what machine code calls

double call_pow(double a, double b) noexcept { return std::pow(a, b); }
double call_exp(double a) noexcept { return std::exp(a); }
double call_sin(double a) noexcept { return std::sin(a); }
double call_cos(double a) noexcept { return std::cos(a); }
double call_tan(double a) noexcept { return std::tan(a); }
double call_tanh(double a) noexcept { return std::tanh(a); }
double call_atan(double a) noexcept { return std::atan(a); }
double call_atan2(double a, double b) noexcept { return std::atan2(a, b); }
double call_mod(double a, double b) noexcept { return std::fmod(a, b); }
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

class Lowering {
public:
    Lowering(const Node* loop, const std::vector<const Value*>& inputs, const std::vector<TensorFacts>& facts, bool apart,
             const std::vector<std::pair<const Node*, size_t>>& by_value)
        : loop_(loop), inputs_(inputs), facts_(facts), apart_(apart), by_value_(by_value), b_(made_) {}

    LoweredLoop run() {
        made_.name = "loop";
        exits_.emplace_back(); // 0: the end
        exits_.emplace_back().kind = LoweredLoop::Exit::Interrupted;
        parameters();
        const std::vector<Abstract> given = loop(loop_, true);
        std::vector<Word> results = {b_.get(ran_)};
        LoweredLoop lowered;
        for (const Abstract& each : given) {
            const char kind = each.kind == Abstract::Int       ? 'i'
                              : each.kind == Abstract::Float   ? 'f'
                              : each.kind == Abstract::Bool    ? 'b'
                              : each.kind == Abstract::Element ? static_cast<char>(each.dtype)
                              : each.kind == Abstract::Array   ? 'l'
                                                               : '='; // the loop has found it to be what came in
            lowered.outputs += kind;
            if (kind != '=') results.push_back(each.word);
        }
        append_state(results);
        b_.leave(0, results.data(), results.size());
        const std::string wrong = verify(made_);
        if (!wrong.empty()) fail(ErrorKind::Internal, "a loop's code is not sound: %s", wrong.c_str());
        lowered.code = scalar::compile(std::move(made_));
        lowered.exits = std::move(exits_);
        lowered.kept = kept_;
        lowered.written = written_;
        return lowered;
    }

    const std::vector<std::pair<const Node*, size_t>>& wanted_by_value() const { return by_value_; }

private:
    [[noreturn]] void refuse(const Node* node, const char* what, const char* why = "") { throw Unsupported{node, std::string(what) + why}; }

    // ---- what comes in

    void parameters() {
        for (size_t i = 0; i < inputs_.size(); i++) {
            const Value* value = inputs_[i];
            Abstract made;
            switch (value->type->kind) {
            case TypeKind::Int:
                made.kind = Abstract::Int;
                made.word = b_.parameter(ScalarType::I64);
                break;
            case TypeKind::Float:
                made.kind = Abstract::Float;
                made.word = b_.parameter(ScalarType::F64);
                break;
            case TypeKind::Bool:
                made.kind = Abstract::Bool;
                made.word = b_.parameter(ScalarType::Bool);
                break;
            case TypeKind::Tensor: {
                made.kind = Abstract::Viewed;
                made.view = std::make_shared<View>();
                made.view->tensor = i;
                made.view->unit = facts_[i].unit;
                if (data_.size() <= i) data_.resize(i + 1);
                data_[i] = b_.parameter(ScalarType::Address);
                for (int d = 0; d < facts_[i].ndim; d++) {
                    Word size = b_.parameter(ScalarType::I64);
                    if (!facts_[i].sizes.empty()) size = size_numbered(facts_[i].sizes[static_cast<size_t>(d)], size);
                    made.view->sizes.push_back(size);
                }
                for (int d = 0; d < facts_[i].ndim; d++) {
                    const Word stride = b_.parameter(ScalarType::I64);
                    made.view->strides.push_back(d + 1 == facts_[i].ndim && facts_[i].unit ? b_.integer(1) : stride);
                }
                break;
            }
            case TypeKind::List: made = array(value->type, b_.parameter(ScalarType::Address)); break;
            default: refuse(loop_, "it needs a value of type ", str(value->type).c_str());
            }
            values_[value] = made;
        }
        if (uses_rows(loop_)) scratch_ = b_.parameter(ScalarType::Address);
        lists_ = b_.parameter(ScalarType::Address);
        if (any_inside(loop_, changes_length)) header_region_ = 0x7FFD;
        ran_ = b_.variable(ScalarType::Bool);
        b_.set(ran_, b_.boolean(false));
        // Writes to tensors without dimensions stay in registers where no other tensor shares their memory.
        find_writes(loop_->blocks[0]);
        for (size_t i : written_) {
            const scalar::Variable count = b_.variable(ScalarType::I64);
            b_.set(count, b_.integer(0));
            counts_.push_back(count);
            if (!apart_ || facts_[i].ndim) continue;
            const scalar::Variable held = b_.variable(computed(facts_[i].dtype));
            b_.set(held, b_.load(memory_of(facts_[i].dtype), data_[i]));
            held_.push_back(held);
            kept_.push_back(i);
        }
    }
    /// The first size of a number stands for all.
    Word size_numbered(int number, Word size) {
        for (size_t i = 0; i < sizes_.size(); i++)
            if (numbers_[i] == number) return sizes_[i];
        numbers_.push_back(number);
        sizes_.push_back(size);
        return size;
    }
    static const scalar::Variable* of_tensor(const std::vector<scalar::Variable>& variables, const std::vector<size_t>& tensors,
                                             size_t tensor) {
        const size_t at = static_cast<size_t>(std::find(tensors.begin(), tensors.end(), tensor) - tensors.begin());
        return at < variables.size() ? &variables[at] : nullptr;
    }
    static bool writes(const Node* node) {
        return node->kind.size() > 6 && node->kind.compare(0, 6, "aten::") == 0 && node->kind.back() == '_' &&
               node->kind[node->kind.size() - 2] != '_';
    }
    /// Which inputs are written to, seen through selections and the carried values of loops.
    void find_writes(const Block* block) {
        for (const Node* node = block->first(); node != block->end; node = node->next) {
            if (writes(node)) note_write(node->inputs[0], 0);
            for (const Block* inner : node->blocks) find_writes(inner);
        }
    }
    void note_write(const Value* value, int depth) {
        if (depth > 64) return;
        for (size_t i = 0; i < inputs_.size(); i++)
            if (inputs_[i] == value) {
                if (value->type->is(TypeKind::Tensor) && std::find(written_.begin(), written_.end(), i) == written_.end())
                    written_.push_back(i);
                return;
            }
        const Node* node = value->node;
        if (node->is("prim::Param")) { // carried: what comes in first, and what the body gives
            const Block* block = node_block(node);
            const Node* owner = block ? block->owner : nullptr;
            if (owner && owner->is("prim::Loop") && value->offset > 0) note_write(owner->inputs[value->offset + 1], depth + 1);
            return;
        }
        if (node->is("aten::select") || writes(node)) note_write(node->inputs[0], depth + 1);
        if (node->is("prim::Loop")) note_write(node->inputs[value->offset + 2], depth + 1);
        if (node->is("prim::If"))
            for (const Block* block : node->blocks) note_write(block->outputs()[value->offset], depth + 1);
    }
    static const Block* node_block(const Node* parameters) { return parameters->block; }

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

    // ---- tensors

    const TensorFacts& facts_of(const Abstract& a) { return facts_[a.view->tensor]; }
    DType dtype_of(const Abstract& a) { return a.kind == Abstract::Element || a.kind == Abstract::Row ? a.dtype : facts_of(a).dtype; }
    scalar::Region region_of(size_t tensor) const { return apart_ ? static_cast<scalar::Region>(tensor + 1) : scalar::any_region; }

    /// The element that a tensor of no dimension holds now.
    Abstract load(const Abstract& a, const Node* node) {
        if (a.kind == Abstract::Element) return a;
        if (a.kind == Abstract::Row) refuse(node, "a row is used as a number");
        if (!a.view->sizes.empty()) refuse(node, "a tensor with dimensions is computed with");
        const DType dtype = facts_of(a).dtype;
        if (const scalar::Variable* held = of_tensor(held_, kept_, a.view->tensor)) return element(dtype, b_.get(*held));
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
        made.view->sizes.erase(made.view->sizes.begin() + static_cast<long>(d));
        made.view->strides.erase(made.view->strides.begin() + static_cast<long>(d));
        return made;
    }

    // ---- nodes

    Abstract& of(const Value* value) {
        if (value->node->is("prim::Constant")) {
            const Item* item = constant_of(value);
            Abstract& made = constants_[value];
            made = known(item ? *item : Item());
            return made;
        }
        const auto found = values_.find(value);
        if (found == values_.end()) refuse(value->node, "a value is not known");
        return found->second;
    }

    static bool same(const Abstract& a, const Abstract& c) {
        if (a.kind != c.kind) return false;
        if (a.kind == Abstract::Viewed) return a.view == c.view;
        if (a.kind == Abstract::Known) return a.known == c.known;
        if (a.kind == Abstract::Array) return a.word.id == c.word.id;
        return a.kind == Abstract::Nothing;
    }
    scalar::Variable variable_for(const Abstract& a) {
        switch (a.kind) {
        case Abstract::Int: return b_.variable(ScalarType::I64);
        case Abstract::Float: return b_.variable(ScalarType::F64);
        case Abstract::Bool: return b_.variable(ScalarType::Bool);
        case Abstract::Array: return b_.variable(ScalarType::Address);
        default: return b_.variable(computed(a.dtype));
        }
    }
    static bool carried(const Abstract& a) { return a.number() || a.kind == Abstract::Element || a.kind == Abstract::Array; }
    Abstract held(Abstract a, scalar::Variable in) {
        a.word = b_.get(in);
        a.length = {};
        return a;
    }

    void block(const Block* block) {
        for (const Node* node = block->first(); node != block->end; node = node->next) {
            this->node(node);
            if (b_.ended()) return;
        }
    }

    /// The values that a loop gives.
    std::vector<Abstract> loop(const Node* node, bool outermost) {
        const Block* body = node->blocks[0];
        const size_t count = node->inputs.size() - 2;
        const Abstract most = of(node->inputs[0]), begins = of(node->inputs[1]);
        const Item* forever = constant_of(node->inputs[0]);
        const bool counts = !(forever && forever->integer() == INT64_MAX);
        const scalar::Variable trip = b_.variable(ScalarType::I64), goes_on = b_.variable(ScalarType::Bool);
        b_.set(trip, b_.integer(0));
        b_.set(goes_on, begins.word);
        const Word older = b_.load(Memory::I64, lists_, {}, 1, 8 * MadeLists::most_arguments, list_region);
        const size_t lists_before = lists_made_;
        std::vector<Abstract> first(count);
        std::vector<scalar::Variable> variables(count);
        for (size_t i = 0; i < count; i++) {
            first[i] = of(node->inputs[i + 2]);
            for (const auto& each : by_value_)
                if (each.first == node && each.second == i) first[i] = load(first[i], node);
            if (first[i].kind == Abstract::Known && !first[i].known.is_none()) refuse(node, "a text is carried");
            if (first[i].kind == Abstract::List) refuse(node, "a list is carried");
            if (!carried(first[i])) continue;
            variables[i] = variable_for(first[i]);
            b_.set(variables[i], first[i].word);
        }
        const scalar::Block head = b_.block(), inside = b_.block(), after = b_.block();
        b_.jump(head);
        b_.enter(head);
        Word condition;
        const Item* always = constant_of(body->outputs()[0]);
        const Item* starts = constant_of(node->inputs[1]);
        const bool asks = !(always && always->truth() && starts && starts->truth());
        if (counts) condition = b_.less(b_.get(trip), most.word);
        if (asks) condition = condition ? b_.binary(scalar::Op::And, condition, b_.get(goes_on)) : b_.get(goes_on);
        if (!condition) condition = b_.boolean(true);
        b_.branch(condition, inside, after);
        b_.seal(inside);
        b_.enter(inside);
        values_[body->inputs()[0]] = number(Abstract::Int, b_.get(trip));
        for (size_t i = 0; i < count; i++) {
            Abstract now = first[i];
            if (carried(now)) now = held(now, variables[i]);
            values_[body->inputs()[i + 1]] = now;
        }
        this->block(body);
        if (!b_.ended()) {
            std::vector<Abstract> next(count);
            for (size_t i = 0; i < count; i++) {
                next[i] = of(body->outputs()[i + 1]);
                if (carried(first[i])) {
                    if (next[i].kind == Abstract::Viewed && first[i].kind == Abstract::Element && next[i].view->sizes.empty())
                        next[i] = load(next[i], node);
                    if (next[i].kind == Abstract::Nothing) continue;
                    if (next[i].kind != first[i].kind || (next[i].kind == Abstract::Element && next[i].dtype != first[i].dtype))
                        refuse(node, "a value changes its kind or dtype from one round to the next");
                } else if (!same(first[i], next[i])) {
                    if (first[i].kind == Abstract::Viewed && first[i].view->sizes.empty() && next[i].tensor()) {
                        by_value_.emplace_back(node, i);
                        throw Again{};
                    }
                    refuse(node, "a tensor with dimensions is another one in each round");
                }
            }
            const Abstract continues = of(body->outputs()[0]);
            for (size_t i = 0; i < count; i++)
                if (carried(first[i]) && next[i].kind != Abstract::Nothing) b_.set(variables[i], next[i].word);
            b_.set(goes_on, continues.word);
            b_.set(trip, b_.add(b_.get(trip), b_.integer(1)));
            if (outermost) b_.set(ran_, b_.boolean(true));
            if (lists_made_ != lists_before) {
                Word from = older;
                for (size_t i = 0; i < count; i++)
                    if (next[i].kind == Abstract::Array)
                        from = b_.call(scalar::callee("keep_list", keep_list, scalar::Effect::Writes), {lists_, from, next[i].word});
                b_.call(scalar::callee("drop_lists", drop_lists, scalar::Effect::Writes), {lists_, from});
            }
            std::vector<Word> state;
            append_state(state);
            b_.poll(1, state.data(), state.size());
            b_.jump(head);
        }
        b_.seal(head);
        b_.seal(after);
        b_.enter(after);
        std::vector<Abstract> given(count);
        for (size_t i = 0; i < count; i++) {
            given[i] = first[i];
            if (carried(given[i])) given[i] = held(given[i], variables[i]);
            values_[node->outputs[i]] = given[i];
        }
        return given;
    }

    /// A few steps over numbers that cannot fail: computed on both sides of a condition they cost less than a jump that is foreseen
    /// wrongly.
    static bool is_simple(const Block* block) {
        static constexpr char names[][10] = {"add", "sub",     "mul",    "lt",      "le",  "gt",    "ge",  "eq",
                                             "ne",  "__and__", "__or__", "__not__", "neg", "Float", "Int", "Bool"};
        const auto is_number = [](const Value* value) {
            return value->type->is(TypeKind::Int) || value->type->is(TypeKind::Float) || value->type->is(TypeKind::Bool);
        };
        int steps = 0;
        for (const Node* node = block->first(); node != block->end; node = node->next) {
            if (node->is("prim::Constant")) continue;
            bool known = false;
            for (const char* name : names)
                known |= node->kind.compare(0, 6, "aten::") == 0 && node->kind.compare(6, std::string::npos, name) == 0;
            for (const Value* input : node->inputs) known &= is_number(input);
            if (!known || ++steps > 6) return false;
        }
        for (const Value* output : block->outputs())
            if (!is_number(output) || output->node->is("prim::Uninitialized")) return false;
        return true;
    }

    void branch(const Node* node) {
        const Abstract condition = of(node->inputs[0]);
        if (condition.kind != Abstract::Bool) refuse(node, "a condition is no bool");
        const size_t count = node->outputs.size();
        if (count && is_simple(node->blocks[0]) && is_simple(node->blocks[1])) {
            for (const Block* side : node->blocks) block(side);
            for (size_t i = 0; i < count; i++) {
                const Abstract yes = of(node->blocks[0]->outputs()[i]), no = of(node->blocks[1]->outputs()[i]);
                values_[node->outputs[i]] = number(yes.kind, b_.select(condition.word, yes.word, no.word));
            }
            return;
        }
        const scalar::Block sides[2] = {b_.block(), b_.block()}, after = b_.block();
        b_.branch(condition.word, sides[0], sides[1]);
        b_.seal(sides[0]);
        b_.seal(sides[1]);
        std::vector<Abstract> given[2];
        std::vector<scalar::Variable> variables(count);
        std::vector<bool> made(count, false);
        int reached = 0;
        for (int side = 0; side < 2; side++) {
            b_.enter(sides[side]);
            block(node->blocks[static_cast<size_t>(side)]);
            if (b_.ended()) continue;
            reached++;
            given[side].resize(count);
            for (size_t i = 0; i < count; i++) {
                Abstract each = of(node->blocks[static_cast<size_t>(side)]->outputs()[i]);
                given[side][i] = each;
                if (!carried(each)) continue;
                if (!made[i]) {
                    variables[i] = variable_for(each);
                    made[i] = true;
                } else if (given[0].size() && carried(given[0][i]) && (given[0][i].kind != each.kind || given[0][i].dtype != each.dtype))
                    refuse(node, "two branches give values of different kinds or dtypes");
                b_.set(variables[i], each.word);
            }
            b_.jump(after);
        }
        if (!reached) refuse(node, "both branches raise");
        b_.seal(after);
        b_.enter(after);
        for (size_t i = 0; i < count; i++) {
            Abstract result;
            const Abstract* sides_given[2] = {given[0].empty() ? nullptr : &given[0][i], given[1].empty() ? nullptr : &given[1][i]};
            for (const Abstract* each : sides_given) {
                if (!each || each->kind == Abstract::Nothing) continue;
                if (result.kind == Abstract::Nothing) result = *each;
                else if (carried(result) != carried(*each) || (!carried(result) && !same(result, *each)))
                    refuse(node, "two branches give different tensors");
            }
            // What is not there reads as 0, which may not be looked into.
            for (const Abstract* each : sides_given)
                if (each && each->kind == Abstract::Nothing && result.kind == Abstract::Array) refuse(node, "a list that may not be there");
            if (carried(result)) result = held(result, variables[i]);
            values_[node->outputs[i]] = result;
        }
    }

    void node(const Node* node) {
        if (node->is("prim::Constant")) return;
        if (node->is("prim::Loop")) {
            loop(node, false);
            return;
        }
        if (node->is("prim::If")) return branch(node);
        if (node->is("prim::RaiseException")) {
            const Item *text = constant_of(node->inputs[0]), *qualified = node->inputs.size() > 1 ? constant_of(node->inputs[1]) : nullptr;
            if (!text || !text->is(Item::Tag::Str)) refuse(node, "a text is put together for an exception");
            const int32_t code = exit(node, LoweredLoop::Exit::Raised, text->text().c_str());
            if (qualified && qualified->is(Item::Tag::Str)) exits_.back().qualified = qualified->text();
            std::vector<Word> words;
            append_state(words);
            b_.leave(code, words.data(), words.size());
            return;
        }
        if (node->outputs.size() > 1) refuse(node, node->kind.c_str(), " is nothing that loops over elements know");
        std::vector<Abstract> arguments;
        for (const Value* input : node->inputs) arguments.push_back(of(input));
        Abstract result = value(node, arguments);
        if (!node->outputs.empty()) values_[node->outputs[0]] = std::move(result);
    }

    static std::string name_of(const Node* node) { return node->kind.substr(node->kind.find("::") + 2); }
    Abstract value(const Node* node, const std::vector<Abstract>& a) {
        if (node->is("prim::unchecked_cast")) return a[0];
        const bool starts = node->is("prim::Uninitialized");
        if ((starts || (node->is("prim::ListConstruct") && in_memory(node))) && of_numbers(node->outputs[0]->type)) return display(node, a);
        if (starts) return {};
        if (node->is("prim::ListConstruct") || node->is("prim::TupleConstruct")) {
            Abstract made;
            made.kind = Abstract::List;
            made.parts = a;
            return made;
        }
        const std::string name = name_of(node);
        if (a.empty()) refuse(node, node->kind.c_str(), " is nothing that loops over elements know");
        bool tensors = false, others = false;
        for (const Abstract& each : a) {
            tensors |= each.tensor();
            others |= !each.tensor() && !each.number();
        }
        if (tensors) return of_tensors(node, name, a);
        if (others) return of_lists(node, name, a);
        return of_numbers(node, name, a);
    }

    // ---- lists and known things

    Abstract of_lists(const Node* node, const std::string& name, const std::vector<Abstract>& a) {
        if (a[0].kind == Abstract::Array) {
            if (name == "len") return number(Abstract::Int, count_of(a[0]));
            if ((name == "__getitem__" || name == "select") && a.size() == 2 && a[1].kind == Abstract::Int) return get(a[0], a[1], node);
            if (name == "_set_item" && a.size() == 3 && !a[0].of_lists && a[1].kind == Abstract::Int && a[2].number())
                return set(a[0], a[1], a[2], node);
            if (name == "append" && a.size() == 2 && !a[0].of_lists && node->signature) return append(node, a[0], a[1]);
        }
        const auto is_list = [&](const Abstract& each) { return each.kind == Abstract::Array && !each.of_lists; };
        if (name == "add" && is_list(a[0]) && is_list(a[1]))
            return list_from(node,
                             b_.call(scalar::callee("join_lists", join_lists, scalar::Effect::Writes), {lists_, a[0].word, a[1].word}),
                             b_.add(count_of(a[0]), count_of(a[1])));
        if (name == "mul" && a[0].kind == Abstract::List && a[0].parts.size() == 1 && a[1].kind == Abstract::Int &&
            of_numbers(node->outputs[0]->type))
            return make(node, a[1].word, a[0].parts[0]);
        if (name == "tensor" && a[0].number()) return new_element(node, a);
        if ((name == "min" || name == "max") && a.size() == 1 && a[0].kind == Abstract::List && !a[0].parts.empty() &&
            a[0].parts[0].kind == Abstract::Int) {
            Word best = a[0].parts[0].word;
            for (const Abstract& each : a[0].parts) best = b_.binary(name == "min" ? scalar::Op::Min : scalar::Op::Max, each.word, best);
            return number(Abstract::Int, best);
        }
        if (name == "__getitem__" && a[0].kind == Abstract::List && a[1].kind == Abstract::Int) {
            const int64_t size = static_cast<int64_t>(a[0].parts.size());
            if (const std::optional<int64_t> at = constant(a[1].word)) {
                const int64_t i = *at < 0 ? *at + size : *at;
                if (i >= 0 && i < size) return a[0].parts[static_cast<size_t>(i)];
            }
        }
        if (name == "len" && a[0].kind == Abstract::List) return number(Abstract::Int, b_.integer(static_cast<int64_t>(a[0].parts.size())));
        return computed_by_builtin(node, a);
    }
    static bool of_numbers(TypeRef type) { return listed(type) != DType::None && !type->element()->is(TypeKind::List); }
    static bool changes_length(const Node* node) {
        return node->signature && node->signature->builtin && node->signature->effect == 'w' && !node->is("aten::_set_item");
    }
    /// Whether a display of numbers needs memory: who reads it looks for more than the numbers that it was made of.
    static bool in_memory(const Node* node) {
        return std::any_of(node->outputs[0]->uses.begin(), node->outputs[0]->uses.end(), [&](const Use& use) {
            const Node* user = use.user;
            if (user->is("prim::Loop") || user->is("prim::Return")) return true;
            if (!user->signature || !user->signature->builtin || user->is("aten::len")) return false;
            if (user->is("aten::__getitem__")) return !constant_of(user->inputs[1]);
            if (user->is("prim::min") || user->is("prim::max")) return user->inputs.size() != 1;
            return !(user->is("aten::mul") && node->inputs.size() == 1 && use.offset == 0);
        });
    }
    static Item::Tag tag_of(DType dtype) {
        return dtype == DType::Bool ? Item::Tag::Bool : dtype == DType::Int64 ? Item::Tag::Int : Item::Tag::Float;
    }
    Word bits(const Abstract& a) {
        return a.kind == Abstract::Float ? b_.bits(ScalarType::I64, a.word) : b_.convert(ScalarType::I64, a.word);
    }
    Word bits_for(DType dtype, const Abstract& given, const Node* node) {
        if (!given.number() || (given.kind == Abstract::Float) != (dtype == DType::Float64) ||
            (given.kind == Abstract::Bool) != (dtype == DType::Bool))
            refuse(node, "a number of another type is put into a list");
        return bits(given);
    }
    Abstract array(TypeRef type, Word object) {
        Abstract made;
        made.kind = Abstract::Array;
        made.dtype = listed(type);
        made.of_lists = type->element()->is(TypeKind::List);
        made.word = object;
        return made;
    }
    /// A vector begins with where its items begin, where they end, and where its memory does.
    static int32_t edge_at(int32_t which) {
        static_assert(sizeof(Item::Items::items) == 3 * sizeof(void*) && sizeof(Item) == 16);
        const Item::Items probe;
        return static_cast<int32_t>(reinterpret_cast<const char*>(&probe.items) - reinterpret_cast<const char*>(&probe)) + 8 * which;
    }
    Word edge(const Abstract& array, int32_t which) { return b_.load(Memory::Address, array.word, {}, 1, edge_at(which), header_region_); }
    Word count_of(const Abstract& array) {
        if (array.length) return array.length;
        const Word begin = b_.convert(ScalarType::I64, edge(array, 0)), end = b_.convert(ScalarType::I64, edge(array, 1));
        return b_.binary(scalar::Op::Shr, b_.subtract(end, begin), b_.integer(4));
    }
    void succeeded(const Node* node, Word right) { check(right, exit(node, LoweredLoop::Exit::Thrown), {}); }
    /// In place where there is room; a call makes more.
    Abstract append(const Node* node, const Abstract& list, const Abstract& given) {
        const Word bits = bits_for(list.dtype, given, node), tag = b_.integer(static_cast<int64_t>(tag_of(list.dtype)));
        const Word end = edge(list, 1);
        const scalar::Block room = b_.block(), full = b_.block(), after = b_.block();
        b_.branch(b_.binary(scalar::Op::Ne, end, edge(list, 2)), room, full);
        b_.seal(room);
        b_.enter(room);
        b_.store(Memory::I8, end, {}, 1, 0, tag, list_region);
        b_.store(Memory::I64, end, {}, 1, Item::number_at(), bits, list_region);
        b_.store(Memory::Address, list.word, {}, 1, edge_at(1), b_.add(end, b_.integer(sizeof(Item))), header_region_);
        b_.jump(after);
        b_.seal(full);
        b_.enter(full);
        const Word arguments[] = {lists_, list.word, tag, bits};
        succeeded(node, b_.call(scalar::callee("append_number", append_number, scalar::Effect::Writes), arguments, 4));
        b_.jump(after);
        b_.seal(after);
        b_.enter(after);
        return list;
    }
    Abstract list_from(const Node* node, Word object, Word length) {
        succeeded(node, b_.binary(scalar::Op::Ne, object, b_.address(nullptr)));
        lists_made_++;
        Abstract result = array(node->outputs[0]->type, object);
        if (header_region_ == scalar::constant_region) result.length = length;
        return result;
    }
    Abstract make(const Node* node, Word count, const Abstract& number) {
        const TypeRef type = node->outputs[0]->type;
        const Word bits = number.number() ? bits_for(listed(type), number, node) : b_.integer(0);
        const Word arguments[] = {lists_, b_.address(type), count, bits};
        return list_from(node, b_.call(scalar::callee("make_list", make_list, scalar::Effect::Writes), arguments, 4),
                         b_.binary(scalar::Op::Max, count, b_.integer(0)));
    }
    Abstract display(const Node* node, const std::vector<Abstract>& a) {
        const Abstract result = make(node, b_.integer(static_cast<int64_t>(a.size())), a.empty() ? Abstract() : a[0]);
        for (size_t i = 1; i < a.size(); i++)
            b_.store(Memory::I64, edge(result, 0), {}, 1, static_cast<int32_t>(sizeof(Item) * i) + Item::number_at(),
                     bits_for(result.dtype, a[i], node), list_region);
        return result;
    }
    /// What else can be done with lists: by the interpreter's own function.
    Abstract computed_by_builtin(const Node* node, const std::vector<Abstract>& a) {
        const TypeRef type = node->outputs.empty() ? nullptr : node->outputs[0]->type;
        bool known = node->signature && node->signature->builtin && a.size() <= MadeLists::most_arguments;
        known = known && (!type || type->is(TypeKind::Int) || type->is(TypeKind::Float) || type->is(TypeKind::Bool) || of_numbers(type));
        int64_t tags = 0;
        for (size_t i = 0; known && i < a.size(); i++) {
            const bool list = a[i].kind == Abstract::Array && !a[i].of_lists;
            known = list || a[i].number() || is_none(a[i]);
            if (!known) break;
            const Item::Tag tag = list                           ? Item::Tag::List
                                  : is_none(a[i])                ? Item::Tag::None
                                  : a[i].kind == Abstract::Int   ? Item::Tag::Int
                                  : a[i].kind == Abstract::Float ? Item::Tag::Float
                                                                 : Item::Tag::Bool;
            tags |= (1 + static_cast<int64_t>(tag)) << 4 * i;
            if (!is_none(a[i])) b_.store(Memory::I64, lists_, {}, 1, static_cast<int32_t>(8 * i), bits(a[i]), list_region);
        }
        if (!known)
            refuse(node, node->kind.c_str(), (" of " + str(node->inputs[0]->type) + " is nothing that loops over elements know").c_str());
        succeeded(node, b_.call(scalar::callee("call_builtin", call_builtin, scalar::Effect::Writes),
                                {lists_, b_.address(reinterpret_cast<const void*>(node->signature->builtin)), b_.integer(tags)}));
        lists_made_++;
        if (!type) return {};
        if (type->is(TypeKind::List)) return array(type, b_.load(Memory::Address, lists_, {}, 1, 0, list_region));
        const Word word = b_.load(type->is(TypeKind::Float) ? Memory::F64 : Memory::I64, lists_, {}, 1, 0, list_region);
        if (type->is(TypeKind::Bool)) return number(Abstract::Bool, b_.binary(scalar::Op::Ne, word, b_.integer(0)));
        return number(type->is(TypeKind::Float) ? Abstract::Float : Abstract::Int, word);
    }
    /// Where the number of an array lies, in steps of 8 bytes from the first: an item has 16.
    Word place(const Abstract& array, const Abstract& index, const Node* node) {
        const int32_t code = exit(node, LoweredLoop::Exit::Message, "list index out of range");
        std::vector<Word> words;
        append_state(words);
        const Word checked = b_.python_index(index.word, count_of(array), code, words.data(), words.size());
        return b_.add(checked, checked);
    }
    Abstract get(const Abstract& from, const Abstract& index, const Node* node) {
        const Word at = place(from, index, node);
        if (from.of_lists) // which lists it holds is never changed by a loop
            return array(node->outputs[0]->type,
                         b_.load(Memory::Address, edge(from, 0), at, 8, Item::number_at(), scalar::constant_region));
        const bool real = from.dtype == DType::Float64;
        const Word word = b_.load(real ? Memory::F64 : Memory::I64, edge(from, 0), at, 8, Item::number_at(), list_region);
        if (from.dtype == DType::Bool) return number(Abstract::Bool, b_.binary(scalar::Op::Ne, word, b_.integer(0)));
        return number(real ? Abstract::Float : Abstract::Int, word);
    }
    Abstract set(const Abstract& array, const Abstract& index, const Abstract& given, const Node* node) {
        const Word at = place(array, index, node);
        const bool real = array.dtype == DType::Float64;
        const Word word = bits_for(array.dtype, given, node);
        b_.store(real ? Memory::F64 : Memory::I64, edge(array, 0), at, 8, Item::number_at(), real ? given.word : word, list_region);
        return array;
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
    bool is_false(const Abstract& a) const {
        if (a.kind == Abstract::Known) return a.known.is_none();
        const scalar::Node& flag = made_.nodes[a.word.id];
        return a.kind == Abstract::Bool && flag.op == scalar::Op::Constant && flag.bits == 0;
    }

    // ---- numbers

    Abstract of_numbers(const Node* node, const std::string& name, const std::vector<Abstract>& a) {
        using scalar::Op;
        const bool floats = a[0].kind == Abstract::Float || (a.size() > 1 && a[1].kind == Abstract::Float);
        const auto maths = [&](double (*function)(double) noexcept, const char* called) {
            return number(Abstract::Float, b_.call(scalar::callee(called, function, scalar::Effect::Pure), {to_f64(a[0])}));
        };
        const auto real = [&](Op op) { return number(Abstract::Float, b_.unary(op, to_f64(a[0]))); };
        if (a.size() == 2) {
            static constexpr struct {
                char name[4];
                Op op;
            } steps[] = {{"add", Op::Add}, {"sub", Op::Sub}, {"mul", Op::Mul}, {"lt", Op::Lt}, {"le", Op::Le},
                         {"gt", Op::Gt},   {"ge", Op::Ge},   {"eq", Op::Eq},   {"ne", Op::Ne}};
            for (const auto& each : steps)
                if (name == each.name) {
                    const Word word =
                        floats ? b_.binary(each.op, to_f64(a[0]), to_f64(a[1])) : b_.binary(each.op, to_i64(a[0]), to_i64(a[1]));
                    return number(each.op >= Op::Eq ? Abstract::Bool : floats ? Abstract::Float : Abstract::Int, word);
                }
            if (name == "div") return number(Abstract::Float, b_.divide(to_f64(a[0]), to_f64(a[1])));
            if (name == "min" || name == "max") { // std::min(a, b): b < a ? b : a
                const Op op = name == "min" ? Op::Min : Op::Max;
                if (floats) return number(Abstract::Float, b_.binary(op, to_f64(a[1]), to_f64(a[0])));
                return number(Abstract::Int, b_.binary(op, to_i64(a[1]), to_i64(a[0])));
            }
            if (name == "floordiv" || name == "remainder") {
                if (floats) {
                    if (!node->signature || !node->signature->builtin) refuse(node, name.c_str(), " of floats");
                    const Word x = to_f64(a[0]), y = to_f64(a[1]);
                    divisor(node, a, b_.binary(Op::Ne, y, b_.real(0)));
                    if (name == "floordiv") return number(Abstract::Float, b_.unary(Op::Floor, b_.divide(x, y)));
                    const auto mod = scalar::callee("fmod", call_mod, scalar::Effect::Pure);
                    return number(Abstract::Float, b_.call(mod, {b_.add(y, b_.call(mod, {x, y})), y}));
                }
                divisor(node, a, b_.binary(Op::Ne, to_i64(a[1]), b_.integer(0)));
                return number(Abstract::Int, b_.binary(name == "floordiv" ? Op::FloorDiv : Op::FloorMod, to_i64(a[0]), to_i64(a[1])));
            }
            if (name == "pow" && node->outputs[0]->type->is(TypeKind::Float))
                return number(Abstract::Float,
                              b_.call(scalar::callee("pow", call_pow, scalar::Effect::Pure), {to_f64(a[0]), to_f64(a[1])}));
            if (name == "atan2")
                return number(Abstract::Float,
                              b_.call(scalar::callee("atan2", call_atan2, scalar::Effect::Pure), {to_f64(a[0]), to_f64(a[1])}));
            const bool bools = a[0].kind == Abstract::Bool && a[1].kind == Abstract::Bool;
            if (!floats && (name == "__and__" || name == "__or__" || name == "__xor__")) {
                const Op op = name == "__and__" ? Op::And : name == "__or__" ? Op::Or : Op::Xor;
                if (bools) return number(Abstract::Bool, b_.binary(op, a[0].word, a[1].word));
                return number(Abstract::Int, b_.binary(op, to_i64(a[0]), to_i64(a[1])));
            }
            if (!floats && name == "__lshift__") return number(Abstract::Int, b_.binary(Op::Shl, to_i64(a[0]), to_i64(a[1])));
            if (!floats && name == "__rshift__") return number(Abstract::Int, b_.binary(Op::Shr, to_i64(a[0]), to_i64(a[1])));
        }
        if (a.size() == 1) {
            if (name == "neg")
                return floats ? number(Abstract::Float, b_.unary(Op::Neg, a[0].word))
                              : number(Abstract::Int, b_.unary(Op::Neg, to_i64(a[0])));
            if (name == "abs")
                return floats ? number(Abstract::Float, b_.unary(Op::Abs, a[0].word))
                              : number(Abstract::Int, b_.unary(Op::Abs, to_i64(a[0])));
            if (name == "__not__") return number(Abstract::Bool, b_.unary(Op::Not, a[0].word));
            if (name == "bitwise_not" && a[0].kind == Abstract::Int) return number(Abstract::Int, b_.unary(Op::Not, a[0].word));
            if (name == "Float" || name == "FloatImplicit") return number(Abstract::Float, to_f64(a[0]));
            if (name == "Int" || name == "IntImplicit") return number(Abstract::Int, to_i64(a[0]));
            if (name == "Bool") return number(Abstract::Bool, cast(a[0].word, DType::Bool));
            if (name == "sqrt") {
                const Word x = to_f64(a[0]);
                return number(Abstract::Float, b_.unary(Op::Sqrt, x));
            }
            if (name == "exp") return maths(call_exp, "exp");
            if (name == "sin") return maths(call_sin, "sin");
            if (name == "cos") return maths(call_cos, "cos");
            if (name == "tan") return maths(call_tan, "tan");
            if (name == "tanh") return maths(call_tanh, "tanh");
            if (name == "atan") return maths(call_atan, "atan");
            if (node->outputs[0]->type->is(TypeKind::Int) && (name == "floor" || name == "ceil")) {
                if (!floats) return number(Abstract::Int, to_i64(a[0]));
                return number(Abstract::Int, b_.convert(ScalarType::I64, b_.unary(name == "floor" ? Op::Floor : Op::Ceil, a[0].word)));
            }
            if (name == "fabs") return real(Op::Abs);
        }
        if (name == "__range_length" && a.size() == 3) {
            const std::optional<int64_t> step = constant(a[2].word);
            if (step == 1) {
                const Word length = b_.subtract(a[1].word, a[0].word);
                return number(Abstract::Int, b_.binary(Op::Max, length, b_.integer(0)));
            }
            if (step && *step) {
                const bool up = *step > 0;
                const Word width = up ? b_.subtract(a[1].word, a[0].word) : b_.subtract(a[0].word, a[1].word),
                           by = b_.integer(up ? *step : -*step);
                const Word rounds = b_.add(b_.integer(1), b_.binary(Op::FloorDiv, b_.subtract(width, b_.integer(1)), by));
                return number(Abstract::Int, b_.select(b_.binary(Op::Gt, width, b_.integer(0)), rounds, b_.integer(0)));
            }
        }
        if (name == "__derive_index" && a.size() == 3) return number(Abstract::Int, b_.add(a[1].word, b_.multiply(a[0].word, a[2].word)));
        if (name == "tensor") return new_element(node, a);
        refuse(node, node->kind.c_str(), " is nothing that loops over elements know");
    }
    /// A division by 0 is what the builtin says it is.
    void divisor(const Node* node, const std::vector<Abstract>& a, Word fits) {
        std::string kinds;
        std::vector<Word> words;
        for (const Abstract& each : a) {
            kinds += each.kind == Abstract::Float ? 'f' : each.kind == Abstract::Bool ? 'b' : 'i';
            words.push_back(each.word);
        }
        const int32_t code = exit(node, LoweredLoop::Exit::Builtin);
        exits_.back().values = std::move(kinds);
        exits_.back().builtin = node->signature ? node->signature->builtin : nullptr;
        check(fits, code, words);
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
                    check(b_.binary(Op::And, b_.binary(Op::Ge, real, b_.real(-0x1p63)), b_.less(real, b_.real(0x1p63))), code, {});
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
    static bool is_none(const Abstract& a) { return a.kind == Abstract::Known && a.known.is_none(); }
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
            if (bools) refuse(node, name.c_str(), " of bools");
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
    bool is_one(const Abstract& a) const { return a.kind == Abstract::Int && constant(a.word) == 1; }

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

    const Node* loop_;
    const std::vector<const Value*>& inputs_;
    const std::vector<TensorFacts>& facts_;
    bool apart_;
    std::vector<std::pair<const Node*, size_t>> by_value_;
    scalar::Function made_;
    scalar::Builder b_;
    static constexpr scalar::Region scratch_region = 0x7FFF, list_region = 0x7FFE; // two lists may be the same one
    scalar::Region header_region_ =
        scalar::constant_region; // of where the items of lists begin and end; another where a list changes its length
    Word lists_;                 // MadeLists
    size_t lists_made_ = 0;      // places that make one, so far in the text
    scalar::Variable ran_;
    Word scratch_;             // where rows are computed, for sums
    std::vector<int> numbers_; // of the sizes that have one
    std::vector<Word> sizes_;
    size_t stores_ = 0; // so far in the text
    std::vector<Word> data_;
    std::vector<size_t> kept_, written_;
    std::vector<scalar::Variable> held_, counts_; // of those tensors
    std::vector<LoweredLoop::Exit> exits_;
    std::unordered_map<const Value*, Abstract> values_, constants_;
};

} // namespace

bool uses_rows(const Node* loop) {
    return any_inside(loop, [](const Node* node) { return node->is("aten::slice") || node->is("aten::sum"); });
}

LoweredLoop lower_loop(const Node* loop, const std::vector<const Value*>& inputs, const std::vector<TensorFacts>& facts, bool apart) {
    std::vector<std::pair<const Node*, size_t>> by_value;
    for (;;) {
        Lowering lowering(loop, inputs, facts, apart, by_value);
        try {
            return lowering.run();
        } catch (const Again&) { by_value = lowering.wanted_by_value(); } catch (const Unsupported& unsupported) {
            LoweredLoop refused;
            refused.why = unsupported.why;
            refused.where = unsupported.node;
            return refused;
        }
    }
}

} // namespace kindling::script
