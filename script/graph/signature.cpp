// script/graph/signature.cpp: reading signatures, and finding those of a name.
#include "script/graph/signature.h"

#include <algorithm>
#include <cstring>
#include <memory>
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
            else if (text_.compare((skip(), at_), 3, "...") == 0) {
                at_ += 3;
                made.variadic = true;
            } else {
                Formal formal;
                formal.type = type(&formal.repeat, &formal.written);
                formal.name = word("_");
                formal.keyword_only = keyword_only;
                if (accept('=')) read_default(formal);
                made.formals.push_back(std::move(formal));
            }
            accept(',');
        }
        need('-');
        need('>');
        skip();
        if (text_.compare(at_, 3, "...") == 0) made.varying = true;
        else if (accept('(')) {
            while (!accept(')')) {
                made.results.push_back(result());
                accept(',');
            }
        } else made.results.push_back(result());
        return made;
    }

private:
    void skip() {
        while (at_ < text_.size() && text_[at_] == ' ') at_++;
    }
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
        formal.type = type(nullptr, &formal.written);
        formal.name = word("_");
        return formal;
    }
    TypeRef type(int* repeat, std::string* written = nullptr) {
        skip();
        const size_t start = at_;
        const TypeRef made = read_type(repeat);
        if (written) *written = text_.substr(start, text_.find_last_not_of(' ', at_ - 1) + 1 - start);
        return made;
    }
    TypeRef read_type(int* repeat) {
        TypeRef made;
        if (accept('(')) {
            std::vector<TypeRef> parts;
            while (!accept(')')) {
                parts.push_back(type(nullptr));
                accept(',');
            }
            made = tuple_of(std::move(parts));
        } else {
            const std::string name = word("_.");
            if (name == "Dict" || name == "Future" || name == "RRef" || name == "Await") {
                need('(');
                made = type(nullptr);
                if (accept(',')) made = dict_of(made, type(nullptr));
                else made = future_of(made);
                need(')');
            } else made = named(name);
        }
        for (;;) {
            if (at_ < text_.size() && text_[at_] == '(') at_ = text_.find(')', at_) + 1; // alias marks
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
        if (const TypeRef known = type_word(name)) return known;
        return std::islower(static_cast<unsigned char>(name[0])) ? variable(name) : class_named(name);
    }
    void read_default(Formal& formal) {
        formal.has_default = true;
        skip();
        if (text_[at_] == '"' || text_[at_] == '\'') {
            const char quote = text_[at_++];
            std::string value;
            for (; at_ < text_.size() && text_[at_] != quote; at_++) {
                static constexpr char escapes[] = "n\nt\tf\fv\vr\r";
                const char* known = text_[at_] == '\\' ? std::strchr(escapes, text_[++at_]) : nullptr;
                value += known ? known[1] : text_[at_];
            }
            formal.default_value = Item(std::move(value));
            at_++;
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
        static constexpr struct {
            char name[18];
            int64_t value;
        } words[] = {{"contiguous_format", 0}, {"preserve_format", 1}, {"Mean", 1}, {"Sum", 2}, {"long", 4}, {"float", 6}, {"strided", 0}};
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

} // namespace

TypeRef type_word(const std::string& name) {
    static constexpr struct {
        char name[14];
        TypeKind kind;
    } words[] = {{"Tensor", TypeKind::Tensor},  {"int", TypeKind::Int},
                 {"SymInt", TypeKind::Int},     {"float", TypeKind::Float},
                 {"bool", TypeKind::Bool},      {"complex", TypeKind::Complex},
                 {"str", TypeKind::Str},        {"Scalar", TypeKind::Number},
                 {"number", TypeKind::Number},  {"ScalarType", TypeKind::Int},
                 {"Layout", TypeKind::Int},     {"MemoryFormat", TypeKind::Int},
                 {"Device", TypeKind::Device},  {"Generator", TypeKind::Generator},
                 {"Stream", TypeKind::Stream},  {"Storage", TypeKind::Storage},
                 {"Any", TypeKind::Any},        {"None", TypeKind::None},
                 {"NoneType", TypeKind::None},  {"list", TypeKind::AnyList},
                 {"tuple", TypeKind::AnyTuple}, {"AnyEnumType", TypeKind::AnyEnum}};
    for (const auto& each : words)
        if (name == each.name) return type_of(each.kind);
    return nullptr;
}

Signature parse_signature(const std::string& text) { return Reader(text).read(); }

std::string Signature::text() const {
    const auto value = [](const Formal& formal) {
        std::string all = formal.written.empty() ? in_schema(formal.type) : formal.written;
        if (formal.repeat && formal.written.empty()) all.insert(all.rfind(']'), std::to_string(formal.repeat));
        if (!formal.name.empty()) all += " " + formal.name;
        if (const Item& item = formal.default_value; formal.has_default)
            all += "=" + (item.is(Item::Tag::Device)   ? device_text(item.device())
                          : item.is(Item::Tag::Tensor) ? stream_text(item.tensor(), true)
                                                       : str(item));
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
    if (variadic) out += formals.empty() ? "..." : ", ...";
    std::string given;
    for (const Formal& each : results) given += (given.empty() ? "" : ", ") + value(each);
    if (varying) given = "...";
    return out + ") -> " + (!varying && (results.size() != 1 || given[0] == '(') ? "(" + given + ")" : given);
}

// ---- the overloads of a name

void add_builtins(const std::string& name, std::vector<const Signature*>& all); // builtins.cpp

namespace {

bool one_of(const char* names, const std::string& name) { return std::strstr(names, (" " + name + " ").c_str()) != nullptr; }

/// Which of an operator's two tensors may be a number, as PyTorch has overloads for that which are one operator in the core: bit 1
/// the second, bit 0 the first.
int number_places(const std::string& name, const Operator& op, bool overloaded) {
    const std::vector<Argument>& arguments = op.schema->arguments;
    if (op.form == Form::Out || arguments.size() < 2 || arguments[0].type != Type::Tensor || arguments[1].type != Type::Tensor ||
        arguments[1].list)
        return 0;
    const bool inplace = op.form == Form::Inplace;
    if (one_of(" add sub mul div divide multiply subtract true_divide floor_divide add_ sub_ mul_ div_ divide_ multiply_ subtract_ "
               "true_divide_ floor_divide_ ",
               name))
        return 2;
    if (op.has(trait::NumberLast)) return 2;
    if (op.has(trait::TensorOnlyNumbers)) return inplace ? 2 : 3;
    if (overloaded || op.body != Body::Pointwise ||
        !one_of(
            " remainder remainder_ xlogy xlogy_ special_xlogy bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift "
            "bitwise_and_ bitwise_or_ bitwise_xor_ bitwise_left_shift_ bitwise_right_shift_ __and__ __or__ __xor__ __lshift__ __rshift__ ",
            name))
        return 0;
    return inplace || name[0] == '_' ? 2 : 3;
}

/// The same call with a number in the place of one of the tensors; the name is PyTorch's.
Signature with_number(const Signature& from, size_t place) {
    Signature made = from;
    Formal& formal = made.formals[place];
    formal.type = type_of(TypeKind::Number);
    formal.written = "Scalar";
    if (from.overload == "Tensor_mode") made.overload = "Scalar_mode";
    else {
        if (made.formals.back().name == "alpha") made.formals.back().keyword_only = false;
        if (from.overload.empty() && made.name.find("floor_divide") == std::string::npos) made.overload = formal.name + "_scalar";
        else if (made.name.find("xlogy") != std::string::npos) made.overload = place ? "Scalar_Other" : "Scalar_Self";
        else if (made.name.find("_shift") != std::string::npos) made.overload = place ? "Tensor_Scalar" : "Scalar_Tensor";
        else made.overload = place ? "Scalar" : "Scalar_Tensor";
    }
    return made;
}

/// PyTorch registers the forms that write to `out` behind the others; where else its order is not that of the declarations:
constexpr struct {
    const char *names, *order;
} orders[] = {
    {" __and__ eq_ ne_ lt_ le_ gt_ ge_ greater_ greater_equal_ less_ less_equal_ not_equal_ ", " Scalar Tensor "},
    {" bitwise_left_shift_ bitwise_right_shift_ ", " Tensor_Scalar Tensor "},
    {" upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d "
     "upsample_trilinear3d _upsample_bicubic2d_aa "
     "_upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d ",
     " default vec "},
    {" linspace logspace ", " Tensor_Tensor Tensor_Scalar Scalar_Tensor default "},
    {" pow float_power ", " Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out "},
    {" sum ", " dim_IntList default "},
    {" to ", " device dtype other dtype_layout "},
    {" div_ divide_ ", " Tensor Tensor_mode Scalar Scalar_mode "},
    {" where ", " self ScalarOther ScalarSelf "},
    {" scatter ", " value src reduce "},
    {" index_fill index_fill_ ", " int_Tensor int_Scalar "},
    {" tensor_split ", " sections indices tensor_indices_or_sections "},
    {" movedim ", " int intlist "},
    {" meshgrid embedding_bag ", " default indexing padding_idx "},
    {" random_ ", " from to default "},
    {" randint_like ", " default low_dtype generator "},
    {" repeat_interleave ", " Tensor self_Tensor self_int "},
    {" normal ", " Tensor_float float_Tensor Tensor_Tensor float_float "},
    {" bernoulli subtract ", " default Tensor out "},
    {" count_nonzero cumulative_trapezoid ", " default x dim_IntList dx "},
    {" linalg_matrix_rank ", " default tol_tensor atol_rtol_tensor atol_rtol_float "},
    {" linalg_pinv ", " default atol_rtol_float atol_rtol_tensor atol_rtol_tensor_out atol_rtol_float_out out rcond_tensor "},
    {" _sparse_softmax _sparse_log_softmax _sparse_sum to_sparse _to_sparse ", " int dim sparse_dim default "},
    {" _foreach_addcdiv _foreach_addcdiv_ _foreach_addcmul _foreach_addcmul_ ", " Scalar ScalarList Tensor "},
};

void put_in_order(const std::string& name, std::vector<const Signature*>& all) {
    const auto is_out = [](const Signature* each) { return each->op->form == Form::Out; };
    std::stable_sort(all.begin(), all.end(), [&](const Signature* a, const Signature* b) { return is_out(a) < is_out(b); });
    for (const auto& each : orders) {
        if (!one_of(each.names, name)) continue;
        const auto rank = [&](const Signature* signature) {
            const char* at = std::strstr(each.order, (" " + (signature->overload.empty() ? "default" : signature->overload) + " ").c_str());
            return at ? at - each.order : 1000;
        };
        std::stable_sort(all.begin(), all.end(), [&](const Signature* a, const Signature* b) { return rank(a) < rank(b); });
    }
}

/// Generators of random tensors are one operator in the core, two overloads in PyTorch: without a generator, and with one. So
/// are factories' forms that write to `out`: there is nothing left to say about its dtype.
void hide(Signature& signature, bool generator, bool options) {
    std::vector<Formal> kept;
    for (size_t i = 0; i < signature.formals.size(); i++) {
        Formal& formal = signature.formals[i];
        if ((generator && formal.name == "generator") || (options && one_of(" dtype layout device pin_memory ", formal.name))) continue;
        kept.push_back(std::move(formal));
        signature.places.push_back(static_cast<uint8_t>(i));
    }
    signature.formals = std::move(kept);
}

/// PyTorch has a functional form of what is there in place alone: `exponential` of `exponential_`.
void add_forms_on_copies(const std::string& name, std::vector<const Signature*>& all) {
    OverloadSet set{};
    const std::string in_place = name.substr(6) + "_";
    if (!find_operators(in_place.c_str(), in_place.size(), set)) return;
    for (int i = 0; i < set.count; i++) {
        const Operator* op = set.operators[i];
        std::string text = op->schema->text;
        if (!op->schema->arguments[0].mutated) continue;
        for (size_t at; (at = text.find("(a!)")) != std::string::npos;) text.erase(at, 4);
        auto* made = new Signature(parse_signature(text));
        made->name = name;
        made->overload = op->overload();
        made->op = op;
        made->on_copy = true;
        all.push_back(made);
    }
}

void add_operators(const std::string& name, std::vector<const Signature*>& all) {
    OverloadSet set{};
    const bool own = name.compare(0, 6, "aten::") == 0;
    const std::string in_core = own ? name.substr(6) : name;
    if (!find_operators(in_core.c_str(), in_core.size(), set)) return own ? add_forms_on_copies(name, all) : void();
    bool overloaded = false;
    for (int i = 0; i < set.count; i++)
        for (const Argument& argument : set.operators[i]->schema->arguments)
            overloaded |= argument.type == Type::Scalar && !argument.keyword_only;
    const auto keep = [&](Signature made) { all.push_back(new Signature(std::move(made))); };
    for (int i = 0; i < set.count; i++) {
        const Operator* op = set.operators[i];
        if (name == "aten::view" && *op->overload())
            continue; // a dtype is an int here, and view(-1) a size: PyTorch leaves out view.dtype, too
        Signature made = parse_signature(op->schema->text);
        made.name = name;
        made.overload = op->overload();
        made.op = op;
        bool writes = op->form != Form::Functional;
        for (const Argument& argument : op->schema->arguments) writes |= argument.mutated;
        made.effect = writes ? 'w' : 0;
        const bool draws =
            op->schema->factory && op->form == Form::Functional && op->schema->find("generator", 9) >= 0 && name != "aten::normal";
        Signature second;
        if (draws) second = made;
        if (op->schema->factory) hide(made, draws, op->form == Form::Out);
        keep(std::move(made));
        if (draws) {
            second.overload += second.overload.empty() ? "generator" : "_generator";
            for (Formal& formal : second.formals)
                if (formal.name == "generator") formal.has_default = false;
            keep(std::move(second));
        }
        const int numbers = number_places(in_core, *op, overloaded);
        const Signature tensors = *all.back();
        const bool backwards = tensors.overload.empty() && tensors.formals[0].name == "x"; // x_scalar, then n_scalar
        for (int place : {!backwards, backwards})
            if (numbers >> place & 1) keep(with_number(tensors, static_cast<size_t>(place)));
    }
    put_in_order(in_core, all);
}

} // namespace

const std::vector<const Signature*>& signatures_of(const std::string& name) {
    struct Table {
        std::recursive_mutex lock; // builtins that are written in TorchScript look names up
        std::unordered_map<std::string, std::unique_ptr<std::vector<const Signature*>>> names;
    };
    static Table* table = new Table;
    std::lock_guard guard(table->lock);
    const auto [at, fresh] = table->names.try_emplace(name);
    const bool of_library = name.compare(0, 6, "aten::") != 0 && name.compare(0, 6, "prim::") != 0;
    if (!fresh && !(of_library && at->second->empty())) return *at->second; // a library may come later
    if (fresh) at->second = std::make_unique<std::vector<const Signature*>>();
    std::vector<const Signature*>& all = *at->second;
    if (name.compare(0, 6, "prim::") != 0) add_operators(name, all);
    add_builtins(name, all);
    return all;
}

} // namespace kindling::script
