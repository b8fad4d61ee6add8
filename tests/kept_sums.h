// Many figures as a few sums that a file of the sources keeps: a change that nobody meant shows in
// one.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/paths.h"

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
  [[nodiscard]] std::map<std::string, std::string> lines() const {
    std::map<std::string, std::string> lines;
    for (const auto& [name, sum] : sums_) {
      lines[name] = fmt::format("{} {} {}", sum.count, text(sum.values), text(sum.weighted));
    }
    return lines;
  }

  /// Compares the sums with those of a file of the sources. If they differ, writes them into the
  /// build folder, to be looked at and copied.
  void expect_kept(const std::string& path) const {
    const auto now = lines();
    const std::string kept = source_dir() + "/" + path;
    const auto before = lines_of_file(kept);
    if (now == before) return;
    const auto made = std::filesystem::path(programs_dir()).parent_path() /
                      std::filesystem::path(path).filename();
    std::ofstream file(made);
    for (const auto& [name, line] : now) file << name << ": " << line << '\n';
    std::string differences;
    size_t count = 0;
    const auto tell = [&](const std::string& name, const std::string& was, const std::string& is) {
      if (was != is && ++count <= 10) differences += fmt::format("{}: {}, was {}\n", name, is, was);
    };
    const auto line_of = [](const auto& lines, const std::string& name) {
      const auto found = lines.find(name);
      return found == lines.end() ? std::string("nothing") : found->second;
    };
    for (const auto& [name, line] : before) tell(name, line, line_of(now, name));
    for (const auto& [name, line] : now) {
      if (!before.contains(name)) tell(name, "nothing", line);
    }
    ADD_FAILURE() << count << " figures differ (count, sum, sum by place):\n"
                  << differences << "If they are as they should be: cp " << made << " " << kept;
  }

 private:
  static std::map<std::string, std::string> lines_of_file(const std::string& path) {
    std::map<std::string, std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      const size_t colon = line.rfind(": ");
      if (colon != std::string::npos) lines[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return lines;
  }
  // Whole numbers to the last digit. Of others, as much as no compiler rounds otherwise.
  static std::string text(double value) {
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
