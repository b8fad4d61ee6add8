#include "profiler/host/host_samples.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "profiler/c_api.h"

namespace redline::profiler {
namespace {

using nlohmann::json;

/// Records windows on a machine whose driver is the stub.
class GpuSampling : public ::testing::Test {
 protected:
  GpuSampling() {
    for (const char* name : {"libcuda.so.1", "libcupti.so.13", "libnvidia-ml.so.1"}) {
      const std::string path = std::string(REDLINE_STUB_DIR) + "/" + name;
      library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
      EXPECT_NE(library_, nullptr) << dlerror();
    }
  }
  ~GpuSampling() override {
    redline_discard();
    std::filesystem::remove(path_);
    for (const char* name :
         {"GPUS", "VISIBLE", "LOST_AFTER", "XID", "HANG", "NVML_STATUS", "MIG"}) {
      unsetenv((std::string("REDLINE_STUB_") + name).c_str());
    }
  }
  static void set(const std::string& name, int value) {
    setenv(("REDLINE_STUB_" + name).c_str(), std::to_string(value).c_str(), 1);
  }
  [[nodiscard]] int rounds() const {
    return reinterpret_cast<int (*)()>(dlsym(library_, "redline_stub_load_questions"))();
  }
  /// Records a window in which GPUs are asked `wanted` times.
  [[nodiscard]] json record(int wanted, int xid = 0, bool with_gpu = true) const {
    const json options{
        {"directory", ::testing::TempDir()}, {"host_samples_hz", 100}, {"gpu", with_gpu}};
    EXPECT_EQ(redline_prepare(options.dump().c_str()), 0) << redline_last_error();
    EXPECT_EQ(redline_start(), 0) << redline_last_error();
    set("XID", xid);
    const int begun = rounds();
    while (rounds() < begun + wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(redline_stop(), 0) << redline_last_error();
    EXPECT_EQ(redline_export(path_.c_str()), 0) << redline_last_error();
    std::ifstream file(path_);
    json trace = json::parse(file);
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
  const std::string path_ = ::testing::TempDir() + "gpus." + std::to_string(getpid()) + ".json";
};

TEST_F(GpuSampling, OfEachGpuThatTheProcessUses) {
  set("GPUS", 8);
  set("VISIBLE", 2);
  const json trace = record(8);
  auto tracks = tracks_of(trace);
  EXPECT_GE(tracks["GPU 0: busy %"].size(), 2U);
  EXPECT_EQ(tracks["GPU 0: busy %"][0], 97);
  EXPECT_EQ(tracks["GPU 1: busy %"][0], 87);
  EXPECT_EQ(tracks["GPU 1 power: W"][0], 512.3);
  EXPECT_NEAR(tracks["GPU 0 PCIe received: MB/s"][0], 12'000, 6'000);
  EXPECT_EQ(tracks["GPU 0 throttled: heat"][0], 1);
  EXPECT_FALSE(tracks.contains("GPU 2: busy %"));
  EXPECT_EQ(trace["redline"]["nvml"],
            json::parse(R"({"gpus": 2, "lost_gpus": 0, "lost_readings": 0, "narrow_counters": 0,
                "xids": []})"));
}

TEST_F(GpuSampling, AGpuThatFallsOffTheBusIsCountedAndTheOthersGoOn) {
  set("GPUS", 2);
  set("VISIBLE", 2);
  set("LOST_AFTER", 6);
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
  set("MIG", 1);
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
  set("NVML_STATUS", nvml::kLibraryMismatch);
  EXPECT_EQ(record(0)["redline"]["nvml"], json({{"off", "Driver/library version mismatch"}}));
}

TEST_F(GpuSampling, OneThatNeverAnswersHoldsNobodyUp) {
  set("HANG", 1);
  const json trace = record(0);
  EXPECT_TRUE(has_given_up(trace)) << trace["redline"]["nvml"];
  EXPECT_TRUE(trace["redline"].contains("gpu")) << "CUPTI's part is there";
}

}  // namespace
}  // namespace redline::profiler
