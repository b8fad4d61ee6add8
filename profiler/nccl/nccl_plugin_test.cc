// Calls the plugin as NCCL does, through its tables, from several threads and communicators.
#include "profiler/nccl/nccl_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "profiler/c_api.h"
#include "profiler/log/record.h"
#include "trace/analysis/hang.h"
#include "trace/read/flight_dumps.h"

namespace redline::nccl {
namespace {

using nlohmann::json;

constexpr uint64_t kCommunicator = 0xFEDCBA9876543210;

/// Stands for NCCL's mask, which all its communicators share and which it reads at each call.
int g_mask = 0;
int mask_now() { return std::atomic_ref<int>(g_mask).load(); }

std::mutex g_contexts_mutex;
std::vector<void*>& contexts() {
  static std::vector<void*> made;
  return made;
}

template <typename Table>
void* init(const Table& table, int& mask) {
  void* context = nullptr;
  if constexpr (requires { table.init(&context, &g_mask); }) {
    EXPECT_EQ(table.init(&context, &g_mask), kSuccess);
  } else if constexpr (std::is_same_v<Table, PluginV4>) {
    EXPECT_EQ(table.init(&context, &g_mask, "tp", kCommunicator, 2, 16, 3, nullptr), kSuccess);
  } else {
    EXPECT_EQ(table.init(&context, kCommunicator, &g_mask, "tp", 2, 16, 3, nullptr), kSuccess);
  }
  mask = mask_now();
  const std::lock_guard lock(g_contexts_mutex);
  contexts().push_back(context);
  return context;
}

class NcclWindow : public ::testing::Test {
 protected:
  ~NcclWindow() override {
    redline_discard();
    for (void* context : contexts()) EXPECT_EQ(ncclProfiler_v5.finalize(context), kSuccess);
    contexts().clear();
    std::filesystem::remove(path_);
  }
  static void begin() {
    const json options{{"directory", ::testing::TempDir()}, {"host_samples_hz", 0}, {"gpu", false}};
    ASSERT_EQ(redline_prepare(options.dump().c_str()), 0) << redline_last_error();
    ASSERT_EQ(redline_start(), 0) << redline_last_error();
  }
  [[nodiscard]] json end() const {
    EXPECT_EQ(redline_stop(), 0) << redline_last_error();
    EXPECT_EQ(redline_export(path_.c_str()), 0) << redline_last_error();
    std::ifstream file(path_);
    return json::parse(file);
  }

  struct Slice {
    std::string name;
    double begin_us = 0;
    double end_us = -1;
    json args;
  };
  /// NCCL's events of a category, by their number.
  static std::map<uint32_t, Slice> slices(const json& trace, const std::string& category) {
    std::map<uint32_t, Slice> found;
    for (const json& event : trace["traceEvents"]) {
      if (event.value("cat", "") != "nccl " + category) continue;
      Slice& slice = found[event["id"].get<uint32_t>()];
      if (event["ph"] == "b") {
        slice.name = event["name"];
        slice.begin_us = event["ts"];
        slice.args = event["args"];
      } else {
        slice.end_us = event["ts"];
      }
    }
    return found;
  }
  static Slice only(const json& trace, const std::string& category) {
    const auto found = slices(trace, category);
    EXPECT_EQ(found.size(), 1U) << category;
    return found.empty() ? Slice{} : found.begin()->second;
  }

  const std::string path_ = ::testing::TempDir() + "nccl." + std::to_string(getpid()) + ".json";
};

template <typename Table>
struct Version;
template <typename Init, typename Descr_>
struct Version<Plugin<Init, Descr_>> {
  using Descr = Descr_;
};

/// A descriptor full of nonsense: NCCL sets only the fields of the event's type.
template <typename Descr>
Descr descr(EventType type, void* parent = nullptr) {
  Descr descr;
  std::memset(static_cast<void*>(&descr), 0x5A, sizeof(descr));
  descr.type = static_cast<decltype(descr.type)>(type);
  descr.parent = parent;
  descr.rank = 3;
  return descr;
}

template <typename Descr>
Descr all_reduce(uint64_t seq, void* parent, uint8_t channels = 1) {
  Descr made = descr<Descr>(kColl, parent);
  auto& coll = made.coll;
  coll.seq = seq;
  coll.count = 1024;
  coll.root = 0;
  coll.channels = channels;
  coll.warps = 16;
  coll.func = "AllReduce";
  coll.datatype = "ncclBfloat16";
  coll.algo = "RING";
  coll.proto = "SIMPLE";
  if constexpr (requires { coll.comm_hash; }) {
    coll.name = "tp";
    coll.comm_hash = kCommunicator;
  }
  return made;
}

template <typename Table, typename Descr>
void* start(const Table& table, void* context, Descr descr) {
  void* handle = &handle;
  EXPECT_EQ(table.start_event(context, &handle, &descr), kSuccess);
  return handle;
}

template <typename Descr>
Descr proxy_op(void* parent, bool is_send, int pid = getpid()) {
  Descr made = descr<Descr>(kProxyOp, parent);
  made.proxy_op = {pid, 0, 5, 2, 524288, is_send};
  return made;
}

/// Makes NCCL's calls for a group with an all-reduce, which the proxy thread sends as one message.
template <typename Table>
void communicate(const Table& table) {
  using Descr = typename Version<Table>::Descr;
  int mask = 0;
  void* context = init(table, mask);
  const auto types = static_cast<uint64_t>(mask);
  EXPECT_EQ(types & (kColl | kProxyOp), kColl | kProxyOp);
  EXPECT_EQ(types & kProxyStep, 0U);
  void* group = start(table, context, descr<Descr>(kGroup));
  void* coll = start(table, context, all_reduce<Descr>(41, group));
  EXPECT_EQ(table.stop_event(coll), kSuccess);
  EXPECT_EQ(table.stop_event(group), kSuccess);
  std::thread proxy([&] {
    void* op = start(table, context, proxy_op<Descr>(coll, true));
    StateArgs args = {.transferred_bytes = 2048};
    Descr channel = descr<Descr>(kKernelCh, coll);
    channel.kernel_ch.channel = 0;
    channel.kernel_ch.ptimer = 1'000'000;
    void* kernel = start(table, context, channel);
    StateArgs stamp = {.ptimer = 1'050'000};
    table.record_event_state(kernel, kKernelChStop, &stamp);
    EXPECT_EQ(table.stop_event(kernel), kSuccess);
    if (mask > 0xFF || std::is_same_v<Table, PluginV4>) {
      void* step = start(table, context, descr<Descr>(kProxyStep, op));
      table.record_event_state(step, kSendGpuWait, nullptr);
      table.record_event_state(step, kSendWait, &args);
      table.stop_event(step);
    } else {
      table.record_event_state(op, static_cast<EventState>(2), &args);
    }
    EXPECT_EQ(table.stop_event(op), kSuccess);
  });
  proxy.join();
  EXPECT_EQ(table.finalize(context), kSuccess);
}

template <typename Table>
class NcclVersion : public NcclWindow {};

struct V3 {
  static const PluginV3& table() { return ncclProfiler_v3; }
};
struct V4 {
  static const PluginV4& table() { return ncclProfiler_v4; }
};
struct V5 {
  static const PluginV5& table() { return ncclProfiler_v5; }
};
struct V6 {
  static const PluginV5& table() { return ncclProfiler_v6; }
};
struct V7 {
  static const PluginV5& table() { return ncclProfiler_v7; }
};
using Versions = ::testing::Types<V3, V4, V5, V6, V7>;
TYPED_TEST_SUITE(NcclVersion, Versions);

TYPED_TEST(NcclVersion, RecordsACollectiveItsProxyAndItsChannel) {
  const auto& table = TypeParam::table();
  this->begin();
  communicate(table);
  const json trace = this->end();
  const auto group = this->only(trace, "call");
  const auto coll = this->only(trace, "collective");
  EXPECT_EQ(coll.name, "AllReduce");
  EXPECT_EQ(coll.args["Parent"], group.args["Event"]);
  EXPECT_EQ(coll.args["NCCL sequence"], 41);
  EXPECT_EQ(coll.args["Communicator"], "0xfedcba9876543210");
  EXPECT_EQ(coll.args["Communicator name"], "tp");
  EXPECT_EQ(coll.args["Rank"], 3);
  EXPECT_EQ(coll.args["dtype"], "ncclBfloat16");
  EXPECT_EQ(coll.args["Elements"], 1024);
  EXPECT_EQ(coll.args["Bytes"], 2048);
  EXPECT_EQ(coll.args["Algorithm"], "RING");
  EXPECT_EQ(coll.args["Protocol"], "SIMPLE");
  EXPECT_EQ(coll.args["Channels"], 1);
  auto proxies = this->slices(trace, "proxy");
  const auto is_op = [](const auto& each) { return each.second.name == "proxy send"; };
  const auto op = std::ranges::find_if(proxies, is_op);
  ASSERT_NE(op, proxies.end());
  EXPECT_EQ(op->second.args["Parent"], coll.args["Event"]);
  EXPECT_EQ(op->second.args["Peer"], 5);
  EXPECT_EQ(op->second.args["Bytes"], 2048);
  const auto channel = this->only(trace, "kernel channel");
  EXPECT_EQ(channel.name, "AllReduce");
  EXPECT_EQ(channel.args["Parent"], coll.args["Event"]);
  EXPECT_EQ(channel.args["NCCL sequence"], 41);
  EXPECT_GE(coll.end_us, op->second.end_us) << "it is over when its proxy is";
  EXPECT_EQ(trace["redline"]["nccl"]["dropped"], 0);
  EXPECT_EQ(trace["redline"]["nccl"]["unfinished"], 0);
}

TEST_F(NcclWindow, StampsOfTheGpuTellHowLongAChannelRan) {
  begin();
  communicate(ncclProfiler_v5);
  const json trace = end();
  const Slice channel = only(trace, "kernel channel");
  EXPECT_NEAR(channel.end_us - channel.begin_us, 50, 0.01);
}

TEST_F(NcclWindow, WhatAStepWaitsForIsWithinIt) {
  begin();
  communicate(ncclProfiler_v6);
  const auto proxies = slices(end(), "proxy");
  std::map<std::string, Slice> by_name;
  for (const auto& [id, slice] : proxies) by_name[slice.name] = slice;
  ASSERT_EQ(by_name.size(), 4U);
  const Slice& step = by_name["proxy step"];
  EXPECT_EQ(step.args["Parent"], by_name["proxy send"].args["Event"]);
  for (const char* wait : {"SendGPUWait", "SendWait"}) {
    EXPECT_EQ(by_name[wait].args["Parent"], step.args["Event"]);
    EXPECT_GE(by_name[wait].begin_us, step.begin_us);
    EXPECT_LE(by_name[wait].end_us, step.end_us);
    EXPECT_FALSE(by_name[wait].args.contains("Bytes")) << "the step has them";
  }
}

TEST_F(NcclWindow, ACallIsNotOverWithItsProxy) {
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v5, mask);
  void* group = start(ncclProfiler_v5, context, descr<DescrV5>(kGroup));
  void* coll = start(ncclProfiler_v5, context, all_reduce<DescrV5>(1, group, 0));
  ncclProfiler_v5.stop_event(start(ncclProfiler_v5, context, proxy_op<DescrV5>(coll, true)));
  ncclProfiler_v5.stop_event(coll);
  ncclProfiler_v5.stop_event(group);
  const json trace = end();
  EXPECT_GT(only(trace, "collective").end_us, only(trace, "proxy").end_us);
}

TEST_F(NcclWindow, CallsNameTheOperatorThatMadeThem) {
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v5, mask);
  const auto op = profiler::begin_slice(monotonic_ns(), profiler::RecordKind::kOperator,
                                        "record_param_comms", {}, 4711);
  DescrV5 call = descr<DescrV5>(kCollApi);
  call.coll_api = {"Broadcast", 7, "ncclFloat32", 2, nullptr, true};
  void* api = start(ncclProfiler_v5, context, call);
  DescrV5 launch = descr<DescrV5>(kKernelLaunch, api);
  launch.kernel_launch.stream = nullptr;
  ncclProfiler_v5.stop_event(start(ncclProfiler_v5, context, launch));
  ncclProfiler_v5.stop_event(api);
  profiler::drop_slice(op.slice);
  const json trace = end();
  std::map<std::string, Slice> calls;
  for (const auto& [id, slice] : slices(trace, "call")) calls[slice.name] = slice;
  EXPECT_EQ(calls["Broadcast"].args["External id"], 4711);
  EXPECT_EQ(calls["Broadcast"].args["Root"], 2);
  EXPECT_EQ(calls["Broadcast"].args["In CUDA graph"], 1);
  EXPECT_EQ(calls["kernel launch"].args["External id"], 4711);
  EXPECT_EQ(calls["kernel launch"].args["Parent"], calls["Broadcast"].args["Event"]);
}

TEST_F(NcclWindow, PointToPointNetworkAndCopyEngine) {
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v6, mask);
  DescrV5 send = descr<DescrV5>(kP2p);
  send.p2p = {"Send", nullptr, "ncclInt64", 10, 6, 0};
  ncclProfiler_v6.stop_event(start(ncclProfiler_v6, context, send));
  DescrV5 net = descr<DescrV5>(kNetPlugin);
  net.net = {(1 << 16) | 1, nullptr};
  ncclProfiler_v6.stop_event(start(ncclProfiler_v6, context, net));
  DescrV5 ce = descr<DescrV5>(kCeColl);
  ce.ce_coll.seq = 8;
  ce.ce_coll.func = "AllGather";
  ce.ce_coll.datatype = "ncclFloat8e4m3";
  ce.ce_coll.count = 64;
  ncclProfiler_v6.stop_event(start(ncclProfiler_v6, context, ce));
  const json trace = end();
  EXPECT_EQ(only(trace, "p2p").args["Peer"], 6);
  EXPECT_EQ(only(trace, "p2p").args["Bytes"], 80);
  EXPECT_EQ(only(trace, "network").args["Network plugin"], 65537);
  EXPECT_EQ(only(trace, "copy engine").name, "AllGather");
  EXPECT_EQ(only(trace, "copy engine").args["NCCL sequence"], 8);
}

TEST_F(NcclWindow, AParentInAnotherProcessIsNoneHere) {
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v4, mask);
  void* coll = start(ncclProfiler_v4, context, all_reduce<DescrV4>(1, nullptr));
  ncclProfiler_v4.stop_event(
      start(ncclProfiler_v4, context, proxy_op<DescrV4>(coll, false, getpid() + 1)));
  const Slice op = only(end(), "proxy");
  EXPECT_EQ(op.name, "proxy receive");
  EXPECT_FALSE(op.args.contains("Parent"));
}

TEST_F(NcclWindow, NcclIsAskedForEventsInWindowsAlone) {
  int mask = 0;
  void* context = init(ncclProfiler_v5, mask);
  EXPECT_EQ(mask_now(), 0);
  const json options{{"directory", ::testing::TempDir()}, {"host_samples_hz", 0}, {"gpu", false}};
  ASSERT_EQ(redline_prepare(options.dump().c_str()), 0) << redline_last_error();
  EXPECT_EQ(mask_now(), wanted_types(0xFFF)) << "in the warm-up";
  ASSERT_EQ(redline_start(), 0);
  EXPECT_EQ(mask_now(), wanted_types(0xFFF));
  static_cast<void>(end());
  EXPECT_EQ(mask_now(), 0);
  // After the last communicator NCCL may be unloaded.
  g_mask = 4711;
  EXPECT_EQ(ncclProfiler_v5.finalize(context), kSuccess);
  begin();
  static_cast<void>(end());
  EXPECT_EQ(g_mask, 4711);
}

json entered_now() {
  json lists;
  NcclPlugin::instance().entered().tell(
      [](const char* text, size_t size, void* to) {
        *static_cast<json*>(to) = json::parse(std::string(text, size));
      },
      &lists);
  return lists;
}

/// What a rank's table says after `calls` collectives. The last one never ends on the GPU.
trace::HangTable table_of(int rank, int calls, const char* last_function) {
  setenv("REDLINE_HANG_TABLES", "1", 1);
  const auto& table = ncclProfiler_v5;
  int mask = 0;
  void* context = init(table, mask);
  unsetenv("REDLINE_HANG_TABLES");
  EXPECT_EQ(static_cast<uint64_t>(mask), kGroup | kGroupApi | kCollApi | kColl | kKernelCh);
  for (int call = 1; call <= calls; ++call) {
    void* group = start(table, context, descr<DescrV5>(kGroup));
    auto coll = all_reduce<DescrV5>(static_cast<uint64_t>(call), group);
    if (call == calls) coll.coll.func = last_function;
    void* handle = start(table, context, coll);
    EXPECT_EQ(table.stop_event(handle), kSuccess);  // it is enqueued
    EXPECT_EQ(table.stop_event(group), kSuccess);
    auto channel = descr<DescrV5>(kKernelCh, handle);
    channel.kernel_ch.channel = 0;
    channel.kernel_ch.ptimer = 1;
    void* kernel = start(table, context, channel);
    if (call < calls) table.stop_event(kernel);
  }
  json lists = entered_now();
  lists.update({{"schema", "redline.hang/1"},
                {"rank", rank},
                {"world_size", 3},
                {"overdue", true},
                {"host", "vm"},
                {"state", "lock"},
                {"written_ns", 1}});
  EXPECT_EQ(table.finalize(context), kSuccess);
  contexts().clear();
  return trace::parse_hang_table(lists.dump()).value();
}

/// One process stands for three ranks, one after the other: each has a communicator of its own.
TEST_F(NcclWindow, OutsideWindowsALauncherCanTellWhichRankEnteredAnotherCollective) {
  std::vector<trace::HangTable> tables;
  for (int rank = 0; rank < 3; ++rank) {
    tables.push_back(table_of(rank, 4, rank == 1 ? "AllGather" : "AllReduce"));
  }
  EXPECT_EQ(tables[0].collectives[2].is_done, true);
  EXPECT_EQ(tables[0].collectives[3].is_done, false);
  trace::add_unknown_groups(tables);
  const auto hang = trace::find_hang(tables);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->kind, trace::HangKind::kMismatch);
  EXPECT_EQ(hang->ranks, std::vector{1});
  EXPECT_EQ(hang->waiting_ranks, (std::vector{0, 2}));
  EXPECT_EQ(hang->sequence, 4);
  EXPECT_EQ(hang->group, "tp fedcba9876543210");
  EXPECT_EQ(hang->entered, "all_gather [[1024]] ncclBfloat16");
}

TEST_F(NcclWindow, AWindowLeavesTheListOfEnteredCollectivesAsItIs) {
  setenv("REDLINE_HANG_TABLES", "1", 1);
  const auto& table = ncclProfiler_v5;
  int mask = 0;
  void* context = init(table, mask);
  unsetenv("REDLINE_HANG_TABLES");
  void* coll = start(table, context, all_reduce<DescrV5>(1, nullptr));
  EXPECT_EQ(table.stop_event(coll), kSuccess);
  begin();
  void* within = start(table, context, all_reduce<DescrV5>(2, nullptr));
  EXPECT_EQ(table.stop_event(within), kSuccess);
  const json trace = end();
  EXPECT_EQ(only(trace, "collective").args["NCCL sequence"], 2);
  for (void* parent : {coll, within}) {
    auto channel = descr<DescrV5>(kKernelCh, parent);
    channel.kernel_ch.ptimer = 1;
    EXPECT_EQ(table.stop_event(start(table, context, channel)), kSuccess);
  }
  const json all = entered_now()["collectives"];
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["done"], true);
  EXPECT_EQ(all[1]["done"], true);
}

TEST_F(NcclWindow, PhasesOfKernelsLieAtTheGpusTimes) {
  setenv("NCCL_PROFILE_EVENT_MASK", "32768", 1);
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v7, mask);
  unsetenv("NCCL_PROFILE_EVENT_MASK");
  EXPECT_EQ(static_cast<uint64_t>(mask), kKernelPhase | kKernelCh) << "as NCCL needs it";
  DescrV5 made = descr<DescrV5>(kKernelPhase);
  made.kernel_phase = {3, 0, "initial_sync", 1'000'000};
  void* phase = start(ncclProfiler_v7, context, made);
  StateArgs stamp = {.ptimer = 1'030'000};
  ncclProfiler_v7.record_event_state(phase, static_cast<EventState>(31), &stamp);
  ncclProfiler_v7.stop_event(phase);
  const Slice slice = only(end(), "kernel channel");
  EXPECT_EQ(ncclProfiler_v7.finalize(context), kSuccess);
  EXPECT_EQ(slice.name, "initial_sync");
  EXPECT_EQ(slice.args["Channel"], 3);
  EXPECT_NEAR(slice.end_us - slice.begin_us, 30, 0.01);
}

TEST_F(NcclWindow, IsSilentWhereNothingIsRecorded) {
  int mask = 0;
  void* context = init(ncclProfiler_v5, mask);
  void* coll = start(ncclProfiler_v5, context, all_reduce<DescrV5>(1, nullptr));
  EXPECT_EQ(coll, nullptr);
  EXPECT_EQ(ncclProfiler_v5.record_event_state(coll, kKernelChStop, nullptr), kSuccess);
  EXPECT_EQ(ncclProfiler_v5.stop_event(coll), kSuccess);
  begin();
  const json trace = end();
  EXPECT_FALSE(trace["redline"].contains("nccl"));
}

TEST_F(NcclWindow, WhatIsOpenAtTheEndIsNotFinishedAndOver) {
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v5, mask);
  void* group = start(ncclProfiler_v5, context, descr<DescrV5>(kGroup));
  void* enqueued = start(ncclProfiler_v5, context, all_reduce<DescrV5>(1, group, 2));
  ncclProfiler_v5.stop_event(enqueued);
  const json trace = end();
  EXPECT_EQ(only(trace, "call").args["finished"], false);
  EXPECT_FALSE(only(trace, "collective").args.contains("finished")) << "it was enqueued";
  EXPECT_GT(only(trace, "call").end_us, only(trace, "collective").end_us) << "until the end";
  EXPECT_EQ(trace["redline"]["nccl"], json({{"events", 2}, {"unfinished", 1}, {"dropped", 0}}));
  begin();
  ncclProfiler_v5.stop_event(group);
  ncclProfiler_v5.stop_event(start(ncclProfiler_v5, context, proxy_op<DescrV5>(enqueued, true)));
  const json next = end();
  EXPECT_TRUE(slices(next, "call").empty());
  EXPECT_TRUE(slices(next, "collective").empty());
  EXPECT_EQ(slices(next, "proxy").size(), 1U);
}

TEST_F(NcclWindow, MoreThanThereIsRoomForAreCounted) {
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v5, mask);
  std::vector<void*> groups;
  for (uint32_t i = 0; i < OpenEvents::kMost + 5; ++i) {
    groups.push_back(start(ncclProfiler_v5, context, descr<DescrV5>(kGroup)));
  }
  EXPECT_EQ(groups.back(), nullptr);
  for (void* group : groups) ncclProfiler_v5.stop_event(group);
  EXPECT_NE(start(ncclProfiler_v5, context, descr<DescrV5>(kGroup)), nullptr);
  const json trace = end();
  EXPECT_EQ(trace["redline"]["nccl"]["dropped"], 5);
  EXPECT_EQ(slices(trace, "call").size(), OpenEvents::kMost + 1);
}

TEST_F(NcclWindow, CollectivesWhosePartsNeverComeMakeRoom) {
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v5, mask);
  constexpr uint64_t kCalls = OpenEvents::kMost * 2 + 3;
  for (uint64_t i = 0; i < kCalls; ++i) {
    ncclProfiler_v5.stop_event(start(ncclProfiler_v5, context, all_reduce<DescrV5>(i, nullptr)));
  }
  const json trace = end();
  EXPECT_EQ(slices(trace, "collective").size(), kCalls);
  EXPECT_EQ(trace["redline"]["nccl"]["dropped"], 0);
}

TEST_F(NcclWindow, FromManyThreadsAndCommunicatorsNothingIsLostOrMixedUp) {
  begin();
  constexpr uint64_t kCalls = 300;
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([] {
      int mask = 0;
      void* context = init(ncclProfiler_v5, mask);
      std::vector<void*> handles(kCalls);
      std::thread proxy;
      for (uint64_t i = 0; i < kCalls; ++i) {
        handles[i] = start(ncclProfiler_v5, context, all_reduce<DescrV5>(i, nullptr, 2));
        ncclProfiler_v5.stop_event(handles[i]);
        if (proxy.joinable()) proxy.join();
        proxy = std::thread([context, coll = handles[i]] {
          for (uint8_t channel = 0; channel < 2; ++channel) {
            DescrV5 made = descr<DescrV5>(kKernelCh, coll);
            made.kernel_ch = {channel, 0};
            ncclProfiler_v5.stop_event(start(ncclProfiler_v5, context, made));
          }
        });
      }
      proxy.join();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const json trace = end();
  const auto collectives = slices(trace, "collective");
  const auto channels = slices(trace, "kernel channel");
  EXPECT_EQ(collectives.size(), kThreads * kCalls);
  EXPECT_EQ(channels.size(), 2 * kThreads * kCalls);
  for (const auto& [id, channel] : channels) {
    const Slice& coll = collectives.at(channel.args["Parent"].get<uint32_t>());
    EXPECT_EQ(channel.args["NCCL sequence"], coll.args["NCCL sequence"]);
    EXPECT_LE(channel.end_us, coll.end_us);
  }
  EXPECT_EQ(trace["redline"]["nccl"]["events"], 3 * kThreads * kCalls);
}

TEST(NcclMask, IsThatOfOtherPluginsWhereItIsSet) {
  setenv("NCCL_PROFILE_EVENT_MASK", "4095", 1);
  EXPECT_EQ(wanted_types(0xFF), 0xFF);
  setenv("NCCL_PROFILE_EVENT_MASK", "0", 1);
  EXPECT_EQ(wanted_types(0xFF), 0);
  unsetenv("NCCL_PROFILE_EVENT_MASK");
  const auto types = static_cast<uint64_t>(wanted_types(0x7FFF));
  EXPECT_EQ(types & (kProxyStep | kProxyCtrl | kNetPlugin), 0U);
  EXPECT_EQ(static_cast<uint64_t>(wanted_types(0xFFFF)) & kKernelPhase, 0U);
  EXPECT_EQ(types & kCeColl, kCeColl);
}

TEST(Communicator, ClocksStandAsTheLeastDelaySays) {
  const Communicator communicator(0);
  constexpr int64_t kAhead = 5'000'000'000;  // so far the GPU's clock is ahead
  EXPECT_EQ(communicator.to_host(kAhead + 1000, 1500), 1500) << "delay 500";
  EXPECT_EQ(communicator.to_host(kAhead + 2000, 2100), 2100) << "delay 100";
  EXPECT_EQ(communicator.to_host(kAhead + 3000, 3900), 3100);
  const int64_t later = 10'000'000'000;
  EXPECT_EQ(communicator.to_host(static_cast<uint64_t>(kAhead + later), later + 700), later + 700)
      << "what was known long ago is no longer";
}

}  // namespace
}  // namespace redline::nccl
