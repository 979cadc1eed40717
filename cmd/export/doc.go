// Command growth-export takes snapshots of the test results and the enrollment
// that a service holds, and publishes them as Parquet tables.
//
// The package owns what a user meets: flags, environment variables and the
// configuration file, their precedence and their mistakes (settings.go,
// resolve.go, configfile.go, secrets.go), the exit codes (exit.go), progress
// and summaries. There is one file per subcommand. What a run does is written
// down in package pipeline; the command only puts its parts together.
//
// Metrics and traces are started and ended here too (telemetry.go), around the
// commands that a night is made of.
//
// The bar is drawn here rather than by a library: one line that is rewritten,
// with log lines above it, is less code than the adapters a library needs.
package main
