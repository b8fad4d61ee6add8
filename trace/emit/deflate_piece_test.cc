#include "trace/emit/deflate_piece.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "tests/trace_text.h"

namespace redline::trace {
namespace {

// Random bytes, from text that shrinks to a hundredth to bytes that do not shrink at all.
std::string some_bytes(std::mt19937& random, size_t size) {
  const auto letters = 1 + random() % 255;
  std::string bytes;
  while (bytes.size() < size) {
    if (random() % 4 == 0 && !bytes.empty()) {
      bytes += bytes.substr(random() % bytes.size(), random() % 300);
    } else {
      bytes.push_back(static_cast<char>(random() % letters));
    }
  }
  bytes.resize(size);
  return bytes;
}

// zlib knows nothing of pieces. Each piece is followed by others, so the reader must find its very
// last bit. Streams may end at any bit of a byte.
TEST(DeflatePieceTest, PiecesOfAnySizeAreOneStreamThatIsReadableAfterEach) {
  std::mt19937 random(11);
  PieceDeflater deflater;
  std::string text, stream;
  for (int i = 0; i < 400; ++i) {
    const std::string piece = some_bytes(random, 1 + random() % (i % 20 == 0 ? 400'000 : 600));
    const auto effort = i % 3 == 0 ? DeflateEffort::kFast : DeflateEffort::kSmall;
    deflater.append(piece, effort, stream);
    text += piece;
    if (i % 10 != 0) continue;
    int status = Z_STREAM_END;
    ASSERT_EQ(testing::inflated(stream, -MAX_WBITS, text.size() + 1, &status), text) << i;
    ASSERT_EQ(status, Z_OK) << i << ": more may follow";
  }
  stream += {'\1', '\0', '\0', '\xff', '\xff'};  // a last, empty stored block
  int status = Z_OK;
  EXPECT_EQ(testing::inflated(stream, -MAX_WBITS, text.size() + 1, &status), text);
  EXPECT_EQ(status, Z_STREAM_END);
}

TEST(DeflatePieceTest, SmallIsSmallerThanFast) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "{\"ts\": " + std::to_string(i * 7919 % 10'007) + "},\n";
  PieceDeflater deflater;
  std::string fast, small;
  deflater.append(text, DeflateEffort::kFast, fast);
  deflater.append(text, DeflateEffort::kSmall, small);
  EXPECT_LT(small.size(), fast.size());
}

}  // namespace
}  // namespace redline::trace
