// SPDX-License-Identifier: MIT
#include "first_class.hpp"
#include "signals.hpp"

#include <cstring>
#include <new>
#include <pthread.h>

namespace cairn::process_heap {
namespace {

using Classes = Heap::SizeClasses;
using Discipline = Heap::Levels::Global::Emptiness;

/// A block too long for a superblock. Its node is a small block of the same heap and not a header before the
/// block: so the block keeps its alignment, and a wrong pointer is looked up instead of read.
struct LongBlock {
    void *memory;
    LongBlock *next;
};

constexpr std::uint64_t alive = 0x6361'6972'6e2d'6870;

} // namespace

struct FirstClassHeap {
    std::uint64_t mark = alive;
    sync::Lock lock{sync::Rank::registry};
    FirstClassHeap *next = nullptr; ///< all heaps
    FirstClassHeap *previous = nullptr;
    OwnerLine *current[Classes::count] = {}; ///< the superblock that a class allocates from
    std::uint32_t live[Classes::count] = {};
    std::uint32_t superblocks[Classes::count] = {};
    std::uint64_t touched = 0; ///< bytes of its superblocks that were ever used
    Places<Classes::count> places;
    LongBlock *long_table[256] = {};
};

namespace {

constinit sync::Lock list_lock{sync::Rank::thread_heap};
constinit FirstClassHeap *all_heaps = nullptr;

SuperblockMaker<Classes> &maker() {
    return heap.levels().global().maker();
}

/// No free() takes it for a thread's heap.
void *mark_of(const FirstClassHeap &h) {
    return reinterpret_cast<void *>(address_of(&h) | superblock::no_thread_heap);
}

void mark_slots(OwnerLine *s, SlotKind kind) {
    Segment *const segment = Segment::of(s);
    segment->set_kinds(segment->slot_of(s), s->slots, kind);
}

[[noreturn]] CAIRN_COLD void not_ours(const void *p) {
    superblock::invalid("cairn_heap_free of", p, "which is no block of this heap");
}

// ---- superblocks; the caller holds the heap's lock

OwnerLine *make_superblock(FirstClassHeap &h, unsigned c) {
    OwnerLine *const s = maker().make(c, 0);
    if (s != nullptr) {
        mark_slots(s, SlotKind::large_tail);
        set_owner(s, mark_of(h));
        ++h.superblocks[c];
        h.touched += s->touched;
    }
    return s;
}

bool carve(FirstClassHeap &h, OwnerLine *s) {
    const std::uint32_t before = s->touched;
    const bool more = superblock::carve(s);
    h.touched += s->touched - before;
    maker().touch(s->touched - before);
    return more;
}

void give_back(FirstClassHeap &h, OwnerLine *s) {
    --h.superblocks[s->size_class];
    h.touched -= s->touched;
    set_owner(s, nullptr);
    maker().release_run(s);
}

/// The heap's superblock that p lies in, or nullptr. Reads descriptors only.
OwnerLine *superblock_of(const FirstClassHeap &h, const void *p) {
    const std::uintptr_t address = address_of(p);
    if (!in_segment(address)) {
        return nullptr;
    }
    OwnerLine *const s = owner_line_of(first_line_at(address));
    const bool mine = shared_of(s)->owner.load(std::memory_order_relaxed) == mark_of(h);
    return mine && address - memory_of(s) < span_of(s) ? s : nullptr;
}

/// Where it belongs by how full it is now.
void place(FirstClassHeap &h, OwnerLine *s) {
    h.places.take_out(s);
    s->accounted = s->live();
    h.places.put(s);
}

void *allocate_small(FirstClassHeap &h, unsigned c) {
    OwnerLine *s = h.current[c];
    while (s == nullptr || (superblock::is_end(s->free) && !carve(h, s))) {
        if (s != nullptr) {
            place(h, s);
        }
        s = h.places.take_fullest(c);
        if (s == nullptr && (s = make_superblock(h, c)) == nullptr) {
            h.current[c] = nullptr;
            return nullptr;
        }
        s->place = Place::current;
        h.current[c] = s;
    }
    ++h.live[c];
    return superblock::pop(s, span_of(s));
}

/// In the table of long blocks.
LongBlock **link_to(FirstClassHeap &h, const void *p) {
    constexpr std::size_t buckets = sizeof h.long_table / sizeof h.long_table[0];
    LongBlock **link = &h.long_table[address_of(p) / slot_size % buckets];
    while (*link != nullptr && (*link)->memory != p) {
        link = &(*link)->next;
    }
    return link;
}

/// Whether a live small block is not the program's. The program may know its address: a block of the program's was there before.
/// A node begins with the address of its long block.
bool is_node(FirstClassHeap &h, const OwnerLine *s, const void *p) {
    if (s->size_class != Classes::class_of(sizeof(LongBlock))) {
        return false;
    }
    void *memory = nullptr;
    std::memcpy(&memory, p, sizeof memory);
    return address_of(memory) % platform::cache_line == 0 && *link_to(h, memory) == p;
}

void free_small(FirstClassHeap &h, OwnerLine *s, void *p) {
    superblock::check_live(s, p, "cairn_heap_free of");
    if (CAIRN_UNLIKELY(is_node(h, s, p))) {
        not_ours(p);
    }
    --h.live[s->size_class];
    superblock::push(s, address_of(p));
    if (s->place == Place::current) {
        return;
    }
    // One without live blocks may serve any class of any heap: it does not wait here.
    if (s->live() == 0) {
        h.places.take_out(s);
        give_back(h, s);
    } else if (s->place == Place::full ||
               s->accounted >= s->live() + Discipline::step_of(shared_of(s)->capacity)) {
        place(h, s);
    }
}

// ---- long blocks; the caller holds the heap's lock

void *allocate_long(FirstClassHeap &h, std::size_t size, std::size_t alignment) {
    auto *const node = static_cast<LongBlock *>(allocate_small(h, Classes::class_of(sizeof(LongBlock))));
    if (node == nullptr) {
        return nullptr;
    }
    bool clean = false;
    void *const p = heap.levels().long_blocks().malloc(size, alignment, clean);
    if (p == nullptr) {
        free_small(h, superblock_of(h, node), node);
        return nullptr;
    }
    heap.levels().long_blocks().set_hidden(p, true);
    LongBlock **const link = link_to(h, p);
    *link = new (node) LongBlock{p, nullptr};
    return p;
}

void free_memory_of(LongBlock *block) {
    auto &long_blocks = heap.levels().long_blocks();
    long_blocks.set_hidden(block->memory, false);
    long_blocks.free(superblock::find(block->memory, "cairn_heap_free of"), block->memory);
}

void free_long(FirstClassHeap &h, void *p) {
    LongBlock **const link = link_to(h, p);
    LongBlock *const block = *link;
    if (block == nullptr) {
        not_ours(p);
    }
    *link = block->next;
    free_memory_of(block);
    free_small(h, superblock_of(h, block), block);
}

/// Memory may have been taken from the system; to call without a lock.
void note_growth() {
    if (heap.levels().after_growth()) {
        Hooks::grew();
    }
}

/// Memory was given back; to call without a lock.
void note_surplus() {
    if (heap.levels().surplus_bytes() > heap.surplus_limit()) {
        Hooks::surplus();
    }
}

FirstClassHeap &checked(FirstClassHeap *h, const char *what) {
    if (h == nullptr || h->mark != alive) {
        platform::fatal({what, " ", static_cast<const void *>(h), ", which is no heap, or a destroyed one"});
    }
    return *h;
}

// ---- figures; the caller holds the lock of the list

void add_heaps_locked(Statistics &out) {
    for (FirstClassHeap *h = all_heaps; h != nullptr; h = h->next) {
        const sync::Glance hold(h->lock);
        out.small_resident += h->touched;
        for (unsigned c = 0; c < Classes::count; ++c) {
            SizeClassStatistics &row = out.by_class[c];
            const std::uint64_t bytes = std::uint64_t{h->live[c]} * row.block_size;
            row.superblocks += h->superblocks[c];
            row.live_blocks += h->live[c];
            out.superblocks += h->superblocks[c];
            out.small_live += bytes;
        }
    }
}

// ---- fork

sigset_t mask_before_fork; // of the thread that forks; list_lock's

/// Without signals: a handler that forks as well would wait for the locks of the fork that it has interrupted.
void before_fork() {
    const sigset_t before = hold_back_signals();
    list_lock.hold_across_fork();
    mask_before_fork = before;
    for (FirstClassHeap *h = all_heaps; h != nullptr; h = h->next) {
        h->lock.hold_across_fork();
    }
}

void after_fork() {
    for (FirstClassHeap *h = all_heaps; h != nullptr; h = h->next) {
        h->lock.let_go_after_fork();
    }
    const sigset_t before = mask_before_fork;
    list_lock.let_go_after_fork();
    let_signals_through(before);
}

} // namespace

void keep_heaps_across_fork() noexcept {
    pthread_atfork(before_fork, after_fork, after_fork);
}

void untouch_after_fork() noexcept {
    for (const FirstClassHeap *h = all_heaps; h != nullptr; h = h->next) {
        std::size_t held = 0;
        for (unsigned c = 0; c < Classes::count; ++c) {
            held += h->superblocks[c] * SuperblockMaker<Classes>::span_of_class(c);
        }
        maker().runs().untouch(held - h->touched);
    }
}

FirstClassHeap *create() noexcept {
    void *const memory = heap.malloc(sizeof(FirstClassHeap));
    if (memory == nullptr) {
        return nullptr;
    }
    auto *const h = new (memory) FirstClassHeap;
    sync::Guard hold(list_lock);
    h->next = all_heaps;
    if (all_heaps != nullptr) {
        all_heaps->previous = h;
    }
    all_heaps = h;
    return h;
}

void *allocate(FirstClassHeap *which, std::size_t size, std::size_t alignment) noexcept {
    FirstClassHeap &h = checked(which, "cairn_heap_alloc from");
    if (CAIRN_UNLIKELY(heap.levels().long_blocks().is_beyond_all(size, alignment))) {
        return nullptr; // it would fail whatever is given up
    }
    const auto attempt = [&] {
        sync::Guard hold(h.lock);
        return Heap::serves_from_superblock(size, alignment)
                   ? allocate_small(h, Classes::aligned_class_of(size, alignment))
                   : allocate_long(h, size, alignment);
    };
    void *p = attempt();
    if (CAIRN_UNLIKELY(p == nullptr) && heap.trim(0) != 0) {
        p = attempt();
    }
    note_growth();
    return p;
}

void deallocate(FirstClassHeap *which, void *p) noexcept {
    FirstClassHeap &h = checked(which, "cairn_heap_free to");
    if (p == nullptr) {
        return;
    }
    {
        sync::Guard hold(h.lock);
        if (OwnerLine *const s = superblock_of(h, p)) {
            free_small(h, s, p);
        } else {
            free_long(h, p);
        }
    }
    note_surplus();
}

void destroy(FirstClassHeap *which) noexcept {
    if (which == nullptr) {
        return;
    }
    FirstClassHeap &h = checked(which, "cairn_heap_destroy of");
    {
        sync::Guard hold(h.lock); // nobody else uses the heap, but another thread may fork or ask for figures
        h.mark = 0;
        for (LongBlock *block : h.long_table) {
            for (; block != nullptr; block = block->next) {
                free_memory_of(block);
            }
        }
        for (OwnerLine *const s : h.current) {
            if (s != nullptr) {
                give_back(h, s);
            }
        }
        while (OwnerLine *const s = h.places.any()) {
            h.places.take_out(s);
            give_back(h, s);
        }
        for (std::uint32_t &count : h.live) {
            count = 0;
        }
    }
    {
        sync::Guard hold(list_lock);
        (h.previous != nullptr ? h.previous->next : all_heaps) = h.next;
        if (h.next != nullptr) {
            h.next->previous = h.previous;
        }
    }
    heap.free(&h);
    note_surplus();
}

void whole_statistics(Statistics &out, bool at_exit) noexcept {
    statistics(out);
    if (at_exit) {
        const sync::Glance hold(list_lock);
        hold ? add_heaps_locked(out) : void();
    } else { // who forks holds the lock for as long as that takes
        const sync::Guard hold(list_lock);
        add_heaps_locked(out);
    }
}

} // namespace cairn::process_heap
