// Variables of the environment for a test. When this goes, they are as they were before.
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace redline::testing {

class Variables {
 public:
  Variables() = default;
  Variables(const std::string& name, const std::string& value) { set(name, value); }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
  ~Variables() {
    for (const auto& [name, value] : before_) put(name, value);
  }

  void set(const std::string& name, const std::optional<std::string>& value) {
    const char* const before = std::getenv(name.c_str());
    before_.try_emplace(name,
                        before == nullptr ? std::nullopt : std::optional<std::string>(before));
    put(name, value);
  }
  void set(const std::string& name, int value) { set(name, std::to_string(value)); }

 private:
  static void put(const std::string& name, const std::optional<std::string>& value) {
    value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }

  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace redline::testing
