// SPDX-License-Identifier: MIT
//
// Report at exit: the report that CAIRN_STATS requests. 1: a summary on stderr. json:FILE: a JSON object in FILE; %p in
// the name stands for the number of the process.
//
// Keeps:   FILE is complete or absent: the report is written under another name and renamed.
// Errors:  for an unknown value, or a FILE that cannot be written, one line on stderr at the start, and no report; for
//          an error that occurs only at the end, one line then.
// Threads: read_request before there is a second thread; write_requested any, once, also from a signal handler that has
//          interrupted malloc.
// Cost:    nothing is allocated; without CAIRN_STATS a load.
#pragma once

namespace cairn::report {

/// Reads CAIRN_STATS, unless the program runs with raised privileges.
void read_request() noexcept;

/// Writes the requested report about this process.
void write_requested() noexcept;

} // namespace cairn::report
