// Package probes has the probes of `joiner proof`, by service. All returns them.
package probes
