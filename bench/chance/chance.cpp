// SPDX-License-Identifier: MIT
// A workload by chance: sizes, lifetimes, threads, how much is handed over, touched, grown or aligned are drawn from
// the seed. So there are as many programs as one likes that nobody has had in view. The first line printed says what
// was drawn.
#include "plan.hpp"

#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/table.hpp"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <utility>

using namespace cairn::bench;

namespace {

// What threads hand to each other: who puts a block in gets the one that was there.
using Exchange = Table<std::atomic<Held *>>;

class Worker {
public:
    Worker(const Plan &plan, Exchange &exchange, std::uint64_t seed)
        : plan_(plan), exchange_(exchange), random_(seed), held_(plan.live) {}

    // So many blocks of each law of sizes, one law after the other; then everything is freed.
    std::uint64_t operator()(std::uint64_t blocks) {
        for (const Sizes &sizes : plan_.laws) {
            sizes_ = &sizes;
            for (const std::uint64_t end = made_ + blocks / plan_.laws.size(); made_ < end;)
                step();
        }
        for (std::size_t i = 0; i < held_.size(); ++i)
            give(held_[i]);
        return requested_;
    }

private:
    void step() {
        switch (plan_.order) {
        case Order::replace:
            renew(held_[random_.below(held_.size())]);
            break;
        case Order::queue:
            renew(held_[next_]);
            next_ = (next_ + 1) % held_.size();
            break;
        case Order::young: // most die at once, one in five stays for long
            for (int i = 0; i < 4; ++i) {
                Held passing = make();
                give(passing);
            }
            renew(held_[random_.below(held_.size())]);
            break;
        case Order::in_order:
        case Order::stack:
        case Order::cull:
            if (next_ < held_.size())
                held_[next_++] = make();
            else
                end_batch();
            break;
        }
    }

    void end_batch() {
        std::size_t kept = 0;
        if (plan_.order == Order::stack) {
            while (next_ > 0)
                give(held_[--next_]);
        } else if (plan_.order == Order::cull) {
            kept = next_ * random_.below(10) / 10;
            for (std::size_t i = 0; i < next_; ++i)
                std::swap(held_[i], held_[random_.below(next_)]);
        }
        for (std::size_t i = kept; i < next_; ++i)
            give(held_[i]);
        next_ = kept;
    }

    void renew(Held &slot) {
        if (slot.block != nullptr && random_.below(100) < plan_.grown)
            return grow(slot);
        give(slot);
        slot = make();
    }

    Held make() {
        Held made{nullptr, sizes_->draw(random_), random_.next()};
        const std::uint64_t way = random_.below(100);
        if (way < plan_.zeroed)
            made.block = std::calloc(1, made.size);
        else if (way < plan_.zeroed + plan_.aligned)
            made.block = aligned(std::size_t{16} << random_.below(9), made.size);
        else
            made.block = std::malloc(made.size);
        admit(made);
        return made;
    }

    static void *aligned(std::size_t alignment, std::size_t size) {
        void *block = nullptr;
        return ::posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
    }

    void grow(Held &slot) {
        const std::size_t kept = slot.size;
        slot.size += random_.below(2) == 0 ? kept : kept / 4 + 8;
        if (slot.size > Sizes::longest)
            slot.size = 8;
        stamp(slot.block, std::min(kept, slot.size), slot.tag);
        slot.block = std::realloc(slot.block, slot.size);
        if (slot.block != nullptr && !stamped(slot.block, std::min(kept, slot.size), slot.tag))
            wrong("realloc lost the contents", slot.block, slot.size);
        admit(slot);
    }

    void admit(const Held &made) {
        expect_sound(made.block, made.size);
        if (plan_.touch == Touch::all)
            std::memset(made.block, 1, made.size);
        else
            touch_pages(made.block, made.size);
        stamp(made.block, made.size, made.tag);
        requested_ += made.size;
        ++made_;
    }

    // Frees the block, or hands it to others and frees one of theirs.
    void give(Held &slot) {
        if (slot.block == nullptr)
            return;
        Held mine = std::exchange(slot, Held{});
        if (mine.size >= sizeof(Held) && random_.below(100) < plan_.handed) {
            mine = swap_with_others(mine);
            if (mine.block == nullptr)
                return;
        }
        if (plan_.touch == Touch::never_again)
            std::free(mine.block);
        else
            drop(mine.block, mine.size, mine.tag);
    }

    // Only the address goes through the exchange: the block says the rest.
    Held swap_with_others(const Held &mine) {
        Held *const note = static_cast<Held *>(mine.block);
        *note = mine;
        Held *const theirs =
            exchange_[random_.below(exchange_.size())].exchange(note, std::memory_order_acq_rel);
        if (theirs == nullptr)
            return {};
        const Held found = *theirs;
        stamp(found.block, found.size, found.tag);
        return found;
    }

    const Plan &plan_;
    Exchange &exchange_;
    Random random_;
    Table<Held> held_;
    const Sizes *sizes_ = nullptr;
    std::size_t next_ = 0;
    std::uint64_t made_ = 0;
    std::uint64_t requested_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "sizes, lifetimes and threads as the seed says (this lab's own)");
    const std::uint64_t seed = options.number("seed", 1, "which workload");
    const std::uint64_t threads = options.number("threads", 0, "threads; 0: as the seed says");
    const std::uint64_t cost = options.work(
        "cost", 1000, "how much is done: some milliseconds each, and some turns of all blocks at least");
    options.finish();

    const Plan plan(seed, threads);
    plan.print();
    Exchange exchange(256);
    std::uint64_t requested = 0;
    for (unsigned generation = 0; generation < plan.generations; ++generation)
        requested += run_crew(plan.threads, [&](std::size_t self) {
            Worker work(plan, exchange, (seed * 64 + self) * 64 + generation);
            return work(plan.blocks(cost));
        });
    for (std::size_t i = 0; i < exchange.size(); ++i)
        std::free(exchange[i].load(std::memory_order_relaxed)); // the threads were joined
    std::printf("chance: %" PRIu64 " bytes requested\n", requested);
}
