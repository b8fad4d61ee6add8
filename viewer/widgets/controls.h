// The small parts that panes and bars are made of.
#pragma once

#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QString>
#include <QVBoxLayout>
#include <QWidget>
#include <string>

#include "base/printable.h"
#include "viewer/widgets/theme.h"

namespace redline::viewer {

/// Text from the models as a QString.
[[nodiscard]] inline QString text(const std::string& utf8) { return QString::fromStdString(utf8); }
/// A name or a path as a QString. printable() makes characters visible that would not be.
[[nodiscard]] inline QString printable_text(std::string_view name) { return text(printable(name)); }

/// Words of a file for a button or a menu, which take "&" for the mark of a shortcut's letter.
[[nodiscard]] inline QString for_button(QString words) {
  return words.replace(QLatin1Char('&'), QLatin1String("&&"));
}
/// What the words of a button or a menu were.
[[nodiscard]] inline QString from_button(QString words) {
  return words.replace(QLatin1String("&&"), QLatin1String("&"));
}

/// Words of a file as the tooltip of a widget; a screen reader has them without marks.
void set_tooltip(QWidget& widget, const QString& words);

/// A label that shows as much of its text as fits; the tooltip shows all of it.
class ElidedLabel : public QLabel {
  Q_OBJECT

 public:
  ElidedLabel() { setTextFormat(Qt::PlainText); }

  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
};

/// A button that shows as much of its text as fits; the text is made by for_button(). The tooltip
/// shows all of what is cut, and what setToolTip() says, as plain words.
class ElidedButton : public QPushButton {
  Q_OBJECT

 public:
  explicit ElidedButton(const QString& words = {});

  [[nodiscard]] QSize minimumSizeHint() const override;
  [[nodiscard]] QString tooltip_words() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] bool is_cut() const { return width() < sizeHint().width(); }
};

/// A field whose placeholder has the theme's muted colour. A style sheet would paint it half
/// transparent, and Qt 6.4 has no word in style sheets for its colour.
class Field : public QLineEdit {
  Q_OBJECT
  Q_PROPERTY(QColor hint READ hint WRITE set_hint)

 public:
  using QLineEdit::QLineEdit;

  [[nodiscard]] QColor hint() const { return hint_; }
  void set_hint(const QColor& colour);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void show_hint();

  QColor hint_;
};

/// A box in the colour of a class: swatches and stripes.
class ColourBox : public QWidget {
  Q_OBJECT

 public:
  /// The theme may change; what is painted next has its colours.
  ColourBox(const Theme& theme, SliceClass slice_class, double radius = 0)
      : theme_(theme), class_(slice_class), radius_(radius) {}

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  SliceClass class_;
  double radius_;
};

/// A bar that is as wide as a share of its room.
class ShareBar : public QWidget {
  Q_OBJECT

 public:
  ShareBar(const Theme& theme, double share, SliceClass slice_class);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  double share_;
  SliceClass class_;
};

/// The content of a scroll area that takes the height that its words need at its width. A scroll
/// area alone would squeeze wrapped labels.
class WordsColumn : public QWidget {
  Q_OBJECT

 protected:
  void resizeEvent(QResizeEvent* event) override;
};

[[nodiscard]] QLabel* make_label(const QString& words, const QFont& font, bool muted = false);
/// A label whose words the mouse can select.
[[nodiscard]] QLabel* selectable_label(const QString& words, const QFont& font, bool muted = false);
[[nodiscard]] QPushButton* make_link(const QString& words);
/// Lets a path break that is one word of hundreds of letters: a label breaks between words only.
[[nodiscard]] QString with_breaks(QString words);
/// A line between what stands above and below it.
[[nodiscard]] QFrame* separator();
/// The layout of a widget whose parts stand below each other, without room between or around them.
[[nodiscard]] QVBoxLayout* make_column(QWidget* widget);
/// Parts that the user divides; the one at `stretched` takes the room that comes and goes.
[[nodiscard]] QSplitter* make_splitter(Qt::Orientation orientation,
                                       std::initializer_list<QWidget*> parts,
                                       const QList<int>& sizes, int stretched = 0);

/// The frame of a painted part that has the keyboard's focus.
void paint_focus_frame(QPainter& painter, const QWidget& part, const Theme& theme);

/// How far reading is, and the button that ends it.
class LoadProgress : public QWidget {
  Q_OBJECT

 public:
  LoadProgress();

  /// Bytes of the file that is being read; 0 of 0: it has not begun.
  void show_bytes(quint64 done, quint64 total);

 signals:
  void cancelled();

 private:
  QProgressBar* bar_;
  QElapsedTimer since_begin_;  ///< of the file that is being read
  quint64 last_done_ = 0;
};

}  // namespace redline::viewer
