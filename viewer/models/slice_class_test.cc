#include "viewer/models/slice_class.h"

#include <gtest/gtest.h>

#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

using trace::Category;

TEST(SliceClass, FollowsCategoryAndName) {
  const std::tuple<Category, const char*, SliceClass> cases[] = {
      {Category::kCpuOp, "aten::mm", SliceClass::kOperator},
      {Category::kCpuOp, "record_param_comms", SliceClass::kCommunication},
      {Category::kUserAnnotation, "gloo:all_reduce", SliceClass::kCommunication},
      {Category::kUserAnnotation, "xccl:all_reduce", SliceClass::kCommunication},
      {Category::kCpuOp, "c10d::allreduce_", SliceClass::kCommunication},
      {Category::kUserAnnotation, "enumerate(DataPipe)#Batcher", SliceClass::kDataLoader},
      {Category::kUserAnnotation, "ProfilerStep#3", SliceClass::kAnnotation},
      {Category::kUserAnnotation, "enumerate(DataLoader)#x.__next__", SliceClass::kDataLoader},
      {Category::kKernel, "gemm", SliceClass::kCompute},
      {Category::kKernel, "ncclKernel_AllReduce", SliceClass::kCommunication},
      {Category::kSync, "Stream Synchronize", SliceClass::kRuntime},
      {Category::kMemcpy, "Memcpy HtoD", SliceClass::kCopy},
      {Category::kMemset, "Memset", SliceClass::kCopy},
      {Category::kRuntime, "cudaLaunchKernel", SliceClass::kRuntime},
      {Category::kPythonFunction, "train.py(3): main", SliceClass::kPython},
      {Category::kOverhead, "Buffer Flush", SliceClass::kOverhead},
      {Category::kOther, "", SliceClass::kOther},
  };
  for (const auto& [category, name, expected] : cases) {
    EXPECT_EQ(classify(category, name), expected) << name;
  }
}

TEST(SliceClass, OneByteASlice) {
  TestTrace every = training_trace(0);
  int at_us = 0;
  for (const char* name : {"gemm", "ncclKernel", "gloo:all_reduce", "ProfilerStep#3"}) {
    for (const char* category : {"of no kind", "Trace", "kernel", "user_annotation", "cpu_op"}) {
      every.slice(category, name, 1, 1, at_us++, 1);
    }
  }
  const auto trace = every.read();
  const auto classes = slice_classes(*trace);
  ASSERT_EQ(classes.size(), trace->slice_count());
  for (uint32_t i = 0; i < classes.size(); ++i) {
    const trace::Slices& slices = trace->slices();
    EXPECT_EQ(classes[i],
              static_cast<uint8_t>(classify(slices.category[i], trace->string(slices.name[i]))));
  }
}

}  // namespace
}  // namespace redline::viewer
