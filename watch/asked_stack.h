// Where a rank is whose Python cannot say so itself, because a thread keeps the interpreter lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/read/hang_tables.h"

namespace redline::watch {

/// One Python frame: "/home/me/train.py", "31", "sync".
struct AskedFrame {
  std::string file;
  std::string line;
  std::string function;

  [[nodiscard]] bool is_library() const;
  [[nodiscard]] std::string text() const;  ///< "train.py:31 sync"
};

/// Asks the process of `table`, which must be on this machine, for the frames of its training
/// thread, innermost first. Empty if it gives none within about a second.
[[nodiscard]] std::vector<AskedFrame> ask_stack(const trace::HangTable& table);

/// The frames of the thread `ident` in what faulthandler has written.
[[nodiscard]] std::vector<AskedFrame> frames_of_dump(const std::string& dump, int64_t ident);

}  // namespace redline::watch
