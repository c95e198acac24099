// SPDX-License-Identifier: MIT
//
// A pipe that is full and does not block, for what waits until there is room in it. Its users need nothing of the C++
// library.
#pragma once

#include "process_test.hpp"

namespace process_test {

class FullPipe {
public:
    FullPipe() {
        CHECK(pipe(ends_) == 0 && fcntl(ends_[1], F_SETFL, O_NONBLOCK) == 0);
        while (write(ends_[1], "", 1) > 0) {
            ++filled_;
        }
    }
    FullPipe(const FullPipe &) = delete;
    FullPipe &operator=(const FullPipe &) = delete;

    int writing_end() const { return ends_[1]; }
    void close_writing_end() const { CHECK(close(ends_[1]) == 0); }

    /// Reads until all writing ends are closed. What was written to the pipe when it was full; how it arrives, in one
    /// piece with the last bytes before it or in several, is a matter of chance.
    const char *read_rest() {
        while (filled_ != 0) {
            const ssize_t n = read(ends_[0], text_, filled_ < sizeof text_ ? filled_ : sizeof text_);
            CHECK(n > 0);
            filled_ -= static_cast<std::size_t>(n);
        }
        std::size_t length = 0;
        for (ssize_t n = 0; (n = read(ends_[0], text_ + length, sizeof text_ - 1 - length)) > 0;) {
            length += static_cast<std::size_t>(n);
        }
        text_[length] = 0;
        close(ends_[0]);
        return text_;
    }

private:
    int ends_[2];
    std::size_t filled_ = 0;
    char text_[64 * KiB];
};

} // namespace process_test
