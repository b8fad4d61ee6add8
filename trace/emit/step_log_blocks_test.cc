// The format of step logs, byte by byte: files of earlier versions must stay readable, and those of
// hostile people must be refused. (That what is written comes back: trace/read/step_log_test.cc.)
#include "trace/emit/step_log_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace redline::trace {
namespace {

constexpr int64_t kLargest = int64_t{1} << 52;

constexpr uint64_t z(int64_t value) {  // zigzag
  return value < 0 ? static_cast<uint64_t>(-(value + 1)) * 2 + 1 : static_cast<uint64_t>(value) * 2;
}

std::string numbers(std::initializer_list<uint64_t> values) {
  std::string bytes;
  for (uint64_t value : values) {
    for (; value > 127; value /= 128) bytes += static_cast<char>(value % 128 + 128);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

std::string text(const std::string& words) { return numbers({words.size()}) + words; }

std::string section(uint64_t tag, const std::string& content) {
  return numbers({tag}) + text(content);
}

/// A column with one value for all steps, and one with the differences between them.
std::string one(int64_t value) { return numbers({1, z(value)}); }
std::string differences(const std::vector<int64_t>& values) {
  std::string bytes = numbers({2});
  for (const int64_t value : values) bytes += numbers({z(value)});
  return bytes;
}
const std::string kUnseenColumn = numbers({0});

/// The first columns; all others are unseen.
struct Columns {
  std::string gap = one(5), steps = one(1), begin = one(100), length = differences({7});
  std::vector<std::string> rest = std::vector<std::string>(15, kUnseenColumn);
};

std::string steps_section(uint64_t count, const Columns& columns) {
  std::string bytes = numbers({count, 4 + columns.rest.size()}) + columns.gap + columns.steps +
                      columns.begin + columns.length;
  for (const std::string& column : columns.rest) bytes += column;
  return section(2, bytes);
}

const std::string kHead = numbers({z(1'000), 0});  // written at 1 ms, in no part

std::optional<LogBlock> decoded(const std::string& payload) {
  const std::string framed = frame_of(payload);
  BlockScan scan(framed);
  auto block = scan.next();
  EXPECT_EQ(scan.damaged_bytes() == 0, block.has_value());
  return block;
}

TEST(StepLogBlocks, AreWrittenAsTheyAlwaysWere) {
  LogBlock block;
  block.sign_ns = 1'000'999;
  block.part = LogPart::kBackward;
  block.part_since_ns = 990'000;
  block.owner = LogOwner{"run", 3, 8, "node", "train", 77, 500'000, -2'000};
  block.steps.resize(2);
  LoggedStep& first = block.steps[0];
  first.step = 5;
  first.begin_ns = 100'000;
  first.length_ns = 7'000;
  first.samples = 64;
  first.part_ns[8] = 1'000;
  LoggedStep& second = block.steps[1];
  second.step = 7;
  second.steps = 2;
  second.begin_ns = 109'000;
  second.length_ns = 10'000;
  second.samples = 64;
  second.tokens = 9;
  second.shortest_ns = 4'000;
  second.longest_ns = 6'000;
  second.deviation_ns = 1'499;
  block.memory = {{400'000, 300, kUnseen}};
  block.cores = {{600'000, 8, 5'000, kUnseen, 3'000}};
  block.marks = {{700'000, 2'000, LogMarkKind::kNote, "hi"}};
  block.lost_steps = 4;
  block.thinned_before_ns = 50'000;
  block.ended = true;
  block.exit_status = -9;
  Columns columns;
  columns.gap = differences({5, 1 - 5});
  columns.steps = differences({1, 1});
  columns.begin = differences({100, 2 - 100});
  columns.length = differences({7, 3});
  columns.rest[0] = one(64);
  columns.rest[1] = differences({-1, 10});
  columns.rest[2] = differences({-1, 5});
  columns.rest[3] = differences({-1, 7});
  columns.rest[4] = differences({-1, 2});
  columns.rest[13] = differences({1, -2});
  const std::string owner = text("run") + numbers({z(3), z(8)}) + text("node") + text("train") +
                            numbers({z(77), z(500), z(-2)});
  const std::string payload =
      numbers({z(1'000), 3, z(10)}) + section(1, owner) + steps_section(2, columns) +
      section(3, numbers({z(600), z(300), z(-1)})) +
      section(8, numbers({z(400), z(8), z(5), z(-1), z(3)})) +
      section(4, numbers({z(300), z(2), 7}) + text("hi")) + section(5, numbers({z(4), z(0)})) +
      section(6, numbers({z(950)})) + section(7, numbers({z(-9)}));
  EXPECT_EQ(encode_block(block), frame_of(payload));
  EXPECT_EQ(encode_block({}).substr(0, 8), std::string("RSL1\2\0\0\0", 8));
  EXPECT_EQ(encode_block({}).substr(12), std::string("\0\0", 2));
  LogBlock lost;
  lost.lost_marks = 1;
  EXPECT_EQ(encode_block(lost).substr(12), numbers({0, 0, 5, 2, 0, z(1)}));
}

TEST(StepLogBlocks, WhatNoWriterWroteIsRefused) {
  const auto with = [](const std::string& sections) { return kHead + sections; };
  const auto owner = [&](int64_t rank, int64_t world_size) {
    return with(section(1, text("") + numbers({z(rank), z(world_size)}) + text("") + text("") +
                               numbers({z(1), z(1), z(1)})));
  };
  const auto end = [&](int64_t status) { return with(section(7, numbers({z(status)}))); };
  struct {
    const char* what;
    bool sound;
    std::string payload;
  } const rows[] = {
      {"nothing", false, ""},
      {"no part", false, numbers({0})},
      {"only a time", true, numbers({0, 0})},
      {"a time before 1970", false, numbers({z(-1), 0})},
      {"the largest time", true, numbers({z(kLargest), 0})},
      {"a larger time", false, numbers({z(kLargest + 1), 0})},
      {"an endless number", false, std::string(10, '\xff') + '\1'},
      {"a part and its begin", true, numbers({z(5), 9, z(5)})},
      {"a part without begin", false, numbers({z(5), 9})},
      {"a part that began before 1970", false, numbers({z(5), 9, z(6)})},
      {"a part of a later version", true, numbers({z(5), 10, z(5)})},
      {"a section of a later version", true, with(section(99, "anything"))},
      {"a section without length", false, with(numbers({99}))},
      {"a section that is cut", false, with(numbers({99, 2}) + "a")},
      {"an owner", true, owner(0, 1)},
      {"a large owner", true, owner(1 << 30, 1 << 30)},
      {"a rank below 0", false, owner(-1, 1)},
      {"a rank too large", false, owner((1 << 30) + 1, 1)},
      {"no ranks", false, owner(0, 0)},
      {"too many ranks", false, owner(0, (1 << 30) + 1)},
      {"half an owner", false, with(section(1, text("run") + numbers({0, z(1)}) + text("")))},
      {"a name that is cut", false, with(section(1, numbers({9}) + "run"))},
      {"memory", true, with(section(3, numbers({z(1'000), z(-1), z(-1)})))},
      {"memory before 1970", false, with(section(3, numbers({z(1'001), z(0), z(0)})))},
      {"host memory below none", false, with(section(3, numbers({z(0), z(-2), z(0)})))},
      {"device memory below none", false, with(section(3, numbers({z(0), z(0), z(-2)})))},
      {"half of memory", false, with(section(3, numbers({z(0), z(0)})))},
      {"cores", true, with(section(8, numbers({z(0), z(-1), z(-1), z(-1), z(-1)})))},
      {"cores below none", false, with(section(8, numbers({z(0), z(-2), 0, 0, 0})))},
      {"busy below none", false, with(section(8, numbers({0, 0, z(-2), 0, 0})))},
      {"used below none", false, with(section(8, numbers({0, 0, 0, z(-2), 0})))},
      {"waited below none", false, with(section(8, numbers({0, 0, 0, 0, z(-2)})))},
      {"half of cores", false, with(section(8, numbers({0, 0, 0, 0})))},
      {"a mark", true, with(section(4, numbers({0, 0, 7}) + text("")))},
      {"a mark of a later version", true, with(section(4, numbers({0, 0, 10}) + text("")))},
      {"a mark of no length", false, with(section(4, numbers({0, z(-1), 7}) + text("")))},
      {"a mark without text", false, with(section(4, numbers({0, 0, 7})))},
      {"losses", true, with(section(5, numbers({0, 0})))},
      {"lost steps below 0", false, with(section(5, numbers({z(-1), 0})))},
      {"lost marks below 0", false, with(section(5, numbers({0, z(-1)})))},
      {"half of losses", false, with(section(5, numbers({0})))},
      {"thinned", true, with(section(6, numbers({z(1'000)})))},
      {"thinned before 1970", false, with(section(6, numbers({z(1'001)})))},
      {"an end", true, with(section(7, ""))},
      {"an end with a status", true, end(INT32_MAX)},
      {"a status below 0", true, end(INT32_MIN)},
      {"a status too large", false, end(INT64_C(1) + INT32_MAX)},
      {"a status too small", false, end(INT64_C(-1) + INT32_MIN)},
      {"a status that is cut", false, with(section(7, "\xff"))},
  };
  for (const auto& [what, sound, payload] : rows) {
    EXPECT_EQ(decoded(payload).has_value(), sound) << what;
  }
  EXPECT_EQ(decoded(numbers({z(5), 10, z(5)}))->part, LogPart::kHandOver);
  EXPECT_EQ(decoded(numbers({z(5), 11, z(5)}))->part, std::nullopt);
  EXPECT_TRUE(decoded(with(section(4, numbers({0, 0, 10}) + text(""))))->marks.empty());
  EXPECT_EQ(decoded(with(section(7, "")))->exit_status, std::nullopt);
  EXPECT_TRUE(decoded(with(section(7, "")))->ended);
}

TEST(StepLogBlocks, StepsThatCannotBeAreRefused) {
  const auto changed = [](const auto& change, uint64_t count = 1) {
    Columns columns;
    change(columns);
    return decoded(kHead + steps_section(count, columns)).has_value();
  };
  struct {
    const char* what;
    bool sound;
    std::string Columns::*column;
    std::string content;
  } const rows[] = {
      {"as it is", true, &Columns::gap, one(5)},
      {"the first number", true, &Columns::gap, one(0)},
      {"a number below 0", false, &Columns::gap, one(-1)},
      {"an unseen number", false, &Columns::gap, kUnseenColumn},
      {"the largest number", true, &Columns::gap, one(kLargest - 1)},
      {"a number too large", false, &Columns::gap, one(kLargest)},
      {"no step", false, &Columns::steps, one(0)},
      {"many steps", true, &Columns::steps, one(kLargest - 5)},
      {"too many steps", false, &Columns::steps, one(kLargest - 4)},
      {"at 1970", true, &Columns::begin, one(0)},
      {"before 1970", false, &Columns::begin, one(-1)},
      {"the latest end", true, &Columns::begin, one(kLargest - 7)},
      {"an end too late", false, &Columns::begin, one(kLargest - 6)},
      {"no length", true, &Columns::length, differences({0})},
      {"a length below 0", false, &Columns::length, differences({-1})},
      {"one length for all", false, &Columns::length, one(7)},
      {"an unseen length", false, &Columns::length, kUnseenColumn},
      {"another form of column", false, &Columns::gap, numbers({3, z(5)})},
  };
  for (const auto& row : rows) {
    const auto change = [&](Columns& columns) { columns.*row.column = row.content; };
    EXPECT_EQ(changed(change), row.sound) << row.what;
  }
  const auto rest = [&](size_t columns, size_t changing, const std::string& content) {
    return changed([&](Columns& all) {
      all.rest.resize(columns, kUnseenColumn);
      if (changing < columns) all.rest[changing] = content;
    });
  };
  for (size_t at = 0; at < 15; ++at) {
    EXPECT_FALSE(rest(15, at, one(-2))) << at;
    EXPECT_TRUE(rest(15, at, one(0))) << at;
  }
  EXPECT_FALSE(rest(4, 4, "")) << "a column of the first version lacks";
  EXPECT_TRUE(rest(5, 5, "")) << "the parts lack";
  EXPECT_TRUE(rest(14, 14, "")) << "a part that earlier versions did not know";
  EXPECT_TRUE(rest(16, 15, one(-2))) << "a part of a later version";
  EXPECT_FALSE(rest(15, 14, "")) << "the last column lacks";
  EXPECT_FALSE(decoded(kHead + section(2, numbers({1, 200}) + "x")));
  EXPECT_FALSE(changed([](Columns&) {}, 0)) << "no steps";
  EXPECT_FALSE(changed([](Columns&) {}, 200)) << "more steps than bytes";

  const auto second = [&](int64_t gap, int64_t begin) {
    return changed(
        [&](Columns& columns) {
          columns.gap = differences({5, gap - 5});
          columns.begin = differences({100, begin - 100});
          columns.length = differences({7, 1});
        },
        2);
  };
  EXPECT_TRUE(second(0, 0));
  EXPECT_FALSE(second(-1, 0)) << "its number comes again";
  EXPECT_FALSE(second(0, -1)) << "it begins before the first has ended";
}

TEST(StepLogBlocks, ScanFindsBlocksBetweenDamage) {
  const auto is_read = [](const std::string& bytes, int64_t damaged) {
    BlockScan scan(bytes);
    const auto block = scan.next();
    EXPECT_FALSE(scan.next());
    EXPECT_EQ(scan.damaged_bytes(), damaged);
    return block && block->sign_ns == 1'000'000;
  };
  const std::string sound = frame_of(kHead);
  const auto size = static_cast<int64_t>(sound.size());
  EXPECT_TRUE(is_read(sound, 0));
  EXPECT_TRUE(is_read("RSL" + sound + "RSL", 6));
  EXPECT_TRUE(is_read("RSL1" + sound + "RSL1", 8));
  EXPECT_TRUE(is_read("xy" + sound + std::string("RSL1\1\0\0\0....", 12), 14));
  EXPECT_FALSE(is_read(sound.substr(0, sound.size() - 1), size - 1));
  std::string other = sound;
  ++other[8];  // the checksum
  EXPECT_FALSE(is_read(other, size));
  EXPECT_TRUE(is_read(other + sound + other, 2 * size));

  const auto filled = [](size_t payload) {
    const std::string head = kHead + numbers({99, payload - 7});  // which is itself of 7 bytes
    return head + std::string(payload - head.size(), 'x');
  };
  constexpr size_t kLargestPayload = 262'144;
  EXPECT_TRUE(decoded(filled(kLargestPayload)));
  EXPECT_EQ(BlockScan(frame_of(filled(kLargestPayload + 1))).next(), std::nullopt);
}

}  // namespace
}  // namespace redline::trace
