// Ctrl-C during long work of our own: a flag to look at, so that nothing is left half done.
#pragma once

#include <atomic>

namespace redline::cli {

/// True once SIGINT, SIGTERM or SIGHUP came; catches them from the first call on. A second signal
/// ends the program at once.
[[nodiscard]] const std::atomic<bool>& interrupt_flag();

}  // namespace redline::cli
