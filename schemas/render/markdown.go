package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.org/growthexport/schemas"
)

const markdownHeader = `# Data dictionary

<!-- Generated from the declarations in schemas: edit those. -->

Schema version ` + schemas.Version + `, which is also in the manifest of each run. The second number rises when tables or columns are added,
the first when a change can break a reader; ` + "`growth-export schema --diff`" + ` lists the changes.

A dataset is one operation of the service; a table is one folder of Parquet files. In addition to the columns below, readers
see the hive partition column ` + "`snapshot_date`" + ` (date) and, in the tables of per-school datasets of a destination written with
` + "`--partition-by district`" + `, ` + "`district`" + ` (string).

- **type**: ` + "`date`" + ` has no time; ` + "`timestamp`" + ` is UTC in microseconds; ` + "`json`" + ` is valid JSON in a plain string column.
  Spark up to 3.5 reads dates and timestamps before 1900 only with ` + "`spark.sql.parquet.datetimeRebaseModeInRead=CORRECTED`" + `.
- **key**: the columns that together identify a row. Files are sorted by them, nulls first.
- **null**: ` + "`required`" + ` columns are never null. In the others null means that the service sent no value, or one that does not
  fit the type and is kept in ` + "`_extra`" + `.
- **source**: a path in the JSON record; ` + "`^name`" + ` a member of the parent record; ` + "`$name`" + ` a parameter of the call; ` + "`#`" + ` the position in
  the array; ` + "`*`" + ` unknown members and values that do not fit.
- **class**: the privacy class, which says what the column reveals about a person: ` + "`none`" + `; ` + "`id`" + `, an identifier of a student or an
  educator; ` + "`record`" + `, an identifier of a record about one person; ` + "`direct`" + `, a name; ` + "`birth`" + `, a date of birth; ` + "`grade`" + `; ` + "`text`" + `, free
  text that may contain a name; ` + "`trait`" + `, gender or ethnicity; ` + "`score`" + `, a result; ` + "`extra`" + `, anything. Files have Bloom filters of the columns of class ` + "`id`" + `, so that
  queries for one person skip most row groups. The filters hold hashes of the identifiers.
- **meaning** ends with how reliable it is: a section of the *specification*, the vendor's documentation, which
  [docs/service.md](../../docs/service.md) describes; *Observed*, seen by public clients of the service but not documented;
  *Presumed*, inferred from the service's other records.
`

// markdown returns the data dictionary.
func markdown(datasets []*schemas.Dataset) string {
	var b strings.Builder
	b.WriteString(markdownHeader)
	b.WriteString("\n| dataset | specification | in `default` | per | tables |\n|---|---|---|---|---|\n")
	for _, d := range datasets {
		var tables []string
		for _, t := range d.Tables {
			tables = append(tables, "["+t.Name+"](#table-"+t.Name+")")
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s |\n",
			d.Name, d.Name, d.Operation.Section, yes(d.Default), d.Per, strings.Join(tables, ", "))
	}
	writePrivacy(&b)
	writeJoins(&b, datasets)
	for _, d := range datasets {
		markdownDataset(&b, d)
	}
	b.WriteString(analysisSection)
	for _, t := range analysisTables() {
		fmt.Fprintf(&b, "\n### View `%s`\n\n%s\n\n| column | type | class | meaning |\n|---|---|---|---|\n", t.Name, t.Doc)
		for _, c := range t.Columns {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(c.Name), c.Type, c.Class, c.Doc)
		}
	}
	return b.String()
}

const privacyHeader = `
## Privacy profiles

What each ` + "`--privacy`" + ` profile does with the columns of each class. A pseudonym is made with the recipient's key and is the same in
every table, run and year under that key: half of the HMAC-SHA-256 over the kind of the identifier and its value. Smarter Balanced, a
state assessment consortium, recommends the same method for the state student id, with HMAC-SHA1
([Student ID Cryptographic Hash Algorithm](http://www.smarterapp.org/documents/HashStudentIdSample.html)). Pseudonymised data are
still education records.

| class | holds | full | pseudonymous | minimal |
|---|---|---|---|---|
`

// writePrivacy writes the matrix of classes and profiles.
func writePrivacy(b *strings.Builder) {
	b.WriteString(privacyHeader)
	for _, class := range schemas.PrivacyMatrix() {
		fmt.Fprintf(b, "| %s | %s |", code(string(class.Class)), class.Holds)
		for _, p := range schemas.Profiles() {
			fmt.Fprintf(b, " %s |", class.Under(p))
		}
		b.WriteString("\n")
	}
}

const analysisSection = `
## Views for analysts

` + "`growth-export sql --views analysis`" + ` adds these views to the views of the tables, for DuckDB and Spark. The tables repeat what several
schools or perspectives have; the views do not. They leave out students, classes and members of classes without an identifier.
` + "`analysis_growth`" + ` needs the history. [Ten questions](../../examples/questions/README.md) has queries.
`

func markdownDataset(b *strings.Builder, d *schemas.Dataset) {
	op := d.Operation
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", d.Name, d.Doc)
	fmt.Fprintf(b, "- Operation: `GET %s` (specification %s)\n", op.Path, op.Section)
	if len(op.Query) > 0 {
		fmt.Fprintf(b, "- Parameters: %s\n", codes(op.Query))
	}
	if len(op.Filters) > 0 {
		fmt.Fprintf(b, "- Filters: %s\n", codes(op.Filters))
	}
	if op.PinsDate {
		b.WriteString("- Without `effective-date`: as of the day (UTC) on which the run was planned\n")
	}
	fmt.Fprintf(b, "- Calls: %s\n", calls(d))
	if len(d.Feeds) > 0 {
		fmt.Fprintf(b, "- `%s` comes from: %s\n", d.FedParam(), codes(d.Feeds))
	}
	if len(d.Known) > 0 {
		fmt.Fprintf(b, "- Kept in `_extra`: %s\n", codes(d.Known))
	}
	for _, t := range d.Tables {
		b.WriteString("\n")
		markdownTable(b, t)
	}
}

// markdownTables returns the sections of the tables.
func markdownTables(datasets []*schemas.Dataset) string {
	var b strings.Builder
	for i, t := range tablesOf(datasets) {
		if i > 0 {
			b.WriteString("\n")
		}
		markdownTable(&b, t)
	}
	return b.String()
}

func markdownTable(b *strings.Builder, t *schemas.Table) {
	fmt.Fprintf(b, "### Table `%s`\n\n%s", t.Name, t.Doc)
	if t.Each != "" {
		fmt.Fprintf(b, " Rows are the elements of the record's `%s`.", t.Each)
	}
	fmt.Fprintf(b, "\n\nSorted by: %s.\n\n", codes(keyNames(t)))
	b.WriteString("| # | column | type | key | null | source | class | meaning |\n|---|---|---|---|---|---|---|---|\n")
	for i, c := range t.Columns {
		key, null := "", "optional"
		if c.Key {
			key = "key"
		}
		if c.Required {
			null = "required"
		}
		cells := []string{
			strconv.Itoa(i + 1), code(c.Name), c.Type.String(), key, null,
			code(c.Source), string(c.Class), strings.ReplaceAll(c.Doc, "|", `\|`),
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

// calls describes the calls of a dataset.
func calls(d *schemas.Dataset) string {
	s := "one per " + d.Per.String()
	if d.TakesPerspective() {
		s += " and perspective"
	}
	switch {
	case d.Operation.Single:
		s += ", each answered with one record"
	case d.Operation.Paged:
		s += ", answered in pages"
	}
	return s
}

func code(s string) string { return "`" + s + "`" }

func codes(names []string) string { return code(strings.Join(names, "`, `")) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

const joinsHeader = `
## Join map

A line leads from the column of one table to the table that the identifier belongs to. PK marks key columns. The columns of
each join are listed below. To join several snapshots, join on ` + "`snapshot_date`" + ` too.

`

// writeJoins writes the join map: a diagram in Mermaid and a table.
func writeJoins(b *strings.Builder, datasets []*schemas.Dataset) {
	b.WriteString(joinsHeader + "```mermaid\nerDiagram\n")
	all := joins(datasets)
	for _, t := range tablesOf(datasets) {
		fmt.Fprintf(b, "    %s {\n", t.Name)
		for _, c := range t.Columns {
			references := slices.ContainsFunc(all, func(j join) bool { return j.from == t && j.column == c.Name })
			switch {
			case c.Key:
				fmt.Fprintf(b, "        %s %s PK\n", c.Type, c.Name)
			case references:
				fmt.Fprintf(b, "        %s %s FK\n", c.Type, c.Name)
			}
		}
		b.WriteString("    }\n")
	}
	for _, j := range all {
		end := "o|"
		if len(j.left) > 0 {
			end = "o{"
		}
		fmt.Fprintf(b, "    %s }o--%s %s : %s\n", j.from.Name, end, j.to.Name, j.column)
	}
	b.WriteString("```\n\n| table | joins | on | matching rows |\n|---|---|---|---|\n")
	for _, j := range all {
		var on []string
		for _, pair := range j.on {
			if pair[0] == pair[1] {
				on = append(on, code(pair[0]))
			} else {
				on = append(on, code(pair[0])+" = "+code(pair[1]))
			}
		}
		found := "at most one"
		if len(j.left) > 0 {
			found = "one for each " + codes(j.left)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", j.from.Name, j.to.Name, strings.Join(on, ", "), found)
	}
	b.WriteString("\nEvery table with `requested_school_bid` joins schools on it.")
	for _, name := range withoutTable(datasets) {
		fmt.Fprintf(b, " No table describes `%s`; tables that have it join on it.", name)
	}
	b.WriteString("\n")
}
