// The C++ call stacks of operators: return addresses while the job runs, names on the writer
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "profiler/write/elf_symbols.h"

namespace redline::profiler {

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
