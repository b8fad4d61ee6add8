#include "machine/doctor/judge.h"

#include <fmt/format.h>

#include "base/format.h"

namespace redline::doctor {

std::string text_of(CudaVersion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

std::string space_text(int64_t bytes, int64_t free_bytes) {
  const std::string all = format_bytes(bytes);
  const std::string unit = all.substr(all.find(' '));
  std::string left = format_bytes(free_bytes);
  if (left.ends_with(unit)) left.resize(left.size() - unit.size());
  return fmt::format("{} ({} free)", all, left);
}

std::vector<Check> judge(const Facts& facts) {
  std::vector<Check> checks;
  for (const auto& part : {judge_driver, judge_gpus, judge_visibility, judge_toolkit, judge_python,
                           judge_recorder, judge_cupti, judge_host, judge_site}) {
    for (Check& check : part(facts)) checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace redline::doctor
