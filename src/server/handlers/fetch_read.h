// read_fetch: one look at the logs of a fetch, as far as its limits go.
// Owner: any thread may read logs; called on the loop of the fetch. Nothing waits here.
// Invariants: the first batch of the first partition that has any comes whole, whatever the limits;
// the answer's records never exceed the limit otherwise.
// Sources: KIP-74, KIP-98, KIP-320, KIP-595 (diverging epoch); Kafka 4.4
// ReplicaManager.readFromLog, Partition.fetchRecords; decisions section 2 (mirror leader epoch).
#pragma once

#include <vector>

#include "kmirror/wire/fetch_response.h"
#include "server/handlers/fetch_plan.h"

namespace kmirror::server {

struct FetchRead {
  FetchRead() = default;
  struct Entry {
    Entry() = default;
    FetchPartitionPtr partition;
    wire::FetchResponse::PartitionData data;
    std::size_t record_bytes = 0;
  };
  std::vector<Entry> entries;  ///< those that the answer names
  std::size_t bytes = 0;       ///< records of all of them
  bool must_answer = false;    ///< an error or a diverging epoch is among them: no waiting
};

/// `image` must be the newest one. Looks partitions up again if the image has changed.
[[nodiscard]] FetchRead read_fetch(const FetchPlan& plan, const metadata::MetadataImage& image,
                                   const PartitionFinder& finder);

}  // namespace kmirror::server
