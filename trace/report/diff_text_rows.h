// The rows that a diff of traces and a diff of step logs have in common, as text of 80 columns.
#pragma once

#include <string>

#include "base/terminal.h"

namespace redline::trace {

/// "before  NAME            2 ranks · 12 steps": `counts` is what stands at the right.
void write_diff_side(TextCanvas& canvas, const char* title, const std::string& name,
                     const std::string& counts);

/// "STEP                12.0 ms  →   11.0 ms     1.09 x faster"
void write_diff_line(TextCanvas& canvas, const char* title, const std::string& before,
                     const std::string& after, const std::string& verdict, Hue hue);

/// The titles above the parts of a step.
void write_diff_part_titles(TextCanvas& canvas, const std::string& title);

/// Steps with an unknown number of samples may hold different work.
void write_unknown_samples(TextCanvas& canvas);

}  // namespace redline::trace
