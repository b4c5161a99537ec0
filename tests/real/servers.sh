# Sourced by serve. Starts and stops the servers: python, js, aegra, and the postgres of aegra.
#
# Each server runs in its own process group, whose number is in $scratch/NAME.group; its log is $scratch/NAME.log.

declare -A url
ready= # the process id of a running ready.py

launch() { # launch NAME FUNCTION ARGS…: runs a function that ends in exec
  local name=$1
  shift
  set -m # gives it its own process group
  (
    unset_foreign
    "$@"
  ) >"$scratch/$name.log" 2>&1 </dev/null &
  set +m
  printf '%s\n' "$!" >"$scratch/$name.group"
  disown # no message from bash when it ends
}

# Variables of the caller that would change how a server runs, or where it sends its traces.
unset_foreign() {
  unset "${!LANGSMITH_@}" "${!LANGCHAIN_@}" "${!LANGGRAPH_@}" "${!AEGRA_@}" "${!OTEL_@}" "${!PG@}"
  unset PYTHONPATH NODE_OPTIONS
  export LANGSMITH_TRACING=false LANGCHAIN_TRACING_V2=false LANGGRAPH_CLI_NO_ANALYTICS=1 BROWSER=none
}

start() { # start NAME: returns at once
  local port
  port=$("$venv/bin/python" -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  url[$1]=http://127.0.0.1:$port
  if [ "$1" = aegra ] && ! group_lives postgres; then launch postgres run_postgres; fi
  launch "$1" "run_$1" "$port"
}

# --- the servers ---------------------------------------------------------------------------------------------------
# Each gets a copy of its graphs, so that .langgraph_api, __pycache__ and the like never end up in this folder.
project() { # project NAME FILE…
  local folder=$scratch/$1
  shift
  rm -rf "$folder"
  mkdir "$folder"
  cp -r "$@" "$folder/"
  rm -rf "$folder/graphs/__pycache__"
  cd "$folder" || exit 1
}

run_python() {
  project python "$here/graphs" "$here/langgraph.json"
  export LANGGRAPH_NO_VERSION_CHECK=true LOG_LEVEL=WARNING PYTHONUNBUFFERED=1 PATH="$venv/bin:$PATH"
  # By default it runs one run at a time, so that one that a test leaves running would hold up all others.
  exec langgraph dev --no-browser --no-reload --host 127.0.0.1 --port "$1" --n-jobs-per-worker 10 --server-log-level WARNING
}

run_js() {
  project js "$here/js/graphs" "$here/js/langgraph.json"
  ln -s "$js/node_modules" node_modules
  mkdir tmp
  export LOG_LEVEL=warn TMPDIR=$PWD/tmp
  exec node_modules/.bin/langgraphjs dev --no-browser --no-reload --host 127.0.0.1 --port "$1"
}

run_aegra() {
  project aegra "$here/graphs" "$here/aegra.json"
  until "$pg_bin/pg_isready" --quiet --host="$scratch/postgres"; do
    group_lives postgres || { cat "$scratch/postgres.log" && exit 1; }
    sleep 0.1
  done
  # With its default of two SQL connections, two readers of a stream are enough to break a run.
  export SQLALCHEMY_POOL_SIZE=20 SQLALCHEMY_MAX_OVERFLOW=20 LANGGRAPH_MAX_POOL_SIZE=20
  export DATABASE_URL="postgresql://aegra@/postgres?host=$scratch/postgres"
  export AUTH_TYPE=noop ENV_MODE=PRODUCTION LOG_LEVEL=WARNING PYTHONUNBUFFERED=1 PATH="$aegra_venv/bin:$PATH"
  exec uvicorn aegra_api.main:app --host 127.0.0.1 --port "$1" --log-level warning
}

# A cluster of our own that listens on a Unix socket only. Nobody but its user can open the folder of the socket.
run_postgres() {
  local folder=$scratch/postgres
  rm -rf "$folder"
  mkdir -m 700 "$folder"
  if [ ${#as_user[@]} -gt 0 ]; then
    chmod 711 "$scratch"
    chown "$pg_user" "$folder"
  fi
  cd "$folder"
  export HOME=$folder
  exec ${as_user[@]+"${as_user[@]}"} sh -c '
    "$1/initdb" --pgdata=data --username=aegra --auth=trust --encoding=UTF8 --no-locale --no-sync >/dev/null &&
      exec "$1/postgres" -D data -k "$2" -c listen_addresses= -c fsync=off -c dynamic_shared_memory_type=mmap
  ' sh "$pg_bin" "$folder"
}

# --- waiting -------------------------------------------------------------------------------------------------------
group_of() { cat "$scratch/$1.group" 2>/dev/null; }
group_lives() {
  local group
  group=$(group_of "$1") && kill -0 -- "-$group" 2>/dev/null
}

wait_until_ready() { # wait_until_ready NAME: starts it again up to two times, for example if its port was taken
  local name=$1 config=$here/$1.json attempt
  case $name in
    python) config=$here/langgraph.json ;;
    js) config=$here/js/langgraph.json ;;
  esac
  for attempt in 1 2 3; do
    # In the background, because bash handles a signal only after a foreground command has finished.
    "$venv/bin/python" "$here/ready.py" "${url[$name]}" "$(group_of "$name")" "$config" &
    ready=$!
    if wait "$ready"; then return 0; fi
    say "$name is not ready (attempt $attempt of 3); its log ends with:"
    tail -n 20 "$scratch/$name.log" >&2 || true
    stop_server "$name"
    [ "$attempt" = 3 ] || start "$name"
  done
  return 1
}

# --- stopping ------------------------------------------------------------------------------------------------------
stop_groups() { # stop_groups SIGNAL NAME…: sends the signal, and KILL to those that still run after five seconds
  local signal=$1 name i left
  shift
  for name in "$@"; do
    if group_lives "$name"; then kill "-$signal" -- "-$(group_of "$name")" 2>/dev/null || true; fi
  done
  for i in $(seq 50); do
    left=
    for name in "$@"; do if group_lives "$name"; then left=1; fi; done
    [ -n "$left" ] || break
    sleep 0.1
  done
  for name in "$@"; do
    if group_lives "$name"; then kill -KILL -- "-$(group_of "$name")" 2>/dev/null || true; fi
    rm -f "$scratch/$name.group"
  done
}
stop_server() { stop_groups TERM "$1"; }
stop_servers() {
  stop_groups TERM python js aegra
  stop_groups INT postgres # INT: it disconnects clients and does not wait for them
}

# The watcher stops the servers if this script is killed outright.
script_lives() { kill -0 $$ 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$$/status" 2>/dev/null; }
start_watcher() {
  set -m
  (
    trap '' INT TERM HUP
    while script_lives; do sleep 1; done
    stop_servers
    rm -rf "$scratch"
  ) >/dev/null 2>&1 </dev/null &
  watcher=$!
  set +m
  disown
}
stop_watcher() { kill -KILL -- "-$watcher" 2>/dev/null || true; }
