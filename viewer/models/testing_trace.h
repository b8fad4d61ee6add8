// Traces and lanes in memory, for tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>

#include "tests/trace_text.h"
#include "trace/read/reader.h"
#include "viewer/models/lane_pyramid.h"
#include "viewer/models/session.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// The trace of one rank. Times are microseconds after `start_us`.
class TestTrace {
 public:
  explicit TestTrace(int rank, int64_t start_us = 1'000'000,
                     const std::string& gpus = R"({"id":0,"name":"Tesla V100"})")
      : rank_(rank), start_us_(start_us) {
    text_.top("\"deviceProperties\": [" + gpus + "]").rank(rank, 2, "nccl");
  }

  TestTrace& slice(const std::string& category, const std::string& name, int pid, int tid,
                   double begin_us, double length_us, const std::string& args = "{}") {
    const int64_t begin_ns = start_us_ * 1000 + std::llround(begin_us * 1000);
    text_.slice(category, name, begin_ns, begin_ns + std::llround(length_us * 1000),
                {.pid = std::to_string(pid),
                 .tid = std::to_string(tid),
                 .args = args.substr(1, args.size() - 2)});
    return *this;
  }
  TestTrace& kernel(const std::string& name, int stream, double begin_us, double length_us) {
    return slice("kernel", name, 0, stream, begin_us, length_us,
                 fmt::format(R"({{"device":0,"stream":{},"correlation":7}})", stream));
  }
  /// A launch of 2 us in thread 1 and its kernel on stream 7.
  TestTrace& launch(const std::string& kernel_name, double at_us, double begin_us,
                    double length_us) {
    const std::string id = fmt::format(R"("correlation":{})", ++launches_);
    return slice("cuda_runtime", "cudaLaunchKernel", 1, 1, at_us, 2, "{" + id + "}")
        .slice("kernel", kernel_name, 0, 7, begin_us, length_us,
               R"({"device":0,"stream":7,)" + id + "}");
  }
  TestTrace& raw(const std::string& event) {
    text_.event(event);
    return *this;
  }

  [[nodiscard]] std::string json() const { return text_.str(); }
  /// Returns the file's path.
  std::string write(const std::string& path) const {
    std::ofstream(path) << json();
    return path;
  }
  [[nodiscard]] std::shared_ptr<const trace::Trace> read() const {
    auto trace = trace::parse_trace(fmt::format("/data/run/rank{}.pt.trace.json", rank_), json());
    EXPECT_TRUE(trace.has_value()) << (trace ? "" : trace.error().message);
    return trace ? *trace : nullptr;
  }

 private:
  int rank_;
  int64_t start_us_;
  int launches_ = 0;
  testing::TraceText text_;
};

/// A training process of two steps of 100 us: main thread 100, autograd thread 101, streams 7, 20.
inline TestTrace training_trace(int rank, int64_t start_us = 1'000'000) {
  TestTrace trace(rank, start_us);
  trace.raw(R"({"ph":"M","name":"thread_name","pid":100,"tid":100,"ts":1,)"
            R"~("args":{"name":"thread 100 (python)"}})~");
  for (int step = 0; step < 2; ++step) {
    const double at = step * 100;
    trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step + 5), 100, 100, at, 99)
        .slice("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 100, 100, at + 1, 20)
        .slice("cpu_op", "aten::linear", 100, 100, at + 30, 30, R"({"Input Dims":[[4,8],[8]]})")
        .slice("cpu_op", "aten::addmm", 100, 100, at + 35, 20)
        .slice("cuda_runtime", "cudaLaunchKernel", 100, 100, at + 40, 5)
        .slice("cpu_op", "aten::mul", 100, 101, at + 70, 10)
        .slice("cpu_op", "aten::sum", 100, 101, at + 72, 5)
        .kernel("gemm", 7, at + 50, 25)
        .kernel("ncclDevKernel_AllReduce", 20, at + 80, 15);
  }
  return trace;
}

inline Session two_ranks() {
  return Session({training_trace(0).read(), training_trace(1, 1'000'010).read()});
}

/// What the table says in a row under a title.
inline std::string cell_text(const Table& table, size_t row, std::string_view title) {
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].title != title || row >= table.rows.size()) continue;
    return value_text(table.rows[row].values[c], table.columns[c].unit);
  }
  return fmt::format("no {}", title);
}

/// The first slice called `name` in trace `trace`.
inline SliceRef slice_named(const Session& session, uint32_t trace, std::string_view name) {
  for (uint32_t i = 0; i < session.traces()[trace].trace->slice_count(); ++i) {
    if (session.name_of({trace, {i}}) == name) return {trace, {i}};
  }
  ADD_FAILURE() << "no slice " << name;
  return {};
}

/// A random lane: bursts, gaps, slices from 0 ns to a third of the lane.
struct RandomLane {
  std::vector<int64_t> begin_ns;
  std::vector<int64_t> end_ns;
  std::vector<uint8_t> classes;

  RandomLane(uint32_t seed, size_t count, int64_t start_ns) {
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
    };
    int64_t now = start_ns;
    for (size_t i = 0; i < count; ++i) {
      now += below(20) == 0 ? below(200'000) : below(300);
      const int64_t length = below(50) == 0 ? below(100'000) : below(1'000);
      begin_ns.push_back(now);
      now += length;
      end_ns.push_back(now);
      classes.push_back(static_cast<uint8_t>(below(10)));
      if (length == 0) ++now;
    }
  }

  [[nodiscard]] LaneColumns columns() const { return {begin_ns, end_ns, classes}; }
};

}  // namespace redline::viewer
