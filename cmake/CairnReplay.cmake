# SPDX-License-Identifier: MIT
#
# lib/cairn/cairn-replay from src/replay/*.cpp: the program that `cairn replay` starts under each allocator.

file(GLOB replay_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/replay/*.cpp")
add_executable(cairn_replay ${replay_sources})
# What the program itself needs is no memory from malloc.
target_compile_options(cairn_replay PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics ${cairn_every_call})
target_link_options(cairn_replay PRIVATE -static-libstdc++ -static-libgcc LINKER:-z,now)
target_link_libraries(cairn_replay PRIVATE cairn_kit cairn_warnings ${CMAKE_DL_LIBS})
set_target_properties(cairn_replay PROPERTIES OUTPUT_NAME cairn-replay
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/cairn")
add_dependencies(cairn_product cairn_replay)
