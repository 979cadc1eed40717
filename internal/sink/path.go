package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"
)

const (
	// ownersPrefix is the folder in which every owner has a folder of documents.
	ownersPrefix = "_runs/"
	// stagingPrefix is the folder in which a Dir keeps what is staged.
	stagingPrefix = "_staging/"
)

// unknownPartition is the name that Hive, Spark and DuckDB give to the
// partition of a null: schools whose district the service does not name.
const unknownPartition = "__HIVE_DEFAULT_PARTITION__"

// longestValue is the maximum number of bytes of an escaped value in a path:
// file systems limit a segment to 255 bytes, and the partition's name comes
// before it.
const longestValue = 200

// Escape returns a value as a segment of a path, or the end of one: ASCII
// outside [A-Za-z0-9._-] is percent-encoded, which Hive, Spark and DuckDB
// decode. Other characters stay as they are, because Spark decodes each encoded
// byte to a character of its own. The result is never empty and never a segment
// that means something to a file system. A value too long for a segment is cut
// between characters and ends in a tilde and its hash, so that different values
// stay different.
func Escape(value string) string {
	switch value {
	case "":
		return unknownPartition
	case unknownPartition:
		return "%5F" + value[1:]
	case ".", "..":
		return strings.ReplaceAll(value, ".", "%2E")
	}
	const hashed = 1 + 2*hashBytes // the tilde and the hash
	var b strings.Builder
	cut := 0
	for i := 0; i < len(value); {
		c := value[i]
		r, size := utf8.DecodeRuneInString(value[i:])
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-',
			c >= utf8.RuneSelf && (r != utf8.RuneError || size > 1):
			b.WriteString(value[i : i+size])
		default:
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
		if b.Len() < longestValue-hashed {
			cut = b.Len()
		}
		i += size
	}
	if b.Len() <= longestValue {
		return b.String()
	}
	sum := sha256.Sum256([]byte(value))
	return b.String()[:cut] + "~" + hex.EncodeToString(sum[:hashBytes])
}

// hashBytes is how many bytes of a long value's hash are used in a path.
const hashBytes = 16

// Owner returns the owner of the object at a path, escaped as in the path: the
// folder below _runs/, or for a file named part-<number>-<owner>.parquet the end
// of its name. It is empty for every other path. A store that cannot keep a list
// of what an owner has staged finds it by this.
func Owner(path string) string {
	if below, ok := strings.CutPrefix(path, ownersPrefix); ok {
		owner, _, inside := strings.Cut(below, "/")
		if !inside {
			return ""
		}
		return owner
	}
	name, data := strings.CutSuffix(path[strings.LastIndexByte(path, '/')+1:], ".parquet")
	name, part := strings.CutPrefix(name, "part-")
	number, owner, cut := strings.Cut(name, "-")
	if !data || !part || !cut || strings.Trim(number, "0123456789") != "" {
		return ""
	}
	return owner
}

// isDetail reports whether a document is one of many in a subfolder of its
// owner's folder. Nothing follows from the removal of one of them.
func isDetail(path string) bool {
	below, owned := strings.CutPrefix(path, ownersPrefix)
	return owned && strings.Count(below, "/") > 1
}

// CheckPath refuses a path that is none of a destination: the names below
// _staging/ are kept free in every store.
func CheckPath(path string) error {
	if !fs.ValidPath(path) || path == "." || strings.HasPrefix(path, stagingPrefix) {
		return fmt.Errorf("%q is not a path of a destination", path)
	}
	return nil
}
