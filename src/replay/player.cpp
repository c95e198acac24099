// SPDX-License-Identifier: MIT
#include <src/replay/player.hpp>

#include <cairn/core/bits.hpp>
#include <cairn/platform/cpu.hpp>
#include <cairn/platform/futex.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cairn::replay {
namespace {

constexpr std::size_t tag_bytes = sizeof(std::uint64_t);
constexpr std::size_t smallest_page = 4096;

/// No two live blocks have the same.
std::uint64_t tag_of(std::size_t number) {
    return (number + 1) * 0x9e3779b97f4a7c15ULL;
}

/// Whether the first `kept` bytes of what was a block of `size` bytes hold what was written into it.
bool holds_tag(const char *block, std::size_t size, std::size_t kept, std::size_t number) {
    const std::uint64_t tag = tag_of(number);
    return std::memcmp(block, &tag, std::min(kept, tag_bytes)) == 0 &&
           (size < 2 * tag_bytes || kept < size ||
            std::memcmp(block + size - tag_bytes, &tag, tag_bytes) == 0);
}

/// malloc_usable_size, if it is the same library's as malloc.
auto find_usable_size() {
    using Function = std::size_t (*)(void *);
    void *const size = dlsym(RTLD_DEFAULT, "malloc_usable_size");
    Dl_info of_size{};
    Dl_info of_malloc{};
    const bool same = size != nullptr && dladdr(size, &of_size) != 0 &&
                      dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) != 0 &&
                      of_size.dli_fbase == of_malloc.dli_fbase;
    return same ? reinterpret_cast<Function>(size) : nullptr;
}

std::uint64_t nanoseconds() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

struct Moment {
    std::uint64_t ticks;
    std::uint64_t nanoseconds;
};

/// The best of some tries: what else the machine does may come in between.
Moment both_clocks() {
    constexpr int tries = 20;
    Moment best{};
    std::uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < tries; ++i) {
        const std::uint64_t before = platform::ticks_in_order();
        const std::uint64_t time = nanoseconds();
        const std::uint64_t length = platform::ticks_in_order() - before;
        if (length < shortest) {
            shortest = length;
            best = {before + length / 2, time};
        }
    }
    return best;
}

rusage usage() {
    rusage now{};
    getrusage(RUSAGE_SELF, &now);
    return now;
}

} // namespace

Player::Player(int file, bool touch, Outcome &outcome) noexcept
    : file_(file), touch_(touch), outcome_(outcome) {
    if (pread(file_, &plan_, sizeof plan_, 0) != static_cast<ssize_t>(sizeof plan_) ||
        plan_.mark != plan_mark) {
        can_not_go("the plan is none");
    }
    blocks_ = take_table<Block>(plan_.blocks);
    threads_ = take_table<Thread>(plan_.threads);
    steps_ = take_table<Step>(window);
    // One that ends goes only when the next one has begun.
    const std::uint64_t stacks = plan_.most_threads + 1;
    free_stacks_ = take_table<std::uint32_t>(stacks);
    void *const space = mmap(nullptr, stacks * stack_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (space == MAP_FAILED) {
        can_not_go("there is no memory for the threads' stacks");
    }
    stacks_ = static_cast<char *>(space);
    madvise(stacks_, stacks * stack_bytes, MADV_NOHUGEPAGE);
    for (std::uint64_t i = stacks; i-- > 0;) {
        std::memset(stacks_ + (i + 1) * stack_bytes - touched_stack_bytes, 0, touched_stack_bytes);
        free_stacks_[free_stacks_count_++] = static_cast<std::uint32_t>(i);
    }
    std::uint64_t place = header_bytes + plan_.steps * sizeof(Step);
    for (std::uint64_t i = 0; i < plan_.threads; ++i) {
        if (pread(file_, &threads_[i].turns, sizeof(std::uint64_t), static_cast<off_t>(place)) !=
            static_cast<ssize_t>(sizeof(std::uint64_t))) {
            can_not_go("the plan is cut off");
        }
        place += sizeof(std::uint64_t);
        threads_[i].player = this;
    }
    usable_size_ = find_usable_size();
    measure_clock();
}

template <class T>
T *Player::take_table(std::uint64_t count) noexcept {
    void *const table = take_pages(count * sizeof(T));
    if (table == nullptr) {
        can_not_go("there is no memory for the tables");
    }
    return static_cast<T *>(table);
}

/// How long a tick is, and what two looks at the clock cost.
void Player::measure_clock() noexcept {
    constexpr std::uint64_t long_enough = 10'000'000; // nanoseconds
    const Moment began = both_clocks();
    Moment ended{};
    while ((ended = both_clocks()).nanoseconds - began.nanoseconds < long_enough) {
    }
    ticks_per_millisecond_ =
        (ended.ticks - began.ticks) * 1'000'000 / (ended.nanoseconds - began.nanoseconds);
    clock_cost_ = UINT64_MAX;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t before = platform::ticks_in_order();
        clock_cost_ = std::min(clock_cost_, platform::ticks_in_order() - before);
    }
}

void Player::play() noexcept {
    Outcome &out = outcome_;
    out.knows_usable = usable_size_ != nullptr;
    memory_.begin();
    if (!memory_.knows_resident()) {
        can_not_go("/proc/self/smaps_rollup can not be read");
    }
    out.knows_blocks = memory_.knows_blocks();
    const rusage usage_before = usage();
    sample(out.samples[out.samples_taken++]);
    next_sample_ = std::max<std::uint64_t>(1, plan_.calls / usual_samples);

    threads_[0].started = true;
    // The first step says whose turn it is: the first thread's, which is this one.
    take_turns(0);

    const rusage usage_after = usage();
    out.faults =
        static_cast<std::uint64_t>(usage_after.ru_minflt - usage_before.ru_minflt) - memory_.own_pages();
    out.switches = static_cast<std::uint64_t>(usage_after.ru_nivcsw - usage_before.ru_nivcsw);
    out.peak = std::max(out.peak, memory_.peak());
    const double seconds_per_tick = 1e-3 / static_cast<double>(ticks_per_millisecond_);
    for (std::size_t i = 0; i < calls; ++i) {
        const std::uint64_t clock = out.counts[i] * clock_cost_;
        out.seconds[i] = ticks_[i] > clock ? static_cast<double>(ticks_[i] - clock) * seconds_per_tick : 0;
    }
    out.seconds_in_long_calls = static_cast<double>(long_ticks_) * seconds_per_tick;
    out.seconds_with_use = static_cast<double>(turn_ticks_) * seconds_per_tick;
    finish();
}

/// Frees what the trace leaves.
void Player::finish() noexcept {
    for (std::uint64_t i = 0; i < plan_.blocks; ++i) {
        if (blocks_[i].address != nullptr) {
            check(blocks_[i]);
            void *const p = blocks_[i].address;
            forget(blocks_[i]);
            std::free(p);
            // relaxed: as in make(); past the number of calls, but still growing.
            outcome_.calls_made.fetch_add(1, std::memory_order_relaxed);
        }
    }
    sample(outcome_.drained);
    const timespec second{1, 0};
    nanosleep(&second, nullptr);
    sample(outcome_.settled);
    outcome_.state = State::done;
}

void *Player::run(void *thread) {
    auto &self = *static_cast<Thread *>(thread);
    self.player->take_turns(static_cast<std::uint32_t>(&self - self.player->threads_));
    return nullptr;
}

void Player::start(std::uint32_t number) noexcept {
    Thread &thread = threads_[number];
    thread.started = true;
    thread.stack = free_stacks_[--free_stacks_count_];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks_ + thread.stack * stack_bytes, stack_bytes);
    if (pthread_create(&thread.handle, &attributes, run, &thread) != 0) {
        can_not_go("a thread can not be started");
    }
    pthread_attr_destroy(&attributes);
}

void Player::pass_to(std::uint32_t number) noexcept {
    // release: pairs with the acquire in wait_for_baton(); all of the player's state goes with the baton.
    if (threads_[number].baton.exchange(on, std::memory_order_release) == asleep) {
        platform::futex_wake(threads_[number].baton);
    }
}

void Player::wait_for_baton(std::uint32_t self) noexcept {
    constexpr int looks = 200;
    std::atomic<std::uint32_t> &baton = threads_[self].baton;
    for (int i = 0; i < looks; ++i) {
        // acquire: pairs with the release in pass_to(), here and below.
        if (baton.load(std::memory_order_acquire) == on) {
            return;
        }
        platform::cpu_relax();
    }
    std::uint32_t word = away;
    // relaxed where it succeeds: nothing is given; acquire where it fails, as above.
    if (baton.compare_exchange_strong(word, asleep, std::memory_order_relaxed, std::memory_order_acquire)) {
        while (baton.load(std::memory_order_acquire) == asleep) {
            platform::futex_wait(baton, asleep);
        }
    }
}

/// Makes calls, and gives the baton away and waits for it, until it is not to come again. The main thread stays to the
/// end.
void Player::take_turns(std::uint32_t self) noexcept {
    for (bool have_baton = self == 0;; have_baton = false) {
        if (!have_baton) {
            wait_for_baton(self);
            // relaxed: this thread's own until the baton is passed to it again.
            threads_[self].baton.store(away, std::memory_order_relaxed);
        }
        if (ended_ != nobody) {
            pthread_join(threads_[ended_].handle, nullptr);
            free_stacks_[free_stacks_count_++] = threads_[ended_].stack;
            ended_ = nobody;
        }
        turn_began_ = platform::ticks();
        const Step *step = next();
        while (step != nullptr && (step->call() != Call::turn || step->block == self)) {
            if (step->call() == Call::turn) {
                --threads_[self].turns;
            } else {
                make(*step);
            }
            step = next();
        }
        turn_ticks_ += platform::ticks() - turn_began_;
        if (step == nullptr && self == 0) {
            return;
        }
        // At the end everybody has had all turns, and the main thread, which is here last, waits for the baton.
        const std::uint32_t other = step == nullptr ? 0 : step->block;
        at_ -= step == nullptr ? 0 : 1; // the turn is the next one's first step
        const bool last = self != 0 && threads_[self].turns == 0;
        if (last) {
            ended_ = self;
        }
        if (!threads_[other].started) {
            start(other);
        }
        ++outcome_.turns;
        pass_to(other);
        if (last) {
            return;
        }
    }
}

const Step *Player::next() noexcept {
    if (at_ == end_) {
        const std::uint64_t stopped = platform::ticks();
        const std::uint64_t count = std::min<std::uint64_t>(window, plan_.steps - read_);
        if (count == 0) {
            return nullptr;
        }
        const std::size_t bytes = count * sizeof(Step);
        if (pread(file_, steps_, bytes, static_cast<off_t>(header_bytes + read_ * sizeof(Step))) !=
            static_cast<ssize_t>(bytes)) {
            can_not_go("the plan is cut off");
        }
        read_ += count;
        at_ = 0;
        end_ = count;
        turn_began_ += platform::ticks() - stopped;
    }
    return &steps_[at_++];
}

void Player::make(const Step &step) noexcept {
    const auto kind = static_cast<std::size_t>(step.call());
    outcome_.kind = kind;
    outcome_.size = step.size();
    if (step.block >= plan_.blocks || kind >= calls) {
        can_not_go("the plan is damaged");
    }
    Block &block = blocks_[step.block];
    const std::size_t size = step.size();
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    const auto timed = [&](auto call) {
        before = platform::ticks_in_order();
        auto *const result = call();
        after = platform::ticks_in_order();
        return result;
    };
    switch (step.call()) {
    case Call::malloc:
        took(block, step, timed([&] { return std::malloc(size); }));
        break;
    case Call::calloc: {
        char *const made = static_cast<char *>(timed([&] { return std::calloc(1, size); }));
        if (made != nullptr && !take_zeros(made, size)) {
            wrong("calloc's block is not zero");
        }
        took(block, step, made);
        break;
    }
    case Call::aligned: {
        const std::size_t alignment = std::max(sizeof(void *), std::size_t{1} << step.alignment_log2());
        took(block, step, timed([&] {
                 void *made = nullptr;
                 return posix_memalign(&made, alignment, size) == 0 ? made : nullptr;
             }));
        break;
    }
    case Call::realloc: {
        check(block);
        const std::size_t old_size = block.size;
        const std::size_t kept = std::min(old_size, size);
        void *const old = block.address;
        forget(block);
        void *const moved = timed([&] { return std::realloc(old, size); });
        if (moved != nullptr && !holds_tag(static_cast<char *>(moved), old_size, kept, step.block)) {
            wrong("realloc has lost what the block held");
        }
        took(block, step, moved);
        break;
    }
    case Call::free: {
        check(block);
        void *const gone = block.address;
        forget(block);
        timed([&] {
            std::free(gone);
            return &block;
        });
        break;
    }
    case Call::turn:
        break;
    }
    ticks_[kind] += after - before;
    if (after - before >= ticks_per_millisecond_) {
        ++outcome_.long_calls;
        long_ticks_ += after - before;
    }
    ++outcome_.counts[kind];
    ++made_;
    // relaxed: only to be looked at by the other process.
    outcome_.calls_made.store(made_, std::memory_order_relaxed);
    if (made_ >= next_sample_ || made_ == plan_.peak_call) {
        between_calls();
    }
}

/// Zero wherever it will be written to. Looking and writing is one access: two would be two page faults.
bool Player::take_zeros(char *block, std::size_t size) noexcept {
    const auto zero = [](char &byte) {
        return std::atomic_ref(byte).exchange(1, std::memory_order_relaxed) ==
               0; // relaxed: this thread's own
    };
    bool all = size == 0 || zero(block[0]);
    for (std::size_t i = smallest_page; touch_ && i + 1 < size; i += smallest_page) {
        all = zero(block[i]) && all;
    }
    return (size < 2 || zero(block[size - 1])) && all;
}

void Player::took(Block &block, const Step &step, void *made) noexcept {
    const std::size_t size = step.size();
    block = {static_cast<char *>(made), size, 0};
    if (made == nullptr) {
        if (size != 0) {
            wrong("there is no memory");
        }
        return;
    }
    std::size_t alignment = size >= 16 ? 16 : size >= 8 ? 8 : 1;
    if (step.call() == Call::aligned) {
        alignment = std::max(alignment, std::size_t{1} << step.alignment_log2());
    }
    if (!is_aligned(address_of(made), alignment)) {
        wrong("a block is not aligned");
    }
    const std::uint64_t tag = tag_of(step.block);
    if (size < tag_bytes) {
        std::memcpy(made, &tag, size);
    } else {
        std::memcpy(made, &tag, tag_bytes);
        std::memcpy(block.address + size - tag_bytes, &tag, size < 2 * tag_bytes ? 0 : tag_bytes);
        for (std::size_t i = smallest_page; touch_ && i + tag_bytes < size; i += smallest_page) {
            static_cast<volatile char *>(block.address)[i] = 1;
        }
    }
    // Not the program's use of memory, and not to be timed as that.
    const std::uint64_t stopped = platform::ticks();
    memory_.note(made, size);
    block.usable = usable_size_ != nullptr ? usable_size_(made) : 0;
    live_ += size;
    usable_ += block.usable;
    turn_began_ += platform::ticks() - stopped;
}

void Player::check(const Block &block) noexcept {
    const auto number = static_cast<std::size_t>(&block - blocks_);
    if (block.address != nullptr && !holds_tag(block.address, block.size, block.size, number)) {
        wrong("what a live block held has changed");
    }
}

void Player::forget(Block &block) noexcept {
    live_ -= block.size;
    usable_ -= block.usable;
    block.address = nullptr;
}

void Player::sample(Sample &to) noexcept {
    to.call = made_;
    to.live = live_;
    to.usable = usable_;
    memory_.sample(to);
    outcome_.peak = std::max(outcome_.peak, to.resident);
    outcome_.peak_of_blocks = std::max(outcome_.peak_of_blocks, to.of_blocks);
}

void Player::between_calls() noexcept {
    const std::uint64_t stopped = platform::ticks();
    if (made_ == plan_.peak_call) {
        sample(outcome_.at_peak);
    }
    if (made_ >= next_sample_) {
        if (outcome_.samples_taken < most_samples) {
            sample(outcome_.samples[outcome_.samples_taken++]);
        }
        next_sample_ += std::max<std::uint64_t>(1, plan_.calls / usual_samples);
    }
    turn_began_ += platform::ticks() - stopped;
}

void Player::wrong(const char *what) noexcept {
    std::snprintf(outcome_.message, sizeof outcome_.message, "%s", what);
    outcome_.state = State::wrong;
    _exit(0);
}

void Player::can_not_go(const char *what) noexcept {
    std::snprintf(outcome_.message, sizeof outcome_.message, "%s", what);
    outcome_.state = State::can_not_go;
    _exit(0);
}

} // namespace cairn::replay
