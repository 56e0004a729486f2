// Runs a foreign codec over our samples, once a test program: Kafka's own (GoldenWire.java), or the
// one in Python (pycodec.py) for what Kafka does not have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "golden/wire/samples.h"

namespace kmirror::wire::test {

struct PeerRun {
  PeerRun() = default;
  std::string
      failure;  ///< why there is no result (no JDK, no Kafka, an exception); empty if all is well
  std::vector<Sample> samples;  ///< what the peer made
  std::map<std::string, std::vector<std::string>>
      bad;                                            ///< of our samples, by message: the verdicts
  std::map<std::string, std::pair<int, int>> ranges;  ///< the peer's versions of each message
  std::vector<std::string> unknown;                   ///< messages that the peer does not have
};

/// The result of the run; the first call makes it. Kafka's jars come from $KMIRROR_KAFKA_LIB, a
/// folder of jars, or else are fetched by Maven as those of the tests with real brokers are.
[[nodiscard]] const PeerRun& java_run();
/// The same with pycodec.py, for the messages that is_for_python() names.
[[nodiscard]] const PeerRun& python_run();

/// The mirror protocol: Kafka has no such class.
[[nodiscard]] bool is_ours(std::string_view name);
/// The mirror protocol and the messages with its tagged additions.
[[nodiscard]] bool is_for_python(std::string_view name);

}  // namespace kmirror::wire::test
