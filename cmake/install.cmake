# find_package(plimsoll) gives plimsoll::plan and plimsoll::memory: what they need and no more.
# find_package(plimsoll COMPONENTS engine) gives plimsoll::engine too, with the libraries that it links; cli gives
# plimsoll::cli, the command line as a library, and plimsoll::replay; c gives plimsoll::c, the C API as a shared library.
include(CMakePackageConfigHelpers)

set(plimsoll_package ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)

# plimsoll_export(set rooms...): libraries and public headers of these rooms, in one file of targets.
function(plimsoll_export set)
  foreach(room IN LISTS ARGN)
    set_target_properties(plimsoll_${room} PROPERTIES EXPORT_NAME ${room})
    install(TARGETS plimsoll_${room} EXPORT ${set})
    if(EXISTS ${PROJECT_SOURCE_DIR}/include/plimsoll/${room})
      install(DIRECTORY include/plimsoll/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plimsoll)
    endif()
  endforeach()
  install(EXPORT ${set} NAMESPACE plimsoll:: DESTINATION ${plimsoll_package})
endfunction()

plimsoll_export(plimsoll-targets base plan device memory)
if(PLIMSOLL_ENGINE)
  # The config file makes these two out of what it finds on the machine of the user.
  target_link_libraries(plimsoll_kernels INTERFACE $<INSTALL_INTERFACE:plimsoll::kernel_libraries>)
  target_link_libraries(plimsoll_engine INTERFACE $<INSTALL_INTERFACE:plimsoll::engine_libraries>)
  plimsoll_export(plimsoll-engine-targets config profile graph onnx kernels compile engine)
  target_link_libraries(plimsoll_cli INTERFACE $<INSTALL_INTERFACE:plimsoll::cli_libraries>)
  plimsoll_export(plimsoll-cli-targets replay cli)
  set_target_properties(plimsoll_c PROPERTIES EXPORT_NAME c)
  install(TARGETS plimsoll_c EXPORT plimsoll-c-targets)
  install(EXPORT plimsoll-c-targets NAMESPACE plimsoll:: DESTINATION ${plimsoll_package})
  install(FILES include/plimsoll/plimsoll.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plimsoll)
endif()
configure_package_config_file(cmake/plimsoll-config.cmake.in plimsoll-config.cmake
  INSTALL_DESTINATION ${plimsoll_package})
write_basic_package_version_file(plimsoll-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/plimsoll-config.cmake ${PROJECT_BINARY_DIR}/plimsoll-config-version.cmake
        DESTINATION ${plimsoll_package})
