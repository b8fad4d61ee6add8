// Text of the models in Qt's form.
#pragma once

#include <QString>
#include <string>

namespace redline::viewer {

[[nodiscard]] inline QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

}  // namespace redline::viewer
