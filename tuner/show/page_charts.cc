#include "tuner/show/study_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/format.h"
#include "trace/report/html.h"
#include "tuner/search/memory_model.h"
#include "tuner/search/step_model.h"
#include "tuner/study/study_figures.h"

namespace redline::tuner {
namespace {

using trace::html::escape;

constexpr double kChartWidth = 560, kChartHeight = 260;
constexpr double kLeft = 64, kRight = 12, kTop = 12, kBottom = 34;
constexpr std::array kColours = {"--kernel",  "--communication", "--memcpy",
                                 "--overlap", "--dataloader",    "--runtime"};

/// Maps values to positions in the drawing; x may be on a logarithmic scale.
struct Axes {
  double low_x, high_x, high_y;
  bool log_x = false;

  [[nodiscard]] double x(double value) const {
    const auto scale = [&](double v) { return log_x ? std::log(v) : v; };
    const double span = std::max(scale(high_x) - scale(low_x), 1e-9);
    return kLeft + (kChartWidth - kLeft - kRight) * (scale(value) - scale(low_x)) / span;
  }
  [[nodiscard]] double y(double value) const {
    return kChartHeight - kBottom - (kChartHeight - kTop - kBottom) * value / high_y;
  }
};

/// A step of 1, 2 or 5 times a power of ten that gives about four lines.
double grid_step(double high) {
  const double power = std::pow(10, std::floor(std::log10(high / 4)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (high / (factor * power) <= 5) return factor * power;
  }
  return 10 * power;
}

std::string frame(const Axes& axes, const std::string& x_title, const char* y_title) {
  std::string svg =
      fmt::format("<svg class=chart viewBox=\"0 0 {} {}\" role=img>", kChartWidth, kChartHeight);
  const double step = grid_step(axes.high_y);
  for (double value = 0; value <= axes.high_y; value += step) {
    svg += fmt::format(
        "<line class=grid x1={0} x2={1} y1={2:.1f} y2={2:.1f} /><text x={3} y={4:.1f} "
        "text-anchor=end>{5}</text>",
        kLeft, kChartWidth - kRight, axes.y(value), kLeft - 6, axes.y(value) + 4,
        value == 0 ? "0" : format_number(value));
  }
  return svg + fmt::format(
                   "<text x={} y={} text-anchor=middle>{}</text>"
                   "<text transform=\"translate(11 {}) rotate(-90)\" "
                   "text-anchor=middle>{}</text>",
                   (kLeft + kChartWidth - kRight) / 2, kChartHeight - 2, x_title,
                   (kTop + kChartHeight - kBottom) / 2, y_title);
}

std::string tick(const Axes& axes, double value, const std::string& text) {
  return fmt::format("<text x={:.1f} y={} text-anchor=middle>{}</text>", axes.x(value),
                     kChartHeight - kBottom + 14, text);
}

/// A dot, or a cross at the bottom for a trial that failed.
std::string shape(const Axes& axes, const TrialMark& mark, const char* colour) {
  if (mark.rate) {
    return fmt::format(
        "<circle cx={:.1f} cy={:.1f} r=3.5 style=\"fill:var({})\"><title>{}</title></circle>",
        axes.x(mark.x), axes.y(*mark.rate), colour, escape(mark.hint));
  }
  return fmt::format(
      "<path class=failed d=\"M{0:.1f} {1:.1f}l8 8m0 -8l-8 8\"><title>{2}</title></path>",
      axes.x(mark.x) - 4, axes.y(0) - 10, escape(mark.hint));
}

/// 1 if no trial succeeded.
double highest_rate(const History& history) {
  double highest = 0;
  for (const FinishedTrial& trial : history.trials()) {
    if (trial.ok()) highest = std::max(highest, trial.score().samples_per_s);
  }
  return highest > 0 ? highest : 1;
}

/// A picture of the model needs this many trials that gave a rate.
constexpr size_t kFewestForModel = 4;
constexpr int kCurvePoints = 60;

std::string legend_key(const char* colour, const std::string& text) {
  return fmt::format("<span class=key><i class=swatch style=\"background:var({})\"></i>{}</span>",
                     colour, escape(text));
}

/// For example "Compute limits: the loader alone would reach 1.4 x as much."
std::string limit_sentence(const StepParts& parts, bool memory_is_near) {
  std::string text;
  if (parts.loader < HUGE_VAL) {
    text = parts.loader < parts.compute
               ? fmt::format("The loader limits: compute alone would reach {:.1f} x as much.",
                             parts.compute / parts.loader)
               : fmt::format("Compute limits: the loader alone would reach {:.1f} x as much.",
                             parts.loader / parts.compute);
  }
  if (memory_is_near) text += " Memory allows hardly a larger batch.";
  return text;
}

/// A line over the whole height.
std::string upright(const Axes& axes, double batch, const char* colour) {
  return fmt::format(
      "<line class=frontier x1={0:.1f} x2={0:.1f} y1={1} y2={2} "
      "style=\"stroke:var({3})\" />",
      axes.x(batch), kTop, kChartHeight - kBottom, colour);
}

/// What the model of the search says of the best configuration with other batch sizes.
struct BatchModel {
  std::vector<std::pair<double, StepParts>> curve;  ///< by batch size
  StepParts here;                                   ///< of the best configuration itself
  double full = 0;  ///< the least batch size that probably does not fit into memory; 0: none
};

BatchModel model_of_batches(const History& history, const Space& space, Config config,
                            const StudyTerms& terms, const Axes& axes) {
  const SearchSettings settings{.machine = terms.machine,
                                .memory_limit_bytes = terms.memory_limit_bytes,
                                .has_memory_metric = !terms.memory_metric_regex.empty()};
  const MemoryModel memory(space, settings, history);
  const StepModel steps(space, settings, history, memory);
  // Its confirming runs had no trials beside them.
  const bool alone = std::ranges::any_of(history.runs_of(config), &FinishedTrial::confirms);
  BatchModel model{.curve = {}, .here = steps.parts(steps.place(config, alone))};
  for (int i = 0; i <= kCurvePoints; ++i) {
    const double batch = std::round(
        axes.low_x * std::pow(axes.high_x / axes.low_x, static_cast<double>(i) / kCurvePoints));
    config["batch_size"] = fmt::format("{:.0f}", batch);
    model.curve.emplace_back(batch, steps.parts(steps.place(config, alone)));
    if (model.full == 0 && memory.chance(config) < 0.5) model.full = batch;
  }
  return model;
}

/// The lines of the rates that compute and loader allow, and where memory ends.
void draw_roofs(const BatchModel& model, const Axes& axes, std::string& svg, std::string& legend) {
  std::string compute, loader, both;
  for (const auto& [batch, parts] : model.curve) {
    const auto add = [&, x = axes.x(batch)](std::string& line, double rate) {
      if (rate <= axes.high_y) line += fmt::format("{:.1f},{:.1f} ", x, axes.y(rate));
    };
    add(compute, parts.compute);
    add(loader, parts.loader);
    if (model.full == 0 || batch < model.full) add(both, parts.rate);
  }
  const auto draw = [&](const std::string& line, const char* colour, const char* look,
                        const std::string& text) {
    if (line.empty()) return;
    svg += fmt::format("<polyline points=\"{}\" class=\"{}\" style=\"stroke:var({})\" />", line,
                       look, colour);
    legend += legend_key(colour, text);
  };
  draw(both, "--communication", "", "both together");
  draw(compute, "--kernel", "roof", "compute alone");
  draw(loader, "--dataloader", "roof", "loader alone");
  if (loader.empty() && model.here.loader < HUGE_VAL) {
    legend += legend_key("--dataloader", fmt::format("loader alone: {}, above the picture",
                                                     format_number(model.here.loader)));
  }
  if (model.full > 0) {
    svg += upright(axes, model.full, "--memcpy");
    legend += legend_key("--memcpy", "memory is full");
  }
}

}  // namespace

std::string batch_chart_svg(const History& history) {
  const std::vector<BatchSeries> all = batch_series(history);
  if (all.empty()) return "";
  Axes axes{.low_x = 1e9, .high_x = 1, .high_y = 1.08 * highest_rate(history), .log_x = true};
  for (const BatchSeries& series : all) {
    axes.low_x = std::min(axes.low_x, series.marks.front().x);
    axes.high_x = std::max(axes.high_x, series.marks.back().x);
  }
  axes.low_x /= 1.3, axes.high_x *= 1.3;
  std::string svg = frame(axes, "batch size of a rank", unit_of(history.objective()));
  for (double size = 1; size <= axes.high_x; size *= axes.high_x / axes.low_x > 300 ? 4 : 2) {
    if (size >= axes.low_x) svg += tick(axes, size, fmt::format("{:.0f}", size));
  }
  std::string legend;
  size_t index = 0;
  for (const BatchSeries& series : all) {
    const char* colour = kColours[index++ % kColours.size()];
    std::string line;
    // Between the largest batch that fits and the smallest that does not.
    const std::optional<double> limit = series.frontier.middle();
    std::string shapes = limit ? upright(axes, *limit, colour) : "";
    for (const TrialMark& mark : series.marks) {
      if (mark.is_best) line += fmt::format("{:.1f},{:.1f} ", axes.x(mark.x), axes.y(*mark.rate));
      shapes += shape(axes, mark, colour);
    }
    svg +=
        fmt::format("<polyline points=\"{}\" style=\"stroke:var({})\" />{}", line, colour, shapes);
    legend += legend_key(colour, series.name);
  }
  return svg + "</svg><p class=legend>" + legend + "</p>";
}

std::string model_chart_svg(const History& history, const Space& space, const Best& best,
                            const StudyTerms& terms) {
  const auto ok = std::ranges::count_if(history.trials(), &FinishedTrial::ok);
  const auto size = number_of(best.effective, "batch_size");
  if (!size || *size <= 0 || ok < static_cast<int64_t>(kFewestForModel)) return "";
  const auto at = static_cast<double>(*size);
  Axes axes{.low_x = std::max(1.0, at / 16), .high_x = 4 * at, .high_y = 0, .log_x = true};
  const BatchModel model = model_of_batches(history, space, best.effective, terms, axes);
  const double measured = best.estimate.score.samples_per_s;
  axes.high_y = 2 * std::max(model.here.rate, measured);
  std::string svg = frame(axes, "batch size of a rank", unit_of(history.objective()));
  for (double tick_at = at / 16; tick_at <= 4 * at; tick_at *= 2) {
    if (tick_at < axes.low_x || tick_at != std::floor(tick_at)) continue;
    svg += tick(axes, tick_at, fmt::format("{:.0f}", tick_at));
  }
  std::string legend;
  draw_roofs(model, axes, svg, legend);
  svg += shape(axes, {.trial = 0, .x = at, .rate = measured, .hint = "the best, as measured"},
               "--overlap");
  legend += legend_key("--overlap", "the best, as measured");
  const std::string limit = limit_sentence(model.here, model.full > 0 && model.full <= 1.1 * at);
  return svg + "</svg><p class=legend>" + legend + "</p>" +
         (limit.empty() ? "" : "<p>" + escape(limit) + "</p>");
}

std::string convergence_chart_svg(const History& history) {
  const std::vector<TrialMark> marks = convergence(history);
  const auto count = static_cast<double>(marks.size());
  const Axes axes{.low_x = 0.5, .high_x = count + 0.5, .high_y = 1.08 * highest_rate(history)};
  std::string svg = frame(axes, "trial", unit_of(history.objective()));
  const double every = std::max(1.0, std::ceil(count / 10));
  double best = 0;
  std::string line;
  std::string shapes;
  for (const TrialMark& mark : marks) {
    if (std::fmod(mark.x - 1, every) == 0) svg += tick(axes, mark.x, fmt::format("{:.0f}", mark.x));
    const double before = best;
    if (mark.is_best) best = *mark.rate;
    line += fmt::format("{0:.1f},{1:.1f} {0:.1f},{2:.1f} ", axes.x(mark.x), axes.y(before),
                        axes.y(best));
    shapes += shape(axes, mark, "--kernel");
  }
  return svg +
         fmt::format("<polyline points=\"{}\" style=\"stroke:var(--communication)\" />", line) +
         shapes + "</svg>";
}

}  // namespace redline::tuner
