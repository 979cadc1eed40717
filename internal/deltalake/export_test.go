package deltalake

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// CheckpointRow is a row of a checkpoint.
type CheckpointRow = checkpointRow

// EditCheckpoint returns a checkpoint with changed rows. Rows for which edit returns nil are left out.
func EditCheckpoint(t *testing.T, content []byte, edit func(*CheckpointRow) *CheckpointRow) []byte {
	t.Helper()
	rows, err := parquet.Read[checkpointRow](bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	w := newCheckpointWriter()
	state := false
	for i := range rows {
		if !state && rows[i].Add == nil && rows[i].Remove == nil {
			state = true
			require.NoError(t, w.flush())
		}
		if row := edit(&rows[i]); row != nil {
			a := row.action()
			require.NoError(t, w.write(&a))
		}
	}
	edited, err := w.finish()
	require.NoError(t, err)
	return edited
}
