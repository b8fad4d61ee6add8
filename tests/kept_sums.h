// Many figures as a few sums that a file of the sources keeps: a change that nobody meant shows in
// one.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/kept_text.h"

namespace redline::testing {

/// Sums of values by what they are called, and by their places. Text counts by its characters.
class Sums {
 public:
  void add(const std::string& name, double value) {
    Sum& sum = sums_[name];
    sum.values += value;
    sum.weighted += value * static_cast<double>(1 + sum.count++ % 7);
  }
  void add(const std::string& name, const std::string& text) {
    uint32_t hash = 2166136261;
    for (const char each : text) hash = (hash ^ static_cast<uint8_t>(each)) * 16777619;
    add(name + " (text)", hash % 9973);
  }
  void add(const std::string& name, const nlohmann::json& value) {
    if (value.is_object()) {
      for (const auto& [key, member] : value.items()) {
        if (kLeftOut.contains(key)) continue;
        add(name + "." + key, member);
      }
    } else if (value.is_array()) {
      add(name + "[]", static_cast<double>(value.size()));
      for (const nlohmann::json& element : value) add(name, element);
    } else if (value.is_string()) {
      add(name, value.get<std::string>());
    } else {
      add(name, value.is_null()      ? 0.5
                : value.is_boolean() ? value.get<bool>()
                                     : value.get<double>());
    }
  }
  /// Compares the sums with those of a file of the sources.
  void expect_kept(const std::string& path) const {
    std::string text;
    for (const auto& [name, sum] : sums_) {
      text += fmt::format("{}: {} {} {}\n", name, sum.count, text_of(sum.values),
                          text_of(sum.weighted));
    }
    expect_kept_text(text, path);
  }

 private:
  // Whole numbers to the last digit. Of others, as much as no compiler rounds otherwise.
  static std::string text_of(double value) {
    const bool is_whole = value == std::floor(value) && std::abs(value) < 1e15;
    return is_whole ? fmt::format("{:.0f}", value) : fmt::format("{:.9g}", value);
  }

  struct Sum {
    int64_t count = 0;
    double values = 0, weighted = 0;
  };
  // What a run took, and where it ran.
  static inline const std::set<std::string> kLeftOut = {"load_seconds", "analysis_seconds"};
  std::map<std::string, Sum> sums_;
};

}  // namespace redline::testing
