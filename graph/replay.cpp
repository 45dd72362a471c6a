// graph/replay.cpp: from a queue to loops over memory that is named by the place of an argument.
// Compiled for size.
#include "graph/replay.h"

#include <algorithm>

#include "graph/plan.h"

namespace kindling {

static constexpr size_t most_slots = 256, most_scalars = 256; // kept on the stack while it runs

Replay::Recorder::Recorder() : before_(thread_state.recording), include_(thread_state.include), own_(new Pending) {
    own_->takes_all_ = true;
    thread_state.recording = own_.get();
    thread_state.include |= key::Deferred;
}

Replay::Recorder::~Recorder() {
    thread_state.recording = before_;
    thread_state.include = include_;
    try {
        own_->run(true);
    } catch (...) { own_.release(); } // what is left waits for who reads it
}

std::unique_ptr<Replay> Replay::Recorder::finish(const std::vector<const TensorImpl*>& inputs,
                                                 const std::vector<const TensorImpl*>& outputs) {
    const RecordedLoops& recorded = own_->recorded_;
    if (recorded.loops.empty() || recorded.loops.size() != own_->recorded()) return nullptr; // some have run already
    auto replay = std::unique_ptr<Replay>(new Replay);
    std::vector<uint8_t> wanted;
    for (const Pending::Slot& slot : own_->slots_) {
        const auto place = [&](const std::vector<const TensorImpl*>& list) {
            return std::find_if(list.begin(), list.end(), [&](const TensorImpl* each) { return each->storage == slot.storage; });
        };
        const auto input = place(inputs), output = place(outputs);
        const bool given = input != inputs.end(), made = output != outputs.end();
        // A result that lies in an input's memory, and what is neither an input nor computed.
        if ((given && (made || slot.written)) || (!given && !slot.written) || (made && (*output)->offset)) return nullptr;
        Memory memory{Memory::Scratch, 0, 0, static_cast<int64_t>(slot.storage->bytes)};
        if (given)
            memory = {Memory::Input, static_cast<size_t>(input - inputs.begin()),
                      (*input)->offset * static_cast<int64_t>(item_size((*input)->dtype)), 0};
        if (made) memory = {Memory::Output, static_cast<size_t>(output - outputs.begin()), 0, 0};
        wanted.push_back(given || made);
        replay->memory_.push_back(memory);
    }
    for (const TensorImpl* each : outputs) {
        const auto holds = [&](const Pending::Slot& slot) { return slot.storage == each->storage; };
        if (std::none_of(own_->slots_.begin(), own_->slots_.end(), holds)) return nullptr;
        replay->outputs_.push_back({each->dtype, each->sizes().vec(), each->strides().vec()});
    }
    own_->recorded_.wanted = std::move(wanted);
    replay->plan_ = make_plan(recorded);
    for (const PlannedLoop& loop : replay->plan_->steps)
        if (loop.scalars.size() > most_scalars || own_->slots_.size() > most_slots) return nullptr;
    replay->scalars_ = recorded.scalars;
    return replay;
}

void Replay::run(const TensorImpl* const* inputs, Tensor* outputs) const {
    for (size_t i = 0; i < outputs_.size(); i++) outputs[i] = make_tensor(outputs_[i].sizes, outputs_[i].strides, outputs_[i].type);
    char* memory[most_slots];
    std::vector<Tensor> scratch;
    for (size_t slot = 0; slot < memory_.size(); slot++) {
        const Memory& each = memory_[slot];
        if (each.of == Memory::Scratch) {
            bool used = false;
            for (const PlannedLoop& loop : plan_->steps)
                for (const PlannedOperand& operand : loop.operands) used |= operand.slot == static_cast<int>(slot);
            if (!used) continue;
            scratch.push_back(make_tensor({each.bytes}, DType::UInt8));
            memory[slot] = static_cast<char*>(scratch.back().data());
        } else if (each.of == Memory::Output) {
            memory[slot] = static_cast<char*>(outputs[each.which].data());
        } else {
            const TensorImpl& input = *inputs[each.which];
            memory[slot] = static_cast<char*>(input.storage->data_to_read()) + input.offset * static_cast<int64_t>(item_size(input.dtype)) -
                           each.offset;
        }
    }
    for (const PlannedLoop& loop : plan_->steps) {
        LoopOperand operands[max_loop_operands];
        Immediate scalars[most_scalars];
        for (size_t i = 0; i < loop.operands.size(); i++) {
            const PlannedOperand& operand = loop.operands[i];
            operands[i] = {memory[operand.slot] + operand.offset, operand.type, loop.numbers.data() + operand.strides};
        }
        for (size_t i = 0; i < loop.scalars.size(); i++) scalars[i] = scalars_[loop.scalars[i]];
        kindling::run(loop.kernel(operands, scalars));
    }
}

} // namespace kindling
