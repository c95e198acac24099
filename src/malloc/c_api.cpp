// SPDX-License-Identifier: MIT
//
// The functions of <cairn/cairn.h>, except cairn_version, which is in lifecycle.cpp.
#include "first_class.hpp"
#include "report.hpp"
#include "statistics_fields.hpp"

#include <cairn/cairn.h>

#include <cerrno>
#include <cstring>

namespace {

using cairn::Statistics;
namespace process_heap = cairn::process_heap;

process_heap::FirstClassHeap *own(cairn_heap *heap) {
    return reinterpret_cast<process_heap::FirstClassHeap *>(heap);
}

void *or_no_memory(void *p) {
    if (p == nullptr) {
        errno = ENOMEM;
    }
    return p;
}

/// The caller's buffer. Text that does not fit is counted and not written.
struct Room {
    char *buffer;
    std::size_t size;
    std::size_t length = 0;

    static void take(void *to, const char *text, std::size_t n) noexcept {
        auto *const room = static_cast<Room *>(to);
        if (room->length < room->size) {
            const std::size_t left = room->size - room->length;
            std::memcpy(room->buffer + room->length, text, n < left ? n : left);
        }
        room->length += n;
    }
};

} // namespace

extern "C" {

CAIRN_EXPORT int cairn_get_statistics(cairn_statistics *out) {
    if (out == nullptr || out->size < offsetof(cairn_statistics, small_live)) {
        errno = EINVAL;
        return -1;
    }
    Statistics s;
    process_heap::whole_statistics(s);
    cairn_statistics all{};
    all.size = out->size;
    all.live = s.live();
#define CAIRN_COPY_FIELD(name) all.name = s.name;
    CAIRN_STATISTICS_FIELDS(CAIRN_COPY_FIELD)
#undef CAIRN_COPY_FIELD
    std::memcpy(out, &all, out->size < sizeof all ? out->size : sizeof all);
    return 0;
}

CAIRN_EXPORT size_t cairn_statistics_json(char *buffer, size_t size) {
    Statistics s;
    process_heap::whole_statistics(s);
    Room room{buffer, size};
    {
        cairn::TextOut out(Room::take, &room);
        cairn::report::write_json(out, s, cairn::report::this_process(cairn::process_heap::allocator_name));
    }
    if (size != 0) {
        buffer[room.length < size ? room.length : size - 1] = 0;
    }
    return room.length;
}

CAIRN_EXPORT size_t cairn_purge(void) {
    return process_heap::trim(0);
}

CAIRN_EXPORT cairn_heap *cairn_heap_create(void) {
    return static_cast<cairn_heap *>(or_no_memory(process_heap::create()));
}

CAIRN_EXPORT void *cairn_heap_alloc(cairn_heap *heap, size_t size) {
    return or_no_memory(process_heap::allocate(own(heap), size, 1));
}

CAIRN_EXPORT void *cairn_heap_aligned_alloc(cairn_heap *heap, size_t alignment, size_t size) {
    if (!cairn::is_power_of_two(alignment)) {
        errno = EINVAL;
        return nullptr;
    }
    return or_no_memory(process_heap::allocate(own(heap), size, alignment));
}

CAIRN_EXPORT void cairn_heap_free(cairn_heap *heap, void *block) {
    process_heap::deallocate(own(heap), block);
}

CAIRN_EXPORT void cairn_heap_destroy(cairn_heap *heap) {
    process_heap::destroy(own(heap));
}

} // extern "C"
