#include "golden/wire/peer_codec.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "kmirror/base/check.h"

namespace kmirror::wire::test {
namespace {

constexpr int kSeed = 20250806;
constexpr const char* kFetch =
    "cd '{}/tests/interop' && python3 -B -c 'from harness import kafka_dist; "
    "print(kafka_dist.fetch(kafka_dist.MAIN) + \"/lib\")' > '{}' 2> '{}'";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs `command` in a shell; its words on stderr if it failed, else nothing.
std::string shell(const std::string& command, const std::filesystem::path& errors) {
  const int status = std::system(command.c_str());
  if (status == 0) return "";
  return fmt::format("exit status {} of: {}\n{}", status, command, text_of(errors));
}

// A fresh folder; left behind if something fails, for a look at its files.
std::filesystem::path fresh_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "kmirror-golden-XXXXXX").string();
  const char* made = mkdtemp(pattern.data());
  KM_CHECK(made != nullptr, "cannot make a folder like {}", pattern);
  return made;
}

std::string kafka_lib(const std::filesystem::path& folder, std::string& failure) {
  const char* given = std::getenv("KMIRROR_KAFKA_LIB");
  if (given != nullptr) return given;
  const auto out = folder / "lib.txt";
  const auto errors = folder / "lib.err";
  failure = shell(fmt::format(kFetch, KM_SOURCE_DIR, out.string(), errors.string()), errors);
  std::string lib = text_of(out);
  while (!lib.empty() && lib.back() == '\n') lib.pop_back();
  return lib;
}

void read_verdicts(const std::filesystem::path& path, PeerRun& run) {
  std::istringstream lines(text_of(path));
  std::string line;
  bool done = false;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string what;
    std::string name;
    words >> what >> name;
    if (what == "unknown") {
      run.unknown.push_back(name);
    } else if (what == "range") {
      words >> run.ranges[name].first >> run.ranges[name].second;
    } else if (what == "bad") {
      run.bad[name].push_back(line);
    } else if (what == "done") {
      done = true;
    }
  }
  if (!done) run.failure = "GoldenWire did not come to its end";
}

// `command`: up to the arguments that all peers take.
PeerRun run_peer(const std::string& command, const std::vector<Sample>& samples,
                 const std::filesystem::path& folder) {
  PeerRun run;
  const auto ours = folder / "ours";
  const auto theirs = folder / "theirs";
  const auto verdicts = folder / "verdicts";
  const auto errors = folder / "errors";
  write_samples(ours.string(), samples);
  run.failure = shell(fmt::format("{} {} '{}' '{}' '{}' 2> '{}'", command, kSeed, ours.string(),
                                  theirs.string(), verdicts.string(), errors.string()),
                      errors);
  if (!run.failure.empty()) return run;
  read_verdicts(verdicts, run);
  run.samples = read_samples(theirs.string());
  std::filesystem::remove_all(folder);
  return run;
}

PeerRun run_java() {
  PeerRun run;
  const auto folder = fresh_folder();
  const std::string lib = kafka_lib(folder, run.failure);
  if (!run.failure.empty()) return run;
  return run_peer(fmt::format("java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '{}/*' "
                              "'{}/tests/golden/wire/GoldenWire.java'",
                              lib, KM_SOURCE_DIR),
                  make_samples(kSeed), folder);
}

PeerRun run_python() {
  std::vector<Sample> samples = make_samples(kSeed);
  std::erase_if(samples, [](const Sample& sample) { return !is_for_python(sample.name); });
  return run_peer(fmt::format("python3 -B '{}/tests/golden/wire/pycodec.py'", KM_SOURCE_DIR),
                  samples, fresh_folder());
}

}  // namespace

const PeerRun& java_run() {
  static const PeerRun run = run_java();
  return run;
}

const PeerRun& python_run() {
  static const PeerRun run = run_python();
  return run;
}

bool is_ours(std::string_view name) {
  return name.find("Mirror") != std::string_view::npos || name.starts_with("BumpLeaderEpochs") ||
         name == "AclOwnersRecord";
}

bool is_for_python(std::string_view name) {
  return is_ours(name) || name == "FetchRequest" || name == "FetchResponse" ||
         name == "CreateTopicsRequest";
}

}  // namespace kmirror::wire::test
