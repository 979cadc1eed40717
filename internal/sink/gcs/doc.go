// Package gcs is the destination on Google Cloud Storage: a [sink.Store] whose staged files are objects below
// _staging/, copied to their paths by the service when they are committed. It speaks the service's JSON API, and takes
// credentials from golang.org/x/oauth2/google. That adds one module and 0.3 MB to the command. Google's own client
// would add 24 modules and 18 MB to the command's 41 MB.
//
// # How a file becomes visible
//
// A Draft is written to an unnamed file in the scratch folder, so that a killed process leaves nothing there. Stage
// uploads it to _staging/<owner>/<random name> with its CRC32C, which the service verifies. Commit makes the service
// rewrite the object to its path, if nothing is there (ifGenerationMatch=0), and then removes the staged object. A
// different file at the path is replaced, on condition that its generation has not changed. A process that is killed
// after the rewrite leaves a staged object, which the next Commit or Sweep removes.
//
// # Lost responses
//
// If a response is lost, the request may have been carried out. Every object therefore has a random id in its metadata
// (growth-export-id), which a rewrite copies, and every upload to a new name has a condition. If a condition is
// refused, the object is checked: if it has the expected id, an earlier attempt of the same request has written it.
//
// # Locks
//
// There are no locks. Documents are written only if their generation is the expected one, and Lock does not exclude
// other processes.
//
// # Permissions
//
// The credentials need storage.objects.create, get, list and delete on the bucket. The role Storage Object User
// includes these permissions. If the endpoint starts with http://, as an emulator's does, no credentials are looked for
// or sent.
package gcs
