// Threads inside a program whose signals are not ours: a training job, or a command.
#pragma once

#include <functional>
#include <optional>
#include <thread>

namespace redline {

/// Starts a thread that blocks every signal from its first instruction on. So the job's handlers
/// never run on it, and SIGXFSZ, which a limit of file sizes raises, cannot kill the job (write()
/// then fails with EFBIG instead). nullopt if the system has no thread left.
[[nodiscard]] std::optional<std::thread> start_quiet_thread(std::function<void()> body);

/// Runs `body` on such a thread and waits for it. False if the system has no thread left.
[[nodiscard]] bool run_quietly(const std::function<void()>& body);

}  // namespace redline
