package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/s3"
	"example.org/growthexport/internal/snapshot"
)

// destination holds the settings of the place where snapshots are stored.
type destination struct {
	place         place
	groupReadable bool
	scratch       string
	s3            s3.Options
	// command is the name of the running command; log gets the store's warnings.
	command string
	log     *slog.Logger
}

// place is a folder, or a bucket and a prefix in it.
type place struct {
	folder         string
	bucket, prefix string
}

func (o *destination) define(cmd *cobra.Command) group {
	o.command = cmd.Name()
	g := group{cmd.Flags(), destinationGroup}
	define(g, &o.place, "dest", "DEST", "./growth-data", parseDest, "folder, or s3://bucket/prefix")
	const sdkDefault = "AWS SDK configuration"
	define(g, &o.s3.Endpoint, "s3-endpoint", "URL", "", s3.ParseEndpoint, "root of an S3-compatible store, such as https://host:9000")
	g.shownDefault("s3-endpoint", sdkDefault)
	define(g, &o.s3.Region, "s3-region", "REGION", "", parseText, "region of the bucket")
	g.shownDefault("s3-region", sdkDefault)
	g.toggle(&o.s3.PathStyle, "s3-path-style", "address buckets as host/bucket, not bucket.host")
	return g
}

// defineWriting adds the settings of commands that write.
func (o *destination) defineWriting(g group) {
	g.toggle(&o.groupReadable, "group-readable", "readable by the group: files 0640 and folders 0750, not 0600 and 0700; later commands keep it")
	define(g, &o.scratch, "scratch", "FOLDER", "", parseScratch,
		"folder for files being built for S3 and for data that does not fit in memory")
	g.shownDefault("scratch", "the system's temporary folder")
	choose(g, &o.s3.SSE, "s3-sse", "KIND", "", []string{"AES256", "aws:kms", "aws:kms:dsse"}, "encryption at rest: AES256, aws:kms or aws:kms:dsse")
	g.shownDefault("s3-sse", "the bucket's own")
	define(g, &o.s3.KMSKeyID, "s3-kms-key-id", "ID", "", parseText, "key of aws:kms")
	choose(g, &o.s3.Checksums, "s3-checksums", "WHEN", "",
		[]string{s3.ChecksumsWhenSupported, s3.ChecksumsWhenRequired}, "checksums of uploads: when-supported, or when-required for stores that reject them")
	g.shownDefault("s3-checksums", s3.ChecksumsWhenSupported)
}

// openCatalog opens a destination and checks that it can be written, without changing it.
func (a *app) openCatalog(ctx context.Context, o *destination, from sources) (snapshot.Catalog, error) {
	catalog, err := a.newCatalog(ctx, o, from)
	if err == nil {
		err = checkWritable(ctx, catalog, from)
	}
	if err == nil {
		err = checkFormat(ctx, catalog)
	}
	if err != nil {
		return snapshot.Catalog{}, err
	}
	return catalog, nil
}

func checkWritable(ctx context.Context, catalog snapshot.Catalog, from sources) error {
	err := catalog.Check(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return usagef("%s: %w", destName(from), err)
}

// checkFormat returns an error if a later release has written to the destination. Other errors are left to the command
// to report.
func checkFormat(ctx context.Context, catalog snapshot.Catalog) error {
	if tooNew, ok := errors.AsType[*snapshot.FormatError](catalog.CheckFormat(ctx)); ok {
		return fmt.Errorf("destination %s: %w", catalog, tooNew)
	}
	return nil
}

// existingCatalog opens a destination to read it or, with change, to change what is there. A missing folder or bucket is an
// error, not an empty destination.
func (a *app) existingCatalog(ctx context.Context, o *destination, from sources, change bool) (snapshot.Catalog, error) {
	if folder := o.place.folder; folder != "" {
		if err := checkFolder(folder); err != nil {
			return snapshot.Catalog{}, usagef("%s: %w", destName(from), err)
		}
	}
	catalog, err := a.newCatalog(ctx, o, from)
	if err != nil {
		return snapshot.Catalog{}, err
	}
	if remote, ok := catalog.Store.(interface{ CheckReading(context.Context) error }); ok {
		if err := remote.CheckReading(ctx); err != nil {
			if ctx.Err() != nil {
				return snapshot.Catalog{}, context.Cause(ctx)
			}
			return snapshot.Catalog{}, usagef("%s: %w", destName(from), err)
		}
	}
	if change {
		if err := checkWritable(ctx, catalog, from); err != nil {
			return snapshot.Catalog{}, err
		}
	}
	return catalog, checkFormat(ctx, catalog)
}

// checkFolder checks that a destination can be read.
func checkFolder(folder string) error {
	f, err := os.Open(folder)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("folder %s: permission denied: give this user access, or run as the user that exports", quoted(folder))
	}
	if err != nil {
		return fmt.Errorf("folder %s does not exist: nothing has been exported there", quoted(folder))
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file, not a folder", quoted(folder))
	}
	return nil
}

// newCatalog returns the catalog of a destination, which the log lines name from now on.
func (a *app) newCatalog(ctx context.Context, o *destination, from sources) (snapshot.Catalog, error) {
	var store sink.Store
	var err error
	if o.place.folder != "" {
		store, err = sink.NewDir(o.place.folder, sink.DirOptions{GroupReadable: o.groupReadable, Log: o.log, Command: o.command})
	} else {
		o.s3.Bucket, o.s3.Prefix, o.s3.Scratch = o.place.bucket, o.place.prefix, o.scratch
		store, err = s3.New(ctx, o.s3)
	}
	if err != nil {
		return snapshot.Catalog{}, usagef("%s: %w", destName(from), err)
	}
	a.who.setDestination(store.String())
	return snapshot.At(store), nil
}

// destName names the setting of the destination, for errors.
func destName(from sources) string {
	if from.given("dest") {
		return from["dest"].name
	}
	return "--dest"
}

// parseDest parses a destination.
func parseDest(text string) (place, error) {
	scheme, rest, hasScheme := strings.Cut(text, "://")
	switch {
	case text == "":
		return place{}, errors.New("the value is empty: name a folder")
	case strings.HasPrefix(strings.ToLower(text), "file:"):
		return parseFileURL(text)
	case strings.EqualFold(scheme, "s3") && hasScheme:
		bucket, prefix, err := s3.ParseURL(s3.Scheme + rest)
		return place{bucket: bucket, prefix: prefix}, err
	case strings.HasPrefix(strings.ToLower(text), "s3:"):
		return place{}, errors.New("a bucket is written s3://bucket/prefix")
	case hasScheme:
		return place{}, fmt.Errorf("%s destinations are not supported: name a folder, file:///path, or s3://bucket/prefix", quoted(scheme))
	case strings.ContainsRune(text, 0):
		return place{}, errors.New("the path contains a zero byte")
	}
	folder, err := expandHome(text)
	if err != nil {
		return place{}, err
	}
	return place{folder: filepath.Clean(folder)}, nil
}

func parseFileURL(text string) (place, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Opaque != "", u.Host != "" && u.Host != "localhost", !strings.HasPrefix(u.Path, "/"):
		return place{}, errors.New("a file URL is written file:///path")
	case u.RawQuery != "" || u.Fragment != "":
		return place{}, errors.New("a file URL contains only a path: write ? as %3F and # as %23")
	case strings.ContainsRune(u.Path, 0):
		return place{}, errors.New("the path contains a zero byte")
	}
	return place{folder: filepath.Clean(filepath.FromSlash(u.Path))}, nil
}
