# SPDX-License-Identifier: MIT
#
# The command `cairn` from src/cli/*.cpp.

file(GLOB program_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cpp")

find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
# The table of options and its parser are the malloc's own, compiled in: `cairn info` says what it would do.
add_executable(cairn_program ${program_sources} "${PROJECT_SOURCE_DIR}/src/malloc/options.cpp")
set_target_properties(cairn_program PROPERTIES OUTPUT_NAME cairn)
cmake_path(APPEND to_libraries ".." "${CMAKE_INSTALL_LIBDIR}") # or that, if it is a whole path
target_compile_definitions(cairn_program PRIVATE
  CAIRN_VERSION="${PROJECT_VERSION}" CAIRN_BUILD_TYPE="$<CONFIG>"
  CAIRN_BUILD_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
  # From the program's own folder to the libraries: the same in a build tree and installed.
  CAIRN_LIBRARY_FOLDER="${to_libraries}"
  CAIRN_LAB_FOLDER="../${CMAKE_INSTALL_DATADIR}/cairn/lab")
target_compile_options(cairn_program PRIVATE -g1) # who looks into it takes the debug build; a quarter of its compile time
# The command line, the longest of all compilations: two thirds of its time with -O2.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/cli/main.cpp" PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")
target_link_libraries(cairn_program PRIVATE cairn_kit cairn_warnings CLI11::CLI11 nlohmann_json::nlohmann_json
                                            ${CMAKE_DL_LIBS})
add_dependencies(cairn_product cairn_program)
