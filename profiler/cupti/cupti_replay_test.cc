// Turns real GPU traces back into the CUPTI records from which they must have been made, and
// records these again. The new trace must equal the old one.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <set>

#include "profiler/cupti/activity_text.h"
#include "profiler/cupti/testing_replay.h"
#include "profiler/source/gpu_work.h"
#include "profiler/source/source.h"
#include "tests/paths.h"

namespace redline::cupti {
namespace {

namespace fs = std::filesystem;

class CuptiReplay : public GpuWindow {
 protected:
  static void add_devices(const trace::Trace& of) {
    stub::clear_devices();
    if (of.metadata().device_properties_json.empty()) {
      for (int gpu = 0; gpu < 2; ++gpu) stub::add_device(a100());
      return;
    }
    static constexpr std::pair<int, const char*> kAttributes[] = {
        {1, "maxThreadsPerBlock"},
        {8, "sharedMemPerBlock"},
        {10, "warpSize"},
        {12, "regsPerBlock"},
        {16, "numSms"},
        {39, "maxThreadsPerMultiprocessor"},
        {75, "computeMajor"},
        {76, "computeMinor"},
        {81, "sharedMemPerMultiprocessor"},
        {82, "regsPerMultiprocessor"},
        {97, "sharedMemPerBlockOptin"}};
    for (const auto& json : nlohmann::json::parse(of.metadata().device_properties_json)) {
      stub::Device device{json.value("name", ""), json.value("totalGlobalMem", size_t{0}), {}};
      for (const auto& [attribute, key] : kAttributes) {
        device.attributes[attribute] = json.value(key, 0);
      }
      device.attributes[106] = 32;
      device.attributes[111] = device.attributes[75] >= 8 ? 1024 : 0;
      stub::add_device(device);
    }
  }

  void expect_same(const trace::Trace& original) {
    add_devices(original);
    const auto before = activities_of(original);
    begin();
    Replay(before, monotonic_ns()).run();
    static_cast<void>(end());
    const auto again = trace::read_trace(folder_ / "trace.json");
    ASSERT_TRUE(again);
    const auto after = activities_of(**again);
    const auto expected = lines_of(without_noise(before)), found = lines_of(after);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected[i]) << "line " << i;
    expect_paired_arrows(before, **again);
    if (!original.metadata().device_properties_json.empty()) {
      auto devices = nlohmann::json::parse((*again)->metadata().device_properties_json);
      for (auto& device : devices) {
        for (const char* ours : {"uuid", "hasContext"}) device.erase(ours);
      }
      EXPECT_EQ(devices, nlohmann::json::parse(original.metadata().device_properties_json));
    }
  }

  static std::vector<Activity> without_noise(std::vector<Activity> activities) {
    std::erase_if(activities, [](const Activity& each) {
      return trace::is_launch(each.category) && is_noise(each.name);
    });
    return activities;
  }

  /// Expects an arrow for each call of the trace that put work on a GPU.
  static void expect_paired_arrows(const std::vector<Activity>& before, const trace::Trace& again) {
    std::set<int64_t> called, worked;
    for (const Activity& each : before) {
      (trace::is_launch(each.category) ? called : worked).insert(each.number(kCorrelation));
    }
    const auto both =
        std::ranges::count_if(called, [&](int64_t id) { return worked.contains(id); });
    for (const char* phase : {"s", "f"}) {
      const auto count = std::ranges::find(again.phase_counts(), phase, &trace::PhaseCount::phase);
      ASSERT_NE(count, again.phase_counts().end());
      EXPECT_EQ(count->count, static_cast<uint64_t>(both));
    }
  }
};

TEST_F(CuptiReplay, OurOwnSmallTrace) {
  const auto small = trace::parse_trace("small", R"trace({"deviceProperties": [{"id": 0,
    "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85017493504, "computeMajor": 9,
    "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 132,
    "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448,
    "sharedMemPerMultiprocessor": 233472}], "traceEvents": [
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 1, "tid": 11,
     "ts": 1000.125, "dur": 12.5, "args": {"External id": 3, "cbid": 41, "correlation": 7}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7,
     "ts": 1003.001, "dur": 2.048, "args": {"External id": 3, "device": 0, "context": 1,
     "stream": 7, "correlation": 7, "bytes": 4096}},
    {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 1, "tid": 12,
     "ts": 1004.5, "dur": 4.0, "args": {"cbid": 307, "correlation": 8}},
    {"ph": "X", "cat": "kernel", "name": "triton_poi_fused_add_0", "pid": 0, "tid": 20,
     "ts": 1009.999, "dur": 0.001, "args": {"queued": 0, "device": 0, "context": 1, "stream": 20,
     "correlation": 8, "registers per thread": 24, "shared memory": 0, "blocks per SM": 0.5,
     "warps per SM": 2.0, "grid": [66, 1, 1], "block": [128, 1, 1],
     "est. achieved occupancy %": 3}},
    {"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": 1000000, "ts": 1011.0,
     "dur": 3.0, "args": {"cuda_sync_kind": "Context Sync", "stream": -1, "correlation": 9,
     "device": 0, "context": 1}}]})trace");
  ASSERT_TRUE(small);
  ASSERT_EQ(activities_of(**small).size(), 5u);
  expect_same(**small);
}

/// Whether a trace's GPU activity comes from AMD's roctracer, which CUPTI cannot give.
bool is_of_amd(const std::vector<Activity>& activities) {
  return std::ranges::any_of(activities, [](const Activity& each) {
    return trace::is_launch(each.category) && each.name.starts_with("hip");
  });
}

/// All real traces but those of AMD GPUs, whose GPU activity is not from CUPTI.
TEST_F(CuptiReplay, EveryRealTrace) {
  const fs::path folder = fs::path(redline::testing::shared_dir()) / "traces";
  if (!fs::exists(folder)) GTEST_SKIP() << "needs the traces in " << folder;
  int replayed = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    SCOPED_TRACE(file.path().filename());
    const auto original = trace::read_trace(file.path());
    ASSERT_TRUE(original);
    if (is_of_amd(activities_of(**original))) continue;
    expect_same(**original);
    redline_discard();
    ++replayed;
  }
  EXPECT_GT(replayed, 0);
}

constexpr std::array<std::string_view, 12> kCollectiveKeys = {"External id",
                                                              "correlation",
                                                              "Collective name",
                                                              "In msg nelems",
                                                              "Out msg nelems",
                                                              "Group size",
                                                              "dtype",
                                                              "In split size",
                                                              "Out split size",
                                                              "Process Group Name",
                                                              "Process Group Description",
                                                              "Process Group Ranks"};
using CollectiveValues = std::array<std::string_view, kCollectiveKeys.size()>;

/// The "args" about collectives of the wanted slices, as the file has them.
template <typename IsWanted>
std::vector<CollectiveValues> collectives_of(const trace::Trace& from, IsWanted is_wanted) {
  std::vector<CollectiveValues> found;
  const auto& slices = from.slices();
  for (size_t i = 0; i < from.slice_count(); ++i) {
    if (!is_wanted(slices.category[i], from.string(slices.name[i]))) continue;
    CollectiveValues values;
    trace::find_args(event_text(from, slices.text_offset[i]), kCollectiveKeys, values);
    if (!values[2].empty()) found.push_back(values);
  }
  return found;
}

std::vector<CollectiveValues> kernels_of_collectives(const trace::Trace& from) {
  auto found = collectives_of(
      from, [](Category category, std::string_view) { return category == Category::kKernel; });
  std::ranges::sort(found);
  return found;
}

TEST_F(CuptiReplay, KernelsOfCollectivesSayWhatKinetosDo) {
  const fs::path path = fs::path(redline::testing::shared_dir()) /
                        "traces/ddp_a100_nccl_metadata_rank0.pt.trace.json.gz";
  if (!fs::exists(path)) GTEST_SKIP() << "needs " << path;
  const auto original = trace::read_trace(path);
  ASSERT_TRUE(original);
  begin();
  for (const CollectiveValues& said : collectives_of(
           **original,
           [](Category, std::string_view name) { return name == "record_param_comms"; })) {
    std::string members;
    for (size_t key = 2; key < said.size(); ++key) {
      if (said[key].empty()) continue;
      members += (members.empty() ? "\"" : ", \"") + std::string(kCollectiveKeys[key]) + "\": ";
      members += said[key];
    }
    profiler::note_collective(static_cast<uint64_t>(trace::to_integer(said[0]).value_or(0)),
                              members);
  }
  const auto activities = activities_of(**original);  // must stay, because records point to names
  Replay(activities, monotonic_ns()).run();
  static_cast<void>(end());
  const auto again = trace::read_trace(folder_ / "trace.json");
  ASSERT_TRUE(again);
  const auto expected = kernels_of_collectives(**original);
  EXPECT_EQ(expected.size(), 21u);
  EXPECT_EQ(kernels_of_collectives(**again), expected);
}

TEST_F(CuptiReplay, ManySmallBuffersNewestFirst) {
  const fs::path path = fs::path(redline::testing::shared_dir()) /
                        "traces/ddp_a100_nccl_metadata_rank0.pt.trace.json.gz";
  if (!fs::exists(path)) GTEST_SKIP() << "needs " << path;
  stub::set_most_in_buffer(100'000);
  stub::reverse_buffers(true);
  const auto original = trace::read_trace(path);
  ASSERT_TRUE(original);
  expect_same(**original);
}

}  // namespace
}  // namespace redline::cupti
