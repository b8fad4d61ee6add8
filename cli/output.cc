#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "cli/command.h"
#include "trace/emit/output_file.h"
#include "trace/read/reader.h"

namespace redline::cli {
namespace {

constexpr const char* kRemedy = ". Choose another file with -o FILE";

int write_file(const std::string& content, const std::string& path) {
  trace::OutputFile file(path + ".partial");
  file.write(content);
  if (file.rename(path)) return kDone;
  file.remove();
  return fail(file.error() + kRemedy);
}

}  // namespace

int write_output(const std::string& content, const std::string& path) {
  if (!path.empty() && trace::may_become_file(path)) return write_file(content, path);
  std::FILE* file = path.empty() ? stdout : std::fopen(path.c_str(), "wb");
  if (file == nullptr) return fail(path + ": " + std::strerror(errno) + kRemedy);
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool flushed = (path.empty() ? std::fflush(file) : std::fclose(file)) == 0;
  if (written && flushed) return kDone;
  return fail((path.empty() ? "standard output" : path) + ": " + std::strerror(errno) + kRemedy);
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
