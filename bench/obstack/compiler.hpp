// SPDX-License-Identifier: MIT
// The front end of a compiler, with the memory discipline that Heap Layers describes for 176.gcc (section 5.2): while a
// scope is open, all that is read goes onto a stack: names, which grow character by character, since nobody knows how
// long they will be, symbols and the trees of expressions. When the scope is left, everything since its start is freed
// in one step. `Memory` is that stack:
//   grow(c), finish() -> the name;  allocate(size);  mark() -> a place;  release(place) frees all that is younger.
#pragma once

#include "../common/block.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cairn::bench {

struct Symbol {
    Symbol *shadowed; // the next one in its list of the table
    Symbol *older;    // in this scope
    const char *name;
    std::uint64_t value;
    std::uint32_t hash;
    std::uint32_t uses;
};

struct Tree {
    Tree *left, *right;
    Symbol *symbol;
    std::uint64_t value;
    char kind; // an operator, n for a number, v for a variable
};

template <class Memory>
class Compiler {
public:
    explicit Compiler(const char *text) : next_(text) {}

    // All of the text; the answer depends on every value and every name.
    std::uint64_t run() {
        while (skip_blanks() != '\0')
            statement();
        leave(nullptr);
        return sum_;
    }

private:
    static constexpr std::size_t table_size = 1024;

    char skip_blanks() {
        while (*next_ == ' ' || *next_ == '\n')
            ++next_;
        return *next_;
    }
    void expect(char c) {
        if (skip_blanks() != c)
            wrong("the compiler reads what is not there", next_, 1);
        ++next_;
    }
    static bool in_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

    template <class T>
    T *make() {
        return static_cast<T *>(memory_.allocate(sizeof(T)));
    }

    const char *read_name() {
        skip_blanks();
        for (; in_name(*next_); ++next_)
            memory_.grow(*next_);
        memory_.grow('\0');
        return memory_.finish();
    }

    static std::uint32_t hash(const char *name) {
        std::uint32_t h = 2166136261U;
        for (; *name != '\0'; ++name)
            h = (h ^ static_cast<unsigned char>(*name)) * 16777619U;
        return h;
    }

    Symbol *find(const char *name, std::uint32_t h) {
        for (Symbol *s = table_[h % table_size]; s != nullptr; s = s->shadowed)
            if (s->hash == h && std::strcmp(s->name, name) == 0)
                return s;
        return nullptr;
    }

    // A name that is known already is not kept: what was read of it goes at once.
    Symbol *look_up() {
        const auto place = memory_.mark();
        const char *name = read_name();
        Symbol *symbol = find(name, hash(name));
        if (symbol == nullptr)
            wrong("a name that nobody declared", name, std::strlen(name));
        memory_.release(place);
        ++symbol->uses;
        return symbol;
    }

    Symbol *declare() {
        const char *name = read_name();
        const std::uint32_t h = hash(name);
        auto *symbol = make<Symbol>();
        *symbol = {table_[h % table_size], newest_, name, 0, h, 0};
        table_[h % table_size] = symbol;
        newest_ = symbol;
        return symbol;
    }

    Tree *operand() {
        const char c = skip_blanks();
        if (c == '(') {
            ++next_;
            Tree *tree = operand();
            const char kind = skip_blanks();
            ++next_;
            auto *both = make<Tree>();
            *both = {tree, operand(), nullptr, 0, kind};
            expect(')');
            return both;
        }
        if (c >= '0' && c <= '9') {
            std::uint64_t value = 0;
            for (; *next_ >= '0' && *next_ <= '9'; ++next_)
                value = value * 10 + static_cast<std::uint64_t>(*next_ - '0');
            auto *number = make<Tree>();
            *number = {nullptr, nullptr, nullptr, value, 'n'};
            return number;
        }
        Symbol *symbol = look_up();
        auto *variable = make<Tree>();
        *variable = {nullptr, nullptr, symbol, 0, 'v'};
        return variable;
    }

    static std::uint64_t value_of(const Tree *tree) {
        switch (tree->kind) {
        case 'n':
            return tree->value;
        case 'v':
            return tree->symbol->value;
        case '-':
            return value_of(tree->left) - value_of(tree->right);
        case '*':
            return value_of(tree->left) * value_of(tree->right);
        default:
            return value_of(tree->left) + value_of(tree->right);
        }
    }

    void statement() {
        if (skip_blanks() == '{') {
            ++next_;
            Symbol *const outside = newest_;
            const auto place = memory_.mark();
            while (skip_blanks() != '}')
                statement();
            ++next_;
            leave(outside);
            memory_.release(place);
            return;
        }
        const bool declares = std::strncmp(next_, "let ", 4) == 0;
        if (declares)
            next_ += 4;
        Symbol *symbol = declares ? declare() : look_up();
        expect('=');
        Tree *tree = operand();
        expect(';');
        symbol->value = value_of(tree); // the tree stays until the scope ends, as gcc's do
    }

    // Takes the names of a scope out of the table.
    void leave(const Symbol *outside) {
        for (; newest_ != outside; newest_ = newest_->older) {
            sum_ = sum_ * 31 + newest_->value + newest_->uses;
            table_[newest_->hash % table_size] = newest_->shadowed;
        }
    }

    const char *next_;
    Memory memory_;
    std::array<Symbol *, table_size> table_{};
    Symbol *newest_ = nullptr;
    std::uint64_t sum_ = 0;
};

} // namespace cairn::bench
