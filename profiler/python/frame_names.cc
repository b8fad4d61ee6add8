#include "profiler/python/frame_names.h"

#include <cstdio>

#include "profiler/source/source.h"
#include "trace/emit/text_buffer.h"

namespace redline::profiler {
namespace {

/// The frame's variable "self"; null if it has none.
Object self_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030C0000
  Object self(PyFrame_GetVarString(frame, "self"));
#else
  const Object locals(PyFrame_GetLocals(frame));
  Object self = keep(locals == nullptr ? nullptr : PyDict_GetItemString(locals.get(), "self"));
#endif
  PyErr_Clear();
  return self;
}

/// The same text as repr() gives, but without running any Python code.
std::string describe_builtin(const PyCFunctionObject& function) {
  const std::string name = function.m_ml->ml_name;
  if (function.m_self == nullptr || PyModule_Check(function.m_self)) {
    return "<built-in function " + name + ">";
  }
  char address[32];
  std::snprintf(address, sizeof(address), "%p", static_cast<void*>(function.m_self));
  return "<built-in method " + name + " of " + Py_TYPE(function.m_self)->tp_name + " object at " +
         address + ">";
}

}  // namespace

void FrameNames::open(PyObject* module_call, std::vector<std::string> path_prefixes) {
  close();
  module_call_ = keep(module_call);
  path_prefixes_ = std::move(path_prefixes);
}

void FrameNames::close() {
  module_call_.reset();
  texts_.clear();
  codes_.clear();
  builtins_.clear();
  modules_.clear();
  places_.clear();
  modules_of_class_.clear();
}

FrameName FrameNames::add(std::string text, std::string args) {
  const FrameName name{static_cast<uint32_t>(texts_.size())};
  texts_.emplace_back();
  replace(name, std::move(text), std::move(args));
  return name;
}

void FrameNames::replace(FrameName name, std::string text, std::string args) {
  texts_[name.index] = {name_generation() - 1, {}, std::move(text), std::move(args)};
}

[[gnu::hot]] FrameNames::Interned FrameNames::intern(FrameName name) {
  Text& text = texts_[name.index];
  if (const uint32_t generation = name_generation(); text.generation != generation) {
    text.interned = {intern_name(text.text), text.args.empty() ? TextId() : intern_args(text.args)};
    text.generation = generation;
  }
  return text.interned;
}

FrameName FrameNames::of_frame(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  const Object held(reinterpret_cast<PyObject*>(code));
  if (held == module_call_) {
    if (const auto module = of_module_call(frame)) return *module;
  }
  bool is_new = false;
  const auto instruction = static_cast<uint64_t>(PyFrame_GetLasti(frame));
  Code& known = codes_.find_or_add(code, instruction, is_new);
  if (is_new) {
    known.code = keep(held.get());
    known.name = add(describe_code(code, PyFrame_GetLineNumber(frame)));
  }
  return known.name;
}

std::string FrameNames::describe_code(PyCodeObject* code, int line) const {
  std::string file = text_of(code->co_filename);
  for (const auto& prefix : path_prefixes_) {
    if (!file.starts_with(prefix)) continue;
    file.erase(0, prefix.size());
    break;
  }
  return file + "(" + std::to_string(line) + "): " + text_of(code->co_name);
}

FrameName FrameNames::of_builtin(PyObject* object) {
  if (!PyCFunction_Check(object)) return add("<built-in>");
  const auto& function = *reinterpret_cast<PyCFunctionObject*>(object);
  bool is_new = false;
  // A definition may be freed and another get its address: the pointer to its code differs then.
  const auto code = reinterpret_cast<uintptr_t>(function.m_ml->ml_meth);
  FrameName& name = builtins_.find_or_add(function.m_ml, code, is_new);
  if (is_new) name = add(describe_builtin(function));
  return name;
}

std::optional<FrameName> FrameNames::of_module_call(PyFrameObject* frame) {
  const Object self = self_of(frame);
  if (self == nullptr) return std::nullopt;
  return of_module(self.get());
}

[[gnu::hot]] FrameName FrameNames::of_module(PyObject* module) {
  bool is_new = false;
  Module& known = modules_.find_or_add(module, 0, is_new);
  if (is_new) known.name = add("");
  if (is_new || !refers_to(known.weak.get(), module)) {
    learn(known, module);
  } else if (known.version != places_.version()) {
    place(known.name, module);
    known.version = places_.version();
  }
  return known.name;
}

/// The name takes the slot of the module that was at this address before. A script that makes its
/// loss anew in each step would else fill a flight recorder's memory.
void FrameNames::learn(Module& known, PyObject* module) {
  known.weak.reset(PyWeakref_NewRef(module, nullptr));
  PyErr_Clear();
  places_.learn(module);
  name_module(known.name, Py_TYPE(module));
  place(known.name, module);
  known.version = places_.version();
}

void FrameNames::name_module(FrameName name, PyTypeObject* type) {
  const std::string full_name = type->tp_name;
  const std::string class_name = full_name.substr(full_name.rfind('.') + 1);
  const uint32_t number = modules_of_class_[class_name]++;
  replace(name, "nn.Module: " + class_name + "_" + std::to_string(number),
          "\"Python module id\": " + std::to_string(number));
}

/// Puts the module's present place into the name's args.
void FrameNames::place(FrameName name, PyObject* module) {
  const std::string* place = places_.of(module);
  if (place == nullptr) return;
  const std::string& before = texts_[name.index].args;
  std::string args = before.substr(0, before.find(','));  // the module's number
  args += ", \"Module name\": " + trace::json_string(*place);
  if (args != before) replace(name, texts_[name.index].text, std::move(args));
}

}  // namespace redline::profiler
