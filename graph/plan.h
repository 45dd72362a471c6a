// graph/plan.h: which loops of a recording become one, in which order. A plan names slots, never memory.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graph/pending.h"

namespace kindling {

struct PlannedOperand {
    int slot;
    DType type;
    int64_t offset;
    uint32_t strides;
};

/// One loop to run, or a step.
struct PlannedLoop {
    int step = -1; // of the recording; -1: a loop
    const char* kind = "loop";
    std::shared_ptr<const Expression> own; // a fused expression; that of a loop that stayed alone is the operator's
    const Expression* expression = nullptr;
    const Expression* finish = nullptr;
    std::shared_ptr<const Expression> own_finish;
    int ndim = 0, output_count = 0, input_count = 0, finish_input_count = 0;
    int64_t size = 1; // elements of the space
    uint64_t reduced = 0, row = 0;
    Combine combines[5] = {};
    std::vector<int64_t> numbers;         // sizes, then strides of each operand
    std::vector<PlannedOperand> operands; // outputs, then inputs
    std::vector<uint32_t> scalars;        // for each run-time scalar: which of the recording's
    std::vector<int> loops;               // of the recording, that this one stands for
    std::vector<int> last_use;            // slots that no later loop needs

    /// Of one operand: an element that is read for many counts once.
    int64_t bytes_of(const PlannedOperand& operand) const;
    LoopKernel kernel(const LoopOperand* memory, const Immediate* numbers) const {
        LoopKernel made{.expression = expression,
                        .ndim = ndim,
                        .sizes = this->numbers.data(),
                        .output_count = output_count,
                        .input_count = input_count,
                        .operands = memory,
                        .scalars = numbers,
                        .row = row};
        if (reduced) made.reduced = reduced, made.combines = combines, made.finish = finish, made.finish_input_count = finish_input_count;
        return made;
    }
};

/// Consecutive loops and steps that run together, some rows at a time: what one of them writes is in the cache when the next reads it.
struct Blocks {
    /// Memory that nobody sees but they. It has room for the rows of one block, at `place` in the thread's scratch memory.
    struct Local {
        int slot;
        int64_t pitch, lowest; // bytes: of a row, and of the first one's first element
        size_t place;
    };
    size_t first = 0, count = 0; // which
    int64_t rows = 0, block = 0; // all of them; so many at once, or a few more
    /// Of each operand of each of them: whether it comes from the cache, as the block has read or written it before.
    std::vector<uint8_t> cached;
    std::vector<Local> locals;
    size_t scratch = 0; // bytes of all locals
    int64_t packed = 0; // bytes that its steps pack
    int64_t unit = 1;   // blocks are multiples of it
    int64_t most = 0;   // blocks; with more some would have too few rows
    /// How many blocks so many threads share: about as many as there are, and as many for each.
    int64_t count_blocks(int64_t threads = 1) const {
        const int64_t wanted = rows / block, whole = wanted < 4 * threads ? threads : 4 * threads,
                      even = (wanted + whole - 1) / whole * whole;
        return even > most ? wanted : even;
    }
    int64_t begin(int64_t which, int64_t count) const { return which == count ? rows : rows * which / count / unit * unit; }
};

struct Plan {
    std::vector<int64_t> key;
    uint64_t hash = 0;
    std::vector<PlannedLoop> steps;
    std::vector<Blocks> blocks;
    /// With how long each loop took, where that is known.
    std::string to_string(const std::vector<double>& seconds = {}) const;
};

/// Says which of the plan's loops and steps run block by block.
void find_blocks(const RecordedLoops& recorded, Plan& plan);
/// Fuses. Loops whose results nobody wants are left out.
std::unique_ptr<Plan> make_plan(const RecordedLoops& recorded);

/// The bytes that all loops read and write.
int64_t bytes_of(const RecordedLoops& recorded);
int64_t bytes_of(const Plan& plan);
/// Adds both as text to the file that KINDLING_TRACE_GRAPH names, when a plan is made.
void trace_graph(const RecordedLoops& recorded, const Plan& plan);

/// An expression that is kept under what it computes: the same one for every plan, so that machine code is made once.
std::shared_ptr<const Expression> keep_expression(Expression&& expression);

} // namespace kindling
