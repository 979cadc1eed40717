package sink_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
)

func TestPart(t *testing.T) {
	t.Parallel()
	require.Equal(t, "part-0012-run%2F1.parquet", sink.PartName(12, "run/1"))
	for path, want := range map[string]sink.Part{
		"part-0000-r.parquet":              {Owner: "r"},
		"t/date=d/part-0012-a-b-c.parquet": {Folder: "t/date=d/", Number: 12, Owner: "a-b-c"},
		"t/part-123456-r.parquet":          {Folder: "t/", Number: 123456, Owner: "r"},
		"t/part-00120003-r.parquet":        {Folder: "t/", Number: 12, Rewritten: 3, Owner: "r"},
		"t/part-123450003-r.parquet":       {Folder: "t/", Number: 12345, Rewritten: 3, Owner: "r"},
	} {
		part, ok := sink.ParsePart(path)
		require.True(t, ok, path)
		require.Equal(t, want, part)
		require.Equal(t, path, part.String())
		require.Equal(t, part.Owner, sink.Owner(path))
	}
	for _, path := range []string{"", "part-.parquet", "part-1.parquet", "part-x-r.parquet", "part--r.parquet", "t/0000-r.parquet", "part-0000-r"} {
		_, ok := sink.ParsePart(path)
		require.False(t, ok, path)
	}

	part, _ := sink.ParsePart("t/part-0012-r.parquet")
	next, ok := part.Next(9999)
	require.True(t, ok)
	require.Equal(t, "t/part-00129999-r.parquet", next)
	_, ok = part.Next(10_000)
	require.False(t, ok)
}
