#include "trace/emit/gzip_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "tests/trace_text.h"
#include "trace/emit/gzip_encoder.h"

namespace redline::trace {
namespace {

using redline::testing::gzip;
using Status = GzipStream::Status;

std::string some_text(size_t bytes) {
  std::mt19937 random(3);
  std::string text;
  while (text.size() < bytes) text += "event " + std::to_string(random() % 1000) + ", ";
  return text;
}

std::string rest_of(GzipStream& stream, size_t step, Status& last) {
  std::string text;
  std::string out(step, '\0');
  for (last = Status::kMore; last == Status::kMore || last == Status::kWrongChecksum;) {
    const GzipStream::Step read = stream.read(out);
    text.append(out, 0, read.bytes);
    last = read.status;
  }
  return text;
}

TEST(GzipStreamTest, GivesAllMembersInStepsOfAnySize) {
  const std::string text = some_text(300'000);
  const std::string file = gzip(text.substr(0, 100'000)) + gzip("") + gzip(text.substr(100'000)) +
                           std::string(512, '\0');
  for (const size_t step : {1000UL, 4096UL, 99'999UL, 1'000'000UL}) {
    auto stream = std::make_unique<GzipStream>(file);
    Status last;
    EXPECT_EQ(rest_of(*stream, step, last), text) << step;
    EXPECT_EQ(last, Status::kEnd);
  }
}

TEST(GzipEncoderTest, TheSameTextIsTheSameFileAtAnyTime) {
  GzipEncoder encoder;
  std::string file;
  encoder.append("text", file);
  encoder.flush(file);
  EXPECT_EQ(file.substr(0, 10), std::string("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10));
}

TEST(GzipStreamTest, ACopyGoesOnFromWhereItWasMade) {
  const std::string text = some_text(2'000'000);
  const std::string file = gzip(text.substr(0, 1'234'567)) + gzip(text.substr(1'234'567));
  auto stream = std::make_unique<GzipStream>(file);
  std::string out(65'536, '\0');
  size_t at = 0;
  for (Status status = Status::kMore; status == Status::kMore;) {
    auto copy = std::make_unique<GzipStream>(*stream);
    Status last;
    ASSERT_EQ(rest_of(*copy, 300'000, last), text.substr(at)) << at;
    const GzipStream::Step step = stream->read(out);
    at += step.bytes;
    status = step.status;
  }
  EXPECT_EQ(at, text.size());
}

TEST(GzipStreamTest, SaysWhatIsWrong) {
  const std::string text = some_text(50'000);
  const std::string file = gzip(text);
  const auto end_of = [&](const std::string& bytes) {
    auto stream = std::make_unique<GzipStream>(bytes);
    Status last;
    (void)rest_of(*stream, 4096, last);
    return last;
  };
  EXPECT_EQ(end_of(file), Status::kEnd);
  EXPECT_EQ(end_of(file.substr(0, file.size() / 2)), Status::kCut);
  EXPECT_EQ(end_of(file.substr(0, 5)), Status::kCut);
  EXPECT_EQ(end_of(file + "more"), Status::kTrailingGarbage);
  std::string damaged = file;
  damaged[20] = static_cast<char>(damaged[20] ^ 0xFF);
  EXPECT_EQ(end_of(damaged), Status::kDamaged);

  std::string wrong = file;
  wrong[wrong.size() - 6] = static_cast<char>(wrong[wrong.size() - 6] ^ 0x55);
  const std::string two = wrong + file;
  auto stream = std::make_unique<GzipStream>(two);
  std::string out(1 << 20, '\0');
  EXPECT_EQ(stream->read(out).status, Status::kWrongChecksum);
  EXPECT_EQ(stream->read(out).bytes, text.size());
}

}  // namespace
}  // namespace redline::trace
