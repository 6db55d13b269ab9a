#include "fabric/mpi/session.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/mpi/check.h"
#include "fabric/mpi/watchdog.h"

namespace syncopate::fabric::mpi {
namespace {

pid_t started_by = 0;
std::atomic<bool> left_running = false;
std::mutex users_mutex;
std::vector<User*> users;

bool in_use() {
  const std::lock_guard lock(users_mutex);
  return !users.empty();
}

void end() {
  // Not in a fork of the rank that leaves by exit(): the connections are the rank's.
  if (started_here() && running() && !left_running && !in_use()) MPI_Finalize();
}

/// What MPI_Finalize calls before it does anything else.
int before_end(MPI_Comm, int, void*, void*) {
  std::vector<User*> told;
  {
    const std::lock_guard lock(users_mutex);
    told = users;
  }
  try {
    for (User* user : told) user->before_end();
  } catch (const std::exception&) {
    return MPI_ERR_OTHER;
  }
  return MPI_SUCCESS;
}

/// MPI_Finalize first lets go of what is attached to MPI_COMM_SELF: the standard's way to be told.
void attach_to_the_end() {
  static bool attached = false;
  if (attached) return;
  int key = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, before_end, &key, nullptr),
        "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
  check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
  attached = true;
}

/// If the program links one MPI and this plug-in another, the linker may have given us the
/// program's functions. Their handles would not fit.
void check_library() {
#if defined(OPEN_MPI)
  const std::string expected = "Open MPI";
  const bool same_interface = false;
#else
  const std::string expected = "MPICH";
  const bool same_interface = true;  // MVAPICH and Intel's MPI keep to MPICH's.
#endif
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING + (16 << 10), '\0');  // As long as any MPI's.
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  text.resize(length);
  const bool open_mpi = text.find("Open MPI") != std::string::npos;
  const bool fits = same_interface ? !open_mpi : open_mpi;
  if (fits) return;
  fail("the plug-in for " + expected + " was loaded into a program that has another MPI: " + text,
       "Unset SYNCOPATE_FABRIC, so that the plug-in for that MPI is taken");
}

const char* name_of(int level) {
  if (level == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  if (level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  return level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED" : "MPI_THREAD_MULTIPLE";
}

/// A rank that dies early is not missed by MPI, if the launcher lets the others live.
std::string in_vain(std::chrono::nanoseconds timeout) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout).count();
  return "syncopate: MPI_Init did not come back for " + std::to_string(seconds) +
         " s, as some rank has not come or has died there. Look for what it has said, or allow "
         "more time (SYNCOPATE_TIMEOUT, in seconds).\n";
}

}  // namespace

bool running() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

bool started_here() { return getpid() == started_by; }

void leave_running() { left_running = true; }

User::User() {
  const std::lock_guard lock(users_mutex);
  users.push_back(this);
}

User::~User() {
  const std::lock_guard lock(users_mutex);
  std::erase(users, this);
}

void start(std::chrono::nanoseconds timeout) {
  check_library();
  int finalized = 0;
  check(MPI_Finalized(&finalized), "MPI_Finalized");
  if (finalized != 0) {
    fail("MPI was finalized, and cannot be started a second time in one process",
         "Make the world before the program calls MPI_Finalize");
  }
  int level = MPI_THREAD_SINGLE;
  if (running()) {
    check(MPI_Query_thread(&level), "MPI_Query_thread");
    // With MPI_THREAD_SERIALIZED the program must not call MPI while it has a world of several
    // machines; we cannot see whether it does, and many only initialize it.
    if (level < MPI_THREAD_SERIALIZED) {
      fail("the program initialized MPI with " + std::string(name_of(level)) +
               ", and Syncopate uses MPI from a thread of its own",
           "Call MPI_Init_thread with MPI_THREAD_MULTIPLE instead of MPI_Init, or leave MPI to "
           "Syncopate");
    }
    if (level < MPI_THREAD_MULTIPLE && in_use()) {
      fail("a second world, where MPI has " + std::string(name_of(level)) +
               ": the agents of both would call it at once",
           "Call MPI_Init_thread with MPI_THREAD_MULTIPLE, or let the first world go before");
    }
    return attach_to_the_end();
  }
  {
    const Watchdog watch(timeout, in_vain(timeout));
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
  }
  started_by = getpid();
  // Registered after MPI's own functions for the exit, so it runs before them.
  std::atexit(end);
  if (level < MPI_THREAD_SERIALIZED) {
    fail("this MPI offers only " + std::string(name_of(level)) +
             ", and Syncopate uses MPI from a thread of its own",
         "Use an MPI that was built with support for threads");
  }
  attach_to_the_end();
}

}  // namespace syncopate::fabric::mpi
