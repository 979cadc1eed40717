package parquetfile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

func TestAppendAbove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"a", "b"},
		{"az", "a{"},
		{"a\x7f", "a\u0080"},
		{"é", "ê"},
		{"\u07ff", "\u0800"},
		{"a\ud7ff", "a\ue000"},
		{"a\uffff", "a\U00010000"},
		{"a\U0010ffff", "b"},
		{"\U0010ffff\U0010ffff", ""},
		{"a\xff", "b"},
		{"\xff\xfe", ""},
	} {
		got, ok := appendAbove([]byte("kept "), []byte(c.text))
		require.Equal(t, "kept "+c.want, string(got), "%q", c.text)
		require.Equal(t, c.want != "", ok)
	}
}

func TestTextBounds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2))
	alphabet := []rune("a\x7f\u0080é\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff")
	for range 3000 {
		var b strings.Builder
		for range 1 + r.IntN(40) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		text := b.String()
		c := column{def: &schemas.Column{Type: schemas.String}}
		got := c.textBounds(1, []byte(text), []byte(text))
		if len(text) <= maxBoundBytes {
			require.Equal(t, bounds{[]byte(text), []byte(text), true, true, true}, got)
			continue
		}
		require.True(t, got.known)
		require.False(t, got.leastExact || got.greatestExact)
		require.Less(t, string(got.least), text)
		require.Greater(t, string(got.greatest), text)
		require.True(t, strings.HasPrefix(text, string(got.least)))
		require.Greater(t, len(got.least), maxBoundBytes-utf8.UTFMax)
		require.LessOrEqual(t, len(got.least), maxBoundBytes)
		require.LessOrEqual(t, len(got.greatest), maxBoundBytes+1)
		require.True(t, utf8.Valid(got.least) && utf8.Valid(got.greatest))
	}
}

// TestUnknownBounds checks that values without valid bounds only suppress the bounds and page index of their own column
// chunk.
func TestUnknownBounds(t *testing.T) {
	t.Parallel()
	last := strings.Repeat("\U0010ffff", 30)
	for _, c := range []struct {
		kind schemas.Type
		rows []row
	}{
		{schemas.String, []row{{"a", "x"}, {"b", last}, {"c", "x"}}},
		{schemas.Double, []row{{"a", 1.0}, {"b", math.NaN()}, {"c", nil}}},
	} {
		t.Run(fmt.Sprint(c.kind), func(t *testing.T) {
			t.Parallel()
			table := &schemas.Table{Name: "t", Columns: []schemas.Column{
				{Name: "k", Type: schemas.String, Key: true}, {Name: "v", Type: c.kind},
			}}
			file := write(t, table, c.rows, Options{PageRows: 1, RowGroupRows: 2})
			requireRows(t, c.rows, read(t, table, file))
			groups := footerOf(t, file).RowGroups
			require.Nil(t, groups[0].Columns[1].MetaData.Statistics.MinValue)
			require.Nil(t, groups[0].Columns[1].MetaData.Statistics.MaxValue)
			require.False(t, groups[0].Columns[1].MetaData.Statistics.IsMaxValueExact.Valid)
			require.Zero(t, groups[0].Columns[1].ColumnIndexLength)
			require.Zero(t, groups[0].Columns[1].ColumnIndexOffset)
			for _, chunk := range []columnChunk{groups[0].Columns[0], groups[1].Columns[0], groups[1].Columns[1]} {
				require.NotZero(t, chunk.ColumnIndexLength)
			}
			info, err := inspect(file)
			require.NoError(t, err)
			require.EqualValues(t, 3, info.Rows)
		})
	}
}
