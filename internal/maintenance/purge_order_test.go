package maintenance_test

import (
	"context"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// changesOf is a store that notes the runs whose change is written. It fails the changes after some.
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

// TestPurgeOrder purges runs in which rows of a student give numbers, and others in which rows without a bid need them. A run is
// purged before the last one that gives its number, so that a purge that is killed in between can be repeated.
func TestPurgeOrder(t *testing.T) {
	t.Parallel()
	type run struct{ gives, needs string }
	for name, test := range map[string]struct {
		runs map[string]run
		fold bool
		want []string
	}{
		"given by one":         {map[string]run{"a": {gives: "31"}, "b": {needs: "31"}}, false, []string{"b", "a"}},
		"given by the history": {map[string]run{"a": {gives: "31"}, "b": {needs: "31"}}, true, []string{"a", "b"}},
		"given by two":         {map[string]run{"a": {gives: "31"}, "b": {needs: "31"}, "c": {gives: "31"}}, false, []string{"a", "b", "c"}},
		"given by itself":      {map[string]run{"a": {gives: "31", needs: "31"}, "b": {gives: "32"}}, false, []string{"a", "b"}},
		"a chain":              {map[string]run{"a": {gives: "31"}, "b": {gives: "32", needs: "31"}, "c": {needs: "32"}}, false, []string{"c", "b", "a"}},
		"two numbers":          {map[string]run{"a": {gives: "31"}, "b": {gives: "32"}, "c": {needs: "32"}}, false, []string{"a", "c", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := t.TempDir()
			store := snapshottest.NewDir(t, start)
			dates := map[string]string{"a": "2026-11-18", "b": "2026-11-19", "c": "2026-11-20"}
			for _, id := range []string{"a", "b", "c"} {
				r, ok := test.runs[id]
				if !ok {
					continue
				}
				world := make(map[string][]snapshottest.Record)
				add := func(row snapshottest.Record) {
					row["requested_school_bid"], row["last_name"] = snapshottest.Stays, plantedName
					world["students"] = append(world["students"], row)
				}
				if r.gives != "" {
					add(snapshottest.Record{"student_bid": planted, "student_id": r.gives})
				}
				if r.needs != "" {
					add(snapshottest.Record{"student_id": r.needs})
				}
				snapshottest.StageWorld(t, store, id, world, snapshottest.Datasets("students"), snapshottest.OnDate(dates[id]))
				snapshottest.PublishRun(t, store, id)
			}
			if test.fold {
				require.NoError(t, foldHistory(t, false)(t.Context(), store))
			}
			options := studentOptions(testKey(t, "a7c3"))
			options.Students = []string{planted}
			for left := range len(test.want) {
				root := snapshottest.CopyTree(t, start)
				killed := &changesOf{Store: snapshottest.NewDir(t, root), left: left}
				_, err := maintenance.Purge(t.Context(), snapshot.At(killed), options)
				require.ErrorIs(t, err, snapshottest.ErrKilled)
				report, err := maintenance.Purge(t.Context(), snapshot.At(snapshottest.NewDir(t, root)), options)
				require.NoError(t, err)
				require.Equal(t, maintenance.PurgeDone, report.State)
				requireNoBytes(t, root, planted, plantedName)
			}
			whole := &changesOf{Store: store, left: 10}
			_, err := maintenance.Purge(t.Context(), snapshot.At(whole), options)
			require.NoError(t, err)
			require.Equal(t, test.want, whole.runs[:len(test.want)])
		})
	}
}
