#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/command.h"

namespace redline::cli {
namespace {

constexpr const char* kRemedy = ". Choose another file with -o FILE";

}  // namespace

int write_output(const std::string& content, const std::string& path) {
  std::FILE* file = path.empty() ? stdout : std::fopen(path.c_str(), "wb");
  if (file == nullptr) return fail(path + ": " + std::strerror(errno) + kRemedy);
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool flushed = (path.empty() ? std::fflush(file) : std::fclose(file)) == 0;
  if (written && flushed) return kDone;
  return fail((path.empty() ? "standard output" : path) + ": " + std::strerror(errno) + kRemedy);
}

}  // namespace redline::cli
