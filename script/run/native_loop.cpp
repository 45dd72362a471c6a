// script/run/native_loop.cpp: when a loop runs as machine code: what is asked of its tensors, codes by kind of arguments, and what is said
// where it leaves early.
#include "script/run/native_loop.h"

#include <time.h>

#include <algorithm>

#include "core/dispatch.h"
#include "runtime/threads.h"
#include "script/run/fork.h"
#include "script/run/instructions.h"

namespace kindling::script {
namespace {

/// A loop of fewer rounds is not worth lowering until it has come by often.
constexpr int64_t few_rounds = 64;

/// Values of which a loop's code is for one, not for all.
bool is_known(TypeRef type) { return type->is(TypeKind::Str) || type->is(TypeKind::None); }
bool takes(TypeRef type) {
    return listed(type) != DType::None || type->is(TypeKind::Int) || type->is(TypeKind::Float) || type->is(TypeKind::Bool) ||
           type->is(TypeKind::Tensor);
}

/// Whether a node might be lowered, by its kind alone: a guess that costs nothing, `lower_loop` decides.
bool hopeful(const Node* node) {
    static constexpr char kinds[][24] = {"prim::Constant",      "prim::If",
                                         "prim::Loop",          "prim::RaiseException",
                                         "prim::ListConstruct", "prim::TupleConstruct",
                                         "prim::Uninitialized", "prim::unchecked_cast",
                                         "prim::dtype",         "prim::device",
                                         "prim::shape",         "prim::min",
                                         "prim::max",           "prim::abs"};
    for (const char* kind : kinds)
        if (node->kind == kind) return true;
    return node->kind.compare(0, 6, "aten::") == 0;
}
std::string needs(const Value* value) { return "it needs a value of type " + str(value->type); }
/// Why the lines of a block can't be lowered; "" where they might.
std::string hopeless(const Block* block) {
    for (const Node* node = block->first(); node != block->end; node = node->next) {
        if (!hopeful(node)) return node->kind + " is nothing that loops over elements know";
        for (const Value* output : node->outputs)
            if (output->type->is(TypeKind::Dict) || output->type->is(TypeKind::Class) || output->type->is(TypeKind::Str) ||
                output->type->is(TypeKind::Any) || output->type->is(TypeKind::Future))
                return needs(output);
        for (const Block* inner : node->blocks)
            if (std::string why = hopeless(inner); !why.empty()) return why;
    }
    return "";
}

/// Values from outside of the loop, in the order of their first use.
void find_inputs(const Block* block, const Block* body, std::vector<const Value*>& inputs) {
    const auto look = [&](const Value* value) {
        if (value->node->is("prim::Constant")) return;
        for (const Block* at = value->node->block; at; at = at->owner ? at->owner->block : nullptr)
            if (at == body) return;
        if (std::find(inputs.begin(), inputs.end(), value) == inputs.end()) inputs.push_back(value);
    };
    for (const Node* node = block->first();; node = node->next) {
        for (const Value* input : node->inputs) look(input);
        for (const Block* inner : node->blocks) find_inputs(inner, body, inputs);
        if (node == block->end) return;
    }
}

void find_operators(const Block* block, std::vector<const kindling::Operator*>& all) {
    for (const Node* node = block->first(); node != block->end; node = node->next) {
        const kindling::Operator* op = node->signature ? node->signature->op : nullptr;
        if (op && std::find(all.begin(), all.end(), op) == all.end()) all.push_back(op);
        for (const Block* inner : node->blocks) find_operators(inner, all);
    }
}

struct Extent {
    uintptr_t from, to;
};
Extent extent_of(const TensorImpl* impl) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(impl->data());
    int64_t last = 0;
    for (int d = 0; d < impl->ndim; d++)
        if (impl->sizes()[static_cast<size_t>(d)] > 0)
            last += (impl->sizes()[static_cast<size_t>(d)] - 1) * impl->strides()[static_cast<size_t>(d)];
    return {begin, begin + (static_cast<uint64_t>(last) + 1) * item_size(impl->dtype)};
}

void store_number(const Tensor& tensor, scalar::Slot slot) {
    switch (tensor.dtype()) {
    case DType::Bool: *tensor.data_ptr<bool>() = slot.i != 0; break;
    case DType::UInt8: *tensor.data_ptr<uint8_t>() = static_cast<uint8_t>(slot.i); break;
    case DType::Int8: *tensor.data_ptr<int8_t>() = static_cast<int8_t>(slot.i); break;
    case DType::Int16: *tensor.data_ptr<int16_t>() = static_cast<int16_t>(slot.i); break;
    case DType::Int32: *tensor.data_ptr<int32_t>() = static_cast<int32_t>(slot.i); break;
    case DType::Int64: *tensor.data_ptr<int64_t>() = slot.i; break;
    case DType::Float32: *tensor.data_ptr<float>() = slot.s; break;
    default: *tensor.data_ptr<double>() = slot.f; break;
    }
}

Item item_of(char kind, scalar::Slot slot) {
    if (kind == 'l') return shared(reinterpret_cast<Item::Items*>(slot.i));
    return kind == 'f' ? Item(slot.f) : kind == 'b' ? Item(slot.i != 0) : Item(slot.i);
}

/// Whether a list is worth reading in place: its items are looked at once for each call of the loop, since one of floats may hold ints.
/// `most`: how many items may be looked at yet.
bool holds(const Item& list, TypeRef type, int64_t& most) {
    if (!list.is(Item::Tag::List)) return false;
    const std::vector<Item>& items = list.items();
    if ((most -= static_cast<int64_t>(items.size())) < 0) return false;
    const TypeRef element = type->element();
    if (element->is(TypeKind::List))
        return std::all_of(items.begin(), items.end(), [&](const Item& item) { return holds(item, element, most); });
    const Item::Tag tag = element->is(TypeKind::Bool) ? Item::Tag::Bool : element->is(TypeKind::Int) ? Item::Tag::Int : Item::Tag::Float;
    return std::all_of(items.begin(), items.end(), [&](const Item& item) { return item.is(tag); });
}

/// Whether no two elements share memory.
bool places_apart(const TensorImpl* impl) {
    int64_t last = 0, reach = 0; // of the dimensions so far, the one with the least stride first
    for (int left = impl->ndim; left-- > 0;) {
        int64_t stride = INT64_MAX, size = 1;
        int wide = 0;
        for (int d = 0; d < impl->ndim; d++) {
            const int64_t other = impl->strides()[static_cast<size_t>(d)];
            if (impl->sizes()[static_cast<size_t>(d)] < 2) continue;
            wide++;
            if (other > last && other < stride) stride = other, size = impl->sizes()[static_cast<size_t>(d)];
        }
        if (left >= wide) continue;
        if (stride == INT64_MAX || stride <= reach) return false;
        last = stride, reach += (size - 1) * stride;
    }
    return true;
}

int64_t nanoseconds() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

/// Waking threads is worth it for loops of so many nanoseconds.
constexpr int64_t long_loop = 100000;

/// Runs the rounds in parts, at the same time where they are long: how long is seen by the first of them. The slots are left as by a run
/// of the whole. `at`: of the first round. `alone` gets why they ran in one thread.
int64_t run_parts(const LoweredLoop& lowered, std::vector<scalar::Slot>& slots, size_t at, int64_t rounds, scalar::Ears& ears,
                  const char*& alone) {
    const std::vector<scalar::Slot> given = slots;
    std::vector<int64_t> writes(lowered.written.size());
    std::mutex lock;
    const auto part = [&](int64_t from, int64_t to) {
        scalar::Ears mine;
        std::vector<scalar::Slot> own = given;
        own[at].i = from, own[at + 1].i = to;
        const int64_t code = lowered.code->run(own.data(), &mine);
        {
            const std::lock_guard guard(lock);
            for (size_t i = 0; i < writes.size(); i++) writes[i] += own[i + (code == 0)].i;
        }
        if (code) std::rethrow_exception(mine.error); // others hear that a part failed
    };
    bool ended = false;
    const int64_t few = 1 + rounds / 32, begin = nanoseconds();
    try {
        part(0, few);
        const int64_t each = (nanoseconds() - begin) / few;
        if (each > long_loop / (rounds - few)) parallel_for(few, rounds, 1 + (rounds - few) / (2 * ranges_each * num_threads()), part);
        else part(few, rounds), alone = "it is over sooner than threads are woken";
    } catch (...) {
        ended = true;
        ears.error = std::current_exception();
    }
    slots[0].i = 1;
    for (size_t i = 0; i < writes.size(); i++) slots[i + !ended].i = writes[i];
    return ended;
}

std::string list_text(const std::vector<int64_t>& sizes) {
    std::string text = "[";
    for (size_t i = 0; i < sizes.size(); i++) text += (i ? ", " : "") + std::to_string(sizes[i]);
    return text + "]";
}

} // namespace

DType listed(TypeRef type) {
    if (!type->is(TypeKind::List)) return DType::None;
    TypeRef element = type->element();
    if (element->is(TypeKind::List)) element = element->element();
    return element->is(TypeKind::Int)     ? DType::Int64
           : element->is(TypeKind::Float) ? DType::Float64
           : element->is(TypeKind::Bool)  ? DType::Bool
                                          : DType::None;
}

/// The input of which a number is the size at a constant dimension `dim`, plus the constant `plus`; -1 if there is none.
static int size_of_which(const Value* number, const std::vector<const Value*>& inputs, int64_t& dim, int64_t& plus) {
    const Node* node = number->node;
    const auto integer = [&](size_t input) -> const Item* {
        const Item* constant = constant_of(node->inputs[input]);
        constexpr int64_t large = 1 << 20;
        return constant && constant->is(Item::Tag::Int) && constant->integer() > -large && constant->integer() < large ? constant : nullptr;
    };
    const auto of = [&](size_t input, int64_t more) {
        const int which = size_of_which(node->inputs[input], inputs, dim, plus);
        plus += more;
        return which;
    };
    if (node->is("aten::sub") && node->inputs.size() == 2 && integer(1)) return of(0, -integer(1)->integer());
    if (node->is("aten::add") && node->inputs.size() == 2 && integer(1)) return of(0, integer(1)->integer());
    if (node->is("aten::__range_length") && integer(0) && integer(2) && integer(2)->integer() == 1) return of(1, -integer(0)->integer());
    const bool length = node->is("aten::len");
    if (!(length || (node->is("aten::size") && node->inputs.size() == 2))) return -1;
    const Item* constant = length ? nullptr : constant_of(node->inputs[1]);
    if (!length && !(constant && constant->is(Item::Tag::Int))) return -1;
    dim = length ? 0 : constant->integer();
    plus = 0;
    const auto at = std::find(inputs.begin(), inputs.end(), node->inputs[0]);
    return at == inputs.end() || !(*at)->type->is(TypeKind::Tensor) ? -1 : static_cast<int>(at - inputs.begin());
}

std::shared_ptr<NativeLoop> NativeLoop::make(const Node* loop) {
    auto made = std::make_shared<NativeLoop>();
    made->loop_ = loop;
    const auto never = [&](std::string why) {
        made->never_ = true;
        made->why_ = std::move(why);
        return made;
    };
    if (std::string why = hopeless(loop->blocks[0]); !why.empty()) return never(std::move(why));
    const auto place = [&](const Value* value) -> size_t {
        if (value->node->is("prim::Constant")) return SIZE_MAX;
        const auto at = std::find(made->inputs_.begin(), made->inputs_.end(), value);
        if (at != made->inputs_.end()) return static_cast<size_t>(at - made->inputs_.begin());
        made->inputs_.push_back(value);
        return made->inputs_.size() - 1;
    };
    made->most_ = place(loop->inputs[0]);
    made->condition_ = place(loop->inputs[1]);
    for (size_t i = 2; i < loop->inputs.size(); i++) {
        made->carried_.push_back(place(loop->inputs[i]));
        const Item* known = constant_of(loop->inputs[i]);
        made->constants_.push_back(known ? *known : Item());
    }
    find_inputs(loop->blocks[0], loop->blocks[0], made->inputs_);
    made->rows_ = uses_rows(loop);
    if (any_inside(loop, [](const Node* node) { return node->is("prim::Loop"); })) made->looked_at_ *= 16;
    find_operators(loop->blocks[0], made->operators_);
    for (size_t i = 0; i < made->inputs_.size(); i++) {
        const TypeRef type = made->inputs_[i]->type;
        const bool carried = std::find(made->carried_.begin(), made->carried_.end(), i) != made->carried_.end();
        const bool may_be_none = type->is(TypeKind::Optional) && takes(type->element());
        if (!takes(type) && (carried || !(may_be_none || is_known(type)))) return never(needs(made->inputs_[i]));
    }
    return made;
}

std::unique_lock<std::mutex> NativeLoop::hold() {
    std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard) {
        if (held_in_.load(std::memory_order_relaxed) != forks()) return guard;
        guard.lock();
    }
    held_in_.store(forks(), std::memory_order_relaxed);
    return guard;
}
void NativeLoop::note(const std::string& why, std::shared_ptr<LoweredLoop> ran, const char* alone) {
    const auto guard = hold();
    if (!guard) return;
    if (why_ != why) why_ = why;
    ran_ = std::move(ran);
    alone_ = alone;
}
bool NativeLoop::is_around(const NativeLoop& other) const {
    return any_inside(loop_, [&](const Node* node) { return node == other.loop_; });
}
LoopReport NativeLoop::report() {
    LoopReport made;
    size_t column = 0;
    if (loop_->range.source) loop_->range.place(made.line, column);
    const auto guard = hold();
    if (!guard) return made;
    made.interpreted = made.narrow = made.together = why_;
    if (ran_) made.narrow = ran_->narrow, made.together = ran_->divides ? alone_ : ran_->together;
    return made;
}

bool NativeLoop::run(const Item* const* inputs, Item* outputs) {
    const Item* forever = constant_of(loop_->inputs[0]);
    const int64_t rounds = most_ == SIZE_MAX ? (forever ? forever->integer() : 0) : inputs[most_]->integer();
    if (rounds <= 0 || (rounds > most_rounds && !(most_ == SIZE_MAX && rounds == INT64_MAX))) return false;
    if (thread_state.include & ~thread_state.exclude & key::watching) return false;
    if (kernels_were_added()) // somebody's kernel for one of these operators is what has to run
        for (const kindling::Operator* op : operators_)
            if (op->added.load(std::memory_order_acquire)) return false;
    // What will be given where the loop returns: an empty list does until then.
    const auto absent = [&](size_t i) { return !inputs[i]->is(Item::Tag::List); };
    // What the tensors are.
    std::vector<TensorFacts> facts(inputs_.size());
    std::vector<Tensor> tensors(inputs_.size());
    std::vector<Extent> extents;
    std::string key;
    const auto tell = [&](int64_t part) { key.push_back(static_cast<char>(part)); };
    tell(static_cast<int64_t>(default_dtype()));
    std::vector<int64_t> sizes; // different ones
    const auto number_of = [&](int64_t at) {
        return static_cast<int>(rows_ && sizes[static_cast<size_t>(at)] > longest_row ? -1 - at : at);
    };
    bool apart = true;
    for (size_t i = 0; i < inputs_.size(); i++) {
        TypeRef& type = facts[i].type = inputs_[i]->type;
        if (type->is(TypeKind::Optional)) {
            tell(inputs[i]->is_none());
            type = inputs[i]->is_none() ? type_of(TypeKind::None) : type->element();
        }
        if (is_known(type)) {
            facts[i].known = inputs[i];
            if (type->is(TypeKind::Str)) key += inputs[i]->text() + '\0';
            continue;
        }
        if (type->is(TypeKind::List)) {
            if (absent(i)) continue;
            int64_t most = rounds > INT64_MAX / looked_at_ ? INT64_MAX : looked_at_ * rounds;
            if (holds(*inputs[i], type, most)) continue;
            note("a list that is long beside the loop, or one of floats that holds ints");
            return false;
        }
        if (!type->is(TypeKind::Tensor)) continue;
        if (!inputs[i]->is(Item::Tag::Tensor)) {
            note("a tensor that is not there yet, as one that is returned from inside");
            return false;
        }
        tensors[i] = inputs[i]->tensor();
        const TensorImpl* impl = tensors[i].impl();
        if (!is_plain(impl) || !loops_know(impl->dtype)) {
            note("a tensor is watched (it requires grad, say), or of a dtype or layout that loops do not know");
            return false;
        }
        TensorFacts& known = facts[i];
        known.dtype = impl->dtype, known.ndim = impl->ndim;
        known.unit = impl->ndim > 0 && impl->strides()[static_cast<size_t>(impl->ndim - 1)] == 1;
        tell(static_cast<int64_t>(impl->dtype));
        tell(impl->ndim * 2 + known.unit);
        for (int d = 0; d < impl->ndim; d++) {
            const int64_t size = impl->sizes()[static_cast<size_t>(d)];
            if (size > most_rounds) return false;
            auto at = std::find(sizes.begin(), sizes.end(), size);
            if (at == sizes.end()) at = sizes.insert(sizes.end(), size);
            known.sizes.push_back(number_of(at - sizes.begin()));
            tell(known.sizes.back());
        }
        const Extent extent = extent_of(impl);
        for (const Extent& other : extents) apart &= extent.to <= other.from || other.to <= extent.from;
        extents.push_back(extent);
        for (int d = 0; d < impl->ndim; d++)
            apart &= impl->strides()[static_cast<size_t>(d)] != 0 || impl->sizes()[static_cast<size_t>(d)] < 2;
    }
    for (size_t i = 0; i < inputs_.size(); i++) {
        if (!facts[i].type->is(TypeKind::Int)) continue;
        int64_t dim = 0, plus = 0;
        const int of = size_of_which(inputs_[i], inputs_, dim, plus);
        const Tensor* tensor = of < 0 ? nullptr : &tensors[static_cast<size_t>(of)];
        if (tensor && tensor->defined()) {
            if (dim < 0) dim += tensor->dim();
            if (dim < 0 || dim >= tensor->dim() || tensor->size(dim) + plus != inputs[i]->integer()) continue;
            facts[i].sizes.push_back(facts[static_cast<size_t>(of)].sizes[static_cast<size_t>(dim)]);
            facts[i].plus = plus;
        } else if (const auto at = std::find(sizes.begin(), sizes.end(), rounds); i == most_ && at != sizes.end()) {
            // As many rounds as a tensor has elements along a dimension, wherever the number comes from.
            facts[i].sizes.push_back(number_of(at - sizes.begin()));
        } else continue;
        tell(static_cast<int64_t>(1 + i)); // and its number is that of the size
        tell(facts[i].sizes[0]);
    }
    tell(apart);
    std::shared_ptr<LoweredLoop> lowered;
    {
        const auto guard = hold();
        if (!guard) return false;
        if (seen_ < few_rounds && (seen_ += std::min(rounds, few_rounds)) < few_rounds) return false;
        for (Variant& each : variants_)
            if (each.key == key) lowered = each.loop;
        if (!lowered) {
            lowered = std::make_shared<LoweredLoop>(lower_loop(loop_, inputs_, facts, apart));
            if (variants_.size() >= 16) variants_.erase(variants_.begin());
            variants_.push_back({key, lowered});
        }
    }
    if (!lowered->code) {
        note(lowered->why);
        return false;
    }
    for (size_t i : lowered->written)
        if (tensors[i].impl()->uncounted || (tensors[i].impl()->is_view && tensors[i].impl()->creation != Creation::Default)) return false;
    // Slots.
    MadeLists made;
    std::vector<scalar::Slot> slots(lowered->code->slots());
    size_t at = 0;
    for (size_t i = 0; i < inputs_.size(); i++) {
        if (facts[i].known) continue;
        switch (facts[i].type->kind) {
        case TypeKind::Int: slots[at++].i = inputs[i]->integer(); break;
        case TypeKind::Float: slots[at++].f = inputs[i]->number(); break;
        case TypeKind::Bool: slots[at++].i = inputs[i]->truth(); break;
        case TypeKind::List:
            slots[at].p = absent(i) ? make_list(&made, facts[i].type, 0, 0) : inputs[i]->object();
            if (!slots[at++].p) return false;
            break;
        default: {
            const TensorImpl* impl = tensors[i].impl();
            slots[at++].p = impl->data();
            for (int d = 0; d < impl->ndim; d++) slots[at++].i = impl->sizes()[static_cast<size_t>(d)];
            for (int d = 0; d < impl->ndim; d++) slots[at++].i = impl->strides()[static_cast<size_t>(d)];
        }
        }
    }
    double scratch[longest_row];
    if (rows_) slots[at++].p = scratch;
    slots[at++].p = &made;
    const char* alone = rounds < 4             ? "it has few rounds"
                        : num_threads() == 1   ? "there is one thread"
                        : in_parallel_region() ? "one of several threads runs it"
                                               : "";
    for (size_t i : lowered->written)
        if (!places_apart(tensors[i].impl())) alone = "elements of what is written share memory";
    const bool divides = lowered->divides && !*alone;
    if (lowered->divides) slots[at].i = 0, slots[at + 1].i = rounds;
    scalar::Ears ears;
    const int64_t code = divides ? run_parts(*lowered, slots, at, rounds, ears, alone) : lowered->code->run(slots.data(), &ears);
    const LoweredLoop::Exit& exit = lowered->exits[static_cast<size_t>(code)];
    // Memory and versions are as they would be after as many rounds of the interpreter.
    size_t state = code == 0 ? 1 : exit.values.size();
    if (code == 0)
        for (const char each : lowered->outputs) state += each != '=';
    for (size_t i : lowered->kept) store_number(tensors[i], slots[state++]);
    for (size_t i : lowered->written) {
        const auto writes = static_cast<uint32_t>(slots[state++].i);
        if (tensors[i].impl()->version) tensors[i].impl()->version->fetch_add(writes, std::memory_order_relaxed);
    }
    if (code == 0) {
        const bool ran = slots[0].i != 0;
        size_t slot = 1;
        for (size_t i = 0; i < lowered->outputs.size(); i++) {
            const char each = lowered->outputs[i];
            const Item& before = carried_[i] == SIZE_MAX ? constants_[i] : *inputs[carried_[i]];
            if (each == '=') outputs[i] = before;
            else if (each < dtype_count) {
                if (ran) {
                    const Tensor element = make_tensor({}, static_cast<DType>(each));
                    store_number(element, slots[slot]);
                    outputs[i] = Item(element);
                } else outputs[i] = before;
                slot++;
            } else outputs[i] = item_of(each, slots[slot++]);
        }
        note("", std::move(lowered), alone);
        return true;
    }
    if (exit.kind == LoweredLoop::Exit::Interrupted) std::rethrow_exception(ears.error);
    LoopFailure failure;
    failure.node = exit.node;
    const auto attempt = [&](auto body) {
        try {
            body();
        } catch (const Error& error) {
            failure.message = error.what();
            failure.kind = error.kind();
        } catch (const std::bad_alloc&) {
            failure.message = "not enough memory";
            failure.kind = ErrorKind::OutOfMemory;
        }
    };
    switch (exit.kind) {
    case LoweredLoop::Exit::Raised: failure.message = exit.text, failure.qualified = exit.qualified, failure.raised = true; break;
    case LoweredLoop::Exit::Message: failure.message = exit.text; break;
    case LoweredLoop::Exit::OutOfRange: {
        std::vector<int64_t> sizes;
        for (size_t i = 1; i < exit.values.size(); i++) sizes.push_back(slots[i].i);
        failure.message = format("select(): index %ld out of range for tensor of size %s at dimension %zu", static_cast<long>(slots[0].i),
                                 list_text(sizes).c_str(), exit.dimension);
        break;
    }
    case LoweredLoop::Exit::Builtin: {
        std::vector<Item> items;
        for (size_t i = 0; i < exit.values.size(); i++) items.push_back(item_of(exit.values[i], slots[i]));
        attempt([&] {
            KINDLING_ASSERT(exit.builtin);
            exit.builtin(items.data(), items.size());
            fail(ErrorKind::Internal, "a loop left where its interpreter would not");
        });
        break;
    }
    case LoweredLoop::Exit::Thrown: attempt([&] { std::rethrow_exception(made.error); }); break;
    default: KINDLING_ASSERT(false);
    }
    throw failure;
}

} // namespace kindling::script
