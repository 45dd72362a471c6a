// script/builtins/builtins_tensors.cpp: tensors beside their operators: what they are, numbers of them and tensors of numbers, devices.
#include <chrono>

#include "autograd/engine.h"
#include "autograd/meta.h"
#include "core/autocast.h"
#include "core/shape.h"
#include "kernels/capability.h"
#include "operators/forms.h"
#include "runtime/random.h"
#include "script/builtins/builtins.h"
#include "script/graph/codes.h"
#include "script/run/run.h"

namespace kindling::script {
namespace {

using Tag = Item::Tag;

Item ints(IntList list) {
    std::vector<Item> items;
    for (int64_t each : list) items.emplace_back(each);
    return Item::list(list_of(type_of(TypeKind::Int)), std::move(items));
}
std::vector<int64_t> ints_of(const Item& list) {
    std::vector<int64_t> all;
    for (const Item& each : list.items()) all.push_back(each.integer());
    return all;
}
std::vector<Tensor> tensors_of(const Item& list) {
    std::vector<Tensor> all;
    if (!list.is_none())
        for (const Item& each : list.items()) all.push_back(each.tensor());
    return all;
}
/// One for each of `count` outputs; None: of ones.
std::vector<Tensor> gradients_of(const Item& list, size_t count) { return list.is_none() ? std::vector<Tensor>(count) : tensors_of(list); }
Item number_of(const Scalar& number) {
    if (number.is_complex()) return Item(number.to_complex());
    if (number.is_float()) return Item(number.to_double());
    return number.is_bool() ? Item(number.to_bool()) : Item(number.to_int());
}
Scalar item_of(const Tensor& tensor) {
    KINDLING_CHECK(Runtime, tensor.numel() == 1, "a Tensor with %ld elements cannot be converted to Scalar",
                   static_cast<long>(tensor.numel()));
    return tensor.item_scalar();
}
/// What may stand for a number without being asked for.
Scalar implicit(const Tensor& tensor, const char* type, bool fits) {
    KINDLING_CHECK(Runtime, !tensor.requires_grad(), "Cannot input a tensor that requires grad as a scalar argument");
    KINDLING_CHECK(Runtime, tensor.dim() == 0, "Cannot input a tensor of dimension other than 0 as a scalar argument");
    KINDLING_CHECK(Runtime, fits, "Cannot input a tensor of type %s as an %s argument", scalar_type_name(tensor.dtype()), type);
    return tensor.item_scalar();
}

// ---- tensors of numbers

void store(const Item& item, DType dtype, char*& at) {
    switch (dtype) {
    case DType::Float32: *reinterpret_cast<float*>(at) = static_cast<float>(item.number()); break;
    case DType::Float64: *reinterpret_cast<double*>(at) = item.number(); break;
    case DType::Int64: *reinterpret_cast<int64_t*>(at) = item.integer(); break;
    case DType::Bool: *at = static_cast<char>(item.truth()); break;
    case DType::Complex64: *reinterpret_cast<std::complex<float>*>(at) = std::complex<float>(item.complex()); break;
    default: *reinterpret_cast<std::complex<double>*>(at) = item.complex();
    }
    at += item_size(dtype);
}
void store_all(const Item& item, size_t dim, IntList sizes, DType dtype, char*& at) {
    if (dim == sizes.size()) return store(item, dtype, at);
    KINDLING_CHECK(Runtime, static_cast<int64_t>(item.items().size()) == sizes[dim], "Expected sequence of length %ld at dim %zu (got %zu)",
                   static_cast<long>(sizes[dim]), dim, item.items().size());
    for (const Item& each : item.items()) store_all(each, dim + 1, sizes, dtype, at);
}
/// Numbers as they are by themselves: fractions have the default dtype.
DType own_dtype(TypeRef type) {
    switch (type->kind) {
    case TypeKind::Float: return default_dtype();
    case TypeKind::Int: return DType::Int64;
    case TypeKind::Bool: return DType::Bool;
    case TypeKind::Complex: return default_dtype() == DType::Float64 ? DType::Complex128 : DType::Complex64;
    default: fail(ErrorKind::Runtime, "Input must be of ints, floats, or bools, got %s", repr(type).c_str());
    }
}
Tensor from_data(const Item& data, const Item& dtype, const Item& device) {
    std::vector<int64_t> sizes;
    TypeRef type = data.type();
    for (const Item* each = &data; type->is(TypeKind::List); type = type->element()) {
        const bool empty = !each || each->items().empty();
        sizes.push_back(empty ? 0 : static_cast<int64_t>(each->items().size()));
        each = empty ? nullptr : &each->items()[0];
    }
    const DType own = own_dtype(type);
    DType held = own;
    if (own != DType::Int64 && own != DType::Bool && own != DType::Float64 && own != DType::Complex128)
        held = is_complex(own) ? DType::Complex64 : DType::Float32;
    Tensor made = make_tensor(sizes, held);
    char* at = made.numel() ? static_cast<char*>(made.data()) : nullptr;
    if (at || sizes.empty()) store_all(data, 0, sizes, held, at);
    const DType wanted = dtype.is_none() ? own : dtype_of_code(dtype.integer());
    if (wanted != held || !device.is_none())
        made = made.to(wanted, std::nullopt, device.is_none() ? std::nullopt : std::optional<Device>(device.device()));
    return made;
}
void make(Item* a, size_t count) {
    Tensor made = from_data(a[0], a[1], a[2]);
    if (count > 3 && B(3)) set_requires_grad(made, true);
    a[0] = Item(made);
}

// ---- text of tensors

struct Form {
    int width, precision;
    char letter;
    double scale;
};
Form form_of(const std::vector<double>& values) {
    bool whole = true;
    double least = 0, most = 0;
    bool any = false;
    for (double value : values) {
        if (!std::isfinite(value)) continue;
        whole &= value == std::ceil(value);
        const double size = std::abs(value);
        least = any ? std::min(least, size) : size;
        most = any ? std::max(most, size) : size;
        any = true;
    }
    const auto digits = [&](double x) { return x != 0 ? static_cast<int>(std::floor(std::log10(x))) + 1 : 1; };
    const int low = digits(least), high = digits(most);
    if (whole) return high > 9 ? Form{11, 4, 'e', 1} : Form{high + 1, 6, 'g', 1};
    if (high - low > 4) return {std::abs(high) > 99 || std::abs(low) > 99 ? 12 : 11, 4, 'e', 1};
    if (high > 5 || high < 0) return {7, 4, 'f', std::pow(10.0, high - 1)};
    return {high == 0 ? 7 : high + 6, 4, 'f', 1};
}
std::string number_text(const Form& form, double value) {
    const double shown = value / form.scale;
    return form.letter == 'e'   ? format("%*.*e", form.width, form.precision, shown)
           : form.letter == 'g' ? format("%*.*g", form.width, form.precision, shown)
                                : format("%*.*f", form.width, form.precision, shown);
}
void matrix_text(std::string& out, const double* values, int64_t rows, int64_t columns, int indent) {
    const Form form = form_of(std::vector<double>(values, values + rows * columns));
    const std::string margin(static_cast<size_t>(indent), ' ');
    const int64_t at_once = std::max<int64_t>(1, (80 - indent) / (form.width + 1));
    out += margin;
    for (int64_t first = 0; first < columns;) {
        const int64_t last = std::min(first + at_once, columns) - 1;
        if (at_once < columns) {
            if (first) out += "\n";
            out += format("Columns %ld to %ld", static_cast<long>(first + 1), static_cast<long>(last + 1)) + "\n" + margin;
        }
        if (form.scale != 1) out += format("%g *\n", form.scale) + margin;
        for (int64_t row = 0; row < rows; row++)
            for (int64_t column = first; column <= last; column++) {
                out += number_text(form, values[row * columns + column]);
                if (column < last) out += " ";
                else {
                    out += "\n";
                    if (row < rows - 1) out += margin + (form.scale != 1 ? " " : "");
                }
            }
        first = last + 1;
    }
}
/// As PyTorch's C++ writes tensors: print() of a script shows them so.
std::string tensor_text(const Tensor& tensor) {
    std::string out, sizes;
    for (int64_t size : tensor.sizes()) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    const std::string type = std::string(tensor.device().type == DeviceType::CPU ? "CPU"
                                         : tensor.is_meta()                      ? "Meta"
                                                                                 : name(tensor.device().type)) +
                             scalar_type_name(tensor.dtype()) + "Type";
    if (!tensor.is_meta() && tensor.numel()) {
        const Tensor held = resolve_lazy_bits(tensor.detach()).to(tensor.is_complex() ? DType::Complex128 : DType::Float64).contiguous();
        const double* at = held.data_ptr<double>();
        const std::vector<double> values(at, at + tensor.numel());
        const int dims = static_cast<int>(tensor.dim());
        if (dims == 0) out = format("%g\n", values[0]);
        else if (dims == 1) {
            const Form form = form_of(values);
            if (form.scale != 1) out += format("%g *\n", form.scale);
            for (double value : values) out += number_text(form, value) + "\n";
        } else {
            const int64_t rows = tensor.size(-2), columns = tensor.size(-1), slices = tensor.numel() / (rows * columns);
            for (int64_t slice = 0; slice < slices; slice++) {
                if (dims > 2) {
                    std::string place;
                    int64_t rest = slice;
                    for (int d = dims - 3; d >= 0; d--) {
                        place = std::to_string(rest % tensor.size(d) + 1) + "," + place;
                        rest /= tensor.size(d);
                    }
                    out += (slice ? "\n(" : "(") + place + ".,.) = \n";
                }
                matrix_text(out, values.data() + slice * rows * columns, rows, columns, dims > 2);
            }
        }
    }
    return out + "[ " + type + "{" + sizes + "} ]";
}

// ---- devices

Device device_of(const std::string& text, const Item& index) {
    const std::string type = text.substr(0, text.find(':'));
    KINDLING_CHECK(Runtime,
                   !type.empty() && type.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos,
                   "Invalid device string: '%s'", text.c_str());
    for (int i = 0; i < device_type_count; i++)
        if (type == name(static_cast<DeviceType>(i))) {
            Device made{static_cast<DeviceType>(i)};
            if (!index.is_none()) made.index = static_cast<int8_t>(index.integer());
            else if (const size_t colon = text.find(':'); colon != std::string::npos) {
                char* end = nullptr;
                const long number = std::strtol(text.c_str() + colon + 1, &end, 10);
                KINDLING_CHECK(Runtime, *end == 0 && end != text.c_str() + colon + 1 && number >= 0 && number < 128,
                               "Invalid device string: '%s'", text.c_str());
                made.index = static_cast<int8_t>(number);
            }
            return made;
        }
    fail(ErrorKind::Runtime,
         "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, "
         "mtia, %s device type at start of device string: %s",
         name(DeviceType::Private), text.c_str());
}

Item broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
    std::vector<int64_t> made(std::max(a.size(), b.size()));
    for (size_t back = 1; back <= made.size(); back++) {
        const size_t i = made.size() - back;
        const int64_t x = back > a.size() ? 1 : a[a.size() - back], y = back > b.size() ? 1 : b[b.size() - back];
        KINDLING_CHECK(Runtime, x == y || x == 1 || y == 1,
                       "The size of tensor a (%ld) must match the size of tensor b (%ld) at non-singleton dimension %zu",
                       static_cast<long>(x), static_cast<long>(y), i);
        made[i] = x == 1 ? y : x;
    }
    return ints(made);
}

Tensor moved(const Tensor& tensor, const Item& device, const Item& dtype, bool non_blocking, bool copy) {
    return tensor.to(dtype.is_none() ? DType::None : dtype_of_code(dtype.integer()), std::nullopt,
                     device.is_none() ? std::nullopt : std::optional<Device>(device.device()), std::nullopt, non_blocking, copy,
                     std::nullopt);
}

size_t hash_of(const Item& item) {
    switch (item.tag()) {
    case Tag::Str: return std::hash<std::string>()(item.text());
    case Tag::Float: return std::hash<double>()(item.number());
    case Tag::Int:
    case Tag::Bool: return std::hash<int64_t>()(item.integer());
    case Tag::None: return 0;
    case Tag::Tensor: return std::hash<const void*>()(item.tensor_impl());
    case Tag::Complex: return std::hash<double>()(item.complex().real()) * 31 + std::hash<double>()(item.complex().imag());
    case Tag::Tuple: {
        size_t key = 7;
        for (const Item& each : item.items()) key = key * 1000003 ^ hash_of(each);
        return key;
    }
    default: fail(ErrorKind::Runtime, "unhashable type: '%s'", repr(item.type()).c_str());
    }
}

void properties(Builtins& define) {
#define PROPERTY(NAME, TYPE, EXPRESSION) define(0, "prim::" NAME "(Tensor a) -> " TYPE, GIVE(EXPRESSION));
#define DEVICE_IS(NAME, TYPE) PROPERTY("is_" NAME, "bool", T(0).device().type == DeviceType::TYPE)
    // clang-format off
    DEVICE_IS("cpu", CPU) DEVICE_IS("cuda", CUDA) DEVICE_IS("xpu", XPU) DEVICE_IS("xla", XLA) DEVICE_IS("mtia", MTIA)
    DEVICE_IS("maia", MAIA) DEVICE_IS("ipu", IPU) DEVICE_IS("vulkan", Vulkan)
    DEVICE_IS("mps", MPS) DEVICE_IS("meta", Meta)
#undef DEVICE_IS
    PROPERTY("is_sparse", "bool", T(0).impl()->layout == Layout::Sparse)
    PROPERTY("is_sparse_csr", "bool", T(0).impl()->layout == Layout::SparseCsr)
    PROPERTY("is_mkldnn", "bool", T(0).impl()->layout == Layout::Mkldnn) PROPERTY("is_quantized", "bool", false)
    PROPERTY("is_nested", "bool", T(0).impl()->layout == Layout::Jagged)
    PROPERTY("requires_grad", "bool", T(0).requires_grad()) PROPERTY("itemsize", "int", static_cast<int64_t>(T(0).element_size()))
    PROPERTY("nbytes", "int", static_cast<int64_t>(T(0).element_size()) * T(0).numel())
    PROPERTY("dtype", "int", code_of(T(0).dtype())) PROPERTY("layout", "Layout", code_of(T(0).impl()->layout))
    PROPERTY("device", "Device", T(0).device()) PROPERTY("name", "str?", )
#undef PROPERTY
    define(0, "prim::grad(Tensor a) -> Tensor(*)", GIVE(T(0).grad()));
    // clang-format on
    define(0, "prim::data(Tensor(a) a) -> Tensor(a)", GIVE(detached(T(0), true)));
#define ABOUT(NAME, TYPE, EXPRESSION) define(0, "aten::" NAME "(Tensor self) -> " TYPE, GIVE(EXPRESSION));
    // clang-format off
    ABOUT("dim", "int", T(0).dim()) ABOUT("numel", "int", T(0).numel()) ABOUT("storage_offset", "int", T(0).storage_offset())
    ABOUT("element_size", "int", static_cast<int64_t>(T(0).element_size()))
    ABOUT("get_device", "int", static_cast<int64_t>(T(0).device().type == DeviceType::CPU ? -1 : T(0).device().index))
    ABOUT("is_complex", "bool", T(0).is_complex())
    ABOUT("is_floating_point", "bool", T(0).is_floating_point())
    ABOUT("is_signed", "bool", !is_unsigned(T(0).dtype()) && T(0).dtype() != DType::Bool) ABOUT("is_conj", "bool", T(0).is_conj())
    ABOUT("is_neg", "bool", T(0).is_neg()) ABOUT("is_leaf", "bool", T(0).is_leaf()) ABOUT("retains_grad", "bool", T(0).retains_grad())
    ABOUT("is_inference", "bool", static_cast<bool>(T(0).impl()->inference))
    ABOUT("is_distributed", "bool", false) ABOUT("is_nonzero", "bool", truth_of(T(0))) ABOUT("item", "Scalar", number_of(item_of(T(0))))
    ABOUT("_tensor_to_list", "int[]", ints({T(0).to(DType::Int64).contiguous().data_ptr<int64_t>(), static_cast<size_t>(T(0).numel())}))
    ABOUT("is_non_overlapping_and_dense", "bool", static_cast<bool>(T(0).impl()->non_overlapping_dense))
    ABOUT("output_nr", "int", static_cast<int64_t>(T(0).impl()->autograd ? T(0).impl()->autograd->output : 0))
        // clang-format on
        define(0, "aten::size.int(Tensor self, int dim) -> int", GIVE(T(0).size(I(1))));
    define(0, "aten::stride.int(Tensor self, int dim) -> int", GIVE(T(0).stride(I(1))));
    define(0, "aten::sym_size.int(Tensor self, int dim) -> SymInt", GIVE(T(0).size(I(1))));
    define(0, "aten::sym_stride.int(Tensor self, int dim) -> SymInt", GIVE(T(0).stride(I(1))));
    // clang-format off
    ABOUT("sym_size", "SymInt[]", ints(T(0).sizes())) ABOUT("sym_stride", "SymInt[]", ints(T(0).strides()))
    ABOUT("sym_numel", "SymInt", T(0).numel()) ABOUT("sym_storage_offset", "SymInt", T(0).storage_offset())
    ABOUT("size", "int[]", ints(T(0).sizes())) ABOUT("stride", "int[]", ints(T(0).strides()))
    ABOUT("is_contiguous", "bool", T(0).is_contiguous())
    // clang-format on
#undef ABOUT
                define(0, "aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
                       GIVE(T(0).is_contiguous(memory_format_of_code(I(1)))));
    define(0, "aten::is_set_to(Tensor self, Tensor tensor) -> bool",
           GIVE(T(0).storage() == T(1).storage() && T(0).storage_offset() == T(1).storage_offset() && T(0).sizes() == T(1).sizes() &&
                T(0).strides() == T(1).strides()));
    define('w', "aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)", DO { set_requires_grad(T(0), B(1)); });
    define('w', "aten::retain_grad(Tensor(a!) self) -> ()", DO { T(0).retain_grad(); });
    define('w', "aten::detach_(Tensor(a!) self) -> Tensor(a!)", DO { detach_in_place(T(0)); });
    define(0, "aten::data(Tensor self) -> Tensor", GIVE(detached(T(0), true)));
    define('w', "aten::set_data(Tensor(a!) self, Tensor new_data) -> ()", DO { set_data(T(0), T(1)); });
    define(0, "aten::pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)", DO{});
    define(0, "aten::is_pinned(Tensor self, Device? device=None) -> bool", GIVE(false));
}

void conversions(Builtins& define) {
    define(0, "aten::Bool.Tensor(Tensor a) -> bool", GIVE(truth_of(T(0))));
    define(0, "aten::Int.Tensor(Tensor a) -> int", GIVE(item_of(T(0)).to_int()));
    define(0, "aten::Float.Tensor(Tensor a) -> float", GIVE(item_of(T(0)).to_double()));
    define(0, "aten::IntImplicit(Tensor a) -> int", GIVE(implicit(T(0), "int", !T(0).is_floating_point() && !T(0).is_complex()).to_int()));
    define(0, "aten::FloatImplicit(Tensor a) -> float", GIVE(implicit(T(0), "float", T(0).is_floating_point()).to_double()));
    define(0, "aten::ComplexImplicit(Tensor a) -> complex", GIVE(implicit(T(0), "complex", T(0).is_complex()).to_complex()));
    define(0, "aten::ScalarImplicit(Tensor a) -> Scalar", GIVE(number_of(implicit(T(0), "Scalar", true))));
    const Builtin complex = DO {
        const auto part = [&](size_t i) { return a[i].is(Tag::Tensor) ? item_of(T(i)).to_complex() : C(i); };
        const std::complex<double> second = count == 1 ? 0 : part(1), first = part(0);
        a[0] = Item(count == 1 ? first
                               : std::complex<double>(first.real() - second.imag(),
                                                      first.imag() == 0 ? second.real() : first.imag() + second.real()));
    };
    define('p', "aten::Complex.Scalar(Scalar a) -> complex", complex);
    define(0, "aten::Complex.Tensor_Tensor(Tensor a, Tensor b) -> complex", complex);
    if (define.name() == "aten::Complex") {
        for (const char* both : {"int bool", "bool int", "float bool", "bool float", "float int", "int float", "int int", "bool bool",
                                 "float float", "Tensor float", "float Tensor", "Tensor int", "int Tensor", "Tensor bool", "bool Tensor"}) {
            const std::string pair = both, x = pair.substr(0, pair.find(' ')), y = pair.substr(pair.find(' ') + 1);
            define(pair.find("Tensor") == std::string::npos ? 'p' : 0,
                   ("aten::Complex." + x + "_" + y + "(" + x + " x, " + y + " y) -> complex").c_str(), complex);
        }
    }
    define(0, "prim::NumToTensor.Scalar(Scalar a) -> Tensor",
           GIVE(wrap_number(a[0].is(Tag::Complex) ? Scalar(C(0))
                            : a[0].is(Tag::Float) ? Scalar(F(0))
                                                  : Scalar(I(0)))));
    define(0, "prim::NumToTensor.bool(bool a) -> Tensor", GIVE(wrap_number(Scalar(B(0)))));
    constexpr char numbers[] = "bool float int complex";
    define.each(numbers, 0, "aten::as_tensor.$($ t, *, ScalarType? dtype=None, Device? device=None) -> Tensor", make);
    define(0, "aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(b|a)",
           GIVE(moved(T(0), a[2], a[1], false, false)));
    define(0, "aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor", make);
    define.each(numbers, 0, "aten::tensor.$($ t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
                make);
    define(0, "aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor", make);
    define(0, "aten::_list_to_tensor(int[] self) -> Tensor", GIVE(from_data(a[0], Item(code_of(DType::Int32)), Item())));
    define(0,
           "aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
           GIVE(moved(T(0), a[1], a[2], B(3), B(4))));
    define(0, "aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
           GIVE(moved(T(0), Item(), a[1], B(2), B(3))));
    define(0, "aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)",
           GIVE(moved(T(0), Item(), Item(), B(1), B(2))));
    define(0, "aten::cpu(Tensor(a) self) -> Tensor(b|a)", GIVE(moved(T(0), Item(Device{}), Item(), false, false)));
    define(0, "aten::cuda(Tensor(a) self) -> Tensor(b|a)", GIVE(moved(T(0), Item(Device{DeviceType::CUDA, 0}), Item(), false, false)));
    define('w', "aten::copy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", GIVE(T(0).copy_(T(1))));
    define.each("int float", 'w', "aten::copy_.$(Tensor(a!) self, $ other) -> Tensor(a!)",
                GIVE(T(0).fill_(a[1].is(Tag::Int) ? Scalar(I(1)) : Scalar(F(1)))));
}

void surroundings(Builtins& define) {
    define('p', "aten::device(str a) -> Device", GIVE(device_of(S(0), Item())));
    define('p', "aten::device.with_index(str type, int index) -> Device", GIVE(device_of(S(0), a[1])));
    define('p', "prim::type(Device self) -> str", GIVE(name(a[0].device().type)));
    define(
        'p', "prim::index(Device self) -> int?", DO {
            const Device device = a[0].device();
            a[0] = device.index < 0 ? Item() : Item(int64_t{device.index});
        });
    define(0, "prim::id(AnyClassType? x) -> int", NUMBER(a[0].is_none() ? 0 : reinterpret_cast<intptr_t>(a[0].object())));
    define(0, "aten::hash.generic(t value) -> int", NUMBER(hash_of(a[0])));
    define(
        'e', "aten::warn(str message, int stacklevel=2) -> ()", DO {
            if (warn) warn(S(0).c_str());
        });
    define('e', "prim::TimePoint() -> int", NUMBER(std::chrono::steady_clock::now().time_since_epoch().count()));
    define(
        'w', "aten::manual_seed.generator(Generator(a!) self, int seed) -> Generator(a!)",
        DO { generator_of(a[0]).manual_seed(static_cast<uint64_t>(I(1))); });
    define('e', "aten::manual_seed(int seed) -> ()", DO { default_generator().manual_seed(static_cast<uint64_t>(I(0))); });
    define('e', "aten::is_grad_enabled() -> bool", GIVE(thread_state.grad_mode));
    define('e', "aten::set_grad_enabled(bool val) -> ()", DO { thread_state.grad_mode = B(0); });
    define('e', "aten::is_autocast_enabled() -> bool", GIVE(false));
    define('e', "aten::is_autocast_cpu_enabled() -> bool", GIVE(autocast_on()));
    define(
        'e', "aten::get_autocast_dtype(str device_type) -> ScalarType",
        GIVE(code_of(device_of(S(0), Item()).type == DeviceType::CPU ? static_cast<DType>(thread_state.autocast_dtype) : DType::Float16)));
    define('e', "aten::_get_tracing_state() -> bool", GIVE(false));
    define('p', "aten::is_scripting() -> bool", GIVE(true));
    define('p', "aten::has_torch_function(...) -> bool", GIVE(false));
    define(0, "aten::_get_cpu_capability() -> str", GIVE(cpu_capability()));
    define('p', "aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
           GIVE(code_of(promote_or_fail(dtype_of_code(I(0)), dtype_of_code(I(1))))));
    define(
        'p', "aten::can_cast(ScalarType from_, ScalarType to) -> bool", DO {
            const DType from = dtype_of_code(I(0)), to = dtype_of_code(I(1));
            a[0] = Item(!(is_complex(from) && !is_complex(to)) && !(is_floating(from) && category(to) < 2) &&
                        (from == DType::Bool || to != DType::Bool));
        });
    define(
        'w', "aten::backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, bool create_graph=False) -> ()",
        DO { T(0).backward(T(1), a[2].is_none() ? B(3) : B(2), B(3)); });
    define(
        'w',
        "aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, bool? retain_graph=None, bool create_graph=False) -> ()",
        DO {
            const std::vector<Tensor> ends = tensors_of(a[0]), gradients = gradients_of(a[1], ends.size());
            differentiate_tensors(ends.data(), ends.size(), gradients.data(), gradients.size(), a[2].is_none() ? B(3) : B(2), B(3), nullptr,
                                  0, true, true);
        });
    define(
        'w',
        "aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, bool? retain_graph=None, bool create_graph=False, "
        "bool allow_unused=False) -> Tensor?[]",
        DO {
            const std::vector<Tensor> ends = tensors_of(a[0]), from = tensors_of(a[1]), gradients = gradients_of(a[2], ends.size());
            std::vector<Item> items;
            for (const Tensor& each : differentiate_tensors(ends.data(), ends.size(), gradients.data(), gradients.size(),
                                                            a[3].is_none() ? B(4) : B(3), B(4), from.data(), from.size(), false, B(5)))
                items.emplace_back(each);
            a[0] = Item::list(list_of(optional_of(type_of(TypeKind::Tensor))), std::move(items));
        });
}

} // namespace

bool truth_of(const Tensor& tensor) {
    KINDLING_CHECK(Runtime, tensor.numel() > 0, "Boolean value of Tensor with no values is ambiguous");
    KINDLING_CHECK(Runtime, tensor.numel() < 2, "Boolean value of Tensor with more than one value is ambiguous");
    return tensor.item_scalar().to_bool();
}
std::string shown(const Item& item) {
    const auto join = [](const std::vector<Item>& items) {
        std::string out;
        for (const Item& each : items) out += (&each == items.data() ? "" : ", ") + shown(each);
        return out;
    };
    switch (item.tag()) {
    case Tag::Str: return item.text();
    case Tag::Tensor: return tensor_text(item.tensor());
    case Tag::Device: {
        const Device device = item.device();
        return std::string(name(device.type)) + (device.index < 0 ? "" : ":" + std::to_string(device.index));
    }
    case Tag::List: return "[" + join(item.items()) + "]";
    case Tag::Tuple: return "(" + join(item.items()) + (item.items().size() == 1 ? ",)" : ")");
    case Tag::Dict: {
        std::string out;
        for (const auto& [key, value] : item.dict()) out += (out.empty() ? "" : ", ") + shown(key) + ": " + shown(value);
        return "{" + out + "}";
    }
    case Tag::Float: return str(Item(item.number() + 0.0)); // no sign of zero
    case Tag::Complex: return str(Item(std::complex<double>(item.complex().real() + 0.0, item.complex().imag() + 0.0)));
    default: return str(item);
    }
}

void tensor_builtins(Builtins& define) {
    properties(define);
    conversions(define);
    surroundings(define);
    define(0, "aten::_infer_size(int[] a, int[] b) -> int[]", GIVE(broadcast(ints_of(a[0]), ints_of(a[1]))));
    define(0, "aten::broadcast_shapes(int[] a, int[] b) -> int[]", GIVE(broadcast(ints_of(a[1]), ints_of(a[0]))));
    define(0, "aten::Size(int[] sizes) -> int[]", DO{});
    define(
        0, "aten::_size_if_not_equal(int[] self_size, int[] other_size) -> int[]?", DO {
            if (alike(a[0], a[1])) a[0] = Item();
        });
    define(
        0, "aten::_unwrap_optional(t(a)? optional) -> t(a)", DO { KINDLING_CHECK(Runtime, !a[0].is_none(), "Unwrapping null optional"); });
    define(0, "prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)", DO{});
    define(0, "prim::unchecked_cast(t x) -> t", DO{});
    define(0, "prim::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(b|a)", GIVE(Item(B(0) ? a[1] : a[2])));
    define('e', "prim::RaiseException(str msg, str? cls=None) -> ()", nullptr);
    define(0, "aten::wait(Future(t) self) -> t", nullptr);
    define(
        'e', "aten::Generator(*, Device? device=None, int? seed=None) -> Generator", DO {
            KINDLING_CHECK(Runtime, make_generator, "a generator cannot be made here");
            const Item seed = a[1];
            a[0] = make_generator();
            if (!seed.is_none()) generator_of(a[0]).manual_seed(static_cast<uint64_t>(seed.integer()));
        });
    define('w', "aten::seed(Generator(a!) self) -> int", NUMBER(generator_of(a[0]).seed()));
    define(0, "aten::initial_seed(Generator self) -> int", NUMBER(generator_of(a[0]).initial_seed()));
    define(
        'w', "aten::_no_grad_zero_(Tensor(a!) tensor) -> Tensor(a!)", DO {
            GradMode off(false);
            a[0] = Item(T(0).zero_());
        });
    define(
        'w', "aten::_no_grad_uniform_(Tensor(a!) tensor, float a, float b, Generator? generator=None) -> Tensor(a!)", DO {
            GradMode off(false);
            a[0] = Item(T(0).uniform_(F(1), F(2)));
        });
    define(
        'w', "aten::_no_grad_normal_(Tensor(a!) tensor, float mean, float std, Generator? generator=None) -> Tensor(a!)", DO {
            GradMode off(false);
            a[0] = Item(T(0).normal_(F(1), F(2)));
        });
    define(
        'w', "aten::_no_grad_fill_(Tensor(a!) tensor, float val) -> Tensor(a!)", DO {
            GradMode off(false);
            a[0] = Item(T(0).fill_(Scalar(F(1))));
        });
    define.forward("aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor", "index", "Tensor");
    define.forward("aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
                   "index_put", "");
    define.forward("aten::index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
                   "index_put_", "");
    define.forward("aten::mH.a(Tensor(a) self) -> Tensor(a)", "mH", "");
    define.forward("aten::mT.a(Tensor(a) self) -> Tensor(a)", "mT", "");
    define.forward("aten::matrix_H.a(Tensor(a) self) -> Tensor(a)", "matrix_H", "");
    define.forward("aten::numpy_T.a(Tensor(a) self) -> Tensor(a)", "numpy_T", "");
}

} // namespace kindling::script
