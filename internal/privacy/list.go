package privacy

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// listKind keeps the digests of lists apart from pseudonyms.
const listKind = "students"

// ListDigest returns a digest of a list of student bids, for documents that must not contain the list itself. The bids
// must be sorted and unique.
func (k *Key) ListDigest(bids []string) string {
	return k.Pseudonym(listKind, strings.Join(bids, "\n")+"\n")
}

// KeyOfList returns the key with which the digest of a list was computed: the stored key, or own if the text of the
// stored key is empty. It returns nil if the list has another digest under that key.
func KeyOfList(bids []string, digest, stored string, own *Key) *Key {
	key := own
	if stored != "" {
		var err error
		if key, err = ParseKey(stored); err != nil {
			return nil
		}
	}
	if key == nil || key.ListDigest(bids) != digest {
		return nil
	}
	return key
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
