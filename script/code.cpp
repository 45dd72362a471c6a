// script/code.cpp: text from a graph, by the steps of PyTorch's printer: which values are written where they are used (those that are
// used once, by the statement behind them), which get a line because that would be long, and what a name becomes.
#include "script/code.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "script/class.h"

namespace kindling::script {
namespace {

class Printer {
public:
    explicit Printer(const Function& function) : function_(function) {}

    std::string run() {
        const Block* block = function_.graph->block;
        scan(block);
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
        level_ = 1;
        statements(block);
        line("return " + listed(block->end->inputs));
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
        if (use.user->is("prim::Loop") && use.offset >= 2) return false;   // what a loop begins with is assigned
        return !use.user->is("prim::Enter") && !use.user->is("prim::Exit");
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
        static constexpr char reserved[] = " and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or "
            "pass raise return True try while with float int bool print ops torch CONSTANTS fork attribute getattr annotate uninitialized unchecked_cast inf nan infj nanj range str list dict len ";
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

    void line(const std::string& text) { body_ += std::string(static_cast<size_t>(level_) * 2, ' ') + text + "\n"; }
    std::string use(const Value* value) {
        if (is_constant(value->node)) {
            const Item* item = constant_of(value);
            if (const Item* name = value->node->attribute("name")) return name->text();
            if (item && item->is(Item::Tag::Tensor)) return "CONSTANTS.c" + std::to_string(place_of(*item));
            return constant(item ? *item : Item(), value->type);
        }
        return uses_.at(value);
    }
    size_t place_of(const Item& item) {
        size_t i = 0;
        while (i < constants.size() && !constants[i].same_object(item)) i++;
        if (i == constants.size()) constants.push_back(item);
        return i;
    }
    std::string listed(const std::vector<Value*>& values, size_t from = 0) {
        std::string out;
        for (size_t i = from; i < values.size(); i++) out += (i > from ? ", " : "") + use(values[i]);
        return out;
    }
    void assign(const std::vector<Value*>& to, const std::vector<Value*>& from, size_t skip_to = 0, size_t skip_from = 0) {
        if (to.size() == skip_to) return;
        line(listed(to, skip_to) + " = " + listed(from, skip_from));
    }
    /// What would be a long line gets one of its own, and so does all that is computed before it.
    void split(const std::vector<Value*>& inputs) {
        size_t until = 0;
        for (size_t i = 0; i < inputs.size(); i++)
            if (inline_.count(inputs[i]->node) && uses_[inputs[i]].size() + static_cast<size_t>(level_) * 2 >= 40) until = i + 1;
        const auto last = until ? std::find(waiting_.begin(), waiting_.end(), inputs[until - 1]->node) : waiting_.end();
        if (last != waiting_.end()) {
            const std::vector<const Node*> named(waiting_.begin(), last + 1);
            for (const Node* node : named) {
                inline_.erase(node);
                name_it(node, uses_[node->output()]);
            }
        }
        std::erase_if(waiting_, [&](const Node* node) {   // the rest stands in what is written now
            return !inline_.count(node) || std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) { return input->node == node; });
        });
    }
    void name_it(const Node* node, std::string text) {
        if (node->outputs.empty()) return line(text);
        name_all(node->outputs);
        line(listed(node->outputs) + (node->is("prim::TupleUnpack") || node->is("prim::ListUnpack") ? ", = " : " = ") + text);
    }
    void statements(const Block* block) {
        for (const Node* node = block->first(); node != block->end; node = node->next) {
            if (is_constant(node)) continue;
            split(node->inputs);
            if (inline_.count(node)) {
                uses_[node->output()] = right_side(node);
                waiting_.push_back(node);
            }
            else if (node->is("prim::If")) branch(node);
            else if (node->is("prim::Loop")) loop(node);
            else if (node->is("prim::SetAttr")) line(use(node->input()) + "." + node->attribute("name")->text() + " = " + use(node->input(1)));
            else name_it(node, right_side(node));
        }
        split(block->end->inputs);
    }
    void inner(const Block* block, bool more) {
        level_++;
        if (!more && block->first() == block->end) line("pass");
        statements(block);
    }
    void branch(const Node* node) {
        name_all(node->outputs);
        for (size_t side = 0; side < 2; side++) {
            line(side ? "else:" : "if " + use(node->input()) + ":");
            inner(node->blocks[side], !node->outputs.empty());
            assign(node->outputs, node->blocks[side]->outputs());
            level_--;
        }
    }
    void loop(const Node* node) {
        const Block* block = node->blocks[0];
        const auto always = [](const Value* value) { const Item* known = constant_of(value); return known && known->truth(); };
        const bool counts = always(node->input(1)) && always(block->outputs()[0]);
        name_all(node->outputs);
        for (size_t i = 0; i < node->outputs.size(); i++) uses_[block->inputs()[i + 1]] = uses_[node->outputs[i]];
        for (size_t i = 0; i < node->outputs.size(); i++) line(uses_[node->outputs[i]] + " = " + use(node->inputs[i + 2]));
        const Value* trip = block->inputs()[0];
        uses_[trip] = name_for(trip);
        if (counts) line("for " + uses_[trip] + " in range(" + use(node->input()) + "):");
        else {
            line(uses_[trip] + " = " + use(node->input(1)));
            line("while " + uses_[trip] + ":");
        }
        inner(block, counts ? !node->outputs.empty() : true);
        assign(block->inputs(), block->outputs(), counts, counts);
        level_--;
    }

    // ---- expressions

    static std::string constant(const Item& item, TypeRef type) {
        switch (item.tag()) {
            case Item::Tag::Device: return "torch.device(" + quoted(device_text(item.device())) + ")";
            case Item::Tag::List: {
                std::string out;
                for (const Item& each : item.items()) out += (&each == item.items().data() ? "" : ", ") + constant(each, nullptr);
                return item.items().empty() && type ? "annotate(" + annotation(type) + ", [])" : "[" + out + "]";
            }
            case Item::Tag::Tuple: {
                std::string out;
                for (const Item& each : item.items()) out += (&each == item.items().data() ? "" : ", ") + constant(each, nullptr);
                return "(" + out + (item.items().size() == 1 ? ",)" : ")");
            }
            default: return str(item);
        }
    }
    std::string call(const Node* node) {
        const size_t space = node->kind.find("::");
        std::string out = node->kind.substr(0, space) == "aten" ? "torch" : "ops." + node->kind.substr(0, space);
        out += "." + node->kind.substr(space + 2) + "(";
        const Signature* signature = node->signature;
        size_t count = node->inputs.size();
        if (signature && !signature->variadic)   // trailing arguments that are as by default are not written
            while (count > 0 && count <= signature->formals.size() && signature->formals[count - 1].has_default) {
                const Value* input = node->inputs[count - 1];
                if (!is_constant(input->node) && !input->node->is("prim::ListConstruct")) break;
                const Item* known = constant_of(input);
                const Item given = known ? *known : Item();
                if (!is_constant(input->node) || !(equal(given, signature->formals[count - 1].default_value) && given.tag() == signature->formals[count - 1].default_value.tag())) break;
                count--;
            }
        for (size_t i = 0; i < count; i++) {
            out += i ? ", " : "";
            if (signature && i < signature->formals.size() && signature->formals[i].keyword_only) out += signature->formals[i].name + "=";
            out += use(node->inputs[i]);
        }
        return out + ")";
    }
    std::string right_side(const Node* node) {
        const auto is = [&](const char* kind) { return node->is(kind); };
        const auto type = [&] { return annotation(node->output()->type); };
        if (is("prim::ListConstruct")) {
            const TypeRef element = node->output()->type->element();
            bool plain = !node->inputs.empty();
            for (const Value* input : node->inputs) plain &= input->type == element || (element->is(TypeKind::Tensor) && is_subtype(input->type, element));
            const std::string text = "[" + listed(node->inputs) + "]";
            return plain ? text : "annotate(" + type() + ", " + text + ")";
        }
        if (is("prim::DictConstruct")) {
            std::string out;
            for (size_t i = 0; i + 1 < node->inputs.size(); i += 2) out += (i ? ", " : "") + use(node->inputs[i]) + ": " + use(node->inputs[i + 1]);
            return node->inputs.empty() ? "annotate(" + type() + ", {})" : "{" + out + "}";
        }
        if (is("prim::TupleConstruct")) {
            const std::string name = node->output()->type->name;
            return name + "(" + listed(node->inputs) + (node->inputs.size() == 1 && name.empty() ? ",)" : ")");
        }
        if (is("prim::TupleIndex")) return "(" + use(node->input()) + ")[" + use(node->input(1)) + "]";
        if (is("prim::TupleSlice")) return "(" + use(node->input()) + ")[" + str(*node->attribute("beg")) + ":" + str(*node->attribute("end")) + "]";
        if (is("prim::TupleUnpack") || is("prim::ListUnpack")) return use(node->input());
        if (is("prim::Print")) return "print(" + listed(node->inputs) + ")";
        if (is("prim::Uninitialized")) return "uninitialized(" + type() + ")";
        if (is("prim::unchecked_cast")) return "unchecked_cast(" + type() + ", " + use(node->input()) + ")";
        if (is("prim::unchecked_unwrap_optional") || is("aten::_unwrap_optional")) return "unchecked_unwrap_optional(" + use(node->input()) + ")";
        if (is("prim::isinstance")) {
            std::string types;
            for (const Attribute& attribute : node->attributes)
                for (TypeRef each : attribute.types) types += annotation(each) + ", ";
            return "isinstance(" + use(node->input()) + ", [" + (types.empty() ? "" : types.substr(0, types.size() - 2)) + "])";
        }
        if (is("prim::GetAttr")) return use(node->input()) + "." + node->attribute("name")->text();
        if (is("prim::CreateObject")) return type() + ".__new__(" + type() + ")";
        if (is("prim::CallMethod") || is("prim::CallFunction")) {
            std::string out = is("prim::CallMethod") ? "(" + use(node->input()) + ")." + node->attribute("name")->text() + "(" : use(node->input()) + "(";
            for (size_t i = 1; i < node->inputs.size(); i++) out += use(node->inputs[i]) + ", ";
            return out + ")";
        }
        if (is("aten::__getitem__")) return use(node->input()) + "[" + use(node->input(1)) + "]";
        static constexpr struct { char kind[22], before[14]; } casts[] = {{"aten::Int", "int("}, {"aten::Float", "float("}, {"aten::Bool", "bool("}, {"aten::str", "str("}, {"aten::Complex", "complex("},
            {"aten::IntImplicit", ""}, {"aten::FloatImplicit", ""}, {"aten::ComplexImplicit", ""}, {"aten::ScalarImplicit", ""}};
        for (const auto& cast : casts) {
            if (node->kind != cast.kind) continue;
            if (*cast.before) return cast.before + listed(node->inputs) + ")";
            return "annotate(" + type() + ", " + listed(node->inputs) + ")";
        }
        return call(node);
    }

    const Function& function_;
    std::unordered_set<const Node*> inline_;
    std::unordered_map<const Value*, std::string> uses_;
    std::unordered_set<std::string> used_;
    std::unordered_map<std::string, size_t> next_;
    std::vector<const Node*> waiting_;   // written by no line yet, in order
    std::string body_;
    int level_ = 0;
};

}  // namespace

std::string code_of(const Function& function, std::vector<Item>* constants) {
    Printer printer(function);
    std::string text = printer.run();
    if (constants) *constants = std::move(printer.constants);
    return text;
}

}  // namespace kindling::script
