// core/operator.h: an operator at run time. Everything here is computed from its one declaration (operators/declare.h).
#pragma once
#include <atomic>

#include "core/export.h"
#include "core/schema.h"
#include "core/value.h"

namespace KINDLING_VISIBLE kindling {

struct Operator;
using Kernel = void (*)(const Operator& op, Value* arguments, Value* results);

enum class Body : uint8_t {
    Pointwise,   // a scalar body: loop kernel, derivative computed
    Composition, // an ordinary function over tensors; layers below autograd see its parts
    Kernel,      // library or algorithm kernel
    View,        // shares its first argument's storage
};
enum class Form : uint8_t { Functional, Inplace, Out };

/// How a scalar body's operand and result types come from its arguments.
enum class Promotion : uint8_t {
    Default,     // torch.result_type
    IntToFloat,  // integers and bool become the default dtype first (exp, div)
    Same,        // no promotion: all tensors share one dtype already, or the first decides
    WithScalars, // Default, and Scalar arguments take part (as they always do in overloads named after Scalar)
    Condition,   // Default, but for the first argument, a mask
    Free,        // the body converts its operands itself
};

/// What an operator's declaration says of it, a bit for each: the order here numbers them.
#define KINDLING_TRAITS(TRAIT)                                                                                                             \
    TRAIT(Random)            /* draws from a generator */                                                                                  \
    TRAIT(ShapeByValue)      /* the result's shape depends on values (nonzero, unique) */                                                  \
    TRAIT(RaisesByValue)     /* may raise because of values (cholesky, multinomial) */                                                     \
    TRAIT(NotDifferentiable) /* results never require grad (comparisons, argmax) */                                                        \
    TRAIT(NoDerivative)      /* results require grad as arguments do, and going backward raises */                                         \
    TRAIT(NumberByValue)     /* gives a number or a bool that depends on values (item, equal) */                                           \
    TRAIT(Linear)      /* in all its differentiable tensors together, with real factors; other arguments fixed. Every view is; not said of \
                          scalar bodies */                                                                                                 \
    TRAIT(Multilinear) /* in each of them alone: its tangent is the sum of itself with one tangent at a time */                            \
    TRAIT(Atomic)      /* a composition that autograd and modes see as one operator (it has a derivative) */                               \
    TRAIT(NoInplace)                                                                                                                       \
    TRAIT(Inplace) /* has an in-place form though it is not pointwise */                                                                   \
    TRAIT(NoOut)                                                                                                                           \
    TRAIT(Out)               /* has an out= form though its name is private, or though its result is a list */                             \
    TRAIT(OutApart)          /* what it writes must not share memory with an argument, but for self in place */                            \
    TRAIT(WritesCopy)        /* its body writes to what copy_to_write (operators/forms.h) gives it */                                      \
    TRAIT(TakesExpanded)     /* its in-place form writes to expanded tensors too, with PyTorch's warning that it will not */               \
    TRAIT(KeepsHistory)      /* its in-place form leaves self's history as it was, and leaves may be written to (logical_not_) */          \
    TRAIT(KeepsConj)         /* handles lazily conjugated or negated arguments itself */                                                   \
    TRAIT(OutKeepsShape)     /* its out= keeps its shape if that has as many elements (linspace) */                                        \
    TRAIT(OwnNumbers)        /* a scalar body's numbers are first rounded to the operands' dtype, where that is a half type */             \
    TRAIT(WideSecond)        /* a number as second operand is not rounded to a half type that is computed in */                            \
    TRAIT(KeepsNumber)       /* a number as operand is kept for backward as PyTorch keeps it, as a tensor: it goes backward once */        \
    TRAIT(Rows)              /* a scalar body whose results lie in rows, however its operands lie, */                                      \
    TRAIT(ComplexRows)       /*   or those of complex operands do (angle) */                                                               \
    TRAIT(TakesFloat8)       /* runs with eight-bit floating dtypes: it moves or casts them, or compares their values */                   \
    TRAIT(TensorOnlyNumbers) /* a Python number may stand for some of its Tensors, without a Scalar overload */                            \
    TRAIT(NumberLast)        /* the same, but not for the first */                                                                         \
    TRAIT(TakesSparse)       /* its body knows sparse tensors */                                                                           \
    TRAIT(AutocastLower)     /* under autocast: in the autocast dtype (matmul, conv), */                                                   \
    TRAIT(AutocastFloat)     /*   in float32 (losses), */                                                                                  \
    TRAIT(AutocastPromote)   /*   in the widest dtype of its arguments (cat) */                                                            \
    TRAIT(ByLoops)           /* a kernel that touches no memory: it makes or copies headers, whatever is put off */                        \
    TRAIT(ByParts)           /* a kernel whose computing half fills and copies parts of memory alone (operators/parts.h) */                \
    TRAIT(ByRows)            /* a kernel whose computing half may run on some rows of its result at a time, and later (graph/step.h) */    \
    TRAIT(BySlices)          /* a composition that reads values: batched tensors go through it one slice after another */                  \
    TRAIT(GivesSelf)         /* writes lists in place and has no result: Python gets the first list back */                                \
    TRAIT(AnyDevice)         /* gives or changes headers and fresh memory alone (empty, resize_) */                                        \
    TRAIT(ByHost)            /* runs on the host where a plug-in's device has no kernel for it (copy_) */                                  \
    TRAIT(Broadcasts)        /* its tensors broadcast as those of a scalar body do, though it has none (copy_) */

namespace trait {
enum class Place : uint32_t {
#define TRAIT(name) name,
    KINDLING_TRAITS(TRAIT)
#undef TRAIT
        End
};
enum : uint64_t {
#define TRAIT(name) name = uint64_t{1} << static_cast<uint32_t>(Place::name),
    KINDLING_TRAITS(TRAIT)
#undef TRAIT
};
static_assert(static_cast<uint32_t>(Place::End) <= 64);
} // namespace trait

/// Kinds of dtype, as kernels are there or not for all of one.
namespace kind {
enum : uint32_t {
    Bool = 1,
    Int = 2,
    Unsigned = 4 /* 16, 32 and 64 bits */,
    Half = 8,
    Float = 16,
    Complex = 32,
    Floats = Half | Float,
    Integers = Int | Unsigned,
    All = 63
};
}
constexpr uint32_t kind_of(DType dtype) {
    switch (dtype) {
    case DType::Bool: return kind::Bool;
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64: return kind::Unsigned;
    case DType::Float16:
    case DType::BFloat16: return kind::Half;
    case DType::Float32:
    case DType::Float64: return kind::Float;
    case DType::Complex64:
    case DType::Complex128: return kind::Complex;
    default: return kind::Int;
    }
}

/// What dtype a tensor may have that is given for the result, by out= or in place. Whoever declares nothing is Castable with a
/// scalar body, Same with any other, Decides where it makes tensors from nothing.
enum class OutDType : uint8_t {
    Castable, // any that the result can be cast to: no complex into real, no float into integral, nothing but bool into bool
    Joined,   // the same, but what it cannot be cast to is a TypeError (cat)
    Floats,   // any that is floating (irfft)
    Truth,    // bool or uint8 (all, any)
    Same,     // the result's very dtype
    Decides,  // the same; and where the call names no dtype, this is the one that it computes in (sum, cumsum, zeros)
};

/// One `derivative(targets, GIVEN(...) {...})`: gradients of some arguments, and the names it wants saved for that.
struct Derivative {
    const char* targets; // "self" or "input, weight, bias"
    const char* given;   // "Tensor grad, Tensor result, int64_t dim": the lambda's own parameter list
    void (*apply)(const Value* given, uint64_t wanted, Tensor* gradients);
};

/// `raises_by_value(GIVEN(...) {...})`: raises what a call would raise because of values, and reads no others than those it names.
struct ValueCheck {
    const char* given;
    void (*apply)(const Value* given);
};

class Sym;
class ExpressionBuilder;
/// Builds a scalar body's expression; arguments by schema position (kernels/symbol.h).
using ScalarBuild = void (*)(ExpressionBuilder& builder, const Sym* arguments);

// A kernel in two halves (operators/kernel.h).
class KernelCall;
class Array;
/// Fills `call` in from the arguments' headers: results, and what is read.
using ResultRule = void (*)(const Value* arguments, KernelCall& call);
/// Computes: inputs in the order in which the rule reads them, then results.
using Compute = void (*)(const void* plan, const Array* arrays, Span<Array> list, void* workspace);
/// Between the two, where shapes follow from values: reads the inputs, keeps in the plan what it found, says what the results are.
using Measure = void (*)(void* plan, KernelCall& call, const Array* arrays);
/// Kernels whose computing half is a loop over an expression.
enum class LoopKind : uint8_t { None, Elements, Reduction, Rows, Scan };

/// Where a kernel that was added at run time serves.
enum class Layer : uint8_t { CPU, Meta, Explicit, Implicit, Autograd, Private, Private2, Private3, Other, Sparse, SparseCompressed };
inline constexpr int layer_count = static_cast<int>(Layer::SparseCompressed) + 1;
/// Kernels added to an operator by torch.library or a plug-in, by layer. Made for the few operators that have any.
struct AddedKernels {
    Kernel original = nullptr; // of a built-in operator; null for one that was registered at run time
    struct {
        Kernel kernel = nullptr;
        void* context = nullptr;
    } layers[layer_count];
};

struct Operator {
    const Schema* schema = nullptr;
    Kernel kernel = nullptr;
    Kernel functional_kernel = nullptr; // of in-place and out forms: the functional form's own kernel
    // The functional form (itself if it is one). What exists in place only (copy_, fill_) is its own: form Inplace, with
    // derivatives of its own.
    const Operator* functional = nullptr;
    Body body = Body::Kernel;
    Form form = Form::Functional;
    Promotion promotion = Promotion::Default;
    DType result_dtype = DType::None; // a scalar body's fixed result dtype, if any
    OutDType out_dtype = OutDType::Same;
    uint64_t flags = 0;
    uint8_t node_number = 0;           // what its autograd node's name ends in: AddBackward1
    uint8_t no_kernel = 0;             // the kinds of dtype that it has no kernel for
    uint16_t index = 0;                // generated operator number; 0xffff: registered at run time
    uint8_t draws = 0, wide_draws = 0; // words of 32 bits for each number of the first result; of 8-byte ones. 0: values or numbers say
    uint8_t scalar_arity = 0;          // parameters of the scalar body
    bool composite = false;            // autograd, modes and subclasses see through it
    uint8_t tensor_count = 0;          // single Tensor arguments: their positions
    uint8_t list_count = 0;            // Tensor list arguments
    uint8_t device_position = 0xff;    // of a factory: where its Device argument is
    uint8_t dtype_position = 0xff;     // where its ScalarType argument is
    uint8_t layout_position = 0xff;    // of a factory: where its Layout argument is
    bool has_options = false;          // whether it has a Device or ScalarType argument
    uint8_t tensor_positions[16];
    uint8_t list_positions[4];
    ScalarBuild scalar_build = nullptr; // of a loop kernel: what it computes of the inputs
    ResultRule rule = nullptr;          // of a kernel in two halves
    Compute compute = nullptr;          //   of a library kernel
    Compute pack = nullptr;             //   by rows: makes of what all rows read what each run reads faster
    Measure measure = nullptr;          //   whose results' shapes follow from values: reads them, says what the results are
    ScalarBuild finish_build = nullptr; //   of a reduction: what it makes of the reduced values
    Kernel otherwise = nullptr;         //   what runs where its rule declines
    LoopKind loop = LoopKind::None;
    uint8_t finish_arity = 0;
    Kernel batch = nullptr; // what it does to batched tensors, if that is written down (operators/batching.h)
    Kernel check = nullptr; // of a scalar body: refuses combinations of dtypes and of kinds of numbers
    const Derivative* derivatives = nullptr;
    uint8_t derivative_count = 0;
    const Derivative* forward = nullptr; // its tangents, where they are written down
    const ValueCheck* value_check = nullptr;
    const char* doc = "";
    mutable std::atomic<void*> plans{nullptr}; // the loop kernels made of the scalar body so far
    mutable std::atomic<void*> autograd_plan{nullptr};
    mutable void* python = nullptr; // the OpOverload object
    void* context = nullptr;        // of operators registered at run time
    mutable std::atomic<AddedKernels*> added{nullptr};

    const char* name() const { return schema->name; }
    const char* overload() const { return schema->overload; }
    size_t argument_count() const { return schema->arguments.size(); }
    bool has(uint64_t f) const { return flags & f; }
};

/// Whether an operator's check of values reads the values of this argument.
bool checks_value(const Operator& op, int argument);
/// Raises what a call with these arguments raises because of values, where the declaration has a check for that.
void check_values(const Operator& op, const Value* arguments);

/// The operator behind a generated number; loads its family at first use (an inline check afterwards).
const Operator& load_operator(uint16_t index);
extern const Operator* operator_table[];
inline const Operator& operator_at(uint16_t index) {
    const Operator* op = __atomic_load_n(&operator_table[index], __ATOMIC_ACQUIRE); // another thread may be loading it
    return op ? *op : load_operator(index);
}
/// All forms and overloads called `name` ("add", "add_", "linalg_qr"); empty if there are none.
struct OverloadSet {
    const Operator* const* operators;
    int count;
    uint32_t namespaces;
};
bool find_operators(const char* name, size_t length, OverloadSet& result);
/// One overload by its full name "add.Tensor", "add_.Tensor", "add.out"; null if there is none.
const Operator* find_operator(const char* name, const char* overload);
/// Calls `visit` with every built-in name, sorted.
void for_each_operator_name(void (*visit)(void* context, const char* name, uint32_t namespaces), void* context);
/// Adds an operator beside the tables (torch.library, plug-ins). Its call costs what a built-in's costs.
void register_operator(Operator* op, uint32_t namespaces);

/// Where Python finds an operator.
namespace space {
enum : uint32_t {
    Torch = 1,
    Method = 2,
    Nn = 4,
    Linalg = 8,
    Fft = 16,
    Special = 32,
    Hidden = 64,
    Sparse = 128,
    Ops = 256
}; // torch.ops, where every operator is
}

} // namespace kindling
