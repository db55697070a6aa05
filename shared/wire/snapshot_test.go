package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"pgregory.net/rapid"
)

func TestBaseSurvivesARoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawSnapshot(t)
		data, err := EncodeSnapshot(want)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		got, err := DecodeSnapshot(data)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %s\nwant %s", text(got), text(want))
		}
		again, err := EncodeSnapshot(got)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("the same snapshot has other bytes (%v)", err)
		}
	})
}

func TestDeltaSurvivesARoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawDelta(t, drawSnapshot(t))
		data, err := EncodeDelta(want)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		got, err := DecodeDelta(data)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %s\nwant %s", text(got), text(want))
		}
	})
}

// The plain meaning of a delta, without a thought to speed: last word per key.
func applyPlainly(s *model.Snapshot, d *Delta) *model.Snapshot {
	next := *s
	next.Seq, next.AtUnix = d.Seq, d.AtUnix
	next.Shapes = append(slices.Clone(s.Shapes), d.Shapes...)
	next.Pods = putAll(s.Pods, d.Pods, d.Gone.Pods, podKey)
	next.Nodes = putAll(s.Nodes, d.Nodes, d.Gone.Nodes, nodeKey)
	return &next
}

func putAll[T any](old, put []T, gone []string, keyOf func(*T) key) []T {
	byKey := map[string]T{}
	for i := range old {
		byKey[keyOf(&old[i]).String()] = old[i]
	}
	for i := range put {
		byKey[keyOf(&put[i]).String()] = put[i]
	}
	for _, k := range gone {
		delete(byKey, k)
	}
	var keys []string
	for k := range byKey {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var out []T
	for _, k := range keys {
		out = append(out, byKey[k])
	}
	return out
}

func TestApplyMeansTheLastWordPerKeyAndLeavesItsInputAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := drawSnapshot(t)
		before := text(start)
		want, deltas := start, []*Delta{}
		for range rapid.IntRange(1, 4).Draw(t, "deltas") {
			d := drawDelta(t, want)
			deltas, want = append(deltas, d), applyPlainly(want, d)
		}
		got, err := Apply(start, deltas...)
		if err != nil {
			t.Fatal(err)
		}
		if text(got) != text(want) {
			t.Fatalf("got %s\nwant %s", text(got), text(want))
		}
		if text(start) != before {
			t.Fatalf("the input changed: %s\nwas %s", text(start), before)
		}
		if _, err := EncodeSnapshot(got); err != nil {
			t.Fatalf("the result is no snapshot: %v", err)
		}
	})
}

func TestTwoSuccessorsOfOneSnapshotDoNotShareNewShapes(t *testing.T) {
	base := workload(50)
	base.Shapes = slices.Grow(base.Shapes, 8) // room an append would write into
	successor := func(name string) *model.Snapshot {
		got, err := Apply(base, &Delta{Cluster: base.Cluster, Epoch: base.Epoch, Seq: base.Seq + 1,
			FirstShape: len(base.Shapes), Shapes: []model.PodShape{{Namespace: name}}})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one, two := successor("one"), successor("two")
	if n := len(base.Shapes); one.Shapes[n].Namespace != "one" || two.Shapes[n].Namespace != "two" {
		t.Fatalf("got shapes of %s and %s", one.Shapes[n].Namespace, two.Shapes[n].Namespace)
	}
}

func TestApplyRefusesADeltaThatDoesNotFollow(t *testing.T) {
	base := workload(10)
	follow := func() *Delta {
		return &Delta{Cluster: base.Cluster, Epoch: base.Epoch, Seq: base.Seq + 1, FirstShape: len(base.Shapes)}
	}
	if _, err := Apply(base, follow()); err != nil {
		t.Fatalf("the plain successor: %v", err)
	}
	cases := map[string]func(*Delta){
		"other cluster":     func(d *Delta) { d.Cluster = "other" },
		"other epoch":       func(d *Delta) { d.Epoch++ },
		"gap":               func(d *Delta) { d.Seq++ },
		"repeated":          func(d *Delta) { d.Seq-- },
		"other shape count": func(d *Delta) { d.FirstShape-- },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			d := follow()
			change(d)
			if _, err := Apply(base, d); !fault.Is(err, fault.Conflict) {
				t.Fatalf("got %v, want Conflict", err)
			}
		})
	}
}

func TestKeysAreOrderedAsTheirText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) key {
			return parseKey(rapid.StringMatching(`[ab-]{1,4}/[ab-]{1,3}`).Draw(t, label))
		}
		a, b := draw("a"), draw("b")
		if got, want := sign(a.compare(b)), bytes.Compare([]byte(a.String()), []byte(b.String())); got != want {
			t.Fatalf("compare(%s, %s) = %d, want %d", a, b, got, want)
		}
	})
}

func sign(n int) int { return min(1, max(-1, n)) }

func TestPodTakesAtMostFiftyBytes(t *testing.T) {
	s := workload(10_000)
	s.Nodes = nil
	data, err := EncodeSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	each := float64(len(data)) / float64(len(s.Pods))
	t.Logf("%d pods in %d bytes: %.1f bytes a pod, %d shapes included", len(s.Pods), len(data), each, len(s.Shapes))
	if each > 50 {
		t.Errorf("a pod takes %.1f bytes, at most 50 are promised", each)
	}
}

func TestDecodersRefuseWhatIsNotTheirs(t *testing.T) {
	base, err := EncodeSnapshot(workload(20))
	if err != nil {
		t.Fatal(err)
	}
	delta, err := EncodeDelta(&Delta{Cluster: "prod", Epoch: 1, Seq: 1})
	if err != nil {
		t.Fatal(err)
	}
	newer := repack(t, base, func(plain []byte) []byte { plain[len(magic)] = SnapshotVersion + 1; return plain })
	cases := map[string]struct {
		data   []byte
		decode func([]byte) error
	}{
		"nothing":              {nil, decodeBase},
		"no gzip":              {[]byte("hello"), decodeBase},
		"cut":                  {base[:len(base)/2], decodeBase},
		"segment as base":      {delta, decodeBase},
		"base as segment":      {base, decodeDelta},
		"newer version":        {newer, decodeBase},
		"bytes after the end":  {repack(t, base, func(p []byte) []byte { return append(p, 0) }), decodeBase},
		"last byte missing":    {repack(t, base, func(p []byte) []byte { return p[:len(p)-1] }), decodeBase},
		"more than may be":     {bomb(t), decodeBase},
		"larger than may be":   {make([]byte, MaxSnapshotBytes+1), decodeBase},
		"other file of a gzip": {repack(t, base, func([]byte) []byte { return []byte("something else") }), decodeBase},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			if err := tt.decode(tt.data); !fault.Is(err, fault.Invalid) {
				t.Fatalf("got %v, want Invalid", err)
			}
		})
	}
}

func decodeBase(data []byte) error  { _, err := DecodeSnapshot(data); return err }
func decodeDelta(data []byte) error { _, err := DecodeDelta(data); return err }

func TestEncodersRefuseWhatADecoderWould(t *testing.T) {
	pod := func(name string) model.Pod { return model.Pod{Namespace: "a", Name: name} }
	cases := map[string]*model.Snapshot{
		"no cluster":               {},
		"unsorted":                 {Cluster: "c", Shapes: make([]model.PodShape, 1), Pods: []model.Pod{pod("b"), pod("a")}},
		"twice":                    {Cluster: "c", Shapes: make([]model.PodShape, 1), Pods: []model.Pod{pod("a"), pod("a")}},
		"no such shape":            {Cluster: "c", Pods: []model.Pod{pod("a")}},
		"long name":                {Cluster: "c", Shapes: make([]model.PodShape, 1), Pods: []model.Pod{pod(string(bytes.Repeat([]byte("x"), 254)))}},
		"unknown phase":            {Cluster: "c", Shapes: make([]model.PodShape, 1), Pods: []model.Pod{{Name: "a", Phase: 9}}},
		"a buffer without a shape": {Cluster: "c", Buffers: []model.Buffer{{Name: "a", Replicas: 1}}},
		"a buffer below nothing":   {Cluster: "c", Buffers: []model.Buffer{{Name: "a", Replicas: -1}}},
		"a buffer without end":     {Cluster: "c", Shapes: make([]model.PodShape, 1), Buffers: []model.Buffer{{Name: "a", Replicas: MaxBufferPods + 1}}},
		"unsorted nodes":           {Cluster: "c", Nodes: []model.Node{{Name: "b"}, {Name: "a"}}},
	}
	for name, s := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := EncodeSnapshot(s); !fault.Is(err, fault.Invalid) {
				t.Fatalf("got %v, want Invalid", err)
			}
		})
	}
}

func BenchmarkDecodeBase(b *testing.B) {
	data, err := EncodeSnapshot(workload(10_000))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeSnapshot(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeBase(b *testing.B) {
	s := workload(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := EncodeSnapshot(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyTenPodsToTenThousand(b *testing.B) {
	s := workload(10_000)
	d := &Delta{Cluster: s.Cluster, Epoch: s.Epoch, Seq: s.Seq + 1, FirstShape: len(s.Shapes), Pods: s.Pods[:10]}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Apply(s, d); err != nil {
			b.Fatal(err)
		}
	}
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func compress(t testing.TB, plain []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unpacked(t testing.TB, data []byte) []byte {
	plain, err := expand("snapshot", data)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func repack(t testing.TB, data []byte, change func([]byte) []byte) []byte {
	return compress(t, change(unpacked(t, data)))
}

func bomb(t testing.TB) []byte { return compress(t, make([]byte, MaxExpandedBytes+1)) }
