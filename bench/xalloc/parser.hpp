// SPDX-License-Identifier: MIT
// A parser for link grammars (Sleator and Temperley, Parsing English with a Link Grammar, 1991; the program that became
// 197.parser), with a dictionary drawn at random: a word has disjuncts, each a list of connectors to the left and one
// to the right, and a sentence's linkages are counted by dynamic programming. What matters here is how it uses memory,
// all of it through `Memory`:
//   - the dictionary lies at the bottom, for all of the program's life;
//   - a sentence's disjuncts and connectors are copied from it first, and stay until the sentence's end;
//   - pruning puts tables on top, takes some disjuncts away from the middle, and the tables from the top;
//   - counting makes a short list of candidates for each region of the sentence, frees it when the region is done, and
//     leaves an entry of the memory of results on top of it;
//   - a picture grows by steps, a new string for each;
//   - in the end all is freed, in the order in which it was made, which is not the order of a stack.
#pragma once

#include "../common/block.hpp"
#include "../common/random.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace cairn::bench {

struct Connector {
    Connector *next; // the one to a word farther away
    std::uint16_t label;
    bool repeats; // may link to several words
};

struct Disjunct {
    Disjunct *next;
    Connector *left, *right;
    std::uint32_t cost;
};

struct Match {
    Match *next;
    Disjunct *disjunct;
};

// Of the memory of results: so many linkages for a region between two words, and the connectors that lead into it.
struct Count {
    Count *next;
    const Connector *left, *right;
    std::uint16_t left_word, right_word;
    std::uint64_t linkages;
};

template <class Memory>
class Dictionary {
public:
    static constexpr std::size_t words = 4000;
    static constexpr std::size_t labels = 9;

    Dictionary() {
        for (std::size_t i = 0; i < words; ++i) {
            Random random(i + 1);
            const std::size_t count = random.between(4, 20);
            for (std::size_t j = 0; j < count; ++j) {
                auto *d = make<Disjunct>();
                const std::size_t left = random.below(3);
                const std::size_t right = left == 0 ? 1 + random.below(2) : random.below(3);
                *d = {entries_[i], connectors(random, left), connectors(random, right),
                      static_cast<std::uint32_t>(random.below(4))};
                entries_[i] = d;
            }
        }
    }
    ~Dictionary() {
        for (Disjunct *entry : entries_)
            free_disjuncts(entry);
    }
    Dictionary(const Dictionary &) = delete;
    Dictionary &operator=(const Dictionary &) = delete;

    // A word's disjuncts; the first word of a sentence has none to its left, the last one none to its right.
    Disjunct *look_up(std::size_t word, bool first, bool last) const {
        Disjunct *list = nullptr;
        Disjunct **end = &list;
        for (const Disjunct *d = entries_[word]; d != nullptr; d = d->next) {
            auto *copy = make<Disjunct>();
            *copy = {nullptr, first ? nullptr : copied(d->left), last ? nullptr : copied(d->right), d->cost};
            *end = copy;
            end = &copy->next;
        }
        return list;
    }

    template <class T>
    static T *make() {
        return static_cast<T *>(bytes(sizeof(T)));
    }
    static void *bytes(std::size_t size) {
        void *p = Memory::malloc(size);
        if (p == nullptr)
            wrong("NULL from the parser's memory", p, size);
        return p;
    }

    static void free_disjunct(Disjunct *d) {
        free_connectors(d->left);
        free_connectors(d->right);
        Memory::free(d);
    }
    static void free_disjuncts(Disjunct *d) {
        while (d != nullptr) {
            Disjunct *next = d->next;
            free_disjunct(d);
            d = next;
        }
    }

private:
    static Connector *connectors(Random &random, std::size_t count) {
        Connector *first = nullptr;
        for (std::size_t i = 0; i < count; ++i) {
            auto *c = make<Connector>();
            *c = {first, static_cast<std::uint16_t>(random.below(labels)), random.below(8) == 0};
            first = c;
        }
        return first;
    }
    static Connector *copied(const Connector *c) {
        Connector *first = nullptr;
        Connector **end = &first;
        for (; c != nullptr; c = c->next) {
            auto *copy = make<Connector>();
            *copy = {nullptr, c->label, c->repeats};
            *end = copy;
            end = &copy->next;
        }
        return first;
    }
    static void free_connectors(Connector *c) {
        while (c != nullptr) {
            Connector *next = c->next;
            Memory::free(c);
            c = next;
        }
    }

    std::array<Disjunct *, words> entries_{};
};

template <class Memory>
class Parser {
    using Words = Dictionary<Memory>;
    static constexpr std::size_t longest = 64;
    static constexpr std::size_t table_size = 4096;
    static constexpr std::size_t labels = Words::labels;

public:
    Parser(const Words &dictionary, std::uint64_t seed, std::size_t length)
        : length_(std::min(length, longest)) {
        Random random(seed);
        for (std::size_t i = 0; i < length_; ++i) {
            sentence_[i] = static_cast<std::uint32_t>(random.below(Words::words));
            disjuncts_[i] = dictionary.look_up(sentence_[i], i == 0, i + 1 == length_);
        }
    }
    ~Parser() {
        for (std::size_t i = 0; i < length_; ++i)
            Words::free_disjuncts(disjuncts_[i]);
        for (std::size_t i = 0; i < table_size; ++i) {
            while (table_[i] != nullptr) {
                Count *next = table_[i]->next;
                Memory::free(table_[i]);
                table_[i] = next;
            }
        }
        Memory::free(table_);
    }
    Parser(const Parser &) = delete;
    Parser &operator=(const Parser &) = delete;

    // The linkages of the sentence and its picture, in one number.
    std::uint64_t run() {
        const std::size_t pruned = prune();
        table_ = static_cast<Count **>(zeroed(table_size * sizeof(Count *)));
        std::uint64_t total = 0;
        for (const Disjunct *d = disjuncts_[0]; d != nullptr; d = d->next)
            total += count(0, length_, d->right, nullptr);
        return total * 31 + draw(total) + pruned;
    }

private:
    static void *zeroed(std::size_t size) { return std::memset(Words::bytes(size), 0, size); }

    // Takes away every disjunct one of whose nearest connectors no other word answers, until there are none.
    std::size_t prune() {
        std::size_t pruned = 0;
        for (bool changed = true; changed;) {
            changed = false;
            // [word * labels + label]: whether a connector of that kind is offered before, and behind, a word.
            auto *before = static_cast<bool *>(zeroed((length_ + 1) * labels));
            auto *behind = static_cast<bool *>(zeroed((length_ + 2) * labels));
            for (std::size_t i = 0; i < length_; ++i) {
                std::copy_n(before + i * labels, labels, before + (i + 1) * labels);
                for (const Disjunct *d = disjuncts_[i]; d != nullptr; d = d->next)
                    for (const Connector *c = d->right; c != nullptr; c = c->next)
                        before[(i + 1) * labels + c->label] = true;
            }
            for (std::size_t i = length_; i-- > 0;) {
                std::copy_n(behind + (i + 2) * labels, labels, behind + (i + 1) * labels);
                for (const Disjunct *d = disjuncts_[i]; d != nullptr; d = d->next)
                    for (const Connector *c = d->left; c != nullptr; c = c->next)
                        behind[(i + 1) * labels + c->label] = true;
            }
            for (std::size_t i = 0; i < length_; ++i) {
                for (Disjunct **place = &disjuncts_[i]; *place != nullptr;) {
                    Disjunct *d = *place;
                    if (answered(d->left, before + i * labels) &&
                        answered(d->right, behind + (i + 2) * labels)) {
                        place = &d->next;
                    } else {
                        *place = d->next;
                        Words::free_disjunct(d);
                        ++pruned;
                        changed = true;
                    }
                }
            }
            Memory::free(behind);
            Memory::free(before);
        }
        return pruned;
    }

    static bool answered(const Connector *c, const bool *offered) {
        for (; c != nullptr; c = c->next)
            if (!offered[c->label])
                return false;
        return true;
    }

    static bool fits(const Connector *right, const Connector *left) {
        return right != nullptr && left != nullptr && right->label == left->label;
    }

    Match *candidates(std::size_t word, const Connector *left, const Connector *right) {
        Match *list = nullptr;
        for (Disjunct *d = disjuncts_[word]; d != nullptr; d = d->next) {
            if (fits(left, d->left) || fits(d->right, right)) {
                auto *m = Words::template make<Match>();
                *m = {list, d};
                list = m;
            }
        }
        return list;
    }

    // Linkages of the words between two, to which the connectors `left` and `right` lead.
    std::uint64_t count(std::size_t left_word, std::size_t right_word, const Connector *left,
                        const Connector *right) {
        if (right_word == left_word + 1)
            return left == nullptr && right == nullptr ? 1 : 0;
        if (left == nullptr && right == nullptr)
            return 0;
        Count **place = &table_[hash(left_word, right_word, left, right)];
        for (const Count *known = *place; known != nullptr; known = known->next)
            if (known->left == left && known->right == right && known->left_word == left_word &&
                known->right_word == right_word)
                return known->linkages;

        std::uint64_t total = 0;
        for (std::size_t word = left_word + 1; word < right_word; ++word) {
            Match *list = candidates(word, left, right);
            for (const Match *m = list; m != nullptr; m = m->next) {
                const Disjunct &d = *m->disjunct;
                const std::uint64_t on_left = fits(left, d.left) ? links(left_word, word, left, d.left) : 0;
                const std::uint64_t on_right =
                    fits(d.right, right) ? links(word, right_word, d.right, right) : 0;
                if (on_left != 0)
                    total += on_left * (on_right + count(word, right_word, d.right, right));
                if (left == nullptr && on_right != 0)
                    total += on_right * count(left_word, word, nullptr, d.left);
            }
            while (list != nullptr) {
                Match *next = list->next;
                Memory::free(list);
                list = next;
            }
        }
        auto *entry = Words::template make<Count>();
        *entry = {*place,
                  left,
                  right,
                  static_cast<std::uint16_t>(left_word),
                  static_cast<std::uint16_t>(right_word),
                  total};
        *place = entry;
        return total;
    }

    // Linkages between two words that are linked to each other. A connector that repeats may make another link.
    std::uint64_t links(std::size_t left_word, std::size_t right_word, const Connector *left,
                        const Connector *right) {
        std::uint64_t total = count(left_word, right_word, left->next, right->next);
        if (left->repeats)
            total += count(left_word, right_word, left, right->next);
        if (right->repeats)
            total += count(left_word, right_word, left->next, right);
        return total;
    }

    // By numbers, not by addresses, so that chains are equally long on every allocator.
    static std::size_t hash(std::size_t left_word, std::size_t right_word, const Connector *left,
                            const Connector *right) {
        std::size_t h = left_word * longest + right_word;
        for (const Connector *c = left; c != nullptr; c = c->next)
            h = h * 31 + c->label + 1;
        h *= 131;
        for (const Connector *c = right; c != nullptr; c = c->next)
            h = h * 37 + c->label + 1;
        return (h ^ h >> 12) % table_size;
    }

    // A line for each word with its cheapest disjunct; the text grows by a copy for each piece, as strings do in C.
    std::uint64_t draw(std::uint64_t total) {
        auto *text = static_cast<char *>(Words::bytes(1));
        std::size_t used = 0;
        for (std::size_t i = 0; i < length_; ++i) {
            const Disjunct *best = disjuncts_[i];
            for (const Disjunct *d = best; d != nullptr; d = d->next)
                if (d->cost < best->cost)
                    best = d;
            char piece[64];
            const int size = std::snprintf(piece, sizeof piece, "%u.%c%u ", sentence_[i],
                                           best == nullptr ? '-' : '+', best == nullptr ? 0 : best->cost);
            auto *grown = static_cast<char *>(Words::bytes(used + static_cast<std::size_t>(size) + 1));
            std::memcpy(grown, text, used);
            std::memcpy(grown + used, piece, static_cast<std::size_t>(size));
            Memory::free(text);
            text = grown;
            used += static_cast<std::size_t>(size);
        }
        std::uint64_t sum = total;
        for (std::size_t i = 0; i < used; ++i)
            sum = sum * 131 + static_cast<unsigned char>(text[i]);
        Memory::free(text);
        return sum;
    }

    std::size_t length_;
    std::array<std::uint32_t, longest> sentence_{};
    std::array<Disjunct *, longest> disjuncts_{};
    Count **table_ = nullptr;
};

} // namespace cairn::bench
