package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/wording"
)

// ServicePath is the path of the document that records the service to which the destination was moved. A destination
// that was never moved has no such document and belongs to the service of its runs.
const ServicePath = "_destination.json"

// serviceDocument is the content of _destination.json.
type serviceDocument struct {
	FormatVersion int    `json:"format_version"`
	BaseURL       string `json:"base_url"`
	// First is the base URL of the first service of the destination. It is empty if that service is unknown, for example
	// because an earlier release moved the destination.
	First string `json:"first_base_url,omitempty"`
}

// CheckDestination returns a *RefusedError if the destination is partitioned differently or, unless acceptBaseURL is
// set, belongs to a service other than the one at baseURL. If nothing is published yet, it looks at unpublished runs.
// Of these, only runs with staged files determine the service, so that a mistyped base URL can simply be corrected.
func (c Catalog) CheckDestination(ctx context.Context, baseURL, partitionBy string, acceptBaseURL bool) error {
	index, err := c.Index(ctx)
	if err != nil {
		return err
	}
	if !acceptBaseURL {
		if err := c.checkService(ctx, index, baseURL, true); err != nil {
			return err
		}
	}
	return c.checkPartitioning(ctx, index, partitionBy, true)
}

// claimDestination works like CheckDestination, but for a run about to be published: only published runs count, and if
// another service is accepted, the destination is moved to that service.
func (c Catalog) claimDestination(ctx context.Context, baseURL, partitionBy string, acceptBaseURL bool) error {
	index, err := c.Index(ctx)
	if err != nil {
		return err
	}
	if err := c.checkPartitioning(ctx, index, partitionBy, false); err != nil {
		return err
	}
	err = c.checkService(ctx, index, baseURL, false)
	if _, refused := errors.AsType[*RefusedError](err); !refused || !acceptBaseURL {
		return err
	}
	moved := serviceDocument{FormatVersion: FormatVersion, BaseURL: baseURL}
	before, _, err := ReadDocument[serviceDocument](ctx, c, ServicePath)
	switch {
	case err == nil:
		moved.First = before.First
	case errors.Is(err, sink.ErrNotFound):
		moved.First, _, err = c.serviceOf(ctx, index, false)
	case errors.Is(err, sink.ErrDamaged):
		err = nil
	}
	if err != nil {
		return err
	}
	return WriteDocument(ctx, c.store, ServicePath, moved, sink.Condition{})
}

// FirstService returns the base URL of the first service of the destination, in canonical form. earliest is the
// earliest snapshot, which comes from that service unless the destination was moved. It is nil if all snapshots are
// pruned.
func (c Catalog) FirstService(ctx context.Context, earliest *Manifest) (string, error) {
	moved, _, err := ReadDocument[serviceDocument](ctx, c, ServicePath)
	switch {
	case err == nil && moved.First != "":
		return CanonicalBaseURL(moved.First), nil
	case err != nil && !errors.Is(err, sink.ErrNotFound) && !errors.Is(err, sink.ErrDamaged):
		return "", err
	case earliest != nil:
		return CanonicalBaseURL(earliest.BaseURL), nil
	}
	index, err := c.Index(ctx)
	if err != nil {
		return "", err
	}
	first, _, err := c.serviceOf(ctx, index, false)
	return CanonicalBaseURL(first), err
}

// PreviousService returns the base URL of the service that the destination belongs to. It returns "" if that is the
// service at baseURL, if the destination does not belong to a service yet, or if the document that records the service
// is damaged.
func (c Catalog) PreviousService(ctx context.Context, baseURL string) (string, error) {
	index, err := c.Index(ctx)
	if err != nil {
		return "", err
	}
	owner, _, err := c.serviceOf(ctx, index, true)
	if errors.Is(err, sink.ErrDamaged) || SameService(owner, baseURL) {
		return "", nil // The damaged document is rewritten.
	}
	return owner, err
}

const acceptBaseURL = wording.Setting("accept-base-url")

// checkService returns a *RefusedError if the destination belongs to another service, or if the document that records
// its service is damaged. The index lists all runs.
func (c Catalog) checkService(ctx context.Context, index Index, baseURL string, staged bool) error {
	owner, run, err := c.serviceOf(ctx, index, staged)
	if errors.Is(err, sink.ErrDamaged) {
		return &RefusedError{Reason: fmt.Sprintf(
			"cannot determine which service %s belongs to (%v); %s assigns it to %s", c, err, acceptBaseURL, baseURL)}
	}
	if err != nil || owner == "" || SameService(owner, baseURL) {
		return err
	}
	advice := fmt.Sprintf("choose another %s, or use %s if the service has moved", wording.Setting("dest"), acceptBaseURL)
	switch {
	case run == "":
	case slices.Contains(index.With(ManifestName), sink.Escape(run)):
		owner += " (run " + run + ")"
	default:
		owner += " (run " + run + ", not published)"
		advice += "; " + wording.Command("publish", wording.Setting("abandon"), wording.Setting("run-id"), run) + " removes that run"
	}
	return &RefusedError{Reason: fmt.Sprintf("%s belongs to %s, not to %s: %s", c, owner, baseURL, advice)}
}

// serviceOf returns the base URL of the service that the destination belongs to, and the id of the run that shows this,
// if any. The base URL is empty if the destination does not belong to a service yet. The service is the first of these:
// the service to which the destination was moved, the service of its newest snapshot, the service of any published run,
// or, if staged is set, the service of the first run with staged files.
func (c Catalog) serviceOf(ctx context.Context, index Index, staged bool) (baseURL, run string, err error) {
	moved, _, err := ReadDocument[serviceDocument](ctx, c, ServicePath)
	if err == nil {
		return moved.BaseURL, "", nil
	}
	if !errors.Is(err, sink.ErrNotFound) {
		return "", "", err
	}
	manifest, err := c.Newest(ctx, Full, func(*Manifest) bool { return true })
	if err == nil && manifest == nil {
		manifest, err = firstReadable[Manifest](ctx, c, index.With(ManifestName), ManifestName)
	}
	if err != nil {
		return "", "", err
	}
	if manifest != nil {
		return manifest.BaseURL, manifest.RunID, nil
	}
	if !staged {
		return "", "", nil
	}
	begun := slices.DeleteFunc(slices.Clone(index), func(f *RunFolder) bool { return !f.HasCheckpoints() })
	plan, err := firstReadable[Plan](ctx, c, begun.With(PlanName), PlanName)
	if err != nil || plan == nil {
		return "", "", err
	}
	return plan.BaseURL, plan.RunID, nil
}

// checkPartitioning returns a *RefusedError if published runs are partitioned differently. If nothing is published and
// staged is set, it checks unpublished runs.
func (c Catalog) checkPartitioning(ctx context.Context, index Index, partitionBy string, staged bool) error {
	manifest, err := firstReadable[Manifest](ctx, c, index.With(ManifestName), ManifestName)
	if err != nil {
		return err
	}
	if manifest != nil {
		return samePartitioning(manifest.RunID, manifest.Parameters.PartitionBy, partitionBy)
	}
	if !staged {
		return nil
	}
	for _, run := range index.With(PlanName) {
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
		"this destination has %s %s (run %s), not %s; choose another destination", wording.Setting("partition-by"), current, run, wanted)}
}
