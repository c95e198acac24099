#!/bin/sh
# SPDX-License-Identifier: MIT
#
# CAIRN_STATS: the summary, the JSON and its file, many processes, and what is said about values and files
# that do not work.
. "$(dirname "$0")/lib/common.sh"
library=${CAIRN_LIB:?}
# The program itself: what PATH has may be a script around it, with processes of its own.
python=$(python3 -c 'import sys; print(sys.executable)')

# stats VALUE WORDS...: runs WORDS with CAIRN_STATS=VALUE; output to $scratch/out, $scratch/err.
stats() {
    value=$1
    shift
    env LD_PRELOAD="$library" CAIRN_STATS="$value" "$@" >"$scratch/out" 2>"$scratch/err" ||
        fail "CAIRN_STATS=$value $*: status $?"
}
says() { grep -q -e "$1" "$scratch/err" || fail "does not say '$1': $(cat "$scratch/err")"; }
one_line() { [ "$(wc -l <"$scratch/err")" = 1 ] || fail "not one line: $(cat "$scratch/err")"; }
silent() { [ ! -s "$scratch/err" ] || fail "says: $(cat "$scratch/err")"; }
# json FILE EXPRESSION: which holds for the object `s`.
json() {
    python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), s' "$1" "$2" ||
        fail "$1: $2"
}

# The summary, also of a program that closes its stderr first (every tool of coreutils does).
stats 1 true
says '^cairn [0-9.]*: memory of process [0-9]* (true)$'
says '^  live '
stats 1 ls "$scratch"
says '(ls)$'
for value in '' 0; do
    stats "$value" true
    silent
done
# One that closes all, and opens files of its own with those numbers, has them as it wrote them.
echo its own >"$scratch/victim"
"${python}" - "$scratch/victim" <<'PY' >"$scratch/program.py"
import sys
print("import os\nos.closerange(0, 4096)\nfor i in range(300): os.open(%r, os.O_RDWR | os.O_APPEND)\nos._exit\nimport ctypes\nctypes.CDLL(None).exit(0)" % sys.argv[1])
PY
stats 1 "$python" "$scratch/program.py"
[ "$(cat "$scratch/victim")" = "its own" ] || fail "the report is in a file of the program's: $(cat "$scratch/victim")"

# Nor is it sent over a connection or a pipe of such a program, whose number is 2; but over a pipe that takes stderr's place.
cat >"$scratch/program.py" <<'PY'
import ctypes, os, socket, sys
kind, out = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
if kind == "stderr":
    other, own = os.pipe()
    os.dup2(own, 2)
    os.close(own)
else:
    os.dup2(out, 4)
    out = 4
    os.closerange(0, 4)
    os.closerange(5, 4096)
    os.open("/dev/null", os.O_RDWR)
    if kind == "socket":
        os.open("/dev/null", os.O_RDWR)
        own, other = (end.detach() for end in socket.socketpair())
    else:
        other, own = os.pipe()
    assert own == 2
child = os.fork()
if child != 0:
    os.close(2)
    os.write(out, os.read(other, 1000))
    os.waitpid(child, 0)
    os._exit(0)
ctypes.CDLL(None).exit(0)
PY
for kind in socket pipe stderr; do
    stats 1 "$python" "$scratch/program.py" $kind "$scratch/sent"
    case $kind:$(head -c 5 "$scratch/sent") in
    socket: | pipe: | stderr:cairn) ;;
    *) fail "a program that has made number 2 its $kind: $(cat "$scratch/sent")" ;;
    esac
done

# JSON: all of it there, and true.
stats "json:$scratch/one.json" python3 -c 'import sys; keep = [bytes(1 << 20) for i in range(40)]; import os
os.close(2); sys.stdout.flush()'
silent
json "$scratch/one.json" 's["allocator"] == "cairn" and s["schema"] == 1 and s["program"].startswith("python3")'
json "$scratch/one.json" 's["live"] == s["small_live"] + s["large_live"] + s["huge_live"]'
json "$scratch/one.json" 'sum(c["live_blocks"] * c["block_size"] for c in s["by_class"]) == s["small_live"]'
json "$scratch/one.json" 'sum(c["superblocks"] for c in s["by_class"]) == s["superblocks"] > 0'
json "$scratch/one.json" 's["mapped_peak"] >= 40 << 20 and s["heaps_peak"] >= 1 and len(s["by_class"]) > 20'
[ "$(find "$scratch" -name '*.tmp' | wc -l)" = 0 ] || fail "a file for the writing is left behind"

# A relative name is meant where the program starts; %p and %%.
(
    cd "$scratch" || exit 1
    stats 'json:rel%%-%p.json' "$python" -c 'import os; os.chdir("/")'
) || exit 1
[ "$(find "$scratch" -name 'rel%-[0-9]*.json' | wc -l)" = 1 ] || fail "no rel%-PID.json: $(ls "$scratch")"

# A percent sign in the folder's name is one.
mkdir "$scratch/a%p%%b"
(
    cd "$scratch/a%p%%b" || exit 1
    stats 'json:rel.json' true
) || exit 1
[ -e "$scratch/a%p%%b/rel.json" ] || fail "no rel.json in a folder with percent signs: $(find "$scratch" -name rel.json)"

# One file for each process of a tree, forked or executed; each knows itself.
mkdir "$scratch/many"
stats "json:$scratch/many/%p.json" "$python" -c 'import os, sys, subprocess
for i in range(3):
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
subprocess.run(["true"], check=True)'
count=$(find "$scratch/many" -name '*.json' | wc -l)
[ "$count" = 5 ] || fail "5 processes, $count reports"
for file in "$scratch"/many/*.json; do
    json "$file" "s['pid'] == $(basename "$file" .json)"
done

# A file that is there is replaced whole, and a failed write leaves it alone.
echo old >"$scratch/old.json"
stats "json:$scratch/old.json" true
json "$scratch/old.json" 's["program"] == "true"'
# It is written under another name first, which is no way to somebody else's file.
echo old >"$scratch/victim"
sh -c 'ln -s victim "$1/link.json.$$.tmp"; exec env LD_PRELOAD="$2" CAIRN_STATS="json:$1/link.json" true' sh "$scratch" \
    "$library" 2>"$scratch/err"
one_line
[ "$(cat "$scratch/victim")" = old ] || fail "a link was followed"
rm -f "$scratch"/link.json*

# A program's name is text of others' choosing.
cp /bin/true "$scratch/a\"b\\c"
stats "json:$scratch/name.json" "$scratch/a\"b\\c"
json "$scratch/name.json" 's["program"] == "a\"b\\c"'

# What does not work is one line, and the program runs.
for value in yes 2 json json: text:x; do
    stats "$value" true
    one_line
    says "^cairn: CAIRN_STATS: unknown value '$value', which is 1 or json:FILE (no report)$"
done
stats "$(printf 'a\nb')" true
one_line
stats "json:$scratch/nowhere/x.json" ls / # said at the start: it closes its stderr
one_line
says "cannot write '$scratch/nowhere/x.json': no such folder"
stats "json:$scratch" true
one_line
says 'it is a folder'
mkdir "$scratch/gone" # the folder that a relative name would be in
(
    cd "$scratch/gone"
    rmdir "$scratch/gone"
    stats json:x.json ls /
    one_line
    says "cannot write 'x.json': no such folder"
) || exit 1
mkfifo "$scratch/pipe" # as for a device: it is not replaced
stats "json:$scratch/pipe" true
one_line
says 'it is no regular file'
[ -p "$scratch/pipe" ] || fail "a pipe was replaced"
stats "json:$scratch/$(printf '%5000s' x | tr ' ' x)" true
one_line
says 'the name is too long'

# The program's status is its own where the report, or what is said about a value, can not be written: to a pipe that nobody
# reads, beyond a limit.
python3 - "$library" <<'P' || fail "a pipe that nobody reads ends the program"
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
for name, value in ("CAIRN_STATS", "1"), ("CAIRN_STATS", "unknown"), ("CAIRN_OPTIONS", "unknown:1"):
    ended = subprocess.run(["true"], stderr=writer, env={**os.environ, "LD_PRELOAD": sys.argv[1], name: value})
    assert ended.returncode == 0, (value, ended)
P
(
    ulimit -f 0
    env LD_PRELOAD="$library" CAIRN_STATS="json:$scratch/limit.json" true
    echo "status $?"
) 2>&1 | cat >"$scratch/err"
says '^status 0$'
says 'it may not be so large'
[ -z "$(find "$scratch" -name 'limit.json*')" ] || fail "what could not be written is left behind"

# It waits for room in a pipe that does not block.
python3 - "$library" <<'P' || fail "a full pipe that does not block loses the summary"
import os, subprocess, sys, time
reader, writer = os.pipe()
os.set_blocking(writer, False)
try:
    while True:
        os.write(writer, b"x")
except BlockingIOError:
    pass
child = subprocess.Popen(["true"], stderr=writer, env={**os.environ, "LD_PRELOAD": sys.argv[1], "CAIRN_STATS": "1"})
os.close(writer)
time.sleep(0.1)
text = b""
while part := os.read(reader, 4096):
    text += part
assert child.wait() == 0 and b"memory of process" in text, text[-1000:]
P

# Of two Cairns in a process the one reports that is its malloc, with a recorder of its calls in front or without.
echo 'int main(void) { static void *volatile p; for (int i = 0; i < 100; ++i) p = __builtin_malloc(100000); return 0; }' >"$scratch/takes.c"
if [ -e "${BUILD_DIR-}/lib/libcairn.a" ]; then
    "${CC:-cc}" -O0 "$scratch/takes.c" -Wl,-u,malloc "$BUILD_DIR/lib/libcairn.a" -o "$scratch/takes" || fail "a program does not link"
    stats "json:$scratch/two.json" "$scratch/takes"
    json "$scratch/two.json" 's["large_live"] >= 10000000'
    stats 1 "$scratch/takes"
    [ "$(grep -c 'memory of process' "$scratch/err")" = 1 ] || fail "two reports: $(cat "$scratch/err")"
fi
if [ -e "${BUILD_DIR-}/lib/libcairntrace.so" ]; then
    "${CC:-cc}" -O0 "$scratch/takes.c" -o "$scratch/takes" || fail "a program does not compile"
    env LD_PRELOAD="$BUILD_DIR/lib/libcairntrace.so $library" CAIRN_STATS="json:$scratch/recorded.json" "$scratch/takes"
    json "$scratch/recorded.json" 's["large_live"] >= 10000000'
fi

# Raised privileges: the variable is not the user's to set.
chmod 755 "$scratch"
if [ "$(id -u)" = 0 ] && setpriv --reuid 1 --clear-groups test -x "$scratch" 2>/dev/null; then
    cp "$library" "$scratch/libcairn.so"
    echo 'int main(void) { return 0; }' >"$scratch/main.c"
    "${CC:-cc}" "$scratch/main.c" -o "$scratch/raised" -Wl,--no-as-needed "$scratch/libcairn.so" \
        -Wl,-rpath,"$scratch" || fail "can not link"
    env CAIRN_STATS=1 setpriv --reuid 1 --clear-groups "$scratch/raised" 2>"$scratch/err" || fail "not raised: $?"
    says 'memory of process'
    chmod 4755 "$scratch/raised"
    env CAIRN_STATS=1 setpriv --reuid 1 --clear-groups "$scratch/raised" 2>"$scratch/err" || fail "raised: $?"
    silent

    # The folder is another's, or the root of all: said at the start.
    chmod 755 "$scratch/raised"
    mkdir "$scratch/others"
    for folder in "$scratch/others" ""; do
        env LD_PRELOAD="$scratch/libcairn.so" CAIRN_STATS="json:$folder/x.json" setpriv --reuid 1 --clear-groups ls / \
            >"$scratch/out" 2>"$scratch/err" || fail "not its folder: $?"
        says "cannot write '$folder/x.json': permission denied"
    done
fi
exit 0
