// ResponseTo<Request>: the response message of a request message, for every API of the wire room.
// Owner: none; types only. Sources: build/gen/kmirror/wire/api_table.inc.
#pragma once

namespace kmirror::wire {
#define KM_API(name, ...) \
  struct name##Request;   \
  struct name##Response;
#include "kmirror/wire/api_table.inc"
#undef KM_API
}  // namespace kmirror::wire

namespace kmirror::client {

template <class Request>
struct ResponseOf;

#define KM_API(name, ...)                   \
  template <>                               \
  struct ResponseOf<wire::name##Request> {  \
    using type = wire::name##Response;      \
    static constexpr auto kApiName = #name; \
  };
#include "kmirror/wire/api_table.inc"
#undef KM_API

template <class Request>
using ResponseTo = typename ResponseOf<Request>::type;

}  // namespace kmirror::client
