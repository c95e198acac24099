// SPDX-License-Identifier: MIT
//
// The comparison of axioms.cpp, compiled without the checker's instrumentation.
#include "axioms_compare.hpp"

#include "axioms.hpp"

#include <cstdio>
#include <iterator>
#include <sstream>

namespace cairn::model {
namespace {

struct Sum {
    unsigned programs = 0;
    unsigned not_complete = 0;
    std::size_t found = 0;
    std::size_t other_order = 0;        ///< allowed by another S alone, and not found
    std::size_t other_modification = 0; ///< allowed by another order of modification alone, and not found
} sum;

Outcomes without(const Outcomes &all, const Outcomes &these) {
    Outcomes rest;
    std::set_difference(all.begin(), all.end(), these.begin(), these.end(), std::inserter(rest, rest.end()));
    return rest;
}

const char *name_of(std::memory_order order) {
    static const char *const names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    return names[static_cast<int>(order)];
}
std::string name_of_place(unsigned place) {
    return std::string(1, static_cast<char>('x' + static_cast<char>(place)));
}
std::string name_of_result(unsigned thread, unsigned k) {
    return 'r' + std::to_string(thread) + std::to_string(k);
}

std::string text_of(const Operation &o) {
    const std::string place = name_of_place(o.place);
    const std::string order = name_of(o.order);
    const std::string value = std::to_string(o.value);
    switch (o.act) {
    case Act::load:
        return place + ".load(" + order + ")";
    case Act::store:
        return place + ".store(" + value + ", " + order + ")";
    case Act::exchange:
        return place + ".exchange(" + value + ", " + order + ")";
    case Act::add:
        return place + ".fetch_add(" + value + ", " + order + ")";
    case Act::exchange_if:
        return place + ".compare_exchange(" + std::to_string(o.expected) + ", " + value + ", " + order +
               ", " + name_of(o.failure) + ")";
    case Act::fence:
        return "fence(" + order + ")";
    case Act::membarrier:
        return "membarrier";
    }
    return "";
}

void print(const SmallProgram &program) {
    for (unsigned i = 0; i < program.threads; ++i) {
        std::printf("    thread %u:", i);
        for (unsigned k = 0; k < program.length[i]; ++k) {
            const Operation &o = program.operations[i][k];
            const std::string result = loads(o.act) ? name_of_result(i, k) + " = " : "";
            std::printf("%s %s%s", k == 0 ? "" : ";", result.c_str(), text_of(o).c_str());
        }
        std::printf("\n");
    }
}

void print(const SmallProgram &program, const char *what, const Outcomes &outcomes) {
    for (const std::string &outcome : outcomes) {
        std::istringstream numbers(outcome);
        std::printf("  %s:", what);
        int number = 0;
        for (unsigned i = 0; i < SmallProgram::most_threads; ++i) {
            for (unsigned k = 0; k < SmallProgram::most_operations && numbers >> number; ++k) {
                if (k < program.length[i] && loads(program.operations[i][k].act)) {
                    std::printf(" %s=%d", name_of_result(i, k).c_str(), number);
                }
            }
        }
        for (unsigned place = 0; place < program.places && numbers >> number; ++place) {
            std::printf("%s %s=%d", place == 0 ? "; in the end" : "", name_of_place(place).c_str(), number);
        }
        std::printf("\n");
    }
}

bool is_right(const void *which, const Outcomes &found, bool all) {
    const unsigned number = number_of(which);
    const SmallProgram program(seed(), number);
    const Axioms axioms(program);
    const Outcomes &asked = SmallProgram::inserts(number) ? axioms.in_steps() : axioms.in_steps_at_the_end();
    const Outcomes too_many = without(found, axioms.allowed());
    const Outcomes lost = all ? without(asked, found) : Outcomes();
    ++sum.programs;
    sum.not_complete += all ? 0 : 1;
    sum.found += found.size();
    sum.other_order += without(without(axioms.allowed(), axioms.in_steps()), found).size();
    sum.other_modification += without(without(axioms.in_steps(), asked), found).size();
    if (too_many.empty() && lost.empty()) {
        return true;
    }
    const auto seeded = static_cast<unsigned long long>(seed());
    std::printf("axioms.%u of seed %llu%s: the checker does not find what C++20 allows\n", number, seeded,
                SmallProgram::inserts(number) ? " (stores may come before others)" : "");
    print(program);
    print(program, "not allowed", too_many);
    print(program, "lost", lost);
    std::printf("  again: axioms --seed %llu axioms.%u\n", seeded, number);
    return false;
}

void sum_up() {
    std::printf(
        "axioms: %u programs of seed %llu, %zu outcomes; %u programs not complete\n"
        "    not asked for, and not found: %zu by another order S, %zu by another order of modification\n",
        sum.programs, static_cast<unsigned long long>(seed()), sum.found, sum.not_complete, sum.other_order,
        sum.other_modification);
}

} // namespace

const Comparison with_axioms = {is_right, sum_up};

} // namespace cairn::model
