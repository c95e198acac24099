// SPDX-License-Identifier: MIT
// Patterns of threads that hand memory to each other: a pool that runs tasks, a table that all of them share, messages,
// a pipeline; and threads that live briefly.
#include "../common/crew.hpp"
#include "../common/random.hpp"
#include "pattern.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace cairn::bench::patterns {
namespace {

// A queue between threads, of at most 1,000 items: put() waits for room, take() for an item; false when the queue is
// closed and empty.
template <class T>
class Channel {
public:
    void put(T item) {
        {
            std::unique_lock hold(lock_);
            room_.wait(hold, [this] { return items_.size() < 1'000; });
            items_.push_back(std::move(item));
        }
        some_.notify_one();
    }
    bool take(T &item) {
        {
            std::unique_lock hold(lock_);
            some_.wait(hold, [this] { return closed_ || !items_.empty(); });
            if (items_.empty())
                return false;
            item = std::move(items_.front());
            items_.pop_front();
        }
        room_.notify_one();
        return true;
    }
    void close() {
        {
            const std::lock_guard hold(lock_);
            closed_ = true;
        }
        some_.notify_all();
    }

private:
    std::mutex lock_;
    std::condition_variable some_;
    std::condition_variable room_;
    std::deque<T> items_;
    bool closed_ = false;
};

// Whole work for any number of threads: what the threads of a crew do together.
std::uint64_t together(const Job &job, std::uint64_t whole) {
    return job.share(whole) * job.threads;
}

std::uint64_t tasks(const Job &job) {
    Channel<std::function<std::uint64_t()>> channel;
    std::thread giver([&] {
        for (std::uint64_t i = 0; i < together(job, 300'000); ++i) {
            auto text = std::make_shared<std::string>(60 + i % 100, 't');
            channel.put([text, numbers = std::vector<int>(i % 30)] { return text->size() + numbers.size(); });
        }
        channel.close();
    });
    const std::uint64_t sum = run_crew(job.threads, [&](std::size_t) {
        std::uint64_t mine = 0;
        for (std::function<std::uint64_t()> task; channel.take(task);)
            mine += task();
        return mine;
    });
    giver.join();
    return sum;
}

std::uint64_t pipeline(const Job &job) {
    Channel<std::unique_ptr<std::vector<char>>> raw;
    Channel<std::string> cooked;
    const std::uint64_t items = together(job, 400'000);
    std::thread reader([&] {
        Random random(1);
        for (std::uint64_t i = 0; i < items; ++i)
            raw.put(std::make_unique<std::vector<char>>(random.between(100, 2'000), 'r'));
        raw.close();
    });
    std::thread writer([&] {
        for (std::string text; cooked.take(text);) {
        }
    });
    const std::uint64_t bytes = run_crew(job.threads, [&](std::size_t) {
        std::uint64_t mine = 0;
        for (std::unique_ptr<std::vector<char>> item; raw.take(item);) {
            mine += item->size();
            cooked.put(
                std::string(item->begin(), item->begin() + static_cast<std::ptrdiff_t>(item->size() / 2)));
        }
        return mine;
    });
    reader.join();
    cooked.close();
    writer.join();
    return bytes;
}

std::uint64_t shared_table(const Job &job) {
    struct Part {
        std::mutex lock;
        std::unordered_map<std::uint64_t, std::string> entries;
    };
    std::array<Part, 16> parts;
    return run_crew(job.threads, [&](std::size_t thread) {
        Random random(thread);
        const std::uint64_t steps = job.share(4'000'000);
        for (std::uint64_t step = 0; step < steps; ++step) {
            const std::uint64_t key = random.below(100'000);
            Part &part = parts[key % parts.size()];
            const std::lock_guard hold(part.lock);
            if (const auto found = part.entries.find(key); found != part.entries.end())
                part.entries.erase(found);
            else
                part.entries.emplace(key, std::string(random.between(16, 115), 'x'));
        }
        return steps;
    });
}

std::uint64_t messages(const Job &job) {
    struct Mailbox {
        std::mutex lock;
        std::vector<std::vector<char>> letters;
    };
    std::vector<Mailbox> boxes(job.threads);
    return run_crew(job.threads, [&](std::size_t thread) {
        Random random(thread);
        const std::uint64_t steps = job.share(2'000'000);
        for (std::uint64_t step = 0; step < steps; ++step) {
            std::vector<char> letter(random.between(32, 1'031), 'm');
            std::vector<std::vector<char>> read; // and thrown away
            {
                Mailbox &to = boxes[random.below(boxes.size())];
                const std::lock_guard hold(to.lock);
                if (to.letters.size() >= 1'000) // nobody comes to read them
                    read.swap(to.letters);
                to.letters.push_back(std::move(letter));
            }
            Mailbox &mine = boxes[thread];
            const std::lock_guard hold(mine.lock);
            if (read.empty() && mine.letters.size() >= 8)
                read.swap(mine.letters);
        }
        return steps;
    });
}

std::uint64_t short_threads(const Job &job) {
    return run_crew(job.threads, [&](std::size_t) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < job.share(8'000); ++i)
            std::thread([&] {
                std::vector<std::string> lines;
                for (int line = 0; line < 200; ++line)
                    lines.emplace_back(100, 's');
                sum += lines.size();
            }).join();
        return sum;
    });
}

std::uint64_t futures(const Job &job) {
    return run_crew(job.threads, [&](std::size_t) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < job.share(5'000); ++i) {
            std::vector<std::future<std::string>> parts;
            for (int part = 0; part < 4; ++part)
                parts.push_back(std::async(std::launch::async, [part] {
                    std::string text;
                    for (int word = 0; word < 200; ++word)
                        text += std::to_string(part * word);
                    return text;
                }));
            for (std::future<std::string> &part : parts)
                sum += part.get().size();
        }
        return sum;
    });
}

constexpr Pattern all[] = {
    {"tasks", "one thread makes tasks of a shared text and a few numbers, a pool runs them", tasks},
    {"pipeline", "one thread reads, a crew works, one thread writes", pipeline},
    {"shared-table", "all threads insert and erase texts in one table, with 16 locks", shared_table},
    {"messages", "threads send each other letters of 32 to 1,031 bytes", messages},
    {"short-threads", "threads that make 200 texts and end, one after the other", short_threads},
    {"futures", "four asynchronous calls at a time, each builds a text", futures},
};

} // namespace

std::span<const Pattern> of_threads() {
    return all;
}

} // namespace cairn::bench::patterns
