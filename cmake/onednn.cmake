# The library and header alone: Debian's own configuration file also demands OpenCL's headers, for a GPU
# backend that is not used here.
find_path(ONEDNN_INCLUDE dnnl.h REQUIRED)
find_library(ONEDNN_LIBRARY dnnl REQUIRED)
add_library(onednn UNKNOWN IMPORTED)
set_target_properties(onednn PROPERTIES
  IMPORTED_LOCATION ${ONEDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ONEDNN_INCLUDE})
