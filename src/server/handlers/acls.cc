#include "server/handlers/acls.h"

#include "kmirror/wire/create_acls_request.h"
#include "kmirror/wire/create_acls_response.h"
#include "kmirror/wire/delete_acls_request.h"
#include "kmirror/wire/delete_acls_response.h"
#include "kmirror/wire/describe_acls_request.h"
#include "kmirror/wire/describe_acls_response.h"

namespace kmirror::server {
namespace {

constexpr const char* kNoAuthorizer = "No Authorizer is configured.";

struct NoDeps {
  NoDeps() = default;
};

void describe_acls(const NoDeps&, const RequestContext&, wire::DescribeAclsRequest,
                   Reply<wire::DescribeAclsResponse> reply) {
  wire::DescribeAclsResponse response;
  response.error_code = ErrorCode::SECURITY_DISABLED;
  response.error_message = kNoAuthorizer;
  reply(response);
}

void create_acls(const NoDeps&, const RequestContext&, wire::CreateAclsRequest request,
                 Reply<wire::CreateAclsResponse> reply) {
  wire::CreateAclsResponse response;
  for (std::size_t i = 0; i < request.creations.size(); ++i) {
    auto& result = response.results.emplace_back();
    result.error_code = ErrorCode::SECURITY_DISABLED;
    result.error_message = kNoAuthorizer;
  }
  reply(response);
}

void delete_acls(const NoDeps&, const RequestContext&, wire::DeleteAclsRequest request,
                 Reply<wire::DeleteAclsResponse> reply) {
  wire::DeleteAclsResponse response;
  for (std::size_t i = 0; i < request.filters.size(); ++i) {
    auto& result = response.filter_results.emplace_back();
    result.error_code = ErrorCode::SECURITY_DISABLED;
    result.error_message = kNoAuthorizer;
  }
  reply(response);
}

}  // namespace

void add_acl_handlers(HandlerTable& table) {
  table.add<wire::DescribeAclsRequest, wire::DescribeAclsResponse>(NoDeps(), &describe_acls);
  table.add<wire::CreateAclsRequest, wire::CreateAclsResponse>(NoDeps(), &create_acls);
  table.add<wire::DeleteAclsRequest, wire::DeleteAclsResponse>(NoDeps(), &delete_acls);
}

}  // namespace kmirror::server
