package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/review"
)

// TestPurgeClearsReasons removes a school and a district from the reasons of a manifest. A second attempt finds nothing
// to remove.
func TestPurgeClearsReasons(t *testing.T) {
	t.Parallel()
	goes := func(school, district string) bool { return school == "s" || district == "d" }
	changed := review.New(review.MaxChanged, "75%", []review.Finding{
		{Table: "students", District: "d", N: 80, Of: 100}, {Table: "students", District: "e", N: 76, Of: 100},
	})
	kept := review.New(review.MaxFailedSchools, "0", []review.Finding{{N: 1, Of: 3}})
	m := &Manifest{Accepted: []review.Reason{changed, kept}, Comparison: &Comparison{
		Warnings: []review.Reason{review.New(review.SchoolsUnlisted, "", []review.Finding{{School: "s"}})},
	}}
	p := new(PurgedLedger)
	require.True(t, p.clear(m, goes))
	require.Equal(t, []review.Finding{{Table: "students", District: "e", N: 76, Of: 100}}, p.accepted[0].Found)
	require.Contains(t, p.accepted[0].String(), "allows: table students, district e: 76 of 100; and 1 more")
	require.Equal(t, kept, p.accepted[1])
	require.Equal(t, "1 school no longer listed: (removed by a purge)", p.warnings[0].String())
	require.Len(t, m.Accepted[0].Found, 2, "the manifest is not changed")

	again := &Manifest{Accepted: p.accepted, Comparison: &Comparison{Warnings: p.warnings}}
	require.False(t, new(PurgedLedger).clear(again, goes))
}
