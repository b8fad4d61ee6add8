// The report on a session as the Overview pane shows it: words and shares, nothing to compute.
#pragma once

#include <string>
#include <vector>

#include "trace/report/report.h"
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

}  // namespace redline::viewer
