// The parts of a report that say how close operators come to what the device can do.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "trace/analysis/roofline.h"
#include "trace/report/report.h"

namespace redline::trace {

/// A row of the table of operators by shapes.
struct RooflineRow {
  const RankSummary* summary = nullptr;
  const OperatorShape* shape = nullptr;
  RooflinePoint point;
  std::string of_rank = {};  ///< " of rank 3" if there are several traces, else empty
};

/// All rows of the traces: the most lost time first, then those without a roof by GPU time.
[[nodiscard]] std::vector<RooflineRow> roofline_rows(std::span<const RankSummary> traces);

/// Those that pages show: without rows that took no time, and without ranks whose GPU's work is not
/// recorded, as the host's times have no roof.
[[nodiscard]] std::vector<RooflineRow> shown_roofline_rows(std::span<const RankSummary> traces);

/// "mm 8944x1024, 1024x2816"
[[nodiscard]] std::string roofline_shape(const RooflineRow& row);
/// The same with the rank: the ranks of a job call the same operators with the same shapes.
[[nodiscard]] std::string roofline_name(const RooflineRow& row);

/// The step's use of the device's peak, a mean of the traces that know theirs; "" if none does.
[[nodiscard]] std::string model_use_line(const std::vector<RankSummary>& traces);

/// What the table's figures rest on, and what they leave out.
[[nodiscard]] std::vector<std::string> roofline_notes(const Report& report);

[[nodiscard]] nlohmann::ordered_json shape_kernels_json(const StringTable& strings,
                                                        std::span<const ShapeKernel> kernels);
/// traces[].operators_by_shape[], in the order of roofline_rows().
[[nodiscard]] nlohmann::ordered_json operators_by_shape_json(const RankSummary& summary);
/// traces[].roofline: peaks, the model's use of them; null without shapes.
[[nodiscard]] nlohmann::ordered_json roofline_json(const RankSummary& summary);

}  // namespace redline::trace
