#include "trace/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "tests/gzip.h"
#include "tests/trace_text.h"
#include "trace/reader.h"

namespace redline::trace {
namespace {

using redline::testing::gzip;
using ::testing::IsEmpty;

class CompressedTrace : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

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

  const std::string path_ =
      ::testing::TempDir() + "redline_text_test." + std::to_string(getpid()) + ".json";
};

TEST_F(CompressedTrace, IsToldByContentNotByName) {
  const std::string text = text_of(1000);
  for (const std::string& bytes : {text, gzip(text), zstd(text)}) {
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
      if (!trace) continue;  // nothing came out of it
      const auto found =
          std::find_if(trace->issues().begin(), trace->issues().end(),
                       [&](const LoadIssue& known) { return known.name == torn.issue; });
      ASSERT_NE(found, trace->issues().end()) << torn.issue << " at " << part;
      EXPECT_TRUE(found->lost_data);
      EXPECT_LT(trace->slice_count(), 20000U);
    }
  }
  write(gzip(text).substr(0, gzip(text).size() / 2));
  ASSERT_TRUE(read());
  EXPECT_GT(read()->slice_count(), 5000U);
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

}  // namespace
}  // namespace redline::trace
