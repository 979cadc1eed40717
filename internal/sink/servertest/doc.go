// Package servertest runs the servers of the tests of stores as processes: a real S3 server and emulators of clouds.
package servertest
