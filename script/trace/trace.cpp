// script/trace/trace.cpp: what is called while a function is traced, as nodes of a graph.
#include "script/trace/trace.h"

#include <cstring>

#include "script/graph/class.h"
#include "script/graph/codes.h"
#include "script/run/run.h"

namespace kindling::script {

static constinit thread_local Tracer* current __attribute__((tls_model("initial-exec"))) = nullptr;

const char leaves::data_flow[] = " might cause the trace to be incorrect. We can't record the data flow of Python values, so this value "
                                 "will be treated as a constant in the "
                                 "future. This means that the trace might not generalize to other inputs!";
const char leaves::constructor[] = " results are registered as constants in the trace. You can safely ignore this warning if you use this "
                                   "function to create tensors out of "
                                   "constant variables that would be the same every time you call this function. In any other case, this "
                                   "might cause the trace to be incorrect.";
const char leaves::resize[] = " can't be represented in the JIT at the moment, so we won't connect any uses of this value with its current "
                              "trace. If you happen to use it "
                              "again, it will show up as a constant in the graph. Consider using `view` or `reshape` to make it traceable.";
static constexpr char loose[] = " might cause the trace to be incorrect, this is only valid if the container structure does not change "
                                "based on the module's inputs. Consider "
                                "using a constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a "
                                "`NamedTuple` instead). If you absolutely need "
                                "this and know the side effects, pass strict=False to trace() to allow this behavior.";

Tracer* tracer() { return is_traced() ? current : nullptr; }

void warn_traced(const char* what, const char* why) {
    if (Tracer* trace = tracer()) trace->warn(std::string(what) + why);
}

static void go_on(const Operator& op, uint32_t word, kindling::Value* arguments, kindling::Value* results) {
    if (word == 0) op.kernel(op, arguments, results);
    else call_layers(op, word, arguments, results);
}

static void call_while_traced(const Operator& op, uint32_t word, kindling::Value* arguments, kindling::Value* results) {
    word &= ~static_cast<uint32_t>(key::Trace);
    if (current) current->record(op, arguments, results, go_on, word);
    else go_on(op, word, arguments, results);
}

Tracing::Tracing(Tracer& tracer) {
    KINDLING_CHECK(Runtime, !current, "Tracing can't be nested");
    call_traced = call_while_traced;
    current = &tracer;
    thread_state.include |= key::Trace;
}
Tracing::~Tracing() {
    thread_state.include &= ~static_cast<uint32_t>(key::Trace);
    current = nullptr;
}

// ---- types

TypeRef seen(const Tensor& tensor) {
    TensorImpl* impl = tensor.impl();
    std::string text = scalar_type_name(impl->dtype);
    const bool strided = impl->layout == Layout::Strided;
    text += strided ? "(" : "Tensor(";
    if (strided && impl->ndim) {
        const auto join = [](IntList list) {
            std::string out;
            for (int64_t each : list) out += (out.empty() ? "" : ", ") + std::to_string(each);
            return out;
        };
        text += join(tensor.sizes()) + ", strides=[" + join(tensor.strides()) + "], ";
    }
    return seen_tensor(text + "requires_grad=" + (tensor.requires_grad() ? "1" : "0") + ", device=" + device_text(tensor.device()) + ")");
}

/// The type of a number's tensor: its shape goes without saying.
static TypeRef seen_number(DType dtype) { return seen_tensor(std::string(scalar_type_name(dtype)) + "(device=cpu)"); }

/// What a value that stands for an item looks like.
static TypeRef seen(const Item& item) {
    switch (item.tag()) {
    case Item::Tag::Tensor: return seen(item.tensor());
    case Item::Tag::Tuple: {
        const TypeRef type = item.type();
        std::vector<TypeRef> parts;
        for (const Item& each : item.items()) parts.push_back(seen(each));
        return tuple_of(std::move(parts), type->name, type->fields);
    }
    default: return item.type();
    }
}

// ---- values

Tracer::Tracer(bool strict_, bool outplace_, Surroundings surroundings)
    : graph(std::make_shared<Graph>()), strict(strict_), outplace(outplace_), surroundings_(surroundings) {}

static Value* insert(Graph& graph, const char* kind, TypeRef type, const std::vector<Value*>& inputs, const Range& range = {}) {
    return graph.insert(graph.create_with(kind, type, inputs)->at(range))->output();
}
static Value* list_construct(Graph& graph, TypeRef element, const std::vector<Value*>& items) {
    return insert(graph, "prim::ListConstruct", list_of(element), items);
}

Value* Tracer::tensor_value(const Tensor& tensor) {
    if (!tensor.defined()) return none();
    const auto found = known_.find(tensor.impl());
    if (found != known_.end()) {
        Value* value = found->second.value;
        if (value->given.empty() && surroundings_.name_of)
            if (const std::string name = surroundings_.name_of(tensor); !name.empty()) value->set_name(name);
        return value;
    }
    if (tensor.requires_grad()) {
        Exclude quiet(key::Trace);
        fail(ErrorKind::Runtime,
             "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or detaching the "
             "gradient\nTensor:\n%s",
             stream_text(tensor).c_str());
    }
    Value* made = constant(Item(tensor), place());
    made->type = seen(tensor);
    known_[tensor.impl()] = {Item(tensor), made};
    return made;
}

Value* Tracer::value_of(const Item& item) {
    switch (item.tag()) {
    case Item::Tag::Tensor: return tensor_value(item.tensor());
    case Item::Tag::Instance: {
        const auto found = known_.find(item.object());
        KINDLING_CHECK(
            Runtime, found != known_.end(),
            "Tried to trace %s but it is not part of the active trace. Modules that are called during a trace must be registered as "
            "submodules of the thing being traced.",
            str(item).c_str());
        return found->second.value;
    }
    case Item::Tag::List:
    case Item::Tag::Tuple: {
        const bool list = item.is(Item::Tag::List), tensors = list && item.type()->element()->is(TypeKind::Tensor);
        if (list && !tensors && item.items().size() && !item.items()[0].is(Item::Tag::Tensor)) return constant(item, place());
        std::vector<Value*> values;
        std::vector<TypeRef> types;
        for (const Item& each : item.items()) {
            values.push_back(value_of(each));
            types.push_back(values.back()->type);
        }
        if (list) return list_construct(*graph, type_of(TypeKind::Tensor), values);
        return insert(*graph, "prim::TupleConstruct", tuple_of(std::move(types), item.type()->name, item.type()->fields), values);
    }
    case Item::Tag::Dict: {
        std::vector<Value*> values;
        for (const auto& [key, value] : item.dict()) {
            values.push_back(value_of(key));
            values.push_back(value_of(value));
        }
        return insert(*graph, "prim::DictConstruct", item.type(), values);
    }
    case Item::Tag::Future:
    case Item::Tag::Foreign:
        fail(ErrorKind::Runtime, "Tracer cannot get value trace for type %s. The below value could not be materialized as a constant:\n%s",
             repr(item.type()).c_str(), str(item).c_str());
    default: return constant(item, place());
    }
}

void Tracer::set_value(const Item& item, Value* value) {
    switch (item.tag()) {
    case Item::Tag::Tensor: {
        Known& known = known_[item.tensor_impl()];
        known = {item, value};
        if (value->type->is(TypeKind::Tensor) && value->type->name.empty()) value->type = seen(item.tensor());
        return;
    }
    case Item::Tag::List:
    case Item::Tag::Tuple: {
        const bool list = item.is(Item::Tag::List);
        const std::vector<Item>& items = item.items();
        Node* unpack = graph->create(list ? "prim::ListUnpack" : "prim::TupleUnpack", {value}, 0);
        for (size_t i = 0; i < items.size(); i++) unpack->add_output(list ? value->type->element() : value->type->parts[i]);
        graph->insert(unpack);
        for (size_t i = 0; i < items.size(); i++) set_value(items[i], unpack->output(i));
        return;
    }
    case Item::Tag::Dict:
        for (const auto& [key, each] : item.dict()) {
            Value* name = graph->constant(key);
            set_value(each, insert(*graph, "aten::__getitem__", value->type->parts[1], {value, name}, place()));
        }
        return;
    case Item::Tag::Instance: known_[item.object()] = {item, value}; return;
    default: { // would be a constant from here on; but an autograd.Function may give None
        if (item.is_none() && value->node->is("prim::TupleUnpack") && value->node->input()->node->is("prim::PythonOp")) return;
        static constexpr char kinds[][14] = {"None",   "Bool",        "Int",   "Double",      "Device", "Tensor", "ComplexDouble",
                                             "String", "GenericList", "Tuple", "GenericDict", "Object", "Future", "PyObject"};
        fail(ErrorKind::Runtime,
             "Tracer cannot set value trace for type %s. Supported types are tensor, tensor list, and tuple of tensors.",
             kinds[static_cast<size_t>(item.tag())]);
    }
    }
}

// ---- inputs and outputs

Item Tracer::input(const Item& item, TypeRef type, Value* value) {
    value->type = type;
    switch (item.tag()) {
    case Item::Tag::Tensor: {
        Item given = item;
        if (knows(item.tensor())) {
            const Tensor tensor = item.tensor();
            const std::vector<int64_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
            given = Item(tensor.view(IntList(sizes.data(), sizes.size())));
        }
        set_value(given, value);
        return given;
    }
    case Item::Tag::Tuple:
    case Item::Tag::List: {
        const bool list = item.is(Item::Tag::List);
        Node* unpack = graph->create(list ? "prim::ListUnpack" : "prim::TupleUnpack", {value}, 0);
        for (size_t i = 0; i < item.items().size(); i++) unpack->add_output(list ? type->element() : type->parts[i]);
        graph->insert(unpack);
        std::vector<Item> given;
        for (size_t i = 0; i < item.items().size(); i++)
            given.push_back(input(item.items()[i], list ? seen(item.items()[i]) : type->parts[i], unpack->output(i)));
        return list ? Item::list(item.type(), std::move(given)) : Item::tuple(item.type(), std::move(given));
    }
    case Item::Tag::Dict: {
        Item given = Item::dict(item.type());
        for (const auto& [key, each] : item.dict()) {
            Value* name = graph->constant(key);
            given.dict().set(key, input(each, seen(each), insert(*graph, "aten::__getitem__", type->parts[1], {value, name}, place())));
        }
        return given;
    }
    default: fail(ErrorKind::Runtime, "Only tensors or tuples of tensors can be traced, got %s", repr(item.type()).c_str());
    }
}

Item Tracer::add_input(const Item& item, const std::string& name) {
    Value* value = graph->block->add_input(type_of(TypeKind::Tensor));
    if (!name.empty()) value->set_name(name);
    return input(item, seen(item), value);
}

void Tracer::add_self(const Item& self) { gather(self, graph->block->add_input(self.type())->set_name("self"), "__module"); }

void Tracer::gather(const Item& self, Value* value, const std::string& prefix) {
    set_value(self, value);
    const Class* definition = self.type()->definition;
    const std::vector<Item>& slots = self.instance().slots;
    for (size_t i = 0; i < slots.size(); i++) {
        const std::string name = prefix + "." + definition->attributes[i].name;
        Value* attribute = insert(*graph, "prim::TracedAttr", definition->attributes[i].type, {});
        attribute->node->attributes.push_back({"scope", Item(name), {}});
        if (slots[i].is(Item::Tag::Tensor)) known_[slots[i].tensor_impl()] = {slots[i], attribute}; // its type stays what is declared
        else if (slots[i].is(Item::Tag::Instance)) gather(slots[i], attribute, name);
    }
}

void Tracer::add_output(const Item& item, size_t place_) {
    const std::function<Value*(const Item&)> give = [&](const Item& each) -> Value* {
        switch (each.tag()) {
        case Item::Tag::Tensor: {
            const auto found = known_.find(each.tensor_impl());
            if (found == known_.end()) {
                Exclude quiet(key::Trace);
                fail(ErrorKind::Runtime,
                     "output %zu (%s) of traced region did not have observable data dependence with trace inputs; this probably indicates "
                     "your program "
                     "cannot be understood by the tracer.",
                     place_, stream_text(each.tensor()).c_str());
            }
            return found->second.value;
        }
        case Item::Tag::List:
        case Item::Tag::Tuple: {
            const bool list = each.is(Item::Tag::List);
            if (list && !each.type()->element()->is(TypeKind::Tensor)) break;
            if (list && strict) warn(std::string("Encountering a list at the output of the tracer") + loose);
            std::vector<Value*> values;
            std::vector<TypeRef> types;
            for (const Item& part : each.items()) {
                values.push_back(give(part));
                types.push_back(values.back()->type);
            }
            if (list) return list_construct(*graph, type_of(TypeKind::Tensor), values);
            return insert(*graph, "prim::TupleConstruct", tuple_of(std::move(types), each.type()->name, each.type()->fields), values);
        }
        case Item::Tag::Dict: {
            if (strict) fail(ErrorKind::Runtime, "Encountering a dict at the output of the tracer%s", loose);
            std::vector<Value*> values;
            for (const auto& [key, value] : each.dict()) {
                values.push_back(constant(key, place()));
                values.push_back(give(value));
            }
            return insert(*graph, "prim::DictConstruct", each.type(), values);
        }
        default: break;
        }
        fail(ErrorKind::Runtime, "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions");
    };
    graph->block->add_output(give(item));
}

// ---- numbers that are tensors while a program is traced

Tensor Tracer::number_tensor(Node* node, int64_t number) {
    Exclude quiet(key::Trace);
    Tensor tensor = wrap_number(Scalar(number));
    tensor.impl()->wrapped_number = false;
    Value* value = insert(*graph, "prim::NumToTensor", seen_number(DType::Int64), {node->output()});
    known_[tensor.impl()] = {Item(tensor), value};
    return tensor;
}
Tensor Tracer::size(const Tensor& tensor, int64_t dim) {
    Value* of = tensor_value(tensor);
    const Range range = place();
    Value* which = constant(Item(dim), range);
    return number_tensor(insert(*graph, "aten::size", type_of(TypeKind::Int), {of, which}, range)->node, tensor.size(dim));
}
Tensor Tracer::numel(const Tensor& tensor) {
    Value* of = tensor_value(tensor);
    return number_tensor(insert(*graph, "aten::numel", type_of(TypeKind::Int), {of}, place())->node, tensor.numel());
}

void Tracer::number_from(const Tensor& tensor, const void* slot, int place) { numbers_.push_back({slot, place, tensor}); }

/// The value of a number of this call that came from a tensor; null if it did not.
Value* Tracer::given_number(const void* slot, int place, TypeKind as) {
    for (Number& each : numbers_) {
        if (each.slot ? each.slot != slot : each.place != place) continue;
        if (each.value) return each.value;
        Value* tensor = tensor_value(each.tensor);
        Inserting here(*graph, tensor->node->is("prim::Param") ? tensor->node->block->first() : tensor->node->next);
        const char* kind = as == TypeKind::Float ? "aten::Float" : as == TypeKind::Number ? "aten::ScalarImplicit" : "aten::Int";
        return each.value = insert(*graph, kind, type_of(as), {tensor});
    }
    return nullptr;
}

/// They are made before the numbers that stand in the program.
void Tracer::give_numbers(const Operator& op, const kindling::Value* arguments) {
    if (numbers_.empty()) return;
    for (size_t i = 0; i < op.argument_count(); i++) {
        const kindling::Value& value = arguments[i];
        const kindling::Type type = op.schema->arguments[i].type;
        if (value.tag == kindling::Value::Tag::IntList)
            for (uint32_t j = 0; j < value.size; j++) given_number(value.integers + j, -1, TypeKind::Int);
        else if (value.is_number() && type != kindling::Type::Tensor)
            given_number(arguments + i, static_cast<int>(i),
                         type == kindling::Type::Float    ? TypeKind::Float
                         : type == kindling::Type::Scalar ? TypeKind::Number
                                                          : TypeKind::Int);
    }
}

// ---- operators

static const Signature* signature_of(const std::string& kind, const Operator* op) {
    for (const Signature* each : signatures_of(kind))
        if (each->op == op) return each;
    return nullptr;
}

namespace {

bool takes_generator(const Signature* signature) {
    if (!signature) return true;
    for (const Formal& formal : signature->formals)
        if (formal.name == "generator") return true;
    return false;
}

/// Operators that are written down as what they consist of, as PyTorch's tracer does.
bool is_seen_through(const char* name) {
    static constexpr char names[][18] = {"conv1d",           "conv2d",           "conv3d",    "conv_transpose1d",
                                         "conv_transpose2d", "conv_transpose3d", "lstm_cell", "gru_cell",
                                         "rnn_tanh_cell",    "rnn_relu_cell",    "_coalesced"};
    for (const char* each : names)
        if (!std::strcmp(name, each)) return true;
    return false;
}

/// Whether a call of it is a node. What gives no tensor leaves the graph.
bool is_recorded(const Operator& op) {
    bool tensors = false;
    for (const Argument& result : op.schema->results) tensors |= result.type == kindling::Type::Tensor;
    if (!tensors) return false;
    for (const Argument& argument : op.schema->arguments)
        if (argument.type == kindling::Type::Storage) return false;
    return !is_seen_through(op.functional->name());
}

Item number_item(const kindling::Value& value) {
    using Tag = kindling::Value::Tag;
    switch (value.tag) {
    case Tag::Bool: return Item(value.integer != 0);
    case Tag::Float: return Item(value.real);
    case Tag::Complex: return Item(std::complex<double>(value.real, value.imag));
    default: return Item(value.integer);
    }
}

} // namespace

Value* Tracer::list_argument(const Argument& argument, const kindling::Value& value, const Range& range) {
    using Tag = kindling::Value::Tag;
    std::vector<Value*> items;
    TypeRef element = type_of(TypeKind::Int);
    switch (value.tag) {
    case Tag::IntList: {
        items.resize(value.size);
        for (uint32_t i = 0; i < value.size; i++) items[i] = given_number(value.integers + i, -1, TypeKind::Int);
        for (uint32_t i = 0; i < value.size; i++)
            if (!items[i]) items[i] = constant(Item(value.integers[i]), range);
        break;
    }
    case Tag::FloatList:
        element = type_of(TypeKind::Float);
        for (uint32_t i = 0; i < value.size; i++) items.push_back(constant(Item(value.floats[i]), range));
        break;
    case Tag::BoolList:
        element = type_of(TypeKind::Bool);
        for (uint32_t i = 0; i < value.size; i++) items.push_back(constant(Item(value.bools[i]), range));
        break;
    case Tag::ScalarList:
        element = type_of(TypeKind::Number);
        for (uint32_t i = 0; i < value.size; i++) items.push_back(constant(number_item(kindling::Value(value.scalars[i])), range));
        break;
    case Tag::TextList:
        element = type_of(TypeKind::Str);
        for (uint32_t i = 0; i < value.size; i++) items.push_back(constant(Item(std::string(value.texts[i])), range));
        break;
    default:
        element = type_of(TypeKind::Tensor);
        if (argument.optional_items) element = optional_of(element);
        for (uint32_t i = 0; i < value.size; i++) items.push_back(tensor_value(value.tensors[i]));
    }
    return list_construct(*graph, element, items);
}

Value* Tracer::argument(const Operator& op, size_t at, const kindling::Value* values, const Range& range) {
    using Tag = kindling::Value::Tag;
    const Argument& argument = op.schema->arguments[at];
    const kindling::Value& value = values[at];
    const int place = static_cast<int>(at);
    if (argument.list && value.tag >= Tag::IntList) {
        // A convolution's numbers may stand for all of its dimensions; PyTorch's tracer sees them one by one.
        if (value.tag == Tag::IntList && value.size == 1 && !std::strcmp(op.name(), "convolution") && values[1].is_tensor()) {
            const std::vector<int64_t> all(static_cast<size_t>(values[1].tensor->ndim - 2), value.integers[0]);
            if (!given_number(value.integers, -1, TypeKind::Int))
                return list_argument(argument, kindling::Value(IntList(all.data(), all.size())), range);
        }
        return list_argument(argument, value, range);
    }
    if (argument.type == kindling::Type::Tensor && value.is_number()) {
        const Tensor number = wrap_number(value.scalar());
        Value* made = constant(Item(number), range);
        made->type = seen(number);
        return made;
    }
    if (!numbers_.empty() && value.is_number()) {
        const TypeKind as = argument.type == kindling::Type::Float    ? TypeKind::Float
                            : argument.type == kindling::Type::Scalar ? TypeKind::Number
                                                                      : TypeKind::Int;
        if (Value* given = given_number(values + at, place, as)) return given;
    }
    switch (value.tag) {
    case Tag::Tensor: return tensor_value(Tensor::share(value.tensor));
    case Tag::Bool:
    case Tag::Int:
    case Tag::UInt:
    case Tag::Float:
    case Tag::Complex: return constant(number_item(value), range);
    case Tag::Text: return constant(Item(std::string(value.text, value.size)), range);
    case Tag::DType: return constant(Item(code_of(value.dtype)), range);
    case Tag::Layout: return constant(Item(code_of(value.layout)), range);
    case Tag::MemoryFormat: return constant(Item(static_cast<int64_t>(value.format)), range);
    case Tag::Device: return constant(Item(value.device), range);
    case Tag::Generator:
        fail(ErrorKind::Runtime, "Found an unsupported argument type in the JIT tracer: at::Generator. File a bug report.");
    default: break;
    }
    // As PyTorch's Python functions fill them in.
    if (argument.type == kindling::Type::Device && place == op.device_position && op.tensor_count == 0 && op.list_count == 0)
        return constant(Item(Device()), range);
    if (argument.type == kindling::Type::Bool && !std::strcmp(argument.name, "pin_memory") && std::strcmp(op.name(), "to"))
        return constant(Item(false), range);
    return none();
}

/// What writes to `tensor` and is written down as if it did not: others that look into the same memory would not see it.
void Tracer::check_alone(const char* name, const Tensor& tensor) {
    const Storage* storage = tensor.storage();
    if (!storage) return;
    uint32_t others = storage->owners();
    for (const auto& [header, known] : known_)
        if (known.item.is(Item::Tag::Tensor) && known.item.tensor_impl()->storage == storage && known.item.tensor_impl()->use_count() == 1)
            others--; // only the trace holds it
    if (others > 1)
        warn(format("There are %u live references to the data region being modified when tracing in-place operator %s. This might cause "
                    "the trace to be incorrect, because all other "
                    "views that also reference this data will not reflect this change in the trace! On the other hand, if all other views "
                    "use the same memory chunk, but are "
                    "disjoint (e.g. are outputs of torch.split), this might still be safe.",
                    others, name));
}

void Tracer::record(const Operator& op, kindling::Value* arguments, kindling::Value* results,
                    void (*go_on)(const Operator&, uint32_t, kindling::Value*, kindling::Value*), uint32_t word) {
    const Operator& home = *op.functional;
    if (!is_recorded(op)) return go_on(op, word, arguments, results);
    const bool writes = op.form == Form::Inplace;
    const char* name = op.name();
    if (writes && (!std::strcmp(name, "resize_") || !std::strcmp(name, "resize_as_"))) {
        warn(std::string(name) + leaves::resize);
        known_.erase(arguments[0].tensor);
        Exclude quiet(key::Trace);
        return go_on(op, word, arguments, results);
    }
    const Range range = place();
    const bool convolution = !std::strcmp(name, "convolution");
    const bool replaced = outplace && op.form != Form::Functional && &home != &op;
    std::string kind = std::strstr(name, "::") ? name
                                               : std::string("aten::") + (convolution ? "_convolution"
                                                                          : replaced  ? home.name()
                                                                                      : name);
    bool fills = false; // fill_ and zero_, written down as functions of a tensor like it
    if (outplace && writes && !replaced) {
        if (kind == "aten::fill_") kind = "aten::full_like", fills = true;
        else if (kind == "aten::zero_") kind = "aten::zeros_like", fills = true;
    }
    if (kind == "aten::detach_") kind = "aten::detach";
    Node* node = graph->create(kind, {}, 0)->at(range);
    node->signature = signature_of(kind, replaced ? &home : &op);
    give_numbers(op, arguments);
    for (size_t i = 0; i < op.argument_count(); i++) {
        if (replaced && op.schema->arguments[i].out) continue;
        // One operator here, two overloads in PyTorch: without a generator it is not among the arguments.
        if (op.schema->arguments[i].type == kindling::Type::Generator && arguments[i].is_none() && !takes_generator(node->signature))
            continue;
        node->add_input(argument(op, i, arguments, range));
    }
    if (convolution) // benchmark, deterministic, cudnn_enabled, allow_tf32
        for (bool flag : {false, false, true, true}) node->add_input(constant(Item(flag), range));
    if (fills) {
        node->add_input(none());
        node->add_input(constant(Item(code_of(Layout::Strided)), range));
        node->add_input(constant(Item(Device()), range));
        node->add_input(constant(Item(false), range));
        node->add_input(constant(Item(static_cast<int64_t>(MemoryFormat::Preserve)), range));
    }
    numbers_.clear();
    graph->insert(node);
    if (outplace && writes)
        for (size_t i = 0; i < op.argument_count(); i++)
            if (op.schema->arguments[i].mutated && arguments[i].is_tensor()) check_alone(name, Tensor::share(arguments[i].tensor));
    try {
        Exclude quiet(key::Trace);
        go_on(op, word, arguments, results);
    } catch (...) {
        node->destroy();
        throw;
    }
    outputs(node, op, results);
}

void Tracer::outputs(Node* node, const Operator& op, kindling::Value* results) {
    using Tag = kindling::Value::Tag;
    for (size_t r = 0; r < op.schema->results.size(); r++) {
        const Argument& result = op.schema->results[r];
        Value* output = node->add_output(of_argument(result));
        if (results[r].tag == Tag::Tensor) {
            const Tensor tensor = Tensor::share(results[r].tensor);
            output->type = seen(tensor);
            known_[tensor.impl()] = {Item(tensor), output};
        } else if (results[r].tag == Tag::TensorList) {
            Node* unpack = graph->create("prim::ListUnpack", {output}, 0);
            for (uint32_t i = 0; i < results[r].size; i++) unpack->add_output(type_of(TypeKind::Tensor));
            graph->insert(unpack);
            for (uint32_t i = 0; i < results[r].size; i++)
                if (const Tensor& tensor = results[r].tensors[i]; tensor.defined()) {
                    unpack->output(i)->type = seen(tensor);
                    known_[tensor.impl()] = {Item(tensor), unpack->output(i)};
                }
        }
    }
}

// ---- scripts

Item Tracer::call(Function& function, std::vector<Item> arguments) {
    std::vector<Value*> inputs = {nullptr};
    for (const Item& each : arguments) inputs.push_back(each.is_none() ? none() : value_of(each));
    inputs[0] = graph->insert(graph->create_with("prim::Constant", class_named("Function")))->output();
    inputs[0]->node->attributes.push_back({"name", Item(function.name), {}});
    inputs[0]->node->function = &function;
    const TypeRef type = function.signature.results.empty() ? type_of(TypeKind::Tensor) : function.signature.results[0].type;
    Value* output = insert(*graph, "prim::CallFunction", type, inputs);
    Item result;
    {
        Exclude quiet(key::Trace);
        result = run(function, std::move(arguments));
    }
    set_value(result, output);
    return result;
}

Item Tracer::call_method(Function& function, const std::string& name, std::vector<Item> arguments) {
    std::vector<Value*> inputs;
    for (const Item& each : arguments) inputs.push_back(value_of(each));
    const TypeRef type = function.signature.results.empty() ? type_of(TypeKind::Tensor) : function.signature.results[0].type;
    Value* output = insert(*graph, "prim::CallMethod", type, inputs);
    output->node->attributes.push_back({"name", Item(name), {}});
    Item result;
    {
        Exclude quiet(key::Trace);
        result = run(function, std::move(arguments));
    }
    set_value(result, output);
    return result;
}

Node* Tracer::foreign(const std::string& name, const std::string& module, const std::string& how, const Item& function,
                      const std::vector<Tensor>& inputs) {
    Node* node = graph->create("prim::PythonOp", {}, 0)->at(place());
    for (const Tensor& each : inputs) node->add_input(tensor_value(each));
    node->attributes = {{"name", Item(name), {}}, {"module", Item(module), {}}, {"how", Item(how), {}}, {"function", function, {}}};
    return graph->insert(node);
}
void Tracer::foreign_gave(Node* node, const Item& result) { set_value(result, node->add_output(seen(result))); }

// ---- modules

void Tracer::push_scope(const std::string& name) {
    Node* node = graph->insert(graph->create("prim::TracedModuleForward", {}, 0));
    node->attributes.push_back({"scope", Item(name), {}});
    scopes_.push_back(graph->scope);
    graph->scope += (graph->scope.empty() ? "" : "/") + name;
    graph->insert_point = node->add_block()->end;
}
void Tracer::pop_scope() {
    if (scopes_.empty()) return;
    graph->scope = scopes_.back();
    scopes_.pop_back();
    if (Node* owner = graph->insert_point->block->owner; owner && owner->is("prim::TracedModuleForward")) graph->insert_point = owner->next;
}

} // namespace kindling::script
