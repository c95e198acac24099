// SPDX-License-Identifier: MIT
//
// What is behind <cairn/obstack.h>: the ends of chunks, by the same code as ObstackHeap's, on C's state. C
// functions of the program are called from here, and may leave by longjmp or an exception: nothing here holds
// anything that would have to be undone, and the obstack is whole at each call.
#include <cairn/layer/obstack_chunks.hpp>
#include <cairn/obstack.h>

#include <cstdio>
#include <cstdlib>

namespace {

/// A page of most mallocs, less what they keep of it.
constexpr std::size_t default_chunk_size = 4096 - 32;

/// The program's functions as a heap.
class Callbacks {
public:
    explicit Callbacks(const obstack &h) : h_(h) {}

    void *malloc(std::size_t size) const {
        return h_.use_extra_arg != 0
                   ? reinterpret_cast<void *(*)(void *, std::size_t)>(h_.chunkfun)(h_.extra_arg, size)
                   : reinterpret_cast<void *(*)(std::size_t)>(h_.chunkfun)(size);
    }

    void free(void *chunk) const {
        if (h_.use_extra_arg != 0) {
            reinterpret_cast<void (*)(void *, void *)>(h_.freefun)(h_.extra_arg, chunk);
        } else {
            reinterpret_cast<void (*)(void *)>(h_.freefun)(chunk);
        }
    }

private:
    const obstack &h_;
};

using Chunks = cairn::ObstackChunks<obstack>;

void write_and_exit() {
    std::fputs("memory exhausted\n", stderr);
    std::exit(cairn_obstack_exit_failure);
}

} // namespace

void (*cairn_obstack_alloc_failed_handler)() = write_and_exit;
int cairn_obstack_exit_failure = EXIT_FAILURE;

int cairn_obstack_begin(obstack *h, std::size_t chunk_size, std::size_t alignment, void (*chunkfun)(),
                        void (*freefun)(), int use_extra_arg, void *extra_arg) {
    *h = obstack{};
    h->chunk_size = chunk_size == 0 ? default_chunk_size : chunk_size;
    h->alignment_mask = (alignment == 0 ? cairn::quantum : alignment) - 1;
    h->chunkfun = chunkfun;
    h->freefun = freefun;
    h->extra_arg = extra_arg;
    h->use_extra_arg = use_extra_arg != 0;
    cairn_obstack_new_chunk(h, 0);
    return 1;
}

void cairn_obstack_new_chunk(obstack *h, std::size_t more) {
    if (!Chunks::new_chunk(*h, Callbacks(*h), more)) {
        cairn_obstack_alloc_failed_handler();
        std::abort(); // there is nothing that could be returned to
    }
}

void cairn_obstack_free(obstack *h, void *object) {
    if (object == nullptr) {
        Chunks::free_all(*h, Callbacks(*h));
    } else {
        Chunks::free_from(*h, Callbacks(*h), object);
    }
}

std::size_t cairn_obstack_memory_used(const obstack *h) {
    return Chunks::memory_used(*h);
}

int cairn_obstack_vprintf(obstack *h, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    // vsnprintf writes a 0 behind the text: room for it is needed for the moment.
    int length = std::vsnprintf(h->next_free, obstack_room(h), format, arguments);
    if (length >= 0 && static_cast<std::size_t>(length) >= obstack_room(h)) {
        obstack_make_room(h, static_cast<std::size_t>(length) + 1);
        length = std::vsnprintf(h->next_free, obstack_room(h), format, again);
    }
    va_end(again);
    if (length > 0) {
        h->next_free += length;
    }
    return length;
}

int cairn_obstack_printf(obstack *h, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = cairn_obstack_vprintf(h, format, arguments);
    va_end(arguments);
    return length;
}
