// NVML comes with NVIDIA's driver, so we load it at run time and look its functions up by name. If
// this driver does not have a function, the call gives the error kFunctionNotFound.
#pragma once

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "machine/nvml/nvml_abi.h"

namespace redline::nvml {

class Library {
 public:
  /// The library is never unloaded, because NVIDIA's libraries start threads and register exit
  /// handlers that would crash then.
  explicit Library(const std::string& path = "libnvidia-ml.so.1")
      : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}

  [[nodiscard]] bool loaded() const { return handle_ != nullptr; }

  template <typename... Parameters>
  [[nodiscard]] int call(const char* name, int (*)(Parameters...),
                         std::type_identity_t<Parameters>... arguments) const {
    auto* function = find<int(Parameters...)>(name);
    return function == nullptr ? kFunctionNotFound : function(arguments...);
  }

  [[nodiscard]] std::string error_text(int status) const {
    auto* function = find<const char*(int)>("nvmlErrorString");
    return function == nullptr ? "NVML error " + std::to_string(status) : function(status);
  }

 private:
  template <typename Function>
  [[nodiscard]] Function* find(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
  }

  void* handle_;
};

// Empty if the driver does not tell.
[[nodiscard]] std::string driver_version(const Library& library);
[[nodiscard]] std::string device_name(const Library& library, nvmlDevice_t device);
[[nodiscard]] std::string device_uuid(const Library& library, nvmlDevice_t device);

}  // namespace redline::nvml

// The declared function gives only its type; the one that is called comes from the library.
#define REDLINE_NVML(library, function, ...) \
  (library).call(#function, static_cast<decltype(&function)>(nullptr) __VA_OPT__(, ) __VA_ARGS__)
