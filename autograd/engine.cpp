// autograd/engine.cpp: the backward pass. One task per call, run in the caller's thread; nodes run when all gradients they
// wait for are there, the latest made first. Nothing recurses over the graph, so its depth does not matter.
#include "autograd/engine.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/meta.h"
#include "autograd/ops.h"
#include "core/profile.h"
#include "core/shape.h"
#include "graph/pending.h"
#include "runtime/threads.h"

namespace kindling {

namespace {

// Backward calls within backward calls: so many on one stack, while so much of it is left.
constexpr int deepest_on_one_stack = 60;
constinit std::atomic<uint64_t> next_task{1};
constinit std::atomic<bool> slots_taken{false};

struct Capture {
    uint32_t input, result;
};

struct Entry {
    explicit Entry(GradNode* n) : node(n) {}
    GradNode* node;
    uint32_t waits = 0; // edges into this node that have not delivered yet
    bool needed = true; // leads to a target
    bool visited = false, captured = false;
    Tensor only; // the gradient of a node with one result
    std::unique_ptr<Tensor[]> many;
    Tensor* gradients() { return many ? many.get() : &only; }
};

} // namespace

struct GraphTask {
    uint64_t id = next_task.fetch_add(1, std::memory_order_relaxed);
    BackwardOptions options;
    bool selective = false;
    bool own_slots; // nodes remember their entry; else `index` does
    std::vector<Entry> entries;
    std::unordered_map<const GradNode*, uint32_t> index;
    std::unordered_map<const GradNode*, std::vector<Capture>> captures;
    std::vector<std::pair<uint64_t, uint32_t>> ready; // a heap: sequence, entry
    std::vector<Tensor> captured;
    struct Callback {
        void (*run)(void*);
        void (*drop)(void*);
        void* context;
    };
    std::vector<Callback> callbacks;
    GraphTask* outer = nullptr;
    const Edge* roots = nullptr;
    size_t root_count = 0;

    GraphTask() {
        bool expected = false;
        own_slots = slots_taken.compare_exchange_strong(expected, true);
    }
    ~GraphTask() {
        for (auto& callback : callbacks) callback.drop(callback.context);
        if (own_slots) slots_taken.store(false);
    }

    static constexpr uint32_t absent = ~uint32_t{0};
    uint32_t find(const GradNode* node) const {
        if (own_slots) return node->engine_task == id ? node->engine_slot : absent;
        auto found = index.find(node);
        return found == index.end() ? absent : found->second;
    }
    uint32_t find_or_add(GradNode* node) {
        uint32_t at = find(node);
        if (at != absent) return at;
        at = static_cast<uint32_t>(entries.size());
        entries.emplace_back(node);
        if (own_slots) {
            node->engine_task = id;
            node->engine_slot = at;
        } else index.emplace(node, at);
        return at;
    }

    void plan(const Edge* roots, size_t count);
    /// Leaves are all as late as can be; among equals the order is that of torch's queue, which hooks show.
    static bool earlier(const std::pair<uint64_t, uint32_t>& a, const std::pair<uint64_t, uint32_t>& b) { return a.first < b.first; }
    void push(uint32_t at) {
        ready.emplace_back(entries[at].node->sequence, at);
        std::push_heap(ready.begin(), ready.end(), earlier);
    }
    void deliver(uint32_t at, uint32_t input, Tensor&& gradient);
    void run();
    void run_node(uint32_t at);
    void call(Entry& entry, Tensor* gradients, size_t count, Tensor* results, const bool* needed);
};

/// Counts, for every node that can be reached, the edges that lead to it; and finds out which lead to a target.
void GraphTask::plan(const Edge* roots, size_t count) {
    struct Step {
        uint32_t entry, edge;
    };
    std::vector<Step> stack;
    for (size_t r = 0; r < count; r++) {
        if (!roots[r].node) continue;
        uint32_t first = find_or_add(roots[r].node.get());
        if (entries[first].visited) continue;
        entries[first].visited = true;
        stack.push_back({first, 0});
        while (!stack.empty()) {
            Step& step = stack.back();
            GradNode* node = entries[step.entry].node;
            if (step.edge < node->edges.size()) {
                const Edge& edge = node->edges[step.edge++];
                if (!edge.node) continue;
                uint32_t next = find_or_add(edge.node.get());
                entries[next].waits++;
                if (entries[next].visited) continue;
                entries[next].visited = true;
                stack.push_back({next, 0});
                continue;
            }
            if (selective) {
                // All that comes after this node is settled: needed if anything after it is.
                bool needed = false;
                for (const Edge& edge : node->edges) {
                    if (!edge.node) continue;
                    const Entry& next = entries[find(edge.node.get())];
                    needed |= next.needed || next.captured;
                }
                entries[step.entry].needed = needed;
                entries[step.entry].captured = captures.count(node) != 0;
            }
            stack.pop_back();
        }
    }
}

/// Takes one more gradient for a node's result.
void GraphTask::deliver(uint32_t at, uint32_t input, Tensor&& gradient) {
    Entry& entry = entries[at];
    size_t inputs = entry.node->inputs.size();
    KINDLING_ASSERT(input < inputs);
    if (inputs > 1 && !entry.many) entry.many = std::make_unique<Tensor[]>(inputs);
    Tensor& slot = entry.gradients()[input];
    if (!slot.defined()) {
        slot = std::move(gradient);
        return;
    }
    const TensorImpl* impl = slot.impl();
    // A sum nobody else can see grows in place.
    if (!thread_state.grad_mode && impl->use_count() == 1 && impl->storage->owners() == 1 && impl->non_overlapping_dense && !impl->python &&
        impl->dtype == gradient.dtype() && !(impl->key & key::slow) && !(gradient.impl()->key & key::slow)) {
        tape::add_(slot, gradient);
        return;
    }
    slot = tape::add(slot, gradient);
}

/// Makes a gradient what the node that takes it in expects: the shape by summing, the dtype by casting.
static Tensor fitted(const Tensor& gradient, const InputMeta& meta, const char* from, size_t position) {
    if (meta.dtype == DType::None) return {};
    Tensor g = gradient;
    if (g.sizes() != IntList(meta.sizes)) {
        size_t have = g.sizes().size(), want = meta.sizes.size();
        bool fits = want <= have;
        for (size_t i = 0; fits && i < want; i++) {
            int64_t size = meta.sizes[want - 1 - i];
            fits = size == g.sizes()[have - 1 - i] || size == 1;
        }
        KINDLING_CHECK(Runtime, fits,
                       "Function %s returned an invalid gradient at index %zu - got %s but expected shape compatible with %s", from,
                       position, str(g.sizes()).c_str(), str(IntList(meta.sizes)).c_str());
        g = tape::sum_to(g, meta.sizes);
    }
    if (g.dtype() != meta.dtype) {
        if (g.is_complex() && !is_complex(meta.dtype)) g = tape::real(g);
        if (g.dtype() != meta.dtype) g = tape::cast(g, meta.dtype);
    }
    KINDLING_CHECK(Runtime, g.device().type == meta.device.type,
                   "Function %s returned an invalid gradient at index %zu - expected device %s but got %s", from, position,
                   name(meta.device.type), name(g.device().type));
    return g;
}

/// Hooks may be added or removed while they run, also by other threads.
template <class T> static std::vector<T> copied(const std::vector<T>& list, SpinLock& lock) {
    SpinGuard guard(lock);
    return list;
}

/// Hooks of the node's results, in the order they were made; then retain_grad.
[[gnu::cold]] static void call_tensor_hooks(GradNode* node, Tensor* gradients) {
    auto apply = [&](GradHook* hook, Tensor& gradient) { // also of a result that got no gradient: told as None
        Tensor changed = hook->on_tensor(gradient);
        if (changed.defined()) gradient = std::move(changed);
    };
    if (node->kind == GradNode::Kind::Accumulate) {
        TensorImpl* leaf = static_cast<AccumulateGrad*>(node)->variable.impl();
        AutogradMeta* meta = leaf->autograd;
        if (meta && !meta->hooks.empty()) {
            auto hooks = copied(meta->hooks, meta->lock);
            for (auto& hook : hooks) apply(hook.get(), gradients[0]);
        }
    }
    if (!node->hooks) return;
    if (!node->hooks->tensor_hooks.empty()) {
        auto hooks = copied(node->hooks->tensor_hooks, node->lock);
        for (auto& each : hooks) apply(each.hook.get(), gradients[each.input]);
    }
    if (node->hooks->retains.empty()) return;
    // The tensors may die meanwhile in another thread, which then waits for this lock to take itself out of the list.
    struct Kept {
        AutogradMeta* meta;
        Tensor value;
    };
    std::vector<Kept> kept;
    {
        SpinGuard guard(node->lock);
        for (auto& each : node->hooks->retains)
            if (gradients[each.input].defined()) kept.push_back({each.meta, each.meta->grad});
    }
    auto input_of = [&](AutogradMeta* meta) -> const NodeHooks::Retain* {
        for (auto& each : node->hooks->retains)
            if (each.meta == meta) return &each;
        return nullptr;
    };
    for (Kept& each : kept) {
        Tensor gradient;
        {
            SpinGuard guard(node->lock);
            if (auto* retain = input_of(each.meta)) gradient = gradients[retain->input];
        }
        if (!gradient.defined()) continue;
        each.value = each.value.defined() ? tape::add(each.value, gradient) : tape::contiguous_clone(gradient);
        SpinGuard guard(node->lock);
        if (input_of(each.meta)) std::swap(each.meta->grad, each.value);
    }
}

static void check_nan(const Tensor* results, size_t count, const char* from) {
    static constinit NamedOperator isnan{"isnan", ""}, any{"any", ""};
    for (size_t i = 0; i < count; i++) {
        if (!results[i].defined() || results[i].is_meta()) continue;
        GradMode off(false);
        KINDLING_CHECK(Runtime, !call_named(any, call_named(isnan, results[i])).item<bool>(),
                       "Function '%s' returned nan values in its %zuth output.", from, i);
    }
}

void GraphTask::call(Entry& entry, Tensor* gradients, size_t count, Tensor* results, const bool* needed) {
    GradNode* node = entry.node;
    if (node->hooks && !node->hooks->before.empty()) {
        auto hooks = copied(node->hooks->before, node->lock);
        for (auto& hook : hooks) hook->before(gradients, count);
    }
    size_t edges = node->edges.size();
    Few<Tensor, 4> seen; // what went in, for the hooks that come after
    bool after = node->hooks && !node->hooks->after.empty();
    if (after)
        for (size_t i = 0; i < count; i++) seen.push_back(gradients[i]);
    if (node->computes(gradients, count)) {
        Backward backward{gradients, count, results, needed, options.keep_graph, options.create_graph};
        int32_t event = -1;
        if (profile) [[unlikely]]
            event = begin_event(std::string("autograd::engine::evaluate_function: ") + node->name(), ProfileEvent::Kind::Node,
                                static_cast<int64_t>(node->sequence));
        int32_t inner = event < 0 ? -1 : begin_event(node->name(), ProfileEvent::Kind::Node, static_cast<int64_t>(node->sequence));
        struct End {
            int32_t event, inner;
            ~End() {
                if (event >= 0) {
                    end_event(inner);
                    end_event(event);
                }
            }
        } end{event, inner};
        bool meta = false;
        for (size_t i = 0; i < count; i++) meta |= gradients[i].defined() && gradients[i].is_meta();
        MadeOn device(meta && node->kind != GradNode::Kind::Python ? DeviceType::Meta : DeviceType::CPU);
        node->apply(backward);
    }
    if (!options.keep_graph) node->release_saved();
    for (size_t i = 0; i < edges; i++) {
        const Edge& edge = node->edges[i];
        if (!edge.node) {
            // Hooks see what a Python function gave for inputs that need no gradient; nobody else may.
            if (node->kind != GradNode::Kind::Python) results[i].reset();
            continue;
        }
        if (!results[i].defined()) continue;
        const InputMeta& meta = edge.node->inputs[edge.input];
        const TensorImpl* impl = results[i].impl();
        if (impl->dtype == meta.dtype && impl->sizes() == IntList(meta.sizes)) continue;
        results[i] = fitted(results[i], meta, node->name(), i);
    }
    if (thread_state.anomaly && thread_state.anomaly_check_nan) check_nan(results, edges, node->name());
    if (after) {
        auto hooks = copied(node->hooks->after, node->lock);
        for (auto& hook : hooks) hook->after(results, edges, seen.data(), seen.size());
    }
    if (node->kind == GradNode::Kind::Accumulate) {
        AutogradMeta* meta = static_cast<AccumulateGrad*>(node)->variable.impl()->autograd;
        if (meta && !meta->accumulated.empty()) {
            auto hooks = copied(meta->accumulated, meta->lock);
            Tensor leaf = static_cast<AccumulateGrad*>(node)->variable;
            for (auto& hook : hooks) hook->on_tensor(leaf);
        }
    }
}

void GraphTask::run_node(uint32_t at) {
    GradNode* node = entries[at].node;
    size_t count = node->inputs.size();
    Few<Tensor, 2> gradients;
    for (size_t i = 0; i < count; i++)
        gradients.push_back(count == 1 ? std::move(entries[at].only) : entries[at].many ? std::move(entries[at].many[i]) : Tensor());
    entries[at].many.reset();
    // In torch's order: what a node that runs is asked for is taken before the hooks of its results, else after them.
    if (!entries[at].needed) call_tensor_hooks(node, gradients.data());
    if (entries[at].captured)
        for (const Capture& capture : captures[node]) captured[capture.result] = gradients[capture.input];
    if (!entries[at].needed) return;
    call_tensor_hooks(node, gradients.data());

    size_t edges = node->edges.size();
    Few<Tensor, 4> results;
    results.resize(edges);
    bool mask[64];
    std::unique_ptr<bool[]> long_mask;
    bool* needed = nullptr;
    if (selective) {
        if (edges > 64) long_mask.reset(new bool[edges]);
        needed = long_mask ? long_mask.get() : mask;
        for (size_t i = 0; i < edges; i++) {
            const Edge& edge = node->edges[i];
            const Entry* next = edge.node ? &entries[find(edge.node.get())] : nullptr;
            needed[i] = next && (next->needed || next->captured);
        }
    }
    call(entries[at], gradients.data(), count, results.data(), needed);
    for (size_t i = 0; i < edges; i++) {
        const Edge& edge = node->edges[i];
        if (!edge.node) continue;
        uint32_t next = find(edge.node.get());
        if (next == absent) continue; // an edge that was added while the graph ran
        if (results[i].defined()) deliver(next, edge.input, std::move(results[i]));
        if (--entries[next].waits == 0 && (!selective || entries[next].needed || entries[next].captured)) push(next);
    }
}

void GraphTask::run() {
    GradMode mode(options.create_graph);
    GraphTask* before = autograd_thread.task;
    GradNode* running = autograd_thread.running;
    struct Restore {
        GraphTask* task;
        GradNode* node;
        ~Restore() {
            autograd_thread.task = task;
            autograd_thread.running = node;
            autograd_thread.depth--;
        }
    } restore{before, running};
    autograd_thread.depth++;
    autograd_thread.task = this;
    outer = before;
    Recording recording; // from the first node that was made in a compiled call to the end
    while (!ready.empty()) {
        std::pop_heap(ready.begin(), ready.end(), earlier);
        uint32_t at = ready.back().second;
        ready.pop_back();
        autograd_thread.running = entries[at].node;
        thread_state.grad_mode = options.create_graph;
        if (entries[at].node->deferred) [[unlikely]]
            recording.open();
        try {
            run_node(at);
        } catch (...) {
            if (thread_state.anomaly && on_anomaly_error) on_anomaly_error(entries[at].node);
            throw;
        }
    }
    autograd_thread.running = nullptr;
    recording.close();
    for (size_t i = 0; i < callbacks.size(); i++) { // a callback may queue further ones
        Callback callback = callbacks[i];
        callback.run(callback.context);
    }
}

std::vector<Tensor> run_backward(const Edge* roots, size_t count, Tensor* gradients, const Edge* targets, size_t target_count,
                                 const BackwardOptions& options) {
    GraphTask task;
    task.options = options;
    task.selective = target_count > 0;
    task.captured.resize(target_count);
    std::vector<Ref<GradNode>> alive; // entries borrow their nodes; the roots hold them all
    for (size_t r = 0; r < count; r++) alive.push_back(roots[r].node);
    for (size_t t = 0; t < target_count; t++) {
        if (!targets[t].node) continue;
        alive.push_back(targets[t].node);
        task.captures[targets[t].node.get()].push_back({targets[t].input, static_cast<uint32_t>(t)});
    }
    task.roots = roots;
    task.root_count = count;
    task.plan(roots, count);
    if (task.selective && options.accumulate) {
        // backward(inputs=...): leaves take their gradient as always, results keep theirs by retain_grad. As in torch their
        // nodes run, hooks and all, though nothing may need what they give.
        for (auto& entry : task.entries)
            if (entry.captured) {
                entry.needed = true;
                entry.captured = false;
            }
    }
    {
        GradMode mode(options.create_graph);
        for (size_t r = 0; r < count; r++)
            if (roots[r].node && gradients[r].defined())
                task.deliver(task.find(roots[r].node.get()), roots[r].input, std::move(gradients[r]));
    }
    std::vector<char> pushed(task.entries.size());
    for (size_t r = 0; r < count; r++) {
        uint32_t at = roots[r].node ? task.find(roots[r].node.get()) : GraphTask::absent;
        if (at == GraphTask::absent || task.entries[at].waits || pushed[at]) continue;
        pushed[at] = 1;
        task.push(at);
    }
    const int depth = autograd_thread.depth;
    if (depth == 0 || (depth < deepest_on_one_stack && stack_left() >= ample_stack_bytes)) {
        task.run();
    } else {
        // A new stack for the next ones.
        struct Deeper {
            GraphTask& task;
            ThreadState state = thread_state;
            std::exception_ptr error{};
        } deeper{task};
        bool started = new_stack(
            [](void* context) {
                auto* d = static_cast<Deeper*>(context);
                thread_state = d->state;
                try {
                    d->task.run();
                } catch (...) { d->error = std::current_exception(); }
            },
            &deeper);
        if (!started) task.run();
        if (deeper.error) std::rethrow_exception(deeper.error);
    }
    // That a formula gave a view of another gradient is no reason not to write to what nobody else has.
    if (!options.create_graph)
        for (const Tensor& each : task.captured)
            if (each.defined() && each.impl()->creation == Creation::NoGrad && each.impl()->use_count() == 1)
                each.impl()->creation = Creation::Default;
    return std::move(task.captured);
}

bool (*new_stack)(void (*)(void*), void*) = run_on_thread;

void queue_callback(void (*run)(void*), void (*drop)(void*), void* context) {
    GraphTask* task = autograd_thread.task;
    if (!task) drop(context);
    KINDLING_CHECK(Runtime, task, "Final callbacks can only be installed during backward pass.");
    task->callbacks.push_back({run, drop, context});
}

bool task_needs(const GradNode& node, size_t edge) {
    const GraphTask* task = autograd_thread.task;
    if (!node.edges[edge].node) return false;
    if (!task || !task->selective) return true;
    uint32_t next = task->find(node.edges[edge].node.get());
    return next != GraphTask::absent && (task->entries[next].needed || task->entries[next].captured);
}

bool task_runs(const GradNode& node) {
    const GraphTask* task = autograd_thread.task;
    uint32_t at = task ? task->find(&node) : GraphTask::absent;
    return at != GraphTask::absent && (!task->selective || task->entries[at].needed || task->entries[at].captured);
}
std::vector<GradNode*> task_order() {
    std::vector<GradNode*> order;
    const GraphTask* task = autograd_thread.task;
    if (!task) return order;
    std::vector<uint32_t> waits(task->entries.size()); // as they were before anything ran
    for (const Entry& entry : task->entries)
        for (const Edge& edge : entry.node->edges)
            if (uint32_t at = edge.node ? task->find(edge.node.get()) : GraphTask::absent; at != GraphTask::absent) waits[at]++;
    std::vector<std::pair<uint64_t, uint32_t>> ready;
    auto push = [&](uint32_t at) {
        ready.emplace_back(task->entries[at].node->sequence, at);
        std::push_heap(ready.begin(), ready.end(), GraphTask::earlier);
    };
    for (size_t r = 0; r < task->root_count; r++) {
        uint32_t at = task->roots[r].node ? task->find(task->roots[r].node.get()) : GraphTask::absent;
        if (at == GraphTask::absent || waits[at]) continue;
        waits[at] = 1; // a root that is named twice
        push(at);
    }
    while (!ready.empty()) {
        std::pop_heap(ready.begin(), ready.end(), GraphTask::earlier);
        GradNode* node = task->entries[ready.back().second].node;
        ready.pop_back();
        order.push_back(node);
        for (const Edge& edge : node->edges) {
            uint32_t at = edge.node ? task->find(edge.node.get()) : GraphTask::absent;
            if (at == GraphTask::absent || --waits[at]) continue;
            if (!task->selective || task->entries[at].needed || task->entries[at].captured) push(at);
        }
    }
    return order;
}
bool current_task_accumulates() { return !autograd_thread.task || autograd_thread.task->options.accumulate; }
bool current_task_is_selective() { return autograd_thread.task && autograd_thread.task->selective; }
int64_t current_task() { return autograd_thread.task ? static_cast<int64_t>(autograd_thread.task->id) : -1; }

// ---- over tensors

static Tensor implicit_gradient(const Tensor& output) {
    KINDLING_CHECK(Runtime, output.numel() == 1, "grad can be implicitly created only for scalar outputs");
    KINDLING_CHECK(Runtime, output.is_floating_point(), "grad can be implicitly created only for real scalar outputs but got torch.%s",
                   name(output.dtype()));
    if (output.impl()->key & key::Dispatch) [[unlikely]] {
        GradMode off(false);
        return tape::ones_like(output);
    }
    return tape::ones_like(detached(output));
}

std::vector<Tensor> differentiate_ends(const Tensor* tensors, const Edge* edges, size_t count, const Tensor* gradients,
                                       size_t gradient_count, bool keep_graph, bool create_graph, const Tensor* inputs,
                                       const Edge* input_edges, size_t input_count, bool accumulate, bool allow_unused) {
    KINDLING_CHECK(Runtime, gradient_count == count, "got %zu tensors and %zu gradients", count, gradient_count);
    std::vector<Edge> roots(count);
    std::vector<Tensor> seeds(count);
    for (size_t i = 0; i < count; i++) {
        const Tensor& output = tensors[i];
        if (!output.defined()) {
            KINDLING_CHECK(Runtime, edges, "element %zu of tensors is not defined", i);
            KINDLING_CHECK(Runtime, gradients[i].defined(), "grad can be implicitly created only for tensors, not for a GradientEdge");
            seeds[i] = gradients[i];
        } else if (gradients[i].defined()) {
            seeds[i] = gradients[i];
            KINDLING_CHECK(
                Runtime, gradients[i].sizes() == output.sizes(),
                "Mismatch in shape: grad_output[%zu] has a shape of torch.Size(%s) and output[%zu] has a shape of torch.Size(%s).", i,
                str(gradients[i].sizes()).c_str(), i, str(output.sizes()).c_str());
            KINDLING_CHECK(Runtime, gradients[i].is_complex() == output.is_complex(),
                           "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                           "grad_output[%zu] has a dtype of torch.%s and output[%zu] has a dtype of torch.%s.",
                           i, name(gradients[i].dtype()), i, name(output.dtype()));
        } else if (requires_grad(output.impl())) {
            seeds[i] = implicit_gradient(output);
        }
    }
    for (size_t i = 0; i < count; i++) {
        roots[i] = tensors[i].defined() ? gradient_edge(tensors[i].impl()) : edges[i];
        KINDLING_CHECK(Runtime, roots[i].node, "element %zu of tensors does not require grad and does not have a grad_fn", i);
        KINDLING_CHECK(Runtime, roots[i].input < roots[i].node->inputs.size(), "element %zu of tensors: %s has no output %u", i,
                       roots[i].node->name(), roots[i].input);
        GradMode mode(create_graph);
        seeds[i] = fitted(seeds[i], roots[i].node->inputs[roots[i].input], "GraphRoot", i);
    }
    std::vector<Edge> targets(input_count);
    for (size_t i = 0; i < input_count; i++) {
        if (!inputs[i].defined()) {
            targets[i] = input_edges[i];
            continue;
        }
        TensorImpl* impl = inputs[i].impl();
        KINDLING_CHECK(Runtime, requires_grad(impl), "One of the differentiated Tensors does not require grad");
        targets[i] = gradient_edge(impl);
        if (accumulate && targets[i].node && targets[i].node->kind != GradNode::Kind::Accumulate) retain_grad(inputs[i]);
    }
    BackwardOptions options{keep_graph, create_graph, accumulate, true};
    std::vector<Tensor> found = run_backward(roots.data(), count, seeds.data(), targets.data(), input_count, options);
    if (input_count == 0 || accumulate) return {};
    for (size_t i = 0; i < input_count; i++)
        KINDLING_CHECK(Runtime, allow_unused || found[i].defined(),
                       "The differentiated Tensor at index %zu appears to not have been used in the graph. Set allow_unused=True if "
                       "this is the desired behavior.",
                       i);
    return found;
}

std::vector<Tensor> differentiate_tensors(const Tensor* tensors, size_t count, const Tensor* gradients, size_t gradient_count,
                                          bool keep_graph, bool create_graph, const Tensor* inputs, size_t input_count, bool accumulate,
                                          bool allow_unused) {
    return differentiate_ends(tensors, nullptr, count, gradients, gradient_count, keep_graph, create_graph, inputs, nullptr, input_count,
                              accumulate, allow_unused);
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) const {
    differentiate_tensors(this, 1, &gradient, 1, retain_graph || create_graph, create_graph, nullptr, 0, true, true);
}

} // namespace kindling
