package transform_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/privacy"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

const keyText = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

func testKey(tb testing.TB) *privacy.Key {
	tb.Helper()
	key, err := privacy.ParseKey(keyText)
	require.NoError(tb, err)
	return key
}

// expectedRows applies a profile to rows decoded in full, independently of the decoder.
func expectedRows(tb testing.TB, b *rows.Batch, profile schemas.Profile) []string {
	tb.Helper()
	raw, err := hex.DecodeString(keyText)
	require.NoError(tb, err)
	all := []string{}
	for i := range b.Len() {
		row := b.Row(i)
		var cells []string
		for c := range b.Cols {
			column, v := &b.Table.Columns[c], &b.Cols[c]
			cell := cellAsText(v, row)
			switch column.Class {
			case schemas.Direct, schemas.Text, schemas.Extra:
				cell = "null"
			case schemas.Moment:
				if cell != "null" {
					cell = strconv.FormatInt(expectedMoment(v, row, profile), 10)
				}
			case schemas.Trait, schemas.Measure:
				if profile == schemas.Minimal {
					cell = "null"
				}
			case schemas.Birth:
				switch {
				case profile == schemas.Minimal:
					cell = "null"
				case cell != "null":
					day := time.Unix(0, 0).UTC().AddDate(0, 0, int(v.I32[row]))
					cell = strconv.Itoa(int(time.Date(day.Year(), 1, 1, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)))
				}
			case schemas.ID, schemas.Record:
				if cell != "null" && cell != `""` {
					kind := strings.TrimSuffix(strings.TrimPrefix(column.Name, "requested_"), "_bid")
					if strings.HasSuffix(column.Name, "student_id") {
						kind = "student_number"
					}
					mac := hmac.New(sha256.New, raw)
					_, _ = mac.Write([]byte(kind + "\x00" + string(v.Text(row))))
					cell = `"` + hex.EncodeToString(mac.Sum(nil)[:16]) + `"`
				}
			}
			cells = append(cells, cell)
		}
		all = append(all, strings.Join(cells, " | "))
	}
	return all
}

// expectedMoment returns the day of a date or timestamp or, under the profile minimal, the first day of its month.
func expectedMoment(v *rows.Vector, row int, profile schemas.Profile) int64 {
	moment := time.UnixMicro(0)
	if v.Type == schemas.Date {
		moment = moment.UTC().AddDate(0, 0, int(v.I32[row]))
	} else {
		moment = time.UnixMicro(v.I64[row]).UTC()
	}
	day := time.Date(moment.Year(), moment.Month(), moment.Day(), 0, 0, 0, 0, time.UTC)
	if profile == schemas.Minimal {
		day = time.Date(moment.Year(), moment.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	if v.Type == schemas.Date {
		return day.Unix() / (24 * 60 * 60)
	}
	return day.UnixMicro()
}

// TestLatestDuplicateUnderAProfile checks that, of records with the same key, the one modified last is kept although
// its time is not written, both in memory and in runs.
func TestLatestDuplicateUnderAProfile(t *testing.T) {
	t.Parallel()
	pages := []string{
		`{"testResultBid":"a","rit":2,"modifiedDateTime":"2025-11-20T10:00:00.5Z"},{"testResultBid":"a","rit":1,"modifiedDateTime":"2025-11-20T09:00:00Z"},` +
			`{"testResultBid":"b","rit":1,"modifiedDateTime":"2025-11-20T10:00:00Z"},{"testResultBid":"c","rit":2,"modifiedDateTime":"2025-11-20"}`,
		`{"testResultBid":"b","rit":2,"modifiedDateTime":"2025-11-20T11:00:00Z"},{"testResultBid":"a","rit":1,"modifiedDateTime":"2025-11-20T10:00:00Z"},` +
			`{"testResultBid":"c","rit":1},{"testResultBid":"d","rit":2}`,
	}
	ds, ok := schemas.Find("test_results")
	require.True(t, ok)
	plan, err := transform.CompileFor(ds, schemas.Pseudonymous, testKey(t))
	require.NoError(t, err)
	whole, inRuns := plan.NewDecoder(), plan.NewDecoder()
	for range 2 { // a reused decoder keeps nothing of its previous list
		var runs []io.Reader
		whole.Reset(params())
		inRuns.Reset(params())
		for _, page := range pages {
			body := []byte(`{"testResults":[` + page + `],"pagination":{"hasNextPage":false}}`)
			for _, d := range []*transform.Decoder{whole, inRuns} {
				_, err := readPage(d, body)
				require.NoError(t, err)
			}
			run := &bytes.Buffer{}
			require.NoError(t, inRuns.WriteRun(run))
			runs = append(runs, run)
		}
		result := whole.Finish()
		require.Equal(t, []string{"2", "2", "2", "2"}, cells(t, result, "test_results", "rit"))
		day := strconv.FormatInt(time.Date(2025, 11, 20, 0, 0, 0, 0, time.UTC).UnixMicro(), 10)
		require.ElementsMatch(t, []string{day, day, day, "null"}, cells(t, result, "test_results", "modified_date_time"))
		var merged []string
		_, err := inRuns.MergeRuns(runs, func(tables []*rows.Batch) error {
			merged = append(merged, rowsAsText(t, tables[0])...)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, rowsAsText(t, result.Tables[0]), merged)
	}
}

// TestProfiles reads random pages, most of them with oddities, with and without a profile, both in memory and in runs.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, ds := range schemas.Datasets() {
		for _, profile := range []schemas.Profile{schemas.Pseudonymous, schemas.Minimal} {
			t.Run(ds.Name+" "+string(profile), func(t *testing.T) {
				t.Parallel()
				plan, err := transform.CompileFor(ds, profile, testKey(t))
				require.NoError(t, err)
				full, protected, inRuns := compile(t, ds.Name).NewDecoder(), plan.NewDecoder(), plan.NewDecoder()
				for round := range 25 {
					decoders := []*transform.Decoder{full, protected, inRuns}
					for _, d := range decoders {
						d.Reset(params())
					}
					inRuns.SetRunSizes(200, 1000, 1<<20)
					g := newGenerator(ds, uint64(5000+round))
					var runs []io.Reader
					for range 3 {
						body := g.page()
						_, wantErr := readPage(full, body)
						for _, d := range decoders[1:] {
							_, err := readPage(d, body)
							require.Equal(t, errorClass(wantErr), errorClass(err), "%s", body)
						}
						run := &bytes.Buffer{}
						require.NoError(t, inRuns.WriteRun(run))
						runs = append(runs, run)
					}
					want, got := full.Finish(), protected.Finish()
					require.Equal(t, want.Records, got.Records)
					for i, b := range got.Tables {
						requireSorted(t, b)
						expected, found := expectedRows(t, want.Tables[i], profile), rowsAsText(t, b)
						slices.Sort(expected)
						slices.Sort(found)
						if ds.WholeRecordDuplicates { // records may differ only in withheld values
							expected, found = slices.Compact(expected), slices.Compact(found)
						}
						require.Equal(t, expected, found, b.Table.Name)
					}
					for _, d := range got.Drift {
						require.True(t, declared(ds, d), "%+v", d)
					}
					merged := make(map[string][]string)
					result, err := inRuns.MergeRuns(runs, func(tables []*rows.Batch) error {
						for _, b := range tables {
							merged[b.Table.Name] = append(merged[b.Table.Name], rowsAsText(t, b)...)
						}
						return nil
					})
					require.NoError(t, err)
					require.Equal(t, got.Drift, result.Drift)
					for _, b := range got.Tables {
						require.Equal(t, rowsAsText(t, b), append([]string{}, merged[b.Table.Name]...))
					}
				}
			})
		}
	}
}

// declared reports whether drift is about a declared member or about no member.
func declared(ds *schemas.Dataset, d transform.Drift) bool {
	if slices.Contains(append([]string{"#", "_value", "pagination", "pagination.hasNextPage", "pagination.nextPage", ds.Operation.Records, ""}, ds.Known...), d.Field) {
		return true
	}
	for _, t := range ds.Tables {
		for _, c := range t.Columns {
			object, _, _ := strings.Cut(c.Source, ".")
			if slices.Contains([]string{c.Source, object, object + ".#", t.Each}, d.Field) {
				return true
			}
		}
	}
	return false
}

// requireSorted checks the order of the keys as written.
func requireSorted(tb testing.TB, b *rows.Batch) {
	tb.Helper()
	for i := 1; i < b.Len(); i++ {
		for _, k := range b.Table.KeyColumns() {
			order := rows.Compare(&b.Cols[k], b.Row(i-1), &b.Cols[k], b.Row(i))
			require.LessOrEqual(tb, order, 0, "%s.%s", b.Table.Name, b.Table.Columns[k].Name)
			if order < 0 {
				break
			}
		}
	}
}

// TestNothingIsCollected checks that values removed by a profile occur neither in the bytes of a run nor in drift,
// pages or errors.
func TestNothingIsCollected(t *testing.T) {
	t.Parallel()
	const page = `{"pagination":{"hasNextPage":true,"nextPage":"7","Zelda":"Zelda"},"schoolClasses":[{"schoolClassBid":"c1","className":"Ms Zelda",
		"educators":[{"educatorBid":"zelda-77","firstName":"Zelda","lastName":["Zelda"],"Zelda":1},"zelda-78",12],"beginDate":"Zelda","zelda":{"a":"Zelda"},"zelda":2,
		"students":[{"studentBid":987650077,"lastName":"Zelda","id\u005fzelda":null},{"studentBid":{"zelda":1}}]}],"schoolClasses":[],"Zelda":null,
		"schoolClasses":[{"schoolClassBid":"c2","className":"Ms Zelda","Zelda":"Zelda","Zelda":1,"students":[{"studentBid":987650077,"firstName":"Zelda"}]}]}`
	ds, ok := schemas.Find("school_classes")
	require.True(t, ok)
	for _, profile := range []schemas.Profile{schemas.Pseudonymous, schemas.Minimal} {
		plan, err := transform.CompileFor(ds, profile, testKey(t))
		require.NoError(t, err)
		d := plan.NewDecoder()
		d.Reset(params())
		_, err = readPage(d, []byte(page))
		require.NoError(t, err)
		run := &bytes.Buffer{}
		require.NoError(t, d.WriteRun(run))
		require.NotContains(t, strings.ToLower(run.String()), "zelda")
		require.NotContains(t, run.String(), "987650077")
		require.Contains(t, run.String(), testKey(t).Pseudonym("student", "987650077"))
		result := d.Finish()
		require.NotContains(t, strings.ToLower(fmt.Sprint(driftAsText(result.Drift))), "zelda")
		_, err = readPage(d, []byte(strings.Replace(page, "hasNextPage", "Zelda", 1)))
		require.ErrorContains(t, err, "without a readable hasNextPage")
		require.NotContains(t, strings.ToLower(err.Error()), "zelda")
	}
}

// TestFeedsKeepIdentifiers checks that, without a key, a profile still withholds names and parameters do not change.
func TestFeedsKeepIdentifiers(t *testing.T) {
	t.Parallel()
	ds, ok := schemas.Find("students")
	require.True(t, ok)
	plan, err := transform.CompileFor(ds, schemas.Minimal, nil)
	require.NoError(t, err)
	d := plan.NewDecoder()
	d.Reset(params())
	_, err = readPage(d, []byte(`[{"studentBid":"b1","studentId":"007","firstName":"Zelda","x":"Zelda"}]`))
	require.NoError(t, err)
	require.Equal(t, []string{`"school-1" | "b1" | "007" | null | null | null`}, rowsAsText(t, d.Finish().Tables[0]))
	require.Equal(t, "b1", plan.Written("student_bid", "b1"))

	details, ok := schemas.Find("student_details")
	require.True(t, ok)
	plan, err = transform.CompileFor(details, schemas.Minimal, testKey(t))
	require.NoError(t, err)
	require.Equal(t, testKey(t).Pseudonym("student", "b1"), plan.Written("student_bid", "b1"))
	require.Equal(t, "s1", plan.Written("school_bid", "s1"))
}

// TestAColumnWithoutClassIsWithheld checks that values of columns without a class are not written.
func TestAColumnWithoutClassIsWithheld(t *testing.T) {
	t.Parallel()
	plan, err := transform.CompileFor(small(), schemas.Pseudonymous, testKey(t))
	require.NoError(t, err)
	d := plan.NewDecoder()
	d.Reset(params())
	_, err = readPage(d, []byte(`[{"id":"a","s":"secret","i":12,"n":{"x":1,"y":2},"day":"2012-03-04"}]`))
	require.NoError(t, err)
	require.Equal(t, []string{`"school-1"` + strings.Repeat(" | null", 10)}, rowsAsText(t, d.Finish().Tables[0]))
}
