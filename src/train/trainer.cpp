#include "train/trainer.h"

#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "syncopate/error.h"
#include "train/bytes.h"
#include "train/durable_file.h"
#include "train/optimizers.h"
#include "train/tensor_file.h"

namespace syncopate::train {

std::atomic<bool> told_to_end = false;

namespace {

std::atomic<int> ending_signal = 0;

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) {
    // The first of them is the reason; launchers may send others after it.
    int none = 0;
    ending_signal.compare_exchange_strong(none, signal);
    told_to_end = true;
  };
  sigset_t endings;
  ::sigemptyset(&endings);
  for (const int signal : {SIGINT, SIGTERM, SIGALRM}) {
    ::sigaction(signal, &action, nullptr);
    ::sigaddset(&endings, signal);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &endings, nullptr);  // See start_ranks().
}

namespace {

constexpr auto kShowEvery = std::chrono::milliseconds(200);
constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kMetricsFile = "metrics.jsonl";

/// A part of a run evaluates once more when all is saved.
void add_last_evaluation_of(const std::filesystem::path& result_file,
                            std::vector<Evaluation>& evaluations) {
  Result earlier;
  try {
    earlier = read_result(result_file);
  } catch (const Error&) {
    return;  // Not there, of another version, or not whole: the run does not depend on it.
  }
  if (earlier.diverged || earlier.evaluations.empty()) return;
  const Evaluation& last = earlier.evaluations.back();
  if (evaluations.empty() || last.samples > evaluations.back().samples) evaluations.push_back(last);
}

/// Whether this rank is the first that is there, and so the one that shows the progress.
bool leads(const World& world) {
  const RankSet missing = world.gone();
  int leader = 0;
  while (missing.contains(leader)) ++leader;
  return world.rank() == leader;
}

/// The ranks of a machine take turns with its devices.
torch::Device device_of(const Config& config, const World& world) {
  const bool cuda = config.device == "cuda" || (config.device == "mixed" && world.rank() == 0);
  if (!cuda) return torch::kCPU;
  const int devices = std::max(1, int(torch::cuda::device_count()));
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(world.local_rank() % devices)};
}

}  // namespace

class Trainer::ReportingLearner final : public TorchLearner {
 public:
  ReportingLearner(torch::optim::Optimizer& optimizer, Trainer& trainer)
      : TorchLearner(optimizer), trainer_(trainer) {}
  void exchanged(const Exchange& exchange) override { trainer_.exchanged(exchange); }

 private:
  Trainer& trainer_;
};

Trainer::Trainer(const World& world, const Config& config, const std::filesystem::path& run,
                 const TrainerOptions& options)
    : world_(world),
      config_(config),
      run_(run),
      workload_(workload(config.workload)),
      device_(device_of(config, world)),
      task_(
          make_task(workload_, {.data = config.data, .model = config.model, .seed = config.seed})),
      run_progress_(config, task_->train_samples()),
      sampler_(task_->train_samples(), world.rank(), world.size(), config.seed),
      delays_(Imbalance::parse(config.imbalance), world.size(), world.rank(), config.seed),
      pacer_(clock_, told_to_end),
      metrics_(config.metrics ? run / kMetricsFile : std::filesystem::path(), world.rank(),
               world.machines() > 1),
      evaluator_(world, *task_, device_),
      io_(world),
      checkpoints_(world, io_, run, kind_of(config)),
      gather_(world, world.size() * sizeof(RankSums) / sizeof(double)),
      options_(options) {
  if (task_->uneven()) {
    sampler_.group(std::size_t(config.batch),
                   [this](std::int64_t sample) { return task_->work(std::span(&sample, 1)); });
  }
  task_->model().to(device_);
  task_->model().train();
  optimizer_ = make_optimizer(config, task_->model().parameters());
  learner_ = std::make_unique<ReportingLearner>(*optimizer_, *this);
  std::optional<Snapshot> snapshot;
  if (options.resume) {
    snapshot = checkpoints_.load(*optimizer_, task_->model().buffers());
    checkpoints_.taking([&] { load(*snapshot); });
    // It was not counted that ended this run, so that it is at its end already (check_resumed).
    const auto& judged = snapshot->part.evaluations;
    const auto epoch = double(task_->train_samples());
    if (!judged.empty() && has_ended(config.until, epoch, {.judged = judged.back()})) {
      run_progress_.stop();
    }
  }
  strategy_ = make_strategy(config.strategy_in_full,
                            {.world = world,
                             .learner = *learner_,
                             .start = options.resume ? Start::as_they_are : Start::from_first,
                             .notes = kNotes,
                             .unsaved_notes = kNotes - kUnsaved,
                             .samples = task_->train_samples(),
                             .batch = config.batch,
                             .seed = config.seed});
  if (snapshot) load_strategy(snapshot->part);
}

Trainer::~Trainer() = default;

Result Trainer::run() {
  learner_->set_rate(run_progress_.rate());
  world_.barrier();
  if (options_.resume) check_everybody_is_here();
  watch_.go();
  while (!run_progress_.must_stop()) {
    step();
    after_exchanges();
  }
  fresh_.clear();
  const Duration arrived = watch_.elapsed();
  strategy_->finish();
  learner_->settle();
  watch_.pause();
  keep_metrics({.arrived_s = seconds(arrived)});
  evaluate();
  flush_metrics();
  // The result comes last: a run that has one lacks nothing.
  if (config_.checkpoints && !run_progress_.diverged()) write_model();
  return write_result();
}

void Trainer::check_everybody_is_here() {
  const auto missing = io_.each([&] {
    if (!world_.gone().empty()) throw std::runtime_error(to_string(world_.gone()));
  });
  if (!missing) return;
  throw Error(ErrorCode::rank_lost,
              "a rank ended before the run went on, and with it what it had under way",
              "Resume it again: the checkpoint is unharmed");
}

void Trainer::step() {
  std::vector<std::int64_t> samples =
      number_onwards(strategy_->choose(std::size_t(config_.batch)), std::uint64_t(sums_.steps),
                     task_->train_samples());
  if (samples.empty()) samples = sampler_.next(std::size_t(config_.batch));
  strategy_->begin_step();
  learner_->zero_gradient();
  std::fill(strategy_->notes().begin(), strategy_->notes().end(), 0.0F);
  const Duration began = watch_.elapsed();
  compute(samples);
  const Duration arrived = watch_.elapsed();
  const bool time_is_up =
      config_.until.kind == Until::Kind::seconds && seconds(arrived) >= config_.until.amount;
  const bool wants_to_end = time_is_up || told_to_end || rank_is_missing_;
  strategy_->notes()[kStop] = wants_to_end ? 1.0F : 0.0F;
  if (wants_to_end) strategy_->hasten();

  const Duration computing = arrived - began;
  sums_.computing += seconds(computing);
  sums_.samples += strategy_->notes()[kSamples];
  ++sums_.steps;
  fresh_.clear();
  strategy_->end_step(computing);

  Duration waited{0};
  for (const auto& [exchange, samples_then, loss_then] : fresh_) waited += exchange.waited;
  const Duration exchanging = watch_.elapsed() - arrived - waited;
  keep_metrics({.arrived_s = seconds(arrived),
                .compute_ms = seconds(computing) * 1e3,
                .exchange_ms = seconds(exchanging) * 1e3});
  show_progress(false);
}

void Trainer::keep_metrics(StepTimes times) {
  for (const auto& [exchange, samples, loss] : fresh_) {
    metrics_.add(exchange, times, samples, loss);
    times.compute_ms = times.exchange_ms = 0;
  }
}

void Trainer::flush_metrics() {
  if (!config_.metrics) return;
  metrics_.flush();
  const auto failure = io_.each([&] {
    if (metrics_.failure()) throw std::runtime_error(*metrics_.failure());
  });
  if (!failure || std::exchange(metrics_are_missing_, true)) return;
  if (!options_.warn || !leads(world_)) return;
  options_.warn(fmt::format("lines are missing in {}: {}. The training goes on",
                            (run_ / kMetricsFile).string(), *failure));
}

void Trainer::compute(const std::vector<std::int64_t>& samples) {
  pacer_.begin();
  const auto began = watch_.elapsed();
  Duration computed{0};
  const int parts = std::min<int>(strategy_->parts(), int(samples.size()));
  const Duration paced = from_seconds(config_.pace_ms * 1e-3 * task_->work(samples));
  const auto step = std::uint64_t(sums_.steps);
  const std::span<float> notes = strategy_->notes();
  for (int part = 0; part < parts; ++part) {
    const std::size_t from = samples.size() * part / parts;
    const std::size_t to = samples.size() * (part + 1) / parts;
    const auto some = std::span(samples).subspan(from, to - from);
    const Duration part_began = watch_.elapsed();
    const Score score = task_->score(task_->train_batch(some).to(device_));
    // Divided by all samples of the step, so that parts add up to its mean.
    (score.losses.sum() / double(samples.size())).backward();
    const torch::Tensor losses = score.losses.detach().to(torch::kCPU).contiguous();
    notes[kSamples] += float(some.size());
    notes[kLoss] += losses.sum().item<float>();
    notes[kHits] += score.hits.sum().item<float>();
    std::vector<std::int64_t> numbers(some.begin(), some.end());
    for (std::int64_t& number : numbers) number %= task_->train_samples();
    strategy_->note_losses(numbers, {losses.data_ptr<float>(), numbers.size()});
    // Without a pace a step takes as long as it takes, which is extrapolated from its parts without
    // what was slept between them.
    computed += watch_.elapsed() - part_began;
    const Duration whole = computed * parts / (part + 1);
    pacer_.finish_part(part + 1, parts, delays_.length(step, std::max(paced, whole)));
    if (strategy_->enough(watch_.elapsed() - began)) break;
  }
}

void Trainer::exchanged(const Exchange& exchange) {
  run_progress_.follow(exchange);
  // Here, for a rank that was late applies several rounds in one step, each at the rate that the
  // others had for it.
  learner_->set_rate(run_progress_.rate());
  sums_.waiting += seconds(exchange.waited);
  ++sums_.exchanges;
  sums_.contributors += exchange.contributors;
  sums_.staleness = std::max(sums_.staleness, double(exchange.staleness));
  sums_.dropped += double(exchange.dropped);
  fresh_.push_back({exchange, run_progress_.samples(), run_progress_.training_loss()});
  fresh_.back().exchange.notes = {};  // They lie in the strategy's memory.
}

void Trainer::after_exchanges() {
  // At the end there is an evaluation anyway, of what finish() leaves.
  const bool evaluates = run_progress_.must_evaluate() && !run_progress_.must_stop();
  const bool ends = run_progress_.must_stop() && config_.checkpoints;
  if (!evaluates && !run_progress_.must_save() && !ends) return;
  watch_.pause();
  learner_->settle();
  world_.barrier();
  if (evaluates) evaluate();
  // The evaluation may have found that this is the end.
  const bool saves =
      run_progress_.must_save() || (run_progress_.must_stop() && config_.checkpoints);
  if (saves && !run_progress_.diverged()) save();
  run_progress_.evaluated();
  run_progress_.saved();
  flush_metrics();
  world_.barrier();
  watch_.go();
}

void Trainer::evaluate() {
  evaluations_.push_back(evaluator_.evaluate(seconds(watch_.elapsed()), run_progress_.samples()));
  const double epoch = double(task_->train_samples());
  if (has_ended(config_.until, epoch, {.judged = evaluations_.back()})) run_progress_.stop();
  if (run_progress_.is_beyond(evaluations_.back().loss)) run_progress_.diverge();
  show_progress(true);
}

void Trainer::show_progress(bool now) {
  if (!now && watch_.elapsed() - shown_at_ < kShowEvery) return;
  shown_at_ = watch_.elapsed();
  look_after_ranks();
  // Before the first exchange there is nothing to show.
  if (!options_.show || (!now && sums_.exchanges == 0) || !leads(world_)) return;
  const double clock = seconds(watch_.elapsed());
  Progress progress{.share = run_progress_.share(),
                    .samples = run_progress_.samples(),
                    .seconds = clock,
                    .rounds = run_progress_.exchanges(),
                    .loss = run_progress_.training_loss(),
                    .accuracy = run_progress_.training_accuracy()};
  if (config_.until.kind == Until::Kind::seconds) progress.share = clock / config_.until.amount;
  if (!evaluations_.empty()) {
    progress.accuracy = evaluations_.back().accuracy;
    progress.evaluated = true;
  }
  if (clock > sums_.before) progress.wait_share = sums_.waiting / (clock - sums_.before);
  if (sums_.exchanges > 0) progress.contributors = sums_.contributors / sums_.exchanges;
  options_.show(progress);
}

void Trainer::look_after_ranks() {
  if (!options_.survive && !world_.gone().empty()) rank_is_missing_ = true;
}

Result Trainer::write_result() {
  sums_.seconds = seconds(watch_.elapsed()) - sums_.before;
  sums_.signal = ending_signal;
  constexpr std::size_t kNumbers = sizeof(RankSums) / sizeof(double);
  double* all = gather_.slot();
  std::fill(all, all + gather_.size(), 0.0);
  std::memcpy(all + world_.rank() * kNumbers, &sums_, sizeof(RankSums));
  const auto rounds = gather_.exchange();
  std::vector<RankSums> ranks(std::size_t(world_.size()));
  std::memcpy(static_cast<void*>(ranks.data()), rounds.front().sum().data(),
              ranks.size() * sizeof(RankSums));
  const Counted samples{.all = run_progress_.samples(),
                        .since = run_progress_.samples() - samples_before_};
  Result result = sum_up(ranks, samples, evaluations_, config_.target, workload_.regression);
  result.rounds = double(run_progress_.exchanges());
  for (const RankSums& rank : ranks) signal_ = std::max(signal_, int(rank.signal));
  result.interrupted = signal_ != 0;
  result.diverged = run_progress_.diverged();
  result.dead = world_.dead().list();
  write_for_all(kResultFile, [&] { return nlohmann::json(result).dump(2) + "\n"; });
  return result;
}

void Trainer::write_model() {
  write_for_all(kModelFile, [&] {
    TensorFile file;
    const auto add = [&](const auto& named) {
      for (const auto& each : named) file.tensors[each.key()] = each.value();
    };
    add(task_->model().named_parameters());
    add(task_->model().named_buffers());
    return to_bytes(file);
  });
}

void Trainer::write_for_all(const char* file, const std::function<std::string()>& text) {
  const std::filesystem::path place = run_ / file;
  const auto failure = io_.one([&] { replace_file(place, text()); });
  if (!failure) return;
  throw Error(ErrorCode::environment,
              fmt::format("{} cannot be written: {}", place.string(), *failure),
              "Make room on the disk; what was saved is unharmed");
}

bool Trainer::is_finite(const StrategyState& state) const {
  const torch::NoGradGuard no_grad;
  const auto finite = [](const torch::Tensor& one) {
    return !one.is_floating_point() || torch::isfinite(one).all().item<bool>();
  };
  if (!state.finite()) return false;
  for (const auto& [name, memory] : memory_of(*optimizer_)) {
    if (!finite(memory)) return false;
  }
  return std::ranges::all_of(task_->model().parameters(), finite) &&
         std::ranges::all_of(task_->model().buffers(), finite);
}

void Trainer::save() {
  StrategyState state = strategy_->save();
  // With what is no number nothing can go on: the checkpoint before it stays.
  const auto no_number = io_.each([&] {
    if (!is_finite(state)) throw std::runtime_error("it diverged");
  });
  if (no_number) return run_progress_.diverge();
  Snapshot snapshot{.part = {.ranks = world_.size(),
                             .counters = {.samples = run_progress_.samples(),
                                          .exchanges = double(run_progress_.exchanges()),
                                          .taken = double(sampler_.taken()),
                                          .seconds = seconds(watch_.elapsed()),
                                          .computing = sums_.computing,
                                          .waiting = sums_.waiting,
                                          .own_samples = sums_.samples,
                                          .steps = sums_.steps,
                                          .own_exchanges = sums_.exchanges,
                                          .contributors = sums_.contributors,
                                          .staleness = sums_.staleness,
                                          .dropped = sums_.dropped,
                                          .before = sums_.before,
                                          .samples_before = samples_before_},
                             .evaluations = evaluations_,
                             .weights = std::vector<float>(learner_->size()),
                             .strategy = std::move(state)}};
  learner_->read_weights(snapshot.part.weights);
  if (auto heading = learner_->heading()) {
    snapshot.part.heading = {std::move(heading->before), heading->mass};
  }
  for (const torch::Tensor& buffer : task_->model().buffers()) {
    snapshot.statistics.push_back(buffer.to(torch::kCPU));
  }
  checkpoints_.save(snapshot, *optimizer_);
}

void Trainer::check(const Counters& counters) const {
  // Samples are numbered onwards from epoch to epoch and from step to step.
  constexpr double kMostNumbered = 0x1p62;
  const double samples = double(task_->train_samples());
  const double epochs = counters.taken * double(world_.size()) / samples + 1;
  if (counters.steps * samples < kMostNumbered && epochs * samples < kMostNumbered) return;
  throw Damaged(fmt::format("it has taken {:g} samples in {:g} steps, which is too much",
                            counters.taken, counters.steps));
}

void Trainer::load_strategy(const Part& part) {
  // All ranks look before any of them goes on, for they may load together.
  std::exception_ptr refusal;
  const auto failure = io_.each([&] {
    try {
      checkpoints_.taking([&] { strategy_->check(part.strategy); });
    } catch (...) {
      refusal = std::current_exception();
      throw;
    }
  });
  if (refusal) std::rethrow_exception(refusal);
  if (failure) {
    throw Error(ErrorCode::environment, "another rank cannot go on from its part of the checkpoint",
                "See what it says");
  }
  strategy_->load(part.strategy);
  if (part.heading) learner_->set_heading({part.heading->before, part.heading->mass});
}

void Trainer::load(const Snapshot& snapshot) {
  const Counters& kept = snapshot.part.counters;
  check(kept);
  const torch::NoGradGuard no_grad;
  learner_->write_weights(snapshot.part.weights);
  const auto buffers = task_->model().buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(snapshot.statistics.at(i));
  evaluations_ = snapshot.part.evaluations;
  add_last_evaluation_of(run_ / kEarlierResultFile, evaluations_);
  run_progress_.resume(kept.samples, std::uint64_t(kept.exchanges));
  if (snapshot.part.ranks == world_.size()) {
    sampler_.skip_to(std::uint64_t(kept.taken));
  } else {
    // The shares are others now: where all ranks together would be, in whole batches.
    const auto batches = std::uint64_t(kept.samples / double(world_.size() * config_.batch));
    sampler_.skip_to(batches * std::uint64_t(config_.batch));
  }
  watch_.resume_from(from_seconds(kept.seconds));
  sums_ = {.steps = kept.steps, .staleness = kept.staleness, .dropped = kept.dropped};
  if (snapshot.same_crew) {
    sums_.before = kept.before;
    samples_before_ = kept.samples_before;
    sums_.computing = kept.computing;
    sums_.waiting = kept.waiting;
    sums_.samples = kept.own_samples;
    sums_.exchanges = kept.own_exchanges;
    sums_.contributors = kept.contributors;
  } else {
    // Shares and rates are of the ranks that there are.
    sums_.before = kept.seconds;
    samples_before_ = kept.samples;
  }
}

}  // namespace syncopate::train
