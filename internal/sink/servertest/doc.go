// Package servertest starts the server processes for the tests of stores: an S3 server and emulators of cloud storage.
package servertest
