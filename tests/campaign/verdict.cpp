#include "campaign/verdict.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>

#include "campaign/job.h"

namespace syncopate::campaign {
namespace {

std::string first_line_with(const char* file, const std::string& begin) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(begin)) return line.substr(line.find(':') + 1);
  }
  return "";
}

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(" \t"));
  text.erase(text.find_last_not_of(" \t\n") + 1);
  return text;
}

std::string in_words(std::time_t time) {
  char text[32];
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// Tells two builds of one version apart, whatever they were made from: a number from the bytes of
/// this program, which has the library in it.
std::string build() {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char byte : text_of("/proc/self/exe")) {
    sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(sum));
  return digits;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char one : text) {
    if (one == '"' || one == '\\') result += '\\';
    result += one == '\n' ? ' ' : one;
  }
  return result + "\"";
}

}  // namespace

double load_average() {
  double loads[1] = {0};
  return getloadavg(loads, 1) == 1 ? loads[0] : -1;
}

void write_verdict(const Verdict& verdict, const Samples& samples) {
  if (verdict.settings.result.empty()) return;
  const std::time_t now = std::time(nullptr);
  std::ofstream file(verdict.settings.result);
  file << "{\n  \"verdict\": " << quoted(verdict.problems.empty() ? "passed" : verdict.problems)
       << ",\n  \"version\": " << quoted(SYNCOPATE_VERSION) << ",\n  \"build\": " << quoted(build())
       << ",\n  \"began\": " << quoted(in_words(now - std::time_t(verdict.seconds)))
       << ",\n  \"ended\": " << quoted(in_words(now))
       << ",\n  \"command\": " << quoted(verdict.settings.command)
       << ",\n  \"seed\": " << verdict.settings.seed
       << ",\n  \"seconds\": " << long(verdict.seconds) << ",\n  \"machine\": {\"processor\": "
       << quoted(trimmed(first_line_with("/proc/cpuinfo", "model name")))
       << ", \"cores\": " << std::thread::hardware_concurrency()
       << ", \"memory\": " << quoted(trimmed(first_line_with("/proc/meminfo", "MemTotal")))
       << ", \"kernel\": " << quoted(trimmed(text_of("/proc/sys/kernel/osrelease")))
       << "},\n  \"load_average\": {\"before\": " << verdict.load_before
       << ", \"after\": " << load_average() << "},\n  \"done\": " << quoted(verdict.done)
       << ",\n  \"samples\": " << samples.lines() << ",\n  \"largest_growth\": {";
  for (std::size_t i = 0; i < verdict.jobs.size(); ++i) {
    const Samples::Growth growth = samples.growth(verdict.jobs[i]);
    file << (i == 0 ? "\n    " : ",\n    ") << quoted(verdict.jobs[i])
         << ": {\"processes\": " << growth.processes
         << ", \"anonymous_kb\": " << growth.anonymous_kb << ", \"shared_kb\": " << growth.shared_kb
         << ", \"descriptors\": " << growth.descriptors << ", \"threads\": " << growth.threads
         << "}";
  }
  file << "\n  }\n}\n";
}

}  // namespace syncopate::campaign
