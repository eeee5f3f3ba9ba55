# OpenMP's threads are oneDNN's too, so that both share one setting. Only one source uses it: the
# flag would keep the others from the precompiled headers. A compiler without OpenMP runs kernels in
# the calling thread.
find_package(OpenMP)
if(OpenMP_CXX_FOUND)
  set_source_files_properties(src/kernels/parallel.cc PROPERTIES
    COMPILE_OPTIONS "${OpenMP_CXX_FLAGS}" SKIP_PRECOMPILE_HEADERS ON)
  target_link_libraries(plimsoll_kernels PUBLIC $<BUILD_INTERFACE:${OpenMP_CXX_LIBRARIES}>)
endif()
