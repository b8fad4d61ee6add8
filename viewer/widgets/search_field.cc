#include "viewer/widgets/search_field.h"

#include <QKeyEvent>

#include "viewer/models/format.h"

namespace redline::viewer {

SearchField::SearchField(ViewState& state, QWidget* parent)
    : QLineEdit(parent), state_(state), count_(new QLabel(this)) {
  setPlaceholderText(tr("Find a name, category or args:text  /"));
  setAccessibleName(tr("Search"));
  setMinimumWidth(200);
  setMaximumWidth(420);
  setTextMargins(0, 0, 110, 0);
  count_->setProperty("muted", true);
  count_->setStyleSheet(QStringLiteral("background: transparent;"));
  count_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  count_->setAttribute(Qt::WA_TransparentForMouseEvents);
  connect(this, &QLineEdit::textEdited, this, [this](const QString& text) { state_.find(text); });
  connect(&state, &ViewState::search_changed, this, &SearchField::show_count);
  connect(&state, &ViewState::selection_changed, this, &SearchField::show_count);
}

void SearchField::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      event->modifiers() & Qt::ShiftModifier ? state_.find_previous() : state_.find_next();
      return;
    case Qt::Key_Escape:
      clear();
      state_.find({});
      emit left();
      return;
    default:
      QLineEdit::keyPressEvent(event);
  }
}

void SearchField::resizeEvent(QResizeEvent* event) {
  QLineEdit::resizeEvent(event);
  count_->setGeometry(width() - 124, 1, 112, height() - 2);
}

void SearchField::show_count() {
  const Search& search = state_.search();
  const QString wanted = QString::fromStdString(search.text());
  if (text() != wanted) {
    setText(wanted);
    setCursorPosition(0);  // of a kernel's name the first words say which
  }
  if (search.text().empty()) {
    count_->clear();
    return;
  }
  const QString count = QString::fromStdString(format_count(search.count()));
  if (search.is_pending()) {
    count_->setText(tr("searching …"));
    return;
  }
  const uint64_t place = search.place_of(state_.session(), state_.selection());
  count_->setText(search.count() == 0 ? tr("not found")
                  : place > 0
                      ? tr("%1 of %2").arg(QString::fromStdString(format_count(place)), count)
                      : tr("%1 found").arg(count));
}

}  // namespace redline::viewer
