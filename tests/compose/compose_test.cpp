// SPDX-License-Identifier: MIT
//
// Compositions by chance: each one that the concepts accept is a heap in the sense of the conformance suite, is not
// copied or moved, knows its blocks from those of others, and can hold its locks across a fork if it says that it has
// threads.
#include "tests/conformance/suite.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/adapt/throw_exception.hpp>
#include <cairn/combine/fallback.hpp>
#include <cairn/combine/hybrid.hpp>
#include <cairn/combine/seg.hpp>
#include <cairn/combine/segregated.hpp>
#include <cairn/combine/select_mapped.hpp>
#include <cairn/combine/threshold.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/debug/guarded_pages.hpp>
#include <cairn/debug/profile.hpp>
#include <cairn/debug/random_places.hpp>
#include <cairn/debug/size_table.hpp>
#include <cairn/debug/trace.hpp>
#include <cairn/debug/trace_file.hpp>
#include <cairn/layer/aligned_header.hpp>
#include <cairn/layer/bounded_freelist.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/chunk_pool.hpp>
#include <cairn/layer/coalesce.hpp>
#include <cairn/layer/coalesceable.hpp>
#include <cairn/layer/fixed_stack.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/layer/obstack.hpp>
#include <cairn/layer/rounded.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/layer/unique.hpp>
#include <cairn/layer/xalloc.hpp>
#include <cairn/sizeclass/geometric.hpp>
#include <cairn/sizeclass/multiples.hpp>
#include <cairn/sizeclass/power.hpp>
#include <cairn/sizeclass/powers_of_two.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/source/static_buffer.hpp>
#include <cairn/source/system_malloc.hpp>
#include <cairn/sync/bounded_spin_lock.hpp>
#include <cairn/thread/thread_owned.hpp>
#include <cairn/thread/thread_private.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

namespace cairn::conformance {

inline constinit Usage usage;
inline constinit TraceFile<> operations(-1);
template <unsigned N>
class Tag;
struct Spin : sync::BoundedSpinLock<> {
    constexpr Spin() : BoundedSpinLock(sync::Rank::composed) {}
};

/// The suite knows nullptr only, so an exception is turned back into it.
template <Heap Super>
class CatchHeap : private Super {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;

    void *malloc(std::size_t size) {
        try {
            return Super::malloc(size);
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
    }
    void free(void *p) { Super::free(p); }
    void lock_all()
        requires sync::ForkLocks<Super>
    {
        Super::lock_all();
    }
    void unlock_all(sync::AfterFork side)
        requires sync::ForkLocks<Super>
    {
        Super::unlock_all(side);
    }
};
struct Catch {
    template <class Super>
    using on = CatchHeap<Super>;
};

/// A composition, or nothing, if the concepts refuse it.
struct Refused {};
template <class Below, class... Stages>
struct Tried {
    using Type = Below;
};
template <class Below, class First, class... Rest>
struct Tried<Below, First, Rest...> {
    using Type = Refused;
};
template <class Below, class First, class... Rest>
    requires requires { typename First::template on<Below>; }
struct Tried<Below, First, Rest...> : Tried<typename First::template on<Below>, Rest...> {};
template <class Source, class... Stages>
using Try = typename Tried<Source, Stages...>::Type;

#include CAIRN_COMPOSITIONS

struct Composition {
    const char *text;
    Kind kind;
    bool little;  ///< memory ends soon
    bool bounded; ///< no request above max_size
    bool clears;  ///< clear() reaches the sources
    bool forks;   ///< its locks can be held across one
    bool can_be_copied;
    void (*hold_and_let_go)(void (*meanwhile)(AnyHeap, std::size_t), std::size_t);
};

template <class H>
void hold_and_let_go(void (*meanwhile)(AnyHeap, std::size_t), std::size_t size) {
    const auto heap = std::make_unique<H>();
    heap->lock_all();
    std::thread other(meanwhile, AnyHeap(*heap), size);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    heap->unlock_all(sync::AfterFork::in_parent);
    other.join();
}

template <class... T>
struct Accepted {
    static std::vector<Composition> all() {
        std::vector<Composition> all;
        (add<T>(all), ...);
        return all;
    }

private:
    template <class Row, class H = typename Row::Heap>
    static void add(std::vector<Composition> &all) {
        if constexpr (Heap<H>) {
            static_assert(alignment_of<H> >= Row::least_alignment);
            constexpr bool copied = std::is_copy_constructible_v<H> || std::is_move_constructible_v<H> ||
                                    std::is_copy_assignable_v<H> || std::is_move_assignable_v<H>;
            Composition one{Row::text,
                            kind_of<Row>,
                            Row::little,
                            Row::bounded,
                            Row::clears,
                            Row::forks,
                            copied && sizeof(H) >= sizeof(void *),
                            nullptr};
            if constexpr (sync::ForkLocks<H>) {
                one.hold_and_let_go = hold_and_let_go<H>;
            }
            all.push_back(one);
        }
    }
};

const std::vector<Composition> &compositions() {
    static const std::vector<Composition> all = AllRows<Accepted>::all();
    return all;
}

void fill_and_free_until_memory_ends(const Kind &kind, bool clears) {
    const AnyInstance heap = kind.create();
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        AnyDriver driver(*heap, kind.requests, seed, 1_MiB, Below::refuses);
        driver.run(1000, 300);
        driver.model.free_all();
    }
    if (kind.can.clear != nullptr && clears) {
        for (int round = 0; round < 20; ++round) {
            heap->clear();
            AnyDriver(*heap, kind.requests, 1, 16)
                .malloc_one(kind.requests.fixed_size != 0 ? kind.requests.fixed_size : 16);
        }
    }
}

void knows_its_blocks_from_those_of_others(const Kind &kind) {
    if (kind.can.owns == nullptr) {
        return;
    }
    const Requests &requests = kind.requests;
    const std::size_t size =
        requests.fixed_size != 0 ? requests.fixed_size : std::min<std::size_t>(requests.max_size, 3000);
    const AnyInstance heap = kind.create();
    MmapHeap others;
    std::vector<void *> live;
    for (int i = 0; i < 200; ++i) {
        live.push_back(others.malloc(1));
        for (int k = 0; k < 20; ++k) {
            heap->malloc(size);
        }
    }
    EXPECT_EQ(std::count_if(live.begin(), live.end(), [&](void *p) { return heap->owns(p); }), 0);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Conformance);
class Compositions : public testing::TestWithParam<std::size_t> {};

TEST_P(Compositions, IsAHeap) {
    const Composition &composition = compositions()[GetParam()];
    SCOPED_TRACE(composition.text);
    const Kind &kind = composition.kind;
    const bool any_size = kind.requests.fixed_size == 0;
    if (composition.little) {
        fill_and_free_until_memory_ends(kind, composition.clears);
    } else {
        suite::all_sizes_together_are_disjoint_and_keep_their_contents(kind);
        suite::random_operations_agree_with_the_model(kind);
        suite::destroying_it_gives_everything_back(kind);
        suite::heaps_side_by_side_are_apart(kind);
        Kind on_pages = kind;
        on_pages.create_over_watched = nullptr; // which can not be cleared: a list on it keeps what it has
        suite::cleared_it_is_as_new(on_pages);
        if (any_size && kind.requests.max_size >= 4_MiB) {
            suite::alignments_up_to_a_megabyte(kind);
            suite::nothing_is_as_in_c(kind);
        }
    }
    if (kind.requests.max_size >= 64_KiB) {
        suite::out_of_memory_at_every_step_is_an_answer(kind);
        if (!composition.bounded) {
            suite::what_no_machine_has_is_nullptr(kind);
        }
    }
    knows_its_blocks_from_those_of_others(kind);
    EXPECT_FALSE(composition.can_be_copied && kind.has_many);
    EXPECT_TRUE(!composition.forks || composition.hold_and_let_go != nullptr)
        << "locks that nobody can hold across a fork";
    if (composition.hold_and_let_go != nullptr) {
        composition.hold_and_let_go(
            [](AnyHeap heap, std::size_t size) {
                if (void *const p = heap.malloc(size)) {
                    heap.free(p);
                }
            },
            any_size ? 1 : kind.requests.fixed_size);
    }
}

TEST_P(Compositions, ThreadsMayCallAtOnce) {
    const Composition &composition = compositions()[GetParam()];
    SCOPED_TRACE(composition.text);
    if (!composition.little) {
        suite::threads_may_call_at_once(composition.kind);
    }
}

INSTANTIATE_TEST_SUITE_P(ByChance, Compositions, testing::Range<std::size_t>(0, compositions().size()));

} // namespace cairn::conformance
