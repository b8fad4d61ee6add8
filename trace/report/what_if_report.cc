#include "trace/report/what_if_report.h"

#include <fmt/format.h>

#include <cmath>

#include "base/format.h"
#include "base/json_values.h"

namespace redline::trace {
namespace {

// Where the knob may take all of the step away, there is no most.
std::string gain_text(const Prediction& prediction) {
  const double least = prediction.speedup(prediction.high_ns);
  if (prediction.low_ns <= 0) return fmt::format("  as fast, at least {:.2f} x", least);
  return fmt::format("  as fast, between {:.2f} x and {:.2f} x", least,
                     prediction.speedup(prediction.low_ns));
}

}  // namespace

std::string what_if_text(const std::string& path, std::span<const WhatIfKnob> knobs,
                         const Prediction& prediction, const TextStyle& style) {
  TextCanvas canvas(style);
  std::vector<std::string> texts;
  for (const WhatIfKnob& knob : knobs) texts.push_back(knob.text);
  canvas.left("WHAT IF " + joined(texts, ", "), 0, Hue::kBold).end_line();
  canvas.dim_line("  " + path).end_line();
  canvas.left("  now", 10)
      .right(format_ns(prediction.step_ns), 12)
      .left(fmt::format("  a step, the mean of {}", format_plural(prediction.steps, "step")))
      .end_line();
  canvas.left("  then", 10)
      .right(format_ns(prediction.new_ns), 12)
      .left(fmt::format("  with 90 % certainty between {} and {}", format_ns(prediction.low_ns),
                        format_ns(prediction.high_ns)))
      .end_line();
  if (prediction.samples != 1) {
    canvas.left("", 22)
        .left(fmt::format("  for {} x as many samples", format_number(prediction.samples)))
        .end_line();
  }
  canvas.left("  gain", 10)
      .right(fmt::format("{:.2f} x", prediction.speedup(prediction.new_ns)), 12)
      .left(gain_text(prediction))
      .end_line()
      .end_line();
  return canvas.notes(prediction.notes).take();
}

std::string what_if_json(const std::string& path, std::span<const WhatIfKnob> knobs,
                         const Prediction& prediction) {
  nlohmann::ordered_json object = {{"schema", "redline.what-if/1"}, {"path", path}};
  object["knobs"] = list_json(knobs, &WhatIfKnob::text);
  object["steps"] = prediction.steps;
  object["step_ns"] = std::llround(prediction.step_ns);
  object["predicted"] = {{"step_ns", std::llround(prediction.new_ns)},
                         {"low_ns", std::llround(prediction.low_ns)},
                         {"high_ns", std::llround(prediction.high_ns)},
                         {"certainty", 0.9}};
  object["samples_factor"] = prediction.samples;
  object["speedup"] = {{"value", prediction.speedup(prediction.new_ns)},
                       {"low", prediction.speedup(prediction.high_ns)},
                       {"high", prediction.speedup(prediction.low_ns)}};
  object["notes"] = prediction.notes;
  return json_text(object, 2) + "\n";
}

}  // namespace redline::trace
