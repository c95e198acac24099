#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cmake: configures, builds (by ninja) and tests a small project in C and C++. The build files, the cache, the file API's
# reply and the programs are compared; no time or path needs normalising, as both runs have one directory name.
. "$(dirname "$0")/lib/common.sh"
need cmake cmake
need ninja ninja-build

work() {
    mkdir project
    cp "$inputs/build.c" "$inputs/build.cpp" project
    cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(small LANGUAGES C CXX)
include(CheckIncludeFiles)
include(CheckSymbolExists)
find_package(Threads REQUIRED)
foreach(header stdlib.h malloc.h no/such/header.h)
  string(MAKE_C_IDENTIFIER "HAVE_${header}" variable)
  check_include_files(${header} ${variable})
endforeach()
check_symbol_exists(malloc_usable_size malloc.h HAVE_MALLOC_USABLE_SIZE)

set(long "")
foreach(i RANGE 4000)
  list(APPEND long "element-${i}")
endforeach()
list(FILTER long EXCLUDE REGEX "7")
list(TRANSFORM long REPLACE "element-([0-9]+)" "\\1 of 4000")
list(SORT long COMPARE NATURAL ORDER DESCENDING)
string(SHA256 digest "${long}")
string(JSON answer GET [[{"a": [1, 2, {"b": "deep"}]}]] a 2 b)
file(WRITE "${CMAKE_BINARY_DIR}/answers" "${digest} ${answer} ${HAVE_MALLOC_USABLE_SIZE}\n")

foreach(i RANGE 1 60)
  add_custom_target(extra-${i} COMMAND ${CMAKE_COMMAND} -E echo ${i} DEPENDS build.c)
endforeach()
add_executable(plain build.c)
target_compile_options(plain PRIVATE -frandom-seed=plain)
target_link_libraries(plain PRIVATE Threads::Threads m)
add_library(shared SHARED build.c)
target_compile_options(shared PRIVATE -frandom-seed=shared)
target_link_libraries(shared PRIVATE Threads::Threads m)
enable_testing()
add_test(NAME plain COMMAND plain)
END
    mkdir -p build/.cmake/api/v1/query
    touch build/.cmake/api/v1/query/codemodel-v2
    cmake -S project -B build -G Ninja -DCMAKE_BUILD_TYPE=Release | sed "s, ([0-9.]*s)$,," # newer ones say how long it took
    cmake --build build --parallel 1 # one at a time, as the order of the lines is compared
    (cd build && ctest --output-on-failure) | sed 's/ *[0-9.]* sec.*//' # how long it took
    build/plain
    cp build/{build.ninja,CMakeCache.txt,answers,plain,libshared.so} build/.cmake/api/v1/reply/target-plain* keep
}

compare work
loaded cmake ninja ctest cc1 cc1plus ld plain
