// Ctrl + Shift + P: everything that the window can do, by name. Some words find it, Enter does it.
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>
#include <functional>
#include <vector>

class QMenu;

namespace redline::viewer {

struct Command {
  QString name;
  QString keys;  ///< that do the same; empty: none
  std::function<void()> run;
};

/// Adds the actions of a menu and of its sub-menus that can be done now, with `title` before them.
void add_commands_of(const QMenu& menu, const QString& title, std::vector<Command>& commands);

class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  explicit CommandPalette(std::vector<Command> commands, QWidget* parent);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void show_matches();
  void run_current();

  std::vector<Command> commands_;
  QLineEdit* words_;
  QListWidget* list_;
};

}  // namespace redline::viewer
