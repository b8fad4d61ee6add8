// autotune: shows a study, or runs a search.
#include "tuner/command/command_line.h"

int main(int argc, char** argv) {
  if (const auto done = redline::tuner::run_study_command(argc, argv)) return *done;
  int status = 0;
  const auto options = redline::tuner::parse_options(argc, argv, status);
  return options ? redline::tuner::run_search_command(*options) : status;
}
