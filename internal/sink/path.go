package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// ownersPrefix is the prefix of all documents that belong to an owner. Each owner has a folder there.
	ownersPrefix = "_runs/"
	// StagingPrefix is the prefix of a Dir's staged files. Paths that start with it are reserved in every store.
	StagingPrefix = "_staging/"
)

// CheckPath returns an error if path cannot be the path of an object.
func CheckPath(path string) error {
	if !fs.ValidPath(path) || path == "." || strings.HasPrefix(path, StagingPrefix) {
		return fmt.Errorf("%q is not a valid path in a destination", path)
	}
	return nil
}

// Owner returns the owner of the object at a path, escaped as in the path, or "" if the object has no owner. The owner
// is the name of the folder below _runs/ or, for a file named part-<number>-<owner>.parquet, the end of its name. A
// store that cannot list the staged files of a single owner lists all of them and selects by Owner.
func Owner(path string) string {
	if below, ok := strings.CutPrefix(path, ownersPrefix); ok {
		owner, _, inside := strings.Cut(below, "/")
		if !inside {
			return ""
		}
		return owner
	}
	part, _ := ParsePart(path)
	return part.Owner
}

// isDetail reports whether a document is in a subfolder of its owner's folder. Other processes do not depend on the
// removal of such a document.
func isDetail(path string) bool {
	below, owned := strings.CutPrefix(path, ownersPrefix)
	return owned && strings.Count(below, "/") > 1
}

const (
	// nullValue is the name that Hive, Spark and DuckDB use for the partition of null values.
	nullValue = "__HIVE_DEFAULT_PARTITION__"
	// maxEscaped is the maximum length of an escaped value in bytes: file systems limit a path segment to 255, and a
	// prefix such as "district=" comes before the value.
	maxEscaped = 200
	// hashBytes is the number of bytes of a long value's hash that are part of the escaped value.
	hashBytes = 16
)

// Escape returns a value as a path segment or as the end of a path segment. ASCII outside [A-Za-z0-9._-] is
// percent-encoded, which Hive, Spark and DuckDB decode. Other characters are kept, because Spark would decode each of
// their bytes to a character. The exceptions are invalid UTF-8, characters that a store's lists cannot contain, and
// characters that control a terminal; see isUnsafe. The result is never empty, "." or "..". Only an empty value is
// escaped as a word that DuckDB reads as null. A long value is cut between characters, and a tilde and the value's hash
// are appended, so that different values remain different.
func Escape(value string) string {
	switch value {
	case "":
		return nullValue
	case nullValue:
		return "%5F" + value[1:]
	case ".", "..":
		return strings.ReplaceAll(value, ".", "%2E")
	}
	if strings.EqualFold(value, "null") {
		return fmt.Sprintf("%%%02X%s", value[0], value[1:])
	}
	const suffix = 1 + 2*hashBytes // the tilde and the hash
	var b strings.Builder
	cut := 0
	for i := 0; i < len(value); {
		c := value[i]
		r, size := utf8.DecodeRuneInString(value[i:])
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-',
			c >= utf8.RuneSelf && (r != utf8.RuneError || size > 1) && !isUnsafe(r):
			b.WriteString(value[i : i+size])
		default:
			for _, c := range []byte(value[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		if b.Len() < maxEscaped-suffix {
			cut = b.Len()
		}
		i += size
	}
	if b.Len() <= maxEscaped {
		return b.String()
	}
	sum := sha256.Sum256([]byte(value))
	return b.String()[:cut] + "~" + hex.EncodeToString(sum[:hashBytes])
}

// isUnsafe reports whether a character beyond ASCII cannot be part of a name: XML excludes two characters, and control
// characters, line separators and marks that reverse the direction of writing change what a terminal shows.
func isUnsafe(r rune) bool {
	return r == '\ufffe' || r == '\uffff' || unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}
