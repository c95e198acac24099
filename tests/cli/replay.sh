#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cairn replay: all calls of a trace, in their order, each from its own thread; the figures agree with the trace's; an
# allocator that goes wrong is a row; what can not be done is one line.
. "$(dirname "$0")/lib/common.sh"
export TMPDIR="$scratch"
trace=$scratch/file.trace

# Threads that take turns: the sizes from 100000 on say in which order, odd ones are the second thread's. What the first
# allocates the second frees. Then a third of all the calls there are, and something that stays.
cat >"$scratch/program.c" <<'C'
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static sem_t turn[2];
static char *volatile passed;
static void *volatile sink;

static void *take_turns(void *second) {
    const int self = second != NULL;
    for (int i = self; i < 2000; i += 2) {
        sem_wait(&turn[self]);
        free(passed);
        passed = malloc(100000 + i);
        sem_post(&turn[1 - self]);
    }
    return NULL;
}
static void *allocate(void *unused) {
    void *volatile live[2] = {NULL, NULL};
    for (int i = 0; i < 20000; ++i) {
        free(live[i % 2]);
        live[i % 2] = malloc(i % 300);
    }
    free(live[0]);
    free(live[1]);
    return unused;
}

int main(int count, char **words) {
    pthread_t thread[4];
    sem_init(&turn[0], 0, 1);
    sem_init(&turn[1], 0, 0);
    pthread_create(&thread[0], NULL, take_turns, words);
    take_turns(NULL);
    pthread_join(thread[0], NULL);
    for (int i = 0; i < 4; ++i)
        pthread_create(&thread[i], NULL, allocate, NULL);
    for (int i = 0; i < 4; ++i)
        pthread_join(thread[i], NULL);
    char *p = calloc(3, 1000);
    for (int i = 1; i < 30; ++i)
        p = realloc(p, i * 2000);
    free(p);
    free(aligned_alloc(4096, 8192));
    free(memalign(64, 3));
    free(realloc(malloc(5), 0)); // free and nothing
    free(malloc(0));
    sink = malloc(5000000);
    sink = realloc(sink, 6000000);
    return count == 0;
}
C
"${CC:-cc}" -O1 -fno-builtin -o "$scratch/program" "$scratch/program.c" -lpthread -w || fail "the program does not compile"
"$cairn" trace -o "$trace" -- "$scratch/program" || fail "trace: status $?"

# Counts and sizes are the trace's.
"$cairn" replay "$trace" --allocators glibc,cairn,serial,mine="$BUILD_DIR/lib/libcairn-kingsley.so" --repeat 1 \
    --json "$scratch/out.json" >"$scratch/out" 2>"$scratch/err" || fail "replay: status $?: $(cat "$scratch/out" "$scratch/err")"
[ -s "$scratch/err" ] && fail "something is said on stderr: $(cat "$scratch/err")"
for name in glibc cairn serial mine; do
    grep -q "^$name  *[0-9]" "$scratch/out" || fail "no row of $name: $(cat "$scratch/out")"
done
"$cairn" trace-info "$trace" >"$scratch/info"
cat >"$scratch/check.py" <<'P'
import hashlib, json, os, sys
info = dict(line.split() for line in open(sys.argv[1]))
result = json.load(open(sys.argv[2]))
number = lambda name: int(info[name])
calls = result["calls"]
for name in ("malloc", "calloc", "aligned", "realloc"):
    assert calls[name] == number(name), name
assert calls["free"] + result["left_out"]["free_unknown"] == number("free")
assert result["U"] == number("peak") and result["live_at_end"]["bytes"] == number("live")
assert result["threads"] == number("threads")
assert [a["name"] for a in result["allocators"]] == ["glibc", "cairn", "serial", "mine"]
for allocator in result["allocators"]:
    with open(allocator["library"], "rb") as file:
        assert allocator["sha256"] == hashlib.sha256(file.read()).hexdigest(), allocator["library"]
    assert ("libc." in os.path.basename(allocator["library"])) == (allocator["name"] == "glibc")
    run, = allocator["runs"]
    assert run["state"] == "ok", run
    for name, count in calls.items():
        assert run["by_call"][name]["calls"] == count, (allocator["name"], name)
    assert run["A"] >= 0.98 * result["U"], "the blocks were not all written to"
    assert run["A"] >= run["at_peak"]["resident"] and run["at_peak"]["live"] == result["U"]
    assert run["at_peak"]["usable"] >= result["U"]
    assert run["A"] >= run["A_of_blocks"] >= 0.98 * result["U"]
    assert run["seconds_with_use"] > 0 and run["seconds"] > 0 and run["faults"] > 0
    samples = run["samples"]
    assert 190 < len(samples) < 215, len(samples)
    assert samples[0]["call"] == 0 and all(a["call"] < b["call"] for a, b in zip(samples, samples[1:]))
    assert max(s["live"] for s in samples) <= result["U"] and run["drained"]["live"] == 0
    if allocator["name"] == "glibc": # gives large blocks back at once
        assert run["drained"]["resident"] < run["A"] / 2, "the last large block is still there"
    assert allocator["median"]["A"] == run["A"] and allocator["median"]["A/U"] == run["A/U"]
P
python3 "$scratch/check.py" "$scratch/info" "$scratch/out.json" || fail "the figures: $(cat "$scratch/out" "$scratch/info")"
[ -z "$(find "$scratch" -name '.*out.json')" ] || fail "what the JSON was made as is still there"
[ -z "$(find "$scratch" -name 'cairn-replay.*')" ] || fail "the temporary folder is still there"

# The order, and the threads: what an allocator sees of it.
cat >"$scratch/spy.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
void *__libc_malloc(size_t);
void __libc_free(void *);
static void say(char what, size_t size) {
    static int file = -1;
    char line[64];
    if (file < 0)
        file = open(getenv("SPY"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    write(file, line, snprintf(line, sizeof line, "%c %zu %ld\n", what, size, syscall(SYS_gettid)));
}
static void *last;
void *malloc(size_t size) {
    void *const p = __libc_malloc(size);
    if (size >= 100000 && size < 102000) {
        say('m', size);
        last = p;
    }
    return p;
}
void free(void *p) {
    if (p != NULL && p == last) {
        say('f', 0);
        last = NULL;
    }
    __libc_free(p);
}
C
"${CC:-cc}" -shared -fPIC -fno-builtin -O1 -o "$scratch/spy.so" "$scratch/spy.c" -w || fail "the spy does not compile"
SPY=$scratch/seen "$cairn" replay "$trace" --allocators "$scratch/spy.so" --repeat 1 >"$scratch/out" || fail "spy: $(cat "$scratch/out")"
cat >"$scratch/order.py" <<'P'
import sys
lines = [line.split() for line in open(sys.argv[1])]
made = [(int(size), thread) for what, size, thread in lines if what == "m"]
assert [size for size, _ in made] == list(range(100000, 102000)), "another order"
first, second = made[0][1], made[1][1]
assert first != second
assert all(thread == (first, second)[size % 2] for size, thread in made), "another thread"
freed = [(what, thread) for what, _, thread in lines]
# Between two allocations the block before is freed, by the thread that allocates next.
for i in range(1, 3998, 2):
    assert freed[i][0] == "f" and freed[i + 1][0] == "m" and freed[i][1] == freed[i + 1][1], i
P
python3 "$scratch/order.py" "$scratch/seen" || fail "the order: $(head -20 "$scratch/seen")"

# Another process, and one that is not there.
cat >"$scratch/two.sh" <<S
#!/bin/sh
"$scratch/program"
true
S
chmod +x "$scratch/two.sh"
"$cairn" trace -o "$scratch/two.trace" -- "$scratch/two.sh" || fail "two: status $?"
images=$("$cairn" trace-info "$scratch/two.trace" | sed -n 's/^processes //p')
"$cairn" replay "$scratch/two.trace" --process "$images" --allocators glibc --repeat 1 >"$scratch/out" || fail "the last process: status $?"
grep -q "^process $images of $images: 16[0-9]* calls of [56] threads" "$scratch/out" || fail "the last process: $(cat "$scratch/out")"

# An allocator that goes wrong is a row; the others have theirs.
bad=$BUILD_DIR/bin/bench/libbad_malloc.so
if [ -e "$bad" ]; then
    for way in "crash CRASH: signal 11 in call [0-9]* of [0-9]* (malloc of" "overlap WRONG: what a live block held has changed" \
        "null WRONG: there is no memory" "hang HANG: no progress in 3 s in call"; do
        seconds=100 # to the one that hangs no more than it has to be given
        [ "${way%% *}" != hang ] || seconds=3
        BAD_MALLOC=${way%% *} "$cairn" replay "$trace" --allocators "bad=$bad,glibc" --repeat 2 --timeout $seconds \
            --json "$scratch/bad.json" >"$scratch/out" 2>&1
        [ $? = 1 ] || fail "$way: another status than 1: $(cat "$scratch/out")"
        grep -q "^bad  *${way#* }" "$scratch/out" || fail "$way is not said: $(cat "$scratch/out")"
        grep -q "^glibc  *[0-9]" "$scratch/out" || fail "$way: the other row is lost: $(cat "$scratch/out")"
        grep -q '"state": "ok"' "$scratch/bad.json" || fail "$way: no JSON"
    done
fi

"$cairn" trace -o "$scratch/small.trace" -- sh -c true || fail "small: status $?"

# One that is stopped for a while, here until the end of these tests, has not hung.
setsid "$cairn" replay "$scratch/small.trace" --allocators glibc --repeat 1 --timeout 2 >"$scratch/stopped" 2>&1 &
stopped=$!
trap 'kill -KILL -"$stopped" 2>/dev/null; rm -rf "$scratch"' EXIT
sleep 0.5
kill -STOP -"$stopped"
stopped_at=$(date +%s)

# A folder for temporary files without room, a table that nobody reads: one line or none, and nothing is left behind.
(ulimit -f 24 && "$cairn" replay "$scratch/small.trace" --allocators glibc --repeat 1 2>&1 >/dev/null; echo "status $?") |
    cat >"$scratch/out"
grep -q "outcome: File too large" "$scratch/out" && grep -q "status 1" "$scratch/out" || fail "no room: $(cat "$scratch/out")"
{ "$cairn" replay "$scratch/small.trace" --allocators glibc --repeat 1 2>&1; echo $? >"$scratch/status"; } | true
[ "$(cat "$scratch/status")" = 141 ] || fail "nobody reads the table: status $(cat "$scratch/status")"
[ -z "$(find "$scratch" -name 'cairn-replay.*')" ] || fail "the temporary folder is still there"

# Where files can not be opened, the kernel's count of resident memory among them, there are no figures; no allocator's fault.
for most in 5 6 7 8 9; do
    (ulimit -n $most && exec "$cairn" replay "$trace" --allocators glibc --repeat 1) >"$scratch/out" 2>&1
    grep -Eq '^glibc( +[0-9.]+){3} +0\.0 |CRASH' "$scratch/out" && fail "no room for files: $(cat "$scratch/out")"
done

# Killed, it leaves nothing either, and nobody.
"$cairn" replay "$trace" --allocators glibc --repeat 1000 >"$scratch/out" 2>&1 &
replay=$!
runs() { grep -qs '^State:[[:space:]]*[RSDTt]' "/proc/$1/status"; }
playing=
while [ -z "$playing" ] && runs "$replay"; do
    read -r playing _ <"/proc/$replay/task/$replay/children"
done
kill -KILL "$replay"
wait "$replay" 2>/dev/null
[ -z "$(find "$scratch" -name 'cairn-replay.*')" ] || fail "killed, it leaves its temporary folder"
for _ in $(seq 100); do # the kernel takes its time, too
    runs "$playing" || break
    sleep 0.1
done
! runs "$playing" || fail "killed, it leaves its program running"

# The file for the JSON is made under a name that nobody has, and a symbolic link leads to it.
mkdir "$scratch/other"
ln -s other/place.json "$scratch/link.json"
echo mine >"$scratch/other/place.json.partial"
(umask 027 && "$cairn" replay "$scratch/small.trace" --allocators glibc --repeat 1 --json "$scratch/link.json" >"$scratch/out") ||
    fail "a link: status $?"
[ "$(stat -c '%F %a' "$scratch/link.json" "$scratch/other/place.json")" = "symbolic link 777
regular file 640" ] || fail "a link: $(ls -l "$scratch" "$scratch/other")"
[ "$(cat "$scratch/other/place.json.partial")" = mine ] || fail "another's file is written to"
[ "$(find "$scratch/other" -type f | wc -l)" = 2 ] || fail "something is left: $(ls -A "$scratch/other")"
ln -s circle "$scratch/circle"

# What is ignored stays so (nohup), but for SIGCHLD, without which there is no status.
cat >"$scratch/ignore.py" <<'P'
import os, signal, sys
signal.signal(getattr(signal, sys.argv[1]), signal.SIG_IGN)
os.execvp(sys.argv[2], sys.argv[2:])
P
python3 "$scratch/ignore.py" SIGCHLD "$cairn" replay "$scratch/small.trace" --allocators glibc --repeat 1 --timeout 4 \
    >"$scratch/out" || fail "SIGCHLD is ignored: status $?: $(cat "$scratch/out")"
(trap '' HUP && : >"$scratch/ignores" && exec "$cairn" replay "$scratch/small.trace" --allocators glibc --repeat 1 >"$scratch/out") &
replay=$!
until [ -e "$scratch/ignores" ]; do sleep 0.02; done
sleep 0.5
kill -HUP "$replay"
wait "$replay" || fail "nohup: status $?: $(cat "$scratch/out")"

# What can not be done.
one_line 2 "there is no allocator 'nobody'" replay "$trace" --allocators cairn,nobody
one_line 2 "there is no library" replay "$trace" --allocators "/no/such/file.so"
one_line 2 "is not NAME=PATH.so" replay "$trace" --allocators "a=b"
one_line 1 "there is no process 2" replay "$trace" --allocators cairn --process 2
one_line 1 "No such file" replay "$scratch/nothing" --allocators cairn
one_line 1 "No such file" replay "$trace" --allocators cairn --json "$scratch/nowhere/out.json"
"$cairn" replay "$trace" --allocators cairn --json "" >"$scratch/out" 2>&1
[ $? = 2 ] || fail "an empty name of a file: another status than 2"
one_line 1 "is a folder" replay "$trace" --allocators cairn --json "$scratch"
one_line 1 "is what is read" replay "$trace" --allocators cairn --json "$trace"
one_line 1 "symbolic links" replay "$trace" --allocators cairn --json "$scratch/circle"
mkfifo "$scratch/pipe" # as for a device: it is not replaced
one_line 1 "no regular file" replay "$trace" --allocators cairn --json "$scratch/pipe"
[ -p "$scratch/pipe" ] || fail "a pipe was replaced"
one_line 1 "is no trace" replay "$scratch/program" --allocators cairn
head -c 70000 "$trace" >"$scratch/short" && printf '\377%.0s' $(seq 3000) | dd of="$scratch/short" bs=1 seek=5000 conv=notrunc 2>/dev/null
one_line 1 "is damaged" replay "$scratch/short" --allocators cairn
echo "no library" >"$scratch/text.so"
"$cairn" replay "$trace" --allocators "$scratch/text.so,glibc" --repeat 1 >"$scratch/out" 2>"$scratch/err"
[ $? = 1 ] || fail "a library that is none: another status than 1"
grep -q "NOT RUN: it can not be preloaded" "$scratch/out" || fail "a library that is none: $(cat "$scratch/out")"
[ -z "$(find "$scratch" -name 'cairn-replay.*')" ] || fail "a temporary folder is still there"

while [ $(($(date +%s) - stopped_at)) -lt 4 ]; do
    sleep 0.1
done
kill -CONT "$stopped"
sleep 0.2
kill -CONT -"$stopped"
wait $stopped || fail "stopped for a while: status $?: $(cat "$scratch/stopped")"
