// SPDX-License-Identifier: MIT
// expect: TraceHeap
// expect: TraceSink
#include <cairn/core/archetype.hpp>
#include <cairn/debug/trace.hpp>

struct NoSink {
    void write(const char *);
};
NoSink sink;
cairn::TraceHeap<cairn::Archetype<>, sink> heap;
