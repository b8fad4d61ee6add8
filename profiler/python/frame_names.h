// Names for the frames of a Python stack, as torch.profiler gives them. Each is made only once.
//
//   train.py(12): forward                   the line where a call begins or a generator goes on
//   <built-in method append of list object at 0x7f…>     the address of the first object seen
//   nn.Module: Linear_0                     a call of a torch.nn.Module, numbered within its class
//
// To be used under the interpreter lock, from start to stop of one window.
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
  /// `module_call` is the code of torch.nn.Module.__call__, or null. `path_prefixes` are cut off
  /// from the beginning of file names; the first that matches counts.
  void open(PyObject* module_call, std::vector<std::string> path_prefixes);
  /// Drops all references.
  void close();

  /// The name of a Python frame, by its code and its present instruction.
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
    uint32_t generation;  ///< the generation of the text table in which `name` was interned
    TextId name;
    uint32_t module;
  };
  struct Code {
    Object code;  ///< a reference, so that no other code can get this address
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
