// The launcher's side of a hang: `redline record --ring` and `redline run --log` read the tables of
// the ranks while the command runs (trace/read/hang_tables.h), add what the operating system says
// of ranks that cannot speak, print the verdict once, and do what was asked for.
//
// Where each machine has a launcher of its own and the folder is shared, each reads the tables of
// all ranks, and writes down what it alone can see of its own. Where it is not shared, the
// launchers meet by TCP (watch/meeting.h), and one of them judges for all.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "machine/oom_kills.h"
#include "trace/analysis/hang.h"
#include "watch/asked_stack.h"
#include "watch/meeting.h"

namespace redline::watch {

enum class OnHang : uint8_t {
  kReport,  ///< say who hangs; the job is left alone
  kTrace,   ///< and let the ranks on this machine write a trace, if they have not done so
  kAbort,   ///< say it, and end all processes of the job on this machine, unless nothing is known
            ///< of a rank that the others wait for
};

/// The exit status then. EX_TEMPFAIL of sysexits.h: the same job may succeed next time.
inline constexpr int kHung = 75;

/// Ranks write their tables where this environment variable is set.
inline constexpr const char* kTablesVariable = "REDLINE_HANG_TABLES";

class HangWatch {
 public:
  /// Watches the ranks of `run` whose tables come into `folder`. Tables that earlier runs have left
  /// there are removed. `hang_after` (seconds): how long the others must have waited.
  HangWatch(std::string folder, std::string run, double hang_after, OnHang on_hang,
            std::optional<MeetingPlace> place = std::nullopt);
  ~HangWatch();
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

  /// Ends the watch. To be called when the command has ended. Whether the job hung and was ended.
  bool finish();

 private:
  void watch();
  void look();
  void take(const trace::Hang& hang, const std::vector<trace::HangTable>& tables, int64_t now_ns);
  [[nodiscard]] MetVerdict judge(std::vector<trace::HangTable>& tables, int64_t now_ns);
  [[nodiscard]] std::optional<MetVerdict> ask_others(std::vector<trace::HangTable>& tables);
  [[nodiscard]] std::vector<trace::HangTable> read_tables(bool is_listening);
  void add_met(std::vector<trace::HangTable>& tables);
  [[nodiscard]] std::string seen_text(const trace::HangTable& table, int64_t written_ns) const;
  [[nodiscard]] bool is_sure(const std::optional<trace::Hang>& hang);
  [[nodiscard]] bool is_old_enough(const trace::Hang& hang,
                                   const std::vector<trace::HangTable>& tables,
                                   int64_t now_ns) const;
  [[nodiscard]] bool is_here(const trace::HangTable& table) const;
  [[nodiscard]] bool is_silent(const trace::HangTable& table) const;
  [[nodiscard]] int64_t age_ns(const trace::HangTable& table) const;
  void use_own_clock(std::vector<trace::HangTable>& tables) const;
  void add_processes(std::vector<trace::HangTable>& tables);
  void ask_silent(const std::vector<int>& ranks, std::vector<trace::HangTable>& tables);
  void ask_programs(const trace::Hang& hang, std::vector<trace::HangTable>& tables);
  void write_all_seen(const std::vector<trace::HangTable>& tables, int64_t now_ns);
  void tell(const trace::Hang& hang, const std::vector<trace::HangTable>& tables, int64_t now_ns);
  void write_seen(int rank, const std::string& text);
  void write_traces(const trace::Hang& hang, const std::vector<trace::HangTable>& tables);
  void end_job();
  void remove_seen();
  void tell_of_failure();
  [[nodiscard]] bool killed_for_memory(int64_t process);

  const std::string folder_;
  const std::string run_;
  const std::string host_;
  const int64_t pid_namespace_;  ///< 0: not known
  const double hang_after_;
  const OnHang on_hang_;
  const std::string name_;                ///< of this launcher, for others
  std::unique_ptr<Meeting> meeting_;      ///< empty if the folder is shared
  int64_t answered_ns_ = monotonic_ns();  ///< when the one that judges last answered
  bool has_told_alone_ = false;
  std::map<int, int64_t> processes_;  ///< of ranks that were seen on this machine
  /// The last table of a rank, and when this launcher first saw it, by its own clock.
  struct Heard {
    int64_t written_ns = 0;  ///< 0: it has written none, and is silent from the start
    int64_t at_ns = 0;
  };
  std::map<int, Heard> heard_;
  std::optional<trace::Hang> last_;  ///< what the last look found
  std::chrono::steady_clock::time_point last_since_;
  std::optional<trace::Hang> told_;                  ///< what was printed last
  std::set<std::pair<int, std::string>> told_slow_;  ///< a rank, and its phase
  std::vector<std::string> seen_paths_;
  machine::RecentOomKills oom_kills_;
  std::map<int64_t, bool> ended_;  ///< processes of ranks that are gone: for lack of memory?
  /// Of a rank that writes no table any more.
  struct Silent {
    int64_t written_ns = -1;  ///< its last table
    int64_t core_ns = 0;      ///< the time that its training thread had a core when this was seen
    std::vector<AskedFrame> frames;
  };
  std::map<int, Silent> silent_;
  /// Ranks in C++ that were asked where they are, in the hang at this place.
  std::map<int, int> asked_programs_;  // ranks, and how often each was asked
  std::tuple<std::string, std::optional<int64_t>, std::optional<int64_t>> asked_place_;

  bool has_ended_job_ = false;
  PausingThread thread_;
};

}  // namespace redline::watch
