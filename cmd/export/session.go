package main

import (
	"context"
	"errors"

	work "example.org/growthexport/internal/destination"
	"example.org/growthexport/internal/snapshot"
)

// session is the work of this command at a destination.
type session = work.Session

// sessionOptions returns the options of a session that changes the destination, but adds nothing to the history and
// creates no Delta logs.
func (a *app) sessionOptions(o *destination) work.Options {
	return work.Options{Log: o.log, Now: a.now, ToolVersion: thisBuild().Version, Scratch: o.scratch}
}

// changing opens a session, calls do to change the destination, and then updates everything that depends on the
// changes. It returns the result of do. A dry run changes nothing.
func changing[T any](
	ctx context.Context, a *app, o *destination, catalog snapshot.Catalog, dryRun bool, do func(*session) (T, error),
) (T, error) {
	options := a.sessionOptions(o)
	options.DryRun = dryRun
	return changingWith(ctx, options, catalog, do)
}

// changingWith works like changing, but takes all options of the session.
func changingWith[T any](ctx context.Context, options work.Options, catalog snapshot.Catalog, do func(*session) (T, error)) (T, error) {
	return await(ctx, func() (none T, err error) {
		s, err := work.Open(ctx, catalog, options)
		if err != nil {
			return none, err
		}
		result, err := do(s)
		return result, errors.Join(err, s.Finish(ctx))
	})
}
