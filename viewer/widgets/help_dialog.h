// The keys, on one page.
#pragma once

#include <QDialog>

namespace redline::viewer {

class HelpDialog : public QDialog {
  Q_OBJECT

 public:
  explicit HelpDialog(QWidget* parent = nullptr);
};

}  // namespace redline::viewer
