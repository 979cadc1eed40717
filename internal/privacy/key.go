package privacy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
)

const (
	// MinKeyBytes is the minimum length of a key.
	MinKeyBytes = 32
	// minDistinctBytes is the minimum number of different bytes in a key. Of 32 random bytes, about 30 are different; a
	// repeated word or a row of zeros has fewer.
	minDistinctBytes = 12
)

// PseudonymLength is the length of a pseudonym, in characters.
const PseudonymLength = 32

// Key makes the pseudonyms of one recipient. It does not change and may be shared.
type Key struct{ raw []byte }

// ParseKey reads a key of at least MinKeyBytes in hexadecimal or, if it is not hexadecimal, in base64. Line breaks and
// other whitespace are ignored. Errors never contain the text.
func ParseKey(text string) (*Key, error) {
	text = strings.Join(strings.Fields(text), "")
	digits := strings.TrimPrefix(text, "0x")
	raw, err := hex.DecodeString(digits)
	switch {
	case errors.Is(err, hex.ErrLength): // do not try base64: that would result in a different key, and so in different pseudonyms
		return nil, errors.New("the key has an odd number of hexadecimal digits: one may be missing")
	case err != nil:
		text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
		if raw, err = base64.RawStdEncoding.Strict().DecodeString(text); err != nil {
			return nil, errors.New("the key is neither hexadecimal nor base64")
		}
	}
	if len(raw) < MinKeyBytes {
		return nil, fmt.Errorf("the key has %d bytes, but at least %d are needed", len(raw), MinKeyBytes)
	}
	distinct := make(map[byte]bool)
	for _, b := range raw {
		distinct[b] = true
	}
	if len(distinct) < minDistinctBytes {
		return nil, fmt.Errorf("the key has only %d different bytes, so it can be guessed", len(distinct))
	}
	return &Key{raw: raw}, nil
}

// Pseudonym returns the pseudonym of a value: the first 16 bytes, in hexadecimal, of HMAC-SHA-256 over the kind, a zero
// byte and the value. Equal values of different kinds get different pseudonyms. An empty value stays empty.
func (k *Key) Pseudonym(kind, value string) string {
	return string(k.NewMaker().Append(nil, kind, []byte(value)))
}

// Fingerprint returns 16 hexadecimal digits that identify the key without revealing it. They are not the start of any
// pseudonym.
func (k *Key) Fingerprint() string {
	mac := hmac.New(sha256.New, k.raw)
	_, _ = mac.Write([]byte("growth-export key fingerprint")) // in the text for a pseudonym, a zero byte follows the kind
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// Format writes the fingerprint, so that no message can contain the key.
func (k *Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(key " + k.Fingerprint() + ")")) }

// Maker makes many pseudonyms. Only one goroutine may use it at a time.
type Maker struct {
	mac     hash.Hash
	message []byte
}

// NewMaker returns a maker of the key's pseudonyms.
func (k *Key) NewMaker() *Maker { return &Maker{mac: hmac.New(sha256.New, k.raw)} }

// Append appends the pseudonym of a value.
func (m *Maker) Append(dst []byte, kind string, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	m.message = append(append(append(m.message[:0], kind...), 0), value...)
	m.mac.Reset()
	_, _ = m.mac.Write(m.message)
	m.message = m.mac.Sum(m.message[:0])
	return hex.AppendEncode(dst, m.message[:PseudonymLength/2])
}
