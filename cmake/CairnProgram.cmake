# SPDX-License-Identifier: MIT
#
# The command `cairn` from src/cli/*.cpp.

file(GLOB program_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cpp")
if(NOT program_sources)
  message(STATUS "src/cli/ is empty: no cairn program")
  return()
endif()

find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
add_executable(cairn_program ${program_sources})
set_target_properties(cairn_program PROPERTIES OUTPUT_NAME cairn)
target_compile_definitions(cairn_program PRIVATE
  CAIRN_VERSION="${PROJECT_VERSION}" CAIRN_BUILD="$<CONFIG> ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
  # From the program's own folder to the libraries: the same in a build tree and installed.
  CAIRN_LIBRARY_FOLDER="../${CMAKE_INSTALL_LIBDIR}")
target_link_libraries(cairn_program PRIVATE cairn_kit cairn_warnings CLI11::CLI11 nlohmann_json::nlohmann_json
                                            ${CMAKE_DL_LIBS})
add_dependencies(cairn_product cairn_program)
