// Tables of kernels and operators by name, as Qt's views want them.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "viewer/models/session.h"

namespace redline::viewer {

struct NameTotals {
  std::string name;
  uint64_t count = 0;
  int64_t total_ns = 0;
  int64_t self_ns = 0;  ///< total less what nested slices of the lane below take
  int64_t longest_ns = 0;
};

enum class TableKind { kKernels, kOperators };

/// Sums over all traces of the session: kernels, or operators and communication on the host.
[[nodiscard]] std::vector<NameTotals> name_totals(const Session& session, TableKind kind);

class NameTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kCalls, kTotal, kSelf, kMean, kLongest, kShare, kColumnCount };
  static constexpr int kSortRole = Qt::UserRole;  ///< plain numbers

  explicit NameTable(TableKind kind, QObject* parent = nullptr)
      : QAbstractTableModel(parent), kind_(kind) {}

  void set_session(const Session& session);
  [[nodiscard]] const NameTotals& row(int index) const { return rows_[static_cast<size_t>(index)]; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  [[nodiscard]] QVariant text(const NameTotals& row, int column) const;
  [[nodiscard]] QVariant number(const NameTotals& row, int column) const;

  TableKind kind_;
  std::vector<NameTotals> rows_;
  int64_t sum_ns_ = 0;  ///< of self times: the whole of the shares
};

}  // namespace redline::viewer
