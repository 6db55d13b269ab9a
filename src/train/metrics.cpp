#include "train/metrics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.h"
#include "syncopate/error.h"
#include "train/bytes.h"
#include "train/durable_file.h"

namespace syncopate::train {
namespace {

constexpr std::size_t kEnough = std::size_t{64} << 10;

/// The lock of a rank that stands still, or of a file system that has none, is not waited for
/// longer.
constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kAgainAfter = std::chrono::milliseconds(2);

/// While it lives no other process appends. A lock also makes this machine look at the file anew.
class Alone {
 public:
  explicit Alone(int descriptor) : descriptor_(descriptor) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!set(F_WRLCK) && (errno == EAGAIN || errno == EACCES || errno == EINTR) &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kAgainAfter);
    }
  }
  ~Alone() { set(F_UNLCK); }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  bool set(short type) const {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return ::fcntl(descriptor_, F_SETLK, &lock) == 0;
  }
  int descriptor_;
};

double milliseconds(Duration duration) { return double(duration.count()) / 1e6; }

/// The number after `name` in a line of ours; `none` where there is none.
template <typename Number>
Number number_after(std::string_view line, std::string_view name, Number none) {
  const std::size_t place = line.find(name);
  if (place == std::string_view::npos) return none;
  const auto read = base::leading_number<Number>(line.substr(place + name.size()));
  return read ? read->value : none;
}

/// Longer than any line of ours.
constexpr std::size_t kLongestLine = 4096;

/// The end of the next line, which of one of ours is all of it. False when there is none.
bool read_line(std::istream& from, std::string& line) {
  line.clear();
  for (int c = from.get(); c != std::istream::traits_type::eof(); c = from.get()) {
    if (c == '\n') return true;
    line += char(c);
    if (line.size() > 2 * kLongestLine) line.erase(0, kLongestLine);
  }
  return !line.empty();
}

}  // namespace

void keep_metrics(std::istream& from, const std::map<int, double>& clocks,
                  const std::function<void(const std::string& line)>& keep) {
  double latest = 0;
  for (const auto& [rank, clock] : clocks) latest = std::max(latest, clock);
  for (std::string line; read_line(from, line);) {
    // A writer that was killed leaves the beginning of a line, and the next one adds its own to it.
    line.erase(0, std::min(line.rfind('{'), line.size()));
    if (!line.ends_with('}') || line.size() > kLongestLine) continue;
    const auto clock = clocks.find(number_after(line, R"("rank":)", -1));
    const double end = clock == clocks.end() ? latest : clock->second;
    // As precise as the lines are.
    if (number_after(line, R"("arrived_s":)", latest) + 1e-6 < end) keep(line);
  }
}

void cut_metrics(const std::filesystem::path& file, const std::map<int, double>& clocks) {
  if (!has_entry(file) || clocks.empty()) return;
  reading(
      file, [&] { const OpenFile is_a_file(file); },
      "Put the file itself in its place, or remove it");
  std::ifstream old(file);
  try {
    Replacement fresh(file);
    std::string lines;
    keep_metrics(old, clocks, [&](const std::string& line) {
      lines.append(line).append("\n");
      if (lines.size() >= kEnough) fresh.write(std::exchange(lines, {}));
    });
    fresh.write(lines);
    fresh.take_place();
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::environment,
                fmt::format("{} cannot be cut: {}", file.string(), error.what()),
                "Make room on the disk; the run is unharmed");
  }
}

Metrics::Metrics(const std::filesystem::path& file, int rank, bool across_machines)
    : path_(file.string()), rank_(rank), across_machines_(across_machines) {
  if (path_.empty()) return;
  descriptor_ = uninterrupted([&] {
    return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  });
  if (descriptor_ >= 0) return;
  failure_ = fmt::format("{} cannot be opened: {}", path_, std::strerror(errno));
  if (errno != EACCES && errno != EROFS && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
    return;
  }
  throw Error(ErrorCode::environment, *failure_,
              "Choose a run directory that can be written to (--runs)");
}

Metrics::~Metrics() {
  flush();
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Metrics::add(const Exchange& exchange, const StepTimes& times, double samples, double loss) {
  if (descriptor_ < 0) return;
  fmt::format_to(
      std::back_inserter(lines_),
      R"({{"rank":{},"round":{},"arrived_s":{:.6f},"compute_ms":{:.3f},"wait_ms":{:.3f},)"
      R"("exchange_ms":{:.3f},"waited_for":{},"contributors":{},"mass":{:g},"staleness":{},)"
      R"("included":{},"agreed":{},"dropped":{},"samples":{:.0f},"loss":{}}})"
      "\n",
      rank_, exchange.number, times.arrived_s, times.compute_ms, milliseconds(exchange.waited),
      times.exchange_ms, exchange.waited_for, exchange.contributors, exchange.mass,
      exchange.staleness, exchange.included, exchange.agreed, exchange.dropped, samples,
      std::isfinite(loss) ? fmt::format("{:g}", loss) : "null");
  if (lines_.size() >= kEnough) flush();
}

void Metrics::flush() {
  if (descriptor_ < 0 || lines_.empty()) return;
  const std::string lines = std::exchange(lines_, {});
  std::optional<Alone> alone;
  if (across_machines_) alone.emplace(descriptor_);
  const int error = write_all(descriptor_, lines);
  if (error == 0 || failure_) return;
  failure_ = fmt::format("{} cannot be written: {}", path_, std::strerror(error));
}

}  // namespace syncopate::train
