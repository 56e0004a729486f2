#!/usr/bin/env bash
# How the project's scripts talk: one line an event, remedies spelled out, no colours needed.
# Sourced by the other scripts; needs bash and coreutils only.

# km_say TEXT: one line of progress on standard error.
km_say() { printf 'kmirror: %s\n' "$*" >&2; }

# km_die CODE TEXT [REMEDY...]: says what went wrong and what to do, then exits with CODE.
km_die() {
  local code=$1 text=$2
  shift 2
  printf 'kmirror: error: %s\n' "$text" >&2
  local remedy
  for remedy in "$@"; do printf '         %s\n' "$remedy" >&2; done
  exit "$code"
}

# km_watch LABEL LOG PID: waits for PID, repeating the newest line of LOG every few seconds, so
# that a long step never looks dead. Returns the exit code of PID.
km_watch() {
  local label=$1 log=$2 pid=$3 last="" line ticks=0
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    ticks=$((ticks + 1))
    ((ticks % 50 == 0)) || continue
    line=$(tail -c 2000 "$log" 2>/dev/null | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 | cut -c1-100)
    [ "$line" = "$last" ] || km_say "$label: $line"
    last=$line
  done
  wait "$pid"
}
