// kernels/reductions/scan.cpp: cumulative sums, products and extremes along one dimension. Each line is computed in order, floats
// in double.
// Compiled for size.
#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/tile/executor.h"
#include "kernels/tile/move.h"

namespace kindling {

namespace {

constexpr int64_t side_by_side = 64;

struct Pair {
    double re, im;
};

/// log(exp(x1) + exp(x2) + ...) of n lines, in doubles whatever the values' dtype; `state` has the results so far. The exponentials of a
/// block are those of differences to the result before it, so that steps wait for one another in their sums alone. Where these overflow, or
/// something is not finite, the block is computed step by step.
void advance_logarithms(DType type, void* state, const void* values, void* out, int64_t n, int64_t at, int64_t steps) {
    const auto run = [](Primitive primitive, double* to, const double* a, const double* b, int64_t count) {
        find_tile(primitive, DType::Float64).function(to, a, b, nullptr, count, 0);
    };
    RunArena arena;
    const int64_t count = steps * n;
    const size_t row = static_cast<size_t>(n) * sizeof(double);
    double *x = arena.take<double>(count), *base = arena.take<double>(count), *y = arena.take<double>(count), *sums = arena.take<double>(n),
           *before = static_cast<double*>(state);
    if (type == DType::Float64) std::memcpy(x, values, static_cast<size_t>(count) * sizeof(double));
    else find_cast(type, DType::Float64).function(x, values, nullptr, nullptr, count, 0);
    for (int64_t k = 0; k < steps; k++) std::memcpy(base + k * n, at ? before : x, row);
    run(Primitive::Sub, y, x, base, count);
    run(Primitive::Exp, y, y, nullptr, count);
    if (at == 0) std::memset(y, 0, row);
    find_column_scan(false, DType::Float64)(sums, y, y, steps, n, true);
    run(Primitive::Log1p, y, y, nullptr, count);
    run(Primitive::Add, y, y, base, count);
    bool all = true;
    for (int64_t i = 0; i < n; i++) {
        all &= sums[i] < __builtin_inf();
        if (at == 0) before[i] = -__builtin_inf();
    }
    for (int64_t k = 0; k < steps && !all; k++) {
        run(Primitive::Logaddexp, before, before, x + k * n, n);
        for (int64_t i = 0; i < n; i++)
            if (!(sums[i] < __builtin_inf())) y[k * n + i] = before[i];
    }
    std::memcpy(before, y + count - n, row);
    if (type == DType::Float64) std::memcpy(out, y, static_cast<size_t>(count) * sizeof(double));
    else find_cast(DType::Float64, type).function(out, y, nullptr, nullptr, count, 0);
}
/// A step of n lines.
void advance_lines(Scan scan, DType type, void* state, const void* values, void* out, int64_t n, int64_t at) {
    bool first = at == 0;
    if (scan == Scan::LogSumExp && !is_complex(type)) return advance_logarithms(type, state, values, out, n, at, 1);
    switch (type) {
    case DType::Complex64:
    case DType::Complex128: {
        Pair* s = static_cast<Pair*>(state);
        for (int64_t i = 0; i < n; i++) {
            Pair x;
            if (type == DType::Complex64)
                x = {static_cast<double>(static_cast<const float*>(values)[2 * i]),
                     static_cast<double>(static_cast<const float*>(values)[2 * i + 1])};
            else x = {static_cast<const double*>(values)[2 * i], static_cast<const double*>(values)[2 * i + 1]};
            if (scan == Scan::LogSumExp) {
                const Pair start{-__builtin_inf(), 0};
                find_tile(Primitive::Logaddexp, DType::Complex128).function(s + i, &x, first ? &start : s + i, nullptr, 1, 0);
            } else if (first) s[i] = scan == Scan::Sum ? Pair{x.re + 0.0, x.im + 0.0} : x; // the sum starts with 0, so -0 becomes 0
            else if (scan == Scan::Sum) s[i] = {s[i].re + x.re, s[i].im + x.im};
            else s[i] = {s[i].re * x.re - s[i].im * x.im, s[i].re * x.im + s[i].im * x.re};
            if (type == DType::Complex64) {
                static_cast<float*>(out)[2 * i] = static_cast<float>(s[i].re);
                static_cast<float*>(out)[2 * i + 1] = static_cast<float>(s[i].im);
            } else {
                static_cast<double*>(out)[2 * i] = s[i].re;
                static_cast<double*>(out)[2 * i + 1] = s[i].im;
            }
        }
        return;
    }
    default: break;
    }
    find_column_scan(scan == Scan::Prod, type)(state, out, values, 1, n, first);
}

/// Of a single line: a row, and not a column.
Plane turned(const Plane& p) {
    return {p.to, p.from, {p.sizes[1], p.sizes[0]}, {p.to_strides[1], p.to_strides[0]}, {p.from_strides[1], p.from_strides[0]}};
}

/// Scans memory: squares of it are transposed so that lines are side by side, and transposed back.
void run_plain_scan(const LoopKernel& kernel, const LoopOperand& in, LoopOrder lines) {
    const LoopOperand *out = kernel.operands, *places = kernel.output_count == 2 ? kernel.operands + 1 : nullptr;
    const DType stored = in.type;
    DType type = value_type(stored); // half types are widened where they were copied to
    TileFunction open = is_narrow(stored) ? find_move(move_to_float(stored)) : nullptr;
    TileFunction close = is_narrow(stored) ? find_move(move_from_float(stored)) : nullptr;
    KINDLING_CHECK(NotImplemented, !places || !is_complex(type), "\"cummax_helper_cpu\" not implemented for '%s'", scalar_type_name(type));
    if (places && (item_size(type) < 4 || type == DType::UInt32)) { // and so are integers for which there is no code
        type = type == DType::UInt32 ? DType::Int64 : DType::Int32;
        open = find_cast(stored, type).function, close = find_cast(type, stored).function;
    }
    LoopKernel used = kernel; // without inputs that are never read
    LoopOperand operands[3] = {*out, in, places ? *places : in};
    used.operands = operands;
    used.output_count = 1;
    used.input_count = 2;
    merge_dims(lines, 0, lines.ndim, used);
    const int item = static_cast<int>(item_size(stored));
    const bool simple = !is_complex(type) && (kernel.scan == Scan::Sum || kernel.scan == Scan::Prod);
    const bool logarithms = !is_complex(type) && kernel.scan == Scan::LogSumExp;
    const int64_t length = kernel.sizes[kernel.scan_dim], across = lines.ndim ? lines.sizes[lines.ndim - 1] : 1;
    // Contiguous lines are as many streams to read and write. There are no more of them than lanes of a vector. Long ones seldom hold a new
    // extreme: they are searched one after another.
    const bool near = in.strides[kernel.scan_dim] == item, streams = simple && near;
    const bool alone = places && (across < 16 || (near && (length >= 512 || isa() == Isa::Baseline)));
    const int64_t together = alone ? 1 : logarithms ? 16 : !streams ? side_by_side : item < 4 ? 64 / item : 16;
    const int64_t blocks_across = (across + together - 1) / together;
    PlaneCopy copy = find_plane_copy(item), copy_places = find_plane_copy(8);
    ColumnScan column_scan = simple ? find_column_scan(kernel.scan == Scan::Prod, type) : nullptr;
    ExtremeScan extremes = places ? find_extreme_scan(type) : nullptr;
    auto stride = [&](const LoopOperand& operand) { return lines.ndim ? operand.strides[lines.dims[lines.ndim - 1]] : 0; };

    constexpr int64_t most = 4096; // elements of a tile
    const bool whole = streams && kernel.scan == Scan::Sum && lines.ndim <= 1 && out->strides[kernel.scan_dim] == item &&
                       stride(in) % item == 0 && stride(*out) % item == 0;
    const LineSums line_sums = whole ? find_line_sums(type) : nullptr;
    if (line_sums && !open) {
        parallel(across, 1 + 16384 / length, [&](int64_t begin, int64_t end) {
            line_sums(static_cast<char*>(out->data) + begin * stride(*out), static_cast<const char*>(in.data) + begin * stride(in),
                      end - begin, length, stride(*out) / item, stride(in) / item);
        });
        return;
    }
    if (line_sums && length <= most / 8 && stride(in) == length * item && stride(*out) == stride(in)) { // widened many lines at once
        parallel(across, 1 + 16384 / length, [&](int64_t begin, int64_t end) {
            RunArena arena;
            float* values = arena.take<float>(most);
            for (int64_t some; begin < end; begin += some) {
                some = end - begin < most / length ? end - begin : most / length;
                open(values, static_cast<const char*>(in.data) + begin * stride(in), nullptr, nullptr, some * length, 0);
                line_sums(values, values, some, length, length, length);
                close(static_cast<char*>(out->data) + begin * stride(in), values, nullptr, nullptr, some * length, 0);
            }
        });
        return;
    }
    parallel(lines.size / across * blocks_across, 1 + 16384 / (length * together), [&](int64_t begin, int64_t end) {
        RunArena arena;
        char *copied = arena.take<char>(most * item), *values = open ? arena.take<char>(most * 8) : copied,
             *state = arena.take<char>(side_by_side * 16);
        int64_t *indices = arena.take<int64_t>(side_by_side), *index_rows = places ? arena.take<int64_t>(most) : nullptr;
        for (int64_t block = begin; block < end; block++) {
            const int64_t first = block % blocks_across * together, left = across - first, n = left < together ? left : together;
            const int64_t row = places && n > 1 ? (n + 7) & ~int64_t{7} : n; // elements between steps in the tile
            const int64_t steps = logarithms ? 128 : row < 8 ? 512 : most / row;
            auto start = [&](const LoopOperand& operand) {
                char* at = static_cast<char*>(operand.data) + first * stride(operand);
                int64_t which = block / blocks_across;
                for (int d = lines.ndim - 2; d >= 0; which /= lines.sizes[d], d--)
                    at += which % lines.sizes[d] * operand.strides[lines.dims[d]];
                return at;
            };
            // True if a tile is as this memory is.
            const auto lies = [&](const LoopOperand& operand, int size) {
                return operand.strides[kernel.scan_dim] == row * size && (n == 1 || (n == row && stride(operand) == size));
            };
            const bool from_lies = lies(in, item), to_lies = lies(*out, item), places_lie = places && lies(*places, 8);
            const char* from = start(in);
            char *to = start(*out), *to_places = places ? start(*places) : nullptr;
            const int64_t from_step = in.strides[kernel.scan_dim], to_step = out->strides[kernel.scan_dim];
            for (int64_t at = 0, some; at < length; at += some, from += some * from_step, to += some * to_step) {
                some = length - at < steps ? length - at : steps;
                char *source = from_lies ? const_cast<char*>(from) : copied, *target = to_lies ? to : copied;
                const Plane plane{copied, from, {some, n}, {row * item, item}, {from_step, stride(in)}};
                if (!from_lies) copy(n == 1 ? turned(plane) : plane);
                if (open) open(values, source, nullptr, nullptr, some * row, 0);
                const char* x = open ? values : source;
                char* y = open ? values : target;
                if (simple) column_scan(state, y, x, some, n, at == 0);
                else if (logarithms) advance_logarithms(type, state, x, y, n, at, some);
                else if (places) {
                    int64_t* rows = places_lie ? reinterpret_cast<int64_t*>(to_places) : index_rows;
                    extremes(state, indices, y, rows, x, some, row, at, type, kernel.scan == Scan::Min);
                    const int64_t next = places->strides[kernel.scan_dim];
                    const Plane back{to_places, reinterpret_cast<char*>(rows), {some, n}, {next, stride(*places)}, {row * 8, 8}};
                    if (!places_lie) copy_places(n == 1 ? turned(back) : back);
                    to_places += some * next;
                } else
                    for (int64_t k = 0; k < some; k++) {
                        const int64_t offset = k * n * static_cast<int64_t>(item_size(type));
                        advance_lines(kernel.scan, type, state, x + offset, y + offset, n, at + k);
                    }
                if (close) close(target, values, nullptr, nullptr, some * row, 0);
                const Plane back{to, copied, {some, n}, {to_step, stride(*out)}, {row * item, item}};
                if (!to_lies) copy(n == 1 ? turned(back) : back);
            }
        }
    });
}

} // namespace

void run_scan(const LoopKernel& kernel) {
    const TileProgram& program = kernel.expression->program();
    KINDLING_ASSERT(program.outputs.size() == 1);
    const bool extreme = kernel.scan == Scan::Min || kernel.scan == Scan::Max;
    KINDLING_ASSERT(kernel.output_count == (extreme ? 2 : 1));
    const DType logical = kernel.expression->output_type(0), type = value_type(logical);
    const DType stored = kernel.operands[0].type;
    KINDLING_ASSERT(stored == type || (is_narrow(stored) && type == DType::Float32));
    const int item = static_cast<int>(item_size(type));
    // Half outputs of the expression arrive rounded and packed. Their tile is widened again.
    TileFunction open = is_narrow(logical) ? find_move(move_to_float(logical)) : nullptr;
    TileFunction close = is_narrow(stored) ? find_move(move_from_float(stored)) : nullptr;

    RunArena arena;
    LoopOrder lines = order_dims(kernel, ~(uint64_t{1} << kernel.scan_dim), true, arena);
    const int64_t length = kernel.ndim ? kernel.sizes[kernel.scan_dim] : 1;
    if (lines.size == 0 || length == 0) return;
    // Of half types the one step is that they are widened.
    const bool plain = program.steps.size() == (is_narrow(stored) ? 1 : 0);
    const TileSlot& slot =
        program.slots[static_cast<size_t>(plain && is_narrow(stored) ? program.steps[0].operands[0] : program.outputs[0])];
    if (kernel.ndim && plain && slot.kind == TileSlot::Input && kernel.operands[kernel.output_count + slot.which].type == stored)
        return run_plain_scan(kernel, kernel.operands[kernel.output_count + slot.which], lines);
    if (kernel.ndim && stored == logical && (extreme || !is_narrow(stored))) { // the values first, and then the scan where they are
        LoopKernel values = kernel;
        LoopOperand* operands = arena.take<LoopOperand>(1 + kernel.input_count);
        operands[0] = kernel.operands[0];
        for (int k = 0; k < kernel.input_count; k++) operands[1 + k] = kernel.operands[kernel.output_count + k];
        values.operands = operands;
        values.output_count = 1;
        values.scan = Scan::None;
        run(values);
        return run_plain_scan(kernel, *kernel.operands, lines);
    }
    KINDLING_ASSERT(!extreme);
    // The scanned dimension is outside a block of lines.
    LoopOrder order;
    order.ndim = lines.ndim + (length != 1);
    order.size = lines.size * length;
    order.sizes = arena.take<int64_t>(order.ndim + 1);
    order.dims = arena.take<int>(order.ndim + 1);
    int shift = length != 1;
    if (shift) order.sizes[0] = length, order.dims[0] = kernel.scan_dim;
    for (int d = 0; d < lines.ndim; d++) order.sizes[d + shift] = lines.sizes[d], order.dims[d + shift] = lines.dims[d];

    int64_t blocks = (lines.size + side_by_side - 1) / side_by_side;
    parallel(blocks, 1 + 16384 / (length * side_by_side), [&](int64_t begin, int64_t end) {
        RunArena own;
        TileRunner runner(program, order, kernel.operands + kernel.output_count, kernel.scalars, 256, TileRunner::AsTheyCome, own);
        Stream output;
        output.set(kernel.operands->data, static_cast<int>(item_size(stored)), order.ndim, order.sizes,
                   ordered_strides(order, *kernel.operands, own), own.take<int64_t>(3 * order.ndim + 1));
        alignas(64) char state[side_by_side * 16], values[side_by_side * 16], opened[side_by_side * 16], packed[side_by_side * 2];
        for (int64_t block = begin; block < end; block++) {
            int64_t first = block * side_by_side, n = lines.size - first < side_by_side ? lines.size - first : side_by_side;
            for (int64_t at = 0; at < length; at++) {
                runner.seek(at * lines.size + first);
                runner.run(n, nullptr);
                const void* tile = runner.output(0, n);
                if (open) {
                    open(opened, tile, nullptr, nullptr, n, 0);
                    tile = opened;
                } else if (reinterpret_cast<uintptr_t>(tile) % static_cast<size_t>(item > 8 ? 8 : item)) {
                    std::memcpy(opened, tile, static_cast<size_t>(n * item));
                    tile = opened;
                }
                advance_lines(kernel.scan, type, state, tile, values, n, at);
                const void* from = values;
                if (close) {
                    close(packed, values, nullptr, nullptr, n, 0);
                    from = packed;
                }
                output.seek(at * lines.size + first);
                output.scatter(from, n);
            }
        }
    });
}

} // namespace kindling
