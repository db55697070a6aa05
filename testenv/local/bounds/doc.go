// Package bounds holds tests of decoders to an amount of memory and time, so that input nobody in their right mind would
// send costs no more than an error. Fuzz tests use it around what they try.
//
//	f.Fuzz(func(t *testing.T, data []byte) {
//		bounds.Check(t, len(data), func() { _, _ = wire.DecodeHint(data) })
//	})
package bounds
