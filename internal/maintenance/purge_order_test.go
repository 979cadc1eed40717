package maintenance_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// changesOf is a store that records the runs whose change is written. After some changes, it makes the others fail.
type changesOf struct {
	sink.Store

	runs []string
	left int
}

func (c *changesOf) Write(ctx context.Context, name string, data []byte, when sink.Condition) error {
	if path.Base(name) == snapshot.ChangeName {
		if c.left--; c.left < 0 {
			return snapshottest.ErrKilled
		}
		c.runs = append(c.runs, path.Base(path.Dir(name)))
	}
	return c.Store.Write(ctx, name, data, when)
}

// TestPurgeOrder purges runs in which rows of a student give numbers, and runs in which rows without a bid can only be
// found by these numbers. The latter are purged first, so that a purge that is killed in between can be repeated.
func TestPurgeOrder(t *testing.T) {
	t.Parallel()
	row := func(bid, number, state string) snapshottest.Record {
		r := snapshottest.Record{"requested_school_bid": snapshottest.Stays, "requested_perspective_bid": snapshottest.Stays, "last_name": plantedName}
		r["student_school_association_bid"] = bid + number + state
		for column, value := range map[string]string{"student_bid": bid, "district_student_id": number, "state_student_id": state} {
			if value != "" {
				r[column] = value
			}
		}
		return r
	}
	gives := func(number string) snapshottest.Record { return row(planted, number, "") }
	needs := func(number string) snapshottest.Record { return row("", number, "") }
	links := func(number, state string) snapshottest.Record { return row("", number, state) }
	type runs map[string][]snapshottest.Record
	for name, test := range map[string]struct {
		runs runs
		want []string
	}{
		"given by one":    {runs{"a": {gives("31")}, "b": {needs("31")}}, []string{"b", "a"}},
		"given by two":    {runs{"a": {gives("31")}, "b": {needs("31")}, "c": {gives("31")}}, []string{"b", "a", "c"}},
		"given by itself": {runs{"a": {gives("31"), needs("31")}, "b": {gives("32")}}, []string{"a", "a", "b"}},
		"not needed":      {runs{"a": {gives("31")}, "b": {gives("32")}}, []string{"a", "b"}},
		"each needs the other": {
			runs{"a": {gives("31"), needs("32")}, "b": {gives("32"), needs("31")}}, []string{"a", "b", "a", "b"},
		},
		"a chain": {
			runs{"a": {gives("31")}, "b": {links("31", "s2")}, "c": {links("34", "s2")}, "d": {needs("34")}}, []string{"d", "c", "b", "a"},
		},
		"two ways": {
			runs{"a": {gives("31")}, "b": {links("31", "s2"), gives("34")}, "c": {links("34", "s2")}, "d": {row("", "", "s2")}},
			[]string{"d", "b", "c", "a", "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := t.TempDir()
			store := snapshottest.NewDir(t, start)
			for i, id := range slices.Sorted(maps.Keys(test.runs)) {
				world := map[string][]snapshottest.Record{"student_school_associations": test.runs[id]}
				snapshottest.StageWorld(t, store, id, world, snapshottest.Datasets("student_school_associations"), snapshottest.OnDate(fmt.Sprintf("2026-11-1%d", i)))
				snapshottest.PublishRun(t, store, id)
			}
			rows := int64(0)
			for _, records := range test.runs {
				rows += int64(len(records))
			}
			options := studentOptions(nil)
			options.Students = []string{planted}
			for left := range len(test.want) {
				root := snapshottest.CopyTree(t, start)
				killed := &changesOf{Store: snapshottest.NewDir(t, root), left: left}
				_, err := maintenance.Purge(t.Context(), snapshot.At(killed), options)
				require.ErrorIs(t, err, snapshottest.ErrKilled)
				report, err := maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, root)), options)
				require.NoError(t, err)
				require.Equal(t, maintenance.PurgeDone, report.State)
				require.Len(t, purgesIn(t, root), 1)
				require.Len(t, report.Runs, len(test.runs), "a run that was changed twice is reported once")
				require.Equal(t, map[string]int64{"student_school_associations": rows}, report.RowsRemoved)
				requireNoBytes(t, root, planted, plantedName)
			}
			whole := &changesOf{Store: store, left: 10}
			_, err := maintenance.Purge(t.Context(), snapshot.At(whole), options)
			require.NoError(t, err)
			require.Equal(t, test.want, whole.runs)
		})
	}
}

// TestPurgeOfReplacedRun purges schools and districts where a replaced run, whose files are gone, is still marked as
// published.
func TestPurgeOfReplacedRun(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]maintenance.PurgeOptions{
		"school":   purgeOptions([]string{snapshottest.Gone}, nil),
		"district": purgeOptions(nil, []string{snapshottest.GoneDistrict}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := snapshottest.NewDir(t, root)
			snapshottest.PublishWorld(t, store, "replaced")
			snapshottest.PublishWorld(t, store, "current", func(p *snapshot.Plan) { p.Replace = true })
			path := filepath.Join(root, filepath.FromSlash(snapshot.ManifestPath("replaced")))
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			marked := strings.Replace(string(data), `"status": "replaced"`, `"status": "published"`, 1)
			require.NotEqual(t, string(data), marked)
			require.NoError(t, os.WriteFile(path, []byte(marked), 0o600))

			report, err := maintenance.Purge(t.Context(), snapshot.At(store), options)
			require.NoError(t, err)
			require.Positive(t, report.Verification.Files)
			require.Zero(t, report.Verification.RowsFound)
			require.EqualValues(t, 2*3, report.LedgerRowsRemoved)

			// Without its pointer, nothing says that the run was replaced.
			require.NoError(t, os.Remove(filepath.Join(root, filepath.FromSlash(snapshot.PointerPath(snapshot.Full, "2026-11-20")))))
			_, err = maintenance.Purge(t.Context(), snapshot.At(store), purgeOptions([]string{snapshottest.Stays}, nil))
			require.ErrorIs(t, err, sink.ErrNotFound)
		})
	}
}
