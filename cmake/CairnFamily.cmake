# SPDX-License-Identifier: MIT
#
# The family: lib/libcairn-NAME.so for each src/family/NAME.hpp that names an allocator, all from one drop-in.
# An underscore of the file's name is a hyphen in the library's. Functions in src/family/NAME/*.cpp take the place of those
# of src/malloc/.

set(CAIRN_FAMILY_NAMES "")
if(NOT CAIRN_FAMILY)
  return()
endif()
file(GLOB family_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/family/*.hpp")
list(REMOVE_ITEM family_headers "${PROJECT_SOURCE_DIR}/src/family/process_heap.hpp")

# What does not depend on the allocator is compiled once.
add_library(cairn_family_common OBJECT)
foreach(source new_handler deep_binding libc_names libc_reports report report_at_exit)
  target_sources(cairn_family_common PRIVATE "${PROJECT_SOURCE_DIR}/src/malloc/${source}.cpp")
endforeach()
target_compile_options(cairn_family_common PRIVATE -fPIC)
target_link_libraries(cairn_family_common PRIVATE cairn_malloc_options)
set_target_properties(cairn_family_common PROPERTIES POSITION_INDEPENDENT_CODE OFF)

set(family_sources "${PROJECT_SOURCE_DIR}/src/family/drop_in.cpp" $<TARGET_OBJECTS:cairn_family_common>)
foreach(source malloc new_delete)
  list(APPEND family_sources "${PROJECT_SOURCE_DIR}/src/malloc/${source}.cpp")
endforeach()

foreach(header IN LISTS family_headers)
  cmake_path(GET header STEM stem)
  string(REPLACE "_" "-" name "${stem}")
  list(APPEND CAIRN_FAMILY_NAMES "${name}")
  add_library(cairn_${stem} SHARED ${family_sources})
  cairn_is_a_malloc(cairn_${stem})
  target_include_directories(cairn_${stem} PRIVATE "${PROJECT_SOURCE_DIR}/src/family")
  target_compile_definitions(cairn_${stem} PRIVATE "CAIRN_ALLOCATOR=<src/family/${stem}.hpp>" "CAIRN_ALLOCATOR_NAME=\"${name}\"")
  # One unit, in which the allocator is read once: half the compile time. The kit has its own names for what the unit calls `heap`.
  set_target_properties(cairn_${stem} PROPERTIES OUTPUT_NAME "cairn-${name}" UNITY_BUILD ON
    UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma GCC diagnostic ignored \"-Wshadow\"")
  file(GLOB own_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/family/${stem}/*.cpp")
  if(own_sources)
    set_source_files_properties(${own_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(cairn_${stem} PRIVATE ${own_sources})
    target_compile_definitions(cairn_${stem} PRIVATE "CAIRN_EXPORT=__attribute__((visibility(\"default\"),weak))")
  endif()
  add_dependencies(cairn_product cairn_${stem})
endforeach()
