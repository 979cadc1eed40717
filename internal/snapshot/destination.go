package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
)

// ServicePath is where a destination names the service it was moved to. A
// destination that was never moved has no such document: it belongs to the
// service of its runs.
const ServicePath = "_destination.json"

// serviceDocument is _destination.json.
type serviceDocument struct {
	FormatVersion int    `json:"format_version"`
	BaseURL       string `json:"base_url"`
}

// CheckDestination returns a *RefusedError if the destination belongs to a
// service other than the one at baseURL, unless acceptBaseURL is set, or is
// partitioned differently. Runs that have staged something count where nothing
// is published yet; runs that have only been planned do not, so a wrong base URL
// that never got that far does not have to be accepted.
func (c Catalog) CheckDestination(ctx context.Context, baseURL, partitionBy string, acceptBaseURL bool) error {
	entries, err := sink.ListAll(ctx, c, RunsPrefix)
	if err != nil {
		return err
	}
	if !acceptBaseURL {
		if err := c.checkService(ctx, entries, baseURL, true); err != nil {
			return err
		}
	}
	return c.checkPartitioning(ctx, entries, partitionBy, true)
}

// settleDestination does the work of CheckDestination for a run that is about to be published: only published runs count,
// and accepting another service assigns the destination to it.
func (c Catalog) settleDestination(ctx context.Context, baseURL, partitionBy string, acceptBaseURL bool) error {
	entries, err := sink.ListAll(ctx, c, RunsPrefix)
	if err != nil {
		return err
	}
	if err := c.checkPartitioning(ctx, entries, partitionBy, false); err != nil {
		return err
	}
	err = c.checkService(ctx, entries, baseURL, false)
	if _, refused := errors.AsType[*RefusedError](err); refused && acceptBaseURL {
		return c.WriteDocument(ctx, ServicePath, serviceDocument{FormatVersion, baseURL}, sink.Condition{})
	}
	return err
}

// PreviousService returns the base URL of the service that the destination belongs to;
// empty if it is the one at baseURL, or none.
func (c Catalog) PreviousService(ctx context.Context, baseURL string) (string, error) {
	entries, err := sink.ListAll(ctx, c, RunsPrefix)
	if err != nil {
		return "", err
	}
	owner, _, err := c.serviceOf(ctx, entries, true)
	if errors.Is(err, sink.ErrDamaged) || SameService(owner, baseURL) {
		return "", nil // What is damaged is written again.
	}
	return owner, err
}

// checkService returns a *RefusedError if the destination belongs to another
// service. The entries are the entries of all runs.
func (c Catalog) checkService(ctx context.Context, entries []sink.Entry, baseURL string, begun bool) error {
	owner, run, err := c.serviceOf(ctx, entries, begun)
	if errors.Is(err, sink.ErrDamaged) {
		return &RefusedError{Reason: fmt.Sprintf(
			"cannot tell which service %s belongs to (%v); --accept-base-url makes it that of %s", c, err, baseURL)}
	}
	if err != nil || owner == "" || SameService(owner, baseURL) {
		return err
	}
	advice := "choose another --dest, or use --accept-base-url if the service has moved"
	switch {
	case run == "":
	case slices.Contains(RunFoldersWith(entries, ManifestName), sink.Escape(run)):
		owner += " (run " + run + ")"
	default:
		owner += " (run " + run + ", not published)"
		advice += "; growth-export publish --abandon --run-id " + run + " gives up that run"
	}
	return &RefusedError{Reason: fmt.Sprintf("%s belongs to %s, not to %s: %s", c, owner, baseURL, advice)}
}

// serviceOf returns the base URL of the service that the destination belongs to,
// and the run that shows it; empty if it belongs to none yet. A destination
// belongs to the service it was moved to, else to the service of its newest
// snapshot, else of any published run, else, if begun is set, of the first run
// that has staged something.
func (c Catalog) serviceOf(ctx context.Context, entries []sink.Entry, begun bool) (baseURL, run string, err error) {
	moved, _, err := ReadDocument[serviceDocument](ctx, c, ServicePath)
	if err == nil {
		return moved.BaseURL, "", nil
	}
	if !errors.Is(err, sink.ErrNotFound) {
		return "", "", err
	}
	manifest, err := c.newestFull(ctx, func(*Manifest) bool { return true })
	if err == nil && manifest == nil {
		manifest, err = firstReadable[Manifest](ctx, c, RunFoldersWith(entries, ManifestName), ManifestName)
	}
	if err != nil {
		return "", "", err
	}
	if manifest != nil {
		return manifest.BaseURL, manifest.RunID, nil
	}
	if !begun {
		return "", "", nil
	}
	plan, err := firstReadable[Plan](ctx, c, runsThatStaged(entries), PlanName)
	if err != nil || plan == nil {
		return "", "", err
	}
	return plan.BaseURL, plan.RunID, nil
}

// runsThatStaged returns the runs that have staged something, by their names in
// paths, each once.
func runsThatStaged(entries []sink.Entry) []string {
	var runs []string
	for _, entry := range entries {
		run, rest, _ := strings.Cut(strings.TrimPrefix(entry.Path, RunsPrefix), "/")
		if strings.HasPrefix(rest, checkpointFolder) && (len(runs) == 0 || runs[len(runs)-1] != run) {
			runs = append(runs, run)
		}
	}
	return runs
}

// firstReadable returns the document of that name of the first run that has a
// readable one; nil if none has.
func firstReadable[T any](ctx context.Context, store sink.Store, runs []string, name string) (*T, error) {
	for _, run := range runs {
		document, _, err := ReadDocument[T](ctx, store, DocumentPath(run, name))
		if errors.Is(err, sink.ErrDamaged) || errors.Is(err, sink.ErrNotFound) {
			continue
		}
		return document, err
	}
	return nil, nil
}

// checkPartitioning holds a destination to its first partitioning: the
// partitioning of any published run, for they are all alike; before there is
// one, of the runs that have begun.
func (c Catalog) checkPartitioning(ctx context.Context, entries []sink.Entry, partitionBy string, begun bool) error {
	manifest, err := firstReadable[Manifest](ctx, c, RunFoldersWith(entries, ManifestName), ManifestName)
	if err != nil {
		return err
	}
	if manifest != nil {
		return samePartitioning(manifest.RunID, manifest.Parameters.PartitionBy, partitionBy)
	}
	if !begun {
		return nil
	}
	for _, run := range RunFoldersWith(entries, PlanName) {
		plan, err := firstReadable[Plan](ctx, c, []string{run}, PlanName)
		if err != nil {
			return err
		}
		if plan == nil {
			continue
		}
		if err := samePartitioning(plan.RunID, plan.Scope.PartitionBy, partitionBy); err != nil {
			return err
		}
	}
	return nil
}

func samePartitioning(run, current, wanted string) error {
	current, wanted = cmp.Or(current, NotPartitioned), cmp.Or(wanted, NotPartitioned)
	if current == wanted {
		return nil
	}
	return &RefusedError{Reason: fmt.Sprintf(
		"this destination is partitioned by %s (run %s), not by %s; choose another destination",
		current, run, wanted)}
}

// SameService reports whether two base URLs lead to the same service.
func SameService(a, b string) bool { return CanonicalBaseURL(a) == CanonicalBaseURL(b) }

// CanonicalBaseURL returns a base URL in the form in which equal services are
// equal texts: scheme and host in lower case, no default port and no trailing
// slash. What is not an absolute URL, such as the word for the simulated
// service, is returned as it is.
func CanonicalBaseURL(text string) string {
	scheme, rest, absolute := strings.Cut(text, "://")
	if !absolute {
		return text
	}
	host, path, _ := strings.Cut(rest, "/")
	scheme, host = strings.ToLower(scheme), strings.ToLower(host)
	defaultPort := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.TrimRight(scheme+"://"+strings.TrimSuffix(host, defaultPort)+"/"+path, "/")
}
