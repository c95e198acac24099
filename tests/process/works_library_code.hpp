// SPDX-License-Identifier: MIT
//
// Library code: where the code of the malloc lies, so that a filter can tell its system calls from those of everybody
// else, and a handler can answer some of them in the kernel's place.
#pragma once

#include "works_filter.hpp"

#include <link.h>
#include <ucontext.h>

#include <csignal>
#include <type_traits>

namespace process_test {

struct Range {
    std::uintptr_t from;
    std::uintptr_t to;
};

/// The code of libcairn.so, or of the library of the family that runs in its place.
inline Range library_code() {
    Range code{};
    dl_iterate_phdr(
        [](dl_phdr_info *object, std::size_t, void *found) {
            if (std::strstr(object->dlpi_name, "/libcairn") != nullptr) {
                for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
                    const auto &segment = object->dlpi_phdr[i];
                    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
                        const std::uintptr_t from = object->dlpi_addr + segment.p_vaddr;
                        *static_cast<Range *>(found) = {from, from + segment.p_memsz};
                    }
                }
            }
            return 0;
        },
        &code);
    CHECK(code.from < code.to && code.from >> 32 == code.to >> 32);
    return code;
}

/// Calls from anywhere but `code` are none of the business of the rules that follow.
inline void only_calls_from(Range code, Filter &filter) {
    constexpr auto caller = static_cast<std::uint32_t>(offsetof(seccomp_data, instruction_pointer));
    filter.add(BPF_LD | BPF_W | BPF_ABS, caller + 4);
    filter.add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(code.from >> 32), 1, 0);
    filter.add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter.add(BPF_LD | BPF_W | BPF_ABS, caller);
    filter.add(BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint32_t>(code.from), 0, 1);
    filter.add(BPF_JMP | BPF_JGT | BPF_K, static_cast<std::uint32_t>(code.to), 0, 1);
    filter.add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

/// A system call that was trapped: its arguments, and the place of its result.
class TrappedCall {
public:
    explicit TrappedCall(void *context) : machine_(static_cast<ucontext_t *>(context)->uc_mcontext) {}

    long argument(int i) const {
#if defined(__x86_64__)
        constexpr int order[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
        return static_cast<long>(machine_.gregs[order[i]]);
#elif defined(__aarch64__)
        return static_cast<long>(machine_.regs[i]);
#endif
    }

    void answer(long value) {
#if defined(__x86_64__)
        auto &result = machine_.gregs[REG_RAX];
#elif defined(__aarch64__)
        auto &result = machine_.regs[0];
#endif
        result = static_cast<std::remove_reference_t<decltype(result)>>(value);
    }

    /// The kernel answers: system call `number`, which is not trapped where the handler makes it.
    void let_through(int number) {
        const long result =
            syscall(number, argument(0), argument(1), argument(2), argument(3), argument(4), argument(5));
        answer(result == -1 ? -errno : result);
    }

private:
    mcontext_t &machine_;
};

using TrapHandler = void (*)(int, siginfo_t *, void *);

/// Who answers what filters trap.
inline void handle_traps(TrapHandler handler) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    CHECK(sigaction(SIGSYS, &action, nullptr) == 0);
}

/// From here on each system call `number` that the library's code makes goes to the handler.
inline void trap_library_calls(long number, TrapHandler handler) {
    handle_traps(handler);
    Filter filter;
    only_calls_from(library_code(), filter);
    filter.only_if_number(number, 1);
    filter.add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    filter.install();
}

} // namespace process_test
