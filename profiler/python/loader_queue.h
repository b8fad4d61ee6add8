// The queue in which a DataLoader's workers put the batches that they have made.
#pragma once

#include <Python.h>

#include <cstdint>

namespace redline::profiler {

/// Says of the batch that an iterator gives whether anybody waited for it to be made.
class LoaderQueue {
 public:
  /// Looks before the iterator gives the batch. Of one without workers, or of a kind that is not
  /// torch's, nothing is known.
  explicit LoaderQueue(PyObject* iterator);

  /// Whether the batch that it has given since then lay in the queue. Not if it was known to be on
  /// its way only: the next in the queue may be that of another worker, and be put aside.
  [[nodiscard]] bool had_batch_of(PyObject* iterator) const;

 private:
  bool has_workers_ = false;
  int64_t in_queue_ = 0;
  int64_t taken_ = 0;
};

}  // namespace redline::profiler
