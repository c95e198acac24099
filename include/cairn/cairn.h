// SPDX-License-Identifier: MIT
//
// The C interface of libcairn beyond the names of malloc: version, statistics, purging, first-class heaps.
// For C99 and later and for C++. A program that uses it is linked with libcairn (pkg-config cairn; in CMake
// cairn::malloc). Sizes and amounts are in bytes unless the name says otherwise. Any thread may call any of these
// functions at any time, but not from a signal handler; further conditions are stated at each function.
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

// The version of the loaded library, in the form of CAIRN_VERSION_STRING, which is the version of this header. The
// text is constant; the caller does not free it. Cost: none.
const char *cairn_version(void);

// ---- Statistics

// Statistics of the whole process. While other threads allocate, the members are not of the same moment; live,
// small_live, small_resident, superblocks, large_live and large_live_blocks are sums over several moments, and off by
// what was allocated and freed meanwhile. New members are added at the end only.
struct cairn_statistics {
    size_t size; // set by the caller: sizeof(struct cairn_statistics); members beyond it are not written

    uint64_t live;                    // bytes of all live blocks: small_live + large_live + huge_live
    uint64_t small_live;              // bytes of live blocks of up to 64 KiB, each rounded up to its class
    uint64_t small_resident;          // bytes of superblocks that were touched; includes small_live
    uint64_t superblocks;             // number of superblocks
    uint64_t heaps;                   // number of thread heaps in use
    uint64_t heaps_peak;              // the largest number of thread heaps in use at one time
    uint64_t large_live;              // bytes of live blocks of up to 16 MiB, each rounded up to 64 KiB slots
    uint64_t large_live_blocks;       // their number
    uint64_t huge_live;               // bytes of live blocks of more than 16 MiB, each a mapping of its own
    uint64_t huge_live_blocks;        // their number
    uint64_t free_dirty;              // bytes that are free and not yet given back to the system
    uint64_t free_clean;              // bytes of free address space without memory
    uint64_t mapped;                  // bytes of address space taken from the system
    uint64_t mapped_peak;             // the largest value of mapped
    uint64_t metadata;                // bytes of the allocator's own data, at most
    uint64_t purged;                  // bytes given back to the system since the start of the process
    uint64_t purges;                  // number of calls that gave them back
    uint64_t superblocks_to_global;   // number moved from a thread heap to the global heap, since the start
    uint64_t superblocks_from_global; // number moved from the global heap to a thread heap, since the start
    uint64_t superblocks_fresh;       // number made from free memory, since the start
};

// Fills in *out up to the size in out->size, which it does not change. Returns 0; or -1 with errno EINVAL when out is
// null or out->size does not even include the first figure. Cost: reads the descriptor of each 64 KiB slot.
int cairn_get_statistics(struct cairn_statistics *out);

// The statistics of the process and of each size class as a JSON object, for tools. As snprintf() does, writes at most
// `size` characters to `buffer`, the last of them 0 (none if `size` is 0), and returns the length of the whole text
// without the 0; a result >= size means that the text was cut. Names stay from version to version and new ones are
// added; "schema" is raised when a name changes its meaning or is removed. Allocates nothing. Cost: reads the
// descriptor of each 64 KiB slot.
size_t cairn_statistics_json(char *buffer, size_t size);

// Gives all free memory back to the system now; otherwise this happens some time after the memory was last used.
// Returns the number of bytes given back. Cost: a system call for each run of free memory, and page faults when the
// memory is needed again.
size_t cairn_purge(void);

// ---- First-class heaps

// A heap whose blocks can be freed all at once. It shares no blocks and no superblocks with malloc or with another
// heap: a block is freed by cairn_heap_free or cairn_heap_destroy on the heap that it came from. A block that is passed
// to the wrong heap, to free, realloc or malloc_usable_size, a block that is freed twice, and an address that is not a
// block end the program with one line on stderr and SIGABRT. Any number of threads may use a heap at the same time;
// each call takes the heap's lock. After fork the child has every heap as it was, and consistent; so fork waits for
// calls of other threads, and must not be called by a signal handler that interrupts such a call.
typedef struct cairn_heap cairn_heap;

// A new heap without blocks. Null with errno ENOMEM when out of memory. Cost: 7.5 KiB; memory for blocks is taken in
// steps of 64 KiB of address space and 4 KiB of memory for each size class.
cairn_heap *cairn_heap_create(void);

// A block of at least `size` bytes (for 0 a distinct address) that is not cleared, aligned to 16, or to 8 if
// size <= 8. Null with errno ENOMEM when out of memory. Cost: a lock and some tens of instructions.
void *cairn_heap_alloc(cairn_heap *heap, size_t size);

// A block of at least `size` bytes, aligned to `alignment`. Null with errno EINVAL if that is not a power of two, with
// errno ENOMEM when out of memory. Cost: a lock and some tens of instructions.
void *cairn_heap_aligned_alloc(cairn_heap *heap, size_t alignment, size_t size);

// Frees one block of the heap; does nothing for null. Keeps errno. Cost: a lock and some tens of instructions.
void cairn_heap_free(cairn_heap *heap, void *block);

// Frees the heap with all its blocks; does nothing for null. No thread may use the heap, or a block of it, from the
// start of the call on. Keeps errno. Cost: some tens of instructions for each 64 KiB, for any number of blocks.
void cairn_heap_destroy(cairn_heap *heap);

#ifdef __cplusplus
}
#endif
#endif
