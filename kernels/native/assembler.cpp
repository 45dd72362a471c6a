// kernels/native/assembler.cpp: VEX, EVEX and general-register encodings, and their listing.
#include "kernels/native/assembler.h"

#include "core/error.h"

namespace kindling::native {

namespace {

constexpr FormFacts all_facts[] = {
#define X(NAME, TEXT, PREFIX, MAP, OPCODE, DIGIT, ELEMENT, FLAGS) {TEXT, PREFIX, MAP, OPCODE, DIGIT, ELEMENT, FLAGS},
    KINDLING_FOR_EACH_VECTOR_FORM(X)
#undef X
};

constexpr char general_names[16][4] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                       "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

std::string hex(int64_t value) {
    return value < 0 ? format("-0x%llx", static_cast<unsigned long long>(-value))
                     : format("0x%llx", static_cast<unsigned long long>(value));
}

std::string address(const Place& place) {
    if (place.constant) return "[rip+constants]";
    std::string text = std::string("[") + general_names[place.base];
    if (place.index >= 0) text += format("+%s*%d", general_names[place.index], place.scale);
    // rbp and r13 need an offset, even if it is 0
    if (place.offset || (place.base & 7) == Rbp) text += (place.offset < 0 ? "" : "+") + hex(place.offset);
    return text + "]";
}

const char* memory_name(int bytes) {
    switch (bytes) {
    case 1: return "BYTE";
    case 2: return "WORD";
    case 4: return "DWORD";
    case 8: return "QWORD";
    case 16: return "XMMWORD";
    case 32: return "YMMWORD";
    default: return "ZMMWORD";
    }
}

} // namespace

const FormFacts& facts(Form form) { return all_facts[static_cast<int>(form)]; }

std::string general_name(int reg, int bytes) {
    const std::string name = general_names[reg];
    if (bytes == 8) return name;
    if (reg >= 8) return name + (bytes == 4 ? "d" : bytes == 2 ? "w" : "b");
    if (bytes == 4) return "e" + name.substr(1);
    if (bytes == 2) return name.substr(1);
    return reg < 4 ? name.substr(1, 1) + "l" : name.substr(1) + "l";
}
std::string register_name(int reg, int bytes) { return format("%cmm%d", bytes == 64 ? 'z' : bytes == 32 ? 'y' : 'x', reg); }

void Assembler::word32(uint32_t value) {
    for (int i = 0; i < 4; i++) byte(value >> (8 * i) & 0xFF);
}

void Assembler::line(int from, const std::string& text) {
    *listing += format("%6x: ", static_cast<unsigned>(from));
    for (int i = from; i < here(); i++) *listing += format("%02x", code[static_cast<size_t>(i)]);
    *listing += "  " + text + "\n";
}

/// ModRM, SIB and offset. With `compress`, an 8-bit offset counts in units of it.
void Assembler::rm(int reg, const Place& place, int compress) {
    const unsigned field = static_cast<unsigned>(reg & 7) << 3;
    if (place.reg >= 0) {
        byte(0xC0u | field | static_cast<unsigned>(place.reg & 7));
        return;
    }
    if (place.constant) {
        byte(field | 5);
        constants.push_back({here(), here() + 4, place.offset});
        word32(0);
        return;
    }
    const unsigned base = place.base & 7u;
    int mode = 2;
    if (place.offset == 0 && base != 5) mode = 0;
    else if (place.offset % compress == 0 && place.offset / compress >= -128 && place.offset / compress <= 127) mode = 1;
    if (place.index >= 0 || base == 4) {
        const unsigned index = place.index >= 0 ? static_cast<unsigned>(place.index) & 7 : 4;
        const unsigned scale = place.scale == 8 ? 3 : place.scale == 4 ? 2 : place.scale == 2 ? 1 : 0;
        byte(static_cast<unsigned>(mode) << 6 | field | 4);
        byte(scale << 6 | index << 3 | base);
    } else {
        byte(static_cast<unsigned>(mode) << 6 | field | base);
    }
    if (mode == 1) byte(static_cast<unsigned>(place.offset / compress) & 0xFF);
    if (mode == 2) word32(static_cast<uint32_t>(place.offset));
}

void Assembler::emit(Form form, int bytes, int reg, int source, const Place& place, int immediate, int mask, bool zero) {
    const FormFacts& row = facts(form);
    const int from = here();
    const bool evex = (row.flags & E) && (evex_ || !(row.flags & V));
    const unsigned prefix = row.prefix == 0x66 ? 1 : row.prefix == 0xF3 ? 2 : row.prefix == 0xF2 ? 3 : 0;
    const bool shift = row.digit >= 0;
    const int in_field = shift ? row.digit : reg, in_vvvv = shift ? reg : row.flags & Three ? source : 0;
    const bool memory = place.reg < 0;
    const int fraction = row.flags & Half ? 1 : row.flags & Quarter ? 2 : 0;
    const unsigned b = static_cast<unsigned>(!memory ? place.reg : place.constant ? 0 : place.base);
    const unsigned x = memory ? (place.index >= 0 ? static_cast<unsigned>(place.index) : 0) : b >> 1; // EVEX: bit 4
    const unsigned r = static_cast<unsigned>(in_field), v = static_cast<unsigned>(in_vvvv);
    int compress = 1;
    if (evex) {
        compress = place.repeated || row.flags & Scalar ? row.element : row.flags & Extract ? 16 : bytes >> fraction;
        const unsigned length = row.flags & Scalar && row.element && row.opcode != 0x18 && row.opcode != 0x19 ? 0
                                : bytes == 64                                                                 ? 2
                                : bytes == 32                                                                 ? 1
                                                                                                              : 0;
        byte(0x62);
        byte((~r & 8) << 4 | (~x & 8) << 3 | (~b & 8) << 2 | (~r & 16) | row.map);
        byte((row.flags & W ? 0x80u : 0) | (~v & 15) << 3 | 4 | prefix);
        byte((zero ? 0x80u : 0) | length << 5 | (place.repeated ? 16u : 0) | (~v & 16) >> 1 | static_cast<unsigned>(mask));
    } else {
        const bool wide = row.flags & VexW;
        const unsigned length = row.flags & Masks                                                ? (row.flags & L1 ? 4 : 0)
                                : row.flags & Scalar && row.opcode != 0x18 && row.opcode != 0x19 ? 0
                                : bytes == 32                                                    ? 4
                                                                                                 : 0;
        const unsigned index = memory ? x : 0;
        if (row.map == 1 && !wide && b < 8 && index < 8) {
            byte(0xC5);
            byte((~r & 8) << 4 | (~v & 15) << 3 | length | prefix);
        } else {
            byte(0xC4);
            byte((~r & 8) << 4 | (~index & 8) << 3 | (~b & 8) << 2 | row.map);
            byte((wide ? 0x80u : 0) | (~v & 15) << 3 | length | prefix);
        }
    }
    byte(row.opcode);
    rm(in_field, place, compress);
    if (row.flags & Imm) byte(static_cast<unsigned>(immediate) & 0xFF);
    if (row.flags & Is4) byte(static_cast<unsigned>(immediate) << 4);
    if (place.constant) constants.back().after = here();
    if (!listing) return;
    const bool wide = row.flags & VexW;

    const int half = row.flags & RegHalf ? bytes / 2 : bytes;
    auto vector = [&](int which, int length) { return register_name(which, length < 16 ? 16 : length); };
    auto mask_name = [](int which) { return format("k%d", which); };
    std::string first =
        row.flags & Masks ? (row.flags & ToGeneral ? format("r%d", reg) : mask_name(reg))
        : evex && row.flags & ToMask
            ? mask_name(reg)
            : vector(reg, row.flags & Scalar && row.element && fraction == 0 && row.opcode != 0x18 && row.opcode != 0x19 ? 16 : half);
    if (row.flags & ToGeneral) { first = general_name(reg, wide ? 8 : 4); }
    std::string last;
    const int rm_bytes = row.flags & Scalar ? row.element : row.flags & Extract ? 16 : bytes >> fraction;
    if (memory) {
        last = place.repeated ? std::string(memory_name(row.element)) + " BCST " : std::string(memory_name(rm_bytes)) + " PTR ";
        last += address(place);
        if (place.repeated && row.flags & RegHalf && bytes < 64) last += format("{1to%d}", bytes / 8); // else its length is unknown
    } else if (row.flags & FromGeneral) {
        last = general_name(place.reg, wide ? 8 : 4);
    } else {
        last = row.flags & (Masks | FromMask) ? mask_name(place.reg) : vector(place.reg, rm_bytes);
    }
    std::string text = row.text;
    std::string masked = mask ? format("{k%d}", mask) + (zero ? "{z}" : "") : "";
    text += " ";
    const bool stores = row.flags & Store;
    text += (stores ? last : first) + masked;
    if (row.flags & Three) text += "," + (row.flags & Masks ? mask_name(source) : vector(source, bytes));
    text += "," + (stores ? first : last);
    if (row.flags & Is4) text += "," + vector(immediate, bytes);
    if (row.flags & Imm) text += "," + hex(immediate & 0xFF);
    line(from, text);
}

void Assembler::general(int opcode, int reg, const Place& place, bool wide) {
    const unsigned b = static_cast<unsigned>(place.reg >= 0 ? place.reg : place.base);
    const unsigned x = place.index >= 0 ? static_cast<unsigned>(place.index) : 0;
    unsigned rex = 0x40 | (wide ? 8u : 0) | (static_cast<unsigned>(reg) & 8) >> 1 | (x & 8) >> 2 | (b & 8) >> 3;
    if (rex != 0x40) byte(rex);
    byte(static_cast<unsigned>(opcode));
    rm(reg, place, 1);
}

void Assembler::push(General reg) {
    const int from = here();
    if (reg >= 8) byte(0x41);
    byte(0x50u | (reg & 7u));
    if (listing) line(from, std::string("push ") + general_names[reg]);
}
void Assembler::pop(General reg) {
    const int from = here();
    if (reg >= 8) byte(0x41);
    byte(0x58u | (reg & 7u));
    if (listing) line(from, std::string("pop ") + general_names[reg]);
}
void Assembler::load(General to, const Place& place) {
    const int from = here();
    general(0x8B, to, place);
    if (listing) line(from, format("mov %s,QWORD PTR %s", general_names[to], address(place).c_str()));
}
void Assembler::store(const Place& to, General reg) {
    const int from = here();
    general(0x89, reg, to);
    if (listing) line(from, format("mov QWORD PTR %s,%s", address(to).c_str(), general_names[reg]));
}
void Assembler::move(General to, General reg) {
    const int from = here();
    general(0x89, reg, Place::of(to));
    if (listing) line(from, format("mov %s,%s", general_names[to], general_names[reg]));
}
void Assembler::move_immediate(General to, uint64_t value) {
    const int from = here();
    const bool small = value <= 0x7FFFFFFF;
    byte(0x48u | (to >= 8 ? 1u : 0));
    if (small) {
        byte(0xC7);
        byte(0xC0u | (to & 7u));
        word32(static_cast<uint32_t>(value));
    } else {
        byte(0xB8u | (to & 7u));
        word32(static_cast<uint32_t>(value));
        word32(static_cast<uint32_t>(value >> 32));
    }
    if (listing) line(from, format("%s %s,0x%llx", small ? "mov" : "movabs", general_names[to], static_cast<unsigned long long>(value)));
}
int Assembler::load_address(General to) {
    const int from = here();
    byte(0x48u | (to >= 8 ? 4u : 0));
    byte(0x8D);
    byte((to & 7u) << 3 | 5);
    word32(0);
    if (listing) line(from, format("lea %s,[rip+constants]", general_names[to]));
    return here() - 4;
}
void Assembler::add(General to, int32_t value) {
    const int from = here();
    general(0x81, 0, Place::of(to));
    word32(static_cast<uint32_t>(value));
    if (listing) line(from, format("add %s,%s", general_names[to], hex(value).c_str()));
}
void Assembler::subtract(General to, int32_t value) {
    const int from = here();
    general(0x81, 5, Place::of(to));
    word32(static_cast<uint32_t>(value));
    if (listing) line(from, format("sub %s,%s", general_names[to], hex(value).c_str()));
}
void Assembler::compare(General a, General b) {
    const int from = here();
    general(0x39, b, Place::of(a));
    if (listing) line(from, format("cmp %s,%s", general_names[a], general_names[b]));
}
void Assembler::compare(General a, int32_t value) {
    const int from = here();
    general(0x81, 7, Place::of(a));
    word32(static_cast<uint32_t>(value));
    if (listing) line(from, format("cmp %s,%s", general_names[a], hex(value).c_str()));
}
void Assembler::zero(General reg) {
    const int from = here();
    general(0x31, reg, Place::of(reg), false);
    const std::string name = general_name(reg, 4);
    if (listing) line(from, format("xor %s,%s", name.c_str(), name.c_str()));
}
void Assembler::test_low_byte_of_rax() {
    const int from = here();
    byte(0x84), byte(0xC0);
    if (listing) line(from, "test al,al");
}

namespace {
const char* condition_name(Condition condition) {
    static constexpr char names[16][3] = {"o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"};
    return names[static_cast<int>(condition)];
}
} // namespace

int Assembler::jump(Condition condition) {
    const int from = here();
    byte(0x0F);
    byte(0x80u | static_cast<unsigned>(condition));
    word32(0);
    if (listing) line(from, std::string("j") + condition_name(condition) + " forward");
    return here() - 4;
}
int Assembler::jump() {
    const int from = here();
    byte(0xE9);
    word32(0);
    if (listing) line(from, "jmp forward");
    return here() - 4;
}
void Assembler::jump_back(Condition condition, int target) {
    const int from = here();
    byte(0x0F);
    byte(0x80u | static_cast<unsigned>(condition));
    word32(static_cast<uint32_t>(target - (here() + 4)));
    if (listing) line(from, format("j%s 0x%x", condition_name(condition), static_cast<unsigned>(target)));
}
void Assembler::jump_back(int target) {
    const int from = here();
    byte(0xE9);
    word32(static_cast<uint32_t>(target - (here() + 4)));
    if (listing) line(from, format("jmp 0x%x", static_cast<unsigned>(target)));
}
int Assembler::call() {
    const int from = here();
    byte(0xE8);
    word32(0);
    if (listing) line(from, "call forward");
    return here() - 4;
}
void Assembler::call(General reg) {
    const int from = here();
    if (reg >= 8) byte(0x41);
    byte(0xFF);
    byte(0xD0u | (reg & 7u));
    if (listing) line(from, std::string("call ") + general_names[reg]);
}
void Assembler::ret() {
    const int from = here();
    byte(0xC3);
    if (listing) line(from, "ret");
}
void Assembler::vzeroupper() {
    const int from = here();
    byte(0xC5), byte(0xF8), byte(0x77);
    if (listing) line(from, "vzeroupper");
}

void Assembler::align(int bytes) {
    while (int left = (bytes - here() % bytes) % bytes) {
        const int from = here(), length = left > 8 ? 8 : left;
        // nop of 1 to 8 bytes: with a prefix, an operand and an offset of 1 or 4 bytes.
        static constexpr uint8_t forms[8][8] = {{0x90},
                                                {0x66, 0x90},
                                                {0x0F, 0x1F, 0x00},
                                                {0x0F, 0x1F, 0x40, 0x00},
                                                {0x0F, 0x1F, 0x44, 0x00, 0x00},
                                                {0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00},
                                                {0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00},
                                                {0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}};
        for (int i = 0; i < length; i++) byte(forms[length - 1][i]);
        if (listing) line(from, "nop");
    }
}

void Assembler::fetch(const Place& place, bool to_write) {
    const int from = here();
    const unsigned rex = 0x40 | (place.index >= 8 ? 2u : 0) | (place.base >= 8 ? 1u : 0);
    if (rex != 0x40) byte(rex);
    byte(0x0F), byte(to_write ? 0x0D : 0x18);
    rm(1, place, 1);
    if (listing) line(from, std::string(to_write ? "prefetchw BYTE PTR " : "prefetcht0 BYTE PTR ") + address(place));
}

/// An opcode of one byte, or two from 0x0F00 on; registers and memory of 1, 2, 4 or 8 bytes.
void Assembler::instruction(int opcode, int reg, const Place& place, int bytes, int immediate_bytes, int64_t immediate) {
    const unsigned b = static_cast<unsigned>(place.reg >= 0 ? place.reg : place.constant ? 0 : place.base);
    const unsigned x = place.reg < 0 && place.index >= 0 ? static_cast<unsigned>(place.index) : 0;
    const unsigned rex = 0x40 | (bytes == 8 ? 8u : 0) | (static_cast<unsigned>(reg) & 8) >> 1 | (x & 8) >> 2 | (b & 8) >> 3;
    if (bytes == 2) byte(0x66);
    // A byte of rsp to rdi needs the prefix, or it is one of rax to rbx.
    if (rex != 0x40 || (bytes == 1 && ((opcode == 0x88 && reg >= 4) || place.reg >= 4))) byte(rex);
    if (opcode >= 0x0F00) byte(0x0F);
    byte(static_cast<unsigned>(opcode) & 0xFF);
    rm(reg, place, 1);
    for (int i = 0; i < immediate_bytes; i++) byte(static_cast<unsigned>(immediate >> (8 * i)) & 0xFF);
    if (place.reg < 0 && place.constant) constants.back().after = here();
}

namespace {
std::string operand_text(const Place& place, int bytes) {
    return place.reg >= 0 ? general_name(place.reg, bytes) : std::string(memory_name(bytes)) + " PTR " + address(place);
}
const char* arithmetic_name(Arithmetic op) {
    static constexpr char names[8][4] = {"add", "or", "", "", "and", "sub", "xor", "cmp"};
    return names[static_cast<int>(op)];
}
std::string immediate_text(int64_t value) { return format("0x%llx", static_cast<unsigned long long>(value)); }
bool short_form(int32_t value) { return value >= -128 && value <= 127; }
} // namespace

void Assembler::operate(Arithmetic op, General to, const Place& place) {
    const int from = here();
    instruction(static_cast<int>(op) * 8 + 3, to, place, 8);
    if (listing) line(from, format("%s %s,%s", arithmetic_name(op), general_names[to], operand_text(place, 8).c_str()));
}
void Assembler::operate(Arithmetic op, const Place& to, int32_t value, int bytes) {
    const int from = here();
    const bool brief = bytes == 1 || short_form(value);
    instruction(bytes == 1 ? 0x80 : brief ? 0x83 : 0x81, static_cast<int>(op), to, bytes, brief ? 1 : 4, value);
    if (listing) line(from, format("%s %s,%s", arithmetic_name(op), operand_text(to, bytes).c_str(), immediate_text(value).c_str()));
}
void Assembler::operate(Single op, General reg) {
    const int from = here();
    instruction(0xF7, static_cast<int>(op), Place::of(reg), 8);
    if (listing) line(from, format("%s %s", op == Single::Not ? "not" : op == Single::Negate ? "neg" : "idiv", general_names[reg]));
}
void Assembler::multiply(General to, const Place& place) {
    const int from = here();
    instruction(0x0FAF, to, place, 8);
    if (listing) line(from, format("imul %s,%s", general_names[to], operand_text(place, 8).c_str()));
}
void Assembler::multiply(General to, const Place& place, int32_t value) {
    const int from = here();
    const bool brief = short_form(value);
    instruction(brief ? 0x6B : 0x69, to, place, 8, brief ? 1 : 4, value);
    if (listing) line(from, format("imul %s,%s,%s", general_names[to], operand_text(place, 8).c_str(), immediate_text(value).c_str()));
}
void Assembler::sign_of_rax_to_rdx() {
    const int from = here();
    byte(0x48), byte(0x99);
    if (listing) line(from, "cqo");
}
void Assembler::shift(Shift op, General reg, int count) {
    const int from = here();
    instruction(0xC1, static_cast<int>(op), Place::of(reg), 8, 1, count);
    if (listing)
        line(from, format("%s %s,%s",
                          op == Shift::Left    ? "shl"
                          : op == Shift::Right ? "shr"
                                               : "sar",
                          general_names[reg], hex(count).c_str()));
}
void Assembler::shift_by(Shift op, General to, const Place& place, General count) {
    const int from = here();
    const unsigned b = static_cast<unsigned>(place.reg >= 0 ? place.reg : place.base);
    const unsigned x = place.reg < 0 && place.index >= 0 ? static_cast<unsigned>(place.index) : 0;
    byte(0xC4);
    byte((~static_cast<unsigned>(to) & 8) << 4 | (~x & 8) << 3 | (~b & 8) << 2 | 2);
    byte(0x80u | (~static_cast<unsigned>(count) & 15) << 3 | (op == Shift::Left ? 1u : op == Shift::Signed ? 2u : 3u));
    byte(0xF7);
    rm(to, place, 1);
    if (listing)
        line(from, format("%s %s,%s,%s",
                          op == Shift::Left     ? "shlx"
                          : op == Shift::Signed ? "sarx"
                                                : "shrx",
                          general_names[to], operand_text(place, 8).c_str(), general_names[count]));
}
void Assembler::address_of(General to, const Place& place) {
    const int from = here();
    instruction(0x8D, to, place, 8);
    if (listing) line(from, format("lea %s,%s", general_names[to], address(place).c_str()));
}
void Assembler::load_narrow(General to, const Place& place, int bytes, bool is_signed) {
    const int from = here();
    // What is widened with zeros goes to the lower half: that clears the upper one.
    const int opcode = bytes == 4 ? (is_signed ? 0x63 : 0x8B) : 0x0FB6 + (bytes == 2 ? 1 : 0) + (is_signed ? 8 : 0);
    // A byte of rsp to rdi cannot be named without a prefix: what is widened from a register has a wide result then.
    const int width = is_signed || (bytes == 1 && place.reg >= 4 && place.reg < 8) ? 8 : 4;
    instruction(opcode, to, place, width);
    if (listing)
        line(from, format("%s %s,%s",
                          bytes == 4  ? (is_signed ? "movsxd" : "mov")
                          : is_signed ? "movsx"
                                      : "movzx",
                          general_name(to, width).c_str(), operand_text(place, bytes).c_str()));
}
void Assembler::store_narrow(const Place& to, General reg, int bytes) {
    const int from = here();
    instruction(bytes == 1 ? 0x88 : 0x89, reg, to, bytes);
    if (listing) line(from, format("mov %s,%s", operand_text(to, bytes).c_str(), general_name(reg, bytes).c_str()));
}
void Assembler::store_immediate(const Place& to, int32_t value, int bytes) {
    const int from = here();
    instruction(bytes == 1 ? 0xC6 : 0xC7, 0, to, bytes, bytes > 4 ? 4 : bytes, value);
    if (listing)
        line(from, format("mov %s,%s", operand_text(to, bytes).c_str(),
                          immediate_text(bytes == 1   ? value & 0xFF
                                         : bytes == 2 ? value & 0xFFFF
                                         : bytes == 4 ? static_cast<uint32_t>(value)
                                                      : value)
                              .c_str()));
}
void Assembler::test(General a, General b) {
    const int from = here();
    instruction(0x85, b, Place::of(a), 8);
    if (listing) line(from, format("test %s,%s", general_names[a], general_names[b]));
}
void Assembler::count_bits(General to, General from) {
    const int begin = here();
    byte(0xF3);
    instruction(0x0FB8, to, Place::of(from), 8);
    if (listing) line(begin, format("popcnt %s,%s", general_names[to], general_names[from]));
}
void Assembler::set_if(Condition condition, General low_byte) {
    const int from = here();
    instruction(0x0F90 + static_cast<int>(condition), 0, Place::of(low_byte), 1);
    if (listing) line(from, format("set%s %s", condition_name(condition), general_name(low_byte, 1).c_str()));
}
void Assembler::move_if(Condition condition, General to, const Place& place) {
    const int from = here();
    instruction(0x0F40 + static_cast<int>(condition), to, place, 8);
    if (listing) line(from, format("cmov%s %s,%s", condition_name(condition), general_names[to], operand_text(place, 8).c_str()));
}

void Assembler::bind(int place, int target) {
    const uint32_t distance = static_cast<uint32_t>(target - (place + 4));
    for (int i = 0; i < 4; i++) code[static_cast<size_t>(place + i)] = static_cast<uint8_t>(distance >> (8 * i));
}

} // namespace kindling::native
