# find_package(plimsoll) gives plimsoll::plan and plimsoll::memory: what they need and no more.
include(CMakePackageConfigHelpers)

set(plimsoll_exported plimsoll_base)
foreach(room plan device memory)
  list(APPEND plimsoll_exported plimsoll_${room})
  set_target_properties(plimsoll_${room} PROPERTIES EXPORT_NAME ${room})
  if(EXISTS ${PROJECT_SOURCE_DIR}/include/plimsoll/${room})
    install(DIRECTORY include/plimsoll/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plimsoll)
  endif()
endforeach()
install(DIRECTORY include/plimsoll/base DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plimsoll)
install(TARGETS ${plimsoll_exported} EXPORT plimsoll-targets)
install(EXPORT plimsoll-targets NAMESPACE plimsoll::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)
configure_package_config_file(cmake/plimsoll-config.cmake.in plimsoll-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)
write_basic_package_version_file(plimsoll-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/plimsoll-config.cmake ${PROJECT_BINARY_DIR}/plimsoll-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)
