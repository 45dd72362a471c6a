// script/signature.cpp: reading signatures, and finding those of a name.
#include "script/signature.h"

#include <cstring>
#include <mutex>

#include "core/operator.h"

namespace kindling::script {
namespace {

class Reader {
public:
    explicit Reader(const std::string& text) : text_(text) {}

    Signature read() {
        Signature made;
        const std::string full = word("._:");
        const size_t dot = full.find('.', full.find("::") == std::string::npos ? 0 : full.find("::"));
        made.name = full.substr(0, dot);
        if (made.name.find("::") == std::string::npos) made.name = "aten::" + made.name;
        if (dot != std::string::npos) made.overload = full.substr(dot + 1);
        need('(');
        bool keyword_only = false;
        while (!accept(')')) {
            if (accept('*')) keyword_only = true;
            else if (text_.compare(at_, 3, "...") == 0) {
                at_ += 3;
                made.variadic = true;
            } else {
                Formal formal;
                formal.type = type(&formal.repeat);
                formal.name = word("_");
                formal.keyword_only = keyword_only;
                if (accept('=')) read_default(formal);
                made.formals.push_back(std::move(formal));
            }
            accept(',');
        }
        need('-');
        need('>');
        if (accept('(')) {
            while (!accept(')')) {
                made.results.push_back(result());
                accept(',');
            }
        } else made.results.push_back(result());
        return made;
    }

private:
    void skip() { while (at_ < text_.size() && text_[at_] == ' ') at_++; }
    bool accept(char c) {
        skip();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        at_++;
        return true;
    }
    void need(char c) { KINDLING_CHECK(Runtime, accept(c), "signature '%s': '%c' expected at %zu", text_.c_str(), c, at_); }
    std::string word(const char* also) {
        skip();
        const size_t start = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || std::strchr(also, text_[at_]))) at_++;
        return text_.substr(start, at_ - start);
    }
    Formal result() {
        Formal formal;
        formal.type = type(nullptr);
        formal.name = word("_");
        return formal;
    }
    TypeRef type(int* repeat) {
        TypeRef made;
        if (accept('(')) {
            std::vector<TypeRef> parts;
            while (!accept(')')) {
                parts.push_back(type(nullptr));
                accept(',');
            }
            made = tuple_of(std::move(parts));
        } else {
            const std::string name = word("_");
            if (name == "Dict" || name == "Future") {
                need('(');
                made = type(nullptr);
                if (accept(',')) made = dict_of(made, type(nullptr));
                else made = future_of(made);
                need(')');
            } else made = named(name);
        }
        for (;;) {
            if (at_ < text_.size() && text_[at_] == '(') at_ = text_.find(')', at_) + 1;   // alias marks
            else if (accept('!')) continue;
            else if (accept('?')) made = optional_of(made);
            else if (accept('[')) {
                const std::string length = word("");
                if (repeat && !length.empty()) *repeat = std::stoi(length);
                need(']');
                made = list_of(made);
            } else return made;
        }
    }
    TypeRef named(const std::string& name) {
        static constexpr struct { char name[14]; TypeKind kind; } words[] = {
            {"Tensor", TypeKind::Tensor}, {"int", TypeKind::Int}, {"SymInt", TypeKind::Int}, {"float", TypeKind::Float}, {"bool", TypeKind::Bool},
            {"complex", TypeKind::Complex}, {"str", TypeKind::Str}, {"Scalar", TypeKind::Number}, {"number", TypeKind::Number}, {"ScalarType", TypeKind::Int},
            {"Layout", TypeKind::Int}, {"MemoryFormat", TypeKind::Int}, {"Device", TypeKind::Device}, {"Generator", TypeKind::Generator},
            {"Storage", TypeKind::Storage}, {"Any", TypeKind::Any}, {"None", TypeKind::None}, {"list", TypeKind::AnyList}, {"tuple", TypeKind::AnyTuple}};
        for (const auto& each : words)
            if (name == each.name) return type_of(each.kind);
        return variable(name);
    }
    void read_default(Formal& formal) {
        formal.has_default = true;
        skip();
        if (text_[at_] == '"' || text_[at_] == '\'') {
            const char quote = text_[at_++];
            const size_t end = text_.find(quote, at_);
            formal.default_value = Item(text_.substr(at_, end - at_));
            at_ = end + 1;
        } else if (accept('[')) {
            std::vector<Item> items;
            while (!accept(']')) {
                items.push_back(scalar(word("-._"), formal.type->element()));
                accept(',');
            }
            formal.default_value = Item::list(formal.type, std::move(items));
        } else {
            const std::string text = word("-._");
            TypeRef wanted = formal.type->is(TypeKind::Optional) ? formal.type->element() : formal.type;
            if (wanted->is(TypeKind::List) && text != "None") {
                const Item one = scalar(text, wanted->element());
                formal.default_value = Item::list(wanted, std::vector<Item>(static_cast<size_t>(formal.repeat ? formal.repeat : 1), one));
            } else formal.default_value = scalar(text, wanted);
        }
    }
    static Item scalar(const std::string& text, TypeRef wanted) {
        if (text == "None") return {};
        if (text == "True" || text == "False") return Item(text == "True");
        static constexpr struct { char name[18]; int64_t value; } words[] = {
            {"contiguous_format", 0}, {"preserve_format", 1}, {"Mean", 1}, {"Sum", 2}, {"long", 4}, {"float", 6}, {"strided", 0}};
        for (const auto& each : words)
            if (text == each.name) return Item(each.value);
        if (text == "inf") return Item(__builtin_inf());
        const bool whole = text.find_first_of(".e") == std::string::npos;
        if (wanted->is(TypeKind::Float) || !whole) return Item(std::strtod(text.c_str(), nullptr));
        return Item(static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 10)));
    }

    const std::string& text_;
    size_t at_ = 0;
};

}  // namespace

Signature parse_signature(const std::string& text) { return Reader(text).read(); }

std::string Signature::text() const {
    const auto value = [](const Formal& formal) {
        std::string all = str(formal.type);
        if (formal.repeat) all.insert(all.rfind(']'), std::to_string(formal.repeat));
        if (!formal.name.empty()) all += " " + formal.name;
        if (formal.has_default) all += "=" + str(formal.default_value);
        return all;
    };
    std::string out = name + (overload.empty() ? "" : "." + overload) + "(";
    bool keyword = false;
    for (const Formal& formal : formals) {
        if (&formal != &formals[0]) out += ", ";
        if (formal.keyword_only && !keyword) {
            out += "*, ";
            keyword = true;
        }
        out += value(formal);
    }
    out += variadic ? ", ...) -> " : ") -> ";
    std::string given;
    for (const Formal& each : results) given += (&each == &results[0] ? "" : ", ") + value(each);
    return results.size() == 1 && given[0] != '(' ? out + given : out + "(" + given + ")";
}

void add_builtins(const std::string& name, std::vector<const Signature*>& all);   // builtins.cpp

const std::vector<const Signature*>& signatures_of(const std::string& name) {
    struct Table {
        std::mutex lock;
        std::unordered_map<std::string, std::vector<const Signature*>> names;
    };
    static Table* table = new Table;
    std::lock_guard guard(table->lock);
    const auto [at, fresh] = table->names.try_emplace(name);
    if (!fresh) return at->second;
    if (name.compare(0, 6, "aten::") == 0) {
        OverloadSet set{};
        if (find_operators(name.c_str() + 6, name.size() - 6, set))
            for (int i = 0; i < set.count; i++) {
                const Operator* op = set.operators[i];
                Signature* made = new Signature(parse_signature(op->schema->text));
                made->name = name;
                made->overload = op->overload();
                made->op = op;
                bool writes = op->form != Form::Functional;
                for (const Argument& argument : op->schema->arguments) writes |= argument.mutated;
                made->effect = writes ? 'w' : 0;
                at->second.push_back(made);
            }
    }
    add_builtins(name, at->second);
    return at->second;
}

}  // namespace kindling::script
