// autograd/engine.h: runs a recorded graph backward.
#pragma once
#include <exception>

#include "autograd/node.h"

#pragma GCC visibility push(default)
namespace kindling {

struct BackwardOptions {
    bool keep_graph = false;
    bool create_graph = false;
    bool accumulate = true; // false: autograd.grad, gradients of `targets` are returned
    bool allow_unreachable = true;
};

/// From `roots`, with `gradients` for each. With `targets`: only what leads there; gives a gradient for each (undefined
/// where none was reached). Any thread, also from within a running backward.
std::vector<Tensor> run_backward(const Edge* roots, size_t count, Tensor* gradients, const Edge* targets, size_t target_count,
                                 const BackwardOptions& options);

/// torch.autograd.backward / grad over tensors: checks, implicit gradients, then run_backward. Undefined gradients ask for
/// the implicit ones. With `inputs`, `accumulate` says whether they gather into .grad or are returned.
std::vector<Tensor> differentiate_tensors(const Tensor* tensors, size_t count, const Tensor* gradients, size_t gradient_count,
                                          bool keep_graph, bool create_graph, const Tensor* inputs, size_t input_count, bool accumulate,
                                          bool allow_unused);

/// The same where a root or target may be an edge instead of a tensor.
[[gnu::cold]] std::vector<Tensor> differentiate_ends(const Tensor* tensors, const Edge* edges, size_t count, const Tensor* gradients,
                                                     size_t gradient_count, bool keep_graph, bool create_graph, const Tensor* inputs,
                                                     const Edge* input_edges, size_t input_count, bool accumulate, bool allow_unused);

/// Calls body(context), which does not throw, on another thread and waits for it; false if there is none. Bindings replace it.
extern bool (*new_stack)(void (*body)(void*), void* context);

/// Runs when the backward call that is running now is done. RuntimeError outside of one.
void queue_callback(void (*run)(void*), void (*drop)(void*), void* context);

/// Which edges of `node` are needed by the task that runs; all when none does.
bool task_needs(const GradNode& node, size_t edge);
/// Whether the running task will run this node, or give its gradient out.
bool task_runs(const GradNode& node);
/// The nodes of the running task in the order in which they run.
[[gnu::cold]] std::vector<GradNode*> task_order();
/// Whether the running task adds gradients to leaves, rather than give them out.
bool current_task_accumulates();
/// Whether the running task computes gradients of some inputs only.
bool current_task_is_selective();
/// A number for the task that runs, -1 outside.
int64_t current_task();

} // namespace kindling
#pragma GCC visibility pop
