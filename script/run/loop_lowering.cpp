// script/run/loop_lowering.cpp: from a loop of a graph to scalar SSA: what comes in, control flow, and which layer knows a node.
#include "script/run/loop_lists.h"

namespace kindling::script {
namespace {

class Lowering : LoopLists {
public:
    using LoopLists::LoopLists;

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
        if (first_)
            if (const char* why = together(given)) throw Whole{why};
        if (parts_ && !first_) lowered.together = "it may end early";
        scalar::Report report;
        scalar::Options options;
        options.report = &report;
        lowered.code = scalar::compile(std::move(made_), options);
        if (first_ && report.fails) throw Whole{what_fails(exits_[static_cast<size_t>(report.fails)])};
        lowered.divides = first_.id != 0;
        lowered.narrow = std::move(report.narrow);
        lowered.exits = std::move(exits_);
        lowered.kept = kept_;
        lowered.written = written_;
        return lowered;
    }

    const std::vector<std::pair<const Node*, size_t>>& wanted_by_value() const { return by_value_; }

private:
    // ---- rounds of the outermost loop in several threads

    /// Whether the value is another one in each round, and never below 0.
    bool tells_apart(Word word) {
        const scalar::Node& node = made_.nodes[word.id];
        const auto constant_from = [&](int input, int64_t least) {
            const std::optional<int64_t> value = constant({node.input[input]});
            return value && *value >= least && *value < 1 << 20;
        };
        if (word == trip_) return true;
        for (int i = 0; i < 2; i++)
            if ((node.op == scalar::Op::Add && constant_from(i, 0)) || (node.op == scalar::Op::Mul && constant_from(i, 1)))
                return tells_apart({node.input[1 - i]});
        return false;
    }
    /// What keeps rounds together, null if no round reads or writes what another one writes: all that touches a tensor that is written to
    /// has one index in common, which tells rounds apart. Lists are only read, and nothing is carried.
    const char* together(const std::vector<Abstract>& given) {
        if (!kept_.empty()) return "all rounds write to one element";
        if (lists_made_) return "lists are made";
        if (uses_rows(loop_)) return "rows are computed";
        for (const Abstract& each : given)
            if (carried(each)) return "a value is carried from one round to the next";
        if (any_inside(loop_, [](const Node* node) {
                return builtin_of(node) && builtin_of(node)->effect == 'w' && listed(node->inputs[0]->type) != DType::None;
            }))
            return "a list is written to";
        for (size_t i : written_) {
            bool apart = false;
            for (const Word index : in_common_[i]) apart = apart || (index && tells_apart(index));
            if (!apart) return "not every access to what is written has an index that is another one in each round";
        }
        return nullptr;
    }
    static std::string what_fails(const LoweredLoop::Exit& exit) {
        size_t line = 0, column = 0;
        if (exit.node && exit.node->range.source) exit.node->range.place(line, column);
        return format(exit.kind == LoweredLoop::Exit::Raised       ? "an exception may be raised (line %zu)"
                      : exit.kind == LoweredLoop::Exit::OutOfRange ? "an index is not proved to fit (line %zu)"
                                                                   : "a check can fail (line %zu)",
                      line);
    }
    static bool always_goes_on(const Node* loop) {
        const Item *always = constant_of(loop->blocks[0]->outputs()[0]), *starts = constant_of(loop->inputs[1]);
        return always && always->truth() && starts && starts->truth();
    }

    // ---- what comes in

    void parameters() {
        for (size_t i = 0; i < inputs_.size(); i++) {
            const Value* value = inputs_[i];
            Abstract made;
            if (facts_[i].known) {
                values_[value] = known(*facts_[i].known);
                continue;
            }
            switch (facts_[i].type->kind) {
            case TypeKind::Int:
                made.kind = Abstract::Int;
                made.word = b_.parameter(ScalarType::I64);
                if (!facts_[i].sizes.empty()) made.word = number_of_size(facts_[i], made.word);
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
                made.view->indices.resize(static_cast<size_t>(facts_[i].ndim));
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
            case TypeKind::List: made = array(facts_[i].type, b_.parameter(ScalarType::Address)); break;
            default: refuse(loop_, "it needs a value of type ", str(value->type).c_str());
            }
            values_[value] = made;
        }
        if (uses_rows(loop_)) scratch_ = b_.parameter(ScalarType::Address);
        lists_ = b_.parameter(ScalarType::Address);
        in_common_.resize(inputs_.size());
        if (parts_ && always_goes_on(loop_)) first_ = b_.parameter(ScalarType::I64), last_ = b_.parameter(ScalarType::I64);
        if (any_inside(loop_, changes_length)) header_region_ = 0x7FFD;
        if (any_inside(loop_, changes_rows)) rows_region_ = 0x7FFC;
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
    /// A number that is a size and a constant.
    Word number_of_size(const TensorFacts& facts, Word given) {
        if (!facts.plus) return size_numbered(facts.sizes[0], given);
        const Word size = size_numbered(facts.sizes[0], b_.binary(scalar::Op::Add, given, b_.integer(-facts.plus)));
        return b_.binary(scalar::Op::Add, size, b_.integer(facts.plus));
    }
    /// The first size of a number stands for all.
    Word size_numbered(int number, Word size) {
        for (size_t i = 0; i < sizes_.size(); i++)
            if (numbers_[i] == number) return sizes_[i];
        numbers_.push_back(number);
        sizes_.push_back(size);
        return size;
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
                if (facts_[i].type->is(TypeKind::Tensor) && std::find(written_.begin(), written_.end(), i) == written_.end())
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
        Word begin = b_.integer(0), limit = most.word;
        if (outermost) { // what is known is said by a condition, which always holds
            Word known = b_.boolean(true);
            const auto and_also = [&](scalar::Op op, Word a, Word b) { known = b_.binary(scalar::Op::And, known, b_.binary(op, a, b)); };
            for (const Word size : sizes_)
                and_also(scalar::Op::Ge, size, b_.integer(0)), and_also(scalar::Op::Le, size, b_.integer(most_rounds));
            if (counts) and_also(scalar::Op::Le, limit, b_.integer(most_rounds));
            if (first_) and_also(scalar::Op::Ge, first_, begin), and_also(scalar::Op::Le, last_, limit);
            const scalar::Block then = b_.block(), never = b_.block();
            b_.branch(known, then, never);
            b_.seal(then);
            b_.seal(never);
            b_.enter(never);
            b_.leave(0);
            b_.enter(then);
            if (first_) begin = first_, limit = last_;
        }
        b_.set(trip, begin);
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
        const bool asks = !always_goes_on(node);
        if (counts || (outermost && first_)) condition = b_.less(b_.get(trip), limit);
        if (asks) condition = condition ? b_.binary(scalar::Op::And, condition, b_.get(goes_on)) : b_.get(goes_on);
        if (!condition) condition = b_.boolean(true);
        b_.branch(condition, inside, after);
        b_.seal(inside);
        b_.enter(inside);
        values_[body->inputs()[0]] = number(Abstract::Int, b_.get(trip));
        if (outermost) trip_ = b_.get(trip);
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
                    refuse(node, next[i].kind == Abstract::Viewed ? "a tensor with dimensions is another one in each round"
                                                                  : "a value may be None in one round and not in another");
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
                    if (next[i].kind == Abstract::Array) {
                        from = b_.call(scalar::callee("keep_list", keep_list, scalar::Effect::Writes), {lists_, from, next[i].word});
                        succeeded(node, b_.binary(scalar::Op::Ge, from, b_.integer(0)));
                    }
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
        if (const scalar::Node& test = made_.nodes[condition.word.id]; test.op == scalar::Op::Constant) { // as of what may be None
            const Block* side = node->blocks[test.bits ? 0 : 1];
            block(side);
            for (size_t i = 0; i < count && !b_.ended(); i++) values_[node->outputs[i]] = of(side->outputs()[i]);
            return;
        }
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

    Abstract value(const Node* node, const std::vector<Abstract>& a) {
        if (node->is("prim::unchecked_cast")) return a[0];
        const bool starts = node->is("prim::Uninitialized");
        const TypeRef type = node->outputs.empty() ? nullptr : node->outputs[0]->type;
        if (type && listed(type) != DType::None && (starts || (node->is("prim::ListConstruct") && (lists_in(type) || in_memory(node)))))
            return display(node, a);
        if (starts) return {};
        if (node->is("prim::ListConstruct") || node->is("prim::TupleConstruct")) {
            Abstract made;
            made.kind = Abstract::List;
            made.parts = a;
            return made;
        }
        const std::string name = name_of(node);
        if (a.empty()) refuse(node, node->kind.c_str(), " is nothing that loops over elements know");
        if (a.size() == 2 && is_none(a[1]) && (name == "__is__" || name == "__isnot__"))
            return number(Abstract::Bool, b_.boolean(is_none(a[0]) == (name == "__is__")));
        const auto is_text = [](const Abstract& each) { return each.kind == Abstract::Known && each.known.is(Item::Tag::Str); };
        if (a.size() == 2 && is_text(a[0]) && is_text(a[1]) && (name == "eq" || name == "ne"))
            return number(Abstract::Bool, b_.boolean((a[0].known.text() == a[1].known.text()) == (name == "eq")));
        bool tensors = false, others = false;
        for (const Abstract& each : a) {
            tensors |= each.tensor();
            others |= !each.tensor() && !each.number();
        }
        if (tensors) return of_tensors(node, name, a);
        if (others) return of_lists(node, name, a);
        return of_numbers(node, name, a);
    }
};

} // namespace

bool uses_rows(const Node* loop) {
    return any_inside(loop, [](const Node* node) { return node->is("aten::slice") || node->is("aten::sum"); });
}

LoweredLoop lower_loop(const Node* loop, const std::vector<const Value*>& inputs, const std::vector<TensorFacts>& facts, bool apart) {
    std::vector<std::pair<const Node*, size_t>> by_value;
    std::string together = apart ? "" : "tensors share memory";
    for (bool parts = apart;;) {
        Lowering lowering(loop, inputs, facts, apart, by_value, parts);
        try {
            LoweredLoop made = lowering.run();
            if (made.together.empty()) made.together = together;
            return made;
        } catch (const Whole& whole) {
            parts = false;
            together = whole.why;
        } catch (const Again&) { by_value = lowering.wanted_by_value(); } catch (const Unsupported& unsupported) {
            LoweredLoop refused;
            refused.why = unsupported.why;
            refused.where = unsupported.node;
            return refused;
        }
    }
}

} // namespace kindling::script
