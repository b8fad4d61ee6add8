#include "viewer/widgets/load_progress.h"

#include <QHBoxLayout>
#include <QPushButton>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr int kSteps = 1000;

QString text(uint64_t bytes) { return QString::fromStdString(format_bytes(bytes)); }

}  // namespace

LoadProgress::LoadProgress(QWidget* parent) : QWidget(parent), bar_(new QProgressBar) {
  bar_->setRange(0, kSteps);
  bar_->setAccessibleName(tr("Reading"));
  auto* cancel = new QPushButton(tr("Cancel"));
  cancel->setToolTip(tr("Esc"));
  connect(cancel, &QPushButton::clicked, this, &LoadProgress::cancelled);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(bar_, 1);
  row->addWidget(cancel);
  setFocusProxy(cancel);
}

void LoadProgress::show_bytes(quint64 done, quint64 total) {
  const double share = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
  bar_->setValue(static_cast<int>(kSteps * share));
  bar_->setFormat(total == 0 ? QString() : tr("%1 of %2").arg(text(done), text(total)));
}

}  // namespace redline::viewer
