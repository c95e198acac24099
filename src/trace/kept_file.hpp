// SPDX-License-Identifier: MIT
//
// A kept file: stays open in a program that knows nothing of it, at a high number, since programs count on the low
// ones. A program that closes all its files closes this one too, and may be given its number for a file of its own: so
// it is looked at before each use.
//
// Needs:   a file that begins with a mark: its name may have been left over, and be another file's by now.
// Threads: any, after open().
// Errors:  what can not be opened is not there.
#pragma once

#include <cairn/platform/syscall.hpp>

#include <cstdint>
#include <fcntl.h>
#include <sys/stat.h>

namespace cairn::trace {

class KeptFile {
public:
    bool open(const char *path, std::uint64_t mark) noexcept {
        using platform::raw_syscall;
        // O_NONBLOCK: a pipe must not keep the program waiting; to a file it means nothing.
        const long low =
            raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDWR | O_NONBLOCK | O_CLOEXEC);
        if (platform::failed(low)) {
            return false;
        }
        number_ = low;
        std::uint64_t found = 0;
        if (raw_syscall(SYS_pread64, low, reinterpret_cast<long>(&found), sizeof found, 0) != sizeof found ||
            found != mark) {
            raw_syscall(SYS_close, low);
            return false;
        }
        for (const long number : {700, 200, 60, 3}) { // as `ulimit -n` allows
            const long high = raw_syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, number);
            if (!platform::failed(high)) {
                raw_syscall(SYS_close, low);
                number_ = high;
                break;
            }
        }
        // A standard number that the program has closed: what it writes there must go nowhere.
        if (number_ <= 2) {
            raw_syscall(SYS_close, number_);
            return false;
        }
        return look(file_);
    }

    /// Whether it is the file that was opened. Between this and its use another thread may still close it.
    bool is_there() const noexcept {
        struct stat now{};
        return look(now) && now.st_dev == file_.st_dev && now.st_ino == file_.st_ino;
    }

    long number() const noexcept { return number_; }

private:
    bool look(struct stat &now) const noexcept {
        return !platform::failed(platform::raw_syscall(SYS_fstat, number_, reinterpret_cast<long>(&now)));
    }

    long number_ = -1;
    struct stat file_{};
};

} // namespace cairn::trace
