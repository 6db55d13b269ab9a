// Rank 0's side of the rendezvous: keeps the table, and answers the others on a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fabric/tcp/shake.h"
#include "fabric/tcp/store.h"
#include "fabric/tcp/store_words.h"

namespace syncopate::fabric::tcp {

class StoreKeeper final : public Rendezvous {
 public:
  explicit StoreKeeper(const StorePlace& place);
  /// Waits until the other ranks have come and gone, but not for long.
  ~StoreKeeper() override;
  StoreKeeper(const StoreKeeper&) = delete;
  StoreKeeper& operator=(const StoreKeeper&) = delete;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, Duration timeout) override;

 private:
  static constexpr std::chrono::seconds kPatience{10};

  /// A rank that has proved that it belongs here.
  struct Client {
    base::Descriptor socket;
    WordsReader reader;
    std::set<std::string> asked;  ///< Keys without an answer so far.
    std::string out;              ///< What is still to be sent.
  };

  void serve();
  /// Whether all others have come and gone.
  bool over() const;
  void wait();
  void accept_all();
  bool has_news(int socket) const;
  /// Whether the connection is settled, one way or the other.
  bool advance_stranger(Stranger& stranger);
  /// False: the rank has gone, or makes no sense.
  bool advance_client(Client& client);
  bool read(Client& client);
  void answer(Client& client);
  void wake() const;

  const StorePlace place_;
  const Digest secret_;
  std::vector<base::Descriptor> listeners_;
  base::Descriptor alarm_;  ///< Readable when there is something for the thread.

  mutable std::mutex mutex_;  ///< For the next four.
  std::condition_variable changed_;
  std::map<std::string, std::string> table_;
  TurnedAway turned_away_;
  bool ending_ = false;

  // The thread's own:
  std::deque<Stranger> strangers_;
  std::map<int, Client> clients_;  ///< By rank.
  std::set<int> came_;
  std::vector<int> ready_;  ///< Sockets with news.
  std::thread thread_;
};

}  // namespace syncopate::fabric::tcp
