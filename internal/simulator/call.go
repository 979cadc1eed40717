package simulator

import "net/url"

// FanOut says how often a client calls an operation: once per run, or once for each item of a kind.
type FanOut int

// The fan-outs.
const (
	PerRun FanOut = iota
	PerDistrict
	PerSchool
	PerPerspective // per school and perspective that includes it
	PerStudent     // per student of 4.4
	PerRoster      // per perspective and student of 4.4
	PerEducator    // per perspective and educator of 4.13 and 4.9
	PerRecord      // per perspective and record of a list
)

// Operation is an operation of the specification, as data.
type Operation struct {
	Name     string // the name of the dataset
	Template string
	Required []string // required query parameters
	Optional []string
	// Wrapper is the member that holds the records of a paged list. It is empty for a bare array, which has no pages.
	Wrapper string
	// Single is the member that wraps the record of a single read. It is empty for a list.
	Single string
	// About is the kind of the record that a call is about, besides a school, or 0. See SubjectName.
	About  EntityKind
	FanOut FanOut
	Feed   string // the list whose records PerRecord reads
	source func(*World, *Call) List

	segments []string
	salt     uint64 // makes operations differ in style at the same position
	Tables   []Table
}

// SubjectName returns the name of the path parameter for the subject of a call. Query parameters have hyphens instead
// of underscores.
func SubjectName(about EntityKind) string {
	switch about {
	case StudentEntity:
		return "student_bid"
	case EducatorEntity:
		return "educator_bid"
	case ClassEntity:
		return "school_class_bid"
	default:
		return "educator_school_association_bid"
	}
}

// Call is a request that has passed the checks: the operation, its subject, and its filters.
type Call struct {
	Op       *Operation
	path     string     // as sent, below the base path
	query    url.Values // as sent
	School   int        // -1 if the operation is not about a school
	District int        // the district or perspective, -1 if there is none
	Home     int        // the school of the record that the call is about
	Subject  int        // the position of that record in its school
	Filter   Filter
	From     int  // the position of the page's first record
	moved    bool // see FaultListMoves
}

// Filter holds the filter parameters of a list (specification, "Rules common to all endpoints").
type Filter struct {
	On      Day   // records must be active on this day
	Dated   bool  // whether On applies
	Since   int64 // milliseconds; records must be modified at or after this time
	Removed bool  // whether removed records are included
	equal   map[string]string
}

// Hash returns a hash of a call's operation, school and district, and of further numbers.
func (w *World) Hash(c *Call, parts ...int) uint64 {
	return Hash(w.seed^c.Op.salt, append([]int{c.School, c.District}, parts...)...)
}

// Style returns the number that determines how the record or page at a position of a call's list is written.
func (w *World) Style(c *Call, i int) uint64 {
	h := Hash(w.seed^c.Op.salt, c.School, c.District, i)
	if c.Op.About != 0 {
		h = Mix(h ^ Mix(uint64(c.Subject)))
	}
	return h
}
