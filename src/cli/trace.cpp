// SPDX-License-Identifier: MIT
//
// `cairn trace`: runs a program with the recording library in front of its allocator, waits for it, and renames the
// file of the trace. It returns the program's status, and passes signals on to the program.
#include <src/cli/commands.hpp>
#include <src/cli/libraries.hpp>
#include <src/cli/output_file.hpp>
#include <src/cli/trace_maker.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cairn::cli {
namespace {

volatile pid_t child = 0;

/// Passes a signal on to the program, unless the terminal sent it to the whole process group: then the program has it
/// already.
void pass_on(int signal, siginfo_t *from, void *) {
    if (child > 0 && (from->si_code != SI_KERNEL || getpgid(child) != getpgrp())) {
        from->si_code == SI_QUEUE ? sigqueue(child, signal, from->si_value) : kill(child, signal);
    }
}

/// fork(); from then on signals to this process are passed on to the child. No signal is lost in between, and the child
/// has the signal settings that this process was started with.
pid_t fork_program() {
    // All signals that would end this process, except those that cannot be caught and those that report an error of it.
    std::vector<int> passed_on = {SIGHUP,    SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
                                  SIGVTALRM, SIGPROF, SIGPIPE, SIGXCPU, SIGIO,   SIGPWR,  SIGSTKFLT};
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
        passed_on.push_back(signal);
    }
    std::vector<struct sigaction> found(passed_on.size());
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    for (std::size_t i = 0; i < passed_on.size(); ++i) {
        struct sigaction action{};
        action.sa_sigaction = pass_on;
        action.sa_flags = SA_RESTART | SA_SIGINFO;
        sigaction(passed_on[i], &action, &found[i]);
    }
    child = fork();
    const pid_t result = child;
    if (result == 0) {
        for (std::size_t i = 0; i < passed_on.size(); ++i) {
            sigaction(passed_on[i], &found[i], nullptr);
        }
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return result;
}

int trace_failed(int status, const std::string &what) {
    std::cerr << "cairn: trace: " << what << '\n';
    return status;
}

} // namespace

int trace(const TraceRequest &request) {
    namespace fs = std::filesystem;
    if (request.run.command.empty()) {
        return trace_failed(wrong_usage,
                            "no program is named; cairn trace -o FILE [OPTIONS] -- PROGRAM [ARGS]");
    }
    const fs::path recorder = library_folder() / recorder_name;
    std::error_code refused;
    if (!fs::exists(recorder, refused)) {
        return trace_failed(can_not_run, not_there("library", recorder, refused));
    }
    auto *const found_limit =
        std::signal(SIGXFSZ, SIG_IGN); // a write beyond a limit is an error and no signal
    auto *const found_child =
        std::signal(SIGCHLD, SIG_DFL); // if it were ignored, the program would have no status
    fs::path place;
    std::string aside;
    std::unique_ptr<TraceMaker> maker;
    try {
        check_output(request.file);
        place = output_place(request.file);
        aside = place.string() + ".partial";
        maker = std::make_unique<TraceMaker>(aside);
    } catch (const std::runtime_error &why) {
        return trace_failed(1, text_of(why));
    }
    const std::string names = maker->memory_path() + ":" + aside;
    const pid_t program = fork_program();
    if (program == 0) {
        std::signal(SIGXFSZ, found_limit);
        std::signal(SIGCHLD, found_child);
        setenv("CAIRN_TRACE", names.c_str(), 1);
        RunRequest run_request = request.run;
        run_request.recorder = recorder.string();
        _exit(run(run_request));
    }
    if (program < 0) {
        const int error = errno;
        std::remove(aside.c_str());
        return trace_failed(1, std::string("can not start a process: ") + std::strerror(error));
    }
    int status = 0;
    while (waitpid(program, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0; // from here on there is no program to pass signals to
    try {
        if (!maker->finish(aside)) {
            std::cerr
                << "cairn: trace: nothing was recorded, and no file is made: the program did not start, or "
                   "can not be preloaded into\n";
            fs::remove(aside);
        } else {
            fs::rename(aside, place);
        }
        if (maker->lacks_room()) {
            std::cerr
                << "cairn: trace: there is no room for its file to grow: calls are missing at the end\n";
        }
        if (maker->lacks_memory()) {
            std::cerr << "cairn: trace: there is no memory for another thread's calls: calls are missing at "
                         "the end\n";
        }
        if (const std::uint64_t pid = maker->left(); pid != 0) {
            std::cerr << "cairn: trace: process " << pid
                      << " closed the trace's files, and was not recorded any further\n";
        } else if (maker->somebody_goes_on()) {
            std::cerr << "cairn: trace: a process that the program has started goes on, and is not recorded "
                         "any further\n";
        }
    } catch (const std::exception &why) {
        return trace_failed(1, text_of(why));
    }
    if (WIFSIGNALED(status)) {
        prctl(PR_SET_DUMPABLE, 0); // keeps the core file of the program
        std::signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

} // namespace cairn::cli
