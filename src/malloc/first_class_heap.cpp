// SPDX-License-Identifier: MIT
#include "first_class_heap.hpp"

#include <new>

namespace cairn::process_heap {
namespace {

using Discipline = Heap::Levels::Global::Emptiness;

[[noreturn]] CAIRN_COLD void not_ours(const void *p) {
    superblock::invalid("cairn_heap_free of", p, "which is no block of this heap");
}

void free_memory_of(LargeBlock *block) {
    auto &long_blocks = heap.levels().long_blocks();
    long_blocks.set_hidden(block->memory, false);
    long_blocks.free(superblock::find(block->memory, "cairn_heap_free of"), block->memory);
}

} // namespace

void *FirstClassHeap::allocate(std::size_t size, std::size_t alignment) {
    return Heap::serves_from_superblock(size, alignment)
               ? allocate_small(Classes::aligned_class_of(size, alignment))
               : allocate_large(size, alignment);
}

void FirstClassHeap::deallocate(void *p) {
    if (OwnerLine *const s = superblock_of(p)) {
        deallocate_small(s, p);
    } else {
        deallocate_large(p);
    }
}

void FirstClassHeap::clear() {
    large_blocks.for_each(free_memory_of);
    for (OwnerLine *const s : current) {
        if (s != nullptr) {
            give_back(s);
        }
    }
    while (OwnerLine *const s = places.any()) {
        places.take_out(s);
        give_back(s);
    }
    for (std::uint32_t &count : live) {
        count = 0;
    }
}

void FirstClassHeap::add_to(Statistics &out) const {
    out.small_resident += touched;
    for (unsigned c = 0; c < Classes::count; ++c) {
        SizeClassStatistics &row = out.by_class[c];
        row.superblocks += superblocks[c];
        row.live_blocks += live[c];
        out.superblocks += superblocks[c];
        out.small_live += std::uint64_t{live[c]} * row.block_size;
    }
}

std::size_t FirstClassHeap::untouched() const {
    std::size_t held = 0;
    for (unsigned c = 0; c < Classes::count; ++c) {
        held += superblocks[c] * SuperblockMaker<Classes>::span_of_class(c);
    }
    return held - touched;
}

// ---- superblocks

/// The owner of the heap's superblocks, encoded so that free() does not take it for a thread heap.
void *FirstClassHeap::owner_tag() const {
    return reinterpret_cast<void *>(address_of(this) | superblock::no_thread_heap);
}

OwnerLine *FirstClassHeap::make_superblock(unsigned c) {
    OwnerLine *const s = maker().make(c, 0);
    if (s != nullptr) {
        Segment *const segment = Segment::of(s);
        segment->set_kinds(segment->slot_of(s), s->slots, SlotKind::large_tail);
        set_owner(s, owner_tag());
        ++superblocks[c];
        touched += s->touched;
    }
    return s;
}

/// Carves a page of blocks. False: all of the superblock is carved.
bool FirstClassHeap::carve(OwnerLine *s) {
    const std::uint32_t before = s->touched;
    const bool more = superblock::carve(s);
    touched += s->touched - before;
    maker().touch(s->touched - before);
    return more;
}

void FirstClassHeap::give_back(OwnerLine *s) {
    --superblocks[s->size_class];
    touched -= s->touched;
    set_owner(s, nullptr);
    maker().release_run(s);
}

/// The superblock of the heap that p lies in, or nullptr. Reads descriptors only.
OwnerLine *FirstClassHeap::superblock_of(const void *p) const {
    const std::uintptr_t address = address_of(p);
    if (!in_segment(address)) {
        return nullptr;
    }
    OwnerLine *const s = owner_line_of(first_line_at(address));
    const bool mine = shared_of(s)->owner.load(std::memory_order_relaxed) == owner_tag();
    return mine && address - memory_of(s) < span_of(s) ? s : nullptr;
}

/// Moves a superblock to the list for its present fullness.
void FirstClassHeap::relink(OwnerLine *s) {
    places.take_out(s);
    s->accounted = s->live();
    places.put(s);
}

// ---- small blocks

void *FirstClassHeap::allocate_small(unsigned c) {
    OwnerLine *s = current[c];
    while (s == nullptr || (superblock::is_end(s->free) && !carve(s))) {
        if (s != nullptr) {
            relink(s);
        }
        s = places.take_fullest(c);
        if (s == nullptr && (s = make_superblock(c)) == nullptr) {
            current[c] = nullptr;
            return nullptr;
        }
        s->place = Place::current;
        current[c] = s;
    }
    ++live[c];
    return superblock::pop(s, span_of(s));
}

void FirstClassHeap::deallocate_small(OwnerLine *s, void *p) {
    superblock::check_live(s, p, "cairn_heap_free of");
    if (CAIRN_UNLIKELY(s->size_class == node_class && large_blocks.is_node(p))) {
        not_ours(p);
    }
    --live[s->size_class];
    superblock::push(s, address_of(p));
    if (s->place == Place::current) {
        return;
    }
    // A superblock without live blocks goes back at once: any class of any heap can use it.
    if (s->live() == 0) {
        places.take_out(s);
        give_back(s);
    } else if (s->place == Place::full ||
               s->accounted >= s->live() + Discipline::step_of(shared_of(s)->capacity)) {
        relink(s);
    }
}

// ---- large and huge blocks

void *FirstClassHeap::allocate_large(std::size_t size, std::size_t alignment) {
    void *const node = allocate_small(node_class);
    if (node == nullptr) {
        return nullptr;
    }
    bool clean = false;
    void *const p = heap.levels().long_blocks().malloc(size, alignment, clean);
    if (p == nullptr) {
        deallocate_small(superblock_of(node), node);
        return nullptr;
    }
    heap.levels().long_blocks().set_hidden(p, true);
    large_blocks.insert(new (node) LargeBlock{p, nullptr});
    return p;
}

void FirstClassHeap::deallocate_large(void *p) {
    LargeBlock *const block = large_blocks.remove(p);
    if (block == nullptr) {
        not_ours(p);
    }
    free_memory_of(block);
    deallocate_small(superblock_of(block), block);
}

} // namespace cairn::process_heap
