package sink

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                           "__HIVE_DEFAULT_PARTITION__",
		".":                          "%2E",
		"..":                         "%2E%2E",
		"...":                        "...",
		"Plain-1_2.3":                "Plain-1_2.3",
		"a b/c%d=e":                  "a%20b%2Fc%25d%3De",
		"ü~\n\x00":                   "ü%7E%0A%00",
		"École 小学校 😀":                "École%20小学校%20😀",
		"a\xffb\xe2\x82":             "a%FFb%E2%82",
		"\ufffd\ufffe\uffff":         "\ufffd%EF%BF%BE%EF%BF%BF",
		"a\u0085b\u009b":             "a%C2%85b%C2%9B",
		"a\u2028b\u202ec\u2066":      "a%E2%80%A8b%E2%80%AEc%E2%81%A6",
		"null":                       "%6Eull",
		"Null":                       "%4Eull",
		"nullable":                   "nullable",
		"__HIVE_DEFAULT_PARTITION__": "%5F_HIVE_DEFAULT_PARTITION__",
		strings.Repeat("x", 200):     strings.Repeat("x", 200),
	} {
		require.Equal(t, want, Escape(value))
	}
}

// TestEscapeLong expects long values to be cut between characters, and not within an escape.
func TestEscapeLong(t *testing.T) {
	t.Parallel()
	values := map[string]string{}
	for _, repeated := range []string{"x", "%", "ü", "小", "😀", "a/é小😀", "\uffff"} {
		for shift := range 8 {
			long := strings.Repeat("x", shift) + strings.Repeat(repeated, 300)
			for _, value := range []string{long, long + "x", long + "y"} {
				name := Escape(value)
				require.LessOrEqual(t, len("district=")+len(name), 255)
				require.True(t, utf8.ValidString(name))
				if other, taken := values[name]; taken {
					require.Equal(t, other, value)
				}
				values[name] = value
				cut, _, found := strings.Cut(name, "~")
				require.True(t, found)
				decoded, err := url.PathUnescape(cut)
				require.NoError(t, err)
				require.Greater(t, len(cut), maxEscaped-45)
				require.True(t, strings.HasPrefix(value, decoded) && utf8.ValidString(decoded))
			}
		}
	}
}
