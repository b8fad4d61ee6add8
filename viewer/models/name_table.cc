#include "viewer/models/name_table.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "viewer/models/format.h"
#include "viewer/models/time_axis.h"

namespace redline::viewer {
namespace {

NameRow row_of(const trace::KernelRow& kernel) {
  return {kernel.name, kernel.count,  kernel.total_ns,         kernel.total_ns,
          0,           kernel.max_ns, kernel.uses_tensor_cores};
}

NameRow row_of(const trace::OperatorRow& op) {
  return {op.name, op.count, op.total_ns, op.self_ns, op.device_self_ns, 0, false};
}

void add(NameRow& sum, const NameRow& row) {
  sum.name = row.name;
  sum.count += row.count;
  sum.total_ns = saturating_add(sum.total_ns, row.total_ns);
  sum.self_ns = saturating_add(sum.self_ns, row.self_ns);
  sum.device_ns = saturating_add(sum.device_ns, row.device_ns);
  sum.longest_ns = std::max(sum.longest_ns, row.longest_ns);
  sum.uses_tensor_cores = sum.uses_tensor_cores || row.uses_tensor_cores;
}

QString to_text(const std::string& value) { return QString::fromStdString(value); }

QVariant nanoseconds(int64_t ns) { return QVariant::fromValue<qlonglong>(ns); }

// Names to the left, figures to the right.
int alignment(int column) {
  const Qt::AlignmentFlag side = column == NameTable::kName ? Qt::AlignLeft : Qt::AlignRight;
  return static_cast<int>(side) | static_cast<int>(Qt::AlignVCenter);
}

double mean(const NameRow& row) {
  return static_cast<double>(row.total_ns) / static_cast<double>(std::max<int64_t>(row.count, 1));
}

}  // namespace

std::vector<NameRow> name_rows(const trace::Report& report, TableKind kind) {
  std::unordered_map<std::string, NameRow> sums;
  for (const trace::Analysis& analysis : report.traces) {
    if (kind == TableKind::kKernels) {
      for (const auto& kernel : analysis.kernels) add(sums[kernel.name], row_of(kernel));
    } else {
      for (const auto& op : analysis.operators) add(sums[op.name], row_of(op));
    }
  }
  std::vector<NameRow> rows;
  rows.reserve(sums.size());
  for (auto& [name, row] : sums) rows.push_back(std::move(row));
  std::sort(rows.begin(), rows.end(), [](const NameRow& a, const NameRow& b) {
    return std::tie(b.self_ns, a.name) < std::tie(a.self_ns, b.name);
  });
  return rows;
}

void NameTable::set_report(const trace::Report& report) {
  beginResetModel();
  rows_ = name_rows(report, kind_);
  sum_ns_ = 0;
  for (const NameRow& row : rows_) sum_ns_ = saturating_add(sum_ns_, row.self_ns);
  endResetModel();
}

bool NameTable::has_column(Column column) const {
  switch (column) {
    case kSelf:
    case kDevice:
      return kind_ == TableKind::kOperators;
    case kLongest:
    case kTensorCores:
      return kind_ == TableKind::kKernels;
    default:
      return true;
  }
}

int NameTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int NameTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant NameTable::text(const NameRow& row, int column) const {
  switch (column) {
    case kName:
      return to_text(printable(row.name));
    case kCalls:
      return to_text(format_count(static_cast<uint64_t>(row.count)));
    case kSelf:
      return to_text(format_duration(row.self_ns));
    case kTotal:
      return to_text(format_duration(row.total_ns));
    case kDevice:
      return to_text(format_duration(row.device_ns));
    case kMean:
      return to_text(format_duration(static_cast<int64_t>(mean(row))));
    case kLongest:
      return to_text(format_duration(row.longest_ns));
    case kShare: {
      const double whole = static_cast<double>(std::max<int64_t>(sum_ns_, 1));
      return to_text(format_share(static_cast<double>(row.self_ns) / whole));
    }
    case kTensorCores:
      return row.uses_tensor_cores ? tr("yes") : tr("no");
    default:
      return {};
  }
}

QVariant NameTable::number(const NameRow& row, int column) const {
  switch (column) {
    case kName:
      return to_text(printable(row.name));
    case kCalls:
      return nanoseconds(row.count);
    case kTotal:
      return nanoseconds(row.total_ns);
    case kDevice:
      return nanoseconds(row.device_ns);
    case kMean:
      return mean(row);
    case kLongest:
      return nanoseconds(row.longest_ns);
    case kSelf:
    case kShare:
      return nanoseconds(row.self_ns);
    case kTensorCores:
      return row.uses_tensor_cores;
    default:
      return {};
  }
}

QVariant NameTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) {
    return {};
  }
  const NameRow& entry = row(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return text(entry, index.column());
    case kSortRole:
      return number(entry, index.column());
    case Qt::ToolTipRole:
      return index.column() == kName ? to_text(printable(entry.name).substr(0, 1000)) : QVariant();
    case Qt::TextAlignmentRole:
      return alignment(index.column());
    default:
      return {};
  }
}

QVariant NameTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::TextAlignmentRole) {
    return alignment(section);
  }
  if (role != Qt::DisplayRole) return {};
  constexpr const char* kTitles[] = {"Name", "Calls",   "Self",  "Total",       "On the GPU",
                                     "Mean", "Longest", "Share", "Tensor Cores"};
  return tr(kTitles[section]);
}

}  // namespace redline::viewer
