// The text of a file as those see it who read a part of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_folder.h"
#include "tests/trace_text.h"
#include "tests/variables.h"
#include "trace/read/text.h"

namespace redline::trace {
namespace {

using redline::testing::gzip;

constexpr size_t kBlock = size_t{64} << 10;

class TextWindow : public ::testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<const Text> open(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    options_.text_block_bytes = kBlock;
    return Text::open(path_, options_).value();
  }
  [[nodiscard]] std::string refusal(const std::string& path) const {
    const auto text = Text::load(path, options_);
    return text ? "" : text.error().message;
  }

  static std::string numbers() {
    std::string text;
    for (int i = 0; text.size() < 3 * kBlock + 100; ++i) text += std::to_string(i * 7919) + " ";
    return text.substr(0, 3 * kBlock + 100);
  }

  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "text";
  const std::string text_ = numbers();
  ReadOptions options_;
};

TEST_F(TextWindow, HoldsTheBlocksAroundAPlace) {
  const auto text = open(gzip(text_));
  for (const size_t bytes : {size_t{1}, size_t{10}, kBlock - 100}) {
    const Text::Hold hold = text->hold(kBlock + 100, bytes);
    EXPECT_EQ(hold.from(kBlock + 100), text_.substr(kBlock + 100, kBlock - 100));
    EXPECT_EQ(hold.from(kBlock).size(), kBlock);
    EXPECT_EQ(hold.from(2 * kBlock - 1).size(), 1U);
    EXPECT_EQ(hold.from(kBlock - 1), "");
    EXPECT_EQ(hold.from(2 * kBlock), "");
    EXPECT_TRUE(hold.is_cut());
    EXPECT_TRUE(hold.contains(kBlock, 2 * kBlock));
    EXPECT_FALSE(hold.contains(kBlock - 1, kBlock + 1));
    EXPECT_FALSE(hold.contains(kBlock, 2 * kBlock + 1));
    EXPECT_FALSE(hold.contains(2 * kBlock, 2 * kBlock));
  }
  const Text::Hold two = text->hold(kBlock + 100, kBlock - 99);
  EXPECT_EQ(two.from(kBlock), text_.substr(kBlock, 2 * kBlock)) << "one byte of the next block";
}

TEST_F(TextWindow, HoldsNoMoreThanThereIs) {
  const auto text = open(gzip(text_));
  const Text::Hold last = text->hold(3 * kBlock + 99, 1000);
  EXPECT_EQ(last.from(3 * kBlock), text_.substr(3 * kBlock));
  EXPECT_FALSE(last.is_cut());
  EXPECT_TRUE(last.contains(3 * kBlock + 99, 3 * kBlock + 5000)) << "all that there is";
  EXPECT_EQ(text->hold(9 * kBlock, 1).from(9 * kBlock), "");
  const Text::Hold first = text->hold(0, 2 * kBlock);
  EXPECT_EQ(first.from(0), text_.substr(0, 2 * kBlock));
  EXPECT_TRUE(first.is_cut());
}

TEST_F(TextWindow, KeepsWhatIsAskedForAsLongAsItLives) {
  const auto text = open(gzip(text_));
  const std::string_view kept = text->keep(kBlock + 5, 20);
  EXPECT_EQ(kept, text_.substr(kBlock + 5, 20));
  EXPECT_EQ(text->keep(3 * kBlock + 90, 20), text_.substr(3 * kBlock + 90));
  EXPECT_EQ(text->keep(3 * kBlock + 100, 1), "");
  EXPECT_EQ(text->keep(4 * kBlock, 1), "");
  for (size_t at = 0; at < text_.size(); at += kBlock) {
    EXPECT_EQ(text->hold(at, 1).from(at), text_.substr(at, kBlock));
  }
  EXPECT_EQ(kept, text_.substr(kBlock + 5, 20)) << "though other blocks came and went";
}

// One block is being written, one is held, and the next one is to be held.
TEST_F(TextWindow, NeedsNoMemoryForWhatIsHeldNoMore) {
  const testing::Variables nowhere("TMPDIR", "/proc");  // no text can go to a temporary file
  options_.text_memory_bytes = 3 * kBlock;
  const auto text = open(gzip(text_));
  Text::Hold hold;
  for (int times = 0; times < 3; ++times) {
    for (size_t at = 0; at < text_.size(); at += kBlock) {
      hold = text->hold(at, 1);
      EXPECT_EQ(hold.from(at), text_.substr(at, kBlock));
    }
  }
}

TEST_F(TextWindow, MayBeOfMembersThatEndWithABlock) {
  const auto text = open(gzip(text_.substr(0, kBlock)) + gzip("") + gzip("") +
                         gzip(text_.substr(kBlock, kBlock)) + gzip(text_.substr(2 * kBlock)));
  for (size_t at = 0; at < text_.size(); at += kBlock) {
    EXPECT_EQ(text->hold(at, 1).from(at), text_.substr(at, kBlock));
  }
}

TEST_F(TextWindow, OfAPlainFileIsAllOfIt) {
  const auto text = open(text_);
  const Text::Hold hold = text->hold(kBlock + 5, 1);
  EXPECT_EQ(hold.from(kBlock + 5), text_.substr(kBlock + 5));
  EXPECT_FALSE(hold.is_cut());
  EXPECT_EQ(text->keep(kBlock + 5, 1), text_.substr(kBlock + 5));
  EXPECT_EQ(text->keep(text_.size(), 1), "");
}

TEST_F(TextWindow, CountsTheBytesOfTheFileThatStandForIt) {
  const auto plain = open(text_);
  EXPECT_EQ(plain->file_bytes(70), 70U);
  EXPECT_EQ(plain->file_size(), text_.size());
  const std::string bytes = gzip(text_);
  const auto text = open(bytes);
  EXPECT_EQ(text->size(), text_.size());
  static_cast<void>(text->issues());  // waits for the inflater's end
  EXPECT_EQ(text->file_bytes(0), 0U);
  EXPECT_EQ(text->file_bytes(text_.size() / 4), (bytes.size() + 3) / 4);
  EXPECT_EQ(text->file_bytes(text_.size()), bytes.size());
  EXPECT_EQ(text->file_bytes(2 * text_.size()), bytes.size());
}

TEST_F(TextWindow, OfABeginningIsThatOfASixteenthOfACompressedFile) {
  options_.most_text_bytes = 16'000;
  EXPECT_EQ(open(text_)->file_size(), 16'000U);
  EXPECT_EQ(open(text_)->size(), 16'000U);
  EXPECT_EQ(open(gzip(text_))->file_size(), 1'000U);
  EXPECT_EQ(open(gzip(text_))->stamp().bytes, gzip(text_).size());
}

TEST_F(TextWindow, SaysWhyAFileHasNone) {
  const std::string what = "Give a trace file (*.pt.trace.json, .gz) or a folder of them";
  const auto written = [&](const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  };
  EXPECT_EQ(refusal(path_), path_ + ": No such file or directory. " + what);
  EXPECT_EQ(refusal("/tmp"), "/tmp: is a folder. " + what);
  EXPECT_EQ(refusal("/dev/null"), "/dev/null: is no regular file. " + what);
  EXPECT_EQ(refusal(written("")), path_ + ": the file is empty. " + what);
  for (const std::string& bytes : {gzip(text_).substr(0, 12), std::string("\x28\xb5\x2f\xfd")}) {
    EXPECT_EQ(refusal(written(bytes)),
              path_ + ": the compressed file holds nothing readable. " + what);
  }
  for (const std::string& bytes : {gzip("a"), std::string("a"), std::string("\x28\xb5\x2f")}) {
    EXPECT_EQ(refusal(written(bytes)), "");
  }
}

}  // namespace
}  // namespace redline::trace
