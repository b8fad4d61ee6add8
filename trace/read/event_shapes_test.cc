#include "trace/read/event_shapes.h"

#include <gtest/gtest.h>

#include <string>

#include "trace/emit/json_scan.h"
#include "trace/read/event_parser.h"

namespace redline::trace {
namespace {

struct Collector : EventSink {
  void add(const RawEvent& event) override {
    if (event.time_ns != RawEvent::kNotRead) {
      ++times_read;
      EXPECT_EQ(event.time_ns, parse_scaled(event.time, 3)) << event.time;
    }
    if (event.duration_ns != RawEvent::kNotRead) {
      EXPECT_EQ(event.duration_ns, parse_scaled(event.duration, 3)) << event.duration;
    }
    events += std::to_string(event.offset);
    for (const auto token : {event.phase, event.category, event.name, event.pid, event.tid,
                             event.time, event.duration, event.id, event.args}) {
      events += "|" + std::string(token);
    }
    events += "\n";
  }
  std::string events;
  int times_read = 0;
};

// Parses each event with a new parser, so that none can fit a known shape.
std::string without_shapes(const std::vector<std::string>& events) {
  std::string text;
  Collector all;
  for (const std::string& event : events) {
    const size_t from = text.size();
    text += event + ",";
    FastEventParser parser;
    EXPECT_TRUE(parser.parse(text, from, text.size() - 1, all).sound) << event;
  }
  return all.events;
}

std::string with_shapes(const std::vector<std::string>& events) {
  std::string text;
  for (const std::string& event : events) text += event + ",";
  Collector all;
  FastEventParser parser;
  EXPECT_TRUE(parser.parse(text, 0, text.size() - 1, all).sound);
  return all.events;
}

TEST(EventShapesTest, GiveWhatParsingInFullGives) {
  const std::string slice =
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 5.125, )"
      R"("dur": 7, "args": {"External id": 3, "list": [1, {"a": "}"}]}})";
  std::vector<std::string> events(5, slice);
  events.emplace_back(R"({"ph": "i", "name": "[memory]", "pid": 1, "tid": 2, "ts": 6, "s": "t"})");
  events.push_back(slice);
  events.emplace_back(R"({"args": {}, "ts": 1, "pid": "a", "tid": "\"b\"", "ph": "X", "dur": 2})");
  events.emplace_back(R"({"args": [], "ts": 1, "pid": "a", "tid": "\"b\"", "ph": "X", "dur": 2})");
  events.emplace_back(R"({"args": {}, "ts": 1, "pid": {"x": 1}, "tid": "c", "ph": "X", "dur": 2})");
  events.emplace_back("{}");
  events.push_back(slice);
  EXPECT_EQ(with_shapes(events), without_shapes(events));
}

TEST(EventShapesTest, AreToldApartByOneCharacter) {
  const std::string event = R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 5, "dur": 7 })";
  std::vector<std::string> events(2, event);
  for (size_t i = 1; i + 1 < event.size(); ++i) {
    if (event[i] == ' ') events.push_back(event.substr(0, i) + "\n" + event.substr(i + 1));
    if (event[i] == 'X') events.push_back(event.substr(0, i) + "B" + event.substr(i + 1));
    events.push_back(event);
  }
  EXPECT_EQ(with_shapes(events), without_shapes(events));
}

TEST(EventShapesTest, ReadTimesAsKinetoWritesThemAndLeaveOthers) {
  std::vector<std::string> events;
  for (const char* time :
       {"0", "7", "12.345", "1234567", "12345678", "123456789.001", "1712195495507616.959",
        "9999999999999999", "9999999999999999.999", "12345678901234567", "1.5", "1.2345", "1.",
        "-3.250", "\"5\"", "1e3", "0.001", "00000000000000012.000"}) {
    const std::string text(time);
    events.push_back(R"({"ph": "X", "name": "a", "ts": )" + text + R"(, "dur": )" + text + "}");
  }
  const std::vector<std::string> once = events;
  events.insert(events.end(), once.begin(), once.end());
  EXPECT_EQ(with_shapes(events), without_shapes(events));
  std::string text;
  for (const std::string& event : events) text += event + ",";
  for (const SoundParser& parser : sound_parsers()) {
    EventShapes shapes;
    Collector all;
    const std::string padded = text + std::string(400, ' ');
    const SoundText sound{padded.data(), padded.data() + text.size() - 1, 0};
    EXPECT_TRUE(parser.parse(sound, shapes, all).sound) << parser.instructions;
    EXPECT_GT(all.times_read, 12) << parser.instructions;
  }
}

TEST(EventShapesTest, GoOnWhereAnotherThreadTakesOver) {
  std::vector<std::string> events;
  for (const char* owner :
       {R"("pid": 1, "tid": 2)", R"("pid": 1, "tid": 2)", R"("pid": 1, "tid": 3)",
        R"("pid": "a b", "tid": "c")", R"("pid": 12, "tid": 2)", R"("pid":  1, "tid": 2)",
        R"("pid": 1, "tid": 2)"}) {
    const std::string text(owner);
    events.push_back(R"({"ph": "X", "name": "a", )" + text + R"(, "ts": 5.125, "dur": 1.000})");
    events.push_back(R"({"ph": "s", "id": 1, )" + text + R"(, "ts": 5.125})");
    events.push_back(R"({"ph": "i", "name": "last", "ts": 5.125, )" + text + "}");
    events.push_back(R"({"ph": "i", "name": "args", )" + text + R"(, "args": {"x": 1}})");
  }
  EXPECT_EQ(with_shapes(events), without_shapes(events));
}

TEST(EventShapesTest, MayBeManyMoreThanAreRemembered) {
  std::vector<std::string> events;
  for (int i = 0; i < 300; ++i) {
    const std::string number = std::to_string(i % 100);
    events.push_back(R"({"ph": "X", "key)" + number + R"(": 0, "name": ")" + number + R"("})");
  }
  EXPECT_EQ(with_shapes(events), without_shapes(events));
}

TEST(EventShapesTest, DoNotReachBeyondTheChunk) {
  const std::string event = R"({"ph": "X", "name": "a", "ts": 5, "dur": 7})";
  const std::string text = event + "," + event + "," + event + std::string(500, ' ');
  for (size_t to = 2 * event.size() + 2; to < text.size() - 500; ++to) {
    Collector all;
    FastEventParser parser;
    const ParseStop stop = parser.parse(text, 0, to, all);
    EXPECT_EQ(stop.sound, to == 2 * event.size() + 2) << to;
    EXPECT_EQ(stop.at, stop.sound ? to : 2 * event.size() + 1) << to;
  }
}

// The parsers for all instruction sets that this processor has must read the same.
TEST(SoundEventsTest, AreTheSameWithEveryInstructionSet) {
  std::string text;
  const std::string quotes = R"(\\\"\"")";
  for (size_t i = 0; i < 300; ++i) {
    const std::string pad(i % 150, i % 7 == 0 ? '\\' : 'x');
    const std::string name = i % 7 == 0 ? pad + pad : pad + quotes.substr(0, i % 5 / 2 * 2);
    text += R"({"ph": "X", "name": ")" + name + R"(", "ts": )" + std::to_string(i * i * i) +
            R"(, "dur": 7, "args": {"a": ")" + name + R"(", "b": {"c": [1, "}]"]}, "d": ")" +
            (i % 3 == 0 ? "é" : "e") + R"("}},)";
  }
  text += R"({"ph": "X", "name": "end"}])" + std::string(400, ' ');
  std::string expected;
  for (const SoundParser& parser : sound_parsers()) {
    EventShapes shapes;
    Collector all;
    const SoundText sound{text.data(), text.data() + text.size() - 400, 0};
    const ParseStop stop = parser.parse(sound, shapes, all);
    EXPECT_TRUE(stop.sound && stop.array_ended) << parser.instructions << " at " << stop.at;
    if (expected.empty()) expected = all.events;
    EXPECT_EQ(all.events, expected) << parser.instructions;
  }
}

#if defined(__x86_64__)
TEST(SoundEventsTest, TheWidestInstructionsOfThisProcessorComeFirst) {
  const auto has = [](int supported) { return supported != 0; };
  const bool has_avx2 = has(__builtin_cpu_supports("avx2")) && has(__builtin_cpu_supports("bmi")) &&
                        has(__builtin_cpu_supports("pclmul"));
  const bool has_avx512 =
      has(__builtin_cpu_supports("avx512bw")) && has(__builtin_cpu_supports("avx512vl"));
  const std::string_view first = sound_parsers().front().instructions;
  EXPECT_EQ(first, !has_avx2 ? "baseline" : has_avx512 ? "avx512" : "avx2");
  EXPECT_EQ(std::string_view(sound_parsers().back().instructions), "baseline");
}
#endif

}  // namespace
}  // namespace redline::trace
