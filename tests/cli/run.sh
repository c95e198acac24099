#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cairn run: the program's exit status, signals, arguments and LD_PRELOAD; what is said, and the status, when a
# program, a library or an allocator is not there; the warnings about programs that can not be preloaded into.
. "$(dirname "$0")/lib/common.sh"
library=$BUILD_DIR/lib/libcairn.so

# ends STATUS WORDS...: what `cairn WORDS` prints goes to $out and $err.
ends() {
    wanted=$1
    shift
    "$cairn" "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
    [ "$status" = "$wanted" ] || fail "cairn $*: status $status, not $wanted: $err"
}
silent() { [ -z "$err" ] || fail "said: $err"; }
one_line() {
    [ "$(wc -l <"$scratch/err")" = 1 ] || fail "not one line: $err"
    case $err in
    *"$1"*) ;;
    *) fail "'$err' does not say '$1'" ;;
    esac
}

# Exit status, signals, arguments, LD_PRELOAD.
ends 0 run -- true && silent
ends 7 run -- sh -c 'exit 7' && silent
# shellcheck disable=SC2016
"$cairn" run -- sh -c 'kill -KILL $$' 2>/dev/null
[ $? = 137 ] || fail "a signal does not pass through"
ends 0 run -- printf '[%s]' --stats -- 'a b' '' && silent
[ "$out" = "[--stats][--][a b][]" ] || fail "arguments changed: $out"
ends 0 run printf '[%s]' -- -x && silent
[ "$out" = "[--][-x]" ] || [ "$out" = "[-x]" ] || fail "arguments changed: $out"
# shellcheck disable=SC2016 # for the program to expand
ends 0 run -- sh -c 'echo "$LD_PRELOAD"'
[ "$out" = "$library" ] || fail "LD_PRELOAD is $out"
# shellcheck disable=SC2016
out=$(LD_PRELOAD=libm.so.6 "$cairn" run -- sh -c 'echo "$LD_PRELOAD"')
[ "$out" = "$library:libm.so.6" ] || fail "LD_PRELOAD is $out"
# shellcheck disable=SC2016
ends 0 run -- sh -c 'grep -c libcairn.so /proc/self/maps'
ln -s "$cairn" "$scratch/link"
"$scratch/link" run -- true || fail "a symbolic link to the program does not find the library"

# A library that was preloaded already has what it defines called, also by a function that Cairn defines as well.
cat >"$scratch/behind.c" <<'C'
#include <stdio.h>
int unshare(int flags) {
    return printf("unshare %d\n", flags) == 0;
}
int setns(int fd, int type) {
    return printf("setns %d %d\n", fd, type) == 0;
}
C
cat >"$scratch/calls.c" <<'C'
#define _GNU_SOURCE
#include <sched.h>
int main(void) {
    return unshare(7) + setns(8, 9);
}
C
"${CC:-cc}" -fPIC -shared -o "$scratch/behind.so" "$scratch/behind.c" && "${CC:-cc}" -o "$scratch/calls" "$scratch/calls.c" ||
    fail "a library to preload does not compile"
out=$(LD_PRELOAD=$scratch/behind.so "$cairn" run -- "$scratch/calls" | xargs)
[ "$out" = "unshare 7 setns 8 9" ] || fail "what was preloaded already is not called: '$out'"

# Statistics.
ends 0 run --stats -- true
case $err in "cairn "*": memory of process "*"(true)"*) ;; *) fail "--stats: $err" ;; esac
ends 0 run --stats -- ls "$scratch" # closes its stderr before it ends
case $err in *"memory of process"*) ;; *) fail "--stats: nothing about ls" ;; esac

# Other allocators.
cp "$library" "$scratch/other.so"
# shellcheck disable=SC2016
ends 0 run --allocator "$scratch/other.so" -- sh -c 'echo "$LD_PRELOAD"' && silent
[ "$out" = "$scratch/other.so" ] || fail "LD_PRELOAD is $out"
# shellcheck disable=SC2016
out=$(cd "$scratch" && "$cairn" run --allocator other.so -- sh -c 'echo "$LD_PRELOAD"')
[ "$out" = "$scratch/other.so" ] || fail "LD_PRELOAD is $out"
ends 0 run --allocator cairn -- true && silent
mkdir -p "$scratch/tree/bin" "$scratch/tree/lib"
cp "$cairn" "$scratch/tree/bin/cairn"
cp "$library" "$scratch/tree/lib/libcairn.so"
cp "$library" "$scratch/tree/lib/libcairn-zone.so"
# shellcheck disable=SC2016
out=$("$scratch/tree/bin/cairn" run --allocator zone -- sh -c 'echo "$LD_PRELOAD"')
[ "$out" = "$scratch/tree/lib/libcairn-zone.so" ] || fail "LD_PRELOAD is $out"

# without_child WORDS...: SIGCHLD is ignored, as some parents have it; a shell would not pass that on.
without_child() {
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}
# An installed one, also where the parent ignores SIGCHLD.
for peer in jemalloc mimalloc tcmalloc tbb; do
    if "$cairn" run --allocator $peer -- true 2>"$scratch/err"; then
        without_child "$cairn" run --allocator $peer -- true || fail "$peer is not found where SIGCHLD is ignored"
        break
    fi
done

# What is not there.
ends 127 run -- no-such-program && one_line "can not run 'no-such-program'"
ends 127 run -- "$scratch/nothing" && one_line "can not run"
: >"$scratch/plain"
ends 126 run -- "$scratch/plain" && one_line "can not run"
ends 126 run --allocator "$scratch/nothing.so" -- true && one_line "there is no library $scratch/nothing.so"
mkdir "$scratch/peers" && cp "$scratch/other.so" "$scratch/peers/libnew.so"
# shellcheck disable=SC2016
out=$(CAIRN_PEERS=$scratch/peers "$cairn" run --allocator new -- sh -c 'echo "$LD_PRELOAD"')
[ "$out" = "$scratch/peers/libnew.so" ] || fail "a peer by its name: '$out'"
mkdir -p "$scratch/.cache/cairn/peers" && cp "$scratch/other.so" "$scratch/.cache/cairn/peers/libnear.so"
(cd "$scratch" && unset HOME XDG_CACHE_HOME CAIRN_PEERS && exec "$cairn" run --allocator near -- true) 2>"$scratch/err"
[ $? = 2 ] || fail "without HOME, a peer is taken from the folder that one is in"
ends 2 run --allocator nobody -- true && one_line "there is no allocator 'nobody'; there are: cairn"
ends 2 run --allocator "" -- true && one_line "there is no allocator ''"
rm "$scratch/tree/lib/libcairn.so"
cairn_kept=$cairn
cairn=$scratch/tree/bin/cairn
ends 126 run -- true && one_line "there is no library $scratch/tree/lib/libcairn.so"
cairn=$cairn_kept
mkdir "$scratch/a b"
cp "$library" "$scratch/a b/other.so"
ends 126 run --allocator "$scratch/a b/other.so" -- true && one_line "LD_PRELOAD"
cp "$scratch/plain" "$scratch/none.so"
ends 126 run --allocator "$scratch/none.so" -- true && one_line "can not be preloaded: it is none"
ends 2 run && one_line "no program"
ends 2 run -- && one_line "no program"
ends 2 run --bogus -- true && one_line "unknown option '--bogus'"
ends 2 && one_line "cairn: A subcommand is required (--help lists the options)"
ends 2 walk && one_line "cairn: there is no word 'walk'"
ends 2 trace-info && one_line "cairn: trace-info: file is required (--help lists the options)"
ends 2 trace-info "" && one_line "cairn: trace-info: file: is empty"
ends 2 replay "" --allocators glibc && one_line "cairn: replay: file: is empty"
ends 2 replay x --allocators glibc --repeat 99999999999999999999 && one_line "cairn: replay: "
ends 2 trace-info --process 0 x && one_line "cairn: trace-info: --process: Value 0 not in range"
ends 2 info --yaml && one_line "cairn: info: The following argument was not expected: --yaml"

(mkdir "$scratch/gone" && cd "$scratch/gone" && rmdir "$scratch/gone" && exec "$cairn" trace -o x -- true) 2>"$scratch/err"
[ $? = 1 ] && [ "$(cat "$scratch/err")" = "cairn: trace: x: No such file or directory" ] ||
    fail "trace in a folder that is gone: $(cat "$scratch/err")"

# Programs that a library is not preloaded into.
echo 'int main(void) { return 3; }' >"$scratch/main.c"
if "${CC:-cc}" -static "$scratch/main.c" -o "$scratch/static" 2>/dev/null; then
    ends 3 run -- "$scratch/static" && one_line "statically linked"
    printf '#!%s\n' "$scratch/static" >"$scratch/script"
    chmod +x "$scratch/script"
    ends 3 run -- "$scratch/script" && one_line "statically linked"
fi
printf '#include <stddef.h>\nvoid *malloc(size_t n) { return n == 0 ? NULL : NULL; }\nint main(void) { return 3; }\n' >"$scratch/own.c"
"${CC:-cc}" "$scratch/own.c" -rdynamic -w -o "$scratch/own" || fail "a malloc of a program's own does not compile"
ends 3 run -- "$scratch/own" && one_line "defines malloc itself"
printf '#!%s\n' "$scratch/second" >"$scratch/first" # each is the other's interpreter
printf '#!%s\n' "$scratch/first" >"$scratch/second"
chmod +x "$scratch/first" "$scratch/second"
"$cairn" run -- "$scratch/first" >"$scratch/out" 2>&1
[ $? = 126 ] || fail "scripts that name each other: $(cat "$scratch/out")"
printf '#!/bin/sh\nexit 5\n' >"$scratch/script"
chmod +x "$scratch/script"
ends 5 run -- "$scratch/script" && silent
for loader in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do # has no loader itself, and preloads
    [ ! -e "$loader" ] || { ends 5 run -- "$loader" /bin/sh -c 'exit 5' && silent; }
done
if [ "$(id -u)" = 0 ]; then
    cp /bin/true "$scratch/raised"
    chown 1 "$scratch/raised" "$scratch/script"
    chmod 4755 "$scratch/raised" "$scratch/script"
    ends 0 run -- "$scratch/raised" && one_line "rights that you have not"
    ends 5 run -- "$scratch/script" && silent # the kernel raises none for a script
    setpriv --no-new-privs "$cairn" run -- "$scratch/raised" 2>"$scratch/err" || fail "without new rights: status $?"
    [ ! -s "$scratch/err" ] || fail "without new rights: $(cat "$scratch/err")"
    # Nor is anything preloaded where who runs it has such rights already, whatever the file says.
    for words in "--ruid 65534" "--rgid 65534 --keep-groups" "--no-new-privs --ruid 65534"; do
        setpriv --reuid 65534 --clear-groups test -r "$cairn" || continue # this folder is closed to others
        # shellcheck disable=SC2086
        setpriv $words "$cairn" run -- true 2>"$scratch/err" || fail "setpriv $words: status $?"
        err=$(cat "$scratch/err") && one_line "rights that you have not"
    done
    # A folder of libraries that the user may not look into.
    chmod 755 "$scratch"
    mkdir "$scratch/closed"
    cp "$library" "$scratch/closed/other.so"
    cp "$library" "$scratch/tree/lib/libcairn.so"
    chmod 700 "$scratch/closed" "$scratch/tree/lib"
    for words in "run -- true" "run --allocator lea -- true" "trace -o $scratch/none -- true" "info" \
        "replay $scratch/none --allocators glibc" "run --allocator $scratch/closed/other.so -- true"; do
        # shellcheck disable=SC2086
        setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/tree/bin/cairn" $words >"$scratch/out" 2>"$scratch/err"
        case $?:$words in 126:r* | 126:t* | 0:info) ;; *) fail "$words in a closed folder: status $?" ;; esac
        err=$(cat "$scratch/err")
        [ "$words" = info ] || one_line ": Permission denied"
        case $err in *"filesystem error"*) fail "$words in a closed folder: $err" ;; esac
    done
    # Capabilities of a file raise rights of who is not root.
    cp /bin/true "$scratch/able"
    other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$cairn" "$@"; }
    if other run -- true >/dev/null 2>&1 && python3 -c 'import os, struct, sys
os.setxattr(sys.argv[1], "security.capability", struct.pack("<5I", 0x2000001, 1, 0, 0, 0))' "$scratch/able" 2>/dev/null; then
        ends 0 run -- "$scratch/able" && silent
        other run -- "$scratch/able" 2>"$scratch/err" || fail "capabilities: status $?"
        err=$(cat "$scratch/err") && one_line "rights that you have not"
    fi
fi
exit 0
