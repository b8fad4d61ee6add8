// Owning pointers to Python objects, and what differs between versions of Python. The caller must
// hold the interpreter lock when one is made or destroyed.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <optional>
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

/// Null where there is none. Scripts may define how attributes are found.
[[nodiscard, gnu::hot]] inline Object attribute(PyObject* object, PyObject* name) {
  Object value(PyObject_GetAttr(object, name));
  if (value == nullptr && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  return value;
}

/// nullopt where it is none, or does not fit.
[[nodiscard, gnu::hot]] inline std::optional<int64_t> number_of(PyObject* object) {
  if (object == nullptr || !PyLong_Check(object)) return {};
  const int64_t number = PyLong_AsLongLong(object);
  if (number != -1 || PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  return {};
}

/// Whether the weak reference is one to `object`. It is not if its object was freed, although
/// another object may have the same address.
[[nodiscard]] inline bool refers_to(PyObject* weak, PyObject* object) {
  if (weak == nullptr) return false;
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* referent = nullptr;
  if (PyWeakref_GetRef(weak, &referent) < 0) PyErr_Clear();
  const Object held(referent);
  return referent == object;
#else
  return PyWeakref_GetObject(weak) == object;
#endif
}

/// From now on calls of the function are calls of `call`, if the interpreter asks it how it is
/// called.
inline void set_vectorcall(PyFunctionObject* function, vectorcallfunc call) {
#if PY_VERSION_HEX >= 0x030C0000
  PyFunction_SetVectorcall(function, call);
#else
  function->vectorcall = call;
#endif
}

}  // namespace redline::profiler
