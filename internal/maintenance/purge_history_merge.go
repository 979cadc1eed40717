package maintenance

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"example.org/growthexport/internal/rows"
)

// A class whose roster changes has a version for each roster, because _extra lists it. Once _extra is cleared, consecutive
// versions may be equal. They are merged, as in a history that is rebuilt from the purged snapshots.

// bareVersion is a version without _extra.
type bareVersion struct {
	id       string
	identity string // the row's key
	rest     [sha256.Size]byte
	span
	file    int  // of the table's
	cleared bool // it has lost _extra
}

// versionID identifies a version: no two of one key end on the same day.
func (m *historyMatch) versionID(batch *rows.Batch, i int) string {
	id := binary.AppendVarint(nil, int64(m.to))
	for _, c := range m.identity {
		id = appendValue(id, &batch.Cols[c], i)
	}
	return string(id)
}

// bareVersion returns the version of row i, which begins on a day.
func (m *historyMatch) bareVersion(batch *rows.Batch, i int, from int32) bareVersion {
	id := m.versionID(batch, i)
	_, n := binary.Varint([]byte(id))
	var rest []byte
	for c := range batch.Cols {
		if c != m.extraAt && c != m.from && batch.Table.Columns[c].Name != "ended_because" {
			rest = appendValue(rest, &batch.Cols[c], i)
		}
	}
	return bareVersion{id: id, identity: id[n:], rest: sha256.Sum256(rest), span: span{from, m.to}}
}

// appendValue appends the value of a row, different values as different bytes.
func appendValue(to []byte, v *rows.Vector, i int) []byte {
	switch {
	case v.Null(i):
		return append(to, 0)
	case v.IsText():
		text := v.Text(i)
		return append(binary.AppendUvarint(append(to, 1), uint64(len(text))), text...)
	case len(v.I32) > 0:
		return binary.AppendVarint(append(to, 1), int64(v.I32[i]))
	case len(v.I64) > 0:
		return binary.AppendVarint(append(to, 1), v.I64[i])
	case len(v.F64) > 0:
		return binary.AppendUvarint(append(to, 1), math.Float64bits(v.F64[i]))
	default:
		return append(to, 1, v.Bool[i])
	}
}

// mergeBare finds consecutive versions that are equal once _extra is cleared. The last one stays and begins when the first
// one did; the others are removed. It counts both in their files.
func (t *historyTable) mergeBare(versions []bareVersion) {
	t.merges = make(merges)
	slices.SortFunc(versions, func(a, b bareVersion) int {
		return cmp.Or(cmp.Compare(a.identity, b.identity), cmp.Compare(a.from, b.from))
	})
	continues := func(v, before *bareVersion) bool {
		return before.identity == v.identity && before.to == v.from && before.rest == v.rest && (before.cleared || v.cleared)
	}
	for first := 0; first < len(versions); {
		last := first
		for last+1 < len(versions) && continues(&versions[last+1], &versions[last]) {
			t.merges[versions[last].id] = merge{goes: true}
			t.files[versions[last].file].merged++
			last++
		}
		if last > first {
			t.merges[versions[last].id] = merge{from: versions[first].from}
			t.files[versions[last].file].trimmed++
		}
		first = last + 1
	}
}
