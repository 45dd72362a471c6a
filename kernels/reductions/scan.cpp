// kernels/reductions/scan.cpp: cumulative sums, products and extremes along one dimension. Each line is computed in order, floats
// in double.
// Compiled for size.
#include "core/error.h"
#include "kernels/tile/executor.h"
#include "kernels/tile/move.h"

namespace kindling {

namespace {

constexpr int64_t side_by_side = 64;

/// Rows of n lines, one step after another. The last of equal values wins. Once NaN, the result stays NaN. `rows` of indices may be null.
template <class T>
void advance_extreme(Scan scan, void* state, int64_t* indices, const void* values, void* out, int64_t n, int64_t at, int64_t steps,
                     int64_t* rows) {
    T *first = static_cast<T*>(state), *to = static_cast<T*>(out);
    const T* x = static_cast<const T*>(values);
    const bool most = scan == Scan::Max;
    for (int64_t i = 0; i < n && at == 0; i++) first[i] = x[i], indices[i] = 0;
    const auto advance = [most](T& best, int64_t& place, T each, int64_t here) {
        if (most ? each < best : each > best) return;
        if (best == best || each != each) best = each, place = here;
    };
    if (n == 1) { // in registers: what was stored would be waited for
        T best = *first;
        int64_t place = *indices;
        for (int64_t k = 0; k < steps; k++) {
            advance(best, place, x[k], at + k);
            to[k] = best;
            if (rows) rows[k] = place;
        }
        *first = best, *indices = place;
        return;
    }
    for (; steps > 0; steps--, at++, x += n, to += n) {
        for (int64_t i = 0; i < n; i++) {
            advance(first[i], indices[i], x[i], at);
            to[i] = first[i];
            if (rows) rows[i] = indices[i];
        }
        if (rows) rows += n;
    }
}
void advance_extremes(Scan scan, DType type, void* state, int64_t* indices, const void* values, void* out, int64_t n, int64_t at,
                      int64_t steps, int64_t* rows) {
    switch (type) {
    case DType::Float32: return advance_extreme<float>(scan, state, indices, values, out, n, at, steps, rows);
    case DType::Float64: return advance_extreme<double>(scan, state, indices, values, out, n, at, steps, rows);
    case DType::Int8: return advance_extreme<int8_t>(scan, state, indices, values, out, n, at, steps, rows);
    case DType::Int16: return advance_extreme<int16_t>(scan, state, indices, values, out, n, at, steps, rows);
    case DType::Int32: return advance_extreme<int32_t>(scan, state, indices, values, out, n, at, steps, rows);
    case DType::Int64: return advance_extreme<int64_t>(scan, state, indices, values, out, n, at, steps, rows);
    case DType::Bool:
    case DType::UInt8: return advance_extreme<uint8_t>(scan, state, indices, values, out, n, at, steps, rows);
    case DType::UInt16: return advance_extreme<uint16_t>(scan, state, indices, values, out, n, at, steps, rows);
    case DType::UInt32: return advance_extreme<uint32_t>(scan, state, indices, values, out, n, at, steps, rows);
    case DType::UInt64: return advance_extreme<uint64_t>(scan, state, indices, values, out, n, at, steps, rows);
    default: fail(ErrorKind::NotImplemented, "\"cummax_helper_cpu\" not implemented for '%s'", scalar_type_name(type));
    }
}

struct Pair {
    double re, im;
};

/// What a scan calls for each step, or null.
TileFunction step_function(Scan scan, DType type) {
    return scan == Scan::LogSumExp ? find_tile(Primitive::Logaddexp, is_complex(type) ? DType::Complex128 : DType::Float64).function
                                   : nullptr;
}
void advance_lines(Scan scan, DType type, TileFunction add, void* state, int64_t* indices, const void* values, void* out, int64_t n,
                   int64_t at) {
    bool first = at == 0;
    if (scan == Scan::Min || scan == Scan::Max) return advance_extremes(scan, type, state, indices, values, out, n, at, 1, nullptr);
    if (scan == Scan::LogSumExp) {
        // In double, whatever the value's dtype. A line starts with log 0.
        const bool pairs = is_complex(type), single = type == DType::Float32 || type == DType::Complex64;
        const int64_t parts = pairs ? 2 * n : n, whole = pairs ? n : (n + 3) & ~int64_t{3};
        double wide[2 * side_by_side];
        wide[0] = 0;
        double* s = static_cast<double*>(state);
        for (int64_t i = 0; i < parts; i++) {
            wide[i] = single ? static_cast<double>(static_cast<const float*>(values)[i]) : static_cast<const double*>(values)[i];
            if (first) s[i] = pairs && i % 2 ? 0.0 : -__builtin_inf();
        }
        for (int64_t i = n; i < whole; i++) wide[i] = s[i] = 0; // the part of a vector would be copied to and fro
        add(s, wide, s, nullptr, whole, 0);
        for (int64_t i = 0; i < parts; i++) {
            if (single) static_cast<float*>(out)[i] = static_cast<float>(s[i]);
            else static_cast<double*>(out)[i] = s[i];
        }
        return;
    }
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
            if (first) s[i] = scan == Scan::Sum ? Pair{x.re + 0.0, x.im + 0.0} : x; // the sum starts with 0, so -0 becomes 0
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
    if (out != values) std::memcpy(out, values, static_cast<size_t>(n) * item_size(type));
    find_column_scan(scan == Scan::Prod, type)(state, out, 1, n, first);
}

/// Of a single line: a row, and not a column.
Plane turned(const Plane& p) {
    return {p.to, p.from, {p.sizes[1], p.sizes[0]}, {p.to_strides[1], p.to_strides[0]}, {p.from_strides[1], p.from_strides[0]}};
}

/// Scans contiguous memory in place: squares of it are transposed so that lines are side by side, and transposed back.
void run_plain_scan(const LoopKernel& kernel, const LoopOperand& in, LoopOrder lines) {
    const LoopOperand *out = kernel.operands, *places = kernel.output_count == 2 ? kernel.operands + 1 : nullptr;
    const DType stored = in.type, type = value_type(stored); // half types are widened where they were copied to
    TileFunction open = is_narrow(stored) ? find_move(move_to_float(stored)) : nullptr;
    TileFunction close = is_narrow(stored) ? find_move(move_from_float(stored)) : nullptr;
    LoopKernel used = kernel; // without inputs that are never read
    LoopOperand operands[3] = {*out, in, places ? *places : in};
    used.operands = operands;
    used.output_count = 1;
    used.input_count = 2;
    merge_dims(lines, 0, lines.ndim, used);
    const int item = static_cast<int>(item_size(stored));
    const bool simple = !is_complex(type) && (kernel.scan == Scan::Sum || kernel.scan == Scan::Prod);
    const bool extreme = kernel.scan == Scan::Min || kernel.scan == Scan::Max;
    const int64_t length = kernel.sizes[kernel.scan_dim], across = lines.ndim ? lines.sizes[lines.ndim - 1] : 1;
    // Contiguous lines are as many streams to read and write. There are no more of them than lanes of a vector.
    const bool streams = simple && in.strides[kernel.scan_dim] == item;
    const int64_t together = !streams ? side_by_side : item < 4 ? 64 / item : 16;
    const int64_t blocks_across = (across + together - 1) / together;
    const TileFunction step = step_function(kernel.scan, type);
    PlaneCopy copy = find_plane_copy(item), copy_places = find_plane_copy(8);
    ColumnScan column_scan = simple ? find_column_scan(kernel.scan == Scan::Prod, type) : nullptr;
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
    if (places && !open && lines.ndim <= 1 && in.strides[kernel.scan_dim] == item && out->strides[kernel.scan_dim] == item &&
        places->strides[kernel.scan_dim] == 8) { // extremes of lines where they lie
        parallel(across, 1 + 16384 / length, [&](int64_t begin, int64_t end) {
            const auto at = [&](const LoopOperand& operand) { return static_cast<char*>(operand.data) + begin * stride(operand); };
            for (alignas(8) char best[8]; begin < end; begin++) {
                int64_t place;
                advance_extremes(kernel.scan, type, best, &place, at(in), at(*out), 1, 0, length, reinterpret_cast<int64_t*>(at(*places)));
            }
        });
        return;
    }
    parallel(lines.size / across * blocks_across, 1 + 16384 / (length * together), [&](int64_t begin, int64_t end) {
        RunArena arena;
        char *copied = arena.take<char>(most * item), *values = open ? arena.take<char>(most * 4) : copied,
             *state = arena.take<char>(side_by_side * 16);
        int64_t *indices = arena.take<int64_t>(side_by_side), *index_rows = places ? arena.take<int64_t>(most) : nullptr;
        for (int64_t block = begin; block < end; block++) {
            const int64_t first = block % blocks_across * together;
            const int64_t n = across - first < together ? across - first : together, steps = most / n;
            auto start = [&](const LoopOperand& operand) {
                char* at = static_cast<char*>(operand.data) + first * stride(operand);
                int64_t which = block / blocks_across;
                for (int d = lines.ndim - 2; d >= 0; which /= lines.sizes[d], d--)
                    at += which % lines.sizes[d] * operand.strides[lines.dims[d]];
                return at;
            };
            const char* from = start(in);
            char *to = start(*out), *to_places = places ? start(*places) : nullptr;
            const int64_t from_step = in.strides[kernel.scan_dim], to_step = out->strides[kernel.scan_dim];
            for (int64_t at = 0; at < length; at += steps) {
                const int64_t some = length - at < steps ? length - at : steps;
                const Plane plane{copied, from + at * from_step, {some, n}, {n * item, item}, {from_step, stride(in)}};
                copy(n == 1 ? turned(plane) : plane);
                if (open) open(values, copied, nullptr, nullptr, some * n, 0);
                if (simple) column_scan(state, values, some, n, at == 0);
                else if (extreme) advance_extremes(kernel.scan, type, state, indices, values, values, n, at, some, index_rows);
                else
                    for (int64_t k = 0; k < some; k++) {
                        char* row = values + k * n * static_cast<int64_t>(item_size(type));
                        advance_lines(kernel.scan, type, step, state, indices, row, row, n, at + k);
                    }
                if (close) close(copied, values, nullptr, nullptr, some * n, 0);
                const Plane back{to + at * to_step, copied, {some, n}, {to_step, stride(*out)}, {n * item, item}};
                copy(n == 1 ? turned(back) : back);
                if (places) {
                    const int64_t next = places->strides[kernel.scan_dim];
                    copy_places(
                        {to_places + at * next, reinterpret_cast<char*>(index_rows), {some, n}, {next, stride(*places)}, {n * 8, 8}});
                }
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
    if (kernel.ndim && stored == logical && !is_narrow(stored) && !extreme) { // the values first, and then the scan where they are
        LoopKernel values = kernel;
        values.scan = Scan::None;
        run(values);
        return run_plain_scan(kernel, *kernel.operands, lines);
    }
    // The scanned dimension is outside a block of lines.
    LoopOrder order;
    order.ndim = lines.ndim + (length != 1);
    order.size = lines.size * length;
    order.sizes = arena.take<int64_t>(order.ndim + 1);
    order.dims = arena.take<int>(order.ndim + 1);
    int shift = length != 1;
    if (shift) order.sizes[0] = length, order.dims[0] = kernel.scan_dim;
    for (int d = 0; d < lines.ndim; d++) order.sizes[d + shift] = lines.sizes[d], order.dims[d + shift] = lines.dims[d];

    const TileFunction step = step_function(kernel.scan, type);
    int64_t blocks = (lines.size + side_by_side - 1) / side_by_side;
    parallel(blocks, 1 + 16384 / (length * side_by_side), [&](int64_t begin, int64_t end) {
        RunArena own;
        TileRunner runner(program, order, kernel.operands + kernel.output_count, kernel.scalars, 256, TileRunner::AsTheyCome, own);
        Stream outputs[2];
        for (int k = 0; k < kernel.output_count; k++)
            outputs[k].set(kernel.operands[k].data, static_cast<int>(item_size(kernel.operands[k].type)), order.ndim, order.sizes,
                           ordered_strides(order, kernel.operands[k], own), own.take<int64_t>(3 * order.ndim + 1));
        alignas(64) char state[side_by_side * 16], values[side_by_side * 16], opened[side_by_side * 16], packed[side_by_side * 2];
        int64_t indices[side_by_side] = {};
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
                advance_lines(kernel.scan, type, step, state, indices, tile, values, n, at);
                const void* from = values;
                if (close) {
                    close(packed, values, nullptr, nullptr, n, 0);
                    from = packed;
                }
                outputs[0].seek(at * lines.size + first);
                outputs[0].scatter(from, n);
                if (extreme) {
                    outputs[1].seek(at * lines.size + first);
                    outputs[1].scatter(indices, n);
                }
            }
        }
    });
}

} // namespace kindling
