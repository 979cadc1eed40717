package erase

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// TestKnowledge checks the districts to which schools belong according to the runs.
func TestKnowledge(t *testing.T) {
	const moved, goneDistrict, staysToo = "school-of-both", "district-that-goes", "district-that-stays"
	t.Parallel()
	plan := func(run, school, district string, perspectives ...string) *snapshot.Plan {
		return &snapshot.Plan{RunID: run, Schools: []snapshot.School{{Bid: school, District: district, Perspectives: perspectives}}}
	}
	k := NewDistrictIndex([]string{"resolved before"})
	k.AddPlan(plan("autumn", moved, goneDistrict))
	k.AddPlan(plan("spring", moved, staysToo, goneDistrict))
	k.AddPlan(plan("autumn", "listed by one", "", goneDistrict))
	k.AddPlan(plan("autumn", "listed by both", "", goneDistrict))
	k.AddPlan(plan("autumn", "listed by both", "", staysToo))
	districts := Set{goneDistrict: true}
	require.Equal(t, []string{"listed by one", "resolved before", moved}, k.SchoolsOf("autumn", districts).Sorted())
	require.Equal(t, []string{"listed by one", "resolved before"}, k.SchoolsOf("spring", districts).Sorted())
	require.Equal(t, []string{"listed by one", "resolved before", moved}, k.SchoolsOf("silent", districts).Sorted())
}

// TestPurgeColumns fails if a declared column may hold the bid of a school or a district but is not searched by a
// purge.
func TestPurgeColumns(t *testing.T) {
	t.Parallel()
	known := slices.Concat(schoolColumns(), districtColumns())
	looked := 0
	for _, dataset := range schemas.Datasets() {
		for _, table := range dataset.Tables {
			for _, c := range table.Columns {
				for _, word := range []string{"school_bid", "district_bid", "perspective_bid"} {
					if strings.HasSuffix(c.Name, word) {
						require.Contains(t, known, c.Name, table.Name)
						looked++
					}
				}
			}
			require.NotEmpty(t, new(Target).Columns(table, table, dataset).Columns, table.Name)
			key := recordKey(table, dataset)
			require.Len(t, key, len(recordKey(dataset.Tables[0], dataset)), table.Name)
			for _, k := range key {
				require.GreaterOrEqual(t, TextColumns(table).Column(table.Columns[k].Name), 0, table.Name)
			}
		}
	}
	require.Greater(t, looked, 30)
}

func TestPurgeMentions(t *testing.T) {
	t.Parallel()
	b := Target{Schools: Set{`sch"ool`: true}, Districts: Set{"d": true}}
	for text, want := range map[string]bool{
		`{"a":"d"}`: true, `{"d":1}`: true, `{"a":["sch\"ool"]}`: true, `{"a":"\u0064"}`: true,
		`{"a":"dd"}`: false, `{"a":"\"d"}`: false, `{"a":"`: false, `"`: false, ``: false, `{"a":"\`: false,
	} {
		require.Equal(t, want, b.inJSON([]byte(text), func([]byte) {}), text)
	}
}
