package transform_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

func TestCompileRefusesMistakes(t *testing.T) {
	t.Parallel()
	column := func(ds *schemas.Dataset, table int, name string) *schemas.Column {
		return &ds.Tables[table].Columns[ds.Tables[table].Column(name)]
	}
	tests := []struct {
		name    string
		mistake func(*schemas.Dataset)
		want    string
	}{
		{"no table", func(ds *schemas.Dataset) { ds.Tables = nil }, "dataset small: no table"},
		{"no place for leftovers", func(ds *schemas.Dataset) { ds.Tables[0].Columns = ds.Tables[0].Columns[:9] }, "no column of source *"},
		{"no source", func(ds *schemas.Dataset) { column(ds, 0, "s").Source = "" }, "column s: no source"},
		{"an empty step", func(ds *schemas.Dataset) { column(ds, 0, "s").Source = "n." }, "is not plain"},
		{"a quote", func(ds *schemas.Dataset) { column(ds, 0, "s").Source = `a"b` }, "is not plain"},
		{"two columns of one member", func(ds *schemas.Dataset) { column(ds, 0, "s").Source = "i" }, "member i is declared twice"},
		{"a nested object that is a column", func(ds *schemas.Dataset) { column(ds, 0, "n_x").Source = "s.x" }, "reaches into a column"},
		{"a column that is a nested object", func(ds *schemas.Dataset) {
			ds.Tables[0].Columns = append(ds.Tables[0].Columns, schemas.Column{Name: "late", Type: schemas.String, Source: "n"})
		}, "member n is declared twice"},
		{"a known member that is a column", func(ds *schemas.Dataset) { ds.Known = []string{"s"} }, "member s is declared twice"},
		{"a required member", func(ds *schemas.Dataset) { column(ds, 0, "s").Required = true }, "other columns must not be"},
		{"an optional parameter", func(ds *schemas.Dataset) { column(ds, 0, "requested_school_bid").Required = false }, "must be required"},
		{"a parameter that is not text", func(ds *schemas.Dataset) { column(ds, 0, "requested_school_bid").Type = schemas.Int32 }, "does not go with type"},
		{"a position in the first table", func(ds *schemas.Dataset) {
			c := column(ds, 0, "i")
			c.Source, c.Required = schemas.SourceOrdinal, true
		}, "does not go with type"},
		{"JSON from a member", func(ds *schemas.Dataset) { column(ds, 0, "s").Type = schemas.JSON }, "no value fits type json"},
		{"two places for leftovers", func(ds *schemas.Dataset) {
			c := column(ds, 0, "s")
			c.Source, c.Type = schemas.SourceExtra, schemas.JSON
		}, "is repeated"},
		{"a parent's member that is not a column", func(ds *schemas.Dataset) { column(ds, 1, "id").Source = "^nothing" }, "not a text column of things"},
		{"a child of no array", func(ds *schemas.Dataset) { ds.Tables[1].Each = "" }, "is not plain"},
		{"a child's array in a nested object", func(ds *schemas.Dataset) { ds.Tables[1].Each = "n.parts" }, "not a member of the record"},
		{"a child without its position", func(ds *schemas.Dataset) { column(ds, 1, "ordinal").Key = false }, "the keys must be the keys of things"},
		{"bare elements without a column", func(ds *schemas.Dataset) { ds.Tables[1].Bare = "x" }, "no text column has source x"},
		{"bare elements of a number", func(ds *schemas.Dataset) {
			column(ds, 1, "p").Type = schemas.Int32
			ds.Tables[1].Bare = "p"
		}, "no text column has source p"},
		{"a key that is not text", func(ds *schemas.Dataset) {
			ds.Tables = ds.Tables[:1]
			column(ds, 0, "i").Key = true
		}, "key column i is not text"},
		{"children of whole records", func(ds *schemas.Dataset) { ds.WholeRecordDuplicates = true }, "without their child rows"},
		{"too many members", func(ds *schemas.Dataset) {
			for i := range 60 {
				ds.Known = append(ds.Known, "k"+strconv.Itoa(i))
			}
		}, "more than 64 members"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ds := small()
			test.mistake(ds)
			_, err := transform.Compile(ds)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestLongAndManyNames reads names that exceed the window of the fast path, share their beginnings, or contain one
// another.
func TestLongAndManyNames(t *testing.T) {
	t.Parallel()
	names := []string{
		"a", "ab", "abc", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghijklmno", "abcdefghijklmnop", "abcdefghijklmnopq",
		"abcdefghijklmnopqrstuvwxyz0123", "abcdefghijklmnopqrstuvwxyz01234", "abcdefghijklmnopqrstuvwxyz0123456789", "é", "ü:", " ",
	}
	ds := &schemas.Dataset{Name: "names", Tables: []*schemas.Table{{Name: "names", Columns: []schemas.Column{{Name: "_extra", Type: schemas.JSON, Source: "*"}}}}}
	for _, name := range names {
		ds.Tables[0].Columns = append(ds.Tables[0].Columns, schemas.Column{Name: "column " + name, Type: schemas.String, Source: name})
	}
	for _, tail := range []string{"", "                                        "} {
		for _, name := range names {
			for _, sent := range []string{`"` + name + `":`, `"` + name + "\" :\t"} {
				result := readAs(t, ds, `[{`+sent+`"value"}`+tail+`]`)
				require.Equal(t, []string{`"value"`}, cells(t, result, "names", "column "+name), sent)
				require.Empty(t, result.Drift)
			}
			result := readAs(t, ds, `[{"x`+name+`":"value"},{"`+name+`x":"value"}`+tail+`]`)
			require.Equal(t, []string{strconv.Quote(`{"x` + name + `":"value"}`), strconv.Quote(`{"` + name + `x":"value"}`)}, cells(t, result, "names", "_extra"))
		}
	}
}
