#!/usr/bin/env bash
# pgbench: its tables from nothing, then its transactions in all three query modes; the money adds up at the end.
set -euo pipefail
export PGAPPNAME=pgbench

initialise() {
    pgbench --initialize --quiet --scale=1 "$@" 2>&1 || exit 1
}

value() {
    psql --no-psqlrc --tuples-only --no-align --command "$1"
}

printed=$(initialise --foreign-keys) || { echo "$printed"; exit 1; }
[ "$(value 'SELECT count(*) FROM pgbench_accounts')" = 100000 ]
transactions=0
for mode in simple extended prepared; do
    printed=$(pgbench --client=1 --transactions=20 --protocol="$mode" --no-vacuum --random-seed=1 2>&1) || { echo "$printed"; exit 1; }
    grep -q 'number of transactions actually processed: 20/20' <<<"$printed" || { echo "$printed"; exit 1; }
    transactions=$((transactions + 20))
done
[ "$(value 'SELECT count(*) FROM pgbench_history')" = "$transactions" ]
sums=$(value 'SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history),
    (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches)')
[ "$sums" = "t|t" ] || { echo "the sums differ: $sums"; exit 1; }
# With the vacuum and the truncation that a run begins with.
printed=$(pgbench --client=1 --transactions=5 --select-only 2>&1) || { echo "$printed"; exit 1; }
[ "$(value 'SELECT count(*) FROM pgbench_history')" = 0 ]
pgbench --initialize --init-steps=d --quiet >/dev/null 2>&1
[ "$(value "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench%'")" = 0 ]
echo "ok pgbench"
