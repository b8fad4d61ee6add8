// Reads traces on a thread of its own; says how far it is, can be cancelled.
#pragma once

#include <QObject>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "viewer/models/load.h"

namespace redline::viewer {

class Loader : public QObject {
  Q_OBJECT

 public:
  explicit Loader(QObject* parent = nullptr);
  ~Loader() override;

  /// Ends a load that still runs, then starts this one. With a run `before` it is a comparison.
  void start(std::vector<std::string> paths, std::vector<std::string> before = {});
  void cancel();

 signals:
  void progress(quint64 done, quint64 total);  ///< bytes of the file that is being read
  void loaded(redline::viewer::LoadedSession session);
  /// After loaded(): the sums take longer than the lanes.
  void analysed(redline::viewer::AnalysedSession analysed);
  void failed(QString sentence);

 private:
  void load(const std::vector<std::string>& paths, const std::vector<std::string>& before,
            uint64_t run);
  /// Emits on this object's thread, unless another load has begun since `run`.
  template <typename Emit>
  void post(uint64_t run, Emit emit_signal);

  std::atomic<bool> cancelled_{false};
  uint64_t run_ = 0;  ///< signals of an older run are dropped
  std::thread thread_;
};

}  // namespace redline::viewer

Q_DECLARE_METATYPE(redline::viewer::LoadedSession)
Q_DECLARE_METATYPE(redline::viewer::AnalysedSession)
