#!/usr/bin/env bash
# Configures and builds into build/<flavour>. Flavours: dev (plain), asan (with UBSan), tsan.
#
#   tools/lib/build.sh FLAVOUR [--configure | TARGETS...]
#
# Other scripts source it after setup.sh.

# km_flavour_of SAN: the build folder's name for --san=SAN (empty: dev).
km_flavour_of() {
  case $1 in
    "") echo dev ;;
    asan | tsan) echo "$1" ;;
    *) km_die 64 "--san=$1 is not known; use asan or tsan" ;;
  esac
}

# km_configure FLAVOUR: runs CMake once; Ninja runs it again by itself when a file appears.
km_configure() {
  local flavour=$1 san=$1 dir=$KM_TOP/build/$1
  [ "$flavour" = dev ] && san=""
  [ -f "$dir/build.ninja" ] && return 0
  mkdir -p "$dir"
  km_say "configuring build/$flavour"
  cmake -S "$KM_TOP" -B "$dir" -G Ninja -DKMIRROR_SAN="$san" >"$dir/configure.log" 2>&1 && return 0
  rm -f "$dir/build.ninja"
  tail -n 30 "$dir/configure.log" >&2
  km_die 70 "CMake could not configure; the whole output is in build/$flavour/configure.log"
}

# km_build FLAVOUR [TARGETS...]: builds the targets (all of them when none is named).
km_build() {
  local flavour=$1 dir=$KM_TOP/build/$1 log code=0
  shift
  km_configure "$flavour"
  log=$dir/build.log
  km_say "building ${*:-everything} in build/$flavour (log: build/$flavour/build.log)"
  ninja -C "$dir" -j "$(km_jobs)" "$@" >"$log" 2>&1 &
  km_watch "build/$flavour" "$log" $! || code=$?
  [ "$code" = 0 ] && return 0
  grep -nE '(error|Error|FAILED|undefined|fatal)[: ]' "$log" | head -n 30 >&2 || true
  if grep -qE 'Killed signal|out of memory|cannot allocate' "$log"; then
    km_die 71 "a compiler ran out of memory" "Try again with KMIRROR_JOBS=1."
  fi
  if grep -q 'No space left on device' "$log"; then km_die 73 "the disk is full"; fi
  km_die 70 "the build failed; the whole output is in build/$flavour/build.log"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  KM_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  . "$KM_TOP/tools/lib/setup.sh"
  [ $# -ge 1 ] || km_die 64 "usage: tools/lib/build.sh dev|asan|tsan [--configure | TARGETS...]"
  if [ "${2:-}" = --configure ]; then km_configure "$1"; else km_build "$@"; fi
fi
