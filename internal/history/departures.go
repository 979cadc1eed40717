package history

import (
	"encoding/binary"
	"strings"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// departures determines why rows of a dataset are gone. The children of a removed record have the record's reason. The
// reason for a test result is known only after all schools have been read. Until then, the number of the result is kept
// instead of the reason.
type departures struct {
	lost           *lostResults // nil unless the dataset is test_results
	unit, district string       // the unit of the next rows, and its district
	// gone holds, by unit, the removed rows of the dataset's first table. There may be many such rows, so each unit has
	// an encoded list of keys, each preceded by its length and followed by its result's number. Only the list of the
	// current unit is decoded into a map (here).
	gone map[string][]byte
	here map[string]int // the results of this unit by key; nil until it is needed
}

// noResult is used instead of a number for records of other datasets.
const noResult = -1

func newDepartures(lost *lostResults) *departures {
	return &departures{lost: lost, gone: make(map[string][]byte)}
}

// start sets the unit of the next rows.
func (d *departures) start(unit, district string) { d.unit, d.district, d.here = unit, district, nil }

// forget drops the removed rows of all units. It may be called when all tables of the dataset have been read for these
// units.
func (d *departures) forget() { clear(d.gone) }

// cause returns why a row is gone from the unit: a reason, or the number of the lost result that determines the reason.
// parentStands is true for a child row if the other side has rows of the same parent.
func (d *departures) cause(m *merger, b *rows.Batch, i int, parentStands bool) (reason string, result int) {
	row := b.Row(i)
	complete, key := m.complete(b, row), m.key(b, row)
	if m.child {
		result, gone := d.find(key)
		switch {
		case !complete, gone && result == noResult:
			return snapshot.Removed, noResult
		case gone && !parentStands:
			return "", result
		}
		return snapshot.ElementsChanged, noResult
	}
	reason, result = snapshot.Removed, noResult
	if d.lost != nil {
		reason, result = "", d.lost.add(d.unit, d.district, b, row)
	}
	if complete {
		list := append(binary.AppendUvarint(d.gone[d.unit], uint64(len(key))), key...)
		d.gone[d.unit] = binary.AppendVarint(list, int64(result))
	}
	return reason, result
}

// find reports whether the record with this key is gone from the unit, and returns the number of its result.
func (d *departures) find(key string) (result int, gone bool) {
	if d.here == nil {
		d.here = make(map[string]int)
		for list := d.gone[d.unit]; len(list) > 0; {
			n, size := binary.Uvarint(list)
			of := string(list[size:][:n])
			list = list[size:][n:]
			number, size := binary.Varint(list)
			d.here[of], list = int(number), list[size:]
		}
	}
	result, gone = d.here[key]
	return result, gone
}

// key returns the values of a row's key, without unit and ordinal, as one string.
func (m *merger) key(b *rows.Batch, row int) string {
	var key strings.Builder
	for _, column := range m.group {
		text, _ := value(b, column, row)
		key.WriteString(text)
		key.WriteByte(0)
	}
	return key.String()
}

// tableOf returns the declaration of a table.
func tableOf(name string) *schemas.Table {
	table, _, _ := schemas.FindTable(name)
	return table
}
