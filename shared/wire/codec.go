package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// SnapshotVersion is the version bases and segments are written in, and the newest that is read.
const SnapshotVersion = 1

// Limits of bases and segments. What passes them is refused, by the writer as by the reader.
const (
	MaxSnapshotBytes = 32 << 20 // as stored
	MaxExpandedBytes = 96 << 20 // unpacked
	MaxPods          = 500_000
	MaxShapes        = 100_000
	MaxBufferPods    = 10_000 // for so many pods one CapacityBuffer keeps room
)

// An unpacked object is: magic, version (1 byte), kind (1 byte), length of the JSON head (uvarint), head, pod columns.
const (
	magic       = "JNR\x00"
	kindBase    = 'B'
	kindSegment = 'S'
)

// EncodeBase returns the whole snapshot. Same snapshot, same bytes. Invalid where its lists are not sorted, a pod refers
// to no shape, or a limit is passed.
func EncodeBase(s *model.Snapshot) ([]byte, error) {
	if err := validateSnapshot(s); err != nil {
		return nil, err
	}
	head := *s
	head.Pods = nil
	return pack(kindBase, &head, s.Pods)
}

// DecodeBase reads what EncodeBase wrote. Invalid for anything else.
func DecodeBase(data []byte) (*model.Snapshot, error) {
	plain, err := expand(data)
	if err != nil {
		return nil, err
	}
	return parseBase(plain)
}

func parseBase(plain []byte) (*model.Snapshot, error) {
	var s model.Snapshot
	pods, err := parse(kindBase, plain, &s)
	if err != nil {
		return nil, err
	}
	s.Pods = pods
	if err := validateSnapshot(&s); err != nil {
		return nil, err
	}
	return &s, nil
}

// EncodeSegment returns the delta. Same delta, same bytes. Invalid as for EncodeBase.
func EncodeSegment(d *Delta) ([]byte, error) {
	if err := validateDelta(d); err != nil {
		return nil, err
	}
	return pack(kindSegment, d, d.Pods)
}

// DecodeSegment reads what EncodeSegment wrote. Invalid for anything else.
func DecodeSegment(data []byte) (*Delta, error) {
	plain, err := expand(data)
	if err != nil {
		return nil, err
	}
	return parseSegment(plain)
}

func parseSegment(plain []byte) (*Delta, error) {
	var d Delta
	pods, err := parse(kindSegment, plain, &d)
	if err != nil {
		return nil, err
	}
	d.Pods = pods
	if err := validateDelta(&d); err != nil {
		return nil, err
	}
	return &d, nil
}

func pack(kind byte, head any, pods []model.Pod) ([]byte, error) {
	text, err := json.Marshal(head)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "encode snapshot")
	}
	plain := make([]byte, 0, len(text)+64*len(pods)+64)
	plain = append(plain, magic...)
	plain = append(plain, SnapshotVersion, kind)
	plain = binary.AppendUvarint(plain, uint64(len(text)))
	plain = append(plain, text...)
	if plain, err = appendPods(plain, pods); err != nil {
		return nil, err
	}
	if len(plain) > MaxExpandedBytes {
		return nil, fault.New(fault.Invalid, "TooLarge", "snapshot has %d bytes, at most %d are read", len(plain), MaxExpandedBytes)
	}
	return squeeze("snapshot", plain, MaxSnapshotBytes)
}

// squeeze packs an object of at most limit bytes, once packed.
func squeeze(what string, plain []byte, limit int) ([]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(plain); err != nil {
		return nil, fault.Wrap(fault.Internal, "", err, "compress %s", what)
	}
	if err := zip.Close(); err != nil {
		return nil, fault.Wrap(fault.Internal, "", err, "compress %s", what)
	}
	if packed.Len() > limit {
		return nil, fault.New(fault.Invalid, "TooLarge", "%s has %d bytes compressed, at most %d are read", what, packed.Len(), limit)
	}
	return packed.Bytes(), nil
}

func expand(data []byte) ([]byte, error) {
	return decompress("snapshot", data, MaxSnapshotBytes, MaxExpandedBytes)
}

// decompress unpacks at most limit bytes into at most expanded ones.
func decompress(what string, data []byte, limit, expanded int) ([]byte, error) {
	if len(data) > limit {
		return nil, fault.New(fault.Invalid, "TooLarge", "%s has %d bytes compressed, at most %d are read", what, len(data), limit)
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "Malformed", err, "decompress %s", what)
	}
	plain, err := io.ReadAll(io.LimitReader(zip, int64(expanded)+1))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "Malformed", err, "decompress %s", what)
	}
	if len(plain) > expanded {
		return nil, fault.New(fault.Invalid, "TooLarge", "%s has more than %d bytes", what, expanded)
	}
	return plain, nil
}

func parse(kind byte, plain []byte, head any) ([]model.Pod, error) {
	r := &reader{rest: plain}
	if string(r.take(len(magic))) != magic {
		return nil, fault.New(fault.Invalid, "Malformed", "not a snapshot")
	}
	lead := r.take(2)
	if lead == nil {
		return nil, fault.New(fault.Invalid, "Malformed", "snapshot ends early")
	}
	if lead[0] < 1 || lead[0] > SnapshotVersion {
		return nil, fault.New(fault.Invalid, "UnknownVersion", "snapshot has version %d, versions 1 to %d are read", lead[0], SnapshotVersion)
	}
	if lead[1] != kind {
		return nil, fault.New(fault.Invalid, "Malformed", "snapshot object is of kind %q, wanted %q", lead[1], kind)
	}
	text := r.take(r.length())
	if r.failed {
		return nil, fault.New(fault.Invalid, "Malformed", "snapshot ends early")
	}
	if err := json.Unmarshal(text, head); err != nil {
		return nil, fault.Wrap(fault.Invalid, "Malformed", err, "decode snapshot")
	}
	pods := r.pods()
	if r.failed || len(r.rest) > 0 {
		return nil, fault.New(fault.Invalid, "Malformed", "pods of the snapshot are damaged")
	}
	return pods, nil
}
