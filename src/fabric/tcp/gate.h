// Where the machines of a job come together: each listens, and calls those that are before it. A
// connection counts once both ends have proved that they know the job's secret. Whatever else comes
// is turned away, and counted.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/tcp/shake.h"
#include "fabric/tcp/sockets.h"

namespace syncopate::fabric::tcp {

class Gate {
 public:
  /// Listens at this address of the host, at a port that the system chooses.
  Gate(in_addr_t address, const Topology& topology, const Digest& secret);

  Address address() const { return address_of(listener_.number()); }
  /// A connection to every other machine, by its number: all of them call this as often, with the
  /// same addresses. Throws `timeout`, naming those that did not come.
  std::vector<base::Descriptor> meet(const std::vector<Address>& addresses,
                                     Clock::time_point deadline);

 private:
  /// To a machine that is before this one.
  struct Call {
    int machine = 0;
    base::Descriptor socket;  ///< Closed until the next try.
    Handshake handshake;
    bool through = false;
    Clock::time_point at;  ///< When to try again, or when it has taken too long.
  };

  Hello hello(int to) const;
  void begin(Call& call, const Address& address) const;
  /// Whether it is complete.
  bool advance_call(Call& call, const Address& address, bool news);
  void accept_all();
  /// Whether the connection is settled, one way or the other.
  bool advance_stranger(Stranger& stranger, bool news);
  void wait(const std::deque<Call>& calls, Clock::time_point deadline);
  bool has_news(int socket) const;
  [[noreturn]] void in_vain(const std::vector<base::Descriptor>& met) const;

  const Topology topology_;
  const Digest secret_;
  base::Descriptor listener_;
  std::uint32_t number_ = 0;  ///< Of the meeting.
  std::deque<Stranger> strangers_;
  /// By meeting and machine: one may be at the next meeting already.
  std::map<std::pair<std::uint32_t, int>, base::Descriptor> arrived_;
  std::vector<pollfd> polled_;
  TurnedAway turned_away_;
};

}  // namespace syncopate::fabric::tcp
