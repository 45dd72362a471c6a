// kernels/loop.h: the loop kernel: an iteration space, strided reads, an expression, and writes, reductions or scans.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "kernels/expression.h"

namespace kindling {

inline constexpr int max_loop_dims = 64;
inline constexpr int max_loop_operands = 64;

/// Memory of one output or input. Its dtype is the logical dtype of the expression's value. An output may also be a
/// half type where the value is float: the store rounds.
struct LoopOperand {
    void* data;
    DType type;
    const int64_t* strides; // bytes, one per dimension of the iteration space; 0 broadcasts
};

/// How the values of one expression output are reduced over the reduced dimensions. NaN wins in Min, Max, ArgMin and
/// ArgMax. Ties give the first index, counted row-major over the reduced dimensions. Half types are accumulated in
/// float.
enum class Combine : uint8_t {
    Sum,
    Prod,
    Min,
    Max,
    Any,
    All,
    ArgMin,
    ArgMax,  // int64
    MeanVar, // two values: the mean and the sum of squared differences from it, float64; not for complex
};

enum class Scan : uint8_t {
    None,
    Sum,
    Prod,
    Min,
    Max, // two outputs: the value and the int64 index of the last element that equals it, as torch.cummax
    LogSumExp,
};

struct LoopKernel {
    const Expression* expression = nullptr;
    int ndim = 0;
    const int64_t* sizes = nullptr;
    int output_count = 0, input_count = 0;
    const LoopOperand* operands = nullptr; // outputs, then inputs. An output may be an input in place, but not overlap one otherwise
    const Immediate* scalars = nullptr;    // run-time scalar slots

    /// Bit d: dimension d is reduced, and outputs have stride 0 there. The order of the reduction follows from the
    /// sizes of the reduced dimensions and the dtype alone.
    uint64_t reduced = 0;
    const Combine* combines = nullptr; // one per output of the expression, if there is a reduction
    /// The epilogue of a reduction: one input per reduced value (MeanVar gives two), the same scalars. Its outputs are
    /// the kernel's. Null: the reduced values are the outputs.
    const Expression* finish = nullptr;
    /// The epilogue may also read memory, with the outputs' strides. These inputs come after the reduced values.
    int finish_input_count = 0; // the last ones of `operands`

    /// Bit d: dimension d lies along the row, and this is a row kernel. RowSum and RowMax of the expression reduce over
    /// these dimensions, in the order of any other reduction. What follows them makes another pass over the row while
    /// it is in cache. Row-invariant outputs and inputs have stride 0 there. Outputs overlap no input.
    uint64_t row = 0;

    Scan scan = Scan::None; // along scan_dim, of the expression's one output
    int scan_dim = 0;
};

/// Runs the kernel. Sizes and strides must have been checked.
void run(const LoopKernel& kernel);

/// The dtype in which values of this dtype are accumulated.
DType accumulate_type(Combine combine, DType type);

} // namespace kindling
