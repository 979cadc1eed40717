// Package gcs is the destination on Google Cloud Storage. It provides a [sink.Store] whose staged files are objects
// below _staging/, which the service copies to their paths when they are committed. The package uses the service's JSON
// API directly and golang.org/x/oauth2/google for credentials, which adds one module and 0.3 MB to the command.
// Google's own client would add 24 modules and 18 MB to the command's 41 MB.
//
// # How a file becomes visible
//
// A Draft is written to an unnamed file in the scratch folder, so that a killed process leaves nothing there. Stage
// uploads it to _staging/<owner>/<random name> with its CRC32C, which the service verifies. Commit makes the service
// copy the object to its path (with a rewrite request), on condition that no object is there (ifGenerationMatch=0), and
// then removes the staged object. If a different file is at the path, the condition is instead that its generation has
// not changed. A process that is killed after the rewrite leaves a staged object, which the next Commit or Sweep
// removes.
//
// # Lost responses
//
// If a response is lost, the request may have been carried out. Every object therefore has a random id in its metadata
// (growth-export-id), which a rewrite copies, and every upload to a new name has a condition. If the condition does not
// hold, the id of the object shows whether an earlier attempt of the same request has written it.
//
// # Locks
//
// Lock does not exclude other processes. Documents are instead written on condition that their generation has not
// changed.
//
// # Permissions
//
// The credentials need storage.objects.create, get, list and delete on the bucket. The role Storage Object User
// includes these permissions. If the endpoint starts with http://, as the endpoint of an emulator does, the package
// neither looks for credentials nor sends any.
package gcs
