// The launcher's side of a hang: `redline record --ring` reads the tables of its ranks while the
// command runs (trace/read/hang_tables.h), adds what the operating system says of ranks that cannot
// speak, prints the verdict once, and ends the job if it was asked to.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "trace/analysis/hang.h"

namespace redline::watch {

enum class OnHang : uint8_t {
  kReport,  ///< say who hangs; the job is left alone
  kAbort,   ///< then end all its processes on this machine
};

class HangWatch {
 public:
  /// Watches the ranks of `run` whose tables come into `folder`. Tables of earlier runs are
  /// removed. `hang_after` (seconds): how long the others must have waited.
  HangWatch(std::string folder, std::string run, double hang_after, OnHang on_hang);
  ~HangWatch();
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

  /// Ends the watch. To be called when the command has ended. Whether the job hung and was ended.
  bool finish();

 private:
  [[nodiscard]] std::string path_of(int rank) const;
  void watch();
  void look();
  [[nodiscard]] bool is_old_enough(const trace::Hang& hang,
                                   const std::vector<trace::HangTable>& tables,
                                   int64_t now_ns) const;
  void tell(const trace::Hang& hang, const std::vector<trace::HangTable>& tables, int64_t now_ns);
  void add_processes(std::vector<trace::HangTable>& tables);
  void end_job();
  void remove_own_tables();

  const std::string folder_;
  const std::string run_;
  const double hang_after_;
  const OnHang on_hang_;
  std::map<int, int64_t> processes_;  ///< of ranks that were seen on this machine
  std::optional<trace::Hang> last_;   ///< what the last look found
  std::optional<trace::Hang> told_;   ///< what was printed last
  std::vector<std::string> own_tables_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;
  bool has_ended_job_ = false;
  std::optional<std::thread> thread_;
};

}  // namespace redline::watch
