// Package gcstest starts fake-gcs-server, an emulator of Google Cloud Storage, for tests. A handler in front of it
// corrects a difference from the documentation of the service. The Makefile builds the binary and passes its path in
// the environment variable FAKE_GCS_SERVER.
//
// The handler checks the conditions of a rewrite, which the emulator ignores. The tests of the store do not depend on
// the other differences: the emulator does not require credentials, does not distinguish a missing bucket from a
// missing object, does not report how much of an upload in chunks it has received, does not verify the checksum of an
// upload with more than one chunk, does not move objects, and answers a removal with 200 rather than 204.
package gcstest
