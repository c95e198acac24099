// SPDX-License-Identifier: MIT
//
// What the kernels' accesses to memory do. Plain ones are looked at for races; atomic ones and fences are steps, which
// the memory model answers.
#include "engine.hpp"
#include "sites.hpp"

namespace cairn::model {

Sites sites;

namespace {

[[noreturn]] void race(const char *what, std::uintptr_t address, int other, const void *code) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "a race: %s of %s (code at %s) and an access of thread %d, which nothing orders", what,
                  name_of(address).c_str(), place(code).c_str(), other);
    fail(text);
}

void check_mapped(std::uintptr_t address, const void *code) {
    if (engine->shadow.is_gone(address)) {
        char text[120];
        std::snprintf(text, sizeof text, "an access (code at %s) of memory that was unmapped",
                      place(code).c_str());
        fail(text);
    }
}

void plain(const volatile void *p, std::size_t size, bool write, const void *code) {
    Engine *const g = engine;
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (g == nullptr || !Shadow::watches(address)) {
        return;
    }
    check_mapped(address, code);
    g->shown.end();
    if (write) {
        g->shadow.writes(address, size);
    }
    if (apart()) {
        return;
    }
    if (g->shadow.is_racy(address)) {
        Step step;
        step.kind = write ? Step::update : Step::load;
        step.where = address;
        announce(step);
        tell("plain %s of %s", write ? "write" : "read", name_of(address).c_str());
        if (write) {
            g->memory.forget(address);
        }
        taken(0, 0);
        return;
    }
    const bool atomics = write && g->shadow.has_atomics(address, size);
    const int other = g->shadow.access(g->current, g->memory.now(g->current), address, size,
                                       write ? Shadow::plain_write : Shadow::plain_read);
    if (other >= 0 && g->kernel->options.races) {
        race(write ? "a plain write" : "a plain read", address, other, code);
    }
    for (std::size_t i = 0; atomics && i < size; ++i) {
        g->memory.forget(address + i);
    }
}

const char *order_name(int order) {
    static const char *const names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    return names[order];
}

template <class T>
struct Atomic {
    static constexpr unsigned size = sizeof(T);
    static std::uintptr_t of(const volatile void *p) { return reinterpret_cast<std::uintptr_t>(p); }
    static auto choices() {
        return [](unsigned count) { return e().explorer->choose(count); };
    }
    /// For a load, the newest first: what is stored is seen in the end.
    static auto choices_to_read() {
        return [](unsigned count) {
            return e().steps > e().kernel->options.steps / 2 ? 0 : e().explorer->choose(count);
        };
    }
    static Step step(const volatile void *p, Step::Kind kind, bool all_order) {
        Step s;
        s.kind = kind;
        s.where = of(p);
        s.all_order = all_order;
        return s;
    }
    static void looks_at(std::uintptr_t address, const Message &m, bool races_too, const void *code) {
        Engine &g = e();
        Fibre &mine = g.fibres[g.current];
        mine.looked_at = address;
        mine.looked_time = m.time;
        mine.looked_size = size;
        access(address, races_too ? Shadow::atomic_write : Shadow::atomic_read, code);
    }
    static void access(std::uintptr_t address, Shadow::Access kind, const void *code) {
        Engine &g = e();
        check_mapped(address, code);
        const int other = g.shadow.access(g.current, g.memory.now(g.current), address, size, kind);
        if (other >= 0 && g.kernel->options.races && !g.shadow.is_racy(address)) {
            race("an atomic operation", address, other, code);
        }
    }

    static void keep(const volatile void *p) {
        if (engine != nullptr && Shadow::watches(of(p))) {
            e().shadow.writes(of(p), size);
        }
    }
    static bool apart() { return cairn::model::apart(); }

    static T load(const volatile T *p, int order, const void *code) {
        if (apart()) {
            return *p;
        }
        Engine &g = e();
        order = sites.order_of(code, Site::load, order);
        Fibre &mine = g.fibres[g.current];
        if (mine.spins_out == of(p)) {
            return static_cast<T>(mine.spun_on);
        }
        mine.spins_out = 0;
        announce(step(p, Step::load, order == __ATOMIC_SEQ_CST));
        late_meets(of(p), order == __ATOMIC_SEQ_CST);
        const unsigned location = g.memory.location(of(p), size);
        const std::uint32_t since = g.explorer->since(g.current);
        const auto seen =
            g.memory.load(g.current, location, order, since == 0 ? 0 : since - 1, choices_to_read());
        if (seen.message == nullptr) { // nothing new, and the old has been looked at
            g.explorer->nothing_new();
            g.cut = true;
            end_execution();
        }
        Value value = seen.message->value;
        const bool late = g.late.reads_late(g.current, g.memory.now(g.current), of(p), value);
        g.late.loaded(g.current, g.memory.now(g.current), of(p), value, order == __ATOMIC_RELAXED);
        tell("load   %-14s %llx   %s%s   [%s]", name_of(of(p)).c_str(),
             static_cast<unsigned long long>(value), order_name(order),
             late                                                  ? "   (what is stored later)"
             : seen.message->time < g.memory.newest(location).time ? "   (an old value)"
                                                                   : "",
             place(code).c_str());
        looks_at(of(p), *seen.message, false, code);
        taken(0, seen.message->number + 1, late || seen.message->time < g.memory.newest(location).time);
        return static_cast<T>(value);
    }

    static void store(volatile T *p, T value, int order, const void *code) {
        if (apart()) {
            keep(p);
            *p = value;
            return;
        }
        Engine &g = e();
        order = sites.order_of(code, Site::store, order);
        g.fibres[g.current].spins_out = 0;
        announce(step(p, Step::update, order == __ATOMIC_SEQ_CST));
        late_meets(of(p), order == __ATOMIC_SEQ_CST);
        const unsigned location = g.memory.location(of(p), size);
        g.shadow.writes(of(p), size);
        const std::uint32_t made = g.memory.store(g.current, location, static_cast<Value>(value), order,
                                                  g.kernel->options.insert, choices());
        tell("store  %-14s %llx   %s   [%s]", name_of(of(p)).c_str(), static_cast<unsigned long long>(value),
             order_name(order), place(code).c_str());
        stored(of(p), location, nullptr, static_cast<Value>(value));
        access(of(p), Shadow::atomic_write, code);
        taken(made + 1, 0);
    }
    /// For loads that have read it before.
    static void stored(std::uintptr_t address, unsigned location, const Value *read, Value value) {
        Engine &g = e();
        if (g.late.stored(g.current, g.memory.now(g.current), address, read, value)) {
            tell("       which thread %u has read", g.late.thread());
            g.memory.was_read_by(g.late.thread(), g.late.clock(), location);
        }
    }

    /// change(old, desired): false when nothing is stored.
    template <class F>
    static T update(volatile T *p, int order, int failure, F change, bool &done, const void *code) {
        if (apart()) {
            const T old = *p;
            Value desired = static_cast<Value>(old);
            done = change(static_cast<Value>(old), desired);
            if (done) {
                keep(p);
                *p = static_cast<T>(desired);
            }
            return old;
        }
        Engine &g = e();
        if (failure >= 0) {
            failure = sites.order_of(code, Site::failure, failure);
        }
        order = sites.order_of(code, Site::update, order);
        failure = failure < 0 ? order : failure;
        g.fibres[g.current].spins_out = 0;
        announce(step(p, Step::update, order == __ATOMIC_SEQ_CST || failure == __ATOMIC_SEQ_CST));
        late_meets(of(p), order == __ATOMIC_SEQ_CST || failure == __ATOMIC_SEQ_CST);
        const unsigned location = g.memory.location(of(p), size);
        g.shadow.writes(of(p), size);
        std::uint32_t made = 0;
        const auto seen = g.memory.update(g.current, location, order, failure, g.kernel->options.insert,
                                          change, choices(), made);
        done = seen.done;
        Value desired = seen.message->value;
        change(seen.message->value, desired);
        tell("%s %-14s %llx -> %llx   %s   [%s]", done ? "update" : "failed", name_of(of(p)).c_str(),
             static_cast<unsigned long long>(seen.message->value), static_cast<unsigned long long>(desired),
             order_name(done ? order : failure), place(code).c_str());
        Message mine = *seen.message;
        if (done) {
            mine.time = std::max(mine.time, g.memory.now(g.current).time(location));
        }
        if (done) {
            stored(of(p), location, &seen.message->value, desired);
        } else {
            g.late.loaded(g.current, g.memory.now(g.current), of(p), seen.message->value, false);
        }
        looks_at(of(p), mine, true, code);
        taken(done ? made + 1 : 0, seen.message->number + 1);
        return static_cast<T>(mine.value);
    }
    template <class F>
    static T always(volatile T *p, int order, F f, const void *code) {
        bool done = false;
        return update(
            p, order, -1,
            [&](Value old, Value &desired) {
                desired = static_cast<Value>(f(static_cast<T>(old)));
                return true;
            },
            done, code);
    }
    static bool exchange_if(volatile T *p, T *expected, T desired, int order, int failure, const void *code) {
        bool done = false;
        const T wanted = *expected;
        const T old = update(
            p, order, failure,
            [&](Value now, Value &next) {
                if (static_cast<T>(now) != wanted) {
                    return false;
                }
                next = static_cast<Value>(desired);
                return true;
            },
            done, code);
        *expected = old;
        return done;
    }
};

void fence(int order, const void *code) {
    Engine *const g = engine;
    if (apart()) {
        return;
    }
    order = sites.order_of(code, Site::fence, order);
    late_meets_fence(g->current, order == __ATOMIC_SEQ_CST);
    if (order != __ATOMIC_SEQ_CST) {
        g->memory.fence(g->current, order);
        return;
    }
    Step step;
    step.kind = Step::fence;
    step.all_order = true;
    announce(step);
    tell("fence");
    g->memory.fence(g->current, order);
    taken(0, 0);
}

} // namespace
} // namespace cairn::model

using namespace cairn::model;

namespace {

struct Accesses {
    static void plain(const void *place, const volatile void *p, std::size_t size, bool write) {
        cairn::model::plain(p, size, write, place);
    }
    static void fence(const void *place, int order) { cairn::model::fence(order, place); }

    template <class T>
    static T load(const void *place, const volatile T *p, int order) {
        return Atomic<T>::load(p, order, place);
    }
    template <class T>
    static void store(const void *place, volatile T *p, T value, int order) {
        Atomic<T>::store(p, value, order, place);
    }
    template <class T, class F>
    static T update(const void *place, volatile T *p, int order, F f) {
        return Atomic<T>::always(p, order, f, place);
    }
    template <class T>
    static bool exchange_if(const void *place, volatile T *p, T *expected, T desired, int order,
                            int failure) {
        return Atomic<T>::exchange_if(p, expected, desired, order, failure, place);
    }
};

} // namespace

#include "bench/coherence/runtime_calls.hpp"

extern "C" {

/// A volatile read of a half word: sync/block_link.hpp's look at a link that may be another one's by now, for which
/// the compiler is told to forget the attribute that hides it from ThreadSanitizer. As on the processor, a relaxed
/// load. The instruction that follows reads memory, so the value has to be there.
void __tsan_volatile_read2(void *p) {
    const auto value = Atomic<unsigned short>::load(static_cast<unsigned short *>(p), __ATOMIC_RELAXED,
                                                    __builtin_return_address(0));
    if (!apart()) {
        e().shadow.writes(reinterpret_cast<std::uintptr_t>(p), sizeof value);
        e().shown.show(p, &value, sizeof value);
    }
}

// simulated/cairn/platform/double_word.hpp

void cairn_model_double_set(void *p, std::uint64_t low, std::uint64_t high) {
    Atomic<Value>::store(static_cast<Value *>(p), Value{high} << 64 | low, __ATOMIC_RELAXED,
                         __builtin_return_address(0));
}
std::uint64_t cairn_model_double_half(const void *half, int order) {
    const auto address = reinterpret_cast<std::uintptr_t>(half);
    const Value v = Atomic<Value>::load(reinterpret_cast<const Value *>(address & ~std::uintptr_t{15}), order,
                                        __builtin_return_address(0));
    return static_cast<std::uint64_t>(address % 16 == 0 ? v : v >> 64);
}
bool cairn_model_double_exchange(void *p, std::uint64_t expected[2], std::uint64_t low, std::uint64_t high) {
    Value wanted = Value{expected[1]} << 64 | expected[0];
    const bool done =
        Atomic<Value>::exchange_if(static_cast<Value *>(p), &wanted, Value{high} << 64 | low,
                                   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, __builtin_return_address(0));
    expected[0] = static_cast<std::uint64_t>(wanted);
    expected[1] = static_cast<std::uint64_t>(wanted >> 64);
    return done;
}

} // extern "C"
