#include "profiler/python/module_places.h"

namespace redline::profiler {
namespace {

/// The dict of the modules in `module`; null if it has none.
Object modules_in(PyObject* module) {
  const Object attributes(PyObject_GenericGetDict(module, nullptr));
  PyObject* modules = attributes == nullptr || !PyDict_Check(attributes.get())
                          ? nullptr
                          : PyDict_GetItemString(attributes.get(), "_modules");
  PyErr_Clear();
  return keep(modules != nullptr && PyDict_Check(modules) ? modules : nullptr);
}

}  // namespace

void ModulePlaces::learn(PyObject* module) {
  if (of(module) != nullptr) return;
  ++walk_;
  name_all(module, "");
}

const std::string* ModulePlaces::of(PyObject* module) {
  bool is_new = false;
  const Place& place = places_.find_or_add(module, 0, is_new);
  return refers_to(place.weak.get(), module) ? &place.name : nullptr;
}

void ModulePlaces::clear() {
  places_.clear();
  version_ = walk_ = 0;
}

/// A module that is in a model several times gets its first name, as in named_modules().
void ModulePlaces::name_all(PyObject* module, const std::string& name) {
  bool is_new = false;
  Place& place = places_.find_or_add(module, 0, is_new);
  const bool is_known = refers_to(place.weak.get(), module);
  if (is_known && place.walk == walk_) return;
  if (is_known && place.name != name) ++version_;
  Object weak(PyWeakref_NewRef(module, nullptr));
  PyErr_Clear();
  place = {std::move(weak), name, walk_};
  const Object modules = modules_in(module);
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (modules != nullptr && PyDict_Next(modules.get(), &at, &key, &value) != 0) {
    if (value != Py_None) name_all(value, (name.empty() ? "" : name + ".") + text_of(key));
  }
}

}  // namespace redline::profiler
