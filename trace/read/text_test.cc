#include "trace/read/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/temporary_folder.h"
#include "tests/trace_text.h"
#include "tests/variables.h"
#include "trace/read/reader.h"
#include "trace/read/text_cursor.h"

namespace redline::trace {
namespace {

using redline::testing::gzip;
using ::testing::IsEmpty;

class CompressedTrace : public ::testing::Test {
 protected:
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  [[nodiscard]] std::shared_ptr<const Trace> read() const {
    auto trace = read_trace(path_);
    return trace ? *trace : nullptr;
  }

  static std::string zstd(const std::string& text) {
    std::string out(ZSTD_compressBound(text.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
    return out;
  }

  static std::string text_of(int events) {
    redline::testing::TraceText text;
    for (int i = 0; i < events; ++i) text.cpu_op("op" + std::to_string(i % 97), i * 10, i * 10 + 5);
    return text.str();
  }

  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "trace.json";
};

TEST_F(CompressedTrace, IsToldByContentNotByName) {
  const std::string text = text_of(1000);
  const std::string own_frame("\x50\x2a\x4d\x18\x04\x00\x00\x00size", 12);  // as pzstd writes
  for (const std::string& bytes : {text, gzip(text), zstd(text), own_frame + zstd(text)}) {
    write(bytes);
    const auto trace = read();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->slice_count(), 1000U);
    EXPECT_THAT(trace->issues(), IsEmpty());
  }
}

TEST_F(CompressedTrace, MayHaveSeveralGzipMembers) {
  const std::string text = text_of(100000);  // some megabytes: several steps of the inflater
  std::string bytes;
  for (size_t at = 0; at < text.size(); at += 1'000'003) bytes += gzip(text.substr(at, 1'000'003));
  write(bytes);
  const auto trace = read();
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->slice_count(), 100000U);
  EXPECT_THAT(trace->issues(), IsEmpty());
}

TEST_F(CompressedTrace, ThatIsTornGivesItsWholeEventsAndSaysSo) {
  const std::string text = text_of(20000);
  struct {
    std::string bytes;
    std::string issue;
  } const cases[] = {{gzip(text), "gzip_cut"}, {zstd(text), "zstd_cut"}};
  for (const auto& torn : cases) {
    for (size_t part = 1; part < 8; ++part) {
      write(torn.bytes.substr(0, torn.bytes.size() * part / 8));
      const auto trace = read();
      if (!trace) continue;  // nothing could be inflated
      const auto found =
          std::find_if(trace->issues().begin(), trace->issues().end(),
                       [&](const LoadIssue& known) { return known.info().name == torn.issue; });
      ASSERT_NE(found, trace->issues().end()) << torn.issue << " at " << part;
      EXPECT_TRUE(found->info().lost_data);
      EXPECT_LT(trace->slice_count(), 20000U);
    }
  }
  write(gzip(text).substr(0, gzip(text).size() / 2));
  ASSERT_TRUE(read());
  EXPECT_GT(read()->slice_count(), 5000U);
}

TEST_F(CompressedTrace, SaysWhatIsWrongWithItAndFromWhereOn) {
  const std::string text = text_of(1000), head = text.substr(0, 9'000), tail = text.substr(9'000);
  std::string wrong_sum = gzip(head);
  wrong_sum[wrong_sum.size() - 8] ^= 1;
  const std::string no_member = gzip("a").substr(0, 10) + "\xff\xff\xff\xff";
  struct {
    std::string bytes;
    std::string issue;
    size_t at;
    size_t slices;
  } const cases[] = {{gzip(text) + "garbage", "gzip_trailing_garbage", text.size(), 1000},
                     {wrong_sum + gzip(tail), "gzip_checksum_wrong", head.size(), 1000},
                     {gzip(text) + no_member, "gzip_damaged", text.size(), 1000},
                     {gzip(text) + no_member.substr(0, 5), "gzip_cut", text.size(), 1000},
                     {zstd(text) + "garbage", "zstd_damaged", text.size(), 1000},
                     {zstd(text) + zstd(text).substr(0, 7), "zstd_cut", text.size(), 1000},
                     {zstd(head) + zstd(tail), "", 0, 1000}};
  for (const auto& [bytes, issue, at, slices] : cases) {
    write(bytes);
    const auto trace = read();
    ASSERT_TRUE(trace) << issue;
    EXPECT_EQ(trace->slice_count(), slices) << issue;
    ASSERT_EQ(trace->issues().size(), issue.empty() ? 0U : 1U) << issue;
    if (issue.empty()) continue;
    EXPECT_EQ(trace->issues()[0].info().name, issue);
    EXPECT_EQ(trace->issues()[0].first_offset, at) << issue;
  }
}

TEST_F(CompressedTrace, ThatIsDamagedDoesNotCrash) {
  std::string bytes = gzip(text_of(5000));
  for (size_t at = 0; at < bytes.size(); at += 499) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    write(damaged);
    (void)read();
  }
}

TEST_F(CompressedTrace, CanBeCancelledAndReportsProgress) {
  write(gzip(text_of(50000)));
  std::atomic<bool> cancel = false;
  uint64_t last = 0;
  ReadOptions options;
  options.cancel = &cancel;
  options.progress = [&](uint64_t done, uint64_t total) {
    EXPECT_LE(done, total);
    last = done;
    cancel = true;
  };
  const auto trace = read_trace(path_, options);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().message, "cancelled");
  EXPECT_GT(last, 0U);
}

// To read behind the new end of a mapped file is a SIGBUS.
TEST_F(CompressedTrace, ThatWasCutSinceItWasOpenedHasNoTextAnyMore) {
  const std::string text = text_of(20'000);
  for (const std::string& bytes : {text, gzip(text)}) {
    write(bytes);
    // The clock of files may stand still for 10 ms.
    std::filesystem::last_write_time(
        path_, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const auto trace = read();
    ASSERT_TRUE(trace);
    TextCursor cursor(*trace);
    const uint64_t last = cursor.offset_of({19'999});
    EXPECT_FALSE(trace->text().is_changed());
    EXPECT_NE(event_text(*trace, last), "");

    write("{" + bytes.substr(1));
    EXPECT_TRUE(trace->text().is_changed());
    std::filesystem::resize_file(path_, 10);
    EXPECT_TRUE(trace->text().is_changed());
    EXPECT_EQ(event_text(*trace, last), "");
    EXPECT_EQ(cursor.event_text(last), "");
  }
}

TEST_F(CompressedTrace, ThatAnotherFileReplacedKeepsItsText) {
  write(text_of(1000));
  const auto trace = read();
  ASSERT_TRUE(trace);
  const std::string first(event_text(*trace, SliceId{0}));
  std::ofstream(path_ + ".new") << "[]";
  std::filesystem::rename(path_ + ".new", path_);
  EXPECT_FALSE(trace->text().is_changed());
  EXPECT_EQ(event_text(*trace, SliceId{0}), first);
}

// Has such small blocks that hardly any of the text stays in memory.
class ForgottenText : public CompressedTrace {
 protected:
  [[nodiscard]] std::shared_ptr<const Trace> read_in_blocks() const {
    ReadOptions options;
    options.text_block_bytes = size_t{64} << 10;
    auto trace = read_trace(path_, options);
    return trace ? *trace : nullptr;
  }

  static std::vector<std::string> texts_of(const Trace& trace) {
    std::vector<std::string> texts;
    TextCursor cursor(trace);
    for (uint32_t i = 0; i < trace.slice_count(); ++i) {
      texts.emplace_back(cursor.event_text(trace.slices().text_offset[i]));
    }
    return texts;
  }

  const std::string text_ = text_of(60'000);  // several chunks, many blocks
};

TEST_F(ForgottenText, ReadsLikeAPlainOne) {
  const auto plain = parse_trace("plain", text_);
  ASSERT_TRUE(plain);
  const std::vector<std::string> expected = texts_of(**plain);
  write(gzip(text_));
  const auto trace = read_in_blocks();
  ASSERT_TRUE(trace);
  EXPECT_THAT(trace->issues(), IsEmpty());
  EXPECT_EQ(texts_of(*trace), expected);
  EXPECT_EQ(event_text(*trace, SliceId{59'999}), expected[59'999]);
  EXPECT_EQ(event_text(*trace, SliceId{0}), expected[0]);
}

TEST_F(ForgottenText, NeedsMemoryOnlyForWhatIsBeingRead) {
  const testing::Variables nowhere("TMPDIR", "/proc");  // no temporary file can be made there
  ReadOptions options;
  options.text_block_bytes = size_t{64} << 10;
  options.threads = 1;
  const auto read_with = [&](size_t memory_bytes) {
    options.text_memory_bytes = memory_bytes;
    return read_trace(path_, options).value();
  };
  write(gzip(text_));
  EXPECT_THAT(read_with(text_.size() / 4 * 3)->issues(), IsEmpty());
  for (const std::string& bytes : {gzip(text_), zstd(text_)}) {
    write(bytes);
    const auto beginning = read_with(size_t{192} << 10);
    const auto issues = beginning->issues();
    const auto found = std::ranges::find(issues, Issue::kTextTooLarge, &LoadIssue::issue);
    ASSERT_NE(found, issues.end());
    EXPECT_EQ(found->first_offset, options.text_memory_bytes);
    EXPECT_EQ(beginning->text().size(), options.text_memory_bytes);
  }
}

TEST_F(ForgottenText, IsReadByManyThreadsAtOnce) {
  write(gzip(text_));
  const auto plain = parse_trace("plain", text_);
  const auto trace = read_in_blocks();
  ASSERT_TRUE(plain && trace);
  std::vector<std::jthread> readers;
  std::atomic<int> wrong = 0;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    readers.emplace_back([&, thread] {
      TextCursor here(*trace), there(**plain);
      for (uint32_t i = 0; i < 400; ++i) {
        const SliceId slice{(i * 7919 + thread * 104'729) % 60'000};
        const uint64_t offset = trace->slices().text_offset[slice.value];
        if (here.event_text(offset) != there.event_text(offset)) ++wrong;
        if (i % 50 == thread && event_text(*trace, slice) != there.event_text(offset)) ++wrong;
      }
    });
  }
  readers.clear();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ForgottenText, MayHoldAnEventOfManyBlocks) {
  const std::string large =
      R"({"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, )"
      R"("dur": 2, "args": {"x": ")" +
      std::string(3'000'000, 'x') + "\"}}]}";
  write(gzip(large));
  const auto trace = read_in_blocks();
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->slice_count(), 1U);
  EXPECT_EQ(event_text(*trace, SliceId{0}).size(), large.size() - 19);
  EXPECT_EQ(texts_of(*trace)[0].size(), large.size() - 19);
}

TEST_F(ForgottenText, IsReadWhereItIsBroken) {
  std::string broken = text_;
  for (size_t at = 900'000; at < broken.size(); at += 700'000) broken[at] = '\x01';
  write(gzip(broken));
  const auto plain = parse_trace("plain", broken);
  const auto trace = read_in_blocks();
  ASSERT_TRUE(plain && trace);
  EXPECT_EQ(trace->event_count(), (*plain)->event_count());
  EXPECT_EQ(texts_of(*trace), texts_of(**plain));
}

}  // namespace
}  // namespace redline::trace
