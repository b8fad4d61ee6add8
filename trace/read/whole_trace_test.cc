// Whole traces: of random ones each event is read as it was meant, however it is written, and by
// the fast parser as by the tolerant one. Of one with every kind of event, all that the model
// holds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <tuple>

#include "tests/kept_text.h"
#include "tests/parsed_trace.h"
#include "tests/trace_lines.h"
#include "trace/model/category.h"
#include "trace/read/args.h"
#include "trace/read/event_parser.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

/// Writes random events in random forms, and remembers what they mean.
class RandomTrace {
 public:
  explicit RandomTrace(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  template <size_t N>
  const char* any(const char* const (&choices)[N]) {
    return choices[below(N)];
  }

  void add_event() {
    const auto [name, name_means] = any_text();
    const auto [pid, pid_means] = any_id();
    const auto [tid, tid_means] = any_id();
    const auto [ts, begin_ns] = any_time();
    Members members = {{"name", name}, {"pid", pid}, {"tid", tid}, {"ts", ts}};
    const std::string place = pid_means + "|" + tid_means;
    switch (below(5)) {
      case 0: {
        members.emplace_back("ph", "\"i\"");
        members.emplace_back("s", "\"t\"");
        instants.push_back(fmt::format("{}|{}", name_means, begin_ns));
        break;
      }
      case 1: {
        members.emplace_back("ph", "\"C\"");
        const double value = below(1000) / 8.0;
        members.emplace_back("args", fmt::format("{{\"v\": {}}}", value));
        counters.push_back(fmt::format("{}|{}: v|{}|{}", pid_means, name_means, begin_ns, value));
        break;
      }
      default: {
        const char* category = any({"cpu_op", "kernel", "cuda_runtime", "gpu_memcpy", "other"});
        const auto [dur, length_ns] = any_time();
        const uint32_t correlation = below(3) == 0 ? below(50) : 0;
        members.emplace_back("ph", "\"X\"");
        members.emplace_back("cat", fmt::format("\"{}\"", category));
        members.emplace_back("dur", dur);
        std::string args = any_args();
        if (correlation != 0) {
          const char* form =
              any({"\"correlation\": {}", "\"correlation\":{}", "\"correlation\"\t: {}"});
          args += (args.empty() ? "" : ",") + fmt::format(fmt::runtime(form), correlation);
        }
        members.emplace_back("args", "{" + args + "}");
        const bool is_linked = category_of(category) == Category::kKernel ||
                               category_of(category) == Category::kRuntime ||
                               category_of(category) == Category::kMemcpy;
        slices.push_back(
            fmt::format("{}|{}|{}|{}|{}|{}", name_means, begin_ns, begin_ns + length_ns, place,
                        category_name(category_of(category)), is_linked ? correlation : 0));
      }
    }
    write(std::move(members));
  }

  std::string text;
  Lines slices, instants, counters;

 private:
  using Members = std::vector<std::pair<std::string, std::string>>;

  std::pair<std::string, std::string> any_text() {
    static const std::pair<const char*, const char*> kTexts[] = {
        {R"("aten::mm")", "aten::mm"},
        {R"("")", ""},
        {R"("a\"b\\")", "a\"b\\"},
        {R"("tab\there")", "tab\there"},
        {R"("\u00e9\ud83d\ude00é")", "é😀é"},
        {R"("},{\"ph\": \"X\"")", "},{\"ph\": \"X\""},
        {R"("args")", "args"},
        {R"x("void f<[2], (1)>(x*)")x", "void f<[2], (1)>(x*)"}};
    const auto& [written, means] = kTexts[below(std::size(kTexts))];
    const std::string number = std::to_string(below(4));
    const std::string token(written);
    return {token.substr(0, token.size() - 1) + number + "\"", means + number};
  }
  std::pair<std::string, std::string> any_id() {
    static const std::pair<const char*, const char*> kIds[] = {{"1", "1"},
                                                               {"2", "2"},
                                                               {"-7", "-7"},
                                                               {R"("stream 7")", "stream 7"},
                                                               {R"("a\"b")", "a\"b"},
                                                               {R"("1")", "1"}};
    const auto& [written, means] = kIds[below(std::size(kIds))];
    return {written, means};
  }
  std::pair<std::string, int64_t> any_time() {
    const auto us =
        static_cast<int64_t>(below(3) == 0 ? below(20) : random_() * uint64_t{1000} + below(1000));
    const auto ns = static_cast<int64_t>(below(1000));
    switch (below(6)) {
      case 0:
        return {std::to_string(us), us * 1000};
      case 1:
        return {fmt::format("{}.{:03}", us, ns), us * 1000 + ns};
      case 2:
        return {fmt::format("{}.{}", us, ns % 10), us * 1000 + ns % 10 * 100};
      case 3:
        return {fmt::format("{}e3", us % 1'000'000), us % 1'000'000 * 1'000'000};
      case 4:
        return {fmt::format("{}.{:03}4", us, ns), us * 1000 + ns};
      default:
        return {fmt::format("{}.{:03}6e0", us, ns), us * 1000 + ns + 1};
    }
  }
  std::string any_args() {
    std::string args;
    for (uint32_t left = below(4); left > 0; --left) {
      args += (args.empty() ? "" : any({", ", ",", " ,\n "})) +
              fmt::format("\"{}\"", any({"a", "b", "key", "k\\\"", "ph"})) +
              any({": ", ":", " : "}) +
              any({"1", "-2.5e3", "true", "null", "\"x\"", "\"}\"", "\"\\\"\"",
                   "[1, {\"a\": \"]\"}]", "{\"a\": {}}", "[]"});
    }
    return args;
  }
  void write(Members members) {
    if (below(2) == 0) std::shuffle(members.begin(), members.end(), random_);
    const char* const space = any({" ", "", "\n", "\t "});
    std::string event;
    for (const auto& [key, value] : members) {
      event += (event.empty() ? std::string("{") : "," + std::string(space)) + "\"" + key +
               "\":" + space + value;
    }
    text += (text.empty() ? "" : any({",", ",\n", " , "})) + event + any({"}", " }"});
  }

  std::mt19937 random_;
};

Lines sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

Lines meanings_of(const Trace& trace) {
  Lines lines;
  const Slices& slices = trace.slices();
  for (uint32_t i = 0; i < trace.slice_count(); ++i) {
    const Track& track = trace.tracks()[trace.lanes()[slices.lane[i].value].track.value];
    lines.push_back(fmt::format("{}|{}|{}|{}|{}|{}|{}", trace.string(slices.name[i]),
                                slices.begin_ns[i], slices.end_ns[i], trace.string(track.pid),
                                trace.string(track.tid), category_name(slices.category[i]),
                                slices.correlation[i]));
  }
  return lines;
}

TEST(WholeTrace, EachEventOfARandomOneIsReadAsItWasMeant) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomTrace random(seed);
    for (uint32_t left = 5 + random.below(300); left > 0; --left) random.add_event();
    const auto trace = parsed("{\"traceEvents\": [" + random.text + "]}");
    ASSERT_TRUE(trace);
    EXPECT_EQ(
        redline::testing::first_difference(sorted(random.slices), sorted(meanings_of(*trace))), "");
    Lines instants, counters;
    for (const Instant& each : trace->instants())
      instants.push_back(fmt::format("{}|{}", trace->string(each.name), each.time_ns));
    for (const Counter& each : trace->counters()) {
      for (size_t i = 0; i < each.time_ns.size(); ++i) {
        counters.push_back(fmt::format("{}|{}|{}|{}", trace->string(each.pid),
                                       trace->string(each.name), each.time_ns[i], each.value[i]));
      }
    }
    EXPECT_EQ(redline::testing::first_difference(sorted(random.instants), sorted(instants)), "");
    EXPECT_EQ(redline::testing::first_difference(sorted(random.counters), sorted(counters)), "");
    EXPECT_TRUE(trace->issues().empty()) << trace->issues()[0].info().name;
    EXPECT_EQ(trace->event_count(),
              random.slices.size() + random.instants.size() + random.counters.size());
  }
}

// Lanes of a thread: sorted, no two slices of a lane overlap, and a deeper one lies in no gap.
TEST(WholeTrace, NoTwoSlicesOfALaneOverlap) {
  for (uint32_t seed = 41; seed <= 50; ++seed) {
    RandomTrace random(seed);
    for (int i = 0; i < 300; ++i) random.add_event();
    const auto trace = parsed("[" + random.text + "]");
    ASSERT_TRUE(trace);
    const Slices& slices = trace->slices();
    uint32_t next = 0;
    for (uint32_t l = 0; l < trace->lanes().size(); ++l) {
      const Lane& lane = trace->lanes()[l];
      EXPECT_EQ(lane.first.value, next);
      next += lane.count;
      for (uint32_t i = lane.first.value; i < next; ++i) {
        EXPECT_EQ(slices.lane[i].value, l);
        EXPECT_TRUE(i == lane.first.value || slices.begin_ns[i] >= slices.end_ns[i - 1]);
      }
    }
    EXPECT_EQ(next, trace->slice_count());
  }
}

class Tokens : public EventSink {
 public:
  void add(const RawEvent& event) override {
    lines.push_back(std::to_string(event.offset));
    for (const auto token : {event.phase, event.category, event.name, event.pid, event.tid,
                             event.time, event.duration, event.id, event.args}) {
      lines.back() += "|" + std::string(token);
    }
  }
  Lines lines;
};

TEST(WholeTrace, TheFastAndTheTolerantParserAgreeOnEveryWholeEvent) {
  for (uint32_t seed = 100; seed < 130; ++seed) {
    SCOPED_TRACE(seed);
    RandomTrace random(seed);
    for (int i = 0; i < 200; ++i) random.add_event();
    const std::string text = random.text + "]}";
    Tokens fast, tolerant;
    FastEventParser parser;
    const ParseStop stop = parser.parse(text, 0, text.size(), fast);
    EXPECT_TRUE(stop.sound && stop.array_ended);
    IssueLog log;
    ScanWork work(text.size());
    const ParseStop other = parse_events_tolerantly(text, 0, text.size(), tolerant, log, work);
    EXPECT_TRUE(other.array_ended);
    EXPECT_EQ(other.at, stop.at);
    EXPECT_EQ(redline::testing::first_difference(fast.lines, tolerant.lines), "");
    EXPECT_TRUE(log.take().empty());
    // Torn anywhere, both give the same events up to there.
    const size_t cut = text.size() / 4 + random.below(static_cast<uint32_t>(text.size() / 2));
    Tokens of_torn;
    IssueLog torn_log;
    ScanWork torn_work(cut);
    (void)parse_events_tolerantly(std::string_view(text).substr(0, cut), 0, cut, of_torn, torn_log,
                                  torn_work);
    Tokens fast_torn;
    FastEventParser again;
    (void)again.parse(std::string_view(text).substr(0, cut), 0, cut, fast_torn);
    EXPECT_EQ(redline::testing::first_difference(fast_torn.lines, of_torn.lines), "");
  }
}

// One broken event costs no other.
TEST(WholeTrace, ABrokenEventLeavesTheOthersAsTheyAre) {
  const std::string broken[] = {
      R"({"ph": "X" "name": "b"})", R"({"ph": "X", "name": "a"b", "ts": 1, "dur": 1})",
      R"({"ph": "X", "name": "b", "args": {"x": [1, 2})", R"({"ph": "X", 5: 1})", "17"};
  for (uint32_t seed = 200; seed < 220; ++seed) {
    SCOPED_TRACE(seed);
    RandomTrace random(seed);
    for (int i = 0; i < 60; ++i) random.add_event();
    random.text += ", " + broken[seed % std::size(broken)];
    for (int i = 0; i < 60; ++i) random.add_event();
    const auto trace = parsed("[" + random.text + "]");
    ASSERT_TRUE(trace);
    EXPECT_FALSE(trace->issues().empty());
    Lines found = meanings_of(*trace);
    std::erase_if(found, [](const std::string& line) {
      return line.starts_with("b|") || line.starts_with("a\"b|");
    });
    EXPECT_EQ(redline::testing::first_difference(sorted(random.slices), sorted(found)), "");
  }
}

TEST(WholeTrace, TheModelOfEachKindOfEvent) {
  const auto trace = parsed(
      R"({"schemaVersion": 1, "distributedInfo": {"rank": 2, "world_size": 4, "backend": "nccl"},
"deviceProperties": [{"id": 0}], "host_name": "node",
"baseTimeNanoseconds": 1000000, "mine": [1, {"a": "]"}], "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 10, "args": {"name": "python"}},
{"ph": "M", "name": "process_labels", "pid": 10, "args": {"labels": "CPU"}},
{"ph": "M", "name": "process_sort_index", "pid": 10, "args": {"sort_index": 9}},
{"ph": "M", "name": "thread_name", "pid": 10, "tid": 11, "args": {"name": "main"}},
{"ph": "M", "name": "thread_sort_index", "pid": 10, "tid": 12, "args": {"sort_index": "-3"}},
{"ph": "M", "name": "other", "pid": 10, "tid": 12, "args": {"name": "x"}},
{"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 10, "tid": 11, "ts": 10, "dur": 90,
 "args": {"correlation": 5}},
{"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 10, "tid": 11, "ts": 20, "dur": 10},
{"ph": "X", "cat": "cpu_op", "name": "ProfilerStep#1", "pid": 10, "tid": 12, "ts": 5, "dur": 95},
{"ph": "X", "cat": "cuda_runtime", "name": "launch", "pid": 10, "tid": 11, "ts": 30.5, "dur": 2,
 "args": {"x": 1, "correlation": 7}},
{"ph": "s", "id": 7, "pid": 10, "tid": 11, "ts": 30.5, "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 40, "dur": 5, "args": {"correlation": 7}},
{"ph": "f", "id": 7, "pid": 0, "tid": 7, "ts": 40, "bp": "e", "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "cat": "gpu_memcpy", "name": "copy", "pid": 0, "tid": "stream 20", "ts": 41, "dur": 5,
 "args": {"correlation" : 8}},
{"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 10, "tid": 11, "ts": 33, "dur": 1,
 "args": {"correlation": 8}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "span", "pid": 1, "tid": 7, "ts": 40, "dur": 6},
{"ph": "X", "cat": "cuda_sync", "name": "wait", "pid": 1, "tid": 8, "ts": 40, "dur": 6, "args": {"correlation": 9}},
{"ph": "X", "cat": "overhead", "name": "flush", "pid": -1, "tid": 0, "ts": 40, "dur": 6},
{"ph": "X", "cat": "Trace", "name": "whole", "pid": "Spans", "tid": "s", "ts": 0, "dur": 100},
{"ph": "s", "id": "a", "pid": 10, "tid": 11, "ts": 20, "cat": "fwdbwd", "name": "fwdbwd"},
{"ph": "f", "id": "a", "pid": 10, "tid": 11, "ts": 30.5, "bp": "e", "cat": "fwdbwd", "name": "fwdbwd"},
{"ph": "s", "id": 3, "pid": 10, "tid": 11, "ts": 12, "cat": "x", "name": "x"},
{"ph": "t", "id": 3, "pid": 10, "tid": 11, "ts": 30.6, "cat": "x", "name": "x"},
{"ph": "f", "id": 3, "pid": 10, "tid": 12, "ts": 60, "cat": "x", "name": "x"},
{"ph": "s", "id": 4, "pid": 99, "tid": 11, "ts": 12, "cat": "x", "name": "nowhere"},
{"ph": "B", "cat": "cpu_op", "name": "pair", "pid": 10, "tid": 13, "ts": 1},
{"ph": "E", "pid": 10, "tid": 13, "ts": 4},
{"ph": "b", "cat": "net", "id": 1, "name": "get", "pid": 10, "tid": 11, "ts": 1},
{"ph": "e", "cat": "net", "id": 1, "name": "get", "pid": 10, "tid": 12, "ts": 7},
{"ph": "i", "s": "t", "name": "mark", "pid": 10, "tid": 12, "ts": 50.25},
{"ph": "I", "name": "early", "pid": 10, "tid": 11, "ts": 2},
{"ph": "R", "name": "nobody's", "pid": 3, "tid": 4, "ts": 3},
{"ph": "n", "cat": "net", "id": 1, "name": "byte", "pid": 10, "ts": 3},
{"ph": "C", "name": "power", "pid": 0, "ts": 1, "args": {"W": 1.5, "C": "60", "": 2, "bad": "x"}},
{"ph": "C", "name": "power", "pid": 0, "ts": 2, "args": {"W": 2, "C": NaN, "": "inf"}},
{"ph": "C", "name": "power", "pid": 1, "ts": 3, "args": {"W": 3}}
]})");
  ASSERT_TRUE(trace);
  std::string text;
  const auto add = [&](const char* title, const Lines& lines) {
    text += std::string(title) + "\n";
    for (const std::string& line : lines) text += "  " + line + "\n";
  };
  add("tracks", tracks_of(*trace));
  add("slices", slices_of(*trace));
  add("flows", flows_of(*trace));
  add("instants", instants_of(*trace));
  add("counters", counters_of(*trace));
  Lines more = {std::to_string(trace->begin_ns()) + " " + std::to_string(trace->end_ns()),
                trace->metadata().host, trace->metadata().backend,
                std::to_string(trace->event_count())};
  for (const auto& [name, count] : issues_of(*trace))
    more.push_back(name + " " + std::to_string(count));
  add("more", more);
  EXPECT_EQ(
      trace->metadata().top_level_json,
      R"({"baseTimeNanoseconds":1000000,"distributedInfo":{"backend":"nccl","rank":2,"world_size":4},)"
      R"("host_name":"node","mine":[1,{"a":"]"}],"schemaVersion":1})");
  EXPECT_EQ(text, R"text(tracks
  Spans|s||||2|-1|-1|-1|0|1
  0|7||||1|0|7|7|1|1
  0|stream 20||||1|0|20|20|2|1
  1|7||||1|1|7|7|3|1
  1|8||||1|1|8|8|4|1
  -1|0||||2|-1|-1|0|5|1
  10|12|python|CPU||0|-1|-1|-3|6|1
  10|async net|python|CPU||2|-1|-1|-1|7|1
  10|11|python|CPU|main|0|-1|-1|11|8|2
  10|13|python|CPU||0|-1|-1|13|10|1
slices
  whole|1000000|1100000|11|0|0
  gemm|1040000|1045000|6|1|7
  copy|1041000|1046000|7|2|8
  span|1040000|1046000|2|3|0
  wait|1040000|1046000|9|4|9
  flush|1040000|1046000|10|5|0
  ProfilerStep#1|1005000|1100000|1|6|0
  get|1001000|1007000|12|7|0
  outer|1010000|1100000|0|8|0
  inner|1020000|1030000|0|9|0
  launch|1030500|1032500|4|9|7
  cuLaunchKernel|1033000|1034000|5|9|8
  pair|1001000|1004000|0|10|0
flows
  8>6 2
  8>10 2
  9>8 1
  10>1 0
  11>2 0
instants
  early|1002000|8|10|11
  nobody's|1003000|4294967295|3|4
  byte|1003000|7|10|async net
  mark|1050250|6|10|12
counters
  0|power: W|1001000|1.5
  0|power: W|1002000|2
  0|power: C|1001000|60
  0|power|1001000|2
  1|power: W|1003000|3
more
  1000000 1100000
  node
  nccl
  36
  counter_not_a_number 3
)text");
}

TEST(WholeTrace, CountersOfOneNameAreToldApartByTheirIds) {
  const auto trace = parsed(R"([
{"ph": "C", "name": "disk", "id": "a\u0062", "pid": 1, "ts": 1, "args": {"read": 5}},
{"ph": "C", "name": "disk", "id": 7, "pid": 1, "ts": 1, "args": {"read": 6, "": 7}},
{"ph": "C", "name": "disk", "id": "", "pid": 1, "ts": 1, "args": {"read": 8}}
])");
  ASSERT_TRUE(trace);
  EXPECT_EQ(sorted(counters_of(*trace)), (Lines{"1|disk: read|1000|8", "1|disk[7]: read|1000|6",
                                                "1|disk[7]|1000|7", "1|disk[ab]: read|1000|5"}));
}

// What find_args() skips for speed, find_value() reads in full.
TEST(WholeTrace, ArgsAreFoundAsByReadingThemInFull) {
  static constexpr std::array<std::string_view, 4> kKeys = {"a", "key", "ph", "correlation"};
  RandomTrace random(7);
  for (int i = 0; i < 3000; ++i) random.add_event();
  class Check : public EventSink {
   public:
    Check(std::string_view text, ArgsScanner& scanner) : text_(text), scanner_(scanner) {}
    void add(const RawEvent& event) override {
      const std::string_view own = text_.substr(event.offset);
      std::array<std::string_view, 4> found{"old", "old", "old", "old"}, by_kind = found;
      find_args(own, kKeys, found);
      scanner_.find(own, count_++ % 200, kKeys, by_kind);
      const Args args(own);
      for (size_t k = 0; k < kKeys.size(); ++k) {
        const std::string_view expected = find_value(event.args, kKeys[k]);
        EXPECT_EQ(found[k], expected) << own.substr(0, 400);
        EXPECT_EQ(by_kind[k], expected) << own.substr(0, 400);
        EXPECT_EQ(args.raw(kKeys[k]), expected);
        EXPECT_EQ(args.integer(kKeys[k]), parse_scaled(unquote(expected), 0));
      }
    }

   private:
    std::string_view text_;
    ArgsScanner& scanner_;
    size_t count_ = 0;
  };
  ArgsScanner scanner;
  Check check(random.text, scanner);
  FastEventParser parser;
  EXPECT_TRUE(parser.parse(random.text, 0, random.text.size(), check).sound);
}

// What is left of two small traces when one character of them lacks or is too many stands in
// trace/read/damaged_traces.txt.
TEST(WholeTrace, WhatIsLeftOfADamagedOneIsInTheList) {
  const std::string whole[] = {
      R"([{"ph":"X","name":"a","ts":1,"dur":1,"args":{"x":[1,{"y":"z"}]}}, {"ph":"X","name":"b","ts":2,"dur":1}])",
      R"({"k": [1], "traceEvents": [{"ph":"X","name":"a","ts":1,"dur":1}], "m": {"n": "o"}})"};
  const auto left_of = [](const std::string& text) {
    const auto trace = parse_trace("t", text);
    if (!trace) return trace.error().message.substr(3);
    std::string left;
    for (uint32_t i = 0; i < (*trace)->slice_count(); ++i) {
      left += fmt::format("{}@{} ", (*trace)->string((*trace)->slices().name[i]),
                          (*trace)->slices().begin_ns[i]);
    }
    for (const LoadIssue& issue : (*trace)->issues()) {
      left += fmt::format("{}:{}@{} ", issue.info().name, issue.count, issue.first_offset);
    }
    return left + (*trace)->metadata().top_level_json;
  };
  std::string all;
  for (const std::string& text : whole) {
    for (size_t at = 0; at <= text.size(); ++at) {
      // Lines of the same result follow each other as one.
      const auto add = [&](const std::string& what, const std::string& damaged) {
        const std::string left = left_of(damaged);
        const std::string before =
            all.empty() ? "" : all.substr(all.find(" = ", all.rfind('\n', all.size() - 2) + 1) + 3);
        if (before == left + "\n" && what != "cut") {
          all.insert(all.find(" = ", all.rfind('\n', all.size() - 2) + 1), what);
        } else {
          all += fmt::format("{} {} = {}\n", at, what, left);
        }
      };
      if (at < text.size()) add("-", text.substr(0, at) + text.substr(at + 1));
      for (const char c : std::string_view("\"{}[],:\\"))
        add(std::string(1, c), text.substr(0, at) + c + text.substr(at));
      add("cut", text.substr(0, at));
    }
  }
  testing::expect_kept_text(all, "trace/read/damaged_traces.txt");
}

// Finds the flows of a trace as their rules say, by looking at each slice.
Lines flows_by_rule(const Trace& trace,
                    const std::vector<std::tuple<int, bool, uint32_t, int64_t>>& ends) {
  const Slices& slices = trace.slices();
  const auto find = [&](uint32_t tid, int64_t time_ns) {
    SliceId innermost;
    for (const Track& track : trace.tracks()) {
      if (trace.string(track.tid) != std::to_string(tid)) continue;
      for (uint32_t depth = 0; depth < track.lane_count; ++depth) {
        const Lane& lane = trace.lanes()[track.first_lane.value + depth];
        SliceId last;
        for (uint32_t i = lane.first.value; i < lane.first.value + lane.count; ++i) {
          if (slices.begin_ns[i] <= time_ns) last = SliceId{i};
        }
        if (!last || slices.end_ns[last.value] < time_ns) continue;
        if (slices.begin_ns[last.value] == time_ns) return last;
        innermost = last;
      }
    }
    return innermost;
  };
  Lines lines;
  for (const auto& [id, is_start, tid, time_ns] : ends) {
    if (is_start) continue;
    const std::tuple<int, bool, uint32_t, int64_t>* start = nullptr;
    for (const auto& other : ends) {
      const bool is_before = std::get<3>(other) <= time_ns &&
                             (start == nullptr || std::get<3>(other) > std::get<3>(*start));
      if (std::get<1>(other) && std::get<0>(other) == id && is_before) start = &other;
    }
    if (start == nullptr) continue;
    const SliceId from = find(std::get<2>(*start), std::get<3>(*start)), to = find(tid, time_ns);
    if (from && to && from != to) lines.push_back(fmt::format("{}>{}", from.value, to.value));
  }
  return lines;
}

TEST(WholeTrace, FlowsBindAsTheirRulesSay) {
  for (uint32_t seed = 300; seed < 330; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
    redline::testing::TraceText text;
    std::set<int64_t> begins;
    for (int i = 0; i < 300; ++i) {
      const int64_t begin = 10 * below(2'000);
      begins.insert(begin);
      text.slice("other", "s", begin, begin + 10 * (1 + below(60)),
                 {.tid = std::to_string(below(3))});
    }
    std::vector<std::tuple<int, bool, uint32_t, int64_t>> ends;
    std::set<std::pair<uint32_t, int64_t>> taken;  // no two starts of an id at one time
    for (int i = 0; i < 400; ++i) {
      const auto id = static_cast<int>(below(seed % 2 == 0 ? 20 : 5'000));
      const auto time_ns = static_cast<int64_t>(below(20'500));
      const bool is_start = below(2) == 0;
      if (is_start && !taken.insert({static_cast<uint32_t>(id), time_ns}).second) continue;
      ends.emplace_back(id, is_start, below(4), time_ns);
      text.event(fmt::format(
          R"({{"ph": "{}", "id": {}, "pid": 1, "tid": {}, "ts": {}.{:03}, "cat": "x", "name": "x"}})",
          is_start ? "s" : (below(2) == 0 ? "f" : "t"), id, std::get<2>(ends.back()),
          time_ns / 1000, time_ns % 1000));
    }
    const auto trace = parsed(text.str());
    ASSERT_TRUE(trace);
    Lines found;
    for (const Flow& flow : trace->flows())
      found.push_back(fmt::format("{}>{}", flow.from.value, flow.to.value));
    EXPECT_EQ(
        redline::testing::first_difference(sorted(flows_by_rule(*trace, ends)), sorted(found)), "");
  }
}

}  // namespace
}  // namespace redline::trace
