// SPDX-License-Identifier: MIT
// link: so
//
// On a kernel whose pages have 16 KiB.
#include "works_pages.hpp"

using namespace process_test;

/// The library asks this one, as the program's symbols come first.
extern "C" unsigned long getauxval(unsigned long type) noexcept {
    return type == AT_PAGESZ ? 16 * KiB : pages::true_auxval(type);
}

int main() {
    pages::page_bytes = 16 * KiB;
    CHECK(getauxval(AT_PAGESZ) == pages::page_bytes);
    pages::work();
}
