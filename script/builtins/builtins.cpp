// script/builtins/builtins.cpp: families of builtins are written out when their name is first looked up.
#include "script/builtins/builtins.h"

#include <cstring>

namespace kindling::script {
namespace {

std::vector<std::string> words(const char* text) {
    std::vector<std::string> all;
    for (; *text; text += *text == ' ') {
        const char* end = std::strchr(text, ' ');
        all.emplace_back(text, end ? static_cast<size_t>(end - text) : std::strlen(text));
        text += all.back().size();
    }
    return all;
}

} // namespace

void Builtins::add(char effect, const std::string& text, Builtin function) {
    Signature* made = new Signature(parse_signature(text));
    made->effect = effect;
    made->builtin = function;
    all_.push_back(made);
}

void Builtins::expand(const char* types, char effect, const std::string& text, Builtin function) {
    for (const std::string& type : words(types)) {
        std::string full;
        for (char c : text) c == '$' ? full += type : full += c;
        add(effect, full, function);
    }
}

void Builtins::pairs(const char* types, const char* result, Builtin function) {
    static constexpr char order[] = "int float complex";
    for (const std::string& type : words(types)) {
        const size_t joint = type.find('_');
        const std::string a = type.substr(0, joint), b = joint == std::string::npos ? a : type.substr(joint + 1);
        const std::string& wide = std::strstr(order, a.c_str()) < std::strstr(order, b.c_str()) ? b : a;
        add('p', name_ + "." + type + "(" + a + " a, " + b + " b) -> " + (*result ? result : wide), function);
    }
}

void Builtins::singles(const char* types, const char* result, Builtin function) {
    for (const std::string& type : words(types))
        add('p', name_ + "." + type + "(" + type + " a) -> " + (type == "int" || type == "float" ? result : type), function);
}

void add_builtins(const std::string& name, std::vector<const Signature*>& all) {
    Builtins define(name, all);
    tensor_builtins(define);
    container_builtins(define);
    text_builtins(define);
    lookup_builtins(define);
    number_builtins(define);
    script_builtins(define);
}

} // namespace kindling::script
