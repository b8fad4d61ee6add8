// NVTX's own headers against the recorder, by the route of a program that links libredline.so
// (static_injection.cc).
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "profiler/nvtx_abi.h"
#include "profiler/redline.h"

namespace {

using Json = nlohmann::json;
using testing::ElementsAre;

static_assert(sizeof(nvtxEventAttributes_t) == sizeof(redline::nvtx::EventAttributes));
static_assert(offsetof(nvtxEventAttributes_t, payload) ==
              offsetof(redline::nvtx::EventAttributes, payload));
static_assert(NVTX_CBID_CORE_RangePop == int{redline::nvtx::kRangePop});
static_assert(NVTX_CBID_CORE_NameCategoryW == int{redline::nvtx::kNameCategoryW});
static_assert(NVTX_CBID_CORE2_DomainRangePop == int{redline::nvtx::kDomainRangePop});
static_assert(NVTX_CBID_CORE2_DomainCreateW == int{redline::nvtx::kDomainCreateW});
static_assert(NVTX_PAYLOAD_TYPE_FLOAT == int{redline::nvtx::kFloat});

/// The events of `body` but those that the recorder adds.
std::vector<Json> record(const std::function<void()>& body) {
  const std::string path = testing::TempDir() + "/nvtx_test." + std::to_string(getpid()) + ".json";
  EXPECT_EQ(redline_prepare("{}"), 0) << redline_last_error();
  EXPECT_EQ(redline_start(), 0) << redline_last_error();
  body();
  EXPECT_EQ(redline_stop(), 0);
  EXPECT_EQ(redline_export(path.c_str()), 0) << redline_last_error();
  const Json trace = Json::parse(std::ifstream(path));
  std::filesystem::remove(path);
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
  EXPECT_THAT(names(events), testing::UnorderedElementsAre("first", "first", "second", "second"));
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
