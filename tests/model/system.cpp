// SPDX-License-Identifier: MIT
//
// The system under the kernels: what membarrier, futex and mmap do to the threads and the memory of a model, and what
// stands in for spinning (simulated/).
#include "engine.hpp"

#include <bit>
#include <cerrno>
#include <ctime>

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

namespace cairn::model {
namespace {

long membarrier(int command) {
    Engine &g = e();
    if (apart()) {
        return 0;
    }
    if (g.kernel->options.refuse_fence) {
        return -ENOSYS;
    }
    if (command != MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
        return 0;
    }
    Fibre &mine = g.fibres[g.current];
    if (++mine.fences == g.kernel->options.mute_fence) {
        tell("membarrier that does nothing");
        return 0;
    }
    // In any order, as the processors come to it; also those that have ended: they have left theirs.
    for (unsigned left = ((1u << g.kernel->threads) - 1) & ~(1u << g.current); left != 0;) {
        unsigned rest = left;
        for (unsigned n = g.explorer->choose(static_cast<unsigned>(std::popcount(left))); n > 0; --n) {
            rest &= rest - 1;
        }
        const auto i = static_cast<unsigned>(std::countr_zero(rest));
        left &= ~(1u << i);
        Step step;
        step.kind = Step::proxy;
        step.all_order = true;
        step.target = static_cast<std::uint8_t>(i);
        announce(step);
        late_meets_fence(i, true);
        tell("membarrier: thread %u passes a fence", i);
        g.memory.fence(i, __ATOMIC_SEQ_CST);
        taken(0, 0);
    }
    return 0;
}

/// The thread has looked, in vain.
void relax() {
    Engine *const g = engine;
    if (apart()) {
        return;
    }
    Fibre &mine = g->fibres[g->current];
    if (mine.looked_at == 0 || mine.spins_out != 0) {
        return;
    }
    const unsigned location = g->memory.location(mine.looked_at, mine.looked_size);
    if (g->kernel->options.spins_out && g->explorer->choose(2) == 1) {
        mine.spins_out = mine.looked_at;
        mine.spun_on = 0;
        std::memcpy(&mine.spun_on, reinterpret_cast<const void *>(mine.looked_at), mine.looked_size);
        return;
    }
    mine.step.awaits = mine.looked_at;
    mine.step.than = mine.looked_time;
    g->memory.wants_newer(g->current, location, mine.looked_time);
}

long futex(std::atomic<std::uint32_t> *word, int operation, std::uint32_t value, bool timed) {
    Engine &g = e();
    if (apart()) {
        return 0;
    }
    Fibre &mine = g.fibres[g.current];
    const auto address = reinterpret_cast<std::uintptr_t>(word);
    if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE) {
        Step step;
        step.kind = Step::update;
        step.where = address;
        announce(step);
        std::vector<Fibre *> sleepers;
        for (Fibre &fibre : g.fibres) {
            if (fibre.asleep_on == address && !fibre.woken) {
                sleepers.push_back(&fibre);
            }
        }
        for (std::uint32_t n = 0; n < value && !sleepers.empty(); ++n) {
            const unsigned i = g.explorer->choose(static_cast<unsigned>(sleepers.size()));
            sleepers[i]->woken = true;
            sleepers.erase(sleepers.begin() + i);
        }
        tell("wake   %s", name_of(address).c_str());
        taken(0, 0);
        return 0;
    }
    if (timed) {
        if (!g.kernel->options.time_passes) {
            relax();
        }
        return -ETIMEDOUT;
    }
    Step step;
    step.kind = Step::update;
    step.where = address;
    announce(step);
    late_meets(address, false);
    std::uint32_t now = 0;
    std::memcpy(&now, word, sizeof now);
    // The kernel has looked on the thread's processor: it does not see an older value after that.
    const unsigned location = g.memory.location(address, sizeof now);
    g.memory.now(g.current).raise(location, g.memory.newest(location).time);
    tell("sleep  %-14s %s", name_of(address).c_str(), now == value ? "" : "not: it has changed");
    taken(0, 0);
    if (now != value) {
        return -EAGAIN;
    }
    mine.asleep_on = address;
    mine.woken = false;
    announce(step);
    mine.asleep_on = 0;
    tell("woken");
    taken(0, 0);
    return 0;
}

/// A step of its own where mappings come and go: the kernel's order of them is one, but tells the program nothing.
void changes_mappings() {
    Engine &g = e();
    if (!apart() && g.kernel->options.reuses) {
        Step step;
        step.kind = Step::update;
        step.where = reinterpret_cast<std::uintptr_t>(&changes_mappings);
        announce(step);
        tell("mappings change");
        taken(0, 0);
    }
}

void unmap(std::uintptr_t at, std::size_t bytes) {
    Engine &g = e();
    changes_mappings();
    if (!apart()) {
        g.shadow.goes(at, bytes);
    }
    if (!apart() && g.kernel->options.reuses) {
        g.shadow.zero(at, bytes);
        g.shadow.give(at, bytes);
    }
}

void is_mapped(std::uintptr_t at, std::size_t bytes) {
    Engine &g = e();
    if (!apart()) {
        g.shadow.comes(at, bytes);
        g.shadow.is_mapped_by(g.current, g.memory.now(g.current).clock[g.current], at, bytes);
    }
}

long map(std::uintptr_t wanted, std::size_t bytes, bool there_only) {
    Engine &g = e();
    void *p = reinterpret_cast<void *>(wanted);
    changes_mappings();
    if (const std::uintptr_t again = g.shadow.take_again(there_only ? wanted : 0, bytes); again != 0) {
        p = reinterpret_cast<void *>(again);
    } else if (there_only) {
        if (!g.shadow.take_at(wanted, bytes)) {
            return -EEXIST;
        }
    } else if (p = g.shadow.take(bytes, bytes >= Shadow::window / 2 ? Shadow::window : 4096); p == nullptr) {
        return -ENOMEM;
    }
    is_mapped(reinterpret_cast<std::uintptr_t>(p), bytes);
    return reinterpret_cast<long>(p);
}

/// Shorter, longer if nothing lies behind it, or onto what is mapped at `to`. What lies there is replaced.
long remap(std::uintptr_t at, std::size_t before, std::size_t bytes, long flags, std::uintptr_t to) {
    Engine &g = e();
    if ((flags & MREMAP_FIXED) != 0) {
        changes_mappings();
        g.shadow.zero(to, bytes);
        g.shadow.move(at, to, std::min(before, bytes));
        is_mapped(to, bytes);
        unmap(at, before);
        return static_cast<long>(to);
    }
    if (bytes <= before) {
        unmap(at + bytes, before - bytes);
        return static_cast<long>(at);
    }
    return map(at + before, bytes - before, true) < 0 ? -ENOMEM : static_cast<long>(at);
}

} // namespace
} // namespace cairn::model

using namespace cairn::model;

extern "C" {

void cairn_model_relax() {
    relax();
}

/// The program's, in place of libc's: how a heap ends after its one line.
void abort() noexcept {
    fail("the heap ended the program");
}

std::uintptr_t cairn_model_thread_id() {
    return (e().current == outside ? e().acting : e().current) + 1;
}

int cairn_model_clock(clockid_t, timespec *now) {
    *now = {3600, 0};
    return 0;
}

long cairn_model_syscall(long number, long a, long b, long c, long d, long address, long) {
    Engine &g = e();
    switch (number) {
    case SYS_write:
        g.said.assign(reinterpret_cast<const char *>(b), static_cast<std::size_t>(c));
        while (!g.said.empty() && g.said.back() == '\n') {
            g.said.pop_back();
        }
        return c;
    case SYS_membarrier:
        return membarrier(static_cast<int>(a));
    case SYS_futex:
        return futex(reinterpret_cast<std::atomic<std::uint32_t> *>(a), static_cast<int>(b),
                     static_cast<std::uint32_t>(c), d != 0);
    case SYS_sched_yield:
        relax();
        return 0;
    case SYS_mmap:
        return map(static_cast<std::uintptr_t>(a), static_cast<std::size_t>(b),
                   a != 0 && (d & MAP_FIXED_NOREPLACE) != 0);
    case SYS_munmap:
        unmap(static_cast<std::uintptr_t>(a), static_cast<std::size_t>(b));
        return 0;
    case SYS_mremap:
        return remap(static_cast<std::uintptr_t>(a), static_cast<std::size_t>(b), static_cast<std::size_t>(c),
                     d, static_cast<std::uintptr_t>(address));
    case SYS_mprotect: // what is reserved and not used would be a fault outside of the model too
        return 0;
    case SYS_madvise:
        if (c == MADV_DONTNEED) {
            g.shadow.zero(static_cast<std::uintptr_t>(a), static_cast<std::size_t>(b));
        }
        g.huge_page = c == MADV_HUGEPAGE ? a : g.huge_page;
        return 0;
    case SYS_mincore: // only what lies in the last huge page that was asked for
        std::fill_n(reinterpret_cast<unsigned char *>(c), static_cast<std::size_t>(b) / 4096,
                    static_cast<std::uint8_t>(a / (2 << 20) == g.huge_page / (2 << 20)));
        return 0;
    default:
        return -ENOSYS;
    }
}

} // extern "C"
