package history

import (
	"bytes"
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

// A class whose roster changes has a version for each roster, because _extra contains the roster. Once _extra is
// cleared, versions may be equal. They are merged, so that the result is the same as for a history rebuilt from the
// purged snapshots: it holds as many equal versions as a snapshot has equal rows, and of these the one that began last
// ends first.

// place identifies a version by its file and its row in that file.
type place struct {
	path string
	row  int
}

// merge is a change to a version. The version is removed because another version includes it, or it gets the beginning
// of another version.
type merge struct {
	goes bool
	beginning
}

// beginning is the day on which a version begins, and the ordinal of its row on that day.
type beginning struct{ from, ordinal int32 }

// bareVersion is a version as it is after the purge, which may have cleared _extra.
type bareVersion struct {
	place
	beginning

	file    *erasedFile
	values  [sha256.Size]byte // the hash of the columns that are compared
	to      int32
	cleared bool // whether the purge clears _extra
}

// keyOf returns the key of a row without its ordinal. Only rows with the same key are compared. It returns false for a
// table without a key.
func (m *versionMatch) keyOf(batch *rows.Batch, i int) (string, bool) {
	var key []byte
	for _, c := range m.keys {
		if c < 0 {
			key = append(key, 0)
		} else {
			key = appendValue(key, &batch.Cols[c], i)
		}
	}
	return string(key), len(m.keys) > 0
}

// appendValue appends an encoding of a row's value in which different values have different bytes.
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

// findMerges reads again all versions of the keys for which at least one version loses _extra, and finds the versions
// to merge.
func (e *Erasure) findMerges(ctx context.Context, catalog snapshot.Catalog, t *erasedTable, keys erase.Set) error {
	var found []bareVersion
	for file := range t.files {
		f, first := &t.files[file], 0
		var m *versionMatch
		whole := func(own *schemas.Table) *schemas.Table {
			m = e.match(t, f.to, own)
			return own
		}
		err := erase.ReadFile(ctx, catalog, f.Path, t.table, whole, func(batch *rows.Batch) error {
			for i := range batch.N {
				if key, ok := m.keyOf(batch, i); !ok || !keys[key] {
					continue
				}
				if v := m.version(batch, i); v.stays {
					bare := m.bare(batch, i)
					bare.place, bare.file, bare.from = place{f.Path, first + i}, f, v.from
					if m.ordinal >= 0 {
						bare.ordinal = batch.Cols[m.ordinal].I32[i]
					}
					found = append(found, bare)
				}
			}
			first += batch.N
			return nil
		})
		if err != nil {
			return err
		}
	}
	t.mergeBare(found)
	return nil
}

// bare returns the version of row i, without _extra if the purge clears it. A column that the file lacks counts as
// null.
func (m *versionMatch) bare(batch *rows.Batch, i int) bareVersion {
	v := bareVersion{to: m.to, cleared: m.LosesExtra(batch, i)}
	var values []byte
	for c := range batch.Cols {
		switch name := batch.Table.Columns[c].Name; {
		case c == m.from, c == m.ordinal, name == "ended_because", name == "_extra" && v.cleared, batch.Cols[c].Null(i):
		default:
			values = appendValue(append(values, name...), &batch.Cols[c], i)
		}
	}
	v.values = sha256.Sum256(values)
	return v
}

// mergeBare merges versions that are equal once _extra is cleared, and counts the changes in their files.
func (t *erasedTable) mergeBare(versions []bareVersion) {
	t.merges = make(map[place]merge)
	slices.SortStableFunc(versions, func(a, b bareVersion) int {
		return cmp.Or(bytes.Compare(a.values[:], b.values[:]), cmp.Compare(a.from, b.from), cmp.Compare(a.ordinal, b.ordinal))
	})
	for len(versions) > 0 {
		n := 1
		for n < len(versions) && versions[n].values == versions[0].values {
			n++
		}
		if slices.ContainsFunc(versions[:n], func(v bareVersion) bool { return v.cleared }) {
			t.mergeEqual(versions[:n])
		}
		versions = versions[n:]
	}
}

// mergeEqual merges equal versions, which are in the order in which they begin. Versions that end and versions that
// begin on the same day cancel each other out, so only the surplus ends or begins.
func (t *erasedTable) mergeEqual(versions []bareVersion) {
	var standing []beginning
	ends := slices.Clone(versions)
	slices.SortStableFunc(ends, func(a, b bareVersion) int { return cmp.Compare(a.to, b.to) })
	begun := 0
	for i := range ends {
		v := &ends[i]
		for begun < len(versions) && versions[begun].from < v.to {
			standing = append(standing, versions[begun].beginning)
			begun++
		}
		if begun < len(versions) && versions[begun].from == v.to { // the ending version continues
			begun++
			t.merges[v.place] = merge{goes: true}
			v.file.merged++
			continue
		}
		last := len(standing) - 1
		if standing[last] != v.beginning {
			t.merges[v.place] = merge{beginning: standing[last]}
			v.file.began++
		}
		standing = standing[:last]
	}
}

// regrouper appends versions to a file. It sorts versions with the same key, because merges may have changed their
// order.
type regrouper struct {
	out   *snapshot.TableFile
	match *versionMatch
	order fileOrder
	// held holds the rows of the last key, because more of them may follow. write copies the rows that remain to next, and
	// then swaps the two.
	held, next *rows.Batch
}

func newRegrouper(out *snapshot.TableFile, table *schemas.Table, m *versionMatch) *regrouper {
	return &regrouper{
		out: out, match: m, order: fileOrder{keys: table.KeyColumns(), columns: m.from}, held: rows.New(table), next: rows.New(table),
	}
}

// add adds the rows of a batch, and writes the rows of all keys except the last.
func (r *regrouper) add(batch *rows.Batch) error {
	r.held.AppendRows(batch, 0, batch.Len())
	end := r.held.N
	for key := ""; end > 0; end-- {
		last, _ := r.match.keyOf(r.held, end-1)
		if end < r.held.N && last != key {
			break
		}
		key = last
	}
	return r.write(end)
}

// write appends the held rows up to end, which is where a key ends.
func (r *regrouper) write(end int) error {
	held := r.held
	order := make([]int32, end)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return r.order.compare(item{held, int(a)}, item{held, int(b)}) })
	r.next.Reset()
	r.next.AppendRows(held, end, held.N)
	held.Order = order
	err := r.out.Append(held)
	held.Reset()
	r.held, r.next = r.next, held
	return err
}
