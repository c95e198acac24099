// SPDX-License-Identifier: MIT
//
// What a kernel may ask for: the functions of model.hpp.
#include "engine.hpp"

#include <cstdlib>

namespace cairn::model {

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
    e().acting = i;
    f(argument);
    e().acting = 0;
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

} // namespace cairn::model
