package snapshot

import (
	"cmp"
	"maps"
	"slices"
)

// Drift counts how often the service sent something that the table's declaration does not allow.
type Drift struct {
	Table string `json:"table"`
	Field string `json:"field"` // the source of the column, or the JSON path
	Kind  string `json:"kind"`  // unknown_field, type_mismatch, duplicate_record or duplicate_member
	Count int64  `json:"count"` // the number of times
}

// Compare orders drift by count, the largest first, then by table, field and kind.
func (d Drift) Compare(other Drift) int {
	return cmp.Or(cmp.Compare(other.Count, d.Count), cmp.Compare(d.Table, other.Table), cmp.Compare(d.Field, other.Field), cmp.Compare(d.Kind, other.Kind))
}

const (
	// MaxDriftFields is the maximum number of fields per table that are counted separately.
	MaxDriftFields = 1000
	// OtherFields stands for all fields that are not counted separately.
	OtherFields = "#"
)

// DriftSums adds up drift. The zero value is empty. It counts the MaxDriftFields most frequent fields of a table
// separately, with ties broken by name, and all others together as OtherFields. To bound its size, it merges rare
// fields before all drift is added, so with far more fields the sums depend on the order of the additions.
type DriftSums struct {
	counts map[Drift]int64 // by drift without its count
	full   int             // number of counts at which fields are merged
}

// minDriftCounts is the minimum number of counts that a DriftSums holds before Add merges fields.
const minDriftCounts = 20_000

// Add adds a count to the sums.
func (s *DriftSums) Add(d Drift) {
	if s.counts == nil {
		s.counts, s.full = make(map[Drift]int64), minDriftCounts
	}
	n := d.Count
	d.Count = 0
	s.counts[d] += n
	if len(s.counts) > s.full {
		s.cap()
		s.full = 2*len(s.counts) + minDriftCounts
	}
}

// List returns the sums, ordered by Compare.
func (s *DriftSums) List() []Drift {
	s.cap()
	all := make([]Drift, 0, len(s.counts))
	for d, n := range s.counts {
		d.Count = n
		all = append(all, d)
	}
	slices.SortFunc(all, Drift.Compare)
	return all
}

// cap merges the rarest fields of each table, beyond MaxDriftFields, into OtherFields.
func (s *DriftSums) cap() {
	if len(s.counts) <= MaxDriftFields {
		return
	}
	tables := make(map[string]map[string]int64) // sums by table and field
	for d, n := range s.counts {
		if tables[d.Table] == nil {
			tables[d.Table] = make(map[string]int64)
		}
		tables[d.Table][d.Field] += n
	}
	for table, fields := range tables {
		delete(fields, OtherFields)
		names := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
			return cmp.Or(cmp.Compare(fields[b], fields[a]), cmp.Compare(a, b))
		})
		named := make(map[string]bool)
		for _, name := range names[:min(len(names), MaxDriftFields)] {
			named[name] = true
		}
		for d, n := range s.counts {
			if d.Table == table && d.Field != OtherFields && !named[d.Field] {
				delete(s.counts, d)
				d.Field = OtherFields
				s.counts[d] += n
			}
		}
	}
}
