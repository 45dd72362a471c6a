// tests/cpp/test_sizes.cpp: sizes that carry symbols (core/size.h), and who goes on with them.
#include <string>
#include <vector>

#include "check.h"
#include "core/shape.h"
#include "core/unboxed.h"
#include "generated/functions.h"

using namespace kindling;

namespace {

/// Writes down what it is asked, and gives each answer the next number.
struct Written final : SizeRecorder {
    std::vector<std::string> lines{""};
    const TensorImpl* known = nullptr;
    static std::string text(Size size) { return size.symbol() ? "s" + std::to_string(size.symbol()) : std::to_string(size.hint()); }
    int64_t add(std::string line) {
        lines.push_back(std::move(line));
        return static_cast<int64_t>(lines.size()) - 1;
    }
    int64_t size_of(const TensorImpl* tensor, int64_t dim) override { return tensor == known ? add("size " + std::to_string(dim)) : 0; }
    void stands_for(const TensorImpl*, const TensorImpl*) override {}
    int64_t step(Step step, Size a, Size b) override {
        static const char* const signs[] = {"+", "-", "*", "/", "%"};
        return add(text(a) + signs[static_cast<int>(step)] + text(b));
    }
    void decided(Relation relation, Size a, Size b, bool outcome) override {
        add(text(a) + (relation == Relation::Equal ? "==" : "<") + text(b) + (outcome ? "" : " not"));
    }
    void specialised(Size size) override { add(text(size) + " is " + std::to_string(size.hint())); }
};

void plain_sizes() {
    CHECK(sizeof(Size) == 16 && sizeof(SizeList) == sizeof(IntList));
    SizeVector sizes{2, 3};
    sizes.push_back(Size(7) / Size(2) - Size(1));
    const SizeList list = sizes;
    CHECK(!list.symbolic() && list.numbers() == IntList({2, 3, 2}));
    CHECK(SizeList({4, 5})[1] == 5 && SizeList().empty());
    CHECK((Size(-7) / 2).number() == -4 && (Size(-7) % 2).number() == 1 && (Size(7) % -2).number() == -1);
    const Tensor x = ones({2, 3, 4});
    CHECK(numel_of(x).number() == 24 && size_of(x, -1).number() == 4 && !size_of(x, 0).symbol());
    CHECK_THROWS(size_of(x, 3), "Dimension out of range");
    CHECK_THROWS(Size(int64_t{1} << 62) * 2, "a size is too large");
}

void symbols() {
    const Tensor x = ones({2, 3}), other = ones({2});
    Written written;
    written.known = x.impl();
    SizeRecorder* before = exchange_recorder(&written);
    const Size rows = size_of(x, 0), columns = size_of(x, -1);
    SizeVector sizes{4, rows};
    sizes.push_back(rows * columns);
    sizes.push_back(size_of(other, 0)); // a tensor that it does not know
    const SizeList list = sizes;
    CHECK(list.symbolic() && list.size() == 4 && list.hints() == IntList({4, 2, 6, 2}));
    CHECK(list[0].symbol() == 0 && list[1].symbol() == rows.symbol() && list[2].hint() == 6 && list[3].symbol() == 0);
    CHECK((rows + 1).symbol() && rows == 2 && !(columns < 3));
    CHECK(written.lines == (std::vector<std::string>{"", "size 0", "size 1", "s1*s2", "s1+1", "s1==2", "s2<3 not"}));

    // Boxed: who takes sizes goes on, who takes numbers tells.
    const Value boxed(list), one(rows);
    CHECK(boxed::From<SizeList>::get(boxed)[2].symbol() == 3 && boxed::From<Size>::get(one).symbol() == 1);
    CHECK(boxed::From<Size>::get(Value(int64_t{9})).hint() == 9 && written.lines.size() == 7);
    CHECK(boxed::From<IntList>::get(boxed) == list.hints() && boxed::From<int64_t>::get(one) == 2);
    CHECK(boxed::From<Scalar>::get(one).to_int() == 2);
    CHECK(written.lines.size() == 11 && written.lines[7] == "s1 is 2" && written.lines[8] == "s3 is 6" && written.lines[10] == "s1 is 2");
    exchange_recorder(before);
    CHECK(!size_of(x, 0).symbol() && (rows * 2).symbol() == 0 && rows.number() == 2); // what is left over is a number
}

} // namespace

int main() {
    plain_sizes();
    symbols();
    return finish("sizes");
}
