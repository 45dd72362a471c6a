// kernels/scalar/code.h: runs a function, as machine code or in an interpreter.
#pragma once
#include <cstdint>
#include <exception>
#include <memory>

#include "kernels/scalar/function.h"

namespace kindling::scalar {

/// A parameter or result. Bool is 0 or 1 in `i`.
union Slot {
    int64_t i;
    double f;
    float s;
    const void* p;
};

/// What a running function asks now and then at its polls. The counter is taken down by 1 at each; below zero `ask` is
/// called, sets it anew and says whether to leave.
struct Asker {
    int64_t counter = 1000;
    int64_t (*ask)(Asker* self) noexcept = nullptr; // 1: leave. Null: never
};

/// Lets the host hear signals (runtime/threads.h). What that throws is kept: the function leaves by the poll's exit, and the
/// caller rethrows.
struct Ears : Asker {
    Ears();
    std::exception_ptr error;
    int64_t interval = 1000, last = 0;
};

class Code {
public:
    virtual ~Code() = default;
    /// Takes the parameters from the slots, and leaves results there; returns the code of the exit, 0 for the ordinary end.
    /// There are `slots()` of them. Needs no lock; many threads may run one code.
    int64_t run(Slot* slots, Asker* asker) const { return entry_(this, slots, asker); }
    size_t slots() const { return slots_; }
    bool native() const { return native_; }
    virtual size_t bytes() const = 0;

protected:
    int64_t (*entry_)(const Code* self, Slot* slots, Asker* asker) = nullptr;
    size_t slots_ = 0;
    bool native_ = false;
};

/// What became of a function.
struct Report {
    int32_t fails = 0;  // the code of an exit by a check, or of an end, that is left; 0: only polls may leave early
    std::string narrow; // why no loop runs in lanes; "" where one does
};

struct Options {
    bool native = true; // where the processor (AVX2) and the system (executable memory) allow it
    bool optimise = true, widen = true;
    std::string* trace = nullptr;                   // gets the function, what the passes made of it, and its code
    std::string (*text)(const Function&) = nullptr; // for that: `scalar::text`, which a library without tests need not hold
    Report* report = nullptr;
};

/// Never fails for a function that verifies. The function is used up.
std::unique_ptr<Code> compile(Function&& function, const Options& options = {});

} // namespace kindling::scalar
