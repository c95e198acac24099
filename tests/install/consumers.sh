#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs Cairn below a fresh prefix and builds consumers against nothing but that prefix: by CMake (shared,
# static, kit only), by pkg-config, and by hand with the archive; and with the source tree as a part of their own
# project. Each one runs and checks that its malloc is Cairn's. Then a program has it preloaded, and the manual pages are
# read through.
set -eu
: "${BUILD_DIR:?the build to install}" "${SOURCE_DIR:?the root of the source tree}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/cairn-install.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
prefix=$scratch/prefix
consumer=$scratch/consumer
CXX=${CXX:-g++}
CC=${CC:-gcc}

step() { echo "== $*" >&2; }
fail() { echo "failed: $*" >&2 && exit 1; }

step install
cmake --install "$BUILD_DIR" --prefix "$prefix" >"$scratch/install.log" || { cat "$scratch/install.log" && exit 1; }
cp -r "$SOURCE_DIR/tests/install/consumer" "$consumer"
if grep -rIlF -e "$SOURCE_DIR" -e "$BUILD_DIR" "$prefix"/lib/cmake "$prefix"/lib/pkgconfig "$prefix"/include; then
    fail "an installed file names the source or build folder"
fi

# Before glibc 2.34 threads are a library of their own, of which the archive needs functions; libcairn.so has it from its own link.
sed -n '/^set_target_properties(cairn::malloc_static /,/^)/p' "$prefix/lib/cmake/cairn/cairnTargets.cmake" |
    grep -q Threads::Threads || fail "cairn::malloc_static links no threads"

step CMake: cairn::malloc, cairn::malloc_static, cairn::kit, cairn::stack
cmake -S "$consumer" -B "$scratch/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_C_COMPILER="$CC" >"$scratch/cmake.log" 2>&1 || { cat "$scratch/cmake.log" && exit 1; }
cmake --build "$scratch/build" >"$scratch/cmake.log" 2>&1 || { cat "$scratch/cmake.log" && exit 1; }
"$scratch/build/shared" libcairn.so
"$scratch/build/static" static
"$scratch/build/kit"
"$scratch/build/mixed_O0"
"$scratch/build/mixed_Os"
"$scratch/build/mixed_O0_main_last"
"$scratch/build/mixed_Os_main_last"
"$scratch/build/mixed_flagship"
"$scratch/build/stack"

step CMake: a component that there is not
mkdir "$scratch/component"
cat >"$scratch/component/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(component LANGUAGES CXX)
find_package(cairn REQUIRED COMPONENTS kit malloc malloc_static stack)
find_package(cairn REQUIRED COMPONENTS kit heap)
EOF
said=$(cmake -S "$scratch/component" -B "$scratch/component/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$CXX" 2>&1) &&
    fail "CMake has found a component that there is not"
case $said in
*"There is no component heap: "*) ;;
*) fail "of a component that there is not CMake said: $said" ;;
esac

step a part of another project that is optimized at link time: the libraries and the kit, and what these need
sed "s|^find_package(cairn.*|add_subdirectory(\"$SOURCE_DIR\" cairn)|" "$consumer/CMakeLists.txt" >"$scratch/CMakeLists.txt"
mv "$scratch/CMakeLists.txt" "$consumer/CMakeLists.txt"
cmake -S "$consumer" -B "$scratch/part" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_C_COMPILER="$CC" \
    -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_FLAGS=-Wp,-D_GLIBCXX_ASSERTIONS >"$scratch/cmake.log" 2>&1 || { cat "$scratch/cmake.log" && exit 1; }
cmake --build "$scratch/part" >"$scratch/cmake.log" 2>&1 || { cat "$scratch/cmake.log" && exit 1; }
built=$(cd "$scratch/part/cairn" && find lib bin -type f 2>/dev/null | sort | xargs)
[ "$built" = "lib/libcairn-stack.a lib/libcairn.a lib/libcairn.so" ] || fail "of Cairn it builds $built"
"$scratch/part/shared" libcairn.so
"$scratch/part/static" static
"$scratch/part/kit"
"$scratch/part/mixed_O0"
"$scratch/part/mixed_Os"
"$scratch/part/mixed_O0_main_last"
"$scratch/part/mixed_Os_main_last"
"$scratch/part/mixed_flagship"
"$scratch/part/stack"

step pkg-config
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")$/\1/p' "$prefix/lib/cmake/cairn/cairnConfigVersion.cmake")
[ "$(pkg-config --modversion cairn)" = "$version" ] || fail "cairn.pc and the CMake package name different versions"
# shellcheck disable=SC2046
"$CC" -Wall -Wextra -Werror "$consumer/malloc.c" -o "$scratch/by_pkg_config" $(pkg-config --cflags --libs cairn) \
    -Wl,-rpath,"$prefix/lib"
"$scratch/by_pkg_config" libcairn.so
case " $(pkg-config --static --libs cairn) / $(pkg-config --libs cairn) " in
*" -pthread "*/*" -pthread "*) fail "cairn.pc links threads to programs that need none" ;;
*" -pthread "*) ;;
*) fail "cairn.pc links no threads to what is static: $(pkg-config --static --libs cairn)" ;;
esac
# Whatever the program calls: the C library's own calls are answered by the archive.
echo 'int main(void) { return 0; }' >"$scratch/nothing.c"
# shellcheck disable=SC2046
"$CC" -static "$scratch/nothing.c" -o "$scratch/static_by_pkg_config" $(pkg-config --static --cflags --libs cairn)
"$scratch/static_by_pkg_config"
nm "$scratch/static_by_pkg_config" | grep -q ' _ZN5cairn' || fail "a static program has not taken malloc from libcairn.a"
# shellcheck disable=SC2046
"$CXX" -std=c++20 "$consumer/kit.cpp" -o "$scratch/kit_by_pkg_config" $(pkg-config --cflags cairn)
"$scratch/kit_by_pkg_config"
# shellcheck disable=SC2046
"$CXX" -std=c++20 -fno-rtti -fno-exceptions "$SOURCE_DIR/examples/pmr_resource.cpp" -o "$scratch/without_rtti" $(pkg-config --cflags cairn)
"$scratch/without_rtti"
# shellcheck disable=SC2046
"$CC" -Wall -Wextra -Werror "$consumer/stack.c" -o "$scratch/stack_by_pkg_config" \
    $(pkg-config --cflags --libs cairn-stack)
"$scratch/stack_by_pkg_config"

step a heap that files share, all with assertions or none
for options in "" -DNDEBUG; do
    # shellcheck disable=SC2046
    "$CXX" -std=c++20 $options -c "$consumer/shared.cpp" -o "$scratch/shared.o" $(pkg-config --cflags cairn)
    # shellcheck disable=SC2046
    "$CXX" -std=c++20 $options -DMAIN -c "$consumer/shared.cpp" -o "$scratch/main$options.o" $(pkg-config --cflags cairn)
    "$CXX" "$scratch/main$options.o" "$scratch/shared.o" -o "$scratch/shared"
    "$scratch/shared"
done
if "$CXX" "$scratch/main.o" "$scratch/shared.o" -o "$scratch/shared" 2>"$scratch/link.log"; then
    fail "of one heap that files with and without assertions share there are two"
fi
grep -q files_with_and_without_ndebug_share_a_heap "$scratch/link.log" || { cat "$scratch/link.log" && exit 1; }

step pkg-config with folders that are said as whole paths
cmake -S "$SOURCE_DIR" -B "$scratch/whole" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_C_COMPILER="$CC" -DCAIRN_TESTS=OFF \
    -DCAIRN_PROGRAM=OFF -DCAIRN_FAMILY=OFF -DCAIRN_BENCH=OFF -DCMAKE_INSTALL_PREFIX=/opt/cairn \
    -DCMAKE_INSTALL_LIBDIR=/opt/cairn/lib64 -DCMAKE_INSTALL_INCLUDEDIR=/opt/headers >"$scratch/cmake.log" 2>&1 ||
    { cat "$scratch/cmake.log" && exit 1; }
for package in cairn cairn-stack; do
    folders="$(pkg-config --variable=libdir "$scratch/whole/$package.pc") $(pkg-config --variable=includedir "$scratch/whole/$package.pc")"
    [ "$folders" = "/opt/cairn/lib64 /opt/headers" ] || fail "$package.pc says $folders"
done
! grep -q -e -Werror "$scratch/whole/build.ninja" || fail "without the tests a compiler's new warning ends the build"

step the archive by hand
"$CC" -I"$prefix/include" "$consumer/malloc.c" -Wl,-u,malloc "$prefix/lib/libcairn.a" -o "$scratch/by_hand"
"$scratch/by_hand" static

step preloaded
LD_PRELOAD=$prefix/lib/libcairn.so "$scratch/build/preloaded" libcairn.so

step manual pages
for page in "$prefix/share/man/man1/cairn.1" "$prefix/share/man/man3/cairn.3"; do
    said=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l "$page" 2>&1 >"$scratch/page") ||
        fail "man cannot read $page: $said"
    [ -z "$said" ] || fail "$page: $said"
    grep -q '^NAME' "$scratch/page" || fail "$page has no section NAME"
done

if [ -d "$prefix/share/cairn/lab" ]; then
    step the lab
    unset CAIRN_BUILD
    "$prefix/bin/cairn" bench --list >"$scratch/list" || fail "cairn bench --list: status $?"
    grep -q '^  larson$' "$scratch/list" || fail "cairn bench --list does not list larson"
    "$prefix/bin/cairn" bench --workloads threadtest --threads 1 --allocators glibc,cairn --scale 1 --repeat 1 \
        -o "$scratch/bench.json" >"$scratch/out" 2>&1 || fail "cairn bench: $(cat "$scratch/out")"
    "$prefix/bin/cairn" report "$scratch/bench.json" -o "$scratch/page.html" || fail "cairn report: status $?"
    # What some tables are of is built in the source tree only, and that is one line.
    status=0
    said=$("$prefix/bin/cairn" paper hoard-3 --quick 2>&1) || status=$?
    [ "$status" = 1 ] || fail "cairn paper hoard-3 ended with $status"
    case $said in
    "paper: hoard-3: needs Cairn's source tree"*) ;;
    *) fail "cairn paper hoard-3 said: $said" ;;
    esac
    [ "$(printf '%s\n' "$said" | wc -l)" = 1 ] || fail "cairn paper hoard-3 said more than a line"
fi
