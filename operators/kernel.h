// operators/kernel.h: kernels in two halves. The result rule knows from the arguments' headers what the results are and what is
// read; the other half computes, given memory for both, or is a loop over an expression. One place allocates (kernel.cpp): for
// fresh results, out= and the meta device alike.
#pragma once
#include <new>
#include <tuple>
#include <type_traits>

#include "kernels/loop.h"
#include "kernels/symbol.h"
#include "operators/boxed.h"
#include "operators/loops.h"

namespace kindling {

/// Memory as a computing half sees it: a header that it does not own. No operator takes one.
class Array {
public:
    Array() = default;
    explicit Array(const TensorImpl* impl) : impl_(impl) {}
    bool defined() const { return impl_; }
    int64_t dim() const { return impl_->ndim; }
    /// Negative dims count from the end; they are not checked.
    int64_t size(int64_t d) const { return impl_->shape[d < 0 ? d + impl_->ndim : d]; }
    int64_t stride(int64_t d) const { return impl_->shape[impl_->ndim + (d < 0 ? d + impl_->ndim : d)]; }
    IntList sizes() const { return impl_->sizes(); }
    IntList strides() const { return impl_->strides(); }
    int64_t numel() const { return impl_->numel; }
    DType dtype() const { return impl_->dtype; }
    bool is_complex() const { return kindling::is_complex(dtype()); }
    bool is_contiguous() const { return impl_->contiguous; }
    /// Only of what was read with `reads_unresolved`.
    bool is_conj() const { return impl_->key & key::Conj; }
    size_t element_size() const { return item_size(impl_->dtype); }
    /// Null of one that is not given.
    void* data() const { return impl_ ? impl_->data() : nullptr; }
    template <class T> T* data_ptr() const { return static_cast<T*>(data()); }
    const TensorImpl* impl() const { return impl_; }

private:
    const TensorImpl* impl_ = nullptr;
};

/// What one call of a kernel will do: filled in by its result rule, which looks at headers only.
class KernelCall {
public:
    struct Result {
        Result(IntList of, DType type);
        Sizes sizes, strides;
        DType dtype, computed = DType::None;     // computed: what is written, to be cast; None: the dtype itself
        bool in_rows = true;                     // strides are not given: contiguous
        bool any_strides = false;                // it can be written to any strides, not only to contiguous memory
        bool zeros = false;                      // of zeros before the computing half writes to it
        bool exact = false;                      // computed in just these strides
        Tensor begins;                           // begins as a copy of this
        bool on_the_way = false, handed = false; // the computing half may make that copy, and does in this call
        TensorImpl* target = nullptr;            // an argument that is written to, and is the result
        bool reduced = false;                    // of the size that is left without the dimensions in `dims`
        double of_nothing = 0;                   // of a loop over no elements
        /// Strides that the result has.
        Result& laid_out(IntList given) {
            strides = given;
            in_rows = false;
            return *this;
        }
        /// The memory format of `tensor`.
        Result& like(const Tensor& tensor);
        /// The strides of `tensor`, of the same sizes, if it is dense, or else their order.
        Result& preserves(const Tensor& tensor);
        Result& computed_in(DType wide) {
            computed = wide;
            return *this;
        }
        Result& written_as_it_lies() {
            any_strides = true;
            return *this;
        }
        /// Matrices by columns, as LAPACK wants them. The computing half relies on that.
        Result& by_columns();
        /// Of one that begins as a copy: the computing half gets, in front of the result, what it is a copy of, and copies that
        /// while it writes; or an undefined Array, where the result begins so already (as in place, or if it does not pay `here`).
        Result& copied_on_the_way(bool here = true) {
            on_the_way = true, handed = here;
            return *this;
        }
        Result& zeroed() {
            zeros = true;
            return *this;
        }
        Result& if_nothing(double value) {
            of_nothing = value;
            return *this;
        }
    };
    static constexpr int max_results = 5, max_reads = 8, max_numbers = 6;

    /// What is counted is not touched before. The caller keeps the arguments alive.
    KernelCall(const Value* arguments, size_t count) : arguments_(arguments), argument_count_(count) {}
    KernelCall(const KernelCall&) = delete;
    ~KernelCall();

    // ---- what every rule says

    /// A fresh result, contiguous unless more is said of it. Results that the rule does not give are undefined.
    Result& gives(IntList sizes, DType dtype);
    /// A result that begins as a copy of `tensor`, which broadcasts to the sizes.
    Result& gives_copy(const Tensor& tensor, IntList sizes);
    Result& gives_copy(const Tensor& tensor) { return gives_copy(tensor, tensor.sizes()); }
    /// An argument that the operator writes to, as it lies: it is the result. Refused if elements of it share memory.
    Result& writes(const Tensor& self);
    /// The same, without asking whether elements share memory.
    Result& writes_all(const Tensor& self);
    /// A result that this call does not make: an undefined tensor.
    void gives_none() { gives({}, DType::None); }
    /// An input that the computing half gets next: contiguous, in this dtype.
    void reads(const Tensor& tensor, DType dtype) { add_read(tensor, dtype, Order::Rows); }
    void reads(const Tensor& tensor) { add_read(tensor, DType::None, Order::Rows); }
    /// The same with whatever strides it has.
    void reads_as_it_lies(const Tensor& tensor) { add_read(tensor, DType::None, Order::Any); }
    void reads_as_it_lies(const Tensor& tensor, DType dtype) { add_read(tensor, dtype, Order::Any); }
    /// As it lies, and with a pending conjugation, which the computing half sees to.
    void reads_unresolved(const Tensor& tensor) { add_read(tensor, DType::None, Order::Unresolved); }
    /// A copy of matrices, by columns, that the computing half may overwrite.
    void reads_by_columns(const Tensor& tensor) { add_read(tensor, DType::None, Order::Columns); }
    /// A list, each as it lies; the computing half gets it behind the single inputs, as a Span<Array>.
    void reads(TensorList tensors) { list = tensors; }
    /// Memory to work in, of as many bytes.
    void needs_workspace(int64_t bytes) { workspace = bytes; }
    /// About so many steps; without this, as many as elements are read or written.
    void costs(int64_t steps) { cost = steps; }
    /// The computing half runs though no result has an element: it checks values.
    void runs_if_empty() { if_empty = true; }
    /// The computing half may run later, on some rows of it at a time: inputs whose bit is set, and the one result, have as many in their
    /// first dimension. It takes their number from the headers; an element's bits do not depend on it, unless there are fewer than `least`.
    /// For kernels declared `by_rows`.
    void goes_by_rows(uint32_t inputs, int64_t least = 1) { rows = inputs, least_rows = least; }
    /// The same where the first `dims` dimensions of these and of the result are the rows, and lie together: it gets them as one.
    void goes_by_all_rows(uint32_t inputs, int64_t dims) { rows = inputs, row_dims = dims; }
    /// And each row reads those parts alone of the other inputs that it names.
    void looks_up() { is_look_up = true; }
    /// Where it runs several times, what it makes of inputs that all rows read: so many bytes (see `by_rows`).
    void packs(int64_t bytes) { packed = bytes; }
    /// This call is not for the loop or library: the composition in `otherwise` runs, unless the results are said already and are meta.
    void declines() { declined = true; }

    // ---- what those of loops say

    /// Reduces `tensor` over the dimensions in `mask`. The results come with `reduced(dtype)`.
    void reduces(const Tensor& tensor, uint64_t mask, bool keepdim, DType inside);
    Result& reduced(Combine combine, DType dtype);
    /// Goes along the rows that the dimensions in `mask` are; inputs broadcast to the sizes
    /// of this tensor.
    void along(const Tensor& sizes_of, uint64_t mask, DType inside) { along(sizes_of.sizes(), mask, inside); }
    void along(IntList sizes, uint64_t mask, DType inside);
    /// A result of a loop along rows that is one number a row.
    Result& gives_of_row(DType dtype, bool keepdim = true);
    void scans(const Tensor& tensor, int64_t dim, Scan kind, DType inside);
    /// The next run-time number that the bodies take, in this dtype: what it is does not change the expression.
    template <class T> void number(DType type, T value) { number(type, Immediate::of(type, value)); }
    void number(DType type, Immediate value) { new (numbers() + number_count) Immediate(value), number_types[number_count++] = type; }
    /// The next argument of the bodies that chooses among expressions: a flag, or a small number.
    void choice(int64_t value) { choices[choice_count++] = static_cast<uint8_t>(value); }

    // ---- read by whoever runs it

    bool out_decides = false; // a dtype that was not given was taken from out=
    /// Where results go that have no input to follow.
    void on(Device where) {
        device = where;
        has_device = true;
    }
    bool on_meta() const { return device.type == DeviceType::Meta; }
    Result& result(int i) { return std::launder(reinterpret_cast<Result*>(memory_))[i]; }
    const Result& result(int i) const { return std::launder(reinterpret_cast<const Result*>(memory_))[i]; }
    void* plan() const { return plan_; }
    void* room_for_plan(size_t bytes);
    void (*destroy_plan)(void*) = nullptr;

    /// An argument's header, or one that is `kept`: of a number that became a tensor, of a tensor that the rule made.
    enum class Order : uint8_t { Rows, Any, Unresolved, Columns };
    struct Read {
        TensorImpl* tensor;
        Tensor kept;
        DType dtype;
        Order order;
    };
    Read& input(int i) { return std::launder(reinterpret_cast<Read*>(read_memory_))[i]; }
    const Read& input(int i) const { return std::launder(reinterpret_cast<const Read*>(read_memory_))[i]; }
    Immediate* numbers() { return std::launder(reinterpret_cast<Immediate*>(number_memory_)); }
    TensorList list;
    int read_count = 0, result_count = 0, number_count = 0, choice_count = 0;
    Device device;
    bool has_device = false, declined = false, if_empty = false, keeps_dims = false, is_look_up = false;
    int64_t workspace = 0, cost = 0, packed = 0;
    uint32_t rows = 0;
    int64_t least_rows = 1, row_dims = 1;
    size_t plan_bytes = 0;
    Sizes space;
    uint64_t dims = 0;
    DType compute_type = DType::None;
    Combine combines[max_results];
    Scan scan = Scan::None;
    int scan_dim = 0;
    DType number_types[max_numbers];
    uint8_t choices[4];

private:
    void add_read(const Tensor& tensor, DType dtype, Order order);
    void lies_on(const Tensor& tensor) {
        if (tensor.defined() && (!has_device || tensor.is_meta())) device = tensor.device(), has_device = true;
    }

    const Value* arguments_;
    size_t argument_count_;
    alignas(Result) unsigned char memory_[max_results * sizeof(Result)];
    alignas(Read) unsigned char read_memory_[max_reads * sizeof(Read)];
    alignas(Immediate) unsigned char number_memory_[max_numbers * sizeof(Immediate)];
    void* plan_ = nullptr;
    alignas(16) unsigned char plan_memory_[256];
};

/// Memory to work in, as the rule asked for it.
struct Workspace {
    void* data;
    template <class T> T* as() const { return static_cast<T*>(data); }
};

namespace boxed {

template <class M> struct RuleSignature;
template <class F, class R, class... A> struct RuleSignature<R (F::*)(KernelCall&, A...) const> {
    using Plan = R;
    static void call(const Value* arguments, KernelCall& call) {
        [&]<size_t... I>(std::index_sequence<I...>) {
            if constexpr (std::is_void_v<R>) F{}(call, Pass<A>::get(arguments[I])...);
            else {
                new (call.room_for_plan(sizeof(R))) R(F{}(call, Pass<A>::get(arguments[I])...));
                if constexpr (!std::is_trivially_destructible_v<R>) call.destroy_plan = [](void* plan) { static_cast<R*>(plan)->~R(); };
            }
        }(std::index_sequence_for<A...>());
    }
};

struct ComputeArguments {
    const void* plan;
    const Array* next;
    Span<Array> list;
    void* workspace;
};
template <class T> struct Take {
    static const T& get(ComputeArguments& g) { return *static_cast<const T*>(g.plan); }
};
template <> struct Take<Array> {
    static const Array& get(ComputeArguments& g) { return *g.next++; }
};
template <> struct Take<Span<Array>> {
    static Span<Array> get(ComputeArguments& g) { return g.list; }
};
template <> struct Take<Workspace> {
    static Workspace get(ComputeArguments& g) { return {g.workspace}; }
};

template <class M> struct MeasureSignature;
template <class F, class P, class... A> struct MeasureSignature<void (F::*)(P&, KernelCall&, A...) const> {
    using Plan = P;
    static void call(void* plan, KernelCall& call, const Array* arrays) {
        [&]<size_t... I>(std::index_sequence<I...>) {
            F{}(*static_cast<P*>(plan), call, static_cast<A>(arrays[I])...);
        }(std::index_sequence_for<A...>());
    }
};

template <class M> struct ComputeSignature;
template <class F, class... A> struct ComputeSignature<void (F::*)(A...) const> {
    /// Whether each parameter is memory or the plan that the rule returns.
    template <class T, class Plan>
    static constexpr bool fits =
        std::is_same_v<T, Array> || std::is_same_v<T, Span<Array>> || std::is_same_v<T, Workspace> || std::is_same_v<T, Plan>;
    template <class Plan> static constexpr bool takes = (fits<std::decay_t<A>, Plan> && ...);
    static void call(const void* plan, const Array* arrays, Span<Array> list, void* workspace) {
        ComputeArguments given{plan, arrays, list, workspace};
        std::tuple<decltype(Take<std::decay_t<A>>::get(given))...> taken{Take<std::decay_t<A>>::get(given)...}; // braces: in order
        std::apply(F{}, taken);
    }
};

} // namespace boxed

/// Runs a kernel by its rule: allocates its results, computes them unless they are meta.
void run_kernel(const Operator& op, Value* arguments, Value* results);
/// Its in-place form: what begins as a copy of self begins as self, where nothing that is read shares memory with it.
void run_kernel_inplace(const Operator& op, Value* arguments, Value* results);
/// Its out= form: computes where the results go, where that can be written to as it lies.
void run_kernel_out(const Operator& op, Value* arguments, Value* results);
/// The expressions of a loop kernel for a call of it, kept by the operator. `finish` is null where the reduced values are the results.
struct LoopExpressions {
    const Expression* map = nullptr;
    const Expression* finish = nullptr;
    bool by_place = false;  // its values depend on places (arange), not on what is read there alone
    bool one_number = true; // of run-time numbers alone: the same everywhere
};
const LoopExpressions& loop_expressions(const Operator& op, const KernelCall& call);
/// How many of them it keeps by now.
int loop_count(const Operator& op);

} // namespace kindling
