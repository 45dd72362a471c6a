// script/syntax/lexer.h: from text to tokens. Kinds of tokens are kinds of tree nodes as well; a single character stands for itself.
#pragma once
#include <deque>
#include <vector>

#include "script/syntax/source.h"

namespace kindling::script {

/// Name (what messages call it) and spelling, where the lexer recognises it by that.
// clang-format off
#define KINDLING_SCRIPT_KINDS(KIND) \
    KIND(End, "eof", "") KIND(Space, "whitespace", "") KIND(SpaceEnd, "whitespace_eof", "") KIND(Number, "number", "") \
    KIND(Newline, "newline", "") KIND(Indent, "indent", "") KIND(Dedent, "dedent", "") KIND(Def, "def", "def") \
    KIND(Equivalent, "equivalent", "<=>") KIND(Ident, "ident", "") KIND(String, "string_literal", "") KIND(Const, "const", "") \
    KIND(List, "list", "") KIND(Apply, "apply", "") KIND(Param, "param", "") KIND(Assign, "assign", "") \
    KIND(AugAssign, "aug_assign", "") KIND(Attribute, "attribute", "") KIND(If, "if", "if") KIND(Else, "else", "else") \
    KIND(Elif, "elif", "elif") KIND(While, "while", "while") KIND(ExprStmt, "expression statement", "") \
    KIND(Return, "return", "return") KIND(Is, "is", "is") KIND(IsNot, "is not", "is not") KIND(Ne, "ne", "!=") \
    KIND(Eq, "eq", "==") KIND(Le, "le", "<=") KIND(Ge, "ge", ">=") KIND(FloorDiv, "floordiv", "//") KIND(IfExpr, "if", "") \
    KIND(True, "True", "True") KIND(False, "False", "False") KIND(None, "None", "None") KIND(And, "and", "and") \
    KIND(Or, "or", "or") KIND(Not, "not", "not") KIND(LShift, "<<", "<<") KIND(RShift, ">>", ">>") \
    KIND(PlusEq, "+=", "+=") KIND(MinusEq, "-=", "-=") KIND(TimesEq, "*=", "*=") KIND(DivEq, "/=", "/=") KIND(ModEq, "%=", "%=") \
    KIND(BitOrEq, "|=", "|=") KIND(BitAndEq, "&=", "&=") KIND(BitXorEq, "^=", "^=") KIND(LShiftEq, "<<=", "<<=") \
    KIND(RShiftEq, ">>=", ">>=") KIND(PowEq, "**=", "**=") KIND(Global, "global", "global") KIND(Subscript, "subscript", "") \
    KIND(Var, "variable", "") KIND(Nothing, "nothing", "") KIND(DictLiteral, "dict-literal", "") \
    KIND(ListLiteral, "list-literal", "") KIND(TupleLiteral, "tuple-literal", "") KIND(For, "for", "for") KIND(In, "in", "in") \
    KIND(NotIn, "not in", "not in") KIND(Starred, "starred", "") KIND(Minus, "unary minus", "") KIND(Pow, "pow operator", "**") \
    KIND(Arrow, "arrow", "->") KIND(Decl, "decl", "") KIND(Slice, "slice expr", "") KIND(TypeComment, "type comment", "# type:") \
    KIND(Raise, "raise", "raise") KIND(Assert, "assert", "assert") KIND(Dots, "dots", "...") \
    KIND(ListComp, "list comprehension", "") KIND(DictComp, "dict comprehension", "") KIND(Break, "break", "break") \
    KIND(Continue, "continue", "continue") KIND(Delete, "del", "del") KIND(Pass, "pass", "pass") KIND(Class, "class", "class") \
    KIND(Import, "import", "import") KIND(With, "with", "with") KIND(WithItem, "withitem", "") KIND(As, "as", "as") \
    KIND(Ellipsis, "Ellipsis", "Ellipsis") KIND(NoneType, "NoneType", "NoneType")
// clang-format on

using Kind = int; // a character, or one of:
namespace kind_of {
enum : Kind {
    First = 256,
#define KIND(name, text, spelling) name,
    KINDLING_SCRIPT_KINDS(KIND)
#undef KIND
};
} // namespace kind_of
std::string kind_name(Kind kind);

struct Token {
    Kind kind;
    Range range;
    std::string_view text() const { return range.text(); }
};

class KINDLING_VISIBLE Lexer {
public:
    /// `python`: with ';' between the statements of a line and '_' in numbers.
    explicit Lexer(const Source& source, bool python = false);
    const Token& now() const { return tokens_.front(); }
    const Token& after_now();
    Token next();
    /// From here on "# type:" is a comment like others.
    void plain_comments() { plain_comments_ = true; }
    /// Where the last token that was taken ends.
    uint32_t passed() const { return passed_; }
    bool accept(Kind kind) { return now().kind == kind && (next(), true); }
    /// RuntimeError if the token is another one.
    Token expect(Kind kind);

private:
    void read();
    Token raw(bool space);
    bool match(size_t at, bool inside, bool space, Token& token, size_t& from, size_t& to) const;
    [[noreturn]] void expected(const std::string& what, const Token& token) const;

    const Source& source_;
    size_t at_ = 0, nesting_ = 0;
    bool plain_comments_ = false, python_ = false;
    uint32_t passed_ = 0;
    std::vector<size_t> indents_;
    std::deque<Token> tokens_;
};

} // namespace kindling::script
