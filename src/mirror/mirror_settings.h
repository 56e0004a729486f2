// MirrorSettings: the configuration of one mirror, typed, as of one metadata image.
// Owner: any thread; immutable.
// Sources: spec E.1; decisions section 2; metadata::mirror_configs().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/client/admin.h"
#include "kmirror/metadata/config_resolver.h"
#include "kmirror/metadata/topic_filter.h"
#include "kmirror/mirror/fetcher_thread.h"

namespace kmirror::mirror {

struct MirrorSettings {
  MirrorSettings() = default;
  std::string bootstrap;                 ///< as configured
  std::vector<env::Endpoint> endpoints;  ///< of bootstrap
  std::string source_cluster_id;         ///< empty: not known yet
  std::string include;                   ///< mirror.topics.include
  metadata::TopicFilter filter;
  bool fail_at_gap = false;
  FetcherOptions fetcher;                ///< what all fetchers of the mirror share
  client::ConnectionOptions connection;  ///< of the connection that asks for metadata
  /// Everything that a living connection cannot follow: if it differs, connect anew. Filters are no
  /// part of it.
  std::string connection_fingerprint;
};

/// Errors: INVALID_CONFIG for a bootstrap list, INVALID_REGULAR_EXPRESSION for filters that do not
/// parse; the engine checked them, so this is a mirror of another release.
[[nodiscard]] Result<MirrorSettings> read_settings(const metadata::ConfigResolver& configs,
                                                   const metadata::MetadataImage& image,
                                                   const std::string& mirror);

/// The same for a mirror that does not exist yet: `overrides` as CreateClusterMirror gives them.
[[nodiscard]] Result<std::vector<env::Endpoint>> bootstrap_of(const metadata::ConfigMap& overrides);

}  // namespace kmirror::mirror
