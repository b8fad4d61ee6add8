// Who holds a hanging job up: a verdict across ranks, from what each rank says of itself.
//
// Collectives of a group are numbered, and no rank gets out of number n before all have entered it.
// So of each group that somebody waits in, the lowest number that is not done tells: who has not
// entered it is the culprit, and if all have, those whose operation or sizes differ from the
// others'. What a culprit does instead comes from its own thread's state and stack. Where this does
// not decide, there is no verdict: nothing is guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model/model.h"
#include "trace/read/hang_tables.h"

namespace redline::trace {

enum class HangKind : uint8_t {
  kSlow,        ///< it only takes long: no hang
  kNotEntered,  ///< it did not enter the collective; what it does instead is not known
  kSkipped,     ///< it left one out, and has entered the collective of a later step
  kMismatch,    ///< it entered another operation, or one of other sizes or types
  kOrder,       ///< ranks entered collectives of several groups in different orders
  kDied,
  kStopped,
  kComputes,
  kData,
  kLock,
  kSleeps,
  kInputOutput,
  kOutOfMemory,
};

struct Hang {
  HangKind kind = HangKind::kNotEntered;
  std::vector<int> ranks;  ///< the culprits
  std::string host;        ///< of the first culprit; "" if there is no table of it
  std::string group;       ///< "" if nobody waits in a collective, or which one is not known
  std::optional<int64_t> sequence;
  std::string operation;  ///< that the others wait in
  std::string entered;   ///< kMismatch: what the culprit entered instead, "all_reduce [[16]] Float"
  std::string expected;  ///< kMismatch: what the others entered
  std::optional<int64_t> step;
  std::vector<int> waiting_ranks;
  std::vector<std::string> stack;  ///< of the first culprit: the user's code, innermost first
  std::string inner;               ///< where it is in libraries
  std::string phase;               ///< kSlow: as in its table
  std::string error;  ///< the exception that ended the first culprit, or its lack of memory; or ""
  int64_t since_ns = 0;     ///< unix time; 0: not known
  bool has_failed = false;  ///< all ranks have ended, so nobody waits any more
};

/// The verdict; nullopt if nothing hangs, if a rank that the others wait for is only slow, or if it
/// cannot be known who it is.
[[nodiscard]] std::optional<Hang> find_hang(std::span<const HangTable> ranks);

/// The same, but where a rank that the others wait for is only slow, it is named as kSlow.
[[nodiscard]] std::optional<Hang> find_wait(std::span<const HangTable> ranks);

/// "skipped", "mismatch": the name in redline.report/1.
[[nodiscard]] const char* hang_kind_name(HangKind kind);
[[nodiscard]] HangKind hang_kind_of(std::string_view name);  ///< kNotEntered for any other name

}  // namespace redline::trace
