// For tests: calls the plugin as NCCL does, through its tables, and reads the window's trace.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "profiler/nccl/nccl_plugin.h"
#include "tests/recording.h"

namespace redline::nccl {

using nlohmann::json;

constexpr uint64_t kCommunicator = 0xFEDCBA9876543210;

/// Stands for NCCL's mask, which all its communicators share and which it reads at each call.
inline int g_mask = 0;
inline int mask_now() { return std::atomic_ref<int>(g_mask).load(); }

inline std::mutex g_contexts_mutex;
inline std::vector<void*>& contexts() {
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
  }
  static void begin() { testing::begin_recording({{"host_samples_hz", 0}, {"gpu", false}}); }
  [[nodiscard]] static json end() { return testing::end_recording(); }

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

}  // namespace redline::nccl
