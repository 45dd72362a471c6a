// kernels/loop.h: the loop kernel: an iteration space, strided reads, an expression, and writes, folds or scans.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "kernels/expression.h"

namespace kindling {

inline constexpr int max_loop_dims = 64;
inline constexpr int max_loop_operands = 64;

/// Memory of one output or input. Its dtype is the logical dtype of the expression's input or output (an output may
/// also be a half type where the value is float: the store rounds).
struct LoopOperand {
    void* data;
    DType type;
    const int64_t* strides;  // bytes, one per dimension of the iteration space; 0 repeats
};

/// How the values of one expression output are folded over the reduced dimensions. NaN wins in Min, Max, ArgMin and
/// ArgMax; ties give the first index, counted row-major over the reduced dimensions. Half types fold in float.
enum class Combine : uint8_t {
    Sum, Prod, Min, Max, Any, All,
    ArgMin, ArgMax,  // int64
    MeanVar,         // two values: the mean and the sum of squared differences from it, float64; not for complex
};

enum class Scan : uint8_t {
    None, Sum, Prod,
    Min, Max,        // two outputs: the value and the int64 index of the last element that equals it, as torch.cummax
    LogSumExp,
};

struct LoopKernel {
    const Expression* expression = nullptr;
    int ndim = 0;
    const int64_t* sizes = nullptr;
    int output_count = 0, input_count = 0;
    const LoopOperand* operands =
        nullptr;  // outputs, then inputs. Outputs may be inputs in place, not overlap otherwise
    const Immediate* scalars = nullptr;     // run-time scalar slots

    /// Bit d: dimension d is folded; outputs have stride 0 there. The order of the fold follows from the sizes of the
    /// reduced dimensions and the dtype alone.
    uint64_t reduced = 0;
    const Combine* combines = nullptr;      // one per output of the expression, if anything is folded
    /// Applied to what was folded: one input per folded value (MeanVar gives two), same scalars; its outputs are then
    /// the kernel's. Null: the folded values themselves are the outputs.
    const Expression* finish = nullptr;
    /// The finish may also read memory (strides as the outputs'): after the folded values come these inputs.
    int finish_input_count = 0;             // the last ones of `operands`

    /// Bit d: dimension d lies along the row, and this is a row kernel: RowSum and RowMax of the expression fold over
    /// these dimensions (in the order of any other fold), and what follows them goes over the row again while it is in
    /// cache. An output or input that is one number a row has stride 0 there. Outputs overlap no input.
    uint64_t row = 0;

    Scan scan = Scan::None;                 // along scan_dim, of the expression's one output
    int scan_dim = 0;
};

/// Runs the kernel. Sizes and strides are taken as checked.
void run(const LoopKernel& kernel);

/// The dtype a value is folded or scanned in, given the expression's output dtype.
DType accumulate_type(Combine combine, DType type);

}  // namespace kindling
