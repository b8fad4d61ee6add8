#include "trace/emit/step_log_blocks.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace redline::trace {
namespace {

constexpr std::string_view kMagic = "RSL1";
constexpr size_t kFrameBytes = 12;
constexpr size_t kLargestPayload = 256 << 10;
/// The largest number that is accepted. Sums of a few such numbers, and such microseconds as
/// nanoseconds, fit into 64 bits, whatever a hostile file says.
constexpr int64_t kLargest = int64_t{1} << 52;

enum class Section : uint64_t {
  kOwner = 1,
  kSteps = 2,
  kMemory = 3,
  kMark = 4,
  kLosses = 5,
  kThinned = 6,
  kEnd = 7,
  kCores = 8,
};

/// A figure as the reader takes it: one that cannot be (a script may claim -3 samples) is unseen,
/// because the reader would refuse the whole block. Of half the largest number, because columns
/// are stored as differences.
int64_t seen(int64_t value) { return value < kUnseen || value > kLargest / 2 ? kUnseen : value; }
int64_t microseconds(int64_t ns) { return ns < 0 ? ns : ns / 1000; }
int64_t nanoseconds(int64_t us) { return us < 0 ? us : us * 1000; }

class VarintWriter {
 public:
  void put(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  void put_signed(int64_t value) {
    put((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void put_text(std::string_view text) {
    put(text.size());
    bytes_.append(text);
  }
  void put_section(Section tag, const VarintWriter& content) {
    put(static_cast<uint64_t>(tag));
    put_text(content.bytes_);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// After the first number that is missing or too large, ok() is false and all further numbers are
/// 0.
class VarintReader {
 public:
  explicit VarintReader(std::string_view bytes) : left_(bytes) {}

  uint64_t take() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) break;
      const auto byte = static_cast<uint8_t>(left_.front());
      left_.remove_prefix(1);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  int64_t take_signed() {
    const uint64_t raw = take();
    return checked(static_cast<int64_t>(raw >> 1) ^ -static_cast<int64_t>(raw & 1));
  }
  std::string_view take_text() {
    const uint64_t size = take();
    if (size > left_.size()) fail();
    const std::string_view text = left_.substr(0, ok_ ? size : 0);
    left_.remove_prefix(text.size());
    return text;
  }
  int64_t checked(int64_t value) {
    if (value > kLargest || value < -kLargest) fail();
    return ok_ ? value : 0;
  }
  void fail() {
    ok_ = false;
    left_ = {};
  }
  [[nodiscard]] size_t left() const { return left_.size(); }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::string_view left_;
  bool ok_ = true;
};

// The columns of steps. Those of parts come last, so that an older reader knows all columns before
// those of new parts.
enum Column : size_t {
  kStepGap,  // from the number that should follow the entry before
  kSteps,
  kBeginGap,  // from the end of the entry before
  kLength,  // never stored as one number for all steps, so that a few bytes cannot claim many steps
  kSamples,
  kTokens,
  kShortest,
  kLongest,
  kDeviation,
  kFirstPart,
};
constexpr size_t kColumns = kFirstPart + kLogParts;
using Row = std::array<int64_t, kColumns>;
enum ColumnForm : uint64_t { kNothingSeen, kOneValue, kDifferences };

/// The step and the begin that should come next.
struct Expected {
  int64_t step = 0;
  int64_t begin_us = 0;
};

Row row_of(const LoggedStep& step, Expected& expected) {
  Row row;
  const int64_t begin = microseconds(step.begin_ns);
  const int64_t end = microseconds(step.end_ns());
  row[kStepGap] = step.step - expected.step;
  row[kSteps] = step.steps;
  row[kBeginGap] = begin - expected.begin_us;
  row[kLength] = end - begin;
  row[kSamples] = seen(step.samples);
  row[kTokens] = seen(step.tokens);
  const bool is_single = step.steps == 1;
  row[kShortest] = is_single ? kUnseen : microseconds(step.shortest_ns);
  row[kLongest] = is_single ? kUnseen : microseconds(step.longest_ns);
  row[kDeviation] = is_single ? kUnseen : std::llround(step.deviation_ns / 1000);
  for (size_t part = 0; part < kLogParts; ++part) {
    row[kFirstPart + part] = microseconds(step.part_ns[part]);
  }
  expected = {step.step + step.steps, end};
  return row;
}

/// nullopt if the numbers cannot be a step.
std::optional<LoggedStep> step_of(const Row& row, Expected& expected) {
  LoggedStep step;
  step.step = expected.step + row[kStepGap];
  step.steps = row[kSteps];
  const int64_t begin = expected.begin_us + row[kBeginGap];
  const int64_t length = row[kLength];
  if (step.step < 0 || step.steps < 1 || begin < 0 || length < 0) return {};
  if (step.step + step.steps > kLargest || begin + length > kLargest) return {};
  const bool is_first = expected.begin_us == 0;
  if (!is_first && (row[kStepGap] < 0 || row[kBeginGap] < 0)) return {};
  if (*std::min_element(row.begin() + kSamples, row.end()) < kUnseen) return {};
  step.begin_ns = nanoseconds(begin);
  step.length_ns = nanoseconds(length);
  step.samples = row[kSamples];
  step.tokens = row[kTokens];
  const bool is_single = step.steps == 1;
  step.shortest_ns = nanoseconds(is_single ? length : row[kShortest]);
  step.longest_ns = nanoseconds(is_single ? length : row[kLongest]);
  step.deviation_ns = is_single ? 0 : static_cast<double>(nanoseconds(row[kDeviation]));
  for (size_t part = 0; part < kLogParts; ++part) {
    step.part_ns[part] = nanoseconds(row[kFirstPart + part]);
  }
  expected = {step.step + step.steps, begin + length};
  return step;
}

ColumnForm form_of(std::span<const Row> rows, size_t column) {
  const int64_t first = rows.front()[column];
  const bool is_one = column != kLength && std::ranges::all_of(rows, [&](const Row& row) {
                        return row[column] == first;
                      });
  if (!is_one) return kDifferences;
  return first == kUnseen ? kNothingSeen : kOneValue;
}

void put_column(VarintWriter& out, std::span<const Row> rows, size_t column) {
  const ColumnForm form = form_of(rows, column);
  out.put(form);
  if (form == kOneValue) out.put_signed(rows.front()[column]);
  if (form != kDifferences) return;
  int64_t before = 0;
  for (const Row& row : rows) {
    out.put_signed(row[column] - before);
    before = row[column];
  }
}

void put_steps(VarintWriter& out, const std::vector<LoggedStep>& steps) {
  std::vector<Row> rows;
  Expected expected;
  for (const LoggedStep& step : steps) rows.push_back(row_of(step, expected));
  out.put(rows.size());
  out.put(kColumns);
  for (size_t column = 0; column < kColumns; ++column) put_column(out, rows, column);
}

void take_column(VarintReader& in, std::vector<Row>& rows, size_t column) {
  const uint64_t form = in.take();
  if (form > kDifferences || (column == kLength && form != kDifferences)) return in.fail();
  int64_t value = form == kNothingSeen ? kUnseen : 0;
  if (form == kOneValue) value = in.take_signed();
  for (Row& row : rows) {
    if (form == kDifferences) value = in.checked(value + in.take_signed());
    if (!in.ok()) return;
    if (column < kColumns) row[column] = value;
  }
}

bool take_steps(VarintReader in, std::vector<LoggedStep>& steps) {
  const uint64_t count = in.take();
  const uint64_t columns = in.take();
  if (count == 0 || count > in.left() || columns < kFirstPart || columns > in.left()) return false;
  Row unseen;
  unseen.fill(kUnseen);
  std::vector<Row> rows(count, unseen);
  for (size_t column = 0; column < columns && in.ok(); ++column) take_column(in, rows, column);
  if (!in.ok()) return false;
  Expected expected;
  for (const Row& row : rows) {
    const auto step = step_of(row, expected);
    if (!step) return false;
    steps.push_back(*step);
  }
  return true;
}

void put_owner(VarintWriter& out, const LogOwner& owner) {
  out.put_text(owner.run);
  out.put_signed(owner.rank);
  out.put_signed(owner.world_size);
  out.put_text(owner.host);
  out.put_text(owner.command);
  out.put_signed(owner.process);
  out.put_signed(microseconds(owner.begin_ns));
  out.put_signed(owner.clock_offset_ns / 1000);
}

bool take_owner(VarintReader in, LogOwner& owner) {
  owner.run = in.take_text();
  const int64_t rank = in.take_signed();
  const int64_t world_size = in.take_signed();
  owner.host = in.take_text();
  owner.command = in.take_text();
  owner.process = in.take_signed();
  owner.begin_ns = nanoseconds(in.take_signed());
  owner.clock_offset_ns = in.take_signed() * 1000;
  constexpr int64_t kMostRanks = 1 << 30;
  if (rank < 0 || world_size <= 0 || rank > kMostRanks || world_size > kMostRanks) return false;
  owner.rank = static_cast<int>(rank);
  owner.world_size = static_cast<int>(world_size);
  return in.ok();
}

/// Converts a block's times, which are stored as microseconds before the block was written.
struct BlockTime {
  int64_t base_us;

  [[nodiscard]] int64_t distance(int64_t ns) const { return base_us - microseconds(ns); }
  int64_t take(VarintReader& in) const {
    const int64_t us = in.checked(base_us - in.take_signed());
    if (us < 0) in.fail();
    return nanoseconds(us);
  }
};

void put_sections(VarintWriter& out, const LogBlock& block, BlockTime time) {
  const auto put = [&](Section tag, const auto& fill) {
    VarintWriter content;
    fill(content);
    out.put_section(tag, content);
  };
  if (block.owner) put(Section::kOwner, [&](VarintWriter& to) { put_owner(to, *block.owner); });
  if (!block.steps.empty())
    put(Section::kSteps, [&](VarintWriter& to) { put_steps(to, block.steps); });
  for (const LoggedMemory& memory : block.memory) {
    put(Section::kMemory, [&](VarintWriter& to) {
      to.put_signed(time.distance(memory.time_ns));
      to.put_signed(seen(memory.host_bytes));
      to.put_signed(seen(memory.device_bytes));
    });
  }
  for (const LoggedCores& cores : block.cores) {
    put(Section::kCores, [&](VarintWriter& to) {
      to.put_signed(time.distance(cores.time_ns));
      to.put_signed(cores.cores);
      for (const int64_t ns : {cores.busy_ns, cores.used_ns, cores.waited_ns}) {
        to.put_signed(microseconds(ns));
      }
    });
  }
  for (const LogMark& mark : block.marks) {
    put(Section::kMark, [&](VarintWriter& to) {
      to.put_signed(time.distance(mark.time_ns));
      to.put_signed(microseconds(std::max<int64_t>(mark.length_ns, 0)));
      to.put(static_cast<uint64_t>(mark.kind));
      to.put_text(mark.text);
    });
  }
  if (block.lost_steps > 0 || block.lost_marks > 0) {
    put(Section::kLosses, [&](VarintWriter& to) {
      to.put_signed(block.lost_steps);
      to.put_signed(block.lost_marks);
    });
  }
  if (block.thinned_before_ns > 0) {
    put(Section::kThinned,
        [&](VarintWriter& to) { to.put_signed(time.distance(block.thinned_before_ns)); });
  }
  if (block.ended) {
    put(Section::kEnd, [&](VarintWriter& to) {
      if (block.exit_status) to.put_signed(*block.exit_status);
    });
  }
}

bool take_memory(VarintReader in, LogBlock& block, BlockTime time) {
  LoggedMemory memory;
  memory.time_ns = time.take(in);
  memory.host_bytes = in.take_signed();
  memory.device_bytes = in.take_signed();
  if (!in.ok() || memory.host_bytes < kUnseen || memory.device_bytes < kUnseen) return false;
  block.memory.push_back(memory);
  return true;
}

bool take_cores(VarintReader in, LogBlock& block, BlockTime time) {
  LoggedCores cores;
  cores.time_ns = time.take(in);
  cores.cores = in.take_signed();
  for (int64_t* const ns : {&cores.busy_ns, &cores.used_ns, &cores.waited_ns}) {
    *ns = nanoseconds(in.take_signed());
    if (*ns < kUnseen) return false;
  }
  if (!in.ok() || cores.cores < kUnseen) return false;
  block.cores.push_back(cores);
  return true;
}

bool take_mark(VarintReader in, LogBlock& block, BlockTime time) {
  LogMark mark;
  mark.time_ns = time.take(in);
  const int64_t length = in.take_signed();
  const uint64_t kind = in.take();
  mark.text = in.take_text();
  if (!in.ok() || length < 0) return false;
  mark.length_ns = nanoseconds(length);
  if (kind > static_cast<uint64_t>(LogMarkKind::kTraining)) return true;  // of a later version
  mark.kind = static_cast<LogMarkKind>(kind);
  block.marks.push_back(std::move(mark));
  return true;
}

bool take_losses(VarintReader in, LogBlock& block) {
  block.lost_steps = in.take_signed();
  block.lost_marks = in.take_signed();
  return in.ok() && block.lost_steps >= 0 && block.lost_marks >= 0;
}

bool take_end(VarintReader in, LogBlock& block) {
  block.ended = true;
  if (in.left() == 0) return true;
  const int64_t status = in.take_signed();
  if (status < INT32_MIN || status > INT32_MAX) return false;
  block.exit_status = static_cast<int>(status);
  return in.ok();
}

bool take_section(uint64_t tag, VarintReader in, LogBlock& block, BlockTime time) {
  switch (static_cast<Section>(tag)) {
    case Section::kOwner:
      return take_owner(in, block.owner.emplace());
    case Section::kSteps:
      return take_steps(in, block.steps);
    case Section::kMemory:
      return take_memory(in, block, time);
    case Section::kMark:
      return take_mark(in, block, time);
    case Section::kLosses:
      return take_losses(in, block);
    case Section::kThinned:
      block.thinned_before_ns = time.take(in);
      return in.ok();
    case Section::kEnd:
      return take_end(in, block);
    case Section::kCores:
      return take_cores(in, block, time);
  }
  return true;  // of a later version
}

std::optional<LogBlock> decode_payload(std::string_view payload) {
  VarintReader in(payload);
  LogBlock block;
  const BlockTime time{in.take_signed()};
  if (time.base_us < 0) return {};
  block.sign_ns = nanoseconds(time.base_us);
  const uint64_t part = in.take();  // 0: no part
  if (part > 0) {
    block.part_since_ns = time.take(in);
    if (part <= kLogParts) block.part = static_cast<LogPart>(part - 1);
  }
  while (in.ok() && in.left() > 0) {
    const uint64_t tag = in.take();
    const std::string_view content = in.take_text();
    if (!in.ok() || !take_section(tag, VarintReader(content), block, time)) return {};
  }
  if (!in.ok()) return {};
  return block;
}

uint32_t checksum(std::string_view payload) {
  return crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(payload.data()), payload.size());
}

uint32_t number_at(std::string_view bytes, size_t offset) {
  uint32_t number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

}  // namespace

std::string encode_block(const LogBlock& block) {
  const BlockTime time{microseconds(block.sign_ns)};
  VarintWriter payload;
  payload.put_signed(time.base_us);
  payload.put(block.part ? static_cast<uint64_t>(*block.part) + 1 : 0);
  if (block.part) payload.put_signed(time.distance(block.part_since_ns));
  put_sections(payload, block, time);
  return frame_of(payload.bytes());
}

std::string frame_of(std::string_view payload) {
  const uint32_t numbers[] = {static_cast<uint32_t>(payload.size()), checksum(payload)};
  std::string framed(kMagic);
  framed.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  return framed.append(payload);
}

std::optional<LogBlock> BlockScan::next() {
  while (at_ < bytes_.size()) {
    const size_t begin = bytes_.find(kMagic, at_);
    const size_t end = std::min(begin, bytes_.size());
    damaged_ += static_cast<int64_t>(end - at_);
    at_ = end;
    if (bytes_.size() - at_ >= kFrameBytes) {
      const uint32_t size = number_at(bytes_, at_ + 4);
      const bool fits = size <= kLargestPayload && size <= bytes_.size() - at_ - kFrameBytes;
      const std::string_view payload = bytes_.substr(at_ + kFrameBytes, fits ? size : 0);
      if (fits && checksum(payload) == number_at(bytes_, at_ + 8)) {
        if (auto block = decode_payload(payload)) {
          at_ += kFrameBytes + size;
          return block;
        }
      }
    }
    if (at_ < bytes_.size()) {  // no sound block begins here
      ++at_;
      ++damaged_;
    }
  }
  return {};
}

}  // namespace redline::trace
