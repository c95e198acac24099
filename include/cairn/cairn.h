// SPDX-License-Identifier: MIT
//
// The C interface of libcairn beyond malloc's own names: version, statistics, purging, heaps of one's own.
// For C99 and later and for C++. A program that uses it is linked with libcairn (pkg-config cairn; in CMake
// cairn::malloc). Sizes and amounts are in bytes unless the name says otherwise. Every function may be called
// by any thread at any time, but not from a signal handler; what more holds stands at each one.
#ifndef CAIRN_CAIRN_H
#define CAIRN_CAIRN_H

#include <stddef.h>
#include <stdint.h>

#define CAIRN_VERSION_MAJOR 0
#define CAIRN_VERSION_MINOR 1
#define CAIRN_VERSION_PATCH 0
#define CAIRN_VERSION_STRING "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

// The version of the library that is loaded, as CAIRN_VERSION_STRING is that of this header. The text is
// constant and is not to be freed. Cost: none.
const char *cairn_version(void);

// ---- Statistics

// Figures about the whole process. While other threads allocate, each is right for some moment, not all of
// them for the same one. New members are added at the end only.
struct cairn_statistics {
    size_t size; // set by the caller: sizeof(struct cairn_statistics); members beyond it are not written

    uint64_t live;                  // bytes in blocks that the program holds: small + large + huge
    uint64_t small_live;            // bytes in blocks of a size class (up to 64 KiB), rounded up to it
    uint64_t small_resident;        // bytes of superblocks that were ever used; small_live is part of it
    uint64_t superblocks;           // number of superblocks
    uint64_t heaps;                 // number of thread heaps in use
    uint64_t heaps_peak;            // and the most at one time
    uint64_t large_live;            // bytes in blocks of whole 64 KiB slots (up to 16 MiB)
    uint64_t large_live_blocks;     // their number
    uint64_t huge_live;             // bytes in blocks that are mappings of their own
    uint64_t huge_live_blocks;      // their number
    uint64_t free_dirty;            // bytes that are free, but not yet given back to the system
    uint64_t free_clean;            // bytes of address space that is free and has no memory behind it
    uint64_t mapped;                // bytes of address space taken from the system
    uint64_t mapped_peak;           // and the most at one time
    uint64_t metadata;              // bytes the allocator keeps for itself, at most
    uint64_t purged;                // bytes given back to the system since the start of the process
    uint64_t purges;                // in so many calls
    uint64_t superblocks_to_global; // superblocks moved from a thread heap to the global heap since the start
    uint64_t superblocks_from_global; // and the other way
    uint64_t superblocks_fresh;       // superblocks made since the start
};

// Fills *out up to the size that out->size says, and leaves that as it is. Returns 0; -1 with errno EINVAL
// when out is null or out->size does not even hold the first figure. Cost: a look at each 64 KiB slot.
int cairn_get_statistics(struct cairn_statistics *out);

// The same and the figures of each size class as a JSON object, for tools. Like snprintf: writes at most
// `size` characters to `buffer`, the last of them 0 (none if `size` is 0), and returns the length of the whole
// text without the 0; a result >= size says that the text was cut. Names stay from version to version and
// new ones come; "schema" counts the changes of what is there. Allocates nothing. Cost: as above.
size_t cairn_statistics_json(char *buffer, size_t size);

// Gives all memory that is free back to the system now, which happens otherwise some time after it was last
// used. Returns the number of bytes given back. Cost: a system call for each run of free memory, and page
// faults when the memory is needed again.
size_t cairn_purge(void);

// ---- Heaps of one's own

// A heap whose blocks can be freed all at once. It shares no memory with malloc: a block of a heap goes back
// by cairn_heap_free or cairn_heap_destroy on the same heap. A block that is given to the wrong heap, to free,
// realloc or malloc_usable_size, a block that is freed twice, and an address that is no block stop the program
// with one line on stderr and SIGABRT. Any number of threads may use a heap at one time; each call takes the
// heap's lock. After fork the child has every heap, whole, as it was; so fork waits for calls that other threads
// are in, and must not be called by a signal handler that interrupts one.
typedef struct cairn_heap cairn_heap;

// A new heap without blocks. Null with errno ENOMEM when out of memory. Cost: 7.5 KiB; memory for blocks
// is taken in steps of 64 KiB of address space and 4 KiB of memory a size class.
cairn_heap *cairn_heap_create(void);

// A block of at least `size` bytes (of 0: an address of its own) that is not cleared, aligned to 16, or to 8
// where size <= 8. Null with errno ENOMEM when out of memory. Cost: a lock and some tens of instructions.
void *cairn_heap_alloc(cairn_heap *heap, size_t size);

// The same, aligned to `alignment`, a power of two; else null with errno EINVAL.
void *cairn_heap_aligned_alloc(cairn_heap *heap, size_t alignment, size_t size);

// Frees one block of the heap; of null does nothing. Keeps errno. Cost: a lock and some tens of instructions.
void cairn_heap_free(cairn_heap *heap, void *block);

// Frees the heap with all its blocks; of null does nothing. No thread may use the heap, or a block of it, from
// the start of the call on. Keeps errno. Cost: some tens of instructions for each 64 KiB, however many blocks
// there are.
void cairn_heap_destroy(cairn_heap *heap);

#ifdef __cplusplus
}
#endif
#endif
