// graph/text.cpp: recordings and plans as text, for KINDLING_TRACE_GRAPH=FILE and the tests.
// Compiled for size.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/dtype.h"
#include "core/operator.h"
#include "graph/plan.h"

namespace kindling {
namespace {

std::string list(const int64_t* numbers, int count) {
    std::string text = "[";
    for (int i = 0; i < count; i++) text += (i ? ", " : "") + std::to_string(numbers[i]);
    return text + "]";
}

std::string dims(uint64_t mask) {
    std::string text;
    for (int d = 0; d < 64; d++)
        if (mask >> d & 1) text += (text.empty() ? "" : ", ") + std::to_string(d);
    return text;
}

std::string indented(const std::string& text) {
    std::string result = "    ";
    for (size_t i = 0; i < text.size(); i++) {
        result += text[i];
        if (text[i] == '\n' && i + 1 < text.size()) result += "    ";
    }
    return result.back() == '\n' ? result : result + "\n";
}

/// A loop's, or a step's: the rows, and then each operand's own dimensions.
std::string head(const char* kind, size_t which, const int64_t* sizes, int ndim, uint64_t reduced, uint64_t row) {
    std::string text = kind + std::string(" ") + std::to_string(which) + " over " + list(sizes, ndim);
    if (reduced) text += ", reduces " + dims(reduced);
    if (row) text += ", rows along " + dims(row);
    return text + "\n";
}

std::string operand(bool output, int64_t slot, DType type, int64_t offset, const int64_t* strides, int ndim) {
    return std::string(output ? "    writes " : "    reads  ") + "memory " + std::to_string(slot) + " as " + name(type) + " at " +
           std::to_string(offset) + ", strides " + list(strides, ndim) + "\n";
}

std::string told(const Blocks& blocks) {
    std::string text = std::to_string(blocks.first) + " to " + std::to_string(blocks.first + blocks.count - 1) + " together, " +
                       std::to_string(blocks.rows) + " rows in " + std::to_string(blocks.count_blocks()) + " blocks";
    for (size_t i = 0; i < blocks.locals.size(); i++)
        text += (i ? ", " : "; never as a whole: memory ") + std::to_string(blocks.locals[i].slot);
    return text + "\n";
}

/// Of one operand, an element that is read for many counts once.
int64_t strided_bytes(DType type, const int64_t* sizes, const int64_t* strides, int ndim) {
    int64_t bytes = static_cast<int64_t>(item_size(type));
    for (int d = 0; d < ndim; d++)
        if (strides[d] != 0) bytes *= sizes[d];
    return bytes;
}

} // namespace

int64_t bytes_of(const RecordedLoops& recorded) {
    int64_t bytes = 0;
    for (const RecordedLoop& loop : recorded.loops)
        for (int k = 0; k < loop.operand_count(); k++) {
            const RecordedLoops::Operand each = recorded.operand(loop, k);
            bytes += strided_bytes(each.type, recorded.sizes(loop), each.strides, loop.ndim);
        }
    return bytes;
}

int64_t PlannedLoop::bytes_of(const PlannedOperand& operand) const {
    return strided_bytes(operand.type, numbers.data(), numbers.data() + operand.strides, ndim);
}

int64_t bytes_of(const Plan& plan) {
    int64_t bytes = 0;
    for (const PlannedLoop& step : plan.steps)
        for (const PlannedOperand& each : step.operands) bytes += step.bytes_of(each);
    for (const Blocks& blocks : plan.blocks)
        for (size_t i = 0, at = 0; i < blocks.count; i++)
            for (const PlannedOperand& each : plan.steps[blocks.first + i].operands)
                if (blocks.cached[at++]) bytes -= plan.steps[blocks.first + i].bytes_of(each);
    return bytes;
}

std::string RecordedLoops::to_string() const {
    std::string text;
    for (size_t i = 0; i < loops.size(); i++) {
        const RecordedLoop& loop = loops[i];
        text += head(loop.step < 0 ? "loop" : steps[static_cast<size_t>(loop.step)].op->name(), i, sizes(loop), loop.ndim, loop.reduced,
                     loop.row);
        for (int k = 0; k < loop.operand_count(); k++) {
            const Operand each = operand(loop, k);
            text += kindling::operand(k < loop.output_count, each.slot, each.type, each.offset, each.strides, loop.ndim);
        }
        if (loop.expression) text += indented(loop.expression->to_string());
        if (loop.finish) text += "    then\n" + indented(loop.finish->to_string());
    }
    text += "held outside:";
    for (size_t slot = 0; slot < wanted.size(); slot++)
        if (wanted[slot]) text += " " + std::to_string(slot);
    return text + "\n";
}

std::string Plan::to_string(const std::vector<double>& seconds) const {
    std::string text;
    for (size_t i = 0; i < steps.size(); i++) {
        const PlannedLoop& step = steps[i];
        for (const Blocks& each : blocks)
            if (each.first == i) text += told(each);
        text += head(step.kind, i, step.numbers.data(), step.ndim, step.reduced, step.row);
        text += "    stands for";
        for (int loop : step.loops) text += " " + std::to_string(loop);
        if (i < seconds.size() && seconds[i] >= 0)
            text += "\n    took " + std::to_string(static_cast<int64_t>(seconds[i] * 1e6 + 0.5)) + " us";
        text += "\n";
        for (size_t k = 0; k < step.operands.size(); k++) {
            const PlannedOperand& each = step.operands[k];
            text += operand(static_cast<int>(k) < step.output_count, each.slot, each.type, each.offset, step.numbers.data() + each.strides,
                            step.ndim);
        }
        if (step.expression) text += indented(step.expression->to_string());
        if (step.finish) text += "    then\n" + indented(step.finish->to_string());
    }
    return text;
}

void trace_graph(const RecordedLoops& recorded, const Plan& plan) {
    const char* path = std::getenv("KINDLING_TRACE_GRAPH");
    if (!path || !*path) return;
    FILE* file = std::fopen(path, "a");
    if (!file) return;
    std::fprintf(file, "recorded\n%splan\n%s\n", recorded.to_string().c_str(), plan.to_string().c_str());
    std::fclose(file);
}

} // namespace kindling
