#include "agent/post.h"

namespace syncopate::agent {

using board::Time;
using Traffic = PeerActivity::Traffic;

std::vector<std::byte> Post::say(int machine, AgentMessage message) {
  message.drowsy = platform_.crowded(platform_.now());
  peers_.note_told(machine, message.drowsy);
  return pack(message);
}

void Post::send(int machine, const AgentMessage& message) {
  tell_bell(machine);
  fabric_.send(machine, say(machine, message));
  const Time now = platform_.now();
  const bool ring =
      peers_.should_ring(machine, Traffic::message, now, CpuBudget::of(roster_, platform_, now));
  peers_.note_sent(machine, now);
  if (ring) bell_.ring(machine);
}

void Post::send_to_others(const AgentMessage& message) {
  for (int machine = 0; machine < topology_.machines(); ++machine) {
    if (machine != topology_.machine) send(machine, message);
  }
}

void Post::rouse(int machine) {
  const Time now = platform_.now();
  const CpuBudget here = CpuBudget::of(roster_, platform_, now);
  if (peers_.should_ring(machine, Traffic::data, now, here)) bell_.ring(machine);
}

void Post::tell_bell(int machine) {
  if (told_bell_[machine]) return;
  told_bell_[machine] = true;
  fabric_.send(machine, say(machine, {.kind = AgentMessage::Kind::bell, .rest = bell_.address()}));
}

}  // namespace syncopate::agent
