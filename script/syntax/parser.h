// script/syntax/parser.h: TorchScript's grammar, by recursive descent.
#pragma once
#include "script/syntax/tree.h"

namespace kindling::script {

class KINDLING_VISIBLE Parser {
public:
    /// `python`: what torch.jit.script takes from the source of a Python function, which is more than TorchScript's own grammar has.
    Parser(const Source& source, Trees& trees, bool python = false) : lexer_(source, python), trees_(trees), python_(python) {}

    bool at_end() const { return lexer_.now().kind == kind_of::End; }
    const Tree* function(bool is_method = false);
    const Tree* class_definition();
    const Tree* expression(int above = 0);
    /// The types in a comment: "# type: (int, Tensor) -> int".
    const Tree* type_comment();
    const Lexer& lexer() const { return lexer_; }

private:
    using Part = const Tree* (Parser::*)();
    const Tree* make(Kind kind, Range range, std::vector<const Tree*> parts, std::string text = "") {
        return trees_.make(kind, range, static_cast<std::vector<const Tree*>&&>(parts), static_cast<std::string&&>(text));
    }
    const Tree* list(Range range, std::vector<const Tree*> parts) {
        return make(kind_of::List, range, static_cast<std::vector<const Tree*>&&>(parts));
    }
    const Tree* some(Range range, const Tree* tree) { return make(kind_of::Option, range, {tree}); }
    const Tree* none(Range range) { return make(kind_of::Option, range, {}); }
    template <class F> void sequence(Kind begin, Kind separator, Kind end, F each);
    const Tree* list_of(Kind begin, Kind separator, Kind end, Part part);

    const Tree* ident();
    const Tree* any_expression() { return expression(); }
    const Tree* target() { return expression(python_ ? 5 : 4); }
    const Tree* expression_or_tuple();
    const Tree* base();
    const Tree* bracketed();
    const Tree* braced();
    const Tree* strings();
    bool at_string();
    void formatted(const Range& range, std::string_view text, std::string& out, std::vector<const Tree*>& values);
    void refuse_statement();
    void refuse_else(const char* loop);
    const Tree* apply(const Tree* callee);
    const Tree* subscript(const Tree* value);
    const Tree* subscript_part();
    const Tree* type_annotation();
    const Tree* bare_type();
    const Tree* parameter(bool keyword_only);
    const Tree* declaration();
    const Tree* with_types(const Tree* declaration, const Tree* types, bool is_method);
    const Tree* statement(bool in_class = false);
    const Tree* statements(bool indent, bool in_class = false);
    const Tree* in_line(bool in_class);
    void end_statement();
    const Tree* simple(Kind kind);
    const Tree* if_statement(bool expect_if);
    const Tree* with_item();
    const Tree* assignment(const Tree* target);
    const Tree* assignment_operation();

    Lexer lexer_;
    Trees& trees_;
    bool python_, line_goes_on_ = false;
};

} // namespace kindling::script
