// The recording at a glance: what the Overview pane says, and the strip over the lanes. Each is
// drawn from these values alone; all figures come from the report.
#pragma once

#include <string>
#include <vector>

#include "trace/report/report.h"
#include "viewer/models/session.h"
#include "viewer/models/slice_class.h"

namespace redline::viewer {

struct SummaryPart {
  std::string name;
  SliceClass slice_class = SliceClass::kOther;  ///< gives the colour
  double share = 0;                             ///< of the step, 0..1
};

struct SummaryFigure {
  std::string label;  ///< "GPU busy"
  std::string value;  ///< "55.5 %"
};

struct SummaryCard {
  std::string headline;
  std::string detail;
  std::string gain;      ///< "1.50 ×", empty where unknown
  std::string knob;      ///< for autotune --knob; may be empty
  std::string evidence;  ///< the figures it follows from, one a line
  trace::Severity severity = trace::Severity::kLow;
  size_t trace = 0;      ///< of the report, that the evidence is in
  trace::SliceId slice;  ///< evidence to look at; none where it is no slice
};

struct Summary {
  std::string step;                    ///< "177.6 ms"
  std::string spread;                  ///< "± 3.1 ms · 6 steps"
  std::vector<SummaryPart> parts;      ///< in the order of the bar; parts under 0.05 % left out
  std::vector<SummaryFigure> figures;  ///< none without a GPU
  std::vector<SummaryCard> cards;
};

/// Means over the ranks where there are several.
[[nodiscard]] Summary summarize(const trace::Report& report);

/// One column of the strip over the lanes: how busy the recording was in that part of its time.
struct OverviewColumn {
  double busy = 0;        ///< 0..1: GPUs, or without one the host's operators; mean over traces
  double dataloader = 0;  ///< 0..1: waiting for the next batch
  SliceClass main_class = SliceClass::kCompute;  ///< of what keeps it busy
};

/// `width` columns that share session.range() evenly.
[[nodiscard]] std::vector<OverviewColumn> overview_columns(const Session& session, int width);

}  // namespace redline::viewer
