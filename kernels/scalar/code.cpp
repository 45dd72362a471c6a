// kernels/scalar/code.cpp: from a function to what runs it.
#include "kernels/scalar/code.h"

#include <time.h>

#include "kernels/isa.h"
#include "kernels/scalar/interpreter.h"
#include "kernels/scalar/machine.h"
#include "kernels/scalar/passes.h"
#include "runtime/threads.h"

namespace kindling::scalar {

namespace {

int64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/// Asking costs some tens of nanoseconds, so 64k rounds hide it; fewer where rounds are slow.
int64_t hear(Asker* asker) noexcept {
    Ears* ears = static_cast<Ears*>(asker);
    const int64_t time = now(), passed = time - ears->last;
    ears->last = time;
    if (passed < 10 && ears->interval < 1 << 16) ears->interval *= 2;
    else if (passed > 30) ears->interval = ears->interval * 20 / passed + 1;
    ears->counter = ears->interval;
    try {
        hear_signals();
    } catch (...) {
        ears->error = std::current_exception();
        return 1;
    }
    return 0;
}

int32_t may_fail(const Function& function) {
    for (const BasicBlock& block : function.blocks) {
        if (block.kind == BasicBlock::Leave && function.exits[block.exit].code) return function.exits[block.exit].code;
        for (uint32_t id : block.nodes)
            if (function.nodes[id].op == Op::Index || function.nodes[id].op == Op::Check)
                return function.exits[function.nodes[id].extra].code;
    }
    return 0;
}

} // namespace

Ears::Ears() {
    ask = hear;
    last = now();
}

std::unique_ptr<Code> compile(Function&& function, const Options& options) {
    if (options.trace) *options.trace += options.text(function);
    tidy(function);
    if (options.optimise) optimise_first(function);
    const auto native = [&](Function& made) -> std::unique_ptr<Code> {
        if (options.optimise) optimise_last(made);
        split_edges(made);
        use_checked(made);
        if (options.trace) *options.trace += "\n" + options.text(made) + "\n";
        if (options.report) options.report->fails = may_fail(made);
        return options.native ? machine_code(made, options) : nullptr;
    };
    std::string why = "there is no machine code here";
    if (options.optimise && options.native && options.widen && isa() != Isa::Baseline) {
        why.clear();
        if (const std::unique_ptr<Function> wide = widen(function, &why)) {
            tidy(*wide);
            merge_values(*wide);
            tidy(*wide);
            hoist(*wide, true);
            if (std::unique_ptr<Code> code = native(*wide)) return code;
            why = "its vectors need more registers than there are";
        } else if (why.empty()) {
            why = "it has no loop";
        }
    }
    if (options.report) options.report->narrow = why;
    if (std::unique_ptr<Code> code = native(function)) return code;
    return interpreted(function, options);
}

} // namespace kindling::scalar
