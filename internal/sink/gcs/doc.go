// Package gcs is the destination on Google Cloud Storage: a [sink.Store] whose staged files are objects below _staging/,
// copied to their paths by the service when they are committed. It speaks the service's JSON API, and takes credentials
// from golang.org/x/oauth2/google. That adds one module and 0.3 MB to the command; Google's own client would add 24
// modules and 18 MB to its 41.
//
// # How a file becomes visible
//
// A Draft grows in an unnamed file in the scratch folder, so that a killed process leaves nothing there. Stage uploads it
// to _staging/<owner>/<random name> with its CRC32C, which the service verifies. Commit has the service rewrite the object
// to its path, if nothing is there (ifGenerationMatch=0), and then removes the staged object. A process that is killed
// between the two leaves a staged object, which the next Commit or Sweep removes.
//
// # Lost responses
//
// If a response is lost, the request may have been carried out. So every object has a random id in its metadata
// (growth-export-id), which a rewrite copies, and every upload to a new name has a condition. If a condition is
// refused, the object is checked: if it has the expected id, an earlier attempt of the same request has written it.
//
// # Locks
//
// There are no locks. Documents are written only if their generation is the expected one, and Lock excludes no one.
//
// # Permissions
//
// The credentials need storage.objects.create, get, list and delete on the bucket, as the role Storage Object User gives
// them. With an endpoint that starts with http://, such as an emulator's, no credentials are looked for and none are sent.
package gcs
