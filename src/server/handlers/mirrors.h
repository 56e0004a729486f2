// The mirror RPCs of both generations: they go to the MirrorService as they came.
// Owner: any loop; the service answers on loop 0.
// Sources: spec C.1, C.2; decisions section 2 (keys).
#pragma once

#include "server/handlers/table.h"

namespace kmirror::server {

void add_mirror_handlers(HandlerTable& table, const HandlerServices& services);
/// Asks the mirror; without one everything is writable. Any thread.
[[nodiscard]] WriteGuard write_guard(mirror::MirrorService* mirror);

}  // namespace kmirror::server
