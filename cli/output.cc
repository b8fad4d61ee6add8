#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "cli/command.h"
#include "trace/read/reader.h"

namespace redline::cli {

int write_output(const std::string& content, const std::string& path) {
  constexpr const char* kRemedy = ". Choose another file with -o FILE";
  if (!path.empty()) {
    const auto written = write_file(path, content);
    return written ? kDone : fail(written.error() + kRemedy);
  }
  const bool written = std::fwrite(content.data(), 1, content.size(), stdout) == content.size();
  if (written && std::fflush(stdout) == 0) return kDone;
  return fail(std::string("standard output: ") + std::strerror(errno) + kRemedy);
}

bool is_an_input(const std::string& output, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const auto files = trace::find_traces(path);
    for (const std::string& file : files.value_or(std::vector<std::string>())) {
      std::error_code ignored;
      if (std::filesystem::equivalent(file, output, ignored)) return true;
    }
  }
  return false;
}

}  // namespace redline::cli
