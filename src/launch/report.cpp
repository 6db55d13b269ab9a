#include "launch/report.h"

#include <cstdint>
#include <cstring>
#include <system_error>

#include "syncopate/error.h"

namespace syncopate::launch {

namespace {

/// What a report holds, and so how it is to be read.
enum class Kind : std::int64_t {
  result,
  refusal,         ///< an Error
  system_failure,  ///< a std::system_error
};

/// The last number of every report: without it, the writer has not come to its end.
constexpr std::int64_t kWhole = 0x5359'4e43'4f50'4154;
/// In the place of an exit code or signal that is not there.
constexpr std::int64_t kNone = -1;

class Writer {
 public:
  void number(std::int64_t value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void string(std::string_view value) {
    number(std::int64_t(value.size()));
    text_.append(value);
  }
  std::string whole() && {
    number(kWhole);
    return std::move(text_);
  }

 private:
  std::string text_;
};

/// Reads zeros and empty strings where the report ends too early; whole() tells.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::int64_t number() {
    std::int64_t value = 0;
    if (rest_.size() < sizeof(value)) {
      rest_ = {};
      return 0;
    }
    std::memcpy(&value, rest_.data(), sizeof(value));
    rest_.remove_prefix(sizeof(value));
    return value;
  }
  std::string string() {
    const auto size = std::size_t(number());
    const std::string value(rest_.substr(0, size));
    rest_.remove_prefix(value.size());
    return value;
  }
  bool whole() { return number() == kWhole && rest_.empty(); }

 private:
  std::string_view rest_;
};

void put(Writer& writer, const LaunchResult& result) {
  writer.number(std::int64_t(Kind::result));
  writer.number(result.exit_code);
  writer.number(std::int64_t(result.ranks.size()));
  for (const RankOutcome& rank : result.ranks) {
    writer.number(rank.exit_code ? *rank.exit_code : kNone);
    writer.number(rank.signal ? *rank.signal : kNone);
    writer.string(rank.output);
  }
}

std::optional<int> number_if_any(std::int64_t value) {
  return value == kNone ? std::nullopt : std::optional(int(value));
}

LaunchResult get(Reader& reader) {
  LaunchResult result{.exit_code = int(reader.number())};
  for (std::int64_t ranks = reader.number(); ranks > 0; --ranks) {
    RankOutcome& rank = result.ranks.emplace_back();
    rank.exit_code = number_if_any(reader.number());
    rank.signal = number_if_any(reader.number());
    rank.output = reader.string();
  }
  return result;
}

}  // namespace

std::string report_of(const std::function<LaunchResult()>& job) {
  Writer writer;
  const auto refuse = [&](ErrorCode code, const std::string& happened, const std::string& remedy) {
    writer.number(std::int64_t(Kind::refusal));
    writer.number(std::int64_t(code));
    writer.string(happened);
    writer.string(remedy);
  };
  try {
    put(writer, job());
  } catch (const Error& error) {
    refuse(error.code(), error.what_happened(), error.what_to_do());
  } catch (const std::system_error& failure) {
    writer.number(std::int64_t(Kind::system_failure));
    writer.number(failure.code().value());
    writer.string(failure.what());
  } catch (const std::exception& failure) {
    refuse(ErrorCode::environment, failure.what(), "See that the machine has memory left.");
  }
  return std::move(writer).whole();
}

std::optional<LaunchResult> read_report(std::string_view report) {
  Reader reader(report);
  switch (Kind(reader.number())) {
    case Kind::result: {
      LaunchResult result = get(reader);
      if (!reader.whole()) return std::nullopt;
      return result;
    }
    case Kind::refusal: {
      const auto code = ErrorCode(reader.number());
      const std::string happened = reader.string();
      const std::string remedy = reader.string();
      if (!reader.whole()) return std::nullopt;
      throw Error(code, happened, remedy);
    }
    case Kind::system_failure: {
      const std::error_code code(int(reader.number()), std::generic_category());
      const std::string what = reader.string();
      if (!reader.whole()) return std::nullopt;
      // The text has the code's own words already.
      throw std::system_error(code, what.substr(0, what.find(':')));
    }
  }
  return std::nullopt;
}

}  // namespace syncopate::launch
