#include "tuner/search/fit.h"

#include <utility>

#include "tuner/search/cholesky.h"

namespace redline::tuner {
namespace {

constexpr double kDifference = 1e-4;  ///< step of the differences
constexpr double kRobust = 2.5;       ///< a residual beyond this many deviations counts less
constexpr double kFirstDamping = 0.1;
constexpr double kMostDamping = 1e6;
constexpr double kConverged = 5e-3;  ///< a step that gains less ends the fit
constexpr double kLeastCurvature = 1e-12;

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

double uniform(uint64_t x) { return (static_cast<double>(mixed(x) >> 11) + 0.5) * 0x1.0p-53; }

/// The weight by Huber's loss, so that a single wild residual does not bend the fit.
double weight_of(double residual) {
  const double size = std::fabs(residual);
  return size <= kRobust ? 1 : kRobust / size;
}

double loss_of(const std::vector<double>& residuals) {
  double loss = 0;
  for (const double r : residuals) {
    const double size = std::fabs(r);
    loss += size <= kRobust ? 0.5 * r * r : kRobust * (size - 0.5 * kRobust);
  }
  return loss;
}

class Descent {
 public:
  Descent(const std::vector<Prior>& priors, const std::vector<double>& centre,
          std::vector<double> start, size_t residual_count, const Residuals& residuals)
      : priors_(priors),
        centre_(centre),
        at_(std::move(start)),
        ask_(residuals),
        here_(residual_count),
        moved_(residual_count),
        slopes_(at_.size(), std::vector<double>(residual_count)) {
    ask_(at_, here_, std::nullopt);
    loss_ = loss_of(here_) + prior_loss(at_);
  }

  Fit run(int steps) {
    double damping = kFirstDamping;
    for (int step = 0; step < steps; ++step) {
      differentiate();
      bool better = false;
      const double before = loss_;
      while (!better && damping < kMostDamping) {
        better = try_step(damping);
        damping *= better ? 0.2 : 6;
      }
      if (!better || before - loss_ < kConverged) break;
    }
    return {std::move(at_), loss_of(here_)};
  }

 private:
  [[nodiscard]] double prior_loss(const std::vector<double>& at) const {
    double loss = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      const double away = (at[i] - centre_[i]) / priors_[i].deviation;
      loss += 0.5 * away * away;
    }
    return loss;
  }

  void differentiate() {
    for (size_t i = 0; i < at_.size(); ++i) {
      const double by = kDifference * priors_[i].deviation;
      const double own = std::exchange(at_[i], at_[i] + by);
      slopes_[i] = here_;
      ask_(at_, slopes_[i], i);
      at_[i] = own;
      for (size_t k = 0; k < here_.size(); ++k) slopes_[i][k] = (slopes_[i][k] - here_[k]) / by;
    }
  }

  bool try_step(double damping) {
    const size_t count = at_.size();
    Triangle matrix(count);
    std::vector<double> step(count);
    std::vector<double> weights, weighted(here_.size());
    for (const double residual : here_) weights.push_back(weight_of(residual));
    for (size_t i = 0; i < count; ++i) {
      matrix[i].resize(i + 1);
      const double precision = 1 / (priors_[i].deviation * priors_[i].deviation);
      step[i] = -(at_[i] - centre_[i]) * precision;
      for (size_t k = 0; k < here_.size(); ++k) {
        weighted[k] = weights[k] * slopes_[i][k];
        step[i] -= weighted[k] * here_[k];
      }
      for (size_t j = 0; j <= i; ++j) {
        for (size_t k = 0; k < here_.size(); ++k) {
          matrix[i][j] += weighted[k] * slopes_[j][k];
        }
      }
      matrix[i][i] = (matrix[i][i] + precision) * (1 + damping);
    }
    factorize(matrix, kLeastCurvature);
    step = solve_upper(matrix, solve_lower(matrix, std::move(step)));
    std::vector<double> next = at_;
    for (size_t i = 0; i < count; ++i) next[i] += step[i];
    ask_(next, moved_, std::nullopt);
    const double loss = loss_of(moved_) + prior_loss(next);
    if (!(loss < loss_)) return false;
    loss_ = loss;
    at_ = std::move(next);
    std::swap(here_, moved_);
    return true;
  }

  const std::vector<Prior>& priors_;
  const std::vector<double>& centre_;
  std::vector<double> at_;
  const Residuals& ask_;
  std::vector<double> here_, moved_;
  std::vector<std::vector<double>> slopes_;
  double loss_ = 0;
};

}  // namespace

double normal_draw(uint64_t member, uint64_t place) {
  const uint64_t seed = mixed(member) ^ (place << 1);
  const double radius = std::sqrt(-2 * std::log(uniform(seed)));
  return radius * std::cos(2 * M_PI * uniform(seed ^ 1));
}

Fit fit_parameters(const std::vector<Prior>& priors, const std::vector<double>& centre,
                   std::vector<double> start, size_t residual_count, const Residuals& residuals,
                   int steps) {
  return Descent(priors, centre, std::move(start), residual_count, residuals).run(steps);
}

}  // namespace redline::tuner
