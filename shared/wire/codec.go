package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"
	"reflect"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// SnapshotVersion is the version full snapshots and deltas are written in, and the newest that is read.
const SnapshotVersion = 1

// Limits of full snapshots and deltas. What passes them is refused, by the writer as by the reader. 150,000 pods on
// 3,750 nodes take 4 MB, 7 MB unpacked.
const (
	MaxSnapshotBytes = 16 << 20  // as stored
	MaxExpandedBytes = 64 << 20  // unpacked
	MaxDecodedBytes  = 384 << 20 // in memory, by weight
	MaxPods          = 500_000
	MaxShapes        = 100_000
	MaxNodes         = 20_000
	MaxObjects       = 100_000 // of every other kind
	MaxBufferPods    = 10_000  // for so many pods one CapacityBuffer keeps room
)

// listBounds are the limits of the lists of full snapshots and deltas; every other list may have MaxObjects.
var listBounds = map[string]int{"shapes": MaxShapes, "nodes": MaxNodes, "csiNodes": MaxNodes, "gone.pods": MaxPods}

var (
	snapshotForm = headForm(reflect.TypeFor[model.Snapshot](), listBounds, MaxObjects)
	deltaForm    = headForm(reflect.TypeFor[Delta](), listBounds, MaxObjects)
)

// An unpacked object is: magic, version (1 byte), kind (1 byte), length of the JSON head (uvarint), head, pod columns.
const (
	magic        = "JNR\x00"
	kindSnapshot = 'B'
	kindDelta    = 'S'
)

// EncodeSnapshot returns the whole snapshot. Same snapshot, same bytes. Invalid where its lists are not sorted, a pod
// refers to no shape, or a limit is passed.
func EncodeSnapshot(s *model.Snapshot) ([]byte, error) {
	if err := validateSnapshot(s); err != nil {
		return nil, err
	}
	head := *s
	head.Pods = nil
	name, plain, err := assemble(kindSnapshot, s.Cluster, snapshotForm, &head, s.Pods)
	if err != nil {
		return nil, err
	}
	return new(Compressor).within(MaxSnapshotBytes, name, plain)
}

// DecodeSnapshot reads what EncodeSnapshot wrote. Invalid for anything else.
func DecodeSnapshot(data []byte) (*model.Snapshot, error) {
	s, _, err := DecodeSnapshotWithin("snapshot", data, MaxDecodedBytes)
	return s, err
}

// DecodeSnapshotWithin is DecodeSnapshot for a program that has room for so many bytes; what takes more is refused
// before it is made. It also returns how many bytes the snapshot takes. Errors call it by the name given, such as the
// key it was read from.
func DecodeSnapshotWithin(name string, data []byte, budget int64) (*model.Snapshot, int64, error) {
	plain, err := expand(name, data)
	if err != nil {
		return nil, 0, err
	}
	return parseSnapshot(name, plain, budget)
}

func parseSnapshot(name string, plain []byte, budget int64) (*model.Snapshot, int64, error) {
	var s model.Snapshot
	pods, weight, err := parse(kindSnapshot, name, plain, budget, snapshotForm, &s)
	if err != nil {
		return nil, 0, err
	}
	s.Pods = pods
	if err := validateSnapshot(&s); err != nil {
		return nil, 0, err
	}
	return &s, weight, nil
}

// EncodeDelta returns the delta. Same delta, same bytes. Invalid as for EncodeSnapshot.
func EncodeDelta(d *Delta) ([]byte, error) { return new(Compressor).EncodeDelta(d) }

// DecodeDelta reads what EncodeDelta wrote. Invalid for anything else.
func DecodeDelta(data []byte) (*Delta, error) {
	d, _, err := DecodeDeltaWithin("delta", data, MaxDecodedBytes)
	return d, err
}

// DecodeDeltaWithin is for DecodeDelta what DecodeSnapshotWithin is for DecodeSnapshot.
func DecodeDeltaWithin(name string, data []byte, budget int64) (*Delta, int64, error) {
	plain, err := expand(name, data)
	if err != nil {
		return nil, 0, err
	}
	return parseDelta(name, plain, budget)
}

func parseDelta(name string, plain []byte, budget int64) (*Delta, int64, error) {
	var d Delta
	pods, weight, err := parse(kindDelta, name, plain, budget, deltaForm, &d)
	if err != nil {
		return nil, 0, err
	}
	d.Pods = pods
	if err := validateDelta(&d); err != nil {
		return nil, 0, err
	}
	return &d, weight, nil
}

// assemble returns the bytes of an object before they are compressed, and what errors call it.
func assemble(kind byte, cluster string, form *form, head any, pods []model.Pod) (name string, plain []byte,
	err error) {
	name = "snapshot of cluster " + cluster
	text, err := json.Marshal(head)
	if err != nil {
		return name, nil, fault.Wrap(fault.Invalid, "", err, "encode %s", name)
	}
	plain = make([]byte, 0, len(text)+64*len(pods)+64)
	plain = append(plain, magic...)
	plain = append(plain, SnapshotVersion, kind)
	plain = binary.AppendUvarint(plain, uint64(len(text)))
	plain = append(plain, text...)
	if plain, err = appendPods(plain, pods); err != nil {
		return name, nil, err
	}
	if len(plain) > MaxExpandedBytes {
		return name, nil, fault.New(fault.Invalid, "TooLarge",
			"%s has %d bytes, at most %d are read", name, len(plain), MaxExpandedBytes)
	}
	if _, err := weigh(name, text, form, MaxDecodedBytes-weightOfPods(pods)); err != nil {
		return name, nil, err
	}
	return name, plain, nil
}

func expand(name string, data []byte) ([]byte, error) {
	return decompress(name, data, MaxSnapshotBytes, MaxExpandedBytes)
}

// decompress unpacks at most limit bytes into at most expanded ones.
func decompress(what string, data []byte, limit, expanded int) ([]byte, error) {
	if len(data) > limit {
		return nil, fault.New(fault.Invalid, "TooLarge",
			"%s has %d bytes compressed, at most %d are read", what, len(data), limit)
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "Malformed", err, "decompress %s", what)
	}
	// The last four bytes say how many they were before, and save growing where they say so truly.
	reported := int64(binary.LittleEndian.Uint32(data[len(data)-4:]))
	plain := bytes.NewBuffer(make([]byte, 0, min(reported, int64(expanded), maxDeflate*int64(len(data)))+bytes.MinRead))
	if _, err = plain.ReadFrom(io.LimitReader(zip, int64(expanded)+1)); err != nil {
		return nil, fault.Wrap(fault.Invalid, "Malformed", err, "decompress %s", what)
	}
	if plain.Len() > expanded {
		return nil, fault.New(fault.Invalid, "TooLarge", "%s has more than %d bytes unpacked", what, expanded)
	}
	return plain.Bytes(), nil
}

// maxDeflate is how many bytes one packed byte can stand for. Source: zlib, "Technical Details", maximum compression
// factor.
const maxDeflate = 1032

func parse(kind byte, name string, plain []byte, budget int64, form *form, head any) ([]model.Pod, int64, error) {
	r := &reader{rest: plain}
	if string(r.take(len(magic))) != magic {
		return nil, 0, fault.New(fault.Invalid, "Malformed", "%s is not a snapshot", name)
	}
	lead := r.take(2)
	if lead == nil {
		return nil, 0, fault.New(fault.Invalid, "Malformed", "%s ends early", name)
	}
	if lead[0] < 1 || lead[0] > SnapshotVersion {
		return nil, 0, fault.New(fault.Invalid, "UnknownVersion",
			"%s has version %d, versions 1 to %d are read", name, lead[0], SnapshotVersion)
	}
	if lead[1] != kind {
		return nil, 0, fault.New(fault.Invalid, "Malformed", "%s is of kind %q, wanted %q", name, lead[1], kind)
	}
	text := r.take(r.length())
	if r.failed {
		return nil, 0, fault.New(fault.Invalid, "Malformed", "%s ends early", name)
	}
	weight, err := weigh(name, text, form, budget)
	if err != nil {
		return nil, 0, err
	}
	if err := json.Unmarshal(text, head); err != nil {
		return nil, 0, fault.Wrap(fault.Invalid, "Malformed", err, "decode %s", name)
	}
	r.budget = budget - weight
	pods := r.pods()
	if r.heavy {
		return nil, 0, tooHeavy(name, budget)
	}
	if r.failed || len(r.rest) > 0 {
		return nil, 0, fault.New(fault.Invalid, "Malformed", "pods of %s are damaged", name)
	}
	return pods, budget - r.budget, nil
}
