// What was opened lately, kept from one run of the viewer to the next.
#pragma once

#include <QList>
#include <QStringList>
#include <string>
#include <vector>

namespace redline::viewer {

/// The latest first; each the paths of one window. What has vanished is left out.
[[nodiscard]] QList<QStringList> recent_files();
void remember_files(const std::vector<std::string>& paths);

/// "rank0.pt.trace.json.gz", "run7", "rank0.pt.trace.json.gz and 3 more".
[[nodiscard]] QString recent_title(const QStringList& paths);

}  // namespace redline::viewer
