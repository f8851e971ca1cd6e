#!/usr/bin/env bash
# dist.sh SOURCE PROGRAM: makes the relocatable folder, moves it, and runs it from there with an empty
# environment; only glibc may come from the system.
set -euo pipefail
source=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$source" && scripts/dist "$program" "$work/made" >/dev/null)
mv "$work/made" "$work/moved"
moved=$work/moved/bin/burnish
env -i "$moved" --version
env -i "$moved" spec h200 >/dev/null
env -i "$moved" occupancy --arch sm_90 --threads 256 --registers 64 >/dev/null
foreign=$(env -i LD_TRACE_LOADED_OBJECTS=1 "$moved" | awk '/=> \//{print $1, $3}' |
  grep -v " $work/moved/" | grep -vE '^(libc|libm|libdl|libpthread|librt|libresolv)\.so' || true)
if [ -n "$foreign" ]; then
  echo "libraries from the system that are not glibc's:" >&2
  echo "$foreign" >&2
  exit 1
fi
echo "needs $(objdump -T "$moved" "$work"/moved/lib/* 2>/dev/null | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)"
