#include "profiler/torch/operator_args.h"

#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/profiler/util.h>

#include <vector>

#include "trace/emit/text_buffer.h"

namespace redline::profiler {
namespace {

/// A JSON string of all elements, with the delimiter after each, also after the last.
std::string quoted_list(const std::vector<std::string>& elements, const char* delimiter) {
  std::string text;
  for (const auto& element : elements) text.append(element).append(delimiter);
  return trace::json_string(text);
}

}  // namespace

std::string describe_script(const at::RecordFunction& function, bool with_stack,
                            bool with_modules) {
  namespace profiler = torch::profiler::impl;
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) return "";
  std::string members;
  if (with_stack) {
    const auto calls =
        profiler::callstackStr(profiler::prepareCallstack(torch::jit::currentCallstack()));
    if (!calls.empty()) members = "\"Call stack\": " + quoted_list(calls, ";");
  }
  if (with_modules) {
    const auto modules = torch::jit::currentModuleHierarchy();
    if (!modules.empty()) {
      members.append(members.empty() ? "" : ", ");
      members += "\"Module Hierarchy\": " + quoted_list(modules, ".");
    }
  }
  return members;
}

}  // namespace redline::profiler
