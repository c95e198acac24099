// SPDX-License-Identifier: MIT
//
// Purger: gives free memory back to the operating system some time after it was last needed, also while the
// program makes no call at all. Its thread is started when there is much to give back for the first time, and
// sleeps without a timer while there is not.
//
// Threads: `surplus` any, with no lock held; `forget` in the child of a fork.
// Cost:    `surplus` is called by the slow path of free when more than `wake_at` bytes are free; one load
//          when the thread is at work already.
#pragma once

#include "options.hpp"

namespace cairn::process_heap::purger {

/// Free memory below this does not wake the purger: a small program never has its thread.
inline constexpr std::size_t wake_at = 16_MiB;

void configure(const Options &options) noexcept;
void surplus() noexcept;
bool may_be_at_work() noexcept;
void forget() noexcept;

} // namespace cairn::process_heap::purger
