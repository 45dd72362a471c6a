// script/syntax/source.cpp: how a place in a script is shown.
#include "script/syntax/source.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace kindling::script {
namespace {

constexpr int lines_around = 3;
constinit thread_local Compiling* innermost = nullptr;

size_t line_begin(const std::string& text, size_t at) {
    while (at > 0 && text[at - 1] != '\n') at--;
    return at;
}
size_t line_end(const std::string& text, size_t at) {
    while (at < text.size() && text[at] != '\n') at++;
    return at;
}

} // namespace

void Range::place(size_t& line, size_t& column) const {
    const std::string& all = source->text;
    const size_t at = std::min<size_t>(start, all.size());
    line = source->first_line + static_cast<size_t>(std::count(all.begin(), all.begin() + static_cast<long>(at), '\n'));
    column = at - line_begin(all, at);
}

std::string Range::highlight(const char* function) const {
    if (!source) return "";
    const std::string& all = source->text;
    if (end - start == all.size()) return all;
    const size_t stop = std::min<size_t>(end, all.size());
    if (start > all.size()) return "";
    const size_t begin_line = line_begin(all, start), end_line = line_end(all, stop);
    size_t before = begin_line, after = end_line;
    for (int lines = 0; before > 0; before--) {
        lines += all[before - 1] == '\n';
        if (lines >= lines_around) break;
    }
    for (int lines = 0; after < all.size(); after++) {
        lines += all[after] == '\n';
        if (lines >= lines_around) break;
    }
    size_t line, column;
    place(line, column);
    std::string out;
    if (!source->file.empty()) {
        out = format("  File \"%s\", line %zu", source->file.c_str(), line);
        if (*function) out += std::string(", in ") + function;
        out += '\n';
    }
    out.append(all, before, start - before);
    size_t from = start, to = start;
    while (from < stop) {
        to = line_end(all, to);
        out.append(all, from, to - from + 1);
        if (out.back() != '\n') out += '\n';
        const size_t first = line_begin(all, from);
        size_t last = from, blank = 0;
        while (last < stop && all[last] != '\n') last++;
        for (size_t i = first; i < last && (all[i] == ' ' || i < start); i++) blank++;
        if (const size_t marked = last - first - blank) {
            bool more = false; // ranges may include the white space of the lines after
            for (size_t i = to; i <= stop && i < all.size(); i++) more |= all[i] != '\n' && all[i] != ' ';
            out.append(blank, ' ').append(marked, '~').append(more && to != stop ? "\n" : " <--- HERE\n");
        }
        from = ++to;
    }
    if (to <= all.size() && to < after) {
        out.append(all, to, after - to);
        if (out.back() != '\n') out += '\n';
    }
    return out;
}

Compiling::Compiling(std::string name, const Range& at) : name_(std::move(name)), at_(at), above_(innermost) { innermost = this; }
Compiling::~Compiling() { innermost = above_; }
void Compiling::at(const Range& statement) {
    if (innermost) innermost->at_ = statement;
}
std::string callers() {
    std::string out;
    for (const Compiling* each = innermost; each && each->above_; each = each->above_)
        out += "'" + each->name_ + "' is being compiled since it was called from '" + each->above_->name_ + "'\n" +
               each->above_->at_.highlight();
    return out;
}

void fail_at(const Range& range, const char* pattern, ...) {
    va_list arguments, again;
    va_start(arguments, pattern);
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, pattern, again);
    va_end(again);
    std::string text(static_cast<size_t>(length), '\0');
    std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
    va_end(arguments);
    throw Error(ErrorKind::Runtime, "\n" + text + ":\n" + range.highlight() + callers());
}

} // namespace kindling::script
