# SPDX-License-Identifier: MIT
#
# lib/libcairntrace.so from src/trace/: preloaded in front of any allocator by `cairn trace`.

file(GLOB trace_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/trace/*.cpp")
# And what calls an operator new of the program's own, which may throw.
add_library(cairn_trace SHARED ${trace_sources} "${PROJECT_SOURCE_DIR}/src/malloc/new_handler.cpp")
cairn_is_a_malloc(cairn_trace)
target_link_libraries(cairn_trace PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(cairn_trace PROPERTIES OUTPUT_NAME cairntrace)
add_dependencies(cairn_product cairn_trace)
