// SPDX-License-Identifier: MIT
//
// What happens once: when the library is loaded, and when the process ends. Both malloc before the first and
// after the second work; these add only options, the fork handlers and the report.
#include "first_class.hpp"
#include "report_at_exit.hpp"

#include <cairn/cairn.h>

#define CAIRN_CAT_(a, b, c) #a "." #b "." #c
#define CAIRN_CAT(a, b, c) CAIRN_CAT_(a, b, c)

#include <unistd.h>

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

/// Before the constructors of all other libraries (-z initfirst): they may register handlers of fork, which in
/// the child run in the order of registration, and need the heap to be in order. That is before libc has set
/// `environ`; glibc hands it to constructors.
[[gnu::constructor(101)]] void at_load([[maybe_unused]] int count, [[maybe_unused]] char **arguments,
                                       [[maybe_unused]] char **environment) {
    if constexpr (cairn::platform::constructors_have_arguments) {
        environ = environ != nullptr ? environ : environment;
    }
    cairn::read_options();
    cairn::process_heap::apply(cairn::options_in_force());
    cairn::process_heap::started(); // after the options: musl allocates for a handler of fork
    cairn::report::read_request();
}

// 101 is first to start and last to end: after the program's own handlers and destructors.
[[gnu::destructor(101)]] void at_exit() {
    cairn::report::write_requested();
}

} // namespace

/// Here, since nothing else calls what is in this file: malloc.cpp asks for cairn_version, and so takes in
/// the constructor as well.
extern "C" CAIRN_EXPORT const char *cairn_version(void) {
    return CAIRN_VERSION_STRING;
}
