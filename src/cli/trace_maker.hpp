// SPDX-License-Identifier: MIT
//
// Trace maker: makes a trace file while traced processes write to it.
#pragma once

#include <src/cli/trace_file.hpp>

#include <string>

namespace cairn::cli {

/// A new trace, and the shared memory in which the traced processes write their records. Throws BadTrace.
class TraceMaker {
public:
    explicit TraceMaker(const std::string &path);
    ~TraceMaker();
    TraceMaker(const TraceMaker &) = delete;
    TraceMaker &operator=(const TraceMaker &) = delete;

    /// The path by which traced processes open the shared memory.
    std::string memory_path() const;

    /// After the program has ended: writes the records that its threads have not written. Whether there are any
    /// records.
    bool finish(const std::string &path);

    // After finish():
    /// The pid of a process that has closed its files of the trace, so that calls are missing; 0 if there is none.
    std::uint64_t left() const { return left_; }
    /// Whether chunks could not be written.
    bool lacks_room() const { return lacks_room_; }
    /// Whether a thread could not be recorded, for want of a slot.
    bool lacks_memory() const { return lacks_memory_; }
    /// Whether a process that the program has started still runs.
    bool somebody_goes_on() const { return somebody_goes_on_; }

private:
    void prepare(const std::string &path);
    bool others_have_memory();
    void write_chunk(std::uint64_t number, const void *chunk);
    void write_header(const std::string &path);

    Descriptor file_;
    Descriptor memory_;
    trace::Header header_{};
    trace::Shared *shared_ = nullptr;
    std::uint64_t left_ = 0;
    bool lacks_room_ = false;
    bool lacks_memory_ = false;
    bool somebody_goes_on_ = false;
};

} // namespace cairn::cli
