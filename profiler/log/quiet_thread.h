// Threads of the recorder inside someone else's process.
#pragma once

#include <functional>
#include <optional>
#include <thread>

namespace redline::profiler {

/// A thread that blocks every signal from its first instruction on: the job's handlers never run
/// on it, and SIGXFSZ, which a full disk quota raises, cannot kill the job (write() then fails with
/// EFBIG instead). None where the system has no thread left.
[[nodiscard]] std::optional<std::thread> start_quiet_thread(std::function<void()> body);

/// Runs `body` on such a thread and waits for it. False where there is no thread.
[[nodiscard]] bool run_quietly(const std::function<void()>& body);

}  // namespace redline::profiler
