#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cairn trace: every call is in the file, of threads, children, programs that are killed; status and signals pass
# through; what can not be done is one line.
. "$(dirname "$0")/lib/common.sh"
file=$scratch/file.trace

summary() { "$cairn" trace-info "$1" || fail "trace-info: status $?"; }

cat >"$scratch/calls.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *volatile sink;
static volatile sig_atomic_t came[65];
static void count_it(int signal) {
    ++came[signal];
}
static void *work(void *unused) {
    for (int i = 0; i < 20000; ++i) {
        void *volatile mine = malloc(123);
        free(mine);
    }
    return unused;
}

static void *says(void *unused) {
    sink = malloc(100);
    return strerror(99999) == NULL ? NULL : unused; // a text in a block that the C library frees when the thread has ended
}

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "late") == 0) {
        for (int i = 0; i < 500; ++i) {
            pthread_t thread;
            pthread_create(&thread, NULL, says, NULL);
            pthread_join(thread, NULL);
            free(sink);
        }
        char line[4096];
        int mappings = 0;
        FILE *const maps = fopen("/proc/self/maps", "r");
        while (fgets(line, sizeof line, maps) != NULL)
            mappings += strstr(line, "cairn trace") != NULL;
        printf("%d\n", mappings);
        return 0;
    }
    if (count > 1 && strcmp(words[1], "threads") == 0) {
        pthread_t threads[4];
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i < 4; ++i)
                pthread_create(&threads[i], NULL, work, NULL);
            for (int i = 0; i < 4; ++i)
                pthread_join(threads[i], NULL);
        }
        return 0;
    }
    if (count > 1 && strcmp(words[1], "killed") == 0) {
        work(NULL);
        kill(getpid(), SIGKILL);
    }
    if (count > 3 && strcmp(words[1], "waits") == 0) {
        work(NULL);
        return open(words[2], O_WRONLY | O_CREAT, 0600) < 0 || open(words[3], O_RDONLY) < 0;
    }
    if (count > 2 && strcmp(words[1], "closes") == 0) {
        if (fork() == 0) { // all descriptors become those of a file of its own
            for (int i = 0; i < 1024; ++i)
                close(i);
            const int own = open(words[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
            while (dup(own) >= 0) {
            }
            if (write(own, "hello\n", 6) != 6)
                _exit(1);
            pthread_t thread;
            pthread_create(&thread, NULL, work, NULL);
            pthread_join(thread, NULL);
            work(NULL);
            _exit(0);
        }
        int status = 1;
        wait(&status);
        work(NULL);
        return status != 0;
    }
    if (count > 1 && strcmp(words[1], "scribbles") == 0) { // over what its threads have recorded
        unsigned long from, to, offset;
        char line[400];
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
        FILE *const maps = fopen("/proc/self/maps", "r");
        while (fgets(line, sizeof line, maps) != NULL)
            if (strstr(line, "cairn trace") && sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && offset != 0)
                memset((void *)from, 255, 100);
        alarm(60);
        pthread_create(&thread, NULL, work, NULL);
        return pthread_join(thread, NULL);
    }
    if (count > 1 && strcmp(words[1], "writes") == 0) { // to its stdout
        work(NULL);
        for (int i = 0; i < 100; ++i)
            write(STDOUT_FILENO, "hello\n", 6);
        work(NULL);
        return 0;
    }
    if (count > 1 && strcmp(words[1], "_Fork") == 0) { // both at one time
        pid_t (*plain_fork)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "_Fork");
        if (plain_fork == NULL)
            return 77;
        const pid_t child = plain_fork();
        work(NULL);
        if (child == 0)
            _exit(0);
        int status = 1;
        waitpid(child, &status, 0);
        return status != 0;
    }
    if (count > 2 && strcmp(words[1], "stays") == 0) { // a daemon, until the pipe is written to
        if (fork() == 0) {
            work(NULL);
            alarm(60);
            char go = 0;
            const int pipe = open(words[2], O_RDONLY);
            return read(pipe, &go, 1) != 1;
        }
        return 0;
    }
    if (count > 2 && strcmp(words[1], "forks") == 0) {
        for (int i = atoi(words[2]); i > 0; --i) {
            if (fork() == 0) {
                free(malloc(100));
                _exit(0);
            }
            wait(NULL);
        }
        return 0;
    }
    if (count > 1 && strcmp(words[1], "fork") == 0) {
        sink = malloc(1000001);
        if (fork() == 0) {
            work(NULL);
            _exit(0);
        }
        if (fork() == 0)
            execl(words[0], words[0], "one", NULL);
        while (wait(NULL) > 0) {
        }
        return 0;
    }
    if (count > 1 && strcmp(words[1], "copies") == 0) { // blocks of a child at the addresses of its parent's
        sink = malloc(300000);
        if (fork() == 0) {
            free(sink);
            sink = malloc(300000);
            void *volatile failed = realloc(sink, (size_t)1 << 60);
            free(sink);
            _exit(failed != NULL);
        }
        int status = 1;
        wait(&status);
        free(sink);
        return status != 0;
    }
    if (count > 1 && strcmp(words[1], "counts") == 0) { // says when it is ready, and when one has come
        const int counted[] = {SIGINT, SIGALRM, SIGPROF, SIGPWR, SIGRTMIN, SIGUSR1};
        sigset_t all, before;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, &before);
        for (int i = 0; i < 6; ++i)
            signal(counted[i], count_it);
        do {
            puts("ready");
            fflush(stdout);
            sigsuspend(&before);
            const struct timespec pause = {0, 200000000}; // for a second one of the same
            nanosleep(&pause, NULL);
            sigprocmask(SIG_SETMASK, &before, NULL);
            sigprocmask(SIG_BLOCK, &all, NULL);
        } while (came[SIGUSR1] == 0);
        printf("%d %d %d %d %d\n", (int)came[SIGINT], (int)came[SIGALRM], (int)came[SIGPROF], (int)came[SIGPWR],
               (int)came[SIGRTMIN]);
        return 0;
    }
    // One of each.
    void *p = malloc(100001);
    p = realloc(p, 100002);
    free(p);
    p = calloc(1000, 101);
    p = reallocarray(p, 1000, 102);
    free(p);
    free(memalign(64, 100003));
    free(aligned_alloc(64, 100032));
    if (posix_memalign((void **)&p, 4096, 100004) == 0)
        free(p);
    free(valloc(100005));
    sink = realloc(malloc(100006), 0);
    sink = malloc(100007);
    return pvalloc(SIZE_MAX) == NULL && errno == ENOMEM ? 7 : 1;
}
C
"${CC:-cc}" -O1 -fno-builtin -o "$scratch/calls" "$scratch/calls.c" -lpthread -w || fail "the program does not compile"

# One of each call, and the status.
"$cairn" trace -o "$file" -- "$scratch/calls"
[ $? = 7 ] || fail "the status does not pass through"
[ -f "$file" ] && [ ! -e "$file.partial" ] || fail "the file is not there, or what it was made as is"
said=$(summary "$file")
for part in "malloc 3$" "calloc 1$" "aligned 4$" "realloc 2$" "free 7$" "threads 1$" "processes 1$" "live 100007$"; do
    printf '%s\n' "$said" | grep -q "^$part" || fail "no '$part' in: $said"
done

# What constructors of libraries allocate, before the recorder's own runs.
cat >"$scratch/early.c" <<'C'
#include <stdlib.h>
void *volatile early;
__attribute__((constructor)) static void take(void) {
    for (int i = 0; i < 1000; ++i)
        early = malloc(100);
}
C
echo 'extern void *volatile early; int main(void) { return early == 0; }' >"$scratch/late.c"
"${CC:-cc}" -fPIC -shared -o "$scratch/libearly.so" "$scratch/early.c" &&
    "${CC:-cc}" -o "$scratch/late" "$scratch/late.c" "$scratch/libearly.so" || fail "a library does not compile"
"$cairn" trace -o "$file" -- "$scratch/late" || fail "a constructor: status $?"
summary "$file" | grep -q "^malloc 100[0-9]$" || fail "calls of a constructor are lost: $(summary "$file")"

# Threads, many of them one after the other; under another allocator.
"$cairn" trace -o "$file" -- "$scratch/calls" threads || fail "threads: status $?"
said=$(summary "$file")
for part in "threads 1[23]$" "damaged 0$"; do
    printf '%s\n' "$said" | grep -q "^$part" || fail "no '$part' in: $said"
done
[ "$(printf '%s\n' "$said" | sed -n 's/^malloc //p')" -ge 240000 ] || fail "calls of threads are lost: $said"

# What the C library frees when a thread has ended is recorded, and takes no memory for each thread.
"$cairn" trace -o "$file" -- "$scratch/calls" late >"$scratch/out" || fail "late: status $?"
[ "$(cat "$scratch/out")" -lt 10 ] || fail "threads that have ended keep $(cat "$scratch/out") slots"
said=$(summary "$file")
for part in "threads 501$" "damaged 0$" "unknown 0$"; do
    printf '%s\n' "$said" | grep -q "^$part" || fail "late: no '$part' in: $said"
done
[ "$(printf '%s\n' "$said" | sed -n 's/^free //p')" -ge 1500 ] || fail "late: frees are lost: $said"
[ "$(printf '%s\n' "$said" | sed -n 's/^live //p')" -lt 20000 ] || fail "late: frees are lost: $said"

# A C++ program: each form of operator new is a call, under whichever allocator; one that fails throws, or does not.
cat >"$scratch/forms.cpp" <<'CPP'
#include <new>
static void *volatile sink;
template <class New, class Delete> static void thousand(New get, Delete give_back) {
    for (int i = 0; i < 1000; ++i) {
        sink = get();
        give_back(sink);
    }
}
template <class New> static int throws(New get) {
    try {
        sink = get();
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}
int main(int count, char **) {
    const auto to = static_cast<std::align_val_t>(128);
    const std::size_t much = static_cast<std::size_t>(count) << 60;
    thousand([] { return ::operator new(10); }, [](void *p) { ::operator delete(p, 10); });
    thousand([] { return ::operator new[](10); }, [](void *p) { ::operator delete[](p); });
    thousand([] { return ::operator new(10, std::nothrow); }, [](void *p) { ::operator delete(p); });
    thousand([] { return ::operator new[](10, std::nothrow); }, [](void *p) { ::operator delete[](p); });
    thousand([=] { return ::operator new(10, to); }, [=](void *p) { ::operator delete(p, 10, to); });
    thousand([=] { return ::operator new[](10, to); }, [=](void *p) { ::operator delete[](p, to); });
    thousand([=] { return ::operator new(10, to, std::nothrow); }, [=](void *p) { ::operator delete(p, to); });
    thousand([=] { return ::operator new[](10, to, std::nothrow); }, [=](void *p) { ::operator delete[](p, to); });
    const int thrown = throws([=] { return ::operator new(much); }) + throws([=] { return ::operator new[](much, to); });
    return thrown == 2 && ::operator new(much, std::nothrow) == nullptr ? 0 : 1;
}
CPP
"${CXX:-c++}" -std=c++17 -O0 -w -o "$scratch/forms" "$scratch/forms.cpp" || fail "the C++ program does not compile"
for allocator in cairn hoard; do
    "$cairn" trace --allocator "$allocator" -o "$file" -- "$scratch/forms" || fail "forms of operator new on $allocator: status $?"
    said=$(summary "$file")
    printf '%s\n' "$said" | grep -q "^aligned 4000$" || fail "forms of operator new: $said"
    [ "$(printf '%s\n' "$said" | sed -n 's/^malloc //p')" -ge 4000 ] || fail "forms of operator new: $said"
    [ "$(printf '%s\n' "$said" | sed -n 's/^free //p')" -ge 8000 ] || fail "forms of operator new: $said"
done

# A program with an operator new and delete of its own: the other forms go through them, and what they take is in the trace.
cat >"$scratch/own.cpp" <<'CPP'
#include <cstdlib>
#include <new>
static const std::size_t head = 128;
static int live = 0;
static void *take(std::size_t size) {
    char *const whole = static_cast<char *>(std::malloc(head + size));
    live += whole != nullptr;
    return whole == nullptr ? throw std::bad_alloc() : whole + head;
}
static void give_back(void *p) {
    --live;
    std::free(static_cast<char *>(p) - head);
}
void *operator new(std::size_t size) { return take(size); }
void operator delete(void *p) noexcept { give_back(p); }
void *operator new[](std::size_t size, std::align_val_t) { return take(size); }
void operator delete[](void *p, std::align_val_t) noexcept { give_back(p); }
int main(int count, char **) {
    const auto to = static_cast<std::align_val_t>(16);
    const std::size_t much = static_cast<std::size_t>(count) << 60;
    for (int i = 0; i < 1000; ++i) {
        ::operator delete(::operator new(10), 10);
        ::operator delete[](::operator new[](10), 10);
        ::operator delete(::operator new(10, std::nothrow), std::nothrow);
        ::operator delete[](::operator new[](10, std::nothrow), std::nothrow);
        ::operator delete[](::operator new[](10, to), 10, to);
        ::operator delete[](::operator new[](10, to, std::nothrow), to, std::nothrow);
        ::operator delete(::operator new(10, to), 10, to); // not the program's
    }
    return live == 0 && ::operator new(much, std::nothrow) == nullptr ? 0 : 1;
}
CPP
cat >"$scratch/direct.cpp" <<'CPP'
#include <cstdlib>
#include <new>
void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return std::malloc(size); }
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return std::malloc(size); }
CPP
"${CXX:-c++}" -std=c++17 -O0 -w -o "$scratch/own_new" "$scratch/own.cpp" || fail "a program with its own operator new does not compile"
"${CXX:-c++}" -std=c++17 -O0 -fPIC -shared -o "$scratch/direct.so" "$scratch/direct.cpp" || fail "an allocator does not compile"
for allocator in cairn hoard "$scratch/direct.so"; do # the last one's nothrow forms go through no other
    "$cairn" trace --allocator "$allocator" -o "$file" -- "$scratch/own_new" || fail "an operator new of its own on $allocator: status $?"
    said=$(summary "$file")
    for part in "malloc 600[0-9]$" "aligned 1000$" "free 700[0-9]$" "unknown 0$" "damaged 0$"; do
        printf '%s\n' "$said" | grep -q "^$part" || fail "an operator new of its own on $allocator: no '$part' in: $said"
    done
done

# A new-handler runs as often as without a trace, and what it frees, throws or jumps out of is in the trace.
cat >"$scratch/handlers.cpp" <<'CPP'
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <new>
struct None : std::bad_alloc {};
static void *reserve[1000];
static int calls;
static std::jmp_buf back;
static void frees() {
    ++calls;
    std::set_new_handler(nullptr);
    for (void *p : reserve)
        std::free(p);
}
static void throws() {
    ++calls;
    throw None();
}
static void jumps() {
    ++calls;
    std::longjmp(back, 1);
}
template <class New> static void look(New get) {
    for (void *&p : reserve)
        p = std::malloc(100);
    void (*const handlers[])() = {frees, throws, jumps};
    for (void (*const handler)() : handlers) {
        std::set_new_handler(handler);
        calls = 0;
        const char *volatile end = "jumped";
        if (setjmp(back) == 0) {
            try {
                end = get() == nullptr ? "null" : "block";
            } catch (const None &) {
                end = "None";
            } catch (const std::bad_alloc &) {
                end = "bad_alloc";
            }
        }
        std::printf("%d %s\n", calls, end);
        std::free(std::malloc(10));
    }
}
int main(int count, char **) {
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    const auto to = static_cast<std::align_val_t>(128);
    const std::size_t much = static_cast<std::size_t>(count) << 60;
    look([=] { return ::operator new(much); });
    look([=] { return ::operator new[](much); });
    look([=] { return ::operator new(much, to); });
    look([=] { return ::operator new[](much, to); });
    look([=] { return ::operator new(much, std::nothrow); });
    look([=] { return ::operator new[](much, std::nothrow); });
    look([=] { return ::operator new(much, to, std::nothrow); });
    look([=] { return ::operator new[](much, to, std::nothrow); });
}
CPP
"${CXX:-c++}" -std=c++17 -O0 -fno-builtin -w -o "$scratch/handlers" "$scratch/handlers.cpp" || fail "new-handlers do not compile"
"$scratch/handlers" >"$scratch/own"
for allocator in cairn hoard; do
    "$cairn" trace --allocator "$allocator" -o "$file" -- "$scratch/handlers" >"$scratch/out" || fail "new-handlers on $allocator: status $?"
    diff "$scratch/own" "$scratch/out" || fail "new-handlers on $allocator run otherwise than without a trace"
    said=$(summary "$file")
    for part in "malloc 80[2-9][0-9]$" "free 80[2-9][0-9]$" "unknown 0$" "damaged 0$"; do
        printf '%s\n' "$said" | grep -q "^$part" || fail "new-handlers on $allocator: no '$part' in: $said"
    done
done

# A C program that loads a library with the C++ runtime: the forms are that runtime's where there is no memory, and where the
# allocator has none.
cat >"$scratch/plugin.cpp" <<'CPP'
#include <cstdlib>
#include <new>
static void *reserve;
static void release_reserve() {
    if (reserve == nullptr)
        throw std::bad_alloc();
    std::free(reserve);
    reserve = nullptr;
}
extern "C" int work(std::size_t much) {
    const auto to = static_cast<std::align_val_t>(128);
    for (int i = 0; i < 1000; ++i) {
        ::operator delete(::operator new(10));
        ::operator delete(::operator new(10, to), to);
    }
    int good = ::operator new(much, std::nothrow) == nullptr && ::operator new(much, to, std::nothrow) == nullptr;
    reserve = std::malloc(1000);
    std::set_new_handler(release_reserve);
    for (int i = 0; i < 2; ++i) {
        try {
            i == 0 ? ::operator new(much) : ::operator new(much, to);
        } catch (const std::bad_alloc &) {
            good += reserve == nullptr;
        }
    }
    return good == 3 ? 0 : 1;
}
CPP
cat >"$scratch/loads.c" <<'C'
#include <dlfcn.h>
#include <stddef.h>
int main(int count, char **words) {
    void *const plugin = dlopen(words[1], RTLD_NOW);
    int (*const work)(size_t) = plugin == NULL ? NULL : (int (*)(size_t))dlsym(plugin, "work");
    return work == NULL ? 3 : work((size_t)count << 59);
}
C
echo >"$scratch/empty.c"
"${CXX:-c++}" -std=c++17 -O0 -fPIC -shared -w -o "$scratch/plugin.so" "$scratch/plugin.cpp" &&
    "${CC:-cc}" -w -o "$scratch/loads" "$scratch/loads.c" -ldl && "${CC:-cc}" -fPIC -shared -o "$scratch/empty.so" "$scratch/empty.c" ||
    fail "a late C++ runtime does not compile"
for allocator in cairn hoard "$scratch/empty.so"; do # the last one leaves malloc to the C library
    "$cairn" trace --allocator "$allocator" -o "$file" -- "$scratch/loads" "$scratch/plugin.so" || fail "a late runtime on $allocator: status $?"
    said=$(summary "$file")
    for part in "malloc [1-9][0-9][0-9][0-9]$" "aligned 1000$" "free [2-9][0-9][0-9][0-9]$" "unknown 0$" "damaged 0$"; do
        printf '%s\n' "$said" | grep -q "^$part" || fail "a late runtime on $allocator: no '$part' in: $said"
    done
done

# A symbolic link leads to the file.
mkdir "$scratch/other" && ln -s other/place.trace "$scratch/link"
"$cairn" trace -o "$scratch/link" -- "$scratch/calls"
[ $? = 7 ] && [ -h "$scratch/link" ] && summary "$scratch/other/place.trace" | grep -q "^malloc 3$" || fail "a link: $(ls -l "$scratch/link")"

# What a recorder leaves that was killed can be read: it says that calls are missing, and its times are right.
cat >"$scratch/second.c" <<'C'
#include <stdlib.h>
#include <time.h>
int main(void) {
    const struct timespec pause = {0, 10000000};
    for (int k = 0; k < 60; ++k) {
        for (int i = 0; i < 20000; ++i)
            free(malloc(123));
        nanosleep(&pause, NULL);
    }
    return 0;
}
C
"${CC:-cc}" -O1 -fno-builtin -o "$scratch/second" "$scratch/second.c" || fail "the program does not compile"
begun=$(date +%s%N)
"$cairn" trace -o "$scratch/killed.trace" -- sh -c '"$1"; kill -KILL $PPID' sh "$scratch/second" 2>/dev/null
elapsed=$((($(date +%s%N) - begun) / 1000000))
said=$(summary "$scratch/killed.trace.partial")
printf '%s\n' "$said" | grep -q "^stopped early$" || fail "it is not said that calls of a killed recorder are missing: $said"
took=$(printf '%s\n' "$said" | sed -n 's/^milliseconds //p')
[ "$took" -ge 300 ] && [ "$took" -le "$elapsed" ] || fail "a killed recorder's trace: $took ms, of $elapsed"

# A kill loses nothing.
"$cairn" trace -o "$file" -- "$scratch/calls" killed 2>/dev/null
[ $? = 137 ] || fail "a signal does not pass through"
said=$(summary "$file")
printf '%s\n' "$said" | grep -q "^malloc 20000$" || fail "killed: $said"
printf '%s\n' "$said" | grep -q "^free 20000$" || fail "killed: $said"

# Children, by fork alone and with exec.
"$cairn" trace -o "$file" -- "$scratch/calls" fork || fail "fork: status $?"
said=$(summary "$file")
printf '%s\n' "$said" | grep -q "^processes 4$" || fail "fork: $said" # itself, a child, a child, what that became
said=$("$cairn" trace-info --process 2 "$file")$("$cairn" trace-info --process 3 "$file")$("$cairn" trace-info --process 4 "$file")
case $said in *"malloc 20000"*) ;; *) fail "the child's calls are lost: $said" ;; esac
case $said in *"live 100007"*) ;; *) fail "calls after exec are lost: $said" ;; esac

# What a traced program runs with another allocator is recorded too.
"$cairn" trace -o "$file" -- sh -c '"$0" run --allocator hoard -- "$1" killed' "$cairn" "$scratch/calls" 2>"$scratch/err"
said=$(summary "$file")
printf '%s\n' "$said" | grep -q "^malloc 20[0-9]*$" || fail "run in a traced program: $said"

# By _Fork, which runs no handlers: the same.
"$cairn" trace -o "$file" -- "$scratch/calls" _Fork
status=$?
if [ $status != 77 ]; then
    [ $status = 0 ] || fail "_Fork: status $status"
    for number in 1 2; do
        said=$("$cairn" trace-info --process $number "$file") || fail "_Fork: there is no process $number"
        for part in "malloc 20000$" "damaged 0$"; do
            printf '%s\n' "$said" | grep -q "^$part" || fail "_Fork: no '$part' in process $number: $said"
        done
    done
fi

# A program that closes all files has its own where the trace's were: nothing is written to them, not even that; the other
# processes are recorded. The same where there are no high numbers.
for most in 1024 500; do
    (ulimit -n $most && "$cairn" trace -o "$file" -- "$scratch/calls" closes "$scratch/own" 2>"$scratch/err") ||
        fail "closes: status $?"
    [ "$(cat "$scratch/own")" = hello ] || fail "the program's own file is written to: $(wc -c <"$scratch/own") bytes"
    grep -q "process [0-9]* closed the trace's files" "$scratch/err" || fail "closes: $(cat "$scratch/err")"
    summary "$file" | grep -q "^stopped early" || fail "it is not said that calls are missing"
    "$cairn" trace-info --process 1 "$file" | grep -q "^malloc 2000[0-9]$" || fail "another process's calls are lost"
done

# What an environment that was left over names may be others' files by now: nothing is written there, and that is said.
head -c 200000 /dev/zero >"$scratch/own" && cp "$scratch/own" "$scratch/own.copy" && cp "$scratch/own" "$scratch/other.copy"
: >"$scratch/empty" && mkfifo "$scratch/fifo"
for names in "$scratch/own:$scratch/other.copy" "$scratch/empty:$scratch/own" "$scratch/fifo:$scratch/own" "$scratch/own" "$scratch:"; do
    timeout 60 env LD_PRELOAD="$BUILD_DIR/lib/libcairntrace.so" CAIRN_TRACE="$names" "$scratch/calls" 2>"$scratch/err"
    [ $? = 7 ] || fail "CAIRN_TRACE=$names: status $?"
    [ "$(wc -l <"$scratch/err")" = 1 ] || fail "CAIRN_TRACE=$names: not one line: $(cat "$scratch/err")"
    cmp -s "$scratch/own" "$scratch/own.copy" && cmp -s "$scratch/other.copy" "$scratch/own.copy" ||
        fail "CAIRN_TRACE=$names: others' files are written to"
done

# Nor are they where the program's own stdout would be, if that is closed: what it writes there is in no file.
(ulimit -n 40 && "$cairn" trace -o "$file" -- "$scratch/calls" writes 2>"$scratch/err" >&-) || fail "stdout is closed: status $?"
summary "$file" | grep -q "^malloc 4000[0-9]$" || fail "stdout is closed: calls are lost: $(cat "$scratch/err")"

# A wild write may hit what is recorded: the program goes on, and what comes later is in the trace.
"$cairn" trace -o "$file" -- "$scratch/calls" scribbles || fail "scribbles: status $?"
[ "$(summary "$file" | sed -n 's/^malloc //p')" -ge 20000 ] || fail "scribbles: $(summary "$file")"

# A process that outlives the program, as a daemon does: the trace ends with the program, and that is said. One that ends soon is
# none.
mkfifo "$scratch/daemon"
"$cairn" trace -o "$file" -- "$scratch/calls" stays "$scratch/daemon" 2>"$scratch/err" || fail "a daemon: status $?"
grep -q "goes on, and is not recorded" "$scratch/err" || fail "a daemon: not said: $(cat "$scratch/err")"
[ "$(wc -l <"$scratch/err")" = 1 ] || fail "a daemon: not one line: $(cat "$scratch/err")"
summary "$file" | grep -q "^stopped early" || fail "a daemon: it is not said that calls are missing"
echo >"$scratch/daemon"
"$cairn" trace -o "$file" -- "$scratch/calls" stays "$scratch/daemon" 2>&-
summary "$file" | grep -q "^stopped early" || fail "2 is closed: what is said goes into the file"
echo >"$scratch/daemon"
"$cairn" trace -o "$file" -- "$scratch/calls" fork 2>"$scratch/err" || fail "no daemon: status $?"
[ ! -s "$scratch/err" ] || fail "no daemon: $(cat "$scratch/err")"

# Nor is a program killed where the trace would be longer than a file may be, or anything said where its stderr is.
# shellcheck disable=SC2016 # for the program to expand
"$cairn" trace -o "$file" -- sh -c 'ulimit -f 1 && exec "$0" threads 2>"$1"' "$scratch/calls" "$scratch/own" 2>"$scratch/err" ||
    fail "a limit on files: status $?"
[ ! -s "$scratch/own" ] || fail "a limit on files: $(cat "$scratch/own")"
grep -q "no room for its file to grow" "$scratch/err" || fail "a limit on files: $(cat "$scratch/err")"
(ulimit -f 1000 && "$cairn" trace -o "$file" -- "$scratch/calls" threads 2>"$scratch/err") ||
    fail "a limit on all files: status $?"
summary "$file" | grep -q "^stopped early" || fail "a limit on all files: it is not said that calls are missing"

# What threads have left goes to the file when the program has ended: no room for it is said as well.
"$cairn" trace -o "$file" -- "$scratch/calls" killed 2>"$scratch/err"
prlimit --fsize=$(($(wc -c <"$file") - 1)) "$cairn" trace -o "$file" -- "$scratch/calls" killed 2>"$scratch/err"
[ $? = 137 ] || fail "no room at the end: status $?"
grep -q "no room for its file to grow: calls are missing" "$scratch/err" || fail "no room at the end: $(cat "$scratch/err")"
[ "$(grep -c ^cairn: "$scratch/err")" = 1 ] || fail "no room at the end: not one line: $(cat "$scratch/err")"
summary "$file" | grep -q "^stopped early" || fail "no room at the end: it is not said that calls are missing"

# Each process has addresses of its own, and a realloc that fails leaves its block.
"$cairn" trace -o "$file" -- "$scratch/calls" copies || fail "copies: status $?"
said=$(summary "$file")
for part in "free 3$" "realloc 1$" "live 0$" "peak 600000$" "unknown 1$" "damaged 0$"; do
    printf '%s\n' "$said" | grep -q "^$part" || fail "copies: no '$part' in: $said"
done

# Many processes, one after the other: what each leaves is short, and so is the file.
"$cairn" trace -o "$file" -- "$scratch/calls" forks 33000 2>"$scratch/err" || fail "forks: status $?"
[ ! -s "$scratch/err" ] || fail "forks: $(head -3 "$scratch/err")"
said=$(summary "$file")
for part in "processes 33001$" "malloc 33000$" "free 33000$"; do
    printf '%s\n' "$said" | grep -q "^$part" || fail "no '$part' in: $said"
done
[ "$(wc -c <"$file")" -lt 5000000 ] || fail "33000 processes that made two calls each: $(wc -c <"$file") bytes"

# Two with one file: the second says so, and leaves the first alone.
mkfifo "$scratch/go"
"$cairn" trace -o "$file" -- "$scratch/calls" waits "$scratch/waits" "$scratch/go" &
tracer=$!
while [ ! -e "$scratch/waits" ]; do
    sleep 0.1
done
one_line 1 "another cairn trace writes it" trace -o "$file" -- true
: >"$scratch/go"
wait "$tracer" || fail "two with one file: status $?"
summary "$file" | grep -q "^malloc 2000[0-9]$" || fail "two with one file: calls are lost: $(summary "$file")"
"$cairn" trace -o "$file" -- true || fail "the file can not be written again: status $?"

# A signal for cairn is the program's.
"$cairn" trace -o "$file" -- sh -c ': >"$0" && exec sleep 100' "$scratch/running" &
tracer=$!
while [ ! -e "$scratch/running" ]; do
    sleep 0.1
done
kill -TERM "$tracer"
wait "$tracer"
[ $? = 143 ] || fail "SIGTERM does not pass through"
printf '%s\n' "$(summary "$file")" | grep -q "^processes [12]$" || fail "what a program did before SIGTERM is lost"
# What the terminal sends to both comes once; what is sent to cairn alone comes too, of every kind. The program's core file
# stays; its status comes through where a parent ignores SIGCHLD.
cat >"$scratch/signals.py" <<'P'
import os, pty, resource, signal, subprocess, sys, time
cairn, folder = sys.argv[1:]
command = [cairn, "trace", "-o", os.path.join(folder, "signals.trace"), "--", os.path.join(folder, "calls"), "counts"]
master, slave = pty.openpty()
def leads():
    os.setsid()
    os.close(os.open(os.ttyname(0), os.O_RDWR)) # the terminal of this session
run = subprocess.Popen(command, stdin=slave, stdout=subprocess.PIPE, preexec_fn=leads)
run.stdout.readline()
os.write(master, b"\x03")
run.stdout.readline()
for number in (signal.SIGINT, signal.SIGALRM, signal.SIGPROF, signal.SIGPWR, signal.SIGRTMIN):
    run.send_signal(number)
    run.stdout.readline()
run.send_signal(signal.SIGUSR1)
said = run.stdout.read().decode()
assert run.wait() == 0 and said.split() == ["2", "1", "1", "1", "1"], (run.returncode, said)

pid = os.fork()
if pid == 0:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.execv(cairn, command[:5] + ["sh", "-c", "exit 7"])
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7

pid = os.fork()
if pid == 0:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL) # ignored in what a shell runs in the background
    os.execv(cairn, command[:5] + ["sh", "-c", "kill -QUIT $$"])
status = os.waitpid(pid, 0)[1]
assert os.WTERMSIG(status) == signal.SIGQUIT and not os.WCOREDUMP(status), status
P
(cd "$scratch" && python3 signals.py "$cairn" "$scratch") || fail "signals"
# One that ignores a signal still does.
(trap '' USR1 && exec "$cairn" trace -o "$file.ignored" -- sh -c 'kill -USR1 $$ && exit 9')
[ $? = 9 ] || fail "an ignored signal is not ignored any more"

# What can not be done.
one_line 1 "No such file" trace -o "$scratch/no/folder" -- true
# The name of a file may be in any encoding, and the folder may be gone.
other=$(printf '%s/a\377b' "$scratch")
"$cairn" trace -o "$other" -- true && "$cairn" trace-info --json "$other" >"$scratch/out" ||
    fail "a name that is no UTF-8: status $?"
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$scratch/out" || fail "a name that is no UTF-8: no JSON"
mkdir "$scratch/gone"
(cd "$scratch/gone" && rmdir "$scratch/gone" && one_line 1 "No such file" trace -o x -- true) || exit 1
(ulimit -f 1 && one_line 1 "File too large" trace -o "$scratch/full" -- true) || exit 1
[ ! -e "$scratch/full.partial" ] || fail "a file without a trace is left behind"
one_line 1 "is a folder" trace -o "$scratch" -- true
touch "$scratch/plain"
one_line 1 "Not a directory" trace -o "$scratch/plain/" -- true
one_line 1 "no regular file" trace -o "$scratch/go" -- true # as for a device: it is not replaced
[ -p "$scratch/go" ] || fail "a pipe was replaced"
one_line 2 "no program" trace -o "$file"
# Where nothing is recorded the trace from before stays.
cp "$file" "$scratch/before"
"$cairn" trace -o "$file" -- "$scratch/no-such-program" 2>"$scratch/err"
[ $? = 127 ] || fail "no such program: another status than 127"
grep -q "nothing was recorded" "$scratch/err" || fail "nothing is recorded: $(cat "$scratch/err")"
cmp -s "$file" "$scratch/before" && [ ! -e "$file.partial" ] || fail "nothing is recorded, but the file is another one"
"$cairn" trace -- true 2>/dev/null
[ $? = 2 ] || fail "no file is named: another status than 2"
"$cairn" trace -o "" -- true 2>/dev/null
[ $? = 2 ] || fail "an empty name of a file: another status than 2"
"$cairn" trace-info --process 0 "$file" >"$scratch/out" 2>&1
[ $? = 2 ] || fail "process 0: another status than 2"
one_line 2 "no word 'trase'" trase -o "$file"
one_line 1 "No such file" trace-info "$scratch/nothing"
(cd "$scratch" && cp "$file" ./-odd && "$cairn" trace-info -- -odd >"$scratch/out") || fail "a name behind --: status $?"
one_line 1 "no regular file" trace-info "$scratch/go" # nobody writes to it
# What a cairn trace that was killed has left, its program may still write to; and what is there by another name is not written to.
cp "$file" "$scratch/left.trace.partial"
exec 9<"$scratch/left.trace.partial"
"$cairn" trace -o "$scratch/left.trace" -- "$scratch/calls" >"$scratch/out"
[ $? = 7 ] && summary "$scratch/left.trace" | grep -q "^malloc 3$" || fail "a file that was left is in the way"
cmp -s - "$file" <&9 || fail "what was left by another was written to"
exec 9<&-
echo mine >"$scratch/other.trace.partial"
one_line 1 "is no trace" trace -o "$scratch/other.trace" -- "$scratch/calls"
[ "$(cat "$scratch/other.trace.partial")" = mine ] || fail "the user's own file is written over"
ln -sf "$scratch/calls.c" "$scratch/other.trace.partial"
one_line 1 "other.trace.partial" trace -o "$scratch/other.trace" -- "$scratch/calls"
one_line 1 "is no trace" trace-info "$scratch/calls.c"
one_line 1 "is no trace" trace-info "$scratch/calls"
"$cairn" trace -o "$file" -- "$scratch/calls" threads || fail "threads: status $?"
head -c 70000 "$file" >"$scratch/short"
"$cairn" trace-info "$file" | grep -q "stopped early" && fail "a whole file is said to be cut off"
"$cairn" trace-info "$scratch/short" | grep -q "stopped early" || fail "nothing is said of a file that was cut off"
printf '\377%.0s' $(seq 3000) | dd of="$scratch/short" bs=1 seek=5000 conv=notrunc 2>/dev/null
one_line 1 "is damaged" trace-info "$scratch/short"
