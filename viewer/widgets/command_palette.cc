#include "viewer/widgets/command_palette.h"

#include <QKeyEvent>
#include <QMenu>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/widgets/controls.h"

namespace redline::viewer {
namespace {

constexpr QSize kPaletteSize(520, 420);

QString text_of(const Command& command) {
  return command.keys.isEmpty() ? command.name
                                : QStringLiteral("%1  (%2)").arg(command.name, command.keys);
}

bool has_words(const QString& text, const QStringList& words) {
  return std::ranges::all_of(
      words, [&text](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

}  // namespace

void add_commands_of(const QMenu& menu, const QString& title, std::vector<Command>& commands) {
  for (QAction* action : menu.actions()) {
    if (action->isSeparator() || !action->isEnabled()) continue;
    const QString name = QStringLiteral("%1: %2").arg(title, from_button(action->text()));
    if (action->menu()) {
      add_commands_of(*action->menu(), name, commands);
    } else {
      commands.push_back({name, {}, [action] { action->trigger(); }});
    }
  }
}

CommandPalette::CommandPalette(std::vector<Command> commands, QWidget* parent)
    : QDialog(parent), commands_(std::move(commands)), words_(new Field), list_(new QListWidget) {
  setWindowTitle(tr("Commands"));
  setAttribute(Qt::WA_DeleteOnClose);
  resize(kPaletteSize);
  words_->setPlaceholderText(tr("What to do"));
  words_->setAccessibleName(tr("What to do"));
  words_->installEventFilter(this);
  list_->setAccessibleName(tr("Commands"));
  list_->setFocusPolicy(Qt::NoFocus);  // the arrow keys move in it from the field
  auto* column = new QVBoxLayout(this);
  column->addWidget(words_);
  column->addWidget(list_, 1);
  connect(words_, &QLineEdit::textChanged, this, &CommandPalette::show_matches);
  connect(words_, &QLineEdit::returnPressed, this, &CommandPalette::run_current);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run_current);
  show_matches();
}

void CommandPalette::show_matches() {
  const QStringList words = words_->text().split(QLatin1Char(' '), Qt::SkipEmptyParts);
  list_->clear();
  for (size_t i = 0; i < commands_.size(); ++i) {
    const QString text = text_of(commands_[i]);
    if (!has_words(text, words)) continue;
    auto* item = new QListWidgetItem(text, list_);
    item->setData(Qt::UserRole, static_cast<qulonglong>(i));
  }
  list_->setCurrentRow(0);
}

// Closes first: what the command opens must not be under this dialog.
void CommandPalette::run_current() {
  const QListWidgetItem* item = list_->currentItem();
  if (!item) return;
  const auto run = commands_[item->data(Qt::UserRole).toULongLong()].run;
  accept();
  run();
}

bool CommandPalette::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Up || key == Qt::Key_Down) {
      const int row = list_->currentRow() + (key == Qt::Key_Up ? -1 : 1);
      list_->setCurrentRow(std::clamp(row, 0, std::max(list_->count() - 1, 0)));
      return true;
    }
  }
  return QDialog::eventFilter(object, event);
}

}  // namespace redline::viewer
