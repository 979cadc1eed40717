package transform_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/transform"
)

// decoderWith returns a decoder of the small dataset with limits.
func decoderWith(t *testing.T, l transform.Limits) *transform.Decoder {
	t.Helper()
	plan, err := transform.Compile(small())
	require.NoError(t, err)
	decoder := plan.NewDecoder()
	decoder.Reset(transform.Params{"school_bid": "s1"})
	decoder.SetLimits(l)
	return decoder
}

// array returns an array of n elements.
func array(element string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

func TestLimits(t *testing.T) {
	t.Parallel()
	parts := func(n int) string { return `{"id":"a","parts":` + array("{}", n) + `}` }
	limits := transform.Limits{Records: 4, ChildRows: 12_000}
	const most = transform.MaxRecordChildRows
	for name, test := range map[string]struct {
		pages []string
		err   error // of the last page
	}{
		"as many records as allowed":      {[]string{array(`{"id":"a"}`, 3), array("1", 1)}, nil},
		"one record more":                 {[]string{array(`{"id":"a"}`, 3), array("1", 2)}, transform.ErrTooManyRecords},
		"in an object":                    {[]string{`{"x":null,"items":` + array("{}", 5) + `}`}, transform.ErrTooManyRecords},
		"many more":                       {[]string{array("1", 1000)}, transform.ErrTooManyRecords},
		"many more, broken at the end":    {[]string{array("1", 1000) + "x"}, transform.ErrTooManyRecords},
		"broken before the limit":         {[]string{"[1,2,x" + strings.Repeat(",1", 100) + "]"}, transform.ErrNotJSON},
		"as many child rows as allowed":   {[]string{"[" + parts(most) + "]", "[" + parts(2000) + "]"}, nil},
		"one child row more":              {[]string{"[" + parts(most) + "]", "[" + parts(2001) + "]"}, transform.ErrTooManyChildRows},
		"too many of both":                {[]string{"[{},{},{},{}]", "[" + parts(most+1) + "]"}, transform.ErrTooManyRecords},
		"child rows that are not objects": {[]string{`[{"parts":` + array("1", most+1) + `}]`}, transform.ErrTooManyInRecord},
		"a record of too many child rows": {[]string{"[" + parts(most+1) + "]"}, transform.ErrTooManyInRecord},
		// The first reading of a record with a duplicate member does not count.
		"a doubled member": {[]string{`[{"id":1,"parts":` + array("{}", 9000) + `,"id":2},{"parts":` + array("{}", 3000) + `}]`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decoder := decoderWith(t, limits)
			last := len(test.pages) - 1
			for _, page := range test.pages[:last] {
				_, err := readPage(decoder, []byte(page))
				require.NoError(t, err)
			}
			records, childRows := decoder.Records(), decoder.ChildRows()
			_, err := readPage(decoder, []byte(test.pages[last]))
			require.ErrorIs(t, err, test.err)
			if test.err != nil {
				require.Equal(t, records, decoder.Records())
				require.Equal(t, childRows, decoder.ChildRows())
			}
			decoder.Finish()
			decoder.Reset(nil)
			_, err = readPage(decoder, []byte(array("{}", 5)))
			require.NoError(t, err, "limits last until Reset")
		})
	}
}

// TestBombs checks that a small body that would expand to many rows is rejected, or capped, before the rows are built.
func TestBombs(t *testing.T) {
	t.Parallel()
	var names strings.Builder
	letters := strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8", "i", "9", "j")
	for i := range 300_000 {
		fmt.Fprintf(&names, `,"k%s":1`, letters.Replace(strconv.Itoa(i)))
	}
	ones := strings.Repeat("1,", 1<<20) + "1]"
	for name, test := range map[string]struct {
		body string
		err  error
		// maxTimes is how many bytes a decoder may hold for each byte of the body.
		maxTimes float64
	}{
		"records":    {"[" + ones, transform.ErrTooManyRecords, 9},
		"child rows": {`[{"id":"` + strings.Repeat("p", 100) + `","parts":[` + ones + `}]`, transform.ErrTooManyInRecord, 1},
		// Leftovers keep names and values; rows and drift do not grow with them.
		"names": {`[{"id":"a"` + names.String() + `}]`, nil, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decoder := decoderWith(t, transform.Limits{Records: 100_000, ChildRows: math.MaxInt64})
			_, err := readPage(decoder, []byte(test.body))
			require.ErrorIs(t, err, test.err)
			require.Less(t, float64(decoder.Bytes()), test.maxTimes*float64(len(test.body)))
		})
	}
}

// TestNearlyEmptyRecords checks that rows take at most several times the memory of the pages, however many records a
// limit allows.
func TestNearlyEmptyRecords(t *testing.T) {
	t.Parallel()
	const n = 300_000
	child := `{"id":"a","parts":` + array("1", transform.MaxRecordChildRows) + `},`
	for name, test := range map[string]struct {
		body string
		err  error
	}{
		"numbers":              {array("1", n), transform.ErrNearlyEmpty},
		"objects":              {array("{}", n), transform.ErrNearlyEmpty},
		"too many objects":     {array("{}", n+1), transform.ErrTooManyRecords},
		"broken at the end":    {array("{}", n) + "x", transform.ErrNearlyEmpty},
		"cut off":              {"[" + strings.Repeat("1,", n-1) + "tru", transform.ErrNotJSON},
		"children":             {"[" + strings.Repeat(child, n/transform.MaxRecordChildRows) + "{}]", transform.ErrNearlyEmpty},
		"records with an id":   {array(`{"id":"0b6d4a5e-9a3c-4c47-8f5e-7a1d2c3b4a59"}`, n/10), nil},
		"few of the others":    {array("1", n/30), nil},
		"a few bytes a record": {array(`{"id":"1","known":1}`, n), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decoder := decoderWith(t, transform.Limits{Records: n, ChildRows: math.MaxInt64})
			_, err := decoder.ReadPage(strings.NewReader(test.body))
			require.ErrorIs(t, err, test.err)
			if test.err != nil {
				require.Less(t, decoder.Bytes(), 16<<20)
				require.Zero(t, decoder.Records())
			}
		})
	}
}

// TestDriftNamesAreCapped checks that drift reports the names of only the first thousand fields of a table.
func TestDriftNamesAreCapped(t *testing.T) {
	t.Parallel()
	record := func(from, to int) string {
		var members []string
		for i := from; i < to; i++ {
			members = append(members, fmt.Sprintf(`"x%c%c%c":1`, 'a'+i/676, 'a'+i/26%26, 'a'+i%26))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	decoder := decoderWith(t, transform.Limits{Records: math.MaxInt64, ChildRows: math.MaxInt64})
	// Names from an earlier use of the decoder, from a page that is requested again and from a record that is read
	// again leave no trace.
	_, err := readPage(decoder, []byte("["+record(5000, 5900)+"]"))
	require.NoError(t, err)
	decoder.Reset(nil)
	_, err = readPage(decoder, []byte("["+record(6000, 6900)+", {"))
	require.ErrorIs(t, err, transform.ErrNotJSON)
	_, err = readPage(decoder, []byte(`[{"u":1,`+record(0, 900)[1:len(record(0, 900))-1]+`,"u":2}]`))
	require.NoError(t, err)
	_, err = readPage(decoder, []byte(`[`+record(890, 1300)+`,{"s":[],"parts":[`+record(0, 3)+`]}]`))
	require.NoError(t, err)
	named := map[string]int64{}
	for _, d := range decoder.Finish().Drift {
		if d.Table == "things" {
			named[d.Field] += d.Count
		}
	}
	require.Len(t, named, 1000+1)
	require.EqualValues(t, 2, named["xbin"], "the 898th field, which occurs twice")
	require.Contains(t, named, "u")
	require.NotContains(t, named, "xbyz")
	require.EqualValues(t, 1300-999+1, named["#"])
}
