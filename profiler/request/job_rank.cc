#include "profiler/request/options.h"

#include <charconv>
#include <cstdlib>
#include <utility>

namespace redline::profiler {
namespace {

// python/redline/_rank.py has the same list.
constexpr std::pair<const char*, const char*> kVariables[] = {
    {"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},  // SLURM_NTASKS is also set outside of job steps
    {"PMI_RANK", "PMI_SIZE"},
};

std::optional<int64_t> number_in(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || rest != end || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::optional<JobRank> job_rank(
    const std::function<std::optional<std::string>(const char*)>& variable) {
  for (const auto& [rank_name, size_name] : kVariables) {
    const auto rank = number_in(variable(rank_name)), size = number_in(variable(size_name));
    if (rank && size && *rank < *size) return JobRank{*rank, *size};
  }
  return std::nullopt;
}

std::optional<JobRank> job_rank() {
  return job_rank([](const char* variable) -> std::optional<std::string> {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
  });
}

}  // namespace redline::profiler
