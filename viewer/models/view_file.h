// What a user has set up on a trace's timeline (zoom, tracks, marks), saved beside the trace as
// NAME.view, so that the user can come back to it or give it away together with the trace.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "viewer/models/session.h"
#include "viewer/models/tracks.h"

namespace redline::viewer {

struct Mark {
  int64_t time_ns = 0;  ///< on the session's axis
  std::string note;
  uint32_t trace = 0;  ///< whose clock it goes along with

  bool operator==(const Mark&) const = default;
};

struct SavedView {
  TimeRange range;
  int scroll = 0;
  std::string search;
  Arrangement arrangement;
  std::vector<Mark> marks;
  bool colours_by_name = false;
  std::optional<int64_t> origin_ns = std::nullopt;  ///< unix time of the axis' 0 when it was saved
  std::vector<std::string> traces = {};  ///< the session's titles, to find Mark::trace in another

  bool operator==(const SavedView&) const = default;
};

/// "trace.json.gz.view" beside a lone trace, "redline.view" in the folder of several,
/// "redline.compare.view" for two runs, in the folder of the first.
[[nodiscard]] std::string view_path(const Session& session);

/// The unix time of the axis' 0; nullopt if the traces do not stand on one clock.
[[nodiscard]] std::optional<int64_t> origin_of(const Session& session);
/// The session's trace of a mark of the view; the first one if it is not there.
[[nodiscard]] uint32_t trace_of_mark(const SavedView& view, const Mark& mark,
                                     const Session& session);
/// The view with all its times moved by `by_ns`.
[[nodiscard]] SavedView moved(SavedView view, int64_t by_ns);

[[nodiscard]] std::string view_json(const SavedView& view);  ///< schema "redline.view/1"
/// The error is a sentence for the user. Keys that this version does not know are ignored.
[[nodiscard]] tl::expected<SavedView, std::string> parse_view(const std::string& json);

/// nullopt if there is no such file.
[[nodiscard]] tl::expected<std::optional<SavedView>, std::string> read_view(
    const std::string& path);
/// Returns a sentence if it cannot be written; the old file is then left as it was.
[[nodiscard]] std::optional<std::string> write_view(const std::string& path, const SavedView& view);

}  // namespace redline::viewer
