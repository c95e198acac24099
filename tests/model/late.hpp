// SPDX-License-Identifier: MIT
//
// Late reads: a relaxed load that reads what another thread stores only later (load buffering). The steps of a thread
// are taken in program order, so such a load is tried once more: the execution is run again in the same order, and the
// load has the value that was stored later. The execution counts if that store is made then,
//   - by the same thread, which has read and stored the same until there as it did when the load read something old:
//     what the load reads does not decide over the store, and no value comes out of thin air; and
//   - the load does not happen before the store, nobody who comes behind the load has looked at the location since, and
//     its thread has passed no fence.
// From then on, who comes behind the load reads nothing older than the store. Each late read is tried alone.
#pragma once

#include "memory.hpp"

namespace cairn::model {

class Late {
public:
    struct Try {
        std::size_t load = 0; ///< which of the execution's events
        std::size_t store = 0;
    };

    /// Whether a late read was begun, and its store is not yet made.
    bool is_open() const { return open_; }
    unsigned thread() const { return thread_; }

    /// The next execution is an ordinary one, the events of which are kept if they are wanted.
    void record(bool wanted) {
        is_ = wanted ? recording : off;
        events_.clear();
        begin();
    }
    /// The next one is the one that was recorded, with a late read.
    void repeat(const Try &how) {
        is_ = trying;
        load_ = how.load;
        wanted_ = events_[how.store];
        begin();
    }

    /// All that can be tried of what was recorded.
    std::vector<Try> all() const {
        std::vector<Try> found;
        for (std::size_t i = 0; i < events_.size(); ++i) {
            const Event &load = events_[i];
            for (std::size_t j = i + 1; load.kind == relaxed_load && j < events_.size(); ++j) {
                const Event &later = events_[j];
                const bool behind = later.clock[load.thread] > load.clock[load.thread];
                if (behind && later.where == load.where) {
                    break;
                }
                if (!behind && later.where == load.where && later.kind == store &&
                    later.value != load.value) {
                    found.push_back({i, j});
                }
            }
        }
        return found;
    }

    /// A load is being made: true if it is the one that reads late, and what.
    bool reads_late(unsigned thread, const View &now, std::uintptr_t where, Value &value) {
        if (is_ != trying || events_seen_ != load_) {
            return false;
        }
        open_ = true;
        thread_ = thread;
        clock_ = now.clock[thread];
        where_ = where;
        value = wanted_.value;
        return true;
    }
    /// Whether the thread comes behind the load that is open.
    bool is_behind(const View &now) const { return open_ && now.clock[thread_] > clock_; }
    bool is_at(std::uintptr_t where) const { return where == where_; }

    void loaded(unsigned thread, const View &now, std::uintptr_t where, Value value, bool relaxed) {
        if (is_ != off) {
            note({relaxed ? relaxed_load : other, thread, where, value, history_[thread], {}}, now);
        }
    }
    /// Nothing was read where `read` is null. True if the store is the one that an open load has read.
    bool stored(unsigned thread, const View &now, std::uintptr_t where, const Value *read, Value value) {
        if (is_ == off) {
            return false;
        }
        if (read != nullptr) {
            add(thread, *read);
        }
        const bool is_it = open_ && thread == wanted_.thread && where == wanted_.where &&
                           value == wanted_.value && history_[thread] == wanted_.history && !is_behind(now);
        open_ = open_ && !is_it;
        note({store, thread, where, value, history_[thread], {}}, now);
        return is_it;
    }
    std::uint32_t clock() const { return clock_; }

private:
    enum Kind : std::uint8_t { relaxed_load, store, other };
    struct Event {
        Kind kind = other;
        unsigned thread = 0;
        std::uintptr_t where = 0;
        Value value = 0;
        std::uint64_t history = 0; ///< what the thread had read and stored before
        std::uint32_t clock[most_threads] = {};
    };

    void begin() {
        open_ = false;
        events_seen_ = 0;
        std::fill_n(history_, most_threads, std::uint64_t{0});
    }
    void add(unsigned thread, Value what) {
        for (const auto half : {static_cast<std::uint64_t>(what), static_cast<std::uint64_t>(what >> 64)}) {
            history_[thread] = (history_[thread] ^ half) * 0x9e3779b97f4a7c15u;
            history_[thread] ^= history_[thread] >> 29;
        }
    }
    void note(Event event, const View &now) {
        ++events_seen_;
        add(event.thread, event.where);
        add(event.thread, event.value);
        if (is_ == recording) {
            std::copy_n(now.clock, most_threads, event.clock);
            events_.push_back(event);
        }
    }

    std::vector<Event> events_;
    std::size_t events_seen_ = 0;
    std::uint64_t history_[most_threads] = {};
    enum : std::uint8_t { off, recording, trying } is_ = off;
    std::size_t load_ = 0;
    Event wanted_;
    bool open_ = false;
    unsigned thread_ = 0;
    std::uint32_t clock_ = 0;
    std::uintptr_t where_ = 0;
};

} // namespace cairn::model
