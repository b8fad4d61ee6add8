#include "tuner/search/full_memory.h"

#include <algorithm>

namespace redline::tuner {
namespace {

/// All that ran with the suspected batch sizes is below this share of the best with smaller ones.
constexpr double kSlower = 0.95;

}  // namespace

FullMemory::FullMemory(const std::vector<BatchRate>& seen) {
  for (const bool reduced : {false, true}) {
    for (const BatchRate& from : seen) {
      if (from.reduced != reduced || from.batch >= from_[reduced]) continue;
      double below = 0;
      double above = 0;
      for (const BatchRate& other : seen) {
        if (other.reduced != reduced) continue;
        double& fastest = other.batch < from.batch ? below : above;
        fastest = std::max(fastest, other.samples_per_s);
      }
      if (above < kSlower * below) from_[reduced] = from.batch;
    }
  }
  // What is too much in reduced precision is too much in full precision, too.
  from_[0] = std::min(from_[0], from_[1]);
}

bool FullMemory::is_suspected() const { return from_[0] < kNever; }

}  // namespace redline::tuner
