package main

import (
	"fmt"
	"strings"
)

// writePeers writes a table of the contestants of a scenario. Ratios are relative to the first contestant.
func writePeers(b *strings.Builder, sc scenario, outcomes []outcome) {
	fmt.Fprintf(b, "### %s\n\nConcurrency %d.\n\n", sc.title, sc.concurrency)
	b.WriteString("| contestant | CPU, µs a result | CPU, ratio | wall, s | peak, MB | bytes a result | turns |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	ours := over(outcomes[0].costs, sc.perResult).median
	results := float64(sc.world.Results + sc.world.Huge)
	for i := range outcomes {
		o := &outcomes[i]
		cpu := over(o.costs, sc.perResult)
		fmt.Fprintf(b, "| %s | %s | %.2f | %.2f | %.0f | %.1f | %d |\n", o.name, cpu, cpu.median/ours,
			over(o.costs, func(c cost) float64 { return c.wall.Seconds() }).median,
			over(o.costs, cost.peakMB).median,
			over(o.costs, func(c cost) float64 { return float64(c.bytes) / results }).median,
			len(o.costs))
	}
	b.WriteString("\n")
}

// writeContestants writes a description of the contestants, and the features that they lack.
func writeContestants(b *strings.Builder, all []contestant) {
	b.WriteString("### Contestants\n\n| contestant | what it is | leaves out |\n|---|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(b, "| %s | %s | %s |\n", c.name, c.title, c.omits)
	}
}

// writeMemory writes a table of peaks, one line for each scenario.
func writeMemory(b *strings.Builder, scenarios []scenario, outcomes [][]outcome) {
	b.WriteString("| exported | concurrency")
	for _, o := range outcomes[0] {
		fmt.Fprintf(b, " | %s: peak, MB | CPU, µs a result", o.name)
	}
	b.WriteString(" |\n|---|---" + strings.Repeat("|---|---", len(outcomes[0])) + "|\n")
	for i, sc := range scenarios {
		fmt.Fprintf(b, "| %s | %d", sc.title, sc.concurrency)
		for _, o := range outcomes[i] {
			fmt.Fprintf(b, " | %s | %.2f", over(o.costs, cost.peakMB).whole(), over(o.costs, sc.perResult).median)
		}
		b.WriteString(" |\n")
	}
}

// write writes the medians and ranges. If there are two builds, it adds the ratios of the second build to the first.
func (q *queried) write(b *strings.Builder, names []string) {
	b.WriteString("CPU in milliseconds.\n\n| reader | query")
	for _, name := range names {
		b.WriteString(" | " + name)
	}
	compared := len(names) > 1
	if compared {
		b.WriteString(" | base, ratio")
	}
	b.WriteString(" |\n|---|---" + strings.Repeat("|---", len(names)))
	if compared {
		b.WriteString("|---")
	}
	b.WriteString("|\n")
	for _, query := range q.Queries {
		fmt.Fprintf(b, "| %s | %s", query.Reader, query.Title)
		medians := make([]float64, len(names))
		for i, name := range names {
			s := spreadOf(query.Millis[name])
			medians[i] = s.median
			fmt.Fprintf(b, " | %s", s)
		}
		if compared {
			fmt.Fprintf(b, " | %.2f", medians[1]/medians[0])
		}
		b.WriteString(" |\n")
	}
	b.WriteString("| | size of the files, MB")
	for _, name := range names {
		fmt.Fprintf(b, " | %.2f", float64(q.Bytes[name])/1e6)
	}
	if compared {
		fmt.Fprintf(b, " | %.3f", float64(q.Bytes[names[1]])/float64(q.Bytes[names[0]]))
	}
	b.WriteString(" |\n")
}

// String returns the median and, if the values differ, their range.
func (s spread) String() string {
	if s.least == s.greatest {
		return fmt.Sprintf("%.2f", s.median)
	}
	return fmt.Sprintf("%.2f [%.2f-%.2f]", s.median, s.least, s.greatest)
}

// whole returns the same as String, but without decimals. It is meant for large figures.
func (s spread) whole() string {
	if s.least == s.greatest {
		return fmt.Sprintf("%.0f", s.median)
	}
	return fmt.Sprintf("%.0f [%.0f-%.0f]", s.median, s.least, s.greatest)
}
