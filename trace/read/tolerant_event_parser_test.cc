#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "trace/emit/json_scan.h"
#include "trace/read/event_parser.h"

namespace redline::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class Names : public EventSink {
 public:
  void add(const RawEvent& event) override { names.emplace_back(unquote(event.name)); }
  std::vector<std::string> names;
};

struct Parsed {
  std::vector<std::string> names;
  std::map<std::string, uint64_t> issues;
  ParseStop stop;
  uint64_t visited = 0;
};

Parsed parse(const std::string& text) {
  Names sink;
  IssueLog log;
  ScanWork work(text.size());
  Parsed parsed;
  parsed.stop = parse_events_tolerantly(text, 0, text.size(), sink, log, work);
  parsed.names = std::move(sink.names);
  for (const LoadIssue& issue : log.take())
    parsed.issues[std::string(issue.info().name)] = issue.count;
  parsed.visited = work.visited;
  return parsed;
}

std::string event(const std::string& name, const std::string& args = "{}") {
  return R"({"ph": "X", "name": ")" + name + R"(", "args": )" + args + "}";
}

TEST(TolerantEventParser, LosesOnlyTheBrokenEvent) {
  const std::string b = event("b"), c = event("c");
  struct {
    std::string broken;
    std::string issue;
  } const cases[] = {
      {event("a", R"({"x": [[1, 2})"), "unmatched_bracket"},
      {event("a", R"({"x": [1, 2})"), "unmatched_bracket"},
      {event("a", R"({"x": {"y": 1})"), "event_without_closing_brace"},
      {event("a", R"({"x": {"y": {"z": 1})"), "event_malformed"},
      {event("a", R"({"x" 1})"), ""},
      {R"({"ph" "X", "args": {"l": [{"m": 1}, {"m": 2}], "n": 3}})", "event_malformed"},
      {R"({"ph" "X", "args": {"l": [{"m": 1}, {"m": [{}, {}]}]}})", "event_malformed"},
      {R"({"ph": "X", "name": "a, "pid": 1, "tid": 2})", "event_malformed"},
  };
  for (const auto& [broken, issue] : cases) {
    for (const char* end : {"]", "]}", "], \"traceName\": \"x\"}"}) {
      Parsed parsed = parse(broken + ",\n" + b + ",\n" + c + end);
      std::erase_if(parsed.names, [](const std::string& name) { return name == "a"; });
      EXPECT_THAT(parsed.names, ElementsAre("b", "c")) << broken;
      EXPECT_TRUE(parsed.stop.array_ended) << broken;
      if (issue.empty()) {
        EXPECT_THAT(parsed.issues, IsEmpty()) << broken;
      } else {
        EXPECT_THAT(parsed.issues, ElementsAre(Pair(issue, 1))) << broken;
      }
    }
  }
}

TEST(TolerantEventParser, CountsWhatIsNoEventButNoPiecesOfABrokenOne) {
  const std::string broken = R"({"ph" "X", "args": {"l": [{"m": 1}, {"m": 2}], "n": 3}})";
  EXPECT_THAT(parse(event("a") + ", 5, " + event("b") + "]").issues,
              ElementsAre(Pair("not_an_event", 1)));
  EXPECT_THAT(parse(broken + ", 5, " + event("b") + "]").issues,
              ElementsAre(Pair("event_malformed", 1)));
  EXPECT_THAT(parse(broken + ", " + event("b") + ", 5, 6]").issues,
              ElementsAre(Pair("event_malformed", 1), Pair("not_an_event", 2)));
}

TEST(TolerantEventParser, FindsTheEndOfANameWithBareQuotes) {
  for (const char* name : {"a\"b", "a\"b\"c", "outer \"q\"", "\"q\" inner", "a\", b", "\"", "\"\"",
                           "f(\"x\", \"y\")", "{\"k\"}", "a\": 1"}) {
    const Parsed parsed = parse(event(name) + ", " + event("next") + "]");
    EXPECT_THAT(parsed.names, ElementsAre(name, "next"));
    EXPECT_THAT(parsed.issues, ElementsAre(Pair("unescaped_quote", 1))) << name;
  }
}

TEST(TolerantEventParser, NamesFlawsInArgsToo) {
  EXPECT_THAT(parse(event("a", "{\"x\": \"\t\"}") + "]").issues,
              ElementsAre(Pair("control_character", 1)));
  EXPECT_THAT(parse(event("a", "{\"x\": [\"\xff\"]}") + "]").issues,
              ElementsAre(Pair("invalid_utf8", 1)));
  EXPECT_THAT(parse(event("a", R"({"x": "a"b"c", "y": 1})") + "]").issues,
              ElementsAre(Pair("unescaped_quote", 1)));
}

std::string repeat(const std::string& piece, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += piece;
  return text;
}

// With each of these texts, a scanner that only counts brackets looks at the rest of the text again
// and again.
TEST(TolerantEventParser, LooksAtEachByteAFewTimesWhateverTheText) {
  for (const char* piece : {
           "[",
           "{",
           "\"",
           "}",
           "]",
           ",",
           ":",
           "\\",
           "},{",
           "[[},{",
           "{\"a\":[[{},{",
           "[{},{",
           "{\"a\":[},",
           "{\"a\":{},",
           "{\"ph\":\"X\",",
           "{\"a\":\"b\"c\"},{",
           "{\"a\":\"b\"c",
           "{\"a\":\"b\" ",
           "{\"a\":\"b\",",
           "{\"a\":{\"b\":[{\"a\":1},",
           "{\"a\":1 2},{",
           "\"a\",",
           "{\"ph\":[{\"ph\":1},",
           "{\"a\":[{\"ph\":\"X\"},{\"ph\":\"X\"},",
           "{\"ph\":\"X\"}],",
           "{\"a\":\"\"x,\"a\":\"\"x,",
           "[{\"a\":\"\"x}],",
           "{\"a\":\"\"x},{",
           "{\"a\":{\"b\":\"\"x},",
       }) {
    for (const char* end : {"", "]", "}", "\"", "}]}"}) {
      const std::string text = repeat(piece, 200'000) + end;
      const Parsed parsed = parse(text);
      EXPECT_LE(parsed.visited, 12 * text.size() + (4 << 20)) << piece << " … " << end;
    }
  }
  const std::string small = repeat("{\"a\":[{},{", 1 << 20), large = repeat(small, 8 << 20);
  EXPECT_LE(parse(large).visited, 9 * parse(small).visited);
}

}  // namespace
}  // namespace redline::trace
