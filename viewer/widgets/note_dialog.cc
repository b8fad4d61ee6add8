#include "viewer/widgets/note_dialog.h"

#include <QInputDialog>

namespace redline::viewer {
namespace {

constexpr int kWidth = 420;

}  // namespace

void ask_for_note(ViewState& state, int64_t time_ns, const std::string& proposed, QWidget* parent) {
  auto* dialog = new QInputDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QInputDialog::tr("Note"));
  dialog->setLabelText(QInputDialog::tr("What to note here:"));
  dialog->resize(kWidth, dialog->sizeHint().height());
  dialog->setTextValue(QString::fromStdString(proposed));
  QObject::connect(
      dialog, &QInputDialog::textValueSelected, &state,
      [&state, time_ns](const QString& note) { state.set_mark(time_ns, note.toStdString()); });
  dialog->open();
}

}  // namespace redline::viewer
