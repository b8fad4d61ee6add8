#include "tuner/report_channel.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace redline::tuner {

namespace {

using nlohmann::json;

// A rank that writes without a newline must not fill the runner's memory.
constexpr size_t kLongestLine = 64 * 1024;

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

StepReport step_report(const json& line) {
  StepReport report;
  report.rank = line.at("rank").get<int>();
  report.world_size = line.value("world", 1);
  report.time_ns = line.at("t").get<int64_t>();
  report.steps = line.at("steps").get<int64_t>();
  report.samples = line.at("samples").get<int64_t>();
  if (line.contains("memory")) report.peak_memory_bytes = line["memory"].get<uint64_t>();
  if (line.contains("capacity")) report.memory_capacity_bytes = line["capacity"].get<uint64_t>();
  if (line.contains("wait")) report.data_wait_ns = line["wait"].get<int64_t>();
  return report;
}

FailureReport failure_report(const json& line) {
  return {line.at("rank").get<int>(), line.at("kind").get<std::string>(), line.value("error", ""),
          line.value("message", "")};
}

SeenReport seen_report(const json& line) {
  SeenReport report{line.at("rank").get<int>(), {}};
  for (const auto& [name, value] : line.at("knobs").get<json::object_t>())
    report.knobs[name] = text_of(value);
  return report;
}

}  // namespace

std::optional<Report> parse_report(const std::string& line) {
  try {
    const json object = json::parse(line);
    const std::string type = object.at("type").get<std::string>();
    if (type == "step") return step_report(object);
    if (type == "failure") return failure_report(object);
    if (type == "seen") return seen_report(object);
    if (type == "note") return NoteReport{object.at("rank").get<int>(), object.at("text")};
  } catch (const json::exception&) {
    // Not ours: the caller counts it.
  }
  return std::nullopt;
}

tl::expected<ReportChannel, std::string> ReportChannel::create(const std::string& path) {
  unlink(path.c_str());
  if (mkfifo(path.c_str(), 0600) != 0) {
    return tl::unexpected(path + ": " + std::strerror(errno));
  }
  const int file = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return tl::unexpected(path + ": " + std::strerror(errno));
  return ReportChannel(file);
}

ReportChannel::ReportChannel(ReportChannel&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      rest_(std::move(other.rest_)),
      garbage_(other.garbage_) {}

ReportChannel::~ReportChannel() {
  if (file_ >= 0) close(file_);
}

std::vector<Report> ReportChannel::read() {
  std::vector<Report> reports;
  char buffer[65536];
  ssize_t count = 0;
  while ((count = ::read(file_, buffer, sizeof buffer)) > 0) {
    rest_.append(buffer, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (auto report = parse_report(rest_.substr(begin, end - begin))) {
        reports.push_back(std::move(*report));
      } else {
        ++garbage_;
      }
    }
    rest_.erase(0, begin);
    if (rest_.size() > kLongestLine) {
      rest_.clear();
      ++garbage_;
    }
  }
  return reports;
}

}  // namespace redline::tuner
