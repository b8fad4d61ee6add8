// All that a search has found, as Qt's views want it: a reference a row, its words made when shown.
//
// Ten million hits sort on a thread of their own, and the window shows the old order meanwhile.
#pragma once

#include <QAbstractTableModel>
#include <algorithm>
#include <memory>

#include "viewer/models/find_results.h"
#include "viewer/models/latest_task.h"

namespace redline::viewer {

class HitsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  explicit HitsModel(QObject* parent = nullptr) : QAbstractTableModel(parent), task_(this) {}

  void set_hits(std::shared_ptr<const Session> session, Hits hits);
  [[nodiscard]] size_t size() const { return hits_->size(); }
  /// Views look at each row they are given, so they get those that anybody would scroll to.
  static constexpr size_t kMostShown = 1'000'000;
  [[nodiscard]] size_t shown_count() const { return std::min(size(), kMostShown); }
  [[nodiscard]] SliceRef hit(int row) const { return (*hits_)[static_cast<size_t>(row)]; }
  /// What is shown.
  [[nodiscard]] Table table() const;
  /// Returns at once; sorted() follows.
  void sort(int column, Qt::SortOrder order) override;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 signals:
  void sorted();

 private:
  std::shared_ptr<const Session> session_;
  Hits hits_ = std::make_shared<const std::vector<SliceRef>>();
  LatestTask task_;
};

}  // namespace redline::viewer
