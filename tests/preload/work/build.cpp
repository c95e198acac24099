// SPDX-License-Identifier: MIT
// A C++ program for the compilers' tests: templates, exceptions, the heavier standard headers, threads.
#include <algorithm>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace {

struct Leaf {
    std::string text;
};
struct Node;
using Tree = std::variant<Leaf, std::unique_ptr<Node>>;
struct Node {
    std::map<std::string, Tree> children;
};

Tree grow(int depth, int seed) {
    if (depth == 0) {
        return Leaf{std::string(static_cast<std::size_t>(seed % 90), 'x') + std::to_string(seed)};
    }
    auto node = std::make_unique<Node>();
    for (int i = 0; i < 4; i++) {
        node->children.emplace("child" + std::to_string((seed * 7 + i) % 11), grow(depth - 1, seed * 5 + i));
    }
    return node;
}

std::size_t weigh(const Tree &tree) {
    if (const auto *leaf = std::get_if<Leaf>(&tree)) {
        return leaf->text.size();
    }
    std::size_t sum = 0;
    for (const auto &[name, child] : std::get<std::unique_ptr<Node>>(tree)->children) {
        sum += name.size() + weigh(child);
    }
    return sum;
}

template <int Depth>
struct Counter {
    static std::size_t count(const std::string &text, char letter) {
        return Counter<Depth - 1>::count(text.substr(text.size() / 2), letter) +
               static_cast<std::size_t>(std::count(text.begin(), text.end(), letter));
    }
};
template <>
struct Counter<0> {
    static std::size_t count(const std::string &, char) { return 0; }
};

} // namespace

int main() {
    std::vector<std::future<std::size_t>> answers;
    for (int i = 1; i <= 4; i++) {
        answers.push_back(std::async(std::launch::async, [i] {
            try {
                if (i == 3) {
                    throw std::runtime_error("three");
                }
                return weigh(grow(5, i));
            } catch (const std::exception &error) {
                return std::string(error.what()).size();
            }
        }));
    }
    for (auto &answer : answers) {
        std::cout << answer.get() << '\n';
    }
    std::ostringstream text;
    for (int i = 0; i < 2000; i++) {
        text << "word" << i << ' ';
    }
    std::cout << Counter<40>::count(text.str(), 'o') << '\n';
}
