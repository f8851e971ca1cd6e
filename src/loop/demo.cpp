#include "loop/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "loop/gate.h"
#include "loop/subject.h"

namespace burnish::loop {
namespace {

using workspace::Files;
using workspace::TaskSpec;

constexpr int kResamples = 400;
constexpr double kConfidence = 0.95;
/// For the timing of all workloads of one variant.
constexpr double kBenchSeconds = 40;
constexpr double kMostSeconds = 15, kLeastSeconds = 1;  ///< a workload
constexpr std::chrono::milliseconds kProgramDeadline{90'000};
constexpr double kProgramSeconds = 40;  ///< what a program is asked to be done in
constexpr int kNotHere = 3;             ///< exit status of a program whose framework is missing

/// Median with its interval, and the medians of resamples that the interval comes from.
DemoTime timed(std::vector<double> samples, Generator& generator) {
  DemoTime time;
  time.seconds = median(samples);
  time.interval = bootstrap_interval(
      samples,
      [&](std::span<const double> drawn) {
        time.medians.push_back(median(drawn));
        return time.medians.back();
      },
      kConfidence, kResamples, generator);
  time.samples = std::move(samples);
  return time;
}

Interval middle(std::vector<double> values) {
  const double tail = (1 - kConfidence) / 2;
  return {quantile(values, tail), quantile(values, 1 - tail)};
}

void note(Demo& demo, const std::string& text) {
  if (std::find(demo.notes.begin(), demo.notes.end(), text) == demo.notes.end())
    demo.notes.push_back(text);
}

/// What the gate said of a version, and where its files are.
struct Version {
  Contender contender;
  Files files;
};

/// A file of the workspace by its name there; empty where there is none.
std::string named(workspace::Workspace& workspace, const fs::path& name) {
  return workspace.world().files.exists(workspace.folder() / name) ? name.generic_string() : "";
}

/// What the loop recorded of a version, and what its profile counted.
Result<void> take_record(workspace::Workspace& workspace, const workspace::Record& record,
                         Contender& contender) {
  Recorded& recorded = contender.recorded.emplace();
  recorded.file = named(workspace, workspace::record_path(record.number));
  recorded.plan = named(workspace, workspace::plan_path(record.number));
  recorded.report = named(workspace, workspace::report_path(record.number));
  recorded.evidence = record.profile_evidence.pointer;
  recorded.profile = named(workspace, "profiles/" + contender.label + "/evidence.json");
  recorded.category = record.optimization.action_category;
  recorded.verdict = record.performance.verdict;
  recorded.findings = record.profile_evidence.findings;
  if (record.performance.speedup_over_previous && record.performance.interval)
    recorded.gain = Ratio{*record.performance.speedup_over_previous, *record.performance.interval};
  for (const auto& [workload, microseconds] : record.performance.latency_us_by_shape)
    recorded.seconds[workload] = microseconds * 1e-6;
  if (recorded.profile.empty()) return {};
  const fs::path file = workspace.folder() / recorded.profile;
  BURNISH_TRY_ASSIGN(const std::string text, workspace.world().files.read(file));
  BURNISH_TRY_ASSIGN(const Json evidence, parse_json(text, file.string()));
  if (!evidence.contains("kernels") || evidence["kernels"].empty()) return {};
  const Json& metrics = evidence["kernels"][0].value("metrics", Json::object());
  for (const char* name : kProfiled)
    if (metrics.contains(name) && metrics[name].value("value", Json()).is_number())
      recorded.metrics[name] = metrics[name]["value"].get<double>();
  return {};
}

/// v0 and all that was tried; those that were wrong are told and not timed.
Result<std::vector<Version>> versions_of(workspace::Workspace& workspace, Demo& demo) {
  std::vector<Version> versions;
  BURNISH_TRY_ASSIGN(const auto records, workspace.records());
  for (const auto& record : records) {
    Version version;
    Contender& contender = version.contender;
    contender.label = fmt::format("v{}", record.number);
    contender.what = record.optimization.action_category == "baseline"
                         ? "the kernel as it was given"
                         : record.optimization.action_description;
    for (const auto& search : record.search_log)  // replay names its step
      if (search.source.starts_with("replay:")) contender.what = search.source.substr(7);
    contender.gate = record.quality_gate.result;
    contender.why = record.quality_gate.failure_reason;
    contender.error = record.correctness.rel_err;
    BURNISH_TRY(take_record(workspace, record, contender));
    const bool right = record.correctness.status == "PASS";
    demo.contenders.push_back(contender);
    if (!right) continue;
    auto files = files_of(workspace, contender.label);
    if (!files) {
      note(demo, contender.label + " is not timed: " + files.error().message);
      continue;
    }
    version.files = std::move(*files);
    versions.push_back(std::move(version));
  }
  return versions;
}

/// peers/NAME/{kernel.cu,launch.toml}, as files of the candidate.
std::vector<Version> peers_of(const Example& example, const TaskSpec& task, Demo& demo) {
  std::vector<Version> peers;
  for (const std::string& name : example.folders("peers")) {
    Version peer;
    peer.contender.label = name;
    peer.contender.kind = Contender::Kind::peer;
    std::vector<std::string> wanted = {task.kernel_file, task.launch_file};
    wanted.insert(wanted.end(), task.also.begin(), task.also.end());
    for (const auto& file : wanted) {
      const auto found = example.files.find("peers/" + name + "/" + file);
      if (found != example.files.end()) peer.files[file] = found->second;
    }
    if (!peer.files.contains(task.kernel_file) || !peer.files.contains(task.launch_file)) {
      note(demo,
           fmt::format("the peer {} lacks {} or {}", name, task.kernel_file, task.launch_file));
      continue;
    }
    peers.push_back(std::move(peer));
  }
  return peers;
}

/// All that have a weight, those first that the gate leaves out: they are what a story is told for.
std::vector<std::string> reported(const TaskSpec& task) {
  std::vector<std::string> names;
  for (const bool gate : {false, true})
    for (const auto& workload : task.workloads)
      if (workload.gate == gate && workload.timed()) names.push_back(workload.name);
  return names;
}

class Measurement {
 public:
  Measurement(Loop& loop, Tools& tools, const Example& example)
      : workspace_(loop.workspace()),
        tools_(tools),
        example_(example),
        generator_(tools.random.seed()) {}

  Result<Demo> run() {
    const TaskSpec& task = workspace_.task();
    const auto& info = tools_.device.info();
    demo_.task = task.name;
    demo_.device = info.name;
    demo_.driver = info.driver;
    demo_.math = task.math_path;
    names_ = reported(task);
    demo_.headline = names_.front();
    BURNISH_TRY_ASSIGN(reference_, open_reference(workspace_));
    BURNISH_TRY_ASSIGN(versions_, versions_of(workspace_, demo_));
    if (versions_.empty()) return refused("no version is right, so there is nothing to time");
    auto peers = peers_of(example_, task, demo_);
    BURNISH_TRY(check_peers(task, peers));
    for (auto& peer : peers) versions_.push_back(std::move(peer));
    tools_.observer.progress("measuring this device's ceilings");
    BURNISH_TRY_ASSIGN(ceilings_, ceilings(workspace_, tools_.device));
    BURNISH_TRY(measure_variant(task, ""));
    for (const auto& variant : task.variants)
      BURNISH_TRY(measure_variant(workspace::variant_of(task, variant), variant.name));
    run_programs();
    compare_times(demo_);
    means();
    return std::move(demo_);
  }

 private:
  void note(const std::string& text) { loop::note(demo_, text); }

  Contender& contender(const std::string& label) {
    for (Contender& one : demo_.contenders)
      if (one.label == label) return one;
    Contender& fresh = demo_.contenders.emplace_back();
    fresh.label = label;
    fresh.kind = Contender::Kind::program;
    return fresh;
  }

  /// The task without the workloads that the peer's launch spec does not admit: a peer need not
  /// have all options.
  TaskSpec served(TaskSpec task, const Version& peer) const {
    const auto candidate =
        judged_candidate(task, peer.files, peer.contender.label, tools_.device.info().arch);
    if (!candidate) return task;  // the check says why
    std::erase_if(task.workloads, [&](const auto& workload) {
      const auto plan = candidate->plan(workload.dims);
      return !workload.timed() && !plan && plan.error().kind == ErrorKind::refused;
    });
    return task;
  }

  /// The same checks of outputs as for versions, with ordinary inputs at the task's workloads: a
  /// peer need not treat what is hostile as this task does.
  Result<void> check_peers(const TaskSpec& task, std::vector<Version>& peers) {
    std::vector<Version> built;
    for (Version& peer : peers) {
      Contender& who = peer.contender;
      tools_.observer.progress("checking the peer " + who.label);
      measure::VerifyOptions options;
      options.shapes = measure::VerifyOptions::Shapes::workloads;
      options.inputs = measure::VerifyOptions::Inputs::normal;
      options.seeds = 1;
      const auto verified =
          verify_variants(tools_.device, served(task, peer), reference_, Workloads::of_the_gate,
                          peer.files, who.label, options, tools_.random);
      if (!verified) {
        if (verified.error().kind != ErrorKind::bad_input &&
            verified.error().kind != ErrorKind::refused)
          return verified.error();
        note("the peer " + who.label + ": " + verified.error().to_string());
        continue;
      }
      who.gate = measure::to_string(verified->verdict);
      who.why = verified->why;
      double error = 0;
      for (const auto& check : verified->checks) error = std::max(error, check.errors.global);
      if (verified->verdict == measure::Verdict::pass) who.error = error;
      const bool runs = std::none_of(verified->checks.begin(), verified->checks.end(),
                                     [](const auto& check) { return check.name == "build"; });
      demo_.contenders.push_back(who);
      if (runs) built.push_back(std::move(peer));
    }
    peers = std::move(built);
    return {};
  }

  Result<void> measure_variant(const TaskSpec& task, const std::string& variant) {
    const std::string& arch = tools_.device.info().arch;
    std::vector<measure::Candidate> candidates;
    for (const Version& version : versions_) {
      auto candidate = judged_candidate(task, version.files, version.contender.label, arch);
      if (!candidate) {
        note(version.contender.label + " is not timed: " + candidate.error().to_string());
        continue;
      }
      candidates.push_back(std::move(*candidate));
    }
    const measure::Task judged = judged_task(task, reference_, Workloads::all);
    measure::BenchOptions options = tools_.timing;
    options.confidence = kConfidence;
    // Versions passed the gate; here the last launch of each is checked at these shapes.
    options.verified_launches = 0;
    options.workloads = names_;
    if (!(options.largest_seconds > 0))
      options.largest_seconds = std::clamp(kBenchSeconds / static_cast<double>(names_.size()),
                                           kLeastSeconds, kMostSeconds);
    tools_.observer.progress(fmt::format("timing {} versions and peers{}", candidates.size(),
                                         variant.empty() ? "" : ", " + variant));
    auto result = measure::bench(tools_.device, judged, candidates, {}, options, ceilings_,
                                 tools_.random, real_clock());
    if (!result && result.error().kind == ErrorKind::refused) {  // a time that cannot be
      note("nothing was timed: " + result.error().message);
      return {};
    }
    BURNISH_TRY_ASSIGN(const auto bench, std::move(result));
    if (demo_.method.empty()) demo_.method = bench.method.text();
    demo_.noise = std::max({demo_.noise, 1 - bench.noise.low, bench.noise.high - 1});
    for (const auto& [name, range] : bench.clocks) {
      const auto [known, fresh] = demo_.clocks.try_emplace(name, range);
      known->second.low = std::min(known->second.low, range.low);
      known->second.high = std::max(known->second.high, range.high);
    }
    for (const auto& warning : bench.warnings) note(warning);
    for (const auto& failed : bench.failed_launches)
      note("a timed launch was wrong: " + failed.name + ": " + failed.why);
    for (const auto& timing : bench.results) {
      DemoTime time = timed(timing.samples, generator_);
      time.contender = timing.version;
      time.variant = variant;
      time.workload = timing.workload;
      time.floor = timing.floor;
      for (const auto& workload : judged.workloads) {
        if (workload.name != timing.workload) continue;
        const auto roof = workload_roofline(judged, workload, time.seconds,
                                            timing.method.cache_state(), ceilings_);
        if (!roof) continue;
        time.copy = roof->bandwidth_utilization;
        time.math = roof->compute_utilization;
      }
      demo_.times.push_back(std::move(time));
    }
    return {};
  }

  /// {"seconds", "workloads": [{"name", "variant", "dims", "tensors": {NAME: {"dtype", "shape"}}}]}
  Result<Json> request() const {
    Json workloads = Json::array();
    std::vector<std::pair<std::string, TaskSpec>> variants{{"", workspace_.task()}};
    for (const auto& variant : workspace_.task().variants)
      variants.emplace_back(variant.name, workspace::variant_of(workspace_.task(), variant));
    for (const auto& [variant, task] : variants) {
      const measure::Task judged = judged_task(task, reference_, Workloads::all);
      for (const auto& workload : judged.workloads) {
        if (std::find(names_.begin(), names_.end(), workload.name) == names_.end()) continue;
        BURNISH_TRY_ASSIGN(const auto problem, judged.problem(workload.name, workload.dims));
        Json tensors = Json::object();
        for (const auto& tensor : problem.tensors)
          tensors[tensor.name] = {{"dtype", to_string(tensor.dtype)}, {"shape", tensor.shape}};
        Json dims = Json::object();
        for (const auto& [name, value] : workload.dims)
          dims[name] = static_cast<std::int64_t>(value);
        workloads.push_back({{"name", workload.name},
                             {"variant", variant},
                             {"dims", std::move(dims)},
                             {"tensors", std::move(tensors)}});
      }
    }
    return Json{{"seconds", kProgramSeconds}, {"workloads", std::move(workloads)}};
  }

  void run_programs() {
    for (const auto& [name, text] : example_.files) {
      if (!name.starts_with("peers/") || !name.ends_with(".py")) continue;
      tools_.observer.progress("running " + name);
      if (auto ran = run_program(name); !ran) note(ran.error().message);
    }
  }

  Result<void> run_program(const std::string& name) {
    BURNISH_TRY_ASSIGN(const auto folder, TemporaryFolder::make("burnish-peer"));
    BURNISH_TRY_ASSIGN(const Json workloads, request());
    const auto python = find_program({"python3"});
    if (!python) return environment_error(name + " was not run: python3 is not here");
    ProcessSpec spec;
    // As text: a file torch.py would stand in the way of what it imports.
    spec.argv = {python->string(), "-c", example_.files.at(name), dump_json_line(workloads)};
    spec.extra_environment = {{"PYTHONDONTWRITEBYTECODE", "1"}};
    spec.folder = folder.path();
    spec.deadline = kProgramDeadline;
    BURNISH_TRY_ASSIGN(const ProcessResult ran, workspace_.world().processes.run(spec));
    const auto lines = split_lines(trim(ran.errors));
    const std::string last = lines.empty() ? "" : to_valid_utf8(lines.back());
    if (ran.end == ProcessResult::End::exited && ran.code == kNotHere)
      return environment_error(last.empty() ? name + ": what it needs is not here" : last);
    if (!ran.ok()) note(fmt::format("{} {}: {}", name, ran.describe(), last));
    for (const auto line : split_lines(ran.output)) {
      if (trim(line).empty()) continue;
      BURNISH_TRY_ASSIGN(const Json json, parse_json(line, name));
      BURNISH_TRY(take(json, name));
    }
    return {};
  }

  Result<void> take(const Json& json, const std::string& name) {
    JsonFields fields(json, name);
    if (fields.has("note")) {
      note(fields.string("note"));
      return fields.finish();
    }
    const std::string peer = fields.string("peer"), workload = fields.string("workload");
    const std::string variant = fields.string("variant", "");
    std::vector<double> samples;
    if (const Json* raw = fields.raw("samples_us"); raw != nullptr && raw->is_array())
      for (const auto& value : *raw)
        if (value.is_number() && value.get<double>() > 0)
          samples.push_back(value.get<double>() * 1e-6);
    if (samples.empty()) fields.fail("samples_us", "there is no time");
    std::optional<double> error;
    if (fields.has("error")) error = fields.number("error");
    BURNISH_TRY(fields.finish());
    Contender& who = contender(peer);
    if (error) who.error = std::max(who.error.value_or(0), *error);
    DemoTime time = timed(std::move(samples), generator_);
    time.contender = peer;
    time.variant = variant;
    time.workload = workload;
    demo_.times.push_back(std::move(time));
    return {};
  }

  /// Over each [[workload]] with lists of dimensions, and all variants.
  void means() {
    std::map<std::string, std::set<std::string>> sets;
    for (const auto& workload : workspace_.task().workloads)
      if (!workload.set.empty()) sets[workload.set].insert(workload.name);
    for (const auto& [set, members] : sets)
      for (const auto& contender : demo_.contenders)
        for (const auto& over : demo_.contenders)
          if (contender.kind == Contender::Kind::version && contender.label != over.label &&
              (over.kind != Contender::Kind::version || over.label == demo_.contenders[0].label))
            mean(contender, over, set, members);
  }

  void mean(const Contender& contender, const Contender& over, const std::string& set,
            const std::set<std::string>& members) {
    DemoMean mean{contender.label, over.label, set, 0, {}, {}};
    double gross = 0, net = 0;
    std::vector<double> gross_drawn(kResamples), net_drawn(kResamples);
    bool has_net = over.kind != Contender::Kind::program;
    for (const DemoTime& mine : demo_.times) {
      if (mine.contender != contender.label || !members.contains(mine.workload)) continue;
      const DemoTime* other = time_of(demo_, over.label, mine.variant, mine.workload);
      if (other == nullptr) continue;
      ++mean.workloads;
      const double floor = mine.floor;
      has_net = has_net && floor > 0;
      const auto log_ratio = [&](double theirs, double ours, double off) {
        return theirs > off && ours > off ? std::log((theirs - off) / (ours - off)) : std::nan("");
      };
      gross += log_ratio(other->seconds, mine.seconds, 0);
      net += log_ratio(other->seconds, mine.seconds, floor);
      for (std::size_t i = 0; i < kResamples; ++i) {
        gross_drawn[i] += log_ratio(other->medians[i], mine.medians[i], 0);
        net_drawn[i] += log_ratio(other->medians[i], mine.medians[i], floor);
      }
    }
    if (mean.workloads == 0) return;
    const auto ratio = [&](double sum, std::vector<double>& drawn) {
      for (double& value : drawn) value = std::exp(value / mean.workloads);
      return Ratio{std::exp(sum / mean.workloads), middle(drawn)};
    };
    mean.gross = ratio(gross, gross_drawn);
    if (has_net && std::isfinite(net)) mean.net = ratio(net, net_drawn);
    demo_.means.push_back(std::move(mean));
  }

  workspace::Workspace& workspace_;
  Tools& tools_;
  const Example& example_;
  Generator generator_;
  Demo demo_;
  std::vector<std::string> names_;  ///< of the workloads that are reported
  std::shared_ptr<measure::Reference> reference_;
  std::vector<Version> versions_;  ///< that are timed, peers last
  std::vector<hardware::Ceiling> ceilings_;
};

Json pair_json(const Interval& interval) { return Json::array({interval.low, interval.high}); }

Json ratio_json(const Ratio& ratio) {
  return {{"ratio", ratio.value}, {"interval", pair_json(ratio.interval)}};
}

const char* kind_name(Contender::Kind kind) {
  switch (kind) {
    case Contender::Kind::version:
      return "version";
    case Contender::Kind::peer:
      return "peer";
    case Contender::Kind::program:
      return "program";
  }
  return "";
}

}  // namespace

Result<Demo> measure_story(Loop& loop, Tools& tools, const Example& example) {
  return Measurement(loop, tools, example).run();
}

const DemoTime* time_of(const Demo& demo, const std::string& contender, const std::string& variant,
                        const std::string& workload) {
  for (const DemoTime& time : demo.times)
    if (time.contender == contender && time.variant == variant && time.workload == workload)
      return &time;
  return nullptr;
}

void compare_times(Demo& demo) {
  for (DemoTime& time : demo.times)
    for (const DemoTime& other : demo.times) {
      if (other.variant != time.variant || other.workload != time.workload ||
          other.contender == time.contender)
        continue;
      std::vector<double> drawn;
      for (std::size_t i = 0; i < std::min(time.medians.size(), other.medians.size()); ++i)
        drawn.push_back(other.medians[i] / time.medians[i]);
      time.over[other.contender] = {other.seconds / time.seconds, middle(drawn)};
    }
}

Json to_json(const Demo& demo) {
  Json json = {{"task", demo.task},     {"device", demo.device}, {"driver", demo.driver},
               {"method", demo.method}, {"math", demo.math},     {"headline", demo.headline},
               {"noise", demo.noise}};
  json["contenders"] = Json::array();
  for (const auto& one : demo.contenders) {
    Json item = {{"label", one.label},
                 {"kind", kind_name(one.kind)},
                 {"what", one.what},
                 {"gate", one.gate},
                 {"why", one.why}};
    if (one.error) item["error"] = *one.error;
    if (one.recorded) {
      const Recorded& recorded = *one.recorded;
      item["record"] = {{"file", recorded.file},         {"plan", recorded.plan},
                        {"report", recorded.report},     {"evidence", recorded.evidence},
                        {"profile", recorded.profile},   {"category", recorded.category},
                        {"findings", recorded.findings}, {"verdict", recorded.verdict}};
      if (recorded.gain) item["record"]["gain"] = ratio_json(*recorded.gain);
      item["record"]["seconds"] = recorded.seconds;
      item["record"]["metrics"] = recorded.metrics;
    }
    json["contenders"].push_back(std::move(item));
  }
  json["times"] = Json::array();
  for (const auto& time : demo.times) {
    Json item = {{"contender", time.contender},
                 {"variant", time.variant},
                 {"workload", time.workload},
                 {"p50", time.seconds},
                 {"interval", pair_json(time.interval)}};
    if (time.floor > 0) item["floor"] = time.floor;
    if (time.copy) item["copy"] = *time.copy;
    if (time.math) item["math"] = *time.math;
    item["over"] = Json::object();
    for (const auto& other : demo.contenders)
      if (const auto over = time.over.find(other.label); over != time.over.end())
        item["over"][other.label] = ratio_json(over->second);
    item["samples"] = time.samples;
    json["times"].push_back(std::move(item));
  }
  json["means"] = Json::array();
  for (const auto& mean : demo.means) {
    Json item = {{"contender", mean.contender},
                 {"over", mean.over},
                 {"set", mean.set},
                 {"workloads", mean.workloads},
                 {"gross", ratio_json(mean.gross)}};
    if (mean.net) item["net"] = ratio_json(*mean.net);
    json["means"].push_back(std::move(item));
  }
  json["clocks"] = Json::object();
  for (const auto& [name, range] : demo.clocks) json["clocks"][name] = pair_json(range);
  json["notes"] = demo.notes;
  return json;
}

Result<Demo> demo_from_json(const Json& json, const std::string& file) {
  JsonFields fields(json, file);
  fields.ignore_unknown();  // the story, which the contenders have too
  Demo demo;
  demo.task = fields.string("task");
  demo.device = fields.string("device");
  demo.driver = fields.string("driver");
  demo.method = fields.string("method");
  demo.math = fields.string("math", "");
  demo.headline = fields.string("headline");
  demo.noise = fields.number("noise");
  demo.notes = fields.strings("notes");
  const auto pair_at = [](JsonFields& from, const std::string& key) {
    const Json* pair = from.raw(key);
    if (pair != nullptr && pair->is_array() && pair->size() == 2 && (*pair)[0].is_number() &&
        (*pair)[1].is_number())
      return Interval{(*pair)[0].get<double>(), (*pair)[1].get<double>()};
    from.fail(key, "there are no two numbers");
    return Interval{};
  };
  const auto ratio_at = [&](JsonFields from) {
    return Ratio{from.number("ratio"), pair_at(from, "interval")};
  };
  for (JsonFields& item : fields.objects("contenders")) {
    Contender& one = demo.contenders.emplace_back();
    one.label = item.string("label");
    const std::string kind = item.one_of("kind", {"version", "peer", "program"});
    for (const auto known :
         {Contender::Kind::version, Contender::Kind::peer, Contender::Kind::program})
      if (kind == kind_name(known)) one.kind = known;
    one.what = item.string("what");
    one.gate = item.string("gate");
    one.why = item.string("why");
    if (item.has("error")) one.error = item.number("error");
    if (!item.has("record")) continue;
    JsonFields record = item.object("record");
    Recorded& recorded = one.recorded.emplace();
    recorded.file = record.string("file");
    recorded.plan = record.string("plan");
    recorded.report = record.string("report");
    recorded.evidence = record.string("evidence");
    recorded.profile = record.string("profile");
    recorded.category = record.string("category");
    recorded.verdict = record.string("verdict");
    recorded.findings = record.strings("findings");
    if (record.has("gain")) recorded.gain = ratio_at(record.object("gain"));
    recorded.seconds = record.numbers("seconds");
    recorded.metrics = record.numbers("metrics");
  }
  for (JsonFields& item : fields.objects("times")) {
    DemoTime& time = demo.times.emplace_back();
    time.contender = item.string("contender");
    time.variant = item.string("variant");
    time.workload = item.string("workload");
    time.seconds = item.number("p50");
    time.interval = pair_at(item, "interval");
    time.floor = item.number("floor", 0);
    if (item.has("copy")) time.copy = item.number("copy");
    if (item.has("math")) time.math = item.number("math");
    JsonFields over = item.object("over");
    for (const auto& other : demo.contenders)
      if (over.has(other.label)) time.over[other.label] = ratio_at(over.object(other.label));
    if (const Json* samples = item.raw("samples"); samples != nullptr && samples->is_array())
      for (const Json& value : *samples)
        if (value.is_number()) time.samples.push_back(value.get<double>());
  }
  for (JsonFields& item : fields.objects("means")) {
    DemoMean& mean = demo.means.emplace_back();
    mean.contender = item.string("contender");
    mean.over = item.string("over");
    mean.set = item.string("set");
    mean.workloads = static_cast<int>(item.integer("workloads"));
    mean.gross = ratio_at(item.object("gross"));
    if (item.has("net")) mean.net = ratio_at(item.object("net"));
  }
  if (const Json* clocks = fields.raw("clocks"); clocks != nullptr && clocks->is_object()) {
    JsonFields ranges = fields.object("clocks");
    for (const auto& [name, range] : clocks->items()) demo.clocks[name] = pair_at(ranges, name);
  }
  BURNISH_TRY(fields.finish());
  return demo;
}

}  // namespace burnish::loop
