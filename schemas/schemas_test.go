package schemas

import (
	"encoding/csv"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas/contract"
)

var update = flag.Bool("update", false, "number the columns in contract/tables.csv")

func TestDeclarationsEqualTablesCSV(t *testing.T) {
	t.Parallel()
	want, err := csv.NewReader(strings.NewReader(contract.TablesCSV())).ReadAll()
	require.NoError(t, err)
	if *update {
		number(t, want)
	}

	got := [][]string{{"table", "dataset", "each", "position", "column", "type", "key", "null", "source", "class"}}
	for _, d := range Datasets() {
		for _, table := range d.Tables {
			for i, c := range table.Columns {
				key, null := "", "optional"
				if c.Key {
					key = "key"
				}
				if c.Required {
					null = "required"
				}
				got = append(got, []string{
					table.Name, d.Name, table.Each, strconv.Itoa(i + 1), c.Name,
					c.Type.String(), key, null, c.Source, string(c.Class),
				})
			}
		}
	}
	require.Empty(t, cmp.Diff(want, got), "-tables.csv +declarations")
}

// number sets the positions of the columns, which follow from the order of the lines, and writes the lines to tables.csv.
func number(t *testing.T, lines [][]string) {
	t.Helper()
	for i := range lines[1:] {
		position := 1
		if before, line := lines[i], lines[i+1]; before[0] == line[0] {
			n, err := strconv.Atoi(before[3])
			require.NoError(t, err)
			position = n + 1
		}
		lines[i+1][3] = strconv.Itoa(position)
	}
	var text strings.Builder
	require.NoError(t, csv.NewWriter(&text).WriteAll(lines))
	require.NoError(t, os.WriteFile(filepath.Join("contract", "tables.csv"), []byte(text.String()), 0o600))
}

// TestOperations compares the operations with a list in the form of the specification and the contract, which does not
// depend on the declarations.
func TestOperations(t *testing.T) {
	t.Parallel()
	type row struct {
		Section, Path, Query, Records, Per, Feed string
		Default, Filters, Paged, Single          bool
	}
	want := map[string]row{
		"districts":                           {"4.2", "/organizations/v1/districts/", "", "", "run", "", true, false, false, false},
		"schools":                             {"4.1", "/organizations/v1/schools", "", "", "run", "", true, false, false, false},
		"district_schools":                    {"4.3", "/organizations/v1/districts/{district_bid}/schools", "", "", "district", "", true, false, false, false},
		"students":                            {"4.4", "/organizations/v1/schools/{school_bid}/students", "", "", "school", "", true, false, false, false},
		"student_details":                     {"4.5", "/students/v2/{student_bid}", "", "", "student", "students", false, false, false, true},
		"test_results":                        {"4.6", "/test-results/v1/growth", "school-bid", "testResults", "school", "", true, false, true, false},
		"academic_years":                      {"4.7", "/enrollments/v1/academic-years", "perspective-bid school-bid", "academicYears", "school", "", true, true, true, false},
		"student_school_associations":         {"4.8", "/enrollments/v1/student-school-associations", "perspective-bid school-bid", "studentSchoolAssociations", "school", "", true, true, false, false},
		"school_classes":                      {"4.9", "/enrollments/v1/school-classes", "perspective-bid school-bid", "schoolClasses", "school", "", true, true, true, false},
		"school_class_details":                {"4.10", "/enrollments/v1/school-classes/{school_class_bid}", "perspective-bid", "", "record", "school_classes", false, false, false, true},
		"student_school_classes":              {"4.11", "/enrollments/v1/student-school-classes", "perspective-bid school-bid student-bid", "studentSchoolClasses", "student", "students", false, true, false, false},
		"educator_school_classes":             {"4.12", "/enrollments/v1/educator-school-classes", "perspective-bid school-bid educator-bid", "educatorSchoolClasses", "educator", "educator_school_associations school_class_educators", false, true, false, false},
		"educator_school_associations":        {"4.13", "/enrollments/v1/educator-school-associations", "perspective-bid school-bid", "educatorSchoolAssociations", "school", "", true, true, false, false},
		"educator_school_association_details": {"4.14", "/enrollments/v1/educator-school-associations/{educator_school_association_bid}", "perspective-bid", "", "record", "educator_school_associations", false, false, false, true},
	}
	got := map[string]row{}
	for _, d := range Datasets() {
		op := d.Operation
		if len(op.Filters) > 0 {
			require.Equal(t, []string{"effective-date", "modified-since", "include-removed"}, op.Filters, d.Name)
		}
		got[d.Name] = row{
			op.Section, op.Path, strings.Join(op.Query, " "), op.Records, d.Per.String(), strings.Join(d.Feeds, " "),
			d.Default, len(op.Filters) > 0, op.Paged, op.Single,
		}
	}
	require.Empty(t, cmp.Diff(want, got), "-specification +declarations")
}

// TestPinnedDates checks which operations pin their date. Academic years have no default date to pin (4.7), and the
// other operations take no date.
func TestPinnedDates(t *testing.T) {
	t.Parallel()
	var pinned []string
	for _, d := range Datasets() {
		if d.Operation.PinsDate {
			pinned = append(pinned, d.Operation.Section)
		}
	}
	require.Equal(t, []string{"4.8", "4.9", "4.11", "4.12", "4.13"}, pinned)
}

func TestKnownMembersAndDuplicates(t *testing.T) {
	t.Parallel()
	known, whole := map[string][]string{}, []string{}
	for _, d := range Datasets() {
		if len(d.Known) > 0 {
			known[d.Name] = d.Known
		}
		if d.WholeRecordDuplicates {
			whole = append(whole, d.Name)
			bid := d.Tables[0].Columns[d.Tables[0].Column("school_class_bid")]
			require.Contains(t, bid.Doc, "The key may repeat", d.Name)
		}
		// A known member stays in _extra, so no column or child may take it.
		for _, table := range d.Tables {
			require.NotContains(t, d.Known, table.Each, table.Name)
			for _, c := range table.Columns {
				member, _, _ := strings.Cut(c.Source, ".")
				require.NotContains(t, d.Known, member, "%s.%s", table.Name, c.Name)
			}
		}
	}
	require.Equal(t, map[string][]string{
		"student_details":      {"personalNeedsProfile", "englishLearner", "individualizedPrograms"},
		"test_results":         {"accommodations"},
		"school_class_details": {"educators", "students"},
	}, known)
	require.Equal(t, []string{"student_school_classes", "educator_school_classes"}, whole)
}

// placeholder finds the parameters of a path template.
var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// params returns the names of a call's parameters: those in its path and query, and the school whose list fed a fan-out
// below it.
func params(d *Dataset) []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(d.Operation.Path, -1) {
		names = append(names, m[1])
	}
	for _, q := range d.Operation.Query {
		names = append(names, strings.ReplaceAll(q, "-", "_"))
	}
	if len(d.Feeds) > 0 && !slices.Contains(names, "school_bid") {
		names = append(names, "school_bid")
	}
	return names
}

func TestParametersAreRequestedColumns(t *testing.T) {
	t.Parallel()
	for _, d := range Datasets() {
		require.True(t, strings.HasPrefix(d.Operation.Path, "/"), d.Name)
		require.NotContains(t, placeholder.ReplaceAllString(d.Operation.Path, ""), "{", d.Name)
		for _, table := range d.Tables {
			var requested []string
			for _, c := range table.Columns {
				name, ok := strings.CutPrefix(c.Source, string(SourceParam))
				if !ok {
					continue
				}
				require.Equal(t, "requested_"+name, c.Name, table.Name)
				requested = append(requested, name)
			}
			require.ElementsMatch(t, params(d), requested, table.Name)
		}
	}
}

func TestFeedsAndPerspectives(t *testing.T) {
	t.Parallel()
	for _, d := range Datasets() {
		require.Equal(t, d.Per == PerStudent || d.Per == PerEducator || d.Per == PerRecord, len(d.Feeds) > 0, d.Name)
		require.Equal(t, strings.HasPrefix(d.Operation.Path, "/enrollments/"), d.TakesPerspective(), d.Name)
		for _, name := range d.Feeds {
			table, feed, ok := FindTable(name)
			require.True(t, ok, d.Name)
			require.Equal(t, PerSchool, feed.Per, d.Name)
			// A call's parameters other than school and perspective are columns of the rows that feed it.
			require.Contains(t, params(d), d.FedParam())
			require.GreaterOrEqual(t, table.Column(d.FedParam()), 0, "%s needs %s", d.Name, d.FedParam())
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	datasets, tables, operations := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, d := range Datasets() {
		require.False(t, datasets[d.Name], d.Name)
		require.False(t, operations[d.Operation.Section], d.Operation.Section)
		datasets[d.Name], operations[d.Operation.Section] = true, true
		require.NotEmpty(t, d.Tables, d.Name)
		require.Equal(t, d.Name, d.Tables[0].Name, "a dataset's first table has its name")
		for _, table := range d.Tables {
			require.False(t, tables[table.Name], table.Name)
			tables[table.Name] = true
			columns, sources := map[string]bool{}, map[string]bool{}
			for _, c := range table.Columns {
				require.False(t, columns[c.Name], "%s.%s", table.Name, c.Name)
				require.False(t, sources[c.Source], "%s: source %s", table.Name, c.Source)
				columns[c.Name], sources[c.Source] = true, true
			}
		}
	}
	require.Len(t, datasets, len(Datasets()))
	require.Len(t, tables, len(Tables()))
}

// source matches the source of a column.
var source = regexp.MustCompile(`^(\*|#|\$[a-z]+(_[a-z]+)*|\^[a-z][A-Za-z]*|[a-z][A-Za-z]*(\.[a-z][A-Za-z]*)?)$`)

func TestColumnsAreSound(t *testing.T) {
	t.Parallel()
	for _, d := range Datasets() {
		for i, table := range d.Tables {
			require.Equal(t, i > 0, table.Each != "", "%s: only the first table holds the records", table.Name)
			last := len(table.Columns) - 1
			for j, c := range table.Columns {
				name := table.Name + "." + c.Name
				require.Regexp(t, source, c.Source, name)
				require.NotContains(t, c.Type.String(), "Type(", name)
				require.Contains(t, classes(), c.Class, "%s has no privacy class: add the mark that says what the column reveals about a person"+
					" (none, id, record, direct, birth, grade, freeText, trait, score) to its declaration, and the class to tables.csv", name)

				required := strings.HasPrefix(c.Name, "requested_") || c.Name == "ordinal"
				require.Equal(t, required, c.Required, "%s: required are requested_* and ordinal", name)
				require.False(t, c.Required && !c.Key, "%s: what the call asked for is part of the key", name)

				require.Equal(t, c.Name == "_extra", j == last, "%s: _extra is last", name)
				for what, is := range map[string]bool{
					"source": c.Source == SourceExtra, "type": c.Type == JSON, "class": c.Class == Extra,
				} {
					require.Equal(t, j == last, is, "%s: %s of _extra", name, what)
				}
				require.Equal(t, c.Name == "ordinal", c.Source == SourceOrdinal, name)
				if c.Refers != "" {
					of, column, _ := strings.Cut(c.Refers, ".")
					other, _, ok := FindTable(of)
					require.True(t, ok && other.Column(column) >= 0, "%s refers to %s", name, c.Refers)
				}
				if parent, ok := strings.CutPrefix(c.Source, string(SourceParent)); ok {
					require.NotEmpty(t, table.Each, name)
					of := slices.IndexFunc(d.Tables[0].Columns, func(p Column) bool { return p.Source == parent })
					require.GreaterOrEqual(t, of, 0, "%s: no column of the parent", name)
					require.Equal(t, d.Tables[0].Columns[of].Type, c.Type, name)
					require.Equal(t, d.Tables[0].Columns[of].Name, c.Name, name)
				}
			}
			require.Equal(t, table.Each != "", table.Column("ordinal") >= 0, table.Name)
		}
	}
}

// origin matches the part of a column's documentation that names its source.
var origin = regexp.MustCompile(`(Specification 4\.\d+[.,]|Observed[.:]|Presumed\.)`)

func TestDocumentation(t *testing.T) {
	t.Parallel()
	sentence := func(doc, of string) {
		require.Regexp(t, `^[A-Z][^\n]*\.$`, doc, of)
		require.NotContains(t, doc, "  ", of)
	}
	for _, d := range Datasets() {
		sentence(d.Doc, d.Name)
		for _, table := range d.Tables {
			sentence(table.Doc, table.Name)
			for _, c := range table.Columns {
				name := table.Name + "." + c.Name
				sentence(c.Doc, name)
				if c.Source == SourceExtra || c.Source == SourceOrdinal {
					continue
				}
				require.Regexp(t, origin, c.Doc, name)
				sections := regexp.MustCompile(`Specification (4\.\d+)`).FindStringSubmatch(c.Doc)
				if sections == nil || (c.Name == "requested_school_bid" && len(d.Feeds) > 0) {
					continue
				}
				require.Equal(t, d.Operation.Section, sections[1], name)
			}
		}
	}
}

func TestKeyColumnsOrder(t *testing.T) {
	t.Parallel()
	for table, want := range map[string][]string{
		"districts":              {"district_bid"},
		"test_results":           {"requested_school_bid", "test_result_bid"},
		"test_result_norms":      {"requested_school_bid", "test_result_bid", "ordinal"},
		"enrollment_sessions":    {"requested_school_bid", "requested_perspective_bid", "academic_year_bid", "ordinal"},
		"student_school_classes": {"requested_school_bid", "requested_perspective_bid", "requested_student_bid", "school_class_bid"},
	} {
		i := slices.IndexFunc(Tables(), func(x *Table) bool { return x.Name == table })
		require.GreaterOrEqual(t, i, 0, table)
		var got []string
		for _, k := range Tables()[i].KeyColumns() {
			got = append(got, Tables()[i].Columns[k].Name)
		}
		require.Equal(t, want, got, table)
	}
}

func TestDeclarationsAreShared(t *testing.T) {
	t.Parallel()
	for _, d := range Datasets() {
		found, ok := Find(d.Name)
		require.True(t, ok, d.Name)
		require.Same(t, d, found)
	}
	_, ok := Find("test-results")
	require.False(t, ok)

	// A caller that cuts or sorts its slice does not change the declarations.
	mine := Datasets()
	slices.Reverse(mine)
	require.Equal(t, "districts", Datasets()[0].Name)
}
