#include "explorer/schedule_name.h"

#include <sstream>

namespace syncopate::testing {
namespace {

constexpr const char* kDies = "die";
constexpr const char* kStops = "stop";
constexpr Time kMillisecond = 1'000'000;

}  // namespace

std::string ScheduleName::text() const {
  std::ostringstream text;
  text << world->name << '/';
  for (const Machine::Fault& fault : faults) {
    text << (fault.kind == Machine::Fault::Kind::die ? kDies : kStops) << fault.rank << '@'
         << fault.step;
    if (fault.kind == Machine::Fault::Kind::stop) text << '+' << fault.duration / kMillisecond;
  }
  text << '/';
  for (std::size_t i = 0; i < deviations.size(); ++i) {
    text << (i > 0 ? "," : "") << deviations[i].point << '=' << deviations[i].option;
  }
  return text.str();
}

std::optional<ScheduleName> ScheduleName::parse(std::string_view text) {
  const std::size_t first = text.find('/');
  const std::size_t second = text.find('/', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  ScheduleName name{.world = nullptr, .faults = {}, .deviations = {}};
  for (const SmallPlan& plan : small_plans()) {
    if (plan.name == text.substr(0, first)) name.world = &plan;
  }
  if (name.world == nullptr) return std::nullopt;

  std::string_view fault = text.substr(first + 1, second - first - 1);
  if (!fault.empty()) {
    const bool dies = fault.starts_with(kDies);
    fault.remove_prefix(std::string_view(dies ? kDies : kStops).size());
    std::istringstream numbers{std::string(fault)};
    Machine::Fault& known = name.faults.emplace_back();
    char separator;
    numbers >> known.rank >> separator >> known.step;
    known.kind = dies ? Machine::Fault::Kind::die : Machine::Fault::Kind::stop;
    if (!dies) numbers >> separator >> known.duration;
    known.duration *= kMillisecond;
  }
  std::istringstream deviations{std::string(text.substr(second + 1))};
  Systematic::Deviation deviation;
  char separator;
  while (deviations >> deviation.point >> separator >> deviation.option) {
    name.deviations.push_back(deviation);
    deviations >> separator;
  }
  return name;
}

}  // namespace syncopate::testing
