// core/error.h: the error taxonomy. One class, a kind per Python exception class, text formatted only on failure.
#pragma once
#include <cstdint>
#include <exception>
#include <string>

#include "core/export.h"

namespace KINDLING_VISIBLE kindling {

enum class ErrorKind : uint8_t {
    Runtime,
    Type,
    Value,
    Index,
    NotImplemented,
    Attribute,
    Overflow,
    Key,
    OutOfMemory, // RuntimeError in Python
    Mapped,      // RuntimeError in Python: not to be done to all slices of a vmap at once
    LinAlg,      // torch.linalg.LinAlgError
    Internal,    // our own fault: asks for a report
    Python,      // a Python exception is set already; the binding lets it through
};

class Error : public std::exception {
public:
    Error(ErrorKind kind, std::string message) : kind_(kind), message_(static_cast<std::string&&>(message)) {}
    ErrorKind kind() const { return kind_; }
    const char* what() const noexcept override { return message_.c_str(); }

private:
    ErrorKind kind_;
    std::string message_;
};

/// Throws Error with a printf-formatted text.
[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] void fail(ErrorKind kind, const char* format, ...);
/// printf into a std::string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* format, ...);

} // namespace kindling

/// The user's fault, by class: KINDLING_CHECK(Index, dim < ndim, "dim %ld is out of range", dim).
#define KINDLING_CHECK(KIND, CONDITION, ...)                                                                                               \
    do {                                                                                                                                   \
        if (!(CONDITION)) [[unlikely]]                                                                                                     \
            ::kindling::fail(::kindling::ErrorKind::KIND, __VA_ARGS__);                                                                    \
    } while (0)
/// Ours.
#define KINDLING_ASSERT(CONDITION)                                                                                                         \
    do {                                                                                                                                   \
        if (!(CONDITION)) [[unlikely]]                                                                                                     \
            ::kindling::fail(::kindling::ErrorKind::Internal, "internal error at %s:%d: %s. Please report it.", __FILE__, __LINE__,        \
                             #CONDITION);                                                                                                  \
    } while (0)
