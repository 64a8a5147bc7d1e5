#!/usr/bin/env bash
# See that a Chromium is there for the browser tests; install Debian's where that is allowed.
set -u

for name in chromium chromium-browser google-chrome google-chrome-stable; do
  command -v "$name" >/dev/null && exit 0
done
[ -x "${SPECLAB_CHROMIUM:-}" ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=(sudo -n); else as_root=(false); fi
fi
if command -v apt-get >/dev/null && [ "${as_root[0]:-}" != false ]; then
  echo "Installing chromium for the browser tests …"
  "${as_root[@]}" apt-get update -q >/dev/null &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
      chromium chromium-driver fonts-noto-cjk >/dev/null && exit 0
fi
cat >&2 <<'TEXT'
No Chromium was found, and none could be installed: the browser tests will fail.
Missing: the program chromium (Debian: apt-get install chromium chromium-driver).
Any Chrome or Chromium does: set SPECLAB_CHROMIUM to its path.
TEXT
exit 0
