#include "viewer/models/search.h"

#include <algorithm>
#include <tuple>

#include "trace/category.h"
#include "viewer/models/match_text.h"

namespace redline::viewer {
namespace {

using trace::Category;

/// Hits in the order in which a reader meets them; slices that begin together by their lanes.
struct Order {
  int64_t begin_ns = 0;
  SliceRef ref;
  auto operator<=>(const Order&) const = default;
};

Order order_of(const Session& session, SliceRef ref) {
  return {session.range_of(ref).begin_ns, ref};
}

}  // namespace

Search::Search(const Session& session, const std::string& text) : text_(text) {
  traces_.resize(session.traces().size());
  if (text.empty()) return;
  for (size_t c = 0; c < kCategories; ++c) {
    category_[c] = contains_text(trace::category_name(static_cast<Category>(c)), text);
  }
  for (size_t t = 0; t < traces_.size(); ++t) {
    const trace::Trace& trace = *session.traces()[t].trace;
    std::vector<bool>& matched = traces_[t].matched;
    matched.resize(trace.string_count());
    for (uint32_t s = 0; s < matched.size(); ++s) {
      matched[s] = contains_text(trace.string({s}), text);
    }
  }
  for_each_hit(session, [this](SliceRef, int64_t) { ++count_; });
}

template <typename Visit>
void Search::for_each_hit(const Session& session, const Visit& visit) const {
  for_each(session, [&](SliceRef ref) {
    const SessionTrace& item = session.traces()[ref.trace];
    const int64_t begin_ns = item.trace->slices().begin_ns[ref.slice.value];
    visit(ref, saturating_sub(begin_ns, item.origin_ns));
    return true;
  });
}

bool Search::matches(const Session& session, SliceRef ref) const {
  if (!ref || text_.empty()) return false;
  return is_hit(session.traces()[ref.trace].trace->slices(), ref.trace, ref.slice.value);
}

SliceRef Search::next(const Session& session, SliceRef from) const {
  if (!from) from = {UINT32_MAX, {}};
  const bool wrap_only = from.trace == UINT32_MAX;
  const Order start = wrap_only ? Order{INT64_MIN, {}} : order_of(session, from);
  Order best{INT64_MAX, {}};
  Order first{INT64_MAX, {}};
  for_each_hit(session, [&](SliceRef ref, int64_t begin_ns) {
    const Order order{begin_ns, ref};
    if (!first.ref || order < first) first = order;
    if (!wrap_only && order > start && (!best.ref || order < best)) best = order;
  });
  return best.ref ? best.ref : first.ref;
}

SliceRef Search::previous(const Session& session, SliceRef from) const {
  const Order start = from ? order_of(session, from) : Order{INT64_MIN, {}};
  Order best{INT64_MIN, {}};
  Order last{INT64_MIN, {}};
  for_each_hit(session, [&](SliceRef ref, int64_t begin_ns) {
    const Order order{begin_ns, ref};
    if (!last.ref || order > last) last = order;
    if (from && order < start && (!best.ref || order > best)) best = order;
  });
  return best.ref ? best.ref : last.ref;
}

uint64_t Search::place_of(const Session& session, SliceRef ref) const {
  if (!matches(session, ref)) return 0;
  const Order wanted = order_of(session, ref);
  uint64_t place = 1;
  for_each_hit(session, [&](SliceRef hit, int64_t begin_ns) {
    if (Order{begin_ns, hit} < wanted) ++place;
  });
  return place;
}

SliceRef longest_named(const Session& session, std::string_view name) {
  SliceRef best;
  int64_t longest = -1;
  for (uint32_t t = 0; t < session.traces().size(); ++t) {
    const trace::Trace& trace = *session.traces()[t].trace;
    const trace::StringId id = trace.find_string(name);
    if (!id) continue;
    const trace::Slices& slices = trace.slices();
    for (uint32_t i = 0; i < trace.slice_count(); ++i) {
      if (slices.name[i] != id) continue;
      const int64_t duration = saturating_sub(slices.end_ns[i], slices.begin_ns[i]);
      if (duration > longest) {
        longest = duration;
        best = {t, {i}};
      }
    }
  }
  return best;
}

}  // namespace redline::viewer
