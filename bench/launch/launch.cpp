// SPDX-License-Identifier: MIT
// The measuring instrument: runs one program and prints, as one line of JSON, what wait4 says of it.
//   launch [--preload LIB] [--timeout SECONDS] [--sample MILLISECONDS] [--stdin FILE] [--stdout FILE]
//          [--stderr FILE] -- PROGRAM [ARGS]
// It is a program of its own, and a small one, because ru_maxrss survives exec: a child is charged with the
// resident memory of the process that forked it. Started by an interpreter, every program would seem to need
// the interpreter's memory. LD_PRELOAD is set in the child only.
// A program that runs into the timeout is killed, with its whole process group; so it is when somebody ends
// the launcher, or the runner above it.
#include "curve.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cairn::bench;

namespace {

struct Request {
    const char *preload = nullptr;
    const char *in = "/dev/null";
    const char *out = "/dev/null";
    const char *err = "/dev/null";
    double timeout = 60;
    int sample_ms = 0;
    char **command = nullptr;
};

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "launch: %s: %s\n", what, std::strerror(errno));
    std::exit(2);
}

double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds(const timeval &time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Request read_request(int argc, char **argv) {
    Request request;
    int i = 1;
    for (; i + 1 < argc && std::string_view(argv[i]) != "--"; i += 2) {
        const std::string_view name = argv[i];
        const char *value = argv[i + 1];
        if (name == "--preload") {
            request.preload = value;
        } else if (name == "--stdin") {
            request.in = value;
        } else if (name == "--stdout") {
            request.out = value;
        } else if (name == "--stderr") {
            request.err = value;
        } else if (name == "--timeout") {
            request.timeout = std::atof(value);
        } else if (name == "--sample") {
            request.sample_ms = std::atoi(value);
        } else {
            errno = EINVAL;
            fail(argv[i]);
        }
    }
    if (i + 1 >= argc) {
        errno = EINVAL;
        fail("no program given");
    }
    request.command = argv + i + 1;
    return request;
}

void redirect(const char *path, int flags, int target) {
    const int file = open(path, flags | O_CLOEXEC, 0600);
    if (file < 0 || dup2(file, target) < 0)
        _exit(127);
}

// The process group of the program; 0 as long as there is none.
volatile std::sig_atomic_t group = 0;

extern "C" void end_with_group(int) {
    if (group != 0)
        kill(-group, SIGKILL);
    _exit(2);
}

void end_with_whoever_started_this() {
    struct sigaction action{};
    action.sa_handler = end_with_group;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaction(signal, &action, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

[[noreturn]] void become(const Request &request, int trouble) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    redirect(request.in, O_RDONLY, STDIN_FILENO);
    redirect(request.out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect(request.err, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    if (request.preload != nullptr)
        setenv("LD_PRELOAD", request.preload, 1);
    execvp(request.command[0], request.command);
    const int why = errno;
    if (write(trouble, &why, sizeof why) < 0)
        _exit(126);
    _exit(127);
}

// True if the program ended by itself. It stays a zombie, so that its group can be killed safely.
bool await(pid_t child, double deadline, Curve &curve) {
    pollfd handle{static_cast<int>(syscall(SYS_pidfd_open, child, 0U)), POLLIN, 0};
    if (handle.fd < 0)
        fail("pidfd_open");
    for (;;) {
        double at = now();
        if (at >= deadline)
            return false;
        if (curve.wanted() && at >= curve.due()) {
            curve.look(child, at, now);
            at = now();
        }
        const double next = curve.wanted() && curve.due() < deadline ? curve.due() : deadline;
        const double left = next - at;
        const int wait_ms = left <= 0 ? 0 : left > 1000 ? 1000000 : static_cast<int>(left * 1000) + 1;
        if (poll(&handle, 1, wait_ms) > 0)
            return true;
    }
}

} // namespace

int main(int argc, char **argv) {
    const Request request = read_request(argc, argv);
    int trouble[2];
    if (pipe2(trouble, O_CLOEXEC) != 0)
        fail("pipe2");
    end_with_whoever_started_this();

    const double start = now();
    const pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0)
        become(request, trouble[1]);
    // Both sides put the child into its group: whichever comes first.
    setpgid(child, child);
    group = child;
    close(trouble[1]);
    int why = 0;
    if (read(trouble[0], &why, sizeof why) == static_cast<ssize_t>(sizeof why)) {
        errno = why;
        fail(request.command[0]);
    }

    Curve curve(request.sample_ms);
    const bool ended = await(child, start + request.timeout, curve);
    const double stop = now();
    kill(-child, SIGKILL);
    int status = 0;
    rusage usage{};
    if (wait4(child, &status, 0, &usage) != child)
        fail("wait4");

    std::printf(
        "{\"wall\": %.6f, \"user\": %.6f, \"system\": %.6f, \"peak_kib\": %ld, \"minor_faults\": %ld, "
        "\"major_faults\": %ld, \"voluntary_switches\": %ld, \"involuntary_switches\": %ld, \"started_at\": "
        "%.6f, ",
        stop - start, seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss, usage.ru_minflt,
        usage.ru_majflt, usage.ru_nvcsw, usage.ru_nivcsw, start);
    curve.print(start);
    std::printf("\"timed_out\": %s, \"status\": %d, \"signal\": %d}\n", ended ? "false" : "true",
                WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}
