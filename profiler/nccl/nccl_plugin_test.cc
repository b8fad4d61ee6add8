// What the plugin records of a window.
#include "profiler/nccl/nccl_plugin.h"

#include <algorithm>

#include "profiler/cupti/cupti_source.h"
#include "profiler/log/record.h"
#include "profiler/nccl/testing_nccl.h"

namespace redline::nccl {
namespace {

TEST_F(NcclWindow, WhatAStepWaitsForIsWithinIt) {
  begin();
  communicate(ncclProfiler_v6);
  const auto proxies = slices(end(), "proxy");
  std::map<std::string, Slice> by_name;
  for (const auto& [id, slice] : proxies) by_name[slice.name] = slice;
  ASSERT_EQ(by_name.size(), 4U);
  const Slice& step = by_name["proxy step"];
  EXPECT_EQ(step.args["Parent"], by_name["proxy send"].args["Event"]);
  EXPECT_EQ(step.args["Step"], 0x5A5A5A5A) << "as NCCL said";
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

TEST_F(NcclWindow, ACollectiveIsOverWithTheLastOfItsChannels) {
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v5, mask);
  void* coll = start(ncclProfiler_v5, context, all_reduce<DescrV5>(1, nullptr, 1));
  ncclProfiler_v5.stop_event(coll);
  DescrV5 channel = descr<DescrV5>(kKernelCh, coll);
  channel.kernel_ch.ptimer = 0;
  void* first = start(ncclProfiler_v5, context, channel);
  void* more_than_expected = start(ncclProfiler_v5, context, channel);
  ncclProfiler_v5.stop_event(first);
  ncclProfiler_v5.stop_event(start(ncclProfiler_v5, context, descr<DescrV5>(kGroup)));
  ncclProfiler_v5.stop_event(more_than_expected);
  const json trace = end();
  EXPECT_GT(only(trace, "collective").end_us, only(trace, "call").end_us);
}

TEST_F(NcclWindow, BytesOfStepsAreAddedUp) {
  begin();
  int mask = 0;
  const auto& table = ncclProfiler_v5;
  void* context = init(table, mask);
  void* op = start(table, context, proxy_op<DescrV5>(nullptr, true));
  for (const size_t bytes : {size_t{2048}, size_t{1}}) {
    void* step = start(table, context, descr<DescrV5>(kProxyStep, op));
    StateArgs args = {.transferred_bytes = bytes};
    table.record_event_state(step, static_cast<EventState>(99), nullptr);  // has no name
    table.record_event_state(step, kSendWait, &args);
    table.stop_event(step);
  }
  table.record_event_state(op, kSendWait, nullptr);  // a state of steps
  table.stop_event(op);
  table.stop_event(start(table, context, proxy_op<DescrV5>(nullptr, false)));
  std::vector<std::string> found;
  for (const auto& [id, slice] : slices(end(), "proxy")) {
    found.push_back(slice.name + " " + slice.args.value("Bytes", json()).dump());
  }
  std::ranges::sort(found);
  EXPECT_EQ(found,
            (std::vector<std::string>{"SendWait null", "SendWait null", "proxy receive null",
                                      "proxy send 2049", "proxy step 1", "proxy step 2048"}));
}

TEST_F(NcclWindow, KernelsLearnTheAlgorithmOfTheirOperatorsCollective) {
  auto& gpu = cupti::shared_state();
  const cupti::Library library;
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v5, mask);
  gpu.ids = &library;  // as if GPU work were recorded
  const auto op =
      profiler::begin_slice(monotonic_ns(), profiler::RecordKind::kOperator, "c10d", {}, 1);
  void* coll = start(ncclProfiler_v5, context, all_reduce<DescrV5>(1, nullptr, 0));
  void* launch = start(ncclProfiler_v5, context, descr<DescrV5>(kKernelLaunch, coll));
  profiler::drop_slice(op.slice);
  // Nobody knows whose kernels this one makes.
  void* of_no_operator = start(ncclProfiler_v5, context, all_reduce<DescrV5>(2, nullptr, 0));
  for (void* each : {launch, coll, of_no_operator}) ncclProfiler_v5.stop_event(each);
  gpu.ids = nullptr;
  static_cast<void>(end());
  const auto note = gpu.collectives.find(1);
  ASSERT_TRUE(note);
  EXPECT_EQ(note->algorithm, "RING");
  EXPECT_EQ(note->protocol, "SIMPLE");
  EXPECT_FALSE(gpu.collectives.find(0));
  gpu.collectives.clear();
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
  void* earlier = init(ncclProfiler_v5, mask);
  void* context = init(ncclProfiler_v5, mask);
  EXPECT_EQ(ncclProfiler_v5.finalize(earlier), kSuccess);  // the other one still is there
  EXPECT_EQ(mask_now(), 0);
  ASSERT_EQ(redline_prepare(R"({"host_samples_hz": 0, "gpu": false})"), 0) << redline_last_error();
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

TEST(NcclMask, IsThatOfOtherPluginsWhereItIsSet) {
  setenv("NCCL_PROFILE_EVENT_MASK", "4095", 1);
  EXPECT_EQ(wanted_types(0xFF), 0xFF);
  setenv("NCCL_PROFILE_EVENT_MASK", "0", 1);
  EXPECT_EQ(wanted_types(0xFF), 0);
  setenv("NCCL_PROFILE_EVENT_MASK", "", 1);
  EXPECT_EQ(wanted_types(0xFF), wanted_types(0xFFF) & 0xFF);
  EXPECT_NE(wanted_types(0xFF), 0);
  unsetenv("NCCL_PROFILE_EVENT_MASK");
  const auto types = static_cast<uint64_t>(wanted_types(0x7FFF));
  EXPECT_EQ(types & (kProxyStep | kProxyCtrl | kNetPlugin), 0U);
  EXPECT_EQ(static_cast<uint64_t>(wanted_types(0xFFFF)) & kKernelPhase, 0U);
  EXPECT_EQ(types & kCeColl, kCeColl);
}

}  // namespace
}  // namespace redline::nccl
