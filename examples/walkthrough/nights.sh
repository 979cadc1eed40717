#!/bin/sh
# Exports 90 nights of the simulated service, from fall to winter, and adds each to the history:
#
#   nights.sh DEST
#
# With a real service there is one such run every night, without the dates: growth-export run --history.
set -eu
day=0
while [ "$day" -lt 90 ]; do
	night=$(date -u -d "2025-11-15 + $day days" +%Y-%m-%d)
	growth-export run --simulate --simulate-date "$night" --snapshot-date "$night" --backdate \
		--datasets schools,students,academic_years,test_results --history --dest "$1"
	day=$((day + 1))
done
