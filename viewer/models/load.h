// From paths to a Session, and what reading them has found.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/read/reader.h"
#include "trace/report/diff.h"
#include "trace/report/report.h"
#include "viewer/models/colours.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/details.h"
#include "viewer/models/kernel_origins.h"
#include "viewer/models/report_tables.h"
#include "viewer/models/roofline.h"
#include "viewer/models/session.h"
#include "viewer/models/steps_table.h"

namespace redline::viewer {

struct LoadedSession {
  std::shared_ptr<const Session> session;
  double seconds = 0;  ///< how long reading took, with building the pyramids
  bool is_whole = true;
  std::vector<trace::ReadError> unreadable = {};  ///< files that are left out
};

/// Files that cannot be read are left out, if there are others. The error is a sentence for the
/// user.
[[nodiscard]] tl::expected<LoadedSession, std::string> load_session(
    const std::vector<std::string>& paths, const trace::ReadOptions& options = {});

/// Two runs, each of files or folders; the error says which cannot be read. Without files `before`
/// it is one run.
[[nodiscard]] tl::expected<LoadedSession, std::string> load_comparison(
    const std::vector<std::string>& before, const std::vector<std::string>& after,
    const trace::ReadOptions& options = {});

/// When to show the beginnings of the files before all is read.
struct FirstLook {
  /// Of text in all files; files with less are read as a whole at once.
  uint64_t least_bytes = uint64_t{256} << 20;
  uint64_t share = 32;  ///< 1/share of the text is read first, which costs 3 % of the time
  uint64_t most_bytes = uint64_t{64} << 20;
};

/// The first lanes of files that take long to read, of one run or two; nullopt if they do not take
/// long.
[[nodiscard]] std::optional<LoadedSession> load_beginning(const std::vector<std::string>& before,
                                                          const std::vector<std::string>& paths,
                                                          const FirstLook& look,
                                                          trace::ReadOptions options = {});

/// What the panes and tables show, and the tracks that follow from it. It takes longer than
/// reading, so it is computed when the lanes are already shown.
struct AnalysedSession {
  std::shared_ptr<const trace::Report> report;  ///< in a comparison: of the run after
  std::shared_ptr<const DerivedTracks> derived;
  std::shared_ptr<const CollectiveLinks> collectives;
  std::shared_ptr<const Colours> colours;
  std::shared_ptr<const trace::Diff> diff;  ///< only set in a comparison
  std::shared_ptr<const KernelOrigins> origins;
  std::shared_ptr<const ReportTables> tables;
  std::vector<StepBar> step_bars;  ///< the table of steps as a chart
  RooflinePicture roofline;        ///< the table of the roofline as a picture
};

/// Setting `cancel` makes it stop soon; the result is then incomplete.
[[nodiscard]] AnalysedSession analyse_session(const Session& session,
                                              const std::atomic<bool>* cancel = nullptr);

/// How long reading the rest will take if it goes on as it did; nullopt in the first second.
[[nodiscard]] std::optional<std::chrono::seconds> time_left(int64_t elapsed_ns, uint64_t done,
                                                            uint64_t total);

/// The result of reading, as lines for people: files, events, each kind of repair or loss with the
/// place where it first happened, and the files that are left out.
[[nodiscard]] std::string load_report(const Session& session,
                                      const std::vector<trace::ReadError>& unreadable = {});

}  // namespace redline::viewer
