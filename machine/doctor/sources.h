// The machine at which the doctor looks. A test gives a folder and stub libraries instead.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace redline::doctor {

struct Sources {
  std::filesystem::path root = "/";  ///< the folder of proc, sys, dev and usr
  std::filesystem::path libraries;   ///< the folder of driver libraries; empty: the loader's paths
  std::filesystem::path data = ".";  ///< the folder of traces or training data
  std::function<std::optional<std::string>(const std::string&)> environment;

  /// This machine, with this process's environment.
  [[nodiscard]] static Sources real();

  /// The value of a variable without secrets in it, for facts that are shown.
  [[nodiscard]] std::optional<std::string> shown(const std::string& name) const;

  /// The text of a file below `root`, without newlines at its end; nullopt if it cannot be read.
  [[nodiscard]] std::optional<std::string> text(const std::filesystem::path& file) const;
};

}  // namespace redline::doctor
