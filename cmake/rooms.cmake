# plimsoll_room(NAME [COLD] [USES rooms...] [LIBRARIES targets...] [HEADERS headers...] [HEADERS_OF room])
#
# One folder of src/ is one static library, plimsoll_NAME, made of every .cc below it, and one test
# program, NAME_test, made of every *_test.cc, many of which are compiled as one: so each keeps its
# names in a namespace of its own, called as the file. A room may use only the rooms that it names, and what
# those use. Third-party libraries stay out of our headers, so they are private.
# Headers that nearly every source includes are compiled once; without them the build takes half as
# long again. What a source needs it still includes itself. A room with HEADERS compiles them beside
# the common ones, for itself and for the rooms that say HEADERS_OF it; others take base's.
# g++ wants one level of optimisation for all who share headers.
#
# A COLD room does nothing that takes time, so its release build is optimised less; tests not at all.
# Sources of one shelf (folder), up to 16, are compiled as one, which halves the build, so a name of an
# anonymous namespace is used once in its shelf. -DPLIMSOLL_UNITY=OFF compiles each by itself.
option(PLIMSOLL_UNITY "Compile several sources of a library as one" ON)

# plimsoll_unity(target sources...): sources that include themselves (Highway's way to compile for several
# processors) stay by themselves.
function(plimsoll_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} itself REGEX "foreach_target" LIMIT_COUNT 1)
    if(itself)
      continue()
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE shelf)
    cmake_path(GET shelf PARENT_PATH shelf)
    string(MAKE_C_IDENTIFIER "${shelf}" shelf)
    math(EXPR unit "0${count_${shelf}}")
    math(EXPR count_${shelf} "${unit} + 1")
    math(EXPR unit "${unit} / 16")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${shelf}_${unit})
  endforeach()
endfunction()

set(plimsoll_common_headers <algorithm> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <utility> <variant> <vector>)

function(plimsoll_room name)
  cmake_parse_arguments(ROOM "COLD" "HEADERS_OF" "USES;LIBRARIES;HEADERS" ${ARGN})
  if(NOT ROOM_HEADERS_OF)
    set(ROOM_HEADERS_OF base)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/standin/")  # a library of its own, for tests
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ROOM_USES PREPEND plimsoll_)
  if(NOT sources)
    add_library(plimsoll_${name} INTERFACE)
    target_include_directories(plimsoll_${name} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_link_libraries(plimsoll_${name} INTERFACE ${ROOM_USES})
    return()
  endif()
  add_library(plimsoll_${name} STATIC ${sources})
  set_target_properties(plimsoll_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(plimsoll_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
           $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_compile_options(plimsoll_${name} PRIVATE -Wall -Wextra -Werror ${plimsoll_false_alarms}
                         $<$<AND:$<BOOL:${ROOM_COLD}>,$<CONFIG:Release>>:-O1>)
  if(name STREQUAL base OR ROOM_HEADERS)
    target_precompile_headers(plimsoll_${name} PRIVATE ${plimsoll_common_headers} ${ROOM_HEADERS})
  else()
    target_precompile_headers(plimsoll_${name} REUSE_FROM plimsoll_${ROOM_HEADERS_OF})
  endif()
  if(PLIMSOLL_UNITY)
    plimsoll_unity(plimsoll_${name} ${sources})
  endif()
  target_link_libraries(plimsoll_${name} PUBLIC ${ROOM_USES} Threads::Threads)
  foreach(library IN LISTS ROOM_LIBRARIES)
    target_link_libraries(plimsoll_${name} PRIVATE $<BUILD_INTERFACE:${library}>)
  endforeach()
  if(PLIMSOLL_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_compile_options(${name}_test PRIVATE -Wall -Wextra -Werror ${plimsoll_false_alarms}
                           $<$<CONFIG:Release>:-O0>)
    if(name STREQUAL base OR ROOM_HEADERS)
      target_precompile_headers(${name}_test PRIVATE <gtest/gtest.h> ${plimsoll_common_headers}
                                ${ROOM_HEADERS})
    else()
      target_precompile_headers(${name}_test REUSE_FROM ${ROOM_HEADERS_OF}_test)
    endif()
    target_compile_definitions(${name}_test PRIVATE
      PLIMSOLL_SOURCE_DIR="${PROJECT_SOURCE_DIR}" PLIMSOLL_BINARY_DIR="${PROJECT_BINARY_DIR}")
    target_link_libraries(${name}_test PRIVATE plimsoll_${name} ${ROOM_LIBRARIES} GTest::gtest_main GTest::gmock)
    set_target_properties(${name}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
    if(name MATCHES "^(device|memory|replay|engine|cli)$")
      # Some enlarge the system's pools of huge pages, and others' chunks would come from them.
      set_tests_properties(${name} PROPERTIES RESOURCE_LOCK huge_pages)
    endif()
  endif()
endfunction()
