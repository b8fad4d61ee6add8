# Imported target LibTorch::LibTorch from the folders of an installed torch wheel.
#
# The wheel's own TorchConfig.cmake needs a CUDA toolkit, and with CUDA 13 asks for a language version that
# CMake 3.25 does not know. So the two libraries and the include folders are named here directly.
# REDLINE_PYTHON is the Python that has the wheel.
# Sets LibTorch_VERSION (of the headers), LibTorch_LIB_DIR, LibTorch_CXX11_ABI (0 or 1).

if(NOT REDLINE_PYTHON)
  message(FATAL_ERROR "Which torch? Give -DREDLINE_PYTHON=/path/python, a Python that has torch >= 2.6.")
endif()
set(_libtorch_query
"import importlib.util as u, os; s = u.find_spec('torch'); print(os.path.dirname(s.origin) if s else '')")
# pip may build in a separate environment, whose variables hide the torch of the Python that runs pip. So the
# second try is made without them. That of uv or `python -m build` has a Python of its own, which knows no other.
set(LibTorch_ROOT "")
foreach(_hiding "" "--unset=PYTHONPATH;--unset=PYTHONNOUSERSITE")
  if(NOT LibTorch_ROOT)
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env ${_hiding} "${REDLINE_PYTHON}" -c "${_libtorch_query}"
      OUTPUT_VARIABLE LibTorch_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE _libtorch_status)
  endif()
endforeach()
if(NOT _libtorch_status EQUAL 0 OR NOT LibTorch_ROOT)
  if(SKBUILD)
    message(FATAL_ERROR "No torch in ${REDLINE_PYTHON}. Install torch >= 2.6 and scikit-build-core into the "
      "environment that gets Redline, and build in it: with --no-build-isolation (pip, uv) or "
      "--no-isolation (python -m build).")
  endif()
  message(FATAL_ERROR "No torch in ${REDLINE_PYTHON}. Install torch >= 2.6 there, or give "
    "-DREDLINE_PYTHON=/path/python, a Python that has it. For Redline itself ./scripts/setup makes one.")
endif()

set(LibTorch_LIB_DIR "${LibTorch_ROOT}/lib")
set(_libtorch_version_header "${LibTorch_ROOT}/include/torch/headeronly/version.h")
if(NOT EXISTS "${_libtorch_version_header}")  # before 2.10
  set(_libtorch_version_header "${LibTorch_ROOT}/include/torch/csrc/api/include/torch/version.h")
endif()
file(STRINGS "${_libtorch_version_header}" _libtorch_version_lines
  REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9;]" "" LibTorch_VERSION "${_libtorch_version_lines}")
string(REPLACE ";" "." LibTorch_VERSION "${LibTorch_VERSION}")
if(LibTorch_VERSION VERSION_LESS 2.6)
  message(FATAL_ERROR "torch ${LibTorch_VERSION} in ${LibTorch_ROOT} is too old: Redline needs >= 2.6.")
endif()
message(STATUS "LibTorch ${LibTorch_VERSION} (headers in ${LibTorch_ROOT}/include)")

# Wheels up to 2.6 may be built with the std::string and std::list of before C++11.
set(LibTorch_CXX11_ABI 1)
file(STRINGS "${LibTorch_ROOT}/share/cmake/Torch/TorchConfig.cmake" _libtorch_abi_line
  REGEX "_GLIBCXX_USE_CXX11_ABI=[01]")
if(_libtorch_abi_line MATCHES "_GLIBCXX_USE_CXX11_ABI=([01])")
  set(LibTorch_CXX11_ABI ${CMAKE_MATCH_1})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_ROOT VERSION_VAR LibTorch_VERSION)

if(NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION "${LibTorch_LIB_DIR}/libc10.so")
  add_library(LibTorch::LibTorch SHARED IMPORTED)
  set_target_properties(LibTorch::LibTorch PROPERTIES
    IMPORTED_LOCATION "${LibTorch_LIB_DIR}/libtorch_cpu.so")
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE
    "${LibTorch_ROOT}/include" "${LibTorch_ROOT}/include/torch/csrc/api/include")
  target_compile_definitions(LibTorch::LibTorch INTERFACE _GLIBCXX_USE_CXX11_ABI=${LibTorch_CXX11_ABI})
  target_link_libraries(LibTorch::LibTorch INTERFACE LibTorch::c10)
  # libtorch_cpu.so needs CUDA libraries of sibling wheels. Its run path finds them, but the linker does not.
  target_link_options(LibTorch::LibTorch INTERFACE -Wl,--allow-shlib-undefined)
endif()
