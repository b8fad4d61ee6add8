#include "viewer/models/search.h"

#include <algorithm>
#include <numeric>

#include "trace/emit/json_scan.h"
#include "trace/model/category.h"
#include "trace/read/event_parser.h"
#include "trace/read/text_cursor.h"
#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

using trace::Category;

constexpr std::string_view kArgs = "args:";
constexpr std::string_view kJsonMarks = ",:[]{}";

bool is_mark(char c) { return kJsonMarks.find(c) != std::string_view::npos; }

// JSON may have blanks beside these marks only, apart from those in texts.
std::string without_blanks_at_marks(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = trace::skip_space(text, at);
    const bool beside =
        (!out.empty() && is_mark(out.back())) || (end < text.size() && is_mark(text[end]));
    if (!beside) out.append(text.substr(at, end - at));
    if (end < text.size()) out.push_back(text[end]);
    at = end + 1;
  }
  return out;
}

bool has_blanks(std::string_view text) {
  return std::ranges::any_of(std::string_view(" \n\r\t"),
                             [text](char c) { return text.find(c) != std::string_view::npos; });
}

/// A text that is looked for in arguments.
class ArgsPart {
 public:
  explicit ArgsPart(const std::string& part)
      : as_typed_(part), bare_(without_blanks_at_marks(part)) {}

  [[nodiscard]] bool is_in(std::string_view args) const {
    if (contains_text(args, as_typed_)) return true;
    const bool is_escaped = args.find('\\') != std::string_view::npos;
    // Most arguments are what they seem, and need not be copied.
    if (!is_escaped && (!has_marks_ || (bare_ == as_typed_ && !has_blanks(args)))) return false;
    const std::string bare = is_escaped ? without_blanks_at_marks(trace::decode_string(args))
                                        : without_blanks_at_marks(args);
    return contains_text(bare, bare_);
  }

 private:
  std::string as_typed_;
  std::string bare_;
  bool has_marks_ = std::ranges::any_of(bare_, is_mark);
};

/// Slices in the order of their text, so that a compressed file is inflated only once.
std::vector<uint32_t> by_place_in_file(const trace::Trace& trace) {
  std::vector<uint32_t> order(trace.slice_count());
  std::iota(order.begin(), order.end(), 0U);
  const auto& offsets = trace.slices().text_offset;
  std::ranges::sort(order, {}, [&](uint32_t slice) { return offsets[slice]; });
  return order;
}

}  // namespace

std::optional<std::string> args_part(const std::string& text) {
  if (!text.starts_with(kArgs)) return std::nullopt;
  return text.substr(kArgs.size());
}

HitBits find_in_args(const Session& session, const std::string& part,
                     const std::atomic<bool>* cancel) {
  constexpr uint32_t kBetweenLooks = 4096;
  HitBits hits;
  const bool is_changed = session.is_changed();
  const ArgsPart wanted(part);
  for (const SessionTrace& item : session.traces()) {
    const trace::Trace& trace = *item.trace;
    trace::TextCursor cursor(trace);
    std::vector<bool>& found = hits.emplace_back(trace.slice_count());
    if (is_changed) continue;
    uint32_t done = 0;
    for (const uint32_t slice : by_place_in_file(trace)) {
      if (part.empty() || (cancel && done++ % kBetweenLooks == 0 && cancel->load())) break;
      const std::string_view event = cursor.event_text(cursor.offset_of({slice}));
      found[slice] = wanted.is_in(trace::scan_event(event, 0).event.args);
    }
  }
  return hits;
}

/// The order of hits: by begin, and for slices that begin together by lane. Slices of one lane lie
/// in this order already.
struct Search::Order {
  int64_t begin_ns = 0;
  SliceRef ref;
  auto operator<=>(const Order&) const = default;

  static Order of(const Session& session, SliceRef ref) {
    const SessionTrace& item = session.traces()[ref.trace];
    return {saturating_sub(item.trace->slices().begin_ns[ref.slice.value], item.origin_ns), ref};
  }
  /// The first slice of the lane that does not come before this one; the lane's end if all do.
  [[nodiscard]] uint32_t place_in(const Session& session, uint32_t trace,
                                  const trace::Lane& lane) const {
    uint32_t low = lane.first.value;
    uint32_t high = lane.end();
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      of(session, {trace, {middle}}) < * this ? low = middle + 1 : high = middle;
    }
    return low;
  }
};

Search Search::pending(const std::string& text) {
  Search search;
  search.text_ = text;
  return search;
}

Search::Search(const Session& session, const std::string& text, HitBits hits)
    : text_(text), hits_(std::make_shared<const HitBits>(std::move(hits))) {
  traces_.resize(session.traces().size());
  count_hits(session, nullptr);
}

Search::Search(const Session& session, const std::string& text, const std::atomic<bool>* cancel)
    : text_(text) {
  if (text.empty() || args_part(text)) return;
  traces_.resize(session.traces().size());
  for (size_t c = 0; c < kCategories; ++c) {
    category_[c] = is_wanted(trace::category_name(static_cast<Category>(c)), text);
  }
  for (size_t t = 0; t < traces_.size(); ++t) {
    const trace::Trace& trace = *session.traces()[t].trace;
    std::vector<uint8_t>& matched = traces_[t].matched;
    matched.resize(trace.string_count());
    for (uint32_t s = 0; s < matched.size(); ++s) {
      matched[s] = is_wanted(trace.string({s}), text) ? 1 : 0;
    }
  }
  count_hits(session, cancel);
}

void Search::count_hits(const Session& session, const std::atomic<bool>* cancel) {
  for (uint32_t t = 0; t < traces_.size(); ++t) {
    const trace::Slices& slices = session.traces()[t].trace->slices();
    const auto end = static_cast<uint32_t>(session.traces()[t].trace->slice_count());
    std::vector<uint32_t>& before = traces_[t].hits_before;
    uint32_t hits = 0;
    for (uint32_t begin = 0; begin < end; begin += std::min(kBlock, end - begin)) {
      if (cancel && cancel->load(std::memory_order_relaxed)) return;
      before.push_back(hits);
      hits += hits_between(slices, t, begin, begin + std::min(kBlock, end - begin));
    }
    before.push_back(hits);
    count_ += hits;
  }
  is_known_ = true;
}

uint32_t Search::hits_between(const trace::Slices& slices, uint32_t trace, uint32_t begin,
                              uint32_t end) const {
  uint32_t hits = 0;
  for (uint32_t i = begin; i < end; ++i) hits += is_hit(slices, trace, i) ? 1 : 0;
  return hits;
}

uint32_t Search::hits_before(const trace::Slices& slices, uint32_t trace, uint32_t slice) const {
  return traces_[trace].hits_before[slice / kBlock] +
         hits_between(slices, trace, slice - slice % kBlock, slice);
}

std::optional<uint32_t> Search::first_hit(const trace::Slices& slices, uint32_t trace,
                                          uint32_t begin, uint32_t end) const {
  const std::vector<uint32_t>& before = traces_[trace].hits_before;
  for (uint32_t i = begin; i < end; ++i) {
    const uint32_t block = i / kBlock;
    if (i % kBlock == 0 && before[block] == before[block + 1]) {
      i += std::min(kBlock, end - i) - 1;
    } else if (is_hit(slices, trace, i)) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> Search::last_hit(const trace::Slices& slices, uint32_t trace,
                                         uint32_t begin, uint32_t end) const {
  const std::vector<uint32_t>& before = traces_[trace].hits_before;
  for (uint32_t i = end; i > begin; --i) {
    const uint32_t block = i / kBlock;
    if (i % kBlock == 0 && before[block] == before[block - 1]) {
      i -= std::min(kBlock, i - begin) - 1;
    } else if (is_hit(slices, trace, i - 1)) {
      return i - 1;
    }
  }
  return std::nullopt;
}

bool Search::matches(const Session& session, SliceRef ref) const {
  if (!ref || !is_known_) return false;
  return is_hit(session.traces()[ref.trace].trace->slices(), ref.trace, ref.slice.value);
}

SliceRef Search::earliest(const Session& session, const std::optional<Order>& after) const {
  std::optional<Order> best;
  for (uint32_t t = 0; t < traces_.size(); ++t) {
    const trace::Trace& trace = *session.traces()[t].trace;
    for (const trace::Lane& lane : trace.lanes()) {
      const uint32_t end = lane.end();
      uint32_t begin = after ? after->place_in(session, t, lane) : lane.first.value;
      if (after && begin < end && after->ref == SliceRef{t, {begin}}) ++begin;
      const auto hit = first_hit(trace.slices(), t, begin, end);
      if (!hit) continue;
      const Order order = Order::of(session, {t, {*hit}});
      if (!best || order < *best) best = order;
    }
  }
  return best ? best->ref : SliceRef();
}

SliceRef Search::latest(const Session& session, const std::optional<Order>& before) const {
  std::optional<Order> best;
  for (uint32_t t = 0; t < traces_.size(); ++t) {
    const trace::Trace& trace = *session.traces()[t].trace;
    for (const trace::Lane& lane : trace.lanes()) {
      const uint32_t end = before ? before->place_in(session, t, lane) : lane.end();
      const auto hit = last_hit(trace.slices(), t, lane.first.value, end);
      if (!hit) continue;
      const Order order = Order::of(session, {t, {*hit}});
      if (!best || order > *best) best = order;
    }
  }
  return best ? best->ref : SliceRef();
}

SliceRef Search::next(const Session& session, SliceRef from) const {
  if (!is_known_) return {};
  const SliceRef hit = from ? earliest(session, Order::of(session, from)) : SliceRef();
  return hit ? hit : earliest(session, std::nullopt);
}

SliceRef Search::previous(const Session& session, SliceRef from) const {
  if (!is_known_) return {};
  const SliceRef hit = from ? latest(session, Order::of(session, from)) : SliceRef();
  return hit ? hit : latest(session, std::nullopt);
}

uint64_t Search::place_of(const Session& session, SliceRef ref) const {
  if (!matches(session, ref)) return 0;
  const Order wanted = Order::of(session, ref);
  uint64_t place = 1;
  for (uint32_t t = 0; t < traces_.size(); ++t) {
    const trace::Trace& trace = *session.traces()[t].trace;
    for (const trace::Lane& lane : trace.lanes()) {
      place += hits_before(trace.slices(), t, wanted.place_in(session, t, lane)) -
               hits_before(trace.slices(), t, lane.first.value);
    }
  }
  return place;
}

namespace {

/// The longest slice of a name among those that were visited.
struct Longest {
  SliceRef ref;
  int64_t ns = -1;

  /// Visits the slices that begin in the range, which is on the session's axis.
  void look(const Session& session, uint32_t t, std::string_view name, TimeRange range,
            const std::atomic<bool>* cancel) {
    constexpr uint32_t kBetweenLooks = 1 << 16;
    const SessionTrace& item = session.traces()[t];
    const trace::StringId id = item.trace->find_string(name);
    if (!id) return;
    const trace::Slices& slices = item.trace->slices();
    const int64_t from = saturating_sum(range.begin_ns, item.origin_ns);
    const int64_t to = saturating_sum(range.end_ns, item.origin_ns);
    for (uint32_t i = 0; i < item.trace->slice_count(); ++i) {
      if (cancel && i % kBetweenLooks == 0 && cancel->load()) return;
      if (slices.name[i] != id || slices.begin_ns[i] < from || slices.begin_ns[i] > to) continue;
      const int64_t duration = saturating_sub(slices.end_ns[i], slices.begin_ns[i]);
      if (duration <= ns) continue;
      ns = duration;
      ref = {t, {i}};
    }
  }
};

constexpr TimeRange kAllTimes{INT64_MIN, INT64_MAX};

// The step that begins at 0 in a comparison of two runs.
TimeRange aligned_step(const SessionTrace& item) {
  for (const Step& step : item.steps) {
    if (step.range.begin_ns == 0) return step.range;
  }
  return kAllTimes;
}

/// The longest slice of the name in the traces from `first` up to, but not including, `end`.
SliceRef longest_among(const Session& session, size_t first, size_t end, std::string_view name,
                       bool in_step, const std::atomic<bool>* cancel) {
  Longest longest;
  for (size_t t = first; t < end; ++t) {
    const TimeRange range = in_step ? aligned_step(session.traces()[t]) : kAllTimes;
    longest.look(session, static_cast<uint32_t>(t), name, range, cancel);
  }
  return longest.ref;
}

}  // namespace

SliceRef longest_named(const Session& session, std::string_view name) {
  return longest_among(session, 0, session.traces().size(), name, false, nullptr);
}

std::vector<SliceRef> places_of(const Session& session, std::string_view name,
                                const std::atomic<bool>* cancel) {
  const size_t count = session.traces().size();
  const size_t parted = session.before_count();
  std::vector<SliceRef> places;
  for (const auto& [first, end] : {std::pair(size_t{0}, parted), std::pair(parted, count)}) {
    SliceRef ref = longest_among(session, first, end, name, parted > 0, cancel);
    if (!ref && parted > 0) ref = longest_among(session, first, end, name, false, cancel);
    if (ref) places.push_back(ref);
  }
  if (cancel && cancel->load()) places.clear();
  return places;
}

}  // namespace redline::viewer
