// SPDX-License-Identifier: MIT
//
// A stage for adversaries of the bound: some threads, of which one at a time does something, so that whoever looks
// sees an allocator that stands still. Everything that the theorem of docs/bound.md is about is counted from the
// superblocks' own descriptors, and compared with it.
#pragma once

#include <allocators/bound.hpp>
#include <allocators/cairn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <semaphore>
#include <set>
#include <thread>
#include <vector>

namespace cairn::test {

struct StageHooks {
    static bool attached() { return true; }
    static void grew() noexcept {}
    static void surplus() {}
    static void returned() {}
};

struct Subject : Flagship<StageHooks> {
    /// The calling thread's heap, a new one if it has none.
    Heap *mine() {
        if (!this->Routes::threads_.attached()) {
            this->free(this->malloc(1));
        }
        return this->Routes::threads_.mine();
    }
};

// As docs/bound.md and `cairn info` publish them: what the code has may change only together with these.
struct Published {
    static constexpr double f = 1.0 / 6;
    static constexpr double in_bins = 1152 * 1024;
    static constexpr double unlisted = 128 * 1024;
    static constexpr double last_taken = 512 * 1024;
    static constexpr double pending = 128 * 1024;
    static constexpr double in_global_heap = 128 * 1024;
    static constexpr double gathered = 128 * 1024;
    static constexpr double uncarved = 1024 * 1024;
    static constexpr double huge_page = 2048 * 1024;
    static constexpr double unaccounted = 0.25;
    static constexpr double span_ratio = 131072.0 / 119808;
};

/// What the descriptors say at one moment; bytes of blocks, where nothing else is said.
struct Counted {
    struct OfHeap {
        double held = 0;        ///< a_i: touched bytes
        double accounted = 0;   ///< u_i as the heap knows it
        double live = 0;        ///< u_i as it is
        double unaccounted = 0; ///< freed, and neither accounted for nor told
        double pending = 0;     ///< freed by others, with a notice that was not taken in yet

        /// Touched beyond what the accounted blocks allow.
        double excess() const { return held - accounted / (1 - Published::f); }
    };
    std::vector<OfHeap> heaps; ///< by number; 0 is the global heap
    std::vector<double>
        free_in_global; ///< by size class, as the global heap knows it, of superblocks with live blocks
    /// Of each size class the superblocks that have not touched all their blocks, by heap.
    std::vector<std::map<unsigned, unsigned>> uncarved;
    double extents = 0;  ///< touched bytes of all superblocks, with the rests behind their last blocks
    double spans = 0;    ///< and with what they have not touched yet
    double room = 0;     ///< of all blocks that they have or will have
    double live = 0;     ///< in shares; what is gathered is live for the descriptors
    double gathered = 0; ///< in shares, by all threads
    double unaccounted = 0;
};

class Stage {
public:
    using Classes = Subject::SizeClasses;
    using Limits = Bound<Subject>;
    using Heap = Subject::Heap;
    using Discipline = Subject::Emptiness;

    struct Block {
        void *p;
        OwnerLine *superblock;
    };

    explicit Stage(unsigned threads) : blocks_(threads), heaps_(threads) {
        for (unsigned t = 0; t < threads; ++t) {
            actors_.push_back(std::make_unique<Actor>());
        }
        for (unsigned t = 0; t < threads; ++t) {
            act(t, [this, t] { heaps_[t] = subject_.mine(); });
        }
    }
    ~Stage() {
        clear();
        for (unsigned t = 0; t < threads(); ++t) {
            act(t, [] { subject_.detach(); });
        }
    }
    Stage(const Stage &) = delete;
    Stage &operator=(const Stage &) = delete;

    unsigned threads() const { return static_cast<unsigned>(actors_.size()); }
    std::vector<Block> &blocks(unsigned thread, unsigned c) { return blocks_[thread][c]; }
    double live() const { return live_; }
    double peak() const { return peak_; }

    /// As the malloc has it, but for the kit: below that nothing is growth. What is not touched is none of it.
    void set_small_process(std::size_t bytes) {
        subject_.levels().registry().set_small_process(subject_.levels().runs(), bytes);
    }

    /// Thread t does something, while all others sleep.
    void act(unsigned t, const std::function<void()> &what) { actors_[t]->act(what); }

    /// Thread t allocates so many bytes of a class, looking each time that a superblock was made.
    void allocate(unsigned t, unsigned c, std::size_t bytes) {
        act(t, [&] {
            std::vector<Block> &mine = blocks_[t][c];
            for (std::size_t n = bytes / Classes::size_of(c); n > 0; --n) {
                live_ += Limits::span_per_block(c);
                peak_ = std::max(peak_, live_);
                peaks_[c] = std::max(peaks_[c], of_class_[c] += Limits::span_per_block(c));
                auto &global = subject_.levels().global();
                const std::size_t made_before = global.maker().made();
                const std::size_t given_before = global.counters().to_global;
                most_resident_ = std::max(most_resident_, subject_.levels().resident_bytes());
                const std::size_t unused = subject_.levels().surplus_bytes();
                const std::size_t size = Classes::size_of(c);
                void *const p =
                    Classes::class_of(size) == c ? subject_.malloc(size) : subject_.memalign(size, size);
                ASSERT_NE(p, nullptr);
                mine.push_back({p, superblock_of(p)});
                segments_.insert(Segment::of(address_of(p)));
                if (global.maker().made() != made_before) {
                    const bool grown = subject_.levels().resident_bytes() > most_resident_ &&
                                       unused < Limits::span_of_class(c) &&
                                       !subject_.levels().runs().line().is_small();
                    look(grown ? heaps_[t] : nullptr,
                         global.counters().to_global == given_before ? c : Classes::count);
                }
            }
        });
        look();
    }

    /// Thread t frees those blocks that `from` has allocated of a class for which chosen() says so.
    template <class Chosen>
    void free(unsigned t, unsigned from, unsigned c, Chosen &&chosen) {
        std::vector<Block> &all = blocks_[from][c];
        const auto gone =
            std::stable_partition(all.begin(), all.end(), [&](const Block &b) { return !chosen(b); });
        act(t, [&] {
            for (auto b = gone; b != all.end(); ++b) {
                subject_.free(b->p);
            }
        });
        const double bytes = static_cast<double>(all.end() - gone) * Limits::span_per_block(c);
        live_ -= bytes;
        of_class_[c] -= bytes;
        all.erase(gone, all.end());
        look();
    }
    void free_all(unsigned t, unsigned from, unsigned c) {
        free(t, from, c, [](const Block &) { return true; });
    }

    /// Thread t ends and another one comes in its place, which has what was allocated.
    void succeed(unsigned t) {
        act(t, [this, t] {
            subject_.detach();
            heaps_[t] = subject_.mine();
        });
        look();
    }

    /// Everything is freed and given back, and the peaks are forgotten.
    void clear() {
        for (unsigned t = 0; t < threads(); ++t) {
            for (unsigned c = 0; c < Classes::count; ++c) {
                if (!blocks_[t][c].empty()) {
                    free_all(t, t, c);
                }
            }
        }
        for (unsigned t = 0; t < threads(); ++t) {
            act(t, [this, t] {
                subject_.detach();
                heaps_[t] = nullptr;
            });
        }
        subject_.trim(0);
        most_resident_ = subject_.levels().resident_bytes();
        for (unsigned t = 0; t < threads(); ++t) {
            act(t, [this, t] { heaps_[t] = subject_.mine(); });
        }
        peak_ = worst_heap_ = worst_pending_ = worst_global_ = worst_memory_ = uncarved_ = 0;
        most_uncarved_ = 0;
        peaks_ = {};
    }

    Counted count() {
        Counted now;
        now.heaps.resize(1);
        now.free_in_global.resize(Classes::count);
        now.uncarved.resize(Classes::count);
        for (Heap *heap : heaps_) {
            now.heaps.resize(std::max<std::size_t>(now.heaps.size(), number_of(heap) + 1u));
            now.gathered += gathered_by(*heap);
        }
        for (Segment *segment : all_segments()) {
            for (unsigned slot = metadata_slots; slot < segment->mapped_slots; ++slot) {
                if (segment->kind(slot) == SlotKind::superblock) {
                    add(now, &segment->owner_lines[slot]);
                }
            }
        }
        return now;
    }

    /// Compares with the theorem what is now, and what holds when a heap grows. `made`: a superblock of this class was,
    /// and nothing was given to the global heap since it was asked for one (in the end heaps may be told to retire).
    void look(const Heap *grown = nullptr, unsigned made = Classes::count) {
        const Counted now = count();
        EXPECT_NEAR(now.live - now.gathered, live_, 1) << "the descriptors agree with the program";
        EXPECT_LE(now.unaccounted, Published::unaccounted * now.room);
        const double limit_of_heap = Published::in_bins + Published::unlisted + Published::last_taken;
        for (std::size_t i = 1; grown != nullptr && i < now.heaps.size(); ++i) {
            const Counted::OfHeap &h = now.heaps[i];
            if (i == number_of(grown)) {
                continue; // the others'
            }
            worst_heap_ = std::max(worst_heap_, h.excess() / limit_of_heap);
            EXPECT_LE(h.excess(), limit_of_heap)
                << "heap " << i << " has " << h.held << ", accounted " << h.accounted;
        }
        if (made < Classes::count) {
            // With the block in hand the call has given a chain back, which may have told the global heap of a step.
            const double limit =
                Published::in_global_heap * threads() +
                (Limits::unaccounted_by_others(made) + 1) * static_cast<double>(Classes::size_of(made));
            worst_global_ = std::max(worst_global_, now.free_in_global[made] / limit);
            EXPECT_LE(now.free_in_global[made], limit);
        }
        for (std::size_t i = 1; grown != nullptr && i < now.heaps.size(); ++i) {
            worst_pending_ = std::max(worst_pending_, now.heaps[i].pending / Published::pending);
            EXPECT_LE(now.heaps[i].pending, Published::pending) << "heap " << i;
        }
        const auto has_been = [](double peak) { return peak > 0; };
        if (std::ranges::count_if(peaks_, has_been) == 1) {
            look_at_uncarved(now.uncarved[static_cast<std::size_t>(std::ranges::find_if(peaks_, has_been) -
                                                                   peaks_.begin())]);
            uncarved_ = grown != nullptr ? now.spans - now.extents : uncarved_;
            const double limit = Limits::most(peak_, threads(), uncarved_);
            const auto taken = static_cast<double>(subject_.levels().resident_bytes());
            worst_memory_ = std::max(worst_memory_, taken / limit);
            EXPECT_LE(taken, limit) << "U = " << peak_;
        }
        ++looks_;
    }

    /// What was used up of each promise at the worst moment so far: 1 is all.
    double worst_heap() const { return worst_heap_; }
    double worst_pending() const { return worst_pending_; }
    double worst_global() const { return worst_global_; }
    double worst_memory() const { return worst_memory_; }
    std::size_t looks() const { return looks_; }
    /// Superblocks of the only class that had not touched all their blocks, at most.
    unsigned most_uncarved() const { return most_uncarved_; }

private:
    /// A thread that does what it is told, and sleeps.
    class Actor {
    public:
        Actor() : thread_([this] { run(); }) {}
        ~Actor() {
            what_ = nullptr;
            go_.release();
            thread_.join();
        }
        void act(const std::function<void()> &what) {
            what_ = &what;
            go_.release();
            done_.acquire();
        }

    private:
        void run() {
            for (;;) {
                go_.acquire();
                if (what_ == nullptr) {
                    return;
                }
                (*what_)();
                done_.release();
            }
        }
        const std::function<void()> *what_ = nullptr;
        std::binary_semaphore go_{0}, done_{0};
        std::thread thread_;
    };

    /// Lemma 5, of the only class that there is.
    void look_at_uncarved(const std::map<unsigned, unsigned> &superblocks) {
        unsigned all = 0;
        for (const auto &[heap, count] : superblocks) {
            EXPECT_TRUE(heap == 0 || count <= 1) << "heap " << heap << " cuts " << count;
            all += count;
        }
        const std::size_t most_heaps =
            subject_.levels().global().stock().heaps().peak(); // other stages have had more
        EXPECT_LT(all, most_heaps + threads());
        most_uncarved_ = std::max(most_uncarved_, all);
    }

    static double gathered_by(Heap &heap) {
        double shares = 0;
        double bytes = 0;
        heap.gathering().for_each([&](const Gathering::Chain &chain) {
            const unsigned c = chain.superblock()->size_class;
            shares += chain.count() * Limits::span_per_block(c);
            bytes += chain.count() * static_cast<double>(Classes::size_of(c));
        });
        EXPECT_LE(bytes, Published::gathered);
        return shares;
    }

    static unsigned number_of(const Heap *heap) { return const_cast<Heap *>(heap)->holdings().number(); }

    static OwnerLine *superblock_of(const void *p) { return superblock::superblock_at(address_of(p)); }

    std::set<Segment *> all_segments() const {
        std::set<Segment *> all;
        for (Segment *segment : segments_) {
            for (; segment != nullptr && all.insert(segment).second; segment = segment->next) {
            }
        }
        return all;
    }

    static void add(Counted &now, const OwnerLine *s) {
        const RemoteWord remote{remote_of(s)->word.load(std::memory_order_relaxed)};
        const unsigned c = s->size_class;
        const auto size = static_cast<double>(Classes::size_of(c));
        const double live = (1.0 * s->live() - remote.count()) * size;
        const double accounted = s->accounted * size;
        const double held = superblock::held_by(s);
        now.extents += s->touched;
        now.spans += static_cast<double>(span_of(s));
        now.room += Limits::capacity_of_class(c) * size;
        now.live += (1.0 * s->live() - remote.count()) * Limits::span_per_block(c);
        ASSERT_LT(remote.owner(), now.heaps.size());
        Counted::OfHeap &h = now.heaps[remote.owner()];
        h.held += held;
        h.live += live;
        h.accounted += accounted;
        if (remote.owner() == 0 && s->accounted != 0) {
            now.free_in_global[c] += held - accounted;
        }
        if (s->touched < Limits::capacity_of_class(c) * Classes::size_of(c)) {
            ++now.uncarved[c][remote.owner()];
        }
        double unknown = std::max(0.0, accounted - live);
        if (remote.owner() != 0 && remote.queued()) {
            const unsigned step = Subject::Emptiness::remote_step_of(shared_of(s)->capacity);
            // What the owner has accounted for stays in the list; each step since is told.
            const unsigned notify = remote_of(s)->notify.load(std::memory_order_relaxed);
            const unsigned known = notify > step ? std::min(notify - step, remote.count()) : 0;
            const double pending = (remote.count() - known) / step * step * size;
            h.pending += pending;
            unknown = std::max(0.0, unknown - pending);
        }
        EXPECT_LE(unknown, Limits::unaccounted_blocks(c) * size) << "class " << Classes::size_of(c);
        h.unaccounted += unknown;
        now.unaccounted += unknown;
    }

    static inline constinit Subject subject_;

    std::vector<std::array<std::vector<Block>, Classes::count>> blocks_;
    std::vector<Heap *> heaps_;
    std::vector<std::unique_ptr<Actor>> actors_;
    std::set<Segment *> segments_;
    std::array<double, Classes::count> of_class_{};
    std::array<double, Classes::count> peaks_{};
    double live_ = 0;
    double peak_ = 0;
    std::size_t most_resident_ = 0; ///< less is no growth
    double uncarved_ = 0;           ///< what superblocks had not touched when one was last made
    unsigned most_uncarved_ = 0;
    double worst_heap_ = 0;
    double worst_pending_ = 0;
    double worst_global_ = 0;
    double worst_memory_ = 0;
    std::size_t looks_ = 0;
};

} // namespace cairn::test
