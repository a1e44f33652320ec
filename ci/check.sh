#!/usr/bin/env bash
# One check of a pipeline, for GitHub (action.yml) and GitLab (ci/gitlab.yml): times commands, or
# asks a study for its answer. Writes surepick.md and surepick.xml (JUnit) into $FOLDER; ends with 0
# (passed), 1 (failed), 7 (undecided, unless UNDECIDED=pass) or the exit code of an error.
set -u
FOLDER="${FOLDER:-surepick-results}"
mkdir -p "$FOLDER"
exports=(--export "$FOLDER/surepick.md" --export "$FOLDER/surepick.xml")

if [ -n "${STUDY:-}" ]; then
  surepick answer "$STUDY" --storage "${STORAGE:-sqlite:///surepick.db}" "${exports[@]}"
  code=$?
  [ "$code" -eq 4 ] && code=7 # no answer yet
else
  printf '%s\n' "${COMMANDS:?give commands, or a study}" > "$FOLDER/commands.txt"
  options=(--file "$FOLDER/commands.txt" --max-seconds "${MAX_SECONDS:-300}")
  options+=(--epsilon "${EPSILON:-5%}" --export "$FOLDER/surepick.json")
  [ -n "${NOT_SLOWER_THAN:-}" ] && options+=(--not-slower-than "$NOT_SLOWER_THAN")
  surepick time "${options[@]}" "${exports[@]}"
  code=$?
fi

case "$code" in
  0) result=passed ;;
  1) result=failed ;;
  7) result=undecided ;;
  *) result=error ;;
esac
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  {
    echo "result=$result"
    echo "markdown=$FOLDER/surepick.md"
    echo "junit=$FOLDER/surepick.xml"
  } >> "$GITHUB_OUTPUT"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$FOLDER/surepick.md" ]; then
  cat "$FOLDER/surepick.md" >> "$GITHUB_STEP_SUMMARY"
fi
echo "surepick: $result"
if [ "$result" = undecided ] && [ "${UNDECIDED:-fail}" = pass ]; then
  exit 0
fi
exit "$code"
