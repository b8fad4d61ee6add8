// What the viewer keeps from one run to the next, in the user's own settings.
#pragma once

#include <QSettings>

namespace redline::viewer {

[[nodiscard]] inline QSettings user_settings() {
  return QSettings(QStringLiteral("redline"), QStringLiteral("viewer"));
}

}  // namespace redline::viewer
