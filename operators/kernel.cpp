// operators/kernel.cpp: runs kernels that come in two halves. Results are allocated here and nowhere else.
// Compiled for calls.
#include "operators/kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "core/dispatch.h"
#include "core/opaque.h"
#include "generated/functions.h"
#include "graph/pending.h"
#include "operators/forms.h"
#include "operators/kernel_run.h"

namespace kindling {

// ---- what a rule says

/// A few numbers, without a call of the library's memmove.
static inline void set(Sizes& to, IntList from) {
    if (from.size() > 8) {
        to = from;
        return;
    }
    for (int64_t each : from) to.push_back(each);
}

KernelCall::Result::Result(IntList of, DType type) : dtype(type) { set(sizes, of); }

void KernelCall::along(IntList sizes, uint64_t mask, DType inside) {
    if (sizes.size()) set(space, sizes);
    else space.push_back(1);
    dims = sizes.size() ? mask : 1;
    compute_type = inside;
}

KernelCall::~KernelCall() {
    if (destroy_plan) destroy_plan(plan_);
    if (plan_ && plan_ != plan_memory_) ::operator delete(plan_);
    while (result_count) result(--result_count).~Result();
    while (read_count) input(--read_count).~Read();
}

void* KernelCall::room_for_plan(size_t bytes) {
    plan_bytes = bytes;
    return plan_ = bytes <= sizeof(plan_memory_) ? plan_memory_ : ::operator new(bytes);
}

KernelCall::Result& KernelCall::Result::like(const Tensor& tensor) {
    MemoryFormat format = tensor.suggest_memory_format();
    return format == MemoryFormat::Contiguous ? *this : laid_out(format_strides(sizes, format));
}

KernelCall::Result& KernelCall::Result::preserves(const Tensor& tensor) {
    if (has_row_strides(tensor.sizes(), tensor.strides())) return *this;
    return laid_out(preserved_strides(tensor.sizes(), tensor.strides(), tensor.impl()->non_overlapping_dense));
}

Sizes column_strides(IntList sizes) {
    Sizes strides = contiguous_strides(sizes);
    const size_t last = sizes.size() - 1;
    strides[last] = std::max<int64_t>(sizes[last - 1], 1);
    strides[last - 1] = 1;
    return strides;
}

KernelCall::Result& KernelCall::Result::by_columns() {
    exact = true;
    return laid_out(column_strides(sizes));
}

KernelCall::Result& KernelCall::gives_copy(const Tensor& tensor, IntList sizes) {
    lies_on(tensor);
    Result& result = gives(sizes, tensor.dtype());
    result.begins = tensor;
    return result;
}

KernelCall::Result& KernelCall::writes_all(const Tensor& self) {
    lies_on(self);
    Result& result = gives({}, self.dtype()).written_as_it_lies();
    result.target = self.impl();
    return result;
}

KernelCall::Result& KernelCall::writes(const Tensor& self) {
    check_overlap(self, nullptr, 0);
    return writes_all(self);
}

KernelCall::Result& KernelCall::gives(IntList sizes, DType dtype) {
    KINDLING_ASSERT(result_count < max_results);
    combines[result_count] = Combine::Sum; // a part of the expression's key, whether it is reduced or not
    return *new (memory_ + sizeof(Result) * static_cast<size_t>(result_count++)) Result(sizes, dtype);
}

void KernelCall::add_read(const Tensor& tensor, DType dtype, Order order) {
    KINDLING_ASSERT(read_count < max_reads);
    new (read_memory_ + sizeof(Read) * static_cast<size_t>(read_count++))
        Read{tensor.impl(), {}, dtype == DType::None && tensor.defined() ? tensor.dtype() : dtype, order};
    bool given = !tensor.defined();
    for (size_t i = 0; i < argument_count_ && !given; i++) given = arguments_[i].is_tensor() && arguments_[i].tensor == tensor.impl();
    if (!given) input(read_count - 1).kept = tensor;
    lies_on(tensor);
}

void KernelCall::reduces(const Tensor& tensor, uint64_t mask, bool keepdim, DType inside) {
    along(tensor, mask, inside);
    keeps_dims = keepdim && tensor.dim();
    reads_as_it_lies(tensor);
}

KernelCall::Result& KernelCall::reduced(Combine combine, DType dtype) {
    Result& made = gives_of_row(dtype, keeps_dims);
    combines[result_count - 1] = combine;
    return made;
}

KernelCall::Result& KernelCall::gives_of_row(DType dtype, bool keepdim) {
    keeps_dims = keepdim;
    Sizes sizes;
    for (size_t d = 0; d < space.size(); d++)
        if (!(dims >> d & 1)) sizes.push_back(space[d]);
        else if (keepdim) sizes.push_back(1);
    Result& made = gives(sizes, dtype).written_as_it_lies();
    made.reduced = true;
    return made;
}

void KernelCall::scans(const Tensor& tensor, int64_t dim, Scan kind, DType inside) {
    along(tensor, 0, inside);
    dims = 0;
    scan = kind;
    scan_dim = static_cast<int>(dim);
    reads_as_it_lies(tensor);
}

// ---- expressions of loops

namespace {

/// All that an expression is made from. Its words are made in registers: bytes stored one by one could not be loaded as words
/// before the stores are done.
struct LoopKey {
    uint64_t reads = 0, results = 0, numbers = 0, choices = 0;
    bool operator==(const LoopKey& other) const {
        return !((reads ^ other.reads) | (results ^ other.results) | (numbers ^ other.numbers) | (choices ^ other.choices));
    }
};

LoopKey key_of(const KernelCall& call) {
    static_assert(KernelCall::max_reads <= 8 && KernelCall::max_results <= 5 && KernelCall::max_numbers <= 6 && sizeof call.choices <= 7);
    LoopKey key{
        .results = 1, .numbers = 1, .choices = static_cast<uint64_t>(call.read_count + 1)}; // a first digit that is not 0: so many follow
    for (int i = 0; i < call.read_count; i++) key.reads = key.reads << 8 | static_cast<uint64_t>(call.input(i).dtype);
    for (int i = 0; i < call.result_count; i++)
        key.results = key.results << 12 | static_cast<uint64_t>(call.result(i).dtype) << 4 | static_cast<uint64_t>(call.combines[i]);
    key.numbers = key.numbers << 8 | static_cast<uint64_t>(call.compute_type);
    for (int i = 0; i < call.number_count; i++) key.numbers = key.numbers << 8 | static_cast<uint64_t>(call.number_types[i]);
    for (int i = 0; i < call.choice_count; i++) key.choices = key.choices << 8 | call.choices[i];
    return key;
}

struct CachedLoop {
    LoopKey key;
    Expression map, finish;
    bool has_finish = false;
    LoopExpressions seen;
    const CachedLoop* next = nullptr;
};
constinit std::mutex loop_lock;

constexpr int most_arguments = 12;

/// The rule's numbers and choices behind the values, as many as a body names.
void add_numbers(ExpressionBuilder& builder, const KernelCall& call, Sym* arguments, int count, int arity) {
    for (int i = 0; i < call.number_count && count < arity; i++) arguments[count++] = builder.scalar(i, call.number_types[i]);
    for (int i = 0; i < call.choice_count && count < arity; i++) arguments[count++] = Sym(static_cast<int64_t>(call.choices[i]));
    KINDLING_ASSERT(count >= arity);
}

void make_expressions(const Operator& home, const KernelCall& call, CachedLoop& made) {
    const bool reduces = home.loop == LoopKind::Reduction;
    auto inputs_of = [&](ExpressionBuilder& builder) { // one that is not given has no place in the loop
        std::vector<Sym> inputs;
        for (int i = 0; i < call.read_count; i++)
            if (call.input(i).tensor) inputs.push_back(builder.input(call.input(i).dtype));
        return inputs;
    };
    // As many values as the rule has results, in their dtypes where they are stored.
    auto results_of = [&](const Expression& raw, ExpressionBuilder& builder, const std::vector<Sym>& inputs, bool stored) {
        Sym numbers[KernelCall::max_numbers];
        for (int i = 0; i < raw.scalar_count; i++) numbers[i] = builder.scalar(i, call.number_types[i]);
        int which = 0;
        for (const Sym& value : builder.append(raw, inputs.data(), numbers))
            if (which < call.result_count) builder.output(stored ? cast(value, call.result(which).dtype) : value), which++;
        return builder.finish();
    };
    ExpressionBuilder builder, outer;
    const std::vector<Sym> inputs = inputs_of(builder);
    Sym arguments[most_arguments];
    for (int i = 0, given = 0; i < call.read_count; i++)
        if (call.input(i).tensor) {
            Sym x = inputs[static_cast<size_t>(given++)];
            arguments[i] = call.compute_type == DType::None ? x : cast(x, call.compute_type);
        }
    add_numbers(builder, call, arguments, call.read_count, home.scalar_arity);
    home.scalar_build(builder, arguments);
    Expression raw = builder.finish();
    if (!reduces && home.loop != LoopKind::Scan) {
        made.map = results_of(raw, outer, inputs_of(outer), true);
        return;
    }
    if (reduces && !home.finish_build && raw.outputs.size() > static_cast<size_t>(call.result_count))
        raw = results_of(raw, outer, inputs_of(outer), false); // the rest nobody asks for
    made.map = std::move(raw);
    if (!reduces) return;
    std::vector<DType> reduced; // mean and variance are two values of one
    for (size_t i = 0; i < made.map.outputs.size(); i++) {
        DType type = accumulate_type(call.combines[i], made.map.output_type(static_cast<int>(i)));
        reduced.insert(reduced.end(), call.combines[i] == Combine::MeanVar ? 2 : 1, type);
    }
    made.has_finish = home.finish_build;
    for (size_t i = 0; i < reduced.size() && !home.finish_build; i++)
        made.has_finish |= value_type(call.result(static_cast<int>(i)).dtype) != reduced[i];
    if (!made.has_finish) return;
    ExpressionBuilder first;
    std::vector<Sym> values, again;
    for (DType type : reduced) values.push_back(first.input(type)), again.push_back(outer.input(type));
    if (home.finish_build) {
        for (size_t i = 0; i < values.size(); i++) arguments[i] = values[i];
        add_numbers(first, call, arguments, static_cast<int>(values.size()),
                    std::max<int>(home.finish_arity, static_cast<int>(values.size())));
        home.finish_build(first, arguments);
    } else
        for (const Sym& value : values) first.output(value);
    made.finish = results_of(first.finish(), outer, again, true);
    bool only_stored = true; // what a store does anyhow
    for (size_t i = 0; i < made.finish.outputs.size(); i++) {
        const Node& node = made.finish.nodes[static_cast<size_t>(made.finish.outputs[i])];
        only_stored &= node.primitive == Primitive::Input && node.index() == static_cast<int>(i);
    }
    made.has_finish = !only_stored || made.finish.outputs.size() != reduced.size();
}

} // namespace

const LoopExpressions& loop_expressions(const Operator& op, const KernelCall& call) {
    const Operator& home = *op.functional;
    const LoopKey key = key_of(call);
    auto first = [&] { return static_cast<const CachedLoop*>(home.plans.load(std::memory_order_acquire)); };
    for (const CachedLoop* each = first(); each; each = each->next)
        if (each->key == key) return each->seen;
    auto fresh = std::make_unique<CachedLoop>();
    fresh->key = key;
    make_expressions(home, call, *fresh);
    fresh->seen.map = &fresh->map;
    if (fresh->has_finish) fresh->seen.finish = &fresh->finish;
    for (const Node& node : fresh->map.nodes) {
        fresh->seen.by_place |= node.primitive == Primitive::Index;
        fresh->seen.one_number &= node.primitive == Primitive::Scalar || node.primitive == Primitive::Cast;
    }
    std::lock_guard<std::mutex> guard(loop_lock);
    for (const CachedLoop* each = first(); each; each = each->next) // another thread may have been faster
        if (each->key == key) return each->seen;
    fresh->next = first();
    home.plans.store(fresh.get(), std::memory_order_release);
    return fresh.release()->seen;
}

int loop_count(const Operator& op) {
    int count = 0;
    for (auto* each = static_cast<const CachedLoop*>(op.functional->plans.load(std::memory_order_acquire)); each; each = each->next)
        count++;
    return count;
}

// ---- running

namespace {

/// `results`: null where they are not known yet.
int64_t work_of(const KernelCall& call, const Tensor* results) {
    if (call.cost) return call.cost;
    int64_t work = 0;
    for (int i = 0; i < call.read_count; i++)
        if (call.input(i).tensor) work = std::max(work, call.input(i).tensor->numel);
    for (int i = 0; results && i < call.result_count; i++)
        if (results[i].defined()) work = std::max(work, results[i].numel());
    return work;
}

/// A copy whose rows lie in one piece each, where those of a large tensor lie across memory: what goes over a row more than once
/// would fetch every line of it for a single number.
Tensor with_rows_in_one_piece(const Tensor& self, uint64_t mask) {
    constexpr int64_t large = 1 << 14, long_row = 128, wide = 8;
    if (self.numel() < large || !self.impl()->non_overlapping_dense) return self;
    Sizes order;
    bool across = false;
    for (int64_t d = 0; d < self.dim(); d++) {
        if (!(mask >> d & 1)) order.push_back(d);
        across |= !(mask >> d & 1) && self.stride(d) == 1 && self.size(d) >= wide;
    }
    int64_t row = 1;
    for (int64_t d = 0; d < self.dim(); d++)
        if (mask >> d & 1) order.push_back(d), row *= self.size(d);
    if (!across || row < long_row) return self;
    Sizes back(order.size());
    for (size_t i = 0; i < order.size(); i++) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return permute(contiguous(permute(self, order)), back);
}

/// A copy of what is read, if it shares memory with what is written other than element by element.
void keep_apart(KernelCall::Read& read, const TensorImpl& target) {
    if (!read.tensor || read.tensor == &target || read.tensor->storage != target.storage) return;
    const TensorImpl& from = *read.tensor;
    if (from.offset != target.offset || from.dtype != target.dtype || from.sizes() != target.sizes() || from.strides() != target.strides())
        replace(read, clone(Tensor::share(read.tensor)));
}

/// Whether all operands lie contiguous in the loop's own shape: then it has one dimension.
bool lies_flat(const KernelCall& call, const Tensor* results) {
    auto flat = [&](const TensorImpl& tensor) { return tensor.contiguous && tensor.sizes() == IntList(call.space); };
    for (int i = 0; i < call.result_count; i++)
        if (!flat(*results[i].impl())) return false;
    for (int i = 0; i < call.read_count; i++)
        if (call.input(i).tensor && !flat(*call.input(i).tensor)) return false;
    return true;
}
/// Clears the result of a loop that would write zeros everywhere, where it is not so large that threads share it.
bool clears(const Operator& op, KernelCall& call, const Tensor& result) {
    constexpr size_t large = 1 << 20;
    if (call.read_count || call.choice_count || call.number_count != 1 || call.result_count != 1 || !(call.numbers()[0] == Immediate{}) ||
        thread_state.recording)
        return false;
    const TensorImpl& impl = *result.impl();
    const size_t bytes = static_cast<size_t>(impl.numel) * item_size(impl.dtype);
    if (!impl.non_overlapping_dense || bytes > large) return false;
    // Of one number and nothing else, all its expressions are alike but for dtypes.
    const auto* kept = static_cast<const CachedLoop*>(op.functional->plans.load(std::memory_order_acquire));
    if (!(kept ? kept->seen : loop_expressions(op, call)).one_number) return false;
    need_memory(&impl);
    if (bytes) std::memset(impl.data(), 0, bytes);
    return true;
}

} // namespace

void run_loop_body(const Operator& op, KernelCall& call, Tensor* results) {
    const Operator& home = *op.functional;
    const bool elements = home.loop == LoopKind::Elements;
    if (elements && clears(op, call, results[0])) return;
    int64_t space = 1;
    for (int64_t size : call.space) space *= size;
    const bool reduces = home.loop == LoopKind::Reduction;
    if (!space && (!reduces || call.result(0).of_nothing)) {
        for (int i = 0; i < call.result_count; i++)
            if (results[i].numel()) fill_(results[i], Scalar(call.result(i).of_nothing));
        return;
    }
    if (!results[0].numel()) return;
    KINDLING_CHECK(NotImplemented, call.compute_type != DType::Bool || (call.scan != Scan::Sum && call.scan != Scan::Prod),
                   "\"%s_out_cpu\" not implemented for 'Bool'", home.name());
    const LoopExpressions& expressions = loop_expressions(op, call);
    constexpr int most = KernelCall::max_results + KernelCall::max_reads;
    int64_t few[48]; // not cleared: each is written below
    std::unique_ptr<int64_t[]> many;
    int64_t* strides = few;
    if (const size_t needed = call.space.size() * static_cast<size_t>(call.result_count + call.read_count); needed > 48)
        many.reset(strides = new int64_t[needed]);
    LoopOperand operands[most];
    const TensorImpl* tensors[most];
    int count = 0;
    for (int i = 0; i < call.result_count; i++) // what is written to is not read any more, but for the same element
        for (int k = 0; call.result(i).target && k < call.read_count; k++) keep_apart(call.input(k), *call.result(i).target);
    const bool flat = elements && !expressions.by_place && lies_flat(call, results);
    const size_t n = flat ? 1 : call.space.size();
    auto add = [&](const TensorImpl& tensor) {
        need_memory(&tensor);
        int64_t* mine = strides + n * static_cast<size_t>(count);
        if (flat) *mine = static_cast<int64_t>(item_size(tensor.dtype));
        else loop_strides(tensor, call.space, mine);
        tensors[count] = &tensor;
        operands[count++] = {nullptr, tensor.dtype, mine};
    };
    for (int i = 0; i < call.result_count; i++) {
        const TensorImpl& result = *results[i].impl();
        if (!call.result(i).reduced) {
            add(result);
            continue;
        }
        int64_t* mine = strides + n * static_cast<size_t>(count);
        const auto item = static_cast<int64_t>(item_size(result.dtype));
        for (size_t d = 0, at = 0; d < n; d++) {
            const bool reduced = call.dims >> d & 1;
            mine[d] = reduced ? 0 : result.shape[result.ndim + at] * item;
            at += !reduced || call.keeps_dims;
        }
        tensors[count] = &result;
        operands[count++] = {nullptr, result.dtype, mine};
    }
    int input_count = 0;
    for (int i = 0; i < call.read_count; i++)
        if (KernelCall::Read& read = call.input(i); read.tensor && read.order == KernelCall::Order::Rows)
            replace(read, contiguous(Tensor::share(read.tensor)));
    if (reduces && call.combines[0] == Combine::MeanVar)
        replace(call.input(0), with_rows_in_one_piece(Tensor::share(call.input(0).tensor), call.dims));
    for (int i = 0; i < call.read_count; i++)
        if (call.input(i).tensor) add(*call.input(i).tensor), input_count++;
    LoopKernel kernel{.expression = expressions.map,
                      .ndim = static_cast<int>(n),
                      .sizes = flat ? &space : call.space.data(),
                      .output_count = call.result_count,
                      .input_count = input_count,
                      .operands = operands,
                      .scalars = call.numbers(),
                      .scan = call.scan,
                      .scan_dim = call.scan_dim};
    if (reduces) {
        kernel.reduced = call.dims;
        kernel.combines = call.combines;
        kernel.finish = expressions.finish;
    } else if (home.loop == LoopKind::Rows) kernel.row = call.dims;
    if (thread_state.recording && space && call.scan == Scan::None &&
        is_put_off(space, call.result_count, count, [&](int i) { return tensors[i]->storage; })) [[unlikely]] {
        Place places[most];
        for (int i = 0; i < count; i++) {
            places[i] = {tensors[i]->storage, tensors[i]->offset * static_cast<int64_t>(item_size(tensors[i]->dtype)), tensors[i]->dtype,
                         operands[i].strides};
        }
        return thread_state.recording->record(kernel, places);
    }
    for (int i = 0; i < count; i++) operands[i].data = i < call.result_count ? tensors[i]->data() : data_to_read(*tensors[i]);
    Unlocked unlocked(space > long_work);
    run(kernel);
}

namespace {

/// As many tensors as there are results. Places that are not filled are not touched, neither are they cleared at the end.
struct Tensors {
    Tensors() {}
    Tensors(const Tensors&) = delete;
    ~Tensors() {
        for (int i = 0; filled >> i; i++)
            if (has(i)) each[i].~Tensor();
    }
    bool has(int i) const { return filled >> i & 1; }
    void set(int i, Tensor tensor) {
        new (each + i) Tensor(std::move(tensor));
        filled |= 1u << i;
    }
    union {
        Tensor each[KernelCall::max_results];
    };
    uint32_t filled = 0;
};

void take_inputs(KernelCall& call, Array* arrays) {
    for (int i = 0; i < call.read_count; i++) {
        KernelCall::Read& read = call.input(i);
        if (!read.tensor) continue;
        prepare(read);
        need_memory(read.tensor);
        if (!thread_state.recording) read.tensor->storage->data_to_read(); // runs in this thread, not in one that computes
        arrays[i] = Array(read.tensor);
    }
}

/// While in scope nothing is put off, and what a kernel of ours reads stays so.
class AtOnce {
public:
    explicit AtOnce(bool wanted) : before_(in_opaque_kernel), now_(wanted) { in_opaque_kernel |= wanted; }
    ~AtOnce() { in_opaque_kernel = before_; }
    AtOnce(const AtOnce&) = delete;

private:
    bool before_;
    RunNow now_;
};

void run_compute(const Operator& op, KernelCall& call, Tensor* results) {
    bool empty = !call.if_empty;
    for (int i = 0; i < call.result_count; i++) empty &= !results[i].defined() || results[i].numel() == 0;
    if (empty) return;
    const bool by_rows = thread_state.recording && op.has(trait::ByRows);
    if (by_rows && !thread_state.recording->takes_all() && put_off(op, call, results[0])) return;
    const AtOnce at_once(by_rows);
    Array arrays[KernelCall::max_reads + 2 * KernelCall::max_results];
    const Array* places[KernelCall::max_results];
    take_inputs(call, arrays);
    int count = call.read_count;
    Tensors apart; // memory for results that can not be computed in place
    for (int i = 0; i < call.result_count; i++, count++) {
        const KernelCall::Result& result = call.result(i);
        if (result.on_the_way) count++;
        places[i] = arrays + count;
        if (!results[i].defined()) continue;
        const DType computed = result.computed == DType::None ? result.dtype : result.computed;
        const bool lies_so =
            result.exact ? results[i].strides() == IntList(result.strides) : result.any_strides || results[i].impl()->contiguous;
        if (computed != results[i].dtype() || !lies_so)
            apart.set(i, result.exact ? make_tensor(result.sizes, result.strides, computed) : make_tensor(result.sizes, computed));
        const Tensor& target = apart.has(i) ? apart.each[i] : results[i];
        if (result.begins.defined() && target.numel() && target.impl() != result.begins.impl()) {
            const TensorImpl& begins = *result.begins.impl();
            if (result.handed && begins.contiguous && (result.exact || target.is_contiguous()) && begins.dtype == target.dtype() &&
                target.sizes() == result.begins.sizes() && !(begins.key & (key::Conj | key::Neg))) {
                need_memory(&begins);
                begins.storage->data_to_read();
                arrays[count - 1] = Array(&begins);
            } else copy_into(target, result.begins);
        }
        need_memory(target.impl());
        arrays[count] = Array(target.impl());
    }
    std::vector<Array> list;
    for (const Tensor& each : call.list) {
        need_memory(each.impl());
        each.impl()->storage->data_to_read();
        list.push_back(Array(each.impl()));
    }
    alignas(64) unsigned char few[1024]; // for small calls, which an allocation would make slower
    Tensor much;
    if (call.workspace > static_cast<int64_t>(sizeof few)) much = make_tensor({call.workspace}, DType::UInt8);
    {
        Unlocked unlocked(work_of(call, results) > long_work);
        for (int i = 0; i < call.result_count; i++)
            if (const Array& zeros = *places[i]; zeros.defined() && zeros.numel() && call.result(i).zeros) {
                if (zeros.impl()->non_overlapping_dense && !thread_state.recording)
                    std::memset(zeros.data(), 0, static_cast<size_t>(zeros.numel()) * zeros.element_size());
                else copy_into(results[i], wrap_number(Scalar(0))); // an out= with gaps
            }
        op.functional->compute(call.plan(), arrays, Span<Array>(list), much.defined() ? much.data() : few);
    }
    for (int i = 0; i < call.result_count; i++)
        if (apart.has(i)) copy_into(results[i], apart.each[i]);
}

void compute(const Operator& op, KernelCall& call, Tensor* results) {
    if (call.on_meta()) return;
    if (op.functional->loop != LoopKind::None) run_loop_body(op, call, results);
    else run_compute(op, call, results);
}

} // namespace

void apply_rule(const Operator& op, const Value* arguments, KernelCall& call) {
    const Operator& home = *op.functional;
    if (home.no_kernel) {
        const TensorImpl* first = nullptr;
        each_tensor(home, arguments, [&](const TensorImpl* tensor) {
            if (!first) first = tensor;
        });
        if (first) check_kernel(home, first->dtype);
    }
    home.rule(arguments, call);
    if (home.loop == LoopKind::None || call.declined) return;
    const size_t n = call.space.size();
    for (int i = 0; i < call.read_count; i++) { // what a loop reads broadcasts to its space
        const TensorImpl* tensor = call.input(i).tensor;
        if (!tensor) continue;
        bool fits = tensor->ndim <= n;
        for (size_t d = 0; d < tensor->ndim && fits; d++)
            fits = tensor->shape[d] == 1 || tensor->shape[d] == call.space[n - tensor->ndim + d];
        KINDLING_CHECK(Runtime, fits, "%s: a tensor of shape %s does not broadcast to %s", home.name(), str(tensor->sizes()).c_str(),
                       str(call.space).c_str());
    }
}

/// Asks the values for the results' shapes, of a kernel where they decide.
static void measure(const Operator& op, KernelCall& call) {
    const Operator& home = *op.functional;
    if (!home.measure) return;
    if (call.on_meta()) {
        KINDLING_CHECK(NotImplemented, call.result_count,
                       "aten::%s: the shape of its result depends on values, which Meta tensors do not have", home.name());
        return;
    }
    Array arrays[KernelCall::max_reads];
    take_inputs(call, arrays);
    Unlocked unlocked(work_of(call, nullptr) > long_work);
    home.measure(call.plan(), call, arrays);
}

void run_kernel(const Operator& op, Value* arguments, Value* results) {
    const Operator& home = *op.functional;
    KernelCall call(arguments, op.argument_count());
    apply_rule(op, arguments, call);
    measure(op, call);
    if (call.declined && !(call.result_count && call.on_meta())) return home.otherwise(op, arguments, results);
    if (call.result_count == 1 && call.result(0).target) {
        Tensor self = Tensor::share(call.result(0).target);
        if (call.on_meta()) {
        } else if (home.loop != LoopKind::None) run_loop_body(op, call, &self);
        else if (call.read_count || call.workspace) run_compute(op, call, &self);
        else if (self.numel()) { // nothing to prepare
            need_memory(self.impl());
            const Array array(self.impl());
            Unlocked unlocked(self.numel() > long_work);
            home.compute(call.plan(), &array, {}, nullptr);
        }
        written(self);
        results[0] = Value::own(std::move(self));
        return;
    }
    Tensors made;
    for (int i = 0; i < call.result_count; i++) {
        const KernelCall::Result& result = call.result(i);
        if (result.target) made.set(i, Tensor::share(result.target));
        else if (result.dtype == DType::None) made.set(i, Tensor());
        else
            made.set(i, result.in_rows ? make_tensor(result.sizes, result.dtype, call.device)
                                       : make_tensor(result.sizes, result.strides, result.dtype, call.device));
    }
    compute(op, call, made.each);
    for (int i = 0; i < call.result_count; i++)
        if (call.result(i).target) written(made.each[i]); // may raise: before there are results, which nobody would let go of
    for (int i = 0; i < call.result_count; i++) results[i] = Value::own(std::move(made.each[i]));
    made.filled = 0; // what was moved from needs no destructor
    for (size_t i = static_cast<size_t>(call.result_count); i < op.schema->results.size(); i++) results[i] = Value::own(Tensor());
}

void run_kernel_inplace(const Operator& op, Value* arguments, Value* results) {
    Tensor self = Tensor::share(arguments[0].tensor);
    check_inplace(op, self, arguments);
    KernelCall call(arguments, op.argument_count());
    apply_rule(op, arguments, call);
    if (call.declined || (op.has(trait::TakesExpanded) && op.functional->otherwise && is_expanded(*self.impl())))
        return run_inplace(op, call.on_meta() && call.result_count ? op.functional_kernel : op.functional->otherwise, arguments, results);
    const KernelCall::Result& result = call.result(0);
    const bool by_element = op.functional->loop == LoopKind::Elements && result.any_strides && result.dtype == self.dtype() &&
                            !(self.impl()->key & (key::lazy | key::Private));
    check_computed(op, self, result.dtype, result.sizes);
    auto reads_self = [&](int i) { return by_element && call.input(i).tensor == self.impl(); };
    bool direct = call.on_meta() || by_element ||
                  (result.begins.defined() && result.begins.impl() == self.impl() && !(self.impl()->key & (key::lazy | key::Private)));
    if (!call.on_meta())
        for (int i = 0; i < call.read_count && direct; i++)
            direct = !call.input(i).tensor || call.input(i).tensor->storage != self.storage() || reads_self(i);
    Tensor target = direct ? self : make_tensor(result.sizes, result.dtype);
    compute(op, call, &target);
    if (!direct) copy_into(self, target);
    written(self);
    results[0] = Value::own(std::move(self));
}

void run_kernel_out(const Operator& op, Value* arguments, Value* results) {
    const size_t count = op.schema->results.size(), first = op.argument_count() - count;
    KernelCall call(arguments, op.argument_count());
    if (op.out_dtype == OutDType::Decides) call.out_decides = take_dtype(op, arguments, arguments[first].tensor->dtype);
    apply_rule(op, arguments, call);
    measure(op, call);
    if (call.declined) return out_kernel(op, arguments, results);
    TensorImpl* inputs[64];
    const int input_count = read_tensors(op, arguments, inputs);
    Tensor outs[KernelCall::max_results], targets[KernelCall::max_results];
    bool is_read[KernelCall::max_results];
    auto prepare = [&](int i) {
        const KernelCall::Result& result = call.result(i);
        const bool reshaped = op.has(trait::OutKeepsShape) && outs[i].numel() == checked_numel(result.sizes);
        prepare_out(op, outs[i], result.dtype, call.on_meta(), reshaped ? outs[i].sizes() : IntList(result.sizes),
                    result.in_rows ? IntList(contiguous_strides(result.sizes)) : IntList(result.strides), inputs, input_count);
    };
    for (int i = 0; i < call.result_count; i++) {
        const KernelCall::Result& result = call.result(i);
        outs[i] = Tensor::share(arguments[first + static_cast<size_t>(i)].tensor);
        if (result.dtype == DType::None) continue;
        is_read[i] = false;
        for (int k = 0; k < input_count; k++) is_read[i] |= inputs[k]->storage == outs[i].storage();
        if (!is_read[i]) prepare(i); // what is read is not resized before
        bool direct = !is_read[i] && outs[i].dtype() == result.dtype && outs[i].sizes() == IntList(result.sizes) &&
                      !((outs[i].impl()->key) & (key::Conj | key::Neg | key::Private));
        for (int k = 0; k < i; k++) direct &= outs[k].storage() != outs[i].storage();
        targets[i] = direct || call.on_meta() ? outs[i] : make_tensor(result.sizes, result.dtype);
    }
    compute(op, call, targets);
    for (int i = 0; i < call.result_count; i++) {
        if (targets[i].defined()) {
            if (is_read[i]) prepare(i);
            if (!targets[i].is_same(outs[i]))
                copy_into(outs[i], outs[i].sizes() == targets[i].sizes() ? targets[i] : view(targets[i], outs[i].sizes()));
            written(outs[i]);
        }
    }
    // Nobody lets go of results of a call that raises, so they are made when nothing can raise any more.
    for (int i = 0; i < call.result_count; i++) results[i] = Value::own(std::move(outs[i]));
}

} // namespace kindling
