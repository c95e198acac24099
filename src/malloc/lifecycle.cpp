// SPDX-License-Identifier: MIT
//
// What happens once: when the library is loaded, and when the process ends. Both malloc before the first and
// after the second work; these add only options, the fork handler and the report.
#include "process_heap.hpp"

namespace cairn::process_heap {
void started() noexcept;
}

namespace {

[[gnu::constructor(101)]] void at_load() {
    cairn::process_heap::started();
    cairn::read_options();
    cairn::process_heap::apply(cairn::options_in_force());
}

} // namespace
