// autograd/plan.cpp: declarations of derivatives, read once; and nodes that apply them.
// Compiled for size.
#include "autograd/plan.h"

#include <cstring>
#include <mutex>

#include "autograd/meta.h"
#include "core/dispatch.h"
#include "core/schema.h"

namespace kindling {

namespace {

constinit std::mutex plan_lock;

bool numbered(const std::string& name, const char* stem, int& number) {
    size_t length = std::strlen(stem);
    if (name.compare(0, length, stem) != 0 || name.size() == length) return false;
    number = 0;
    for (size_t i = length; i < name.size(); i++) {
        if (name[i] < '0' || name[i] > '9') return false;
        number = number * 10 + (name[i] - '0');
    }
    return true;
}

using How = OperatorPlan::How;

uint8_t keep(OperatorPlan& plan, bool result, int index, How how, const std::string& name) {
    for (size_t i = 0; i < plan.saved.size(); i++)
        if (plan.saved[i].result == result && plan.saved[i].index == index && plan.saved[i].how == how) return static_cast<uint8_t>(i);
    plan.saved.push_back({result, static_cast<uint8_t>(index), how, strdup(name.c_str())});
    return static_cast<uint8_t>(plan.saved.size() - 1);
}

void read_rule(OperatorPlan& plan, const Operator& op, const Derivative& declared) {
    using Kind = DerivativeRule::Given::Kind;
    DerivativeRule rule{&declared, {}, {}};
    const Schema& schema = *op.schema;
    for (const std::string& name : parameter_names(declared.targets)) {
        int at = schema.find(name.data(), name.size());
        KINDLING_CHECK(Internal, at >= 0, "aten::%s: a derivative names the argument '%s', which it does not have", op.name(),
                       name.c_str());
        rule.targets.push_back(static_cast<uint8_t>(at));
    }
    for (const std::string& name : parameter_names(declared.given)) {
        int number = 0;
        int at = schema.find(name.data(), name.size());
        if (at >= 0) {
            rule.given.push_back({Kind::Argument, static_cast<uint8_t>(at), keep(plan, false, at, How::Whole, name)});
        } else if (name == "grad" || numbered(name, "grad", number)) {
            rule.given.push_back({Kind::Grad, static_cast<uint8_t>(number), 0});
        } else if (name == "grads") {
            rule.given.push_back({Kind::Grads, 0, 0});
        } else if (name == "wanted") {
            rule.given.push_back({Kind::Wanted, 0, 0});
        } else if (int of = argument_before(schema, name, "_sizes"); of >= 0) {
            rule.given.push_back({Kind::Argument, static_cast<uint8_t>(of), keep(plan, false, of, How::Sizes, name)});
        } else if (int like = argument_before(schema, name, "_shape"); like >= 0) {
            rule.given.push_back({Kind::Argument, static_cast<uint8_t>(like), keep(plan, false, like, How::Shape, name)});
        } else {
            bool known = name == "result" || numbered(name, "result", number);
            for (size_t i = 0; !known && i < schema.results.size(); i++)
                if (schema.results[i].name && name == schema.results[i].name) {
                    number = static_cast<int>(i);
                    known = true;
                }
            KINDLING_CHECK(Internal, known, "aten::%s: a derivative asks for '%s', which is neither an argument nor a result", op.name(),
                           name.c_str());
            rule.given.push_back({Kind::Result, static_cast<uint8_t>(number), keep(plan, true, number, How::Whole, name)});
        }
    }
    plan.rules.push_back(std::move(rule));
}

/// The parameters of `forward(...)`.
std::unique_ptr<DerivativeRule> read_forward(const Operator& op) {
    using Kind = DerivativeRule::Given::Kind;
    auto rule = std::make_unique<DerivativeRule>();
    rule->declared = op.forward;
    const Schema& schema = *op.schema;
    for (const std::string& name : parameter_names(op.forward->given)) {
        int number = 0, at = schema.find(name.data(), name.size()), of = argument_before(schema, name, "_t");
        if (at < 0 && of < 0)
            KINDLING_CHECK(Internal, name == "result" || numbered(name, "result", number),
                           "aten::%s: forward asks for '%s', which it does not have", op.name(), name.c_str());
        rule->given.push_back({at >= 0   ? Kind::Argument
                               : of >= 0 ? Kind::Tangent
                                         : Kind::Result,
                               static_cast<uint8_t>(at >= 0   ? at
                                                    : of >= 0 ? of
                                                              : number),
                               0});
    }
    return rule;
}

OperatorPlan* make_plan(const Operator& op) {
    auto plan = std::make_unique<OperatorPlan>();
    const Operator& home = op.functional ? *op.functional : op;
    plan->op = &home;
    plan->name = node_name(op);
    if (op.forward) plan->forward = read_forward(home);
    if (op.derivative_count) {
        plan->kind = OperatorPlan::Kind::Rules;
        for (int i = 0; i < op.derivative_count; i++) read_rule(*plan, op, op.derivatives[i]);
        if (op.schema->results.size() > 1) {
            plan->differentiable = 0;
            for (const DerivativeRule& rule : plan->rules)
                for (const auto& given : rule.given) {
                    if (given.kind == DerivativeRule::Given::Kind::Grad) plan->differentiable |= 1u << given.index;
                    if (given.kind == DerivativeRule::Given::Kind::Grads) plan->differentiable = ~0u;
                }
        }
    } else if (op.has(trait::NotDifferentiable)) {
        plan->kind = OperatorPlan::Kind::None;
    } else if (op.has(trait::NoDerivative)) {
        plan->kind = OperatorPlan::Kind::Missing;
    } else if (op.body == Body::Pointwise) {
        plan->kind = OperatorPlan::Kind::Computed;
        plan->keeps_number = home.has(trait::KeepsNumber);
        for (int i = 0; i < op.tensor_count; i++)
            if (op.tensor_positions[i] < op.scalar_arity) plan->targets.push_back(op.tensor_positions[i]);
    } else if (op.body == Body::Composition) {
        plan->kind = OperatorPlan::Kind::Parts;
    } else {
        plan->kind = OperatorPlan::Kind::Missing;
    }
    for (size_t i = 0; i < op.schema->arguments.size(); i++)
        for (const DerivativeRule& rule : plan->rules)
            for (uint8_t target : rule.targets)
                if (target == i && !plan->is_target(static_cast<int>(i))) plan->targets.push_back(static_cast<uint8_t>(i));
    return plan.release();
}

} // namespace

const OperatorPlan& plan_of(const Operator& op) {
    if (void* made = op.autograd_plan.load(std::memory_order_acquire)) return *static_cast<OperatorPlan*>(made);
    std::lock_guard<std::mutex> guard(plan_lock);
    if (void* made = op.autograd_plan.load(std::memory_order_acquire)) return *static_cast<OperatorPlan*>(made);
    OperatorPlan* fresh = make_plan(op);
    op.autograd_plan.store(fresh, std::memory_order_release);
    return *fresh;
}

// ---- plain values

SavedPlain::SavedPlain(const Value& value) : value_(value) {
    using Tag = Value::Tag;
    const void* from = nullptr;
    size_t bytes = 0;
    switch (value.tag) {
    case Tag::Text:
        from = value.text;
        bytes = value.size;
        break;
    case Tag::IntList:
        from = value.integers;
        bytes = (value.size * sizeof(int64_t)) << value.symbolic;
        break;
    case Tag::FloatList:
        from = value.floats;
        bytes = value.size * sizeof(double);
        break;
    case Tag::BoolList:
        from = value.bools;
        bytes = value.size;
        break;
    case Tag::ScalarList:
        from = value.scalars;
        bytes = value.size * sizeof(Scalar);
        break;
    case Tag::TextList: {
        size_t total = value.size * sizeof(Text);
        for (uint32_t i = 0; i < value.size; i++) total += value.texts[i].size();
        owned_ = ::operator new(total);
        auto* texts = static_cast<Text*>(owned_);
        char* place = reinterpret_cast<char*>(texts + value.size);
        for (uint32_t i = 0; i < value.size; i++) {
            std::memcpy(place, value.texts[i].data(), value.texts[i].size());
            new (texts + i) Text(place, value.texts[i].size());
            place += value.texts[i].size();
        }
        value_.texts = texts;
        return;
    }
    case Tag::Generator:
    case Tag::Storage:
    case Tag::Python: value_ = Value(); return;
    default: return;
    }
    if (!bytes) return;
    owned_ = ::operator new(bytes);
    std::memcpy(owned_, from, bytes);
    value_.text = static_cast<const char*>(owned_);
}

SavedPlain::~SavedPlain() { ::operator delete(owned_); }

// ---- nodes

void OperatorNode::release_saved() {
    Few<SavedItem, 2> dropped; // let go of outside the lock: that may run anything
    SpinGuard guard(lock);
    bool tensors = released; // shapes and numbers stay: through a sum one may go as often as one likes
    for (auto& item : saved) {
        tensors |= item.kind == SavedItem::Kind::Tensor && item.tensor.defined();
        for (auto& each : item.list) tensors |= each.defined();
    }
    if (!tensors) return;
    released = true;
    if (pins) return;
    for (auto& item : saved) dropped.emplace_back(std::move(item));
}

void OperatorNode::apply(Backward& backward) {
    {
        SpinGuard guard(lock);
        if (released) fail_released();
        pins++;
    }
    struct Unpin {
        OperatorNode& node;
        ~Unpin() {
            bool last;
            {
                SpinGuard guard(node.lock);
                last = --node.pins == 0 && node.released;
            }
            if (last) node.release_saved();
        }
    } unpin{*this};
    run(backward);
}

void OperatorNode::run(Backward& backward) {
    using Kind = DerivativeRule::Given::Kind;
    auto self = Ref<GradNode>::share(this);
    Few<Tensor, 6> alive;
    std::vector<std::vector<Tensor>> lists;
    size_t most = 0;
    for (const DerivativeRule& rule : plan.rules) most += rule.given.size();
    alive.reserve(most);
    for (const DerivativeRule& rule : plan.rules) {
        // Which of this rule's targets are wanted, and where their gradients go.
        uint64_t wanted = 0;
        size_t count = 0;
        for (size_t t = 0; t < rule.targets.size(); t++)
            for (const Target& target : targets) {
                if (target.argument != rule.targets[t]) continue;
                for (uint32_t e = 0; e < target.count; e++, count++) {
                    size_t edge = target.first + e;
                    if (!(backward.needed ? backward.needed[edge] : leads(edge))) continue;
                    bool list = plan.op->schema->arguments[target.argument].list;
                    size_t bit = list ? count : t;
                    if (bit < 64) wanted |= uint64_t{1} << bit;
                }
            }
        if (!wanted) continue;
        Value given[32];
        bool asks = false, comes = false;
        for (const auto& each : rule.given) {
            asks = asks || each.kind == Kind::Grad;
            comes = comes || (each.kind == Kind::Grad && each.index < backward.gradient_count && backward.gradients[each.index].defined());
        }
        bool skip = asks && !comes; // zero gradients give zero gradients
        for (size_t i = 0; i < rule.given.size() && !skip; i++) {
            const auto& each = rule.given[i];
            switch (each.kind) {
            case Kind::Grad:
                if (each.index < backward.gradient_count) given[i] = backward.gradients[each.index];
                break;
            case Kind::Grads: given[i] = TensorList(backward.gradients, backward.gradient_count); break;
            case Kind::Wanted: given[i] = static_cast<int64_t>(wanted); break;
            default: {
                const SavedItem& item = saved[each.saved];
                if (item.kind == SavedItem::Kind::Plain) given[i] = item.plain.value();
                else if (item.kind == SavedItem::Kind::Shape) given[i] = item.shapes[0];
                else if (item.kind == SavedItem::Kind::ShapeList) given[i] = TensorList(item.shapes.data(), item.shapes.size());
                else if (item.kind == SavedItem::Kind::Tensor) {
                    alive.push_back(item.tensor.unpack(self, backward.differentiable, backward.slices));
                    given[i] = alive.back();
                } else {
                    std::vector<Tensor> list;
                    for (const SavedTensor& tensor : item.list)
                        list.push_back(tensor.unpack(self, backward.differentiable, backward.slices));
                    lists.push_back(std::move(list));
                    given[i] = TensorList(lists.back().data(), lists.back().size());
                }
            }
            }
        }
        if (skip) continue;
        std::vector<Tensor> gradients(count > rule.targets.size() ? count + 8 : rule.targets.size() + 8);
        {
            // What is not to be differentiated again need not ask whether it is. Hooks that unpack run before this.
            Exclude quiet(backward.differentiable ? 0u : static_cast<uint32_t>(key::Autograd));
            rule.declared->apply(given, wanted, gradients.data());
        }
        size_t at = 0;
        for (size_t t = 0; t < rule.targets.size(); t++) {
            bool found = false;
            for (const Target& target : targets)
                if (target.argument == rule.targets[t]) {
                    found = true;
                    for (uint32_t e = 0; e < target.count; e++) backward.results[target.first + e] = std::move(gradients[at++]);
                }
            if (!found) at++;
        }
    }
}

} // namespace kindling
