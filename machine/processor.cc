#include "machine/processor.h"

#include <algorithm>

#include "base/file.h"
#include "machine/kernel_text.h"

namespace redline::machine {
namespace {

// The text after the colon in the first line of this key.
std::string_view text_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.starts_with(key)) continue;
    const size_t colon = std::min(line.find(':'), line.size());
    const size_t begin = line.find_first_not_of(": \t", colon);
    return line.substr(std::min(begin, line.size()));
  }
  return {};
}

}  // namespace

bool Processor::has(std::string_view instruction) const {
  return std::ranges::find(instructions, instruction) != instructions.end();
}

Processor processor(const std::string& root) {
  const std::string text = read_file(root + "/proc/cpuinfo");
  Processor found = {std::string(text_of(text, "model name")), {}};
  // x86 has flags, ARM has features.
  for (const char* key : {"flags", "Features"}) {
    std::string_view names = text_of(text, key);
    for (auto name = take_word(names); !name.empty(); name = take_word(names)) {
      found.instructions.emplace_back(name);
    }
  }
  return found;
}

}  // namespace redline::machine
