#include "campaign/book.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

namespace syncopate::campaign {

const char* to_string(Call call) {
  constexpr const char* kNames[] = {"nothing",         "World::from_environment()",
                                    "making",          "computing",
                                    "start()",         "ready()",
                                    "wait()",          "exchange()",
                                    "stop()",          "finish()",
                                    "leave()",         "publishing",
                                    "average()",       "barrier()",
                                    "broadcast()",     "waiting for the judge",
                                    "ending its world"};
  return kNames[static_cast<std::size_t>(call)];
}

std::string who_does_what(int ranks, const Book& book) {
  std::string text;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankBook& mine = book.ranks[rank];
    text += "  rank " + std::to_string(rank) + " (pid " + std::to_string(mine.process) + ")";
    if (mine.state != RankBook::State::alive) {
      text += mine.state == RankBook::State::absent ? " was never there\n" : " has ended\n";
      continue;
    }
    std::ifstream stat("/proc/" + std::to_string(mine.process) + "/stat");
    std::string word, name, state = "gone";
    stat >> word >> name >> state;
    text += " is " + state + ", in " + to_string(mine.call) + " of collective " +
            std::to_string(mine.collective) + ", segment " + std::to_string(mine.segments) +
            "; made";
    for (const Track& track : mine.tracks) {
      text += " " + std::to_string(track.deposits) + "/" + std::to_string(track.rounds);
    }
    text += " deposits/rounds\n";
  }
  return text;
}

SharedBook::SharedBook() : descriptor_(memfd_create("campaign-book", MFD_CLOEXEC)) {
  if (descriptor_ < 0 || ftruncate(descriptor_, sizeof(Book)) != 0) {
    throw std::runtime_error("no memory for the book");
  }
  map();
}

SharedBook::SharedBook(const std::string& path)
    : descriptor_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
  if (descriptor_ < 0) throw std::runtime_error("no book at " + path);
  map();
}

SharedBook::~SharedBook() {
  munmap(book_, sizeof(Book));
  close(descriptor_);
}

std::string SharedBook::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_);
}

void SharedBook::map() {
  void* memory = mmap(nullptr, sizeof(Book), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      descriptor_, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("the book cannot be mapped");
  book_ = static_cast<Book*>(memory);
}

}  // namespace syncopate::campaign
