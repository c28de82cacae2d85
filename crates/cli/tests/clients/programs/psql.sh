#!/usr/bin/env bash
# Runs psql.sql and compares every line that psql prints with what it prints on PostgreSQL 15.
# With SKEW_BLESS=1 what is printed becomes the expectation: for a real PostgreSQL only.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
PGAPPNAME=psql PGUSER=postgres LC_ALL=C.UTF-8 psql --no-psqlrc --echo-queries --file "$here/psql.sql" >printed 2>&1 || {
    tail -20 printed
    exit 1
}
sed -i "s|^psql:$here/|psql:|" printed
if [ "${SKEW_BLESS:-}" = 1 ]; then
    cp printed "$here/psql.expected"
fi
diff -u "$here/psql.expected" printed
echo "ok psql"
