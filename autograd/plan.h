// autograd/plan.h: what autograd knows of an operator, worked out of its declaration when it is first recorded.
#pragma once
#include "autograd/saved.h"
#include "core/operator.h"

#pragma GCC visibility push(default)
namespace kindling {

/// One `derivative(...)` of a declaration, its names resolved.
struct DerivativeRule {
    struct Given {
        enum class Kind : uint8_t { Grad, Grads, Argument, Result, Wanted, Tangent };
        Kind kind;
        uint8_t index; // which gradient, argument or result
        uint8_t saved; // where in the plan's `saved`
    };
    const Derivative* declared;
    std::vector<uint8_t> targets; // argument positions
    std::vector<Given> given;
};

struct OperatorPlan {
    enum class Kind : uint8_t {
        Rules,    // derivatives are declared
        Computed, // from the scalar body
        Parts,    // a composition: its parts are recorded
        None,     // results never require grad
        Missing,  // neither: going backward raises
    };
    /// What is kept of an argument or result: itself, its sizes (`self_sizes`), or a meta tensor like it (`self_shape`).
    enum class How : uint8_t { Whole, Sizes, Shape };
    struct Saved {
        bool result;
        uint8_t index;
        How how;
        const char* name;
    };
    struct Computation; // autograd/pointwise.cpp

    Kind kind;
    const Operator* op; // the functional form
    const char* name;   // of its nodes
    std::vector<DerivativeRule> rules;
    std::unique_ptr<DerivativeRule> forward; // what gives tangents, if that is written down
    std::vector<uint8_t> targets;            // argument positions that have a derivative, in schema order
    std::vector<Saved> saved;
    bool keeps_number = false;     // a number as operand is kept as PyTorch keeps it, as a tensor: only once backward
    uint32_t differentiable = ~0u; // bit per result: of several, those whose gradient some rule asks for
    std::atomic<Computation*> computations{nullptr};
    bool is_target(int position) const {
        for (uint8_t t : targets)
            if (t == position) return true;
        return false;
    }
};

const OperatorPlan& plan_of(const Operator& op);

/// Nothing is ever read through it: only its numbers count.
Tensor shape_of(const TensorImpl* impl);

/// A value that is no tensor, copied out of the call.
class SavedPlain {
public:
    SavedPlain() = default;
    explicit SavedPlain(const Value& value);
    SavedPlain(SavedPlain&& other) noexcept : value_(other.value_), owned_(other.owned_) { other.owned_ = nullptr; }
    SavedPlain& operator=(SavedPlain&& other) noexcept {
        std::swap(value_, other.value_);
        std::swap(owned_, other.owned_);
        return *this;
    }
    ~SavedPlain();
    const Value& value() const { return value_; }

private:
    Value value_;
    void* owned_ = nullptr;
};

struct SavedItem {
    enum class Kind : uint8_t { Plain, Tensor, List, Shape, ShapeList };
    Kind kind = Kind::Plain;
    SavedTensor tensor;
    SavedPlain plain;
    std::vector<SavedTensor> list;
    std::vector<Tensor> shapes;
};

/// The node of a call of an operator with declared derivatives.
struct OperatorNode : GradNode {
    const OperatorPlan& plan;
    Few<SavedItem, 2> saved;
    bool released = false;
    int pins = 0; // threads that read `saved` right now
    /// For every tensor argument in `plan.targets`, its position and number of edges: lists have several.
    struct Target {
        uint8_t argument;
        uint32_t first, count;
    };
    Few<Target, 2> targets;

    explicit OperatorNode(const OperatorPlan& plan) : GradNode(Kind::Operation), plan(plan) {}
    const char* name() const override { return plan.name; }
    void apply(Backward& backward) override;
    void release_saved() override;
    virtual void run(Backward& backward);
};

/// The node of a scalar body: its derivative is computed from it.
struct PointwiseNode;
Ref<GradNode> make_pointwise_node(const OperatorPlan& plan, const Operator& op, const Value* arguments, bool inplace);
/// Keeps the result if the derivative needs it. Called once the result is there and has its history.
void save_pointwise_result(GradNode* node, const Tensor& result);
/// Whether the first argument's old value is needed for an in-place call.
bool pointwise_saves_self(const OperatorPlan& plan, const Operator& op, const Value* arguments);
/// What Python shows as `_saved_<name>`, and whether the tensors of it were released.
struct SavedView {
    const char* name;
    const SavedTensor* tensor;
    const std::vector<SavedTensor>* list;
    const Value* plain;
    const Tensor* shape = nullptr;
};
std::vector<SavedView> saved_values(const GradNode& node, bool& released);

} // namespace kindling
#pragma GCC visibility pop
