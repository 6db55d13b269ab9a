#include "fabric/tcp/gate.h"

#include <algorithm>

#include "fabric/plugin.h"
#include "syncopate/error.h"

namespace syncopate::fabric::tcp {
namespace {

constexpr auto kTryAgainAfter = std::chrono::milliseconds(20);
constexpr auto kLongestPoll = std::chrono::milliseconds(100);

}  // namespace

Gate::Gate(in_addr_t address, const Topology& topology, const Digest& secret)
    : topology_(topology), secret_(secret), listener_(listen_at({address, 0})) {}

Hello Gate::hello(int to) const {
  return {.protocol = kProtocol, .subject = number_, .from = topology_.machine, .to = to};
}

void Gate::begin(Call& call, const Address& address) const {
  call.socket = begin_call(address);
  call.handshake = Handshake::caller(secret_, hello(call.machine));
  call.through = false;
  call.at = Clock::now() + (call.socket.open() ? Clock::duration(kHandshakeTime)
                                               : Clock::duration(kTryAgainAfter));
}

bool Gate::advance_call(Call& call, const Address& address, bool news) {
  const auto now = Clock::now();
  if (!call.socket.open()) {
    if (now >= call.at) begin(call, address);
    return false;
  }
  bool works = now < call.at;
  if (works && news && !call.through) works = call.through = got_through(call.socket.number());
  if (works && call.through) works = advance(call.socket.number(), call.handshake);
  if (call.handshake.complete()) return true;
  if (works && call.handshake.state() != Handshake::State::refused) return false;
  turned_away_.note(call.handshake);
  call.socket.close();
  call.at = now + kTryAgainAfter;
  return false;
}

void Gate::accept_all() {
  for (;;) {
    base::Descriptor socket = accept_one(listener_.number());
    if (!socket.open()) return;
    if (strangers_.size() == kMostStrangers) {
      turned_away_.note_slow();
      strangers_.pop_front();
    }
    strangers_.push_back({.socket = std::move(socket),
                          .handshake = Handshake::answerer(secret_, hello(-1)),
                          .until = Clock::now() + kHandshakeTime});
  }
}

bool Gate::advance_stranger(Stranger& stranger, bool news) {
  Handshake& handshake = stranger.handshake;
  const bool works = !news || advance(stranger.socket.number(), handshake);
  if (handshake.complete()) {
    const Hello& theirs = handshake.theirs();
    const bool fits = theirs.to == topology_.machine && theirs.from > topology_.machine &&
                      theirs.from < topology_.machines();
    if (fits) {
      arrived_[{theirs.subject, theirs.from}] = std::move(stranger.socket);
    } else {
      turned_away_.note_other();
    }
    return true;
  }
  if (!works || handshake.state() == Handshake::State::refused) {
    turned_away_.note(handshake);
    return true;
  }
  if (Clock::now() < stranger.until) return false;
  turned_away_.note_slow();
  return true;
}

void Gate::wait(const std::deque<Call>& calls, Clock::time_point deadline) {
  polled_.clear();
  polled_.push_back({.fd = listener_.number(), .events = POLLIN});
  const auto add = [&](int socket, bool sends) {
    polled_.push_back({.fd = socket, .events = static_cast<short>(sends ? POLLOUT : POLLIN)});
  };
  for (const Stranger& stranger : strangers_) {
    add(stranger.socket.number(), !stranger.handshake.to_send().empty());
  }
  auto until = std::min(deadline, Clock::now() + Clock::duration(kLongestPoll));
  for (const Call& call : calls) {
    if (call.socket.open()) add(call.socket.number(), !call.handshake.to_send().empty());
    until = std::min(until, call.at);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  ::poll(polled_.data(), polled_.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
}

bool Gate::has_news(int socket) const {
  return std::ranges::any_of(
      polled_, [&](const pollfd& one) { return one.fd == socket && one.revents != 0; });
}

std::vector<base::Descriptor> Gate::meet(const std::vector<Address>& addresses,
                                         Clock::time_point deadline) {
  std::vector<base::Descriptor> met(topology_.machines());
  std::deque<Call> calls;
  for (int machine = 0; machine < topology_.machine; ++machine) {
    calls.push_back({.machine = machine,
                     .socket = {},
                     .handshake = Handshake::caller(secret_, hello(machine)),
                     .at = Clock::now()});
  }
  int missing = topology_.machines() - 1;
  const auto take = [&](int machine, base::Descriptor socket) {
    prepare_connection(socket.number());
    met[machine] = std::move(socket);
    --missing;
  };
  for (;;) {
    std::erase_if(calls, [&](Call& call) {
      const bool news = has_news(call.socket.number());
      if (!advance_call(call, addresses[call.machine], news)) return false;
      take(call.machine, std::move(call.socket));
      return true;
    });
    accept_all();
    std::erase_if(strangers_, [&](Stranger& stranger) {
      return advance_stranger(stranger, has_news(stranger.socket.number()));
    });
    for (auto at = arrived_.begin(); at != arrived_.end();) {
      const auto [meeting, machine] = at->first;
      if (meeting == number_ && !met[machine].open()) take(machine, std::move(at->second));
      at = meeting <= number_ ? arrived_.erase(at) : std::next(at);
    }
    if (missing == 0) break;
    if (Clock::now() >= deadline) in_vain(met);
    wait(calls, deadline);
  }
  ++number_;
  return met;
}

void Gate::in_vain(const std::vector<base::Descriptor>& met) const {
  std::string names;
  for (int machine = 0; machine < topology_.machines(); ++machine) {
    if (machine == topology_.machine || met[machine].open()) continue;
    names += (names.empty() ? "" : ", ") + topology_.addresses[machine];
  }
  throw Error(ErrorCode::timeout,
              "machine " + topology_.addresses[topology_.machine] + " waited in vain at " +
                  to_string(address()) + ": " + names + " did not come" + turned_away_.describe(),
              "See whether a firewall lets machines reach each other at ports that the system "
              "chooses, or allow more time (SYNCOPATE_TIMEOUT, in seconds)");
}

}  // namespace syncopate::fabric::tcp
