// A watch calls once for each time that it was armed, and misses nothing that came before.
#include "fabric/watch.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

void wait_until(const std::atomic<int>& calls, int count) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (calls < count && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  ASSERT_EQ(calls, count);
}

TEST(Watch, CallsOnceForEachTimeItWasArmed) {
  const base::Descriptor news(::eventfd(0, EFD_CLOEXEC));
  std::atomic<int> calls = 0;
  fabric::Watch watch(news.number(), [&] { ++calls; });
  ::eventfd_write(news.number(), 1);
  watch.arm();  // It is there already.
  wait_until(calls, 1);
  for (int time = 2; time < 20; ++time) {
    watch.arm();
    wait_until(calls, time);
  }
  eventfd_t ignored = 0;
  ::eventfd_read(news.number(), &ignored);
  const int before = calls;
  watch.arm();
  std::thread([&] { ::eventfd_write(news.number(), 1); }).join();
  wait_until(calls, before + 1);
}

TEST(Watch, GoesAfterTheDescriptorToo) {
  base::Descriptor news(::eventfd(1, EFD_CLOEXEC));
  std::atomic<int> calls = 0;
  fabric::Watch watch(news.number(), [&] { ++calls; });
  watch.arm();
  wait_until(calls, 1);
  news.close();
}

}  // namespace
}  // namespace syncopate::testing
