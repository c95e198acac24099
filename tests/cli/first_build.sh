#!/bin/sh
# SPDX-License-Identifier: MIT
#
# ./cairn over a tiny project in place of this one: what is built when, after a configuration that failed, a build that was
# interrupted, in a tree that was moved or copied, and by two at once, of whom one may be ./cairn test. And that it says
# which packages are missing.
. "$(dirname "$0")/lib/common.sh"
tree="$scratch/a tree"

mkdir -p "$tree/tools" "$tree/src" "$tree/include" "$tree/allocators" "$tree/cmake"
cp "$SOURCE_DIR/cairn" "$tree/cairn"
cp "$SOURCE_DIR/tools/test.sh" "$tree/tools/test.sh"
printf '#!/bin/sh\n' >"$tree/tools/setup.sh"
chmod +x "$tree/tools/setup.sh"
cat >"$tree/CMakePresets.json" <<'END'
{"version": 6, "configurePresets": [
    {"name": "base", "hidden": true, "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}"},
    {"name": "release", "inherits": "base"}, {"name": "debug", "inherits": "base"},
    {"name": "sanitize", "inherits": "base"}, {"name": "clang-sanitize", "inherits": "base"},
    {"name": "clang-tsan", "inherits": "base"}]}
END
# The product is a program that says what src/word is, and what SETTING was. Each build writes a line.
cat >"$tree/project" <<'END'
cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES NONE)
set(SETTING none CACHE STRING "")
set(program "${PROJECT_BINARY_DIR}/bin/cairn")
add_custom_command(OUTPUT "${program}" DEPENDS "${PROJECT_SOURCE_DIR}/src/word"
  COMMAND mkdir -p "${PROJECT_BINARY_DIR}/bin" "${PROJECT_BINARY_DIR}/lib"
  COMMAND touch "${PROJECT_BINARY_DIR}/lib/libcairn.so"
  COMMAND sh "${PROJECT_SOURCE_DIR}/src/make" "${program}" "${SETTING}" < "${PROJECT_SOURCE_DIR}/src/word" VERBATIM)
add_custom_target(cairn_product ALL DEPENDS "${program}")
enable_testing()
add_test(NAME true COMMAND true)
END
cat >"$tree/src/make" <<'END'
read -r word
echo built >>"$(dirname "$1")/../builds"
[ "$word" != broken ] || exit 1
if [ "$word" = slow ]; then
    echo $$ >"$(dirname "$1")/../slow"
    exec sleep 60
fi
printf '#!/bin/sh\necho "%s $* %s"\n' "$word" "$2" >"$1.new"
chmod +x "$1.new"
mv "$1.new" "$1"
END
echo word >"$tree/src/word"

# says WANTED: what ./cairn prints. What a change made is newer than the last build, whatever a clock's tick is.
says() {
    said=$("$tree/cairn" a b 2>"$scratch/err") || fail "status $?: $(tail -n 5 "$scratch/err")"
    [ "$said" = "$1" ] || fail "'$said', not '$1': $(tail -n 5 "$scratch/err")"
}
change() {
    sleep 0.02
    echo "$1" >"$tree/src/word"
}

# Words that preload what is built say first that they could not: this tree has a blank in its name.
mkdir "$scratch/a:tree"
cp "$tree/cairn" "$scratch/a:tree/cairn"
for words in "run -- true" trace replay bench peaks paper; do
    for each in "$tree" "$scratch/a:tree"; do
        # shellcheck disable=SC2086
        "$each/cairn" $words >"$scratch/out" 2>&1
        [ $? = 126 ] && [ "$(cat "$scratch/out")" = "cairn: the libraries of $each could not be preloaded: LD_PRELOAD splits at a blank or a colon" ] ||
            fail "$words in $each: $(tail -n 3 "$scratch/out")"
        [ ! -e "$each/build" ] || fail "$words in $each has begun to build"
    done
done

# A configuration fails; what was wrong is mended.
echo 'message(FATAL_ERROR "not today")' | cat "$tree/project" - >"$tree/CMakeLists.txt"
"$tree/cairn" a >"$scratch/out" 2>&1 && fail "a configuration that failed is status 0"
grep -q 'not today' "$scratch/out" || fail "it does not say what failed: $(cat "$scratch/out")"
sleep 0.02
cp "$tree/project" "$tree/CMakeLists.txt"
says "word a b none"
says "word a b none"
[ ! -s "$scratch/err" ] || fail "the second time is not silent: $(cat "$scratch/err")"

# A change is built, with the settings that are there.
cmake -DSETTING=mine "$tree/build/release" >"$scratch/out" 2>&1 || fail "cmake: $(cat "$scratch/out")"
change second
says "second a b mine"

# Through a link, from elsewhere.
ln -s "$tree/cairn" "$scratch/link"
[ "$(cd / && "$scratch/link" x 2>/dev/null)" = "second x mine" ] || fail "a link to it does not work"

# An interrupted build leaves nothing that is taken for a build.
change slow
"$tree/cairn" a >"$scratch/out" 2>&1 &
cairn=$!
while [ ! -s "$tree/build/release/slow" ]; do
    kill -0 $cairn 2>/dev/null || fail "the slow build ended: $(cat "$scratch/out")"
    sleep 0.05
done
kill "$(cat "$tree/build/release/slow")"
wait $cairn && fail "a build that was stopped is status 0"
change third
says "third a b mine"

# Two at once build once.
: >"$tree/build/release/builds"
change fourth
"$tree/cairn" a >"$scratch/one" 2>&1 &
first=$!
"$tree/cairn" b >"$scratch/two" 2>&1 &
second=$!
wait $first || fail "the first of two: $(cat "$scratch/one")"
wait $second || fail "the second of two: $(cat "$scratch/two")"
[ "$(wc -l <"$tree/build/release/builds")" = 1 ] || fail "two at once built $(wc -l <"$tree/build/release/builds") times"

# ./cairn test waits for a build of the same tree; a build that fails is its end.
builds=$tree/build/release/builds
change fifth
flock "$tree/build/lock" sh -c 'echo held >"$0"; sleep 0.5; echo released >>"$0"' "$builds" &
until grep -q held "$builds"; do sleep 0.02; done
"$tree/cairn" test >"$scratch/out" 2>&1 || fail "cairn test: status $?: $(tail -n 5 "$scratch/out")"
[ "$(xargs <"$builds")" = "held released built" ] || fail "cairn test did not wait: $(xargs <"$builds")"
says "fifth a b mine"
change broken
"$tree/cairn" test >"$scratch/out" 2>&1 && fail "cairn test over a build that fails is status 0"
change fourth
says "fourth a b mine"

# A copy is built from its own sources, into its own folder; the same for a tree that was moved.
cp -r "$tree" "$scratch/copy"
original=$tree
tree=$scratch/copy
change copied
says "copied a b none"
tree=$original
says "fourth a b mine"
mv "$tree" "$scratch/moved"
tree=$scratch/moved
says "fourth a b mine"
change moved
says "moved a b none"

# On a system without packages, for a user who may not install any.
mkdir "$scratch/bin"
printf '#!/bin/sh\nexit 1\n' | tee "$scratch/bin/dpkg-query" >"$scratch/bin/sudo"
printf '#!/bin/sh\necho 1000\n' >"$scratch/bin/id"
chmod +x "$scratch"/bin/*
mkdir -p "$scratch/new tree/tools"
cp "$SOURCE_DIR/tools/setup.sh" "$SOURCE_DIR"/tools/packages-*.txt "$scratch/new tree/tools"
for what in run bench test; do
    PATH=$scratch/bin:$PATH "$scratch/new tree/tools/setup.sh" $what >"$scratch/out" 2>&1
    [ $? = 1 ] && [ "$(wc -l <"$scratch/out")" = 2 ] && grep -q '^    sudo apt-get install .* cmake' "$scratch/out" ||
        fail "setup.sh $what on a system without packages: $(cat "$scratch/out")"
done
