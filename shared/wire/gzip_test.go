package wire

import (
	"bytes"
	"testing"
)

func TestACompressorIsUsedAgain(t *testing.T) {
	var c Compressor
	big, small := bytes.Repeat([]byte("capacity "), 10_000), []byte("pods")
	first := c.Compress(big)
	kept := bytes.Clone(first)
	second := c.Compress(small[:2], small[2:])
	if !bytes.Equal(first, kept) {
		t.Error("the second use changes what the first returned")
	}
	if !bytes.Equal(second, new(Compressor).Compress(small)) {
		t.Error("what was compressed before, or parts, make a difference")
	}
	for _, c := range []struct{ compressed, want []byte }{{first, big}, {second, small}} {
		if plain, err := expand("test", c.compressed); err != nil || !bytes.Equal(plain, c.want) {
			t.Errorf("%d bytes unpacked, %v; want %d", len(plain), err, len(c.want))
		}
	}
}

func BenchmarkEncodeDelta(b *testing.B) {
	d := &Delta{Cluster: "prod", Epoch: 1, Seq: 1, Shapes: workload(10).Shapes, Pods: workload(10).Pods}
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := EncodeDelta(d); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		var c Compressor
		for b.Loop() {
			if _, err := c.EncodeDelta(d); err != nil {
				b.Fatal(err)
			}
		}
	})
}
