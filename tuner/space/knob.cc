#include "tuner/space/knob.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "base/printable.h"
#include "base/terminal.h"
#include "tuner/space/hook_knobs.h"

namespace redline::tuner {
namespace {

constexpr int64_t kWholeBatch = 8;
constexpr int64_t kFarthest = int64_t{1} << 53;  // searches calculate with double

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
}

std::string example_of(const std::string& name) {
  const HookKnob* hook = find_hook_knob(name);
  if (!hook && name.starts_with("batch")) hook = find_hook_knob("batch_size");
  if (!hook && name.find("workers") != std::string::npos) hook = find_hook_knob("num_workers");
  return hook ? fmt::format("Example: --knob {}={}", hook->name, hook->example)
              : fmt::format("Example: --knob {}=1,2,4", name);
}

tl::unexpected<std::string> error(const std::string& text, const std::string& name,
                                  const std::string& why) {
  return tl::unexpected(fmt::format("--knob {}: {}. {}", text, why, example_of(name)));
}

/// Fills low and high of choices that are all integers.
void note_bounds(Knob& knob) {
  knob.low = std::numeric_limits<int64_t>::max();
  knob.high = std::numeric_limits<int64_t>::min();
  for (const std::string& value : knob.values) {
    const int64_t number = parse_integer(value).value_or(0);
    knob.low = std::min(knob.low, number);
    knob.high = std::max(knob.high, number);
  }
}

std::string reason_not_for_hook(const Knob& knob, const HookKnob& hook) {
  if (hook.values.empty()) {
    if (!knob.is_numeric()) return fmt::format("{} takes integers", knob.name);
    if (knob.low < hook.least) {
      return fmt::format("{} cannot be less than {} (it begins at {})", knob.name, hook.least,
                         knob.low);
    }
    return {};
  }
  if (knob.is_range())
    return fmt::format("{} takes {}, not a range", knob.name, joined(hook.values, ","));
  for (const std::string& value : knob.values) {
    if (std::ranges::find(hook.values, value) == hook.values.end()) {
      return fmt::format("{} cannot be '{}' (it takes {})", knob.name, value,
                         joined(hook.values, ","));
    }
  }
  return {};
}

}  // namespace

std::optional<int64_t> plain_number(const std::string& text) {
  const std::optional<int64_t> number = parse_integer(text);
  return number && std::to_string(*number) == text ? number : std::nullopt;
}

bool Knob::is_numeric() const {
  return std::ranges::all_of(
      values, [](const std::string& value) { return parse_integer(value).has_value(); });
}

bool Knob::contains(const std::string& value) const {
  if (!is_range()) return std::ranges::find(values, value) != values.end();
  const std::optional<int64_t> number = parse_integer(value);
  return number && *number >= low && *number <= high;
}

int64_t Knob::nearest(double value) const {
  assert(is_numeric());
  value = std::clamp(value, static_cast<double>(low), static_cast<double>(high));
  if (is_range()) {
    const int64_t rounded = std::llround(value);
    if (name != "batch_size" || rounded < 2 * kWholeBatch || rounded == high) return rounded;
    const int64_t whole = rounded / kWholeBatch * kWholeBatch;
    return whole >= low ? whole : rounded;
  }
  int64_t best = low;
  for (const std::string& text : values) {
    const int64_t number = parse_integer(text).value_or(low);
    const auto distance = [&](int64_t n) { return std::fabs(static_cast<double>(n) - value); };
    if (distance(number) < distance(best)) best = number;
  }
  return best;
}

int64_t Knob::at_most(double value) const {
  if (is_range()) return nearest(std::floor(value));
  int64_t best = low;
  for (const std::string& text : values) {
    const int64_t number = parse_integer(text).value_or(low);
    if (static_cast<double>(number) <= value) best = std::max(best, number);
  }
  return best;
}

double Knob::by_size(double value) const {
  return std::log2(std::max(value + (low > 0 ? 0 : 1), 0.5));
}

std::string Knob::text() const {
  return is_range() ? fmt::format("{}..{}", low, high) : joined(values, ",");
}

tl::expected<Knob, std::string> parse_knob(const std::string& text) {
  if (const std::string seen = printable(text); seen != text) {
    return error(seen, "batch_size", "it is not UTF-8 or cannot be shown");
  }
  const size_t equals = text.find('=');
  Knob knob;
  knob.name = text.substr(0, equals);
  if (equals == std::string::npos) return error(text, knob.name, "it has no values");
  if (!is_name(knob.name)) {
    return error(text, "batch_size", "a name is letters, digits, '_' and '-'");
  }
  const std::string specification = text.substr(equals + 1);

  const size_t dots = specification.find("..");
  // "../a.yaml" is a path.
  if (dots != std::string::npos && specification.find('/') == std::string::npos) {
    const auto low = parse_integer(std::string_view(specification).substr(0, dots));
    const auto high = parse_integer(std::string_view(specification).substr(dots + 2));
    if (!low || !high) return error(text, knob.name, "a range is LOW..HIGH, two integers");
    if (*low < -kFarthest || *high > kFarthest) {
      return error(text, knob.name, fmt::format("a range goes no farther than {}", kFarthest));
    }
    knob.low = *low;
    knob.high = *high;
    if (knob.low > knob.high) {
      return error(text, knob.name,
                   fmt::format("the range is empty ({} > {})", knob.low, knob.high));
    }
  } else {
    knob.values = split(specification, ',');
    for (size_t i = 0; i < knob.values.size(); ++i) {
      if (knob.values[i].empty()) return error(text, knob.name, "a value is empty");
      if (std::find(knob.values.begin(), knob.values.begin() + static_cast<std::ptrdiff_t>(i),
                    knob.values[i]) != knob.values.begin() + static_cast<std::ptrdiff_t>(i)) {
        return error(text, knob.name, fmt::format("'{}' is named twice", knob.values[i]));
      }
    }
    if (knob.is_numeric()) note_bounds(knob);
  }
  return knob;
}

tl::expected<void, std::string> check_for_hook(const Knob& knob) {
  const HookKnob* hook = find_hook_knob(knob.name);
  const std::string why = hook ? reason_not_for_hook(knob, *hook) : "";
  if (why.empty()) return {};
  return error(fmt::format("{}={}", knob.name, knob.text()), knob.name, why);
}

}  // namespace redline::tuner
