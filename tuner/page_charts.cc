#include "tuner/page_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "trace/html.h"
#include "tuner/words.h"

namespace redline::tuner {
namespace {

using trace::html::escape;

constexpr double kWidth = 560, kHeight = 260;
constexpr double kLeft = 64, kRight = 12, kTop = 12, kBottom = 34;
constexpr std::array kColours = {"--kernel",  "--communication", "--memcpy",
                                 "--overlap", "--dataloader",    "--runtime"};

/// Maps values to the drawing; x by the logarithm where it is asked for.
struct Axes {
  double low_x, high_x, high_y;
  bool log_x = false;

  [[nodiscard]] double x(double value) const {
    const auto scale = [&](double v) { return log_x ? std::log(v) : v; };
    const double span = std::max(scale(high_x) - scale(low_x), 1e-9);
    return kLeft + (kWidth - kLeft - kRight) * (scale(value) - scale(low_x)) / span;
  }
  [[nodiscard]] double y(double value) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * value / high_y;
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

std::string frame(const Axes& axes, const std::string& x_title) {
  std::string svg =
      fmt::format("<svg class=chart viewBox=\"0 0 {} {}\" role=img>", kWidth, kHeight);
  const double step = grid_step(axes.high_y);
  for (double value = 0; value <= axes.high_y; value += step) {
    svg += fmt::format(
        "<line class=grid x1={0} x2={1} y1={2:.1f} y2={2:.1f} /><text x={3} y={4:.1f} "
        "text-anchor=end>{5}</text>",
        kLeft, kWidth - kRight, axes.y(value), kLeft - 6, axes.y(value) + 4,
        value == 0 ? "0" : number_text(value));
  }
  return svg + fmt::format("<text x={} y={} text-anchor=middle>{}</text>",
                           (kLeft + kWidth - kRight) / 2, kHeight - 2, x_title);
}

std::string tick(const Axes& axes, double value, const std::string& text) {
  return fmt::format("<text x={:.1f} y={} text-anchor=middle>{}</text>", axes.x(value),
                     kHeight - kBottom + 14, text);
}

struct Mark {
  double batch;
  double rate;  ///< 0: out of memory
  std::string hint;
};

/// What a legend needs to tell the lines apart: the knobs that have several values.
std::string stratum_name(const History& history, const Config& config) {
  std::string name;
  for (const auto& [knob, value] : history.effective(config)) {
    if (knob == "batch_size" || knob == "accumulation") continue;
    const bool varies = std::any_of(history.trials().begin(), history.trials().end(),
                                    [&, &knob = knob, &value = value](const FinishedTrial& trial) {
                                      const Config all = history.effective(trial.config);
                                      const auto found = all.find(knob);
                                      return found != all.end() && found->second != value;
                                    });
    if (varies) name += (name.empty() ? "" : ", ") + knob + " " + value;
  }
  return name.empty() ? "all trials" : name;
}

double rate_of(const FinishedTrial& trial) {
  return trial.ok() ? trial.result.throughput->samples_per_s : 0;
}

std::string hint_of(const FinishedTrial& trial) {
  const std::string ended = trial.ok() ? number_text(rate_of(trial)) + " samples/s"
                                       : std::string(to_string(trial.result.outcome));
  return fmt::format("trial {}: {}", trial.id, ended);
}

std::string dot(const Axes& axes, double x, double rate, const char* colour,
                const std::string& hint) {
  return fmt::format(
      "<circle cx={:.1f} cy={:.1f} r=3.5 style=\"fill:var({})\"><title>{}</title></circle>",
      axes.x(x), axes.y(rate), colour, escape(hint));
}

std::string cross(const Axes& axes, double x, const std::string& hint) {
  return fmt::format(
      "<path class=failed d=\"M{0:.1f} {1:.1f}l8 8m0 -8l-8 8\"><title>{2}</title></path>",
      axes.x(x) - 4, axes.y(0) - 10, escape(hint));
}

double highest_rate(const History& history) {
  double highest = 1e-9;
  for (const FinishedTrial& trial : history.trials()) highest = std::max(highest, rate_of(trial));
  return highest;
}

std::map<std::string, std::vector<Mark>> marks_by_stratum(const History& history) {
  std::map<std::string, std::vector<Mark>> strata;
  for (const FinishedTrial& trial : history.trials()) {
    const Config all = history.effective(trial.config);
    const auto batch = all.find("batch_size");
    const auto size = batch == all.end() ? std::nullopt : parse_integer(batch->second);
    if (!size || *size <= 0 || (!trial.ok() && !trial.out_of_memory())) continue;
    strata[stratum_name(history, trial.config)].push_back(
        {static_cast<double>(*size), rate_of(trial),
         fmt::format("batch size {}, {}", *size, hint_of(trial))});
  }
  return strata;
}

}  // namespace

std::string batch_chart(const History& history) {
  const auto strata = marks_by_stratum(history);
  if (strata.empty()) return "";
  Axes axes{.low_x = 1e9, .high_x = 1, .high_y = 1.08 * highest_rate(history), .log_x = true};
  for (const auto& [name, marks] : strata) {
    for (const Mark& mark : marks) {
      axes.low_x = std::min(axes.low_x, mark.batch);
      axes.high_x = std::max(axes.high_x, mark.batch);
    }
  }
  axes.low_x /= 1.3, axes.high_x *= 1.3;
  std::string svg = frame(axes, "batch size of a rank");
  for (double size = 1; size <= axes.high_x; size *= axes.high_x / axes.low_x > 300 ? 4 : 2) {
    if (size >= axes.low_x) svg += tick(axes, size, fmt::format("{:.0f}", size));
  }
  std::string legend;
  size_t index = 0;
  for (auto [name, marks] : strata) {
    const char* colour = kColours[index++ % kColours.size()];
    std::stable_sort(marks.begin(), marks.end(),
                     [](const Mark& a, const Mark& b) { return a.batch < b.batch; });
    std::string line;
    std::string shapes;
    for (const Mark& mark : marks) {
      if (mark.rate == 0) {
        shapes += cross(axes, mark.batch, mark.hint);
        continue;
      }
      line += fmt::format("{:.1f},{:.1f} ", axes.x(mark.batch), axes.y(mark.rate));
      shapes += dot(axes, mark.batch, mark.rate, colour, mark.hint);
    }
    svg +=
        fmt::format("<polyline points=\"{}\" style=\"stroke:var({})\" />{}", line, colour, shapes);
    legend +=
        fmt::format("<span class=key><i class=swatch style=\"background:var({})\"></i>{}</span>",
                    colour, escape(name));
  }
  return svg + "</svg><p class=legend>" + legend + "</p>";
}

std::string convergence_chart(const History& history) {
  const auto count = static_cast<double>(history.trials().size());
  const Axes axes{.low_x = 0.5, .high_x = count + 0.5, .high_y = 1.08 * highest_rate(history)};
  std::string svg = frame(axes, "trial");
  const double every = std::max(1.0, std::ceil(count / 10));
  double best = 0;
  std::string line;
  std::string shapes;
  for (size_t i = 0; i < history.trials().size(); ++i) {
    const FinishedTrial& trial = history.trials()[i];
    const double number = static_cast<double>(i) + 1;
    if (std::fmod(number - 1, every) == 0) svg += tick(axes, number, fmt::format("{:.0f}", number));
    const double before = best;
    best = std::max(best, rate_of(trial));
    line += fmt::format("{0:.1f},{1:.1f} {0:.1f},{2:.1f} ", axes.x(number), axes.y(before),
                        axes.y(best));
    shapes += trial.ok() ? dot(axes, number, rate_of(trial), "--kernel", hint_of(trial))
                         : cross(axes, number, hint_of(trial));
  }
  return svg +
         fmt::format("<polyline points=\"{}\" style=\"stroke:var(--communication)\" />", line) +
         shapes + "</svg>";
}

}  // namespace redline::tuner
