// Writes a few small files into a ZIP file, without compression. Every system can open a ZIP file
// without another program.
#pragma once

#include <string>
#include <vector>

namespace redline::doctor {

struct ZipEntry {
  std::string name;
  std::string content;
};

[[nodiscard]] std::string zip_of(const std::vector<ZipEntry>& entries);

}  // namespace redline::doctor
