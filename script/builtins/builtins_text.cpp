// script/builtins/builtins_text.cpp: text. Bytes, as in TorchScript: letters and digits are those of ASCII. An `end` of -1 is the text's
// end.
#include <algorithm>
#include <cctype>

#include "script/builtins/builtins.h"

namespace kindling::script {
namespace {

using Tag = Item::Tag;
using Words = std::vector<std::string>;

Item list_of_texts(Words words) {
    std::vector<Item> items;
    for (std::string& each : words) items.emplace_back(std::move(each));
    return Item::list(list_of(type_of(TypeKind::Str)), std::move(items));
}
Item three(std::string a, std::string b, std::string c) {
    const TypeRef text = type_of(TypeKind::Str);
    return Item::tuple(tuple_of({text, text, text}), {Item(std::move(a)), Item(std::move(b)), Item(std::move(c))});
}

bool is(int (*kind)(int), char c) { return kind(static_cast<unsigned char>(c)) != 0; }
char upper(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool all(const std::string& text, int (*kind)(int)) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) { return is(kind, c); });
}
template <class F> std::string each(std::string text, F f) {
    for (char& c : text) c = f(c);
    return text;
}
/// Whether there is a letter, and all letters are of one case.
bool cased(const std::string& text, int (*kind)(int)) {
    bool found = false;
    for (char c : text) {
        if (is(std::isalpha, c) && !is(kind, c)) return false;
        found |= is(kind, c);
    }
    return found;
}
std::string title(std::string text) {
    bool inside = false;
    for (char& c : text) {
        if (is(std::isalpha, c)) c = inside ? lower(c) : upper(c);
        inside = is(std::isalpha, c);
    }
    return text;
}
bool is_title(const std::string& text) {
    bool inside = false, found = false;
    for (char c : text) {
        if (is(std::isalpha, c)) {
            if (inside == is(std::isupper, c)) return false;
            found = true;
        }
        inside = is(std::isalpha, c);
    }
    return found;
}
bool is_identifier(const std::string& text) {
    return !text.empty() && !is(std::isdigit, text[0]) &&
           std::all_of(text.begin(), text.end(), [](char c) { return is(std::isalnum, c) || c == '_'; });
}
std::string capitalized(std::string text) {
    text = each(std::move(text), lower);
    if (!text.empty()) text[0] = upper(text[0]);
    return text;
}

/// The range that arguments 2 and 3 say, within the text.
struct Part {
    size_t start, end;
    bool beyond, backwards;
};
Part part_of(const Item* a) {
    const int64_t size = static_cast<int64_t>(S(0).size());
    int64_t start = I(2), end = I(3);
    if (start < 0) start = std::max<int64_t>(0, size + start);
    if (end < 0) end = std::max<int64_t>(0, size + end + 1);
    return {static_cast<size_t>(std::min(start, size)), static_cast<size_t>(std::min(end, size)), start > size, end < start};
}
constexpr size_t nowhere = std::string::npos;
void need_start(const Part& part, const Item* a) {
    KINDLING_CHECK(Runtime, !part.beyond, "basic_string::substr: __pos (which is %lu) > this->size() (which is %zu)",
                   static_cast<unsigned long>(I(2)), S(0).size());
}
size_t find(const Item* a) {
    const Part part = part_of(a);
    if (part.backwards) return nowhere;
    need_start(part, a);
    const size_t at = S(0).find(S(1), part.start);
    return at == nowhere || at + S(1).size() > part.end ? nowhere : at;
}
size_t find_last(const Item* a) {
    const Part part = part_of(a);
    if (part.beyond || part.end < S(1).size()) return nowhere;
    const size_t at = S(0).rfind(S(1), part.end - S(1).size());
    return at == nowhere || at < part.start ? nowhere : at;
}
Item found(size_t at, bool raise) {
    KINDLING_CHECK(Runtime, at != nowhere || !raise, "ValueError: substring not found");
    return Item(at == nowhere ? int64_t{-1} : static_cast<int64_t>(at));
}
int64_t occurrences(const Item* a) {
    const Part part = part_of(a);
    if (part.beyond || part.end < part.start) return 0;
    const std::string& wanted = S(1);
    if (wanted.empty()) return static_cast<int64_t>(part.end - part.start + 1);
    int64_t count = 0;
    for (size_t at = S(0).find(wanted, part.start); at != nowhere && at + wanted.size() <= part.end;
         at = S(0).find(wanted, at + wanted.size()))
        count++;
    return count;
}
bool matches(const Item* a, bool at_end) {
    const Part part = part_of(a);
    need_start(part, a);
    const size_t size = S(1).size(), end = part.backwards ? S(0).size() : part.end; // PyTorch looks at all of the rest then
    return end - part.start >= size && S(0).compare(at_end ? end - size : part.start, size, S(1)) == 0;
}

std::string replaced(const std::string& text, const std::string& old, const std::string& by, int64_t most) {
    std::string out;
    size_t at = 0;
    for (; most != 0; most--) {
        size_t next = text.find(old, at);
        if (next == nowhere) break;
        out.append(text, at, next - at).append(by);
        at = next + old.size();
        if (!old.empty()) continue;
        if (next == text.size()) return out;
        out += text[at++];
    }
    return at > text.size() ? out : out.append(text, at);
}

constexpr char blanks[] = " \t\n\r\v\f";
Words split(const std::string& text, const Item& separator, int64_t most) {
    Words made;
    size_t at = 0;
    if (separator.is_none()) {
        while ((at = text.find_first_not_of(blanks, at)) != nowhere) {
            if (most >= 0 && static_cast<int64_t>(made.size()) == most) {
                made.push_back(text.substr(at));
                break;
            }
            const size_t end = std::min(text.find_first_of(blanks, at), text.size());
            made.push_back(text.substr(at, end - at));
            at = end;
        }
        return made;
    }
    const std::string& by = separator.text();
    KINDLING_CHECK(Runtime, !by.empty(), "ValueError: empty separator");
    for (size_t next; (most < 0 || static_cast<int64_t>(made.size()) < most) && (next = text.find(by, at)) != nowhere;
         at = next + by.size())
        made.push_back(text.substr(at, next - at));
    made.push_back(text.substr(at));
    return made;
}
Words split_from_end(const std::string& text, const std::string& by, int64_t most) {
    KINDLING_CHECK(Runtime, !by.empty(), "ValueError: empty separator");
    Words made;
    size_t end = text.size();
    while (most < 0 || static_cast<int64_t>(made.size()) < most) {
        const size_t at = end < by.size() ? nowhere : text.rfind(by, end - by.size());
        if (at == nowhere) break;
        made.push_back(text.substr(at + by.size(), end - at - by.size()));
        end = at;
    }
    made.push_back(text.substr(0, end));
    std::reverse(made.begin(), made.end());
    return made;
}
Words lines_of(const std::string& text, bool keep) {
    Words made;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find_first_of("\n\r\v\f\x1c\x1d\x1e", at), text.size()), next = end + (end < text.size());
        made.push_back(text.substr(at, (keep ? next : end) - at));
        at = next;
    }
    return made;
}
Item partition(const std::string& text, const std::string& by, bool last) {
    const size_t at = last ? text.rfind(by) : text.find(by);
    if (at == nowhere) return last ? three("", "", text) : three(text, "", "");
    return three(text.substr(0, at), by, text.substr(at + by.size()));
}
std::string stripped(const std::string& text, const std::string& chars, bool left, bool right) {
    const size_t start = left ? text.find_first_not_of(chars) : 0;
    if (start == nowhere) return "";
    const size_t end = right ? text.find_last_not_of(chars) : text.size() - 1;
    return end == nowhere ? "" : text.substr(start, end - start + 1);
}
/// To `width`: -1 the text stands left, 1 right, 0 in the middle.
std::string justified(const Item* a, int side) {
    const std::string &text = S(0), &fill = S(2);
    KINDLING_CHECK(Runtime, fill.size() == 1, "TypeError: The fill character must be exactly one character long");
    const int64_t space = I(1) - static_cast<int64_t>(text.size());
    if (space <= 0) return text;
    const int64_t left = side < 0 ? 0 : side > 0 ? space : space / 2 + (space & I(1) & 1);
    return std::string(static_cast<size_t>(left), fill[0]) + text + std::string(static_cast<size_t>(space - left), fill[0]);
}
std::string zero_filled(const std::string& text, int64_t width) {
    const int64_t space = width - static_cast<int64_t>(text.size());
    if (space <= 0) return text;
    const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+');
    return text.substr(0, sign) + std::string(static_cast<size_t>(space), '0') + text.substr(sign);
}
std::string without_tabs(const std::string& text, int64_t size) {
    std::string out;
    int64_t column = 0;
    for (char c : text) {
        if (c == '\t') {
            const int64_t add = size <= 0 ? 0 : size - column % size;
            out.append(static_cast<size_t>(add), ' ');
            column += add;
        } else {
            out += c;
            column = c == '\n' || c == '\r' ? 0 : column + 1;
        }
    }
    return out;
}

// ---- formats

std::string braces(const Item* a, size_t count) {
    const std::string& form = S(0);
    std::string out;
    size_t at = 0, used = 1;
    for (size_t next; (next = form.find("{}", at)) != nowhere; at = next + 2) {
        KINDLING_CHECK(Runtime, used < count, "Too few arguments for format string: %s", form.c_str());
        out.append(form, at, next - at).append(shown(a[used++]));
    }
    return out.append(form, at);
}
std::string one(char key, const Item& item) {
    const bool number = item.is(Tag::Int) || item.is(Tag::Float) || item.is(Tag::Bool) || item.is(Tag::Complex);
    const auto need = [&] {
        KINDLING_CHECK(Runtime, number, "%%%c requires a number for formatting, but got %s", key,
                       item.is(Tag::Str)    ? "String"
                       : item.is(Tag::List) ? "GenericList"
                                            : repr(item.type()).c_str());
    };
    switch (key) {
    case 'd':
    case 'i': need(); return std::to_string(item.is(Tag::Float) ? static_cast<int64_t>(static_cast<int>(item.number())) : item.integer());
    case 'e': need(); return format("%e", item.number());
    case 'E': need(); return format("%E", item.number());
    case 'f': need(); return format("%f", item.number());
    case 'F': need(); return format("%F", item.number());
    case 'c':
        KINDLING_CHECK(Runtime, item.is(Tag::Int) || (item.is(Tag::Str) && item.text().size() == 1),
                       "%%%c requires an int or char for formatting, but got %s", key, repr(item.type()).c_str());
        return item.is(Tag::Int) ? std::string(1, static_cast<char>(item.integer())) : item.text();
    case 's': return shown(item);
    default: fail(ErrorKind::Runtime, "The specifier %%%c is not supported in TorchScript format strings", key);
    }
}
std::string percents(const Item* a, size_t count) {
    if (count == 2 && a[1].is(Item::Tag::Tuple)) { // its parts are the values
        std::vector<Item> all = {a[0]};
        for (const Item& part : a[1].items()) all.push_back(part);
        if (all.size() != 2 || !all[1].is(Item::Tag::Tuple)) return percents(all.data(), all.size());
    }
    const std::string& form = S(0);
    std::string out;
    size_t at = 0, used = 1;
    for (size_t next; (next = form.find('%', at)) != nowhere; at = next + 2) {
        KINDLING_CHECK(Runtime, next + 1 < form.size(), "Incomplete format specifier");
        out.append(form, at, next - at);
        if (form[next + 1] == '%') {
            out += '%';
            continue;
        }
        KINDLING_CHECK(Runtime, used < count, "Too few arguments for format string");
        out += one(form[next + 1], a[used++]);
    }
    KINDLING_CHECK(Runtime, used == count, "Too many arguments for format string");
    return out.append(form, at);
}

std::string digits(int64_t number, const char* prefix, int bits) {
    std::string out;
    uint64_t rest = number < 0 ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    do out.insert(out.begin(), "0123456789abcdef"[rest & ((1u << bits) - 1)]);
    while (rest >>= bits);
    return (number < 0 ? "-" : "") + (prefix + out);
}
std::string character(const std::string& text, int64_t index) {
    const int64_t size = static_cast<int64_t>(text.size()), at = index < 0 ? index + size : index;
    KINDLING_CHECK(Runtime, at >= 0 && at < size, "basic_string::at: __n (which is %lu) >= this->size() (which is %lu)",
                   static_cast<unsigned long>(at), static_cast<unsigned long>(size));
    return std::string(1, text[static_cast<size_t>(at)]);
}

void predicates(Builtins& define) {
#define KIND(NAME, KIND) define('p', "aten::" NAME "(str self) -> bool", TRUTH(all(S(0), KIND)));
    // clang-format off
    KIND("isspace", std::isspace) KIND("isalpha", std::isalpha) KIND("isnumeric", std::isdigit) KIND("isdigit", std::isdigit)
    KIND("isdecimal", std::isdigit) KIND("isalnum", std::isalnum)
    // clang-format on
#undef KIND
            define('p', "aten::isprintable(str self) -> bool", TRUTH(S(0).empty() || all(S(0), std::isprint)));
    define('p', "aten::islower(str self) -> bool", TRUTH(cased(S(0), std::islower)));
    define('p', "aten::isupper(str self) -> bool", TRUTH(cased(S(0), std::isupper)));
    define('p', "aten::istitle(str self) -> bool", TRUTH(is_title(S(0))));
    define('p', "aten::isidentifier(str self) -> bool", TRUTH(is_identifier(S(0))));
}

} // namespace

void text_builtins(Builtins& define) {
    predicates(define);
    define('p', "aten::upper(str self) -> str", GIVE(each(S(0), upper)));
    define('p', "aten::lower(str self) -> str", GIVE(each(S(0), lower)));
    define('p', "aten::swapcase(str self) -> str", GIVE(each(S(0), [](char c) { return is(std::isupper, c) ? lower(c) : upper(c); })));
    define('p', "aten::capitalize(str self) -> str", GIVE(capitalized(S(0))));
    define('p', "aten::title(str self) -> str", GIVE(title(S(0))));
    define('p', "aten::find(str self, str substr, int start=0, int end=-1) -> int", GIVE(found(find(a), false)));
    define('p', "aten::rfind(str self, str substr, int start=0, int end=-1) -> int", GIVE(found(find_last(a), false)));
    define('p', "aten::index.str(str self, str substr, int start=0, int end=-1) -> int", GIVE(found(find(a), true)));
    define('p', "aten::rindex(str self, str substr, int start=0, int end=-1) -> int", GIVE(found(find_last(a), true)));
    define('p', "aten::count(str self, str substr, int start=0, int end=-1) -> int", GIVE(occurrences(a)));
    define('p', "aten::startswith(str self, str substr, int start=0, int end=-1) -> bool", TRUTH(matches(a, false)));
    define('p', "aten::endswith(str self, str substr, int start=0, int end=-1) -> bool", TRUTH(matches(a, true)));
    define('p', "aten::replace(str self, str old, str new, int max=-1) -> str", GIVE(replaced(S(0), S(1), S(2), I(3))));
    define(0, "aten::split.str(str self, str? separator=None, int max=-1) -> str[]", GIVE(list_of_texts(split(S(0), a[1], I(2)))));
    define.forward("aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]", "split_with_sizes", "");
    define(0, "aten::rsplit(str self, str separator=\" \", int max=-1) -> str[]", GIVE(list_of_texts(split_from_end(S(0), S(1), I(2)))));
    define(0, "aten::splitlines(str self, bool keepends=False) -> str[]", GIVE(list_of_texts(lines_of(S(0), B(1)))));
    define('p', "aten::partition(str self, str separator) -> (str, str, str)", GIVE(partition(S(0), S(1), false)));
    define('p', "aten::rpartition(str self, str separator) -> (str, str, str)", GIVE(partition(S(0), S(1), true)));
    define(
        'p', "aten::join(str self, str[] values) -> str", DO {
            std::string out;
            for (const Item& each : L(1)) (&each == L(1).data() ? out : out += S(0)) += each.text();
            a[0] = Item(std::move(out));
        });
    define('p', "aten::strip(str self, str chars=\" \\n\\t\\f\\v\") -> str", GIVE(stripped(S(0), S(1), true, true)));
    define('p', "aten::lstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", GIVE(stripped(S(0), S(1), true, false)));
    define('p', "aten::rstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", GIVE(stripped(S(0), S(1), false, true)));
    define('p', "aten::center(str self, int width, str fillchar=\" \") -> str", GIVE(justified(a, 0)));
    define('p', "aten::ljust(str self, int width, str fillchar=\" \") -> str", GIVE(justified(a, -1)));
    define('p', "aten::rjust(str self, int width, str fillchar=\" \") -> str", GIVE(justified(a, 1)));
    define('p', "aten::zfill(str self, int width) -> str", GIVE(zero_filled(S(0), I(1))));
    define('p', "aten::expandtabs(str self, int tabsize=8) -> str", GIVE(without_tabs(S(0), I(1))));
    define(0, "aten::format(str self, ...) -> str", GIVE(braces(a, count)));
    define('p', "aten::percentFormat(str self, ...) -> str", GIVE(percents(a, count)));
    define('p', "aten::str(t elem) -> str", GIVE(shown(a[0])));
    define('p', "aten::hex(int i) -> str", GIVE(digits(I(0), "0x", 4)));
    define('p', "aten::oct(int i) -> str", GIVE(digits(I(0), "0o", 3)));
    define('p', "aten::bin(int i) -> str", GIVE(digits(I(0), "0b", 1)));
    define(
        'p', "aten::chr(int i) -> str", DO {
            KINDLING_CHECK(Runtime, I(0) >= 0 && I(0) < 1114111, "chr() arg not in range(0x110000), found %ld", static_cast<long>(I(0)));
            a[0] = Item(std::string(1, static_cast<char>(I(0))));
        });
    define(
        'p', "aten::ord(str string) -> int", DO {
            KINDLING_CHECK(Runtime, S(0).size() == 1, "String for ord() must be 1 character, found %zu", S(0).size());
            a[0] = Item(static_cast<int64_t>(static_cast<unsigned char>(S(0)[0])));
        });
    define('p', "prim::StringIndex(str string, int index) -> str", GIVE(character(S(0), I(1))));
    define('p', "aten::__getitem__.str(str s, int index) -> str", GIVE(character(S(0), I(1))));
    define(
        'p', "aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str", DO {
            const Bounds bounds = slice_bounds(a + 1, static_cast<int64_t>(S(0).size()));
            std::string out;
            for (int64_t i = 0; i < bounds.count; i++) out += S(0)[static_cast<size_t>(bounds.start + i * bounds.step)];
            a[0] = Item(std::move(out));
        });
}

} // namespace kindling::script
