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

bool may_fail(const Function& function) {
    for (const BasicBlock& block : function.blocks) {
        if (block.kind == BasicBlock::Leave && function.exits[block.exit].code) return true;
        for (uint32_t id : block.nodes)
            if (function.nodes[id].op == Op::Index || function.nodes[id].op == Op::Check) return true;
    }
    return false;
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
        if (options.fails) *options.fails = may_fail(made);
        return options.native ? machine_code(made, options) : nullptr;
    };
    if (options.optimise && options.native && options.widen && isa() != Isa::Baseline)
        if (const std::unique_ptr<Function> wide = widen(function)) {
            tidy(*wide);
            merge_values(*wide);
            tidy(*wide);
            hoist(*wide, true);
            if (std::unique_ptr<Code> code = native(*wide)) return code;
        }
    if (std::unique_ptr<Code> code = native(function)) return code;
    return interpreted(function, options);
}

} // namespace kindling::scalar
