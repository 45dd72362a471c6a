// operators/nn/recurrent.cpp: recurrent layers and cells over padded and packed sequences. The projections of the inputs are
// one product for all steps; what a step adds is one product of the state and one loop over the gates. An LSTM over padded
// sequences is one operator for all steps (lstm_steps.cpp).
#include "core/autocast.h"
#include "generated/functions.h"
#include "operators/cached.h"
#include "operators/declare.h"
#include "operators/loops.h"

namespace kindling {
namespace {

Tensor number(double value) { return wrap_number(Scalar(value)); }

// ---- the gates of one step

/// The columns [at * width, (at + 1) * width) of a matrix.
struct Columns {
    const Array* matrix;
    int64_t at;
};

/// Runs `expression` over blocks of columns, all of `rows` by `width`.
void gate_loop(const Expression& expression, int64_t rows, int64_t width, std::initializer_list<Columns> outputs,
               std::initializer_list<Columns> inputs) {
    if (!rows || !width) return;
    LoopOperand operands[16];
    int64_t strides[16][2], sizes[2] = {rows, width};
    int count = 0;
    for (auto list : {outputs, inputs})
        for (const Columns& columns : list) {
            const Array& t = *columns.matrix;
            int64_t item = static_cast<int64_t>(t.element_size());
            strides[count][0] = t.stride(0) * item;
            strides[count][1] = t.stride(1) * item;
            operands[count] = {static_cast<char*>(t.data()) + columns.at * width * strides[count][1], t.dtype(), strides[count]};
            count++;
        }
    LoopKernel kernel;
    kernel.expression = &expression;
    kernel.ndim = 2;
    kernel.sizes = sizes;
    kernel.output_count = static_cast<int>(outputs.size());
    kernel.input_count = static_cast<int>(inputs.size());
    kernel.operands = operands;
    kernel.scalars = nullptr;
    run(kernel);
}

void check_gates(const char* name, const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& state, int64_t gates) {
    KINDLING_CHECK(Runtime, input_gates.dim() == 2 && state.dim() == 2, "%s: expected gates and state of 2 dimensions, got %s and %s", name,
                   str(input_gates.sizes()).c_str(), str(state.sizes()).c_str());
    KINDLING_CHECK(Runtime,
                   input_gates.sizes() == hidden_gates.sizes() && input_gates.size(0) == state.size(0) &&
                       input_gates.size(1) == gates * state.size(1),
                   "%s: input_gates %s and hidden_gates %s must both be %ld times as wide as the state %s", name,
                   str(input_gates.sizes()).c_str(), str(hidden_gates.sizes()).c_str(), gates, str(state.sizes()).c_str());
    KINDLING_CHECK(Runtime, is_floating(state.dtype()) && input_gates.dtype() == state.dtype() && hidden_gates.dtype() == state.dtype(),
                   "%s: expected floating gates and state of one dtype, got %s, %s and %s", name, kindling::name(input_gates.dtype()),
                   kindling::name(hidden_gates.dtype()), kindling::name(state.dtype()));
}

void check_like(const char* name, const Tensor& state, std::initializer_list<const Tensor*> others) {
    for (const Tensor* other : others)
        KINDLING_CHECK(Runtime, other->sizes() == state.sizes() && other->dtype() == state.dtype(),
                       "%s: expected %s of dtype %s, got %s of %s", name, str(state.sizes()).c_str(), kindling::name(state.dtype()),
                       str(other->sizes()).c_str(), kindling::name(other->dtype()));
}

/// Gates in torch's order (input, forget, cell, output); the workspace keeps them after their functions.
constexpr auto lstm_gates = [](const Array& input_gates, const Array& hidden_gates, const Array& cx, const Array& hy, const Array& cy,
                               const Array& workspace) {
    const DType type = cx.dtype(), inside = value_type(type);
    const Expression& expression = cached_expression(key_of(type), [&](ExpressionBuilder& b) {
        Sym x[9];
        for (Sym& each : x) each = cast(b.input(type), inside);
        Sym i = sigmoid(x[4] + x[0]), f = sigmoid(x[5] + x[1]), g = tanh(x[6] + x[2]), o = sigmoid(x[7] + x[3]);
        Sym c = f * x[8] + i * g;
        for (const Sym& y : {o * tanh(c), c, i, f, g, o}) b.output(cast(y, type));
    });
    gate_loop(expression, cx.size(0), cx.size(1), {{&hy, 0}, {&cy, 0}, {&workspace, 0}, {&workspace, 1}, {&workspace, 2}, {&workspace, 3}},
              {{&input_gates, 0},
               {&input_gates, 1},
               {&input_gates, 2},
               {&input_gates, 3},
               {&hidden_gates, 0},
               {&hidden_gates, 1},
               {&hidden_gates, 2},
               {&hidden_gates, 3},
               {&cx, 0}});
};

constexpr auto lstm_gates_gradient = [](const Array& grad_hy, const Array& grad_cy, const Array& cx, const Array& cy,
                                        const Array& workspace, const Array& gates, const Array& grad_cx) {
    const DType type = cx.dtype(), inside = value_type(type);
    const Expression& expression = cached_expression(key_of(type), [&](ExpressionBuilder& b) {
        Sym x[8];
        for (Sym& each : x) each = cast(b.input(type), inside);
        const Sym &i = x[0], &f = x[1], &g = x[2], &o = x[3], &c0 = x[4], &dh = x[6], &dc = x[7];
        Sym t = tanh(x[5]), one = like(i, 1), d = dc + dh * o * (one - t * t);
        for (const Sym& y : {d * g * i * (one - i), d * c0 * f * (one - f), d * i * (one - g * g), dh * t * o * (one - o), d * f})
            b.output(cast(y, type));
    });
    gate_loop(expression, cx.size(0), cx.size(1), {{&gates, 0}, {&gates, 1}, {&gates, 2}, {&gates, 3}, {&grad_cx, 0}},
              {{&workspace, 0}, {&workspace, 1}, {&workspace, 2}, {&workspace, 3}, {&cx, 0}, {&cy, 0}, {&grad_hy, 0}, {&grad_cy, 0}});
};

/// Gates in torch's order (reset, update, new); the workspace keeps them, the state, and the hidden part of the new gate.
constexpr auto gru_gates = [](const Array& input_gates, const Array& hidden_gates, const Array& hx, const Array& hy,
                              const Array& workspace) {
    const DType type = hx.dtype(), inside = value_type(type);
    const Expression& expression = cached_expression(key_of(type), [&](ExpressionBuilder& b) {
        Sym x[7];
        for (Sym& each : x) each = cast(b.input(type), inside);
        Sym r = sigmoid(x[3] + x[0]), z = sigmoid(x[4] + x[1]), n = tanh(x[2] + x[5] * r);
        for (const Sym& y : {(x[6] - n) * z + n, r, z, n, x[6], x[5]}) b.output(cast(y, type));
    });
    gate_loop(
        expression, hx.size(0), hx.size(1), {{&hy, 0}, {&workspace, 0}, {&workspace, 1}, {&workspace, 2}, {&workspace, 3}, {&workspace, 4}},
        {{&input_gates, 0}, {&input_gates, 1}, {&input_gates, 2}, {&hidden_gates, 0}, {&hidden_gates, 1}, {&hidden_gates, 2}, {&hx, 0}});
};

constexpr auto gru_gates_gradient = [](const Array& grad, const Array& workspace, const Array& input, const Array& hidden,
                                       const Array& grad_hx) {
    const DType type = grad.dtype(), inside = value_type(type);
    const Expression& expression = cached_expression(key_of(type), [&](ExpressionBuilder& b) {
        Sym x[6];
        for (Sym& each : x) each = cast(b.input(type), inside);
        const Sym &r = x[0], &z = x[1], &n = x[2], &h = x[3], &hn = x[4], &d = x[5];
        Sym one = like(r, 1), dn = d * (one - z) * (one - n * n), dr = dn * hn * r * (one - r), dz = d * (h - n) * z * (one - z);
        for (const Sym& y : {dr, dz, dn, dr, dz, dn * r, d * z}) b.output(cast(y, type));
    });
    gate_loop(expression, grad.size(0), grad.size(1),
              {{&input, 0}, {&input, 1}, {&input, 2}, {&hidden, 0}, {&hidden, 1}, {&hidden, 2}, {&grad_hx, 0}},
              {{&workspace, 0}, {&workspace, 1}, {&workspace, 2}, {&workspace, 3}, {&workspace, 4}, {&grad, 0}});
};

Tensor block(const Tensor& matrix, int64_t at, int64_t count) {
    int64_t width = matrix.size(1) / count;
    return narrow(matrix, 1, at * width, width);
}
/// 1 - x
Tensor rest(const Tensor& x) { return rsub(x, number(1)); }
Tensor plus(const Tensor& a, const Tensor& b) { return !b.defined() ? a : !a.defined() ? b : add(a, b); }
Tensor or_zeros(const Tensor& grad, const Tensor& shape) {
    return grad.defined() ? grad : zeros(shape.sizes(), shape.dtype(), std::nullopt, shape.device());
}

// ---- layers

enum class Kind : uint8_t { Tanh, Relu, Lstm, Gru };

/// One direction of one layer.
struct Cell {
    Kind kind;
    Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
    Tensor turned = {}; // w_hh by rows of its transpose, which a product with few rows reads as it lies

    /// For many steps the weights are turned once.
    Cell for_steps(size_t steps) const {
        Cell cell = *this;
        if (steps >= 4) cell.turned = contiguous(t(w_hh));
        return cell;
    }
    Tensor hidden(const Tensor& h) const {
        if (!turned.defined() || h.dim() != 2) return linear(h, w_hh, b_hh);
        return b_hh.defined() ? addmm(b_hh, h, turned) : mm(h, turned);
    }
};

struct State {
    Tensor h, c;
};

void step(const Cell& cell, Tensor gates, State& state) {
    Tensor hidden = cell.hidden(state.h);
    if (const Tensor& kept = cell.kind == Kind::Gru ? state.h : state.c; kept.defined() && kept.dtype() != gates.dtype() && autocast_on()) {
        // Products are in the lower dtype; the state is not.
        gates = to(gates, kept.dtype());
        hidden = to(hidden, kept.dtype());
    }
    switch (cell.kind) {
    case Kind::Tanh: state.h = tanh(add(hidden, gates)); return;
    case Kind::Relu: state.h = relu(add(hidden, gates)); return;
    case Kind::Gru: state.h = std::get<0>(_thnn_fused_gru_cell(gates, hidden, state.h)); return;
    case Kind::Lstm:
        std::tie(state.h, state.c, std::ignore) = _thnn_fused_lstm_cell(gates, hidden, state.c);
        if (cell.w_hr.defined()) state.h = linear(state.h, cell.w_hr);
        return;
    }
}

State rows_of(const State& state, int64_t start, int64_t count) {
    return {narrow(state.h, 0, start, count), state.c.defined() ? narrow(state.c, 0, start, count) : Tensor()};
}

State joined(const std::vector<State>& parts) {
    std::vector<Tensor> h, c;
    for (const State& part : parts) {
        h.push_back(part.h);
        if (part.c.defined()) c.push_back(part.c);
    }
    return {cat(h, 0), c.empty() ? Tensor() : cat(c, 0)};
}

/// Whether all steps can be one operator: one dtype throughout, no projection. What does not fit is refused step by step.
bool runs_whole(const Cell& cell, const Tensor& input, const State& state) {
    if (cell.kind != Kind::Lstm || cell.w_hr.defined() || autocast_on() ||
        (input.dtype() != DType::Float32 && input.dtype() != DType::Float64))
        return false;
    for (const Tensor& each : {cell.w_ih, cell.w_hh, state.h, state.c})
        if (each.dim() != 2 || each.dtype() != input.dtype()) return false;
    const int64_t width = state.h.size(1);
    return input.dim() == 3 && state.h.size(0) == input.size(1) && state.h.sizes() == state.c.sizes() && cell.w_hh.size(0) == 4 * width &&
           cell.w_hh.size(1) == width && cell.w_ih.size(0) == 4 * width &&
           (!cell.b_ih.defined() || (cell.b_ih.numel() == 4 * width && cell.b_hh.numel() == 4 * width));
}

/// All steps of input [T, B, I] in one direction; `state` becomes the last one.
Tensor run_padded(const Cell& given, const Tensor& input, State& state, bool reverse) {
    if (runs_whole(given, input, state)) {
        const Tensor gates = linear(input, given.w_ih, given.b_ih.defined() ? add(given.b_ih, given.b_hh) : Tensor());
        auto [output, cells, unused] = _lstm_steps(gates, given.w_hh, state.h, state.c, reverse);
        const int64_t last = reverse ? 0 : gates.size(0) - 1;
        state = {select(output, 0, last), select(cells, 0, last)};
        return output;
    }
    std::vector<Tensor> gates = unbind(linear(input, given.w_ih, given.b_ih), 0), outputs(gates.size());
    const Cell cell = given.for_steps(gates.size());
    for (size_t i = 0; i < gates.size(); i++) {
        size_t t = reverse ? gates.size() - 1 - i : i;
        step(cell, gates[t], state);
        outputs[t] = state.h;
    }
    return stack(outputs, 0);
}

/// The same over packed rows: step t has counts[t] of them, never more than step t - 1.
Tensor run_packed(const Cell& given, const Tensor& data, IntList counts, State& state, bool reverse) {
    std::vector<Tensor> gates = split_with_sizes(linear(data, given.w_ih, given.b_ih), counts, 0), outputs(gates.size());
    const Cell cell = given.for_steps(gates.size());
    size_t steps = counts.size();
    if (reverse) {
        State initial = state;
        state = rows_of(initial, 0, counts[steps - 1]);
        for (size_t t = steps; t-- > 0;) {
            int64_t now = state.h.size(0);
            if (counts[t] > now) state = joined({state, rows_of(initial, now, counts[t] - now)});
            step(cell, gates[t], state);
            outputs[t] = state.h;
        }
    } else {
        std::vector<State> finished;
        for (size_t t = 0; t < steps; t++) {
            int64_t now = state.h.size(0);
            if (counts[t] < now) {
                finished.insert(finished.begin(), rows_of(state, counts[t], now - counts[t]));
                state = rows_of(state, 0, counts[t]);
            }
            step(cell, gates[t], state);
            outputs[t] = state.h;
        }
        if (!finished.empty()) {
            finished.insert(finished.begin(), state);
            state = joined(finished);
        }
    }
    return cat(outputs, 0);
}

struct Stack {
    Kind kind;
    const char* name;
    bool biases;
    int64_t layers;
    double dropout;
    bool train, bidirectional;
};

std::vector<Cell> cells_of(const Stack& s, TensorList params, bool projected) {
    // As many layers as parameters at most, so that their number can be doubled.
    KINDLING_CHECK(Runtime, s.layers >= 0 && static_cast<uint64_t>(s.layers) <= params.size(),
                   "Expected more hidden states in stacked_rnn");
    size_t each = (s.biases ? 4u : 2u) + (projected ? 1u : 0u), count = static_cast<size_t>(s.layers * (s.bidirectional ? 2 : 1));
    KINDLING_CHECK(Runtime, params.size() == each * count, "%s: got an incorrect number of RNN parameters: expected %zu, got %zu", s.name,
                   each * count, params.size());
    std::vector<Cell> cells;
    for (size_t i = 0; i < count; i++) {
        const Tensor* p = params.data() + i * each;
        cells.push_back({s.kind, p[0], p[1], s.biases ? p[2] : Tensor(), s.biases ? p[3] : Tensor(), projected ? p[each - 1] : Tensor()});
    }
    return cells;
}

void check_types(const Tensor& input, TensorList hidden, TensorList params) {
    for (const Tensor& h : hidden)
        KINDLING_CHECK(Runtime, h.dtype() == input.dtype(),
                       "Input and hidden tensors are not the same dtype, found input tensor with %s and hidden tensor with %s",
                       scalar_type_name(input.dtype()), scalar_type_name(h.dtype()));
    for (const Tensor& p : params)
        KINDLING_CHECK(Runtime, p.dtype() == input.dtype(),
                       "Input and parameter tensors are not the same dtype, found input tensor with %s and parameter tensor with %s",
                       scalar_type_name(input.dtype()), scalar_type_name(p.dtype()));
}

/// `run(cell, input, state, reverse)` over layers and directions. Gives the output and leaves the last states in hx and cx.
template <class Run> Tensor run_stack(const Stack& s, const Tensor& input, Tensor& hx, Tensor& cx, TensorList params, Run run) {
    bool projected = cx.defined() && cx.dim() == 3 && hx.dim() == 3 && hx.size(2) != cx.size(2);
    std::vector<Cell> cells = cells_of(s, params, projected);
    KINDLING_CHECK(Runtime, hx.dim() == 3 && hx.size(0) == static_cast<int64_t>(cells.size()),
                   "%s: Expected hidden size (%zu, batch, hidden_size), got %s", s.name, cells.size(), str(hx.sizes()).c_str());
    KINDLING_CHECK(Runtime, !cx.defined() || (cx.dim() == 3 && cx.size(0) == hx.size(0) && cx.size(1) == hx.size(1)),
                   "%s: Expected cell state like the hidden state %s, got %s", s.name, str(hx.sizes()).c_str(),
                   cx.defined() ? str(cx.sizes()).c_str() : "");
    KINDLING_CHECK(Runtime, cells.empty() || cells[0].w_ih.size(1) == input.size(-1),
                   "input.size(-1) must be equal to input_size. Expected %ld, got %ld", cells.empty() ? 0 : cells[0].w_ih.size(1),
                   input.size(-1));
    std::vector<Tensor> h = unbind(hx, 0), c = cx.defined() ? unbind(cx, 0) : std::vector<Tensor>(h.size());
    size_t directions = s.bidirectional ? 2 : 1;
    Tensor now = input;
    for (size_t at = 0; at < cells.size(); at += directions) {
        Tensor outputs[2];
        for (size_t d = 0; d < directions; d++) {
            State state{h[at + d], c[at + d]};
            outputs[d] = run(cells[at + d], now, state, d == 1);
            h[at + d] = state.h;
            c[at + d] = state.c;
        }
        now = directions == 2 ? cat({outputs[0], outputs[1]}, -1) : outputs[0];
        if (s.dropout != 0 && s.train && at + directions < cells.size()) now = dropout(now, s.dropout, true);
    }
    hx = stack(h, 0);
    if (cx.defined()) cx = stack(c, 0);
    return now;
}

Tensor padded(const Stack& s, const Tensor& input, Tensor& hx, Tensor& cx, TensorList params, bool batch_first) {
    KINDLING_CHECK(Runtime, input.dim() == 3, "%s: Expected input to be 3D, got %ldD instead", s.name, input.dim());
    Tensor x = batch_first ? transpose(input, 0, 1) : input;
    KINDLING_CHECK(Runtime, x.size(0) > 0, "Expected sequence length to be larger than 0 in RNN");
    KINDLING_CHECK(Runtime, hx.dim() != 3 || hx.size(1) == x.size(1), "%s: Expected hidden state for a batch of %ld, got %s", s.name,
                   x.size(1), str(hx.sizes()).c_str());
    Tensor y = run_stack(s, x, hx, cx, params, run_padded);
    return batch_first ? transpose(y, 0, 1) : y;
}

std::vector<int64_t> integers(const Tensor& list) {
    KINDLING_CHECK(Runtime, list.dim() == 1 && list.dtype() == DType::Int64, "expected a 1D tensor of int64, got %s", str(list).c_str());
    KINDLING_CHECK(NotImplemented, !list.is_meta(), "Cannot read lengths from a meta tensor; no data!");
    Tensor dense = contiguous(list);
    std::vector<int64_t> result(static_cast<size_t>(dense.numel()));
    for (size_t i = 0; i < result.size(); i++) result[i] = dense.data_ptr<int64_t>()[i];
    return result;
}

Tensor packed(const Stack& s, const Tensor& data, const Tensor& batch_sizes, Tensor& hx, Tensor& cx, TensorList params) {
    std::vector<int64_t> counts = integers(batch_sizes);
    KINDLING_CHECK(Runtime, !counts.empty() && data.dim() == 2, "%s: expected packed data of 2 dimensions and at least one step, got %s",
                   s.name, str(data.sizes()).c_str());
    int64_t total = 0;
    for (size_t t = 0; t < counts.size(); t++) {
        KINDLING_CHECK(Runtime, counts[t] > 0 && (t == 0 || counts[t] <= counts[t - 1]),
                       "%s: batch_sizes must be positive and never grow, got %s", s.name, str(IntList(counts)).c_str());
        total += counts[t];
    }
    KINDLING_CHECK(Runtime, total == data.size(0), "%s: batch_sizes add up to %ld, the packed data has %ld rows", s.name, total,
                   data.size(0));
    KINDLING_CHECK(Runtime, hx.dim() != 3 || hx.size(1) == counts[0], "%s: Expected hidden state for a batch of %ld, got %s", s.name,
                   counts[0], str(hx.sizes()).c_str());
    return run_stack(s, data, hx, cx, params, [&](const Cell& cell, const Tensor& input, State& state, bool reverse) {
        return run_packed(cell, input, counts, state, reverse);
    });
}

std::tuple<Tensor, Tensor> plain_padded(Kind kind, const char* name, const Tensor& input, const Tensor& hx, TensorList params, bool biases,
                                        int64_t layers, double p, bool train, bool bidirectional, bool batch_first) {
    check_types(input, {hx}, params);
    Tensor h = hx, none;
    Tensor y = padded({kind, name, biases, layers, p, train, bidirectional}, input, h, none, params, batch_first);
    return {y, h};
}

std::tuple<Tensor, Tensor> plain_packed(Kind kind, const char* name, const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                        TensorList params, bool biases, int64_t layers, double p, bool train, bool bidirectional) {
    check_types(data, {hx}, params);
    Tensor h = hx, none;
    Tensor y = packed({kind, name, biases, layers, p, train, bidirectional}, data, batch_sizes, h, none, params);
    return {y, h};
}

void check_cell(const Tensor& input, const Tensor& hidden, const Tensor& w_ih, const Tensor& w_hh, int which) {
    KINDLING_CHECK(Runtime, w_ih.dim() == 2 && w_hh.dim() == 2, "expected weights of 2 dimensions, got %s and %s",
                   str(w_ih.sizes()).c_str(), str(w_hh.sizes()).c_str());
    KINDLING_CHECK(Runtime, input.size(-1) == w_ih.size(1), "input has inconsistent input_size: got %ld expected %ld", input.size(-1),
                   w_ih.size(1));
    KINDLING_CHECK(Runtime, input.dim() < 2 || hidden.dim() < 2 || input.size(0) == hidden.size(0),
                   "Input batch size %ld doesn't match hidden%d batch size %ld", input.size(0), which, hidden.dim() ? hidden.size(0) : 0);
    KINDLING_CHECK(Runtime, input.dim() <= std::max<int64_t>(hidden.dim(), 2), "output with shape %s doesn't match the broadcast shape %s",
                   str(hidden.sizes()).c_str(), str(input.sizes()).c_str());
    KINDLING_CHECK(Runtime, hidden.size(-1) == w_hh.size(1), "hidden%d has inconsistent hidden_size: got %ld, expected %ld", which,
                   hidden.size(-1), w_hh.size(1));
}

Tensor one_step(Kind kind, const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                const Tensor& b_hh) {
    check_cell(input, hx, w_ih, w_hh, 0);
    State state{hx, {}};
    step({kind, w_ih, w_hh, b_ih, b_hh, {}}, linear(input, w_ih, b_ih), state);
    return state.h;
}

/// Places [steps * batch) of what is not padding, step after step.
Tensor packed_places(const std::vector<int64_t>& counts, int64_t batch, int64_t total) {
    Tensor places = make_tensor({total}, DType::Int64);
    int64_t* to = places.data_ptr<int64_t>();
    for (size_t t = 0; t < counts.size(); t++)
        for (int64_t b = 0; b < counts[t]; b++) *to++ = static_cast<int64_t>(t) * batch + b;
    return places;
}

} // namespace
} // namespace kindling

OPERATORS(recurrent) {
    declare("_thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None, "
            "Tensor? hidden_bias=None) -> (Tensor, Tensor, Tensor)")({
        doc("The gates of an LSTM step in one pass: new hidden and cell state, and the gates for the gradient"),
        in(space::Torch),
        kernel(
            [](KernelCall& call, const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx, const Tensor& input_bias,
               const Tensor& hidden_bias) {
                if (input_bias.defined() || hidden_bias.defined()) return call.declines();
                check_gates("_thnn_fused_lstm_cell", input_gates, hidden_gates, cx, 4);
                for (const Tensor* each : {&input_gates, &hidden_gates, &cx}) call.reads_as_it_lies(*each);
                for (int64_t blocks : {1, 1, 4}) call.gives({cx.size(0), blocks * cx.size(1)}, cx.dtype());
            },
            lstm_gates),
        otherwise([](const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx, const Tensor& input_bias,
                     const Tensor& hidden_bias) {
            return _thnn_fused_lstm_cell(plus(input_gates, input_bias), plus(hidden_gates, hidden_bias), cx, Tensor(), Tensor());
        }),
        derivative(
            "input_gates, hidden_gates, cx, input_bias, hidden_bias",
            GIVEN(TensorList grads, Tensor cx, Tensor result1, Tensor result2) {
                Tensor dh = or_zeros(grads[0], cx), dc = or_zeros(grads[1], cx);
                if (!differentiates_again() && !grads[2].defined()) {
                    auto [gates, grad_cx, bias] = _thnn_fused_lstm_cell_backward_impl(dh, dc, cx, result1, result2, false);
                    return std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(gates, gates, grad_cx, gates, gates);
                }
                Tensor i = block(result2, 0, 4), f = block(result2, 1, 4), g = block(result2, 2, 4), o = block(result2, 3, 4),
                       t = tanh(result1);
                Tensor d = add(dc, mul(mul(dh, o), rest(mul(t, t)))), own[4];
                for (int64_t k = 0; k < 4; k++)
                    if (grads[2].defined()) own[k] = block(grads[2], k, 4);
                Tensor gates = cat({mul(plus(mul(d, g), own[0]), mul(i, rest(i))), mul(plus(mul(d, cx), own[1]), mul(f, rest(f))),
                                    mul(plus(mul(d, i), own[2]), rest(mul(g, g))), mul(plus(mul(dh, t), own[3]), mul(o, rest(o)))},
                                   1);
                return std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(gates, gates, mul(d, f), gates, gates);
            }),
        refuses("torch._thnn_fused_lstm_cell(torch.ones(2, 8), torch.ones(2, 8), torch.ones(2, 3))", "RuntimeError: .*times as wide"),
    });
    declare("_thnn_fused_lstm_cell_backward_impl(Tensor? grad_hy, Tensor? grad_cy, Tensor cx, Tensor cy, Tensor workspace, "
            "bool has_bias) -> (Tensor, Tensor, Tensor)")({
        doc("Gradients of the gates, the cell state and the bias of an LSTM step"),
        in(space::Torch),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& cx, const Tensor& cy, const Tensor& workspace,
               bool has_bias) {
                if (has_bias || !grad_hy.defined() || !grad_cy.defined()) return call.declines();
                check_gates("_thnn_fused_lstm_cell_backward_impl", workspace, workspace, cx, 4);
                check_like("_thnn_fused_lstm_cell_backward_impl", cx, {&grad_hy, &grad_cy, &cy});
                for (const Tensor* each : {&grad_hy, &grad_cy, &cx, &cy, &workspace}) call.reads_as_it_lies(*each);
                for (int64_t blocks : {4, 1}) call.gives({cx.size(0), blocks * cx.size(1)}, cx.dtype());
                call.gives_none();
            },
            lstm_gates_gradient),
        otherwise(
            [](const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& cx, const Tensor& cy, const Tensor& workspace, bool has_bias) {
                auto [gates, grad_cx, none] =
                    _thnn_fused_lstm_cell_backward_impl(or_zeros(grad_hy, cx), or_zeros(grad_cy, cx), cx, cy, workspace, false);
                return std::tuple<Tensor, Tensor, Tensor>(gates, grad_cx, has_bias ? sum(gates, generated::ints<0>()) : Tensor());
            }),
    });
    declare("_thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias=None, "
            "Tensor? hidden_bias=None) -> (Tensor, Tensor)")({
        doc("The gates of a GRU step in one pass: the new state, and the gates for the gradient"),
        in(space::Torch),
        kernel(
            [](KernelCall& call, const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx, const Tensor& input_bias,
               const Tensor& hidden_bias) {
                if (input_bias.defined() || hidden_bias.defined()) return call.declines();
                check_gates("_thnn_fused_gru_cell", input_gates, hidden_gates, hx, 3);
                for (const Tensor* each : {&input_gates, &hidden_gates, &hx}) call.reads_as_it_lies(*each);
                for (int64_t blocks : {1, 5}) call.gives({hx.size(0), blocks * hx.size(1)}, hx.dtype());
            },
            gru_gates),
        otherwise([](const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx, const Tensor& input_bias,
                     const Tensor& hidden_bias) {
            return _thnn_fused_gru_cell(plus(input_gates, input_bias), plus(hidden_gates, hidden_bias), hx, Tensor(), Tensor());
        }),
        derivative(
            "input_gates, hidden_gates, hx, input_bias, hidden_bias",
            GIVEN(TensorList grads, IntList hx_sizes, Tensor result1) {
                Tensor d = grads[0].defined() ? grads[0] : zeros(hx_sizes, result1.dtype(), std::nullopt, result1.device());
                if (!differentiates_again() && !grads[1].defined()) {
                    auto [input, hidden, grad_hx, input_bias, hidden_bias] = _thnn_fused_gru_cell_backward(d, result1, false);
                    return std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(input, hidden, grad_hx, input, hidden);
                }
                Tensor r = block(result1, 0, 5), z = block(result1, 1, 5), n = block(result1, 2, 5), h = block(result1, 3, 5),
                       hn = block(result1, 4, 5), own[5];
                for (int64_t k = 0; k < 5; k++)
                    if (grads[1].defined()) own[k] = block(grads[1], k, 5);
                Tensor dn = mul(plus(mul(d, rest(z)), own[2]), rest(mul(n, n))), dr = mul(plus(mul(dn, hn), own[0]), mul(r, rest(r)));
                Tensor dz = mul(plus(mul(d, sub(h, n)), own[1]), mul(z, rest(z)));
                Tensor input = cat({dr, dz, dn}, 1), hidden = cat({dr, dz, plus(mul(dn, r), own[4])}, 1);
                return std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(input, hidden, plus(mul(d, z), own[3]), input, hidden);
            }),
    });
    declare("_thnn_fused_gru_cell_backward(Tensor grad_hy, Tensor workspace, bool has_bias) -> (Tensor, Tensor, Tensor, Tensor, Tensor)")({
        doc("Gradients of the gates, the state and the biases of a GRU step"),
        in(space::Torch),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& grad_hy, const Tensor& workspace, bool has_bias) {
                if (has_bias) return call.declines();
                check_gates("_thnn_fused_gru_cell_backward", workspace, workspace, grad_hy, 5);
                for (const Tensor* each : {&grad_hy, &workspace}) call.reads_as_it_lies(*each);
                for (int64_t blocks : {3, 3, 1}) call.gives({grad_hy.size(0), blocks * grad_hy.size(1)}, grad_hy.dtype());
                for (int i = 0; i < 2; i++) call.gives_none();
            },
            gru_gates_gradient),
        otherwise([](const Tensor& grad_hy, const Tensor& workspace, bool) {
            auto [input, hidden, grad_hx, none, same] = _thnn_fused_gru_cell_backward(grad_hy, workspace, false);
            IntList rows = generated::ints<0>();
            return std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(input, hidden, grad_hx, sum(input, rows), sum(hidden, rows));
        }),
    });
    declare("lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
            "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)")({
        doc("Long short-term memory over padded sequences (Hochreiter and Schmidhuber, 1997)"),
        in(space::Torch),
        no_out(),
        random_numbers(),
        composition([](const Tensor& input, TensorList hx, TensorList params, bool has_biases, int64_t num_layers, double dropout,
                       bool train, bool bidirectional, bool batch_first) {
            KINDLING_CHECK(Runtime, hx.size() == 2, "lstm expects two hidden states");
            check_types(input, hx, params);
            Tensor h = hx[0], c = hx[1];
            if (autocast_on() && h.dim() && c.dim() && h.size(-1) == c.size(-1)) {
                // torch runs such a layer as one operator, whose state is in the lower dtype too.
                h = to(h, static_cast<DType>(thread_state.autocast_dtype));
                c = to(c, h.dtype());
            }
            Tensor y =
                padded({Kind::Lstm, "lstm", has_biases, num_layers, dropout, train, bidirectional}, input, h, c, params, batch_first);
            return std::tuple<Tensor, Tensor, Tensor>(y, h, c);
        }),
    });
    declare("lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
            "float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)")({
        doc("Long short-term memory over packed sequences"),
        in(space::Torch),
        no_out(),
        random_numbers(),
        composition([](const Tensor& data, const Tensor& batch_sizes, TensorList hx, TensorList params, bool has_biases, int64_t num_layers,
                       double dropout, bool train, bool bidirectional) {
            KINDLING_CHECK(Runtime, hx.size() == 2, "lstm expects two hidden states");
            check_types(data, hx, params);
            Tensor h = hx[0], c = hx[1];
            Tensor y = packed({Kind::Lstm, "lstm", has_biases, num_layers, dropout, train, bidirectional}, data, batch_sizes, h, c, params);
            return std::tuple<Tensor, Tensor, Tensor>(y, h, c);
        }),
    });
    declare("gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
            "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)")({
        doc("Gated recurrent units over padded sequences (Cho et al., 2014)"),
        in(space::Torch),
        no_out(),
        random_numbers(),
        composition([](const Tensor& input, const Tensor& hx, TensorList params, bool has_biases, int64_t num_layers, double dropout,
                       bool train, bool bidirectional, bool batch_first) {
            return plain_padded(Kind::Gru, "gru", input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first);
        }),
    });
    declare("gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
            "float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)")({
        doc("Gated recurrent units over packed sequences"),
        in(space::Torch),
        no_out(),
        random_numbers(),
        composition([](const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params, bool has_biases,
                       int64_t num_layers, double dropout, bool train, bool bidirectional) {
            return plain_packed(Kind::Gru, "gru", data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional);
        }),
    });
    declare("rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
            "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)")({
        doc("h = tanh(w_ih x + w_hh h) over padded sequences (Elman, 1990)"),
        in(space::Torch),
        no_out(),
        random_numbers(),
        composition([](const Tensor& input, const Tensor& hx, TensorList params, bool has_biases, int64_t num_layers, double dropout,
                       bool train, bool bidirectional, bool batch_first) {
            return plain_padded(Kind::Tanh, "rnn_tanh", input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
                                batch_first);
        }),
    });
    declare("rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
            "float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)")({
        doc("h = tanh(w_ih x + w_hh h) over packed sequences"),
        in(space::Torch),
        no_out(),
        random_numbers(),
        composition([](const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params, bool has_biases,
                       int64_t num_layers, double dropout, bool train, bool bidirectional) {
            return plain_packed(Kind::Tanh, "rnn_tanh", data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
                                bidirectional);
        }),
    });
    declare("rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
            "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)")({
        doc("h = relu(w_ih x + w_hh h) over padded sequences"),
        in(space::Torch),
        no_out(),
        random_numbers(),
        composition([](const Tensor& input, const Tensor& hx, TensorList params, bool has_biases, int64_t num_layers, double dropout,
                       bool train, bool bidirectional, bool batch_first) {
            return plain_padded(Kind::Relu, "rnn_relu", input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
                                batch_first);
        }),
    });
    declare("rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
            "float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)")({
        doc("h = relu(w_ih x + w_hh h) over packed sequences"),
        in(space::Torch),
        no_out(),
        random_numbers(),
        composition([](const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params, bool has_biases,
                       int64_t num_layers, double dropout, bool train, bool bidirectional) {
            return plain_packed(Kind::Relu, "rnn_relu", data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
                                bidirectional);
        }),
    });
    declare("lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)")({
        doc("One step of an LSTM: new hidden and cell state"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
            KINDLING_CHECK(Runtime, hx.size() == 2, "lstm_cell expects two hidden states");
            check_cell(input, hx[0], w_ih, w_hh, 0);
            check_cell(input, hx[1], w_ih, w_hh, 1);
            State state{hx[0], hx[1]};
            step({Kind::Lstm, w_ih, w_hh, b_ih, b_hh, {}}, linear(input, w_ih, b_ih), state);
            return std::tuple<Tensor, Tensor>(state.h, state.c);
        }),
    });
    declare("gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor")({
        doc("One step of a GRU"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                       const Tensor& b_hh) { return one_step(Kind::Gru, input, hx, w_ih, w_hh, b_ih, b_hh); }),
    });
    declare("rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor")({
        doc("tanh(w_ih input + b_ih + w_hh hx + b_hh)"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                       const Tensor& b_hh) { return one_step(Kind::Tanh, input, hx, w_ih, w_hh, b_ih, b_hh); }),
    });
    declare("rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor")({
        doc("relu(w_ih input + b_ih + w_hh hx + b_hh)"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                       const Tensor& b_hh) { return one_step(Kind::Relu, input, hx, w_ih, w_hh, b_ih, b_hh); }),
    });
    declare("_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)")({
        doc("The rows of padded sequences without the padding, step after step, and how many each step has"),
        in(space::Torch),
        no_out(),
        shape_by_value(),
        composition([](const Tensor& input, const Tensor& lengths, bool batch_first) {
            KINDLING_CHECK(Runtime, input.numel() > 0, "Cannot pack empty tensors.");
            KINDLING_CHECK(Runtime, input.dim() >= 2, "_pack_padded_sequence: Expected input of at least 2 dimensions, got %s",
                           str(input.sizes()).c_str());
            Tensor x = batch_first ? transpose(input, 0, 1) : input;
            std::vector<int64_t> each = integers(lengths);
            int64_t batch = x.size(1), total = 0;
            KINDLING_CHECK(Runtime, static_cast<int64_t>(each.size()) == batch,
                           "Expected `len(lengths)` to be equal to batch_size, but got %zu (batch_size=%ld)", each.size(), batch);
            KINDLING_CHECK(Runtime, each.back() > 0,
                           "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0");
            for (size_t b = 1; b < each.size(); b++)
                KINDLING_CHECK(
                    Runtime, each[b] <= each[b - 1],
                    "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` "
                    "to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability.");
            KINDLING_CHECK(Runtime, each[0] <= x.size(0), "_pack_padded_sequence: a length of %ld exceeds the input's %ld steps", each[0],
                           x.size(0));
            std::vector<int64_t> counts(static_cast<size_t>(each[0]));
            for (int64_t length : each)
                for (int64_t t = 0; t < length; t++) counts[static_cast<size_t>(t)]++, total++;
            Tensor sizes = make_tensor({each[0]}, DType::Int64);
            std::memcpy(sizes.data(), counts.data(), counts.size() * sizeof(int64_t));
            Sizes flat{x.size(0) * batch};
            for (int64_t d = 2; d < x.dim(); d++) flat.push_back(x.size(d));
            return std::tuple<Tensor, Tensor>(index_select(reshape(x, flat), 0, packed_places(counts, batch, total)), sizes);
        }),
    });
    declare("_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, "
            "int total_length) -> (Tensor, Tensor)")({
        doc("Packed rows put back into padded sequences, and the sequences' lengths"),
        in(space::Torch),
        no_out(),
        shape_by_value(),
        composition([](const Tensor& data, const Tensor& batch_sizes, bool batch_first, const Scalar& padding_value, int64_t total_length) {
            std::vector<int64_t> counts = integers(batch_sizes);
            KINDLING_CHECK(Runtime, !counts.empty() && data.dim() >= 1, "_pad_packed_sequence: expected at least one step");
            int64_t batch = counts[0], steps = static_cast<int64_t>(counts.size()), total = 0;
            for (size_t t = 0; t < counts.size(); total += counts[t++])
                KINDLING_CHECK(Runtime, counts[t] >= 0 && counts[t] <= batch,
                               "_pad_packed_sequence: batch_sizes must not be negative and never grow, got %s",
                               str(IntList(counts)).c_str());
            KINDLING_CHECK(Runtime, total == data.size(0), "_pad_packed_sequence: batch_sizes add up to %ld, the packed data has %ld rows",
                           total, data.size(0));
            if (total_length > 0) {
                KINDLING_CHECK(Runtime, total_length >= steps,
                               "Expected total_length to be at least the length of the longest sequence in input, but got total_length=%ld "
                               "and max sequence length being %ld",
                               total_length, steps);
                steps = total_length;
            }
            Tensor lengths = make_tensor({batch}, DType::Int64);
            for (int64_t b = 0; b < batch; b++) {
                int64_t length = 0;
                for (int64_t count : counts) length += count > b;
                lengths.data_ptr<int64_t>()[b] = length;
            }
            Sizes flat{steps * batch}, wide{steps, batch};
            for (int64_t d = 1; d < data.dim(); d++) {
                flat.push_back(data.size(d));
                wide.push_back(data.size(d));
            }
            Tensor result = index_copy(full(flat, padding_value, data.dtype(), std::nullopt, data.device()), 0,
                                       packed_places(counts, batch, total), data);
            result = reshape(result, wide);
            return std::tuple<Tensor, Tensor>(batch_first ? transpose(result, 0, 1) : result, lengths);
        }),
    });
}
