// A ZIP file of a few small files, stored without compression: every system opens it without a
// further program.
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
