// script/graph/code.cpp: text from a graph, by the steps of PyTorch's printer: which values are written where they are used (those that are
// used once, by the statement behind them), which get a line because that would be long, and what a name becomes.
#include "script/graph/code.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <unordered_set>

#include "generated/functions.h"
#include "script/graph/class.h"

namespace kindling::script {
namespace {

class Printer {
public:
    explicit Printer(const Function& function) : function_(function) {}

    std::string run() {
        const Block* block = function_.graph->block;
        const std::string name = function_.name.substr(function_.name.rfind('.') + 1);
        std::string head = "def " + name + "(";
        const auto& formals = function_.signature.formals;
        for (size_t i = 0; i < block->inputs().size(); i++) {
            const Value* input = block->inputs()[i];
            const bool self = i == 0 && i < formals.size() && formals[i].name == "self";
            uses_[input] = i < formals.size() ? unique(formals[i].name) : name_for(input);
            head += (i ? ",\n    " : "") + uses_[input];
            if (!self) head += ": " + annotation(input->type);
            if (i < formals.size() && formals[i].has_default) head += "=" + constant(formals[i].default_value, formals[i].type);
        }
        body(block);
        return head + ") -> " + annotation(block->outputs()[0]->type) + ":\n" + body_;
    }
    std::vector<Item> constants;

private:
    // ---- which values are written where they are used

    static bool is_constant(const Node* node) { return node->is("prim::Constant"); }
    static const Node* before(const Node* node) {
        do node = node->previous;
        while (is_constant(node));
        return node;
    }
    static bool can_inline(const Value* value) {
        const Node* node = value->node;
        if (node->outputs.size() != 1 || !node->blocks.empty() || value->uses.size() != 1) return false;
        const Use& use = value->uses[0];
        if (use.user->block != node->block) return false;
        const bool ends = use.user == use.user->block->end;
        if (!value->given.empty() && !ends) return false;
        if (use.user->is("prim::Loop") && use.offset >= 2) return false; // what a loop begins with is assigned
        if (use.user->is("prim::fork")) return false;                    // its body may use it more than once
        return !node->is("prim::isinstance"); // in a condition it would refine types again: there are casts for that already
    }
    const Node* scan_value(const Node* at, const Value* value) {
        if (value->node != at || !can_inline(value)) return at;
        const Node* next = scan_node(at);
        inline_.insert(value->node);
        return next;
    }
    const Node* scan_node(const Node* node) {
        if (inline_.count(node)) return node;
        for (const Block* block : node->blocks) scan(block);
        const Node* at = before(node);
        for (size_t i = node->inputs.size(); i-- > 0;) at = scan_value(at, node->inputs[i]);
        return at;
    }
    void scan(const Block* block) {
        scan_node(block->end);
        for (const Node* node = block->end->previous; node != block->parameters; node = node->previous) scan_node(node);
    }

    // ---- names

    std::string unique(const std::string& base) {
        static constexpr char reserved[] = " and as assert async await break class continue def del elif else except False finally for "
                                           "from global if import in is lambda None nonlocal not or "
                                           "pass raise return True try while with float int bool print ops torch CONSTANTS fork attribute "
                                           "getattr annotate uninitialized unchecked_cast inf nan infj nanj range str list dict len ";
        const bool taken = base == "_" || std::strstr(reserved, (" " + base + " ").c_str());
        std::string name = base;
        while (taken ? name == base || used_.count(name) : used_.count(name)) name = base + std::to_string(next_[base]++);
        used_.insert(name);
        return name;
    }
    std::string name_for(const Value* value) { return unique(value->given.empty() ? "_" : base_name(value->given)); }
    void name_all(const std::vector<Value*>& values) {
        for (const Value* value : values) uses_[value] = name_for(value);
    }

    // ---- statements

    void line(std::initializer_list<std::string_view> parts) {
        body_.append(static_cast<size_t>(level_) * 2, ' ');
        for (std::string_view part : parts) body_ += part;
        body_ += '\n';
    }
    const std::string& use(const Value* value) { return uses_.at(value); }
    size_t place_of(const Item& item) {
        const auto same = [&](const Item& other) {
            return item.tensor_impl() && other.tensor_impl() && item.tensor().dtype() == other.tensor().dtype() &&
                   kindling::equal(item.tensor(), other.tensor());
        };
        const size_t place = static_cast<size_t>(std::find_if(constants.begin(), constants.end(), same) - constants.begin());
        if (place == constants.size()) constants.push_back(item);
        return place;
    }
    std::string listed(const std::vector<Value*>& values, size_t from = 0) {
        std::string out;
        for (size_t i = from; i < values.size(); i++) out += (i > from ? ", " : "") + use(values[i]);
        return out;
    }
    void assign(const std::vector<Value*>& to, const std::vector<Value*>& from, size_t skip_to = 0, size_t skip_from = 0) {
        if (to.size() == skip_to) return;
        line({listed(to, skip_to), " = ", listed(from, skip_from)});
    }
    /// What would be a long line gets one of its own, and so does all that is computed before it.
    void split(const std::vector<Value*>& inputs) {
        size_t until = 0;
        for (size_t i = 0; i < inputs.size(); i++)
            if (inline_.count(inputs[i]->node) && is_long(use(inputs[i]))) until = i + 1;
        const auto last = until ? std::find(waiting_.begin(), waiting_.end(), inputs[until - 1]->node) : waiting_.end();
        if (last != waiting_.end()) {
            const std::vector<const Node*> named(waiting_.begin(), last + 1);
            for (const Node* node : named) {
                inline_.erase(node);
                name_it(node, uses_[node->output()]);
            }
        }
        std::erase_if(waiting_, [&](const Node* node) { // the rest stands in what is written now
            return !inline_.count(node) ||
                   std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) { return input->node == node; });
        });
    }
    bool is_long(const std::string& text) const { return text.size() + static_cast<size_t>(level_) * 2 >= 40; }
    /// Long constants get lines of their own in front, in the order in which they are used.
    void constants_in(const Block* block) {
        const auto of = [&](const Node* node) {
            for (const Value* input : node->inputs) {
                if (!is_constant(input->node) || uses_.count(input)) continue;
                const Item *item = constant_of(input), *name = input->node->attribute("name");
                std::string text = name ? name->text() : constant(item ? *item : Item(), input->type);
                if (is_long(text)) name_it(input->node, text);
                else uses_[input] = std::move(text);
            }
        };
        for (const Node* node = block->first(); node != block->end; node = node->next) {
            of(node);
            for (const Block* inner : node->blocks) constants_in(inner);
        }
        of(block->end);
    }
    void body(const Block* block) {
        scan(block);
        level_++;
        constants_in(block);
        statements(block);
        line({"return ", listed(block->end->inputs)});
        level_--;
    }
    void name_it(const Node* node, std::string text) {
        if (node->outputs.empty()) return line({text});
        name_all(node->outputs);
        line({listed(node->outputs), node->is("prim::TupleUnpack") || node->is("prim::ListUnpack") ? ", = " : " = ", text});
    }
    void statements(const Block* block) {
        for (const Node* node = block->first(); node != block->end; node = node->next) {
            if (is_constant(node)) continue;
            split(node->inputs);
            if (inline_.count(node)) {
                uses_[node->output()] = right_side(node);
                waiting_.push_back(node);
            } else if (node->is("prim::If")) branch(node);
            else if (node->is("prim::Loop")) loop(node);
            else if (node->is("prim::fork")) fork(node);
            else if (node->is("prim::Enter")) {
                if (node->used()) name_all(node->outputs);
                line({"with ", use(node->input()), node->used() ? " as " : "", node->used() ? use(node->output()) : "", ":"});
                level_++;
            } else if (node->is("prim::Exit")) {
                if (node->previous->is("prim::Enter")) line({"pass"});
                level_--;
            } else if (node->is("prim::SetAttr"))
                line({use(node->input()), ".", node->attribute("name")->text(), " = ", use(node->input(1))});
            else name_it(node, right_side(node));
        }
        split(block->end->inputs);
    }
    void inner(const Block* block, bool more) {
        level_++;
        if (!more && block->first() == block->end) line({"pass"});
        statements(block);
    }
    void branch(const Node* node) {
        name_all(node->outputs);
        for (size_t side = 0; side < 2; side++) {
            line({side ? "else" : "if ", side ? "" : use(node->input()), ":"});
            inner(node->blocks[side], !node->outputs.empty());
            assign(node->outputs, node->blocks[side]->outputs());
            level_--;
        }
    }
    /// What runs in another thread is a function of its own, that knows what stands around it.
    void fork(const Node* node) {
        const std::string name = unique("__forked_function");
        const Block* forked = (*node->subgraph())->block;
        line({"def ", name, "():"});
        for (size_t i = 0; i < node->inputs.size(); i++) uses_[forked->inputs()[i]] = use(node->input(i));
        body(forked);
        name_it(node, "fork(" + name + ")");
    }
    void loop(const Node* node) {
        const Block* block = node->blocks[0];
        const auto always = [](const Value* value) {
            const Item* known = constant_of(value);
            return known && known->truth();
        };
        const bool counts = always(node->input(1)) && always(block->outputs()[0]);
        name_all(node->outputs);
        for (size_t i = 0; i < node->outputs.size(); i++) uses_[block->inputs()[i + 1]] = uses_[node->outputs[i]];
        for (size_t i = 0; i < node->outputs.size(); i++) {
            const std::string type = annotation(node->outputs[i]->type);
            const bool other = type != annotation(node->input(i + 2)->type);
            line({use(node->output(i)), other ? ": " : "", other ? type : "", " = ", use(node->input(i + 2))});
        }
        const Value* trip = block->inputs()[0];
        uses_[trip] = name_for(trip);
        if (counts) line({"for ", use(trip), " in range(", use(node->input()), "):"});
        else {
            line({use(trip), " = ", use(node->input(1))});
            line({"while ", use(trip), ":"});
        }
        inner(block, counts ? !node->outputs.empty() : true);
        assign(block->inputs(), block->outputs(), counts, counts);
        level_--;
    }

    // ---- expressions

    static bool is_identifier(const std::string& text) {
        return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
               std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    }
    std::string constant(const Item& item, TypeRef type) {
        const auto parts = [&] {
            std::string out;
            for (const Item& each : item.items()) out += (&each == item.items().data() ? "" : ", ") + constant(each, nullptr);
            return out;
        };
        switch (item.tag()) {
        case Item::Tag::Device: return "torch.device(" + quoted(device_text(item.device())) + ")";
        case Item::Tag::Tensor: return "CONSTANTS.c" + std::to_string(place_of(item));
        case Item::Tag::Str: {
            const std::string& text = item.text();
            return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; })
                       ? str(item)
                       : "CONSTANTS.c" + std::to_string(place_of(item));
        }
        case Item::Tag::List: return item.items().empty() && type ? "annotate(" + annotation(type) + ", [])" : "[" + parts() + "]";
        case Item::Tag::Tuple: return item.type()->name + "(" + parts() + (item.items().size() == 1 ? ",)" : ")");
        default: return str(item);
        }
    }
    std::string call(const Node* node) {
        const size_t space = node->kind.find("::");
        std::string out = node->is("aten::backward") || node->is("aten::grad") ? "torch.autograd"
                          : node->kind.substr(0, space) == "aten"              ? "torch"
                                                                               : "ops." + node->kind.substr(0, space);
        out += "." + node->kind.substr(space + 2) + "(";
        const Signature* signature = node->signature;
        size_t count = node->inputs.size();
        if (signature && !signature->variadic) // trailing arguments that are as by default are not written
            while (count > 0 && count <= signature->formals.size() && signature->formals[count - 1].has_default) {
                const Value* input = node->inputs[count - 1];
                if (!is_constant(input->node) && !input->node->is("prim::ListConstruct")) break;
                const Item* known = constant_of(input);
                const Item given = known ? *known : Item();
                if (!is_constant(input->node) || !(equal(given, signature->formals[count - 1].default_value) &&
                                                   given.tag() == signature->formals[count - 1].default_value.tag()))
                    break;
                count--;
            }
        for (size_t i = 0; i < count; i++) {
            out += i ? ", " : "";
            if (signature && i < signature->formals.size() && signature->formals[i].keyword_only) out += signature->formals[i].name + "=";
            out += use(node->inputs[i]);
        }
        return out + ")";
    }
    /// `form` with what is in the node for its signs: 0 and 1 for operands, $ for all of them, % for those behind the first, as calls have
    /// them, @ for the result's type, & for the name that it goes by.
    std::string written(const Node* node, std::string_view form) {
        std::string out;
        for (char sign : form) switch (sign) {
            case '0':
            case '1': out += use(node->input(static_cast<size_t>(sign - '0'))); break;
            case '$': out += listed(node->inputs); break;
            case '%':
                for (size_t i = 1; i < node->inputs.size(); i++) (out += use(node->input(i))) += ", ";
                break;
            case '@': out += annotation(node->output()->type); break;
            case '&': out += node->attribute("name")->text(); break;
            default: out += sign;
            }
        return out;
    }
    /// Whether what is in a container does not say of what type it is.
    static bool unclear(const Node* node) {
        const std::vector<TypeRef>& parts = node->output()->type->parts;
        return node->inputs.empty() || std::any_of(parts.begin(), parts.end(), [](TypeRef part) {
                   return part->is(TypeKind::Optional) || part->is(TypeKind::Union) || part->is(TypeKind::Number) ||
                          part->is(TypeKind::Any) || (part->definition && part->definition->kind == Class::Interface);
               });
    }
    std::string right_side(const Node* node) {
        static constexpr struct {
            char kind[32], form[24];
        } forms[] = {{"aten::Int", "int($)"},
                     {"aten::Float", "float($)"},
                     {"aten::Bool", "bool($)"},
                     {"aten::str", "str($)"},
                     {"aten::Complex", "complex($)"},
                     {"aten::sorted", "sorted($)"},
                     {"aten::IntImplicit", "annotate(@, $)"},
                     {"aten::FloatImplicit", "annotate(@, $)"},
                     {"aten::ComplexImplicit", "annotate(@, $)"},
                     {"aten::ScalarImplicit", "annotate(@, $)"},
                     {"prim::CallFunction", "0(%)"},
                     {"prim::CallMethod", "(0).&(%)"},
                     {"prim::CreateObject", "@.__new__(@)"},
                     {"prim::EnumName", "(0).name"},
                     {"prim::EnumValue", "(0).value"},
                     {"prim::ListUnpack", "0"},
                     {"prim::Print", "print($)"},
                     {"prim::TupleIndex", "(0)[1]"},
                     {"prim::TupleUnpack", "0"},
                     {"prim::Uninitialized", "uninitialized(@)"},
                     {"prim::tolist", "annotate(@, 0.tolist())"},
                     {"prim::unchecked_cast", "unchecked_cast(@, 0)"},
                     {"prim::unchecked_unwrap_optional", "unchecked_cast(@, 0)"}};
        for (const auto& each : forms)
            if (node->kind == each.kind) return written(node, each.form);
        const auto is = [&](const char* kind) { return node->is(kind); };
        const auto named = [&](const char* attribute) { return str(*node->attribute(attribute)); };
        if (is("prim::ListConstruct")) return written(node, unclear(node) ? "annotate(@, [$])" : "[$]");
        if (is("prim::DictConstruct")) {
            std::string out = unclear(node) ? written(node, "annotate(@, {") : "{";
            for (size_t i = 0; i < node->inputs.size(); i++)
                ((out += use(node->input(i))) += i % 2 == 0 ? ": " : i + 1 < node->inputs.size() ? ", " : "");
            return out += unclear(node) ? "})" : "}";
        }
        if (is("prim::TupleConstruct")) return node->output()->type->name + written(node, node->inputs.size() == 1 ? "($,)" : "($)");
        if (is("prim::TupleSlice")) return written(node, "(0)[") + named("beg") + ":" + named("end") + "]";
        if (is("aten::_unwrap_optional") && must_be_none(node->input()))
            return written(node, "torch._unwrap_optional(annotate(Optional[@], None))");
        if (is("prim::isinstance")) {
            const std::vector<TypeRef>& types = node->attributes[0].types;
            std::string out = written(node, types.size() == 1 ? "isinstance(0, " : "isinstance(0, (");
            for (TypeRef each : types) (out += each == types[0] ? "" : ", ") += annotation(each);
            return out += types.size() == 1 ? ")" : "))";
        }
        if (is("prim::PythonOp"))
            return written(node, "^&(") + (node->attribute("how") ? node->attribute("how")->text() : "") + written(node, ")($)");
        if (is("prim::GetAttr"))
            return is_identifier(node->attribute("name")->text()) ? written(node, "0.&")
                                                                  : written(node, "getattr(0, ") + named("name") + ")";
        if (is("aten::__getitem__")) return written(node, is_identifier(use(node->input())) ? "0[1]" : "(0)[1]");
        return call(node);
    }

    const Function& function_;
    std::unordered_set<const Node*> inline_;
    std::unordered_map<const Value*, std::string> uses_;
    std::unordered_set<std::string> used_;
    std::unordered_map<std::string, size_t> next_;
    std::vector<const Node*> waiting_; // written by no line yet, in order
    std::string body_;
    int level_ = 0;
};

} // namespace

std::string code_of(const Function& function, std::vector<Item>* constants) {
    Printer printer(function);
    std::string text = printer.run();
    if (constants) *constants = std::move(printer.constants);
    return text;
}

} // namespace kindling::script
