// SPDX-License-Identifier: MIT
//
// Memory: a view-based model of C++20's memory order. Each location has the messages that were ever stored to it, in
// order of modification, each with a timestamp; each thread has a view, which says for each location below which
// timestamp it can not read any more. Release puts the view into the message, acquire takes it out. seq_cst operations
// and fences meet in one view that all of them share.
//
// Source: the operational part of Kang and others, "A promising semantics for relaxed-memory concurrency", POPL 2017,
// without promises; release sequences and seq_cst are those of C++20 (P0668, P0982).
#pragma once

#include "model.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

namespace cairn::model {

using Time = std::uint32_t;
inline constexpr unsigned most_locations = 768;
inline constexpr Time time_step = 1u << 16;

/// What is known of each location, and of each thread (for races between plain accesses).
struct View {
    unsigned known = 0; ///< of the locations; beyond: 0
    Time at[most_locations];
    std::uint32_t clock[most_threads] = {};

    Time time(unsigned location) const { return location < known ? at[location] : 0; }
    void raise(unsigned location, Time time) {
        grow(location + 1);
        at[location] = std::max(at[location], time);
    }
    void join(const View &other) {
        join_times(other);
        for (unsigned i = 0; i < most_threads; ++i) {
            clock[i] = std::max(clock[i], other.clock[i]);
        }
    }
    void join_times(const View &other) {
        grow(other.known);
        for (unsigned i = 0; i < other.known; ++i) {
            at[i] = std::max(at[i], other.at[i]);
        }
    }
    void clear() {
        known = 0;
        std::fill_n(clock, most_threads, 0u);
    }
    View() = default;
    View(const View &other) { *this = other; }
    View &operator=(const View &other) {
        known = other.known;
        std::copy_n(other.at, known, at);
        std::copy_n(other.clock, most_threads, clock);
        return *this;
    }

private:
    void grow(unsigned count) {
        while (known < count) {
            at[known++] = 0;
        }
    }
};

__extension__ using Value = unsigned __int128;

struct Message {
    Value value = 0;
    Time time = 0;
    std::uint32_t number = 0; ///< in order of execution
    bool by_rmw = false;      ///< reads the one before it: nothing comes between
    View view;
};

struct Location {
    std::uintptr_t address = 0;
    unsigned size = 0;
    std::vector<std::uint32_t> messages; ///< in order of modification
};

inline bool acquires(int order) {
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
           order == __ATOMIC_SEQ_CST;
}
inline bool releases(int order) {
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

/// `choose(count)` says which way is taken, where there are so many.
class Memory {
public:
    void clear() {
        for (unsigned i = 0; i < locations_used_; ++i) {
            locations_[i].messages.clear();
        }
        ++epoch_;
        locations_used_ = 0;
        messages_used_ = 0;
        changes_ = 0;
        all_.clear();
        for (Thread &t : threads_) {
            t.now.clear();
            t.acquirable.clear();
            t.released.clear();
            t.wanted = nowhere_;
        }
        for (unsigned i = 0; i < most_threads; ++i) {
            threads_[i].now.clock[i] = 1;
        }
    }

    View &now(unsigned thread) { return threads_[thread].now; }

    unsigned location(std::uintptr_t address, unsigned size) {
        Slot *slot = find(address);
        if (slot->epoch != epoch_ || slot->location == nowhere_) {
            if (locations_used_ == most_locations) {
                fail("the model has no room for so many atomic locations");
            }
            *slot = {address, epoch_, locations_used_};
            Location &fresh = locations_[locations_used_++];
            fresh.address = address;
            fresh.size = size;
            Message &first = add(fresh, 0);
            first.value = read(address, size);
            first.time = time_step;
        }
        if (locations_[slot->location].size != size) {
            fail("an atomic location is used with two sizes");
        }
        return slot->location;
    }
    /// A plain store: what was known of the location is over.
    void forget(std::uintptr_t address) {
        Slot *const slot = find(address);
        if (slot->epoch == epoch_) {
            slot->location = nowhere_;
        }
    }
    const Location &at(unsigned location) const { return locations_[location]; }
    const Message &newest(unsigned location) const { return messages_[locations_[location].messages.back()]; }
    std::uint32_t messages() const { return messages_used_; }
    /// How often a location has got another value than it had.
    std::uint32_t changes() const { return changes_; }

    struct Seen {
        const Message *message;
        bool done; ///< of a compare-exchange
    };

    /// `since`: only messages of at least this number.
    template <class Choose>
    Seen load(unsigned thread, unsigned location, int order, std::uint32_t since, Choose &&choose) {
        const std::vector<std::uint32_t> &all = locations_[location].messages;
        Time least = least_time(thread, location, order);
        if (threads_[thread].wanted == location) {
            least = std::max(least, threads_[thread].than + 1);
        }
        threads_[thread].wanted = nowhere_;
        candidates_.clear();
        for (std::size_t i = all.size(); i-- > 0 && messages_[all[i]].time >= least;) {
            if (messages_[all[i]].number >= since) {
                candidates_.push_back(static_cast<std::uint32_t>(i));
            }
        }
        if (candidates_.empty()) {
            return {nullptr, false};
        }
        const Message &m = messages_[all[candidates_[choose(static_cast<unsigned>(candidates_.size()))]]];
        seen(thread, location, m, order);
        return {&m, false};
    }

    template <class Choose>
    std::uint32_t store(unsigned thread, unsigned location, Value value, int order, bool insert,
                        Choose &&choose) {
        Location &at = locations_[location];
        const Time least = least_time(thread, location, order);
        std::size_t behind = at.messages.size() - 1;
        if (insert) {
            candidates_.clear();
            for (std::size_t i = at.messages.size(); i-- > 0 && messages_[at.messages[i]].time >= least;) {
                if (i + 1 == at.messages.size() || !messages_[at.messages[i + 1]].by_rmw) {
                    candidates_.push_back(static_cast<std::uint32_t>(i));
                }
            }
            behind = candidates_[choose(static_cast<unsigned>(candidates_.size()))];
        }
        Message &m = put(thread, location, behind, value, order);
        m.view.join(releases(order) ? threads_[thread].now : threads_[thread].released);
        return m.number;
    }

    /// A read-modify-write: `change(old, desired)` says what becomes of the value; false: it stays (a compare-exchange
    /// that fails, with the order `failure`).
    template <class Change, class Choose>
    Seen update(unsigned thread, unsigned location, int order, int failure, bool insert, Change &&change,
                Choose &&choose, std::uint32_t &made) {
        Location &at = locations_[location];
        const Time least = least_time(thread, location, order);
        const Time least_to_fail = least_time(thread, location, failure);
        candidates_.clear();
        for (std::size_t i = at.messages.size(); i-- > 0;) {
            const Message &m = messages_[at.messages[i]];
            Value desired = m.value;
            const bool last = i + 1 == at.messages.size();
            const bool changes = change(m.value, desired);
            if (changes ? m.time >= least && (last || (insert && !messages_[at.messages[i + 1]].by_rmw))
                        : m.time >= least_to_fail) {
                candidates_.push_back(static_cast<std::uint32_t>(i));
            }
        }
        if (candidates_.empty()) {
            fail("a read-modify-write has nothing to read");
        }
        const std::size_t i = candidates_[choose(static_cast<unsigned>(candidates_.size()))];
        const std::uint32_t read = at.messages[i];
        Value desired = messages_[read].value;
        const bool changes = change(messages_[read].value, desired);
        seen(thread, location, messages_[read], changes ? order : failure);
        if (changes) {
            Message &m = put(thread, location, i, desired, order);
            m.by_rmw = true;
            m.view.join(messages_[read].view); // the release sequence goes on
            m.view.join(releases(order) ? threads_[thread].now : threads_[thread].released);
            made = m.number;
        }
        return {&messages_[read], changes};
    }

    void fence(unsigned thread, int order) {
        Thread &t = threads_[thread];
        if (acquires(order)) {
            t.now.join(t.acquirable);
        }
        if (order == __ATOMIC_SEQ_CST) {
            t.now.join_times(all_);
            all_.join_times(t.now);
        }
        if (releases(order)) {
            t.released = t.now;
        }
    }

    /// The thread sees all that any thread has done.
    void sees_all(unsigned thread) {
        View &now = threads_[thread].now;
        for (unsigned i = 0; i < most_threads; ++i) {
            now.clock[i] = std::max(now.clock[i], threads_[i].now.clock[i]);
        }
        for (unsigned i = 0; i < locations_used_; ++i) {
            now.raise(i, newest(i).time);
        }
    }

    /// The newest message of the location was read by `thread` before it was made, when its clock was `clock`: who
    /// comes behind that reads nothing older.
    void was_read_by(unsigned thread, std::uint32_t clock, unsigned location) {
        const Message &m = newest(location);
        const auto raise = [&](View &view) {
            if (view.clock[thread] > clock) {
                view.raise(location, m.time);
            }
        };
        for (Thread &t : threads_) {
            raise(t.now);
            raise(t.acquirable);
            raise(t.released);
        }
        for (std::uint32_t i = 0; i < messages_used_; ++i) {
            raise(messages_[i].view);
        }
        threads_[thread].acquirable.join(m.view);
    }

    /// The thread will not read again what it read last.
    void wants_newer(unsigned thread, unsigned location, Time than) {
        threads_[thread].wanted = location;
        threads_[thread].than = than;
    }

private:
    static constexpr unsigned nowhere_ = ~0u;

    struct Thread {
        View now;                   ///< what it can not unsee
        View acquirable;            ///< what an acquire fence would add
        View released;              ///< what its last release fence saw
        unsigned wanted = nowhere_; ///< of this location it wants something newer
        Time than = 0;
    };
    struct Slot {
        std::uintptr_t address = 0;
        std::uint32_t epoch = 0;
        unsigned location = 0;
    };

    Time least_time(unsigned thread, unsigned location, int order) const {
        const Time own = threads_[thread].now.time(location);
        return order == __ATOMIC_SEQ_CST ? std::max(own, all_.time(location)) : own;
    }

    void seen(unsigned thread, unsigned location, const Message &m, int order) {
        Thread &t = threads_[thread];
        t.now.raise(location, m.time);
        (acquires(order) ? t.now : t.acquirable).join(m.view);
        if (order == __ATOMIC_SEQ_CST) {
            all_.raise(location, m.time);
        }
    }

    Message &put(unsigned thread, unsigned location, std::size_t behind, Value value, int order) {
        Location &at = locations_[location];
        const bool last = behind + 1 == at.messages.size();
        const Time before = messages_[at.messages[behind]].time;
        const Time time =
            last ? before + time_step : before + (messages_[at.messages[behind + 1]].time - before) / 2;
        if (time <= before) {
            fail("the model has no room between two stores");
        }
        Message &m = add(at, behind + 1);
        m.value = value;
        m.time = time;
        threads_[thread].now.raise(location, time);
        if (order == __ATOMIC_SEQ_CST) {
            all_.raise(location, time);
        }
        if (last) {
            write(at.address, at.size, value);
        }
        changes_ += value != messages_[at.messages[behind]].value ? 1 : 0;
        m.view.raise(location, time);
        return m;
    }

    Message &add(Location &location, std::size_t index) {
        if (messages_used_ == messages_.size()) {
            messages_.emplace_back();
        }
        Message &m = messages_[messages_used_];
        m.number = messages_used_;
        m.by_rmw = false;
        m.view.clear();
        location.messages.insert(location.messages.begin() + static_cast<std::ptrdiff_t>(index),
                                 messages_used_++);
        return m;
    }

    static Value read(std::uintptr_t address, unsigned size) {
        Value value = 0;
        std::memcpy(&value, reinterpret_cast<const void *>(address), size);
        return value;
    }
    static void write(std::uintptr_t address, unsigned size, Value value) {
        std::memcpy(reinterpret_cast<void *>(address), &value, size);
    }

    Slot *find(std::uintptr_t address) {
        for (std::size_t i = address * 0x9e3779b97f4a7c15u >> 54;; i = (i + 1) % slots_) {
            if (table_[i].epoch != epoch_ || table_[i].address == address) {
                return &table_[i];
            }
        }
    }

    static constexpr std::size_t slots_ = 1024;
    Slot table_[slots_];
    std::uint32_t epoch_ = 0;
    Location locations_[most_locations];
    unsigned locations_used_ = 0;
    std::deque<Message> messages_; ///< references stay
    std::uint32_t messages_used_ = 0;
    std::uint32_t changes_ = 0;
    View all_; ///< of the seq_cst operations and fences
    Thread threads_[most_threads];
    std::vector<std::uint32_t> candidates_;
};

} // namespace cairn::model
