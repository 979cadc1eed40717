// Package gcstest starts an emulator of Google Cloud Storage, fake-gcs-server, for tests, behind a handler that behaves
// as the service's documentation says where the emulator does not. The Makefile builds the binary and passes its path
// in the environment variable FAKE_GCS_SERVER.
//
// The handler checks the conditions of a rewrite, which the emulator ignores. Tests of the store do not depend on other
// differences: the emulator does not require credentials, does not distinguish a missing bucket from a missing object,
// cannot say how much of an upload in chunks has arrived, does not verify the checksum of an upload with more than one
// chunk, does not move objects, and answers a removal with 200 rather than 204.
package gcstest
