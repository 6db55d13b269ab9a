#include "campaign/rank.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "campaign/player.h"

namespace syncopate::campaign {
namespace {

using namespace std::chrono_literals;

/// Above all that a life may take.
constexpr auto kPatience = 100s;

int rank_from_environment() {
  for (const char* variable : {"SYNCOPATE_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* text = std::getenv(variable); text != nullptr) return std::atoi(text);
  }
  throw std::runtime_error("the environment does not say which rank this is");
}

int entries(const char* folder) {
  const std::filesystem::directory_iterator entry(folder);
  return int(std::distance(begin(entry), end(entry)));
}

/// Looks until `condition` holds; what never comes is a complaint.
template <typename Condition>
void await(Notes& notes, Call call, const Condition& condition) {
  notes.begin(call);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    notes.expect(std::chrono::steady_clock::now() < deadline, "the judge does not answer");
    std::this_thread::sleep_for(200us);
  }
}

class Part {
 public:
  Part(Notes& notes, World& world, int number)
      : notes_(notes),
        world_(world),
        segment_(notes.life().segment(number)),
        number_(number),
        random_(chance_of(notes.life(), number, notes.rank())) {}

  void play() {
    if (segment_.odd_one >= 0) disagree();
    {
      std::vector<std::unique_ptr<Player>> players = make();
      train(players);
    }
    if (segment_.barrier) notes_.meet(Call::barrier, [&] { world_.barrier(); });
    if (segment_.root >= 0) broadcast();
  }

 private:
  /// One rank asks for another length than the others: all are told, and nothing is made.
  void disagree() {
    const std::size_t length = notes_.rank() == segment_.odd_one ? 3 : 4;
    notes_.begin(Call::make);
    try {
      const Allreduce<float> sum(world_, length);
      // Alone, or the others have died: then there is no one to disagree with.
      bool alone = true;
      for (int rank = 0; rank < world_.size(); ++rank) {
        if ((rank == segment_.odd_one) != (notes_.rank() == segment_.odd_one)) {
          alone = alone && !expected(rank);
        }
      }
      notes_.expect(alone, "ranks that asked for different lengths were not told");
    } catch (const Error& error) {
      if (notes_.tells_of_loss(error)) throw;
      if (error.code() == ErrorCode::timeout && notes_.life().timeout_ms > 0) {
        ++notes_.mine().timeouts;
        throw GivenUp();
      }
      notes_.expect(error.code() == ErrorCode::mismatch,
                    std::string("ranks that asked for different lengths got ") + error.what());
    }
  }

  /// Whether a rank must be there: where ranks may die, give up or stay away it need not.
  bool expected(int rank) const {
    const Life& life = notes_.life();
    return !life.endless && !life.deadly() && life.timeout_ms == 0 &&
           life.coming[rank] != Coming::never;
  }

  std::vector<std::unique_ptr<Player>> make() {
    std::vector<std::unique_ptr<Player>> players;
    for (std::size_t i = 0; i < segment_.collectives.size(); ++i) {
      notes_.meet(Call::make, [&] {
        players.push_back(make_player(notes_, world_, int(i), segment_.collectives[i], random_));
      });
    }
    return players;
  }

  void compute() {
    notes_.begin(Call::compute);
    if (segment_.busy_us == 0) return;
    const int busy = random_.below(segment_.busy_us) * (random_.one_in(20) ? 20 : 1);
    std::this_thread::sleep_for(std::chrono::microseconds(busy));
  }

  void train(std::vector<std::unique_ptr<Player>>& players) {
    const bool alone = players.size() == 1;
    int steps = segment_.steps;
    if (alone && !random_.one_in(3)) steps = random_.between(1, 2 * steps);
    for (int step = 0; step < steps; ++step) {
      compute();
      for (auto& player : players) player->step(alone);
    }
    switch (alone ? random_.below(12) : 11) {
      case 0:
        players[0]->leave();
        return;
      case 1:  // Without a word.
        notes_.mine().tracks[0].stopped_at = clock_now();
        players[0].reset();
        notes_.mine().tracks[0].parting = Parting::left;
        return;
      case 2:
      case 3:
        players[0]->stop();
        return follow(players);
      case 11:
        for (auto& player : players) player->stop();
        return follow(players);
      default:
        players[0]->finish();
    }
  }

  void follow(std::vector<std::unique_ptr<Player>>& players) {
    await(notes_, Call::wait, [&] {
      bool over = true;
      for (auto& player : players) over = player->follow() && over;
      return over;
    });
  }

  void broadcast() {
    std::vector<unsigned char> data(segment_.broadcast);
    const auto right = [&](std::size_t i) { return (unsigned char)(i * 7 + std::size_t(number_)); };
    if (notes_.rank() == segment_.root) {
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = right(i);
    }
    try {
      notes_.meet(Call::broadcast,
                  [&] { world_.broadcast(std::span<unsigned char>(data), segment_.root); });
    } catch (const Error& error) {
      const bool lost = error.code() == ErrorCode::rank_lost;
      if (!lost) throw;
      // A root that gave up and left is as lost as one that died.
      notes_.expect(!expected(segment_.root), error.what());
      return;
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
      notes_.expect(data[i] == right(i), "byte " + std::to_string(i) + " of a broadcast is wrong");
    }
  }

  Notes& notes_;
  World& world_;
  Segment segment_;
  int number_;
  Random random_;
};

/// All segments of one world; returns how many the rank has been through.
int live_in(World& world, Notes& notes, int first) {
  const Life& life = notes.life();
  notes.expect(world.rank() == notes.rank() && world.size() == life.ranks, "in another place");
  for (int number = first;; ++number) {
    Part(notes, world, number).play();
    notes.mine().dead = bits_of(world.dead());
    notes.mine().segments = std::uint32_t(number + 1);
    await(notes, Call::between_segments, [&] { return int(notes.book().cleared) > number; });
    if (notes.book().enough) return number + 1;
    if (!life.endless && (number + 1 - first) == life.segments) return number + 1;
  }
}

void join_and_live(Notes& notes) {
  const Life& life = notes.life();
  int number = 0;
  for (int made = 0; made < life.worlds; ++made) {
    const int descriptors = entries("/proc/self/fd");
    const int threads = entries("/proc/self/task");
    {
      notes.begin(Call::join);
      World world = World::from_environment();
      if (life.launcher == Launcher::run) {
        notes.refused(ErrorCode::environment, "a second world of one process",
                      [] { World::from_environment(); });
      }
      number = live_in(world, notes, number);
      notes.begin(Call::end_world);
    }
    if (life.launcher != Launcher::run) continue;  // MPI keeps what it has until the end.
    notes.expect(entries("/proc/self/fd") == descriptors, "the world left a descriptor open");
    notes.expect(entries("/proc/self/task") == threads, "the world left a thread behind");
  }
}

void note(RankBook& mine, const std::exception& error) {
  std::strncpy(mine.complaint, error.what(), sizeof mine.complaint - 1);
}

/// A rank ends well where a machine is lost: it is told, in time. The judge looks at the words.
void live_until_a_loss(Notes& notes) {
  try {
    join_and_live(notes);
  } catch (const Error& error) {
    if (!notes.tells_of_loss(error)) throw;
    notes.expect_in_time(error);
    note(notes.mine(), error);
    notes.mine().lost = true;
  }
}

/// Lives on until the others have given it up, or long enough for them to do so.
void sit(const Life& life, const Book& book, int rank) {
  const auto deadline = std::chrono::steady_clock::now() + 3s;
  const auto gone = [&](int other) {
    return other == rank || life.coming[other] == Coming::never ||
           book.ranks[other].state == RankBook::State::ended;
  };
  for (int other = 0; other < life.ranks;) {
    if (gone(other)) {
      ++other;
      continue;
    }
    if (std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

int play_rank(const std::string& path) {
  const SharedBook book(path);
  const auto launcher = Launcher(book->kind & 0xff);
  const bool endless = (book->kind & 0x100) != 0;
  const Life life = endless ? Life::soak(book->seed) : Life::draw(book->seed, launcher);
  const int rank = rank_from_environment();
  Notes notes(life, *book, rank);
  RankBook& mine = notes.mine();
  mine.process = getpid();
  mine.state = RankBook::State::alive;
  int code = 0;
  try {
    if (life.coming[rank] == Coming::late) {
      std::this_thread::sleep_for(std::chrono::milliseconds(life.late_ms[rank]));
    }
    if (life.coming[rank] == Coming::sits) {
      sit(life, *book, rank);
    } else if (life.coming[rank] != Coming::never) {
      live_until_a_loss(notes);
    }
  } catch (const GivenUp&) {
  } catch (const std::exception& error) {
    note(mine, error);
    mine.complained = true;
    code = 1;
  }
  mine.state = RankBook::State::ended;
  return code;
}

}  // namespace syncopate::campaign
