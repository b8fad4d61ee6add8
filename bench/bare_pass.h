// The limit of reading a trace: simdjson's on-demand parser over all events, and nothing kept.
#pragma once

#include <cstdint>
#include <string_view>

namespace redline::bench {

/// Number of events in a whole trace, or -1 where one of its chunks is not sound. Chunks of 1 MB,
/// cut where an event ends, are shared out to `threads`; of each event ph, cat, name, pid, tid, ts,
/// dur and id are touched as they stand, the rest is skipped.
[[nodiscard]] int64_t bare_pass(std::string_view text, unsigned threads);

}  // namespace redline::bench
