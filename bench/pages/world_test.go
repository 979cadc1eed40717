package pages

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPages checks that pages have the promised sizes, that values that must be distinct are distinct, and that the
// same options give the same bytes.
func TestPages(t *testing.T) {
	t.Parallel()
	options := Options{Results: 5000, SchoolSize: 2000, Huge: 2500}
	world, again := NewWorld(options), NewWorld(options)
	require.Equal(t, world.Schools(), again.Schools())
	require.Len(t, world.Schools(), 4)

	type record struct {
		TestResultBid string            `json:"testResultBid"`
		StudentBid    string            `json:"studentBid"`
		Start         string            `json:"administrationStartDateTime"`
		Norms         []json.RawMessage `json:"norms"`
		Areas         []json.RawMessage `json:"instructionalAreas"`
	}
	seen := map[string]bool{}
	var records, bytes, norms, areas int
	for i := range world.Schools() {
		school := &world.Schools()[i]
		require.Equal(t, school, world.School(school.Bid))
		for page := range school.Pages() {
			body := world.AppendPage(nil, school, page)
			require.Equal(t, body, again.AppendPage(nil, school, page))
			var answer struct {
				TestResults []record `json:"testResults"`
				Pagination  struct {
					HasNextPage bool `json:"hasNextPage"`
				} `json:"pagination"`
			}
			require.NoError(t, json.Unmarshal(body, &answer))
			require.Equal(t, page+1 < school.Pages(), answer.Pagination.HasNextPage)
			for _, r := range answer.TestResults {
				for _, value := range []string{r.TestResultBid, r.StudentBid, r.Start} {
					require.False(t, seen[value], "%s occurs twice", value)
					seen[value] = true
				}
				norms += len(r.Norms)
				areas += len(r.Areas)
			}
			records += len(answer.TestResults)
			bytes += len(body)
		}
	}
	require.Equal(t, 7500, records)
	require.Equal(t, 3*records, norms)
	require.InEpsilon(t, 3.3, float64(areas)/float64(records), 0.02)
	require.InEpsilon(t, 1600, float64(bytes)/float64(records), 0.05)
}
