#!/usr/bin/env bash
# Makes a Debian 12 machine able to build and test kmirror. Needs bash and coreutils only.
#
#   tools/lib/setup.sh build    compiler and libraries (what tools/run needs)
#   tools/lib/setup.sh test     the same plus JDK, Maven, kcat, Python venv and clang-format
#
# Installs only what dpkg does not know yet, so a second run changes nothing and asks nobody.
# KMIRROR_FORCE=1 goes on with little disk or memory; KMIRROR_APT_WAIT is the number of seconds
# to wait for another apt (default 300). Sourcing the file defines the functions only.
# shellcheck source-path=SCRIPTDIR
KM_TOP=${KM_TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
. "$KM_TOP/tools/lib/say.sh"

KM_MIN_DISK_MB=3072
KM_MIN_MEMORY_MB=1200
KM_MEMORY_PER_JOB_MB=1500

# km_packages TIER: Debian packages of a tier, one a line.
km_packages() {
  printf '%s\n' g++ cmake ninja-build ccache mold python3 libboost1.81-dev libboost-json1.81-dev \
    libboost-program-options1.81-dev libssl-dev libsasl2-dev libzstd-dev liblz4-dev \
    libsnappy-dev zlib1g-dev libspdlog-dev libfmt-dev libre2-dev libgtest-dev libgmock-dev
  [ "$1" = test ] || return 0
  printf '%s\n' git kcat openjdk-17-jdk-headless maven python3-venv clang-format-16 \
    libbenchmark-dev ca-certificates
}

# km_missing TIER: those of them that are not installed.
km_missing() {
  local wanted
  wanted=$(km_packages "$1" | sort)
  # dpkg-query fails when it does not know a name; what it knows is printed all the same.
  # shellcheck disable=SC2086
  comm -23 <(printf '%s\n' "$wanted") <(dpkg-query -W -f '${Package} ${Status}\n' $wanted \
    2>/dev/null | awk '$4 == "installed" {print $1}' | sort)
}

# km_memory_mb: memory that is free to use now, in MiB.
km_memory_mb() { awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo; }

# km_jobs: how many compilers may run at once: one a core, as far as memory allows.
km_jobs() {
  local cores memory jobs
  cores=$(nproc)
  memory=$(km_memory_mb)
  jobs=$((memory / KM_MEMORY_PER_JOB_MB))
  ((jobs > cores)) && jobs=$cores
  ((jobs < 1)) && jobs=1
  printf '%s\n' "${KMIRROR_JOBS:-$jobs}"
}

# km_check_machine: refuses a machine on which the build would die half-way, and says why.
km_check_machine() {
  local disk memory
  disk=$(df -Pm "$KM_TOP" | awk 'NR == 2 {print $4}')
  memory=$(km_memory_mb)
  [ -w "$KM_TOP" ] || km_die 73 "cannot write to $KM_TOP" \
    "The build goes into its folder build/. Clone the repository to a folder of your own."
  [ "${KMIRROR_FORCE:-}" = 1 ] && return 0
  if [ ! -d "$KM_TOP/build/dev" ] && ((disk < KM_MIN_DISK_MB)); then
    km_die 73 "only ${disk} MiB of disk are free below $KM_TOP; packages and build need ${KM_MIN_DISK_MB}" \
      "Free some space, or clone to another disk. KMIRROR_FORCE=1 tries all the same."
  fi
  if ((memory < KM_MIN_MEMORY_MB)); then
    km_die 71 "only ${memory} MiB of memory are available; one compiler needs up to ${KM_MIN_MEMORY_MB}" \
      "Close other programs or add swap. KMIRROR_FORCE=1 tries all the same."
  fi
}

# km_become_root: sets KM_SUDO to the prefix for commands that need root, or explains.
km_become_root() {
  KM_SUDO=""
  [ "$(id -u)" = 0 ] && return 0
  local missing=$1
  command -v sudo >/dev/null || km_die 77 "packages are missing, and neither root nor sudo is at hand" \
    "Ask somebody with root to run:" "  apt-get install -y $missing"
  if ! sudo -n true 2>/dev/null; then
    [ -t 0 ] || km_die 77 "packages are missing, and sudo wants a password but there is no terminal" \
      "Run this once by hand, then try again:" "  sudo apt-get install -y $missing"
    km_say "sudo may ask for your password now (packages are installed with apt-get)"
    sudo true || km_die 77 "sudo refused" "As root: apt-get install -y $missing"
  fi
  KM_SUDO="sudo"
}

# km_apt LABEL ARGS...: apt-get with a bounded wait for its lock. Output goes to KM_SETUP_LOG.
# Returns apt-get's exit code.
km_apt() {
  local label=$1 waited=0 limit=${KMIRROR_APT_WAIT:-300} pid code holder
  shift
  while true; do
    : >"$KM_SETUP_LOG"
    $KM_SUDO env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a LC_ALL=C apt-get \
      -o APT::Update::Error-Mode=any -o Acquire::Retries=2 "$@" >"$KM_SETUP_LOG" 2>&1 </dev/null &
    pid=$!
    code=0
    km_watch "$label" "$KM_SETUP_LOG" "$pid" || code=$?
    [ "$code" = 0 ] && return 0
    grep -qE 'Could not get lock|Unable to (acquire|lock)' "$KM_SETUP_LOG" || return "$code"
    holder=$(grep -oE 'held by process [0-9]+ \([^)]*\)' "$KM_SETUP_LOG" | head -n 1)
    ((waited >= limit)) && km_die 75 "apt is still locked after ${waited} s${holder:+ ($holder)}" \
      "Wait until the other package manager ends, then try again."
    km_say "apt is locked${holder:+: $holder}; waiting (${waited} of at most ${limit} s)"
    sleep 5
    waited=$((waited + 5))
  done
}

# km_install PACKAGES...: installs them; refreshes the package lists when that is needed.
km_install() {
  KM_SETUP_LOG=$KM_TOP/build/setup.log
  mkdir -p "$KM_TOP/build"
  km_become_root "$*"
  km_say "installing $# packages with apt-get (log: build/setup.log): $*"
  # Lists that already know every package are good enough: no refresh, less to go wrong.
  if [ "$(apt-cache show "$@" 2>/dev/null | grep -c '^Package: ')" -ge $# ] &&
    km_apt "installing" install -y --no-install-recommends "$@"; then
    return 0
  fi
  km_apt "refreshing package lists" update || km_say "apt-get update failed: $(tail -n 1 "$KM_SETUP_LOG")"
  km_apt "installing" install -y --no-install-recommends "$@" && return 0
  tail -n 15 "$KM_SETUP_LOG" >&2
  if grep -qE 'Temporary failure resolving|Could not connect|Failed to fetch|Could not resolve' "$KM_SETUP_LOG"; then
    km_die 69 "the package servers cannot be reached" \
      "Check the network, or http_proxy in the environment. Missing: $*"
  fi
  km_die 69 "apt-get could not install: $*" "The reason stands above and in build/setup.log."
}

# km_setup TIER: everything; quick and silent but for one line when nothing is missing.
km_setup() {
  local tier=$1 missing
  km_say "set-up: looking at packages, disk and memory"
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    km_die 69 "this is not a Debian system; the set-up knows apt-get only" \
      "Install by hand what stands for: $(km_packages "$tier" | tr '\n' ' ')"
  fi
  km_check_machine
  missing=$(km_missing "$tier")
  if [ -n "$missing" ]; then
    grep -qs '^VERSION_ID="12"' /etc/os-release ||
      km_say "warning: tried on Debian 12; here is $(. /etc/os-release 2>/dev/null && printf '%s' "${PRETTY_NAME:-something else}")"
    # shellcheck disable=SC2086
    km_install $missing
  fi
  km_say "set-up: all $(km_packages "$tier" | wc -l) packages are there; $(km_jobs) parallel jobs"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  case ${1:-} in
    build | test) km_setup "$1" ;;
    *) km_die 64 "usage: tools/lib/setup.sh build|test" ;;
  esac
fi
