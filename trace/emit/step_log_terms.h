// What a step log speaks of: shared by its writer in the training process and its reader.
#pragma once

#include <cstddef>
#include <cstdint>

namespace redline::trace {

/// What a rank does in a step. The values stand in files: new ones come last.
enum class StepPart : uint8_t {
  kDataWait,  ///< for the next batch of the loader
  kForward,   ///< outermost calls of models
  kBackward,
  kOptimizer,
  kCommunicationWait,  ///< for collectives that the program itself waits for
  kEvaluation,         ///< batches and forwards that no training step is made of
  kCheckpoint,         ///< torch.save
  kGarbageCollection,  ///< Python's
  kCompile,            ///< torch.compile
};
inline constexpr size_t kStepParts = 9;

/// What happened at a moment, or for a while. The values stand in files: new ones come last.
enum class LogMarkKind : uint8_t {
  kEpoch,        ///< the loader begins anew; text: which, from 1 on
  kWindow,       ///< steps were recorded with their operators; text: the trace's path
  kOutOfMemory,  ///< caught or not; text: what torch said
  kCompile,
  kEvaluation,
  kCheckpoint,  ///< text: where it is known, the file's name
  kException,   ///< which ends the process; text: its type and message
  kNote,        ///< text for people
};

/// The end of every log's name; before it stands "rank0", or "rank0.2" where that existed.
inline constexpr const char* kStepLogSuffix = ".steps.redline";

}  // namespace redline::trace
