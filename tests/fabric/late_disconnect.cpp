// Puts right the order in which MPICH 4.0 ends over UCX; for LD_PRELOAD. Its MPI_Finalize
// disconnects first, which over TCP needs an answer from the other rank, and then waits for all
// ranks in a barrier that answers none: a rank that is late there waits for ever for one that is
// in it. Here ranks disconnect after the barrier, when they are about to let go of UCX, as in later
// versions of MPICH (pmodels/mpich#6596).
#include <dlfcn.h>

#include <cstdint>
#include <vector>

namespace {

constexpr int kInProgress = 1;  // UCS_INPROGRESS

std::vector<void*>& endpoints() {
  static std::vector<void*> all;
  return all;
}

template <typename Function>
Function* real(const char* name) {
  // Not RTLD_NEXT: what came with a plug-in is not among the libraries that follow this one.
  static void* const ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Function*>(dlsym(ucp, name));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* ucp_disconnect_nb(void* endpoint) {
  endpoints().push_back(endpoint);
  return nullptr;  // UCS_OK: done.
}

extern "C" __attribute__((visibility("default"))) void ucp_worker_destroy(void* worker) {
  auto* const disconnect = real<void*(void*)>("ucp_disconnect_nb");
  auto* const progress = real<unsigned(void*)>("ucp_worker_progress");
  auto* const status = real<int(void*)>("ucp_request_check_status");
  auto* const free = real<void(void*)>("ucp_request_free");
  std::vector<void*> requests;
  for (void* endpoint : endpoints()) {
    // A status rather than a request is below zero, or zero where there is nothing to wait for.
    void* const request = disconnect(endpoint);
    if (reinterpret_cast<std::intptr_t>(request) > 0) requests.push_back(request);
  }
  endpoints().clear();
  for (void* request : requests) {
    while (status(request) == kInProgress) progress(worker);
    free(request);
  }
  real<void(void*)>("ucp_worker_destroy")(worker);
}
