// SPDX-License-Identifier: MIT
//
// Run heap: runs of 64 KiB slots, the border between the allocator and the operating system.
//
// Adds:    best fit over free runs, splitting, immediate coalescing, and the return of free memory (purging).
// Needs:   AddressSpace below.
// Keeps:   every slot of a segment is in exactly one run; no two neighbouring free runs are of the same kind
//          (dirty: may be resident; clean: reads as zero and costs nothing). Maps are never split: memory
//          goes back by madvise. Memory that was needed within the last purge period stays (low-water mark).
// Threads: any; one lock, held for some tens of instructions, never across a purge.
// Errors:  nullptr when neither the free runs nor the operating system can serve.
// Cost:    a lock and a bitmap search; a system call for 32 MiB of new address space at a time.
// Source:  LKmalloc, section 3.4 (stripes, pages committed and decommitted); Wen and Deng, section 2.3.
#pragma once

#include <cairn/run/address_space.hpp>
#include <cairn/run/run_lists.hpp>
#include <cairn/sync/lock.hpp>

namespace cairn {

class RunHeap {
public:
    struct Run {
        OwnerLine *first = nullptr;
        bool clean = false; ///< the memory reads as zero
    };

    explicit constexpr RunHeap(void *allocator) : allocator_(allocator) {}
    RunHeap(const RunHeap &) = delete;
    RunHeap &operator=(const RunHeap &) = delete;

    static constexpr unsigned longest_run = slots_per_segment - metadata_slots;

    /// A run of `slots` that starts at a multiple of `alignment` slots. Its slots are `taken`: the caller
    /// says what they are. `slots` <= longest_run.
    Run allocate(unsigned slots, unsigned alignment = 1) {
        sync::Guard hold(lock_);
        if (Run run = from_free(slots, alignment); run.first != nullptr) {
            return run;
        }
        if (grow(slots, alignment)) {
            return from_free(slots, alignment);
        }
        // Dirty and clean neighbours do not coalesce: as clean ones they do.
        while (purge_one()) {
        }
        return from_free(slots, alignment);
    }

    /// Takes back a run. `clean`: the caller knows that it reads as zero.
    void release(OwnerLine *first, bool clean = false) {
        sync::Guard hold(lock_);
        insert(first, clean);
    }

    /// Lengthens a run into the free run behind it, without moving. `clean` says whether the new part reads
    /// as zero.
    bool extend(OwnerLine *first, unsigned slots, SlotKind kind, bool &clean) {
        sync::Guard hold(lock_);
        Segment *const segment = Segment::of(first);
        const unsigned end = segment->slot_of(first) + first->slots;
        const unsigned more = slots - first->slots;
        if (end + more > slots_per_segment || end >= slots_per_segment) {
            return false;
        }
        const SlotKind behind = segment->kind(end);
        if ((behind != SlotKind::free_clean && behind != SlotKind::free_dirty) ||
            segment->owner_lines[end].slots < more) {
            return false;
        }
        clean = behind == SlotKind::free_clean;
        carve(&segment->owner_lines[end], &segment->owner_lines[end], more, behind);
        segment->set_kinds(end, more, kind);
        first->slots = static_cast<std::uint16_t>(slots);
        return true;
    }

    /// Cuts the end off a run and frees it.
    void shorten(OwnerLine *first, unsigned slots) {
        sync::Guard hold(lock_);
        OwnerLine *const tail = first + slots;
        tail->slots = static_cast<std::uint16_t>(first->slots - slots);
        first->slots = static_cast<std::uint16_t>(slots);
        insert(tail, false);
    }

    /// Gives back dirty memory, the longest runs first, until at most `keep` bytes are left. Bytes given
    /// back.
    std::size_t purge(std::size_t keep) {
        sync::Guard hold(lock_);
        const std::size_t before = purged_;
        while (dirty_.bytes() > keep && purge_one()) {
        }
        low_water_ = dirty_.bytes() < low_water_ ? dirty_.bytes() : low_water_;
        return purged_ - before;
    }

    /// One tick of the purge clock: gives back what lay unused through the whole of the last period, but for
    /// `keep` bytes.
    std::size_t purge_idle(std::size_t keep) {
        std::size_t unused = 0;
        std::size_t now = 0;
        {
            sync::Guard hold(lock_);
            unused = low_water_;
            now = dirty_.bytes();
            low_water_ = now;
        }
        return unused > keep ? purge(now - (unused - keep)) : 0;
    }

    std::size_t dirty_bytes() const { return dirty_now_.load(std::memory_order_relaxed); }

    /// Calls f(segment) for every segment; new ones come in front, none is ever taken away.
    template <class F>
    void for_each_segment(F &&f) const {
        for (Segment *s = segments_.load(std::memory_order_acquire); s != nullptr; s = s->next) {
            f(*s);
        }
    }

    template <class S>
    void statistics(S &out) {
        sync::Guard hold(lock_);
        out.free_dirty = dirty_.bytes();
        out.free_clean = clean_.bytes();
        out.purged = purged_;
        out.purges = purges_;
        out.mapped += space_.mapped();
        out.mapped_peak += space_.mapped_peak();
    }

    /// The lock and the source of addresses, shared with the heap of huge blocks.
    sync::Lock &lock() { return lock_; }
    AddressSpace &space() { return space_; }

    /// In the child of a fork of a threaded process: the lists may have been in the middle of a change in a
    /// thread that is not here. What the slots say is the truth; the lists are made anew from it.
    void repair_after_fork() {
        lock_.reset_after_fork();
        dirty_ = RunLists{};
        clean_ = RunLists{};
        for_each_segment([this](Segment &segment) {
            for (unsigned slot = metadata_slots; slot < segment.mapped_slots;) {
                const SlotKind kind = segment.kind(slot);
                unsigned end = slot + 1;
                if (kind == SlotKind::free_clean || kind == SlotKind::free_dirty) {
                    while (end < segment.mapped_slots && segment.kind(end) == kind) {
                        ++end;
                    }
                    OwnerLine *first = &segment.owner_lines[slot];
                    first->slots = static_cast<std::uint16_t>(end - slot);
                    lists(kind).insert(first);
                }
                slot = end;
            }
        });
        publish();
    }

private:
    RunLists &lists(SlotKind kind) { return kind == SlotKind::free_clean ? clean_ : dirty_; }

    Run from_free(unsigned slots, unsigned alignment) {
        // Dirty first: memory that is there already costs no fault.
        for (const SlotKind kind : {SlotKind::free_dirty, SlotKind::free_clean}) {
            OwnerLine *whole = nullptr;
            if (OwnerLine *piece = lists(kind).best_fit(slots, alignment, whole)) {
                carve(whole, piece, slots, kind);
                return {piece, kind == SlotKind::free_clean};
            }
        }
        return {};
    }

    /// Takes [piece, piece + slots) out of the free run `whole`; what is left on either side stays free.
    void carve(OwnerLine *whole, OwnerLine *piece, unsigned slots, SlotKind kind) {
        lists(kind).remove(whole);
        const auto before = static_cast<unsigned>(piece - whole);
        const unsigned after = whole->slots - before - slots;
        Segment *const segment = Segment::of(piece);
        segment->set_kinds(segment->slot_of(piece), slots, SlotKind::taken);
        piece->slots = static_cast<std::uint16_t>(slots);
        if (before != 0) {
            whole->slots = static_cast<std::uint16_t>(before);
            lists(kind).insert(whole);
        }
        if (after != 0) {
            piece[slots].slots = static_cast<std::uint16_t>(after);
            lists(kind).insert(piece + slots);
        }
        if (kind == SlotKind::free_dirty) {
            publish();
        }
    }

    /// Puts a run among the free ones of its kind, joined with its free neighbours of the same kind.
    void insert(OwnerLine *first, bool clean) {
        const SlotKind kind = clean ? SlotKind::free_clean : SlotKind::free_dirty;
        Segment *const segment = Segment::of(first);
        unsigned slot = segment->slot_of(first);
        unsigned count = first->slots;
        segment->set_kinds(slot, count, kind);
        if (slot + count < segment->mapped_slots && segment->kind(slot + count) == kind) {
            OwnerLine *const behind = first + count;
            lists(kind).remove(behind);
            count += behind->slots;
        }
        if (segment->kind(slot - 1) == kind) {
            const unsigned length = first[-1].slots;
            first -= length;
            slot -= length;
            lists(kind).remove(first);
            count += length;
        }
        first->slots = static_cast<std::uint16_t>(count);
        lists(kind).insert(first);
        publish();
    }

    bool purge_one() {
        OwnerLine *const run = dirty_.longest();
        if (run == nullptr) {
            return false;
        }
        dirty_.remove(run);
        Segment *const segment = Segment::of(run);
        segment->set_kinds(segment->slot_of(run), run->slots, SlotKind::taken);
        publish();
        lock_.unlock(); // the kernel takes its time; the run is nobody's meanwhile
        const std::size_t bytes = span_of(run);
        const bool gone = platform::vm::purge(reinterpret_cast<void *>(memory_of(run)), bytes);
        lock_.lock();
        purged_ += gone ? bytes : 0;
        ++purges_;
        insert(run, gone);
        return gone;
    }

    /// More address space: the rest of the newest segment, else a new one.
    bool grow(unsigned slots, unsigned alignment) {
        const auto wanted = static_cast<unsigned>(AddressSpace::step() / slot_size);
        Segment *const newest = segments_.load(std::memory_order_relaxed);
        if (newest != nullptr && newest->mapped_slots < slots_per_segment) {
            const unsigned room = slots_per_segment - newest->mapped_slots;
            const unsigned more = wanted < slots ? slots : wanted;
            if (slots + alignment <= room &&
                space_.extend(reinterpret_cast<void *>(newest->address_of_slot(newest->mapped_slots)),
                              (more < room ? more : room) * slot_size)) {
                add_slots(*newest, more < room ? more : room);
                return true;
            }
        }
        const unsigned least = metadata_slots + (alignment > 1 ? alignment : 0) + slots;
        for (unsigned n = wanted < least ? least : wanted;; n = n / 2 < least ? least : n / 2) {
            n = n > slots_per_segment ? slots_per_segment : n;
            if (void *window = space_.take(n * slot_size)) {
                add_segment(static_cast<Segment *>(window), n);
                return true;
            }
            if (n <= least) {
                return false;
            }
        }
    }

    void add_segment(Segment *segment, unsigned slots) {
        segment->allocator = allocator_;
        segment->mapped_slots = metadata_slots;
        segment->set_kinds(0, metadata_slots, SlotKind::metadata);
        segment->next = segments_.load(std::memory_order_relaxed);
        WindowMap::set(segment, WindowKind::segment);
        // release: pairs with the acquire of for_each_segment.
        segments_.store(segment, std::memory_order_release);
        add_slots(*segment, slots - metadata_slots);
    }

    void add_slots(Segment &segment, unsigned count) {
        OwnerLine *const first = &segment.owner_lines[segment.mapped_slots];
        first->slots = static_cast<std::uint16_t>(count);
        segment.mapped_slots += count;
        insert(first, true);
    }

    void publish() {
        const std::size_t bytes = dirty_.bytes();
        low_water_ = bytes < low_water_ ? bytes : low_water_;
        dirty_now_.store(bytes, std::memory_order_relaxed);
    }

    sync::Lock lock_{sync::Rank::runs};
    AddressSpace space_;
    RunLists dirty_;
    RunLists clean_;
    std::size_t low_water_ = 0; ///< the least that dirty_ held since the last tick
    std::size_t purged_ = 0;
    std::size_t purges_ = 0;
    std::atomic<std::size_t> dirty_now_{0};
    std::atomic<Segment *> segments_{nullptr};
    void *const allocator_;
};

} // namespace cairn
