// The recording at a glance, for the Overview pane, which is drawn from these values alone; all
// figures come from the report.
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
  std::string gain;      ///< "1.50 ×" at most, if cured; empty where unknown
  std::string trial;     ///< "autotune --knob amp=off,bf16"; may be empty
  std::string evidence;  ///< the figures it follows from, one a line
  trace::Severity severity = trace::Severity::kLow;
  size_t trace = 0;      ///< index of the report's trace that has the evidence
  trace::SliceId slice;  ///< evidence to look at; none() if it is no slice
  Interval time;         ///< where it is then, in the trace's time
  bool is_idle = false;  ///< the evidence is that no GPU worked
};

struct Summary {
  std::string title;                   ///< what `step` is the time of: "Average step"
  std::string step;                    ///< "177.6 ms"
  std::string spread;                  ///< "± 3.1 ms · 6 steps"
  std::string ranks;                   ///< which rank is the straggler; empty for one rank
  std::vector<std::string> notes;      ///< what to know of the traces before any figure
  std::vector<SummaryPart> parts;      ///< in the order of the bar; parts under 0.05 % left out
  std::vector<SummaryFigure> figures;  ///< none without a GPU
  std::vector<SummaryCard> cards;
  std::string without_cards;  ///< what is said in their place; empty if there are any
};

/// The class whose colour a part of a step has.
[[nodiscard]] SliceClass class_of(trace::BreakdownPart part);

/// Figures are means over the ranks if there are several.
[[nodiscard]] Summary summarize(const trace::Report& report);

}  // namespace redline::viewer
