// SPDX-License-Identifier: MIT
// Patterns of the C++ library's containers and of programs made of them: maps, texts, caches, documents, graphs, an
// interpreter's objects. Each thread by itself.
#include "../common/crew.hpp"
#include "../common/random.hpp"
#include "pattern.hpp"

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace cairn::bench::patterns {
namespace {

// Runs round(random) in each thread, so often that the rounds of all threads are `rounds`.
template <class Round>
std::uint64_t in_rounds(const Job &job, std::uint64_t rounds, Round round) {
    return run_crew(job.threads, [=](std::size_t thread) {
        Random random(thread);
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < job.share(rounds); ++i)
            sum += round(random);
        return sum;
    });
}

std::uint64_t map(const Job &job) {
    return in_rounds(job, 10, [](Random &random) {
        std::map<std::uint64_t, std::string> entries;
        for (int i = 0; i < 200'000; ++i) {
            const std::uint64_t key = random.below(50'000);
            const auto found = entries.find(key);
            if (found == entries.end())
                entries.emplace(key, std::string(random.between(10, 69), 'x'));
            else if (random.below(2) != 0)
                entries.erase(found);
        }
        return entries.size();
    });
}

std::uint64_t hash(const Job &job) {
    return in_rounds(job, 40, [](Random &random) {
        std::unordered_map<std::uint64_t, std::uint64_t> counts;
        for (std::uint64_t i = 0; i < 150'000; ++i)
            counts[random.below(200'000)] += i;
        return counts.size();
    });
}

std::uint64_t cache(const Job &job) {
    return in_rounds(job, 20, [](Random &random) {
        std::list<std::pair<std::uint64_t, std::string>> used; // most recently first
        std::unordered_map<std::uint64_t, decltype(used)::iterator> by_key;
        for (int i = 0; i < 150'000; ++i) {
            const std::uint64_t key = random.below(60'000);
            if (const auto found = by_key.find(key); found != by_key.end()) {
                used.splice(used.begin(), used, found->second);
                continue;
            }
            used.emplace_front(key, std::string(random.between(20, 419), 'v'));
            by_key[key] = used.begin();
            if (by_key.size() > 20'000) {
                by_key.erase(used.back().first);
                used.pop_back();
            }
        }
        return used.size();
    });
}

std::uint64_t texts(const Job &job) {
    return in_rounds(job, 400, [](Random &random) {
        std::vector<std::string> lines;
        for (int i = 0; i < 8'000; ++i) {
            std::string line = "item ";
            line += std::to_string(random.next());
            line += " of ";
            line += std::to_string(i);
            lines.push_back(line);
        }
        std::sort(lines.begin(), lines.end());
        return lines.front().size();
    });
}

std::uint64_t words(const Job &job) {
    return in_rounds(job, 100, [](Random &random) {
        std::string document;
        for (int i = 0; i < 20'000; ++i)
            document += "word" + std::to_string(random.below(5'000)) + ' ';
        std::map<std::string, int> counts;
        std::istringstream rest(document);
        for (std::string word; rest >> word;)
            ++counts[word];
        std::vector<std::pair<int, std::string>> by_count;
        for (const auto &[word, count] : counts)
            by_count.emplace_back(count, word);
        std::sort(by_count.begin(), by_count.end());
        return by_count.size();
    });
}

std::uint64_t log(const Job &job) {
    return in_rounds(job, 40, [](Random &random) {
        std::deque<std::string> last;
        for (int i = 0; i < 60'000; ++i) {
            std::ostringstream line;
            line << i << " [" << random.next() << "] a message about " << i % 97 << " things";
            last.push_back(line.str());
            if (last.size() > 5'000)
                last.pop_front();
        }
        return last.size();
    });
}

struct Value { // of a document
    std::string text;
    std::vector<Value> list;
    std::map<std::string, Value> fields;

    static Value random_one(Random &random, int depth) {
        Value value;
        const std::uint64_t kind = random.below(3);
        if (depth == 0 || kind == 0) {
            value.text.assign(random.below(40), 't');
        } else if (kind == 1) {
            for (std::uint64_t left = random.below(8); left-- > 0;)
                value.list.push_back(random_one(random, depth - 1));
        } else {
            for (std::uint64_t left = random.below(6); left-- > 0;)
                value.fields["key" + std::to_string(random.below(1'000))] = random_one(random, depth - 1);
        }
        return value;
    }
    std::uint64_t size() const {
        std::uint64_t sum = 1 + text.size();
        for (const Value &each : list)
            sum += each.size();
        for (const auto &[name, each] : fields)
            sum += name.size() + each.size();
        return sum;
    }
};
std::uint64_t documents(const Job &job) {
    return in_rounds(job, 40'000, [](Random &random) { return Value::random_one(random, 6).size(); });
}

std::uint64_t graph(const Job &job) {
    return in_rounds(job, 30, [](Random &random) {
        std::vector<std::vector<std::uint32_t>> neighbours(30'000);
        for (int i = 0; i < 180'000; ++i) {
            const auto a = static_cast<std::uint32_t>(random.below(30'000));
            const auto b = static_cast<std::uint32_t>(random.below(30'000));
            neighbours[a].push_back(b);
            neighbours[b].push_back(a);
        }
        std::vector<bool> seen(neighbours.size());
        std::deque<std::uint32_t> next{0};
        std::uint64_t reached = 0;
        for (; !next.empty(); next.pop_front())
            for (const std::uint32_t each : neighbours[next.front()])
                if (!seen[each]) {
                    seen[each] = true;
                    ++reached;
                    next.push_back(each);
                }
        return reached;
    });
}

struct Object { // of an interpreter that counts references
    std::vector<std::shared_ptr<Object>> members;
};
std::uint64_t objects(const Job &job) {
    return in_rounds(job, 100, [](Random &random) {
        std::vector<std::shared_ptr<Object>> stack;
        for (int i = 0; i < 100'000; ++i) {
            if (stack.size() >= 200 && random.below(2) != 0) {
                std::swap(stack[random.below(stack.size())], stack.back());
                stack.pop_back();
                continue;
            }
            auto object = std::make_shared<Object>();
            for (std::uint64_t left = random.below(3); left-- > 0 && !stack.empty();)
                object->members.push_back(stack[random.below(stack.size())]);
            stack.push_back(std::move(object));
        }
        return stack.size();
    });
}

std::uint64_t growing(const Job &job) {
    return in_rounds(job, 200, [](Random &random) {
        std::vector<std::vector<double>> arrays(200);
        for (int i = 0; i < 400'000; ++i) {
            std::vector<double> &array = arrays[random.below(arrays.size())];
            array.push_back(i);
            if (array.size() > 1'000 + random.below(8'000))
                std::vector<double>().swap(array);
        }
        return arrays.front().size();
    });
}

std::uint64_t matrices(const Job &job) {
    return in_rounds(job, 8'000, [](Random &) {
        const std::size_t n = 120;
        const std::vector<std::vector<double>> a(n, std::vector<double>(n, 1.0)),
            b(n, std::vector<double>(n, 2.0));
        std::vector<std::vector<double>> sum;
        for (std::size_t i = 0; i < n; ++i) {
            std::vector<double> row(n);
            for (std::size_t j = 0; j < n; ++j)
                row[j] = a[i][j] + b[j][i];
            sum.push_back(row);
        }
        return sum.size();
    });
}

constexpr Pattern all[] = {
    {"map", "a map of texts, inserted and erased at random, up to 50,000", map},
    {"hash", "a hash table of numbers grows to some 100,000, is counted in, and goes", hash},
    {"cache", "20,000 texts, the least recently used one makes room", cache},
    {"texts", "8,000 lines of text are made and sorted", texts},
    {"words", "the words of a text are counted and sorted", words},
    {"log", "lines are formatted, the last 5,000 are kept", log},
    {"documents", "trees of texts, lists and maps, as a JSON parser makes", documents},
    {"graph", "lists of neighbours grow side by side, and are searched", graph},
    {"objects", "small objects that refer to each other, with counted references", objects},
    {"growing", "200 arrays of up to 9,000 numbers grow side by side and begin again", growing},
    {"matrices", "matrices made of rows", matrices},
};

} // namespace

std::span<const Pattern> of_containers() {
    return all;
}

} // namespace cairn::bench::patterns
