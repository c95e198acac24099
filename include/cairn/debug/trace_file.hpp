// SPDX-License-Identifier: MIT
//
// TraceFile: where traces go: lines of text to a file descriptor, through a buffer of its own.
//
// Adds:    write, for TraceHeap; flush, which the program calls at its end.
// Needs:   a file descriptor that is open while something is written.
// Keeps:   numbers rise by one a line, in the order of the lines; no line is cut over two writes to the file.
// Threads: any.
// Errors:  what the kernel does not take is lost, and counted.
// Cost:    a lock and a line a record, a system call a buffer. No malloc, and no destructor: a trace inside a malloc
//          goes on until the process is gone.
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/debug/trace_record.hpp>
#include <cairn/platform/syscall.hpp>
#include <cairn/platform/thread_id.hpp>
#include <cairn/sync/across_fork.hpp>
#include <cairn/sync/lock.hpp>

#include <cerrno>

namespace cairn {

template <std::size_t BufferSize = 64_KiB>
class TraceFile {
    static_assert(BufferSize >= longest_trace_line, "a line fits into the buffer");

public:
    explicit constexpr TraceFile(int descriptor) : descriptor_(descriptor) {}
    TraceFile(const TraceFile &) = delete;
    TraceFile &operator=(const TraceFile &) = delete;

    void write(Operation operation, void *block, std::size_t size, std::size_t alignment) {
        char line[longest_trace_line];
        const sync::Guard hold(lock_);
        const TraceRecord record{++number_, platform::thread_id(), operation, address_of(block), size,
                                 alignment};
        const std::size_t length = to_text(record, line);
        if (BufferSize - used_ < length) {
            flush_locked();
        }
        std::memcpy(buffer_ + used_, line, length);
        used_ += length;
    }

    void flush() {
        const sync::Guard hold(lock_);
        flush_locked();
    }

    /// What is written from now on goes to another file.
    void redirect(int descriptor) {
        const sync::Guard hold(lock_);
        flush_locked();
        descriptor_ = descriptor;
    }

    /// Bytes that the kernel did not take.
    std::uint64_t lost() const {
        const sync::Guard hold(lock_);
        return lost_;
    }

    /// With an empty buffer, or both processes would write what is in it.
    void lock_all() {
        lock_.hold_across_fork();
        flush_locked();
    }
    void unlock_all(sync::AfterFork) { lock_.let_go_after_fork(); }

private:
    void flush_locked() {
        for (std::size_t done = 0; done < used_;) {
            const long result =
                platform::raw_syscall(SYS_write, descriptor_, static_cast<long>(address_of(buffer_ + done)),
                                      static_cast<long>(used_ - done));
            if (result == -EINTR) {
                continue;
            }
            if (result <= 0) {
                lost_ += used_ - done;
                break;
            }
            done += static_cast<std::size_t>(result);
        }
        used_ = 0;
    }

    int descriptor_;
    mutable sync::Lock lock_{sync::Rank::debug};
    std::size_t used_ = 0;
    std::uint64_t number_ = 0;
    std::uint64_t lost_ = 0;
    char buffer_[BufferSize] = {};
};

} // namespace cairn
