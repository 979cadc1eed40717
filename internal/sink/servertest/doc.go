// Package servertest runs the servers that tests of stores use, as processes: a real S3 server and emulators of clouds.
package servertest
