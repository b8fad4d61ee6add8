#include "viewer/models/details.h"

#include <gtest/gtest.h>

#include "viewer/models/test_trace.h"

namespace redline::viewer {
namespace {

std::string value_of(const std::vector<DetailField>& fields, const std::string& name) {
  for (const DetailField& field : fields) {
    if (field.name == name) return field.value;
  }
  return "(none)";
}

TEST(Details, SaysAllThatTheFileSays) {
  const Session session = two_ranks();
  const SliceDetails details = slice_details(session, slice_named(session, 1, "aten::linear"));
  EXPECT_EQ(details.name, "aten::linear");
  EXPECT_EQ(value_of(details.fields, "Category"), "cpu_op");
  EXPECT_EQ(value_of(details.fields, "Start"), "+40.000 µs");
  EXPECT_EQ(value_of(details.fields, "Duration"), "30.000 µs");
  EXPECT_EQ(value_of(details.fields, "Trace"), "rank 1");
  EXPECT_EQ(value_of(details.fields, "Thread"), "100");
  EXPECT_EQ(value_of(details.arguments, "Input Dims"), "[[4,8],[8]]");
}

TEST(Details, NestedArgumentsAreFlat) {
  const auto fields = event_arguments(
      R"({"name":"k","args":{"occupancy":{"limit":"REGS","warps":4},"grid":[1,2,3],"empty":{}}})");
  EXPECT_EQ(value_of(fields, "occupancy.limit"), "REGS");
  EXPECT_EQ(value_of(fields, "occupancy.warps"), "4");
  EXPECT_EQ(value_of(fields, "grid"), "[1,2,3]");
  EXPECT_EQ(value_of(fields, "empty"), "{}");
}

TEST(Details, HostileTextIsShownNotParsed) {
  EXPECT_TRUE(event_arguments("").empty());
  EXPECT_TRUE(event_arguments(R"({"name":"no args"})").empty());
  EXPECT_EQ(value_of(event_arguments(R"({"args":{"a":inf}})"), "event"), R"({"args":{"a":inf}})");
  EXPECT_EQ(value_of(event_arguments(R"({"args":[1]})"), "args"), "[1]");
  const std::string deep = R"({"args":{"a":)" + std::string(100'000, '[') + "}}";
  EXPECT_EQ(event_arguments(deep).size(), 1U);
  const std::string large = R"({"args":{"a":")" + std::string(1'000'000, 'x') + "\"}}";
  EXPECT_LT(value_of(event_arguments(large), "a").size(), 5000U);
  EXPECT_EQ(value_of(event_arguments("{\"args\":{\"a\":\"\xff\"}}"), "event").substr(0, 8),
            "{\"args\":");
}

TEST(Details, StacksAreReadFrameByFrame) {
  const auto fields = event_arguments(R"({"args":{"Call stack":"a.py(1): f;b.py(2): g"}})");
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].value, "a.py(1): f\nb.py(2): g");
}

}  // namespace
}  // namespace redline::viewer
