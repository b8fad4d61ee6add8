# The C headers of REDLINE_PYTHON, for the adapter that records Python calls. Sets
# PythonHeaders_FOUND, PythonHeaders_INCLUDE_DIR.

# A Python that was built without the interpreter lock is refused, because the adapter relies on that lock.
execute_process(COMMAND "${REDLINE_PYTHON}" -c
  "import sysconfig as s; print('' if s.get_config_var('Py_GIL_DISABLED') else s.get_path('include'))"
  OUTPUT_VARIABLE PythonHeaders_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
if(EXISTS "${PythonHeaders_INCLUDE_DIR}/Python.h")
  set(PythonHeaders_FOUND TRUE)
else()
  set(PythonHeaders_FOUND FALSE)
  message(WARNING "No C headers of ${REDLINE_PYTHON} (Debian package: python3-dev), or it has no "
    "interpreter lock: recordings will have no Python stacks.")
endif()
