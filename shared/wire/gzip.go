package wire

import (
	"bytes"
	"compress/gzip"

	"github.com/joiner-sh/joiner/shared/fault"
)

// Compressor compresses with one gzip writer, which it uses again: a new one allocates 800 KB, more than most of what
// it compresses. The zero value is ready. It is not for concurrent use.
type Compressor struct{ writer *gzip.Writer }

// Compress returns the parts, one after the other, as one gzip stream (RFC 1952). Same parts, same bytes.
func (c *Compressor) Compress(parts ...[]byte) []byte {
	var compressed bytes.Buffer
	if c.writer == nil {
		c.writer = gzip.NewWriter(&compressed)
	} else {
		c.writer.Reset(&compressed)
	}
	for _, part := range parts {
		c.writer.Write(part) //nolint:errcheck // fails only where the buffer does, and that never fails
	}
	c.writer.Close()
	return compressed.Bytes()
}

// EncodeDelta is the function of this name, with a writer that is used again.
func (c *Compressor) EncodeDelta(d *Delta) ([]byte, error) {
	if err := validateDelta(d); err != nil {
		return nil, err
	}
	name, plain, err := assemble(kindDelta, d.Cluster, deltaForm, d, d.Pods)
	if err != nil {
		return nil, err
	}
	return c.within(MaxSnapshotBytes, name, plain)
}

// within compresses an object that takes at most limit bytes then.
func (c *Compressor) within(limit int, what string, plain []byte) ([]byte, error) {
	compressed := c.Compress(plain)
	if len(compressed) > limit {
		return nil, fault.New(fault.Invalid, "TooLarge",
			"%s has %d bytes compressed, at most %d are read", what, len(compressed), limit)
	}
	return compressed, nil
}
