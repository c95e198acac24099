# SPDX-License-Identifier: MIT
#
# The malloc: libcairn.so and libcairn.a from src/malloc/*.cpp.

file(GLOB malloc_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/malloc/*.cpp")

add_library(cairn_malloc_options INTERFACE)
target_compile_definitions(cairn_malloc_options INTERFACE CAIRN_VERSION="${PROJECT_VERSION}")
target_compile_options(cairn_malloc_options INTERFACE
  # No C++ runtime: nothing that throws, nothing that is built at start-up, no guard variables.
  -fno-exceptions -fno-rtti -fno-threadsafe-statics
  -fvisibility=hidden -fvisibility-inlines-hidden
  # The library is loaded at start (never by a late dlopen with a large TLS block), so a thread's heap is one
  # load away; 8 bytes fit into what the loader keeps free for a dlopen all the same.
  -ftls-model=initial-exec
  -fno-plt
  # gdb calls malloc in the program that it looks at, and has to know of which type it is.
  -g
  # Where malloc and free do not begin with a cache line, loops of nothing else take 1.09 of the time on some processors
  # (docs/decisions/fast-path-checks.md).
  -falign-functions=64
  # Jumps, also without optimization, to the C library's dlopen and to a program's operator new; see there.
  -foptimize-sibling-calls
  # As it is, whatever else is optimized at link time: new_handler.cpp makes symbols weak by assembly, which such a link keeps
  # apart from the code, and the archive is for any linker.
  -fno-lto
  # The C++ library's assertions, which distributions ask for, would call into it. Since g++ 15 it has them also where nothing is
  # optimized.
  -Wp,-U_GLIBCXX_ASSERTIONS -D_GLIBCXX_NO_ASSERTIONS
  ${cairn_every_call})
target_link_libraries(cairn_malloc_options INTERFACE cairn_kit cairn_warnings)

# What is the program's may throw; see there.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/malloc/new_handler.cpp"
  PROPERTIES COMPILE_OPTIONS -fexceptions)

# A program's own operator new and delete are called, also where a distribution asks g++ to take the library's for the only
# ones. clang would export functions of the C++ library then.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/malloc/new_delete.cpp"
  PROPERTIES COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-fsemantic-interposition>)

# A shared library that can be preloaded as the malloc of any program.
# The compiler's driver would add libstdc++ and libgcc_s: the C library and the compiler's own static helpers
# are all that a malloc may need. Unloading a malloc that has handed out blocks can only crash, hence nodelete.
function(cairn_is_a_malloc target)
  target_compile_options(${target} PRIVATE -fPIC)
  target_link_options(${target} PRIVATE -nodefaultlibs
    LINKER:-z,nodelete LINKER:-z,initfirst LINKER:-z,now LINKER:-z,relro LINKER:--no-undefined
    LINKER:-Bsymbolic-functions LINKER:--hash-style=gnu
    # But for these: a program's own are called.
    "LINKER:--dynamic-list=${PROJECT_SOURCE_DIR}/src/malloc/replaceable.list")
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:cairn_malloc_options> -lgcc -lc -lgcc)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()

add_library(cairn_shared SHARED ${malloc_sources})
cairn_is_a_malloc(cairn_shared)
target_include_directories(cairn_shared PRIVATE "${PROJECT_SOURCE_DIR}/src/malloc")

# Objects of the archive may go into any executable, position independent or not.
set(archived_sources ${malloc_sources})
list(FILTER archived_sources EXCLUDE REGEX "/deep_binding\\.cpp$")
if(CMAKE_BUILD_TYPE STREQUAL "Debug") # nobody ships it: the shared library's, so that they are compiled once, but for what differs
  set(archived_sources "$<FILTER:$<TARGET_OBJECTS:cairn_shared>,EXCLUDE,/(deep_binding|new_delete)[.]cpp>"
      "${PROJECT_SOURCE_DIR}/src/malloc/new_delete.cpp")
endif()
add_library(cairn_static STATIC ${archived_sources})
set_target_properties(cairn_static PROPERTIES LINKER_LANGUAGE CXX)
target_compile_options(cairn_static PRIVATE -fPIE)
target_compile_definitions(cairn_static PRIVATE CAIRN_ARCHIVE)
target_include_directories(cairn_static PRIVATE "${PROJECT_SOURCE_DIR}/src/malloc")
target_link_libraries(cairn_static PRIVATE $<BUILD_INTERFACE:cairn_malloc_options>)

foreach(library cairn_shared cairn_static)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME cairn POSITION_INDEPENDENT_CODE OFF)
  target_include_directories(${library} INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endforeach()
# The archive overrides malloc only if its member is pulled in: say so at the link, whatever the program calls.
target_link_options(cairn_static INTERFACE LINKER:--undefined=malloc)
target_link_libraries(cairn_static INTERFACE Threads::Threads) # a library of its own before glibc 2.34

# A program may call no malloc of its own: a linker that drops what seems unused must be told to keep it.
add_library(cairn_malloc INTERFACE)
target_link_libraries(cairn_malloc INTERFACE
  -Wl,--push-state,--no-as-needed cairn_shared -Wl,--pop-state)

set_target_properties(cairn_malloc PROPERTIES EXPORT_NAME malloc)
set_target_properties(cairn_shared PROPERTIES EXPORT_NAME malloc_shared)
set_target_properties(cairn_static PROPERTIES EXPORT_NAME malloc_static)
add_library(cairn::malloc ALIAS cairn_malloc)
add_library(cairn::malloc_static ALIAS cairn_static)
add_dependencies(cairn_product cairn_shared cairn_static)
