// Which processor this machine has, and which instructions, as /proc/cpuinfo tells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redline::machine {

struct Processor {
  std::string model;  ///< such as "AMD EPYC 7R13"; empty where the kernel does not say
  std::vector<std::string> instructions;  ///< as the kernel names them; empty where it does not
  [[nodiscard]] bool has(std::string_view instruction) const;
};

/// `root` is the folder of proc, "" for this machine.
[[nodiscard]] Processor processor(const std::string& root = "");

}  // namespace redline::machine
