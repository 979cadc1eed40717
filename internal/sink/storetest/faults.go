package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/growthexport/internal/sink"
)

// Insist writes documents, and takes files through all their states, on stores whose requests often fail. It expects
// the same results as without failures, and leaves only documents at the destination.
func Insist(t *testing.T, open func() sink.Store) {
	t.Helper()
	ctx := t.Context()

	const workers, rounds = 3, 5
	var group errgroup.Group
	for worker := range workers {
		store := open()
		group.Go(func() error {
			path := fmt.Sprintf("_runs/%s/journal/%d.json", owner, worker)
			for i := range rounds {
				// Increment a counter in a document that has a single writer.
				text := []byte(strconv.Itoa(i))
				when := sink.Condition{Absent: true}
				if i > 0 {
					data, version, err := store.Read(ctx, path)
					if err != nil {
						return err
					}
					if string(data) != strconv.Itoa(i-1) {
						return fmt.Errorf("%s contains %s before %d is written", path, data, i)
					}
					when = sink.Condition{Version: version}
				}
				if err := store.Write(ctx, path, text, when); err != nil {
					return err
				}
				if err := store.Write(ctx, path, text, when); !errors.Is(err, sink.ErrConflict) {
					return fmt.Errorf("write %s under the same condition: %w", path, err)
				}
				// Take a file through all its states.
				data := noise(1000 * (i + worker))
				if i == 1 {
					data = noise(9 << 20)
				}
				file, err := Stage(ctx, store, owner, dataPath(owner, worker*rounds+i), data)
				if err != nil {
					return err
				}
				if holds, err := store.Holds(ctx, owner, file); !holds || err != nil {
					return fmt.Errorf("hold %s: %t, %w", file.Path, holds, err)
				}
				if i == 4 {
					if err := store.Abort(ctx, owner, file); err != nil {
						return err
					}
					continue
				}
				if err := store.Commit(ctx, owner, file); err != nil {
					return err
				}
				object, err := store.Open(ctx, file.Path)
				if err != nil {
					return err
				}
				back, err := io.ReadAll(io.NewSectionReader(object, 0, object.Size()))
				if err := errors.Join(err, object.Close()); err != nil {
					return err
				}
				if !bytes.Equal(data, back) {
					return fmt.Errorf("%s has different content when it is read back", file.Path)
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	store := open()
	require.NoError(t, store.Sweep(ctx, owner))
	require.NoError(t, store.Check(ctx))
	listed := 0
	for entry, err := range store.List(ctx, "table/") {
		require.NoError(t, err)
		require.NoError(t, store.Remove(ctx, entry.Path))
		listed++
	}
	require.Equal(t, workers*(rounds-1), listed)
}
