package transform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// small returns a dataset with a column of every type, a nested object and a child table.
func small() *schemas.Dataset {
	return &schemas.Dataset{
		Name:  "small",
		Known: []string{"known"},
		Tables: []*schemas.Table{
			{Name: "things", Columns: []schemas.Column{
				{Name: "requested_school_bid", Type: schemas.String, Key: true, Required: true, Source: "$school_bid"},
				{Name: "id", Type: schemas.String, Key: true, Source: "id"},
				{Name: "s", Type: schemas.String, Source: "s"},
				{Name: "i", Type: schemas.Int32, Source: "i"},
				{Name: "l", Type: schemas.Int64, Source: "l"},
				{Name: "d", Type: schemas.Double, Source: "d"},
				{Name: "b", Type: schemas.Boolean, Source: "b"},
				{Name: "day", Type: schemas.Date, Source: "day"},
				{Name: "modified_date_time", Type: schemas.Timestamp, Source: "t"},
				{Name: "n_x", Type: schemas.Int32, Source: "n.x"},
				{Name: "_extra", Type: schemas.JSON, Source: "*"},
			}},
			{Name: "parts", Each: "parts", Columns: []schemas.Column{
				{Name: "requested_school_bid", Type: schemas.String, Key: true, Required: true, Source: "$school_bid"},
				{Name: "id", Type: schemas.String, Key: true, Source: "^id"},
				{Name: "ordinal", Type: schemas.Int32, Key: true, Required: true, Source: "#"},
				{Name: "p", Type: schemas.String, Source: "p"},
				{Name: "_extra", Type: schemas.JSON, Source: "*"},
			}},
		},
	}
}

// read reads pages with a decoder of the small dataset.
func read(t *testing.T, pages ...string) transform.Result {
	t.Helper()
	return readAs(t, small(), pages...)
}

func readAs(t *testing.T, ds *schemas.Dataset, pages ...string) transform.Result {
	t.Helper()
	plan, err := transform.Compile(ds)
	require.NoError(t, err)
	decoder := plan.NewDecoder()
	decoder.Reset(transform.Params{"school_bid": "s1"})
	for _, page := range pages {
		_, err := readPage(decoder, []byte(page))
		require.NoError(t, err, page)
	}
	return decoder.Finish()
}

// cells returns a column's cells in the order of the batch.
func cells(t *testing.T, result transform.Result, table, column string) []string {
	t.Helper()
	var all []string
	for _, b := range result.Tables {
		if b.Table.Name != table {
			continue
		}
		for i := range b.Len() {
			all = append(all, cellAsText(&b.Cols[b.Table.Column(column)], b.Row(i)))
		}
	}
	return all
}

// driftAsText writes drift as table, field, kind and count.
func driftAsText(drift []transform.Drift) []string {
	var all []string
	for _, d := range drift {
		all = append(all, fmt.Sprintf("%s %s %s %d", d.Table, d.Field, d.Kind, d.Count))
	}
	return all
}

func TestWhatFitsAType(t *testing.T) {
	t.Parallel()
	const unfit = "unfit"
	tests := map[string]map[string]string{ // column: value as sent: cell
		"s": {
			`"a"`: `"a"`, `""`: `""`, `"12"`: `"12"`, `12`: `"12"`, `12.50`: `"12.50"`, `1E+2`: `"1E+2"`, `-0.0`: `"-0.0"`,
			`true`: `"true"`, `false`: `"false"`, `null`: `null`,
			`"Zo\u00eb"`: `"Zoë"`, `"\ud83d\ude00"`: `"😀"`, `"\"\\\/\b\f\n\r\t"`: `"\"\\/\b\f\n\r\t"`, `"\u0000"`: `"\x00"`,
			`[]`: unfit, `{}`: unfit, `["a"]`: unfit,
			`"` + strings.Repeat("long ", 40) + `"`: `"` + strings.Repeat("long ", 40) + `"`,
		},
		"i": {
			`12`: `12`, `"12"`: `12`, `65.0`: `65`, `"65.0"`: `65`, `1e2`: `100`, `1E+2`: `100`, `1200e-2`: `12`, `-0`: `0`, `-0.0`: `0`, `0e999999999999`: `0`,
			`2147483647`: `2147483647`, `2147483648`: unfit, `-2147483648`: `-2147483648`, `-2147483649`: unfit, `2147483647.000`: `2147483647`,
			`0.00000000002147483647e20`: `2147483647`, `12.5`: unfit, `1e-1`: unfit, `1e99999999999999999999`: unfit, `1e-99999999999999999999`: unfit,
			`""`: unfit, `" 12"`: unfit, `"12 "`: unfit, `"+12"`: unfit, `"012"`: unfit, `"1."`: unfit, `".5"`: unfit, `"twelve"`: unfit, `"0x0C"`: unfit,
			`true`: unfit, `"true"`: unfit, `[12]`: unfit, `null`: `null`,
		},
		"l": {
			`9223372036854775807`: `9223372036854775807`, `9223372036854775808`: unfit, `-9223372036854775808`: `-9223372036854775808`,
			`-9223372036854775809`: unfit, `9007199254740993`: `9007199254740993`, `"9007199254740993.0"`: `9007199254740993`,
			`9223372036854775807.5`: unfit, `922337203685477580700e-2`: `9223372036854775807`, `1e18`: `1000000000000000000`, `1e19`: unfit,
			`18446744073709551616`: unfit, `123456789012345678901234567890`: unfit,
		},
		"d": {
			`1`: `0x1p+00`, `1.5`: `0x1.8p+00`, `"1.5"`: `0x1.8p+00`, `-2.5e1`: `-0x1.9p+04`, `0`: `0x0p+00`, `-0`: `-0x0p+00`, `-0.0`: `-0x0p+00`, `0.1`: `0x1.999999999999ap-04`,
			`0.30000000000000004`: `0x1.3333333333334p-02`, `123456789012345.6`: `0x1.c12218377de66p+46`, `1e400`: unfit, `-1e400`: unfit, `1e-400`: `0x0p+00`,
			`1.7976931348623157e308`: `0x1.fffffffffffffp+1023`, `1.7976931348623159e308`: unfit,
			`"NaN"`: unfit, `"Infinity"`: unfit, `"1e400"`: unfit, `""`: unfit, `"1_0"`: unfit, `"0x1p1"`: unfit, `true`: unfit, `{}`: unfit,
		},
		"b": {
			`true`: `true`, `false`: `false`, `"true"`: `true`, `"false"`: `false`, `"tru\u0065"`: `true`, `null`: `null`,
			`"True"`: unfit, `"yes"`: unfit, `1`: unfit, `0`: unfit, `"1"`: unfit, `""`: unfit, `" true"`: unfit, `[true]`: unfit,
		},
		"day": {
			`"1970-01-01"`: `0`, `"1969-12-31"`: `-1`, `"2025-09-01"`: `20332`, `"2024-02-29"`: `19782`, `"2000-02-29"`: `11016`, `"0001-01-01"`: `-719162`, `"9999-12-31"`: `2932896`,
			`"0000-12-31T23:00:00-01:00"`: `-719162`, `"0000-12-31"`: unfit, `"0001-01-01T02:00:00+02:00"`: `-719162`, `"9999-12-31T19:00:00-05:00"`: unfit,
			`"2025-09-01T00:00:00Z"`: `20332`, `"2025-09-01 00:00:00"`: `20332`, `"2025-09-01T00:00:00.000000000"`: `20332`,
			`"2025-09-01T02:00:00+02:00"`: `20332`, `"2025-08-31T19:00:00-05:00"`: `20332`, `"2025\u002d09-01"`: `20332`,
			`"2025-09-01T00:00:00+02:00"`: unfit, `"2025-09-01T00:00:01Z"`: unfit, `"2025-09-01T00:00:00.000001Z"`: unfit, `"2025-02-29"`: unfit, `"1900-02-29"`: unfit,
			`"2025-04-31"`: unfit, `"2025-13-01"`: unfit, `"2025-00-10"`: unfit, `"2025-01-00"`: unfit, `"2025-01-32"`: unfit, `"2025-9-1"`: unfit, `"20250901"`: unfit,
			`" 2025-09-01"`: unfit, `"2025/09/01"`: unfit, `"-025-09-01"`: unfit, `""`: unfit, `20250901`: unfit, `2025`: unfit,
		},
		"modified_date_time": {
			`"1970-01-01T00:00:00Z"`: `0`, `"1970-01-01"`: `0`, `"1970-01-01 00:00:01"`: `1000000`, `"1970-01-01T00:00:00.5"`: `500000`, `"1970-01-01T00:00:00.123456Z"`: `123456`,
			`"1970-01-01T00:00:00.1234560000Z"`: `123456`, `"1969-12-31T23:59:59.999999Z"`: `-1`, `"1970-01-01T01:00:00+01:00"`: `0`, `"1970-01-01T23:59:00+23:59"`: `0`, `"1969-12-31T19:00:00-05:00"`: `0`,
			`"1970-01-01T00:00:00-00:00"`: `0`, `"1970-01-01T05:45:00.25+05:45"`: `250000`, `"2025-09-01T23:59:59Z"`: `1756771199000000`, `"0001-01-01T00:00:00Z"`: `-62135596800000000`,
			`"9999-12-31T23:59:59.999999Z"`: `253402300799999999`, `"9999-12-31T23:59:59-05:00"`: unfit, `"0000-12-31T23:59:59-00:01"`: `-62135596741000000`,
			`"0001-01-01T00:00:00+05:00"`: unfit, `"0001-01-01"`: `-62135596800000000`, `"0000-12-31T23:59:59.999999Z"`: unfit, `"0000-12-31"`: unfit,
			`"1970-01-01T00:00:00.1234567Z"`: unfit, `"1970-01-01T24:00:00Z"`: unfit, `"1970-01-01T23:59:60Z"`: unfit, `"1970-01-01T00:60:00Z"`: unfit,
			`"1970-01-01T00:00Z"`: unfit, `"1970-01-01T00:00:00."`: unfit, `"1970-01-01T00:00:00.Z"`: unfit, `"1970-01-01T00:00:00+0100"`: unfit, `"1970-01-01T00:00:00+01"`: unfit,
			`"1970-01-01T00:00:00+24:00"`: unfit, `"1970-01-01T00:00:00+01:60"`: unfit, `"1970-01-01T00:00:00 Z"`: unfit, `"1970-01-01t00:00:00z"`: unfit, `"1970-01-01  00:00:00"`: unfit,
			`"1970-02-30T00:00:00Z"`: unfit, `"1970-01-01T00:00:00Zulu"`: unfit, `"Thu, 01 Jan 1970 00:00:00 GMT"`: unfit, `0`: unfit, `""`: unfit,
		},
	}
	sources := map[string]string{"modified_date_time": "t"}
	for column, values := range tests {
		source := column
		if renamed, ok := sources[column]; ok {
			source = renamed
		}
		for value, want := range values {
			result := read(t, fmt.Sprintf(`[{%q: %s}]`, source, value))
			name := column + " of " + value
			cell := cells(t, result, "things", column)
			extra := cells(t, result, "things", "_extra")
			if want != unfit {
				require.Equal(t, []string{want}, cell, name)
				require.Equal(t, []string{"null"}, extra, name)
				require.Empty(t, result.Drift, name)
				continue
			}
			require.Equal(t, []string{"null"}, cell, name)
			require.Equal(t, []string{fmt.Sprintf("%q", `{"`+source+`":`+value+`}`)}, extra, name)
			require.Equal(t, []transform.Drift{{Table: "things", Field: source, Kind: transform.TypeMismatch, Count: 1}}, result.Drift, name)
		}
	}
}

func TestWhatIsLeftOver(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, record, extra string
		drift               []string
	}{
		{"nothing", `{}`, `null`, nil},
		{"every member taken", `{"id":"a","n":{"x":1},"parts":[]}`, `null`, nil},
		{"sorted by bytes", `{"é":1,"z":2,"B":3,"a":4,"Z":5,"":6}`, `{"":6,"B":3,"Z":5,"a":4,"z":2,"é":1}`, []string{
			"things # unknown_field 2", "things B unknown_field 1", "things Z unknown_field 1", "things a unknown_field 1", "things z unknown_field 1",
		}},
		{"values as sent", `{"u": { "b" : 1.50 , "a" : [ 1E2 , "\u00e9 \/" ] , "b":null } }`, `{"u":{"b":1.50,"a":[1E2,"\u00e9 \/"],"b":null}}`, []string{"things u unknown_field 1"}},
		{"unknown nulls", `{"u":null,"v":[null]}`, `{"v":[null]}`, []string{"things v unknown_field 1"}},
		{"known members", `{"known":{"a":1}}`, `{"known":{"a":1}}`, nil},
		{"a known null", `{"known":null}`, `null`, nil},
		{"leftovers of a nested object", `{"n":{"y":{},"x":1,"w":"v"}}`, `{"n":{"w":"v","y":{}}}`, []string{"things n.w unknown_field 1", "things n.y unknown_field 1"}},
		{"a mismatch in a nested object", `{"n":{"x":"one"},"i":"two"}`, `{"i":"two","n":{"x":"one"}}`, []string{"things i type_mismatch 1", "things n.x type_mismatch 1"}},
		{"a nested object of nulls", `{"n":{"y":null}}`, `null`, nil},
		{"an array for a nested object", `{"n":[1]}`, `{"n":[1]}`, []string{"things n type_mismatch 1"}},
		{"null for a nested object", `{"n":null}`, `null`, nil},
		{"an object for a child array", `{"parts":{"p": "x"}}`, `{"parts":{"p":"x"}}`, []string{"things parts type_mismatch 1"}},
		{"null for a child array", `{"parts":null}`, `null`, nil},
		{"a name that looks like a path", `{"n.x":1}`, `{"n.x":1}`, []string{"things # unknown_field 1"}},
		{"names are escaped no more than they must be", `{"\u0066\u00e9\/\"\\\u0001\n":1}`, `{"fé/\"\\\u0001\n":1}`, []string{"things # unknown_field 1"}},
		{"an escaped name is the name", `{"\u0069":7}`, `null`, nil},
		{"a lone surrogate in a name", `{"\uD800":1}`, "{\"\uFFFD\":1}", []string{"things # type_mismatch 1", "things # unknown_field 1"}},
		{
			"names that become equal by replacement", "{\"\\ud800\":1,\"\xff\":2,\"\\udfff\":3,\"\uFFFD\":4}", "{\"\uFFFD\":4}",
			[]string{"things # duplicate_member 3", "things # unknown_field 1"},
		},
		{
			"sorted by bytes after replacement", "{\"😀\":1,\"\\udfff\":2,\"\uFFFC\":3,\"\xff\xff\":4}", "{\"\uFFFC\":3,\"\uFFFD\":2,\"\uFFFD\uFFFD\":4,\"😀\":1}",
			[]string{
				"things # type_mismatch 3", "things # unknown_field 4",
			},
		},
		{
			"lone surrogates in values", `{"u":["a\ud83d","\ude00\ud83d",{"\uDBFFx\ud83d\ude00":"\\ud83d"}],"known":"\udc00","s":"\ud800","n":{"x":"\ud800"}}`,
			"{\"known\":\"\uFFFD\",\"n\":{\"x\":\"\uFFFD\"},\"s\":\"\uFFFD\",\"u\":[\"a\uFFFD\",\"\uFFFD\uFFFD\",{\"\uFFFDx\\ud83d\\ude00\":\"\\\\ud83d\"}]}",
			[]string{"things known type_mismatch 1", "things n.x type_mismatch 2", "things s type_mismatch 2", "things u type_mismatch 4", "things u unknown_field 1"},
		},
		{
			"names that do not look like names in code", `{"jane.doe@school.example":1,"Jane Doe":2,"S12345":3,"2b":4,"0f8fad5b-d9cb-469f-a165-70867728950e":5,"n":{"x 1":6,"x":7}}`,
			`{"0f8fad5b-d9cb-469f-a165-70867728950e":5,"2b":4,"Jane Doe":2,"S12345":3,"jane.doe@school.example":1,"n":{"x 1":6}}`,
			[]string{"things # unknown_field 5", "things n.# unknown_field 1"},
		},
		{
			"names that look like names in code", `{"_links":1,"S1234":2,"n":{"a_1":3}}`, `{"S1234":2,"_links":1,"n":{"a_1":3}}`,
			[]string{"things S1234 unknown_field 1", "things _links unknown_field 1", "things n.a_1 unknown_field 1"},
		},
		{
			"a long name", `{"` + strings.Repeat("y", 40) + `":1,"` + strings.Repeat("z", 41) + `":2}`, `{"` + strings.Repeat("y", 40) + `":1,"` + strings.Repeat("z", 41) + `":2}`,
			[]string{"things # unknown_field 1", "things " + strings.Repeat("y", 40) + " unknown_field 1"},
		},
		{"the last of a duplicate member", `{"i":1,"i":2}`, `null`, []string{"things i duplicate_member 1"}},
		{"the last is null", `{"i":1,"u":1,"i":null,"u":null}`, `null`, []string{"things i duplicate_member 1", "things u duplicate_member 1"}},
		{"the last does not fit", `{"i":1,"i":"x"}`, `{"i":"x"}`, []string{"things i duplicate_member 1", "things i type_mismatch 1"}},
		{"only the last does not count twice", `{"i":"x","i":"y","i":3}`, `null`, []string{"things i duplicate_member 2"}},
		{"of a duplicate unknown member", `{"u":{"a":1},"\u0075":2}`, `{"u":2}`, []string{"things u duplicate_member 1", "things u unknown_field 1"}},
		{"of a duplicate nested object", `{"n":{"x":1,"y":1},"n":{"z":1}}`, `{"n":{"z":1}}`, []string{"things n duplicate_member 1", "things n.z unknown_field 1"}},
		{"in a nested object", `{"n":{"x":1,"y":1,"y":2,"x":3}}`, `{"n":{"y":2}}`, []string{"things n.x duplicate_member 1", "things n.y duplicate_member 1", "things n.y unknown_field 1"}},
		{"duplicates in a leftover", `{"u":{"a":1,"a":2}}`, `{"u":{"a":1,"a":2}}`, []string{"things u unknown_field 1"}},
		{"invalid UTF-8", "{\"u\":\"a\xff\xfeb\"}", "{\"u\":\"a\uFFFD\uFFFDb\"}", []string{"things u type_mismatch 2", "things u unknown_field 1"}},
		{"invalid UTF-8, in a name", "{\"\xff\":1}", "{\"\uFFFD\":1}", []string{"things # type_mismatch 1", "things # unknown_field 1"}},
		{"invalid UTF-8, in a column", "{\"s\":\"\xe2\x82\",\"i\":\"\xff\"}", "{\"i\":\"\uFFFD\"}", []string{"things i type_mismatch 2", "things s type_mismatch 2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			result := read(t, "[ "+test.record+" ]")
			want := test.extra
			if want != "null" {
				want = fmt.Sprintf("%q", want)
			}
			require.Equal(t, []string{want}, cells(t, result, "things", "_extra"))
			require.Equal(t, test.drift, driftAsText(result.Drift))
		})
	}
}

func TestElementsThatAreNoObjects(t *testing.T) {
	t.Parallel()
	result := read(t, `[5, null, [ 1, 2 ], "x", {"id":"a","parts":[null,{"p":"y"},true]}]`)
	require.Equal(t, []string{`"{\"_value\":5}"`, `"{\"_value\":null}"`, `"{\"_value\":[1,2]}"`, `"{\"_value\":\"x\"}"`, "null"}, cells(t, result, "things", "_extra"))
	require.Equal(t, []string{`"{\"_value\":null}"`, "null", `"{\"_value\":true}"`}, cells(t, result, "parts", "_extra"))
	require.Equal(t, []string{"0", "1", "2"}, cells(t, result, "parts", "ordinal"))
	require.Equal(t, []string{`"a"`, `"a"`, `"a"`}, cells(t, result, "parts", "id"))
	require.Equal(t, []string{"parts _value type_mismatch 2", "things _value type_mismatch 4"}, driftAsText(result.Drift))
	require.EqualValues(t, 5, result.Records)
}

// TestBareIdentifiers checks that a text element in the roster of a class is read as the person's identifier and not
// counted as drift.
func TestBareIdentifiers(t *testing.T) {
	t.Parallel()
	ds, ok := schemas.Find("school_classes")
	require.True(t, ok)
	for _, test := range []struct{ each, table, column, source string }{
		{"educators", "school_class_educators", "educator_bid", "educatorBid"},
		{"students", "school_class_students", "student_bid", "studentBid"},
	} {
		long := strings.Repeat("0123456789", 20)
		list := `["a","\u0062\"","` + long + `","",{"` + test.source + `":"d"},"e\ud800",12,true,null,["f"],"g` + "\xff" + `","😀"]`
		result := readAs(t, ds, `{"schoolClasses":[{"schoolClassBid":"c","`+test.each+`": `+list+`}],"pagination":{"hasNextPage":false}}`)
		require.Equal(t, []string{`"a"`, `"b\""`, `"` + long + `"`, `""`, `"d"`, "null", "null", "null", "null", "null", "\"g\uFFFD\"", `"😀"`}, cells(t, result, test.table, test.column))
		require.Equal(t, []string{
			"null", "null", "null", "null", "null", "\"{\\\"_value\\\":\\\"e\uFFFD\\\"}\"", `"{\"_value\":12}"`, `"{\"_value\":true}"`, `"{\"_value\":null}"`, `"{\"_value\":[\"f\"]}"`, "null", "null",
		}, cells(t, result, test.table, "_extra"))
		require.Equal(t, []string{`"c"`}, slices.Compact(cells(t, result, test.table, "school_class_bid")))
		require.Equal(t, slices.Repeat([]string{"null"}, 12), cells(t, result, test.table, "first_name"))
		require.Equal(t, []string{test.table + " _value type_mismatch 6", test.table + " " + test.source + " type_mismatch 1"}, driftAsText(result.Drift))
	}
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		pages []string
		kept  []string // column s
		parts []string // column p
	}{
		{"the record modified last", []string{
			`[{"id":"a","s":"old","t":"2025-01-01","parts":[{"p":"old"}]},{"id":"a","s":"new","t":"2025-01-01T00:00:00.000001Z","parts":[{"p":"new"}]}]`,
			`[{"id":"a","s":"older","t":"2024-01-01","parts":[{"p":"1"},{"p":"2"}]}]`,
		}, []string{`"new"`}, []string{`"new"`}},
		{"a readable time beats none", []string{`[{"id":"a","s":"1","t":"2025-01-01"},{"id":"a","s":"2","t":"yesterday","parts":[{"p":"gone"}]},{"id":"a","s":"3"}]`}, []string{`"1"`}, nil},
		{"of equal times, the record received last", []string{`[{"id":"a","s":"1","t":"2025-01-01"}]`, `[{"id":"a","s":"2","t":"2025-01-01T00:00:00Z"}]`}, []string{`"2"`}, nil},
		{"without times, the record received last", []string{`[{"id":"a","s":"1"},{"id":"b","s":"2"},{"id":"a","s":"3"}]`}, []string{`"3"`, `"2"`}, nil},
		{"an id is text whatever its form", []string{`[{"id":12,"s":"1"},{"id":"12","s":"2"},{"id":"12.0","s":"3"}]`}, []string{`"2"`, `"3"`}, nil},
		{
			"rows without a complete key stay",
			[]string{`[{"id":"a","s":"1"},{"id":"","s":"2"},{"s":"3"},{"id":null,"s":"4"},{"id":"","s":"5"},{"id":[],"s":"6"}]`},
			[]string{`"3"`, `"4"`, `"6"`, `"2"`, `"5"`, `"1"`},
			nil,
		},
		{
			"their child rows are merged by position",
			[]string{`[{"parts":[{"p":"a0"},{"p":"a1"}]},{"id":"","parts":[{"p":"c0"},{"p":"c1"}]},{"parts":[{"p":"b0"},{"p":"b1"},{"p":"b2"}]}]`},
			[]string{"null", "null", "null"},
			[]string{`"a0"`, `"b0"`, `"a1"`, `"b1"`, `"b2"`, `"c0"`, `"c1"`},
		},
		{
			"sorted by bytes, nulls first",
			[]string{`[{"id":"b","s":"1"},{"id":"é","s":"2"},{"id":"B","s":"3"},{"id":"abcdefgh2","s":"4"},{"id":"abcdefgh10","s":"5"},{"id":"abcdefgh","s":"6"},{"s":"7"}]`},
			[]string{`"7"`, `"3"`, `"6"`, `"5"`, `"4"`, `"1"`, `"2"`},
			nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			result := read(t, test.pages...)
			require.Equal(t, test.kept, cells(t, result, "things", "s"))
			require.Equal(t, test.parts, cells(t, result, "parts", "p"))
			require.Equal(t, result.Records, result.Duplicates+int64(len(test.kept)))
			var counted int64
			for _, d := range result.Drift {
				if d.Kind == transform.DuplicateRecord {
					require.Equal(t, "id", d.Field)
					counted = d.Count
				}
			}
			require.Equal(t, result.Duplicates, counted)
		})
	}
}

func TestWholeRecordDuplicates(t *testing.T) {
	t.Parallel()
	ds := small()
	ds.WholeRecordDuplicates = true
	ds.Tables = ds.Tables[:1]
	result := readAs(t, ds, `[{"id":"a","s":"1","t":"2025-01-01"},{"s":"2","id":"a"},{"t":"2025-01-01","id":"a","s":"1"},{"id":"a","s":"2","u":null},{"id":"a","s":"2","u":0},{"s":"x"},{"s":"x"}]`)
	require.Equal(t, []string{`"x"`, `"x"`, `"1"`, `"2"`, `"2"`}, cells(t, result, "things", "s"))
	require.Equal(t, []string{"null", "null", "null", "null", `"{\"u\":0}"`}, cells(t, result, "things", "_extra"))
	require.EqualValues(t, 2, result.Duplicates)
}

func TestAnEmptyParameterLeavesNoKeyComplete(t *testing.T) {
	t.Parallel()
	plan, err := transform.Compile(small())
	require.NoError(t, err)
	decoder := plan.NewDecoder()
	decoder.Reset(nil)
	_, err = readPage(decoder, []byte(`[{"id":"a"},{"id":"a"}]`))
	require.NoError(t, err)
	require.Equal(t, 2, decoder.Finish().Tables[0].Len())
}
