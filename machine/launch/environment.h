// The environment of a training command that Redline starts: that of this process, with the
// start-up hook.
//
// Between the command and its ranks there may be torchrun, shells and `python -m`. Only environment
// variables get through all of them: PYTHONPATH makes Python run redline/startup/sitecustomize.py,
// and LD_PRELOAD loads libredline.so into LibTorch programs.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::launch {

class Environment {
 public:
  /// A copy of this process's environment.
  [[nodiscard]] static Environment current();
  /// The one that the running process `pid` began with; empty if this user may not read it.
  [[nodiscard]] static Environment of_process(pid_t pid);

  void set(const std::string& name, const std::string& value) { values_[name] = value; }
  void unset(const std::string& name) { values_.erase(name); }
  [[nodiscard]] std::optional<std::string> get(const std::string& name) const;

  /// Puts `entry` first in a colon-separated list such as PYTHONPATH, if it is not first already.
  void prepend(const std::string& name, const std::string& entry);

  /// Makes every Python process that the command starts run redline/startup/sitecustomize.py, which
  /// does what the REDLINE_* variables ask for. The error says why that is impossible.
  [[nodiscard]] tl::expected<void, std::string> add_python_startup();

  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() const { return values_.end(); }

  /// "NAME=VALUE" strings, for execve.
  [[nodiscard]] std::vector<std::string> strings() const;

 private:
  void add(const std::string& entry);

  std::map<std::string, std::string> values_;
};

/// The folder of the running program.
[[nodiscard]] std::string program_folder();

/// The folder that holds the Python package `redline`, in a source tree, an installed tree or a
/// wheel; nullopt if it is missing.
[[nodiscard]] std::optional<std::string> python_folder();

/// The path of libredline.so or libredline_torch.so beside this program; nullopt if it is missing.
[[nodiscard]] std::optional<std::string> library_path(const std::string& file_name);

}  // namespace redline::launch
