// SPDX-License-Identifier: MIT
// Becomes a server, with a client beside it:
//   serve CLIENT [ARGS] -- SERVER [ARGS]
// What is launched, preloaded and measured is then the server itself: this process makes a folder, starts the client,
// and turns into the server by exec. Both are in the folder. The client is nobody's child here, in a session of its
// own, and without the preloaded library. As descriptor 3 it has a pipe that brings the server's number, and ends when
// the server does, which holds the other side without a use for it: the client has to clear the folder away, however
// the server ended. (No pidfd: valgrind may not know those.) Only the client writes to stdout; what the server says
// goes to stderr.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int server_handle = 3;

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "serve: %s: %s\n", what, std::strerror(errno));
    std::exit(2);
}

void enter_new_folder() {
    const char *place = std::getenv("TMPDIR");
    std::string folder =
        std::string(place != nullptr && *place != '\0' ? place : "/tmp") + "/cairn-serve-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr || chdir(folder.c_str()) != 0)
        fail(folder.c_str());
}

// By way of a child that ends at once: a server must not find a child that it did not start.
void start_beside(char **client, const int (&line)[2]) {
    const pid_t between = fork();
    if (between < 0)
        fail("fork");
    if (between == 0) {
        setsid();
        const pid_t child = fork();
        if (child != 0)
            _exit(child < 0 ? 1 : 0);
        unsetenv("LD_PRELOAD");
        close(line[1]);
        if (line[0] != server_handle) {
            dup2(line[0], server_handle);
            close(line[0]);
        }
        execvp(client[0], client);
        fail(client[0]);
    }
    int status = 0;
    if (waitpid(between, &status, 0) != between || status != 0) {
        errno = ECHILD;
        fail("the client");
    }
}

// Some servers link a malloc of their own choice, which a preloaded library takes the place of. Where none is preloaded
// the C library's is meant, so that one is.
void name_a_malloc() {
    const char *given = std::getenv("LD_PRELOAD");
    Dl_info info{};
    if ((given == nullptr || *given == '\0') && dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) != 0)
        setenv("LD_PRELOAD", info.dli_fname, 1);
}

} // namespace

int main(int argc, char **argv) {
    int middle = 1;
    while (middle < argc && std::strcmp(argv[middle], "--") != 0)
        ++middle;
    if (middle == 1 || middle + 1 >= argc) {
        std::fprintf(stderr, "usage: serve CLIENT [ARGS] -- SERVER [ARGS]\n");
        return 2;
    }
    argv[middle] = nullptr;
    int line[2];
    if (pipe(line) != 0 || dprintf(line[1], "%d\n", static_cast<int>(getpid())) < 0)
        fail("pipe");
    enter_new_folder();
    start_beside(argv + 1, line);
    close(line[0]);
    name_a_malloc();
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(argv[middle + 1], argv + middle + 1);
    fail(argv[middle + 1]);
}
