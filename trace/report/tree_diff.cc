#include "trace/report/tree_diff.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "trace/report/diff_words.h"

namespace redline::trace {
namespace {

using NodePair = std::pair<size_t, size_t>;
constexpr std::array kPasses = {ModulePass::kForward, ModulePass::kBackward,
                                ModulePass::kRecomputation};

// Counts are means over steps, so they are not exact.
bool differ(double before, double after) {
  return std::abs(before - after) > 0.01 * std::max(before, after);
}

std::vector<std::string> longest_first(const std::map<std::string, CallWork>& work) {
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, each] : work) order.emplace_back(-each.ns, name);
  std::ranges::sort(order);
  std::vector<std::string> names;
  for (auto& [ns, name] : order) names.push_back(std::move(name));
  return names;
}

class TreeMatcher {
 public:
  TreeMatcher(const CallTree& before, const CallTree& after) : before_(before), after_(after) {
    diff_.has_gpu = before.has_gpu && after.has_gpu;
    diff_.has_modules = has_modules(before) && has_modules(after);
    diff_.basis = basis_words(before.has_marked_steps, after.has_marked_steps);
    if (before.has_gpu != after.has_gpu) {
      diff_.warnings.emplace_back("one side has no GPU records: host times are compared");
    }
    if (before.has_marked_steps != after.has_marked_steps) {
      diff_.warnings.emplace_back(kStepBesideTrace);
    }
  }

  TreeDiff compare() {
    match({0, 0}, "");
    std::ranges::stable_sort(diff_.rows, std::greater(),
                             [](const TreeDiffRow& row) { return std::abs(row.delta_ns()); });
    for (const TreeDiffRow& row : diff_.rows) {
      diff_.before += row.before.work;
      diff_.after += row.after.work;
    }
    return std::move(diff_);
  }

 private:
  using Key = std::tuple<std::string, std::string, ModulePass>;

  static bool has_modules(const CallTree& tree) {
    return std::any_of(tree.nodes.begin() + 1, tree.nodes.end(), [](const CallNode& node) {
      return node.is_module() && node.type != kOptimizerType;
    });
  }

  static std::map<Key, size_t> children_of(const CallTree& tree, size_t node) {
    std::map<Key, size_t> children;
    for (const size_t child : tree.nodes[node].children) {
      const CallNode& each = tree.nodes[child];
      children.emplace(Key(each.type, each.name, each.pass), child);
    }
    return children;
  }

  void match(NodePair nodes, const std::string& place) {
    const auto before = children_of(before_, nodes.first);
    const auto after = children_of(after_, nodes.second);
    std::vector<size_t> left_before, left_after;
    for (const auto& [key, child] : before) {
      const auto other = after.find(key);
      if (other == after.end()) {
        left_before.push_back(child);
      } else if (before_.nodes[child].is_module()) {
        match({child, other->second}, place_in(place, before_.nodes[child]));
      } else {
        add_operator({child, other->second}, place);
      }
    }
    for (const auto& [key, child] : after) {
      if (!before.contains(key)) left_after.push_back(child);
    }
    for (const ModulePass pass : kPasses) add_rest(left_before, left_after, place, pass);
  }

  static std::string place_in(const std::string& place, const CallNode& module) {
    const std::string& name = module.name.empty() ? module.type : module.name;
    return place.empty() ? name : place + "." + name;
  }

  static void collect(const CallTree& tree, size_t node, ModulePass pass,
                      std::map<std::string, CallWork>& work) {
    const CallNode& each = tree.nodes[node];
    if (!each.is_module() && each.pass == pass) {
      for (const auto& [name, pieces] : each.work) work[name] += pieces;
    }
    for (const size_t child : each.children) collect(tree, child, pass, work);
  }

  [[nodiscard]] TreeSide side_of(const CallTree& tree, const std::vector<size_t>& nodes,
                                 ModulePass pass) const {
    TreeSide side;
    std::map<std::string, CallWork> names, kernels;
    for (const size_t node : nodes) {
      const CallWork taken = tree.taken(node, pass, diff_.has_gpu);
      if (taken.count <= 0) continue;
      side.work += taken;
      const CallNode& each = tree.nodes[node];
      names[each.name.empty() ? each.type : each.name] += taken;
      if (diff_.has_gpu) collect(tree, node, pass, kernels);
    }
    side.names = longest_first(names);
    side.kernels = longest_first(kernels);
    return side;
  }

  void add_operator(NodePair nodes, const std::string& place) {
    const CallNode &was = before_.nodes[nodes.first], &is = after_.nodes[nodes.second];
    TreeDiffRow row{.place = place,
                    .pass = was.pass,
                    .before = side_of(before_, {nodes.first}, was.pass),
                    .after = side_of(after_, {nodes.second}, was.pass)};
    const auto a_call = [](const TreeSide& side, const CallNode& node) {
      return node.calls > 0 ? side.work.count / node.calls : side.work.count;
    };
    const auto before = a_call(row.before, was), after = a_call(row.after, is);
    add(std::move(row), before, after);
  }

  void add_rest(const std::vector<size_t>& before, const std::vector<size_t>& after,
                const std::string& place, ModulePass pass) {
    TreeDiffRow row{.place = place,
                    .pass = pass,
                    .before = side_of(before_, before, pass),
                    .after = side_of(after_, after, pass)};
    const double pieces = row.before.work.count, later = row.after.work.count;
    add(std::move(row), pieces, later);
  }

  void add(TreeDiffRow row, double pieces, double later) {
    if (row.before.work.count <= 0 && row.after.work.count <= 0) return;
    std::vector<std::string> was = row.before.kernels, is = row.after.kernels;
    std::ranges::sort(was);
    std::ranges::sort(is);
    if (row.before.work.count <= 0) {
      row.change = TreeChange::kNew;
    } else if (row.after.work.count <= 0) {
      row.change = TreeChange::kGone;
    } else if (differ(pieces, later)) {
      row.change = later < pieces ? TreeChange::kFused : TreeChange::kSplit;
    } else if (was != is || row.before.names != row.after.names) {
      row.change = TreeChange::kOther;
    }
    diff_.rows.push_back(std::move(row));
  }

  const CallTree& before_;
  const CallTree& after_;
  TreeDiff diff_;
};

}  // namespace

const char* change_name(TreeChange change) {
  constexpr std::array kNames = {"same", "other", "fused", "split", "new", "gone"};
  return kNames[static_cast<size_t>(change)];
}

TreeDiff compare_trees(const CallTree& before, const CallTree& after) {
  return TreeMatcher(before, after).compare();
}

TreeDiff compare_trees(const Report& before, const Report& after) {
  return compare_trees(call_tree(before.analyses), call_tree(after.analyses));
}

}  // namespace redline::trace
