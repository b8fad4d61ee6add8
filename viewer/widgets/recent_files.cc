#include "viewer/widgets/recent_files.h"

#include <QFileInfo>
#include <QObject>
#include <algorithm>

#include "viewer/widgets/user_settings.h"

namespace redline::viewer {
namespace {

constexpr int kMostFiles = 8;

QString key() { return QStringLiteral("recent"); }

QList<QStringList> stored() {
  QList<QStringList> all;
  const QVariantList entries = user_settings().value(key()).toList();
  for (const QVariant& entry : entries) all << entry.toStringList();
  return all;
}

}  // namespace

QList<QStringList> recent_files() {
  QList<QStringList> there;
  for (const QStringList& paths : stored()) {
    const bool exist = std::all_of(paths.begin(), paths.end(),
                                   [](const QString& path) { return QFileInfo::exists(path); });
    if (exist && !paths.isEmpty()) there << paths;
  }
  return there;
}

void remember_files(const std::vector<std::string>& paths) {
  QStringList names;
  for (const std::string& path : paths) {
    names << QFileInfo(QString::fromStdString(path)).absoluteFilePath();
  }
  QList<QStringList> all = stored();
  all.removeAll(names);
  all.prepend(names);
  QVariantList entries;
  for (const QStringList& entry : all.mid(0, kMostFiles)) entries << entry;
  user_settings().setValue(key(), entries);
}

QString recent_title(const QStringList& paths) {
  const QString first = QFileInfo(paths.first()).fileName();
  return paths.size() == 1 ? first : QObject::tr("%1 and %2 more").arg(first).arg(paths.size() - 1);
}

}  // namespace redline::viewer
