// How CUPTI's records of GPU memory look in a trace.
#include "profiler/cupti/cupti_source.h"
#include "profiler/cupti/testing_window.h"

namespace redline::cupti {
namespace {

using nlohmann::json;

MemoryRecord allocation(uint32_t correlation, uint64_t time) {
  MemoryRecord record;
  record.kind = Kind::kMemory;
  record.operation = kAllocation;
  record.memory_kind = 3;
  record.correlation = correlation;
  record.address = 4096;
  record.bytes = 512;
  record.time = time;
  record.context = 1;
  record.stream = 13;
  return record;
}

UnifiedMemoryRecord migration(uint32_t counter, uint64_t value, uint64_t begin, uint64_t end) {
  UnifiedMemoryRecord record;
  record.kind = Kind::kUnifiedMemory;
  record.counter = counter;
  record.value = value;
  record.start = begin;
  record.end = end;
  record.address = 8192;
  record.source = 1;
  record.destination = 2;
  return record;
}

class GpuMemory : public GpuWindow {
 protected:
  static void emit_all(uint64_t begun) {
    stub::emit_record(
        ExternalCorrelationRecord{Kind::kExternalCorrelation, kOperatorIds, 41, 1, 0});
    stub::emit_record(launch_call(1, begun));
    stub::emit_record(allocation(1, begun + 50));
    MemoryRecord release = allocation(2, begun + 60);
    release.operation = kRelease;
    release.is_async = 1;
    release.pool_type = kOwnPool;
    release.pool_address = 0xA0;
    release.pool_size = 2048;
    release.pool_used = 1024;
    stub::emit_record(release);
    MemoryPoolRecord pool;
    pool.kind = Kind::kMemoryPool;
    pool.operation = 3;
    pool.address = 0xA0;
    pool.time = begun + 70;
    pool.size = 4096;
    pool.used = 512;
    pool.pool_type = kOwnPool;
    stub::emit_record(pool);
    pool.time = begun + 75;
    pool.pool_type = 0;  // of another process
    stub::emit_record(pool);
    MemoryRecord of_no_stream = allocation(3, begun + 77);
    of_no_stream.is_async = 1;
    of_no_stream.stream = kNoStream;
    stub::emit_record(of_no_stream);
    stub::emit_record(migration(kUnifiedHostToDevice, 64'000, begun + 80, begun + 1080));
    stub::emit_record(migration(kUnifiedGpuFaults, 3, begun + 90, begun + 100));
    stub::emit_record(migration(kUnifiedCpuFaults, 1, begun + 95, 0));
    stub::emit_record(migration(kUnifiedDeviceToHost, 640, begun + 110, begun + 120));
    stub::emit_record(StreamRecord{Kind::kStream, 1, 13, -5, 1, 3});
  }
};

TEST_F(GpuMemory, IsRecordedWhereMemoryIsAskedFor) {
  set("REDLINE_GPU_UNIFIED_MEMORY", "on");
  begin(true, true);
  EXPECT_TRUE(stub::is_enabled(Kind::kMemory));
  EXPECT_TRUE(stub::is_enabled(Kind::kUnifiedMemory));
  EXPECT_EQ(stub::cupti_calls("cuptiActivityConfigureUnifiedMemoryCounter"), 1);
  emit_all(now());
  const json trace = end();
  EXPECT_FALSE(stub::is_enabled(Kind::kMemory));
  const auto memory = events(trace, "gpu_memory");
  ASSERT_EQ(memory.size(), 9u);
  EXPECT_EQ(memory[0]["name"], "Allocation (Device)");
  EXPECT_EQ(memory[0]["ph"], "i");
  EXPECT_EQ(memory[0]["tid"], 1'000'000);
  EXPECT_EQ(memory[0]["args"],
            json::parse(R"({"External id": 41, "device": 0, "context": 1, "stream": 13,
                            "Addr": 4096, "Bytes": 512, "correlation": 1})"));
  EXPECT_EQ(memory[1]["name"], "Release (Device)");
  EXPECT_EQ(memory[1]["tid"], 13);
  EXPECT_EQ(memory[1]["args"]["Bytes"], -512);
  EXPECT_EQ(memory[2]["name"], "Memory Pool Trimmed");
  EXPECT_EQ(memory[4]["tid"], 1'000'000) << "of no stream";
  EXPECT_EQ(memory[5]["name"], "Unified Memory HtoD");
  EXPECT_EQ(memory[5]["pid"], 2) << "where the bytes go";
  EXPECT_EQ(memory[5]["dur"], 1.0);
  EXPECT_EQ(memory[5]["args"], json::parse(R"json({"stream": -1, "Addr": 8192, "bytes": 64000,
                                              "memory bandwidth (GB/s)": 64.0})json"));
  EXPECT_EQ(memory[6]["args"], json::parse(R"({"stream": -1, "Addr": 8192, "faults": 3})"));
  EXPECT_EQ(memory[6]["pid"], 2);
  EXPECT_EQ(memory[7]["args"], json::parse(R"({"stream": -1, "Addr": 8192, "faults": 1})"));
  EXPECT_EQ(memory[7]["dur"], 0.0);
  EXPECT_EQ(memory[7]["pid"], 0) << "it is the CPU's";
  EXPECT_EQ(memory[8]["args"]["bytes"], 640);
  EXPECT_EQ(memory[8]["pid"], 1) << "where the bytes come from";
  std::vector<json> pool;
  for (const json& event : events(trace, "counter")) {
    EXPECT_EQ(event["name"], "GPU 0 memory pool 0xa0");
    pool.push_back(event["args"]);
  }
  EXPECT_EQ(json(pool), json::parse(R"([{"reserved": 2048}, {"used": 1024},
                                        {"reserved": 4096}, {"used": 512}])"));
  EXPECT_EQ(trace["redline"]["gpu"]["streams"],
            json::parse(R"({"13": {"context": 1, "priority": -5}})"));
}

TEST_F(GpuMemory, CostsNothingWhereNobodyAskedForIt) {
  begin();
  for (const Kind kind : {Kind::kMemory, Kind::kMemoryPool, Kind::kUnifiedMemory}) {
    EXPECT_FALSE(stub::is_enabled(kind));
  }
  EXPECT_EQ(stub::cupti_calls("cuptiActivityConfigureUnifiedMemoryCounter"), 0);
}

TEST_F(GpuMemory, ThatCuptiDoesNotServeIsLeftOut) {
  stub::fail_cupti("cuptiActivityConfigureUnifiedMemoryCounter", 25);
  begin(true, true);
  stub::emit_record(kernel(1, now()));
  EXPECT_EQ(events(end(), "kernel").size(), 1u);
}

TEST_F(GpuMemory, IsReadInEveryVersion) {
  for (const uint32_t version : {18u, 24u, 28u, 130000u}) {
    SCOPED_TRACE(version);
    stub::reset_cupti();
    stub::set_cupti_version(version);
    begin(true, true);
    for (int i = 0; i < 20; ++i) emit_all(now());
    const json trace = end();
    EXPECT_EQ(events(trace, "gpu_memory").size(), 180u);
    EXPECT_EQ(trace["redline"]["gpu"]["truncated"], 0);
    redline_discard();
  }
}

}  // namespace
}  // namespace redline::cupti
