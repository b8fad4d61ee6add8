// What the command line does to a window: sets the view, takes a picture, measures frames.
#pragma once

#include <QSize>
#include <cstdint>
#include <optional>
#include <string>

#include "viewer/widgets/main_window.h"

namespace redline::viewer {

struct View {
  std::optional<int64_t> at_ns;  ///< left edge, from the first event, or in unix time
  std::optional<int64_t> span_ns;
  std::string select;  ///< a slice's name; empty: none
};

/// A sentence where it cannot be done: the name is not in the trace.
[[nodiscard]] std::optional<std::string> apply_view(MainWindow& window, const View& view);

[[nodiscard]] std::optional<std::string> save_screenshot(MainWindow& window,
                                                         const std::string& path);

[[nodiscard]] std::optional<std::string> write_text_file(const std::string& path,
                                                         const std::string& text);

/// Zooms and pans along a fixed path, painting each frame, and writes a JSON object: events, lanes,
/// width, height (of the lanes, in pixels), p50_ms, p95_ms, max_ms (of a frame), p95_cpu_ms (the
/// same without the time in which other programs had the core), load_s, first_paint_s and
/// peak_bytes (resident, of this process).
[[nodiscard]] std::optional<std::string> bench_frames(MainWindow& window,
                                                      const LoadedSession& loaded,
                                                      const std::string& path);

/// "1600x1000"; none where it is not a size of 200 to 16,000 pixels.
[[nodiscard]] std::optional<QSize> parse_size(const std::string& text);

}  // namespace redline::viewer
