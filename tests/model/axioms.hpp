// SPDX-License-Identifier: MIT
//
// Axioms: all that a small program may come to, by the rules of C++20 (N4861: [intro.races], [atomics.order],
// [atomics.fences]). A candidate is what each read takes its value from, and an order of modification for each place;
// it is an execution if no rule forbids it. No thread takes a step here, and there are no views: it shares nothing with
// memory.hpp but the standard.
//
// Two things are not in the standard. What a thread does comes before what reads it, round no circle, as in the checker
// ([atomics.order]/8 only recommends that no value comes out of thin air); and membarrier is a seq_cst fence in each
// other thread, somewhere in it, which the order S has between two of the caller's.
#pragma once

#include "small_program.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace cairn::model {

/// Between the events of an execution.
class Relation {
public:
    static constexpr unsigned most_events = 32;

    void add(unsigned a, unsigned b) { after_[a] |= 1u << b; }
    bool has(unsigned a, unsigned b) const { return (after_[a] >> b & 1) != 0; }
    void join(const Relation &other) {
        for (unsigned i = 0; i < most_events; ++i) {
            after_[i] |= other.after_[i];
        }
    }
    /// What comes before `x` comes before all that is after it.
    void lead_through(unsigned x) {
        for (std::uint32_t &row : after_) {
            row |= (row >> x & 1) != 0 ? after_[x] : 0;
        }
    }
    Relation closed(unsigned events) const {
        Relation all = *this;
        for (unsigned x = 0; x < events; ++x) {
            all.lead_through(x);
        }
        return all;
    }
    bool goes_round(unsigned events) const {
        const Relation all = closed(events);
        for (unsigned x = 0; x < events; ++x) {
            if (all.has(x, x)) {
                return true;
            }
        }
        return false;
    }

private:
    std::uint32_t after_[most_events] = {};
};

class Axioms {
public:
    using Outcomes = std::set<std::string>;

    explicit Axioms(const SmallProgram &program) : program_(program) {
        for (unsigned i = 0; i < program.threads; ++i) {
            for (unsigned k = 0; k < program.length[i]; ++k) {
                if (program.operations[i][k].act == Act::membarrier) {
                    caller_ = i;
                }
            }
        }
        place_fences(0);
    }

    /// All that C++20 allows.
    const Outcomes &allowed() const { return allowed_; }
    /// Those of executions in which S is the order of some execution, step by step...
    const Outcomes &in_steps() const { return in_steps_; }
    /// ...and in which the orders of modification are, too.
    const Outcomes &in_steps_at_the_end() const { return in_steps_at_the_end_; }

private:
    static constexpr unsigned nobody = ~0u;

    struct Event {
        enum Kind : std::uint8_t {
            first_value, ///< of a place, before all threads
            operation,
            begins, ///< the caller's fences of membarrier
            ends,
            passes ///< another thread's
        } kind = operation;
        unsigned thread = nobody;
        Operation operation_;
        unsigned result = 0;
        bool reads = false;
        bool writes = false; ///< at first: might
        int read = 0;
        int written = 0;

        bool is_fence() const { return operation_.act == Act::fence; }
    };

    // The events.

    /// Where each thread but the caller passes membarrier's fence: in front of which of its operations.
    void place_fences(unsigned thread) {
        if (thread == program_.threads) {
            make_events();
        } else if (caller_ == nobody || thread == caller_) {
            place_fences(thread + 1);
        } else {
            for (passes_at_[thread] = 0; passes_at_[thread] <= program_.length[thread];
                 ++passes_at_[thread]) {
                place_fences(thread + 1);
            }
        }
    }

    void make_events() {
        events_.clear();
        reads_.clear();
        for (unsigned place = 0; place < program_.places; ++place) {
            Event e;
            e.kind = Event::first_value;
            e.operation_ = {.act = Act::store, .place = place};
            e.writes = true;
            events_.push_back(e);
        }
        for (unsigned i = 0; i < program_.threads; ++i) {
            for (unsigned k = 0; k <= program_.length[i]; ++k) {
                if (caller_ != nobody && i != caller_ && passes_at_[i] == k) {
                    add_fence(i, Event::passes);
                }
                if (k < program_.length[i]) {
                    add_operation(i, k);
                }
            }
        }
        sequenced_before_ = {};
        before_all_threads_ = {};
        for (unsigned a = 0; a < count(); ++a) {
            for (unsigned b = a + 1; b < count(); ++b) {
                if (events_[a].kind == Event::first_value && events_[b].kind != Event::first_value) {
                    before_all_threads_.add(a, b);
                } else if (events_[a].thread == events_[b].thread && events_[a].thread != nobody) {
                    sequenced_before_.add(a, b);
                }
            }
        }
        read_from_.assign(count(), nobody);
        Relation before = sequenced_before_;
        before.join(before_all_threads_);
        choose_sources(0, before.closed(count()));
    }
    void add_fence(unsigned thread, Event::Kind kind) {
        Event e;
        e.kind = kind;
        e.thread = thread;
        e.operation_ = {.act = Act::fence, .order = std::memory_order_seq_cst};
        events_.push_back(e);
    }
    void add_operation(unsigned thread, unsigned k) {
        const Operation &o = program_.operations[thread][k];
        if (o.act == Act::membarrier) {
            add_fence(thread, Event::begins);
            add_fence(thread, Event::ends);
            return;
        }
        Event e;
        e.thread = thread;
        e.operation_ = o;
        e.result = thread * SmallProgram::most_operations + k;
        e.reads = loads(o.act);
        e.writes = o.act != Act::load && o.act != Act::fence;
        if (e.reads) {
            reads_.push_back(count());
        }
        events_.push_back(e);
    }
    unsigned count() const { return static_cast<unsigned>(events_.size()); }
    bool same_place(unsigned a, unsigned b) const {
        return events_[a].operation_.place == events_[b].operation_.place;
    }
    bool is_update(unsigned e) const { return events_[e].reads && events_[e].writes; }
    bool releases(unsigned e) const {
        const std::memory_order order = events_[e].operation_.order;
        return order == std::memory_order_release || order == std::memory_order_acq_rel || is_seq_cst(e);
    }
    bool acquires(unsigned e) const {
        const std::memory_order order = events_[e].operation_.order;
        return order == std::memory_order_acquire || order == std::memory_order_acq_rel || is_seq_cst(e);
    }
    bool is_seq_cst(unsigned e) const { return events_[e].operation_.order == std::memory_order_seq_cst; }

    // What is read.

    /// [intro.races]/14: a value comes from some side effect. `before`: program order and reads-from.
    void choose_sources(std::size_t n, const Relation &before) {
        if (n == reads_.size()) {
            take_values(before);
            return;
        }
        const unsigned r = reads_[n];
        for (unsigned w = 0; w < count(); ++w) {
            if (events_[w].writes && w != r && same_place(w, r) && !before.has(r, w)) {
                read_from_[r] = w;
                Relation more = before;
                more.add(w, r);
                more.lead_through(w);
                more.lead_through(r);
                choose_sources(n + 1, more);
            }
        }
    }

    void take_values(const Relation &before) {
        const std::vector<Event> as_made = events_;
        std::vector<unsigned> order(count());
        std::iota(order.begin(), order.end(), 0u);
        std::vector<unsigned> earlier(count());
        for (unsigned a = 0; a < count(); ++a) {
            for (unsigned b = 0; b < count(); ++b) {
                earlier[b] += before.has(a, b) ? 1 : 0;
            }
        }
        std::stable_sort(order.begin(), order.end(),
                         [&](unsigned a, unsigned b) { return earlier[a] < earlier[b]; });
        if (std::all_of(order.begin(), order.end(), [&](unsigned e) { return takes_value(e); })) {
            relate();
        }
        events_ = as_made;
    }
    bool takes_value(unsigned at) {
        Event &e = events_[at];
        Operation &o = e.operation_;
        if (e.reads) {
            const Event &source = events_[read_from_[at]];
            if (!source.writes) {
                return false;
            }
            e.read = source.written;
        }
        if (o.act == Act::exchange_if && e.read != o.expected) {
            e.writes = false; // [atomics.types.operations]/20: then it is a load
            o.order = o.failure;
        }
        e.written = o.act == Act::add ? e.read + o.value : o.value;
        return true;
    }

    // What follows from what is read.

    void relate() {
        Relation happens_before = sequenced_before_;
        happens_before.join(before_all_threads_);
        const Relation synchronizes = synchronizes_with();
        happens_before.join(synchronizes);
        happens_before_ =
            happens_before.closed(count()); // [intro.races]/9, 10; 11 is the same without consume
        strongly_before_ = strongly(synchronizes);
        for (unsigned r : reads_) {
            if (happens_before_.has(r, read_from_[r])) { // [intro.races]/14
                return;
            }
        }
        position_.assign(count(), 0);
        modifications_.assign(program_.places, {});
        order_modifications(0);
    }

    /// [atomics.order]/2 and [atomics.fences]/2 to 4.
    Relation synchronizes_with() const {
        Relation with;
        for (const unsigned y : reads_) {
            std::vector<unsigned> to; // y, or acquire fences behind it
            for (unsigned b = 0; b < count(); ++b) {
                if (acquires(b) && (b == y || (events_[b].is_fence() && sequenced_before_.has(y, b)))) {
                    to.push_back(b);
                }
            }
            for (const unsigned x : heads_of_release_sequences(read_from_[y])) {
                for (unsigned a = 0; a < count(); ++a) { // x, or release fences in front of it
                    if (releases(a) && (a == x || (events_[a].is_fence() && sequenced_before_.has(a, x)))) {
                        for (const unsigned b : to) {
                            with.add(a, b);
                        }
                    }
                }
            }
        }
        return with;
    }
    /// [intro.races]/5: read-modify-writes alone go on with one.
    std::vector<unsigned> heads_of_release_sequences(unsigned write) const {
        std::vector<unsigned> heads{write};
        while (is_update(write)) {
            write = read_from_[write];
            heads.push_back(write);
        }
        return heads;
    }

    /// [intro.races]/12.
    Relation strongly(const Relation &synchronizes) const {
        Relation before = sequenced_before_;
        for (unsigned a = 0; a < count(); ++a) {
            for (unsigned b = 0; b < count(); ++b) {
                if (synchronizes.has(a, b) && is_seq_cst(a) && is_seq_cst(b) && !events_[a].is_fence() &&
                    !events_[b].is_fence()) { // 12.2
                    before.add(a, b);
                }
                for (unsigned c = 0; c < count(); ++c) { // 12.3
                    for (unsigned d = 0; d < count() && happens_before_.has(b, c); ++d) {
                        if (sequenced_before_.has(a, b) && sequenced_before_.has(c, d)) {
                            before.add(a, d);
                        }
                    }
                }
            }
        }
        return before.closed(count());
    }

    // The orders of modification.

    void order_modifications(unsigned place) {
        if (place == program_.places) {
            if (is_coherent()) {
                find_order_of_all();
            }
            return;
        }
        modifications_[place] = {place}; // the first value is event number `place`
        append_modification(place);
    }
    void append_modification(unsigned place) {
        std::vector<unsigned> left;
        for (unsigned w = program_.places; w < count(); ++w) {
            std::vector<unsigned> &there = modifications_[place];
            if (events_[w].writes && events_[w].operation_.place == place &&
                std::find(there.begin(), there.end(), w) == there.end()) {
                left.push_back(w);
            }
        }
        if (left.empty()) {
            order_modifications(place + 1);
            return;
        }
        const unsigned last = modifications_[place].back();
        for (const unsigned w : left) {
            const bool may = std::all_of(left.begin(), left.end(), [&](unsigned other) {
                return !happens_before_.has(other, w) && // [intro.races]/15
                       !(other != w && is_update(other) && read_from_[other] == last);
            });
            if (may && (!is_update(w) || read_from_[w] == last)) { // [atomics.order]/10
                position_[w] = static_cast<unsigned>(modifications_[place].size());
                modifications_[place].push_back(w);
                append_modification(place);
                modifications_[place].pop_back();
            }
        }
    }

    bool is_coherent() const {
        for (unsigned a = 0; a < count(); ++a) {
            for (unsigned b = 0; b < count(); ++b) {
                if (!happens_before_.has(a, b) || events_[a].is_fence() || events_[b].is_fence() ||
                    !same_place(a, b)) {
                    continue;
                }
                const Event &first = events_[a];
                const Event &second = events_[b];
                const bool wrong = (first.reads && second.reads && seen(b) < seen(a)) || // [intro.races]/16
                                   (first.reads && second.writes && seen(a) >= position_[b]) || // 17
                                   (first.writes && second.reads && seen(b) < position_[a]);    // 18
                if (wrong) {
                    return false;
                }
            }
        }
        return true;
    }
    unsigned seen(unsigned read) const { return position_[read_from_[read]]; }

    // The order S.

    /// [atomics.order]/3.
    Relation coherence_ordered_before() const {
        Relation before;
        for (unsigned a = 0; a < count(); ++a) {
            for (unsigned b = 0; b < count(); ++b) {
                if (a == b || events_[a].is_fence() || events_[b].is_fence() || !same_place(a, b)) {
                    continue;
                }
                const Event &first = events_[a];
                const Event &second = events_[b];
                if ((second.reads && read_from_[b] == a) ||                           // 3.1
                    (first.writes && second.writes && position_[a] < position_[b]) || // 3.2
                    (first.reads && second.writes && seen(a) < position_[b])) {       // 3.3
                    before.add(a, b);
                }
            }
        }
        for (unsigned x = 0; x < count(); ++x) { // 3.4
            if (events_[x].writes) {
                before.lead_through(x);
            }
        }
        return before;
    }

    /// [atomics.order]/4, and membarrier.
    Relation order_of_all() const {
        Relation s;
        const Relation coherence = coherence_ordered_before();
        for (unsigned a = 0; a < count(); ++a) {
            for (unsigned b = 0; b < count(); ++b) {
                if (strongly_before_.has(a, b) && is_seq_cst(a) && is_seq_cst(b)) {
                    s.add(a, b);
                }
                if (coherence.has(a, b)) { // 4.1 to 4.4
                    for (unsigned x = 0; x < count(); ++x) {
                        const bool first = is_seq_cst_fence(x) ? happens_before_.has(x, a) : x == a;
                        for (unsigned y = 0; y < count() && first && is_seq_cst(x); ++y) {
                            const bool second = is_seq_cst_fence(y) ? happens_before_.has(b, y) : y == b;
                            if (second && is_seq_cst(y)) {
                                s.add(x, y);
                            }
                        }
                    }
                }
                if ((events_[a].kind == Event::begins && events_[b].kind == Event::passes) ||
                    (events_[a].kind == Event::passes && events_[b].kind == Event::ends)) {
                    s.add(a, b);
                }
            }
        }
        return s;
    }
    bool is_seq_cst_fence(unsigned e) const { return events_[e].is_fence() && is_seq_cst(e); }

    void find_order_of_all() {
        Relation steps = order_of_all();
        if (steps.goes_round(count())) {
            return;
        }
        const std::string text = outcome();
        allowed_.insert(text);
        steps.join(sequenced_before_);
        for (const unsigned r : reads_) {
            steps.add(read_from_[r], r);
        }
        if (steps.goes_round(count())) {
            return;
        }
        in_steps_.insert(text);
        for (const std::vector<unsigned> &order : modifications_) {
            for (std::size_t i = 1; i < order.size(); ++i) {
                steps.add(order[i - 1], order[i]);
            }
        }
        if (!steps.goes_round(count())) {
            in_steps_at_the_end_.insert(text);
        }
    }

    std::string outcome() const {
        int numbers[SmallProgram::results] = {};
        for (const unsigned r : reads_) {
            numbers[events_[r].result] = events_[r].read;
        }
        for (unsigned place = 0; place < program_.places; ++place) {
            numbers[SmallProgram::most_threads * SmallProgram::most_operations + place] =
                events_[modifications_[place].back()].written;
        }
        std::string text;
        for (const int number : numbers) {
            text += (text.empty() ? "" : " ") + std::to_string(number);
        }
        return text;
    }

    const SmallProgram &program_;
    unsigned caller_ = nobody; ///< of membarrier
    unsigned passes_at_[SmallProgram::most_threads] = {};
    std::vector<Event> events_;
    std::vector<unsigned> reads_;
    std::vector<unsigned> read_from_;
    Relation sequenced_before_;
    Relation before_all_threads_;
    Relation happens_before_;
    Relation strongly_before_;
    std::vector<std::vector<unsigned>> modifications_; ///< of each place, in their order
    std::vector<unsigned> position_;                   ///< in it
    Outcomes allowed_;
    Outcomes in_steps_;
    Outcomes in_steps_at_the_end_;
};

} // namespace cairn::model
