#include "machine/doctor/sources.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/secrets.h"

namespace redline::doctor {

Sources Sources::real() {
  Sources sources;
  sources.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return sources;
}

std::optional<std::string> Sources::shown(const std::string& name) const {
  const auto value = environment(name);
  return value ? std::optional(without_secrets(*value)) : std::nullopt;
}

std::optional<std::string> Sources::text(const std::filesystem::path& file) const {
  std::ifstream stream(root / file.relative_path());
  if (!stream) return std::nullopt;
  // Some files of the kernel can be opened but not read. A stream iterator would throw then.
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) return std::nullopt;
  std::string content = text.str();
  while (!content.empty() && content.back() == '\n') content.pop_back();
  return content;
}

}  // namespace redline::doctor
