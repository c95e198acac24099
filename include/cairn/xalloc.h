// SPDX-License-Identifier: MIT
//
// xalloc for C and C++: memory for blocks that come and go like the frames of a stack, on the kit's XallocHeap
// (Heap Layers, section 5.1). All blocks lie in one piece of memory; the next one comes right after the last one
// that is in use. Any block may be freed at any time, but its memory is used again only when all blocks behind it
// are free too. A program is linked with libcairn-stack.a (pkg-config cairn-stack; in CMake cairn::stack); no
// C++ runtime is needed. One thread at a time.
#ifndef CAIRN_XALLOC_H
#define CAIRN_XALLOC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// The limit of a program that never calls xalloc_init.
#define XALLOC_DEFAULT_LIMIT ((size_t)30 << 20)

// All blocks are gone, their memory goes back to the system, and the next ones lie in `limit` bytes, headers of
// 16 bytes a block included. Returns 0; -1 with errno ENOMEM when the system has not so much in one piece, or
// when not even a header fits: xalloc then fails too. Memory that is never used costs address space only.
int xalloc_init(size_t limit);

// A block of `size` bytes, aligned to 16. Null with errno ENOMEM when the limit is reached. Cost: a handful of
// instructions; the first call takes the memory, where xalloc_init has not.
void *xalloc(size_t size);

// Frees a block; of null does nothing.
void xfree(void *block);

// Frees all blocks at once and keeps the memory. Cost: two stores.
void xalloc_clear(void);

// The largest block that fits now.
size_t xalloc_remaining(void);

#ifdef __cplusplus
}
#endif
#endif
