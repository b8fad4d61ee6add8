// Runs a command on each node of the Slurm job that this process runs in, and collects what it
// prints.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::launch {

/// What the command printed on a node; the error continues a sentence: "ended with status 1: LINE".
using NodeOutput = tl::expected<std::string, std::string>;

/// The nodes of this process's Slurm job. The error says why there are none, and what to do.
[[nodiscard]] tl::expected<size_t, std::string> slurm_nodes();

/// The words that start a step: "srun", and "--overlap" if this process runs in a step itself,
/// which holds what the new one needs. More options of srun and the command follow them.
[[nodiscard]] std::vector<std::string> srun_words();

/// Runs `command_of` a node's number on all nodes at once, and gives `take` what each printed, in
/// the order of their numbers. Each node gets a step of its own, so that one that fails does not
/// end the others. The command's files must be visible on all nodes. Once `stop` is set, the steps
/// are ended, and it returns when they are.
void run_on_nodes(size_t nodes,
                  const std::function<std::vector<std::string>(size_t node)>& command_of,
                  const std::function<void(size_t node, NodeOutput output)>& take,
                  const std::atomic<bool>& stop);

}  // namespace redline::launch
