// SPDX-License-Identifier: MIT
// Text that grows by realloc, a few bytes at a time: each thread has some buffers, appends a piece to each in turn, and
// frees one that is full and begins it again. They are spread over all lengths, so what one of them grows into another
// has just left. No room is kept in advance: how often a block moves is up to the allocator.
#include "../common/block.hpp"
#include "../common/crew.hpp"
#include "../common/options.hpp"
#include "../common/random.hpp"
#include "../common/table.hpp"

#include <algorithm>
#include <cinttypes>

using namespace cairn::bench;

namespace {

struct Buffer {
    // What is appended is the text's next part, so that at any moment a buffer is the beginning of its text.
    void grow(std::size_t longer, const char *text) {
        char *const moved = static_cast<char *>(std::realloc(bytes, longer));
        expect_sound(moved, longer);
        std::memcpy(moved + size, text + size, longer - size);
        bytes = moved;
        size = longer;
    }

    void end(const char *text) {
        if (size != 0 && std::memcmp(bytes, text, size) != 0)
            wrong("realloc lost the contents", bytes, size);
        std::free(bytes);
        bytes = nullptr;
        size = 0;
    }

    char *bytes;
    std::size_t size;
};

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "buffers that grow by realloc in small steps (this lab's own)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::size_t buffers = options.some("buffers", 8, "buffers of a thread, in turn");
    const std::size_t step = options.some("step", 16, "bytes that are appended");
    const std::size_t most = options.number("most", 32768, "bytes of a buffer that is full");
    const std::uint64_t rounds =
        options.work("rounds", 2000, "times that a thread's buffers are filled, over all threads");
    options.finish();
    if (most < step)
        options.refuse("most", "less than --step");

    const std::size_t steps = (most + step - 1) / step; // of a buffer, until it is full
    const std::uint64_t appended = run_crew(threads, [=](std::size_t self) {
        Random random(self + 1);
        Table<char> text(most + buffers); // a buffer's begins a byte behind that of the one before
        for (std::size_t i = 0; i < text.size(); ++i)
            text[i] = static_cast<char>(random.next());
        Table<Buffer> held(buffers);
        for (std::size_t i = 1; i < buffers; ++i)
            held[i].grow(std::min(i * steps / buffers * step + step, most), &text[i]);
        const std::uint64_t turns = rounds / threads * steps;
        for (std::uint64_t turn = 0; turn < turns; ++turn)
            for (std::size_t i = 0; i < buffers; ++i) {
                if (held[i].size == most)
                    held[i].end(&text[i]);
                held[i].grow(std::min(held[i].size + step, most), &text[i]);
            }
        for (std::size_t i = 0; i < buffers; ++i)
            held[i].end(&text[i]);
        return turns * buffers;
    });
    std::printf("realloc_steps: %" PRIu64 " pieces appended\n", appended);
}
