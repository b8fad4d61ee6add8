#include "profiler/host/host_samples.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/statistics.h"
#include "tests/recording.h"
#include "tests/variables.h"

namespace redline::profiler {
namespace {

using nlohmann::json;

/// Records windows on a machine whose driver is the stub.
class GpuSampling : public ::testing::Test, protected testing::Variables {
 protected:
  GpuSampling() {
    for (const char* name : {"libcuda.so.1", "libcupti.so.13", "libnvidia-ml.so.1"}) {
      const std::string path = std::string(REDLINE_STUB_DIR) + "/" + name;
      library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
      EXPECT_NE(library_, nullptr) << dlerror();
    }
  }
  ~GpuSampling() override { redline_discard(); }
  [[nodiscard]] int rounds() const {
    return reinterpret_cast<int (*)()>(dlsym(library_, "redline_stub_load_questions"))();
  }
  /// Records a window in which GPUs are asked `wanted` times.
  [[nodiscard]] json record(int wanted, int xid = 0, bool with_gpu = true) {
    testing::begin_recording({{"host_samples_hz", 100}, {"gpu", with_gpu}});
    set("REDLINE_STUB_XID", xid);
    const int begun = rounds();
    while (rounds() < begun + wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    json trace = testing::end_recording();
    if (!has_given_up(trace) || std::getenv("REDLINE_STUB_HANG") != nullptr) return trace;
    return record(wanted, xid, with_gpu);  // the sampler got no core to end in time
  }
  static bool has_given_up(const json& trace) {
    return trace["redline"].value("nvml", json::object()) == json({{"off", "NVML did not answer"}});
  }
  /// The values of each "track: unit".
  static std::map<std::string, std::vector<double>> tracks_of(const json& trace) {
    std::map<std::string, std::vector<double>> tracks;
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] != "C") continue;
      const auto of_unit = event["args"].begin();
      tracks[event["name"].get<std::string>() + ": " + of_unit.key()].push_back(*of_unit);
    }
    return tracks;
  }

  void* library_ = nullptr;  ///< the stub of NVML
};

TEST_F(GpuSampling, OfEachGpuThatTheProcessUses) {
  set("REDLINE_STUB_GPUS", 8);
  set("REDLINE_STUB_VISIBLE", 2);
  const json trace = record(8);
  auto tracks = tracks_of(trace);
  EXPECT_GE(tracks["GPU 0: busy %"].size(), 2U);
  EXPECT_EQ(tracks["GPU 0: busy %"][0], 97);
  EXPECT_EQ(tracks["GPU 1: busy %"][0], 87);
  EXPECT_EQ(tracks["GPU 1 power: W"][0], 512.3);
  const auto& rates = tracks["GPU 0 PCIe received: MB/s"];
  ASSERT_GE(rates.size(), 3U);
  EXPECT_NEAR(upper_median(rates), 12'000, 6'000) << "whatever a pause does to one of them";
  EXPECT_EQ(tracks["GPU 0 throttled: heat"][0], 1);
  EXPECT_FALSE(tracks.contains("GPU 2: busy %"));
  EXPECT_EQ(trace["redline"]["nvml"],
            json::parse(R"({"gpus": 2, "lost_gpus": 0, "lost_readings": 0, "narrow_counters": 0,
                "xids": []})"));
}

TEST_F(GpuSampling, AGpuThatFallsOffTheBusIsCountedAndTheOthersGoOn) {
  set("REDLINE_STUB_GPUS", 2);
  set("REDLINE_STUB_VISIBLE", 2);
  set("REDLINE_STUB_LOST_AFTER", 6);
  const json trace = record(20, 79);
  auto tracks = tracks_of(trace);
  EXPECT_LE(tracks["GPU 1: busy %"].size(), 6U);
  EXPECT_FALSE(tracks["GPU 0: busy %"].empty());
  EXPECT_EQ(trace["redline"]["nvml"]["lost_gpus"], 1);
  EXPECT_EQ(trace["redline"]["nvml"]["xids"], json({79}));
  const auto& events = trace["traceEvents"];
  const auto xid =
      std::ranges::find(events, "GPU 0: Xid 79", [](const json& e) { return e["name"]; });
  ASSERT_NE(xid, events.end());
  EXPECT_EQ((*xid)["args"], json({{"device", 0}, {"Xid", 79}}));
}

TEST_F(GpuSampling, APartOfAGpuHasItsOwnFiguresOnly) {
  set("REDLINE_STUB_MIG", 1);
  auto tracks = tracks_of(record(2));
  EXPECT_EQ(tracks["GPU 0 memory: MiB"][0], 51) << "703 MiB of the GPU are in use";
  EXPECT_FALSE(tracks.contains("GPU 0: busy %"));
}

TEST_F(GpuSampling, NotWithoutTheGpu) {
  const json trace = record(0, 0, false);
  EXPECT_FALSE(tracks_of(trace).contains("GPU 0: busy %"));
  EXPECT_FALSE(trace["redline"].contains("nvml"));
}

TEST_F(GpuSampling, ADriverThatRefusesIsNamed) {
  set("REDLINE_STUB_NVML_STATUS", nvml::kLibraryMismatch);
  EXPECT_EQ(record(0)["redline"]["nvml"], json({{"off", "Driver/library version mismatch"}}));
}

TEST_F(GpuSampling, OneThatNeverAnswersHoldsNobodyUp) {
  set("REDLINE_STUB_HANG", 1);
  const json trace = record(0);
  EXPECT_TRUE(has_given_up(trace)) << trace["redline"]["nvml"];
  EXPECT_TRUE(trace["redline"].contains("gpu")) << "CUPTI's part is there";
}

TEST_F(GpuSampling, AProcessThatEndsWaitsOnlyAsLongAsItMay) {
  for (const bool hangs : {false, true}) {
    set("REDLINE_STUB_HANG", hangs ? 1 : 0);
    testing::begin_recording({{"host_samples_hz", 100}, {"gpu", false}});
    GpuSampler sampler;
    sampler.enable({.host_samples_hz = 100});
    sampler.ask_to_stop();
    const auto now = std::chrono::steady_clock::now();
    sampler.disable_until(hangs ? now : now + std::chrono::hours(1));
    const json trace = testing::end_recording();
    EXPECT_EQ(has_given_up(trace), hangs) << trace["redline"];
  }
}

}  // namespace
}  // namespace redline::profiler
