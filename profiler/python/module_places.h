// The names of a model's modules, as model.named_modules() gives them: "layers.3.attn.q_proj".
//
// A module does not know its own name. But a model calls its modules, so the first call that we see
// is that of the model. To be used under the interpreter lock.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

#include "profiler/python/pointer_map.h"
#include "profiler/python/python_object.h"

namespace redline::profiler {

class ModulePlaces {
 public:
  /// A call of `module` is seen for the first time. If its name is unknown, it is a model: it and
  /// all modules in it are named anew. Runs no Python code.
  void learn(PyObject* module);
  /// Empty for the model itself; null if unknown. Valid until the next call of learn().
  [[nodiscard]] const std::string* of(PyObject* module);
  /// Changes when the name of a known module changes, because it is part of a larger model.
  [[nodiscard]] uint32_t version() const { return version_; }
  void clear();

 private:
  struct Place {
    Object weak;  ///< a strong reference would keep the module's memory alive
    std::string name;
    uint32_t walk = 0;  ///< that named it
  };

  void name_all(PyObject* module, const std::string& name);

  PointerMap<Place> places_;
  uint32_t version_ = 0;
  uint32_t walk_ = 0;
};

}  // namespace redline::profiler
