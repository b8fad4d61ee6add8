// Names for the frames of a Python stack, as torch.profiler gives them. Each is made only once.
//
//   train.py(12): forward                   the line where a call begins or a generator goes on
//   <built-in method append of list object at 0x7f…>     the address of the first object seen
//   nn.Module: Linear_0                     a call of a torch.nn.Module, numbered within its class
//
// torch.profiler does not tell which of a model's modules Linear_0 is; the args of our frames do.
//
// To be used under the interpreter lock, from start to stop of one window.
#pragma once

#include <Python.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/log/record.h"
#include "profiler/python/module_places.h"
#include "profiler/python/pointer_map.h"
#include "profiler/python/python_object.h"

namespace redline::profiler {

/// A name that FrameNames gave.
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
  /// The name of a call of a torch.nn.Module.
  [[nodiscard]] FrameName of_module(PyObject* module);

  struct Interned {
    TextId name;
    TextId args;  ///< of modules: "Python module id" and, where known, "Module name"
  };
  [[nodiscard]] Interned intern(FrameName name);

 private:
  struct Text {
    uint32_t generation;  ///< the generation of the text table in which `interned` was interned
    Interned interned;
    std::string text;
    std::string args;
  };
  struct Code {
    Object code;  ///< a reference, so that no other code can get this address
    FrameName name;
  };
  struct Module {
    Object weak;
    FrameName name;
    uint32_t version;  ///< of the places when its name was made
  };

  [[nodiscard]] FrameName add(std::string text, std::string args = "");
  void replace(FrameName name, std::string text, std::string args);
  [[nodiscard]] std::string describe_code(PyCodeObject* code, int line) const;
  [[nodiscard]] std::optional<FrameName> of_module_call(PyFrameObject* frame);
  void learn(Module& known, PyObject* module);
  void name_module(FrameName name, PyTypeObject* type);
  void place(FrameName name, PyObject* module);

  Object module_call_;
  std::vector<Text> texts_;
  std::vector<std::string> path_prefixes_;
  PointerMap<Code> codes_;
  PointerMap<FrameName> builtins_;
  PointerMap<Module> modules_;
  ModulePlaces places_;
  std::unordered_map<std::string, uint32_t> modules_of_class_;
};

}  // namespace redline::profiler
