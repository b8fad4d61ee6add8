// Tests NVTX's own headers with the recorder, in a program that links libredline.so
// (static_injection.cc).
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "profiler/nvtx/nvtx_abi.h"
#include "profiler/nvtx/nvtx_payload.h"
#include "profiler/redline.h"
#include "profiler/source/source.h"
#include "tests/recording.h"

namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;

static_assert(sizeof(nvtxEventAttributes_t) == sizeof(redline::nvtx::EventAttributes));
static_assert(offsetof(nvtxEventAttributes_t, payload) ==
              offsetof(redline::nvtx::EventAttributes, payload));
static_assert(NVTX_CBID_CORE_RangePop == int{redline::nvtx::kRangePop});
static_assert(NVTX_CBID_CORE_NameCategoryW == int{redline::nvtx::kNameCategoryW});
static_assert(NVTX_CB_MODULE_CUDA == int{redline::nvtx::kCuda});
static_assert(NVTX_CB_MODULE_CUDART == int{redline::nvtx::kCudaRuntime});
static_assert(NVTX_CBID_CUDA_NameCuStreamW == int{redline::nvtx::kNameCuStreamW});
static_assert(NVTX_CBID_CUDART_NameCudaStreamW == int{redline::nvtx::kNameCudaStreamW});
static_assert(NVTX_CBID_CORE2_DomainRangePop == int{redline::nvtx::kDomainRangePop});
static_assert(NVTX_CBID_CORE2_DomainCreateW == int{redline::nvtx::kDomainCreateW});
static_assert(NVTX_PAYLOAD_TYPE_EXT == redline::nvtx::kExtendedPayload);
static_assert(NVTX_EXT_PAYLOAD_MODULEID == redline::nvtx::kPayloadModule);
static_assert(NVTX3EXT_CBID_nvtxPayloadEnumRegister == redline::nvtx::kEnumRegister);
static_assert(sizeof(nvtxPayloadSchemaAttr_t) == sizeof(redline::nvtx::SchemaAttributes));
static_assert(sizeof(nvtxPayloadSchemaEntry_t) == sizeof(redline::nvtx::SchemaEntry));
static_assert(sizeof(nvtxPayloadEnumAttr_t) == sizeof(redline::nvtx::EnumAttributes));
static_assert(sizeof(nvtxExtModuleInfo_t) == sizeof(redline::nvtx::ExtensionModule));
static_assert(NVTX_PAYLOAD_TYPE_FLOAT == int{redline::nvtx::kFloat});

/// The events that `body` made, without those that the recorder adds.
std::vector<Json> record(const std::function<void()>& body) {
  redline::testing::begin_recording();
  body();
  const Json trace = redline::testing::end_recording();
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("cat", "") == "user_annotation" || event.value("cat", "") == "nvtx") {
      events.push_back(event);
    }
  }
  return events;
}

std::vector<std::string> names(const std::vector<Json>& events) {
  std::vector<std::string> names;
  for (const Json& event : events) names.push_back(event["name"]);
  return names;
}

nvtxEventAttributes_t event_named(const char* message) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = message;
  return event;
}

/// The call is written as NCCL writes it: a schema, a registered name, and the struct itself.
TEST(Nvtx, PayloadsOfRegisteredSchemasAreArgs) {
  struct AllReduce {
    uint64_t communicator;
    size_t bytes;
    int32_t operation;
    float scale;
  };
  const auto events = record([] {
    const auto domain = nvtxDomainCreateA("NCCL");
    const nvtxPayloadEnum_t operations[] = {{"Sum", 0, 0}, {"Max", 2, 0}};
    nvtxPayloadEnumAttr_t enumeration = {};
    enumeration.fieldMask =
        NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
        NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
    enumeration.entries = operations;
    enumeration.numEntries = 2;
    enumeration.sizeOfEnum = sizeof(int32_t);
    enumeration.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 11;
    EXPECT_EQ(nvtxPayloadEnumRegister(domain, &enumeration), enumeration.schemaId);
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", nullptr, 0, 0, nullptr,
         nullptr},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", nullptr, 0,
         offsetof(AllReduce, bytes), nullptr, nullptr},
        {0, enumeration.schemaId, "Reduction operation", nullptr, 0, 0, nullptr, nullptr},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "Scale", nullptr, 0, offsetof(AllReduce, scale), nullptr,
         nullptr},
        {NVTX_PAYLOAD_ENTRY_FLAG_POINTER, NVTX_PAYLOAD_ENTRY_TYPE_INT, "pointer", nullptr, 0, 0,
         nullptr, nullptr},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "beyond its end", nullptr, 0, sizeof(AllReduce) - 4,
         nullptr, nullptr}};
    nvtxPayloadSchemaAttr_t schema = {};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
    schema.entries = entries;
    schema.numEntries = std::size(entries);
    schema.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
    EXPECT_EQ(nvtxPayloadSchemaRegister(domain, &schema), schema.schemaId);
    for (const int32_t operation : {2, 7}) {
      const AllReduce call = {0xFFFFFFFFFFFFFFFF, 4096, operation, 0.5F};
      nvtxPayloadData_t data[] = {{schema.schemaId, sizeof(call), &call}, {999, 8, &call}};
      nvtxEventAttributes_t event = event_named("");
      event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
      event.message.registered = nvtxDomainRegisterStringA(domain, "ncclAllReduce");
      NVTX_PAYLOAD_EVTATTR_SET_MULTIPLE(event, data);
      nvtxDomainRangePushEx(domain, &event);
      nvtxDomainRangePop(domain);
    }
  });
  ASSERT_THAT(names(events), ElementsAre("ncclAllReduce", "ncclAllReduce"));
  EXPECT_EQ(events[0]["args"], Json({{"Domain", "NCCL"},
                                     {"NCCL communicator ID", 0xFFFFFFFFFFFFFFFFU},
                                     {"Message size [bytes]", 4096},
                                     {"Reduction operation", "Max"},
                                     {"Scale", 0.5}}));
  EXPECT_EQ(events[1]["args"]["Reduction operation"], 7);
}

TEST(Nvtx, PushedRangesNestAndGiveTheirLevels) {
  const auto events = record([] {
    EXPECT_EQ(nvtxRangePushA("outer"), 0);
    EXPECT_EQ(nvtxRangePushW(L"größer 東京 🚀"), 1);
    EXPECT_EQ(nvtxRangePop(), 1);
    EXPECT_EQ(nvtxRangePop(), 0);
    EXPECT_LT(nvtxRangePop(), 0);
  });
  EXPECT_THAT(names(events), ElementsAre("größer 東京 🚀", "outer"));
  EXPECT_EQ(events[1]["ph"], "X");
  EXPECT_LE(events[1]["ts"], events[0]["ts"]);
}

TEST(Nvtx, DomainsCategoriesRegisteredStringsAndPayloadsAreInArgs) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
  nvtxDomainNameCategoryA(domain, 7, "disk");
  const nvtxStringHandle_t text = nvtxDomainRegisterStringA(domain, "read");
  const auto events = record([&] {
    nvtxEventAttributes_t event = event_named("");
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = text;
    event.category = 7;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = -5;
    nvtxDomainRangePushEx(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    event.payload.fValue = 0.5F;
    event.category = 8;
    nvtxDomainMarkEx(domain, &event);
    nvtxDomainRangePop(domain);
  });
  EXPECT_THAT(names(events), ElementsAre("read", "read"));
  EXPECT_EQ(events[0]["ph"], "i");
  EXPECT_EQ(events[0]["args"], Json({{"Domain", "loader"}, {"Category", 8}, {"Payload", 0.5}}));
  EXPECT_EQ(events[1]["args"], Json({{"Domain", "loader"}, {"Category", "disk"}, {"Payload", -5}}));
}

TEST(Nvtx, ARangeThatOutlivesTheNamesKeepsItsOwn) {
  const auto events = record([] {
    nvtxRangePushA("an epoch of many steps");
    const uint32_t first = redline::profiler::name_generation();
    for (int i = 0; redline::profiler::name_generation() < first + 3; ++i) {
      static_cast<void>(
          redline::profiler::intern_name(std::to_string(i) + std::string(10'000, 'x')));
    }
    nvtxRangePop();
  });
  EXPECT_EQ(names(events), std::vector<std::string>{"an epoch of many steps"});
  EXPECT_EQ(events.at(0)["args"], Json({{"Domain", "default"}}));
}

TEST(Nvtx, EachDomainPopsItsOwnRanges) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("other");
  const auto events = record([&] {
    const auto event = event_named("of the other");
    nvtxRangePushA("of the default");
    EXPECT_EQ(nvtxDomainRangePushEx(domain, &event), 0);
    EXPECT_EQ(nvtxRangePop(), 0);
    EXPECT_EQ(nvtxDomainRangePop(domain), 0);
  });
  EXPECT_THAT(names(events), ElementsAre("of the default", "of the other"));
}

TEST(Nvtx, StartedRangesEndOnAnyThreadInAnyOrder) {
  const auto events = record([] {
    const nvtxRangeId_t first = nvtxRangeStartA("first");
    const nvtxRangeId_t second = nvtxRangeStartA("second");
    std::thread([&] { nvtxRangeEnd(first); }).join();
    nvtxRangeEnd(second);
  });
  EXPECT_THAT(names(events), ::testing::UnorderedElementsAre("first", "first", "second", "second"));
  for (const Json& event : events) EXPECT_TRUE(event["ph"] == "b" || event["ph"] == "e") << event;
}

TEST(Nvtx, DeeplyNestedRangesStayBalanced) {
  constexpr int kDeep = 1000;
  const auto events = record([] {
    for (int i = 0; i < kDeep; ++i) nvtxRangePushA("deep");
    for (int i = 0; i < kDeep; ++i) EXPECT_GE(nvtxRangePop(), 0) << i;
    EXPECT_LT(nvtxRangePop(), 0);
  });
  EXPECT_EQ(events.size(), 256U);
}

TEST(Nvtx, ARangeOfOursReachesAnotherToolAndIsRecordedOnce) {
  setenv("NVTX_INJECTION64_PATH", FAKE_NVTX_TOOL, 1);
  const auto events = record([] {
    const redline::range forward("forward");
    const redline::range layer("layer");
  });
  unsetenv("NVTX_INJECTION64_PATH");
  EXPECT_THAT(names(events), ElementsAre("layer", "forward"));
  void* tool = dlopen(FAKE_NVTX_TOOL, RTLD_NOW);
  ASSERT_NE(tool, nullptr);
  const auto calls = reinterpret_cast<const char* (*)()>(dlsym(tool, "fake_nvtx_tool_calls"));
  EXPECT_STREQ(calls(), "push forward\npush layer\npop\npop\n");
}

}  // namespace
