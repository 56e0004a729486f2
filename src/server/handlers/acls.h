// DescribeAcls (29), CreateAcls (30), DeleteAcls (31) while there is no authorizer: every one is
// answered SECURITY_DISABLED, as Kafka does.
// Owner: any loop. Sources: Kafka 4.4 AclApis.
#pragma once

#include "server/handler_table.h"

namespace kmirror::server {

void add_acl_handlers(HandlerTable& table);

}  // namespace kmirror::server
