// SPDX-License-Identifier: MIT
//
// Filter: a seccomp filter put together rule by rule, so that a test can take system calls away from itself as
// a sandbox or a kernel at its limits does.
#pragma once

#include "process_test.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>

namespace process_test {

class Filter {
public:
    /// Each call of `number` fails with `error`.
    Filter &deny(long number, int error) {
        only_if_number(number, 1);
        add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error));
        return *this;
    }

    /// Each call of `number` fails with `error` if the argument is more than `limit`.
    Filter &deny_above(long number, unsigned argument, std::uint32_t limit, int error) {
        only_if_number(number, 5);
        add(BPF_LD | BPF_W | BPF_ABS, offset_of_argument(argument) + 4);
        add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);
        add(BPF_LD | BPF_W | BPF_ABS, offset_of_argument(argument));
        add(BPF_JMP | BPF_JGT | BPF_K, limit, 0, 1);
        add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error));
        return *this;
    }

    void add(unsigned code, std::uint32_t k, unsigned when_true = 0, unsigned when_false = 0) {
        CHECK(length_ < sizeof code_ / sizeof *code_);
        code_[length_++] = {static_cast<unsigned short>(code), static_cast<unsigned char>(when_true),
                            static_cast<unsigned char>(when_false), k};
    }

    /// The `rules` instructions that follow are for this system call only.
    void only_if_number(long number, unsigned rules) {
        add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
        add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, rules);
    }

    /// Both targets are little-endian: the low half comes first.
    static constexpr std::uint32_t offset_of_argument(unsigned argument) {
        return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
    }

    /// For all threads, for ever, also beyond exec. Status 77 where the kernel has no filters.
    void install() {
        add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        const sock_fprog program{length_, code_};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
            dprintf(2, "no seccomp filters here: %s\n", strerrorname_np(errno));
            _exit(77);
        }
    }

    /// The wait status of this program started anew with `argument`, all of it under the filter.
    int run_anew(char **argv, const char *argument) {
        char here[4096];
        const ssize_t length = readlink("/proc/self/exe", here, sizeof here - 1);
        CHECK(length > 0);
        here[length] = 0;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            install();
            execl(here, argv[0], argument, nullptr);
            _exit(126);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        return status;
    }

private:
    sock_filter code_[64];
    unsigned short length_ = 0;
};

} // namespace process_test
