// SPDX-License-Identifier: MIT
//
// The engine's fibres and steps.
#include "engine.hpp"

#include <cstdarg>
#include <cstdlib>

#include <dlfcn.h>
#include <link.h>

namespace cairn::model {

Engine *engine = nullptr;
Locals locals;

namespace {

__attribute__((tls_model("initial-exec"))) thread_local char in_locals = 0;

int find_in(dl_phdr_info *info, std::size_t, void *) {
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
    g.shown.end();
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

/// Whether a thread has looked around for so long that it will find nothing new, until something changes. All that it
/// has read was new, and it did nothing else: what it does next is what it has done before.
bool goes_round(const Fibre &fibre) {
    return fibre.in_vain >= e().kernel->options.steps / 4 && fibre.changes == e().memory.changes();
}

/// Whether a thread that has announced its step can take it.
bool is_enabled(const Fibre &fibre) {
    if (fibre.asleep_on != 0) {
        return fibre.woken;
    }
    if (goes_round(fibre)) {
        return false;
    }
    if (fibre.step.awaits == 0) {
        return true;
    }
    Memory &memory = e().memory;
    return memory.newest(memory.location(fibre.step.awaits, fibre.looked_size)).time > fibre.step.than;
}

/// Who takes the next step; on whatever stack.
unsigned schedule(unsigned current) {
    Engine &g = e();
    Explorer::Candidate candidates[most_threads];
    unsigned enabled = 0;
    bool all_ended = true;
    bool any_goes_round = false;
    for (unsigned i = 0; i < g.kernel->threads; ++i) {
        const Fibre &fibre = g.fibres[i];
        all_ended = all_ended && (fibre.ended || i + g.kernel->options.helpers >= g.kernel->threads);
        candidates[i].exists = !fibre.ended && fibre.announced;
        candidates[i].step = fibre.step;
        candidates[i].enabled = candidates[i].exists && is_enabled(fibre);
        enabled += candidates[i].enabled ? 1 : 0;
        any_goes_round = any_goes_round || (candidates[i].exists && goes_round(fibre));
    }
    if (enabled == 0) {
        if (!all_ended) {
            g.failed = true;
            g.why = any_goes_round ? "a thread goes round for ever" : "no thread can go on";
        }
        return Explorer::nobody;
    }
    if (++g.steps > g.kernel->options.steps) { // and each thread had its turns
        g.failed = true;
        g.why = "no end";
        return Explorer::nobody;
    }
    if (enabled > 1 && current != outside && g.in_a_row >= g.kernel->options.steps / 8) {
        candidates[current].enabled = false; // it may wait for the others
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
    g.in_a_row = next == current ? g.in_a_row + 1 : 0;
    return next;
}

// Both come back when a fibre has no more to do here, or at a failure.
__attribute__((noinline)) void run_until_back(unsigned who) {
    if (_setjmp(e().scheduler) == 0) {
        resume(who);
    }
}
__attribute__((noinline)) void finish_kernel() {
    std::memcpy(locals.begin, locals.pristine.data(), locals.size);
    e().finishing = true;
    if (_setjmp(e().scheduler) == 0) {
        e().kernel->finish(e().object);
    }
    e().finishing = false;
}

} // namespace

void find_locals() {
    dl_iterate_phdr(find_in, nullptr);
}

void leave_fibre() { // for ever, in this execution
    e().current = outside;
    _longjmp(e().scheduler, 1);
}

[[noreturn]] void end_execution() {
    Engine &g = e();
    g.over = true;
    leave_fibre();
    std::_Exit(2);
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

void announce(const Step &step) {
    Engine &g = e();
    const unsigned me = g.current;
    Fibre &mine = g.fibres[me];
    g.shown.end();
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

void taken(std::uint32_t made, std::uint32_t read, bool old) {
    Engine &g = e();
    Fibre &mine = g.fibres[g.current];
    mine.announced = false;
    mine.in_vain = old || mine.changes != g.memory.changes() ? 0 : mine.in_vain + 1;
    mine.changes = g.memory.changes();
    g.explorer->done(g.current, made, read);
    mine.step = {};
    ++g.memory.now(g.current).clock[g.current];
}

void late_meets_fence(unsigned thread, bool full) {
    Engine &g = e();
    if (g.late.is_behind(g.memory.now(thread)) && (full || thread == g.late.thread())) {
        g.cut = true;
        end_execution();
    }
}
void late_meets(std::uintptr_t where, bool all_order) {
    Engine &g = e();
    if (g.late.is_behind(g.memory.now(g.current)) && (all_order || g.late.is_at(where))) {
        g.cut = true;
        end_execution();
    }
}

void execute() {
    Engine &g = e();
    g.memory.clear();
    g.explorer->begin();
    g.steps = 0;
    g.in_a_row = 0;
    g.failed = false;
    g.cut = false;
    g.over = false;
    g.alone = false;
    g.shown = {}; // what a failure left there is gone
    g.said.clear();
    g.huge_page = 0;
    for (unsigned i = 0; i < g.kernel->threads; ++i) {
        Fibre &fibre = g.fibres[i];
        fibre.begun = fibre.ended = fibre.announced = fibre.woken = false;
        fibre.step = {};
        fibre.looked_at = fibre.spins_out = fibre.asleep_on = 0;
        fibre.fences = fibre.in_vain = 0;
        fibre.changes = 0;
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
    if (g.late.is_open()) { // what was read has not been stored: no execution
        g.failed = false;
        g.cut = true;
    }
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

} // namespace cairn::model
