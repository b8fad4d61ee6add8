// Annotations must not fill the memory of a flight recorder that runs for days.
#include "profiler/cupti/gpu_annotations.h"

#include <gtest/gtest.h>

#include <limits>

namespace redline::cupti {
namespace {

TEST(GpuAnnotations, ThoseThatAreOverAreGivenOnce) {
  GpuAnnotations annotations;
  annotations.extend(1, 0, 7, 100, 200);
  annotations.extend(2, 0, 7, 150, 250);
  annotations.extend(2, 0, 7, 300, 400);
  const auto over = annotations.take(300);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].annotation, 1u);
  const auto rest = annotations.take(std::numeric_limits<int64_t>::max());
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].begin_ns, 150);
  EXPECT_EQ(rest[0].end_ns, 400);
}

TEST(AnnotationNames, TheNewestStay) {
  AnnotationNames names;
  for (uint32_t id = 0; id <= AnnotationNames::kMost; ++id) names.add(id, std::to_string(id));
  EXPECT_EQ(names.find(AnnotationNames::kMost), std::to_string(AnnotationNames::kMost));
  EXPECT_EQ(names.find(1), "1");
  EXPECT_EQ(names.find(0), "(name not kept)");
}

}  // namespace
}  // namespace redline::cupti
