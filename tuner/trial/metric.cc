#include "tuner/trial/metric.h"

#include <cstdlib>
#include <regex>
#include <sstream>

namespace redline::tuner {

namespace {

// std::regex needs stack for every character that it matches.
constexpr size_t kLongestMetricLine = 4096;

}  // namespace

std::optional<double> last_match(const std::string& text, const std::string& pattern) {
  std::optional<double> found;
  const std::regex expression(pattern);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > kLongestMetricLine) line.resize(kLongestMetricLine);
    for (std::sregex_iterator match(line.begin(), line.end(), expression), end; match != end;
         ++match) {
      const std::string number = (*match)[1].str();
      char* rest = nullptr;
      const double value = std::strtod(number.c_str(), &rest);
      if (!number.empty() && *rest == '\0') found = value;
    }
  }
  return found;
}

tl::expected<void, std::string> check_metric(const std::string& pattern) {
  try {
    const std::regex expression(pattern);
    if (expression.mark_count() == 1) return {};
    return tl::unexpected(
        std::string("it needs exactly one group in round brackets around the number"));
  } catch (const std::regex_error& error) {
    return tl::unexpected(std::string("no regular expression: ") + error.what());
  }
}

}  // namespace redline::tuner
