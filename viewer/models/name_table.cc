#include "viewer/models/name_table.h"

#include <algorithm>
#include <unordered_map>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

using trace::Category;

bool belongs(TableKind kind, Category category) {
  return category == (kind == TableKind::kKernels ? Category::kKernel : Category::kCpuOp);
}

/// Self time of every slice of `lane` of the kind: what slices of the kind in the lane below, which
/// lie inside them, leave over.
template <typename Visit>
void for_each_self_time(const trace::Trace& trace, const trace::Lane& lane,
                        const trace::Lane* below, TableKind kind, const Visit& visit) {
  const trace::Slices& slices = trace.slices();
  uint32_t child = below ? below->first.value : 0;
  const uint32_t child_end = below ? child + below->count : 0;
  for (uint32_t i = lane.first.value; i < lane.first.value + lane.count; ++i) {
    int64_t self = saturating_sub(slices.end_ns[i], slices.begin_ns[i]);
    for (; child < child_end && slices.begin_ns[child] < slices.end_ns[i]; ++child) {
      const bool inside =
          slices.begin_ns[child] >= slices.begin_ns[i] && slices.end_ns[child] <= slices.end_ns[i];
      if (inside && belongs(kind, slices.category[child])) {
        self -= saturating_sub(slices.end_ns[child], slices.begin_ns[child]);
      }
    }
    if (belongs(kind, slices.category[i])) visit(i, self);
  }
}

void add_totals(const trace::Trace& trace, TableKind kind,
                std::unordered_map<std::string, NameTotals>& totals) {
  const trace::Slices& slices = trace.slices();
  std::vector<NameTotals> by_name(trace.string_count() + 1);
  for (size_t l = 0; l < trace.lanes().size(); ++l) {
    const trace::Lane& lane = trace.lanes()[l];
    if (lane.count == 0) continue;
    const bool nested = l + 1 < trace.lanes().size() && trace.lanes()[l + 1].count > 0 &&
                        trace.lanes()[l + 1].track == lane.track;
    for_each_self_time(
        trace, lane, nested ? &trace.lanes()[l + 1] : nullptr, kind, [&](uint32_t i, int64_t self) {
          const trace::StringId id = slices.name[i];
          NameTotals& entry = by_name[id ? id.value : trace.string_count()];
          const int64_t duration = saturating_sub(slices.end_ns[i], slices.begin_ns[i]);
          ++entry.count;
          entry.total_ns = saturating_add(entry.total_ns, duration);
          entry.self_ns = saturating_add(entry.self_ns, std::max<int64_t>(self, 0));
          entry.longest_ns = std::max(entry.longest_ns, duration);
        });
  }
  for (uint32_t s = 0; s < by_name.size(); ++s) {
    const NameTotals& found = by_name[s];
    if (found.count == 0) continue;
    const std::string name(s < trace.string_count() ? trace.string({s}) : std::string_view());
    NameTotals& sum = totals[name];
    sum.name = name;
    sum.count += found.count;
    sum.total_ns = saturating_add(sum.total_ns, found.total_ns);
    sum.self_ns = saturating_add(sum.self_ns, found.self_ns);
    sum.longest_ns = std::max(sum.longest_ns, found.longest_ns);
  }
}

QString to_text(const std::string& value) { return QString::fromStdString(value); }

}  // namespace

std::vector<NameTotals> name_totals(const Session& session, TableKind kind) {
  std::unordered_map<std::string, NameTotals> totals;
  for (const SessionTrace& item : session.traces()) add_totals(*item.trace, kind, totals);
  std::vector<NameTotals> rows;
  rows.reserve(totals.size());
  for (auto& [name, entry] : totals) rows.push_back(std::move(entry));
  std::sort(rows.begin(), rows.end(), [](const NameTotals& a, const NameTotals& b) {
    return std::tie(b.self_ns, a.name) < std::tie(a.self_ns, b.name);
  });
  return rows;
}

void NameTable::set_session(const Session& session) {
  beginResetModel();
  rows_ = name_totals(session, kind_);
  sum_ns_ = 0;
  for (const NameTotals& row : rows_) sum_ns_ = saturating_add(sum_ns_, row.self_ns);
  endResetModel();
}

int NameTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int NameTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant NameTable::text(const NameTotals& row, int column) const {
  switch (column) {
    case kName:
      return to_text(printable(row.name));
    case kCalls:
      return to_text(format_count(row.count));
    case kTotal:
      return to_text(format_duration(row.total_ns));
    case kSelf:
      return to_text(format_duration(row.self_ns));
    case kMean:
      return to_text(format_duration(row.total_ns / static_cast<int64_t>(row.count)));
    case kLongest:
      return to_text(format_duration(row.longest_ns));
    case kShare: {
      const double whole = static_cast<double>(std::max<int64_t>(sum_ns_, 1));
      return to_text(format_share(static_cast<double>(row.self_ns) / whole));
    }
    default:
      return {};
  }
}

QVariant NameTable::number(const NameTotals& row, int column) const {
  switch (column) {
    case kName:
      return to_text(printable(row.name));
    case kCalls:
      return QVariant::fromValue<qulonglong>(row.count);
    case kTotal:
      return QVariant::fromValue<qlonglong>(row.total_ns);
    case kMean:
      return static_cast<double>(row.total_ns) / static_cast<double>(row.count);
    case kLongest:
      return QVariant::fromValue<qlonglong>(row.longest_ns);
    case kSelf:
    case kShare:
      return QVariant::fromValue<qlonglong>(row.self_ns);
    default:
      return {};
  }
}

QVariant NameTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) {
    return {};
  }
  const NameTotals& entry = row(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return text(entry, index.column());
    case kSortRole:
      return number(entry, index.column());
    case Qt::ToolTipRole:
      return index.column() == kName ? to_text(printable(entry.name).substr(0, 1000)) : QVariant();
    case Qt::TextAlignmentRole:
      return QVariant::fromValue<int>((index.column() == kName ? Qt::AlignLeft : Qt::AlignRight) |
                                      Qt::AlignVCenter);
    default:
      return {};
  }
}

QVariant NameTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue<int>((section == kName ? Qt::AlignLeft : Qt::AlignRight) |
                                    Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) return {};
  constexpr const char* kTitles[] = {"Name", "Calls", "Total", "Self", "Mean", "Longest", "Share"};
  return tr(kTitles[section]);
}

}  // namespace redline::viewer
