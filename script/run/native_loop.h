// script/run/native_loop.h: loops over numbers and elements of tensors as machine code (kernels/scalar). A loop is lowered when it runs,
// for the dtypes and dimensions of the tensors that it meets; what does not fit is left to the interpreter.
#pragma once
#include <memory>
#include <mutex>

#include "kernels/scalar/code.h"
#include "script/run/made_lists.h"
#include "script/run/run.h"

namespace kindling::script {

/// Why a loop left before its end, and which node failed.
struct LoopFailure {
    const Node* node = nullptr;
    ErrorKind kind = ErrorKind::Runtime;
    std::string message, qualified;
    bool raised = false;
};

/// What comes out of lowering a loop for one kind of arguments.
struct LoweredLoop {
    std::unique_ptr<scalar::Code> code; // null: `why` says what stood against it
    std::string why;
    const Node* where = nullptr;

    /// What stands in the slots at an exit: `values` of its own, then one for each kept tensor, then the counts of writes.
    struct Exit {
        enum Kind : uint8_t { End, Interrupted, Raised, OutOfRange, Message, Builtin, Thrown } kind = End;
        const Node* node = nullptr;
        std::string text, qualified;
        std::string values;                // 'i', 'f' or 'b' each
        size_t tensor = 0, dimension = 0;  // OutOfRange
        script::Builtin builtin = nullptr; // Builtin: called again with the values, for what it says
    };
    std::vector<Exit> exits;      // by code
    std::string outputs;          // 'i', 'f', 'b'; 'l': a list; '=': that input; a DType: a new tensor of no dimension
    std::vector<size_t> kept;     // tensors of no dimension that live in registers: written back at the end
    std::vector<size_t> written;  // tensors whose writes are counted
    bool divides = false;         // parts may run at the same time; it takes the first round and the one behind the last
    std::string narrow, together; // why no rounds run in vector lanes, in threads; "" where they may
};

/// The dtypes whose elements loops compute with.
constexpr bool loops_know(DType dtype) {
    return dtype == DType::Bool || dtype == DType::UInt8 || (dtype >= DType::Int8 && dtype <= DType::Int64) || dtype == DType::Float32 ||
           dtype == DType::Float64;
}

/// The dtype of the numbers in a list, or in the lists of a list, that loops read and write in place; DType::None of other types.
DType listed(TypeRef type);

/// What is known of a tensor that comes in.
struct TensorFacts {
    DType dtype;
    int ndim;
    bool unit; // the last stride is 1
    // Equal sizes, of any tensors, have equal numbers; below 0 where a row is too long to be computed with (`uses_rows`). A number that was
    // read from a size before the loop, or made of one and a constant, and is that still, has one as well.
    std::vector<int> sizes;
    int64_t plus = 0;            // what such a number has more than the size
    TypeRef type = nullptr;      // what came in, where the program says Optional
    const Item* known = nullptr; // a text, or None: the code is for this value
};
inline constexpr int64_t longest_row = 256;
inline constexpr int64_t most_rounds = int64_t{1} << 60; // and elements along a dimension: sums of these do not wrap

/// Whether a predicate holds for any node in the blocks of one, at any depth.
template <class F> bool any_inside(const Node* outer, F holds) {
    for (const Block* block : outer->blocks)
        for (const Node* node = block->first(); node != block->end; node = node->next)
            if (holds(node) || any_inside(node, holds)) return true;
    return false;
}

/// Whether a loop computes with rows of tensors (`a[i, :]`), not with elements alone: then sizes are looked at.
bool uses_rows(const Node* loop);

/// Lowers a loop for tensors like these, in the order of `inputs`; others have no facts. `apart`: no two share memory.
LoweredLoop lower_loop(const Node* loop, const std::vector<const Value*>& inputs, const std::vector<TensorFacts>& facts, bool apart);

class NativeLoop {
public:
    static std::shared_ptr<NativeLoop> make(const Node* loop);
    /// Whether it can't become machine code, whatever comes in: it is here for its report.
    bool never() const { return never_; }
    bool is_around(const NativeLoop& other) const;

    const std::vector<const Value*>& inputs() const { return inputs_; }
    /// Runs the loop. False: it has to be interpreted, and nothing was done. Throws LoopFailure.
    bool run(const Item* const* inputs, Item* outputs);
    /// What became of it the last time.
    LoopReport report();

private:
    void note(const std::string& why, std::shared_ptr<LoweredLoop> ran = nullptr, const char* alone = "");
    /// The lock; not held where a thread held it that a fork of the process left behind.
    std::unique_lock<std::mutex> hold();
    struct Variant {
        std::string key;
        std::shared_ptr<LoweredLoop> loop;
    };

    const Node* loop_ = nullptr;
    std::vector<const Value*> inputs_;
    size_t most_ = 0, condition_ = 0; // among the inputs; SIZE_MAX: a constant
    bool rows_ = false, never_ = false;
    int64_t looked_at_ = 64; // so many items of lists may be looked at for each round: a loop inside another is worth more
    std::vector<const kindling::Operator*> operators_; // that its lines call
    std::vector<size_t> carried_;
    std::vector<Item> constants_; // of carried inputs that are constants
    std::mutex lock_;
    std::atomic<uint32_t> held_in_{0}; // by which process, as `forks` counts
    std::vector<Variant> variants_;
    std::string why_ = "it has not run long enough";
    std::shared_ptr<LoweredLoop> ran_; // the last time, and why in one thread, if not by what it is
    const char* alone_ = "";
    int64_t seen_ = 0; // rounds, up to where lowering pays
};

} // namespace kindling::script
