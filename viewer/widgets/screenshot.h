// What the command line can do to a window: set the view and take a picture.
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
  std::string find;    ///< what to search; empty: nothing
  std::string tab;     ///< title of the table or pane to show; empty: as it comes
  std::string saved;   ///< file of a view that was saved, which comes first; empty: none
};

/// Returns a sentence if it cannot be done: there is no such name, time or tab in the trace.
[[nodiscard]] std::optional<std::string> apply_view(MainWindow& window, const View& view);

/// Applies the view to what is loaded next: the place as soon as it is loaded, the tab as soon as
/// its report is ready. What cannot be done is printed to the standard error.
void apply_to_first(MainWindow& window, const View& view);

[[nodiscard]] std::optional<std::string> save_screenshot(MainWindow& window,
                                                         const std::string& path);

/// Returns a sentence if it cannot be written; an old file is then left as it was.
[[nodiscard]] std::optional<std::string> write_whole(const std::string& path,
                                                     const std::string& content);

/// Reads a size such as "1600x1000"; nullopt if it is not one of 200 to 16,000 pixels.
[[nodiscard]] std::optional<QSize> parse_size(const std::string& text);

}  // namespace redline::viewer
