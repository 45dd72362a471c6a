// script/trace/trace.h: torch.jit.trace: the operators that a function calls, written down as a graph while it runs. A bit of the thread's
// word brings calls here (key::Trace), so that calls pay nothing while nobody traces.
#pragma once
#include "core/dispatch.h"
#include "script/lower/lower.h"

namespace kindling {
namespace KINDLING_VISIBLE script {

/// What a trace asks of the language that the function is written in.
struct Surroundings {
    /// What the line that runs calls a tensor; "" if nothing.
    std::string (*name_of)(const Tensor& tensor) = nullptr;
    /// The line that runs.
    Range (*place)() = nullptr;
    void (*warn)(const std::string& text) = nullptr;
};

class Tracer {
public:
    Tracer(bool strict, bool outplace, Surroundings surroundings);
    Tracer(const Tracer&) = delete;

    std::shared_ptr<Graph> graph;
    const bool strict;   // containers that may change their shape are warned about, or refused
    const bool outplace; // what writes in place is written down as if it did not

    /// A new input of the graph that stands for `item`. What is in it gets values of its own; tensors that the trace knows already are
    /// given as views, so that both can be told apart: the function has to be called with what comes back.
    Item add_input(const Item& item, const std::string& name);
    /// The object that is traced: its tensors and those of objects in it are read from it.
    void add_self(const Item& self);
    void add_output(const Item& item, size_t place);

    /// What stands for an item; a tensor that the trace does not know becomes a constant. RuntimeError if that requires grad.
    Value* value_of(const Item& item);
    void set_value(const Item& item, Value* value);
    bool knows(const Tensor& tensor) const { return known_.count(tensor.impl()); }

    /// A size, as the tensor of one number that a program sees while it is traced.
    Tensor size(const Tensor& tensor, int64_t dim);
    Tensor numel(const Tensor& tensor);
    /// A number of the next call comes from a tensor: the one at `slot`, or (null) argument `place`.
    void number_from(const Tensor& tensor, const void* slot, int place);
    void forget_numbers() { numbers_.clear(); }

    /// A script that is called: written down as a call.
    Item call(Function& function, std::vector<Item> arguments);
    /// One that is a method of an object of a class.
    Item call_method(Function& function, const std::string& name, std::vector<Item> arguments);

    /// A function that only the surroundings can call. `how` is what stands between its name and its tensors.
    Node* foreign(const std::string& name, const std::string& module, const std::string& how, const Item& function,
                  const std::vector<Tensor>& inputs);
    void foreign_gave(Node* node, const Item& result);

    /// Between the two, what is called belongs to the module of that name ("__module.layer1.0").
    void push_scope(const std::string& name);
    void pop_scope();

    void warn(const std::string& text) {
        if (surroundings_.warn) surroundings_.warn(text);
    }
    /// Operators; `go_on` runs the call.
    void record(const Operator& op, kindling::Value* arguments, kindling::Value* results,
                void (*go_on)(const Operator&, uint32_t, kindling::Value*, kindling::Value*), uint32_t word);

private:
    struct Known {
        Item item;
        Value* value;
    };
    struct Number {
        const void* slot;
        int place;
        Tensor tensor;
        Value* value = nullptr;
    };

    Value* constant(const Item& item, const Range& range) { return graph->constant(item, range); }
    Value* none() { return graph->constant({}); }
    Item input(const Item& item, TypeRef type, Value* value);
    void gather(const Item& self, Value* value, const std::string& prefix);
    Value* tensor_value(const Tensor& tensor);
    Value* given_number(const void* slot, int place, TypeKind as);
    void give_numbers(const Operator& op, const kindling::Value* arguments);
    Value* argument(const Operator& op, size_t place, const kindling::Value* values, const Range& range);
    Value* list_argument(const Argument& argument, const kindling::Value& value, const Range& range);
    void outputs(Node* node, const Operator& op, kindling::Value* results);
    Tensor number_tensor(Node* node, int64_t number);
    void check_alone(const char* name, const Tensor& tensor);
    Range place() { return surroundings_.place ? surroundings_.place() : Range{}; }

    Surroundings surroundings_;
    std::unordered_map<const void*, Known> known_;
    std::vector<Number> numbers_; // of the call to come
    std::vector<std::string> scopes_;
};

/// The trace of this thread, null if there is none or it does not look just now.
Tracer* tracer();
/// Traces while it lives. RuntimeError if this thread traces already.
class Tracing {
public:
    explicit Tracing(Tracer& tracer);
    ~Tracing();
    Tracing(const Tracing&) = delete;
};

/// Warns, while the thread traces, that `what` leaves the graph.
void warn_traced(const char* what, const char* why);
namespace leaves { extern const char data_flow[], constructor[], resize[]; }

/// What is written down becomes a graph that can run: tensors of modules become attributes of `self`, what was called inside of modules
/// becomes their methods (or stands in line, if there is no self), dead code goes.
void finish_trace(Tracer& tracer, bool has_self);
/// What a function with this graph takes and gives.
KINDLING_VISIBLE Function* add_method(Class& of, const std::string& name, std::shared_ptr<Graph> graph);
KINDLING_VISIBLE Signature signature_of_graph(const Graph& graph, const std::string& name);

/// A copy in which values are numbered in order, without names, and tensors look alike: for comparing two traces.
std::shared_ptr<Graph> canonical(const Graph& graph);

/// "Float(3, strides=[1], requires_grad=0, device=cpu)".
KINDLING_VISIBLE TypeRef seen(const Tensor& tensor);

} // namespace script
} // namespace kindling
