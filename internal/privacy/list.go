package privacy

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
)

// WithoutBlanks returns a listed bid or number without surrounding whitespace and byte order marks, and true if there
// were any. A text that consists only of these is returned unchanged, with false. A bid may begin or end with
// whitespace, but in a line of a list this is usually a mistake, so every command looks for both forms.
func WithoutBlanks(listed string) (bare string, differs bool) {
	bare = strings.TrimFunc(listed, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
	if bare == "" || bare == listed {
		return listed, false
	}
	return bare, true
}

// listKind makes the digests of lists differ from all pseudonyms.
const listKind = "students"

// ListDigest returns a digest of a list of students, for documents that must not contain the list itself. It does not
// depend on the order of the list, on duplicates or on surrounding whitespace.
func (k *Key) ListDigest(listed []string) string {
	bare := make([]string, len(listed))
	for i, text := range listed {
		bare[i], _ = WithoutBlanks(text)
	}
	slices.Sort(bare)
	return k.Pseudonym(listKind, strings.Join(slices.Compact(bare), "\n")+"\n")
}

// KeyOfList returns the key with which the digest of a list was computed: the stored key, or own if stored is empty. It
// returns nil if the list has a different digest under that key.
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

// NewKey returns a random key and the same key in hexadecimal.
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
