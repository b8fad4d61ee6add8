// What torch.profiler calls the frames of a Python stack, made once for each.
//
//   train.py(12): forward                   where a call entered its code, or a generator goes on
//   <built-in method append of list object at 0x7f…>      the object is the first that was seen
//   nn.Module: Linear_0                     a call of a torch.nn.Module, numbered within its class
//
// For use under the interpreter lock, from start to stop of one window.
#pragma once

#include <Python.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/log/record.h"
#include "profiler/python/pointer_map.h"
#include "profiler/python/python_object.h"

namespace redline::profiler {

/// A name that of_frame() or of_builtin() gave.
struct FrameName {
  uint32_t index = 0;
};

class FrameNames {
 public:
  /// `module_call`: the code of torch.nn.Module.__call__, or null. `path_prefixes`: what file names
  /// lose at their beginning, the longest match first.
  void open(PyObject* module_call, std::vector<std::string> path_prefixes);
  /// Drops all references.
  void close();

  /// A Python frame that is entered, goes on, or is open: by its code and present instruction.
  [[nodiscard]] FrameName of_frame(PyFrameObject* frame);
  [[nodiscard]] FrameName of_builtin(PyObject* function);

  struct Interned {
    TextId name;
    uint32_t module;  ///< "Python module id", or UINT32_MAX
  };
  [[nodiscard]] Interned intern(FrameName name);

 private:
  struct Text {
    std::string text;
    uint32_t generation;  ///< of `name`
    TextId name;
    uint32_t module;
  };
  struct Code {
    Object code;  ///< so that its address stays its own
    FrameName name;
  };
  struct Module {
    Object weak;  ///< a strong reference would keep the module's memory alive
    FrameName name;
  };

  [[nodiscard]] FrameName add(std::string text, uint32_t module = UINT32_MAX);
  [[nodiscard]] std::string describe_code(PyCodeObject* code, int line) const;
  [[nodiscard]] std::optional<FrameName> of_module_call(PyFrameObject* frame);
  [[nodiscard]] FrameName name_module(PyTypeObject* type);

  Object module_call_;
  std::vector<Text> texts_;
  std::vector<std::string> path_prefixes_;
  PointerMap<Code> codes_;
  PointerMap<FrameName> builtins_;
  PointerMap<Module> modules_;
  std::unordered_map<std::string, uint32_t> modules_of_class_;
};

}  // namespace redline::profiler
