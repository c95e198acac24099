# SPDX-License-Identifier: MIT
#
# Compiler settings of everything that is built here: warnings, sanitizers, build types.

# -O2 and not -O3: the listings in tests/golden/ stay readable, and measured times do not differ.
# -g1, lines and functions, compiles faster; the malloc itself has all of -g.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
# Not much more than half the compile time with AddressSanitizer and UndefinedBehaviorSanitizer; with ThreadSanitizer tests take three times as
# long. Here, for all: with a precompiled header g++ takes the optimization from there, whatever the command of a source says.
if(CAIRN_SANITIZER AND NOT CAIRN_SANITIZER STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")
endif()
# Half the compile time of g++'s. With ThreadSanitizer tests take 1.5 times as long, otherwise unit tests three times and the others 1.4
# times, which is less than what compiling saves; but not for the concurrent tests (tests/CMakeLists.txt).
if(CAIRN_SANITIZER AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
endif()

add_library(cairn_warnings INTERFACE)
target_compile_options(cairn_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef)
# One meaning of -Wconversion for both compilers: that of g++, which leaves signs out.
target_compile_options(cairn_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)
# libstdc++ 12 calls std::get_temporary_buffer and says that it is deprecated; g++ does not report that.
target_compile_options(cairn_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(CAIRN_WERROR)
  target_compile_options(cairn_warnings INTERFACE -Werror)
endif()

# Each call of the malloc family that is written is made. Compilers know what these functions do: they drop a pair of malloc and
# free, take a block that nobody looks at for there, and make a calloc of a malloc and a memset.
set(cairn_every_call -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free -fno-builtin-aligned_alloc
    -fno-builtin-memalign -fno-builtin-posix_memalign)

# Counts what runs (tests/long/coverage.sh). The counters are a mapped file: a process that is stopped leaves them. Programs
# of one shape would share a file; those with CAIRN_NOT_COUNTED have none.
if(CAIRN_COVERAGE)
  set(counted "$<NOT:$<BOOL:$<TARGET_PROPERTY:CAIRN_NOT_COUNTED>>>")
  add_compile_options("$<${counted}:-fprofile-instr-generate>" "$<${counted}:-fcoverage-mapping>"
                      "$<${counted}:SHELL:-mllvm -runtime-counter-relocation>")
  add_link_options("$<${counted}:-fprofile-instr-generate>")
endif()

if(CAIRN_SANITIZER)
  # -g1: a report shows lines and nothing else, and compiling takes a fifth less time.
  add_compile_options(-fsanitize=${CAIRN_SANITIZER} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${CAIRN_SANITIZER})
  if(CAIRN_SANITIZER MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)
  endif()
  # The sanitizer's library is in each program: lld takes a quarter of the linker's time for it.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -fuse-ld=lld -Wl,--version RESULT_VARIABLE no_lld OUTPUT_QUIET ERROR_QUIET)
    if(NOT no_lld)
      add_link_options(-fuse-ld=lld)
    endif()
  endif()
  if(CAIRN_SANITIZER STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # ThreadSanitizer does not model atomic_thread_fence, and g++ warns at each one.
    add_compile_options(-Wno-tsan)
  endif()
endif()
