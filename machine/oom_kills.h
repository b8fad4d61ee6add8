// Whether the kernel ends processes because memory has run out.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace redline::machine {

/// How many processes its out-of-memory killer has ended on this machine since boot; 0 if it does
/// not say. `root` is the folder of proc: "" for this machine.
[[nodiscard]] int64_t oom_kills(const std::string& root = "");

/// Whether it ended one lately, by what oom_kills() gave now and then.
class RecentOomKills {
 public:
  void add(int64_t now_ns, int64_t kills);
  /// Whether there were fewer of them ten seconds before the last add(). A process with much memory
  /// may need as long to be gone.
  [[nodiscard]] bool have_risen_to(int64_t kills) const;

 private:
  struct Reading {
    int64_t time_ns = 0;
    int64_t kills = 0;
  };
  std::deque<Reading> readings_;  ///< the first one is at least as old, or the very first
};

}  // namespace redline::machine
