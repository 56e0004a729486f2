// Runs a fuzz entry without libFuzzer: its seeds, mutations of them, and files named as arguments
// (an input that once failed). $KMIRROR_FUZZ_SECONDS goes on mutating for so long.
// A failing input is printed in hexadecimal.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "fuzz/fuzz.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using kmirror::Bytes;

constexpr std::size_t kMutations = 40000;
Bytes current;

// On the way out: writes the input with nothing but system calls.
void show_input() {
  static constexpr char kDigits[] = "0123456789abcdef";
  char text[2];
  [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, "input: ", 7);
  for (const std::uint8_t byte : current) {
    text[0] = kDigits[byte >> 4];
    text[1] = kDigits[byte & 15];
    ignored = write(STDERR_FILENO, text, 2);
  }
  ignored = write(STDERR_FILENO, "\n", 1);
}

void on_abort(int signal_number) {
  show_input();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void run(Bytes input) {
  current = std::move(input);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

// One to four changes: a byte, a bit, a length-like pattern, a cut, a repeated part.
Bytes mutate(const Bytes& seed, std::mt19937_64& random) {
  static constexpr std::uint8_t kPatterns[][5] = {{0x7f, 0xff, 0xff, 0xff, 0},
                                                  {0xff, 0xff, 0xff, 0xff, 0x0f},
                                                  {0x80, 0, 0, 0, 0},
                                                  {0, 0, 0, 1, 2}};
  Bytes out = seed;
  for (std::size_t changes = 1 + random() % 4; changes > 0 && !out.empty(); --changes) {
    const std::size_t at = random() % out.size();
    switch (random() % 5) {
      case 0:
        out[at] = static_cast<std::uint8_t>(random());
        break;
      case 1:
        out[at] = static_cast<std::uint8_t>(out[at] ^ (1U << (random() % 8)));
        break;
      case 2: {
        const auto& pattern = kPatterns[random() % std::size(kPatterns)];
        for (std::size_t i = 0; i < 5 && at + i < out.size(); ++i) out[at + i] = pattern[i];
        break;
      }
      case 3:
        out.resize(at);
        break;
      default: {
        const std::size_t count = std::min<std::size_t>(1 + random() % 16, out.size() - at);
        const Bytes part(out.begin() + static_cast<std::ptrdiff_t>(at),
                         out.begin() + static_cast<std::ptrdiff_t>(at + count));
        out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), part.begin(), part.end());
        break;
      }
    }
  }
  return out;
}

void run_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path);
    std::exit(1);
  }
  run(Bytes(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace

int main(int count, char** arguments) {
  std::signal(SIGABRT, &on_abort);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(&show_input);
  for (int i = 1; i < count; ++i) run_file(arguments[i]);
  const std::vector<Bytes> seeds = kmirror::fuzz::fuzz_seeds();
  for (const Bytes& seed : seeds) run(seed);

  const char* seconds = std::getenv("KMIRROR_FUZZ_SECONDS");
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 0);
  std::mt19937_64 random(1);
  std::size_t runs = 0;
  while (!seeds.empty() && (runs < kMutations || std::chrono::steady_clock::now() < end)) {
    run(mutate(seeds[random() % seeds.size()], random));
    ++runs;
  }
  std::printf("%zu files, %zu seeds, %zu mutations\n1 passed, 0 failed\n",
              static_cast<std::size_t>(count - 1), seeds.size(), runs);
  return 0;
}
