// script/instructions.h: what runs: one flat list over a frame of items, a place for each value of the graph. Constants lie apart.
#pragma once
#include "script/run.h"

namespace kindling::script {

/// An operand is a place in the frame or a constant. `Take`: nobody reads the place after this, so the item may be moved out.
namespace operand {
enum : uint32_t { Take = 1u << 31, Constant = 1u << 30, Index = Constant - 1 };
}

struct Instruction {
    enum Do : uint8_t {
        Operator,     // of the core, by its schema
        Builtin,      // of the language
        Jump, JumpUnless,
        Count,        // leaves a loop where inputs are (trip, most): trip >= most, or (trip, most, condition): or the condition is false
        Next,         // trip + 1
        Move,         // all inputs are read before an output is written
        Drop,         // clears places
        Tuple, UnpackTuple, TupleItem, TupleSlice, List, UnpackList, Dict,
        IsInstance, Print, Raise, Call, CallMethod, CallForeign, GetAttribute, SetAttribute, CreateObject, Fork, Wait,
        Missing,      // a builtin that has no function yet
    };
    Do what;
    uint16_t inputs = 0, outputs = 0, drops = 0;
    uint32_t first = 0;                  // of the operands: inputs, outputs, then places to clear
    union {
        const Signature* signature = nullptr;   // of an Operator
        kindling::script::Builtin builtin;
        Function* function;
        int64_t number;                  // of a jump: where to; of an attribute: its place
    };
    const Node* node = nullptr;          // that it was made of: types, attributes, the line
};

struct Code {
    std::vector<Instruction> instructions;
    std::vector<uint32_t> operands;
    std::vector<Item> constants;
    std::vector<uint32_t> parameters, results;   // places of the function's arguments; operands that it gives
    uint32_t places = 0;
    uint32_t widest = 0;                 // most inputs or outputs of a builtin
    std::shared_ptr<Graph> graph;        // nodes are read while it runs

    uint32_t input(const Instruction& i, uint32_t n) const { return operands[i.first + n]; }
    uint32_t output(const Instruction& i, uint32_t n = 0) const { return operands[i.first + i.inputs + n]; }
};

/// The instructions of a graph.
std::shared_ptr<Code> assemble(std::shared_ptr<Graph> graph);

}  // namespace kindling::script
