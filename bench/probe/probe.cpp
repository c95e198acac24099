// SPDX-License-Identifier: MIT
// Prints which file malloc comes from in this process. The loader only warns when it cannot preload a
// library, and then goes on with the system's malloc: the runner asks here first.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

int main() {
    std::free(std::malloc(1));
    Dl_info info{};
    void *symbol = dlsym(RTLD_DEFAULT, "malloc");
    if (symbol == nullptr || dladdr(symbol, &info) == 0)
        return 1;
    std::puts(info.dli_fname);
}
