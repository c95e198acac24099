// SPDX-License-Identifier: MIT
//
// The model checker's runtime: a kernel's code was compiled with -fsanitize=thread and calls the functions at the end of
// this file for each access to memory. Its threads are fibres, its kernel is `cairn_model_syscall`.
#include "explorer.hpp"
#include "memory.hpp"
#include "shadow.hpp"

#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <set>
#include <string_view>
#include <tuple>

#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

extern "C" char __data_start, _end; // the linker's: the program's static data

namespace cairn::model {
namespace {

AnyKernel *kernels = nullptr;

constexpr unsigned outside = ~0u; ///< no thread of the model runs
constexpr std::size_t stack_bytes = 256 << 10;

/// The thread-local data of the program proper, of which fibres need one each.
struct Locals {
    char *begin = nullptr;
    std::size_t size = 0;
    std::vector<char> pristine;
};
Locals locals;
__attribute__((tls_model("initial-exec"))) thread_local char in_locals = 0;

int find_locals(dl_phdr_info *info, std::size_t, void *) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type == PT_TLS && info->dlpi_tls_data != nullptr) {
            auto *const begin = static_cast<char *>(info->dlpi_tls_data);
            const std::size_t size = info->dlpi_phdr[i].p_memsz;
            if (&in_locals >= begin && &in_locals < begin + size) {
                locals = {begin, size, std::vector<char>(begin, begin + size)};
                return 1;
            }
        }
    }
    return 0;
}

struct Fibre {
    std::vector<char> stack;
    std::vector<char> locals;
    std::vector<char> locals_at_start;
    jmp_buf at;
    bool begun = false;
    bool ended = false;
    bool announced = false;
    Step step;
    // What it looked at last, for who waits for a change of it.
    std::uintptr_t looked_at = 0;
    Time looked_time = 0;
    unsigned looked_size = 0;
    std::uintptr_t spins_out = 0;
    Value spun_on = 0;
    std::uintptr_t asleep_on = 0; ///< a futex
    bool woken = false;
    unsigned fences = 0;
};

struct Failure {
    std::string text;
    std::string choices;
};

/// Everything there is while a kernel is looked at.
struct Engine {
    Memory memory;
    Shadow shadow;
    Fibre fibres[most_threads];
    Explorer *explorer = nullptr;
    const AnyKernel *kernel = nullptr;
    void *object = nullptr;
    unsigned current = outside;
    unsigned steps = 0;
    unsigned awaited = outside; ///< the fibre that is started, until its first step
    bool failed = false;
    bool cut = false;
    bool over = false;
    bool telling = false;
    bool alone = false; ///< after a fork: one thread, which sees everything
    std::string why;
    std::string said;
    std::set<std::string> outcomes;
    std::vector<std::pair<std::uintptr_t, const char *>> names;
    jmp_buf scheduler;
    ucontext_t context;
    volatile std::uint64_t executions = 0;
};
Engine *engine = nullptr;
Engine &e() {
    return *engine;
}
/// No other thread is to be thought of.
bool apart() {
    return engine == nullptr || engine->current == outside || engine->alone;
}

// ---- fibres

void leave_fibre() { // for ever, in this execution
    e().current = outside;
    _longjmp(e().scheduler, 1);
}

void swap_locals(unsigned from, unsigned to) {
    if (from != outside) {
        std::memcpy(e().fibres[from].locals.data(), locals.begin, locals.size);
    }
    if (to != outside) {
        std::memcpy(locals.begin, e().fibres[to].locals.data(), locals.size);
    }
}

void fibre_main() {
    Engine &g = e();
    const unsigned me = g.current;
    g.kernel->thread(g.object, me);
    g.fibres[me].ended = true;
    g.fibres[me].announced = false;
    swap_locals(me, outside);
    leave_fibre();
}

/// From the scheduler's stack into a fibre.
[[noreturn]] void resume(unsigned who) {
    Engine &g = e();
    Fibre &fibre = g.fibres[who];
    std::memcpy(locals.begin, fibre.locals.data(), locals.size);
    g.current = who;
    if (fibre.begun) {
        _longjmp(fibre.at, 1);
    }
    fibre.begun = true;
    getcontext(&g.context);
    g.context.uc_stack.ss_sp = fibre.stack.data();
    g.context.uc_stack.ss_size = fibre.stack.size();
    g.context.uc_link = nullptr;
    makecontext(&g.context, fibre_main, 0);
    setcontext(&g.context);
    std::_Exit(2);
}

[[noreturn]] void end_execution() {
    Engine &g = e();
    g.over = true;
    leave_fibre();
    std::_Exit(2);
}

/// Whether a thread that has announced its step can take it.
bool is_enabled(const Fibre &fibre) {
    if (fibre.asleep_on != 0) {
        return fibre.woken;
    }
    if (fibre.step.awaits == 0) {
        return true;
    }
    Memory &memory = e().memory;
    return memory.newest(memory.location(fibre.step.awaits, fibre.looked_size)).time > fibre.step.than;
}

std::string name_of(std::uintptr_t address) {
    for (const auto &[at, name] : e().names) {
        if (at == address) {
            return name;
        }
    }
    char text[32];
    std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(address));
    return text;
}

void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tell(const char *format, ...) {
    if (e().telling) {
        std::printf("    %u  ", e().current);
        va_list list;
        va_start(list, format);
        std::vprintf(format, list);
        va_end(list);
        std::printf("\n");
    }
}
std::string place(const void *code) {
    Dl_info info{};
    char text[64];
    if (dladdr(code, &info) != 0) {
        std::snprintf(text, sizeof text, "%zx",
                      static_cast<std::size_t>(static_cast<const char *>(code) -
                                               static_cast<const char *>(info.dli_fbase)));
        return text;
    }
    return "?";
}

/// Who takes the next step; on whatever stack.
unsigned schedule(unsigned current) {
    Engine &g = e();
    if (++g.steps > g.kernel->options.steps) {
        g.cut = true;
        return Explorer::nobody;
    }
    Explorer::Candidate candidates[most_threads];
    bool any = false;
    bool all_ended = true;
    for (unsigned i = 0; i < g.kernel->threads; ++i) {
        const Fibre &fibre = g.fibres[i];
        all_ended = all_ended && fibre.ended;
        candidates[i].exists = !fibre.ended && fibre.announced;
        candidates[i].step = fibre.step;
        candidates[i].enabled = candidates[i].exists && is_enabled(fibre);
        any = any || candidates[i].enabled;
    }
    if (!any) {
        if (!all_ended) {
            g.failed = true;
            g.why = "no thread can go on";
        }
        return Explorer::nobody;
    }
    const unsigned next = g.explorer->next(candidates, current);
    if (next == Explorer::nobody) {
        g.cut = true;
        return next;
    }
    if (next >= g.kernel->threads || !candidates[next].enabled) {
        g.failed = true;
        g.why = "the choices do not fit the kernel";
        return Explorer::nobody;
    }
    g.explorer->count_preemption();
    return next;
}

/// The current thread announces its step, and comes back when it is to take it.
void announce(const Step &step) {
    Engine &g = e();
    const unsigned me = g.current;
    Fibre &mine = g.fibres[me];
    mine.step.kind = step.kind;
    mine.step.all_order = step.all_order;
    mine.step.target = step.target;
    mine.step.where = step.where;
    mine.announced = true;
    if (g.awaited == me) { // the start: all threads come to their first step before any takes it
        if (_setjmp(mine.at) == 0) {
            swap_locals(me, outside);
            g.current = outside;
            _longjmp(g.scheduler, 1);
        }
        return;
    }
    const unsigned next = schedule(me);
    if (next == me) {
        return;
    }
    if (next == Explorer::nobody) {
        end_execution();
    }
    if (_setjmp(mine.at) == 0) {
        swap_locals(me, outside);
        if (g.fibres[next].begun) {
            std::memcpy(locals.begin, g.fibres[next].locals.data(), locals.size);
            g.current = next;
            _longjmp(g.fibres[next].at, 1);
        }
    }
}

void taken(std::uint32_t made, std::uint32_t read) {
    Engine &g = e();
    Fibre &mine = g.fibres[g.current];
    mine.announced = false;
    g.explorer->done(g.current, made, read);
    mine.step = {};
    ++g.memory.now(g.current).clock[g.current];
}

// Both come back when a fibre has no more to do here, or at a failure.
__attribute__((noinline)) void run_until_back(unsigned who) {
    if (_setjmp(e().scheduler) == 0) {
        resume(who);
    }
}
__attribute__((noinline)) void finish_kernel() {
    std::memcpy(locals.begin, locals.pristine.data(), locals.size);
    if (_setjmp(e().scheduler) == 0) {
        e().kernel->finish(e().object);
    }
}

/// One execution of the kernel, from the scheduler's stack.
void execute() {
    Engine &g = e();
    g.memory.clear();
    g.explorer->begin();
    g.steps = 0;
    g.failed = false;
    g.cut = false;
    g.over = false;
    g.alone = false;
    g.said.clear();
    for (unsigned i = 0; i < g.kernel->threads; ++i) {
        Fibre &fibre = g.fibres[i];
        fibre.begun = fibre.ended = fibre.announced = fibre.woken = false;
        fibre.step = {};
        fibre.looked_at = fibre.spins_out = fibre.asleep_on = 0;
        fibre.fences = 0;
        fibre.locals = fibre.locals_at_start;
    }
    for (unsigned i = 0; i < g.kernel->threads && !g.over; ++i) {
        g.awaited = i;
        run_until_back(i);
    }
    g.awaited = outside;
    while (!g.over) {
        const unsigned next = schedule(outside);
        if (next == Explorer::nobody) {
            break;
        }
        run_until_back(next);
    }
    g.current = outside;
    if (!g.failed && !g.cut) {
        finish_kernel();
    }
    Explorer::Candidate left[most_threads];
    for (unsigned i = 0; i < g.kernel->threads; ++i) {
        left[i] = {g.fibres[i].announced, false, g.fibres[i].step};
    }
    g.explorer->end(left);
    g.executions = g.executions + 1;
}

// ---- what the accesses do

[[noreturn]] void race(const char *what, std::uintptr_t address, int other, const void *code) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "a race: %s of %s (code at %s) and an access of thread %d, which nothing orders", what,
                  name_of(address).c_str(), place(code).c_str(), other);
    fail(text);
}

bool is_static(std::uintptr_t address) { // not on a stack, not thread-local
    return address >= reinterpret_cast<std::uintptr_t>(&__data_start) &&
           address < reinterpret_cast<std::uintptr_t>(&_end);
}

void plain(const volatile void *p, std::size_t size, bool write, const void *code) {
    Engine *const g = engine;
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (g == nullptr || (!Shadow::in_arena(address) && !is_static(address))) {
        return;
    }
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

/// Where in the code an atomic operation stands, and the order it asked for: what may be made weaker (mutants.py).
struct Site {
    enum Kind : unsigned char { load, store, update, failure, fence };
    std::uintptr_t at;
    Kind kind;
    int order;
    bool operator<(const Site &other) const {
        return std::tie(at, kind, order) < std::tie(other.at, other.kind, other.order);
    }
};
std::set<Site> sites;
bool want_sites = false;
std::uintptr_t code_base = 0;
std::set<std::pair<std::uintptr_t, Site::Kind>> weakened;
int weaker_order = __ATOMIC_RELAXED;

int order_of(const void *code, Site::Kind kind, int asked) {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(code) - code_base;
    if (want_sites) {
        sites.insert({at, kind, asked});
    }
    return !weakened.empty() && weakened.count({at, kind}) != 0 ? weaker_order : asked;
}

template <class T>
struct Atomic {
    static constexpr unsigned size = sizeof(T);
    static std::uintptr_t of(const volatile void *p) { return reinterpret_cast<std::uintptr_t>(p); }
    static auto choices() {
        return [](unsigned count) { return e().explorer->choose(count); };
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
        const int other = g.shadow.access(g.current, g.memory.now(g.current), address, size, kind);
        if (other >= 0 && g.kernel->options.races && !g.shadow.is_racy(address)) {
            race("an atomic operation", address, other, code);
        }
    }

    static void keep(const volatile void *p) {
        if (engine != nullptr && (Shadow::in_arena(of(p)) || is_static(of(p)))) {
            e().shadow.writes(of(p), size);
        }
    }
    static bool apart() { return cairn::model::apart(); }

    static T load(const volatile T *p, int order, const void *code) {
        if (apart()) {
            return *p;
        }
        Engine &g = e();
        order = order_of(code, Site::load, order);
        Fibre &mine = g.fibres[g.current];
        if (mine.spins_out == of(p)) {
            return static_cast<T>(mine.spun_on);
        }
        mine.spins_out = 0;
        announce(step(p, Step::load, order == __ATOMIC_SEQ_CST));
        const unsigned location = g.memory.location(of(p), size);
        const std::uint32_t since = g.explorer->since(g.current);
        const auto seen = g.memory.load(g.current, location, order, since == 0 ? 0 : since - 1, choices());
        if (seen.message == nullptr) { // nothing new, and the old has been looked at
            g.cut = true;
            end_execution();
        }
        const auto value = static_cast<T>(seen.message->value);
        tell("load   %-14s %llx   %s%s   [%s]", name_of(of(p)).c_str(),
             static_cast<unsigned long long>(value), order_name(order),
             seen.message->time < g.memory.newest(location).time ? "   (an old value)" : "",
             place(code).c_str());
        looks_at(of(p), *seen.message, false, code);
        taken(0, seen.message->number + 1);
        return value;
    }

    static void store(volatile T *p, T value, int order, const void *code) {
        if (apart()) {
            keep(p);
            *p = value;
            return;
        }
        Engine &g = e();
        order = order_of(code, Site::store, order);
        g.fibres[g.current].spins_out = 0;
        announce(step(p, Step::update, order == __ATOMIC_SEQ_CST));
        const unsigned location = g.memory.location(of(p), size);
        g.shadow.writes(of(p), size);
        const std::uint32_t made = g.memory.store(g.current, location, static_cast<Value>(value), order,
                                                  g.kernel->options.insert, choices());
        tell("store  %-14s %llx   %s   [%s]", name_of(of(p)).c_str(), static_cast<unsigned long long>(value),
             order_name(order), place(code).c_str());
        access(of(p), Shadow::atomic_write, code);
        taken(made + 1, 0);
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
            failure = order_of(code, Site::failure, failure);
        }
        order = order_of(code, Site::update, order);
        failure = failure < 0 ? order : failure;
        g.fibres[g.current].spins_out = 0;
        announce(step(p, Step::update, order == __ATOMIC_SEQ_CST || failure == __ATOMIC_SEQ_CST));
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
    order = order_of(code, Site::fence, order);
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

long membarrier(int command) {
    Engine &g = e();
    if (apart()) {
        return 0;
    }
    if (g.kernel->options.refuse_fence) {
        return -ENOSYS;
    }
    if (command != MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
        return 0;
    }
    Fibre &mine = g.fibres[g.current];
    if (++mine.fences == g.kernel->options.mute_fence) {
        tell("membarrier that does nothing");
        return 0;
    }
    for (unsigned i = 0; i < g.kernel->threads; ++i) {
        if (i != g.current) { // also one that has ended: it has left its processor
            Step step;
            step.kind = Step::proxy;
            step.all_order = true;
            step.target = static_cast<std::uint8_t>(i);
            announce(step);
            tell("membarrier: thread %u passes a fence", i);
            g.memory.fence(i, __ATOMIC_SEQ_CST);
            taken(0, 0);
        }
    }
    return 0;
}

/// The thread has looked, in vain.
void relax() {
    Engine *const g = engine;
    if (apart()) {
        return;
    }
    Fibre &mine = g->fibres[g->current];
    if (mine.looked_at == 0 || mine.spins_out != 0) {
        return;
    }
    const unsigned location = g->memory.location(mine.looked_at, mine.looked_size);
    if (g->kernel->options.spins_out && g->explorer->choose(2) == 1) {
        mine.spins_out = mine.looked_at;
        for (const std::uint32_t m : g->memory.at(location).messages) {
            (void)m;
        }
        mine.spun_on = 0;
        std::memcpy(&mine.spun_on, reinterpret_cast<const void *>(mine.looked_at), mine.looked_size);
        return;
    }
    mine.step.awaits = mine.looked_at;
    mine.step.than = mine.looked_time;
    g->memory.wants_newer(g->current, location, mine.looked_time);
}

long futex(std::atomic<std::uint32_t> *word, int operation, std::uint32_t value, bool timed) {
    Engine &g = e();
    if (apart()) {
        return 0;
    }
    Fibre &mine = g.fibres[g.current];
    const auto address = reinterpret_cast<std::uintptr_t>(word);
    if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE) {
        Step step;
        step.kind = Step::update;
        step.where = address;
        announce(step);
        std::vector<Fibre *> sleepers;
        for (Fibre &fibre : g.fibres) {
            if (fibre.asleep_on == address && !fibre.woken) {
                sleepers.push_back(&fibre);
            }
        }
        for (std::uint32_t n = 0; n < value && !sleepers.empty(); ++n) {
            const unsigned i = g.explorer->choose(static_cast<unsigned>(sleepers.size()));
            sleepers[i]->woken = true;
            sleepers.erase(sleepers.begin() + i);
        }
        tell("wake   %s", name_of(address).c_str());
        taken(0, 0);
        return 0;
    }
    if (timed) {
        relax();
        return -ETIMEDOUT;
    }
    Step step;
    step.kind = Step::update;
    step.where = address;
    announce(step);
    std::uint32_t now = 0;
    std::memcpy(&now, word, sizeof now);
    tell("sleep  %-14s %s", name_of(address).c_str(), now == value ? "" : "not: it has changed");
    taken(0, 0);
    if (now != value) {
        return -EAGAIN;
    }
    mine.asleep_on = address;
    mine.woken = false;
    announce(step);
    mine.asleep_on = 0;
    tell("woken");
    taken(0, 0);
    return 0;
}

// ---- a kernel from its first execution to its last

struct Report {
    std::uint64_t complete = 0;
    std::uint64_t repeats = 0;
    std::uint64_t too_long = 0;
    bool all = false;
    bool found = false;
    std::string why;
    std::string choices;
    std::set<std::string> outcomes;
    double seconds = 0;
};

struct Settings {
    bool is_long = false;
    bool quiet = false;
    std::uint64_t seed = 1;
    std::string replay;
};

void on_signal(int number) {
    Engine *const g = engine;
    static std::uint64_t last = ~std::uint64_t{0};
    if (number == SIGALRM) {
        if (g == nullptr || g->current == outside || g->executions != last) {
            last = g != nullptr ? static_cast<std::uint64_t>(g->executions) : 0;
            return;
        }
    }
    if (g == nullptr || (g->current == outside && !g->over && number != SIGALRM && g->object == nullptr)) {
        static const char text[] = "the checker itself crashed\n";
        if (write(2, text, sizeof text - 1) < 0) {
        }
        std::_Exit(2);
    }
    g->failed = true;
    g->over = true;
    g->why = number == SIGALRM ? "a thread goes round for ever" : "a crash: memory that is not there";
    g->current = outside;
    _longjmp(g->scheduler, 1);
}

void catch_signals() {
    static std::vector<char> stack(64 << 10);
    stack_t alternate{};
    alternate.ss_sp = stack.data();
    alternate.ss_size = stack.size();
    sigaltstack(&alternate, nullptr);
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) {
        sigaction(number, &action, nullptr);
    }
    itimerval every{{4, 0}, {4, 0}};
    setitimer(ITIMER_REAL, &every, nullptr);
}

void make(const AnyKernel &kernel) {
    Engine &g = e();
    g.kernel = &kernel;
    g.shadow.stop();
    g.shadow.restore();
    g.shadow.reset();
    g.names.clear();
    std::memcpy(locals.begin, locals.pristine.data(), locals.size);
    g.object = g.shadow.take(kernel.size, 64);
    for (unsigned i = 0; i < kernel.threads; ++i) {
        g.fibres[i].stack.resize(stack_bytes);
        g.fibres[i].locals_at_start.assign(locals.begin, locals.begin + locals.size);
    }
    kernel.make(g.object, kernel);
    g.shadow.start();
}

Report explore(const AnyKernel &kernel, const Options &options, const Settings &settings) {
    Engine &g = e();
    Report report;
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t limit = options.executions;
    if (!settings.is_long && options.short_executions != 0) {
        limit = options.short_executions;
    }
    Explorer explorer(options, kernel.threads, settings.seed * 0x9e3779b97f4a7c15u);
    if (!settings.replay.empty()) {
        explorer.follow(settings.replay);
        g.telling = true;
        limit = 1;
    }
    g.explorer = &explorer;
    g.outcomes.clear();
    do {
        g.shadow.restore();
        execute();
        if (g.failed) {
            report.found = true;
            report.why = g.why + (g.said.empty() ? "" : ": " + g.said);
            report.choices = explorer.choices();
            break;
        }
        if (g.cut) {
            (g.steps > options.steps ? report.too_long : report.repeats)++;
        } else {
            ++report.complete;
        }
        if (!explorer.advance()) {
            report.all = report.too_long == 0 && options.explore != Explore::bounded;
            break;
        }
    } while (report.complete + report.repeats + report.too_long < limit);
    g.telling = false;
    g.shadow.restore();
    g.explorer = nullptr;
    report.outcomes = g.outcomes;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

std::string joined(const std::set<std::string> &texts) {
    std::string all;
    for (const std::string &text : texts) {
        all += (all.empty() ? "" : ", ") + text;
    }
    return all;
}

void print(const AnyKernel &kernel, const Options &options, const Report &r) {
    char how[64];
    switch (options.explore) {
    case Explore::reduced:
    case Explore::all:
        std::snprintf(how, sizeof how, r.all ? "all" : "not all");
        break;
    case Explore::bounded:
        std::snprintf(how, sizeof how, "%u preemptions at most", options.preemptions);
        break;
    case Explore::random:
        std::snprintf(how, sizeof how, "by chance");
        break;
    }
    std::printf("%-36s %10llu executions (%s; %llu repeats cut%s) %.2f s\n", kernel.title,
                static_cast<unsigned long long>(r.complete), how, static_cast<unsigned long long>(r.repeats),
                r.too_long != 0 ? ", some too long" : "", r.seconds);
    std::fflush(stdout);
}

/// True if the kernel is as it should be.
bool run(const AnyKernel &kernel, const Settings &settings) {
    const Options &options = kernel.options;
    make(kernel);
    Report report = explore(kernel, options, settings);
    if (options.must_fail != nullptr && settings.replay.empty()) {
        const bool as_expected = report.found && report.why.find(options.must_fail) != std::string::npos;
        if (!settings.quiet || !as_expected) {
            std::printf("%-36s %10llu executions until it fails, as it must: %s\n", kernel.title,
                        static_cast<unsigned long long>(report.complete + report.repeats + 1),
                        report.found ? report.why.c_str() : "IT DOES NOT");
        }
        return as_expected;
    }
    if (report.found) {
        std::printf("%s: %s\n    after %llu executions; --replay %s %s\n", kernel.title, report.why.c_str(),
                    static_cast<unsigned long long>(report.complete + report.repeats), report.choices.c_str(),
                    kernel.title);
        if (settings.replay.empty() && !settings.quiet) {
            Settings again = settings;
            again.replay = report.choices;
            explore(kernel, options, again);
        }
        return false;
    }
    if (!settings.quiet) {
        print(kernel, options, report);
    }
    if (options.outcomes != nullptr && joined(report.outcomes) != options.outcomes) {
        std::printf("%s: outcomes are\n    %s, and should be\n    %s\n", kernel.title,
                    joined(report.outcomes).c_str(), options.outcomes);
        return false;
    }
    if (options.compare) {
        Options every = options;
        every.explore = Explore::all;
        make(kernel);
        const Report full = explore(kernel, every, settings);
        std::set<std::string> missing;
        for (const std::string &one : full.outcomes) {
            if (report.outcomes.count(one) == 0) {
                missing.insert(one);
            }
        }
        if (full.found || !missing.empty() || (full.all && full.outcomes != report.outcomes)) {
            std::printf("%s: reduction has lost %s\n", kernel.title, joined(missing).c_str());
            return false;
        }
        if (!settings.quiet) {
            std::printf("%-36s %10llu without reduction\n", "",
                        static_cast<unsigned long long>(full.complete));
        }
    }
    return true;
}

} // namespace

void fail(const char *why) {
    Engine &g = e();
    if (g.explorer == nullptr) { // no execution
        std::fprintf(stderr, "%s: %s: %s\n", g.kernel != nullptr ? g.kernel->title : "", why, g.said.c_str());
        std::_Exit(2);
    }
    g.failed = true;
    g.why = why;
    g.over = true;
    leave_fibre();
    std::_Exit(2);
}

void outcome(const char *text) {
    e().outcomes.insert(text);
}
void outcome_of(const int *numbers, unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i) {
        text += (i == 0 ? "" : " ") + std::to_string(numbers[i]);
    }
    outcome(text.c_str());
}
void fork_alone() {
    Engine &g = e();
    Step step;
    step.kind = Step::every;
    announce(step);
    tell("is alone");
    for (unsigned i = 0; i < g.kernel->threads; ++i) {
        if (i != g.current) {
            g.fibres[i].ended = true; // and what it would have done next could have come before the fork
        }
    }
    g.memory.sees_all(g.current);
    taken(0, 0);
    g.alone = true;
}
void as_thread(unsigned i, void (*f)(void *), void *argument) {
    std::vector<char> &its = e().explorer == nullptr ? e().fibres[i].locals_at_start : e().fibres[i].locals;
    const std::vector<char> before(locals.begin, locals.begin + locals.size);
    std::memcpy(locals.begin, its.data(), locals.size);
    f(argument);
    its.assign(locals.begin, locals.begin + locals.size);
    std::memcpy(locals.begin, before.data(), locals.size);
}
unsigned choose(unsigned count) {
    return e().explorer->choose(count);
}
void name(const volatile void *p, const char *what) {
    e().names.emplace_back(reinterpret_cast<std::uintptr_t>(p), what);
}
void racy(const void *p, std::size_t bytes) {
    e().shadow.racy(reinterpret_cast<std::uintptr_t>(p), bytes);
}

void enter(AnyKernel &kernel) {
    AnyKernel **at = &kernels;
    while (*at != nullptr) {
        at = &(*at)->next;
    }
    *at = &kernel;
}

} // namespace cairn::model

using namespace cairn::model;

int main(int argc, char **argv) {
    Settings settings;
    std::vector<std::string_view> wanted;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--long") {
            settings.is_long = true;
        } else if (word == "--quiet") {
            settings.quiet = true;
        } else if (word == "--replay" && i + 1 < argc) {
            settings.replay = argv[++i];
        } else if (word == "--sites") {
            want_sites = true;
        } else if (word == "--weaken" && i + 2 < argc) { // PLACE:KIND,PLACE:KIND... ORDER
            for (const char *at = argv[++i]; *at != 0;) {
                char *end = nullptr;
                const std::uintptr_t place = std::strtoull(at, &end, 16);
                weakened.insert({place, static_cast<Site::Kind>(std::strtoul(end + 1, &end, 10))});
                at = *end == ',' ? end + 1 : end;
            }
            weaker_order = std::atoi(argv[++i]);
        } else if (word == "--seed" && i + 1 < argc) {
            settings.seed = static_cast<std::uint64_t>(std::atoll(argv[++i]));
        } else if (word.substr(0, 2) == "--") {
            std::fprintf(stderr, "%s [--long] [--quiet] [--seed N] [--replay CHOICES] [KERNEL...]\n",
                         argv[0]);
            return 2;
        } else {
            wanted.push_back(word);
        }
    }
    dl_iterate_phdr(find_locals, nullptr);
    Dl_info here{};
    dladdr(reinterpret_cast<void *>(&enter), &here);
    code_base = reinterpret_cast<std::uintptr_t>(here.dli_fbase);
    engine = new Engine;
    catch_signals();
    bool right = true;
    for (const AnyKernel *k = kernels; k != nullptr; k = k->next) {
        bool is_wanted = wanted.empty() && (settings.is_long || !k->options.only_long);
        for (const std::string_view word : wanted) {
            is_wanted = is_wanted || std::string_view(k->title).substr(0, word.size()) == word;
        }
        if (is_wanted) {
            right = run(*k, settings) && right;
            if (!right && settings.quiet) {
                return 1;
            }
        }
    }
    for (const Site &site : sites) {
        std::printf("site %zx %u %d\n", static_cast<std::size_t>(site.at), static_cast<unsigned>(site.kind),
                    site.order);
    }
    return right ? 0 : 1;
}

#define CAIRN_PLACE __builtin_return_address(0)

// The names and types are those that the compiler calls: LLVM's ThreadSanitizer instrumentation.
extern "C" {

void cairn_model_relax() {
    relax();
}

/// The program's, in place of libc's: how a heap ends after its one line.
void abort() noexcept {
    fail("the heap ended the program");
}

std::uintptr_t cairn_model_thread_id() {
    return (e().current == outside ? 0 : e().current) + 1;
}

long cairn_model_syscall(long number, long a, long b, long c, long d, long, long) {
    Engine &g = e();
    switch (number) {
    case SYS_write:
        g.said.assign(reinterpret_cast<const char *>(b), static_cast<std::size_t>(c));
        while (!g.said.empty() && g.said.back() == '\n') {
            g.said.pop_back();
        }
        return c;
    case SYS_membarrier:
        return membarrier(static_cast<int>(a));
    case SYS_futex:
        return futex(reinterpret_cast<std::atomic<std::uint32_t> *>(a), static_cast<int>(b),
                     static_cast<std::uint32_t>(c), d != 0);
    case SYS_sched_yield:
        relax();
        return 0;
    case SYS_mmap: {
        const auto bytes = static_cast<std::size_t>(b);
        if (a != 0 && (d & MAP_FIXED_NOREPLACE) != 0) {
            return g.shadow.take_at(static_cast<std::uintptr_t>(a), bytes) ? a : -EEXIST;
        }
        void *const p = g.shadow.take(bytes, bytes >= Shadow::window / 2 ? Shadow::window : 4096);
        return p == nullptr ? -ENOMEM : reinterpret_cast<long>(p);
    }
    case SYS_munmap:
        return 0;
    case SYS_madvise:
        if (c == MADV_DONTNEED) {
            g.shadow.zero(static_cast<std::uintptr_t>(a), static_cast<std::size_t>(b));
        }
        return 0;
    default:
        return -ENOSYS;
    }
}

void cairn_model_double_set(void *p, std::uint64_t low, std::uint64_t high) {
    Atomic<Value>::store(static_cast<Value *>(p), Value{high} << 64 | low, __ATOMIC_RELAXED, CAIRN_PLACE);
}
std::uint64_t cairn_model_double_half(const void *p, unsigned half) {
    const Value v = Atomic<Value>::load(static_cast<const Value *>(p), __ATOMIC_SEQ_CST, CAIRN_PLACE);
    return static_cast<std::uint64_t>(half == 0 ? v : v >> 64);
}
bool cairn_model_double_exchange(void *p, std::uint64_t expected[2], std::uint64_t low, std::uint64_t high) {
    Value wanted = Value{expected[1]} << 64 | expected[0];
    const bool done = Atomic<Value>::exchange_if(static_cast<Value *>(p), &wanted, Value{high} << 64 | low,
                                                 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, CAIRN_PLACE);
    expected[0] = static_cast<std::uint64_t>(wanted);
    expected[1] = static_cast<std::uint64_t>(wanted >> 64);
    return done;
}

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_atomic_thread_fence(int order) {
    fence(order, CAIRN_PLACE);
}
void __tsan_atomic_signal_fence(int) {}

#define CAIRN_ACCESS(bytes)                                                                                  \
    void __tsan_read##bytes(void *p) {                                                                       \
        plain(p, bytes, false, CAIRN_PLACE);                                                                 \
    }                                                                                                        \
    void __tsan_write##bytes(void *p) {                                                                      \
        plain(p, bytes, true, CAIRN_PLACE);                                                                  \
    }                                                                                                        \
    void __tsan_unaligned_read##bytes(void *p) {                                                             \
        plain(p, bytes, false, CAIRN_PLACE);                                                                 \
    }                                                                                                        \
    void __tsan_unaligned_write##bytes(void *p) {                                                            \
        plain(p, bytes, true, CAIRN_PLACE);                                                                  \
    }                                                                                                        \
    void __tsan_read_write##bytes(void *p) {                                                                 \
        plain(p, bytes, true, CAIRN_PLACE);                                                                  \
    }                                                                                                        \
    void __tsan_unaligned_read_write##bytes(void *p) {                                                       \
        plain(p, bytes, true, CAIRN_PLACE);                                                                  \
    }
CAIRN_ACCESS(1)
CAIRN_ACCESS(2)
CAIRN_ACCESS(4)
CAIRN_ACCESS(8)
CAIRN_ACCESS(16)
#undef CAIRN_ACCESS

void __tsan_read_range(void *p, unsigned long size) {
    plain(p, size, false, CAIRN_PLACE);
}
void __tsan_write_range(void *p, unsigned long size) {
    plain(p, size, true, CAIRN_PLACE);
}
void __tsan_vptr_update(void **p, void *) {
    plain(p, sizeof(void *), true, CAIRN_PLACE);
}
void __tsan_vptr_read(void **p) {
    plain(p, sizeof(void *), false, CAIRN_PLACE);
}
void *__tsan_memcpy(void *to, const void *from, unsigned long size) {
    plain(from, size, false, CAIRN_PLACE);
    plain(to, size, true, CAIRN_PLACE);
    return std::memcpy(to, from, size);
}
void *__tsan_memmove(void *to, const void *from, unsigned long size) {
    plain(from, size, false, CAIRN_PLACE);
    plain(to, size, true, CAIRN_PLACE);
    return std::memmove(to, from, size);
}
void *__tsan_memset(void *to, int byte, unsigned long size) {
    plain(to, size, true, CAIRN_PLACE);
    return std::memset(to, byte, size);
}

#define CAIRN_ATOMIC(bits, T)                                                                                \
    T __tsan_atomic##bits##_load(const volatile T *p, int order) {                                           \
        return Atomic<T>::load(p, order, CAIRN_PLACE);                                                       \
    }                                                                                                        \
    void __tsan_atomic##bits##_store(volatile T *p, T v, int order) {                                        \
        Atomic<T>::store(p, v, order, CAIRN_PLACE);                                                          \
    }                                                                                                        \
    T __tsan_atomic##bits##_exchange(volatile T *p, T v, int order) {                                        \
        return Atomic<T>::always(p, order, [v](T) { return v; }, CAIRN_PLACE);                               \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_add(volatile T *p, T v, int order) {                                       \
        return Atomic<T>::always(p, order, [v](T old) { return static_cast<T>(old + v); }, CAIRN_PLACE);     \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_sub(volatile T *p, T v, int order) {                                       \
        return Atomic<T>::always(p, order, [v](T old) { return static_cast<T>(old - v); }, CAIRN_PLACE);     \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_and(volatile T *p, T v, int order) {                                       \
        return Atomic<T>::always(p, order, [v](T old) { return static_cast<T>(old & v); }, CAIRN_PLACE);     \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_or(volatile T *p, T v, int order) {                                        \
        return Atomic<T>::always(p, order, [v](T old) { return static_cast<T>(old | v); }, CAIRN_PLACE);     \
    }                                                                                                        \
    T __tsan_atomic##bits##_fetch_xor(volatile T *p, T v, int order) {                                       \
        return Atomic<T>::always(p, order, [v](T old) { return static_cast<T>(old ^ v); }, CAIRN_PLACE);     \
    }                                                                                                        \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T expected, T v, int order, int failure) {   \
        Atomic<T>::exchange_if(p, &expected, v, order, failure, CAIRN_PLACE);                                \
        return expected;                                                                                     \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *expected, T v, int order,            \
                                                      int failure) {                                         \
        return Atomic<T>::exchange_if(p, expected, v, order, failure, CAIRN_PLACE);                          \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *expected, T v, int order,              \
                                                    int failure) {                                           \
        return Atomic<T>::exchange_if(p, expected, v, order, failure, CAIRN_PLACE);                          \
    }
CAIRN_ATOMIC(8, unsigned char)
CAIRN_ATOMIC(16, unsigned short)
CAIRN_ATOMIC(32, unsigned int)
CAIRN_ATOMIC(64, unsigned long)
#undef CAIRN_ATOMIC

} // extern "C"
