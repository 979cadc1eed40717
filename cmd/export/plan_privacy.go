package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/schemas"
)

// privacyPlan is the additional output of plan with --privacy: the contents of the export, column by column.
type privacyPlan struct {
	Profile        schemas.Profile `json:"profile"`
	KeyFingerprint string          `json:"key_fingerprint,omitempty"`
	Tables         []privacyTable  `json:"tables"`
}

type privacyTable struct {
	Table   string          `json:"table"`
	Columns []privacyColumn `json:"columns"`
}

type privacyColumn struct {
	Column  string        `json:"column"`
	Class   schemas.Class `json:"class"`
	Leaves  string        `json:"leaves"`
	Meaning string        `json:"meaning"`
}

// exported returns the names of the datasets that the runs export.
func exported(runs []*pipeline.Estimate) []string {
	var names []string
	for _, run := range runs {
		for _, d := range run.Datasets {
			if d.Selected {
				names = append(names, d.Dataset)
			}
		}
	}
	return names
}

// newPrivacyPlan describes the columns of the datasets that the run exports.
func newPrivacyPlan(s *pipeline.Settings, datasets []string) *privacyPlan {
	p := &privacyPlan{Profile: s.Privacy}
	if s.Privacy.NeedsKey() {
		p.KeyFingerprint = s.PrivacyKey.Fingerprint()
	}
	if len(datasets) == 0 {
		datasets = s.Datasets // the run is already published, and nothing was estimated
	}
	for _, d := range schemas.Datasets() {
		if !slices.Contains(datasets, d.Name) {
			continue
		}
		for _, t := range d.Tables {
			table := privacyTable{Table: t.Name}
			for i := range t.Columns {
				c := &t.Columns[i]
				table.Columns = append(table.Columns, privacyColumn{c.Name, c.Class, c.Under(s.Privacy).InWords(), c.Doc})
			}
			p.Tables = append(p.Tables, table)
		}
	}
	return p
}

// text explains the profile, then lists the columns.
func (p *privacyPlan) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nWhat the export contains with --privacy %s:\n", p.Profile)
	for _, class := range schemas.PrivacyMatrix() {
		fmt.Fprintf(&b, "  %s: %s\n", strings.ReplaceAll(class.Holds, "`", ""), class.Under(p.Profile).InWords())
	}
	if p.KeyFingerprint != "" {
		matched, duration := "100.0 %", ", and 99.9 % by the duration of one result alone"
		if p.Profile == schemas.Minimal {
			matched, duration = "97.8 %", ""
		}
		fmt.Fprintf(&b, "Identifiers become pseudonyms under the key with fingerprint %s. Anyone with the key can find out whose they are.\n"+
			"Pseudonymised data are still education records. Recipients with different keys can match students by the content of records:\n"+
			"%s of them by school, subject, score and start of all their results%s,\n"+
			"in the simulated service of 23 November 2026 (make measure-linkage). Small groups can be recognised.\n",
			p.KeyFingerprint, matched, duration)
	} else {
		b.WriteString("These are education records that identify students.\n")
	}
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, table := range p.Tables {
		fmt.Fprintf(t, "\n%s\n", table.Table)
		for _, c := range table.Columns {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", c.Column, c.Class, c.Leaves)
		}
	}
	_ = t.Flush() // Writing to a strings.Builder cannot fail.
	return b.String()
}
