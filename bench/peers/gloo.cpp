// Gloo's allreduce on the work of `syncopate bench`, over TCP on the loopback device. Starts
// its ranks itself: peer_gloo RANKS WORKLOAD.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "synchronous.h"

namespace {

template <typename T>
void add(void* out, const void* a, const void* b, std::size_t elements) {
  gloo::sum<T>(out, a, b, elements);
}

class Gloo {
 public:
  Gloo(int rank, int ranks, const std::string& meeting_place)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, ranks)) {
    auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
    gloo::rendezvous::FileStore store(meeting_place);
    context_->connectFullMesh(store, device);
    // Late ranks are the subject here, and 32 of them may share two cores.
    context_->setTimeout(std::chrono::minutes(5));
  }

  int rank() const { return context_->rank; }
  int ranks() const { return context_->size; }

  void barrier() {
    gloo::BarrierOptions options(context_);
    options.setTag(kBarrierTag);
    gloo::barrier(options);
  }

  void total(std::span<double> values) {
    gloo::AllreduceOptions options(context_);
    options.setTag(kTotalTag);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(&add<double>);
    gloo::allreduce(options);
  }

  std::string library() const {
    return "Gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) +
           "." + std::to_string(GLOO_VERSION_PATCH);
  }

 protected:
  /// The options, and with them the registered buffer, are made once per size: the repeated
  /// call is then as cheap as Gloo allows.
  void prepare(std::span<float> values) {
    options_.emplace(context_);
    options_->setTag(kSumTag);
    options_->setOutput(values.data(), values.size());
    options_->setReduceFunction(&add<float>);
  }
  void sum_in_place(std::span<float>) { gloo::allreduce(*options_); }

 private:
  static constexpr std::uint32_t kBarrierTag = 1;
  static constexpr std::uint32_t kTotalTag = 2;
  static constexpr std::uint32_t kSumTag = 3;

  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::optional<gloo::AllreduceOptions> options_;
};

int run_rank(int rank, int ranks, const std::string& meeting_place, const char* workload) {
  try {
    const peers::Workload work = peers::read_workload(workload);
    peers::Synchronous<Gloo> side(work, rank, ranks, meeting_place);
    peers::run(side, work);
    side.barrier();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_gloo, rank %d: %s\n", rank, error.what());
    return 1;
  }
}

/// Starts the ranks; if one fails the others are ended, since they would wait for it.
int run_all(int ranks, const std::string& meeting_place, const char* workload) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int status = run_rank(rank, ranks, meeting_place, workload);
      std::fflush(stdout);
      std::_Exit(status);
    }
    if (child > 0) children.push_back(child);
  }
  int failed = children.size() == std::size_t(ranks) ? 0 : 1;
  for (std::size_t ended = 0; ended < children.size(); ++ended) {
    int status = 0;
    wait(&status);
    if (status == 0 || failed != 0) continue;
    failed = 1;
    for (const pid_t child : children) kill(child, SIGKILL);
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc == 3 ? std::atoi(argv[1]) : 0;
  if (ranks < 1) {
    std::fprintf(stderr, "usage: %s RANKS WORKLOAD (as JSON)\n", argv[0]);
    return 2;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "peer_gloo.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("peer_gloo: no folder for the ranks to meet in");
    return 1;
  }
  const int status = run_all(ranks, folder, argv[2]);
  std::filesystem::remove_all(folder);
  return status;
}
