package review_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/review"
)

// TestHeldAdvice expects "run again" only if failed schools are among the reasons.
func TestHeldAdvice(t *testing.T) {
	t.Parallel()
	text := func(h review.Held) string {
		h.Destination, h.RunID, h.Date = "it's here", "r1", "2026-11-20"
		var lines []string
		for _, a := range h.Advice() {
			lines = append(lines, strings.TrimSpace(a.Say+" "+a.Command))
		}
		return strings.Join(lines, "\n")
	}
	failed, shrunk := []review.Reason{review.New(review.MaxFailedSchools, "0", nil)}, []review.Reason{review.New(review.MaxShrink, "20%", nil)}
	const (
		retry   = "Run the same growth-export run command again, without --restart: it retries the schools that failed, together with the other schools in the same files"
		publish = `Publish it as it is: growth-export publish --dest 'it'\''s here' --run-id r1 --accept-held`
		restart = "Fetch everything again: run the same growth-export run command with --restart"
		change  = " If a school's error says what to change, change it first.\n"
		later   = " (on the next day, also add --snapshot-date 2026-11-20 --run-id r1)"
		held    = " Without it, the staged data is held back again."
	)
	require.Equal(t, retry+" (on a later day, add --run-id r1; these schools then have that day's data)."+change+publish, text(review.Held{Reasons: failed}))
	require.Equal(t, retry+"."+change+publish, text(review.Held{Reasons: failed, FixedDate: true}))
	require.Equal(t, "Read the report to see what is wrong: out/report.html\n"+publish+"\n"+restart+later+"."+held,
		text(review.Held{Reasons: shrunk, Report: "out/report.html"}))
	require.Equal(t, retry+"."+change+"Read the report to see what is wrong: out/report.html\n"+publish+"\n"+restart+".",
		text(review.Held{Reasons: shrunk, Failed: 3, FixedDate: true, Report: "out/report.html"}), "the missing rows may be rows of the failed schools")
	require.Equal(t, retry+"."+change+"Look at the checks below, and compare the tables with the previous snapshot: is the data right?\n"+publish+"\n"+restart+".",
		text(review.Held{Reasons: append(failed, shrunk...), FixedDate: true}))
}
