// SPDX-License-Identifier: MIT
//
// Obstacks for C and C++: what the manual of the GNU C library has under "Obstacks", on the kit's ObstackHeap. A
// program written for <obstack.h> compiles unchanged: `#include <cairn/obstack.h>` in its place, or the folder
// include/cairn-obstack/ on the include path, or `-include cairn/obstack.h`. It is linked with libcairn-stack.a
// (pkg-config cairn-stack; in CMake cairn::stack), needs no C++ runtime and no particular malloc.
//
// Each name is a function or an lvalue, arguments are evaluated once. Sizes are size_t; a negative argument of
// obstack_blank and obstack_blank_fast takes bytes away. One thread at a time uses an obstack. Not compatible in
// binary form: an obstack is not to be handed to code that was compiled with the C library's header.
#ifndef CAIRN_OBSTACK_H
#define CAIRN_OBSTACK_H
#ifdef _OBSTACK_H
#error "the C library's <obstack.h> was included before <cairn/obstack.h>"
#endif
#define _OBSTACK_H 1
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h> // declares an obstack_printf of its own, so it must come before the names below
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
struct cairn_obstack_chunk {
    char *limit;
    struct cairn_obstack_chunk *prev;
};
// The growing object is [object_base, next_free). The members are the implementation's.
struct obstack {
    size_t chunk_size;
    struct cairn_obstack_chunk *chunk;
    char *object_base;
    char *next_free;
    char *chunk_limit;
    size_t alignment_mask;
    void (*chunkfun)(void);
    void (*freefun)(void);
    void *extra_arg;
    unsigned char use_extra_arg;
    unsigned char maybe_empty_object;
};

int cairn_obstack_begin(struct obstack *h, size_t chunk_size, size_t alignment, void (*chunkfun)(void),
                        void (*freefun)(void), int use_extra_arg, void *extra_arg);
void cairn_obstack_new_chunk(struct obstack *h, size_t more);
void cairn_obstack_free(struct obstack *h, void *object);
size_t cairn_obstack_memory_used(const struct obstack *h);
int cairn_obstack_printf(struct obstack *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cairn_obstack_vprintf(struct obstack *h, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
extern void (*cairn_obstack_alloc_failed_handler)(void);
extern int cairn_obstack_exit_failure;

// ---- To begin: the program defines obstack_chunk_alloc and obstack_chunk_free. Each returns 1. A function may take
// its size as any integer. In C++ it may be overloaded: the first cast chooses.
typedef void *cairn_obstack_take(size_t);
typedef void *cairn_obstack_take_with(void *, size_t);
typedef void cairn_obstack_give(void *);
typedef void cairn_obstack_give_with(void *, void *);
#ifdef __cplusplus
#define CAIRN_OBSTACK_ANY(type, function) ((void (*)(void))(type *)(function))
#else
#define CAIRN_OBSTACK_ANY(type, function) ((void (*)(void))(function))
#endif
#define obstack_init(h) obstack_begin((h), 0)
#define obstack_begin(h, size)                                                                               \
    obstack_specify_allocation((h), (size), 0, obstack_chunk_alloc, obstack_chunk_free)
#define obstack_specify_allocation(h, size, alignment, take, give)                                           \
    cairn_obstack_begin((h), (size), (alignment), CAIRN_OBSTACK_ANY(cairn_obstack_take, take),               \
                        CAIRN_OBSTACK_ANY(cairn_obstack_give, give), 0, 0)
#define obstack_specify_allocation_with_arg(h, size, alignment, take, give, arg)                             \
    cairn_obstack_begin((h), (size), (alignment), CAIRN_OBSTACK_ANY(cairn_obstack_take_with, take),          \
                        CAIRN_OBSTACK_ANY(cairn_obstack_give_with, give), 1, (arg))
#define obstack_chunkfun(h, take) ((h)->chunkfun = CAIRN_OBSTACK_ANY(cairn_obstack_take, take))
#define obstack_freefun(h, give) ((h)->freefun = CAIRN_OBSTACK_ANY(cairn_obstack_give, give))
// Called when there is no memory; must not return. The one at the start writes a line and exits.
#define obstack_alloc_failed_handler cairn_obstack_alloc_failed_handler
#define obstack_exit_failure cairn_obstack_exit_failure
// ---- What is where. The first three may be assigned to.
#define obstack_chunk_size(h) ((h)->chunk_size)
#define obstack_alignment_mask(h) ((h)->alignment_mask)
#define obstack_next_free(h) ((h)->next_free)
#define obstack_base(h) ((void *)(h)->object_base)
#define obstack_memory_used(h) cairn_obstack_memory_used(h)
static inline size_t obstack_object_size(const struct obstack *h) {
    return (size_t)(h->next_free - h->object_base);
}
static inline size_t obstack_room(const struct obstack *h) {
    return (size_t)(h->chunk_limit - h->next_free);
}
static inline int obstack_empty_p(const struct obstack *h) {
    const char *const start = h->chunk ? (const char *)(h->chunk + 1) : h->next_free;
    return !h->chunk ||
           (!h->chunk->prev && h->next_free == start + ((0 - (uintptr_t)start) & h->alignment_mask));
}
static inline void obstack_make_room(struct obstack *h, size_t size) {
    if (obstack_room(h) < size)
        cairn_obstack_new_chunk(h, size);
}

// ---- Growing. The _fast forms need room that is known to be there. Printing writes no 0 at the end.
static inline void obstack_blank_fast(struct obstack *h, ptrdiff_t size) {
    h->next_free += size;
}
static inline void obstack_blank(struct obstack *h, ptrdiff_t size) {
    obstack_make_room(h, size > 0 ? (size_t)size : 0);
    h->next_free += size;
}
static inline void obstack_grow(struct obstack *h, const void *data, size_t size) {
    obstack_make_room(h, size);
    if (size != 0)
        memcpy(h->next_free, data, size);
    h->next_free += size;
}
static inline void obstack_1grow_fast(struct obstack *h, char byte) {
    *h->next_free++ = byte;
}
static inline void obstack_1grow(struct obstack *h, char byte) {
    obstack_grow(h, &byte, 1);
}
static inline void obstack_grow0(struct obstack *h, const void *data, size_t size) {
    obstack_grow(h, data, size);
    obstack_1grow(h, 0);
}
static inline void obstack_ptr_grow_fast(struct obstack *h, const void *pointer) {
    memcpy(h->next_free, &pointer, sizeof pointer);
    h->next_free += sizeof pointer;
}
static inline void obstack_ptr_grow(struct obstack *h, const void *pointer) {
    obstack_grow(h, &pointer, sizeof pointer);
}
static inline void obstack_int_grow_fast(struct obstack *h, int number) {
    memcpy(h->next_free, &number, sizeof number);
    h->next_free += sizeof number;
}
static inline void obstack_int_grow(struct obstack *h, int number) {
    obstack_grow(h, &number, sizeof number);
}
#undef obstack_printf
#undef obstack_vprintf
#define obstack_printf cairn_obstack_printf
#define obstack_vprintf cairn_obstack_vprintf
// ---- Whole objects
static inline void *obstack_finish(struct obstack *h) {
    char *const object = h->object_base;
    const size_t padding = (0 - (uintptr_t)h->next_free) & h->alignment_mask;
    if (h->next_free == object)
        h->maybe_empty_object = 1;
    h->next_free += padding < obstack_room(h) ? padding : obstack_room(h);
    h->object_base = h->next_free;
    return object;
}
static inline void *obstack_alloc(struct obstack *h, size_t size) {
    obstack_make_room(h, size);
    h->next_free += size;
    return obstack_finish(h);
}
static inline void *obstack_copy(struct obstack *h, const void *data, size_t size) {
    obstack_grow(h, data, size);
    return obstack_finish(h);
}
static inline void *obstack_copy0(struct obstack *h, const void *data, size_t size) {
    obstack_grow0(h, data, size);
    return obstack_finish(h);
}
// Frees the object and all younger ones; of a null pointer frees everything.
static inline void obstack_free(struct obstack *h, void *object) {
    if ((char *)object > (char *)h->chunk && (char *)object < h->chunk_limit) {
        h->next_free = h->object_base = (char *)object;
    } else {
        cairn_obstack_free(h, object);
    }
}

#ifdef __cplusplus
}
#endif
#endif
