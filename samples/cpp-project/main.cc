// Fits a line to points by gradient descent: a training loop of your own, without LibTorch, that
// Redline records and tunes.
//
//   build/line                                               records steps 2 and 3 into traces/
//   redline report traces
//   autotune --knob batch_size=16..4096 -- build/line 100000000
#include <profiler/redline.h>
#include <tuner/client/trial.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

struct Line {
  double slope = 0;
  double offset = 0;
};

struct Point {
  double x;
  double y;
};

std::vector<Point> draw_points(std::mt19937& random, int64_t count) {
  std::uniform_real_distribution<double> place(-1, 1);
  std::normal_distribution<double> noise(0, 0.1);
  std::vector<Point> points;
  for (int64_t i = 0; i < count; ++i) {
    const double x = place(random);
    points.push_back({x, 3 * x - 1 + noise(random)});
  }
  return points;
}

/// The gradient of the mean squared error.
Line gradient(const Line& line, const std::vector<Point>& points) {
  Line sum;
  for (const Point& point : points) {
    const double error = line.slope * point.x + line.offset - point.y;
    sum.slope += 2 * error * point.x;
    sum.offset += 2 * error;
  }
  const auto count = static_cast<double>(points.size());
  return {sum.slope / count, sum.offset / count};
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t steps = argc > 1 ? std::atoll(argv[1]) : 200;
  redline::Trial trial = redline::Trial::from_environment();
  const int64_t batch_size = trial.knob("batch_size", int64_t{256});
  redline::Profiler profiler({.schedule = {.wait = 1, .warmup = 1, .active = 2, .repeat = 1},
                              .on_trace_ready = redline::write_chrome_trace("traces")});
  std::mt19937 random(1);
  Line line;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Point> points;
    {
      const redline::range range("make batch");
      points = draw_points(random, batch_size);
    }
    Line uphill;
    {
      const redline::range range("gradient");
      uphill = gradient(line, points);
    }
    line.slope -= 0.1 * uphill.slope;
    line.offset -= 0.1 * uphill.offset;
    profiler.step();
    trial.step(batch_size);
  }
  std::printf("slope %.2f offset %.2f\n", line.slope, line.offset);
}
