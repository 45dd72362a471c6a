// script/syntax/source.h: the text of a script, ranges of it, and errors that show the line. A range is three numbers: whoever reads a
// text keeps its Source for as long as trees, graphs or code made of it live.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace kindling::script {

struct Source {
    std::string text;
    std::string file = "<string>";
    size_t first_line = 1;
    size_t begin = 0; // where reading begins: a line's first column, behind the decorators of a function
};

struct KINDLING_VISIBLE Range {
    const Source* source = nullptr;
    uint32_t start = 0, end = 0;

    std::string_view text() const { return std::string_view(source->text).substr(start, end - start); }
    /// Counted as TorchScript counts: lines from the source's first line, columns from 0.
    void place(size_t& line, size_t& column) const;
    /// The line with what is meant underlined, between three lines before it and three after, as TorchScript shows it.
    std::string highlight(const char* function = "") const;
};

/// A function is being compiled while this lives: errors say who called for it. `at`: the statement that it has come to.
class KINDLING_VISIBLE Compiling {
public:
    explicit Compiling(std::string name, const Range& at);
    ~Compiling();
    Compiling(const Compiling&) = delete;
    static void at(const Range& statement);

private:
    friend std::string callers();
    std::string name_;
    Range at_;
    Compiling* above_;
};

/// What Python has and scripts have not: one of the classes of torch.jit.frontend.
struct KINDLING_VISIBLE NotSupported : Error {
    NotSupported(const std::string& reason, const Range& range, const char* of = "UnsupportedNodeError")
        : Error(ErrorKind::Runtime, reason + ":\n" + range.highlight()), python_class(of) {}
    const char* python_class;
};

/// RuntimeError of the compiler: the reason, and where.
KINDLING_VISIBLE [[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] void fail_at(const Range& range, const char* format, ...);

} // namespace kindling::script
