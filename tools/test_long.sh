#!/bin/sh
# SPDX-License-Identifier: MIT
#
# test_long.sh BUILD [NAME...]: the work of `./cairn test --long`. Runs the scripts of tests/long/, or those that are named,
# one after the other on what BUILD has, and says in a table how each one ended; the table is BUILD/long/results.txt and each
# one's output BUILD/long/NAME.log. Status 1 if one has failed.
#
# A script gets BUILD as its argument, ends with 0 (passed), 1 (failed) or 77 (skipped), and its last line is
# "RESULT NAME: TEXT" or "SKIP NAME: WHY".
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$1
shift
logs=$build/long
mkdir -p "$logs"

if [ $# = 0 ]; then
    for script in "$root"/tests/long/*.sh; do
        set -- "$@" "$(basename "$script" .sh)"
    done
fi
for name in "$@"; do
    [ -x "$root/tests/long/$name.sh" ] && continue
    echo "cairn: no long test is called '$name'; there are:" "$(cd "$root/tests/long" && ls ./*.sh | sed 's,^\./,,; s,\.sh$,,' | xargs)" >&2
    exit 2
done

# A run that is broken off leaves the table of the one before.
table=$logs/results.new
trap 'rm -f "$table"; exit 130' INT TERM
printf '%-12s %-8s %7s  %s\n' test outcome seconds result >"$table"
failed=0
for name in "$@"; do
    echo "cairn: $name ..." >&2
    began=$(date +%s)
    status=0
    "$root/tests/long/$name.sh" "$build" >"$logs/$name.log" 2>&1 </dev/null || status=$?
    text=$(sed -n "\$s/^\(RESULT\|SKIP\) $name: //p" "$logs/$name.log")
    case $status in
    0) outcome=passed ;;
    77) outcome=skipped ;;
    *)
        outcome=failed
        failed=1
        : "${text:=ended with status $status: $(tail -n 1 "$logs/$name.log")}"
        echo "cairn: $name failed; what it said is in $logs/$name.log" >&2
        ;;
    esac
    printf '%-12s %-8s %7d  %s\n' "$name" "$outcome" $(($(date +%s) - began)) "$text" >>"$table"
done
mv "$table" "$logs/results.txt"
cat "$logs/results.txt"
exit $failed
