// script/run/small_group.h: operators in a row that compute elements of small tensors, run as the loops that they fuse to. Their calls
// would take longer than what they compute. Large tensors are left to the queue of the thread (graph/pending.h), which fuses further.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "graph/replay.h"
#include "script/run/instructions.h"

namespace kindling::script {

class SmallGroup {
public:
    static constexpr size_t fewest_nodes = 3, most_inputs = 16, most_outputs = 8;
    /// Whether a node may be in one: a scalar body of tensors and constants that looks at no value.
    static bool takes(const Node* node);

    /// What came in: of these dtypes, sizes and strides.
    struct Given {
        const TensorImpl* inputs[most_inputs];
        SmallVector<int64_t, 64> key;
    };
    /// False where the operators have to be called: a tensor is large or watched.
    bool look(const Item* const* inputs, size_t count, Given& given) const;
    /// What was kept for it; null if there is nothing. `record`: it has come by often enough to be recorded now.
    std::shared_ptr<const Replay> find(const Given& given, bool& record);
    /// Null: it could not be recorded.
    void keep(const Given& given, std::shared_ptr<const Replay> replay);

private:
    struct Variant {
        SmallVector<int64_t, 64> key;
        std::shared_ptr<const Replay> replay;
    };
    std::mutex lock_;
    std::vector<Variant> variants_;
    int seen_ = 0;
};

} // namespace kindling::script
