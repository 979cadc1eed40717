// Package gcstest starts an emulator of Google Cloud Storage, fake-gcs-server, for tests, behind a handler that behaves as
// the service's documentation says where the emulator does not. The Makefile builds the binary and names it in the
// environment variable FAKE_GCS_SERVER.
//
// The handler adds the conditions of a rewrite, which the emulator ignores. Tests of the store do not depend on other
// differences: the emulator asks for no credentials, does not tell a missing bucket from a missing object, cannot say how
// much of an upload in chunks has arrived, does not verify the checksum of one with more than one chunk, does not move
// objects, and answers 200 to a removal rather than 204.
package gcstest
