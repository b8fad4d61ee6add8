// What the plugin lists for a launcher that wants to know which rank holds a job up.
#include "profiler/nccl/testing_nccl.h"
#include "trace/analysis/hang.h"
#include "trace/read/flight_dumps.h"

namespace redline::nccl {
namespace {

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
  begin();
  for (void* parent : {coll, within}) {
    auto channel = descr<DescrV5>(kKernelCh, parent);
    channel.kernel_ch.ptimer = 1;
    EXPECT_EQ(table.stop_event(start(table, context, channel)), kSuccess);
  }
  const json all = entered_now()["collectives"];
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["done"], true);
  EXPECT_EQ(all[1]["done"], true);
  EXPECT_TRUE(slices(end(), "collective").empty()) << "one began before, one was recorded before";
}

TEST_F(NcclWindow, ACollectiveOfWhichNoChannelsComeIsDoneWhenItIsEnqueued) {
  for (const char* types : {"2", ""}) {  // collectives alone, and all
    setenv("REDLINE_HANG_TABLES", "1", 1);
    setenv("NCCL_PROFILE_EVENT_MASK", types, 1);
    const auto& table = ncclProfiler_v5;
    int mask = 0;
    void* context = init(table, mask);
    unsetenv("NCCL_PROFILE_EVENT_MASK");
    unsetenv("REDLINE_HANG_TABLES");
    const uint8_t channels = *types != '\0' ? 2 : 0;
    void* coll = start(table, context, all_reduce<DescrV5>(1, nullptr, channels));
    EXPECT_EQ(entered_now()["collectives"][0]["done"], false);
    EXPECT_EQ(table.stop_event(coll), kSuccess);
    EXPECT_EQ(entered_now()["collectives"][0]["done"], true) << types;
    EXPECT_EQ(table.finalize(context), kSuccess);
    contexts().clear();
  }
}

}  // namespace
}  // namespace redline::nccl
