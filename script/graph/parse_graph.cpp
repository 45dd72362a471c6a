// script/graph/parse_graph.cpp: a graph from its text, as PyTorch's torch._C.parse_ir reads it.
#include "core/dtype.h"
#include "generated/functions.h"
#include "script/graph/graph.h"
#include "script/graph/signature.h"
#include "script/syntax/parser.h"

namespace kindling::script {
namespace {

using namespace kind_of;

class GraphReader {
public:
    GraphReader(const Source& source, bool tensor_constants) : lexer_(source), tensors_(tensor_constants) {}

    std::shared_ptr<Graph> read() {
        graph_ = std::make_shared<Graph>();
        lexer_.expect(Ident);
        inputs(graph_->block);
        lexer_.expect(':');
        nodes(graph_->block);
        lexer_.expect(Return);
        list('(', ')', [&] { graph_->block->add_output(known(variable())); });
        return graph_;
    }

    TypeRef type() {
        TypeRef made;
        const Token token = lexer_.now();
        if (lexer_.now().kind == '(') {
            std::vector<TypeRef> parts;
            list('(', ')', [&] { parts.push_back(type()); });
            made = tuple_of(std::move(parts));
        } else if (lexer_.accept(None) || lexer_.accept(NoneType)) made = type_of(TypeKind::None);
        else made = named(std::string(lexer_.expect(Ident).text()), token);
        for (;;) {
            if (lexer_.accept('?')) made = optional_of(made);
            else if (lexer_.now().kind == '[') {
                lexer_.next();
                lexer_.accept(Number);
                lexer_.expect(']');
                made = list_of(made);
            } else return made;
        }
    }

private:
    template <class F> void list(Kind open, Kind close, F each) {
        lexer_.expect(open);
        if (lexer_.accept(close)) return;
        do each();
        while (lexer_.accept(','));
        lexer_.expect(close);
    }

    // ---- types

    TypeRef named(const std::string& name, const Token& token) {
        std::vector<TypeRef> parts;
        const auto several = [&] {
            list(lexer_.now().kind == '[' ? '[' : '(', lexer_.now().kind == '[' ? ']' : ')', [&] { parts.push_back(type()); });
        };
        if (name == "Dict" || name == "Union" || name == "Future" || name == "RRef" || name == "Await") {
            several();
            return name == "Union"                       ? union_of(parts)
                   : name == "Dict" && parts.size() == 2 ? dict_of(parts[0], parts[1])
                                                         : future_of(parts[0]);
        }
        for (int i = 0; i < dtype_count; i++)
            if (name == scalar_type_name(static_cast<DType>(i))) return seen(name);
        if (const TypeRef word = type_word(name)) return word;
        if (name == "__torch__") {
            std::string path = name;
            while (lexer_.accept('.')) path += "." + std::string(lexer_.expect(Ident).text());
            return class_named(path);
        }
        if (std::islower(static_cast<unsigned char>(name[0]))) return script::variable(name);
        fail_at(token.range, "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a "
                             "full list, please see "
                             "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func ");
    }
    /// "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)": what a tensor looked like.
    TypeRef seen(std::string text) {
        sizes_.clear();
        if (lexer_.now().kind != '(') return seen_tensor(text);
        for (size_t depth = 0;;) {
            const Token token = lexer_.next();
            if (token.kind == End) lexer_.expect(')');
            depth += token.kind == '(' || token.kind == '[';
            if (token.kind == Number && depth == 1 && text.back() != '=')
                sizes_.push_back(std::strtoll(std::string(token.text()).c_str(), nullptr, 10));
            text += token.text();
            if (token.kind == ',') text += ' ';
            depth -= token.kind == ')' || token.kind == ']';
            if (!depth) return seen_tensor(text);
        }
    }

    // ---- values

    std::string variable() {
        lexer_.expect('%');
        if (lexer_.now().kind != Ident) return std::string(lexer_.expect(Number).text());
        std::string name(lexer_.next().text());
        if (lexer_.now().kind == Number) name += lexer_.next().text();
        return name;
    }
    Value* known(const std::string& name) {
        const auto found = values_.find(name);
        if (found == values_.end()) fail_at(lexer_.now().range, "Cannot find a variable with name '%s'", name.c_str());
        return found->second;
    }
    struct Declared {
        std::string name;
        TypeRef type;
    };
    Declared declared() {
        Declared made{variable(), nullptr};
        if (lexer_.accept(':')) made.type = type();
        return made;
    }
    void inputs(Block* block) {
        list('(', ')', [&] {
            const Declared given = declared();
            Value* value = block->add_input(given.type ? given.type : type_of(TypeKind::Tensor));
            values_[given.name] = value;
            if (!std::isdigit(static_cast<unsigned char>(given.name[0]))) value->set_name(given.name);
        });
    }

    // ---- nodes

    void nodes(Block* block) {
        lexer_.expect(Indent);
        while (lexer_.now().kind != Arrow && lexer_.now().kind != Return) node(block);
    }
    void node(Block* block) {
        std::vector<Declared> outputs;
        if (lexer_.now().kind == '%') {
            do outputs.push_back(declared());
            while (lexer_.accept(','));
            lexer_.expect('=');
        }
        const Token token = lexer_.now();
        std::string kind(lexer_.expect(Ident).text());
        lexer_.expect(':');
        lexer_.expect(':');
        kind += "::" + std::string(lexer_.expect(Ident).text());
        Node* made = graph_->create(kind, {}, outputs.size());
        if (lexer_.now().kind == '[') list('[', ']', [&] { attribute(made); });
        list('(', ')', [&] { made->add_input(known(variable())); });
        const Signature* schema = made->signature = made->schema();
        for (size_t i = 0; i < outputs.size(); i++) {
            TypeRef type = outputs[i].type, promised = nullptr;
            if (schema && !schema->varying) {
                if (i >= schema->results.size())
                    fail_at(token.range, "%s gives %zu values, not %zu", kind.c_str(), schema->results.size(), outputs.size());
                promised = substitute(schema->results[i].type, {}); // null where it has variables
                if (promised && type && !is_subtype(type, promised))
                    fail_at(token.range, "Annotated type %s does not match schema type %s for operator %s", repr(type).c_str(),
                            repr(promised).c_str(), schema->text().c_str());
            }
            made->output(i)->type = type ? type : promised ? promised : type_of(TypeKind::Tensor);
            values_[outputs[i].name] = made->output(i);
        }
        if (made->is("prim::Constant") && outputs.size() == 1) settle(made);
        block->append(made);
        if (lexer_.accept(Indent)) {
            while (lexer_.now().kind != Dedent) inner_block(made);
            lexer_.next();
        }
        lexer_.accept(Newline);
    }
    void inner_block(Node* of) {
        Block* block = of->add_block();
        lexer_.expect(Ident);
        inputs(block);
        lexer_.expect(':');
        nodes(block);
        lexer_.expect(Arrow);
        list('(', ')', [&] { block->add_output(known(variable())); });
        lexer_.accept(Newline);
        lexer_.accept(Dedent);
    }

    // ---- attributes

    void attribute(Node* of) {
        script::Attribute made{std::string(lexer_.expect(Ident).text()), {}, {}};
        lexer_.expect('=');
        if (lexer_.now().kind != '[') made.item = literal();
        else {
            std::vector<Item> items;
            list('[', ']', [&] { items.push_back(literal()); });
            const TypeRef element = items.empty() ? type_of(TypeKind::Tensor) : items[0].type();
            made.kind = items.empty()                     ? "ts"
                        : items[0].is(Item::Tag::Float)   ? "fs"
                        : items[0].is(Item::Tag::Str)     ? "ss"
                        : items[0].is(Item::Tag::Complex) ? "cs"
                                                          : "is";
            made.item = Item::list(list_of(element), std::move(items));
        }
        of->attributes.push_back(std::move(made));
    }
    Item literal() {
        const bool minus = lexer_.accept('-');
        const Token token = lexer_.next();
        const std::string text(token.text());
        if (token.kind == Number) {
            if (text.back() == 'j') return Item(std::complex<double>(0, (minus ? -1 : 1) * std::strtod(text.c_str(), nullptr)));
            if (text.find_first_of(".eE") != std::string::npos && text.compare(0, 2, "0x"))
                return Item((minus ? -1 : 1) * std::strtod(text.c_str(), nullptr));
            return Item(static_cast<int64_t>(std::strtoll(((minus ? "-" : "") + text).c_str(), nullptr, 0)));
        }
        if (token.kind == String && !minus) {
            const Source source{text};
            Trees trees;
            return Item(Parser(source, trees).expression()->text);
        }
        if ((text == "inf" || text == "nan") && token.kind == Ident)
            return Item((minus ? -1 : 1) * (text == "inf" ? __builtin_inf() : __builtin_nan("")));
        if (token.kind == '<' && !minus) {
            if (lexer_.expect(Ident).text() != "Tensor") fail_at(token.range, "Could not parse literal%s", text.c_str());
            if (!tensors_) fail_at(token.range, "Tensor constant encountered but `parse_tensor_constants` set to false%s", text.c_str());
            lexer_.expect('>');
            return Item(kindling::zeros(sizes_));
        }
        if (token.kind == '{' && !minus) {
            const bool negative = lexer_.accept('-');
            const double number = std::strtod(std::string(lexer_.expect(Number).text()).c_str(), nullptr);
            if (!tensors_)
                fail_at(token.range, "Single-element tensor constant encountered but `parse_tensor_constants` is set to false %s",
                        text.c_str());
            lexer_.expect('}');
            return Item(kindling::full({}, Scalar(negative ? -number : number)));
        }
        fail_at(token.range, "Could not parse literal%s", text.c_str());
    }
    /// What a constant holds is of the type that is written beside it.
    static void settle(Node* node) {
        if (node->attributes.size() != 1) return;
        Item& item = node->attributes[0].item;
        const TypeRef type = node->output()->type;
        if (type->is(TypeKind::Bool) && item.is(Item::Tag::Int)) item = Item(item.integer() != 0);
        else if (type->is(TypeKind::Float) && item.is(Item::Tag::Int)) item = Item(item.number());
        else if (type->is(TypeKind::Device) && item.is(Item::Tag::Str)) {
            for (DeviceType each : {DeviceType::CPU, DeviceType::Meta})
                if (item.is(Item::Tag::Str) && item.text() == name(each)) item = Item(Device{each});
        } else if (type->is(TypeKind::List) && item.is(Item::Tag::List)) {
            std::vector<Item> items = item.items();
            if (type->element()->is(TypeKind::Bool))
                for (Item& each : items) each = Item(each.integer() != 0);
            item = Item::list(type, std::move(items));
        }
    }

    Lexer lexer_;
    bool tensors_;
    std::shared_ptr<Graph> graph_;
    std::unordered_map<std::string, Value*> values_;
    std::vector<int64_t> sizes_; // of the last type that said what a tensor looked like
};

} // namespace

std::shared_ptr<Graph> parse_graph(const std::string& text, bool tensor_constants) {
    const Source source{text, ""}; // of no file: messages name none
    return GraphReader(source, tensor_constants).read();
}

TypeRef parse_type(const std::string& text) {
    const Source source{text, ""}; // of no file: messages name none
    return GraphReader(source, false).type();
}

} // namespace kindling::script
