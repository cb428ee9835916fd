#!/usr/bin/env bash
# The main step of the action: run the suite, write every report into a folder, and write the summary to the page of the
# job, whether the run passes or fails. The exit status is that of the run, or 2 if an input is wrong.
#
# Inputs from the environment: BACKEND, OPTIMIZER and EXPECT (one value per line), FAIL_LEVEL, ARGS (words, quoted as in
# a shell), OUTPUT (a folder), ENVIRONMENT (where the suite is installed; empty if it is on the PATH). Subjects run in
# the Python of the job. GitHub sets GITHUB_STEP_SUMMARY and GITHUB_OUTPUT.
set -euo pipefail

arguments=()
problem=""

add_lines() { # OPTION LINES: add the option once for every line that is not blank
  local line
  while IFS= read -r line; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    if [[ -n "$line" ]]; then arguments+=("$1" "$line"); fi
  done <<<"$2"
}

add_words() { # WORDS: split at unquoted spaces, without expansion
  local words word
  if [[ -z "${1//[[:space:]]/}" ]]; then return; fi
  if ! words="$(xargs -n 1 printf '%s\n' <<<"$1" 2>/dev/null)"; then
    problem="args has an unclosed quote"
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
arguments+=(--fail-level "${FAIL_LEVEL:-must}" --results "$output/results.jsonl")
arguments+=(--html "$output/index.html" --junit "$output/junit.xml" --ctrf "$output/ctrf.json")
arguments+=(--json "$output/summary.json" --markdown "$output/summary.md" --badge "$output/badge.svg")
arguments+=(--annotations "$output/annotations.txt")
add_words "${ARGS:-}"
if [[ "$output" == *[[:cntrl:]]* ]]; then
  problem="output contains a line break or another control character"
elif [[ "$output" == -* ]]; then
  problem="output begins with a dash, as an option does; write ./$output"
fi

status=0
if [[ -n "$problem" ]]; then
  printf 'error: Input %s.\n' "$problem" >&2
  status=2
else
  mkdir -p -- "$output"
  rm -f -- "$output/summary.md" "$output/summary.json" "$output/annotations.txt"
  "$suite" run "${arguments[@]}" || status=$?
  if ((status == 0)) && [[ ! -f "$output/summary.md" ]]; then # such as args with --help
    printf 'error: Nothing was run. Correct the input args.\n' >&2
    status=2
  fi
  if [[ -f "$output/annotations.txt" ]]; then cat -- "$output/annotations.txt"; fi
fi

if [[ -z "$problem" && -f "$output/summary.md" ]]; then
  cat -- "$output/summary.md" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
else
  printf '## FAILED: ONNX conformance\n\nNothing was run (exit status %d). The log has the reason.\n' "$status" \
    >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
fi
if [[ -n "${GITHUB_OUTPUT:-}" ]]; then
  printf 'status=%d\n' "$status" >>"$GITHUB_OUTPUT"
  if [[ -z "$problem" ]]; then printf 'results=%s\n' "$output/results.jsonl" >>"$GITHUB_OUTPUT"; fi
  if [[ -z "$problem" && -f "$output/summary.md" ]]; then
    python3 "$(dirname "${BASH_SOURCE[0]}")/counts.py" "$output/summary.json" "${FAIL_LEVEL:-must}" >>"$GITHUB_OUTPUT"
  fi
fi
exit "$status"
