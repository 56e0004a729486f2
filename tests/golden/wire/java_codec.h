// Runs Kafka's own codec (GoldenWire.java) over our samples, once a test program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "golden/wire/samples.h"

namespace kmirror::wire::test {

struct JavaRun {
  JavaRun() = default;
  std::string
      failure;  ///< why there is no result: no JDK, no Kafka, an exception; empty if all well
  std::vector<Sample> samples;  ///< what Kafka's classes made
  std::map<std::string, std::vector<std::string>>
      bad;                                            ///< of our samples, by message: the verdicts
  std::map<std::string, std::pair<int, int>> ranges;  ///< Kafka's versions of each message
  std::vector<std::string> unknown;                   ///< messages that Kafka does not have
};

/// The result of the run; the first call makes it. Kafka's jars come from $KMIRROR_KAFKA_LIB, a
/// folder of jars, or else are fetched by Maven as those of the tests with real brokers are.
[[nodiscard]] const JavaRun& java_run();

}  // namespace kmirror::wire::test
