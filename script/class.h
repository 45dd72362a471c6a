// script/class.h: classes and modules: attributes by place, constants, methods that are compiled when they are first asked for.
#pragma once
#include <functional>
#include <unordered_map>

#include "script/lower.h"

namespace kindling::script {

struct Class {
    struct Attribute { std::string name; TypeRef type; bool parameter = false, buffer = false; };

    std::string name;                    // "__torch__.Net"
    TypeRef type = nullptr;
    bool is_module = false, is_interface = false;
    std::vector<Attribute> attributes;   // their places in an Instance
    std::unordered_map<std::string, Item> constants;
    std::unordered_map<std::string, Function*> methods;
    /// Asked for a method that is not in `methods` yet: compiles it, or gives null.
    std::function<Function*(const std::string& name)> compile;

    int place_of(const std::string& attribute) const {
        for (size_t i = 0; i < attributes.size(); i++)
            if (attributes[i].name == attribute) return static_cast<int>(i);
        return -1;
    }
    Function* method(const std::string& name) {
        const auto found = methods.find(name);
        if (found != methods.end()) return found->second;
        return compile ? compile(name) : nullptr;
    }
};

}  // namespace kindling::script
