#include "profiler/write/native_stack.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "base/demangle.h"
#include "profiler/log/text_table.h"
#include "trace/emit/text_buffer.h"

namespace redline::profiler {
namespace {

constexpr size_t kLongestName = 200;

std::string short_name(const char* symbol) {
  std::string text = demangled(symbol);
  if (text.size() > kLongestName) text.replace(kLongestName, std::string::npos, "...");
  return text;
}

/// Whether a frame belongs to the recorder or to LibTorch's call of it, and so not to the program's
/// stack. A sanitizer's backtrace() has a frame, too.
bool is_of_recording(std::string_view name) {
  return name.find("redline::profiler::") != std::string_view::npos ||
         name.find("at::RecordFunction") != std::string_view::npos ||
         name.starts_with("torch::unwind::") || name.starts_with("libredline") ||
         name == "backtrace" || name == "__interceptor_backtrace";
}

}  // namespace

const std::string& NativeStacks::describe(std::string_view addresses) {
  std::string& stack = stacks_[hash_text(addresses, TextForm::kJson)];
  if (!stack.empty()) return stack;
  std::string text;
  for (size_t at = 0; at + sizeof(void*) <= addresses.size(); at += sizeof(void*)) {
    const void* address = nullptr;
    std::memcpy(&address, addresses.data() + at, sizeof(address));
    const std::string& function = name(address);
    if (text.empty() && is_of_recording(function)) continue;
    text.append(function).append(";");
  }
  return stack = trace::json_string(text);
}

const std::string& NativeStacks::name(const void* return_address) {
  std::string& name = names_[return_address];
  if (!name.empty()) return name;
  // The call is the instruction before the return address, and may be the function's last.
  const void* call = static_cast<const char*>(return_address) - 1;
  Dl_info info = {};
  if (dladdr(call, &info) == 0 || info.dli_fname == nullptr) return name = "(unknown)";
  if (info.dli_sname != nullptr) return name = short_name(info.dli_sname);
  const auto offset = static_cast<uint64_t>(static_cast<const char*>(call) -
                                            static_cast<const char*>(info.dli_fbase));
  if (const char* symbol = symbols_.find(info.dli_fname, offset)) return name = short_name(symbol);
  const std::string_view path = info.dli_fname;
  char place[32];
  std::snprintf(place, sizeof(place), "+0x%llx", static_cast<unsigned long long>(offset));
  return name = std::string(path.substr(path.rfind('/') + 1)) + place;
}

}  // namespace redline::profiler
