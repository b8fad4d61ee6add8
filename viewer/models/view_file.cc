#include "viewer/models/view_file.h"

#include <fmt/format.h>

#include <QFile>
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json_values.h"

namespace redline::viewer {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* kSchema = "redline.view/1";
constexpr qint64 kLargestFile = 16 << 20;

std::vector<std::string> strings(const json& object, const char* key) {
  std::vector<std::string> result;
  const auto list = object.find(key);
  if (list == object.end() || !list->is_array()) return result;
  for (const json& item : *list) {
    if (item.is_string()) result.push_back(item.get<std::string>());
  }
  return result;
}

std::set<std::string> set_of(const std::vector<std::string>& list) {
  return {list.begin(), list.end()};
}

}  // namespace

std::string view_path(const Session& session) {
  if (session.traces().empty()) return {};
  const std::string path = session.traces().front().trace->path();
  if (session.traces().size() == 1) return path + ".view";
  const char* name = session.before_count() > 0 ? "redline.compare.view" : "redline.view";
  return (std::filesystem::path(path).parent_path() / name).string();
}

std::optional<int64_t> origin_of(const Session& session) {
  if (session.traces().empty() || session.aligned_at_start() || session.before_count() > 0) {
    return std::nullopt;
  }
  return session.traces().front().origin_ns;
}

uint32_t trace_of_mark(const SavedView& view, const Mark& mark, const Session& session) {
  if (mark.trace >= view.traces.size()) return 0;
  const auto found =
      std::ranges::find(session.traces(), view.traces[mark.trace], &SessionTrace::title);
  if (found == session.traces().end()) return 0;
  return static_cast<uint32_t>(found - session.traces().begin());
}

SavedView moved(SavedView view, int64_t by_ns) {
  view.range = {saturating_sum(view.range.begin_ns, by_ns),
                saturating_sum(view.range.end_ns, by_ns)};
  for (Mark& mark : view.marks) mark.time_ns = saturating_sum(mark.time_ns, by_ns);
  return view;
}

std::string view_json(const SavedView& view) {
  json marks = list_json(view.marks, [](const Mark& mark) {
    json all = {{"time_ns", mark.time_ns}, {"note", mark.note}};
    if (mark.trace != 0) all["trace"] = mark.trace;
    return all;
  });
  json all = {{"schema", kSchema},
              {"begin_ns", view.range.begin_ns},
              {"end_ns", view.range.end_ns},
              {"scroll", view.scroll},
              {"search", view.search},
              {"pinned", view.arrangement.pinned},
              {"folded", view.arrangement.folded},
              {"hidden", view.arrangement.hidden},
              {"order", view.arrangement.order},
              {"colours", view.colours_by_name ? "name" : "class"},
              {"marks", std::move(marks)}};
  if (view.origin_ns) all["origin_ns"] = *view.origin_ns;
  if (!view.traces.empty()) all["traces"] = view.traces;
  return json_text(all, 2) + "\n";
}

tl::expected<SavedView, std::string> parse_view(const std::string& source) {
  const json all = json::parse(source, nullptr, false);
  if (!all.is_object() || text_in(all, "schema") != kSchema) {
    return tl::unexpected(fmt::format("not a view of this program (\"schema\": \"{}\")", kSchema));
  }
  SavedView view;
  view.range = {whole_in(all, "begin_ns"), whole_in(all, "end_ns")};
  view.scroll = static_cast<int>(std::clamp<int64_t>(whole_in(all, "scroll"), 0, INT32_MAX));
  view.search = text_in(all, "search");
  if (const auto origin = all.find("origin_ns");
      origin != all.end() && origin->is_number_integer()) {
    view.origin_ns = origin->get<int64_t>();
  }
  view.traces = strings(all, "traces");
  view.colours_by_name = text_in(all, "colours") == "name";
  view.arrangement = {set_of(strings(all, "folded")), set_of(strings(all, "hidden")),
                      strings(all, "pinned"), strings(all, "order")};
  if (const auto marks = all.find("marks"); marks != all.end() && marks->is_array()) {
    for (const json& mark : *marks) {
      if (!mark.is_object()) continue;
      const auto trace = std::clamp<int64_t>(whole_in(mark, "trace"), 0, UINT32_MAX);
      view.marks.push_back(
          {whole_in(mark, "time_ns"), text_in(mark, "note"), static_cast<uint32_t>(trace)});
    }
  }
  return view;
}

tl::expected<std::optional<SavedView>, std::string> read_view(const std::string& path) {
  QFile file(QString::fromStdString(path));
  if (path.empty() || !file.exists()) return std::nullopt;
  if (!file.open(QIODevice::ReadOnly)) {
    return tl::unexpected(fmt::format("{}: {}", path, file.errorString().toStdString()));
  }
  auto view = parse_view(file.read(kLargestFile).toStdString());
  if (!view) return tl::unexpected(fmt::format("{}: {}", path, view.error()));
  return std::optional<SavedView>(std::move(*view));
}

std::optional<std::string> write_view(const std::string& path, const SavedView& view) {
  const auto written = write_file(path, view_json(view));
  if (written) return std::nullopt;
  return written.error();
}

}  // namespace redline::viewer
