#include "machine/launch/environment.h"

#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"

extern char** environ;

namespace redline::launch {

namespace fs = std::filesystem;

Environment Environment::current() {
  Environment result;
  for (char** entry = environ; *entry != nullptr; ++entry) result.add(*entry);
  return result;
}

Environment Environment::of_process(pid_t pid) {
  Environment result;
  // "NAME=VALUE" strings, each with a zero behind it (proc 5).
  std::istringstream entries(read_file("/proc/" + std::to_string(pid) + "/environ"));
  for (std::string entry; std::getline(entries, entry, '\0');) result.add(entry);
  return result;
}

void Environment::add(const std::string& entry) {
  const size_t equals = entry.find('=');
  if (equals != std::string::npos) set(entry.substr(0, equals), entry.substr(equals + 1));
}

std::optional<std::string> Environment::get(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

void Environment::prepend(const std::string& name, const std::string& entry) {
  const std::string old = get(name).value_or("");
  if (old == entry || old.starts_with(entry + ":")) return;
  set(name, old.empty() ? entry : entry + ":" + old);
}

tl::expected<void, std::string> Environment::add_python_startup() {
  const auto folder = python_folder();
  if (!folder) {
    return tl::unexpected(
        std::string("the Python package of Redline is not there. Build or install Redline whole: "
                    "./scripts/setup"));
  }
  if (folder->find(':') != std::string::npos) {
    return tl::unexpected(*folder +
                          ": PYTHONPATH splits at the colon. Redline needs another folder");
  }
  prepend("PYTHONPATH", *folder + "/redline/startup");
  if (const auto core = library_path("libredline.so")) set("REDLINE_LIBRARY", *core);
  if (const auto torch = library_path("libredline_torch.so")) set("REDLINE_TORCH_LIBRARY", *torch);
  return {};
}

std::vector<std::string> Environment::strings() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : values_) result.push_back(name + "=" + value);
  return result;
}

std::string program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string(".") : program.parent_path().string();
}

std::optional<std::string> python_folder() {
  const fs::path programs = program_folder();
  // The program is in build/PRESET/bin of a source tree, bin of an installed one, or redline/bin of
  // a wheel.
  for (const char* relative : {"../../../python", "../share/redline/python", "../.."}) {
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(programs / relative, error);
    if (!error && fs::exists(folder / "redline/startup/sitecustomize.py", error)) {
      return folder.string();
    }
  }
  return std::nullopt;
}

std::optional<std::string> library_path(const std::string& file_name) {
  std::error_code error;
  const fs::path path =
      fs::weakly_canonical(fs::path(program_folder()) / "../lib" / file_name, error);
  if (error || !fs::exists(path, error)) return std::nullopt;
  return path.string();
}

}  // namespace redline::launch
