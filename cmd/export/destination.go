package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/azure"
	"example.org/growthexport/internal/sink/gcs"
	"example.org/growthexport/internal/sink/remote"
	"example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/snapshot"
)

// destination holds the settings of the destination of snapshots.
type destination struct {
	place         place
	groupReadable bool
	scratch       string
	s3            s3.Options
	azure         azure.Options
	// env is the environment, which may hold credentials.
	env map[string]string
	gcs gcs.Options
	// command is the name of the running command. log gets the store's warnings.
	command string
	log     *slog.Logger
}

func (o *destination) define(cmd *cobra.Command) group {
	o.command = cmd.Name()
	g := group{cmd.Flags(), destinationGroup}
	define(g, &o.place, "dest", "DEST", "./growth-data", parseDest, "folder, or s3, gs or abfss URL")
	o.defineS3(g)
	define(g, &o.gcs.Endpoint, "gcs-endpoint", "URL", "", remote.ParseEndpoint,
		"root of Google Cloud Storage, for emulators and private endpoints; credentials are sent only over https")
	g.shownDefault("gcs-endpoint", gcs.DefaultEndpoint)
	o.defineAzure(g)
	return g
}

// defineS3 adds the settings of S3.
func (o *destination) defineS3(g group) {
	const sdkDefault = "AWS SDK configuration"
	define(g, &o.s3.Endpoint, "s3-endpoint", "URL", "", remote.ParseEndpoint, "root of an S3-compatible store, such as https://host:9000")
	g.shownDefault("s3-endpoint", sdkDefault)
	define(g, &o.s3.Region, "s3-region", "REGION", "", parseText, "region of the bucket")
	g.shownDefault("s3-region", sdkDefault)
	g.toggle(&o.s3.PathStyle, "s3-path-style", "address buckets as host/bucket, not bucket.host")
	choose(g, &o.s3.SSE, "s3-sse", "KIND", "", []string{"AES256", "aws:kms", "aws:kms:dsse"}, "encryption at rest: AES256, aws:kms or aws:kms:dsse")
	g.shownDefault("s3-sse", "the bucket's own")
	define(g, &o.s3.KMSKeyID, "s3-kms-key-id", "ID", "", parseText, "key for aws:kms")
	choose(g, &o.s3.Checksums, "s3-checksums", "WHEN", "",
		[]string{s3.ChecksumsWhenSupported, s3.ChecksumsWhenRequired}, "checksums of uploads: when-supported, or when-required for stores that reject them")
	g.shownDefault("s3-checksums", s3.ChecksumsWhenSupported)
}

// defineAzure adds the setting of Azure.
func (o *destination) defineAzure(g group) {
	define(g, &o.azure.Endpoint, "azure-endpoint", "URL", "", remote.ParseEndpoint, "root of Azure's Blob service, for emulators and private links")
	g.shownDefault("azure-endpoint", "https://ACCOUNT.blob.core.windows.net")
}

// defineWriting adds the setting of commands that write files.
func (o *destination) defineWriting(g group) {
	define(g, &o.scratch, "scratch", "FOLDER", "", parseScratch,
		"folder for files before their upload and for data that does not fit in memory")
	g.shownDefault("scratch", "the system's temporary folder")
}

// openCatalog opens a destination without changing its documents. It returns an error if the destination is not
// writable, if a later release has written to it, or if this user may not read its documents.
func (a *app) openCatalog(ctx context.Context, o *destination, from sources) (snapshot.Catalog, error) {
	catalog, err := a.newCatalog(ctx, o, from)
	if err == nil {
		err = checkForWriting(ctx, catalog, from)
	}
	if err != nil {
		return snapshot.Catalog{}, err
	}
	return catalog, nil
}

// openForRun works like openCatalog. It also checks the owner of the folder's runs, and adapts the store to the way in
// which its server handles conditional writes.
func (a *app) openForRun(ctx context.Context, o *destination, from sources) (snapshot.Catalog, error) {
	catalog, err := a.newCatalog(ctx, o, from)
	if err == nil {
		err = o.checkOwner(catalog, from)
	}
	if err == nil {
		err = checkForWriting(ctx, catalog, from)
	}
	if err == nil {
		o.warnOfOwner(ctx, catalog)
		err = a.adaptConditions(ctx, catalog, o.log, from)
	}
	return catalog, err
}

// openOffline works like openCatalog, but checks only folders, because other checks would send requests.
func (a *app) openOffline(ctx context.Context, o *destination, from sources) (snapshot.Catalog, error) {
	catalog, err := a.newCatalog(ctx, o, from)
	if err != nil || catalog.Info().Folder == "" {
		return catalog, err
	}
	return catalog, checkForWriting(ctx, catalog, from)
}

// checkForWriting returns an error if a destination is not writable, if a later release has written to it, or if this
// user may not read its documents.
func checkForWriting(ctx context.Context, catalog snapshot.Catalog, from sources) error {
	if err := checkWritable(ctx, catalog, from); err != nil {
		return err
	}
	return checkFormat(ctx, catalog, from)
}

// checkOwner returns an error if root is about to change a destination whose runs belong to another user. That user's
// later runs could not write to files that root creates there. There is no error if new files in the folder get another
// owner, as on some network shares. The owner of the folder itself does not matter, because a container that runs as
// root may write every night to a folder that belongs to a user of the host.
func (o *destination) checkOwner(catalog snapshot.Catalog, from sources) error {
	folder := catalog.Info().Folder
	if folder == "" {
		return nil
	}
	owner, prefix := otherOwner(filepath.Join(folder, snapshot.RunsPrefix), os.Geteuid())
	if owner == "" || mapsOwners(folder) {
		return nil
	}
	return usagef("%s: the runs in the folder %s belong to %s, who would not be able to write to files that root creates in it: run this command as that user: %s growth-export %s ...",
		destName(from), folder, owner, prefix, o.command)
}

// warnOfOwner logs a warning if root is about to make the first run in a destination folder that belongs to another
// user.
func (o *destination) warnOfOwner(ctx context.Context, catalog snapshot.Catalog) {
	folder := catalog.Info().Folder
	if folder == "" {
		return
	}
	if _, err := os.Stat(filepath.Join(folder, snapshot.RunsPrefix)); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if owner, prefix := otherOwner(folder, os.Geteuid()); owner != "" && !mapsOwners(folder) {
		o.log.WarnContext(ctx, "the folder of the destination belongs to another user, who cannot add runs once root has made the first one",
			"folder", folder, "owner", owner, "remedy", "if later runs will be made as that user, remove this run and start again with: "+prefix+" growth-export "+o.command+" ...")
	}
}

// mapsOwners reports whether files that root creates in a folder get another owner, as on some network shares.
func mapsOwners(folder string) bool {
	probe, err := os.CreateTemp(folder, ".owner-*")
	if err != nil {
		return false
	}
	owner, _ := otherOwner(probe.Name(), os.Geteuid())
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	return err == nil && owner != ""
}

func checkWritable(ctx context.Context, catalog snapshot.Catalog, from sources) error {
	err := catalog.Check(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return unusable(from, err)
}

// unusable returns the error for a destination that cannot be used. It returns a usage error, unless the store is
// overloaded, is failing or cannot be reached.
func unusable(from sources, err error) error {
	if errors.Is(err, sink.ErrUnavailable) {
		return fmt.Errorf("%s: %w", destName(from), err)
	}
	return usagef("%s: %w", destName(from), err)
}

// checkFormat returns an error if a later release has written to the destination, or if this user may not read its
// documents. It ignores other errors, because the command itself reports them.
func checkFormat(ctx context.Context, catalog snapshot.Catalog, from sources) error {
	err := catalog.CheckFormat(ctx)
	if tooNew, ok := errors.AsType[*snapshot.FormatError](err); ok {
		return fmt.Errorf("destination %s: %w", catalog, tooNew)
	}
	if errors.Is(err, fs.ErrPermission) {
		return usagef("%s: %w", destName(from), err)
	}
	return nil
}

// existingCatalog opens a destination for reading or, if change is true, for changing its contents. If the folder or
// bucket is missing, it returns an error, not an empty destination.
func (a *app) existingCatalog(ctx context.Context, o *destination, from sources, change bool) (snapshot.Catalog, error) {
	catalog, err := a.newCatalog(ctx, o, from)
	if err != nil {
		return snapshot.Catalog{}, err
	}
	if err := catalog.CheckReading(ctx); err != nil {
		if ctx.Err() != nil {
			return snapshot.Catalog{}, context.Cause(ctx)
		}
		return snapshot.Catalog{}, unusable(from, err)
	}
	if change {
		if err := o.checkOwner(catalog, from); err != nil {
			return snapshot.Catalog{}, err
		}
		if err := checkWritable(ctx, catalog, from); err != nil {
			return snapshot.Catalog{}, err
		}
	}
	if err := checkFormat(ctx, catalog, from); err != nil || !change {
		return catalog, err
	}
	return catalog, a.adaptConditions(ctx, catalog, o.log, from)
}

// newCatalog opens the store of a destination and returns its catalog. Later JSON log lines include the destination.
func (a *app) newCatalog(ctx context.Context, o *destination, from sources) (snapshot.Catalog, error) {
	o.env = a.env
	kind, _ := findStoreKind(o.place.scheme)
	store, err := kind.open(ctx, o)
	if err != nil {
		return snapshot.Catalog{}, usagef("%s: %w", destName(from), err)
	}
	a.who.setDestination(store.String())
	return snapshot.At(store), nil
}

// destName returns the name of the setting that gave the destination, for use in errors.
func destName(from sources) string {
	if from.given("dest") {
		return from["dest"].name
	}
	return "--dest"
}
