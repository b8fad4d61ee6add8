// redline export PATH… --sqlite FILE: writes tables for SQL.
#include <memory>

#include "cli/command.h"
#include "trace/read/reader.h"
#include "trace/write/export_sqlite.h"
#include "trace/write/sqlite_file.h"

namespace redline::cli {
namespace {

struct ExportCommand {
  std::vector<std::string> paths;
  std::string sqlite;
  bool args = false;
};

int export_traces(const ExportCommand& options) {
  const auto& interrupted = interrupt_flag();
  // Checked before the traces are read, which may take long.
  const auto refusal = trace::why_not_overwrite(options.sqlite);
  if (refusal) return fail(*refusal + ". Choose another file with --sqlite");
  trace::ReadOptions read;
  read.cancel = &interrupted;
  const auto traces = trace::read_traces(options.paths, read);
  if (!traces) return fail_unless_interrupted(traces.error().message);
  say_left_out(options.paths, trace::paths_of(*traces));
  trace::SqliteOptions write;
  write.args = options.args;
  write.cancel = &interrupted;
  ProgressBar bar("exporting");
  write.progress = [&](uint64_t done, uint64_t total) { bar.show(done, total); };
  const auto done = trace::export_sqlite(*traces, options.sqlite, write);
  if (done) return kDone;
  return fail_unless_interrupted(done.error() + ". Choose another file with --sqlite");
}

}  // namespace

void add_export(CLI::App& app, int& status) {
  const auto options = std::make_shared<ExportCommand>();
  CLI::App* command = app.add_subcommand("export", "Write traces as tables for SQL");
  command->add_option("PATH", options->paths, "Trace files, or folders of ranks")->required();
  command->add_option("--sqlite", options->sqlite, "The SQLite file to write")->required();
  command->add_flag("--args", options->args, "With every slice's args, as JSON text");
  command->footer(
      "docs/sqlite.md has the tables and example queries. An earlier export is replaced, any "
      "other\n"
      "file is not.\n"
      "Examples:\n"
      "  redline export traces --sqlite traces.db\n"
      "  sqlite3 traces.db \"SELECT name, sum(dur_ns) FROM events\n"
      "    WHERE category = 'kernel' GROUP BY name ORDER BY 2 DESC LIMIT 10\"");
  command->callback([options, &status] { status = export_traces(*options); });
}

}  // namespace redline::cli
