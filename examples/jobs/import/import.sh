#!/bin/sh
# import.sh ID COUNTRY: imports one customer. The rate of each country is in rates.txt.
set -eu
rate=$(awk -v country="$2" '$1 == country { print $2 }' rates.txt)
if [ -z "$rate" ]; then
    echo "customer $1: no tax rate for \"$2\"" >&2
    exit 1
fi
# The service behind it is busy at first, for one of them.
if [ "$1" = C-104 ] && mkdir .busy 2>/dev/null; then
    echo "HTTP 503 Service Unavailable" >&2
    exit 22
fi
echo "$1 imported at $rate %"
