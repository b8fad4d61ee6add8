#include "machine/launch/output_tail.h"

#include <fstream>
#include <sstream>

namespace redline::launch {

std::string tail_of(const std::string& path, size_t bytes) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const auto size = static_cast<size_t>(file.tellg());
  file.seekg(static_cast<std::streamoff>(size > bytes ? size - bytes : 0));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string last_lines(const std::string& text, size_t count) {
  size_t begin = text.size();
  while (begin > 0 && text[begin - 1] == '\n') --begin;
  const size_t end = begin;
  while (begin > 0 && (text[begin - 1] != '\n' || --count > 0)) --begin;
  return text.substr(begin, end - begin);
}

}  // namespace redline::launch
