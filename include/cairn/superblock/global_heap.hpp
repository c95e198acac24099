// SPDX-License-Identifier: MIT
//
// Global heap: the superblocks that no thread heap holds, and the border between thread heaps and free runs.
//
// Adds:    acquire (a superblock of a class), fresh (a new one), release (a thread heap's surplus),
//          and the reclaiming of superblocks that empty out here through remote frees.
// Needs:   SuperblockMaker below; the heaps' in-inboxes.
// Keeps:   a superblock whose RemoteWord names owner 0 is in these lists, and is nobody else's to touch but for
//          pushes on its remote word; one without live blocks stays, and becomes one of any class, or a free run, before
//          memory is taken that nothing has used yet.
// Threads: any; one lock, held for some tens of instructions.
// Errors:  nullptr when out of memory.
// Cost:    one lock for each superblock moved.
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

    /// A superblock of the class that has room, now owned by `heap`; nullptr when there is none for it.
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
            // thread finds the inbox by the number. The lock hands over the rest; the frees so far are counted, not used.
            remote_of(s)->word.fetch_or(RemoteWord::owned_by(heap), std::memory_order_release);
        }
        if (s->accounted == 0) {
            Notice::arm(s);
        }
        Notice::own(s, owner);
        return s;
    }

    /// A superblock without any carved block, owned by `heap`, made of one without live blocks; nullptr where there is none, or where
    /// fresh() takes used memory.
    OwnerLine *make_from_empty(unsigned size_class, unsigned heap, void *owner) {
        return owned(empties_.make_from_empty(size_class, heap), owner);
    }

    /// The same from a run, where there was nothing to remake; nullptr when out of memory.
    OwnerLine *make_from_run(unsigned size_class, unsigned heap, void *owner) {
        return owned(empties_.make_from_run(size_class, heap), owner);
    }

    void make_room(std::size_t bytes) {
        orphans_.adopt();
        empties_.make_room(bytes);
    }
    void pay(std::size_t bytes) { empties_.pay(bytes); }
    void untouch(std::size_t bytes) {
        if (bytes != 0) {
            maker_.runs().untouch(bytes);
        }
    }

    /// Of so many bytes, what a heap may have free: all of them while the whole process has little, else its share.
    std::size_t share(std::size_t bytes) {
        return maker_.runs().line().is_small() ? bytes : stock_.heaps().share(bytes);
    }

    /// Bytes without any live block, here and in used free runs. A hint.
    std::size_t free_bytes() const { return stock_.empty_bytes() + maker_.used_memory(); }

    /// What of that was touched. A hint.
    std::size_t free_touched() const { return stock_.empty_touched() + maker_.used_memory(); }

    /// Formats an empty superblock of the caller's for another class.
    void change_class(OwnerLine *s, unsigned size_class, unsigned heap, void *owner) {
        empties_.change_class(s, size_class, heap);
        owned(s, owner);
    }

    /// Takes a superblock over from `heap`. False, and nothing has changed but the owner, while a notice about it is on its way.
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

    /// For a superblock whose queued bit the caller has just set: tells whoever owns it. The inbox that got it, or nullptr.
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

    /// In the child of a fork of a threaded process: forgets the lists. Then orphan() is told what nobody holds who is still there.
    void reset_after_fork() {
        lock_.reset_after_fork();
        stock_.forget();
        orphans_.forget();
        notices_.wanted_visits().reset_after_fork();
    }
    void orphan(OwnerLine *s) { orphans_.put(s); }

private:
    /// One that is cut for the first time, or anew.
    static OwnerLine *owned(OwnerLine *s, void *owner) {
        if (s != nullptr) {
            Notice::arm(s);
            Notice::own(s, owner);
        }
        return s;
    }

    /// Finds the new place of a superblock that was ours when a step of remote frees was full. The blocks stay in its list.
    Inbox *refile(OwnerLine *s) {
        {
            sync::Guard hold(lock_);
            // relaxed: under the lock
            const RemoteWord word{remote_of(s)->word.load(std::memory_order_relaxed)};
            if (word.owner() != 0) { // a thread heap acquired it meanwhile; the notice is for that one
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
