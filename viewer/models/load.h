// From paths to a Session, and what reading them has found.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/read/reader.h"
#include "trace/report/report.h"
#include "viewer/models/session.h"

namespace redline::viewer {

struct LoadedSession {
  std::shared_ptr<const Session> session;
  double seconds = 0;  ///< how long reading took, with building the pyramids
  bool is_whole = true;
  std::vector<trace::ReadError> unreadable = {};  ///< files that are left out
};

/// A job that is at least so large opens with its first ranks only.
struct ManyRanks {
  size_t least_ranks = trace::kManyRanks + 1;
  uint64_t least_bytes = uint64_t{256} << 20;  ///< of text in all files
  size_t opened = 8;                           ///< so many ranks are loaded, or fewer large ones
  uint64_t opened_bytes = uint64_t{512} << 20;
};

/// Whether load_session() would look at the beginnings of the files and load the first ranks alone.
[[nodiscard]] bool opens_first_ranks(const std::vector<std::string>& paths, const ManyRanks& many);

/// Files that cannot be read are left out, if there are others. The error is a sentence for the
/// user.
[[nodiscard]] tl::expected<LoadedSession, std::string> load_session(
    const std::vector<std::string>& paths, const trace::ReadOptions& options = {},
    const ManyRanks& many = {});

/// Two runs, each of files or folders; the error says which cannot be read. Without files `before`
/// it is one run.
[[nodiscard]] tl::expected<LoadedSession, std::string> load_comparison(
    const std::vector<std::string>& before, const std::vector<std::string>& after,
    const trace::ReadOptions& options = {});

/// The lanes of ranks that are not loaded yet, of those of them that can be read.
struct ReadRanks {
  std::map<uint32_t, SessionTrace> ranks;  ///< by trace of the session
  std::map<uint32_t, std::string> failed;  ///< each with a sentence
};
[[nodiscard]] ReadRanks read_ranks(const Session& session, const std::vector<uint32_t>& ranks,
                                   const std::atomic<bool>* cancel = nullptr);

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

/// How long reading the rest will take if it goes on as it did; nullopt in the first second.
[[nodiscard]] std::optional<std::chrono::seconds> time_left(int64_t elapsed_ns, uint64_t done,
                                                            uint64_t total);

/// The result of reading, as lines for people: files, events, each kind of repair or loss with the
/// place where it first happened, and the files that are left out.
[[nodiscard]] std::string load_report(const Session& session,
                                      const std::vector<trace::ReadError>& unreadable = {});

}  // namespace redline::viewer
