// core/error.cpp: formatting and throwing of errors.
// Compiled for size.
#include "core/error.h"

#include <cstdarg>
#include <cstdio>

namespace kindling {

static std::string vformat(const char* pattern, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = std::vsnprintf(nullptr, 0, pattern, arguments);
    std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
    std::vsnprintf(text.data(), text.size() + 1, pattern, again);
    va_end(again);
    return text;
}

void fail(ErrorKind kind, const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    std::string text = vformat(pattern, arguments);
    va_end(arguments);
    throw Error(kind, static_cast<std::string&&>(text));
}

std::string format(const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    std::string text = vformat(pattern, arguments);
    va_end(arguments);
    return text;
}

} // namespace kindling
