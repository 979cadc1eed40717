package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/simulator"
	"example.org/growthexport/internal/simulator/oracle"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// TestCohortRuns takes runs of some students in several ways, and expects the same files. A profile keeps the same
// rows, fan-outs request only the listed students, and equal lists have equal scopes.
func TestCohortRuns(t *testing.T) {
	skipWithRaceDetector(t)
	t.Parallel()
	world := simulator.Options{Seed: 8, SchoolSizes: []int{60, 80, 40}, Schools: 3, Districts: 2}
	newCohort := func(t *testing.T) *site {
		t.Helper()
		return newSite(t, world, simulator.ServerOptions{PageSize: 10, ListPageSize: 10})
	}
	settings := defaults()
	settings.Datasets, settings.SchoolsPerFile = oracle.AllDatasets(), 1
	students, _, _ := schemas.FindTable("students")
	full := newCohort(t)
	full.run(settings)
	var all []string
	for _, row := range full.rows(students) {
		if bid, _ := row["student_bid"].(string); bid != "" {
			all = append(all, bid)
		}
	}
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	require.Greater(t, len(all), 30)
	var listed []string
	for i := 0; i < len(all); i += 5 {
		listed = append(listed, all[i])
	}
	settings.Students = append([]string{"nobody"}, listed...)

	plain := newCohort(t)
	summary := plain.run(settings)
	require.Equal(t, len(listed)+1, summary.Students.Listed)
	require.Equal(t, len(listed), *summary.Students.Matched)
	for _, call := range plain.server.Log() {
		for _, bid := range all {
			if strings.Contains(call.Path, bid) || strings.Contains(fmt.Sprint(call.Query), bid) {
				require.Contains(t, listed, bid, call.Path)
			}
		}
	}

	requireClassesOf(t, plain, full, listed)

	spilled := newCohort(t)
	small := settings
	small.SetMaxHeldBytes(2000)
	spilled.run(small)
	require.Equal(t, plain.hashes(), spilled.hashes())

	sharded := newCohort(t)
	for shard := range 2 {
		part := settings
		part.RunID, part.Shard, part.Shards = "parts", shard, 2
		part.Students = slices.Clone(settings.Students)
		slices.Reverse(part.Students)
		sharded.run(part)
	}
	published, err := pipeline.Publish(t.Context(), sharded.deps(nil), pipeline.PublishSettings{RunID: "parts"})
	require.NoError(t, err)
	require.Equal(t, len(listed), *published.Students.Matched)
	require.Equal(t, plain.hashes(), sharded.hashes())
	other := settings
	other.RunID, other.Shard, other.Shards, other.Students = "parts", 0, 2, all[:len(settings.Students)]
	_, err = pipeline.Run(t.Context(), sharded.deps(nil), other)
	require.ErrorIs(t, err, pipeline.ErrUsage)
	require.ErrorContains(t, err, "--students")

	// Another plan has another random key, unless a run of the same list has been published.
	again := settings
	again.IfMissing = true
	require.True(t, plain.run(again).AlreadyPublished)

	private := newCohort(t)
	protected := pseudonymous(t, 0)
	protected.SchoolsPerFile, protected.Students = 1, settings.Students
	require.Equal(t, len(listed), *private.run(protected).Students.Matched)
	for _, table := range schemas.Tables() {
		require.Len(t, private.rows(table), len(plain.rows(table)), table.Name)
	}
	written := make(map[string]bool)
	for _, bid := range listed {
		written[protected.PrivacyKey.Pseudonym("student", bid)] = true
	}
	for _, row := range private.rows(students) {
		require.True(t, written[row["student_bid"].(string)])
	}
	store, err := sink.NewDir(private.dest, sink.DirOptions{})
	require.NoError(t, err)
	plan, err := snapshot.At(store).ReadPlan(t.Context(), private.manifest("2026-11-20", store).RunID)
	require.NoError(t, err)
	require.Empty(t, plan.StudentsKey)
	require.Equal(t, protected.PrivacyKey.ListDigest(append(slices.Clone(listed), "nobody")), plan.Scope.Students.Digest)
}

// requireClassesOf expects a run of some students to hold exactly those rows of a full run that are about the students'
// classes and the educators of these classes.
func requireClassesOf(t *testing.T, cohort, full *site, listed []string) {
	t.Helper()
	texts := func(s *site, table, column string, keep func(row map[string]any) bool) map[string]bool {
		found := make(map[string]bool)
		declared, _, ok := schemas.FindTable(table)
		require.True(t, ok)
		for _, row := range s.rows(declared) {
			if text, _ := row[column].(string); text != "" && keep(row) {
				found[text] = true
			}
		}
		return found
	}
	all := func(map[string]any) bool { return true }
	among := func(column string, set map[string]bool) func(map[string]any) bool {
		return func(row map[string]any) bool { text, _ := row[column].(string); return set[text] }
	}
	students := make(map[string]bool)
	for _, bid := range listed {
		students[bid] = true
	}
	classes := texts(full, "school_class_students", "school_class_bid", among("student_bid", students))
	educators := texts(full, "school_class_educators", "educator_bid", among("school_class_bid", classes))
	require.Greater(t, len(classes), 10)
	require.Greater(t, len(texts(full, "school_classes", "school_class_bid", all)), len(classes))
	require.Greater(t, len(texts(full, "educator_school_associations", "educator_bid", all)), len(educators))
	require.Equal(t, classes, texts(cohort, "school_classes", "school_class_bid", all))
	require.Equal(t, classes, texts(cohort, "school_class_details", "requested_school_class_bid", all))
	require.Equal(t, educators, texts(cohort, "school_class_educators", "educator_bid", all))
	associated := texts(full, "educator_school_associations", "educator_bid", among("educator_bid", educators))
	require.Equal(t, associated, texts(cohort, "educator_school_associations", "educator_bid", all))
	require.Subset(t, educators, texts(cohort, "educator_school_association_details", "educator_bid", all))
	require.Subset(t, educators, texts(cohort, "educator_school_classes", "requested_educator_bid", all))
	require.Subset(t, classes, texts(cohort, "educator_school_classes", "school_class_bid", all))
	for _, call := range cohort.server.Log() {
		if asked := call.Query["educator-bid"]; len(asked) > 0 {
			require.Contains(t, educators, asked[0], call.Path)
		}
	}
}
