#include "golden/wire/java_codec.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

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
  return made != nullptr ? std::filesystem::path(made) : std::filesystem::path();
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

void read_verdicts(const std::filesystem::path& path, JavaRun& run) {
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

JavaRun run_java() {
  JavaRun run;
  const auto folder = fresh_folder();
  if (folder.empty()) {
    run.failure = "cannot make a folder for temporary files";
    return run;
  }
  const std::string lib = kafka_lib(folder, run.failure);
  if (!run.failure.empty()) return run;
  const auto ours = folder / "ours";
  const auto theirs = folder / "theirs";
  const auto verdicts = folder / "verdicts";
  const auto errors = folder / "java.err";
  write_samples(ours.string(), make_samples(kSeed));
  run.failure =
      shell(fmt::format(
                "java -Xmx512m -XX:+UseSerialGC -cp '{}/*' '{}/tests/golden/wire/GoldenWire.java' "
                "{} '{}' '{}' '{}' 2> '{}'",
                lib, KM_SOURCE_DIR, kSeed, ours.string(), theirs.string(), verdicts.string(),
                errors.string()),
            errors);
  if (!run.failure.empty()) return run;
  read_verdicts(verdicts, run);
  run.samples = read_samples(theirs.string());
  std::filesystem::remove_all(folder);
  return run;
}

}  // namespace

const JavaRun& java_run() {
  static const JavaRun run = run_java();
  return run;
}

}  // namespace kmirror::wire::test
