# SPDX-License-Identifier: MIT
#
# libcairn-stack.a from src/stack/*.cpp: obstacks and xalloc for C. An archive, and apart from libcairn: it goes with
# any malloc, and a program takes the object that it calls. No C++ runtime; position independent for use in shared
# libraries; unwinding tables, since functions of the program that are called from here may throw.

file(GLOB stack_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/stack/*.cpp")
add_library(cairn_stack STATIC ${stack_sources})
add_library(cairn::stack ALIAS cairn_stack)
target_compile_features(cairn_stack PRIVATE cxx_std_20)
target_compile_options(cairn_stack PRIVATE -fPIC -fno-exceptions -fasynchronous-unwind-tables -fno-rtti
                       -fno-threadsafe-statics)
target_link_libraries(cairn_stack PRIVATE $<BUILD_INTERFACE:cairn_kit> $<BUILD_INTERFACE:cairn_warnings>)
set_target_properties(cairn_stack PROPERTIES OUTPUT_NAME cairn-stack EXPORT_NAME stack)
target_include_directories(cairn_stack INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/cairn-obstack>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/cairn-obstack>")
