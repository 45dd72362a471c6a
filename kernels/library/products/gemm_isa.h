// kernels/library/products/gemm_isa.h: the float and double matrix product on one thread, built once for each instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// out = alpha * (a @ b) + beta * c, one matrix. Strides count elements; c may be null, or be out.
template <class T> struct GemmPart {
    int64_t m, n, k;
    const T* a;
    int64_t a_row, a_column;
    const T* b;
    int64_t b_row, b_column;
    T* out;
    int64_t out_row, out_column;
    const T* c;
    int64_t c_row, c_column;
    T alpha, beta;
    bool may_dot;        // the whole product has few rows, so columns of b may be dotted one by one
    int64_t b_panel = 0; // as in Gemm
};

/// How many products, and from the operands of one to those of the next.
struct GemmBatch {
    int64_t count = 1, a = 0, b = 0, out = 0, c = 0;
};

struct GemmSteps {
    void (*gemm_float)(const GemmPart<float>& part, const GemmBatch& batch);
    void (*gemm_double)(const GemmPart<double>& part, const GemmBatch& batch);
    int panel_bytes; // of a row of a panel
    /// Packs columns [0, n) of k rows of b as panels: of float, of double.
    void (*pack[2])(void* to, const void* b, int64_t b_row, int64_t b_column, int64_t k, int64_t n);
    /// As turn_numbers (gemm.h).
    void (*turn[2])(void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t rows, int64_t count);
};

namespace isa_baseline { extern const GemmSteps gemm_steps; }
namespace isa_avx2 { extern const GemmSteps gemm_steps; }
namespace isa_avx512 { extern const GemmSteps gemm_steps; }

} // namespace kindling::library
