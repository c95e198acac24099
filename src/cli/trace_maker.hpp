// SPDX-License-Identifier: MIT
//
// Trace file: made, while traced processes write to it.
#pragma once

#include <src/cli/trace_file.hpp>

#include <string>

namespace cairn::cli {

/// A new trace, and the memory that the traced processes fill. Throws BadTrace.
class TraceMaker {
public:
    explicit TraceMaker(const std::string &path);
    ~TraceMaker();
    TraceMaker(const TraceMaker &) = delete;
    TraceMaker &operator=(const TraceMaker &) = delete;

    /// For other processes to open.
    std::string memory_path() const;

    /// The program has ended: writes what its threads have not. Whether there was anything in all.
    bool finish(const std::string &path);

    // After finish():
    /// The pid of a process whose calls are not all there, since it has closed its files of the trace; 0 if there is none.
    std::uint64_t left() const { return left_; }
    /// Whether chunks could not be written.
    bool lacks_room() const { return lacks_room_; }
    /// Whether a thread could not be recorded, for want of a slot.
    bool lacks_memory() const { return lacks_memory_; }
    /// Whether a process that the program has started goes on.
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
