// Command growth-export takes snapshots of the test results and enrollment held by a student assessment service, and
// publishes them as Parquet tables.
//
// The package owns the user interface: flags, environment variables and the configuration file (settings.go,
// resolve.go, configfile.go, secrets.go), exit codes (exit.go), progress, summaries and telemetry. Each subcommand has
// its own file; destination.go opens the destination, and published.go finds a snapshot by its date or run. The
// commands only assemble parts; package pipeline documents the steps of a run.
//
// The progress bar is drawn here, because rewriting one line below the log lines takes less code than adapting a
// library.
package main
