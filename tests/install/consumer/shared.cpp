// SPDX-License-Identifier: MIT
//
// A heap that two files of one program share, of which one may have assertions and the other none.
#include <cairn/adapt/per_class.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>

struct Object {
    int value = 0;
};
struct Pooled : cairn::PerClassHeap<Object, cairn::Compose<cairn::MmapHeap, cairn::Bump<>, cairn::Freelist>> {
};

void destroy(Pooled *object);

#ifdef MAIN
int main() {
    destroy(new Pooled);
}
#else
void destroy(Pooled *object) {
    delete object;
}
#endif
