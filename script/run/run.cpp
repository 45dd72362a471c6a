// script/run/run.cpp: the loop over instructions, and what is said where one fails.
#include "script/run/run.h"

#include <cstdio>

#include "graph/pending.h"
#include "runtime/threads.h"
#include "script/graph/class.h"
#include "script/run/fork.h"
#include "script/run/instructions.h"
#include "script/run/native_loop.h"
#include "script/run/small_group.h"

namespace kindling::script {

void (*print_text)(const std::string& text) = [](const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); };
Item (*call_foreign)(void* object, const Item* arguments, size_t count, TypeRef result) = nullptr;

namespace {

/// An error on its way through scripts: lines are added as it passes.
struct Failure {
    std::vector<std::string> lines; // innermost first
    ErrorKind kind;
    std::string message, qualified;
    bool raised;
    bool placed = false; // whether the line of the frame that it passes next is there already
};

std::string shown(const Item& item) {
    if (item.is(Item::Tag::Str)) return item.text();
    if (item.is(Item::Tag::Tensor))
        for (const Signature* each : signatures_of("aten::str"))
            if (each->builtin) {
                Item text = item;
                each->builtin(&text, 1);
                return text.text();
            }
    return str(item);
}

/// "forward" of "__torch__.Net.forward".
const char* last_name(const std::string& name) {
    const size_t dot = name.rfind('.');
    return name.c_str() + (dot == std::string::npos ? 0 : dot + 1);
}

Item run_code(Function& function, std::vector<Item>&& arguments);

/// The error that a failure becomes: it says where that was.
[[noreturn, gnu::cold]] void tell(const Failure& failure) {
    std::string text =
        "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call last):\n";
    for (size_t i = failure.lines.size(); i-- > 0;) text += failure.lines[i];
    text +=
        (failure.raised && !failure.qualified.empty() ? failure.qualified : std::string("RuntimeError")) + ": " + failure.message + "\n";
    if (failure.raised) throw Raised(ErrorKind::Runtime, std::move(text), failure.qualified, failure.message);
    const bool keeps =
        failure.kind == ErrorKind::NotImplemented || failure.kind == ErrorKind::OutOfMemory || failure.kind == ErrorKind::Internal;
    throw Error(keeps ? failure.kind : ErrorKind::Runtime, std::move(text));
}
/// Inlined: a call of a script allocates nothing for it.
template <class Body> Item told(Body&& body) {
    try {
        return body();
    } catch (const Failure& failure) { tell(failure); }
}

class Frame {
public:
    Frame(Function& function, const Code& code) : function_(function), code_(code), places_(code.places) {}

    Item run(std::vector<Item>&& arguments) {
        KINDLING_CHECK(Runtime, arguments.size() == code_.parameters.size(), "%s takes %zu arguments and was given %zu",
                       function_.name.c_str(), code_.parameters.size(), arguments.size());
        for (size_t i = 0; i < arguments.size(); i++) places_[code_.parameters[i]] = std::move(arguments[i]);
        try {
            go();
        } catch (...) {
            // what was entered is left; that it fails too is not told, as in PyTorch
            for (; !entered_.empty(); entered_.pop_back()) try {
                    leave(entered_.back());
                } catch (const std::exception&) {
                } catch (const Failure&) {}
            throw;
        }
        if (code_.results.size() == 1) return read(code_.results[0]);
        return {};
    }

private:
    const Item& read(uint32_t operand) const {
        return operand & operand::Constant ? code_.constants[operand & operand::Index] : places_[operand & operand::Index];
    }
    Item take(uint32_t operand) {
        if (operand & operand::Take) return std::move(places_[operand & operand::Index]);
        return read(operand);
    }
    const Item& input(const Instruction& i, uint32_t n = 0) const { return read(code_.input(i, n)); }
    Item& output(const Instruction& i, uint32_t n = 0) { return places_[code_.output(i, n)]; }
    void drop(const Instruction& i) {
        const uint32_t* at = code_.operands.data() + i.first + i.inputs + i.outputs;
        for (uint32_t n = 0; n < i.drops; n++) places_[at[n]] = Item();
    }
    std::vector<Item> inputs(const Instruction& i, uint32_t from = 0) const {
        std::vector<Item> all;
        all.reserve(i.inputs - from);
        for (uint32_t n = from; n < i.inputs; n++) all.push_back(input(i, n));
        return all;
    }

    void go() {
        size_t at = 0;
        const size_t end = code_.instructions.size();
        try {
            while (at < end) at = step(code_.instructions[at], at);
        } catch (Failure& failure) {
            if (!std::exchange(failure.placed, false)) add_lines(code_.instructions[at].node, failure);
            throw;
        } catch (const Raised&) { throw; } catch (const Error& error) {
            if (error.kind() == ErrorKind::Python) throw;
            fail(at, error.kind(), error.what());
        } catch (const std::bad_alloc&) { fail(at, ErrorKind::OutOfMemory, "not enough memory"); }
    }
    /// The line of a node, and of the calls in whose place it stands.
    void add_lines(const Node* node, Failure& failure) const {
        if (!node) return;
        const Range* range = &node->range;
        for (const Inlined* at = node->inlined.get(); at; range = &at->call, at = at->outer.get())
            failure.lines.push_back(range->highlight(last_name(at->callee->name)));
        failure.lines.push_back(range->highlight(last_name(function_.name)));
    }
    [[noreturn]] void fail(size_t at, ErrorKind kind, const char* message) const {
        Failure failure{{}, kind, message, "", false};
        add_lines(code_.instructions[at].node, failure);
        throw failure;
    }

    void builtin(const Instruction& i) {
        constexpr uint32_t near = 8;
        Item few[near];
        std::vector<Item> many;
        Item* arguments = few;
        if (i.inputs > near) {
            many.resize(i.inputs);
            arguments = many.data();
        }
        for (uint32_t n = 0; n < i.inputs; n++) arguments[n] = input(i, n);
        i.builtin(arguments, i.inputs);
        if (i.outputs == 1) output(i) = std::move(arguments[0]);
        else if (i.outputs) spread(i, arguments[0]);
    }
    void spread(const Instruction& i, const Item& tuple) {
        KINDLING_CHECK(Runtime, tuple.items().size() == i.outputs, "expected %d elements in a list but found %zu",
                       static_cast<int>(i.outputs), tuple.items().size());
        const Item keep = tuple;
        for (uint32_t n = 0; n < i.outputs; n++) output(i, n) = keep.items()[n];
    }
    void tensor_operator(const Instruction& i) {
        constexpr uint32_t most = 40;
        const Item* arguments[most];
        Item* results[16];
        KINDLING_CHECK(Runtime, i.inputs <= most && i.outputs <= 16, "aten::%s has too many arguments for a script",
                       i.node->kind.c_str() + 6);
        Item made[4];
        Item* into = i.outputs <= 4 ? made : nullptr;
        std::vector<Item> many;
        if (!into) {
            many.resize(i.outputs);
            into = many.data();
        }
        for (uint32_t n = 0; n < i.inputs; n++) arguments[n] = &input(i, n);
        for (uint32_t n = 0; n < i.outputs; n++) results[n] = into + n;
        call_operator(*i.signature, arguments, i.inputs, results, i.outputs);
        for (uint32_t n = 0; n < i.outputs; n++) output(i, n) = std::move(into[n]);
    }

    [[gnu::noinline]] size_t step(const Instruction& i, size_t at) {
        switch (i.what) {
        case Instruction::Operator: tensor_operator(i); break;
        case Instruction::Builtin: builtin(i); break;
        case Instruction::Jump: return static_cast<size_t>(i.number);
        case Instruction::JumpUnless:
            if (!input(i).truth()) return static_cast<size_t>(i.number);
            break;
        case Instruction::Count:
            if (input(i, 0).integer() >= input(i, 1).integer() || (i.inputs == 3 && !input(i, 2).truth()))
                return static_cast<size_t>(i.number);
            break;
        case Instruction::Next: {
            Item& trip = places_[code_.input(i, 0)];
            const int64_t next = trip.integer() + 1;
            trip = Item(next);
            if (!(next & 255)) hear_signals();
            break;
        }
        case Instruction::Move: move(i); break;
        case Instruction::Native:
            if (native(i)) return static_cast<size_t>(i.number);
            break;
        case Instruction::Group:
            if (!small_group(i, at)) return at + 1;
            drop(i);
            return static_cast<size_t>(i.number);
        case Instruction::Drop: break;
        case Instruction::Tuple: output(i) = Item::tuple(i.node->outputs[0]->type, inputs(i)); break;
        case Instruction::List: output(i) = Item::list(i.node->outputs[0]->type, inputs(i)); break;
        case Instruction::Dict: dict(i); break;
        case Instruction::UnpackTuple:
        case Instruction::UnpackList: spread(i, input(i)); break;
        case Instruction::TupleItem: {
            const std::vector<Item>& items = input(i, 0).items();
            int64_t index = input(i, 1).integer();
            if (index < 0) index += static_cast<int64_t>(items.size());
            KINDLING_CHECK(Index, index >= 0 && index < static_cast<int64_t>(items.size()), "Tuple index out of range");
            output(i) = Item(items[static_cast<size_t>(index)]);
            break;
        }
        case Instruction::TupleSlice: {
            const std::vector<Item>& items = input(i, 0).items();
            const auto begin = i.node->attribute("beg")->integer(), stop = i.node->attribute("end")->integer();
            output(i) = Item::tuple(i.node->outputs[0]->type, std::vector<Item>(items.begin() + begin, items.begin() + stop));
            break;
        }
        case Instruction::IsInstance: {
            bool is = false;
            const TypeRef type = input(i).type();
            for (const Attribute& attribute : i.node->attributes)
                for (TypeRef each : attribute.types)
                    is |= is_subtype(type, each) || (each->is(TypeKind::AnyList) && input(i).is(Item::Tag::List)) ||
                          (each->is(TypeKind::AnyTuple) && input(i).is(Item::Tag::Tuple));
            output(i) = Item(is);
            break;
        }
        case Instruction::Print: {
            std::string text;
            for (uint32_t n = 0; n < i.inputs; n++) text += (n ? " " : "") + shown(input(i, n));
            print_text(text + "\n");
            break;
        }
        case Instruction::Raise: {
            const std::string qualified = i.inputs > 1 && input(i, 1).is(Item::Tag::Str) ? input(i, 1).text() : "";
            throw Failure{{}, ErrorKind::Runtime, input(i).text(), qualified, true, false}; // `go` adds the line
        }
        case Instruction::Call: output(i) = run_code(*i.function, inputs(i)); break;
        case Instruction::CallMethod: output(i) = call_method(input(i), i.node->attribute("name")->text(), inputs(i)); break;
        case Instruction::CallForeign: {
            KINDLING_CHECK(Runtime, call_foreign, "a Python function cannot be called here");
            const Item* callee = i.node->attribute("function");
            const std::vector<Item> arguments = inputs(i);
            Item result = call_foreign(static_cast<Item::Foreign*>(callee->object())->object, arguments.data(), arguments.size(),
                                       i.outputs ? i.node->outputs[0]->type : nullptr);
            if (i.outputs) output(i) = std::move(result);
            break;
        }
        case Instruction::GetAttribute: output(i) = Item(input(i).instance().slots[static_cast<size_t>(i.number)]); break;
        case Instruction::SetAttribute: input(i).instance().slots[static_cast<size_t>(i.number)] = input(i, 1); break;
        case Instruction::CreateObject: {
            const TypeRef type = i.node->outputs[0]->type;
            output(i) = Item::instance(type, type->definition->attributes.size());
            break;
        }
        case Instruction::Enter:
            entered_.push_back(input(i));
            output(i) = call_method(input(i), "__enter__", {input(i)});
            break;
        case Instruction::Leave: {
            const Item object = input(i);
            entered_.pop_back();
            leave(object);
            break;
        }
        case Instruction::Fork: output(i) = fork(code_.forked[i.loop], inputs(i)); break;
        case Instruction::Wait: output(i) = wait(input(i)); break;
        case Instruction::Missing: break; // `prepare` refused
        }
        if (i.drops) drop(i);
        return at + 1;
    }

    static Item call_method(const Item& object, const std::string& name, std::vector<Item>&& arguments) {
        Class* of = object.instance().type->definition;
        Function* method = of ? of->method(name) : nullptr;
        KINDLING_CHECK(Runtime, method, "%s has no method '%s'", str(object.type()).c_str(), name.c_str());
        return run_code(*method, std::move(arguments));
    }
    static Item fork(const std::shared_ptr<Function>& function, std::vector<Item>&& arguments) {
        return Future::start([function, kept = function->owner.lock(), arguments = std::move(arguments)]() mutable {
            return told([&] { return run_code(*function, std::move(arguments)); });
        });
    }
    static Item wait(const Item& future) {
        const Item kept = future;
        try {
            return static_cast<Future*>(kept.object())->wait();
        } catch (const Raised& raised) { // what the other thread's script raised is an error as others are here, its text the whole story
            throw Error(ErrorKind::Runtime, raised.what());
        }
    }
    static void leave(const Item& object) { call_method(object, "__exit__", {object, Item(), Item(), Item()}); }

    void move(const Instruction& i) {
        if (i.inputs == 1) {
            Item moved = take(code_.input(i, 0));
            output(i) = std::move(moved);
            return;
        }
        constexpr uint32_t near = 16;
        Item few[near];
        std::vector<Item> many;
        Item* items = few;
        if (i.inputs > near) {
            many.resize(i.inputs);
            items = many.data();
        }
        for (uint32_t n = 0; n < i.inputs; n++) items[n] = take(code_.input(i, n));
        for (uint32_t n = 0; n < i.inputs; n++) output(i, n) = std::move(items[n]);
    }
    /// False: its operators are called.
    bool small_group(const Instruction& i, size_t at) {
        SmallGroup& group = *code_.groups[i.loop];
        const Item* inputs[SmallGroup::most_inputs];
        for (uint32_t n = 0; n < i.inputs; n++) inputs[n] = &input(i, n);
        SmallGroup::Given given;
        bool record = false;
        if (!group.look(inputs, i.inputs, given)) return false;
        if (const std::shared_ptr<const Replay> replay = group.find(given, record)) {
            Tensor made[SmallGroup::most_outputs];
            replay->run(given.inputs, made);
            for (uint32_t n = 0; n < i.outputs; n++) output(i, n) = Item(std::move(made[n]));
            return true;
        }
        if (!record) return false;
        const std::vector<Item> before = places_; // holds the inputs; and a call that fails is made again, for its message
        try {
            group.keep(given, Replay::record(
                                  {given.inputs, given.inputs + i.inputs}, i.outputs,
                                  [&] {
                                      for (size_t next = at + 1; next < static_cast<size_t>(i.number);)
                                          next = step(code_.instructions[next], next);
                                  },
                                  [&](size_t n) { return output(i, static_cast<uint32_t>(n)).tensor_impl(); }));
        } catch (...) {
            group.keep(given, nullptr);
            places_ = before;
            return false;
        }
        return true;
    }
    bool native(const Instruction& i) {
        std::vector<const Item*> inputs(i.inputs);
        std::vector<Item> outputs(i.outputs);
        for (uint32_t n = 0; n < i.inputs; n++) inputs[n] = &input(i, n);
        try {
            if (!code_.loops[i.loop]->run(inputs.data(), outputs.data())) return false;
        } catch (const LoopFailure& failure) {
            Failure shown{{}, failure.kind, failure.message, failure.qualified, failure.raised, true};
            add_lines(failure.node, shown); // `go` must not add the loop's
            throw shown;
        }
        for (uint32_t n = 0; n < i.outputs; n++) output(i, n) = std::move(outputs[n]);
        return true;
    }
    void dict(const Instruction& i) {
        Item made = Item::dict(i.node->outputs[0]->type);
        for (uint32_t n = 0; n + 1 < i.inputs; n += 2) made.dict().set(input(i, n), input(i, n + 1));
        output(i) = std::move(made);
    }

    Function& function_;
    const Code& code_;
    std::vector<Item> places_;
    std::vector<Item> entered_; // by `with`
};

Item run_code(Function& function, std::vector<Item>&& arguments) {
    const Code* code = function.code.load(std::memory_order_acquire);
    if (!code) {
        prepare(function);
        code = function.code.load(std::memory_order_acquire);
    }
    KINDLING_CHECK(Runtime, stack_left() > 32768, "a script's calls are nested too deeply");
    return Frame(function, *code).run(std::move(arguments));
}

} // namespace

void prepare(Function& function) {
    KINDLING_CHECK(Runtime, function.graph, "%s is called while it is compiled", function.name.c_str());
    std::shared_ptr<Code> code = assemble(function);
    for (const Instruction& each : code->instructions) {
        const bool missing = each.what == Instruction::Missing;
        KINDLING_CHECK(NotImplemented, !missing, "scripts cannot run %s yet:\n%s", each.node->kind.c_str(),
                       each.node->range.highlight().c_str());
    }
    Code* none = nullptr;
    if (function.code.compare_exchange_strong(none, code.get(), std::memory_order_acq_rel)) function.owned_code = std::move(code);
}

std::vector<LoopReport> loops_of(const Function& function) {
    std::vector<LoopReport> all;
    const Code* code = function.code.load(std::memory_order_acquire);
    if (!code) return all;
    for (const std::shared_ptr<NativeLoop>& each : code->loops) all.push_back(each->report());
    for (size_t i = 0; i < all.size(); i++) // a loop inside of one that is machine code is that, too
        for (size_t outer = 0; outer < all.size() && !all[i].interpreted.empty(); outer++)
            if (all[outer].interpreted.empty() && code->loops[outer]->is_around(*code->loops[i]))
                all[i].interpreted = "", all[i].narrow = all[outer].narrow, all[i].together = all[outer].together;
    return all;
}

Item run(Function& function, std::vector<Item> arguments) {
    Recording recording;
    recording.open();
    return told([&] {
        Item result = run_code(function, std::move(arguments));
        recording.close();
        return result;
    });
}

Item wait_outside(Future& future) {
    return told([&] { return future.wait(); });
}

} // namespace kindling::script
