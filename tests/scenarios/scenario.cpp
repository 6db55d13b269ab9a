#include "scenarios/scenario.h"

#include <map>
#include <sstream>

#include "scenarios/tokens.h"

namespace syncopate::testing {
namespace {

DataType parse_type(Tokens& tokens) {
  const std::string& word = tokens.take();
  for (const DataType type : {DataType::float32, DataType::float64}) {
    if (word == to_string(type)) return type;
  }
  tokens.fail("the type is float32 or float64");
}

Scale parse_scale(Tokens& tokens) {
  const std::string& word = tokens.take();
  for (const Scale scale : {Scale::none, Scale::ranks, Scale::contributors, Scale::weight}) {
    if (word == to_string(scale)) return scale;
  }
  tokens.fail("unknown scale");
}

/// A setting of the world; false if `word` is none.
bool parse_setting(Scenario& scenario, const std::string& word, Tokens& tokens) {
  if (word == "ranks") {
    scenario.ranks = tokens.number<int>();
    scenario.scripts.resize(scenario.ranks);
  } else if (word == "elements") {
    scenario.elements = tokens.number<std::size_t>();
  } else if (word == "type") {
    scenario.type = parse_type(tokens);
  } else if (word == "trigger") {
    scenario.options.trigger = Trigger::parse(tokens.take());
  } else if (word == "late") {
    scenario.options.late = LatePolicy::parse(tokens.take());
  } else if (word == "grace") {
    scenario.options.grace = Grace::parse(tokens.take());
  } else if (word == "scale") {
    scenario.options.scale = parse_scale(tokens);
  } else if (word == "window") {
    scenario.options.window = tokens.number<int>();
  } else if (word == "timeout") {
    scenario.timeout = tokens.duration();
  } else if (word == "begin") {
    tokens.expect("after");
    scenario.begin_after = tokens.number();
  } else if (word == "order") {
    tokens.expect("interleaved");
    scenario.order = Scenario::Order::interleaved;
  } else {
    return false;
  }
  return true;
}

std::vector<Act> parse_acts(Tokens& tokens);

Act parse_deposit(Act::Kind kind, Tokens& tokens) {
  Act act{.kind = kind, .line = tokens.line()};
  if (!tokens.take_if("nothing")) act.value = tokens.number<double>();
  if (tokens.take_if("weight")) act.weight = tokens.number<double>();
  return act;
}

void parse_act(std::vector<Act>& acts, Tokens& tokens) {
  if (tokens.number_follows()) {
    const auto times = tokens.number();
    tokens.expect("times");
    tokens.expect("(");
    const std::vector<Act> repeated = parse_acts(tokens);
    tokens.expect(")");
    for (std::uint64_t i = 0; i < times; ++i) {
      acts.insert(acts.end(), repeated.begin(), repeated.end());
    }
    return;
  }
  using Kind = Act::Kind;
  static const std::map<std::string, Kind> kinds = {
      {"compute", Kind::compute}, {"until", Kind::until}, {"exchange", Kind::exchange},
      {"start", Kind::start},     {"wait", Kind::wait},   {"poll", Kind::poll},
      {"finish", Kind::finish},   {"leave", Kind::leave}, {"die", Kind::die},
      {"stop", Kind::stop},
  };
  const std::string& word = tokens.take();
  const auto known = kinds.find(word);
  if (known == kinds.end()) tokens.fail("a rank cannot '" + word + "'");
  const Kind kind = known->second;
  Act act{.kind = kind, .line = tokens.line()};
  if (kind == Kind::exchange || kind == Kind::start) act = parse_deposit(kind, tokens);
  if (kind == Kind::compute || kind == Kind::until || kind == Kind::stop) {
    act.time = tokens.duration();
  }
  if (kind == Kind::poll) {
    act.answer = tokens.take_if("yes");
    if (!act.answer) tokens.expect("no");
  }
  acts.push_back(act);
}

std::vector<Act> parse_acts(Tokens& tokens) {
  std::vector<Act> acts;
  do {
    parse_act(acts, tokens);
  } while (tokens.take_if(","));
  return acts;
}

int checked(const Scenario& scenario, int rank, const Tokens& tokens) {
  if (rank < 0 || rank >= scenario.ranks) tokens.fail("no rank " + std::to_string(rank));
  return rank;
}

void parse_script(Scenario& scenario, Tokens& tokens) {
  const std::vector<int> ranks = tokens.ranks();
  tokens.expect(":");
  const std::vector<Act> acts = parse_acts(tokens);
  for (const int rank : ranks) {
    auto& script = scenario.scripts[checked(scenario, rank, tokens)];
    script.insert(script.end(), acts.begin(), acts.end());
  }
}

void parse_incident(Scenario& scenario, Tokens& tokens) {
  const Moment at = tokens.duration();
  tokens.expect("rank");
  const int rank = checked(scenario, tokens.number<int>(), tokens);
  static const std::map<std::string, Incident::Kind> kinds = {
      {"dies", Incident::Kind::dies},
      {"stops", Incident::Kind::stops},
      {"continues", Incident::Kind::continues},
  };
  const auto known = kinds.find(tokens.take());
  if (known == kinds.end()) tokens.fail("a rank dies, stops or continues");
  scenario.incidents.push_back({.kind = known->second, .rank = rank, .at = at});
}

void parse_step_fault(Scenario& scenario, Tokens& tokens) {
  StepFault fault{};
  tokens.expect("rank");
  fault.rank = checked(scenario, tokens.number<int>(), tokens);
  fault.dies = tokens.take_if("dies");
  if (!fault.dies) {
    tokens.expect("stops");
    fault.time = tokens.duration();
  }
  tokens.expect("before");
  fault.step = tokens.take();
  fault.occurrence = tokens.number<int>();
  scenario.step_faults.push_back(fault);
}

void parse_round(Scenario& scenario, Tokens& tokens) {
  RoundExpectation expected{.round = tokens.number(), .line = tokens.line()};
  do {
    const std::string& word = tokens.take();
    if (word == "from") {
      expected.from = tokens.ranks();
    } else if (word == "sum") {
      expected.sum = tokens.number<double>();
    } else if (word == "staleness") {
      expected.staleness = tokens.number();
    } else if (word == "dropped") {
      expected.dropped = tokens.ranks();
    } else if (word == "weight") {
      expected.weight = tokens.number<double>();
    } else if (word == "started") {
      expected.started = tokens.duration();
    } else if (word == "published") {
      expected.published = tokens.duration();
    } else if (word == "last") {
      expected.last = true;
    } else {
      tokens.fail("a round has no '" + word + "'");
    }
  } while (tokens.take_if(","));
  scenario.rounds.push_back(expected);
}

void parse_rank_expectation(Scenario& scenario, Tokens& tokens) {
  const int line = tokens.line();
  const int rank = checked(scenario, tokens.number<int>(), tokens);
  const std::string& verb = tokens.take();
  const auto at = [&]() -> std::optional<Moment> {
    if (!tokens.take_if("at")) return std::nullopt;
    return tokens.duration();
  };
  const auto in_round = [&] {
    tokens.expect("in");
    tokens.expect("round");
    return tokens.number();
  };
  if (verb == "reads") {
    const std::uint64_t first = tokens.number();
    const std::uint64_t last = tokens.take_if("to") ? tokens.number() : first;
    scenario.reads.push_back(
        {.rank = rank, .first = first, .last = last, .at = at(), .line = line});
  } else if (verb == "waits") {
    const auto time = tokens.duration();
    std::optional<int> whom;
    if (tokens.take_if("for")) whom = tokens.take_if("nobody") ? -1 : tokens.number<int>();
    scenario.waits.push_back(
        {.rank = rank, .round = in_round(), .time = time, .waited_for = whom, .line = line});
  } else if (verb == "fails") {
    FailureExpectation failure{.rank = rank, .code = tokens.take(), .line = line};
    if (tokens.take_if("naming")) failure.naming = tokens.ranks();
    failure.at = at();
    scenario.failures.push_back(failure);
  } else if (verb == "knows") {
    tokens.expect("dead");
    const std::vector<int> dead = tokens.ranks();
    scenario.knowledge.push_back({.rank = rank, .round = in_round(), .dead = dead, .line = line});
  } else if (verb == "drops") {
    scenario.numbers.push_back({.of = NumberExpectation::Of::drops,
                                .rank = rank,
                                .number = tokens.number<double>(),
                                .line = line});
  } else {
    tokens.fail("a rank is not expected to '" + verb + "'");
  }
}

void parse_expectation(Scenario& scenario, Tokens& tokens) {
  const std::string& word = tokens.take();
  if (word == "round") return parse_round(scenario, tokens);
  if (word == "rank") return parse_rank_expectation(scenario, tokens);
  using Of = NumberExpectation::Of;
  if (word != "rounds" && word != "total") tokens.fail("cannot expect '" + word + "'");
  scenario.numbers.push_back({.of = word == "rounds" ? Of::rounds : Of::total,
                              .number = tokens.number<double>(),
                              .line = tokens.line()});
}

/// What is said of the board alone.
void parse_about_the_board(Scenario& scenario, Tokens& tokens) {
  if (!tokens.take_if("expect")) return parse_step_fault(scenario, tokens);
  scenario.lines_about_the_board.push_back(tokens.line());
  parse_expectation(scenario, tokens);
}

}  // namespace

Scenario Scenario::parse(std::string_view text) {
  Scenario scenario;
  std::istringstream stream{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    Tokens tokens(line, number);
    if (tokens.empty()) continue;
    const std::string& word = tokens.take();
    if (word == "rank") {
      parse_script(scenario, tokens);
    } else if (word == "at") {
      parse_incident(scenario, tokens);
    } else if (word == "on-the-board") {
      parse_about_the_board(scenario, tokens);
    } else if (word == "expect") {
      parse_expectation(scenario, tokens);
    } else if (!parse_setting(scenario, word, tokens)) {
      tokens.fail("'" + word + "' is not known");
    }
    tokens.expect_end();
  }
  if (scenario.ranks == 0) throw std::runtime_error("the scenario does not say how many ranks");
  return scenario;
}

}  // namespace syncopate::testing
