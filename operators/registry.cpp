// operators/registry.cpp: turns declarations into Operators when their family is first used, and finds them by name.
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "core/dispatch.h"
#include "core/registration.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/index.h"
#include "operators/kernel.h"

namespace kindling {

using namespace generated;

struct Family {
    int number;
    int next = 0; // declarations seen so far
};

Field doc(const char* text) { return {Field::Kind::Doc, 0, 0, text}; }
Field targets(const char* names) { return {Field::Kind::Targets, 0, 0, names}; }
Field alias(const char* name) { return {Field::Kind::Alias, 0, 0, name}; }
Field example(const char* python) { return {Field::Kind::Example, 0, 0, python}; }
Field refuses(const char* python, const char* error) { return {Field::Kind::Refuses, 0, 0, python, error}; }
Field pointwise_field(ScalarBuild build, int arity) {
    return {Field::Kind::Pointwise, static_cast<uint8_t>(arity), 0, nullptr, nullptr, reinterpret_cast<void*>(build)};
}
Field body_field(Body body, Kernel kernel) {
    return {Field::Kind::Body, static_cast<uint8_t>(body), 0, nullptr, nullptr, reinterpret_cast<void*>(kernel)};
}
Field check_field(Kernel check) { return {Field::Kind::Check, 0, 0, nullptr, nullptr, reinterpret_cast<void*>(check)}; }
Field derivative_field(const char* targets, const char* given, void (*apply)(const Value*, uint64_t, Tensor*)) {
    return {Field::Kind::Derivative, 0, 0, targets, given, reinterpret_cast<void*>(apply)};
}

Field values_field(const char* given, void (*apply)(const Value*)) {
    return {Field::Kind::Values, 0, 0, given, nullptr, reinterpret_cast<void*>(apply)};
}

Field kernel_field(ResultRule rule, Measure measure, Compute compute) {
    return {Field::Kind::Kernel,          0, 0, reinterpret_cast<const char*>(measure), reinterpret_cast<const char*>(compute),
            reinterpret_cast<void*>(rule)};
}
Field loop_field(LoopKind kind, ResultRule rule, ScalarBody map, ScalarBody finish) {
    const auto arities = static_cast<uint32_t>(map.arity | finish.arity << 8);
    return {Field::Kind::Loop,
            static_cast<uint8_t>(kind),
            arities,
            reinterpret_cast<const char*>(map.build),
            reinterpret_cast<const char*>(finish.build),
            reinterpret_cast<void*>(rule)};
}
Field pack_field(Compute pack) { return {Field::Kind::Pack, 0, 0, nullptr, nullptr, reinterpret_cast<void*>(pack)}; }
Field otherwise_field(Kernel kernel) { return {Field::Kind::Otherwise, 0, 0, nullptr, nullptr, reinterpret_cast<void*>(kernel)}; }

Field batch_field(Kernel kernel) { return {Field::Kind::Batches, 0, 0, nullptr, nullptr, reinterpret_cast<void*>(kernel)}; }

static void place_tensors(Operator& op) {
    for (size_t i = 0; i < op.schema->arguments.size(); i++) {
        const Argument& argument = op.schema->arguments[i];
        if (argument.type == Type::Device) op.device_position = static_cast<uint8_t>(i);
        if (argument.type == Type::DType) op.dtype_position = static_cast<uint8_t>(i);
        if (argument.type == Type::Layout) op.layout_position = static_cast<uint8_t>(i);
        if (argument.type != Type::Tensor) continue;
        if (argument.list) {
            if (op.list_count < 4) op.list_positions[op.list_count++] = static_cast<uint8_t>(i);
        } else if (op.tensor_count < 16) op.tensor_positions[op.tensor_count++] = static_cast<uint8_t>(i);
    }
    if (op.device_position == 0xff) op.layout_position = 0xff; // to_sparse, which makes nothing from nothing
    op.has_options = (op.device_position & op.dtype_position) != 0xff;
}

/// "add_.Tensor(Tensor(a!) self, ...) -> Tensor(a!)" from the functional schema.
static const char* inplace_schema(const Schema& schema) {
    std::string text = schema.text;
    size_t name = std::strlen(schema.name), first = text.find("Tensor", text.find('('));
    size_t arrow = text.rfind("->");
    text.replace(arrow, std::string::npos, "-> Tensor(a!)");
    size_t length = text.compare(first, 9, "Tensor(a)") == 0 ? 9 : 6; // of a view
    text.replace(first, length, "Tensor(a!)");
    text.insert(name, "_");
    return strdup(text.c_str());
}

/// "add.out(Tensor self, ..., *, Tensor(a!) out) -> Tensor(a!)"; several results are named as in the schema, or by `targets`.
static const char* out_schema(const Schema& schema, bool long_name, const char* targets) {
    std::string text = schema.text, overload = schema.overload;
    size_t open = text.find('('), arrow = text.rfind("->"), close = text.rfind(')', arrow);
    std::string arguments = text.substr(open, close - open);
    bool keywords = false;
    size_t mutated = 0;
    for (const Argument& argument : schema.arguments) keywords |= argument.keyword_only, mutated += argument.mutated;
    arguments += arguments.size() > 1 ? ", " : "";
    if (!keywords) arguments += "*, ";
    std::string results;
    const bool list = schema.results.size() == 1 && schema.results[0].list;
    if (list) {
        arguments += "Tensor(a!)[] out";
        results = "()";
    } else if (schema.results.size() == 1) {
        arguments += "Tensor(a!) out";
        results = "Tensor(a!)";
    } else {
        results = "(";
        for (size_t i = 0; i < schema.results.size(); i++) {
            std::string letter(1, static_cast<char>('a' + mutated + i)), name = schema.results[i].name;
            if (targets)
                name.assign(targets, std::strcspn(targets, ",")), targets += name.size() + std::strspn(targets + name.size(), ", ");
            else if (name.empty()) name = "out" + std::to_string(i);
            arguments += (i ? ", " : "") + ("Tensor(" + letter + "!) " + name);
            results += (i ? ", " : "") + ("Tensor(" + letter + "!)") + (schema.results[i].name[0] ? " " + name : "");
        }
        results += ")";
    }
    std::string form = overload.empty() || (!list && !long_name && overload == "Tensor") ? "out" : overload + "_out";
    return strdup((std::string(schema.name) + "." + form + arguments + ") -> " + results).c_str());
}

void check_kernel(const Operator& op, DType dtype) {
    KINDLING_CHECK(NotImplemented, !(op.no_kernel & kind_of(dtype)), "\"%s_cpu\" not implemented for '%s'", op.functional->name(),
                   scalar_type_name(dtype));
}

/// In front of a kernel or composition that is not there for all dtypes.
static void checked_kernel(const Operator& op, Value* arguments, Value* results) {
    const Operator& home = *op.functional;
    const TensorImpl* first = nullptr;
    each_tensor(home, arguments, [&](const TensorImpl* tensor) {
        if (!first) first = tensor;
    });
    if (first) check_kernel(home, first->dtype);
    reinterpret_cast<Kernel>(home.context)(op, arguments, results);
}

void Declarations::add(const char* text, std::initializer_list<Field> fields) {
    const FamilyEntry& entry = families[family->number];
    KINDLING_ASSERT(family->next < entry.count);
    int declaration = entry.first + family->next++;
    Operator* op = new Operator;
    op->schema = parse_schema(text);
    op->index = static_cast<uint16_t>(3 * declaration);
    op->functional = op;
    OutDType out_dtype = op->schema->factory ? OutDType::Decides : OutDType::Same;
    std::optional<OutDType> out_given;
    const char* targets = nullptr;
    Derivative derivatives[8];
    int derivative_count = 0;
    for (const Field& field : fields) switch (field.kind) {
        case Field::Kind::Doc: op->doc = field.text; break;
        case Field::Kind::Pointwise:
            op->body = Body::Pointwise;
            op->scalar_build = reinterpret_cast<ScalarBuild>(field.function);
            op->scalar_arity = field.small;
            op->kernel = pointwise_kernel;
            out_dtype = OutDType::Castable;
            break;
        case Field::Kind::Body:
            op->body = static_cast<Body>(field.small);
            op->kernel = reinterpret_cast<Kernel>(field.function);
            break;
        case Field::Kind::Kernel:
            op->rule = reinterpret_cast<ResultRule>(field.function);
            op->measure = reinterpret_cast<Measure>(const_cast<char*>(field.text));
            op->compute = reinterpret_cast<Compute>(const_cast<char*>(field.more));
            op->kernel = run_kernel;
            break;
        case Field::Kind::Loop:
            op->rule = reinterpret_cast<ResultRule>(field.function);
            op->loop = static_cast<LoopKind>(field.small);
            op->scalar_build = reinterpret_cast<ScalarBuild>(const_cast<char*>(field.text));
            op->finish_build = reinterpret_cast<ScalarBuild>(const_cast<char*>(field.more));
            op->scalar_arity = static_cast<uint8_t>(field.number);
            op->finish_arity = static_cast<uint8_t>(field.number >> 8);
            op->kernel = run_kernel;
            break;
        case Field::Kind::Pack:
            op->flags |= trait::ByRows;
            op->pack = reinterpret_cast<Compute>(field.function);
            break;
        case Field::Kind::Otherwise: op->otherwise = reinterpret_cast<Kernel>(field.function); break;
        case Field::Kind::Batches: op->batch = reinterpret_cast<Kernel>(field.function); break;
        case Field::Kind::Derivative:
            if (!field.text) {
                op->forward =
                    new Derivative{nullptr, field.more, reinterpret_cast<void (*)(const Value*, uint64_t, Tensor*)>(field.function)};
                break;
            }
            KINDLING_ASSERT(derivative_count < 8);
            derivatives[derivative_count++] = {field.text, field.more,
                                               reinterpret_cast<void (*)(const Value*, uint64_t, Tensor*)>(field.function)};
            break;
        case Field::Kind::Values:
            op->flags |= trait::RaisesByValue;
            op->value_check = new ValueCheck{field.text, reinterpret_cast<void (*)(const Value*)>(field.function)};
            break;
        case Field::Kind::Draws:
            op->flags |= trait::Random;
            op->draws = field.small;
            op->wide_draws = static_cast<uint8_t>(field.number);
            break;
        case Field::Kind::Flag: op->flags |= field.number | static_cast<uint64_t>(field.small) << 32; break;
        case Field::Kind::Takes: op->no_kernel = static_cast<uint8_t>(kind::All & ~field.number); break;
        case Field::Kind::Promotion: op->promotion = static_cast<Promotion>(field.small); break;
        case Field::Kind::ResultDType: op->result_dtype = static_cast<DType>(field.small); break;
        case Field::Kind::OutDType: out_given = static_cast<OutDType>(field.small); break;
        case Field::Kind::Targets: targets = field.text; break;
        case Field::Kind::Node: op->node_number = field.small; break;
        case Field::Kind::Check: op->check = reinterpret_cast<Kernel>(field.function); break;
        case Field::Kind::In:
        case Field::Kind::Example:
        case Field::Kind::Refuses:
        case Field::Kind::Alias: break;
        }
    KINDLING_ASSERT(op->kernel);
    op->out_dtype = out_given.value_or(out_dtype);
    if (op->body != Body::Pointwise && op->no_kernel && !op->rule) {
        op->context = reinterpret_cast<void*>(op->kernel);
        op->kernel = checked_kernel;
    }
    if (derivative_count) {
        auto* kept = new Derivative[static_cast<size_t>(derivative_count)];
        for (int i = 0; i < derivative_count; i++) kept[i] = derivatives[i];
        op->derivatives = kept;
        op->derivative_count = static_cast<uint8_t>(derivative_count);
    }
    if (op->body == Body::View && !op->has(trait::NotDifferentiable | trait::NoDerivative)) op->flags |= trait::Linear;
    op->composite =
        op->body == Body::Composition && derivative_count == 0 && !op->has(trait::Atomic | trait::NotDifferentiable | trait::NoDerivative);
    if (!op->schema->arguments.empty() && op->schema->arguments[0].mutated) op->form = Form::Inplace;
    place_tensors(*op);
    __atomic_store_n(&operator_table[op->index], op, __ATOMIC_RELEASE);

    auto make_form = [&](Form form, const char* schema, Kernel kernel) {
        Operator* made = new Operator;
        made->schema = parse_schema(schema);
        made->kernel = kernel;
        made->functional_kernel = op->kernel;
        made->functional = op;
        made->body = op->body;
        made->form = form;
        made->promotion = op->promotion;
        made->result_dtype = op->result_dtype;
        made->out_dtype = op->out_dtype;
        made->flags = op->flags;
        made->no_kernel = op->no_kernel;
        made->index = static_cast<uint16_t>(op->index + static_cast<int>(form));
        made->scalar_build = op->scalar_build;
        made->scalar_arity = op->scalar_arity;
        made->derivatives = op->derivatives;
        made->derivative_count = op->derivative_count;
        made->forward = op->forward;
        made->doc = op->doc;
        place_tensors(*made);
        __atomic_store_n(&operator_table[made->index], made, __ATOMIC_RELEASE);
    };
    bool scalar = op->body == Body::Pointwise;
    if (forms[declaration] & HasInplace)
        make_form(Form::Inplace, inplace_schema(*op->schema),
                  scalar                   ? pointwise_inplace_kernel
                  : op->body == Body::View ? view_inplace_kernel
                  : op->rule               ? run_kernel_inplace
                                           : inplace_kernel);
    if (forms[declaration] & HasOut)
        make_form(Form::Out, out_schema(*op->schema, forms[declaration] & LongOut, targets),
                  scalar     ? pointwise_out_kernel
                  : op->rule ? run_kernel_out
                             : out_kernel);
}

static void load_family(int number) {
    static constinit bool loaded[256] = {};
    static std::recursive_mutex lock; // constant-initialised in libstdc++; a family may call operators of another
    std::lock_guard<std::recursive_mutex> guard(lock);
    if (loaded[number]) return;
    Family family{number};
    Declarations declarations{&family};
    families[number].declare(declarations);
    KINDLING_ASSERT(family.next == families[number].count);
    __atomic_store_n(&loaded[number], true, __ATOMIC_RELEASE);
}

const Operator& load_operator(uint16_t index) {
    KINDLING_ASSERT(index < 3 * declaration_count);
    load_family(family_of[index / 3]);
    const Operator* op = __atomic_load_n(&operator_table[index], __ATOMIC_ACQUIRE);
    KINDLING_ASSERT(op);
    return *op;
}

// ---- operators registered at run time

namespace {
struct Registered {
    Operator* op;
    uint32_t spaces;
    Registered* next;
};
constinit Registered* registered = nullptr;

/// The overload sets handed out so far; a set changes only by registration, which makes a new one.
struct Known {
    const char* name;
    const Operator** operators;
    int count;
    uint32_t spaces;
    Known* next;
};
constinit Known* known[256] = {};
constinit std::mutex known_lock;

size_t bucket(const char* name, size_t length) {
    size_t hash = 0;
    for (size_t i = 0; i < length; i++) hash = hash * 31 + static_cast<unsigned char>(name[i]);
    return hash & 255;
}

const NameEntry* find_name(const char* name, size_t length) {
    int low = 0, high = name_count;
    while (low < high) {
        int middle = (low + high) / 2;
        const char* candidate = name_pool + names[middle].name;
        int order = std::strncmp(candidate, name, length);
        if (order == 0 && candidate[length]) order = 1;
        if (order == 0) return &names[middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return nullptr;
}
} // namespace

bool find_operators(const char* name, size_t length, OverloadSet& result) {
    std::lock_guard<std::mutex> guard(known_lock);
    size_t place = bucket(name, length);
    for (Known* k = known[place]; k; k = k->next)
        if (std::strncmp(k->name, name, length) == 0 && !k->name[length]) {
            result = {k->operators, k->count, k->spaces};
            return true;
        }
    const NameEntry* entry = find_name(name, length);
    std::vector<const Operator*> list;
    uint32_t spaces = entry ? entry->spaces : 0;
    if (entry)
        for (int i = 0; i < entry->count; i++) list.push_back(&operator_at(overloads[entry->first + i]));
    for (Registered* r = registered; r; r = r->next)
        if (std::strlen(r->op->schema->name) == length && std::strncmp(r->op->schema->name, name, length) == 0) {
            list.push_back(r->op);
            spaces |= r->spaces;
        }
    if (list.empty()) return false;
    Known* fresh = new Known{strndup(name, length), new const Operator*[list.size()], static_cast<int>(list.size()), spaces, known[place]};
    for (size_t i = 0; i < list.size(); i++) fresh->operators[i] = list[i];
    known[place] = fresh;
    result = {fresh->operators, fresh->count, fresh->spaces};
    return true;
}

const Operator* find_operator(const char* name, const char* overload) {
    OverloadSet set;
    if (!find_operators(name, std::strlen(name), set)) return nullptr;
    if (std::strcmp(overload, "default") == 0) overload = "";
    for (int i = 0; i < set.count; i++)
        if (std::strcmp(set.operators[i]->schema->overload, overload) == 0) return set.operators[i];
    return nullptr;
}

void for_each_operator_name(void (*visit)(void*, const char*, uint32_t), void* context) {
    for (int i = 0; i < name_count; i++) visit(context, name_pool + names[i].name, names[i].spaces);
    for (Registered* r = registered; r; r = r->next) visit(context, r->op->schema->name, r->spaces);
}

/// Forgets the set of a name; its memory stays, callers may hold it.
static void forget(const char* name) {
    for (Known** k = &known[bucket(name, std::strlen(name))]; *k;) {
        if (std::strcmp((*k)->name, name) == 0) *k = (*k)->next;
        else k = &(*k)->next;
    }
}

bool remove_operator(const char* name, const char* overload) {
    std::lock_guard<std::mutex> guard(known_lock);
    for (Registered** r = &registered; *r; r = &(*r)->next) {
        const Schema& schema = *(*r)->op->schema;
        if (std::strcmp(schema.name, name) || std::strcmp(schema.overload, overload)) continue;
        *r = (*r)->next;
        forget(name);
        return true;
    }
    return false;
}

/// Whether a parameter of this type (core/registration.h) takes the argument.
static bool takes(char letter, const Argument& argument) {
    switch (letter) {
    case 't': return argument.type == Type::Tensor && !argument.list;
    case 'l': return argument.type == Type::Tensor && argument.list;
    case 'I': return argument.type == Type::Int && argument.list;
    case 's': return argument.type == Type::Scalar && !argument.list;
    case 'i': return argument.type == Type::Int && !argument.list;
    case 'd': return argument.type == Type::Float && !argument.list;
    case 'b': return argument.type == Type::Bool && !argument.list;
    case 'T': return argument.type == Type::Text && !argument.list;
    default: return argument.type == Type::DType && !argument.list;
    }
}

void add_operator(const char* text, Kernel kernel, const char* letters, Gradient gradient) {
    const Schema* schema = parse_schema(strdup(text));
    KINDLING_CHECK(Runtime, !find_operator(schema->name, schema->overload),
                   "Tried to register an operator (%s) with the same name and overload name multiple times.", text);
    KINDLING_CHECK(Runtime, std::strlen(letters) == schema->arguments.size(),
                   "register_operator: %s has %zu arguments, but the function has %zu parameters", text, schema->arguments.size(),
                   std::strlen(letters));
    for (size_t i = 0; i < schema->arguments.size(); i++)
        KINDLING_CHECK(Runtime, takes(letters[i], schema->arguments[i]),
                       "register_operator: parameter %zu of the function is not of the type of %s in %s", i + 1, schema->arguments[i].name,
                       text);
    auto* op = new Operator;
    op->schema = schema;
    op->kernel = op->functional_kernel = kernel;
    op->composite = gradient == Gradient::OfItsParts;
    op->body = op->composite ? Body::Composition : Body::Kernel;
    if (!op->composite) op->flags = gradient == Gradient::None ? trait::NotDifferentiable : trait::NoDerivative;
    if (!schema->arguments.empty() && schema->arguments[0].mutated) op->form = Form::Inplace;
    register_operator(op, space::Hidden);
}

void register_operator(Operator* op, uint32_t spaces) {
    op->index = 0xffff;
    if (!op->functional) op->functional = op;
    place_tensors(*op);
    std::lock_guard<std::mutex> guard(known_lock);
    Registered** end = &registered;
    while (*end) end = &(*end)->next;
    *end = new Registered{op, spaces, nullptr};
    forget(op->schema->name);
}

} // namespace kindling
