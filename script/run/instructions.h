// script/run/instructions.h: what runs: one flat list over a frame of items, a place for each value of the graph. Constants lie apart.
#pragma once
#include "script/run/run.h"

namespace kindling::script {

/// An operand is a place in the frame or a constant. `Take`: nobody reads the place after this, so the item may be moved out.
namespace operand { enum : uint32_t { Take = 1u << 31, Constant = 1u << 30, Index = Constant - 1 }; }

struct Instruction {
    enum Do : uint8_t {
        Operator, // of the core, by its schema
        Builtin,  // of the language
        Jump,
        JumpUnless,
        Count, // leaves a loop where inputs are (trip, most): trip >= most, or (trip, most, condition): or the condition is false
        Next,  // trip + 1
        Move,  // all inputs are read before an output is written
        Drop,  // clears places
        Tuple,
        UnpackTuple,
        TupleItem,
        TupleSlice,
        List,
        UnpackList,
        Dict,
        Native, // a loop as machine code; where that does not fit, the instructions behind it
        Group,  // operators of small tensors as one loop; the same
        IsInstance,
        Print,
        Raise,
        Call,
        CallMethod,
        CallForeign,
        GetAttribute,
        SetAttribute,
        CreateObject,
        Enter,
        Leave,
        Fork,
        Wait,
        Missing, // a builtin that has no function yet
    };
    Do what;
    uint16_t inputs = 0, outputs = 0, drops = 0;
    uint32_t first = 0; // of the operands: inputs, outputs, then places to clear
    union {
        const Signature* signature = nullptr; // of an Operator
        kindling::script::Builtin builtin;
        Function* function;
        int64_t number; // of a jump: where to; of an attribute: its place
    };
    uint32_t loop = 0;          // of a Native: which of the code's loops; of a Group: which of those; of a Fork: which of what it forks
    const Node* node = nullptr; // that it was made of: types, attributes, the line
};

class NativeLoop;
class SmallGroup;

struct Code {
    std::vector<Instruction> instructions;
    std::vector<uint32_t> operands;
    std::vector<Item> constants;
    std::vector<uint32_t> parameters, results; // places of the function's arguments; operands that it gives
    uint32_t places = 0;
    uint32_t widest = 0;          // most inputs or outputs of a builtin
    std::shared_ptr<Graph> graph; // nodes are read while it runs
    std::vector<std::shared_ptr<NativeLoop>> loops;
    std::vector<std::shared_ptr<SmallGroup>> groups;
    std::vector<std::shared_ptr<Function>> forked; // what is called in another thread

    uint32_t input(const Instruction& i, uint32_t n) const { return operands[i.first + n]; }
    uint32_t output(const Instruction& i, uint32_t n = 0) const { return operands[i.first + i.inputs + n]; }
};

/// A tensor operator called with items, by the ordinary call path (operator_call.cpp).
void call_operator(const Signature& signature, const Item* const* inputs, size_t count, Item* const* outputs, size_t results);
/// Whether what lies in a tensor may be read and written without a call of an operator: strided memory here, which nothing watches (a
/// gradient that is wanted, a mode, a lazy bit).
bool is_plain(const TensorImpl* impl);
/// The instructions of a function's graph.
std::shared_ptr<Code> assemble(const Function& function);

} // namespace kindling::script
