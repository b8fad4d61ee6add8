#include "trace/analysis/streams.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <utility>

namespace redline::trace {
namespace {

constexpr uint32_t kRare = UINT32_MAX;  // a window with a part that does not repeat
constexpr size_t kSeedsOfALength = 8;
constexpr size_t kShown = 10;
constexpr size_t kLongestSearched = 4096;

// Gives each distinct pair a number, in the order in which pairs come.
class PairNumbers {
 public:
  explicit PairNumbers(size_t expected) : slots_(std::bit_ceil(expected * 2 + 16)) {}

  uint32_t of(uint32_t left, uint32_t right) {
    const uint64_t key = (uint64_t{left} << 32 | right) + 1;  // 0: empty
    size_t at = (key * 0x9E3779B97F4A7C15U) >> 20 & (slots_.size() - 1);
    while (slots_[at].key != key) {
      if (slots_[at].key == 0) {
        slots_[at] = {key, count_};
        if (++count_ * 2 > slots_.size()) return grow(), count_ - 1;
        return count_ - 1;
      }
      at = (at + 1) & (slots_.size() - 1);
    }
    return slots_[at].number;
  }
  [[nodiscard]] uint32_t count() const { return count_; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t number = 0;
  };

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key == 0) continue;
      size_t at = (slot.key * 0x9E3779B97F4A7C15U) >> 20 & (slots_.size() - 1);
      while (slots_[at].key != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  uint32_t count_ = 0;
};

// All streams in one list; a barrier stands where no sequence may go on.
struct Tokens {
  std::vector<uint32_t> id;            // the name's id; kRare at barriers
  std::vector<uint32_t> row;           // index in the device table
  std::vector<int64_t> work_until_ns;  // sums of the work before each token
  std::vector<int64_t> gaps_until_ns;  // sums of the gaps before each token's work

  [[nodiscard]] size_t size() const { return id.size(); }
};

Tokens tokens_of(const DeviceWorkTable& device) {
  Tokens tokens;
  const size_t count = device.rows.size() + device.streams.size();
  tokens.id.reserve(count);
  tokens.row.reserve(count);
  tokens.work_until_ns.reserve(count + 1);
  tokens.gaps_until_ns.reserve(count);
  tokens.work_until_ns.push_back(0);
  int64_t gaps_ns = 0;
  const auto add = [&](uint32_t id, size_t row, int64_t work_ns) {
    tokens.id.push_back(id);
    tokens.row.push_back(static_cast<uint32_t>(row));
    tokens.gaps_until_ns.push_back(gaps_ns);
    tokens.work_until_ns.push_back(tokens.work_until_ns.back() + work_ns);
  };
  for (const DeviceStream& stream : device.streams) {
    int64_t end_ns = INT64_MAX;  // of all before; work of one stream may overlap
    for (size_t row = stream.first; row < stream.first + stream.count; ++row) {
      const DeviceWork& work = device.rows[row];
      gaps_ns += std::max<int64_t>(0, end_ns == INT64_MAX ? 0 : work.interval.begin_ns - end_ns);
      end_ns = row == stream.first ? work.interval.end_ns : std::max(end_ns, work.interval.end_ns);
      const bool is_barrier = work.is_communication || !work.name;
      add(is_barrier ? kRare : work.name.value, row, work.interval.length_ns());
    }
    add(kRare, 0, 0);
  }
  return tokens;
}

// What is known of each window number of one length.
struct Windows {
  size_t length = 1;
  std::vector<uint32_t> number;  // by the window's first token
  std::vector<int64_t> count;    // by number, without overlaps
  std::vector<int64_t> gap_ns;   // by number
};

void count_windows(const Tokens& tokens, Windows& windows, uint32_t numbers) {
  windows.count.assign(numbers, 0);
  windows.gap_ns.assign(numbers, 0);
  std::vector<size_t> free_from(numbers, 0);
  for (size_t i = 0; i < windows.number.size(); ++i) {
    const uint32_t number = windows.number[i];
    if (number == kRare || i < free_from[number]) continue;
    free_from[number] = i + windows.length;
    ++windows.count[number];
    windows.gap_ns[number] +=
        tokens.gaps_until_ns[i + windows.length - 1] - tokens.gaps_until_ns[i];
  }
}

Windows windows_of_one(const Tokens& tokens) {
  Windows windows;
  windows.number = tokens.id;
  uint32_t numbers = 0;
  for (const uint32_t id : tokens.id) {
    if (id != kRare) numbers = std::max(numbers, id + 1);
  }
  count_windows(tokens, windows, numbers);
  return windows;
}

// Doubles the length of all windows. The number of a window follows from those of its two halves.
void double_length(const Tokens& tokens, Windows& windows) {
  const size_t half = windows.length;
  windows.length *= 2;
  const size_t count = tokens.size() < windows.length ? 0 : tokens.size() - windows.length + 1;
  PairNumbers pairs(1024);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t left = windows.number[i], right = windows.number[i + half];
    const bool repeats =
        left != kRare && right != kRare && windows.count[left] > 1 && windows.count[right] > 1;
    windows.number[i] = repeats ? pairs.of(left, right) : kRare;
  }
  windows.number.resize(count);
  count_windows(tokens, windows, pairs.count());
}

// The numbers of the repeated windows that have the most gap time.
std::vector<uint32_t> best_seeds(const Windows& windows) {
  std::vector<uint32_t> seeds;
  for (uint32_t number = 0; number < windows.count.size(); ++number) {
    if (windows.count[number] > 1 && windows.gap_ns[number] > 0) seeds.push_back(number);
  }
  const size_t kept = std::min(kSeedsOfALength, seeds.size());
  std::partial_sort(seeds.begin(), seeds.begin() + static_cast<std::ptrdiff_t>(kept), seeds.end(),
                    [&](uint32_t left, uint32_t right) {
                      return std::pair(-windows.gap_ns[left], left) <
                             std::pair(-windows.gap_ns[right], right);
                    });
  seeds.resize(kept);
  return seeds;
}

// Occurrences of one sequence, as positions of tokens.
struct Repeat {
  std::vector<size_t> at;
  size_t length = 0;

  [[nodiscard]] bool covers(size_t position, size_t other_length) const {
    const auto after = std::ranges::upper_bound(at, position);
    return after != at.begin() && position + other_length <= *std::prev(after) + length;
  }
};

std::vector<Repeat> occurrences(const Windows& windows, const std::vector<uint32_t>& seeds) {
  std::vector<Repeat> repeats(seeds.size());
  std::vector<uint8_t> place(windows.count.size(), UINT8_MAX);
  for (size_t i = 0; i < seeds.size(); ++i) {
    place[seeds[i]] = static_cast<uint8_t>(i);
    repeats[i].length = windows.length;
  }
  for (size_t i = 0; i < windows.number.size(); ++i) {
    if (windows.number[i] == kRare || place[windows.number[i]] == UINT8_MAX) continue;
    Repeat& repeat = repeats[place[windows.number[i]]];
    if (repeat.at.empty() || i >= repeat.at.back() + windows.length) repeat.at.push_back(i);
  }
  return repeats;
}

bool agree(const Tokens& tokens, const std::vector<size_t>& at, std::ptrdiff_t offset) {
  const auto id = [&](size_t position) {
    const auto place = static_cast<std::ptrdiff_t>(position) + offset;
    const bool is_inside = place >= 0 && place < static_cast<std::ptrdiff_t>(tokens.size());
    return is_inside ? tokens.id[static_cast<size_t>(place)] : kRare;
  };
  const uint32_t first = id(at.front());
  return first != kRare &&
         std::ranges::all_of(at, [&](size_t position) { return id(position) == first; });
}

// Makes the sequence longer at both ends, as long as all occurrences agree and none reaches the
// next.
void grow(const Tokens& tokens, Repeat& repeat) {
  size_t room = kLongestSearched;
  for (size_t i = 1; i < repeat.at.size(); ++i) {
    room = std::min(room, repeat.at[i] - repeat.at[i - 1]);
  }
  while (repeat.length < room &&
         agree(tokens, repeat.at, static_cast<std::ptrdiff_t>(repeat.length))) {
    ++repeat.length;
  }
  while (repeat.length < room && agree(tokens, repeat.at, -1)) {
    for (size_t& position : repeat.at) --position;
    ++repeat.length;
  }
}

// True for "abcabc", because "abc" says the same. A run of a single kernel does not count, because
// it has no shorter form.
bool repeats_itself(const std::vector<StringId>& names) {
  std::vector<size_t> border(names.size() + 1, 0);  // Knuth, Morris and Pratt
  for (size_t i = 1, matched = 0; i < names.size(); ++i) {
    while (matched > 0 && names[i] != names[matched]) matched = border[matched];
    if (names[i] == names[matched]) ++matched;
    border[i + 1] = matched;
  }
  const size_t period = names.size() - border[names.size()];
  return period > 1 && period < names.size() && names.size() % period == 0;
}

// Whether both are the same cycle, begun at different places.
bool is_rotation(const std::vector<StringId>& names, const std::vector<StringId>& other) {
  if (names.size() != other.size()) return false;
  std::vector<StringId> twice = other;
  twice.insert(twice.end(), other.begin(), other.end());
  return std::search(twice.begin(), twice.end(), names.begin(), names.end()) != twice.end();
}

void drop_echoes(std::vector<KernelSequence>& sequences) {
  std::vector<KernelSequence> kept;
  for (KernelSequence& sequence : sequences) {
    const bool is_echo = std::ranges::any_of(kept, [&](const KernelSequence& other) {
      return is_rotation(sequence.names, other.names);
    });
    if (!is_echo && !repeats_itself(sequence.names)) kept.push_back(std::move(sequence));
  }
  sequences = std::move(kept);
}

KernelSequence describe(const DeviceWorkTable& device, const Tokens& tokens, const Repeat& repeat) {
  KernelSequence sequence;
  sequence.first = device.rows[tokens.row[repeat.at.front()]].slice;
  sequence.count = static_cast<int64_t>(repeat.at.size());
  for (size_t i = 0; i < repeat.length; ++i) {
    sequence.names.push_back(device.rows[tokens.row[repeat.at.front() + i]].name);
  }
  for (const size_t at : repeat.at) {
    sequence.total_ns += tokens.work_until_ns[at + repeat.length] - tokens.work_until_ns[at];
    sequence.gap_ns += tokens.gaps_until_ns[at + repeat.length - 1] - tokens.gaps_until_ns[at];
  }
  return sequence;
}

}  // namespace

std::vector<KernelSequence> kernel_sequences(const DeviceWorkTable& device) {
  const Tokens tokens = tokens_of(device);
  std::vector<Repeat> candidates;
  Windows windows = windows_of_one(tokens);
  for (size_t length = 2; length <= 32; length *= 2) {
    double_length(tokens, windows);
    auto found = occurrences(windows, best_seeds(windows));
    candidates.insert(candidates.begin(), std::make_move_iterator(found.begin()),
                      std::make_move_iterator(found.end()));
  }
  // Longest seeds come first: a shorter one that lies in a longer one and occurs as often adds
  // nothing.
  std::vector<Repeat> repeats;
  for (Repeat& candidate : candidates) {
    const bool is_known = std::ranges::any_of(repeats, [&](const Repeat& known) {
      return known.at.size() == candidate.at.size() &&
             known.covers(candidate.at.front(), candidate.length);
    });
    if (is_known) continue;
    grow(tokens, candidate);
    repeats.push_back(std::move(candidate));
  }
  std::vector<KernelSequence> sequences;
  for (const Repeat& repeat : repeats) sequences.push_back(describe(device, tokens, repeat));
  std::ranges::stable_sort(sequences, std::greater(), &KernelSequence::gap_ns);
  drop_echoes(sequences);
  if (sequences.size() > kShown) sequences.resize(kShown);
  return sequences;
}

}  // namespace redline::trace
