// Each kind of record, as a line of the trace file.
#include "profiler/write/assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/file.h"
#include "profiler/c_api.h"
#include "profiler/source/nccl_event_types.h"
#include "tests/temporary_folder.h"

namespace redline::profiler {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kTid = 7;

class AssemblerTest : public ::testing::Test {
 protected:
  AssemblerTest() { texts_.reset(1 << 20); }

  TextId name(const std::string& text) {
    return texts_.intern(hash_text(text, TextForm::kName), text, TextForm::kName);
  }
  TextId args(const std::string& text) {
    return texts_.intern(hash_text(text, TextForm::kJson), text, TextForm::kJson);
  }
  Record record(RecordKind kind, const RecordFields& fields, int64_t begin_ns = 1'000) {
    return {.begin_ns = begin_ns, .of = fields, .name = name("n"), .kind = kind};
  }
  Record gpu(RecordKind kind, const CudaFields& fields, int8_t device = 0) {
    Record made = record(kind, fields);
    made.device_index = device;
    return made;
  }
  Record operation(int64_t sequence_number, Autograd autograd, uint32_t autograd_thread,
                   int64_t begin_ns) {
    return {.begin_ns = begin_ns,
            .of = OperatorFields{.end_ns = begin_ns + 500,
                                 .sequence_number = sequence_number,
                                 .function_id = 0,
                                 .args = {},
                                 .autograd_thread = autograd_thread},
            .name = name("n"),
            .autograd = autograd};
  }
  void add(const Record& record) { assembler_.add(record, kTid); }

  [[nodiscard]] std::string finished() {
    assembler_.finish(9'000, {}, {});
    const auto saved = assembler_.save(path_);
    EXPECT_TRUE(saved) << saved.error();
    return read_file(path_);
  }
  /// The events before the closing ones, shorter: the process's pid as PID, and without what most
  /// have.
  [[nodiscard]] std::vector<std::string> lines() {
    std::vector<std::string> found;
    const std::string text = finished();
    size_t at = text.find("\"traceEvents\": [") + 17;
    for (size_t end = text.find('\n', at); text[at] == '{';
         at = end + 1, end = text.find('\n', at)) {
      std::string line = text.substr(at, end - at);
      if (line.ends_with(',')) line.pop_back();
      replace(line, "\"pid\": " + std::to_string(getpid()) + ",", "\"pid\": PID,");
      if (line.find("\"name\": \"process_name\", \"pid\": PID") != std::string::npos) break;
      replace(line, R"("name": "n", "pid": PID, "tid": 7, )", "");
      replace(line, R"({"ph": "X", "cat": )", "X ");
      replace(line, R"({"ph": "M", "cat": "__metadata", "name": )", "M ");
      found.push_back(line);
    }
    return found;
  }
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    if (const size_t at = text.find(from); at != std::string::npos)
      text.replace(at, from.size(), to);
  }

  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "trace.json";
  TextTable texts_;
  Assembler assembler_{texts_, {path_ + ".spool", 500, 2'000, {{"head", "1"}}, 0}};
};

TEST_F(AssemblerTest, Operators) {
  Record first = operation(-1, Autograd::kNone, 0, 1'000);
  first.name = name("aten::mm");
  add(first);
  first.kind = RecordKind::kAnnotation;
  first.of.op.function_id = (uint64_t{1} << 32) + 5;
  first.of.op.args = args("\"a\": 1");
  add(first);
  first.kind = RecordKind::kStep;
  add(first);
  first.kind = RecordKind::kOperator;
  first.of.op.function_id = 0;
  add(first);
  Record stack = operation(-1, Autograd::kNone, 0, 3'000);
  stack.kind = RecordKind::kStack;
  add(stack);
  EXPECT_THAT(
      lines(),
      ElementsAre(
          R"x(X "cpu_op", "name": "aten::mm", "pid": PID, "tid": 7, "ts": 3.000, "dur": 0.500, )x"
          R"x("args": {"External id": 1, "Record function id": 0}})x",
          R"x(X "user_annotation", "name": "aten::mm", "pid": PID, "tid": 7, "ts": 3.000, )x"
          R"x("dur": 0.500, "args": {"External id": 5, "Record function id": 4294967301, "a": 1}})x",
          R"x(X "user_annotation", "name": "ProfilerStep#4294967301", "pid": PID, "tid": 7, )x"
          R"x("ts": 3.000, "dur": 0.500, "args": {"External id": 1073741827, )x"
          R"x("Record function id": 0, "a": 1}})x",
          R"x(X "cpu_op", "name": "aten::mm", "pid": PID, "tid": 7, "ts": 3.000, "dur": 0.500, )x"
          R"x("args": {"External id": 1073741828, "Record function id": 0, "a": 1}})x"));
}

TEST_F(AssemblerTest, ForwardAndBackwardAreTiedByTheirNumbers) {
  add(operation(5, Autograd::kForward, 3, 1'000));
  add(operation(6, Autograd::kForward, 3, 2'000));
  add(operation(5, Autograd::kForward, 4, 2'500));
  assembler_.add(operation(5, Autograd::kBackward, 3, 4'000), 8);
  assembler_.add(operation(0, Autograd::kBackward, 3, 4'200), 8);
  assembler_.add(operation(7, Autograd::kBackward, 3, 4'500), 8);  // before its forward operator
  Record engine = operation(-1, Autograd::kNone, 0, 4'400);
  engine.name = name("autograd::engine::evaluate_function: MmBackward0");
  assembler_.add(engine, 8);
  engine.begin_ns = 4'600;  // after the child
  assembler_.add(engine, 8);
  engine.begin_ns = 100;  // on a thread without children
  assembler_.add(engine, 9);
  Record other = operation(-1, Autograd::kNone, 0, 4'100);
  other.name = name("aten::other");
  assembler_.add(other, 8);
  add(operation(7, Autograd::kForward, 3, 3'000));
  assembler_.end_round();
  add(operation(0, Autograd::kForward, 3, 3'500));
  assembler_.end_round();
  EXPECT_THAT(
      lines(),
      ElementsAre(
          R"x(X "cpu_op", "ts": 3.000, "dur": 0.500, "args": {"External id": 1, )x"
          R"x("Sequence number": 5, "Fwd thread id": 0, "Record function id": 0}})x",
          R"x(X "cpu_op", "ts": 4.000, "dur": 0.500, "args": {"External id": 2, )x"
          R"x("Sequence number": 6, "Fwd thread id": 0, "Record function id": 0}})x",
          R"x(X "cpu_op", "ts": 4.500, "dur": 0.500, "args": {"External id": 3, )x"
          R"x("Sequence number": 5, "Fwd thread id": 0, "Record function id": 0}})x",
          R"x(X "cpu_op", "name": "n", "pid": PID, "tid": 8, "ts": 6.000, "dur": 0.500, )x"
          R"x("args": {"External id": 4, "Sequence number": 5, "Fwd thread id": 3, )x"
          R"x("Record function id": 0}})x",
          R"x({"ph": "s", "id": 1, "pid": PID, "tid": 7, "ts": 3.000, "cat": "fwdbwd", )x"
          R"x("name": "fwdbwd"})x",
          R"x({"ph": "f", "id": 1, "pid": PID, "tid": 8, "ts": 6.000, "cat": "fwdbwd", )x"
          R"x("name": "fwdbwd", "bp": "e"})x",
          R"x(X "cpu_op", "name": "n", "pid": PID, "tid": 8, "ts": 6.200, "dur": 0.500, )x"
          R"x("args": {"External id": 5, "Sequence number": 0, "Fwd thread id": 3, )x"
          R"x("Record function id": 0}})x",
          R"x(X "cpu_op", "name": "n", "pid": PID, "tid": 8, "ts": 6.500, "dur": 0.500, )x"
          R"x("args": {"External id": 6, "Sequence number": 7, "Fwd thread id": 3, )x"
          R"x("Record function id": 0}})x",
          R"x(X "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": PID, )x"
          R"x("tid": 8, "ts": 6.400, "dur": 0.500, "args": {"External id": 7, )x"
          R"x("Sequence number": 7, "Fwd thread id": 3, "Record function id": 0}})x",
          R"x(X "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": PID, )x"
          R"x("tid": 8, "ts": 6.600, "dur": 0.300, "args": {"External id": 8, )x"
          R"x("Record function id": 0}})x",
          R"x(X "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": PID, )x"
          R"x("tid": 9, "ts": 2.100, "dur": 4.800, "args": {"External id": 9, )x"
          R"x("Record function id": 0}})x",
          R"x(X "cpu_op", "name": "aten::other", "pid": PID, "tid": 8, "ts": 6.100, "dur": 0.500, )x"
          R"x("args": {"External id": 10, "Record function id": 0}})x",
          R"x(X "cpu_op", "ts": 5.000, "dur": 0.500, "args": {"External id": 11, )x"
          R"x("Sequence number": 7, "Fwd thread id": 0, "Record function id": 0}})x",
          R"x({"ph": "s", "id": 2, "pid": PID, "tid": 7, "ts": 5.000, "cat": "fwdbwd", )x"
          R"x("name": "fwdbwd"})x",
          R"x({"ph": "f", "id": 2, "pid": PID, "tid": 8, "ts": 6.500, "cat": "fwdbwd", )x"
          R"x("name": "fwdbwd", "bp": "e"})x",
          R"x(X "cpu_op", "ts": 5.500, "dur": 0.500, "args": {"External id": 12, )x"
          R"x("Sequence number": 0, "Fwd thread id": 0, "Record function id": 0}})x"));
}

size_t count_of(const std::vector<std::string>& lines, const std::string& begin) {
  return static_cast<size_t>(std::ranges::count_if(
      lines, [&](const std::string& line) { return line.starts_with(begin); }));
}

TEST_F(AssemblerTest, OfMoreBackwardOperatorsThanMayWaitTheFirstAreTied) {
  constexpr int64_t kMost = 4096;
  for (int64_t i = 0; i <= kMost; ++i) add(operation(i, Autograd::kBackward, 3, 1'000 + i));
  for (int64_t i = 0; i <= kMost; ++i) add(operation(i, Autograd::kForward, 3, 1'000 + i));
  assembler_.end_round();
  const auto all = lines();
  EXPECT_EQ(count_of(all, R"({"ph": "s")"), kMost);
  EXPECT_EQ(all.back(), R"x({"ph": "f", "id": 4096, "pid": PID, "tid": 7, "ts": 7.095, )x"
                        R"x("cat": "fwdbwd", "name": "fwdbwd", "bp": "e"})x");
}

TEST_F(AssemblerTest, ABackwardOperatorIsTiedToTheLastForwardOfItsNumber) {
  add(operation(5, Autograd::kForward, 3, 2'000));
  add(operation(5, Autograd::kForward, 3, 1'500));
  add(operation(5, Autograd::kBackward, 3, 4'000));
  EXPECT_EQ(lines()[3], R"x({"ph": "s", "id": 1, "pid": PID, "tid": 7, "ts": 4.000, )x"
                        R"x("cat": "fwdbwd", "name": "fwdbwd"})x");
}

TEST_F(AssemblerTest, OfMoreOpenNvtxRangesThanAreKeptTheFirstHaveEnds) {
  constexpr uint64_t kMost = 65'536;
  NvtxFields range;
  for (const NvtxPhase phase : {NvtxPhase::kStart, NvtxPhase::kEnd}) {
    range.phase = phase;
    for (range.range = 1; range.range <= kMost + 1; ++range.range)
      add(record(RecordKind::kNvtx, range));
  }
  const auto all = lines();
  EXPECT_EQ(count_of(all, R"({"ph": "b")"), kMost + 1);
  EXPECT_EQ(count_of(all, R"({"ph": "e")"), kMost);
}

TEST_F(AssemblerTest, AnNvtxRangeThatWasNotEndedLastsUntilTheWindowEnds) {
  NvtxFields range;
  range.phase = NvtxPhase::kStart;
  range.range = 3;
  range.args = args("\"Domain\": \"d\"");
  add(record(RecordKind::kNvtx, range));
  EXPECT_EQ(assembler_.end_open_ranges(8'000), 1U);
  EXPECT_EQ(assembler_.end_open_ranges(8'000), 0U);
  EXPECT_EQ(lines()[1], R"x({"ph": "e", "cat": "nvtx", "id": 3, "ts": 10.000, )x"
                        R"x("args": {"Domain": "d", "finished": false}})x");
}

TEST_F(AssemblerTest, WhatHadNotEnded) {
  Record open = operation(-1, Autograd::kNone, 0, 1'000);
  open.name = name("aten::mm");
  assembler_.add_unfinished(open, kTid, 8'000);
  open.kind = RecordKind::kAnnotation;
  open.name = name("ProfilerStep#3");
  assembler_.add_unfinished(open, kTid, 8'000);
  open.kind = RecordKind::kStep;
  open.of.op.function_id = 4;
  assembler_.add_unfinished(open, kTid, 8'000);
  NvtxFields range;
  range.args = args("\"Domain\": \"d\"");
  assembler_.add_unfinished(record(RecordKind::kNvtx, range), kTid, 8'000);
  assembler_.add_unfinished(record(RecordKind::kFrame, FrameFields{}), kTid, 8'000);
  EXPECT_THAT(
      lines(),
      ElementsAre(
          R"x(X "cpu_op", "name": "aten::mm", "pid": PID, "tid": 7, "ts": 3.000, "dur": 7.000, )x"
          R"x("args": {"External id": 1, "Record function id": 0, "finished": false}})x",
          R"x(X "user_annotation", "name": "unfinished ProfilerStep#3", "pid": PID, "tid": 7, )x"
          R"x("ts": 3.000, "dur": 7.000, "args": {"External id": 2, "Record function id": 0, )x"
          R"x("finished": false}})x",
          R"x(X "user_annotation", "name": "unfinished ProfilerStep#4", "pid": PID, "tid": 7, )x"
          R"x("ts": 3.000, "dur": 7.000, "args": {"External id": 3, "Record function id": 0, )x"
          R"x("finished": false}})x",
          R"x(X "user_annotation", "ts": 3.000, "dur": 7.000, "args": {"Domain": "d", )x"
          R"x("finished": false}})x"));
}

TEST_F(AssemblerTest, SlicesMarksFramesAndCounters) {
  const SliceFields slice{.end_ns = 2'500, .category = name("mine"), .args = args("\"a\": 1")};
  add(record(RecordKind::kSlice, slice));
  add(record(RecordKind::kMark, slice));
  const SliceFields bare{.end_ns = 2'500, .category = name("mine")};
  add(record(RecordKind::kSlice, bare));
  add(record(RecordKind::kMark, bare));
  add(record(RecordKind::kFrame,
             FrameFields{.end_ns = 1'700, .id = 3, .parent = 2, .args = args("\"a\": 1")}));
  add(record(RecordKind::kFrame, FrameFields{.end_ns = 1'700, .id = 1}));
  add(record(RecordKind::kCounter, CounterFields{.value = 0.5, .series = name("core 0")}));
  add(record(RecordKind::kCounter, CounterFields{.value = -2}));
  add(record(RecordKind::kCounter,
             CounterFields{.value = std::numeric_limits<double>::infinity()}));
  Record memory = record(RecordKind::kMemory, MemoryFields{11, -12, 13, 14});
  memory.device_type = 1;
  add(memory);
  memory.kind = RecordKind::kOutOfMemory;
  add(memory);
  EXPECT_EQ(assembler_.written(), 10U);
  EXPECT_THAT(
      lines(),
      ElementsAre(
          R"x(X "mine", "ts": 3.000, "dur": 1.500, "args": {"a": 1}})x",
          R"x({"ph": "i", "s": "t", "cat": "mine", "ts": 3.000, "args": {"a": 1}})x",
          R"x(X "mine", "ts": 3.000, "dur": 1.500, "args": {}})x",
          R"x({"ph": "i", "s": "t", "cat": "mine", "ts": 3.000, "args": {}})x",
          R"x(X "python_function", "ts": 3.000, "dur": 0.700, "args": {"Python parent id": 2, )x"
          R"x("Python id": 3, "a": 1}})x",
          R"x(X "python_function", "ts": 3.000, "dur": 0.700, "args": {"Python parent id": null, )x"
          R"x("Python id": 1}})x",
          R"x({"ph": "C", "cat": "counter", "name": "n", "pid": PID, "tid": 0, "ts": 3.000, )x"
          R"x("args": {"core 0": 0.5}})x",
          R"x({"ph": "C", "cat": "counter", "name": "n", "pid": PID, "tid": 0, "ts": 3.000, )x"
          R"x("args": {"value": -2}})x",
          R"x({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": PID, )x"
          R"x("tid": 7, "ts": 3.000, "args": {"Total Reserved": 14, "Total Allocated": 13, )x"
          R"x("Bytes": -12, "Device Id": -1, "Device Type": 1, "Addr": 11, "finished": false}})x",
          R"x({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[OutOfMemory]", )x"
          R"x("pid": PID, "tid": 7, "ts": 3.000, "args": {"Total Reserved": 14, )x"
          R"x("Total Allocated": 13, "Bytes": -12, "Device Id": -1, "Device Type": 1, )x"
          R"x("finished": false}})x"));
}

TEST_F(AssemblerTest, WorkOfGpus) {
  CudaFields work{.end_ns = 2'000, .amount = 0, .correlation = 5, .lane = 20};
  add(gpu(RecordKind::kKernel, work));
  work.external = 41;
  work.args = args("\"stream\": 20, \"x\": 1");
  work.amount = 900;
  for (const RecordKind kind :
       {RecordKind::kKernel, RecordKind::kCopy, RecordKind::kMemset, RecordKind::kSynchronization,
        RecordKind::kGpuAnnotation, RecordKind::kGpuMemory, RecordKind::kMigration}) {
    add(gpu(kind, work, 1));
  }
  CudaFields migration{.end_ns = 1'000, .amount = 64, .lane = kDeviceLane};
  add(gpu(RecordKind::kMigration, migration));
  migration.amount = 0;
  migration.correlation = 6;
  add(gpu(RecordKind::kMigration, migration));
  add(gpu(RecordKind::kGpuMemory, {.correlation = 0, .lane = 20}));
  Record overhead = gpu(RecordKind::kGpuOverhead, {.end_ns = 1'400});
  add(overhead);
  EXPECT_THAT(
      lines(),
      ElementsAre(
          R"x(X "kernel", "name": "n", "pid": 0, "tid": 20, "ts": 3.000, "dur": 1.000, )x"
          R"x("args": {"stream": 20, "correlation": 5}})x",
          R"x(X "kernel", "name": "n", "pid": 1, "tid": 20, "ts": 3.000, "dur": 1.000, )x"
          R"x("args": {"External id": 41, "stream": 20, "x": 1, "correlation": 5, )x"
          R"x("graph node id": 900}})x",
          R"x(X "gpu_memcpy", "name": "n", "pid": 1, "tid": 20, "ts": 3.000, "dur": 1.000, )x"
          R"x("args": {"External id": 41, "stream": 20, "x": 1, "correlation": 5, "bytes": 900, )x"
          R"x("memory bandwidth (GB/s)": 0.9}})x",
          R"x(X "gpu_memset", "name": "n", "pid": 1, "tid": 20, "ts": 3.000, "dur": 1.000, )x"
          R"x("args": {"External id": 41, "stream": 20, "x": 1, "correlation": 5, "bytes": 900, )x"
          R"x("memory bandwidth (GB/s)": 0.9}})x",
          R"x(X "cuda_sync", "name": "n", "pid": 1, "tid": 20, "ts": 3.000, "dur": 1.000, )x"
          R"x("args": {"External id": 41, "stream": 20, "x": 1, "correlation": 5}})x",
          R"x(X "gpu_user_annotation", "name": "n", "pid": 1, "tid": 20, "ts": 2.999, )x"
          R"x("dur": 1.002, "args": {"External id": 41}})x",
          R"x({"ph": "i", "s": "t", "cat": "gpu_memory", "name": "n", "pid": 1, "tid": 20, )x"
          R"x("ts": 3.000, "args": {"External id": 41, "stream": 20, "x": 1, "correlation": 5}})x",
          R"x(X "gpu_memory", "name": "n", "pid": 1, "tid": 20, "ts": 3.000, "dur": 1.000, )x"
          R"x("args": {"External id": 41, "stream": 20, "x": 1, "correlation": 5, "bytes": 900, )x"
          R"x("memory bandwidth (GB/s)": 0.9}})x",
          R"x(X "gpu_memory", "name": "n", "pid": 0, "tid": 1000000, "ts": 3.000, "dur": 0.000, )x"
          R"x("args": {"stream": 1000000, "bytes": 64}})x",
          R"x(X "gpu_memory", "name": "n", "pid": 0, "tid": 1000000, "ts": 3.000, "dur": 0.000, )x"
          R"x("args": {"stream": 1000000, "correlation": 6}})x",
          R"x({"ph": "i", "s": "t", "cat": "gpu_memory", "name": "n", "pid": 0, "tid": 20, )x"
          R"x("ts": 3.000, "args": {"stream": 20, "correlation": 0}})x",
          R"x(X "overhead", "name": "n", "pid": -1, "tid": 0, "ts": 3.000, "dur": 0.400, )x"
          R"x("args": {}})x"));
}

TEST_F(AssemblerTest, CallsAndTheirArrows) {
  CudaFields call{.end_ns = 1'200, .amount = 211, .correlation = 5, .lane = 7, .external = 41};
  add(gpu(RecordKind::kCudaCall, call));
  call.external = 0;
  Record driver = gpu(RecordKind::kCudaCall, call);
  driver.device_type = 1;
  add(driver);
  add(gpu(RecordKind::kLaunchArrow, {.end_ns = 3'000, .amount = 20, .correlation = 5, .lane = 7},
          1));
  EXPECT_THAT(
      lines(),
      ElementsAre(
          R"x(X "cuda_runtime", "ts": 3.000, "dur": 0.200, "args": {"External id": 41, )x"
          R"x("cbid": 211, "correlation": 5}})x",
          R"x(X "cuda_driver", "ts": 3.000, "dur": 0.200, "args": {"cbid": 211, "correlation": 5}})x",
          R"x({"ph": "s", "id": 5, "pid": PID, "tid": 7, "ts": 3.000, "cat": "ac2g", )x"
          R"x("name": "ac2g"})x",
          R"x({"ph": "f", "id": 5, "pid": 1, "tid": 20, "ts": 5.000, "cat": "ac2g", )x"
          R"x("name": "ac2g", "bp": "e"})x"));
}

TEST_F(AssemblerTest, NvtxRangesAreTiedByTheirNumbers) {
  NvtxFields range;
  range.end_ns = 2'000;
  range.args = args("\"Domain\": \"d\"");
  add(record(RecordKind::kNvtx, range));
  range.payload_form = PayloadForm::kUnsigned;
  range.payload.number = UINT64_MAX;
  range.phase = NvtxPhase::kMark;
  add(record(RecordKind::kNvtx, range));
  range.payload_form = PayloadForm::kSigned;
  range.payload.signed_number = -3;
  range.phase = NvtxPhase::kStart;
  range.range = 9;
  add(record(RecordKind::kNvtx, range, 1'500));
  range.payload_form = PayloadForm::kDouble;
  range.payload.real = 0.25;
  range.range = 10;
  range.args = {};
  add(record(RecordKind::kNvtx, range, 1'600));
  const auto end = [&](uint64_t number, int64_t time_ns) {
    NvtxFields fields;
    fields.range = number;
    fields.phase = NvtxPhase::kEnd;
    assembler_.add(record(RecordKind::kNvtx, fields, time_ns), 8);
  };
  end(9, 1'800);
  end(9, 1'900);   // comes twice
  end(11, 2'000);  // before its begin is read, and in the round before
  end(12, 2'100);
  assembler_.end_round();
  range.args = args("\"Domain\": \"d\"");
  range.payload_form = PayloadForm::kNone;
  range.range = 11;
  add(record(RecordKind::kNvtx, range, 1'700));
  assembler_.end_round();
  range.range = 12;
  add(record(RecordKind::kNvtx, range, 1'750));
  EXPECT_THAT(
      lines(),
      ElementsAre(
          R"x(X "user_annotation", "ts": 3.000, "dur": 1.000, "args": {"Domain": "d"}})x",
          R"x({"ph": "i", "s": "t", "cat": "user_annotation", "ts": 3.000, )x"
          R"x("args": {"Domain": "d", "Payload": 18446744073709551615}})x",
          R"x({"ph": "b", "cat": "nvtx", "id": 9, "ts": 3.500, "args": {"Domain": "d", )x"
          R"x("Payload": -3}})x",
          R"x({"ph": "b", "cat": "nvtx", "id": 10, "ts": 3.600, )x"
          R"x("args": {"Domain": "(name not kept)", "Payload": 0.25}})x",
          R"x({"ph": "e", "cat": "nvtx", "id": 9, "name": "n", "pid": PID, "tid": 8, "ts": 3.800, )x"
          R"x("args": {"Domain": "d", "Payload": -3}})x",
          R"x({"ph": "b", "cat": "nvtx", "id": 11, "ts": 3.700, "args": {"Domain": "d"}})x",
          R"x({"ph": "e", "cat": "nvtx", "id": 11, "name": "n", "pid": PID, "tid": 8, )x"
          R"x("ts": 4.000, "args": {"Domain": "d"}})x",
          R"x({"ph": "b", "cat": "nvtx", "id": 12, "ts": 3.750, "args": {"Domain": "d"}})x"));
}

TEST_F(AssemblerTest, EventsOfNccl) {
  const auto nccl_event = [&](uint64_t type, NcclFields fields, int8_t running = 0) {
    fields.end_ns = 2'000;
    Record made = record(RecordKind::kNccl, fields);
    made.device_type = static_cast<int8_t>(std::countr_zero(type));
    made.device_index = running;
    add(made);
  };
  const NcclFields full{.number = 64, .id = 3, .parent = 2, .args = args("\"a\": 1"), .step = 41};
  for (const uint64_t type :
       {nccl::kColl, nccl::kCeColl, nccl::kKernelCh, nccl::kProxyOp, nccl::kProxyStep,
        nccl::kCeBatch, nccl::kProxyCtrl, nccl::kNetPlugin, nccl::kGroup}) {
    nccl_event(type, full);
  }
  nccl_event(nccl::kProxyOp, {.number = 0, .id = 4}, 1);
  nccl_event(nccl::kProxyOp, {.number = 1, .id = 5});
  nccl_event(nccl::kP2p, {.number = 7, .id = 4});
  std::vector<std::string> begins;
  for (const std::string& event : lines()) {
    if (event.starts_with("{\"ph\": \"b\"")) {
      begins.push_back(event);
    } else {
      std::string end = begins.back().substr(0, begins.back().find("\"args\"")) + "\"args\": {}}";
      replace(end, "\"b\"", "\"e\"");
      replace(end, "\"ts\": 3.000", "\"ts\": 4.000");
      EXPECT_EQ(event, end);
    }
  }
  EXPECT_THAT(
      begins,
      ElementsAre(
          R"x({"ph": "b", "cat": "nccl collective", "id": 3, "ts": 3.000, "args": {"Event": 3, )x"
          R"x("Parent": 2, "NCCL sequence": 64, "External id": 41, "a": 1}})x",
          R"x({"ph": "b", "cat": "nccl copy engine", "id": 3, "ts": 3.000, "args": {"Event": 3, )x"
          R"x("Parent": 2, "NCCL sequence": 64, "External id": 41, "a": 1}})x",
          R"x({"ph": "b", "cat": "nccl kernel channel", "id": 3, "ts": 3.000, )x"
          R"x("args": {"Event": 3, "Parent": 2, "NCCL sequence": 64, "a": 1}})x",
          R"x({"ph": "b", "cat": "nccl proxy", "id": 3, "ts": 3.000, "args": {"Event": 3, )x"
          R"x("Parent": 2, "Bytes": 64, "External id": 41, "a": 1}})x",
          R"x({"ph": "b", "cat": "nccl proxy", "id": 3, "ts": 3.000, "args": {"Event": 3, )x"
          R"x("Parent": 2, "Bytes": 64, "Step": 41, "a": 1}})x",
          R"x({"ph": "b", "cat": "nccl copy engine", "id": 3, "ts": 3.000, "args": {"Event": 3, )x"
          R"x("Parent": 2, "Bytes": 64, "External id": 41, "a": 1}})x",
          R"x({"ph": "b", "cat": "nccl proxy", "id": 3, "ts": 3.000, "args": {"Event": 3, )x"
          R"x("Parent": 2, "a": 1}})x",
          R"x({"ph": "b", "cat": "nccl network", "id": 3, "ts": 3.000, "args": {"Event": 3, )x"
          R"x("Parent": 2, "a": 1}})x",
          R"x({"ph": "b", "cat": "nccl call", "id": 3, "ts": 3.000, "args": {"Event": 3, )x"
          R"x("Parent": 2, "External id": 41, "a": 1}})x",
          R"x({"ph": "b", "cat": "nccl proxy", "id": 4, "ts": 3.000, "args": {"Event": 4, )x"
          R"x("finished": false}})x",
          R"x({"ph": "b", "cat": "nccl proxy", "id": 5, "ts": 3.000, "args": {"Event": 5, )x"
          R"x("Bytes": 1}})x",
          R"x({"ph": "b", "cat": "nccl p2p", "id": 4, "ts": 3.000, "args": {"Event": 4}})x"));
}

TEST_F(AssemblerTest, TheEndOfTheFile) {
  add(gpu(RecordKind::kKernel, {.end_ns = 2'000, .lane = 20}));
  add(gpu(RecordKind::kKernel, {.end_ns = 2'000, .lane = 7}, 1));
  add(gpu(RecordKind::kGpuMemory, {.end_ns = 2'000, .lane = kDeviceLane}, 1));
  add(gpu(RecordKind::kGpuOverhead, {.end_ns = 2'000}));
  Record named = gpu(RecordKind::kStreamName, {.lane = 7}, 1);
  named.name = name("copies");
  add(named);
  assembler_.finish(9'000, {{7, "main"}},
                    closing_entries({1, 2, 3, 4, 5}, {{"a", "1"},
                                                      {"redline", "{\"x\": 1}"},
                                                      {"redline", "{ }"},
                                                      {"redline", " {\"y\": {\"z\": 2}} "}}));
  EXPECT_TRUE(assembler_.save(path_));
  std::string text = read_file(path_);
  replace(text, std::string("\"version\": \"") + redline_version() + "\", ", "");
  replace(text, "\"sort_index\": " + std::to_string(getpid()), "\"sort_index\": PID");
  for (int i = 0; i < 20; ++i) {
    replace(text, "\"pid\": " + std::to_string(getpid()) + ",", "\"pid\": PID,");
    replace(text, R"({"ph": "M", "cat": "__metadata", "name": )", "M ");
    replace(text, R"({"ph": "X", "cat": )", "X ");
    replace(text, R"({"ph": "i", "s": "t", "cat": )", "I ");
  }
  EXPECT_EQ(text, R"text({
"schemaVersion": 1,
"head": 1,
"displayTimeUnit": "ms",
"baseTimeNanoseconds": 0,
"traceEvents": [
X "kernel", "name": "n", "pid": 0, "tid": 20, "ts": 3.000, "dur": 1.000, "args": {"stream": 20, "correlation": 0}},
X "kernel", "name": "n", "pid": 1, "tid": 7, "ts": 3.000, "dur": 1.000, "args": {"stream": 7, "correlation": 0}},
I "gpu_memory", "name": "n", "pid": 1, "tid": 1000000, "ts": 3.000, "args": {"stream": 1000000, "correlation": 0}},
X "overhead", "name": "n", "pid": -1, "tid": 0, "ts": 3.000, "dur": 1.000, "args": {}},
M "process_name", "pid": PID, "tid": 0, "ts": 2.500, "args": {"name": "profiler_test"}},
M "process_labels", "pid": PID, "tid": 0, "ts": 2.500, "args": {"labels": "CPU"}},
M "process_sort_index", "pid": PID, "tid": 0, "ts": 2.500, "args": {"sort_index": PID}},
M "thread_name", "pid": PID, "tid": 7, "ts": 2.500, "args": {"name": "thread 7 (main)"}},
M "thread_sort_index", "pid": PID, "tid": 7, "ts": 2.500, "args": {"sort_index": 7}},
M "process_name", "pid": -1, "tid": 0, "ts": 2.500, "args": {"name": "CUPTI Overhead"}},
M "process_labels", "pid": -1, "tid": 0, "ts": 2.500, "args": {"labels": ""}},
M "process_sort_index", "pid": -1, "tid": 0, "ts": 2.500, "args": {"sort_index": 16777226}},
M "process_name", "pid": 0, "tid": 0, "ts": 2.500, "args": {"name": "python"}},
M "process_labels", "pid": 0, "tid": 0, "ts": 2.500, "args": {"labels": "GPU 0"}},
M "process_sort_index", "pid": 0, "tid": 0, "ts": 2.500, "args": {"sort_index": 5000000}},
M "thread_name", "pid": 0, "tid": 20, "ts": 2.500, "args": {"name": "stream 20 "}},
M "thread_sort_index", "pid": 0, "tid": 20, "ts": 2.500, "args": {"sort_index": 20}},
M "process_name", "pid": 1, "tid": 0, "ts": 2.500, "args": {"name": "python"}},
M "process_labels", "pid": 1, "tid": 0, "ts": 2.500, "args": {"labels": "GPU 1"}},
M "process_sort_index", "pid": 1, "tid": 0, "ts": 2.500, "args": {"sort_index": 5000001}},
M "thread_name", "pid": 1, "tid": 7, "ts": 2.500, "args": {"name": "stream 7 copies"}},
M "thread_sort_index", "pid": 1, "tid": 7, "ts": 2.500, "args": {"sort_index": 7}},
M "thread_name", "pid": 1, "tid": 1000000, "ts": 2.500, "args": {"name": "Device 1"}},
M "thread_sort_index", "pid": 1, "tid": 1000000, "ts": 2.500, "args": {"sort_index": 1000000}},
X "Trace", "pid": "Spans", "tid": "Redline", "name": "Redline (0)", "ts": 2.500, "dur": 8.500, "args": {}},
{"ph": "i", "cat": "Trace", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 11.000}
],
"a": 1,
"redline": {"events": 1, "dropped": 2, "dropped_names": 3, "threads": 4, "unfinished": 5, "x": 1, "y": {"z": 2}},
"traceName": )text" + trace::json_string(path_) +
                      "\n}\n");
}

}  // namespace
}  // namespace redline::profiler
