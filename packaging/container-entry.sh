#!/bin/sh
# Entry point of the container image. Arguments are those of `lookfirst`; stdout belongs to the protocol.
set -eu
if [ "$(id -u)" = 0 ]; then
  echo 'lookfirst: this container must not run as root; pass --user "$(id -u):$(id -g)"' >&2
  exit 64
fi
if [ ! -w /workspace ]; then
  echo 'lookfirst: /workspace is not writable for this user; the server will only read it' >&2
fi
# Without a writable /state, the state is lost with the container.
home=${LOOKFIRST_HOME:-/state}
if [ ! -w "$home" ]; then home=$(mktemp -d); fi
export LOOKFIRST_HOME="$home"
export HOME="${HOME:-/tmp}"
exec node /opt/lookfirst/dist/bin/lookfirst.js "$@"
