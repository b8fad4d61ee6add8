// Where the doctor looks: this machine, or in a test a folder and stub libraries in its place.
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace redline::doctor {

struct Sources {
  std::filesystem::path root = "/";  ///< of proc, sys, dev and usr
  std::filesystem::path libraries;   ///< where driver libraries lie; empty: the loader knows
  std::filesystem::path data = ".";  ///< the folder of traces or training data
  std::function<std::optional<std::string>(const std::string&)> environment;

  /// This machine, with this process's environment.
  [[nodiscard]] static Sources real();

  /// The text of a file below `root`, without the newline at its end; none where it cannot be read.
  [[nodiscard]] std::optional<std::string> text(const std::filesystem::path& file) const;
};

/// A shared library that is looked up at run time. Never unloaded: NVIDIA's keep threads and exit
/// handlers that do not survive it.
class SharedLibrary {
 public:
  SharedLibrary(const Sources& sources, const std::string& name);

  [[nodiscard]] bool loaded() const { return handle_ != nullptr; }

  /// The function `name`, or null where this version of the library has none.
  template <typename Function>
  [[nodiscard]] Function* find(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

}  // namespace redline::doctor
