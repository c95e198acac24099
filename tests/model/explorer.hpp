// SPDX-License-Identifier: MIT
//
// Explorer: which executions there are. An execution is a row of choices: which thread takes the next step, and where
// memory leaves it open, which message is read. After one execution the last choice that has another way left takes it.
//
// Reduced: dynamic partial-order reduction with sleep sets (Flanagan and Godefroid, "Dynamic partial-order reduction
// for model checking software", POPL 2005). Two of its rules follow from memory having a history: a load that comes
// after a store can still read what was there before, so that it need not be tried in front of the store as well; and a
// load that was tried in front of it reads, after it, only what is new.
#pragma once

#include "model.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace cairn::model {

/// What a thread is about to do, as far as other threads' steps may matter to it.
struct Step {
    enum Kind : std::uint8_t {
        none,
        load,
        update, ///< store, read-modify-write, and what else changes the location
        fence,  ///< seq_cst
        every,  ///< matters to all steps of all threads
        proxy,  ///< a full fence in the thread `target`, made by membarrier
    } kind = none;
    bool all_order = false; ///< seq_cst: takes part in the order of all such
    std::uint8_t target = 0;
    std::uintptr_t where = 0;
    std::uintptr_t awaits = 0; ///< goes on only when this location has a message newer than `than`
    std::uint32_t than = 0;
};

inline bool touches_order(const Step &a, const Step &b) {
    const auto fences = [](const Step &s) { return s.kind == Step::fence || s.kind == Step::proxy; };
    return (fences(a) && b.all_order) || (fences(b) && a.all_order);
}
inline bool by_proxy(const Step &a, unsigned of_a, const Step &b, unsigned of_b) {
    return (a.kind == Step::proxy && a.target == of_b) || (b.kind == Step::proxy && b.target == of_a) ||
           a.kind == Step::every || b.kind == Step::every;
}

class Explorer {
public:
    static constexpr unsigned nobody = ~0u;

    struct Candidate {
        bool exists = false; ///< has a step to take
        bool enabled = false;
        Step step;
    };

    Explorer(const Options &options, unsigned threads, std::uint64_t seed)
        : options_(options), threads_(threads), random_(seed | 1) {}

    void begin() {
        depth_ = 0;
        last_ = nobody;
        for (unsigned i = 0; i < most_threads; ++i) {
            events_[i].clear();
            std::fill_n(clock_[i], most_threads, 0u);
        }
        preempted_ = 0;
        if (options_.explore == Explore::random && !again_) {
            nodes_.clear();
        }
        for (Candidate &c : now_) {
            c = {};
        }
    }

    /// The last execution once more, as far as it goes the same way. The choices stay as they were.
    void begin_again() {
        again_ = true;
        depth_ = 0;
    }
    void end_again() {
        again_ = false;
        depth_ = static_cast<unsigned>(nodes_.size());
    }

    /// Which thread takes its step; nobody: all that could has been seen in other executions.
    unsigned next(const Candidate *candidates, unsigned current) {
        if (again_) {
            return next_again(candidates, current);
        }
        std::copy_n(candidates, threads_, now_);
        if (depth_ < nodes_.size()) {
            last_ = depth_;
            nodes_[depth_].is_done = false;
            return nodes_[depth_++].chosen;
        }
        Node node;
        node.is_step = true;
        for (unsigned i = 0; i < threads_; ++i) {
            node.enabled |= candidates[i].enabled ? 1u << i : 0u;
        }
        const bool reduced = options_.explore == Explore::reduced;
        if (reduced && replay_.empty() && last_ != nobody) {
            inherit(node, nodes_[last_]);
        }
        const unsigned may = node.enabled & ~node.asleep;
        if (may == 0) {
            return nobody;
        }
        const bool stay = current != nobody && (may >> current & 1) != 0;
        node.chosen = stay ? current : static_cast<unsigned>(std::countr_zero(may));
        switch (options_.explore) {
        case Explore::reduced:
            node.wanted = 1u << node.chosen;
            break;
        case Explore::all:
            node.wanted = may;
            break;
        case Explore::bounded:
            node.wanted = stay && preempted_ >= options_.preemptions ? 1u << node.chosen : may;
            break;
        case Explore::random:
            if (!stay || draw(4) == 0) {
                for (unsigned left = draw(static_cast<unsigned>(std::popcount(may))) + 1, rest = may;
                     left-- > 0; rest &= rest - 1) {
                    node.chosen = static_cast<unsigned>(std::countr_zero(rest));
                }
            }
            node.wanted = 1u << node.chosen;
            break;
        }
        if (!replay_.empty()) {
            node.chosen = nodes_.size() < replay_.size() ? static_cast<unsigned>(replay_[nodes_.size()] - 'A')
                                                         : node.chosen;
        }
        node.could_stay = stay;
        node.current = current;
        last_ = static_cast<unsigned>(nodes_.size());
        nodes_.push_back(node);
        ++depth_;
        return node.chosen;
    }
    /// After next(): for the bound.
    void count_preemption() {
        if (again_) {
            return;
        }
        const Node &node = nodes_[last_];
        preempted_ += node.could_stay && node.chosen != node.current ? 1 : 0;
    }

    unsigned choose(unsigned count) {
        if (count <= 1) {
            return 0;
        }
        if (again_) {
            const bool fits =
                depth_ < nodes_.size() && !nodes_[depth_].is_step && nodes_[depth_].chosen < count;
            return fits ? nodes_[depth_++].chosen : 0;
        }
        if (depth_ < nodes_.size()) {
            if (nodes_[depth_].is_step || nodes_[depth_].count != count) {
                fail("the kernel does not do the same when it is run again");
            }
            return nodes_[depth_++].chosen;
        }
        Node node;
        node.count = count;
        if (!replay_.empty()) {
            node.chosen =
                nodes_.size() < replay_.size() ? static_cast<unsigned>(replay_[nodes_.size()] - 'a') : 0;
        } else if (options_.explore == Explore::random) {
            node.chosen = draw(2) == 0 ? 0 : draw(count);
        }
        nodes_.push_back(node);
        ++depth_;
        return node.chosen;
    }

    /// Which messages a load may read: those of at least this number.
    std::uint32_t since(unsigned thread) const { return again_ ? 0 : nodes_[last_].since[thread]; }

    /// The step that was chosen last is a load of what it has been tried with already: with `insert`, what was stored
    /// since may lie below what its thread has seen. It sleeps, and somebody else goes on.
    void nothing_new() {
        Node &node = nodes_[last_];
        node.asleep |= 1u << node.chosen;
        const unsigned others = node.enabled & ~(node.asleep | node.seen);
        if (options_.explore == Explore::reduced && (node.wanted & others) == 0) {
            node.wanted |= others & -others;
        }
    }

    /// The step that was chosen last is done: it made the message `made`, it read the message `read` (0: none).
    void done(unsigned thread, std::uint32_t made, std::uint32_t read) {
        if (again_) {
            return;
        }
        Node &node = nodes_[last_];
        const Step &step = now_[thread].step;
        node.step = step;
        node.made = made;
        if (options_.explore == Explore::reduced) {
            order(node, thread, read);
        }
        now_[thread] = {};
    }

    /// The end of an execution, with what the threads that are not at their end would have done next.
    void end(const Candidate *candidates) {
        if (options_.explore != Explore::reduced || again_) {
            return;
        }
        for (unsigned p = 0; p < threads_; ++p) {
            if (candidates[p].exists) {
                find_races(p, candidates[p].step, 0);
            }
        }
    }

    /// The next execution's choices. False: there is none.
    bool advance() {
        if (options_.explore == Explore::random) {
            return true;
        }
        while (!nodes_.empty()) {
            Node &node = nodes_.back();
            if (!node.is_step) {
                if (++node.chosen < node.count) {
                    break;
                }
            } else {
                node.seen |= 1u << node.chosen;
                const unsigned left = node.wanted & ~node.seen & ~node.asleep;
                if (left != 0) {
                    node.chosen = static_cast<unsigned>(std::countr_zero(left));
                    break;
                }
            }
            nodes_.pop_back();
        }
        changed_ = static_cast<unsigned>(nodes_.size()) - (nodes_.empty() ? 0 : 1);
        return !nodes_.empty();
    }

    std::string choices() const {
        std::string text;
        for (unsigned i = 0; i < depth_ && i < nodes_.size(); ++i) {
            text += static_cast<char>((nodes_[i].is_step ? 'A' : 'a') + static_cast<char>(nodes_[i].chosen));
        }
        return text;
    }
    /// To run one execution again.
    void follow(const std::string &choices) { replay_ = choices; }

    struct Node {
        bool is_step = false;
        bool could_stay = false;
        bool is_done = false; ///< the step, in this execution
        unsigned count = 0;
        unsigned chosen = 0;
        unsigned current = nobody;
        unsigned enabled = 0;
        unsigned seen = 0;                      ///< tried here
        unsigned wanted = 0;                    ///< to be tried
        unsigned asleep = 0;                    ///< tried before, and nothing has changed for them since
        std::uint32_t since[most_threads] = {}; ///< a load was tried before: what it may read now
        Step step;
        std::uint32_t made = 0;
        std::uint32_t clock[most_threads] =
            {}; ///< how many steps of each thread come before, itself included
    };

private:
    unsigned next_again(const Candidate *candidates, unsigned current) {
        while (depth_ < nodes_.size() && !nodes_[depth_].is_step) {
            ++depth_;
        }
        const unsigned before = depth_ < nodes_.size() ? nodes_[depth_++].chosen : nobody;
        if (before != nobody && candidates[before].enabled) {
            return before;
        }
        if (current != nobody && candidates[current].enabled) {
            return current;
        }
        unsigned i = 0;
        while (!candidates[i].enabled) {
            ++i;
        }
        return i;
    }

    unsigned draw(unsigned below) {
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        return static_cast<unsigned>((random_ >> 11) % below);
    }

    /// Whether two steps can be told apart when they change places.
    static bool dependent(const Step &a, unsigned of_a, const Step &b, unsigned of_b) {
        if (by_proxy(a, of_a, b, of_b) || touches_order(a, b)) {
            return true;
        }
        if (a.where != 0 && a.where == b.where &&
            (a.kind == Step::update || b.kind == Step::update || (a.all_order && b.all_order))) {
            return true;
        }
        return (a.awaits != 0 && b.kind == Step::update && b.where == a.awaits) ||
               (b.awaits != 0 && a.kind == Step::update && a.where == b.awaits);
    }
    /// A load after a store that it may overlook.
    static bool overlooks(const Step &store, const Step &load) {
        return load.kind == Step::load && store.kind == Step::update && load.where == store.where &&
               !(load.all_order && store.all_order);
    }

    /// What sleeps on after the step of `before`, and what loads may read only what is new.
    void inherit(Node &node, const Node &before) const {
        const unsigned tried = before.asleep | before.seen;
        for (unsigned q = 0; q < threads_; ++q) {
            if (q == before.chosen || !now_[q].exists) {
                continue;
            }
            const Step &step = now_[q].step;
            const bool depends = dependent(before.step, before.chosen, step, q);
            const bool only_new = depends && step.awaits == 0 && overlooks(before.step, step) &&
                                  before.made != 0 && !by_proxy(before.step, before.chosen, step, q);
            if ((tried >> q & 1) != 0) {
                node.asleep |= depends ? 0u : 1u << q;
                node.since[q] = only_new ? before.made : 0;
            } else if (before.since[q] != 0 && (!depends || only_new)) {
                node.since[q] = before.since[q];
            }
        }
    }

    /// Puts the step into the order of those it depends on, and finds earlier ones it could have been in front of.
    void order(Node &node, unsigned p, std::uint32_t read) {
        if (depth_ > changed_) {
            find_races(p, node.step, read);
        }
        std::uint32_t *const clock = clock_[p];
        for (unsigned q = 0; q < threads_; ++q) {
            for (std::size_t k = events_[q].size(); q != p && k > clock[q]; --k) {
                const Node &earlier = nodes_[events_[q][k - 1]];
                if (comes_before(earlier.step, q, node.step, p) || (read != 0 && earlier.made == read)) {
                    for (unsigned i = 0; i < threads_; ++i) {
                        clock[i] = std::max(clock[i], earlier.clock[i]);
                    }
                    break;
                }
            }
        }
        events_[p].push_back(last_);
        node.is_done = true;
        clock[p] = static_cast<std::uint32_t>(events_[p].size());
        std::copy_n(clock, most_threads, node.clock);
    }

    static bool comes_before(const Step &earlier, unsigned q, const Step &step, unsigned p) {
        if (by_proxy(earlier, q, step, p) || touches_order(earlier, step)) {
            return true;
        }
        if (step.awaits != 0 && step.awaits == earlier.where && earlier.kind == Step::update) {
            return true;
        }
        if (earlier.where == 0 || earlier.where != step.where) {
            return false;
        }
        const bool both_ordered = earlier.all_order && step.all_order;
        return (earlier.kind == Step::update && step.kind == Step::update) || both_ordered;
    }

    void find_races(unsigned p, const Step &step, std::uint32_t read) {
        const std::uint32_t *const clock = clock_[p];
        for (unsigned q = 0; q < threads_; ++q) {
            for (std::size_t k = events_[q].size(); q != p && k > clock[q]; --k) {
                const unsigned at = events_[q][k - 1];
                const Step &earlier = nodes_[at].step;
                if (dependent(earlier, q, step, p) &&
                    (!overlooks(earlier, step) || by_proxy(earlier, q, step, p))) {
                    Node &node = nodes_[at];
                    const unsigned firsts =
                        may_come_first(at, q, static_cast<std::uint32_t>(k), p, step, read);
                    if ((firsts & (node.wanted | node.seen | node.asleep)) == 0) {
                        const unsigned ready = firsts & node.enabled;
                        node.wanted |= ready != 0 ? ready & -ready : node.enabled;
                    }
                    break;
                }
            }
        }
    }

    /// To put `step` of p in front of the step at the node `at` (the `index`-th of q), all that does not come after
    /// that one is done in front of it. The threads that may be the first to go.
    unsigned may_come_first(unsigned at, unsigned q, std::uint32_t index, unsigned p, const Step &step,
                            std::uint32_t read) const {
        unsigned firsts = 0;
        unsigned there = 0;
        std::uint32_t first[most_threads] = {};
        bool waits = false;
        for (unsigned n = at + 1; n < depth_; ++n) {
            const Node &node = nodes_[n];
            const unsigned r = node.chosen;
            if (!node.is_step || (n == last_ && !node.is_done) || node.clock[q] >= index) {
                continue;
            }
            // A load may come before a store, but for the one that it has read.
            waits =
                waits || (r != p && comes_before(node.step, r, step, p)) || (read != 0 && node.made == read);
            if ((there >> r & 1) == 0) {
                firsts |= after_any(there, first, node.clock) ? 0u : 1u << r;
                there |= 1u << r;
                first[r] = node.clock[r];
            }
        }
        if ((there >> p & 1) == 0 && !waits && !after_any(there, first, clock_[p])) {
            firsts |= 1u << p;
        }
        return firsts;
    }
    static bool after_any(unsigned there, const std::uint32_t *first, const std::uint32_t *clock) {
        for (unsigned s = 0; s < most_threads; ++s) {
            if ((there >> s & 1) != 0 && clock[s] >= first[s]) {
                return true;
            }
        }
        return false;
    }

    bool again_ = false;
    const Options options_;
    const unsigned threads_;
    std::uint64_t random_;
    std::vector<Node> nodes_;
    unsigned depth_ = 0;
    unsigned last_ = nobody;
    unsigned changed_ = 0; ///< choices below this one are as in the last execution
    unsigned preempted_ = 0;
    Candidate now_[most_threads];
    std::vector<unsigned> events_[most_threads]; ///< the nodes of each thread's steps
    std::uint32_t clock_[most_threads][most_threads] = {};
    std::string replay_;
};

} // namespace cairn::model
