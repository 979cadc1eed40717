package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"example.org/growthexport/internal/erase"
	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// A class whose roster changes has a version for each roster, because _extra lists it. Once _extra is cleared, consecutive
// versions may be equal. They are merged, as in a history that is made from the purged snapshots again. Rows of child
// tables have no identity and are not merged.

// merges are the versions that are merged with others, by versionID.
type merges map[string]merge

// merge is how a version changes: it is removed because a later one includes it, or it begins earlier.
type merge struct {
	goes bool
	from int32
}

// bareVersion is a version without _extra.
type bareVersion struct {
	id       string
	identity string
	rest     [sha256.Size]byte
	from, to int32
	file     int  // of the table's
	cleared  bool // it has lost _extra
}

// identityOf returns the key of a row, if its table has an identity and the key is complete.
func (m *versionMatch) identityOf(batch *rows.Batch, i int) (string, bool) {
	var identity []byte
	for _, c := range m.identity {
		if c < 0 || batch.Cols[c].Null(i) {
			return "", false
		}
		identity = appendValue(identity, &batch.Cols[c], i)
	}
	return string(identity), len(m.identity) > 0
}

// versionID identifies a version: no two of one identity end on the same day.
func (m *versionMatch) versionID(identity string) string {
	return string(binary.AppendVarint(nil, int64(m.to))) + identity
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

// findMerges reads the versions of some identities again, of which at least one loses _extra, and finds those that are
// then merged.
func (e *Erasure) findMerges(ctx context.Context, catalog snapshot.Catalog, t *erasedTable, identities erase.Set) error {
	var found []bareVersion
	for file := range t.files {
		f := &t.files[file]
		var m *versionMatch
		whole := func(own *schemas.Table) *schemas.Table {
			m = e.match(t, f.to, own)
			return own
		}
		err := erase.ReadFile(ctx, catalog, f.Path, t.table, whole, func(batch *rows.Batch) error {
			for i := range batch.N {
				identity, ok := m.identityOf(batch, i)
				if !ok || !identities[identity] {
					continue
				}
				if v := m.version(batch, i); v.stays {
					bare := m.bare(batch, i, identity, v.from)
					bare.file = file
					found = append(found, bare)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	t.mergeBare(found)
	return nil
}

// bare returns the version of row i, which begins on a day, without _extra.
func (m *versionMatch) bare(batch *rows.Batch, i int, identity string, from int32) bareVersion {
	v := bareVersion{id: m.versionID(identity), identity: identity, from: from, to: m.to, cleared: m.LosesExtra(batch, i)}
	var rest []byte
	for c := range batch.Cols {
		switch name := batch.Table.Columns[c].Name; {
		case c == m.from, name == "ended_because":
		case name == "_extra" && v.cleared:
			rest = append(rest, 0)
		default:
			rest = appendValue(rest, &batch.Cols[c], i)
		}
	}
	v.rest = sha256.Sum256(rest)
	return v
}

// mergeBare finds consecutive versions that are equal once _extra is cleared. The last one stays and begins when the first
// one did; the others are removed. It counts both in their files.
func (t *erasedTable) mergeBare(versions []bareVersion) {
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
			t.files[versions[last].file].began++
		}
		first = last + 1
	}
}
