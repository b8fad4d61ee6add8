// Words of a file in a tooltip.
#pragma once

#include <QString>

namespace redline::viewer {

/// The words as they are. Qt takes a tooltip that looks like HTML for HTML, with pictures from any
/// file, and some escaped words for plain text. So this always writes HTML.
[[nodiscard]] inline QString tooltip_of(const QString& words) {
  if (words.isEmpty()) return {};
  return QStringLiteral("<p style='white-space:pre-wrap'>%1</p>").arg(words.toHtmlEscaped());
}

}  // namespace redline::viewer
