// SPDX-License-Identifier: MIT
//
// Report at exit: what CAIRN_STATS asks for. 1: a summary on stderr. json:FILE: an object in FILE, where %p
// stands for the process's number.
//
// Keeps:   FILE is there whole or not at all: it is written under another name and renamed.
// Errors:  a value that means nothing, or a FILE that can not be written, is one line on stderr at the start,
//          and there is no report; what goes wrong only in the end is one line then.
// Threads: `read_request` before there is a second thread; `write_requested` any, once, also from a handler that has interrupted malloc.
// Cost:    nothing is allocated; without CAIRN_STATS a load.
#pragma once

namespace cairn::report {

/// Takes in CAIRN_STATS, unless the program runs with raised privileges.
void read_request() noexcept;

/// Writes what was asked for about this process.
void write_requested() noexcept;

} // namespace cairn::report
