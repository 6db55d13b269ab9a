// The program that mpirun starts: connects, and runs the tests on every rank.
#include "fabric/company.h"

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "fabric/plugin.h"
#include "support/mpirun.h"

namespace syncopate::testing {
namespace {

constexpr std::chrono::seconds kPatience{120};
/// Asked this often without a break, then less often: there are more ranks than cores.
constexpr int kEager = 200;
constexpr std::chrono::microseconds kBreak{50};

std::unique_ptr<fabric::Link> the_link;
std::unique_ptr<fabric::Fabric> the_fabric;

int run_tests() {
  const auto launcher = fabric::launcher_from_environment();
  if (!launcher) {
    std::puts("This is to be started by mpirun");
    return EXIT_FAILURE;
  }
  end_on_failure(launcher->rank);
  the_link = fabric::connect(*launcher);
  the_fabric = the_link->fabric();
  const int result = RUN_ALL_TESTS();
  the_fabric.reset();
  the_link.reset();
  return result;
}

}  // namespace

fabric::Link& company() { return *the_link; }
fabric::Fabric* company_fabric() { return the_fabric.get(); }

void wait_until(const std::function<bool()>& condition, const char* what) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (int asked = 0; !condition(); ++asked) {
    if (std::chrono::steady_clock::now() > deadline) {
      FAIL() << "machine " << machine() << " waited in vain for " << what;
    }
    if (asked < kEager) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kBreak);
    }
  }
}

void wait_for(fabric::Operation& operation) {
  wait_until([&] { return operation.done(); }, "an operation");
}

std::unique_ptr<fabric::Channel> open(fabric::Fabric& fabric) {
  std::unique_ptr<fabric::Channel> channel;
  const auto opening = fabric.open(channel);
  wait_for(*opening);
  EXPECT_NE(channel, nullptr);
  return channel;
}

int next_message(fabric::Fabric& fabric, std::vector<std::byte>& message) {
  int from = -1;
  wait_until([&] { return (from = fabric.receive(message)) != -1; }, "a message");
  return from;
}

}  // namespace syncopate::testing

int main(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  try {
    return syncopate::testing::run_tests();
  } catch (const std::exception& exception) {
    std::printf("refused: %s\n", exception.what());
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);
  }
}
