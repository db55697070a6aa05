package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// plainOf is an unpacked object with a head written by hand and encoded pods.
func plainOf(kind byte, head, pods string) []byte {
	plain := append([]byte(magic), SnapshotVersion, kind)
	plain = binary.AppendUvarint(plain, uint64(len(head)))
	if pods == "" {
		pods = "\x00"
	}
	return append(append(plain, head...), pods...)
}

// numbered joins so many elements, each with its number in place of %d.
func numbered(n int, element string) string {
	var out strings.Builder
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strings.ReplaceAll(element, "%d", fmt.Sprintf("%07d", i)))
	}
	return out.String()
}

// TestW7EveryListOfASnapshotHasABound: each list of each object, with one element too many, is refused by name and bound, as is one whose
// name is written otherwise; the lists are those that the types have, so that a new one is bounded from its first day.
func TestW7EveryListOfASnapshotHasABound(t *testing.T) {
	check := func(kind byte, path string, most int, decode func([]byte) error) {
		t.Helper()
		list := "[" + numbered(most+1, `null`) + "]"
		head := fmt.Sprintf(`{"cluster":"c","seq":1,%q:%s}`, path, list)
		if outer, inner, nested := strings.Cut(path, "."); nested {
			head = fmt.Sprintf(`{"cluster":"c","seq":1,%q:{%q:%s}}`, outer, strings.ToUpper(inner), list)
		}
		err := decode(compress(t, plainOf(kind, head, "")))
		if want := fmt.Sprintf("more than %d %s", most, path); fault.CodeOf(err) != "TooLarge" || !strings.Contains(err.Error(), want) {
			t.Errorf("%c with a list too long: %v, want %q", kind, err, want)
		}
	}
	for _, of := range []struct {
		kind   byte
		t      reflect.Type
		decode func([]byte) error
	}{{kindSnapshot, reflect.TypeFor[model.Snapshot](), decodeBase}, {kindDelta, reflect.TypeFor[Delta](), decodeDelta}} {
		n := 0
		for _, field := range reflect.VisibleFields(of.t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Type.Kind() != reflect.Slice || name == "-" {
				continue
			}
			n++
			most := MaxObjects
			switch name {
			case "nodes", "csiNodes":
				most = MaxNodes
			case "pods":
				continue // in columns: see reader
			}
			check(of.kind, name, most, of.decode)
		}
		if n < 11 {
			t.Errorf("%v has %d lists, as if they had been moved", of.t, n)
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Gone]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		most := MaxObjects
		if name == "pods" {
			most = MaxPods
		}
		check(kindDelta, "gone."+name, most, decodeDelta)
	}
}

// TestW7TheWriterRefusesWhatTheReaderWould keeps a watcher from publishing what no function would read.
func TestW7TheWriterRefusesWhatTheReaderWould(t *testing.T) {
	s := &model.Snapshot{Cluster: "prod"}
	for i := range MaxNodes + 1 {
		s.Nodes = append(s.Nodes, model.Node{Name: fmt.Sprintf("%07d", i)})
	}
	if _, err := EncodeSnapshot(s); fault.CodeOf(err) != "TooLarge" || !strings.Contains(err.Error(), "cluster prod has 20001 nodes, at most 20000") {
		t.Errorf("a base of %d nodes: %v", len(s.Nodes), err)
	}
	s.Nodes = s.Nodes[:MaxNodes]
	data, err := EncodeSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := decodeBase(data); err != nil {
		t.Errorf("%d nodes: %v", MaxNodes, err)
	}
	gone := &Delta{Cluster: "prod", Seq: 1}
	for i := range MaxObjects + 1 {
		gone.Gone.Claims = append(gone.Gone.Claims, fmt.Sprintf("%07d", i))
	}
	if _, err := EncodeDelta(gone); fault.CodeOf(err) != "TooLarge" {
		t.Errorf("a segment without %d claims: %v", MaxObjects+1, err)
	}
}

// TestW7DeltasDoNotAddUpBeyondTheBounds: each is small, and what they make of the full snapshot is not.
func TestW7DeltasDoNotAddUpBeyondTheBounds(t *testing.T) {
	s := &model.Snapshot{Cluster: "prod"}
	var deltas []*Delta
	for seq := range int64(3) {
		d := &Delta{Cluster: "prod", Seq: seq + 1}
		for i := range MaxNodes / 2 {
			d.Nodes = append(d.Nodes, model.Node{Name: fmt.Sprintf("%d-%07d", seq, i)})
		}
		deltas = append(deltas, d)
	}
	if _, err := Apply(s, deltas[:2]...); err != nil {
		t.Errorf("two halves: %v", err)
	}
	if _, err := Apply(s, deltas...); fault.CodeOf(err) != "TooLarge" {
		t.Errorf("three halves: %v", err)
	}
}

// heavies are unpacked full snapshots, each within every count and small when packed, that make as much as they can of a few bytes.
func heavies() map[string][]byte {
	shapes := func(inner string) []byte {
		return plainOf(kindSnapshot, `{"cluster":"c","shapes":[{`+inner+`}]}`, "")
	}
	const n = 1_000_000
	pods := podsOf(20_000, 500)
	return map[string][]byte{
		"tolerations of one shape":    shapes(`"tolerations":[` + numbered(n, `{}`) + `]`),
		"tolerations, name disguised": shapes(`"\u0074OLERATIONS":[` + numbered(n, `{}`) + `]`),
		"labels of one shape":         shapes(`"labels":{` + numbered(n, `"%d":""`) + `}`),
		"spreads of one shape":        shapes(`"spreads":[` + numbered(n, `{}`) + `],"spread":[` + numbered(n, `{}`) + `]`),
		"volume claims of pods":       plainOf(kindSnapshot, `{"cluster":"c","shapes":[{}]}`, pods),
		"pools with templates":        plainOf(kindSnapshot, `{"cluster":"c","pools":[`+numbered(MaxObjects, `{"name":"%d","template":{}}`)+`]}`, ""),
	}
}

// podsOf encodes pods with one-letter volume claims.
func podsOf(n, claims int) string {
	pods := make([]model.Pod, n)
	names := make([]string, claims)
	for i := range pods {
		pods[i] = model.Pod{Name: fmt.Sprintf("%07d", i), Claims: names}
	}
	out, err := appendPods(nil, pods)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// TestW7AHeavySnapshotIsRefusedBeforeItIsMade: what is refused has cost less than a tenth of the room.
func TestW7AHeavySnapshotIsRefusedBeforeItIsMade(t *testing.T) {
	const budget = 24 << 20
	for name, plain := range heavies() {
		t.Run(name, func(t *testing.T) {
			if len(plain) > MaxExpandedBytes {
				t.Fatalf("%d bytes would be refused anyway", len(plain))
			}
			made := allocated(func() {
				_, _, err := parseSnapshot("snap/c/base", plain, budget)
				if fault.CodeOf(err) != "TooLarge" || !strings.Contains(err.Error(), "snap/c/base takes more than the 24 MiB") {
					t.Errorf("got %v", err)
				}
			})
			if most := uint64(budget + budget/10); made > most {
				t.Errorf("made %d bytes before it was refused, want at most %d", made, most)
			}
		})
	}
}

// TestW7AWeightIsNoLessThanWhatIsMade compares the weight with what is live afterwards.
func TestW7AWeightIsNoLessThanWhatIsMade(t *testing.T) {
	all := heavies()
	base, err := EncodeSnapshot(workload(5_000))
	if err != nil {
		t.Fatal(err)
	}
	all["believable"] = unpacked(t, base)
	for name, plain := range all {
		t.Run(name, func(t *testing.T) {
			before := live()
			s, weight, err := parseSnapshot("base", plain, 4<<30)
			if err != nil {
				t.Fatal(err)
			}
			made := int64(live() - before)
			runtime.KeepAlive(s)
			t.Logf("%d bytes make %d, weight %d", len(plain), made, weight)
			if made > weight {
				t.Errorf("makes %d bytes and weighs %d", made, weight)
			}
			if weight > 6*made+1<<20 {
				t.Errorf("weighs %d and makes %d bytes: honest clusters would be refused", weight, made)
			}
		})
	}
	runtime.KeepAlive(all)
}

// TestW7AWeigherEndsOnAnyText: what is no JSON is left to the decoder, and nothing runs on or panics.
func TestW7AWeigherEndsOnAnyText(t *testing.T) {
	whole := `{"cluster":"c","shapes":[{"labels":{"a":"b\"\\"},"tolerations":[{"key":"x"},{}]}],"nodes":[{"name":"n"}]}`
	for i := range len(whole) {
		for _, text := range []string{whole[:i], whole[i:], whole[:i] + "," + whole[i:], whole[:i] + "]" + whole[i:], whole[:i] + "\"" + whole[i:], whole[:i] + `\` + whole[i:]} {
			bounds.Check(t, len(text), func() { _, _ = weigh("text", []byte(text), snapshotForm, 1<<20) })
		}
	}
	var s model.Snapshot
	if err := json.Unmarshal([]byte(whole), &s); err != nil {
		t.Fatal(err)
	}
	if _, err := weigh("text", []byte(`{"cluster":"`+"\xff"+`"}`), snapshotForm, 1<<20); fault.CodeOf(err) != "Malformed" {
		t.Errorf("bytes that are no letters: %v", err)
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func live() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

func BenchmarkWeigh(b *testing.B) {
	data, err := EncodeSnapshot(workload(10_000))
	if err != nil {
		b.Fatal(err)
	}
	plain := unpacked(b, data)
	r := &reader{rest: plain[len(magic)+2:]}
	text := r.take(r.length())
	for b.Loop() {
		if _, err := weigh("base", text, snapshotForm, MaxDecodedBytes); err != nil {
			b.Fatal(err)
		}
	}
}
