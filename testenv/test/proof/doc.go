// Package proof tries `joiner proof` in a modeled account, under either reading of what AWS leaves open, and killed at every
// moment.
package proof
