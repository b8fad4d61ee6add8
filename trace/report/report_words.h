// Words that all forms of a report share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/report/report.h"

namespace redline::trace {

/// What a report without findings says in their place.
[[nodiscard]] std::string_view without_findings(const Report& report);

/// " of rank 3" if there are several traces, else empty.
[[nodiscard]] std::string of_rank(const Report& report, const RankSummary& summary);

/// "2 ranks · 6 steps · 1,234 events"; "no marked steps" where there are none.
[[nodiscard]] std::string counts_text(const Report& report);

/// Why flight recorders wrote the traces, a line for each rank: "rank 1: step 40 has not ended …".
[[nodiscard]] std::vector<std::string> reason_lines(const Report& report);

/// Where flight recorders' dumps name nobody who holds the others up: so much, and who is behind.
[[nodiscard]] std::vector<std::string> nobody_named_lines(const Report& report);

/// What a reader must know of the traces before any figure, a sentence each.
[[nodiscard]] std::vector<std::string> trace_notes(const Report& report);

/// How the own work of many ranks is spread, and who is slow; empty for few ranks.
[[nodiscard]] std::vector<std::string> spread_lines(const Report& report);

/// One line for samples (and tokens) a second and one for the latency of inference, each only if it
/// is known.
[[nodiscard]] std::vector<std::string> rate_lines(const Report& report);

/// What pages call the phase of that index. Where no optimizer of torch.optim steps, the update of
/// the parameters is among the operators that count as forward.
[[nodiscard]] std::string_view phase_title(const PhaseTimes& phases, size_t index);

/// "kernel 55.5 %, dataloader 33.4 %, cpu 7.7 %": all classes of at least 1 %, the largest first,
/// also those whose parts have no names, in at most `width` columns.
[[nodiscard]] std::string path_classes(const CriticalPath& path, size_t width);

}  // namespace redline::trace
