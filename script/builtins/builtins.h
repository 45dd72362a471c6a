// script/builtins/builtins.h: what the language has besides tensor operators. A builtin is a line: its effect ('p' may be computed ahead,
// 'w' writes what it is given, 'e' has other effects), its signature as PyTorch has it, the function that computes it from its arguments.
// Functions look at the values they get, so that one serves all overloads for numbers or keys. Families of overloads are a line too:
// `$` in it stands for each of some types. Lines are walked once for a name; their order is that of PyTorch's overloads.
#pragma once
#include "core/operator.h"
#include "script/graph/signature.h"

namespace kindling::script {

class Builtins {
public:
    Builtins(const std::string& name, std::vector<const Signature*>& all) : name_(name), all_(all) {}

    void operator()(char effect, const char* text, Builtin function) {
        if (is(text)) add(effect, text, function);
    }
    /// A line for each of some types: "aten::sort.$($[](a!) self)".
    void each(const char* types, char effect, const char* text, Builtin function) {
        if (is(text)) expand(types, effect, text, function);
    }
    /// Of numbers: "int" is name.int(int a, int b), "int_float" name.int_float(int a, float b). `result` is a type or "": the wider one's.
    void numbers(const char* name, const char* types, const char* result, Builtin function) {
        if (name_ == name) pairs(types, result, function);
    }
    /// Of one number: name.int(int a) -> `result`, and so for float; complex and Scalar give their own.
    void number(const char* name, const char* types, const char* result, Builtin function) {
        if (name_ == name) singles(types, result, function);
    }
    /// Another name, or another type, of one of the core's operators; the arguments are the same.
    void forward(const char* text, const char* name, const char* overload) {
        if (!is(text)) return;
        add(0, text, nullptr);
        const_cast<Signature*>(all_.back())->op = find_operator(name, overload);
    }
    const std::string& name() const { return name_; }
    void take(Signature* made) { all_.push_back(made); }

private:
    bool is(const char* text) const {
        const char* end = text + name_.size();
        return name_.compare(0, std::string::npos, text, 0, name_.size()) == 0 && (*end == '.' || *end == '(');
    }
    void add(char effect, const std::string& text, Builtin function);
    void expand(const char* types, char effect, const std::string& text, Builtin function);
    void pairs(const char* types, const char* result, Builtin function);
    void singles(const char* types, const char* result, Builtin function);

    const std::string& name_;
    std::vector<const Signature*>& all_;
};

void number_builtins(Builtins& define);    // builtins_numbers.cpp
void text_builtins(Builtins& define);      // builtins_text.cpp
void container_builtins(Builtins& define); // builtins_containers.cpp
void lookup_builtins(Builtins& define);    //   what overloads for text come before
void tensor_builtins(Builtins& define);    // builtins_tensors.cpp
void script_builtins(Builtins& define);    // builtins_script.cpp

/// As `print` and `str` show it: text as it is, tensors with their elements.
std::string shown(const Item& item);
/// As `==` of scripts has it: lists of tensors element by element.
bool alike(const Item& a, const Item& b);
/// A number that is not complex.
inline double real_of(const Item& item) {
    KINDLING_CHECK(Runtime, !item.is(Item::Tag::Complex), "a complex number stands where scripts take a real one");
    return item.number();
}
bool truth_of(const Tensor& tensor);
/// A place in a sequence counted from its end where negative; "list index out of range".
size_t place_in(const std::vector<Item>& items, int64_t index);
/// The bounds of a slice: the first place, and how many.
struct Bounds {
    int64_t start, step, count;
};
Bounds slice_bounds(const Item* arguments, int64_t length);

// What lines are written with: arguments, and results in the place of the first.
#define I(n) a[n].integer()
#define F(n) real_of(a[n])
#define C(n) a[n].complex()
#define B(n) a[n].truth()
#define S(n) a[n].text()
#define L(n) a[n].items()
#define T(n) a[n].tensor()
#define DO []([[maybe_unused]] Item* a, [[maybe_unused]] size_t count)
#define GIVE(expression)                                                                                                                   \
    DO { a[0] = Item(expression); }
#define TRUTH(expression)                                                                                                                  \
    DO { a[0] = Item(static_cast<bool>(expression)); }
#define NUMBER(expression)                                                                                                                 \
    DO { a[0] = Item(static_cast<int64_t>(expression)); }

} // namespace kindling::script
