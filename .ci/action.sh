#!/usr/bin/env bash
# The action's one step that does something: runs the suite as its inputs say, writes every report into a folder, and
# the summary onto the job's page, whether or not the gate holds. Its exit status is that of the run, or 2 where an
# input is wrong.
#
# Inputs, from the environment: BACKEND, OPTIMIZER and EXPECT (one a line), LEVEL, ARGS (words, quoted as in a shell),
# OUTPUT (a folder), ENVIRONMENT (where the suite is installed; empty where it is on the PATH). Subjects run in the
# job's own Python. GitHub gives GITHUB_STEP_SUMMARY and GITHUB_OUTPUT.
set -euo pipefail

arguments=()
problem=""

add_lines() { # OPTION LINES: the option once for every line that is not blank
  local line
  while IFS= read -r line; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    if [[ -n "$line" ]]; then arguments+=("$1" "$line"); fi
  done <<<"$2"
}

add_words() { # WORDS: split at spaces that are not quoted; nothing is expanded
  local words word
  if [[ -z "${1//[[:space:]]/}" ]]; then return; fi
  if ! words="$(xargs -n 1 printf '%s\n' <<<"$1" 2>/dev/null)"; then
    problem="args has a quote that is not closed"
    return
  fi
  while IFS= read -r word; do arguments+=("$word"); done <<<"$words"
}

suite=onnx-conformance
if [[ -n "${ENVIRONMENT:-}" ]]; then
  suite="$ENVIRONMENT/bin/onnx-conformance"
  arguments+=(--python "$(command -v python3)")
fi

output="${OUTPUT:-onnx-conformance}"
add_lines -b "${BACKEND:-}"
add_lines -o "${OPTIMIZER:-}"
add_lines --expect "${EXPECT:-}"
arguments+=(--level "${LEVEL:-must}" --results "$output/results.jsonl")
arguments+=(--html "$output/index.html" --junit "$output/junit.xml" --ctrf "$output/ctrf.json")
arguments+=(--json "$output/summary.json" --markdown "$output/summary.md" --badge "$output/badge.svg")
arguments+=(--annotations "$output/annotations.txt")
add_words "${ARGS:-}"
if [[ "$output" == *[[:cntrl:]]* ]]; then
  problem="output is more than one line"
fi

status=0
if [[ -n "$problem" ]]; then
  printf 'error: The input %s.\n' "$problem" >&2
  status=2
else
  mkdir -p "$output"
  rm -f "$output/summary.md" "$output/summary.json" "$output/annotations.txt"
  "$suite" run "${arguments[@]}" || status=$?
  if [[ -f "$output/annotations.txt" ]]; then cat "$output/annotations.txt"; fi
fi

if [[ -z "$problem" && -f "$output/summary.md" ]]; then
  cat "$output/summary.md" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
else
  printf '## ONNX conformance: nothing was run\n\nExit status %d; the log says why.\n' "$status" \
    >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
fi
if [[ -n "${GITHUB_OUTPUT:-}" ]]; then
  printf 'status=%d\n' "$status" >>"$GITHUB_OUTPUT"
  if [[ -z "$problem" ]]; then printf 'results=%s\n' "$output/results.jsonl" >>"$GITHUB_OUTPUT"; fi
  if [[ -z "$problem" && -f "$output/summary.json" ]]; then
    python3 "$(dirname "${BASH_SOURCE[0]}")/counts.py" "$output/summary.json" "${LEVEL:-must}" >>"$GITHUB_OUTPUT"
  fi
fi
exit "$status"
