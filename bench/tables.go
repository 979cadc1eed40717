package main

import (
	"fmt"
	"strings"
)

// peersTable returns a table of the contestants of a scenario. Ratios are to the first.
func peersTable(sc scenario, outcomes []outcome) string {
	var b strings.Builder
	b.WriteString("| contestant | CPU, µs/result | ratio | wall, s | peak MB | bytes/result | turns |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	ours := over(outcomes[0].costs, sc.perResult).median
	results := float64(sc.world.Results + sc.world.Huge)
	for i := range outcomes {
		o := &outcomes[i]
		cpu := over(o.costs, sc.perResult)
		fmt.Fprintf(&b, "| %s | %s | %.2f | %.2f | %.0f | %.1f | %d |\n", o.title,
			cpu, cpu.median/ours,
			over(o.costs, func(c cost) float64 { return c.wall.Seconds() }).median,
			over(o.costs, func(c cost) float64 { return float64(c.peak) / 1e6 }).median,
			over(o.costs, func(c cost) float64 { return float64(c.bytes) / results }).median,
			len(o.costs))
	}
	return b.String()
}

// String returns the median, and the range of several values.
func (s spread) String() string {
	if s.least == s.greatest {
		return fmt.Sprintf("%.2f", s.median)
	}
	return fmt.Sprintf("%.2f [%.2f-%.2f]", s.median, s.least, s.greatest)
}
