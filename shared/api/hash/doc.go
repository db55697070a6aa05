// Package hash reduces a value to a short text that changes when the value's meaning does: the drift hash of pools and
// node classes.
//
// It decides what counts as the same: the order of a list does not matter, nor the order of a map, nor whether a field is
// absent, nil or zero, nor how a quantity or a duration is written. What goes into the hash is for the caller to choose.
//
//	hash.Of(struct{ Labels map[string]string }{labels}) // "1234567890123456789"
//
// Hashes are stored in clusters, so the rules here may change only together with the version of every hash made by them.
package hash
