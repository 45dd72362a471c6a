// script/syntax/parser.cpp: the grammar, as TorchScript has it, in what it takes and in what it does not.
#include "script/syntax/parser.h"

#include <algorithm>

namespace kindling::script {
namespace {

using namespace kind_of;

/// How strongly an operator binds, 0 if it is none.
int binary(Kind kind) {
    switch (kind) {
    case If:
    case For: return 1;
    case And:
    case Or: return 2; // 3 is `not`
    case In:
    case NotIn:
    case '<':
    case '>':
    case Is:
    case IsNot:
    case Eq:
    case Le:
    case Ge:
    case Ne: return 4;
    case '|': return 5;
    case '^': return 6;
    case '&': return 7;
    case LShift:
    case RShift: return 8;
    case '+':
    case '-': return 9;
    case '*':
    case '/':
    case FloorDiv:
    case '%':
    case '@': return 10;
    case Pow: return 11;
    default: return 0;
    }
}
int unary(Kind kind) {
    switch (kind) {
    case Not:
    case '~': return 3;
    case '-':
    case '*': return 10;
    default: return 0;
    }
}

bool ends_tuple(Kind kind) { return (kind >= PlusEq && kind <= PowEq) || kind == Newline || kind == '=' || kind == ')' || kind == ';'; }

/// What stands between the quotes.
std::string_view inside(std::string_view text) {
    const size_t width = text.size() >= 3 && text[1] == text[0] && text[2] == text[0] ? 3 : 1;
    return text.substr(width, text.size() - 2 * width);
}
bool is_comparison(Kind kind) { return binary(kind) == 4; }

/// What the inside of a string literal stands for.
std::string unescape(const Range& range, std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '\\') {
            out += text[i];
            continue;
        }
        switch (const char c = text[++i]) {
        case '\\':
        case '\'':
        case '"':
        case '\n': out += c; break;
        case 'a': out += '\a'; break;
        case 'b': out += '\b'; break;
        case 'f': out += '\f'; break;
        case 'n': out += '\n'; break;
        case 'v': out += '\v'; break;
        case 't': out += '\t'; break;
        case 'x': fail_at(range, "unsupported hex specifier");
        case 'u':
        case 'U': fail_at(range, "unsupported unicode specifier");
        default: {
            int value = 0;
            for (size_t j = 0; j < 3; j++) {
                if (i + j >= text.size() || text[i + j] < '0' || text[i + j] > '7') value = 1 << 20;
                else value = value * 8 + (text[i + j] - '0');
            }
            if (value > 255) fail_at(range, " ill formed octal specifier");
            out += static_cast<char>(value);
            i += 2;
        }
        }
    }
    return out;
}

/// One place that throws, for many that refuse.
[[noreturn, gnu::noinline, gnu::cold]] void refuse(std::string_view reason, const Range& range, const char* of = "UnsupportedNodeError") {
    throw NotSupported(std::string(reason), range, of);
}

} // namespace

const Tree* Trees::make(Kind kind, Range range, std::vector<const Tree*> parts, std::string text) {
    for (const Tree* part : parts) {
        range.start = std::min(range.start, part->range.start);
        range.end = std::max(range.end, part->range.end);
    }
    all_.push_back({kind, range, std::move(text), std::move(parts)});
    return &all_.back();
}

std::string str(const Tree& tree) {
    std::string out = "(" + (tree.kind == Option ? std::string("option") : kind_name(tree.kind));
    if (!tree.text.empty()) out += " " + tree.text;
    for (const Tree* part : tree.parts) out += " " + str(*part);
    return out + ")";
}

template <class F> void Parser::sequence(Kind begin, Kind separator, Kind end, F each) {
    if (begin != Nothing) lexer_.expect(begin);
    while (lexer_.now().kind != end) {
        each();
        if (!lexer_.accept(separator)) {
            if (end != Nothing) lexer_.expect(end);
            return;
        }
    }
    lexer_.expect(end);
}

const Tree* Parser::list_of(Kind begin, Kind separator, Kind end, Part part) {
    const Range range = lexer_.now().range;
    std::vector<const Tree*> parts;
    sequence(begin, separator, end, [&] { parts.push_back((this->*part)()); });
    return list(range, std::move(parts));
}

// ---- expressions

const Tree* Parser::ident() {
    const Token token = lexer_.expect(Ident);
    return make(Ident, token.range, {}, std::string(token.text()));
}

const Tree* Parser::expression_or_tuple() {
    const Tree* first = expression();
    if (lexer_.now().kind != ',') return first;
    std::vector<const Tree*> parts = {first};
    while (lexer_.accept(',') && !ends_tuple(lexer_.now().kind)) parts.push_back(expression());
    const Tree* all = list(first->range, std::move(parts));
    return make(TupleLiteral, all->range, {all});
}

const Tree* Parser::expression(int above) {
    const Tree* tree;
    const Token first = lexer_.now();
    // TorchScript's own grammar has `for` and `if`, and `and` and `or`, side by side and `~` as weak as `not`; Python's has not.
    const auto binds = [&](Kind kind) {
        return python_ && kind != For && binary(kind) ? binary(kind) + (kind == And ? 2 : 1) : binary(kind);
    };
    if (const int strength = !python_ ? unary(first.kind) : first.kind == '~' ? 11 : unary(first.kind) ? unary(first.kind) + 1 : 0) {
        lexer_.next();
        const Tree* operand = expression(strength);
        if (first.kind == '-' && operand->is(Const))
            tree = make(Const, python_ ? first.range : operand->range, {},
                        operand->text[0] == '-' ? operand->text.substr(1) : "-" + operand->text);
        else tree = make(first.kind == '*' ? Starred : first.kind == '-' ? Minus : first.kind, first.range, {operand});
    } else tree = base();
    const Tree* compared = nullptr; // the right side of the comparison that `tree` is: Python's chain
    while (int strength = binds(lexer_.now().kind)) {
        if (strength <= above) break;
        if (python_ && (lexer_.now().kind == FloorDiv || lexer_.now().kind == '@') && lexer_.after_now().kind == '=')
            refuse(std::string("unsupported kind of augmented assignment: ") + (lexer_.now().kind == '@' ? "MatMult" : "FloorDiv"),
                   tree->range, "NotSupportedError");
        const Token op = lexer_.next();
        if (python_ && is_comparison(op.kind)) {
            const Tree* right = expression(strength);
            const Tree* left = compared ? compared : tree;
            const Tree* made =
                op.kind == NotIn ? make(Not, op.range, {make(In, op.range, {left, right})}) : make(op.kind, op.range, {left, right});
            tree = compared ? make(And, op.range, {tree, made}) : made;
            compared = right;
            continue;
        }
        compared = nullptr;
        if (op.kind == Pow || op.kind == If) strength--; // to the right
        if (op.kind == NotIn) {
            tree = make(In, op.range, {tree, expression(strength)});
            tree = make(Not, op.range, {tree});
        } else if (op.kind == If) {
            const Tree* condition = expression();
            lexer_.expect(Else);
            const Tree* otherwise = expression(strength);
            tree = make(IfExpr, op.range, {condition, tree, otherwise});
        } else if (op.kind == For) {
            const Tree* each = target();
            if (python_ && lexer_.now().kind == ',') {
                std::vector<const Tree*> parts = {each};
                while (lexer_.accept(',') && lexer_.now().kind != In) parts.push_back(target());
                const Tree* all = list(each->range, std::move(parts));
                each = make(TupleLiteral, all->range, {all});
            }
            lexer_.expect(In);
            const Tree* iterable = expression(python_ ? 2 : 0);
            if (python_ && lexer_.now().kind == If)
                refuse("Comprehension ifs are not supported yet", lexer_.now().range, "NotSupportedError");
            if (python_ && lexer_.now().kind == For)
                refuse("Only a single generator is currently supported", lexer_.now().range, "NotSupportedError");
            tree = make(ListComp, op.range, {tree, each, iterable});
        } else tree = make(op.kind, op.range, {tree, expression(strength)});
    }
    return tree;
}

/// What binds more than any operator: names, literals, brackets, and what follows them.
const Tree* Parser::base() {
    const Tree* tree;
    const Token token = lexer_.now();
    std::string text;
    switch (token.kind) {
    case Number:
        lexer_.next();
        text = token.text();
        std::erase(text, '_');
        tree = make(Const, token.range, {}, text);
        break;
    case True:
    case False:
    case None:
    case NoneType:
        lexer_.next();
        tree = make(token.kind, token.range, {});
        break;
    case '(':
        lexer_.next();
        if (lexer_.accept(')')) {
            const Range range = lexer_.now().range;
            tree = make(TupleLiteral, range, {list(range, {})});
            break;
        }
        tree = expression_or_tuple();
        if (python_ && lexer_.now().kind == ':') refuse("NamedExpr aren't supported", tree->range);
        lexer_.expect(')');
        break;
    case '[': tree = bracketed(); break;
    case '{': tree = braced(); break;
    case String: tree = strings(); break;
    case Ellipsis:
    case Dots:
        lexer_.next();
        tree = make(Dots, token.range, {});
        break;
    case Ident:
        if (at_string()) {
            tree = strings();
            break;
        }
        if (python_ && (token.text() == "b" || token.text() == "B") && lexer_.after_now().kind == String)
            refuse("Unknown Constant expression type", token.range, "FrontendError");
        if (python_ && token.text() == "lambda") refuse("Lambda aren't supported", token.range);
        if (python_ && (token.text() == "yield" || token.text() == "await"))
            refuse(token.text() == "yield" ? "Yield aren't supported" : "Await aren't supported", token.range);
        [[fallthrough]];
    default: {
        const Tree* name = ident();
        tree = make(Var, name->range, {name});
    }
    }
    for (;;) {
        if (lexer_.accept('.')) {
            const Tree* name = ident();
            tree = make(Select, name->range, {tree, name});
        } else if (lexer_.now().kind == '(') tree = apply(tree);
        else if (lexer_.now().kind == '[') tree = subscript(tree);
        else return tree;
    }
}

const Tree* Parser::bracketed() {
    const Tree* all = list_of('[', ',', ']', &Parser::any_expression);
    if (all->size() == 1 && (*all)[0].is(ListComp)) return python_ ? make(ListComp, all->range, (*all)[0].parts) : all->parts[0];
    for (const Tree* part : all->parts)
        if (part->is(ListComp)) fail_at(all->range, " expected a single list comprehension within '[' , ']'");
    return make(ListLiteral, all->range, {all});
}

const Tree* Parser::braced() {
    const Token brace = lexer_.next();
    std::vector<const Tree*> keys, values;
    const Range range = python_ ? brace.range : lexer_.now().range;
    if (lexer_.now().kind != '}') do {
            keys.push_back(expression());
            if (python_ && lexer_.now().kind != ':')
                refuse(keys.back()->is(ListComp) ? "SetComp aren't supported" : "Set aren't supported", range);
            lexer_.expect(':');
            values.push_back(expression());
        } while (lexer_.accept(',') && !(python_ && lexer_.now().kind == '}'));
    lexer_.expect('}');
    if (keys.size() == 1 && values[0]->is(ListComp)) { // `k: v for x in y` was read as a key and a comprehension
        const Tree& values_of = *values[0];
        return make(DictComp, range, {keys[0], values_of.parts[0], values_of.parts[1], values_of.parts[2]});
    }
    const Tree* key_list = list(range, std::move(keys));
    return make(DictLiteral, range, {key_list, list(range, std::move(values))});
}

/// A string, or what stands in front of one: f"", r"", rf"".
bool Parser::at_string() {
    if (lexer_.now().kind == String) return true;
    if (!python_ || lexer_.now().kind != Ident) return false;
    const std::string_view word = lexer_.now().text();
    if (word.size() > 2 || word.find_first_not_of("fFrRuU") != std::string_view::npos) return false;
    return lexer_.after_now().kind == String && lexer_.after_now().range.start == lexer_.now().range.end;
}

const Tree* Parser::strings() {
    const Range range = lexer_.now().range;
    std::string text;
    std::vector<const Tree*> values;
    bool format = false;
    while (at_string()) {
        bool raw = false, fields = false;
        if (lexer_.now().kind == Ident) {
            const std::string_view word = lexer_.next().text();
            raw = word.find_first_of("rR") != std::string_view::npos;
            fields = word.find_first_of("fF") != std::string_view::npos;
        }
        const Token token = lexer_.next();
        const std::string_view content = inside(token.text());
        if (fields) formatted(token.range, content, text, values);
        else text += raw ? std::string(content) : unescape(token.range, content);
        format |= fields;
    }
    const Tree* made = make(String, range, {}, std::move(text));
    if (!format) return made;
    const Tree* method = make(Select, range, {made, make(Ident, range, {}, "format")});
    return make(Apply, range, {method, list(range, std::move(values)), list(range, {})});
}

/// f"a{x}b": the text "a{}b", and x.
void Parser::formatted(const Range& range, std::string_view text, std::string& out, std::vector<const Tree*>& values) {
    for (size_t i = 0; i < text.size();) {
        const size_t brace = std::min(text.find_first_of("{}", i), text.size());
        out += unescape(range, text.substr(i, brace - i));
        if (brace == text.size()) return;
        if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
            out += text[brace];
            i = brace + 2;
            continue;
        }
        size_t end = brace + 1, depth = 0;
        for (; end < text.size(); end++) {
            const char c = text[end];
            if (c == '(' || c == '[' || c == '{') depth++;
            else if ((c == ')' || c == ']') && depth) depth--;
            else if (c == '}' && !depth--) break;
            else if (!depth && c == ':') refuse("Don't support formatting in JoinedStr", range, "NotSupportedError");
            else if (!depth && c == '!' && end + 1 < text.size() && text[end + 1] != '=')
                refuse("Don't support conversion in JoinedStr", range, "NotSupportedError");
        }
        const size_t begin = static_cast<size_t>(text.data() - range.source->text.data()) + brace + 1;
        const Source& part =
            trees_.keep({range.source->text.substr(0, begin + end - brace - 1), range.source->file, range.source->first_line, begin});
        values.push_back(Parser(part, trees_, true).expression());
        out += "{}";
        i = end + 1;
    }
}

const Tree* Parser::apply(const Tree* callee) {
    const Range range = lexer_.now().range;
    std::vector<const Tree*> inputs, attributes;
    sequence('(', ',', ')', [&] {
        if (python_ && lexer_.now().kind == Pow) refuse("keyword-arg expansion is not supported", lexer_.now().range, "NotSupportedError");
        if (lexer_.now().kind == Ident && lexer_.after_now().kind == '=') {
            const Tree* name = ident();
            lexer_.expect('=');
            attributes.push_back(make(Attribute, name->range, {name, expression()}));
        } else inputs.push_back(expression());
    });
    if (python_ && inputs.size() == 1 && inputs[0]->is(ListComp)) inputs[0] = make(ListComp, range, inputs[0]->parts);
    const Tree* input_list = list(range, std::move(inputs));
    return make(Apply, range, {callee, input_list, list(range, std::move(attributes))});
}

const Tree* Parser::subscript(const Tree* value) {
    Range range = lexer_.now().range;
    const Tree* parts = list_of('[', ',', ']', &Parser::subscript_part);
    range.end = lexer_.passed();
    return make(Subscript, range, {value, parts});
}

const Tree* Parser::subscript_part() {
    const Range range = lexer_.now().range;
    const Tree* bounds[3] = {};
    if (lexer_.now().kind != ':') bounds[0] = expression();
    if (lexer_.accept(':')) {
        auto ends = [&] { return lexer_.now().kind == ',' || lexer_.now().kind == ']'; };
        if (!ends() && lexer_.now().kind != ':') bounds[1] = expression();
        if (lexer_.accept(':') && !ends()) bounds[2] = expression();
    } else { // 1:2 is what slice(1, 2) says, too
        const Tree* part = bounds[0];
        if (!part->is(Apply) || !part->parts[0]->is(Var) || (*part)[0].name() != "slice") return part;
        const std::vector<const Tree*>& given = (*part)[1].parts;
        const size_t count = (*part)[2].size() ? 0 : given.size();
        if (!count || count > 3) fail_at(part->range, "slice accepts exactly 1, 2 or 3 arguments, got: %zu", count);
        bounds[0] = make(Const, range, {}, "0");
        for (size_t i = 0; i < count; i++) bounds[i + (count == 1)] = given[i]->is(None) ? nullptr : given[i];
    }
    std::vector<const Tree*> parts;
    for (const Tree* bound : bounds) parts.push_back(bound ? some(range, bound) : none(range));
    return make(Slice, range, std::move(parts));
}

// ---- functions and classes

const Tree* Parser::type_annotation() {
    if (!lexer_.accept(':')) return none(lexer_.now().range);
    const Tree* type = expression();
    return some(type->range, type);
}

const Tree* Parser::parameter(bool keyword_only) {
    const Tree* name = ident();
    const Tree* type = type_annotation();
    const Tree* value = lexer_.accept('=') ? expression() : nullptr;
    value = value ? some(value->range, value) : none(lexer_.now().range);
    return make(Param, type->range, {name, type, value}, keyword_only ? "*" : "");
}

const Tree* Parser::bare_type() {
    const Tree* type = expression();
    const Tree* name = make(Ident, type->range, {});
    const Tree* given = some(type->range, type);
    return make(Param, type->range, {name, given, none(type->range)});
}

const Tree* Parser::type_comment() {
    const Range range = lexer_.now().range;
    lexer_.expect(TypeComment);
    const bool by_line = python_ && lexer_.after_now().kind == Dots; // "(...) -> Tensor": the parameters have theirs
    const Tree* types = by_line ? nullptr : list_of('(', ',', ')', &Parser::bare_type);
    if (by_line) {
        lexer_.next(), lexer_.next();
        types = none(range);
        lexer_.expect(')');
    }
    const Tree* result;
    if (lexer_.accept(Arrow)) {
        const Range at = lexer_.now().range;
        result = some(at, expression());
    } else result = none(lexer_.now().range);
    return make(Decl, range, {types, result});
}

const Tree* Parser::declaration() {
    const Range range = lexer_.now().range;
    std::vector<const Tree*> parameters;
    bool keyword_only = false;
    constexpr char refusal[] = "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults";
    lexer_.expect('(');
    while (lexer_.now().kind != ')') {
        const bool star = lexer_.now().kind == '*' && !keyword_only;
        if (star) lexer_.next();
        if (python_ && (lexer_.now().kind == Pow || (star && lexer_.now().kind != ',')))
            refuse(refusal, lexer_.now().range, "NotSupportedError");
        if (star) keyword_only = true;
        else parameters.push_back(parameter(keyword_only));
        if (python_ && keyword_only && !star && (*parameters.back())[2].present())
            refuse(refusal, parameters.back()->range, "NotSupportedError");
        const bool more = lexer_.accept(',');
        if (python_ && lexer_.accept(TypeComment)) { // "x,  # type: Tensor", a parameter a line
            const Tree *type = expression(), *old = parameters.back();
            parameters.back() = make(Param, type->range, {old->parts[0], some(type->range, type), old->parts[2]}, old->text);
        }
        if (!more) break;
    }
    lexer_.expect(')');
    const Tree* all = list(range, std::move(parameters));
    const Tree* result;
    if (lexer_.accept(Arrow)) {
        const Range at = lexer_.now().range;
        result = some(at, expression());
    } else result = none(lexer_.now().range);
    lexer_.expect(':');
    return make(Decl, all->range, {all, result});
}

/// The declaration with the types of a type comment.
const Tree* Parser::with_types(const Tree* declaration, const Tree* types, bool is_method) {
    if ((*types)[0].is(Option)) return make(Decl, declaration->range, {declaration->parts[0], types->parts[1]});
    const std::vector<const Tree*>&old = (*declaration)[0].parts, &given = (*types)[0].parts;
    const size_t skipped = is_method;
    if (old.size() - skipped != given.size())
        fail_at(declaration->range, "Number of type annotations (%zu) did not match the number of %s parameters (%zu)", given.size(),
                is_method ? "method" : "function", old.size() - skipped);
    std::vector<const Tree*> parameters(old.begin(), old.begin() + static_cast<long>(skipped));
    for (size_t i = skipped; i < old.size(); i++)
        parameters.push_back(make(Param, old[i]->range, {old[i]->parts[0], given[i - skipped]->parts[1], old[i]->parts[2]}, old[i]->text));
    const Tree* all = list(declaration->range, std::move(parameters));
    return make(Decl, declaration->range, {all, types->parts[1]});
}

const Tree* Parser::function(bool is_method) {
    lexer_.expect(Def);
    const Tree* name = ident();
    const Tree* head = declaration();
    const bool indented = lexer_.accept(Indent);
    if (lexer_.now().kind == TypeComment) {
        const Tree* types = type_comment();
        if (indented) lexer_.expect(Newline);
        head = with_types(head, types, is_method);
    }
    if (python_) lexer_.plain_comments();
    const Tree* body = indented ? statements(false) : in_line(is_method);
    return make(Def, name->range, {name, head, body});
}

const Tree* Parser::class_definition() {
    lexer_.expect(Class);
    const Tree* name = ident();
    const Tree* above = none(name->range);
    if (lexer_.accept('(')) {
        const Tree* base = expression();
        above = some(base->range, base);
        lexer_.expect(')');
    }
    lexer_.expect(':');
    const Tree* body = statements(true, true);
    return make(Class, name->range, {name, above, body});
}

// ---- statements

/// What stands behind a colon in the same line.
const Tree* Parser::in_line(bool in_class) {
    std::vector<const Tree*> all;
    do all.push_back(statement(in_class));
    while (line_goes_on_);
    return list(lexer_.now().range, std::move(all));
}

/// The end of the line, or what Python has between the statements of one.
void Parser::end_statement() {
    line_goes_on_ = lexer_.accept(';') && lexer_.now().kind != Newline;
    if (!line_goes_on_) lexer_.expect(Newline);
}

const Tree* Parser::statements(bool indent, bool in_class) {
    const Range range = lexer_.now().range;
    if (indent && python_ && lexer_.now().kind != Indent) return in_line(in_class);
    if (indent) lexer_.expect(Indent);
    std::vector<const Tree*> all;
    do all.push_back(statement(in_class));
    while (!lexer_.accept(Dedent));
    return list(range, std::move(all));
}

/// A keyword and what stands behind it in the line.
const Tree* Parser::simple(Kind kind) {
    const Range range = lexer_.next().range;
    std::vector<const Tree*> parts;
    switch (kind) {
    case Return:
        parts.push_back(lexer_.now().kind != Newline && lexer_.now().kind != ';' ? expression_or_tuple() : make(None, range, {}));
        break;
    case Raise:
        parts.push_back(expression());
        if (python_ && lexer_.now().text() == "from") { // of the cause a script keeps nothing
            lexer_.next();
            expression();
        }
        break;
    case Assert: {
        parts.push_back(expression());
        parts.push_back(lexer_.accept(',') ? some(range, expression()) : none(range));
        break;
    }
    case Global: parts.push_back(list_of(Nothing, ',', Nothing, &Parser::ident)); break;
    case Delete: parts.push_back(list_of(Nothing, ',', Nothing, &Parser::any_expression)); break;
    default: break;
    }
    end_statement();
    return make(kind, range, std::move(parts));
}

/// Statements of Python's that scripts do not have.
void Parser::refuse_statement() {
    static constexpr struct {
        char word[9];
        char what[28];
    } refused[] = {{"try", "try blocks"},
                   {"nonlocal", "nonlocal variables"},
                   {"import", "import statements"},
                   {"from", "import statements"},
                   {"async", "async function definitions"}};
    if (lexer_.now().kind == Import) refuse("import statements aren't supported", lexer_.now().range);
    if (lexer_.now().kind == Class) refuse("class definitions aren't supported", lexer_.now().range);
    if (lexer_.now().kind == Global) refuse("global variables aren't supported", lexer_.now().range);
    if (lexer_.now().kind != Ident) return;
    for (const auto& each : refused)
        if (lexer_.now().text() == each.word) refuse(std::string(each.what) + " aren't supported", lexer_.now().range);
    if (lexer_.now().text() != "match") return;
    if (const Kind behind = lexer_.after_now().kind; behind == Ident || behind == Number || behind == String)
        refuse("Match aren't supported", lexer_.now().range);
}

void Parser::refuse_else(const char* loop) {
    if (python_ && lexer_.now().kind == Else)
        refuse(std::string("else branches of ") + loop + " loops aren't supported", lexer_.now().range, "NotSupportedError");
}

const Tree* Parser::statement(bool in_class) {
    if (python_) refuse_statement();
    const Kind kind = lexer_.now().kind;
    const Range range = lexer_.now().range;
    switch (kind) {
    case If: return if_statement(true);
    case While: {
        lexer_.next();
        const Tree* condition = expression();
        lexer_.expect(':');
        const Tree* body = statements(true);
        refuse_else("while");
        return make(While, range, {condition, body});
    }
    case For: {
        lexer_.next();
        const Tree* targets = list_of(Nothing, ',', In, &Parser::target);
        const Tree* iterables = list_of(Nothing, ',', ':', &Parser::any_expression);
        const Tree* body = statements(true);
        refuse_else("for");
        return make(For, range, {targets, iterables, body});
    }
    case With: {
        lexer_.next();
        const Tree* items = list_of(Nothing, ',', ':', &Parser::with_item);
        return make(With, range, {items, statements(true)});
    }
    case Def:
        if (python_ && !in_class) refuse("function definitions aren't supported", range);
        return function(in_class);
    case Return:
    case Raise:
    case Assert:
    case Global:
    case Delete:
    case Break:
    case Continue:
    case Pass: return simple(kind);
    default: {
        const Tree* first = expression_or_tuple();
        if (lexer_.now().kind != Newline && lexer_.now().kind != ';') return assignment(first);
        end_statement();
        if (python_ && first->is(String)) return make(Pass, first->range, {}); // a docstring
        return make(ExprStmt, first->range, {first});
    }
    }
}

const Tree* Parser::if_statement(bool expect_if) {
    const Range range = lexer_.now().range;
    if (expect_if) lexer_.expect(If);
    const Tree* condition = expression();
    lexer_.expect(':');
    const Tree* then = statements(true);
    const Tree* otherwise = list(lexer_.now().range, {});
    if (lexer_.accept(Else)) {
        lexer_.expect(':');
        otherwise = statements(true);
    } else if (lexer_.accept(Elif)) {
        const Range at = lexer_.now().range;
        otherwise = list(at, {if_statement(false)});
    }
    return make(If, range, {condition, then, otherwise});
}

const Tree* Parser::with_item() {
    const Tree* value = expression();
    if (lexer_.now().kind != As) return make(WithItem, value->range, {value, none(value->range)});
    const Token token = lexer_.next();
    const Tree* name = ident();
    const Tree* variable = make(Var, name->range, {name});
    return make(WithItem, token.range, {value, some(name->range, variable)});
}

/// The operation of an assignment: '=', or that of an augmented one. Null if the token is none.
const Tree* Parser::assignment_operation() {
    const Token token = lexer_.now();
    Kind kind;
    switch (token.kind) {
    case PlusEq:
    case MinusEq:
    case TimesEq:
    case DivEq:
    case ModEq:
    case BitOrEq:
    case BitAndEq:
    case BitXorEq:
    case '=': kind = token.text()[0]; break;
    case LShiftEq: kind = LShift; break;
    case RShiftEq: kind = RShift; break;
    case PowEq: kind = Pow; break;
    default: return nullptr;
    }
    lexer_.next();
    return make(kind, token.range, {});
}

/// The rest of a statement that begins with an expression.
const Tree* Parser::assignment(const Tree* target) {
    const Tree* type = type_annotation();
    const Tree* operation = assignment_operation();
    if (!operation) {
        if (!type->present()) lexer_.expect(Newline);
        end_statement();
        return make(Assign, target->range, {list(target->range, {target}), none(target->range), type});
    }
    const Tree* value = expression_or_tuple();
    if (operation->kind != '=') {
        end_statement();
        if (target->is(TupleLiteral)) fail_at(target->range, " augmented assignment can only have one LHS expression");
        return make(AugAssign, target->range, {target, operation, value});
    }
    std::vector<const Tree*> targets = {target};
    while (lexer_.accept('=')) {
        targets.push_back(value);
        value = expression_or_tuple();
    }
    if (type->present() && targets.size() > 1) fail_at(type->range, "Annotated multiple assignment is not supported in python");
    end_statement();
    const Tree* all = list(target->range, std::move(targets));
    return make(Assign, target->range, {all, some(value->range, value), type});
}

} // namespace kindling::script
