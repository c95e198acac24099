// SPDX-License-Identifier: MIT
//
// The subcommands of the program `cairn`. Each returns the exit status, unless it becomes another program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cairn::cli {

/// Exit statuses, as those of env(1) and of shells.
inline constexpr int wrong_usage = 2;
inline constexpr int can_not_run = 126;
inline constexpr int not_found = 127;

struct RunRequest {
    bool statistics = false;
    std::string allocator = "cairn"; ///< "cairn", the name of a family allocator, or a file
    std::vector<std::string> command;
    std::string recorder; ///< a library to preload in front of the allocator, "" for none
};

/// Becomes the program, with the library preloaded.
int run(const RunRequest &request);

struct TraceRequest {
    std::string file;
    RunRequest run;
};

/// Runs the program and records its calls of malloc and its family.
int trace(const TraceRequest &request);

/// Prints the contents of a trace: of all its processes (0) or of one. As JSON always of one process; 0 is the one with
/// the most calls.
int trace_info(const std::string &path, std::uint64_t process, bool json);

struct ReplayRequest {
    std::string file;
    std::vector<std::string> allocators; ///< as for `run`, or "glibc", or NAME=PATH.so
    std::uint64_t process = 1;
    unsigned repeat = 3;
    unsigned timeout = 60; ///< seconds without progress
    bool touch = true;     ///< write to every page of a block
    std::string json;      ///< a file, "" for none
};

/// Repeats the calls of a trace with each of the allocators.
int replay(const ReplayRequest &request);

/// Prints how the library was built, and the options in force.
int info(bool json);

} // namespace cairn::cli
