// operators/nn/lstm_steps.cpp: all steps of an LSTM layer in one direction, as one operator. The graph has one node for all
// steps, and the gradients of the weights are one product over all of them.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/products/gemm.h"
#include "operators/cached.h"
#include "operators/declare.h"
#include "operators/loops.h"
#include "runtime/threads.h"

namespace kindling {
namespace {

/// `rows` of `width` numbers, one after the other in a row.
struct Rows {
    void* data;
    int64_t row;
};

void gate_loop(const Expression& expression, DType type, int64_t rows, int64_t width, int outputs, std::initializer_list<Rows> given) {
    LoopOperand operands[16];
    const int64_t item = static_cast<int64_t>(item_size(type)), sizes[2] = {rows, width};
    int64_t strides[16][2];
    int count = 0;
    for (const Rows& each : given) {
        strides[count][0] = each.row * item;
        strides[count][1] = item;
        operands[count] = {each.data, type, strides[count]};
        count++;
    }
    LoopKernel kernel;
    kernel.expression = &expression;
    kernel.ndim = 2;
    kernel.sizes = sizes;
    kernel.output_count = outputs;
    kernel.input_count = count - outputs;
    kernel.operands = operands;
    kernel.scalars = nullptr;
    run(kernel);
}

template <class A> void* at(const A& t, int64_t element) {
    return static_cast<char*>(t.data()) + element * static_cast<int64_t>(t.element_size());
}

/// Which step is the k-th to be computed, and where the state before it is: -1 is the first state.
struct Order {
    int64_t steps;
    bool reverse;
    int64_t operator()(int64_t k) const { return reverse ? steps - 1 - k : k; }
};

/// f(first, last) for rows of the batch, all steps of some rows in one thread: no row needs another's, and in between nobody
/// waits. Products of eight rows and more add up a row in one order, however many they are.
template <class F> void for_rows(int64_t steps, int64_t batch, int64_t width, const F& f) {
    const int64_t threads = num_threads(), pieces = std::min(threads, batch / 8);
    const double step = 4.0 * static_cast<double>(width) * static_cast<double>(width) * static_cast<double>(batch);
    if (pieces < 2 || step * static_cast<double>(steps) < 1e6 || (pieces < threads && step > 1e6)) return f(int64_t{0}, batch);
    parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) f(batch * i / pieces, batch * (i + 1) / pieces);
    });
}

/// The right side of the products of all steps, `count` matrices of k x n one after the other, as these read it: packed once.
struct Panels {
    DType type;
    int64_t count, k, n, columns = library::panel_columns(type), panels = (n + columns - 1) / columns;
    int64_t bytes() const { return count * panels * k * columns * static_cast<int64_t>(item_size(type)); }
    void pack(void* room, const Array& b, int64_t b_row, int64_t b_column, int64_t b_batch) const {
        for (int64_t i = 0; i < count; i++)
            library::pack_panels(type, static_cast<char*>(room) + i * bytes() / count, at(b, i * b_batch), b_row, b_column, k, n);
    }
    void put_into(library::Gemm& problem, const void* room) const {
        problem.b = room;
        problem.b_row = columns, problem.b_column = 1;
        problem.b_panel = columns * k, problem.b_batch = problem.b_panel * panels;
    }
};

/// The states before each step: [steps, batch, width].
Tensor states_before(const Tensor& first, const Tensor& states, bool reverse) {
    const int64_t steps = states.size(0);
    const Tensor start = unsqueeze(first, 0), others = narrow(states, 0, reverse ? 1 : 0, steps - 1);
    return reverse ? cat({others, start}, 0) : cat({start, others}, 0);
}

/// Output and cell states of all steps [steps, batch, width], and the gates [steps, 4, batch, width] in torch's order.
constexpr auto run_steps = [](bool reverse, const Array& sums, const Array& w_hh, const Array& h_first, const Array& c_first,
                              const Array& output, const Array& cells, const Array& gates, Workspace room) {
    const int64_t steps = sums.size(0), batch = h_first.size(0), width = h_first.size(1), state = batch * width;
    const DType type = sums.dtype();
    const Expression& expression = cached_expression(key_of(type), [&](ExpressionBuilder& b) {
        Sym x[5];
        for (Sym& each : x) each = b.input(type);
        Sym i = sigmoid(x[0]), f = sigmoid(x[1]), g = tanh(x[2]), o = sigmoid(x[3]), c = f * x[4] + i * g;
        for (const Sym& y : {o * tanh(c), c, i, f, g, o}) b.output(y);
    });
    const Panels weights{type, 4, width, width};
    weights.pack(room.data, w_hh, w_hh.stride(1), w_hh.stride(0), width * w_hh.stride(0));
    for_rows(steps, batch, width, [&](int64_t first, int64_t last) {
        for (int64_t k = 0; k < steps; k++) {
            const int64_t now = Order{steps, reverse}(k), before = Order{steps, reverse}(k - 1), row = first * width;
            // Each gate has a block of its own, so that the loop over the gates reads and writes one run of memory for each.
            library::Gemm problem{};
            problem.dtype = type;
            problem.m = last - first, problem.n = width, problem.k = width, problem.batch = 4;
            problem.a = k ? at(output, before * state + row) : at(h_first, row);
            problem.a_row = width, problem.a_column = 1;
            weights.put_into(problem, room.data);
            problem.c = at(sums, 4 * (now * state + row));
            problem.c_row = 4 * width, problem.c_column = 1, problem.c_batch = width;
            problem.out = at(gates, now * 4 * state + row);
            problem.out_row = width, problem.out_column = 1, problem.out_batch = state;
            library::gemm(problem);
            Rows gate[4];
            for (int64_t j = 0; j < 4; j++) gate[j] = {at(gates, (now * 4 + j) * state + row), width};
            gate_loop(expression, type, last - first, width, 6,
                      {{at(output, now * state + row), width},
                       {at(cells, now * state + row), width},
                       gate[0],
                       gate[1],
                       gate[2],
                       gate[3],
                       gate[0],
                       gate[1],
                       gate[2],
                       gate[3],
                       {k ? at(cells, before * state + row) : at(c_first, row), width}});
        }
    });
};

/// Gradients of the gates' sums and of the first states. dc begins as zeros.
constexpr auto step_gradients = [](bool reverse, const Array& d_output, const Array& d_cells, const Array& w_hh, const Array& c_first,
                                   const Array& cells, const Array& gates, const Array& sums, const Array& dh, const Array& dc,
                                   Workspace room) {
    const int64_t steps = gates.size(0), batch = gates.size(2), width = gates.size(3), state = batch * width;
    const DType type = gates.dtype();
    const Expression& expression = cached_expression(key_of(type, DType::None, d_cells.defined()), [&](ExpressionBuilder& b) {
        Sym x[8];
        for (Sym& each : x) each = b.input(type);
        const Sym &i = x[0], &f = x[1], &g = x[2], &o = x[3], &before = x[4], &h = x[6];
        Sym t = tanh(x[5]), one = like(i, 1), c = d_cells.defined() ? x[7] + b.input(type) : x[7], d = c + h * o * (one - t * t);
        for (const Sym& y : {d * g * i * (one - i), d * before * f * (one - f), d * i * (one - g * g), h * t * o * (one - o), d * f})
            b.output(y);
    });
    const Panels weights{type, 1, 4 * width, width};
    weights.pack(room.data, w_hh, w_hh.stride(0), w_hh.stride(1), 0);
    for_rows(steps, batch, width, [&](int64_t first, int64_t last) {
        for (int64_t k = steps; k-- > 0;) {
            const int64_t now = Order{steps, reverse}(k), before = Order{steps, reverse}(k - 1), row = first * width;
            Rows gate[4], sum[4];
            for (int64_t j = 0; j < 4; j++) {
                gate[j] = {at(gates, (now * 4 + j) * state + row), width};
                sum[j] = {at(sums, 4 * (now * state + row) + j * width), 4 * width};
            }
            const Rows cell{at(cells, now * state + row), width},
                cell_before{k ? at(cells, before * state + row) : at(c_first, row), width};
            const Rows carried{at(dc, row), width}, hidden{k + 1 < steps ? at(dh, row) : at(d_output, now * state + row), width};
            if (d_cells.defined())
                gate_loop(expression, type, last - first, width, 5,
                          {sum[0],
                           sum[1],
                           sum[2],
                           sum[3],
                           carried,
                           gate[0],
                           gate[1],
                           gate[2],
                           gate[3],
                           cell_before,
                           cell,
                           hidden,
                           carried,
                           {at(d_cells, now * state + row), width}});
            else
                gate_loop(
                    expression, type, last - first, width, 5,
                    {sum[0], sum[1], sum[2], sum[3], carried, gate[0], gate[1], gate[2], gate[3], cell_before, cell, hidden, carried});
            library::Gemm problem{};
            problem.dtype = type;
            problem.m = last - first, problem.n = width, problem.k = 4 * width;
            problem.a = at(sums, 4 * (now * state + row));
            problem.a_row = 4 * width, problem.a_column = 1;
            weights.put_into(problem, room.data);
            if (k) problem.c = at(d_output, before * state + row);
            problem.c_row = width, problem.c_column = 1;
            problem.out = at(dh, row);
            problem.out_row = width, problem.out_column = 1;
            library::gemm(problem);
        }
    });
};

Tensor gate_of(const Tensor& gates, int64_t step, int64_t which) { return select(select(gates, 0, step), 0, which); }
Tensor rest(const Tensor& x) { return rsub(x, wrap_number(Scalar(1.0))); }
Tensor plus(const Tensor& a, const Tensor& b) { return !b.defined() ? a : !a.defined() ? b : add(a, b); }

/// The same by differentiable operators, and with gradients of the gates themselves: what higher derivatives need.
std::tuple<Tensor, Tensor, Tensor, Tensor> differentiable_backward(TensorList grads, const Tensor& w_hh, const Tensor& h0, const Tensor& c0,
                                                                   const Tensor& output, const Tensor& cells, const Tensor& gates,
                                                                   bool reverse) {
    const int64_t steps = output.size(0), batch = h0.size(0), width = h0.size(1);
    std::vector<Tensor> sums(static_cast<size_t>(steps));
    Tensor dh, dc;
    for (int64_t k = steps; k-- > 0;) {
        const int64_t now = Order{steps, reverse}(k);
        const Tensor i = gate_of(gates, now, 0), f = gate_of(gates, now, 1), g = gate_of(gates, now, 2), o = gate_of(gates, now, 3);
        const Tensor t = tanh(select(cells, 0, now)), before = k ? select(cells, 0, Order{steps, reverse}(k - 1)) : c0;
        Tensor own[4];
        for (int64_t j = 0; j < 4; j++)
            if (grads[2].defined()) own[j] = gate_of(grads[2], now, j);
        if (grads[0].defined()) dh = plus(select(grads[0], 0, now), dh);
        if (grads[1].defined()) dc = plus(select(grads[1], 0, now), dc);
        if (!dh.defined()) dh = zeros_like(c0);
        const Tensor d = plus(mul(mul(dh, o), rest(mul(t, t))), dc);
        const Tensor sum = cat({mul(plus(mul(d, g), own[0]), mul(i, rest(i))), mul(plus(mul(d, before), own[1]), mul(f, rest(f))),
                                mul(plus(mul(d, i), own[2]), rest(mul(g, g))), mul(plus(mul(dh, t), own[3]), mul(o, rest(o)))},
                               1);
        sums[static_cast<size_t>(now)] = sum;
        dh = mm(sum, w_hh);
        dc = mul(d, f);
    }
    const Tensor all = stack(sums, 0);
    const Tensor weight =
        mm(t(reshape(all, {steps * batch, 4 * width})), reshape(states_before(h0, output, reverse), {steps * batch, width}));
    return {all, weight, dh, dc};
}

/// The sizes of an output or of cells, by those of the gates.
Sizes states_of(const Tensor& gates) { return {gates.size(0), gates.size(2), gates.size(3)}; }

void check_steps(const char* operation, IntList gates, DType type, const Tensor& w_hh, const Tensor& h0, const Tensor& c0) {
    KINDLING_CHECK(Runtime,
                   gates.size() == 3 && gates[0] > 0 && h0.dim() == 2 && h0.sizes() == c0.sizes() && gates[1] == h0.size(0) &&
                       gates[2] == 4 * h0.size(1) && w_hh.dim() == 2 && w_hh.size(0) == gates[2] && w_hh.size(1) == h0.size(1),
                   "%s: gates %s, weights %s and states %s, %s do not fit", operation, str(gates).c_str(), str(w_hh.sizes()).c_str(),
                   str(h0.sizes()).c_str(), str(c0.sizes()).c_str());
    KINDLING_CHECK(Runtime,
                   (type == DType::Float32 || type == DType::Float64) && w_hh.dtype() == type && h0.dtype() == type && c0.dtype() == type,
                   "%s: expected float or double throughout, got %s, %s, %s, %s", operation, name(type), name(w_hh.dtype()),
                   name(h0.dtype()), name(c0.dtype()));
}

} // namespace
} // namespace kindling

OPERATORS(lstm_steps) {
    declare("_lstm_steps(Tensor gates, Tensor w_hh, Tensor h0, Tensor c0, bool reverse) -> (Tensor, Tensor, Tensor)")({
        doc("All steps of an LSTM layer whose gates have the inputs' part already: outputs, cell states, and gates for the gradient"),
        in(space::Hidden),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& gates, const Tensor& w_hh, const Tensor& h0, const Tensor& c0, bool reverse) {
                check_steps("_lstm_steps", gates.sizes(), gates.dtype(), w_hh, h0, c0);
                const int64_t steps = gates.size(0), batch = h0.size(0), width = h0.size(1);
                call.reads(gates);
                call.reads_as_it_lies(w_hh);
                for (const Tensor* each : {&h0, &c0}) call.reads(*each);
                for (int i = 0; i < 2; i++) call.gives({steps, batch, width}, gates.dtype());
                call.gives({steps, 4, batch, width}, gates.dtype());
                call.needs_workspace(Panels{gates.dtype(), 4, width, width}.bytes());
                call.costs(gates.numel() * width);
                return reverse;
            },
            run_steps),
        derivative(
            "gates, w_hh, h0, c0",
            GIVEN(TensorList grads, Tensor w_hh, Tensor h0, Tensor c0, bool reverse, Tensor result0, Tensor result1, Tensor result2) {
                if (differentiates_again() || grads[2].defined())
                    return differentiable_backward(grads, w_hh, h0, c0, result0, result1, result2, reverse);
                return _lstm_steps_backward(grads[0], grads[1], w_hh, h0, c0, result0, result1, result2, reverse);
            }),
        refuses("torch.ops.aten._lstm_steps(torch.ones(1, 2, 8), torch.ones(8, 2), torch.ones(2, 3), torch.ones(2, 3), False)",
                "RuntimeError: .*do not fit"),
    });
    declare("_lstm_gate_gradients(Tensor grad_output, Tensor? grad_cells, Tensor w_hh, Tensor h0, Tensor c0, Tensor cells, "
            "Tensor gates, bool reverse) -> (Tensor, Tensor, Tensor)")({
        doc("Gradients of the sums that an LSTM layer's gates are computed from, and of its first states"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& grad_output, const Tensor& grad_cells, const Tensor& w_hh, const Tensor& h0,
               const Tensor& c0, const Tensor& cells, const Tensor& gates, bool reverse) {
                KINDLING_CHECK(Runtime, gates.dim() == 4 && gates.size(1) == 4,
                               "_lstm_gate_gradients: expected gates of 4 dimensions and 4 blocks, got %s", str(gates.sizes()).c_str());
                const int64_t steps = gates.size(0), batch = gates.size(2), width = gates.size(3);
                check_steps("_lstm_gate_gradients", {steps, batch, 4 * width}, gates.dtype(), w_hh, h0, c0);
                for (const Tensor* states : {&cells, &grad_output, &grad_cells})
                    KINDLING_CHECK(Runtime,
                                   !states->defined() || (states->sizes() == IntList(states_of(gates)) && states->dtype() == gates.dtype()),
                                   "_lstm_gate_gradients: states %s of dtype %s do not fit gates %s", str(states->sizes()).c_str(),
                                   name(states->dtype()), str(gates.sizes()).c_str());
                for (const Tensor* each : {&grad_output, &grad_cells}) call.reads(*each);
                call.reads_as_it_lies(w_hh);
                for (const Tensor* each : {&c0, &cells, &gates}) call.reads(*each);
                call.gives({steps, batch, 4 * width}, gates.dtype());
                call.gives(h0.sizes(), gates.dtype());
                call.gives(h0.sizes(), gates.dtype()).zeroed();
                call.needs_workspace(Panels{gates.dtype(), 1, 4 * width, width}.bytes());
                call.costs(gates.numel() * width);
                return reverse;
            },
            step_gradients),
    });
    declare("_lstm_steps_backward(Tensor? grad_output, Tensor? grad_cells, Tensor w_hh, Tensor h0, Tensor c0, "
            "Tensor output, Tensor cells, Tensor gates, bool reverse) -> (Tensor, Tensor, Tensor, Tensor)")({
        doc("Gradients of the gates, the weights and the first states of an LSTM layer"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        composition([](const Tensor& grad_output, const Tensor& grad_cells, const Tensor& w_hh, const Tensor& h0, const Tensor& c0,
                       const Tensor& output, const Tensor& cells, const Tensor& gates, bool reverse) {
            KINDLING_CHECK(Runtime, gates.dim() == 4 && output.sizes() == IntList(states_of(gates)) && output.dtype() == gates.dtype(),
                           "_lstm_steps_backward: output %s of dtype %s does not fit gates %s", str(output.sizes()).c_str(),
                           name(output.dtype()), str(gates.sizes()).c_str());
            const Tensor d_output = grad_output.defined() ? grad_output : zeros_like(output);
            auto [sums, dh, dc] = _lstm_gate_gradients(d_output, grad_cells, w_hh, h0, c0, cells, gates, reverse);
            const int64_t rows = output.size(0) * h0.size(0), width = h0.size(1);
            const Tensor weight = mm(t(reshape(sums, {rows, 4 * width})), reshape(states_before(h0, output, reverse), {rows, width}));
            return std::make_tuple(sums, weight, dh, dc);
        }),
    });
}
