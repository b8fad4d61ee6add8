#include "base/intervals.h"

#include <algorithm>

#include "base/natural_sort.h"

namespace redline {
namespace {

constexpr auto kBeginsBefore = [](const Interval& left, const Interval& right) {
  return left.begin_ns < right.begin_ns;
};

void append(Intervals& out, Interval next) {
  if (next.length_ns() <= 0) return;
  if (!out.empty() && next.begin_ns <= out.back().end_ns) {
    out.back().end_ns = std::max(out.back().end_ns, next.end_ns);
  } else {
    out.push_back(next);
  }
}

Intervals::const_iterator first_behind(const Intervals& intervals, int64_t time_ns) {
  return std::ranges::partition_point(
      intervals, [&](const Interval& interval) { return interval.end_ns <= time_ns; });
}

}  // namespace

Intervals merge(std::vector<Interval> any) {
  natural_sort(std::span(any), kBeginsBefore);
  size_t kept = 0;  // merged in place, because we never write beyond what is read
  for (const Interval next : any) {
    if (next.length_ns() <= 0) continue;
    if (kept > 0 && next.begin_ns <= any[kept - 1].end_ns) {
      any[kept - 1].end_ns = std::max(any[kept - 1].end_ns, next.end_ns);
    } else {
      any[kept++] = next;
    }
  }
  any.resize(kept);
  return any;
}

Intervals unite(const Intervals& left, const Intervals& right) {
  std::vector<Interval> all(left.size() + right.size());
  std::merge(left.begin(), left.end(), right.begin(), right.end(), all.begin(), kBeginsBefore);
  return merge(std::move(all));
}

Intervals intersect(const Intervals& left, const Intervals& right) {
  Intervals out;
  for (auto a = left.begin(), b = right.begin(); a != left.end() && b != right.end();) {
    append(out, {std::max(a->begin_ns, b->begin_ns), std::min(a->end_ns, b->end_ns)});
    if (a->end_ns < b->end_ns) {
      ++a;
    } else {
      ++b;
    }
  }
  return out;
}

Intervals subtract(const Intervals& from, const Intervals& what) {
  if (what.empty()) return from;
  Intervals out;
  out.reserve(from.size() + what.size());  // memory that is not touched costs nothing
  auto hole = what.begin();
  for (Interval rest : from) {
    while (hole != what.end() && hole->end_ns <= rest.begin_ns) ++hole;
    for (auto cut = hole; cut != what.end() && cut->begin_ns < rest.end_ns; ++cut) {
      append(out, {rest.begin_ns, cut->begin_ns});
      rest.begin_ns = cut->end_ns;
    }
    append(out, rest);
  }
  return out;
}

int64_t total_ns(const Intervals& intervals) {
  int64_t total = 0;
  for (const Interval& interval : intervals) total += interval.length_ns();
  return total;
}

int64_t total_within_ns(const Intervals& intervals, Interval window) {
  auto at = first_behind(intervals, window.begin_ns);
  int64_t total = 0;
  for (; at != intervals.end() && at->begin_ns < window.end_ns; ++at) {
    total += std::min(at->end_ns, window.end_ns) - std::max(at->begin_ns, window.begin_ns);
  }
  return total;
}

Intervals::const_iterator IntervalCursor::search(int64_t time_ns) const {
  return first_behind(all_, time_ns);
}

void Coverage::add(Interval interval) {
  for (auto at = cursor_.behind(interval.begin_ns);
       at != within_->end() && at->begin_ns < interval.end_ns; ++at) {
    keep({std::max(at->begin_ns, interval.begin_ns), std::min(at->end_ns, interval.end_ns)});
  }
}

// A part that begins where the last one ended, or within it, only makes that one longer.
void Coverage::keep(Interval part) {
  if (!parts_.empty() && parts_.back().begin_ns <= part.begin_ns &&
      part.begin_ns <= parts_.back().end_ns) {
    parts_.back().end_ns = std::max(parts_.back().end_ns, part.end_ns);
  } else {
    parts_.push_back(part);
  }
}

}  // namespace redline
