// SPDX-License-Identifier: MIT
//
// What runs once, when the library is loaded and when the process ends: options, the handlers of fork, and the report.
// malloc works before the one and after the other.
#include "environment.hpp"
#include "first_class.hpp"
#include "report_at_exit.hpp"

#include <cairn/cairn.h>

#define CAIRN_CAT_(a, b, c) #a "." #b "." #c
#define CAIRN_CAT(a, b, c) CAIRN_CAT_(a, b, c)

namespace cairn::process_heap {
void started() noexcept;
}

namespace {

constexpr bool equal(const char *a, const char *b) {
    return *a == *b && (*a == 0 || equal(a + 1, b + 1));
}
static_assert(equal(CAIRN_VERSION_STRING, CAIRN_VERSION), "cairn.h has the version of the build files");
static_assert(equal(CAIRN_VERSION_STRING,
                    CAIRN_CAT(CAIRN_VERSION_MAJOR, CAIRN_VERSION_MINOR, CAIRN_VERSION_PATCH)));

/// Runs before the constructors of all other libraries (-z initfirst): those may register handlers of fork, which in
/// the child run in the order of registration, and need a heap that is repaired.
[[gnu::constructor(101)]] void at_load(int, char **, char **environment) {
    cairn::set_environ_at_load(environment);
    cairn::read_options();
    cairn::process_heap::apply(cairn::options_in_force());
    cairn::process_heap::started(); // after the options: musl allocates for a handler of fork
    cairn::report::read_request();
}

// Priority 101: runs after the program's own exit handlers and destructors.
[[gnu::destructor(101)]] void at_exit() {
    cairn::report::write_requested();
}

} // namespace

/// In this file, which nothing else refers to: malloc.cpp refers to cairn_version, so a static link takes the
/// constructor and the destructor too.
extern "C" CAIRN_EXPORT const char *cairn_version(void) {
    return CAIRN_VERSION_STRING;
}
