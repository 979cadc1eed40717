package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/sink/azure"
	"example.org/growthexport/internal/sink/gcs"
	"example.org/growthexport/internal/sink/s3"
)

// place is the location of a destination.
type place struct {
	scheme string // the scheme of its storeKind
	path   string // a folder, a bucket and the prefix in it, or the whole URL of a container in Azure
}

// storeKind is a kind of destination.
type storeKind struct {
	scheme string // the scheme of its URL; empty for a folder
	form   string // the form of --dest that error messages show
	// parse returns the path of a place from the value of --dest.
	parse func(text string) (string, error)
	open  func(ctx context.Context, o *destination) (sink.Store, error)
}

// storeKinds returns all kinds of destinations. The first is a folder.
func storeKinds() []storeKind {
	return []storeKind{
		{"", "a folder", parseFolder, openFolder},
		{"file", "file:///path", parseFileURL, openFolder},
		{"s3", "s3://bucket/prefix", parseBucket, openBucket},
		{"gs", "gs://bucket/prefix", parseGoogleBucket, openGoogleBucket},
		{"abfss", "abfss://container@account.dfs.core.windows.net/prefix", parseContainer, openContainer},
	}
}

// findStoreKind returns the kind of destination with the given scheme.
func findStoreKind(scheme string) (kind storeKind, known bool) {
	for _, kind := range storeKinds() {
		if kind.scheme == scheme {
			return kind, true
		}
	}
	return storeKind{}, false
}

// parseDest parses the value of --dest. It returns an error if the value is malformed or its kind is not supported.
func parseDest(text string) (place, error) {
	scheme, _, _ := strings.Cut(text, ":")
	kind, known := findStoreKind(strings.ToLower(scheme))
	switch name, _, isURL := strings.Cut(text, "://"); {
	case text == "":
		return place{}, errors.New("the value is empty: give a folder or a URL")
	case scheme != text && known:
	case isURL:
		var forms []string
		for _, kind := range storeKinds() {
			forms = append(forms, kind.form)
		}
		last := len(forms) - 1
		return place{}, fmt.Errorf("%s destinations are not supported: use %s, or %s", quoted(name), strings.Join(forms[:last], ", "), forms[last])
	default:
		kind = storeKinds()[0]
	}
	path, err := kind.parse(text)
	if err != nil {
		return place{}, err
	}
	return place{kind.scheme, path}, nil
}

func parseFolder(text string) (string, error) {
	if strings.ContainsRune(text, 0) {
		return "", errors.New("the path contains a zero byte")
	}
	folder, err := expandHome(text)
	return filepath.Clean(folder), err
}

func parseFileURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Opaque != "", u.Host != "" && u.Host != "localhost", !strings.HasPrefix(u.Path, "/"):
		return "", errors.New("a file URL is written file:///path")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("a file URL contains only a path: write ? as %3F and # as %23")
	case strings.ContainsRune(u.Path, 0):
		return "", errors.New("the path contains a zero byte")
	}
	return filepath.Clean(filepath.FromSlash(u.Path)), nil
}

func openFolder(_ context.Context, o *destination) (sink.Store, error) {
	return sink.NewDir(o.place.path, sink.DirOptions{GroupReadable: o.groupReadable, Log: o.log, Command: o.command})
}

func parseBucket(text string) (string, error) { return bucketPath(text, s3.Scheme, s3.ParseURL) }

func parseGoogleBucket(text string) (string, error) {
	return bucketPath(text, gcs.Scheme, gcs.ParseURL)
}

// bucketPath returns the bucket and the prefix of a URL, joined by a slash. The scheme of the URL may be in capitals.
func bucketPath(text, scheme string, parse func(string) (bucket, prefix string, err error)) (string, error) {
	_, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		return "", fmt.Errorf("a bucket is written %sbucket/prefix", scheme)
	}
	bucket, prefix, err := parse(scheme + rest)
	return strings.TrimSuffix(bucket+"/"+prefix, "/"), err
}

func openBucket(ctx context.Context, o *destination) (sink.Store, error) {
	o.s3.Bucket, o.s3.Prefix, _ = strings.Cut(o.place.path, "/")
	o.s3.Scratch, o.s3.Log = o.scratch, o.log
	return s3.New(ctx, o.s3)
}

func parseContainer(text string) (string, error) {
	_, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		return "", errors.New("a container is written abfss://container@account.dfs.core.windows.net/prefix")
	}
	place, err := azure.ParseURL(azure.Scheme + rest)
	return place.String(), err
}

func openContainer(_ context.Context, o *destination) (sink.Store, error) {
	var err error
	if o.azure.Place, err = azure.ParseURL(o.place.path); err != nil {
		return nil, err
	}
	o.azure.ConnectionString = o.env[azure.ConnectionStringVariable]
	o.azure.Key, o.azure.SASToken = o.env[azure.KeyVariable], o.env[azure.SASTokenVariable]
	o.azure.Scratch, o.azure.Log = o.scratch, o.log
	return azure.New(o.azure)
}

func openGoogleBucket(ctx context.Context, o *destination) (sink.Store, error) {
	o.gcs.Bucket, o.gcs.Prefix, _ = strings.Cut(o.place.path, "/")
	o.gcs.Scratch, o.gcs.Log = o.scratch, o.log
	return gcs.New(ctx, o.gcs)
}
