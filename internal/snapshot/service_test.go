package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

const (
	serviceA = "https://service.example"
	serviceB = "https://test.example"
)

func ofService(baseURL string) func(*snapshot.Plan) {
	return func(p *snapshot.Plan) { p.BaseURL = baseURL }
}

// refusedService returns the reason why a run of a service may not use the destination; empty if it may.
func refusedService(t *testing.T, store sink.Store, baseURL string) string {
	t.Helper()
	err := snapshot.At(store).CheckDestination(t.Context(), baseURL, snapshot.NotPartitioned, false)
	require.NoError(t, snapshot.At(store).CheckDestination(t.Context(), baseURL, snapshot.NotPartitioned, true))
	if err == nil {
		return ""
	}
	var refused *snapshot.RefusedError
	require.ErrorAs(t, err, &refused)
	return refused.Reason
}

func TestDestinationBelongsToTheServiceOfItsFirstRun(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	require.Empty(t, refusedService(t, store, serviceA))

	t.Log("a run that was only planned does not count")
	planned := snapshottest.NewPlan("planned", snapshottest.Few, ofService(serviceB))
	_, err := snapshot.At(store).CreatePlan(t.Context(), planned)
	require.NoError(t, err)
	require.Empty(t, refusedService(t, store, serviceA))
	require.Empty(t, refusedService(t, store, serviceB))

	t.Log("a run that has staged something counts")
	plan := snapshottest.NewPlan("first", snapshottest.Few)
	_, err = snapshot.At(store).CreatePlan(t.Context(), plan)
	require.NoError(t, err)
	snapshottest.StageTask(t, store, plan, plan.Tasks()[0], nil)
	require.Empty(t, refusedService(t, store, serviceA))
	reason := refusedService(t, store, serviceB)
	require.Contains(t, reason, "belongs to https://service.example (run first, not published), not to https://test.example: ")
	require.Contains(t, reason, "--accept-base-url")
	require.Contains(t, reason, "publish --abandon --run-id first")

	t.Log("so does a published run of any kind")
	snapshottest.StageRun(t, store, plan, nil)
	snapshottest.PublishRun(t, store, "first")
	require.NoFileExists(t, filepath.Join(store.String(), snapshot.ServicePath))
	require.Empty(t, refusedService(t, store, "HTTPS://Service.Example:443//"))
	require.Contains(t, refusedService(t, store, "simulate"), "not to simulate")
}

func TestDestinationOfAsOfRunsAlone(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("past", snapshottest.Few, func(p *snapshot.Plan) { p.Kind, p.SnapshotDate = snapshot.AsOf, "2026-10-01" }))
	require.Empty(t, refusedService(t, store, serviceA))
	require.Contains(t, refusedService(t, store, serviceB), "(run past)")
}

func TestDestinationMovesToAnotherService(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("old", snapshottest.Few, snapshottest.OnDate("2026-11-19")))
	snapshottest.StageRun(t, store, snapshottest.NewPlan("new", snapshottest.Few, ofService(serviceB)), nil)
	_, err := snapshot.At(store).Publish(t.Context(), snapshottest.Collect(t, store, "new"), snapshottest.Options())
	var refused *snapshot.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, serviceA)
	require.Contains(t, refused.Reason, serviceB)
	require.Contains(t, refusedService(t, store, serviceB), "run old", "nothing has moved yet")
	first := func(earliest *snapshot.Manifest) string {
		service, err := snapshot.At(store).FirstService(t.Context(), earliest)
		require.NoError(t, err)
		return service
	}
	require.Equal(t, serviceA, first(nil))
	require.Equal(t, serviceA, first(&snapshot.Manifest{BaseURL: "HTTPS://service.example:443/"}))

	accept := snapshottest.Options()
	accept.AcceptBaseURL = true
	m, err := snapshot.At(store).Publish(t.Context(), snapshottest.Collect(t, store, "new"), accept)
	require.NoError(t, err)
	require.Equal(t, serviceB, m.BaseURL)
	require.Empty(t, refusedService(t, store, serviceB))
	require.Contains(t, refusedService(t, store, serviceA), "belongs to https://test.example, not to https://service.example: ")

	t.Log("a plan may accept the move, and a later one the move back; staged runs still belong to their service")
	snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan("back", snapshottest.Few, snapshottest.OnDate("2026-11-21"), func(p *snapshot.Plan) { p.AcceptBaseURL = true }))
	require.Empty(t, refusedService(t, store, serviceA))
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
	require.Equal(t, serviceA, first(m), "the first service is recorded, although the earliest snapshot may come from another one")

	for _, content := range []string{"{", `{"format_version":1,"base_url":"https://test.example"}`} { // damaged, and of an earlier release
		require.NoError(t, os.WriteFile(filepath.Join(store.String(), snapshot.ServicePath), []byte(content), 0o600))
		require.Equal(t, serviceB, first(m))
	}
	require.NoError(t, os.WriteFile(filepath.Join(store.String(), snapshot.ServicePath), []byte("{"), 0o600))
	require.Contains(t, refusedService(t, store, serviceA), snapshot.ServicePath)
}

func TestFindEqual(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	find := func(kind snapshot.Kind, date, baseURL string, scope snapshot.Scope) string {
		m, err := snapshot.At(store).FindEqual(t.Context(), kind, date, baseURL, scope)
		require.NoError(t, err)
		if m == nil {
			return "none"
		}
		return m.RunID
	}
	scope := snapshottest.NewPlan("x", snapshottest.Few).Scope
	other := snapshottest.NewPlan("x", snapshottest.Datasets("schools")).Scope
	for _, kind := range []snapshot.Kind{snapshot.Full, snapshot.AsOf, snapshot.Delta} {
		snapshottest.TakeSnapshot(t, store, snapshottest.NewPlan(string(kind), snapshottest.Few, func(p *snapshot.Plan) { p.Kind = kind }))
		require.Equal(t, string(kind), find(kind, snapshottest.Today, serviceA, scope))
		require.Equal(t, "none", find(kind, "2026-11-19", serviceA, scope))
		require.Equal(t, "none", find(kind, snapshottest.Today, serviceB, scope))
		require.Equal(t, "none", find(kind, snapshottest.Today, serviceA, other))
	}
}

func TestCanonicalBaseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"simulate":                      "simulate",
		"https://host":                  "https://host",
		"HTTPS://HOST:443/":             "https://host",
		"http://host:80/a/b//":          "http://host/a/b",
		"http://host:443":               "http://host:443",
		"https://host:8443/Path":        "https://host:8443/Path",
		"https://host/a%2Fb/":           "https://host/a%2Fb",
		"https://[2001:DB8::1]:443/x":   "https://[2001:db8::1]/x",
		"http://127.0.0.1:8080/path%20": "http://127.0.0.1:8080/path%20",
	} {
		require.Equal(t, want, snapshot.CanonicalBaseURL(text), text)
		require.Equal(t, want, snapshot.CanonicalBaseURL(want))
	}
}

func TestPartitioningOfUnpublishedRuns(t *testing.T) {
	t.Parallel()
	store := snapshottest.NewDir(t, t.TempDir())
	byDistrict := func(p *snapshot.Plan) { p.Scope.PartitionBy = snapshot.ByDistrict }
	plan := snapshottest.NewPlan("first", snapshottest.Few, byDistrict)
	check := func(partitionBy string) error {
		return snapshot.At(store).CheckDestination(t.Context(), plan.BaseURL, partitionBy, false)
	}
	require.NoError(t, check(snapshot.ByDistrict))
	snapshottest.StageRun(t, store, plan, nil)
	require.NoError(t, check(snapshot.ByDistrict))
	err := check(snapshot.NotPartitioned)
	var refused *snapshot.RefusedError
	require.ErrorAs(t, err, &refused)

	t.Log("if two begin at once, the first to be published decides")
	snapshottest.StageRun(t, store, snapshottest.NewPlan("second", snapshottest.Few), nil)
	snapshottest.PublishRun(t, store, "second")
	_, err = snapshot.At(store).Publish(t.Context(), snapshottest.Collect(t, store, "first"), snapshot.PublishOptions{Now: snapshottest.PublishedAt, Replace: true})
	require.ErrorAs(t, err, &refused)
	snapshottest.RequireVerified(t, store, maintenance.VerifyTarget{})
}
