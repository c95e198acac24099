// SPDX-License-Identifier: MIT
// A program for the compiler to read, drawn at random: functions of nested blocks, declarations, assignments,
// expressions. It is made before the work begins, outside of the heap.
#pragma once

#include "../common/random.hpp"
#include "../common/table.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace cairn::bench {

class SourceText {
public:
    SourceText(std::uint64_t functions, std::uint64_t seed) : text_(functions * per_function), random_(seed) {
        for (std::uint64_t i = 0; i < functions; ++i)
            function(i);
        text_[size_] = '\0';
    }
    const char *begin() { return &text_[0]; }
    std::size_t size() const { return size_; }

private:
    static constexpr std::size_t per_function = 48 << 10;
    static constexpr std::size_t margin = 4 << 10;

    void put(const char *word) {
        const std::size_t length = std::strlen(word);
        std::memcpy(&text_[size_], word, length);
        size_ += length;
    }

    // Of a number that says how old it is: names of the last few declarations are used most.
    void name(std::uint64_t number) {
        char word[48];
        const int length = std::snprintf(word, sizeof word, "%s_%llu",
                                         number % 3 == 0   ? "value"
                                         : number % 3 == 1 ? "index"
                                                           : "a_longer_name",
                                         static_cast<unsigned long long>(number));
        put(length > 0 ? word : "x");
    }
    void some_name() {
        const std::uint64_t known = declared_ - first_;
        name(declared_ - 1 - random_.below(known < 12 ? known : 12));
    }

    void expression(std::size_t depth) {
        const std::uint64_t kind = random_.below(depth == 0 ? 2 : 6);
        if (kind == 0) {
            char digits[24];
            std::snprintf(digits, sizeof digits, "%llu",
                          static_cast<unsigned long long>(random_.below(100000)));
            put(digits);
        } else if (kind == 1) {
            some_name();
        } else {
            put("(");
            expression(depth - 1);
            put(kind == 2 ? " - " : kind == 3 ? " * " : " + ");
            expression(depth - 1);
            put(")");
        }
    }

    void statement(std::size_t depth, std::size_t limit) {
        const std::uint64_t kind = random_.below(10);
        if (kind < 3) {
            put("let ");
            name(declared_);
            put(" = ");
            expression(3);
            put(";\n");
            ++declared_;
        } else if (kind < 8 || depth == 0 || size_ > limit) {
            some_name();
            put(" = ");
            expression(4);
            put(";\n");
        } else {
            block(depth - 1, limit);
        }
    }

    void block(std::size_t depth, std::size_t limit) {
        put("{\n");
        const std::uint64_t outside = declared_;
        for (std::uint64_t i = 4 + random_.below(16); i > 0 && size_ < limit; --i)
            statement(depth, limit);
        declared_ = outside;
        put("}\n");
    }

    void function(std::uint64_t number) {
        const std::size_t limit = (number + 1) * per_function - margin;
        put("let ");
        name(first_ = declared_ = number * 100);
        put(" = 1;\n");
        ++declared_;
        block(6, limit);
    }

    Table<char> text_;
    std::size_t size_ = 0;
    Random random_;
    std::uint64_t first_ = 0, declared_ = 0; // numbers of names: the function's own, the next one
};

} // namespace cairn::bench
