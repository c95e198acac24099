# SPDX-License-Identifier: MIT
#
# `cmake --install`: headers, libraries, the program, a CMake package, a pkg-config file, manual pages.

if(CAIRN_SANITIZER)
  return()
endif()
include(CMakePackageConfigHelpers)

install(DIRECTORY include/cairn include/cairn-obstack DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(DIRECTORY allocators DESTINATION "${CAIRN_INSTALL_ALLOCATORS}" FILES_MATCHING PATTERN "*.hpp")

set(installed_targets cairn_kit)
foreach(target cairn_malloc cairn_shared cairn_static cairn_stack cairn_program)
  if(TARGET ${target})
    list(APPEND installed_targets ${target})
  endif()
endforeach()
install(TARGETS ${installed_targets} EXPORT cairn)
if(TARGET cairn_trace)
  install(TARGETS cairn_trace LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET cairn_replay)
  install(TARGETS cairn_replay RUNTIME DESTINATION "${CMAKE_INSTALL_LIBDIR}/cairn")
endif()
foreach(name IN LISTS CAIRN_FAMILY_NAMES)
  string(REPLACE "-" "_" stem "${name}")
  install(TARGETS cairn_${stem} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/cairn")
configure_package_config_file(cmake/cairnConfig.cmake.in "${PROJECT_BINARY_DIR}/cairnConfig.cmake"
                              INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cairnConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(EXPORT cairn NAMESPACE cairn:: FILE cairnTargets.cmake DESTINATION "${package_folder}")
install(FILES "${PROJECT_BINARY_DIR}/cairnConfig.cmake" DESTINATION "${package_folder}")
install(FILES "${PROJECT_BINARY_DIR}/cairnConfigVersion.cmake" DESTINATION "${package_folder}")

# Relative to itself, so that an installed tree may be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
           OUTPUT_VARIABLE to_prefix)
# Where a folder is said as a whole path, it is that.
cmake_path(APPEND pkg_config_libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
cmake_path(APPEND pkg_config_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
foreach(package cairn cairn-stack)
  configure_file(cmake/${package}.pc.in "${PROJECT_BINARY_DIR}/${package}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${package}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

file(GLOB manual_1 CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/man/*.1")
file(GLOB manual_3 CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/man/*.3")
install(FILES ${manual_1} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES ${manual_3} DESTINATION "${CMAKE_INSTALL_MANDIR}/man3")
