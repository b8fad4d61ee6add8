// How each kind of record looks in the trace, and which further facts a source may add.
#include "profiler/write/event_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "profiler/source/source.h"
#include "profiler/write/operator_writer.h"
#include "tests/recording.h"

namespace redline::profiler {
namespace {

using nlohmann::json;
using testing::end_recording;

class RecordWriters : public ::testing::Test {
 protected:
  RecordWriters() {
    testing::begin_recording(
        {{"directory", folder_.path()}, {"max_bytes", 1 << 20}, {"memory_budget_bytes", 1 << 20}});
  }
  ~RecordWriters() override { redline_discard(); }

  /// Records one event and gives it as JSON. Checks its time, and leaves that out.
  [[nodiscard]] json event_of(Record record) const {
    record.begin_ns = monotonic_ns();
    submit(record);
    submit({.begin_ns = record.begin_ns + 1000, .name = intern_name("a microsecond later")});
    const json trace = end_recording();
    json event = trace["traceEvents"][0];
    EXPECT_NEAR(trace["traceEvents"][1]["ts"].get<double>() - event["ts"].get<double>(), 1, 0.01);
    event.erase("ts");
    EXPECT_EQ(event["pid"], getpid());
    event.erase("pid");
    return event;
  }

  const testing::TemporaryFolder folder_;
};

TEST(ForwardOperators, OfTheSamePlaceOnlyTheOneThatIsAskedForIsFound) {
  ForwardOperators operators;
  operators.add({.sequence_number = 5, .autograd_thread = 1, .tid = 77, .begin_ns = 9});
  EXPECT_EQ(operators.find(1, 5)->tid, 77U);
  EXPECT_FALSE(operators.find(1, 5 + (1 << 16)));
  EXPECT_FALSE(operators.find(1 + (1 << 16), 5));
}

TEST_F(RecordWriters, Slice) {
  const SliceFields fields = {
      .end_ns = 0, .category = intern_name("nvtx"), .args = intern_args(R"("domain": "nccl")")};
  EXPECT_EQ(event_of({.of = fields, .name = intern_name("step"), .kind = RecordKind::kSlice}),
            json({{"ph", "X"},
                  {"cat", "nvtx"},
                  {"name", "step"},
                  {"tid", gettid()},
                  {"dur", 0.0},
                  {"args", {{"domain", "nccl"}}}}));
}

TEST_F(RecordWriters, Mark) {
  const SliceFields fields = {.category = intern_name("nvtx")};
  EXPECT_EQ(event_of({.of = fields, .name = intern_name("here"), .kind = RecordKind::kMark}),
            json({{"ph", "i"},
                  {"cat", "nvtx"},
                  {"s", "t"},
                  {"name", "here"},
                  {"tid", gettid()},
                  {"args", json::object()}}));
}

TEST_F(RecordWriters, Memory) {
  const MemoryFields fields = {
      .address = 139620612837376, .bytes = -512, .total_allocated = 1024, .total_reserved = 4096};
  EXPECT_EQ(
      event_of(
          {.of = fields, .kind = RecordKind::kMemory, .device_type = 1, .device_index = 0})["args"],
      json({{"Total Reserved", 4096},
            {"Total Allocated", 1024},
            {"Bytes", -512},
            {"Addr", 139620612837376},
            {"Device Id", 0},
            {"Device Type", 1},
            {"finished", false}}));
}

TEST_F(RecordWriters, OutOfMemory) {
  const json event =
      event_of({.of = MemoryFields{.bytes = 1L << 50}, .kind = RecordKind::kOutOfMemory});
  EXPECT_EQ(event["name"], "[OutOfMemory]");
  EXPECT_EQ(event["args"]["Bytes"], 1L << 50);
  EXPECT_FALSE(event["args"].contains("Addr"));
}

TEST_F(RecordWriters, Counter) {
  EXPECT_EQ(event_of({.of = CounterFields{.value = 0.25, .series = intern_name("core 0")},
                      .name = intern_name("CPU"),
                      .kind = RecordKind::kCounter}),
            json({{"ph", "C"},
                  {"cat", "counter"},
                  {"name", "CPU"},
                  {"tid", 0},
                  {"args", {{"core 0", 0.25}}}}));
}

TEST_F(RecordWriters, CounterWithoutAValueIsLeftOut) {
  submit({.begin_ns = monotonic_ns(),
          .of = CounterFields{.value = std::nan("")},
          .name = intern_name("CPU"),
          .kind = RecordKind::kCounter});
  EXPECT_EQ(end_recording()["redline"]["events"], 0);
}

TEST_F(RecordWriters, EntriesOfSourcesStandInTheTraceOfTheirWindow) {
  add_entry("memory_totals", R"({"cpu": 1})");
  add_entry("memory_totals", R"({"cpu": 2})");
  add_entry("redline", R"({"nvtx_lost": 3})");
  add_entry("redline", R"({"stacks_lost": 4})");
  add_entry("broken", "{");
  const json trace = end_recording();
  EXPECT_EQ(trace["memory_totals"], json({{"cpu", 2}}));
  EXPECT_EQ(trace["redline"]["nvtx_lost"], 3);
  EXPECT_EQ(trace["redline"]["stacks_lost"], 4);
  EXPECT_FALSE(trace.contains("broken"));
  add_entry("too late", "1");
  EXPECT_EQ(redline_discard(), 0);
  ASSERT_EQ(redline_prepare(nullptr), 0);
  ASSERT_EQ(redline_start(), 0);
  const json next = end_recording();
  EXPECT_FALSE(next.contains("memory_totals"));
  EXPECT_FALSE(next.contains("too late"));
}

TEST_F(RecordWriters, ASourceMaySayAtTheEndWhatItLost) {
  static struct final : Source {
    void enable(const RecorderOptions&) noexcept override {}
    void disable() noexcept override { add_entry("lost", "7"); }
  } source;
  add_source(&source);
  EXPECT_EQ(end_recording()["lost"], 7);
}

/// A generation of names is released two rounds of the writer thread after the next one has begun.
class LongRecording : public RecordWriters {
 protected:
  static void outlive_the_names() {
    const uint32_t first = name_generation();
    for (int i = 0; name_generation() < first + 3; ++i) {
      static_cast<void>(intern_name(std::to_string(i) + std::string(1000, 'x')));
    }
  }
  [[nodiscard]] json annotation() const {
    const json trace = end_recording();
    for (const json& event : trace["traceEvents"]) {
      if (event.value("cat", "") == "user_annotation") return event;
    }
    return nullptr;
  }
};

TEST_F(LongRecording, WhatWasOpenForLongIsValidWithoutItsArgs) {
  Record record = {.begin_ns = monotonic_ns(), .kind = RecordKind::kAnnotation};
  record.of.op.args = intern_args(R"("a": 1)");
  const BegunSlice begun =
      begin_slice(record.begin_ns, record.kind, "open for long", record.of.op.args, 0);
  outlive_the_names();
  record.name = intern_name("open for long");
  record.of.op.end_ns = monotonic_ns();
  end_slice(begun.slice, record);
  const json event = annotation();
  EXPECT_EQ(event["name"], "open for long");
  EXPECT_EQ(event["args"]["not kept"], true);
}

TEST_F(LongRecording, ARangeKeepsItsName) {
  redline_range_push("an epoch of many steps");
  outlive_the_names();
  redline_range_pop();
  EXPECT_EQ(annotation()["name"], "an epoch of many steps");
}

TEST_F(RecordWriters, ATraceKeepsToItsSize) {
  const TextId name = intern_name(std::string(1000, 'x'));
  for (int i = 0; i < 2000; ++i) submit({.begin_ns = monotonic_ns(), .name = name});
  const json trace = end_recording(folder_);
  EXPECT_EQ(trace["redline_size_limit"]["max_bytes"], 1 << 20);
  const auto& events = trace["traceEvents"];
  EXPECT_EQ(trace["redline"]["events"], std::ranges::count(events, "cpu_op", [](const json& event) {
              return event.value("cat", "");
            }));
  const auto bytes = std::filesystem::file_size(folder_ / "trace.json");
  EXPECT_LT(bytes, (1 << 20) + 10'000u);
  EXPECT_GT(bytes, 1'000'000u);
}

}  // namespace
}  // namespace redline::profiler
