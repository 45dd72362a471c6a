// core/schema.cpp: parser of schemas in PyTorch's text form.
// Compiled for size.
#include "core/schema.h"

#include <cstdlib>
#include <cstring>

#include "core/operator.h"

namespace kindling {
namespace {

char* keep(std::string_view text) { // schemas live for ever
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = 0;
    return copy;
}

class Parser {
public:
    explicit Parser(const char* text) : text_(text), at_(text) {}

    Schema parse() {
        Schema schema;
        schema.text = text_;
        std::string_view full = word("._:");
        size_t dot = full.find('.');
        schema.name = keep(full.substr(0, dot));
        schema.overload = dot == std::string_view::npos ? "" : keep(full.substr(dot + 1));
        expect('(');
        bool keyword_only = false;
        while (!accept(')')) {
            if (accept('*')) keyword_only = true;
            else {
                Argument argument = parse_type();
                argument.name = keep(word("_"));
                argument.keyword_only = keyword_only;
                argument.out = keyword_only && argument.mutated;
                if (accept('=')) parse_default(argument);
                schema.positional += !keyword_only;
                schema.arguments.push_back(argument);
            }
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        skip();
        if (at_[0] != '-' || at_[1] != '>') fault("'->' expected");
        at_ += 2;
        if (accept('(')) {
            while (!accept(')')) {
                schema.results.push_back(parse_result());
                if (!accept(',')) {
                    expect(')');
                    break;
                }
            }
        } else schema.results.push_back(parse_result());
        skip();
        if (*at_) fault("end of text expected");
        schema.factory = schema.find("pin_memory", 10) >= 0 && schema.find("dtype", 5) >= 0;
        return schema;
    }

private:
    [[noreturn]] void fault(const char* what) {
        fail(ErrorKind::Runtime, "schema '%s': %s at position %ld", text_, what, static_cast<long>(at_ - text_));
    }
    void skip() {
        while (*at_ == ' ' || *at_ == '\n') at_++;
    }
    bool accept(char c) {
        skip();
        if (*at_ != c) return false;
        at_++;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) {
            char text[] = {'\'', c, '\'', ' ', 'e', 'x', 'p', 'e', 'c', 't', 'e', 'd', 0};
            fault(text);
        }
    }
    std::string_view word(const char* also) {
        skip();
        const char* start = at_;
        while ((*at_ >= 'a' && *at_ <= 'z') || (*at_ >= 'A' && *at_ <= 'Z') || (*at_ >= '0' && *at_ <= '9') ||
               (*at_ && std::strchr(also, *at_)))
            at_++;
        if (at_ == start) fault("a name expected");
        return {start, static_cast<size_t>(at_ - start)};
    }
    Argument parse_type() {
        static constexpr struct {
            const char* name;
            Type type;
        } types[] = {
            {"Tensor", Type::Tensor},       {"Scalar", Type::Scalar},   {"number", Type::Scalar}, {"int", Type::Int},
            {"SymInt", Type::Int},          {"float", Type::Float},     {"bool", Type::Bool},     {"str", Type::Text},
            {"ScalarType", Type::DType},    {"Layout", Type::Layout},   {"Device", Type::Device}, {"MemoryFormat", Type::MemoryFormat},
            {"Generator", Type::Generator}, {"Storage", Type::Storage}, {"Any", Type::Any}};
        Argument argument{};
        argument.name = "";
        std::string_view word_ = word("_");
        const Type* found = nullptr;
        for (auto& known : types)
            if (word_ == known.name) found = &known.type;
        if (!found) fault("a type expected");
        argument.type = *found;
        argument.symbolic = word_ == "SymInt";
        if (*at_ == '!') { // Tensor!: mutated, and nothing else aliases it
            at_++;
            argument.mutated = true;
        }
        for (;;) {
            if (*at_ == '(') { // alias and mutation marks: (a), (a!), (a -> *)
                at_++;
                argument.alias = *at_;
                while (*at_ && *at_ != ')') {
                    argument.mutated |= *at_ == '!';
                    at_++;
                }
                expect(')');
            } else if (*at_ == '?') {
                at_++;
                argument.optional = true;
            } else if (*at_ == '[') {
                at_++;
                argument.optional_items = argument.optional;
                argument.optional = false;
                argument.list = true;
                int size = 0;
                while (*at_ >= '0' && *at_ <= '9') size = size * 10 + (*at_++ - '0');
                argument.list_size = static_cast<int8_t>(size);
                expect(']');
            } else return argument;
        }
    }
    Argument parse_result() {
        Argument result = parse_type();
        skip();
        if (*at_ && *at_ != ',' && *at_ != ')') result.name = keep(word("_"));
        return result;
    }
    void parse_default(Argument& argument) {
        argument.has_default = true;
        skip();
        Value& value = argument.default_value;
        if (*at_ == '\'' || *at_ == '"') {
            char quote = *at_++;
            const char* start = at_;
            while (*at_ && *at_ != quote) at_++;
            value = Text(keep({start, static_cast<size_t>(at_ - start)}));
            expect(quote);
        } else if (*at_ == '[') {
            at_++;
            std::vector<int64_t> items;
            bool truth = false;
            while (!accept(']')) {
                skip();
                if (*at_ == 'T' || *at_ == 'F') {
                    truth = true;
                    items.push_back(word("") == "True");
                } else items.push_back(std::strtol(at_, const_cast<char**>(&at_), 10));
                accept(',');
            }
            if (truth) {
                bool* bools = new bool[items.size()];
                for (size_t i = 0; i < items.size(); i++) bools[i] = items[i] != 0;
                value = Span<bool>(bools, items.size());
            } else {
                int64_t* integers = new int64_t[items.size() + 1];
                for (size_t i = 0; i < items.size(); i++) integers[i] = items[i];
                value = IntList(integers, items.size());
            }
        } else if ((*at_ >= '0' && *at_ <= '9') || *at_ == '-' || *at_ == '.') {
            char* end;
            double number = std::strtod(at_, &end);
            bool whole = true;
            for (const char* p = at_; p < end; p++) whole &= *p != '.' && *p != 'e';
            at_ = end;
            if (argument.list && argument.type == Type::Int) {
                size_t count = argument.list_size ? static_cast<size_t>(argument.list_size) : 1;
                int64_t* integers = new int64_t[count];
                for (size_t i = 0; i < count; i++) integers[i] = static_cast<int64_t>(number);
                value = IntList(integers, count);
            } else if (argument.type == Type::Float) value = number;
            else if (whole) value = static_cast<int64_t>(number);
            else value = number;
        } else {
            std::string_view name = word("_");
            if (name == "None") value = Value();
            else if (name == "True" || name == "False") value = name == "True";
            else if (name == "contiguous_format") value = MemoryFormat::Contiguous;
            else if (name == "preserve_format") value = MemoryFormat::Preserve;
            else if (name == "Mean") value = int64_t{1};
            else if (name == "Sum") value = int64_t{2};
            else if (name == "inf") value = __builtin_inf();
            else if (name == "long") value = DType::Int64;
            else if (name == "float") value = DType::Float32;
            else if (name == "strided") value = Layout::Strided;
            else fault("a default value expected");
        }
    }

    const char *text_, *at_;
};

} // namespace

const Schema* parse_schema(const char* text) { return new Schema(Parser(text).parse()); }

int Schema::find(const char* argument, size_t length) const {
    for (size_t i = 0; i < arguments.size(); i++)
        if (std::strncmp(arguments[i].name, argument, length) == 0 && arguments[i].name[length] == 0) return static_cast<int>(i);
    return -1;
}

namespace {

/// The pieces of "Tensor grad, std::optional<int64_t> dim" between commas outside of <> and ().
std::vector<std::string> pieces(const char* text) {
    std::vector<std::string> result;
    std::string piece;
    int depth = 0;
    for (const char* c = text; *c; c++) {
        if (*c == '<' || *c == '(') depth++;
        if (*c == '>' || *c == ')') depth--;
        if (*c == ',' && depth == 0) {
            result.push_back(piece);
            piece.clear();
        } else piece += *c;
    }
    for (char c : piece)
        if (c != ' ') {
            result.push_back(piece);
            break;
        }
    return result;
}

/// The last identifier of a piece.
std::string identifier(const std::string& piece) {
    auto word = [](char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    size_t end = piece.size();
    while (end && !word(piece[end - 1])) end--;
    size_t begin = end;
    while (begin && word(piece[begin - 1])) begin--;
    return piece.substr(begin, end - begin);
}

} // namespace

std::vector<std::string> parameter_names(const char* given) {
    std::vector<std::string> names = pieces(given);
    for (std::string& each : names) each = identifier(each);
    return names;
}

int argument_before(const Schema& schema, const std::string& name, const char* ending) {
    size_t tail = std::strlen(ending);
    if (name.size() <= tail || name.compare(name.size() - tail, tail, ending) != 0) return -1;
    return schema.find(name.data(), name.size() - tail);
}

// ---- checks of values

bool checks_value(const Operator& op, int argument) {
    if (!op.functional->value_check) return false;
    for (const std::string& name : parameter_names(op.functional->value_check->given))
        if (op.schema->find(name.data(), name.size()) == argument) return true;
    return false;
}

void check_values(const Operator& op, const Value* arguments) {
    const ValueCheck* check = op.functional->value_check;
    if (!check) return;
    Value given[8];
    size_t count = 0;
    for (const std::string& name : parameter_names(check->given)) {
        const int at = op.schema->find(name.data(), name.size()), sized = argument_before(*op.schema, name, "_sizes"),
                  typed = argument_before(*op.schema, name, "_dtype");
        if (at < 0 && sized < 0 && typed < 0 && op.form == Form::Out)
            return; // out= forms lack what the target decides: the call itself checks
        KINDLING_CHECK(Internal, count < 8 && (at >= 0 || sized >= 0 || typed >= 0),
                       "aten::%s: a check of values asks for '%s', which it does not have", op.name(), name.c_str());
        Value& v = given[count++];
        if (at >= 0) v = arguments[at];
        else if (const Value& of = arguments[std::max(sized, typed)]; !of.is_tensor())
            v = sized >= 0 ? Value(IntList()) : Value(of.scalar().dtype());
        else v = sized >= 0 ? Value(static_cast<const TensorImpl*>(of.tensor)->sizes()) : Value(of.tensor->dtype);
    }
    check->apply(given);
}

} // namespace kindling
