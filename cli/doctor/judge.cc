#include "cli/doctor/judge.h"

#include <fmt/format.h>

namespace redline::doctor {

std::string text_of(CudaVersion version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

std::string gibibytes(int64_t bytes, bool unit) {
  const double value = static_cast<double>(bytes) / (1LL << 30);
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return unit ? text + " GiB" : text;
}

std::vector<Check> judge(const Facts& facts) {
  std::vector<Check> checks;
  for (const auto& part : {judge_driver, judge_gpus, judge_visibility, judge_toolkit, judge_python,
                           judge_recorder, judge_cupti, judge_host}) {
    for (Check& check : part(facts)) checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace redline::doctor
