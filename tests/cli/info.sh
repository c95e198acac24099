#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cairn info: in words and as JSON, with the figures of the code and the options of the environment.
set -eu
. "$(dirname "$0")/lib/common.sh"

out=$("$cairn" info)
for part in "^cairn [0-9.]*, " "^page size $(getconf PAGESIZE)," "transparent huge pages: [a-z]" "  f  *0.166" \
    "  K S  *131072 bytes" "heap constant  *[0-9]" "  purge_delay  *500ms " "  retain  *1M " "^ *128  *65536  *512$"; do
    printf '%s\n' "$out" | grep -q -e "$part" || fail "no '$part' in: $out"
done

CAIRN_OPTIONS=purge_delay:2s,huge_pages:dense "$cairn" info --json | python3 -c '
import json, sys
info = json.load(sys.stdin)
classes = info["size_classes"]
options = {option["name"]: option for option in info["options"]}
bound = info["bound"]
assert set(info) == {"version", "build", "system", "bound", "allocators", "options", "size_classes"}, info.keys()
assert info["build"]["type"] and info["build"]["compiler"]
assert info["allocators"][0] == "cairn"
assert info["system"]["page_size"] == int(sys.argv[1])
assert options["purge_delay"]["value"] == "2s" and options["purge_delay"]["default"] == "500ms"
assert options["huge_pages"]["value"] == "dense" and options["retain"]["value"] == "1M"
assert 0 < bound["f"] < 1 and bound["ks"] <= 128 << 10
assert bound["runs_slack"] <= bound["runs_and_mappings_slack"] and bound["runs_fraction"] <= bound["runs_and_mappings_fraction"] < 1
assert all(a["block_size"] < b["block_size"] for a, b in zip(classes, classes[1:]))
assert all(c["blocks"] == c["superblock"] // c["block_size"] >= 8 for c in classes)
assert {c["superblock"] for c in classes} >= {bound["superblock_small"], bound["superblock_longest"]}
parts = ("in_bins", "unlisted", "last_taken", "in_global_heap", "heap")
by_others = bound["pending"] + bound["gathered"]
assert abs(bound["heap_constant"] - sum(bound[part] for part in parts) - by_others / (1 - bound["f"])) <= 1
' "$(getconf PAGESIZE)" || fail "the JSON"

said=$(CAIRN_OPTIONS=nothing:1 "$cairn" info 2>&1 >/dev/null)
[ "$said" = "cairn: CAIRN_OPTIONS: unknown option 'nothing' (ignored)" ] || fail "a bad option: $said"
[ "$("$cairn" --version)" = "cairn $("$cairn" info --json | sed -n 's/^  "version": "\(.*\)",$/\1/p')" ] ||
    fail "versions differ"

# The help of each word names options as they are typed.
for word in run trace trace-info replay info; do
    ! "$cairn" $word --help | grep -q -- '--[a-z-]*{' || fail "$word --help: $("$cairn" $word --help)"
done

# What can not be written is an error.
full=$scratch/full
{ mknod "$full" c 1 7 && : >"$full"; } 2>/dev/null || full=/dev/full
for words in info "info --json" --version --help; do
    # shellcheck disable=SC2086 # words
    status=0
    "$cairn" $words >"$full" 2>"$scratch/err" || status=$?
    [ "$status" = 1 ] || fail "$words: a full device: status $status, not 1"
    [ "$(cat "$scratch/err")" = "cairn: standard output can not be written to" ] || fail "$words: $(cat "$scratch/err")"
done
