// How smooth the window is on a trace: what --bench-frames measures.
#pragma once

#include <optional>
#include <string>

#include "viewer/widgets/main_window.h"

namespace redline::viewer {

/// Zooms and pans along a fixed path, painting each frame, then searches and sorts, and writes a
/// JSON object:
///   events, lanes, width, height (of the lanes, in pixels)
///   p50_ms, p95_ms, max_ms of a frame; p95_cpu_ms: without the time in which others had the core
///   load_s, first_paint_s, peak_bytes (resident, of this process, before searching)
///   search_ms, search_next_ms: the slowest of some searches of names
///   search_hits of the last one; find_s until the Find tab has its figures and rows; sort_s of
///   these rows by name; find_blocked_ms, sort_blocked_ms: the longest time meanwhile in which the
///   window could not answer, and *_blocked_cpu_ms, how much of such a time it worked itself
/// Gives a sentence where the file cannot be written.
[[nodiscard]] std::optional<std::string> bench_frames(MainWindow& window,
                                                      const LoadedSession& loaded,
                                                      const std::string& path);

}  // namespace redline::viewer
