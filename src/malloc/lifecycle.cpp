// SPDX-License-Identifier: MIT
//
// What happens once: when the library is loaded, and when the process ends. Both malloc before the first and
// after the second work; these add only options, the fork handlers and the report.
#include "first_class.hpp"
#include "report_at_exit.hpp"

namespace cairn::process_heap {
void started() noexcept;
}

namespace {

[[gnu::constructor(101)]] void at_load() {
    cairn::process_heap::started();
    cairn::process_heap::keep_heaps_across_fork();
    cairn::read_options();
    cairn::process_heap::apply(cairn::options_in_force());
    cairn::report::read_request();
}

// 101 is first to start and last to end: after the program's own handlers and destructors.
[[gnu::destructor(101)]] void at_exit() {
    cairn::report::write_requested();
}

} // namespace
