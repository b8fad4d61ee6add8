#include "base/json_values.h"
#include "trace/report/report_modules.h"
#include "trace/report/report_roofline.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

json pass_json(const ModuleWork& work, const RankSummary& summary) {
  const bool has_gpu = summary.has_device_work;
  const bool has_shapes = !summary.shapes.rows.empty();
  return {{"calls", work.calls},
          {"host_ns", work.host_ns},
          {"device_ns", has_gpu ? json(work.device_ns) : json()},
          {"flops", has_shapes ? json(work.flops) : json()}};
}

json module_json(const RankSummary& summary, const ModuleNode& node, bool is_process) {
  const ModuleTree& tree = summary.modules;
  const bool has_gpu = summary.has_device_work;
  const ModuleWork own = ModuleNode::sum_of(node.self);
  json object = {{"name", tree.has_names && !is_process ? json(node.name) : json()},
                 {"label", is_process ? json() : json(node.label(tree.nodes[node.parent]))},
                 {"type", is_process ? json() : json(node.type)},
                 {"parent", is_process ? json() : json(node.parent)}};
  for (size_t i = 0; i < kModulePassCount; ++i) {
    object[std::string(kModulePassNames[i])] = pass_json(node.total[i], summary);
  }
  object["self_host_ns"] = own.host_ns;
  object["self_device_ns"] = has_gpu ? json(own.device_ns) : json();
  object["exposed_ns"] = has_gpu ? json(node.exposed_ns) : json();
  object["allocated_bytes"] = tree.has_memory ? json(node.allocated_bytes) : json();
  object["kept_bytes"] = tree.has_memory ? json(node.kept_bytes) : json();
  object["kernels"] = shape_kernels_json(*summary.names, node.kernels);
  return object;
}

}  // namespace

json modules_json(const RankSummary& summary) {
  const auto& nodes = summary.modules.nodes;
  return list_json(nodes, [&](const ModuleNode& node) {
    return module_json(summary, node, &node == &nodes.front());
  });
}

}  // namespace redline::trace
