// Reads traces on a thread of its own, tells how far it is, and can be cancelled. The window never
// waits for it: a load that was cancelled or replaced ends by itself, and what it still emits is
// recognised by its number and dropped.
#pragma once

#include <QObject>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "viewer/models/analyse.h"
#include "viewer/models/load.h"
#include "viewer/models/run.h"
#include "viewer/models/tuning.h"

namespace redline::viewer {

[[nodiscard]] bool has_study(const std::vector<std::string>& paths);
/// The study of `paths`, if it is the only one of them; the error is a sentence.
[[nodiscard]] tl::expected<Tuning, std::string> load_lone_study(
    const std::vector<std::string>& paths);

class Loader : public QObject {
  Q_OBJECT

 public:
  Loader();
  ~Loader() override;

  /// Ends a load that still runs, then starts this one. With a run `before` it is a comparison.
  void start(std::vector<std::string> paths, std::vector<std::string> before = {});
  /// No more signals come from the load; its thread ends by itself soon.
  void cancel();
  /// Emits analysed() for a session whose analysis another load has cut off, or of which more ranks
  /// are loaded than when its `known` was read.
  void analyse(const std::shared_ptr<const Session>& session, const RankPass& known = {});
  /// Emits ranks_read() for ranks of the session that are not loaded, beside a load or an analysis.
  void read_ranks(const std::shared_ptr<const Session>& session, std::vector<uint32_t> ranks);
  void set_first_look(const FirstLook& look) { first_look_ = look; }
  void set_many_ranks(const ManyRanks& many) { many_ranks_ = many; }

 signals:
  void progress(quint64 done, quint64 total);  ///< bytes of the file that is being read
  /// Emitted before loaded() if loading takes long: has the first lanes of each file.
  void begun(redline::viewer::LoadedSession session);
  void loaded(redline::viewer::LoadedSession session);
  /// How many ranks of a partial session have been read for its sums.
  void summed(quint64 done, quint64 total);
  void ranks_read(redline::viewer::ReadRanks read);
  /// Emitted after loaded(), because the sums take longer than the lanes.
  void analysed(redline::viewer::AnalysedSession analysed);
  /// Emitted instead of loaded() if the path is an autotune study.
  void tuned(redline::viewer::Tuning tuning);
  /// Emitted instead of loaded() if there are step logs and no traces; after it if there are both.
  void run_read(redline::viewer::WholeRun run);
  void failed(QString sentence);

 private:
  /// One load, from start() until it is cancelled or done.
  struct Run {
    uint64_t number = 0;
    std::shared_ptr<std::atomic<bool>> cancelled;
  };
  template <typename Work>
  void start_thread(Work work);
  void cancel_ranks();
  void fail(const std::string& sentence, const Run& run);
  void load_study(const std::vector<std::string>& paths, const Run& run);
  void load_logs(const std::vector<std::string>& paths, bool are_alone, const Run& run);
  void load(const std::vector<std::string>& paths, const std::vector<std::string>& before,
            const Run& run);
  void sum_up(const Session& session, const RankPass& known, const Run& run);
  /// Emits on this object's thread, unless another load has begun since `run`.
  template <typename Emit>
  void post(const Run& run, Emit emit_signal);

  FirstLook first_look_;
  ManyRanks many_ranks_;
  Run run_;  ///< signals of an older one are dropped
  std::thread thread_;
  Run ranks_run_;             ///< the same for read_ranks()
  std::thread ranks_thread_;  ///< reads ranks that were unfolded
};

}  // namespace redline::viewer

Q_DECLARE_METATYPE(redline::viewer::LoadedSession)
Q_DECLARE_METATYPE(redline::viewer::ReadRanks)
Q_DECLARE_METATYPE(redline::viewer::AnalysedSession)
