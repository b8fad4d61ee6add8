// The C++ call stacks of operators. While the job runs, only return addresses are kept; the writer
// thread finds the names. Functions that a program does not export are only in the .symtab of its
// file, where the dynamic linker (dladdr) does not look.
#pragma once

#include <elf.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace redline::profiler {

class ElfSymbols {
 public:
  /// The mangled name of the function at `offset` from the address where the file is loaded; null
  /// if the file is stripped, or too large to be read while a job runs. Valid as long as this
  /// object.
  [[nodiscard]] const char* find(const std::string& path, uint64_t offset);

 private:
  struct File {
    std::string names;                 ///< its .strtab
    std::vector<Elf64_Sym> functions;  ///< by address
    uint64_t base = 0;                 ///< address of its first byte, as the file gives it
  };
  [[nodiscard]] static File read(const std::string& path);

  std::map<std::string, File> files_;
};

/// Names the functions of return addresses; for the writer thread only. A stripped function has no
/// name: its file and offset stand in its place. Generated code, which is in no file, is
/// "(unknown)".
class NativeStacks {
 public:
  /// The value of "Call stack" as a JSON string: innermost frame first, each followed by ';'.
  /// `addresses` holds the bytes of an array of pointers.
  [[nodiscard]] const std::string& describe(std::string_view addresses);

 private:
  [[nodiscard]] const std::string& name(const void* return_address);

  ElfSymbols symbols_;
  std::unordered_map<const void*, std::string> names_;
  std::unordered_map<uint64_t, std::string> stacks_;  ///< by hash of the addresses
};

}  // namespace redline::profiler
