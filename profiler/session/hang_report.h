// What a rank of a program in C++ says of itself, so that others can tell who holds a hanging job
// up: the table of trace/read/hang_tables.h, which a thread writes each second. In a Python process
// python/redline/_hang_table.py writes it.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/launched_rank.h"
#include "profiler/source/entered_collectives.h"

namespace redline::profiler {

class HangReport {
 public:
  /// Never destroyed. In a forked child, where its thread is not, it does nothing.
  static HangReport& instance();

  /// The first source starts the thread, if the launcher reads tables (REDLINE_HANG_TABLES).
  void add(EnteredCollectives* source);
  /// The thread asks no source from now on. Waits up to a second for what it does now.
  void stop();

 private:
  /// The step that is open, or where the program tells no steps, what comes after the last
  /// collective.
  struct Progress {
    std::optional<int64_t> step;
    int64_t seen = 0;       ///< steps, or collectives
    int64_t open_ns = 0;    ///< since the last of them
    bool is_early = false;  ///< so early that it may take long
  };

  HangReport();
  void run();
  [[nodiscard]] std::unique_lock<std::timed_mutex> lock_to_end();
  void end(int status);
  void look();
  void write_last();
  void list();
  void note(const Progress& now, int64_t now_ns);
  [[nodiscard]] int64_t usual_step_ns() const;
  [[nodiscard]] bool is_overdue(const Progress& now) const;
  [[nodiscard]] nlohmann::json owner(const Progress& now) const;
  void add_thread(nlohmann::json& table, int64_t now_ns);
  void write(nlohmann::json table);

  const int process_;
  const JobRank rank_;
  const std::string folder_;
  const std::string run_;

  std::timed_mutex mutex_;  // for all that follows
  std::vector<EnteredCollectives*> sources_;
  std::optional<std::thread> thread_;
  bool is_over_ = false;
  std::string path_;            // "" as long as nothing was written
  nlohmann::json collectives_;  // by the last list(): members of the table
  int64_t entered_ = 0;         // how many that were
  int64_t entered_since_ns_ = 0;
  int64_t first_entered_ns_ = 0;
  std::optional<int64_t> seen_;  // of the last look that saw progress
  int64_t seen_began_ns_ = 0;
  std::deque<int64_t> lengths_;  // of steps
  int64_t operators_ = -1;       // -1: they are not counted
  int64_t core_ns_ = 0;          // of the training thread, at the last look
  int64_t core_at_operator_ns_ = 0;
  int64_t looked_ns_ = 0;
};

}  // namespace redline::profiler
