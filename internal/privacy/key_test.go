package privacy_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/privacy"
)

// raw is a key whose base64 has characters of every kind.
var raw = bytes.Repeat([]byte{0xfb, 0xff, 0x1e, 0x00, 1, 2, 3, 4, 5, 6, 7, 8}, 4)

// TestPseudonym compares pseudonyms with crypto/hmac, for keys shorter and longer than a block and for values longer
// than any buffer.
func TestPseudonym(t *testing.T) {
	t.Parallel()
	for _, size := range []int{32, 40, 64, 65, 200} {
		raw := bytes.Repeat(raw, 5)[:size]
		key, err := privacy.ParseKey(hex.EncodeToString(raw))
		require.NoError(t, err)
		maker := key.NewMaker()
		for _, value := range []string{"4be8dd85-c7d6-4a23-8c1c-6bb8c0f2d5ce", "7", "\x00", strings.Repeat("long", 300)} {
			mac := hmac.New(sha256.New, raw)
			mac.Write([]byte("student\x00" + value))
			require.Equal(t, hex.EncodeToString(mac.Sum(nil)[:16]), key.Pseudonym("student", value))
			require.Equal(t, "before"+key.Pseudonym("student", value), string(maker.Append([]byte("before"), "student", []byte(value))))
		}
		require.Empty(t, key.Pseudonym("student", ""))
		require.NotEqual(t, key.Pseudonym("student", "7"), key.Pseudonym("student_number", "7"))
	}
}

// TestPseudonymsStayAsTheyAre pins one value, because it must be possible to join the pseudonyms of a recipient over
// the years, across all releases.
func TestPseudonymsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	key, err := privacy.ParseKey(strings.Repeat("00112233445566778899aabbccddeeff", 2))
	require.NoError(t, err)
	require.Equal(t, "1873b356a7a823cda75cef0e31d52425", key.Pseudonym("student", "4be8dd85-c7d6-4a23-8c1c-6bb8c0f2d5ce"))
	require.Equal(t, "e2fef8d543c9c979", key.Fingerprint())
}

func TestKeyForms(t *testing.T) {
	t.Parallel()
	want, err := privacy.ParseKey(hex.EncodeToString(raw))
	require.NoError(t, err)
	standard := base64.StdEncoding.EncodeToString(raw)
	for name, text := range map[string]string{
		"prefix": "0x" + hex.EncodeToString(raw), "upper case": strings.ToUpper(hex.EncodeToString(raw)), "base64": standard, "without padding": strings.TrimRight(standard, "="),
		"base64 for URLs": base64.URLEncoding.EncodeToString(raw), "two lines": standard[:20] + "\r\n" + standard[20:] + "\n",
	} {
		key, err := privacy.ParseKey(text)
		require.NoError(t, err, name)
		require.Equal(t, want.Fingerprint(), key.Fingerprint(), name)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", key, struct{ K *privacy.Key }{key}, struct{ K *privacy.Key }{key}, key), text, name)
	}
	other, err := privacy.ParseKey(hex.EncodeToString(raw[1:]))
	require.NoError(t, err)
	require.NotEqual(t, want.Fingerprint(), other.Fingerprint())
	require.NotEqual(t, want.Pseudonym("student", "7"), other.Pseudonym("student", "7"))
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	for text, complaint := range map[string]string{
		"":                              "0 bytes",
		strings.Repeat("ab", 31):        "31 bytes, but at least 32 are needed",
		strings.Repeat("0123", 11):      "22 bytes", // as base64 it would have 33, but it is hexadecimal
		strings.Repeat("ab", 32)[1:]:    "odd number of hexadecimal digits",
		"0x" + strings.Repeat("a", 63):  "odd number of hexadecimal digits",
		"not a key!":                    "neither hexadecimal nor base64",
		strings.Repeat("pass word ", 9): "only 6 different bytes", // it is valid base64
		strings.Repeat("00", 32):        "only 1 different bytes",
		strings.Repeat("a", 64):         "only 1 different bytes",
		strings.Repeat("CHANGEME", 6):   "different bytes",
	} {
		key, err := privacy.ParseKey(text)
		require.ErrorContains(t, err, complaint)
		require.Nil(t, key)
	}
}

func BenchmarkPseudonym(b *testing.B) {
	key, err := privacy.ParseKey(hex.EncodeToString(raw))
	require.NoError(b, err)
	maker, value, dst := key.NewMaker(), []byte("4be8dd85-c7d6-4a23-8c1c-6bb8c0f2d5ce"), make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		dst = maker.Append(dst[:0], "student", value)
	}
}
