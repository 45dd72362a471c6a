// graph/replay.h: loops that were recorded once, to be run again over other memory, without a call of an operator.
#pragma once
#include <memory>
#include <vector>

#include "core/tensor.h"
#include "graph/pending.h"

namespace kindling {

class Replay {
public:
    /// Runs `body`, which computes `outputs` from `inputs` by scalar bodies alone, and keeps what it did. Null where that is not all: a
    /// loop has run already, reads something else, or gives what lies in an input's memory. `outputs(i)` is asked when the body has run.
    template <class Body, class Outputs>
    static std::unique_ptr<Replay> record(const std::vector<const TensorImpl*>& inputs, size_t output_count, Body&& body,
                                          Outputs&& outputs) {
        Recorder recorder;
        body();
        std::vector<const TensorImpl*> made;
        for (size_t i = 0; i < output_count; i++) made.push_back(outputs(i));
        return recorder.finish(inputs, made);
    }
    /// Over inputs of the dtypes, sizes and strides of those that were recorded. Those that shared memory then share it now, and lie as far
    /// from one another. The outputs are new.
    void run(const TensorImpl* const* inputs, Tensor* outputs) const;

private:
    /// While in scope the thread's loops go into a queue of its own, however small they are.
    class Recorder {
    public:
        Recorder();
        ~Recorder();
        std::unique_ptr<Replay> finish(const std::vector<const TensorImpl*>& inputs, const std::vector<const TensorImpl*>& outputs);

    private:
        Pending* before_;
        uint32_t include_;
        std::unique_ptr<Pending> own_;
    };
    struct Memory {
        enum Of : uint8_t { Input, Output, Scratch } of;
        size_t which;   // input or output
        int64_t offset; // of that when it was recorded
        int64_t bytes;  // of scratch memory
    };
    struct Made {
        DType type;
        std::vector<int64_t> sizes, strides;
    };
    std::shared_ptr<const Plan> plan_;
    std::vector<Memory> memory_; // by slot
    std::vector<Immediate> scalars_;
    std::vector<Made> outputs_;
};

} // namespace kindling
