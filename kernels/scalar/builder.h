// kernels/scalar/builder.h: writes a function. Variables become SSA values as it goes.
//
// A block is entered, filled and ended by jump, branch, finish or leave. A block is sealed when all jumps to it have been
// written; what a variable holds in a block that is not sealed yet (the head of a loop) becomes a phi. This sums an array:
//
//     Function f;
//     Builder b(f);
//     Value data = b.parameter(Type::Address), n = b.parameter(Type::I64);
//     Variable i = b.variable(Type::I64), sum = b.variable(Type::F64);
//     b.set(i, b.integer(0)), b.set(sum, b.real(0));
//     Block head = b.block(), body = b.block(), done = b.block();
//     b.jump(head);
//     b.enter(head);
//     b.branch(b.less(b.get(i), n), body, done);
//     b.seal(body), b.seal(done);
//     b.enter(body);
//     b.set(sum, b.add(b.get(sum), b.load(Memory::F64, data, b.get(i), 8)));
//     b.set(i, b.add(b.get(i), b.integer(1)));
//     b.poll(interrupted);
//     b.jump(head);
//     b.seal(head);
//     b.enter(done);
//     b.finish({b.get(sum)});
#pragma once
#include <initializer_list>
#include <type_traits>

#include "kernels/scalar/constants.h"

namespace kindling::scalar {

struct Variable {
    uint32_t id = 0;
};

class Builder {
public:
    /// Starts an empty function; its entry block is entered and sealed.
    explicit Builder(Function& function);

    // ---- blocks
    Block block();
    void enter(Block block);
    void seal(Block block);
    Block current() const { return current_; }
    /// Whether the current block has been ended. What is written then goes to a block that nothing reaches.
    bool ended() const;
    void jump(Block to);
    void branch(Value condition, Block yes, Block no);
    /// The ordinary end: `run` returns 0 and the values stand in the slots.
    void finish(std::initializer_list<Value> values) { leave(0, values.begin(), values.size()); }
    /// Ends the block and the function: `run` returns the code.
    void leave(int32_t code, std::initializer_list<Value> values = {}) { leave(code, values.begin(), values.size()); }
    void leave(int32_t code, const Value* values, size_t count);

    // ---- variables
    Variable variable(Type type);
    void set(Variable variable, Value value);
    /// The value here. A variable that was not set on every way here reads as 0 on the others.
    Value get(Variable variable);

    // ---- values
    /// Parameters are numbered as they are asked for; all are asked for in the entry block.
    Value parameter(Type type);
    Value integer(int64_t value);
    Value real(double value);
    Value real32(float value);
    Value boolean(bool value);
    Value address(const void* value);
    Type type(Value value) const { return function_.nodes[value.id].type; }

    /// Any operation of the list in function.h up to Bits. What is constant is folded at once.
    Value unary(Op op, Value a);
    Value binary(Op op, Value a, Value b);
    Value add(Value a, Value b) { return binary(Op::Add, a, b); }
    Value subtract(Value a, Value b) { return binary(Op::Sub, a, b); }
    Value multiply(Value a, Value b) { return binary(Op::Mul, a, b); }
    Value divide(Value a, Value b) { return binary(Op::Div, a, b); }
    Value less(Value a, Value b) { return binary(Op::Lt, a, b); }
    Value equal(Value a, Value b) { return binary(Op::Eq, a, b); }
    Value select(Value condition, Value a, Value b);
    /// To F64, F32 or I64 from any type that converts; the value itself where it has the type.
    Value convert(Type to, Value a);
    /// The same bits as I64, F64 or F32.
    Value bits(Type to, Value a);

    // ---- memory
    // A load that depends on a check must depend on the check's result: load(data, index(i, size)), not load(data, i). Then
    // passes may move loads freely. What has no such index must be readable from where its address is known.
    Value load(Memory memory, Value base, Value index = {}, int64_t scale = 1, int64_t displacement = 0, Region region = any_region);
    void store(Memory memory, Value base, Value index, int64_t scale, int64_t displacement, Value value, Region region = any_region);

    // ---- calls
    Value call(const Callee& callee, const Value* arguments, size_t count);
    Value call(const Callee& callee, std::initializer_list<Value> arguments) { return call(callee, arguments.begin(), arguments.size()); }

    // ---- checks. The values stand in the slots if the exit is taken.
    /// The index, known to be at least 0 and less than size.
    Value index(Value index, Value size, int32_t code, const Value* values, size_t count);
    Value index(Value index, Value size, int32_t code, std::initializer_list<Value> values = {}) {
        return this->index(index, size, code, values.begin(), values.size());
    }
    /// As Python indexes: below 0 it counts from the end.
    Value python_index(Value index, Value size, int32_t code, const Value* values, size_t count);
    Value python_index(Value index, Value size, int32_t code, std::initializer_list<Value> values = {}) {
        return python_index(index, size, code, values.begin(), values.size());
    }
    void check(Value condition, int32_t code, const Value* values, size_t count);
    void check(Value condition, int32_t code, std::initializer_list<Value> values = {}) {
        check(condition, code, values.begin(), values.size());
    }
    /// At the back edge of each loop that may be long. What the asker changes in memory may be seen late.
    void poll(int32_t code, const Value* values, size_t count);
    void poll(int32_t code, std::initializer_list<Value> values = {}) { poll(code, values.begin(), values.size()); }

private:
    Function& function_;
    Block current_;
    std::vector<Type> variables_;
    std::vector<std::vector<uint32_t>> held_; // [block][variable]
    struct Waiting {
        uint32_t phi, variable;
    };
    std::vector<std::vector<Waiting>> waiting_; // [block]: phis without operands
    std::vector<uint8_t> sealed_;
    struct Join {
        uint32_t block;
        Waiting phi;
    };
    std::vector<Join> joins_; // phis to be filled; a list, as recursion would need a deep stack
    Constants constants_;

    BasicBlock& open();
    Value append(const Node& node);
    Value pure(Op op, Type result, Value a, Value b = {}, Value c = {});
    Value place(Node& node, Value base, Value index, int64_t scale, int64_t displacement);
    Value constant(Type type, uint64_t bits) { return {constants_.get(type, bits)}; }
    uint32_t exit(int32_t code, const Value* values, size_t count);
    uint32_t list(const Value* values, size_t count);
    void edge(Block to);
    void write(uint32_t block, uint32_t variable, uint32_t value);
    uint32_t read(uint32_t block, uint32_t variable);
    uint32_t new_phi(uint32_t block, Type type);
    uint32_t look_up(uint32_t block, uint32_t variable);
    void fill(uint32_t block, Waiting waiting);
    void fill_joins();
};

namespace detail {
template <class T> constexpr Type type_of() {
    if constexpr (std::is_void_v<T>) return Type::None;
    else if constexpr (std::is_same_v<T, bool>) return Type::Bool;
    else if constexpr (std::is_same_v<T, double>) return Type::F64;
    else if constexpr (std::is_same_v<T, float>) return Type::F32;
    else if constexpr (std::is_pointer_v<T>) return Type::Address;
    else {
        static_assert(std::is_same_v<T, int64_t>, "int64_t, double, float, bool, a pointer or void");
        return Type::I64;
    }
}
} // namespace detail

/// callee("hypot", &hypot, Effect::Pure)
template <class R, class... A, bool NoExcept>
Callee callee(const char* name, R (*function)(A...) noexcept(NoExcept), Effect effect, Region region = any_region) {
    (void)(detail::type_of<A>(), ...);
    return {reinterpret_cast<const void*>(function), name, detail::type_of<R>(), effect, region};
}

} // namespace kindling::scalar
