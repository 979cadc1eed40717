package transform_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden reads testdata/<dataset>.<case>.json, one page each, and compares its rows, one line per cell that is not
// null, with the .golden file beside it.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(filepath.Base(file), ".")
			ds, ok := schemas.Find(name)
			require.True(t, ok)
			body, err := os.ReadFile(file)
			require.NoError(t, err)
			decoder := compile(t, name).NewDecoder()
			decoder.Reset(params())
			page, err := readPage(decoder, body)
			require.NoError(t, err)
			result := decoder.Finish()

			var out strings.Builder
			fmt.Fprintf(&out, "records %d, duplicates %d, next %q\n", page.Records, result.Duplicates, page.Next)
			for _, b := range result.Tables {
				fmt.Fprintf(&out, "\n%s\n", b.Table.Name)
				for i := range b.Len() {
					fmt.Fprintf(&out, "  row %d\n", i)
					for c := range b.Cols {
						if cell := cellAsText(&b.Cols[c], b.Row(i)); cell != "null" {
							fmt.Fprintf(&out, "    %s: %s\n", b.Table.Columns[c].Name, cell)
						}
					}
				}
			}
			out.WriteString("\ndrift\n")
			for _, d := range driftAsText(result.Drift) {
				out.WriteString("  " + d + "\n")
			}

			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), out.String())
			requireSame(t, ds, decoder, params(), [][]byte{body})
		})
	}
}
