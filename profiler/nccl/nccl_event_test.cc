// What is taken of NCCL's descriptors, and what a trace says of it.
#include "profiler/nccl/nccl_event.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "profiler/nccl/communicator.h"
#include "profiler/nccl/entered_list.h"
#include "profiler/nccl/open_events.h"

namespace redline::nccl {
namespace {

template <typename Descr = DescrV5>
Descr zeroed(EventType type) {
  Descr made;
  std::memset(static_cast<void*>(&made), 0, sizeof(made));
  made.type = static_cast<decltype(made.type)>(type);
  made.parent = reinterpret_cast<void*>(uintptr_t{77});
  return made;
}

TEST(NcclEvent, DifferentArgsHaveDifferentKeys) {
  std::vector<Event> events;
  for (const int is_send : {-1, 0, 1}) events.push_back({.is_send = is_send});
  const auto add = [&](auto member, auto value) {
    for (size_t i = 0, count = events.size(); i < count && i < 64; ++i) {
      events.push_back(events[i]);
      events.back().*member = static_cast<std::decay_t<decltype(events[0].*member)>>(value);
    }
  };
  add(&Event::is_captured, true);
  add(&Event::root, 1);
  add(&Event::peer, 1);
  add(&Event::channel, 1);
  add(&Event::steps, 1);
  add(&Event::chunk_bytes, 1);
  add(&Event::channels, 1);
  add(&Event::warps, 1);
  add(&Event::count, 1);
  add(&Event::net_id, 1);
  add(&Event::type, kCeBatch);
  std::set<uint64_t> keys;
  for (const Event& event : events) keys.insert(args_key(event));
  EXPECT_EQ(keys.size(), events.size());
}

TEST(NcclEvent, EachTypeGivesItsOwnFields) {
  int stream = 0;
  DescrV5 coll = zeroed(kColl);
  coll.coll.seq = 5;
  coll.coll.func = "Reduce";
  coll.coll.count = 6;
  coll.coll.root = 1;
  coll.coll.datatype = "ncclFloat32";
  coll.coll.channels = 2;
  coll.coll.warps = 3;
  coll.coll.algo = "RING";
  coll.coll.proto = "LL";
  Event event = event_of(coll);
  EXPECT_EQ(event.type, kColl);
  EXPECT_EQ(event.parent, 77U);
  EXPECT_EQ(event.number, 5U);
  EXPECT_EQ(
      args_of(event),
      R"("dtype": "ncclFloat32", "Elements": 6, "Bytes": 24, "Root": 1, "Algorithm": "RING", "Protocol": "LL", )"
      R"("Channels": 2, "Warps": 3)");
  DescrV5 p2p = zeroed(kP2p);
  p2p.p2p.func = "Send";
  p2p.p2p.datatype = "ncclInt8";
  p2p.p2p.count = 6;
  p2p.p2p.peer = 4;
  p2p.p2p.channels = 2;
  EXPECT_EQ(args_of(event_of(p2p)),
            R"("dtype": "ncclInt8", "Elements": 6, "Bytes": 6, "Channels": 2, "Peer": 4)");
  EXPECT_EQ(name_of(event_of(p2p)), "Send");
  DescrV5 op = zeroed(kProxyOp);
  op.proxy_op.pid = getpid();
  op.proxy_op.channel = 1;
  op.proxy_op.peer = 2;
  op.proxy_op.steps = 3;
  op.proxy_op.chunk_bytes = 4;
  op.proxy_op.is_send = 1;
  event = event_of(op);
  EXPECT_EQ(name_of(event), "proxy send");
  EXPECT_EQ(event.parent, 77U);
  EXPECT_EQ(args_of(event), R"("Channel": 1, "Peer": 2, "Steps": 3, "Chunk bytes": 4)");
  op.proxy_op.pid = getpid() + 1;
  op.proxy_op.is_send = 0;
  EXPECT_EQ(event_of(op).parent, 0U) << "a handle of another process";
  EXPECT_EQ(name_of(event_of(op)), "proxy receive");
  DescrV5 step = zeroed(kProxyStep);
  step.step = 9;
  EXPECT_EQ(event_of(step).step, 9U);
  EXPECT_EQ(args_of(event_of(step)), "");
  DescrV5 channel = zeroed(kKernelCh);
  channel.kernel_ch.channel = 7;
  channel.kernel_ch.ptimer = 1000;
  EXPECT_EQ(event_of(channel).ptimer, 1000U);
  EXPECT_EQ(args_of(event_of(channel)), R"("Channel": 7)");
  DescrV5 net = zeroed(kNetPlugin);
  net.net.id = 8;
  EXPECT_EQ(args_of(event_of(net)), R"("Network plugin": 8)");

  DescrV5 group = zeroed(kGroupApi);
  EXPECT_EQ(args_of(event_of(group)), "");
  group.group_api.graph_captured = true;
  EXPECT_EQ(args_of(event_of(group)), R"("In CUDA graph": 1)");
  DescrV5 launch = zeroed(kKernelLaunch);
  launch.kernel_launch.stream = &stream;
  EXPECT_EQ(event_of(launch).stream, &stream);
  DescrV5 call = zeroed(kCollApi);
  call.coll_api.func = "Broadcast";
  call.coll_api.count = 3;
  call.coll_api.datatype = "ncclInt64";
  call.coll_api.root = 2;
  call.coll_api.stream = &stream;
  call.coll_api.graph_captured = true;
  EXPECT_EQ(event_of(call).stream, &stream);
  EXPECT_EQ(args_of(event_of(call)),
            R"("dtype": "ncclInt64", "Elements": 3, "Bytes": 24, "Root": 2, "In CUDA graph": 1)");
  DescrV5 send = zeroed(kP2pApi);
  send.p2p_api.func = "Recv";
  send.p2p_api.count = 3;
  send.p2p_api.datatype = "other";
  send.p2p_api.stream = &stream;
  send.p2p_api.graph_captured = true;
  EXPECT_EQ(event_of(send).stream, &stream);
  EXPECT_EQ(name_of(event_of(send)), "Recv");
  EXPECT_EQ(args_of(event_of(send)), R"("dtype": "other", "Elements": 3, "In CUDA graph": 1)");
  DescrV5 engine = zeroed(kCeColl);
  engine.ce_coll.seq = 4;
  engine.ce_coll.func = "Gather";
  engine.ce_coll.count = 2;
  engine.ce_coll.root = 3;
  engine.ce_coll.datatype = "ncclFloat16";
  engine.ce_coll.stream = &stream;
  EXPECT_EQ(event_of(engine).number, 4U);
  EXPECT_EQ(event_of(engine).stream, &stream);
  EXPECT_EQ(args_of(event_of(engine)),
            R"("dtype": "ncclFloat16", "Elements": 2, "Bytes": 4, "Root": 3)");
  DescrV5 batch = zeroed(kCeBatch);
  batch.ce_batch.ops = 6;
  batch.ce_batch.bytes = 4096;
  EXPECT_EQ(event_of(batch).number, 4096U);
  EXPECT_EQ(args_of(event_of(batch)), R"("Operations": 6)");
  DescrV5 phase = zeroed(kKernelPhase);
  phase.kernel_phase.channel = 5;
  phase.kernel_phase.name = "reduce";
  phase.kernel_phase.ptimer = 60;
  EXPECT_EQ(event_of(phase).ptimer, 60U);
  EXPECT_EQ(name_of(event_of(phase)), "reduce");
  EXPECT_EQ(args_of(event_of(phase)), R"("Channel": 5)");
}

template <typename Descr>
void expect_channel_and_network() {
  Descr channel = zeroed<Descr>(kKernelCh);
  channel.kernel_ch.channel = 7;
  EXPECT_EQ(args_of(event_of(channel)), R"("Channel": 7)");
  Descr net = zeroed<Descr>(kNetPlugin);
  net.net.id = 8;
  EXPECT_EQ(event_of(net).channel, -1);
  EXPECT_EQ(event_of(net).ptimer, 0U);
  EXPECT_EQ(args_of(event_of(net)), R"("Network plugin": 8)");
  const Event group = event_of(zeroed<Descr>(kGroup));
  EXPECT_EQ(group.parent, 77U);
  EXPECT_EQ(group.net_id, 0);
  EXPECT_EQ(args_of(group), "");
}

TEST(NcclEvent, OlderVersionsGiveTheSameFields) {
  expect_channel_and_network<DescrV3>();
  expect_channel_and_network<DescrV4>();
  expect_channel_and_network<DescrV5>();
}

TEST(NcclEvent, NamesOfTypesStatesAndData) {
  const std::pair<EventType, const char*> types[] = {{kGroup, "group"},
                                                     {kGroupApi, "group"},
                                                     {kProxyOp, "proxy send"},
                                                     {kProxyStep, "proxy step"},
                                                     {kProxyCtrl, "proxy thread"},
                                                     {kKernelCh, "kernel channel"},
                                                     {kKernelPhase, "kernel phase"},
                                                     {kKernelLaunch, "kernel launch"},
                                                     {kNetPlugin, "network"},
                                                     {kCeSync, "copy engine synchronization"},
                                                     {kCeBatch, "copy engine batch"},
                                                     {kColl, "nccl event"}};
  for (const auto& [type, name] : types) {
    Event event;
    event.type = type;
    EXPECT_EQ(name_of(event), name);
    event.function = "f";
    EXPECT_EQ(name_of(event), "f");
  }
  const std::pair<const char*, uint64_t> data[] = {{"ncclInt8", 1},
                                                   {"ncclUint8", 1},
                                                   {"ncclInt32", 4},
                                                   {"ncclUint32", 4},
                                                   {"ncclInt64", 8},
                                                   {"ncclUint64", 8},
                                                   {"ncclFloat16", 2},
                                                   {"ncclFloat32", 4},
                                                   {"ncclFloat64", 8},
                                                   {"ncclBfloat16", 2},
                                                   {"ncclFloat8e4m3", 1},
                                                   {"ncclFloat8e5m2", 1},
                                                   {"", 0},
                                                   {"x", 0}};
  for (const auto& [type, bytes] : data) EXPECT_EQ(size_of_datatype(type), bytes) << type;
  Event event;
  event.type = kColl;
  for (const char* function :
       {"Broadcast", "Reduce", "Gather", "Scatter", "AllReduce", "ReduceScatter"}) {
    event.function = function;
    event.root = 0;
    const bool has_root = std::string_view(function).find("ll") == std::string_view::npos &&
                          event.function != "ReduceScatter";
    EXPECT_EQ(args_of(event), std::string(R"("Elements": 0)") + (has_root ? R"(, "Root": 0)" : ""))
        << function;
    event.root = -1;
    EXPECT_EQ(args_of(event), R"("Elements": 0)");
  }
}

TEST(NcclEvent, ACommunicatorIsNamedOnceItIsKnown) {
  Communicator communicator(kColl);
  Event event;
  event.type = kGroup;
  event.communicator = &communicator;
  EXPECT_EQ(args_of(event), "");
  communicator.identify({.id = 0xAB, .name = "tp \"0\"", .rank = 0, .ranks = 2});
  communicator.identify({.id = 1, .name = "other", .rank = 1, .ranks = 3});
  EXPECT_EQ(
      args_of(event),
      R"("Communicator": "0x00000000000000ab", "Communicator name": "tp \"0\"", "Rank": 0, "Group size": 2)");
  Communicator unknown(kColl);
  unknown.identify({});
  event.communicator = &unknown;
  EXPECT_EQ(args_of(event), R"("Communicator": "0x0000000000000000")");
}

// Two events with different args must not share an entry.
TEST(NcclEvent, TheKeyHoldsAllThatItsArgsSay) {
  std::set<uint64_t> keys = {args_key({})};
  const auto is_new = [&](const auto& change) {
    Event event;
    change(event);
    EXPECT_EQ(args_key(event) & 1, 1U);
    return keys.insert(args_key(event)).second;
  };
  const Communicator communicator(kColl);
  EXPECT_TRUE(is_new([](Event& event) { event.type = kColl; }));
  EXPECT_TRUE(is_new([&](Event& event) { event.communicator = &communicator; }));
  for (std::string_view Event::*text :
       {&Event::function, &Event::datatype, &Event::algorithm, &Event::protocol}) {
    EXPECT_TRUE(is_new([&](Event& event) { event.*text = "text"; }));
  }
  EXPECT_TRUE(is_new([](Event& event) { event.count = 1; }));
  EXPECT_TRUE(is_new([](Event& event) { event.net_id = 1; }));
  for (int Event::*number :
       {&Event::root, &Event::peer, &Event::channel, &Event::steps, &Event::chunk_bytes,
        &Event::channels, &Event::warps, &Event::is_send}) {
    EXPECT_TRUE(is_new([&](Event& event) { event.*number = 1; }));
    EXPECT_TRUE(is_new([&](Event& event) { event.*number = 3; }));
  }
  EXPECT_TRUE(is_new([](Event& event) { event.is_captured = true; }));
  EXPECT_TRUE(is_new([](Event& event) { event.is_captured = true, event.is_send = 1; }));
  EXPECT_FALSE(
      is_new([](Event& event) { event.number = event.parent = event.ptimer = 5, event.step = 5; }));
}

TEST(OpenEvents, AnEventIsOverWithTheLastOfItsEnds) {
  const auto events = std::make_unique<OpenEvents>();
  uint64_t first = 0, second = 0;
  OpenEvent* open = events->take(first);
  ASSERT_NE(open, nullptr);
  ASSERT_NE(events->take(second), nullptr);
  EXPECT_NE(first, second);
  EXPECT_EQ(OpenEvents::id_of(second), OpenEvents::id_of(first) + 1);
  EXPECT_EQ(events->find(first), nullptr) << "not published";
  EXPECT_EQ(events->find(0), nullptr);
  EXPECT_FALSE(events->add_end(first) || events->end(first) || events->close(first));
  EXPECT_FALSE(events->add_end(0) || events->end(0) || events->close(0));
  events->publish(*open, first, 1);
  EXPECT_EQ(events->find(first), open);
  EXPECT_EQ(events->find(second), nullptr);
  EXPECT_EQ(events->find(first + (1 << 13)), nullptr) << "of the same place at another time";
  EXPECT_TRUE(events->add_end(first));
  EXPECT_FALSE(events->end(first));
  EXPECT_FALSE(events->end(first));
  EXPECT_EQ(events->find(first), open);
  size_t visited = 0;
  events->visit([&](uint64_t handle, OpenEvent& each) {
    EXPECT_EQ(handle, first);
    EXPECT_EQ(&each, open);
    ++visited;
  });
  EXPECT_EQ(visited, 1U);
  EXPECT_TRUE(events->end(first));
  EXPECT_EQ(events->find(first), nullptr);
  EXPECT_FALSE(events->end(first) || events->add_end(first));
  events->give_back(*open);
  uint64_t third = 0;
  EXPECT_EQ(events->take(third), open) << "what came back last goes first";
  events->publish(*open, third, 5);
  EXPECT_EQ(events->find(first), nullptr);
  EXPECT_TRUE(events->close(third));
  EXPECT_FALSE(events->close(third));
}

TEST(OpenEvents, EachPlaceIsTakenOnce) {
  const auto events = std::make_unique<OpenEvents>();
  std::set<OpenEvent*> taken;
  std::set<uint64_t> handles;
  uint64_t handle = 0;
  while (OpenEvent* open = events->take(handle)) {
    EXPECT_TRUE(taken.insert(open).second);
    EXPECT_TRUE(handles.insert(handle).second);
    ASSERT_LE(taken.size(), OpenEvents::kMost);
  }
  EXPECT_EQ(taken.size(), OpenEvents::kMost);
  events->give_back(**taken.begin());
  EXPECT_EQ(events->take(handle), *taken.begin());
  EXPECT_EQ(events->take(handle), nullptr);
}

std::string told(EnteredList& list) {
  std::string text;
  list.tell([](const char* part, size_t size,
               void* to) { static_cast<std::string*>(to)->assign(part, size); },
            &text);
  for (size_t at = 0; (at = text.find("\"entered_ns\":", at)) != std::string::npos; ++at) {
    text.erase(at, text.find_first_of(",}", at) - at + 1);
  }
  return text;
}

TEST(EnteredList, TellsTheLastCollectivesOfEachCommunicator) {
  EnteredList list;
  Communicator tp(kColl), unknown(kColl);
  tp.identify({.id = 0xAB, .name = "tp", .rank = 0, .ranks = 2});
  Event event;
  event.communicator = &tp;
  event.function = "AllReduce";
  event.count = 8;
  event.datatype = "ncclInt8";
  const uint64_t first = list.enter(event);
  event.function = "Send";
  const uint64_t second = list.enter(event);
  EXPECT_EQ(first, 1U);
  EXPECT_EQ(second, 2U);
  list.complete(second);
  list.complete(77);
  EXPECT_EQ(
      told(list),
      R"({"collectives":[{"done":false,"group":"tp 00000000000000ab","operation":"all_reduce","sequence":1,)"
      R"("sizes":"[[8]]","types":"ncclInt8"},{"done":true,)"
      R"("group":"tp 00000000000000ab","operation":"send","sequence":2,"sizes":"[[8]]","types":"ncclInt8"}],)"
      R"("groups":[{"entered":2,"name":"tp 00000000000000ab"}]})");
  event.communicator = &unknown;
  EXPECT_EQ(list.enter(event), 3U);
  EXPECT_NE(told(list).find(R"({"entered":1,"name":""})"), std::string::npos);
  list.forget(tp);
  EXPECT_EQ(
      told(list),
      R"({"collectives":[{"done":false,"group":"","operation":"send","sequence":1,"sizes":"[[8]]",)"
      R"("types":"ncclInt8"}],"groups":[{"entered":1,"name":""}]})");
  for (int i = 0; i < 70; ++i) EXPECT_EQ(list.enter(event), 4U + static_cast<uint64_t>(i));
  list.complete(3);  // is no longer in the list
  const std::string many = told(list);
  EXPECT_NE(many.find(R"("entered":71)"), std::string::npos);
  EXPECT_EQ(many.find(R"("sequence":7,)"), std::string::npos);
  EXPECT_NE(many.find(R"("sequence":8,)"), std::string::npos) << "64 of 71";
  EXPECT_EQ(many.find(R"("done":true)"), std::string::npos);
}

}  // namespace
}  // namespace redline::nccl
