#include "viewer/models/modules.h"

#include <fmt/format.h>

#include <map>

#include "trace/analysis/module_rows.h"
#include "trace/report/report_modules.h"
#include "viewer/models/format.h"
#include "viewer/models/slice_class.h"

namespace redline::viewer {
namespace {

using trace::ModuleNode;
using trace::ModulePass;
using trace::ModuleRow;
using trace::ModuleRows;

int64_t time_of(const ModuleRows& modules, const ModuleRow& row, ModulePass pass) {
  return modules.time_ns(row.total[static_cast<size_t>(pass)]);
}

double gflop_of(const ModuleRow& row) {
  return static_cast<double>(ModuleNode::sum_of(row.total).flops) / 1e9;
}

// "GPT.layers.*.mlp": of each row with all that it is in.
std::vector<std::string> places_of(const ModuleRows& modules) {
  std::vector<std::string> around, places;
  for (const ModuleRow& row : modules.rows) {
    around.resize(row.depth);
    std::string place = row.depth > 1 ? around.back() + "." + row.label : row.label;
    places.push_back(place);
    around.push_back(std::move(place));
  }
  return places;
}

std::string words_of(const ModuleRows& modules, const ModuleRow& row) {
  const int64_t time_ns = modules.time_ns(row.total);
  const int64_t all_ns = modules.time_ns(modules.rows.front().total);
  std::string words = fmt::format(
      "{} {}, {} of all\nforward {}, backward {}", modules.has_gpu ? "GPU time" : "host time",
      format_duration(time_ns), format_percent(share_of(time_ns, all_ns)),
      format_duration(time_of(modules, row, ModulePass::kForward)),
      format_duration(time_of(modules, row, ModulePass::kBackward)));
  if (const int64_t again_ns = time_of(modules, row, ModulePass::kRecomputation); again_ns > 0) {
    words += ", computed again " + format_duration(again_ns);
  }
  words += "\nown " + format_duration(modules.time_ns(row.self));
  if (modules.has_gpu) {
    words += fmt::format("\nexposed {}, host {}", format_duration(row.exposed_ns),
                         format_duration(ModuleNode::sum_of(row.total).host_ns));
  }
  if (modules.has_flops) words += "\n" + redline::format_number(gflop_of(row)) + " GFLOP";
  if (modules.has_memory) words += "\nkeeps " + format_bytes(row.kept_bytes);
  return words;
}

}  // namespace

Table module_table(const trace::Report& report) {
  const ModuleRows modules = trace::module_rows(report.traces);
  Table table{
      "Modules",
      {{"Module", Unit::kText},
       {"Class", Unit::kText},
       {"Modules", Unit::kCount, "So many of this name but for a number"},
       {modules.has_gpu ? "GPU time" : "Host time", Unit::kDuration, "With all modules inside it"},
       {"Share", Unit::kShare},
       {"Forward", Unit::kDuration},
       {"Backward", Unit::kDuration},
       {"Again", Unit::kDuration, "Computed again in backward by activation checkpointing"},
       {"Own", Unit::kDuration, "Without the modules inside it"},
       {"Calls", Unit::kCount},
       {"Exposed", Unit::kDuration, "Time in which nothing else ran on the GPUs"},
       {"Host", Unit::kDuration, "What it took of the host's threads"},
       {"GFLOP", Unit::kRate, "Of operators with known shapes and a formula"},
       {"Kept memory", Unit::kBytes, "Allocated in its forward calls and not released there"}},
      {}};
  const std::vector<std::string> places = places_of(modules);
  const int64_t all_ns = modules.rows.empty() ? 0 : modules.time_ns(modules.rows.front().total);
  for (size_t i = 1; i < modules.rows.size(); ++i) {
    const ModuleRow& row = modules.rows[i];
    const int64_t time_ns = modules.time_ns(row.total);
    const auto if_any = [](bool is_known, TableValue value) {
      return is_known ? std::move(value) : TableValue();
    };
    table.rows.push_back(
        {{places[i], row.type, row.modules, time_ns, share_of(time_ns, all_ns),
          time_of(modules, row, ModulePass::kForward), time_of(modules, row, ModulePass::kBackward),
          time_of(modules, row, ModulePass::kRecomputation), modules.time_ns(row.self),
          row.total[0].calls, if_any(modules.has_gpu, row.exposed_ns),
          if_any(modules.has_gpu, ModuleNode::sum_of(row.total).host_ns),
          if_any(modules.has_flops, gflop_of(row)), if_any(modules.has_memory, row.kept_bytes)},
         {},
         row.frame});
  }
  drop_columns(table, [&](size_t column) {
    return !has_values(table, column) ||
           (table.columns[column].title == "Again" && is_all_zero(table, column));
  });
  return table;
}

Flame module_icicle(const trace::Report& report) {
  const ModuleRows modules = trace::module_rows(report.traces);
  Flame icicle;
  icicle.plain_depth = 0;
  std::map<std::string, uint8_t> colours;  // by class, in the order of the first one
  std::vector<uint32_t> around;
  for (const ModuleRow& row : modules.rows) {
    const auto index = static_cast<uint32_t>(icicle.nodes.size());
    around.resize(row.depth);
    const uint32_t parent = around.empty() ? 0 : around.back();
    around.push_back(index);
    const auto next = static_cast<uint8_t>(colours.size() % kNameColourCount);
    const uint8_t colour = index == 0 ? next : colours.try_emplace(row.type, next).first->second;
    if (index > 0) icicle.nodes[parent].children.push_back(index);
    icicle.nodes.push_back({.name = index == 0 ? "all" : printable(trace::module_title(row)),
                            .slice_class = static_cast<uint8_t>(kSliceClassCount + colour),
                            .parent = parent,
                            .depth = row.depth,
                            .count = static_cast<uint64_t>(row.total[0].calls),
                            .total_ns = modules.time_ns(row.total),
                            .self_ns = modules.time_ns(row.self)});
    icicle.words.push_back(words_of(modules, row));
  }
  return icicle;
}

std::vector<std::string> module_words(const trace::Report& report) {
  const ModuleRows modules = trace::module_rows(report.traces);
  if (modules.rows.empty()) return {};
  std::vector<std::string> words{modules.has_gpu ? "GPU time by module. Click: zoom. Esc: back."
                                                 : "Host time by module. Click: zoom. Esc: back."};
  for (const std::string& note : trace::module_notes(modules)) words.push_back(typeset(note));
  return words;
}

}  // namespace redline::viewer
