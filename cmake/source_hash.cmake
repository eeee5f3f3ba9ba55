# Run as a script: writes OUTPUT, a source that holds a hash of all SOURCES (a file with one path per line). With
# it entries of the disk cache that other code made are told from ours.
file(STRINGS ${SOURCES} paths)
set(all "")
foreach(path IN LISTS paths)
  file(SHA256 ${path} hash)
  string(APPEND all "${hash}\n")
endforeach()
string(SHA256 hash "${all}")
file(WRITE ${OUTPUT} "#include \"engine/cache/program_version.h\"\n\nnamespace plimsoll::engine {\n\nconst char kSourceHash[] = \"${hash}\";\n\n}  // namespace plimsoll::engine\n")
