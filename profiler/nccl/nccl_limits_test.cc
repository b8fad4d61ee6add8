// Many events at once, and places that are needed again.
#include <thread>

#include "profiler/nccl/testing_nccl.h"

namespace redline::nccl {
namespace {

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
  begin();
  ncclProfiler_v5.stop_event(start(ncclProfiler_v5, context, descr<DescrV5>(kGroup)));
  EXPECT_EQ(end()["redline"]["nccl"], json({{"events", 1}, {"unfinished", 0}, {"dropped", 0}}));
}

TEST_F(NcclWindow, WhatIsOpenAtTheEndOfAWindowLeavesItsPlace) {
  struct Row {
    EventType type;
    bool is_listing;  ///< then collectives stay, because the list waits for their end
  };
  for (const auto& [type, is_listing] : {Row{kGroup, false}, {kColl, false}, {kGroup, true}}) {
    setenv("REDLINE_HANG_TABLES", is_listing ? "1" : "", 1);
    int mask = 0;
    void* context = init(ncclProfiler_v5, mask);
    for (int window = 0; window < 2; ++window) {
      begin();
      void* last = nullptr;
      for (uint32_t i = 0; i < OpenEvents::kMost; ++i) {
        last = type == kColl ? start(ncclProfiler_v5, context, all_reduce<DescrV5>(i, nullptr))
                             : start(ncclProfiler_v5, context, descr<DescrV5>(type));
      }
      EXPECT_NE(last, nullptr) << type << " " << is_listing << " in window " << window;
      redline_discard();
    }
    EXPECT_EQ(ncclProfiler_v5.finalize(context), kSuccess);
    contexts().clear();
  }
  unsetenv("REDLINE_HANG_TABLES");
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

}  // namespace
}  // namespace redline::nccl
