# Settings that every target of ours shares, and the two functions that make targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
# Programs find libredline.so beside themselves, in the build tree and after a relocated install.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib;$ORIGIN")

# Most of a file's compile time is spent on its headers. So many files are compiled as one, which takes a third
# of the time. A name in an anonymous namespace must therefore be unique in its whole folder.
option(REDLINE_UNITY "Compile many files as one" ON)
set(REDLINE_TEST_TIMEOUT 300 CACHE STRING "Seconds that a C++ test may take")
set(CMAKE_UNITY_BUILD ${REDLINE_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths are relative to the source folder, so that builds in several folders share compiled files.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}"
    "${CCACHE}")
endif()

add_library(redline_settings INTERFACE)
target_compile_options(redline_settings INTERFACE -Wall -Wextra -Wconversion -Werror)
# In __FILE__, which GoogleTest writes everywhere, the path differs from clone to clone; ccache would share no test.
target_compile_options(redline_settings INTERFACE "-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
# g++ 12 sees overlapping copies in "text" + std::string (GCC bug 105651).
target_compile_options(redline_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_include_directories(redline_settings INTERFACE "${CMAKE_SOURCE_DIR}")

# redline_sources(VAR FOLDERS...): the .cc files of this folder, and of the FOLDERS in it, that are neither
# tests nor a main program.
function(redline_sources out)
  list(TRANSFORM ARGN APPEND "/*.cc" OUTPUT_VARIABLE deeper)
  file(GLOB sources CONFIGURE_DEPENDS "*.cc" ${deeper})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# redline_looks_beside_itself(NAME): looks for libraries in the build as it will where it is installed. Without this,
# CMake fills a build's path with empty parts up to the length of the installed one. The loader takes an empty part for
# the folder in which a user stands, and would run the libraries that lie there.
function(redline_looks_beside_itself name)
  set_target_properties(${name} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
endfunction()

# redline_old_system(TARGET): makes a program start on systems whose libstdc++ is older than the compiler's (RHEL 9
# has that of GCC 11), by linking libstdc++ statically. Unused parts of the archive are left out, because they need
# symbols of a newer glibc. Exported symbols would count as used, so the program exports none.
function(redline_old_system name)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_link_options(${name} PRIVATE -static-libstdc++ -Wl,--gc-sections
      "-Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/no_exports.map")
  endif()
endfunction()

# redline_tests(NAME LIBS... [FOLDERS...]): one GoogleTest program from the x_test.cc files of this folder
# and of the FOLDERS in it. ENVIRONMENT goes to CTest.
function(redline_tests name)
  if(NOT REDLINE_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS;FOLDERS;ENVIRONMENT" ${ARGN})
  if(NOT arg_SOURCES)
    list(TRANSFORM arg_FOLDERS APPEND "/*_test.cc" OUTPUT_VARIABLE deeper)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS "*_test.cc" ${deeper})
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "${name}: no x_test.cc in ${CMAKE_CURRENT_SOURCE_DIR} and its FOLDERS")
  endif()
  add_executable(${name} ${arg_SOURCES} "${CMAKE_SOURCE_DIR}/tests/without_cache.cc")
  if(NOT TARGET redline_test_paths)
    configure_file("${CMAKE_SOURCE_DIR}/tests/paths.cc.in" "${CMAKE_BINARY_DIR}/tests/paths.cc" @ONLY)
    add_library(redline_test_paths STATIC "${CMAKE_BINARY_DIR}/tests/paths.cc")
    target_link_libraries(redline_test_paths PRIVATE redline_settings)
  endif()
  target_link_libraries(${name} PRIVATE redline_settings redline_test_paths ${arg_LIBS} GTest::gmock GTest::gtest_main)
  # Saves half of a test file's compile time. The tested code keeps its own options.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${REDLINE_TEST_TIMEOUT} ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
