// SPDX-License-Identifier: MIT
// expect-death: ^(\S+)\ncairn: double free: free of \1, a free block of size class 64\n$
//
// operator delete is a free.
#include "process_test.hpp"

using namespace process_test;

struct Record {
    char bytes[64];
};

int main() {
    auto *const p = new Record;
    Record *const again = opaque(p);
    announce(p);
    delete p;
    delete again;
}
