package extract_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

// BenchmarkPage reads pages of 1000 results over loopback. The figures include the server.
func BenchmarkPage(b *testing.B) {
	page := bytes.Repeat([]byte(`{"testResultBid":"0b6d4a5e-9a3c-4c47-8f5e-7a1d2c3b4a59","rit":201},`), 1900*1000/68)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write(page)
	require.NoError(b, err)
	require.NoError(b, w.Close())
	for name, body := range map[string][]byte{"plain": page, "gzip": zipped.Bytes()} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == tokenPath {
					_, _ = io.WriteString(w, tokenBody("T"))
					return
				}
				if name == "gzip" {
					w.Header().Set("Content-Encoding", "gzip")
				}
				_, _ = w.Write(body)
			}))
			b.Cleanup(server.Close)
			c, err := extract.New(options(b, server.URL))
			require.NoError(b, err)
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				_, err := c.Get(b.Context(), results("s1"), discard)
				require.NoError(b, err)
			}
		})
	}
}
