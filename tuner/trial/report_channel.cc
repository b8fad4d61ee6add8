#include "tuner/trial/report_channel.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/json_values.h"

namespace redline::tuner {

namespace {

using nlohmann::json;

// A rank that writes without a newline must not fill the runner's memory.
constexpr size_t kLongestLine = 64 * 1024;

/// How far this machine's time of day is ahead of its CLOCK_MONOTONIC. With the same difference of
/// another machine, a time of its CLOCK_MONOTONIC can be converted to this machine's, as exactly as
/// their times of day agree.
int64_t own_clock_ns() { return unix_ns() - monotonic_ns(); }

StepReport step_report(const json& line) {
  StepReport report;
  report.rank = line.at("rank").get<int>();
  report.world_size = line.value("world", 1);
  report.time_ns = line.at("t").get<int64_t>();
  if (line.contains("clock")) report.time_ns += line["clock"].get<int64_t>() - own_clock_ns();
  report.steps = line.at("steps").get<int64_t>();
  report.samples = line.at("samples").get<int64_t>();
  if (line.contains("memory")) report.peak_memory_bytes = line["memory"].get<uint64_t>();
  if (line.contains("resting")) report.resting_memory_bytes = line["resting"].get<uint64_t>();
  if (line.contains("capacity")) report.memory_capacity_bytes = line["capacity"].get<uint64_t>();
  report.device = line.value("device", 0);
  report.devices = line.value("devices", 1);
  if (line.contains("wait")) report.data_wait_ns = line["wait"].get<int64_t>();
  report.batches_ahead = line.value("ahead", int64_t{0});
  report.evaluation_ns = line.value("evaluation", int64_t{0});
  if (line.contains("epoch")) report.epoch_samples = line["epoch"].get<int64_t>();
  report.inference = line.value("inference", false);
  if (line.contains("tokens")) report.tokens = line["tokens"].get<int64_t>();
  report.batches_digest = line.value("batches_digest", "");
  report.may_train = line.value("may_train", false);
  report.batches_ns = line.value("batches", std::vector<int64_t>());
  return report;
}

FailureReport failure_report(const json& line) {
  return {line.at("rank").get<int>(), line.at("kind").get<std::string>(), line.value("error", ""),
          line.value("message", "")};
}

UnusedReport unused_report(const json& line) {
  UnusedReport report{line.at("rank").get<int>(), line.at("knobs"), line.at("why")};
  if (line.contains("above")) report.above = line["above"].get<int64_t>();
  return report;
}

SeenReport seen_report(const json& line) {
  SeenReport report{line.at("rank").get<int>(), {}};
  for (const auto& [name, value] : line.at("knobs").get<json::object_t>())
    report.knobs[name] = plain_text(value);
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
    if (type == "unused") return unused_report(object);
    if (type == "begin") return BeginReport{object.at("rank").get<int>()};
    if (type == "compile") {
      return CompileReport{object.at("rank").get<int>(), object.at("running"), object.at("total")};
    }
    if (type == "activity") {
      return ActivityReport{object.at("rank").get<int>(), object.at("forwards"),
                            object.at("backwards"), object.value("without_batch", int64_t{0})};
    }
  } catch (const json::exception&) {
    // The line is no report; the caller counts it.
  }
  return std::nullopt;
}

tl::expected<ReportChannel, std::string> ReportChannel::create(const std::string& path,
                                                               bool other_machines) {
  unlink(path.c_str());
  if (mkfifo(path.c_str(), 0600) != 0) {
    return tl::unexpected(path + ": " + std::strerror(errno));
  }
  const int file = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return tl::unexpected(path + ": " + std::strerror(errno));
  ReportChannel channel(file);
  if (other_machines) {
    channel.folder_ = path + ".d";
    std::error_code error;
    std::filesystem::remove_all(channel.folder_, error);
    std::filesystem::create_directory(channel.folder_, error);
    if (error) return tl::unexpected(channel.folder_ + ": " + error.message());
  }
  return channel;
}

std::vector<Report> ReportChannel::read() {
  std::error_code ignored;
  if (!folder_.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
      const std::string path = entry.path().string();
      if (sources_.contains(path)) continue;
      const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file >= 0) sources_.try_emplace(path, file);
    }
  }
  std::vector<Report> reports;
  for (auto& [path, source] : sources_) read(source, reports);
  return reports;
}

void ReportChannel::read(Source& source, std::vector<Report>& reports) {
  char buffer[65536];
  ssize_t count = 0;
  std::string& rest = source.rest;
  while ((count = ::read(source.file.get(), buffer, sizeof buffer)) > 0) {
    rest.append(buffer, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (auto report = parse_report(rest.substr(begin, end - begin))) {
        reports.push_back(std::move(*report));
      } else {
        ++garbage_;
      }
    }
    rest.erase(0, begin);
    if (rest.size() > kLongestLine) {
      rest.clear();
      ++garbage_;
    }
  }
}

}  // namespace redline::tuner
