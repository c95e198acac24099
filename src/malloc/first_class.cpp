// SPDX-License-Identifier: MIT
#include "first_class.hpp"
#include "large_block_table.hpp"
#include "signals.hpp"

#include <new>
#include <pthread.h>

namespace cairn::process_heap {
namespace {

using Classes = Heap::SizeClasses;
using Discipline = Heap::Levels::Global::Emptiness;

constexpr unsigned node_class = Classes::class_of(sizeof(LargeBlock));
constexpr std::uint64_t alive = 0x6361'6972'6e2d'6870;

} // namespace

struct FirstClassHeap {
    std::uint64_t magic = alive; ///< something else: the heap was destroyed, or the pointer is not to a heap
    sync::Lock lock{sync::Rank::registry};
    FirstClassHeap *next = nullptr; ///< in the list of all heaps
    FirstClassHeap *previous = nullptr;
    OwnerLine *current[Classes::count] = {};        ///< the superblock that a class allocates from
    std::uint32_t live[Classes::count] = {};        ///< live blocks of a class, including nodes
    std::uint32_t superblocks[Classes::count] = {}; ///< superblocks of a class
    std::uint64_t touched = 0;                      ///< touched bytes of its superblocks
    Places<Classes::count> places;                  ///< the superblocks that are not current
    LargeBlockTable large_blocks;                   ///< large and huge blocks
};

namespace {

constinit sync::Lock list_lock{sync::Rank::thread_heap};
constinit FirstClassHeap *all_heaps = nullptr;

SuperblockMaker<Classes> &maker() {
    return heap.levels().global().maker();
}

/// The owner of the heap's superblocks, encoded so that free() does not take it for a thread heap.
void *owner_tag(const FirstClassHeap &h) {
    return reinterpret_cast<void *>(address_of(&h) | superblock::no_thread_heap);
}

void set_slot_kinds(OwnerLine *s, SlotKind kind) {
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
        set_slot_kinds(s, SlotKind::large_tail);
        set_owner(s, owner_tag(h));
        ++h.superblocks[c];
        h.touched += s->touched;
    }
    return s;
}

/// Carves a page of blocks. False: all of the superblock is carved.
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

/// The superblock of the heap that p lies in, or nullptr. Reads descriptors only.
OwnerLine *superblock_of(const FirstClassHeap &h, const void *p) {
    const std::uintptr_t address = address_of(p);
    if (!in_segment(address)) {
        return nullptr;
    }
    OwnerLine *const s = owner_line_of(first_line_at(address));
    const bool mine = shared_of(s)->owner.load(std::memory_order_relaxed) == owner_tag(h);
    return mine && address - memory_of(s) < span_of(s) ? s : nullptr;
}

/// Moves a superblock to the list for its present fullness.
void relink(FirstClassHeap &h, OwnerLine *s) {
    h.places.take_out(s);
    s->accounted = s->live();
    h.places.put(s);
}

void *allocate_small(FirstClassHeap &h, unsigned c) {
    OwnerLine *s = h.current[c];
    while (s == nullptr || (superblock::is_end(s->free) && !carve(h, s))) {
        if (s != nullptr) {
            relink(h, s);
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

void free_small(FirstClassHeap &h, OwnerLine *s, void *p) {
    superblock::check_live(s, p, "cairn_heap_free of");
    if (CAIRN_UNLIKELY(s->size_class == node_class && h.large_blocks.is_node(p))) {
        not_ours(p);
    }
    --h.live[s->size_class];
    superblock::push(s, address_of(p));
    if (s->place == Place::current) {
        return;
    }
    // A superblock without live blocks goes back at once: any class of any heap can use it.
    if (s->live() == 0) {
        h.places.take_out(s);
        give_back(h, s);
    } else if (s->place == Place::full ||
               s->accounted >= s->live() + Discipline::step_of(shared_of(s)->capacity)) {
        relink(h, s);
    }
}

// ---- large and huge blocks; the caller holds the heap's lock

void *allocate_large(FirstClassHeap &h, std::size_t size, std::size_t alignment) {
    void *const node = allocate_small(h, node_class);
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
    h.large_blocks.insert(new (node) LargeBlock{p, nullptr});
    return p;
}

void free_memory_of(LargeBlock *block) {
    auto &long_blocks = heap.levels().long_blocks();
    long_blocks.set_hidden(block->memory, false);
    long_blocks.free(superblock::find(block->memory, "cairn_heap_free of"), block->memory);
}

void free_large(FirstClassHeap &h, void *p) {
    LargeBlock *const block = h.large_blocks.remove(p);
    if (block == nullptr) {
        not_ours(p);
    }
    free_memory_of(block);
    free_small(h, superblock_of(h, block), block);
}

/// After memory may have been taken from the operating system. The caller holds no lock.
void handle_growth() {
    if (heap.levels().after_growth()) {
        Hooks::grew();
    }
}

/// After memory was freed. The caller holds no lock.
void handle_surplus() {
    if (heap.levels().surplus_bytes() > heap.surplus_limit()) {
        Hooks::surplus();
    }
}

FirstClassHeap &checked(FirstClassHeap *h, const char *what) {
    if (h == nullptr || h->magic != alive) {
        platform::fatal({what, " ", static_cast<const void *>(h), ", which is no heap, or a destroyed one"});
    }
    return *h;
}

// ---- statistics; the caller holds the lock of the list

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

sigset_t mask_before_fork; // of the thread that forks, which holds list_lock

/// Blocks signals: a handler that forks would wait for locks that the interrupted thread holds for its own fork.
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
        return nullptr; // no memory that could be given back would help
    }
    const auto attempt = [&] {
        sync::Guard hold(h.lock);
        return Heap::serves_from_superblock(size, alignment)
                   ? allocate_small(h, Classes::aligned_class_of(size, alignment))
                   : allocate_large(h, size, alignment);
    };
    void *p = attempt();
    if (CAIRN_UNLIKELY(p == nullptr)) {
        heap.trim(0); // whatever it returns: locked pages do not go back, and serve all the same
        heap.levels().give_up_caches();
        p = attempt();
    }
    handle_growth();
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
            free_large(h, p);
        }
    }
    handle_surplus();
}

void destroy(FirstClassHeap *which) noexcept {
    if (which == nullptr) {
        return;
    }
    FirstClassHeap &h = checked(which, "cairn_heap_destroy of");
    {
        sync::Guard hold(h.lock); // nobody else may use it, but another thread may fork or read statistics
        h.magic = 0;
        h.large_blocks.for_each(free_memory_of);
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
        if (h.previous != nullptr) {
            h.previous->next = h.next;
        } else {
            all_heaps = h.next;
        }
        if (h.next != nullptr) {
            h.next->previous = h.previous;
        }
    }
    heap.free(&h);
    handle_surplus();
}

void whole_statistics(Statistics &out, bool at_exit) noexcept {
    statistics(out);
    const sigset_t before = hold_back_signals(); // a handler that forks would wait for the lock of the list
    if (at_exit) {
        const sync::Glance hold(list_lock);
        if (hold) {
            add_heaps_locked(out);
        }
    } else { // a thread that forks holds the lock until the fork is done
        const sync::Guard hold(list_lock);
        add_heaps_locked(out);
    }
    let_signals_through(before);
}

} // namespace cairn::process_heap
