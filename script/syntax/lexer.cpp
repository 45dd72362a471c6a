// script/syntax/lexer.cpp: tokens, indentation, comments.
#include "script/syntax/lexer.h"

#include <algorithm>
#include <cstring>

namespace kindling::script {
namespace {

struct Spelling {
    char name[21], text[9];
}; // no pointers: nothing to relocate
constexpr Spelling spellings[] = {
#define KIND(name, text, spelling) {text, spelling},
    KINDLING_SCRIPT_KINDS(KIND)
#undef KIND
};
constexpr char single[] = "+-*/%@()[]:,={}><.?!&^|~";

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<signed char>(c) < 0; }

/// The length of a number, 0 if there is none: digits, a point, an exponent, `j`; or 0x and digits.
size_t number_length(std::string_view text, bool python) {
    size_t at = 0, digits = 0;
    auto c = [&](size_t i) { return i < text.size() ? text[i] : '\0'; };
    auto hex = [&](size_t i) {
        const char l = static_cast<char>(c(i) | 32);
        return digit(c(i)) || (l >= 'a' && l <= 'f');
    };
    if (c(0) == '0' && (c(1) | 32) == 'x' && hex(2)) {
        for (at = 2; hex(at);) at++;
        return at;
    }
    while (digit(c(at)) || (python && digits && c(at) == '_' && digit(c(at + 1)))) {
        at++;
        digits++;
    }
    if (c(at) == '.') {
        at++;
        while (digit(c(at))) {
            at++;
            digits++;
        }
    }
    if (!digits) return 0;
    if ((c(at) | 32) == 'e') {
        const size_t sign = at + 1 + (c(at + 1) == '-' || c(at + 1) == '+');
        if (digit(c(sign)))
            for (at = sign; digit(c(at));) at++;
    }
    return at + (c(at) == 'j');
}

/// The length of a string literal with its quotes, 0 if there is none that ends.
size_t string_length(std::string_view text) {
    const char quote = text[0];
    if (quote != '"' && quote != '\'') return 0;
    const size_t width = text.size() >= 3 && text[1] == quote && text[2] == quote ? 3 : 1;
    const auto quotes = [&](size_t at) {
        return at + width <= text.size() && std::count(text.begin() + static_cast<long>(at), text.begin() + static_cast<long>(at + width),
                                                       quote) == static_cast<long>(width);
    };
    size_t at = width;
    while (at < text.size() && !quotes(at)) {
        if (text[at] == '\n' && width == 1) return 0;
        at += text[at] == '\\' ? 2 : 1;
    }
    return at < text.size() ? at + width : 0;
}

} // namespace

std::string kind_name(Kind kind) {
    return kind < kind_of::First ? std::string(1, static_cast<char>(kind)) : spellings[kind - kind_of::First - 1].name;
}

Lexer::Lexer(const Source& source, bool python) : source_(source), at_(source.begin), python_(python) {
    indents_.push_back(raw(true).text().size());
    read();
}

void Lexer::expected(const std::string& what, const Token& token) const {
    throw Error(ErrorKind::Runtime, "expected " + what + " but found '" + kind_name(token.kind) + "' here:\n" + token.range.highlight());
}

Token Lexer::expect(Kind kind) {
    if (now().kind != kind) expected(kind_name(kind), now());
    return next();
}

Token Lexer::next() {
    Token token = tokens_.front();
    passed_ = token.range.end;
    tokens_.pop_front();
    if (tokens_.empty()) read();
    return token;
}

const Token& Lexer::after_now() {
    if (tokens_.size() < 2) read();
    return tokens_[1];
}

void Lexer::read() {
    Token token = raw(false);
    const Kind kind = token.kind;
    if (kind == '(' || kind == '[' || kind == '{') nesting_++;
    else if (kind == ')' || kind == ']' || kind == '}') nesting_--;
    else if (kind == kind_of::Space || kind == kind_of::SpaceEnd) {
        const size_t depth = kind == kind_of::SpaceEnd ? indents_.front() : token.text().size();
        if (depth > indents_.back()) {
            indents_.push_back(depth);
            token.kind = kind_of::Indent;
        } else if (depth == indents_.back()) token.kind = kind_of::Newline;
        else {
            tokens_.push_back({kind_of::Newline, token.range});
            while (indents_.back() != depth) {
                indents_.pop_back();
                tokens_.push_back({kind_of::Dedent, token.range});
                if (indents_.empty())
                    throw Error(ErrorKind::Runtime, "invalid indent level " + std::to_string(depth) + ":\n" + token.range.highlight());
            }
            return;
        }
    }
    tokens_.push_back(token);
}

Token Lexer::raw(bool space) {
    Token token{0, {&source_, 0, 0}};
    size_t from = at_, to = at_;
    if (!match(at_, nesting_ > 0, space, token, from, to)) {
        token.kind = static_cast<unsigned char>(source_.text[at_]); // TorchScript names the character before the blanks
        token.range = {&source_, static_cast<uint32_t>(from), static_cast<uint32_t>(from + 1)};
        expected("a valid token", token);
    }
    token.range = {&source_, static_cast<uint32_t>(from), static_cast<uint32_t>(to)};
    at_ = to;
    return token;
}

/// `inside` brackets a new line is nothing; after one elsewhere, the blanks are the token.
bool Lexer::match(size_t at, bool inside, bool space, Token& token, size_t& from, size_t& to) const {
    const std::string& text = source_.text;
    const size_t size = text.size();
    for (;;) {
        from = at;
        while (at < size && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\f' || text[at] == '\v')) at++;
        if (at >= size) break;
        if (text[at] == '#' && (plain_comments_ || text.compare(at, 7, "# type:") != 0 || text.compare(at, 14, "# type: ignore") == 0)) {
            while (at < size && text[at] != '\n') at++;
        } else if (text[at] == '\\' && at + 1 < size && text[at + 1] == '\n' && !space) {
            at += 2;
        } else if (text[at] == '\n') {
            at++;
            space = !inside;
        } else break;
    }
    if (space) {
        token.kind = at >= size ? kind_of::SpaceEnd : kind_of::Space;
        to = at;
        return true;
    }
    from = to = at;
    if (at >= size) {
        token.kind = kind_of::End;
        return true;
    }
    const std::string_view rest = std::string_view(text).substr(at);
    size_t longest = 0;
    if (size_t length = number_length(rest, python_)) {
        token.kind = kind_of::Number;
        to = at + length;
        return true;
    }
    if (size_t length = string_length(rest)) {
        token.kind = kind_of::String;
        to = at + length;
        return true;
    }
    if (letter(rest[0])) {
        while (longest < rest.size() && (letter(rest[longest]) || digit(rest[longest]))) longest++;
        token.kind = kind_of::Ident;
    } else if (std::strchr(single, rest[0]) || (python_ && rest[0] == ';')) {
        longest = 1;
        token.kind = rest[0];
    }
    Kind kind = kind_of::First;
    for (const Spelling& each : spellings) {
        kind++;
        const size_t length = std::strlen(each.text);
        if (letter(rest[0]) && length < rest.size() && (letter(rest[length]) || digit(rest[length]))) continue; // `not inside`
        if (length && length >= longest && rest.substr(0, length) == each.text) longest = length, token.kind = kind;
    }
    to = at + longest;
    return longest > 0;
}

} // namespace kindling::script
