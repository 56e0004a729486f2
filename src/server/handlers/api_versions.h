// ApiVersions (key 18): which APIs and features this server has. Answered in version 0 when the
// client's version is unknown, because that is the only form it can surely read.
// Owner: any loop. Sources: KIP-35, KIP-511, KIP-584, KIP-1242; Kafka 4.4 ApiVersionsResponse.
#pragma once

#include "kmirror/metadata/engine.h"
#include "kmirror/wire/api_versions_request.h"
#include "kmirror/wire/api_versions_response.h"
#include "server/handler_table.h"

namespace kmirror::server {

class ApiVersionsHandler final : public Handler {
 public:
  /// `table` is the one this handler is added to; it is complete before the first request.
  ApiVersionsHandler(const HandlerTable& table, const metadata::MetadataEngine& engine,
                     NodeId node_id);
  void start(const RequestContext& context, Reader body, ReplySink sink) override;

 private:
  [[nodiscard]] wire::ApiVersionsResponse answer(const wire::ApiVersionsRequest& request,
                                                 ApiVersion version) const;
  const HandlerTable& table_;
  const metadata::MetadataEngine& metadata_;
  NodeId node_id_;
};

/// Starts and ends with a letter or digit, with letters, digits, '-' and '.' between.
[[nodiscard]] bool is_software_name(std::string_view text);

}  // namespace kmirror::server
