// SPDX-License-Identifier: MIT
// A source for the compiler to work on: many standard headers, and enough use of them to instantiate a good
// number of templates. Only its assembler text is of interest; nobody runs it.
#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace {

struct Record {
    std::string name;
    std::vector<int> values;
    std::map<std::string, std::optional<double>> attributes;
    auto operator<=>(const Record &) const = default;
};

using Value = std::variant<int, double, std::string, std::vector<std::string>, Record>;

template <class T, std::size_t N>
std::size_t exercise(std::array<T, N> items) {
    std::sort(items.begin(), items.end());
    std::map<T, std::size_t> ordered;
    std::set<T> distinct(items.begin(), items.end());
    std::deque<T> queue(items.begin(), items.end());
    std::list<T> chain(queue.rbegin(), queue.rend());
    chain.sort();
    chain.unique();
    for (const T &item : items)
        ++ordered[item];
    std::function<std::size_t(const T &)> count = [&](const T &item) { return ordered.at(item); };
    return std::accumulate(distinct.begin(), distinct.end(), chain.size(),
                           [&](std::size_t sum, const T &item) { return sum + count(item); });
}

std::string describe(const Value &value) {
    std::ostringstream text;
    std::visit(
        [&](const auto &held) {
            using Held = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, Record>)
                text << held.name << std::setw(8) << held.values.size();
            else if constexpr (std::is_same_v<Held, std::vector<std::string>>)
                for (const std::string &part : held)
                    text << std::quoted(part);
            else
                text << held;
        },
        value);
    return text.str();
}

} // namespace

int main() {
    std::unordered_map<std::string, std::shared_ptr<Record>> records;
    std::unordered_set<std::string> seen;
    std::mt19937 random(1);
    std::uniform_int_distribution<int> die(1, 6);
    std::size_t sum = exercise(std::array<std::string, 3>{"c", "a", "b"});
#ifndef QUICK
    sum += exercise(std::array{3, 1, 2}) + exercise(std::array{1.5, 0.5});
#endif
    for (int i = 0; i < 10; ++i) {
        auto record = std::make_shared<Record>();
        record->name = "record-" + std::to_string(die(random));
        record->values.assign(static_cast<std::size_t>(i), i);
        seen.insert(record->name);
        records.emplace(record->name, std::move(record));
    }
    std::mutex guard;
    std::thread other([&] {
        const std::lock_guard lock(guard);
        sum += seen.size();
    });
    other.join();
    std::cout << describe(Record{}) << describe(std::string("x")) << describe(2.5) << sum;
}
