// The C++ call stacks of operators: return addresses while the job runs, names on the writer
// thread. What a program keeps to itself is in the .symtab of its files, which the dynamic linker
// (dladdr) does not look at.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
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

/// Functions of return addresses; writer thread only. What is in memory only, such as generated
/// code, and what a program strips has no name but its place.
class NativeStacks {
 public:
  /// "Call stack" as a JSON string, innermost first, each frame followed by ';'. `addresses` is an
  /// array of pointers.
  [[nodiscard]] const std::string& describe(std::string_view addresses);

 private:
  [[nodiscard]] const std::string& name(const void* return_address);

  ElfSymbols symbols_;
  std::unordered_map<const void*, std::string> names_;
  std::unordered_map<uint64_t, std::string> stacks_;  ///< by hash of the addresses
};

}  // namespace redline::profiler
