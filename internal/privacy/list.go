package privacy

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// listKind keeps the digests of lists apart from pseudonyms.
const listKind = "students"

// ListDigest returns a digest of a list of students' bids, sorted and each once, that documents may hold instead of it.
func (k *Key) ListDigest(bids []string) string {
	return k.Pseudonym(listKind, strings.Join(bids, "\n")+"\n")
}

// NewKey returns a random key and its text in hexadecimal.
func NewKey() (*Key, string) {
	raw := make([]byte, MinKeyBytes)
	_, _ = rand.Read(raw) // never fails
	text := hex.EncodeToString(raw)
	key, err := ParseKey(text)
	if err != nil {
		panic(err)
	}
	return key, text
}
