// SPDX-License-Identifier: MIT
//
// Kernels: small programs by chance, of which the checker has to find all that C++20 allows in the order of some
// execution, and nothing else (axioms.hpp; axioms_compare.cpp compares). --seed N makes other ones.
#include "axioms_compare.hpp"
#include "model.hpp"
#include "small_program.hpp"

#include <cairn/platform/fence.hpp>

#include <atomic>
#include <cstdio>

using namespace cairn;
using model::Act;
using model::SmallProgram;

namespace {

struct ByChance {
    const SmallProgram program;
    std::atomic<int> places[SmallProgram::most_places] = {0, 0, 0};
    int seen[SmallProgram::most_threads][SmallProgram::most_operations] = {};

    explicit ByChance(const void *which) : program(model::seed(), model::number_of(which)) {}

    void thread(unsigned i) {
        for (unsigned k = 0; k < program.length[i]; ++k) {
            const model::Operation &o = program.operations[i][k];
            std::atomic<int> &place = places[o.place];
            switch (o.act) {
            case Act::load:
                seen[i][k] = place.load(o.order);
                break;
            case Act::store:
                place.store(o.value, o.order);
                break;
            case Act::exchange:
                seen[i][k] = place.exchange(o.value, o.order);
                break;
            case Act::add:
                seen[i][k] = place.fetch_add(o.value, o.order);
                break;
            case Act::exchange_if:
                seen[i][k] = o.expected;
                place.compare_exchange_strong(seen[i][k], o.value, o.order, o.failure);
                break;
            case Act::fence:
                std::atomic_thread_fence(o.order);
                break;
            case Act::membarrier:
                platform::heavy_fence();
                break;
            }
        }
    }
    void finish() {
        int all[SmallProgram::results];
        unsigned n = 0;
        for (const auto &row : seen) {
            for (const int one : row) {
                all[n++] = one;
            }
        }
        for (const std::atomic<int> &place : places) {
            all[n++] = place.load();
        }
        model::outcome_of(all, n);
    }
};

constexpr unsigned programs = 20'000, programs_of_a_short_run = 1'000;

/// Their kernels stay until the end.
template <unsigned Threads>
void enter(const char *name, const model::Options &options, unsigned number) {
    new model::Kernel<ByChance, Threads>(name, options, model::program_of(number));
}

struct Programs {
    Programs() {
        static char names[programs][24];
        for (unsigned i = 0; i < programs; ++i) {
            std::snprintf(names[i], sizeof names[i], "axioms.%u", i);
            const model::Options options = {.executions = 1'000'000,
                                            .only_long = i >= programs_of_a_short_run,
                                            .insert = SmallProgram::inserts(i),
                                            .comparison = &model::with_axioms};
            SmallProgram::threads_of(i) == 2 ? enter<2>(names[i], options, i)
                                             : enter<3>(names[i], options, i);
        }
    }
} const programs_by_chance;

} // namespace
