// kernels/scalar/function.h: a function over scalars and memory, as typed SSA in basic blocks.
//
// Values are 64 bits or less: int64, float64, float32, bool and addresses. Each is defined once, by a node; where control flow
// joins, phis choose. Nothing is undefined: each operation below has one result for every input, the same in machine code, in
// the interpreter and in the optimiser.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kindling::scalar {

enum class Type : uint8_t { None, Bool, I64, F32, F64, Address };

/// How a value lies in memory. Loads widen integers to I64 and half types to F32 (exactly); stores take the low bits of I64 and
/// round F32 to half types. A F64 value is stored to F32 memory by way of to_f32.
enum class Memory : uint8_t { Bool, I8, U8, I16, U16, I32, U32, I64, F16, BF16, F32, F64, Address };
int memory_bytes(Memory memory);
Type loaded_type(Memory memory);

enum class Op : uint8_t {
    Constant,
    Parameter,
    Phi,
    // I64 (wraps), F32, F64, each operation rounded by itself. Add and Sub also: Address with I64.
    Add,
    Sub,
    Mul,
    Neg,
    Abs,
    Min,
    Max, // a < b ? a : b and a > b ? a : b, so NaN and signed zeros as in C++ and x86
    FloorDiv,
    FloorMod, // I64, as Python rounds. A zero divisor gives 0: check before. The least number // -1 wraps.
    Div,
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    Round, // F32, F64. Round: halves to even
    And,
    Or,
    Xor,
    Not, // I64 and Bool
    Shl,
    Shr, // I64; the count modulo 64; Shr is arithmetic
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,     // Bool of two I64, F32, F64, Bool or Address; with NaN only Ne is true
    Below,  // Bool of two I64 taken as unsigned
    Select, // condition ? a : b
    ToF64,  // of I64, F32, Bool
    ToF32,  // of I64, F64, Bool
    ToI64,  // of F32, F64 (towards zero; NaN and what does not fit: the least number), Bool, Address
    Bits,   // I64 of F64 or F32, F64 or F32 of I64: the same bits, or the low 32
    Load,
    Store,  // at base + index * scale + displacement
    Call,   // a C function
    Index,  // the first input, an index that is below the second as unsigned; else the exit
    Check,  // the condition holds; else the exit
    Poll,   // lets signals be heard now and then; the exit where that asks for it. In machine code
            // it may take the counter as its input, and give the new one
    Proved, // the first input, known to fit from where it stands on: what an Index becomes; no code
    Counter,
    SetCounter, // in machine code: the counter of polls from the frame, and back to it
    // Of four lanes, in machine code only (widen.cpp):
    Spread, // a scalar in each lane
    Steps,  // 0, 1, 2 and 3 times `bits`, in I64
    Any,    // Bool: whether a lane holds true
    Count,  // I64: how many lanes hold true
    Sum,    // I64: of the lanes
    Last,   // the fourth lane
};
const char* op_name(Op op);

using Region = uint16_t;
/// Memory of two different regions never overlaps. Region 0 may overlap all others but `constant_region`, which nobody writes
/// to while the function runs.
inline constexpr Region any_region = 0, constant_region = 0xFFFF;

enum class Effect : uint8_t {
    Pure,   // depends on its arguments alone: may be merged with an equal call, moved or left out
    Reads,  // reads memory: may be merged or left out
    Writes, // anything; writes to `region` only, if that is not any_region
};

/// A C function: at most 6 arguments that are no floating numbers and 8 that are. It must not throw.
struct Callee {
    const void* address = nullptr;
    const char* name = ""; // outlives the function; for the text form
    Type result = Type::None;
    Effect effect = Effect::Writes;
    Region region = any_region;
};

/// Index of a node; 0 is no value.
struct Value {
    uint32_t id = 0;
    explicit operator bool() const { return id != 0; }
    bool operator==(const Value&) const = default;
};
struct Block {
    uint32_t id = 0;
    bool operator==(const Block&) const = default;
};

struct Node {
    Op op = Op::Constant;
    Type type = Type::None;
    Memory memory = Memory::I64; // Load, Store
    uint8_t scale = 1;           // 1, 2, 4, 8
    Region region = any_region;
    uint8_t lanes = 1; // or 4: as many values of the type, side by side; a load or store of four takes neighbours but for `list`
    int32_t displacement = 0;
    uint32_t input[3] = {}; // Load: base, index or 0. Store: base, index or 0, value
    uint32_t extra = 0;     // Index, Check, Poll: the exit. Call: the callee. Parameter: its number
    // Phi, Call: operands, in `operands`. Load, Store of four lanes: a mask, or the bytes from lane to lane.
    uint32_t list = 0, count = 0;
    uint64_t bits = 0; // Constant: as in a register; of F32, the low 32
};

/// A way out: the code that `run` returns, and what it leaves in the slots. Code 0 is the ordinary return.
struct Exit {
    int32_t code = 0;
    uint32_t list = 0, count = 0;
};

struct BasicBlock {
    enum Kind : uint8_t { Open, Jump, Branch, Leave } kind = Open;
    uint32_t condition = 0;             // Branch
    uint32_t successor[2] = {};         // Jump: the first. Branch: where the condition holds, where not
    uint32_t exit = 0;                  // Leave
    std::vector<uint32_t> nodes;        // phis first
    std::vector<uint32_t> predecessors; // in the order of phi operands; one entry for each edge
    int successors() const { return kind == Branch ? 2 : kind == Jump ? 1 : 0; }
};

struct Function {
    std::string name;
    std::vector<Node> nodes = std::vector<Node>(1); // [0]: no value. Constants stand in no block
    std::vector<BasicBlock> blocks;                 // [0]: entry; it has no predecessors
    std::vector<uint32_t> operands;                 // of phis, calls and exits
    std::vector<Exit> exits;
    std::vector<Callee> callees;
    std::vector<Type> parameters;

    const uint32_t* operands_of(const Node& node) const { return operands.data() + node.list; }
};

/// One block a paragraph, one node a line: `v7 = add.i64 v3, v5`.
std::string text(const Function& function);
/// What is wrong with it, or an empty text.
std::string verify(const Function& function);
/// What is wrong with the node's types, or an empty text.
std::string mistyped(const Function& function, const Node& node);

} // namespace kindling::scalar
