// How smooth the window is on a trace: what --bench-frames measures. It stands beside main and not
// in bench/, as the program that users run must measure itself: another one would be built and
// linked otherwise, and its figures would be of that one.
#pragma once

#include <optional>
#include <string>

#include "viewer/widgets/main_window.h"

namespace redline::viewer {

/// Zooms and pans along a fixed path, painting each frame, then searches and sorts, and writes a
/// JSON object:
///   events and lanes of the trace; width and height of the lanes, in pixels
///   p50_ms, p95_ms, max_ms: time of a frame; p95_cpu_ms: time that the window's thread worked on
///   it load_s: reading; first_paint_s: reading and the first frame; peak_bytes: resident memory of
///   this process, before the searches
///   search_ms: until the hits of a search of names are known, search_blocked_ms: the part of it in
///   which the window could not answer, search_next_ms: a step to the next hit; each the slowest of
///   four searches; search_hits: how many hits the last one has
///   find_s: until the Find tab has its figures and rows; sort_s: until these rows are sorted by
///   name find_blocked_ms, sort_blocked_ms: the longest time meanwhile in which the window could
///   not answer; find_blocked_cpu_ms, sort_blocked_cpu_ms: the longest that its thread worked at
///   once
/// The error is a sentence: the file cannot be written.
[[nodiscard]] std::optional<std::string> bench_frames(MainWindow& window,
                                                      const LoadedSession& loaded,
                                                      const std::string& path);

}  // namespace redline::viewer
