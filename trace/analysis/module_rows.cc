#include "trace/analysis/module_rows.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/statistics.h"

namespace redline::trace {
namespace {

class RowMaker {
 public:
  explicit RowMaker(std::span<const RankSummary> traces) {
    rows_.emplace_back();
    for (const RankSummary& summary : traces) add(summary);
  }

  ModuleRows finish() {
    if (rows_.size() == 1) return {};
    place(0);
    return std::move(all_);
  }

 private:
  void add(const RankSummary& summary) {
    const std::vector<ModuleNode>& nodes = summary.modules.nodes;
    if (nodes.empty()) return;
    all_.has_gpu |= summary.has_device_work;
    all_.has_names |= summary.modules.has_names;
    all_.has_memory |= summary.modules.has_memory;
    all_.has_flops |= !summary.shapes.rows.empty();
    std::vector<size_t> row_of = {0};
    add(nodes[0], rows_[0]);
    for (size_t i = 1; i < nodes.size(); ++i) {
      const ModuleNode& node = nodes[i];
      const std::string label = node.label(nodes[node.parent]);
      const std::string kind = kind_label(nodes, i);
      const size_t parent = row_of[node.parent];
      const auto [known, is_new] = row_of_kind_.try_emplace({parent, kind + '\n' + node.type}, 0);
      if (is_new) {
        known->second = rows_.size();
        rows_.push_back({.label = label,
                         .type = node.type,
                         .frame = node.frame(),
                         .depth = rows_[parent].depth + 1});
        children_.resize(rows_.size());
        children_[parent].push_back(known->second);
      }
      ModuleRow& row = rows_[known->second];
      if (row.label != label) row.label = kind;
      row_of.push_back(known->second);
      add(node, row);
    }
  }

  static void add(const ModuleNode& node, ModuleRow& row) {
    ++row.modules;
    for (size_t i = 0; i < kModulePassCount; ++i) {
      row.self[i] += node.self[i];
      row.total[i] += node.total[i];
    }
    row.exposed_ns += node.exposed_ns;
    row.allocated_bytes = saturating_sum(row.allocated_bytes, node.allocated_bytes);
    row.kept_bytes = saturating_sum(row.kept_bytes, node.kept_bytes);
  }

  void place(size_t row) {
    std::ranges::stable_sort(children_[row], std::greater(),
                             [&](size_t i) { return all_.time_ns(rows_[i].total); });
    all_.rows.push_back(std::move(rows_[row]));
    for (const size_t child : children_[row]) place(child);
  }

  ModuleRows all_;
  std::vector<ModuleRow> rows_;
  std::vector<std::vector<size_t>> children_ = {{}};
  std::map<std::pair<size_t, std::string>, size_t> row_of_kind_;  // by parent, label and type
};

}  // namespace

std::string kind_label(const std::vector<ModuleNode>& nodes, size_t index) {
  const ModuleNode& node = nodes[index];
  if (node.name.empty()) return node.type;
  const std::string label = node.label(nodes[node.parent]);
  // The first module that a module calls stands right behind it.
  const bool is_leaf = index + 1 == nodes.size() || nodes[index + 1].parent != index;
  if (is_leaf && label.find('.') == std::string::npos) return label;
  std::string text;
  for (size_t begin = 0; begin <= label.size();) {
    const size_t end = std::min(label.find('.', begin), label.size());
    const std::string part = label.substr(begin, end - begin);
    const bool is_number =
        !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    text += (begin == 0 ? "" : ".") + (is_number ? "*" : part);
    begin = end + 1;
  }
  return text;
}

ModuleRows module_rows(std::span<const RankSummary> traces) { return RowMaker(traces).finish(); }

}  // namespace redline::trace
