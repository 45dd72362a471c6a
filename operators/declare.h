// operators/declare.h: how an operator is declared. A declaration is one call
//
//     declare("name.overload(Tensor self, ...) -> Tensor")({doc("..."), <body>, <derivative>..., <facts>...});
//
// inside a family, `OPERATORS(family) { ... }`, one family per file. Families run when one of their operators is first
// used, so a declaration costs nothing at load: no relocation, no constructor, no registration.
// The build reads the same text for the index, the C++ functions, the stubs and the docs; it refuses a declaration that
// leaves a question open (no doc, no body, neither derivative nor `not_differentiable`).
#pragma once
#include <tuple>
#include <utility>

#include "core/operator.h"
#include "core/shape.h"
#include "kernels/symbol.h"
#include "operators/boxed.h"
#include "operators/kernel.h"

namespace kindling {

struct Field {
    enum class Kind : uint8_t {
        Doc,
        In,
        Pointwise,
        Body,
        Kernel,
        Loop,
        Pack,
        Otherwise,
        Batches,
        Derivative,
        Flag,
        Takes,
        Promotion,
        ResultDType,
        OutDType,
        Check,
        Example,
        Refuses,
        Alias,
        Node,
        Targets,
        Values,
        Draws
    };
    Kind kind;
    uint8_t small = 0;
    uint32_t number = 0;
    const char* text = nullptr;
    const char* more = nullptr;
    void* function = nullptr;
};

/// Receives a family's declarations in order.
class Declarations {
public:
    /// What declare("schema") gives: it takes the fields.
    struct Declaration {
        Declarations& declarations;
        const char* schema;
        [[gnu::always_inline]] void operator()(std::initializer_list<Field> fields) const { declarations.add(schema, fields); }
    };
    [[gnu::always_inline]] Declaration operator()(const char* schema) { return {*this, schema}; }
    struct Family* family;

private:
    void add(const char* schema, std::initializer_list<Field> fields);
};

#define OPERATORS(FAMILY)                                                                                                                  \
    namespace kindling { static void declare_all_##FAMILY(Declarations& declare); }                                                        \
    namespace kindling {                                                                                                                   \
    void declare_##FAMILY(Declarations& declare) { declare_all_##FAMILY(declare); }                                                        \
    }                                                                                                                                      \
    static void kindling::declare_all_##FAMILY([[maybe_unused]] Declarations& declare)

// The fields. Out of line where they hold pointers: constants of pointers would have to be relocated at load.

/// One line of documentation; names the source of any formula.
Field doc(const char* text);
/// Where Python finds it: in(space::Torch | space::Method). Default: by the name's prefix (linalg_, fft_, special_), else
/// torch, and method when the first argument is `self`.
inline Field in(uint32_t spaces) { return {Field::Kind::In, 0, spaces}; }
/// Another name for the same operator: alias("absolute").
Field alias(const char* name);
/// What the name of its autograd node ends in, where that is not 0: PyTorch numbers the overloads of a name (MulBackward1).
inline Field node(uint8_t number) { return {Field::Kind::Node, number}; }
/// A call in Python that must work, and is run by the tests: example("torch.gelu(torch.tensor([1.]))").
Field example(const char* python);
/// A call that must raise, and what: refuses("torch.ones(2) + torch.ones(3)", "RuntimeError: .*must match").
Field refuses(const char* python, const char* error);

inline Field flags(uint64_t bits) { return {Field::Kind::Flag, static_cast<uint8_t>(bits >> 32), static_cast<uint32_t>(bits)}; }
inline Field not_differentiable() { return flags(trait::NotDifferentiable); }
/// Effects. tests/python/test_effects.py finds out what is true of each operator. A composition that is seen through has the
/// effects of its parts, and need not repeat them.
/// `words`: how many words of 32 bits each number of the first result takes from the generator, `wide` if it has 8 bytes. Without: as many
/// as values, numbers or the sample that the generator keeps say.
inline Field random_numbers(uint8_t words = 0, uint8_t wide = 0) { return {Field::Kind::Draws, words, wide}; }
inline Field shape_by_value() { return flags(trait::ShapeByValue); }
inline Field raises_by_value() { return flags(trait::RaisesByValue); }
/// The same, where values of few arguments decide, which can be asked before the call is made: by whoever puts it off.
///     raises_by_value(GIVEN(Tensor index, IntList self_sizes, int64_t dim) { check_places(index, self_sizes, dim); })
/// It raises what the call raises. Parameters are named as those of `derivative`; it reads values of the tensors it names alone.
Field values_field(const char* given, void (*apply)(const Value*));
template <class F> Field raises_by_value(boxed::Given<F> given) { return values_field(given.parameters, &boxed::check<F>); }
inline Field number_by_value() { return flags(trait::NumberByValue); }
/// For what PyTorch has no formula either: results require grad, and backward raises.
inline Field no_derivative() { return flags(trait::NoDerivative); }
inline Field linear() { return flags(trait::Linear); }
inline Field multilinear() { return flags(trait::Multilinear); }
inline Field has_inplace() { return flags(trait::Inplace); } // for bodies that are not pointwise
inline Field no_inplace() { return flags(trait::NoInplace); }
/// PyTorch has the in-place form as a method only (add_), or that of one alias. Read by tools/generate.py.
inline Field inplace_is_method(const char* = nullptr) { return flags(0); }
/// There is one over lists of tensors as well (_foreach_abs), which tools/generate.py writes: of one tensor as it is; of two, with these
/// for the second; of three and a number (addcmul), with the number in all ways.
namespace second { enum : uint32_t { Scalar = 1, List = 2, ScalarList = 4, Tensor = 8 }; }
inline Field over_lists(uint32_t = 0) { return flags(0); }
/// There is one that copies what the view shows (permute_copy), which tools/generate.py writes.
inline Field copied() { return flags(0); }
inline Field has_out() { return flags(trait::Out); } // for private names, and for lists of results
inline Field no_out() { return flags(trait::NoOut); }
/// What its targets are called, where its several results have no names: targets("out, indices").
Field targets(const char* names);
/// What dtype out= may have; core/operator.h says what is so without.
inline Field out_dtype(OutDType rule) { return {Field::Kind::OutDType, static_cast<uint8_t>(rule)}; }
inline Field out_castable() { return out_dtype(OutDType::Castable); }
inline Field out_joined() { return out_dtype(OutDType::Joined); }
inline Field out_floats() { return out_dtype(OutDType::Floats); }
inline Field out_truth() { return out_dtype(OutDType::Truth); }
inline Field out_same() { return out_dtype(OutDType::Same); }
inline Field out_decides() { return out_dtype(OutDType::Decides); }
/// The kinds of dtype that it has kernels for, before integers become floats: takes(kind::Floats | kind::Complex). Others are
/// a NotImplementedError. A kernel or composition is asked about its first tensor, a scalar body about the promoted dtype.
inline Field takes(uint32_t kinds) { return {Field::Kind::Takes, 0, kinds}; }
/// Its body knows sparse tensors; without this a kernel never sees one (operators/sparse/kernels.h).
inline Field takes_sparse() { return flags(trait::TakesSparse); }
/// A list operator that writes in place and has no result: Python gets the list back.
inline Field gives_self() { return flags(trait::GivesSelf); }
/// Gives or changes headers and fresh memory alone: the same on any device.
inline Field on_any_device() { return flags(trait::AnyDevice); }
/// On a plug-in's device that has no kernel for it, it runs on the host, by the plug-in's own copies. Factories do so anyhow.
inline Field by_host() { return flags(trait::ByHost); }
/// Runs with eight-bit floating dtypes too, which it moves, casts or compares. Others are a NotImplementedError.
inline Field takes_float8() { return flags(trait::TakesFloat8); }
inline Field keeps_conj() { return flags(trait::KeepsConj); }
inline Field promotes(Promotion rule) { return {Field::Kind::Promotion, static_cast<uint8_t>(rule)}; }
inline Field int_to_float() { return promotes(Promotion::IntToFloat); }
inline Field gives(DType dtype) { return {Field::Kind::ResultDType, static_cast<uint8_t>(dtype)}; }
Field check_field(Kernel check);

Field pointwise_field(ScalarBuild build, int arity);
Field body_field(Body body, Kernel kernel);
Field kernel_field(ResultRule rule, Measure measure, Compute compute);
Field loop_field(LoopKind kind, ResultRule rule, ScalarBody map, ScalarBody finish);
Field pack_field(Compute pack);
Field otherwise_field(Kernel kernel);
Field batch_field(Kernel kernel);
Field derivative_field(const char* targets, const char* given, void (*apply)(const Value*, uint64_t, Tensor*));

/// A scalar body, written once over an abstract number: pointwise([](auto x, auto y, auto alpha) { return x + alpha * y; }).
/// Parameters follow the schema. Tensors and numbers are Sym values; text, bools and None pass through the same type.
template <class F> Field pointwise(F body) {
    constexpr ScalarBody scalar = scalar_body(F{});
    (void)body;
    return pointwise_field(scalar.build, scalar.arity);
}
/// Refuses what a scalar body is not for, by the dtypes of its arguments before promotion and by the kinds of its numbers; not
/// by values, since it runs once for all calls that look alike. Parameters as in the schema.
template <class F> Field checks(F) { return check_field(&boxed::kernel<F>); }
/// An ordinary function over tensors, parameters as in the schema. Autograd and modes see its parts, unless it has a
/// derivative: then they see the operator itself.
template <class F> Field composition(F) { return body_field(Body::Composition, &boxed::kernel<F>); }
/// A library or algorithm kernel, in two halves (operators/kernel.h):
///     kernel([](KernelCall& call, const Tensor& self, IntList size) { call.reads(self); call.gives(size, self.dtype()); return
///     Geometry(...); },
///            [](const Geometry& g, const Array& self, const Array& result) { library::resize(g, self.data(), result.data()); })
/// The result rule takes the schema's arguments and looks at headers alone. What it returns, if anything, is handed to the computing
/// half, which gets what the rule reads and gives, and allocates no tensor and calls no operator.
template <class R, class C> Field kernel(R, C) {
    using Rule = boxed::RuleSignature<decltype(&R::operator())>;
    using Compute = boxed::ComputeSignature<decltype(&C::operator())>;
    static_assert(Compute::template takes<typename Rule::Plan>,
                  "the computing half takes what the rule returns, Arrays, a Span<Array> and a Workspace");
    return kernel_field(&Rule::call, nullptr, &Compute::call);
}
/// The same where the shapes of results follow from values. The rule says what is read. The function between the two reads it, keeps
/// in the rule's plan what it finds, and says what the call gives. A rule that can tell gives it itself; then meta tensors will do.
///     kernel([](KernelCall& call, const Tensor& self) { call.reads(self, DType::Bool); return Found{}; },
///            [](Found& f, KernelCall& call, const Array& self) { f.count = count(self); call.gives({f.count}, DType::Int64); },
///            [](const Found& f, const Array& self, const Array& result) { ... })
template <class R, class M, class C> Field kernel(R, M, C) {
    using Rule = boxed::RuleSignature<decltype(&R::operator())>;
    using Measure = boxed::MeasureSignature<decltype(&M::operator())>;
    using Compute = boxed::ComputeSignature<decltype(&C::operator())>;
    static_assert(std::is_same_v<typename Rule::Plan, typename Measure::Plan>, "what measures takes what the rule returns");
    static_assert(Compute::template takes<typename Rule::Plan>, "the computing half takes what the rule returns, and Arrays");
    return kernel_field(&Rule::call, &Measure::call, &Compute::call);
}
/// Hands out or changes headers: parts of a sparse tensor, sizes, storages. It reads no element, so meta tensors are as good as others.
template <class F> Field header(F) { return body_field(Body::Kernel, &boxed::fresh_kernel<F>); }
/// A reduction: `map` of the inputs is reduced as the rule says, and `finish` makes the results of that. Bodies are written over
/// abstract numbers; both take the inputs (or the reduced values), then the rule's numbers and choices, as many as they name.
template <class R, class M> Field reduction(R, M) {
    return loop_field(LoopKind::Reduction, &boxed::RuleSignature<decltype(&R::operator())>::call, scalar_body(M{}), {});
}
template <class R, class M, class F> Field reduction(R, M, F) {
    return loop_field(LoopKind::Reduction, &boxed::RuleSignature<decltype(&R::operator())>::call, scalar_body(M{}), scalar_body(F{}));
}
/// A loop along rows: row_sum and row_max in its body are row-invariant.
template <class R, class B> Field rows(R, B) {
    return loop_field(LoopKind::Rows, &boxed::RuleSignature<decltype(&R::operator())>::call, scalar_body(B{}), {});
}
/// A loop over elements for what `pointwise` does not fit: its results' dtypes and layout are the rule's.
template <class R, class B> Field elements(R, B) {
    return loop_field(LoopKind::Elements, &boxed::RuleSignature<decltype(&R::operator())>::call, scalar_body(B{}), {});
}
/// A running reduction along a dimension.
template <class R, class B> Field scan(R, B) {
    return loop_field(LoopKind::Scan, &boxed::RuleSignature<decltype(&R::operator())>::call, scalar_body(B{}), {});
}
/// What runs where the rule declines: what the loop has no expression for, or the library no code.
template <class F> Field otherwise(F) { return otherwise_field(&boxed::fresh_kernel<F>); }
/// What it does to batched tensors (operators/batching.h): a composition over them. Few need one.
template <class F> Field batches(F) { return batch_field(&boxed::kernel<F>); }
/// A kernel that touches no memory: nothing that is put off is run for it (graph/pending.h).
inline Field by_loops() { return flags(trait::ByLoops); }
/// A kernel whose computing half reaches memory through `copy_part`, `add_part` and `fill_part` alone, which may be put off.
inline Field by_parts() { return flags(trait::ByParts); }
/// A kernel that says `goes_by_rows`: a call that puts loops off puts it off as well, and runs it and what comes before and after it
/// block by block of rows. With a function, which makes of inputs that all rows read what each run reads faster:
///     by_rows([](const Product& p, const Array& a, const Array& b, Workspace room) { pack(room.data, b); })
/// The computing half then gets that as its Span<Array>, which is empty where nothing was packed.
inline Field by_rows() { return flags(trait::ByRows); }
template <class P> Field by_rows(P) { return pack_field(&boxed::ComputeSignature<decltype(&P::operator())>::call); }
/// A composition that asks for values itself, which batched tensors do not have: it runs for one slice of them after another.
inline Field slice_by_slice() { return flags(trait::BySlices); }
inline Field broadcasts() { return flags(trait::Broadcasts); }
/// Shares storage with its first argument (use make_view).
template <class F> Field view(F) { return body_field(Body::View, &boxed::kernel<F>); }

/// Gradients of the arguments named in `targets`:
///     derivative("self", GIVEN(Tensor grad, Tensor result) { return grad * result; })
/// Parameters are found by name: grad (or grads, a TensorList, for several outputs; undefined members mean zero), any
/// argument of the schema, result (or result0, result1, ...), and `Wanted wanted` (wanted[i]: is target i needed?).
/// Where only an argument's shape is needed, name that, so that its data is neither kept alive nor version-checked:
/// `IntList self_sizes` (of a Tensor argument `self`), `Tensor self_shape` (a meta tensor with its sizes, strides, dtype)
/// or `TensorList tensors_shape` (of a list argument `tensors`).
/// What is named is saved, nothing else. Several targets: return std::tuple or std::vector of Tensors. Return an undefined
/// Tensor for a zero gradient. Gradients are summed to the target's shape by the caller, and cast to its dtype.
template <class F> Field derivative(const char* targets, boxed::Given<F> given) {
    return derivative_field(targets, given.parameters, &boxed::gradient<F>);
}
/// The results' tangents, where neither the derivative nor linear() or multilinear() gives them well (autograd/forward.cpp):
///     forward(GIVEN(Tensor self_t, Tensor result) { return self_t * result; })
/// `self_t` is the tangent of `self`, undefined where it has none (`tensors_t`, of a list). Other parameters as above. An
/// undefined result is a zero.
template <class F> Field forward(boxed::Given<F> given) { return derivative_field(nullptr, given.parameters, &boxed::gradient<F>); }
#define GIVEN(...) ::kindling::boxed::Names{#__VA_ARGS__} + [](__VA_ARGS__)

} // namespace kindling
