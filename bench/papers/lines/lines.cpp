// SPDX-License-Identifier: MIT
//
// lines FILE IMAGE: what a trace says of a process image for Hoard's Tables 3 and 4, as a JSON object.
#include "falsely_shared.hpp"

#include <src/cli/trace_file.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

int main(int count, char **words) {
    if (count != 3) {
        std::fprintf(stderr, "usage: lines FILE IMAGE\n");
        return 2;
    }
    try {
        const cairn::cli::TraceFile trace(words[1]);
        cairn::papers::FalselyShared found;
        using cairn::trace::Op;
        trace.for_each(std::strtoull(words[2], nullptr, 10), [&](const cairn::cli::TraceEvent &event) {
            if (event.op == Op::free || event.op == Op::realloc_from) {
                found.freed(event.thread, event.address);
            } else if (event.address != 0) {
                found.allocated(event.thread, event.address, event.size);
            }
        });
        std::printf("{\"objects\": %" PRIu64 ", \"requested\": %" PRIu64 ", \"falsely_shared\": %" PRIu64
                    "}\n",
                    found.objects(), found.requested(), found.count());
    } catch (const cairn::cli::BadTrace &why) {
        std::fprintf(stderr, "lines: %s\n", why.what());
        return 1;
    }
}
