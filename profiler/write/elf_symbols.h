// Names of functions that a program keeps to itself: the .symtab of its files, which the dynamic
// linker (dladdr) does not look at.
#pragma once

#include <elf.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace redline::profiler {

class ElfSymbols {
 public:
  /// The mangled name of the function at `offset` from where the file is loaded; null where the
  /// file is stripped, or too large to be read while a job runs. Valid as long as this object.
  [[nodiscard]] const char* find(const std::string& path, uint64_t offset);

 private:
  struct File {
    std::string names;                 ///< its .strtab
    std::vector<Elf64_Sym> functions;  ///< by address
    uint64_t base = 0;                 ///< address of its first byte in memory, by its own numbers
  };
  [[nodiscard]] static File read(const std::string& path);

  std::map<std::string, File> files_;
};

}  // namespace redline::profiler
