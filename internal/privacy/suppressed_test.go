package privacy_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/privacy"
)

// TestSuppressed finds students by bid and number, in text and JSON, and more of them than a Finder caches.
func TestSuppressed(t *testing.T) {
	t.Parallel()
	key, err := privacy.ParseKey(hex.EncodeToString(raw))
	require.NoError(t, err)
	list := key.NewSuppressed()
	list.Add(0, key.SuppressedBid("bid-0"), []string{key.SuppressedNumber("100"), key.SuppressedNumber("S-100")})
	list.Add(1, "", []string{key.SuppressedNumber("200")})
	f := list.NewFinder()
	for range 2 { // the second time from memory
		require.Equal(t, 0, f.Bid([]byte("bid-0")))
		require.Equal(t, -1, f.Bid([]byte("100")), "a number is not a bid")
		require.Equal(t, -1, f.Bid(nil))
		require.Equal(t, 0, f.Text([]byte("bid-0")))
		require.Equal(t, 0, f.Text([]byte("S-100")))
		require.Equal(t, 1, f.Text([]byte("200")))
		require.Equal(t, -1, f.Text([]byte("2000")))
		require.Equal(t, 1, f.JSON([]byte(`{"a":[1,{"b":200}],"c":"x"}`)))
		require.Equal(t, 0, f.JSON([]byte(`{"bid-0":null}`)), "the name of a member")
		require.Equal(t, 0, f.JSON([]byte(`["\u0062id-0"]`)))
		require.Equal(t, -1, f.JSON([]byte(`{"a":"bid-0 and others","b":1.00,"c":true}`)))
		require.Equal(t, 0, f.Value([]byte("100")))
		require.Equal(t, 1, f.Value([]byte(`["200"]`)))
	}
	for i := range 20_000 {
		require.Equal(t, -1, f.Bid(fmt.Appendf(nil, "other-%d", i)))
	}
	require.Equal(t, 0, f.Bid([]byte("bid-0")))
	require.Equal(t, key.SuppressedBid("bid-0"), key.SuppressedPseudonym(key.Pseudonym("student", "bid-0")))
	require.Equal(t, key.SuppressedNumber("100"), key.SuppressedPseudonym(key.Pseudonym("student_number", "100")))
}

// TestSuppressedNamesNobody tries to identify the students of a list with a roster and everything else that is public:
// the fingerprint of the key, and the pseudonyms in an older copy of the data. It finds none of the students, but with
// the key it finds all of them.
func TestSuppressedNamesNobody(t *testing.T) {
	t.Parallel()
	key, err := privacy.ParseKey(hex.EncodeToString(raw))
	require.NoError(t, err)
	var roster []string
	digests := make(map[string]bool)
	for i := range 1354 {
		roster = append(roster, fmt.Sprintf("%08x-c7d6-4a23-8c1c-6bb8c0f2d5ce", i*2654435761))
		if i%100 == 0 {
			digests[key.SuppressedBid(roster[i])] = true
		}
	}
	named := func(guess func(bid string) string) (n int) {
		for _, bid := range roster {
			if digests[guess(bid)] {
				n++
			}
		}
		return n
	}
	// HMAC pads a shorter key with zeros, and FIPS 140-3 forbids keys that are too short.
	padded := func(text string) []byte { return append([]byte(text), make([]byte, 32)...) }
	tries := map[string][]byte{
		"zeros": padded(""), "the fingerprint": padded(key.Fingerprint()), "the name of the list": padded("suppressed"),
	}
	for name, guessed := range tries {
		for _, kind := range []string{"", "student\x00", "suppressed\x00", "suppressed\x00student\x00"} {
			require.Zero(t, named(func(bid string) string {
				mac := hmac.New(sha256.New, guessed)
				mac.Write([]byte(kind + bid))
				return hex.EncodeToString(mac.Sum(nil)[:16])
			}), name)
			require.Zero(t, named(func(bid string) string {
				sum := sha256.Sum256([]byte(kind + bid))
				return hex.EncodeToString(sum[:16])
			}), kind)
		}
	}
	require.Zero(t, named(func(bid string) string { return key.Pseudonym("student", bid) }), "older pseudonyms do not say who is listed")
	require.Zero(t, named(func(bid string) string {
		sum := sha256.Sum256([]byte("suppressed\x00" + key.Pseudonym("student", bid)))
		return hex.EncodeToString(sum[:16])
	}))
	other, err := privacy.ParseKey(strings.Repeat("00112233445566778899aabbccddeeff", 2))
	require.NoError(t, err)
	require.Zero(t, named(other.SuppressedBid))
	require.Equal(t, 14, named(key.SuppressedBid), "the same search finds them with the key")
}
