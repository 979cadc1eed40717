package privacy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/privacy"
)

// TestEachValue finds the values of indented and compact JSON.
func TestEachValue(t *testing.T) {
	t.Parallel()
	want := []string{"a", "17", "b\"c", "-2.5e3", "x", "8", "9", "10"}
	for _, text := range []string{
		`{"a":17,"b\"c":[-2.5e3,"x",true,null,{"":8},9,10]}`,
		"{\"a\": 17\n,\t\"b\\\"c\": [\r\n -2.5e3\t, \"x\" , true\n, null, {\"\": 8\r\n}, 9 , 10\n]\n}\n",
	} {
		var found []string
		privacy.EachValue([]byte(text), func(value []byte) bool {
			found = append(found, string(value))
			return false
		})
		require.Equal(t, want, found, text)
	}
}
