// Environment: everything a component may use of the outside world, handed in at construction.
#pragma once

#include <vector>

#include "kmirror/env/clock.h"
#include "kmirror/env/file.h"
#include "kmirror/env/loop.h"
#include "kmirror/env/network.h"

namespace kmirror::env {

/// References that outlive every component. loops[0] also runs listeners, metadata and timers.
struct Environment {
  Environment(Clock& c, Rng& r, FileSystem& f, Network& n, DiskPool& d, std::vector<Loop*> l)
      : clock(c), rng(r), files(f), network(n), disk(d), loops(std::move(l)) {}
  Clock& clock;
  Rng& rng;
  FileSystem& files;
  Network& network;
  DiskPool& disk;
  std::vector<Loop*> loops;
};

}  // namespace kmirror::env
