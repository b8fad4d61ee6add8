// Measures how smooth the window is on a trace (--bench-frames). This file stands beside main and
// not in bench/, because the program that users run must measure itself: another program would be
// built and linked differently.
#pragma once

#include <optional>
#include <string>

#include "viewer/widgets/main_window.h"

namespace redline::viewer {

/// Zooms and pans along a fixed path and paints each frame, then searches and sorts, and writes a
/// JSON object with these keys:
///   - ranks, ranks_loaded: of the session
///   - events, lanes: of the trace
///   - width, height: of the lanes, in pixels
///   - frames: how many were painted
///   - p50_ms, p95_ms, max_ms: time of a frame
///   - p95_cpu_ms: time that the window's thread worked on a frame
///   - load_s: time of reading
///   - first_paint_s: time of reading and of the first frame
///   - peak_bytes: resident memory of this process, before the searches
///   - report_s: until the report's figures are there
///   - peak_bytes_with_report: resident memory after the searches and the report
///   - search_ms: until the hits of a search of names are known
///   - search_blocked_ms: the part of search_ms in which the window could not answer
///   - search_next_ms: a step to the next hit
///   - (these three are each the slowest of four searches)
///   - search_hits: how many hits the last search has
///   - find_s: until the Find tab has its figures and rows
///   - sort_s: until these rows are sorted by name
///   - find_blocked_ms, sort_blocked_ms: the longest time meanwhile in which the window could not
///     answer
///   - find_blocked_cpu_ms, sort_blocked_cpu_ms: the longest that its thread worked at once
///   - opening: for each table and pane, and for the report, a selection of everything and a chosen
///     step, blocked_ms and blocked_cpu_ms: the longest that it holds the window up
///   - whole_window: frame times of the whole window, with the flame graph open and the hits of a
///     search underlined
///
/// Returns a sentence if the display does not show the window, or if the file cannot be written.
[[nodiscard]] std::optional<std::string> bench_frames(MainWindow& window,
                                                      const LoadedSession& loaded,
                                                      const std::string& path);

}  // namespace redline::viewer
