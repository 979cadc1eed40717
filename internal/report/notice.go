package report

import (
	"cmp"
	"html/template"
	"io"
	"maps"
	"slices"
	"time"

	"example.org/growthexport/internal/snapshot"
)

// Notice lists the rows that a purge erased, for a page that a privacy officer can print, sign and pass on. It lists
// students only if Students is set.
type Notice struct {
	Destination string
	ToolVersion string
	// Headline says whose rows were erased.
	Headline string
	// HistoryOnly is true if only ended versions of the history were erased.
	HistoryOnly bool
	// Incomplete is true if rows about others still mention a purged student. Mentions lists the columns of the rows that
	// Mentioning counts.
	Incomplete bool
	// ByNumber is true if the students were listed by number, because they have no bid.
	ByNumber bool
	Mentions string
	// NotSearched describes the data that the purge could not search because it was exported under other privacy keys.
	// It is empty if there is no such data.
	NotSearched string
	// FoundByNumber says how many rows had no bid and were found by a number alone, if there were any.
	FoundByNumber string
	// Schools, Districts and Students identify the owners of the rows. Unknown lists the requested schools or districts
	// that do not occur in the data.
	Schools, Districts, Students, Unknown []string
	// ListedStudents is the number of listed students, and MatchedStudents the number of listed students with rows. Digest
	// is the digest of the list under the privacy key, or "" if there is no key.
	ListedStudents, MatchedStudents int
	Digest                          string
	BegunAt, FinishedAt             time.Time
	// Tables counts the rows that were erased from snapshots and the history, by table.
	Tables []NoticeTable
	Runs   []NoticeRun
	// LedgerRows counts the rows erased from ledgers, which record how the requests for schools ended.
	LedgerRows  int64
	DroppedRuns []string
	// FilesRead, RowsRead and BytesRead count the data that was read again after the last change. Mentioning counts the
	// rows about others that mention a purged school, district or student.
	FilesRead           int
	RowsRead, BytesRead int64
	Mentioning          int64
	NotReached          []string
	// Proof is the path of the proof at the destination, and ProofSHA256 its hash.
	Proof, ProofSHA256 string
}

// NoticeTable counts the rows that were erased from a table, and the rows whose _extra was cleared.
type NoticeTable struct {
	Name                       string
	Rows, HistoryRows, Cleared int64
}

// NoticeRun is a run from which rows were erased.
type NoticeRun struct {
	RunID, SnapshotDate string
	Kind                snapshot.Kind
	Rows                int64
	Files               int
}

// AddTables adds numbers of rows by table. count returns the field to which a number is added.
func (n *Notice) AddTables(rows map[string]int64, count func(*NoticeTable) *int64) {
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		i := slices.IndexFunc(n.Tables, func(t NoticeTable) bool { return t.Name == name })
		if i < 0 {
			i = len(n.Tables)
			n.Tables = append(n.Tables, NoticeTable{Name: name})
		}
		*count(&n.Tables[i]) += rows[name]
	}
}

// noticeView is the data of the template.
type noticeView struct {
	*Notice

	Style template.CSS
	All   NoticeTable
}

// Compare orders runs by their dates.
func (r NoticeRun) Compare(other NoticeRun) int {
	return cmp.Or(cmp.Compare(r.SnapshotDate, other.SnapshotDate), cmp.Compare(r.Kind, other.Kind), cmp.Compare(r.RunID, other.RunID))
}

// KindText returns the kind of the run in words.
func (r NoticeRun) KindText() string {
	return map[snapshot.Kind]string{snapshot.Full: "snapshot", snapshot.AsOf: "enrollment as of a date", snapshot.Delta: "changes"}[r.Kind]
}

// WriteNotice writes the page of a notice. Its bytes depend only on the notice.
func WriteNotice(w io.Writer, n *Notice) error {
	v := &noticeView{Notice: n, Style: template.CSS(styleText)} //nolint:gosec // a constant
	for _, t := range n.Tables {
		v.All.Rows += t.Rows
		v.All.HistoryRows += t.HistoryRows
		v.All.Cleared += t.Cleared
	}
	return draw(w, "notice.html", v)
}
