// The encoder against a disassembler: every form, with low, high and extended registers, all lengths, memory with and
// without an index and a short or long offset, a repeated element, masks. What binutils reads back must be what our
// listing says.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/native/assembler.h"
#include "tests/cpp/check.h"

using namespace kindling::native;

namespace {

/// One space between words, nothing else of blanks, no comment.
std::string tidy(const std::string& text) {
    std::string out;
    for (char c : text) {
        if (c == '#' || c == '\n') break;
        if (c == ' ' || c == '\t') {
            if (!out.empty() && out.back() != ' ') out += ' ';
        } else {
            out += c;
        }
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
}

std::vector<std::string> disassembled(const std::vector<uint8_t>& code) {
    char path[] = "/tmp/kindling-native-XXXXXX";
    int file = mkstemp(path);
    std::vector<std::string> lines;
    if (file < 0) return lines;
    bool written = write(file, code.data(), code.size()) == static_cast<ssize_t>(code.size());
    close(file);
    std::string command = std::string("objdump -D -b binary -mi386:x86-64 -M intel --insn-width=16 ") + path;
    FILE* pipe = written ? popen(command.c_str(), "r") : nullptr;
    if (pipe) {
        char buffer[512];
        while (std::fgets(buffer, sizeof buffer, pipe)) {
            std::string text = buffer;
            size_t tab = text.find('\t'), second = tab == std::string::npos ? tab : text.find('\t', tab + 1);
            if (second == std::string::npos) continue;
            std::string offset = text.substr(0, text.find(':'));
            std::string instruction = tidy(text.substr(second + 1));
            if (instruction.rfind("{evex} ", 0) == 0) instruction = instruction.substr(7); // where VEX would do
            lines.push_back(tidy(offset) + ": " + instruction);
        }
        pclose(pipe);
    }
    unlink(path);
    return lines;
}

std::vector<std::string> listed(const std::string& listing) {
    std::vector<std::string> lines;
    for (size_t at = 0; at < listing.size();) {
        size_t end = listing.find('\n', at);
        std::string text = listing.substr(at, end - at);
        size_t colon = text.find(':'), blank = text.find("  ", colon);
        lines.push_back(tidy(text.substr(0, colon)) + ": " + tidy(text.substr(blank)));
        at = end + 1;
    }
    return lines;
}

void compare(const Assembler& assembler, const std::string& listing) {
    std::vector<std::string> want = disassembled(assembler.code), have = listed(listing);
    if (want.size() != have.size()) std::fprintf(stderr, "%zu lines, %zu wanted\n", have.size(), want.size());
    CHECK(want.size() == have.size() && !have.empty());
    int shown = 0;
    for (size_t i = 0; i < want.size() && i < have.size(); i++)
        if (want[i] != have[i] && shown++ < 20) {
            std::fprintf(stderr, "disassembler: %s\n     listing: %s\n", want[i].c_str(), have[i].c_str());
            CHECK(false && "the disassembler reads the same");
        }
}

void test_forms(bool evex) {
    Assembler assembler(evex);
    std::string listing;
    assembler.listing = &listing;
    int tried = 0;
    for (int f = 0; f < form_count; f++) {
        Form form = static_cast<Form>(f);
        const FormFacts& row = facts(form);
        if (!(row.flags & (evex ? E | V : V))) continue;
        const bool is_evex = evex && (row.flags & E), masks = row.flags & Masks;
        const int limit = masks || (is_evex && row.flags & ToMask) ? 8 : is_evex ? 32 : 16;
        // An immediate that has no name of its own among the comparisons.
        const int immediate = row.flags & Is4 ? 13 : 0x61;
        for (int bytes : {16, 32, 64}) {
            if (bytes == 64 && !is_evex) continue;
            if ((row.flags & (Masks | Scalar)) && form != Form::BroadcastSs && form != Form::BroadcastSd && bytes != 16) continue;
            if ((form == Form::BroadcastSd || form == Form::PermPs) && bytes == 16) continue;
            if (row.flags & Extract && bytes != 32) continue;
            if (is_evex && (row.flags & Extract)) continue;
            int registers[4] = {1, 7 % limit, 12 % limit, 29 % limit};
            for (int k = 0; k < 4; k++) {
                int reg = registers[k], source = registers[(k + 1) % 4], other = registers[(k + 2) % 4];
                if (row.flags & (FromMask | Masks)) other &= 7;
                if (!masks && row.flags & ToMask && is_evex) source = (source + 20) % 32, other = (other + 11) % 32;
                const bool memory_only = row.flags & Scalar && form != Form::BroadcastSs && form != Form::BroadcastSd &&
                                         (form < Form::AddDouble || form > Form::MovDTo);
                const bool register_only = masks ? !(row.flags & Scalar) : row.flags & FromMask || form == Form::MovMskPd;
                if (!memory_only && form != Form::MovUpsStore && form != Form::MovUpdStore && form != Form::MovNtPs &&
                    form != Form::MaskMovPs && form != Form::MaskMovPsStore) {
                    assembler.emit(form, bytes, reg, source, Place::of(other), immediate);
                    tried++;
                    if (is_evex && !(row.flags & FromMask)) {
                        bool zero = k & 1 && !(row.flags & ToMask);
                        bool may_zero = !(row.flags & Store) || !zero;
                        if (may_zero) assembler.emit(form, bytes, reg, source, Place::of(other), immediate, k + 1, zero);
                    }
                }
                if (register_only) continue;
                if (row.digit >= 0 && !is_evex) continue; // VEX shifts read registers only
                const Place places[] = {Place::at(Rcx, 0),      Place::at(Rbp, 0),      Place::at(Rsp, 8),    Place::at(R12, 64),
                                        Place::at(R13, 0x1238), Place::at(Rbx, -128),   Place::at(Rdi, 2048), Place::at(Rax, Rcx, 4),
                                        Place::at(R8, R14, 8),  Place::at(R13, Rax, 1), Place::at(R9, R12, 2)};
                for (const Place& place : places) {
                    assembler.emit(form, bytes, reg, source, place, immediate);
                    tried++;
                    if (is_evex && row.element && !(row.flags & Scalar)) {
                        Place repeated = place;
                        repeated.repeated = true;
                        assembler.emit(form, bytes, reg, source, repeated, immediate);
                    }
                }
            }
        }
    }
    CHECK(tried > 500);
    compare(assembler, listing);
}

void test_general() {
    Assembler assembler(true);
    std::string listing;
    assembler.listing = &listing;
    for (General reg : {Rax, Rbx, Rbp, Rdi, R8, R12, R13, R15}) {
        assembler.push(reg);
        assembler.pop(reg);
        for (const Place& place : {Place::at(Rcx, 0), Place::at(R13, 8), Place::at(Rsp, 4096), Place::at(Rdx, R9, 8)}) {
            assembler.load(reg, place);
            assembler.store(place, reg);
        }
        assembler.move(reg, R9);
        assembler.move(Rdx, reg);
        assembler.move_immediate(reg, 77);
        assembler.move_immediate(reg, 0x123456789ABCDEF0u);
        assembler.add(reg, 16);
        assembler.subtract(reg, 4096);
        assembler.compare(reg, Rsi);
        assembler.compare(reg, 64);
        assembler.zero(reg);
        assembler.call(reg);
    }
    for (const Place& place : {Place::at(Rcx, 0), Place::at(R13, 8), Place::at(Rdx, R9, 8), Place::at(R8, Rax, 4)})
        for (bool to_write : {false, true}) assembler.fetch(place, to_write);
    assembler.vzeroupper();
    assembler.test_low_byte_of_rax();
    assembler.ret();
    // The accumulator has short forms of its own; ours are the long ones, which read the same.
    compare(assembler, listing);
    Assembler jumps(true);
    std::string text;
    jumps.listing = &text;
    jumps.jump_back(Condition::Below, 0);
    jumps.jump_back(Condition::AboveEqual, 0);
    jumps.jump_back(Condition::Zero, 3);
    jumps.jump_back(Condition::NotZero, 3);
    jumps.jump_back(Condition::BelowEqual, 3);
    jumps.jump_back(Condition::Above, 3);
    jumps.jump_back(Condition::Less, 3);
    jumps.jump_back(Condition::GreaterEqual, 3);
    for (Condition condition :
         {Condition::Sign, Condition::NotSign, Condition::Parity, Condition::NotParity, Condition::LessEqual, Condition::Greater})
        jumps.jump_back(condition, 3);
    jumps.jump_back(9);
    compare(jumps, text);
}

void test_integers() {
    Assembler assembler(false);
    std::string listing;
    assembler.listing = &listing;
    const Place places[] = {Place::at(Rcx, 0),  Place::at(R13, 8), Place::at(Rsp, 4096), Place::at(Rdx, R9, 8),
                            Place::at(R12, -8), Place::of(Rax),    Place::of(Rsi),       Place::of(R11)};
    for (General reg : {Rax, Rbx, Rbp, Rsi, R8, R12, R15}) {
        for (const Place& place : places) {
            for (Arithmetic op :
                 {Arithmetic::Add, Arithmetic::Or, Arithmetic::And, Arithmetic::Sub, Arithmetic::Xor, Arithmetic::Compare}) {
                assembler.operate(op, reg, place);
                for (int32_t value : {5, -128, 128, -70000}) assembler.operate(op, place, value);
                assembler.operate(op, place, 1, 1);
            }
            assembler.multiply(reg, place);
            assembler.multiply(reg, place, 24);
            assembler.multiply(reg, place, 100000);
            for (Shift op : {Shift::Left, Shift::Right, Shift::Signed}) assembler.shift_by(op, reg, place, R14);
            for (int bytes : {1, 2, 4}) {
                for (bool is_signed : {false, true}) assembler.load_narrow(reg, place, bytes, is_signed);
                if (place.reg < 0) assembler.store_narrow(place, reg, bytes), assembler.store_immediate(place, -3, bytes);
            }
            if (place.reg < 0) assembler.address_of(reg, place), assembler.store_immediate(place, 1000, 8);
            for (int c = 2; c < 16; c++) assembler.move_if(static_cast<Condition>(c), reg, place);
        }
        for (Single op : {Single::Not, Single::Negate, Single::Divide}) assembler.operate(op, reg);
        for (Shift op : {Shift::Left, Shift::Right, Shift::Signed}) assembler.shift(op, reg, 17);
        assembler.test(reg, R9);
        assembler.count_bits(reg, R9);
        for (int c = 2; c < 16; c++) assembler.set_if(static_cast<Condition>(c), reg);
    }
    assembler.sign_of_rax_to_rdx();
    compare(assembler, listing);
    // Constants behind the code: what counts is where the instruction ends.
    Assembler relative(false);
    Place constant;
    constant.constant = true;
    relative.emit(Form::AddDouble, 16, 3, 4, constant);
    relative.emit(Form::CmpDouble, 16, 3, 4, constant, 1);
    relative.load(R9, constant);
    relative.operate(Arithmetic::Compare, constant, 1000);
    CHECK(relative.constants.size() == 4);
    for (const Assembler::Distance& distance : relative.constants)
        for (int i = 0; i < 4; i++)
            relative.code[static_cast<size_t>(distance.place + i)] = static_cast<uint8_t>((0x100 - distance.after) >> (8 * i));
    int found = 0;
    for (const std::string& text : disassembled(relative.code)) found += text.find("[rip+") != std::string::npos;
    CHECK(found == 4);
}

void test_distances() {
    Assembler assembler(true);
    int forward = assembler.jump(Condition::Above), always = assembler.jump(), call = assembler.call(),
        address = assembler.load_address(R10);
    assembler.ret();
    for (int place : {forward, always, call, address}) assembler.bind(place);
    std::vector<std::string> lines = disassembled(assembler.code);
    CHECK(lines.size() == 5);
    for (size_t i = 0; i < 3 && i < lines.size(); i++) CHECK(lines[i].find("0x18") != std::string::npos);
    CHECK(lines.size() > 3 && lines[3].find("[rip+0x1]") != std::string::npos);
}

} // namespace

int main() {
    if (std::system("objdump --version > /dev/null 2>&1") != 0) {
        std::fprintf(stderr, "test_native_assembler: not run, because there is no objdump (binutils) to compare with\n");
        return 0;
    }
    test_forms(false);
    test_forms(true);
    test_general();
    test_integers();
    test_distances();
    return finish("test_native_assembler");
}
