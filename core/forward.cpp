// core/forward.cpp: how a generated C++ function calls its operator.
//
// A generated function, such as `Tensor relu(const Tensor&)`, is twelve bytes: it puts a number in eax and jumps to one of two pieces
// of assembly at the end of this file. These lay the registers of arguments out as `va_start` would, and call what boxes the
// arguments and calls the operator. So 1,700 functions have no frame, no unwinding table and no boxing of their own.
//
// This holds because of two rules of the System V ABI for x86-64 (https://gitlab.com/x86-psABIs/x86-64-ABI, section 3.5.7): an
// argument behind `...` is passed as a named one is, and a result that does not fit in registers, or has a destructor, is built at
// an address that comes as the first argument.
#include "core/forward.h"

#include <cstdarg>
#include <tuple>
#include <utility>

#include "core/dispatch.h"

#ifndef __x86_64__
#error "core/forward.cpp has the calling convention of x86-64"
#endif

namespace kindling {
namespace {

/// The boxed arguments of a generated function.
struct Given {
    static constexpr int room = 64;
    va_list& list;
    alignas(Value) unsigned char memory[room * sizeof(Value)]; // not an array: only what is used is made
    Value* values() { return reinterpret_cast<Value*>(memory); }
    template <class T> Value by_address() { return Value(*va_arg(list, const T*)); }
    template <class T> Value whole() {
        static_assert(std::is_trivially_copyable_v<T>); // else it would come by address
        return Value(va_arg(list, T));
    }
    /// A byte comes in a whole register, of which the rest is anything.
    template <class T> Value byte() { return static_cast<T>(static_cast<unsigned char>(va_arg(list, int))); }

    explicit Given(va_list& registers, const char* letters) : list(registers) {
        Value* next = values();
        while (char letter = *letters++) {
            KINDLING_ASSERT(next < values() + room);
            new (next++) Value(letter == 'o' ? optional(*letters++) : plain(letter));
        }
    }
    Value plain(char letter) {
        switch (letter) {
        case 't': return by_address<Tensor>();
        case 's': return by_address<Scalar>();
        case 'i': return va_arg(list, int64_t);
        case 'b': return byte<bool>();
        case 'd': return va_arg(list, double);
        case 'I': return whole<IntList>();
        case 'z': return whole<Size>();
        case 'Z': return whole<SizeList>();
        case 'l': return whole<TensorList>();
        case 'T': return whole<Text>();
        case 'D': return byte<DType>();
        case 'L': return byte<Layout>();
        case 'M': return byte<MemoryFormat>();
        case 'V': return whole<Device>();
        case 'G': return va_arg(list, Generator*);
        case 'R': return by_address<Ref<Storage>>();
        case 'v': return by_address<Value>();
        case 'F': return whole<Span<double>>();
        case 'B': return whole<Span<bool>>();
        case 'S': return whole<Span<Scalar>>();
        }
        KINDLING_ASSERT(false);
        return {};
    }
    Value optional(char letter) {
        switch (letter) {
        case 's': return whole<std::optional<Scalar>>();
        case 'i': return whole<std::optional<int64_t>>();
        case 'b': return whole<std::optional<bool>>();
        case 'd': return whole<std::optional<double>>();
        case 'I': return whole<std::optional<IntList>>();
        case 'Z': return whole<std::optional<SizeList>>();
        case 'T': return whole<std::optional<Text>>();
        case 'L': return whole<std::optional<Layout>>();
        case 'M': return whole<std::optional<MemoryFormat>>();
        case 'V': return whole<std::optional<Device>>();
        case 'F': return whole<std::optional<Span<double>>>();
        }
        KINDLING_ASSERT(false);
        return {};
    }
};

template <size_t> using TensorAt = Tensor;
/// A `std::tuple` of as many tensors, at `result`.
template <size_t... Place> void make_tuple(void* result, Value* values, std::index_sequence<Place...>) {
    new (result) std::tuple<TensorAt<Place>...>(values[Place].take_tensor()...);
}

void call_given(uint32_t what, va_list& registers, const char* letters, Value* results) {
    Given given(registers, letters);
    call(operator_at(static_cast<uint16_t>(what)), given.values(), results);
}

} // namespace

/// The function's result is built at `result`. `what`: the operator's number, and above 16 bits where its letters begin.
extern "C" [[gnu::visibility("hidden"), gnu::used]] void kindling_call_for_object(void* result, uint32_t what, va_list registers) {
    const char* letters = forward_letters + (what >> 16);
    const char kind = *letters++;
    Value values[8];
    call_given(what, *reinterpret_cast<va_list*>(registers), letters, values);
    switch (kind) {
    case 't': new (result) Tensor(values[0].take_tensor()); break;
    case 'l': new (result) std::vector<Tensor>(values[0].take_list()); break;
    case 's': new (result) Scalar(values[0].scalar()); break;
    case '2': make_tuple(result, values, std::make_index_sequence<2>()); break;
    case '3': make_tuple(result, values, std::make_index_sequence<3>()); break;
    case '4': make_tuple(result, values, std::make_index_sequence<4>()); break;
    case '5': make_tuple(result, values, std::make_index_sequence<5>()); break;
    case '6': make_tuple(result, values, std::make_index_sequence<6>()); break;
    case '7': make_tuple(result, values, std::make_index_sequence<7>()); break;
    default: KINDLING_ASSERT(false);
    }
}

/// The function's result is a number in a register, or nothing.
extern "C" [[gnu::visibility("hidden"), gnu::used]] int64_t kindling_call_for_number(uint32_t what, va_list registers) {
    const char* letters = forward_letters + (what >> 16);
    const char kind = *letters++;
    Value values[4];
    call_given(what, *reinterpret_cast<va_list*>(registers), letters, values);
    switch (kind) {
    case 'b': return values[0].integer != 0;
    case 'i': return values[0].integer;
    case 'D': return static_cast<uint8_t>(values[0].dtype);
    default:
        for (auto& value : values) value.discard();
        return 0;
    }
}

} // namespace kindling

// Both pieces: the 6 integer and 8 vector registers in the order of a register save area, behind them the va_list: bytes used
// of either kind, the arguments in memory, the save area.
#define KINDLING_SAVE_REGISTERS(used)                                                                                                      \
    ".cfi_startproc\n pushq %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset 6, -16\n movq %rsp, %rbp\n"                                        \
    ".cfi_def_cfa_register 6\n subq $208, %rsp\n"                                                                                          \
    "movq %rdi, (%rsp)\n movq %rsi, 8(%rsp)\n movq %rdx, 16(%rsp)\n movq %rcx, 24(%rsp)\n"                                                 \
    "movq %r8, 32(%rsp)\n movq %r9, 40(%rsp)\n"                                                                                            \
    "movaps %xmm0, 48(%rsp)\n movaps %xmm1, 64(%rsp)\n movaps %xmm2, 80(%rsp)\n movaps %xmm3, 96(%rsp)\n"                                  \
    "movaps %xmm4, 112(%rsp)\n movaps %xmm5, 128(%rsp)\n movaps %xmm6, 144(%rsp)\n movaps %xmm7, 160(%rsp)\n"                              \
    "movl $" used ", 176(%rsp)\n movl $48, 180(%rsp)\n leaq 16(%rbp), %rcx\n movq %rcx, 184(%rsp)\n movq %rsp, 192(%rsp)\n"

asm(".text\n"
    ".globl kindling_forward\n .hidden kindling_forward\n .type kindling_forward, @function\n"
    "kindling_forward:\n" KINDLING_SAVE_REGISTERS("8") // the first register is the result's address
    "movl %eax, %esi\n leaq 176(%rsp), %rdx\n call kindling_call_for_object\n movq (%rsp), %rax\n"
    "leave\n .cfi_def_cfa 7, 8\n ret\n .cfi_endproc\n .size kindling_forward, .-kindling_forward\n"
    ".globl kindling_forward_number\n .hidden kindling_forward_number\n .type kindling_forward_number, @function\n"
    "kindling_forward_number:\n" KINDLING_SAVE_REGISTERS(
        "0") "movl %eax, %edi\n leaq 176(%rsp), %rsi\n call kindling_call_for_number\n"
             "leave\n .cfi_def_cfa 7, 8\n ret\n .cfi_endproc\n .size kindling_forward_number, .-kindling_forward_number\n");
