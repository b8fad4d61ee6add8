// Owning pointers to Python objects. The caller must hold the interpreter lock when one is made or
// destroyed.
#pragma once

#include <Python.h>

#include <memory>
#include <string>

namespace redline::profiler {

struct DropReference {
  void operator()(PyObject* object) const { Py_DECREF(object); }
};
using Object = std::unique_ptr<PyObject, DropReference>;

/// Takes another reference to `object`, which may be null.
inline Object keep(PyObject* object) {
  Py_XINCREF(object);
  return Object(object);
}

/// A str as UTF-8, with '?' for each character that cannot be encoded.
[[nodiscard]] inline std::string text_of(PyObject* str) {
  const Object bytes(str != nullptr && PyUnicode_Check(str)
                         ? PyUnicode_AsEncodedString(str, "utf-8", "replace")
                         : nullptr);
  if (bytes == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return {PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

}  // namespace redline::profiler
