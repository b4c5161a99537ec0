# Sourced by serve. Installs the servers under target/, once, and again when their pinned versions change.
#
# Each install_* function returns 1, after a message, if its server cannot be installed on this machine.

venv=$root/target/real-venv
js=$root/target/real-js
aegra_venv=$root/target/real-aegra-venv

retry() { # retry WHAT COMMAND ARGS…: up to three attempts
  local what=$1 attempt
  shift
  for attempt in 1 2 3; do
    if "$@" >&2; then return 0; fi
    say "$what failed (attempt $attempt of 3)"
    [ "$attempt" = 3 ] || sleep 5
  done
  return 1
}

# --- Debian packages -----------------------------------------------------------------------------------------------
apt_updated=
# apt_install PACKAGE [VERSION]: only if that major version or a newer one is available
apt_install() {
  local candidate
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  if [ -z "$apt_updated" ]; then
    apt-get update -qq >/dev/null || say "apt-get update failed; using the package lists as they are"
    apt_updated=1
  fi
  candidate=$(apt-cache policy "$1" | sed -n 's/^ *Candidate: *\([0-9]*\).*/\1/p')
  [ -n "$candidate" ] && [ "$candidate" -ge "${2:-0}" ] || return 1
  say "installing the Debian package $1"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null || return 1
  hash -r
}

# --- Python --------------------------------------------------------------------------------------------------------
fits() { "$1" -c "import sys; sys.exit(sys.version_info < (3, $minor))" 2>/dev/null; }
can_venv() { fits "$1" && "$1" -c 'import ensurepip, venv' 2>/dev/null; }
python=
pick() { # pick TEST COMMAND…: the first Python that passes the test
  local test=$1 one
  shift
  for one in "$@"; do
    if command -v "$one" >/dev/null && "$test" "$one"; then
      python=$(command -v "$one")
      return 0
    fi
  done
  return 1
}

# find_python VARIABLE MINOR: sets `python` to the program that the variable names, or to one of at least 3.MINOR
find_python() {
  local minor=$2 package
  local pythons=("${!1:-}")
  [ -n "${!1:-}" ] || pythons=(python3 python3.{11,12,13,14} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3)
  pick can_venv "${pythons[@]}" && return
  if [ -z "${!1:-}" ]; then
    for package in python3 python3.13 python3.12; do
      apt_install "$package" && apt_install "$package-venv" && pick can_venv "${pythons[@]}" && return
    done
  fi
  if pick fits "${pythons[@]}"; then
    say "$python has no venv module. On Debian and Ubuntu: apt-get install python3-venv"
  else
    say "Python 3.$minor or newer not found (set $1). On Debian and Ubuntu: apt-get install python3 python3-venv"
  fi
  return 1
}

fingerprint() { # fingerprint FILE TEXT: changes with the file, the text and the Python
  "$python" -c 'import hashlib, sys
print(hashlib.sha256(open(sys.argv[1], "rb").read() + repr((sys.argv[2], sys.version, sys.prefix)).encode()).hexdigest())' "$@"
}

make_venv() { # make_venv FOLDER REQUIREMENTS
  local stamp
  stamp=$(fingerprint "$2" "$1") || return 1
  if [ "$(cat "$1/.stamp" 2>/dev/null)" = "$stamp" ]; then return 0; fi
  say "installing $(basename "$2") with $("$python" --version) (once, takes a minute or two)"
  rm -rf "$1"
  "$python" -m venv "$1" >&2 || return 1
  retry "pip install" "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2" || return 1
  printf '%s\n' "$stamp" >"$1/.stamp"
}

install_python() {
  find_python RUNTAIL_PYTHON 11 && make_venv "$venv" "$here/requirements.txt"
}

# Installs the newest pre-release of the server beside the pinned packages, of which pip replaces only those that it must.
# `venv` is that one from then on.
install_pre() {
  venv=$root/target/real-pre-venv
  make_venv "$venv" "$here/requirements.txt" || return 1
  retry "pip install --pre" "$venv/bin/pip" install --quiet --disable-pip-version-check --upgrade --pre \
    langgraph-api langgraph-runtime-inmem || return 1
  say "installed $("$venv/bin/pip" freeze | grep '^langgraph-api=')"
}

# --- JavaScript ----------------------------------------------------------------------------------------------------
has_node() { command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null; }

find_node() {
  has_node && return
  apt_install nodejs 20 && { command -v npm >/dev/null || apt_install npm; } && has_node && return
  say "Node.js 20 or newer with npm not found"
  return 1
}

install_js() {
  local stamp
  find_node || return 1
  stamp=$(fingerprint "$here/js/package-lock.json" "$js $(cat "$here/js/package.json") $(node --version)") || return 1
  if [ "$(cat "$js/.stamp" 2>/dev/null)" = "$stamp" ]; then return 0; fi
  say "installing the npm packages of the JavaScript server (once, takes half a minute)"
  rm -rf "$js"
  mkdir -p "$js"
  cp "$here/js/package.json" "$here/js/package-lock.json" "$js"
  retry "npm ci" npm ci --prefix "$js" --ignore-scripts --prefer-offline --fetch-retries=1 \
    --no-audit --no-fund --loglevel=error || return 1
  printf '%s\n' "$stamp" >"$js/.stamp"
}

# --- Aegra and PostgreSQL ------------------------------------------------------------------------------------------
pg_bin=
has_postgres() {
  local folder version
  local folders=("${RUNTAIL_PG_BIN:-}")
  if [ -z "${RUNTAIL_PG_BIN:-}" ]; then
    folders=("$(dirname "$(command -v initdb || echo /)")" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin)
  fi
  for folder in "${folders[@]}"; do
    version=$("$folder/initdb" --version 2>/dev/null | sed -n 's/.* \([0-9][0-9]*\).*/\1/p') || true
    if [ "${version:-0}" -ge 15 ] && [ -x "$folder/postgres" ] && [ -x "$folder/pg_isready" ]; then
      pg_bin=$folder
      return 0
    fi
  done
  return 1
}

# Debian's package creates and starts its own cluster when it is first installed, which is not needed.
install_postgres() {
  local folder=/etc/postgresql-common/createcluster.d code=0
  mkdir -p "$folder"
  echo "create_main_cluster = false" >"$folder/runtail.conf"
  apt_install postgresql 15 || code=$?
  rm -f "$folder/runtail.conf"
  rmdir "$folder" 2>/dev/null || true # not if it has other files
  return $code
}

find_postgres() {
  has_postgres && return
  if [ -z "${RUNTAIL_PG_BIN:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    install_postgres && has_postgres && return
  fi
  say "PostgreSQL 15 or newer not found (set RUNTAIL_PG_BIN to the folder of initdb and postgres)"
  return 1
}

# initdb and postgres refuse to run as root.
as_user=()
find_user() {
  local user
  [ "$(id -u)" = 0 ] || return 0
  for user in postgres nobody; do
    if id "$user" >/dev/null 2>&1 && command -v setpriv >/dev/null; then
      pg_user=$user
      as_user=(setpriv --reuid="$(id -u "$user")" --regid="$(id -g "$user")" --clear-groups)
      return 0
    fi
  done
  say "PostgreSQL cannot run as root, and setpriv or the users postgres and nobody are missing"
  return 1
}

install_aegra() {
  local python # the other servers keep theirs
  find_python RUNTAIL_AEGRA_PYTHON 12 && find_postgres && find_user && make_venv "$aegra_venv" "$here/aegra-requirements.txt"
}
