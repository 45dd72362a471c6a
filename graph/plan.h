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

/// One loop to run.
struct PlannedLoop {
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

struct Plan {
    std::vector<int64_t> key;
    uint64_t hash = 0;
    std::vector<PlannedLoop> steps;
    /// With how long each loop took, where that is known.
    std::string to_string(const std::vector<double>& seconds = {}) const;
};

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
