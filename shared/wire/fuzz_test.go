package wire

import (
	"bytes"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

func FuzzDecodeHint(f *testing.F) {
	data, err := EncodeHint(Hint{Cluster: "prod", Reason: ReasonBatch, Pods: pods(2)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		bounds.Check(t, len(data), func() {
			h, err := DecodeHint(data)
			if err != nil {
				invalid(t, err)
				return
			}
			if _, err := EncodeHint(h); err != nil {
				t.Fatalf("what was decoded cannot be encoded: %v", err)
			}
			if id := h.DedupID(); len(id) > 128 {
				t.Fatalf("the id has %d characters", len(id))
			}
		})
	})
}

func invalid(t *testing.T, err error) {
	t.Helper()
	if !fault.Is(err, fault.Invalid) {
		t.Fatalf("got %v, want Invalid", err)
	}
}

// FuzzDecodePacked tries what is stored, gzip and all.
func FuzzDecodePacked(f *testing.F) {
	base, err := EncodeSnapshot(workload(3))
	if err != nil {
		f.Fatal(err)
	}
	delta, err := EncodeDelta(&Delta{Cluster: "prod", Seq: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(base)
	f.Add(delta)
	f.Add(base[:len(base)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		// A gzip of this size may stand for a thousand times as much, which is allowed to be unpacked.
		bounds.Check(t, 4*MaxExpandedBytes/bounds.BytesPerByte, func() {
			if _, err := DecodeSnapshot(data); err != nil {
				invalid(t, err)
			}
			if _, err := DecodeDelta(data); err != nil {
				invalid(t, err)
			}
		})
	})
}

// FuzzDecodeBase starts from what is unpacked, so that the fuzzer reaches the columns.
func FuzzDecodeBase(f *testing.F) {
	for _, pods := range []int{0, 3} {
		data, err := EncodeSnapshot(workload(pods))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(unpacked(f, data))
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		bounds.Check(t, len(plain), func() {
			s, _, err := parseSnapshot("snapshot", plain, MaxDecodedBytes)
			if err != nil {
				invalid(t, err)
				return
			}
			again, err := EncodeSnapshot(s)
			if err != nil {
				t.Fatalf("what was decoded cannot be encoded: %v", err)
			}
			read, err := DecodeSnapshot(again)
			if err != nil || text(read) != text(s) {
				t.Fatalf("%v: read again it is\n%s\nand was\n%s", err, text(read), text(s))
			}
		})
	})
}

// FuzzApply tries a snapshot and a delta that may or may not follow it.
func FuzzApply(f *testing.F) {
	s := workload(3)
	base, err := EncodeSnapshot(s)
	if err != nil {
		f.Fatal(err)
	}
	next := &Delta{Cluster: s.Cluster, Epoch: s.Epoch, Seq: s.Seq + 1, FirstShape: len(s.Shapes), Shapes: s.Shapes, Pods: s.Pods[:1],
		Gone: Gone{Pods: []string{s.Pods[2].Key()}, Nodes: []string{"a"}}}
	next.Pods[0].Shape = len(s.Shapes)
	delta, err := EncodeDelta(next)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(unpacked(f, base), unpacked(f, delta))
	f.Fuzz(func(t *testing.T, plainBase, plainDelta []byte) {
		bounds.Check(t, len(plainBase)+len(plainDelta), func() {
			d, _, err := parseDelta("segment", plainDelta, MaxDecodedBytes)
			if err != nil {
				invalid(t, err)
				return
			}
			start, _, err := parseSnapshot("snapshot", plainBase, MaxDecodedBytes)
			if err != nil {
				start = &model.Snapshot{}
			}
			if _, err := Apply(start, d); err != nil && !fault.Is(err, fault.Conflict) && fault.CodeOf(err) != "TooLarge" {
				t.Fatalf("got %v, want Conflict or TooLarge", err)
			}
			if d.FirstShape > 100 {
				return
			}
			start.Cluster, start.Epoch, start.Seq = d.Cluster, d.Epoch, d.Seq-1
			for len(start.Shapes) < d.FirstShape {
				start.Shapes = append(start.Shapes, model.PodShape{})
			}
			start.Shapes = start.Shapes[:d.FirstShape]
			if validateSnapshot(start) != nil {
				return
			}
			before, _ := EncodeSnapshot(start)
			got, err := Apply(start, d)
			if err != nil {
				t.Fatalf("a valid segment does not apply: %v", err)
			}
			if _, err := EncodeSnapshot(got); err != nil {
				t.Fatalf("the result is no snapshot: %v", err)
			}
			if after, _ := EncodeSnapshot(start); !bytes.Equal(before, after) {
				t.Fatal("what the segment was applied to changed")
			}
		})
	})
}
