#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# gdb: breakpoints, stacks, structures, threads, a call of malloc in the debugged program, python inside gdb. Debugger and
# program are both preloaded. Addresses, process and thread numbers are replaced, nothing else.
. "$(dirname "$0")/lib/common.sh"
need gdb gdb
need gcc gcc

# gdb 13 can call no function of the program where the processor has more registers than it knows of (AMX).
call='print ((char *(*)(const char *))strdup)("from the debugger")'
gcc -g -pthread "$inputs/debug.c" -o "$scratch/called"
tried=$(gdb -q -nx -batch -ex 'set startup-with-shell off' -ex 'break main' -ex run -ex "$call" "$scratch/called" 2>&1 || true)
case $tried in *'extended state'*) call='echo not called\n' ;; esac
export call

work() {
    cp "$inputs/debug.c" .
    gcc -g -O0 -pthread debug.c -o debugged
    sed "s/^CALL$/$(printf '%s' "$call" | sed 's/[\\&/]/\\&/g')/" >commands <<'END'
set pagination off
set confirm off
set width 0
set startup-with-shell off
set print thread-events off
set debuginfod enabled off
break debug.c:34 if depth > 5
run
bt
info breakpoints
print *tree
print tree->left->name
up 3
info locals
CALL
python
text = {}
for name in ('insert', 'found', 'main', 'wait_for_others'):
    symbol = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
    text[name] = [str(field) for field in symbol.type.fields()] + [symbol.line]
print(sorted(text.items()))
frame = gdb.newest_frame()
names = []
while frame is not None:
    names.append(frame.name())
    frame = frame.older()
print(names)
print(len(''.join(gdb.execute('disassemble /s insert', to_string=True).split())) > 1000)
end
delete
ptype struct node
continue
END
    gdb -q -nx -batch -x commands debugged >raw 2>&1
    sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/\((process|LWP) [0-9]+\)/(\1 N)/g; s/(process|LWP) [0-9]+/\1 N/g' raw
    # The first thread past the barrier stops them all; each is still in its function.
    gdb -q -nx -batch -ex 'set print thread-events off' -ex 'set startup-with-shell off' \
        -ex "break $(grep -n 'free(mine)' debug.c | cut -d: -f1)" -ex run -ex 'thread apply all bt' debugged >threads 2>&1
    grep -c '^#.*wait_for_others (argument=' threads
    gdb -q -nx -batch -ex 'info functions ^found$' -ex 'list found' debugged
}

compare work
loaded gdb debugged
