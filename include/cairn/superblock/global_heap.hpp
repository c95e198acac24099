// SPDX-License-Identifier: MIT
//
// Global heap: the superblocks that no thread heap has, between thread heaps and free runs.
//
// Adds:    acquire, make_from_empty and make_from_run, which give a heap a superblock of a class; release, which takes
//          a heap's surplus superblock; notice, which delivers notices, and re-files superblocks that are here.
// Needs:   SuperblockMaker below; the heaps' inboxes.
// Keeps:   a superblock whose RemoteWord names owner 0 is in the lists here. Only threads that hold the lock change it,
//          apart from pushes on its remote word. A superblock without live blocks stays, and becomes one of any class,
//          or a free run, before fresh memory is taken.
// Threads: any; one lock, held for some tens of instructions.
// Errors:  nullptr when out of memory.
// Cost:    the lock once for each superblock that moves.
// Source:  Hoard, sections 3.1 and 3.4 (heap 0).
#pragma once

#include <cairn/superblock/block_check.hpp>
#include <cairn/superblock/empties.hpp>
#include <cairn/superblock/notices.hpp>
#include <cairn/superblock/orphans.hpp>

namespace cairn {

template <class Classes, class Discipline>
class GlobalHeap {
public:
    using SizeClasses = Classes;
    using Emptiness = Discipline;
    using Maker = SuperblockMaker<Classes>;
    using Notice = Notices<Discipline>;

    struct Counters {
        std::size_t to_global = 0;
        std::size_t from_global = 0;
    };

    explicit constexpr GlobalHeap(RunHeap &runs) : maker_(runs) {}
    GlobalHeap(const GlobalHeap &) = delete;
    GlobalHeap &operator=(const GlobalHeap &) = delete;

    /// A superblock of the class with a free block for `heap`, whose ThreadHeap is `owner`; nullptr when there is none
    /// for it.
    OwnerLine *acquire(unsigned size_class, unsigned heap, void *owner) {
        orphans_.adopt();
        OwnerLine *s = nullptr;
        {
            sync::Guard hold(lock_);
            s = stock_.take(size_class, heap);
            if (s == nullptr) {
                return nullptr;
            }
            ++counters_.from_global;
            // From here on remote frees are the new owner's. release: pairs with the acquire of free_remote, whose
            // thread finds the inbox by the number. The lock hands over everything else; the frees so far are counted,
            // their blocks are not used.
            remote_of(s)->word.fetch_or(RemoteWord::owned_by(heap), std::memory_order_release);
        }
        if (s->accounted == 0) {
            Notice::arm(s);
        }
        Notice::own(s, owner);
        return s;
    }

    /// A superblock without carved blocks, made of one without live blocks; nullptr where there is none, or dirty runs
    /// would do.
    OwnerLine *make_from_empty(unsigned size_class, unsigned heap, void *owner) {
        return owned(empties_.make_from_empty(size_class, heap), owner);
    }

    /// A superblock without carved blocks, made of a run: to call after make_from_empty(). nullptr when out of memory.
    OwnerLine *make_from_run(unsigned size_class, unsigned heap, void *owner) {
        return owned(empties_.make_from_run(size_class, heap), owner);
    }

    /// Makes superblocks without live blocks free runs until `bytes` of dirty memory are in free runs.
    void make_room(std::size_t bytes) {
        orphans_.adopt();
        empties_.make_room(bytes);
    }
    /// `bytes` of superblocks were touched for the first time: free dirty memory goes back for them (Empties::pay).
    void pay(std::size_t bytes) { empties_.pay(bytes); }
    /// `bytes` of superblocks that were touched have gone back to the operating system.
    void untouch(std::size_t bytes) {
        if (bytes != 0) {
            maker_.runs().untouch(bytes);
            maker_.runs().gave_back(bytes);
        }
    }

    /// How much of `bytes` a heap may have free: all while the process is small, else its share (HeapsInUse).
    std::size_t share(std::size_t bytes) {
        return maker_.runs().line().is_small() ? bytes : stock_.heaps().share(bytes);
    }

    /// Bytes of superblocks here without live blocks, and of dirty free runs. A hint.
    std::size_t free_bytes() const { return stock_.empty_bytes() + maker_.used_memory(); }
    /// How much of free_bytes() was touched. A hint.
    std::size_t free_touched() const { return stock_.empty_touched() + maker_.used_memory(); }

    /// Formats a superblock of the caller's heap without live blocks for another class.
    void change_class(OwnerLine *s, unsigned size_class, unsigned heap, void *owner) {
        empties_.change_class(s, size_class, heap);
        owned(s, owner);
    }

    /// Takes a superblock over from `heap`. False while a notice about it is on its way: only SharedLine::owner has
    /// changed, to null.
    bool release(OwnerLine *s, unsigned heap) {
        set_owner(s, nullptr);
        sync::Guard hold(lock_);
        if (!Notice::let_go(s, /*own_notice=*/false)) {
            return false;
        }
        counters_.to_global += s->accounted != 0;
        stock_.put(s, heap);
        return true;
    }

    /// For a thread that has just set a superblock's queued bit: delivers the notice to the owner. Returns the inbox
    /// that got it; nullptr where the global heap owns the superblock, which gets its new place here.
    Inbox *notice(OwnerLine *s, RemoteWord word) {
        return word.owner() != 0 ? notices_.deliver(s, word.owner()) : refile(s);
    }

    Counters counters() {
        const sync::Glance hold(lock_);
        return counters_;
    }

    Maker &maker() { return maker_; }
    Notice &notices() { return notices_; }
    Stock<Classes, Discipline> &stock() { return stock_; }

    /// In the child of a fork: forgets the lists. After this orphan() gets each superblock whose heap the child does
    /// not have.
    void reset_after_fork() {
        lock_.reset_after_fork();
        stock_.forget();
        orphans_.forget();
        notices_.wanted_visits().reset_after_fork();
    }
    void orphan(OwnerLine *s) { orphans_.put(s); }

private:
    /// Sets notice threshold and owner of a superblock of which no block is carved.
    static OwnerLine *owned(OwnerLine *s, void *owner) {
        if (s != nullptr) {
            Notice::arm(s);
            Notice::own(s, owner);
        }
        return s;
    }

    /// Moves a superblock here whose remote frees reached the notice threshold to its new list; they stay in its remote
    /// list.
    Inbox *refile(OwnerLine *s) {
        {
            sync::Guard hold(lock_);
            // relaxed: under the lock
            const RemoteWord word{remote_of(s)->word.load(std::memory_order_relaxed)};
            if (word.owner() != 0) { // a thread heap acquired it meanwhile: the notice is for that heap
                return notices_.deliver(s, word.owner());
            }
            if (s->place != Place::orphan) {
                stock_.take_out(s);
                Notice::let_go(s, /*own_notice=*/true);
                stock_.put(s, s->last_heap);
                return nullptr;
            }
        }
        orphans_.adopt(s);
        return nullptr;
    }

    Maker maker_;
    sync::Lock lock_{sync::Rank::global_heap};
    Stock<Classes, Discipline> stock_;
    Empties<Classes, Discipline> empties_{maker_, stock_, lock_};
    Orphans<Classes, Discipline> orphans_{maker_, stock_, lock_};
    Counters counters_;
    Notice notices_;
};

} // namespace cairn
