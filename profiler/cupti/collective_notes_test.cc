#include "profiler/cupti/collective_notes.h"

#include <string>

#include "profiler/cupti/testing_window.h"
#include "profiler/source/gpu_work.h"
#include "profiler/source/source.h"

namespace redline::cupti {
namespace {

using nlohmann::json;
using profiler::ExternalIdKind;

constexpr const char* kSaid =
    R"("Collective name": "allreduce", "Global rank start": 0, "Group size": 2,
       "In msg nelems": 1000, "Out msg nelems": 1000, "Process Group Name": "0",
       "Process Group Ranks": "[0, 1]", "Rank": 1, "Seq": 7, "dtype": "BFloat16")";
constexpr const char* kKernel =
    "_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE";
constexpr const char* kName =
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

TEST(CollectiveArgs, AreThoseOfKinetoInItsOrderAndMore) {
  EXPECT_EQ(collective_args(kName, {.members = kSaid}),
            R"(, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000)"
            R"(, "Group size": 2, "dtype": "BFloat16", "Process Group Name": "0")"
            R"(, "Process Group Ranks": "[0, 1]", "Seq": 7, "Bytes": 2000)"
            R"(, "Algorithm": "RING", "Protocol": "LL")");
}

TEST(CollectiveArgs, WhatNcclChoseIsMoreThanTheKernelsName) {
  EXPECT_EQ(collective_args(kName, {.algorithm = "NVLS", .protocol = "SIMPLE"}),
            R"(, "Algorithm": "NVLS", "Protocol": "SIMPLE")");
  EXPECT_EQ(collective_args("ncclDevKernel_SendRecv(x)", {}), "");
}

TEST(CollectiveArgs, BytesAreThoseOfTheLargerSideAndOfAKnownType) {
  const auto args = [](const char* type) {
    return collective_args("",
                           {.members = R"("Collective name": "all_gather", "In msg nelems": 5, )"
                                       R"("Out msg nelems": 10, "Group size": 2, "dtype": ")" +
                                       std::string(type) + "\""});
  };
  EXPECT_TRUE(args("Byte").ends_with(R"(, "dtype": "Byte", "Bytes": 10)"));
  EXPECT_TRUE(args("Float").ends_with(R"(, "dtype": "Float", "Bytes": 40)"));
  EXPECT_TRUE(args("Unknown").ends_with(R"(, "dtype": "Unknown")"));
}

TEST(CollectiveArgs, WhatIsNoNumberHasNoBytes) {
  const auto args = [](const std::string& in, const std::string& out, const std::string& type) {
    return collective_args("", {.members = R"("Collective name": "c", "In msg nelems": )" + in +
                                           R"(, "Out msg nelems": )" + out +
                                           R"(, "Group size": 2, "dtype": )" + type});
  };
  constexpr const char* kType = R"("Float")";
  EXPECT_TRUE(args("7", "5", kType).ends_with(R"(, "dtype": "Float", "Bytes": 28)"));
  for (const char* no_number : {R"("7")", "7.5", "null"}) {
    EXPECT_TRUE(args(no_number, "5", kType).ends_with(R"(, "dtype": "Float")")) << no_number;
    EXPECT_TRUE(args("5", no_number, kType).ends_with(R"(, "dtype": "Float")")) << no_number;
  }
  EXPECT_TRUE(args("7", "5", "4").ends_with(R"(, "dtype": 4)"));
  constexpr const char* kHuge = "4611686018427387904";
  EXPECT_TRUE(args(kHuge, "5", kType).ends_with(R"(, "dtype": "Float")")) << "too many to count";
}

TEST(CollectiveArgs, TextThatIsNoUtf8IsReplaced) {
  EXPECT_EQ(collective_args("", {.members = R"("Seq": 1, "Comms Id": "größer")"}),
            R"(, "Seq": 1, "Comms Id": "größer")");
  EXPECT_EQ(collective_args("", {.algorithm = "\xff"}), ", \"Algorithm\": \"\uFFFD\"");
}

TEST(CollectiveArgs, HalfAMessageIsNone) {
  EXPECT_EQ(collective_args("", {.members = R"("Collective name": "send", "Dst Rank": 3)"}),
            R"(, "Dst Rank": 3)");
  EXPECT_EQ(collective_args("", {.members = "broken"}), "");
}

class CollectiveKernels : public GpuWindow {
 protected:
  /// Makes the calls of the LibTorch adapter for an operator that starts a collective.
  static void start_collective(uint32_t operator_id, uint32_t correlation, uint64_t begun) {
    profiler::push_external_id(ExternalIdKind::kOperator, operator_id, "");
    profiler::note_collective(operator_id, kSaid);
    stub::call(launch_call(correlation, begun));
    profiler::pop_external_id(ExternalIdKind::kOperator);
  }
};

TEST_F(CollectiveKernels, SayWhatTheirOperatorSaid) {
  begin();
  const uint64_t begun = now();
  start_collective(41, 5, begun);
  start_collective(42, 6, begun + 100);
  profiler::note_collective_choice(42, "TREE", "LL128");
  stub::emit_record(kernel(5, begun + 2000, kKernel));
  stub::emit_record(kernel(6, begun + 4000, kKernel));
  const json trace = end();
  const auto kernels = events(trace, "kernel");
  ASSERT_EQ(kernels.size(), 2u);
  const json& args = kernels[0]["args"];
  EXPECT_EQ(args["External id"], 41);
  EXPECT_EQ(args["stream"], 7);
  EXPECT_EQ(args["Collective name"], "allreduce");
  EXPECT_EQ(args["Seq"], 7);
  EXPECT_EQ(args["Bytes"], 2000);
  EXPECT_EQ(args["Algorithm"], "RING");
  EXPECT_EQ(kernels[1]["args"]["Algorithm"], "TREE");
  EXPECT_EQ(kernels[1]["args"]["Protocol"], "LL128");
}

TEST_F(CollectiveKernels, AlsoWhereTheirCallComesLater) {
  begin();
  const uint64_t begun = now();
  stub::emit_record(kernel(5, begun + 2000, kKernel), 1);
  start_collective(41, 5, begun);
  stub::wait_for_flushes(2);
  stub::emit_record(kernel(5, begun + 4000), 1);  // another one, with the same correlation
  const json trace = end();
  const auto kernels = events(trace, "kernel");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0]["args"]["Collective name"], "allreduce");
  EXPECT_FALSE(kernels[1]["args"].contains("Collective name"));
}

TEST_F(CollectiveKernels, OfAnotherWindowSayNothingHere) {
  begin();
  start_collective(41, 5, now());
  static_cast<void>(end());
  begin();
  const uint64_t begun = now();
  profiler::push_external_id(ExternalIdKind::kOperator, 41, "");
  stub::call(launch_call(5, begun));
  profiler::pop_external_id(ExternalIdKind::kOperator);
  stub::emit_record(kernel(5, begun + 2000, kKernel));
  const json trace = end();
  ASSERT_EQ(events(trace, "kernel").size(), 1u);
  EXPECT_FALSE(events(trace, "kernel")[0]["args"].contains("Collective name"));
}

}  // namespace
}  // namespace redline::cupti
