// script/syntax/tree.h: what was written, as trees. One node type: a kind, a range that covers what is below, text of what has some, and
// parts in the order of the table. A part that may be missing is an Option with no part or one, so it has a place all the same.
//
//     Def          name: Ident, Decl, List of statements
//     Class        name: Ident, Option of the class above, List of statements
//     Decl         List of Param, Option of the result's type
//     Param        Ident, Option of the type, Option of the default; `text` is "*" where it is given by keyword only
//     If           condition, List, List                      While        condition, List
//     For          List of targets, List of iterables, List   With         List of WithItem, List
//     WithItem     expression, Option of Var                  Return, Raise, ExprStmt   expression
//     Assign       List of targets, Option of the value, Option of the type
//     AugAssign    target, the operation (a tree of that kind), value
//     Assert       test, Option of the message                Delete, Global   List
//     Var          Ident                                      Select ('.')  expression, Ident
//     Apply        callee, List of inputs, List of Attribute  Attribute    Ident, value
//     Subscript    value, List                                Slice        Option begin, Option end, Option step
//     IfExpr       condition, value, value if not             ListComp     element, target, iterable
//     DictComp     key, value, target, iterable               DictLiteral  List of keys, List of values
//     ListLiteral, TupleLiteral   List                        Ident, Const, String   `text`
// All others (operators) have their operands.
#pragma once
#include <deque>
#include <initializer_list>
#include <vector>

#include "script/syntax/lexer.h"

namespace kindling::script {

namespace kind_of {
enum : Kind { Option = 200, Select = '.' }; // no token has it
}

struct Tree {
    Kind kind;
    Range range;
    std::string text;
    std::vector<const Tree*> parts;

    const Tree& operator[](size_t i) const { return *parts[i]; }
    size_t size() const { return parts.size(); }
    bool is(Kind other) const { return kind == other; }
    /// Of an Option.
    bool present() const { return !parts.empty(); }
    /// The name in an Ident, or in what has one as its first part (Var, Def, Param, Attribute).
    const std::string& name() const { return kind == kind_of::Ident ? text : parts[0]->text; }
};

/// Owns trees; a deque, so that they stay where they are.
class KINDLING_VISIBLE Trees {
public:
    /// The range is widened to cover the parts.
    const Tree* make(Kind kind, Range range, std::vector<const Tree*> parts, std::string text = "");
    /// A text that trees refer to besides the one that is read.
    const Source& keep(Source source) { return sources_.emplace_back(std::move(source)); }

private:
    std::deque<Source> sources_;
    std::deque<Tree> all_;
};

/// For tests and messages: "(+ (variable x) (const 1))".
std::string str(const Tree& tree);

} // namespace kindling::script
