package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/wording"
	"example.org/growthexport/schemas"
)

// The reasons to hold a run back, other than exceeded limits.
const (
	DatasetDenied = "dataset_denied" // access to a dataset was denied in every school, or in every call
	NoRows        = "no_rows"        // an as-of run has no rows
)

// The reasons to warn, other than exceeded limits.
const (
	NewlyDenied       = "newly_denied" // schools that were read in the previous snapshot are denied now
	AllRowsGone       = "all_rows_gone"
	ManyRowsGone      = "many_rows_gone"
	DistrictsUnlisted = "districts_unlisted"
	SchoolsUnlisted   = "schools_unlisted"
	FewCompared       = "few_schools_compared"
	LessThanReplaced  = "less_than_replaced" // the run has fewer schools, or far fewer rows, than the published run of its date
)

// Reason is a reason to hold a run back, or a warning about it. Its JSON has an additional member, text, which holds
// the reason as a sentence.
type Reason struct {
	// Check is the name of a limit, such as max_removed, of a check of the service's own rules, or of another reason,
	// such as no_rows or schools_unlisted. Limit is the exceeded limit, as a user writes it.
	Check string `json:"check"`
	Limit string `json:"limit,omitempty"`
	// With is the id of the run with which this run was compared, and SnapshotDate is the date of that run.
	With         string `json:"with,omitempty"`
	SnapshotDate string `json:"snapshot_date,omitempty"`
	// Found are the findings with the largest shares. More is the number of other findings.
	Found []Finding `json:"found"`
	More  int       `json:"more,omitempty"`
}

// Finding is a part of the data that a Reason is about. Of is the number of things in this part, and N is the number of
// things that are affected.
type Finding struct {
	Table    string `json:"table,omitempty"`
	Column   string `json:"column,omitempty"`   // a column of the table
	District string `json:"district,omitempty"` // the bid of the district
	School   string `json:"school,omitempty"`   // the bid of the school
	Name     string `json:"name,omitempty"`     // the name of the district or school, if the service lists it
	N        int64  `json:"n,omitempty"`        // how many rows or values
	Of       int64  `json:"of,omitempty"`       // how many there were
	// Counted is the kind of things that N and Of count: schools, parents, calls or districts. If it is empty, they are
	// rows, values of the column or, in a finding without a table, schools. In the finding of a check, N is the count
	// of the check.
	Counted string `json:"counted,omitempty"`
}

// The things that a Finding can count.
const (
	Schools   = "schools"   // schools with rows in the table
	Parents   = "parents"   // records that had rows in a child table; N counts those that have none now
	Calls     = "calls"     // calls for single records
	Districts = "districts" // all rows of students, test_results and academic_years in a district
)

// maxFound is the maximum number of findings that New keeps.
const maxFound = 100

// New returns a reason with at most maxFound findings, those with the largest shares. It sorts found.
func New(check, limit string, found []Finding) Reason {
	share := func(f Finding) float64 { return float64(f.N) / float64(max(f.Of, 1)) }
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(a.place(), b.place()), cmp.Compare(a.School, b.School))
	})
	listed := found[:min(len(found), maxFound)]
	return Reason{Check: check, Limit: limit, Found: listed, More: len(found) - len(listed)}
}

// Names reports whether a finding is about the table.
func (r Reason) Names(table string) bool {
	return slices.ContainsFunc(r.Found, func(f Finding) bool { return f.Table == table })
}

// Without returns the reason without the findings for which gone returns true, and reports whether there were any. More
// then also counts the removed findings.
func (r Reason) Without(gone func(Finding) bool) (Reason, bool) {
	listed := slices.DeleteFunc(slices.Clone(r.Found), gone)
	n := len(r.Found) - len(listed)
	r.Found, r.More = listed, r.More+n
	return r, n > 0
}

// MarshalJSON encodes the reason, and adds its sentence for people.
func (r Reason) MarshalJSON() ([]byte, error) {
	type fields Reason
	return json.Marshal(struct {
		fields
		Text string `json:"text"`
	}{fields(r), r.String()})
}

// Texts returns the sentences of reasons.
func Texts(reasons []Reason) []string {
	var texts []string
	for _, r := range reasons {
		texts = append(texts, r.String())
	}
	return texts
}

// String returns the reason as a sentence.
func (r Reason) String() string {
	since := "since the snapshot of " + r.SnapshotDate + " (run " + r.With + ")"
	more := func(what string) string {
		return "more " + what + " " + since + " than " + setting(r.Check).String() + " " + r.Limit + " allows: " + r.list("; ", Finding.String)
	}
	name := Finding.label
	count := len(r.Found) + r.More
	var first Finding
	if len(r.Found) > 0 {
		first = r.Found[0]
	}
	switch r.Check {
	case DatasetDenied:
		return "no school could be read in " + r.list(", ", func(f Finding) string {
			if f.Counted == Calls {
				return fmt.Sprintf("%s (%s, all denied or not found)", f.Table, wording.Many(f.N, "call"))
			}
			return fmt.Sprintf("%s (access denied in %s of %s)", f.Table, wording.Count(f.N), wording.Many(f.Of, "school"))
		})
	case NoRows:
		return "no table has any rows"
	case NewlyDenied:
		return r.newlyDenied()
	case LessThanReplaced:
		return "counts are lower than in run " + r.With + ", published earlier for this date: " + r.list(", ", Finding.fall)
	case MaxFailedSchools:
		text := fmt.Sprintf("%d of %d schools failed, more than %s %s", first.N, first.Of, setting(r.Check), r.Limit)
		if len(r.Found) > 1 { // the other findings are datasets
			text += "; no school could be read in " + Reason{Found: r.Found[1:]}.datasets()
		}
		return text
	case MaxShrink:
		return fmt.Sprintf("%s fell by more than %s %s %s: %s", wording.Many(count, "count"), setting(r.Check), r.Limit, since, r.list(", ", Finding.fall))
	case MaxRemoved:
		return more("test results are gone for no known reason")
	case MaxChanged:
		return more("rows have changed")
	case MaxEmptied:
		return more("values are gone")
	case AllRowsGone:
		return "all rows are gone: " + r.list("; ", Finding.String)
	case ManyRowsGone:
		return "more than " + r.Limit + " of the rows are gone: " + r.list("; ", Finding.String)
	case DistrictsUnlisted:
		return wording.Many(count, "district") + " no longer listed: " + r.list(", ", name)
	case SchoolsUnlisted:
		return wording.Many(count, "school") + " no longer listed: " + r.list(", ", name)
	case FewCompared:
		why := "the others are new, or were not read completely in one of the two runs"
		if len(r.Found) > 1 { // the other findings are datasets
			why = "the previous snapshot does not have " + Reason{Found: r.Found[1:]}.datasets()
		}
		return fmt.Sprintf("only %s of %s schools are compared, so the limits on changes cover less than half of the data: %s",
			wording.Count(first.N), wording.Count(first.Of), why)
	}
	return Check{Check: r.Check, Table: first.Table, Count: first.N}.String() + " (" + wording.Setting("strict-checks").String() + ")"
}

// newlyDenied describes the schools that are denied now, and the rows that are missing because of that.
func (r Reason) newlyDenied() string {
	var schools, rows []string
	var missing int64
	for _, f := range r.Found {
		if f.School != "" {
			schools = append(schools, f.label())
		} else if f.N > 0 {
			rows = append(rows, wording.Many(f.N, "row")+" of "+f.Table)
			missing += f.N
		}
	}
	isOrAre := func(one bool) string {
		if one {
			return " is "
		}
		return " are "
	}
	count := len(schools) + r.More
	text := wording.Many(count, "school") + " in the snapshot of " + r.SnapshotDate + isOrAre(count == 1) + "denied now: "
	if most := 5; count > len(schools) || len(schools) > most {
		schools = append(schools[:min(len(schools), most)], "and "+wording.Count(count-min(len(schools), most))+" more")
	}
	text += strings.Join(schools, ", ")
	if len(rows) > 0 {
		text += "; " + wording.First(rows, 3) + isOrAre(missing == 1) + "missing because of that"
	}
	return text
}

// setting returns the setting of a limit.
func setting(check string) wording.Setting {
	return wording.Setting(strings.ReplaceAll(check, "_", "-"))
}

// datasets lists the datasets that the findings are about.
func (r Reason) datasets() string { return r.list(", ", func(f Finding) string { return f.Table }) }

// list joins the texts of up to four findings, or of up to ten if they are only names or bids, and adds the number of
// other findings.
func (r Reason) list(separator string, text func(Finding) string) string {
	if len(r.Found) == 0 {
		return "(removed by a purge)"
	}
	most := 4
	if r.Found[0].Table == "" && r.Found[0].Counted == "" {
		most = 10
	}
	var parts []string
	for _, f := range r.Found[:min(len(r.Found), most)] {
		parts = append(parts, text(f))
	}
	if more := len(r.Found) - len(parts) + r.More; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, separator)
}

// label returns the name of the district or school, or its bid.
func (f Finding) label() string {
	if strings.TrimSpace(f.Name) != "" {
		return wording.Name(f.Name)
	}
	return wording.Bid(f.District + f.School)
}

// place describes the part of the data that the finding is about.
func (f Finding) place() string {
	where := "table " + f.Table
	if f.Column != "" {
		where += ", column " + f.Column
	}
	switch _, dataset, _ := schemas.FindTable(f.Table); {
	case f.District != "":
		where += ", district " + f.label()
	case dataset != nil && !dataset.IsLookup():
		where += ", without a district"
	}
	return where
}

// String returns the finding as a share of the earlier number.
func (f Finding) String() string {
	if f.Counted == Districts {
		return "district " + f.label() + ": all " + wording.Many(f.N, "row") + " of students, test_results and academic_years"
	}
	text := f.place() + ": " + wording.Count(f.N) + " of " + wording.Count(f.Of)
	if f.Counted == Parents {
		text += " records have lost all their rows"
	}
	return text
}

// fall describes the finding as a count that fell.
func (f Finding) fall() string {
	what := "rows of " + f.Table
	switch {
	case f.Counted == Schools && f.Table == "":
		what = "successfully read schools"
	case f.Counted == Schools:
		what = "schools with rows in " + f.Table
	}
	return what + " from " + wording.Count(f.Of) + " to " + wording.Count(f.Of-f.N)
}
