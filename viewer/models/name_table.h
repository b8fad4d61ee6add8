// Tables of kernels and operators by name, as Qt's views want them.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "trace/report.h"

namespace redline::viewer {

enum class TableKind { kKernels, kOperators };

struct NameRow {
  std::string name;
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t self_ns = 0;    ///< on the host, without what it calls; a kernel's total
  int64_t device_ns = 0;  ///< GPU work that an operator launched itself
  int64_t longest_ns = 0;
  bool uses_tensor_cores = false;
};

/// Sums over all traces of the report, the largest self time first.
[[nodiscard]] std::vector<NameRow> name_rows(const trace::Report& report, TableKind kind);

class NameTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kName,
    kCalls,
    kSelf,
    kTotal,
    kDevice,
    kMean,
    kLongest,
    kShare,
    kTensorCores,
    kColumnCount
  };
  static constexpr int kSortRole = Qt::UserRole;  ///< plain numbers

  explicit NameTable(TableKind kind, QObject* parent = nullptr)
      : QAbstractTableModel(parent), kind_(kind) {}

  void set_report(const trace::Report& report);
  [[nodiscard]] const NameRow& row(int index) const { return rows_[static_cast<size_t>(index)]; }
  /// Columns that say something of this kind of thing.
  [[nodiscard]] bool has_column(Column column) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  [[nodiscard]] QVariant text(const NameRow& row, int column) const;
  [[nodiscard]] QVariant number(const NameRow& row, int column) const;

  TableKind kind_;
  std::vector<NameRow> rows_;
  int64_t sum_ns_ = 0;  ///< of self times: the whole of the shares
};

}  // namespace redline::viewer
